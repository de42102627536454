"""The checkpointer: LangGraph's own conformance suite, and a graph that runs on it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

pytest.importorskip("langgraph.checkpoint.conformance")

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages

import loomtree
from loomtree.langgraph import LoomSaver


def test_conformance(tmp_path: Path) -> None:
    files = iter(range(100))

    @checkpointer_test(name="LoomSaver")
    async def saver() -> Any:
        yield LoomSaver(tmp_path / f"{next(files)}.db")

    report = asyncio.run(validate(saver))
    failures = {name: result.failures for name, result in report.results.items() if result.passed is not True}
    assert not failures
    assert len(report.results) == 8
    assert sum(result.tests_passed for result in report.results.values()) > 70


class State(TypedDict):
    messages: Annotated[list[Any], add_messages]
    steps: int


def reply(state: State) -> dict[str, Any]:
    return {"messages": [("ai", f"reply {len(state['messages'])} from the harbour")], "steps": state["steps"] + 1}


def graph(saver: LoomSaver) -> Any:
    builder = StateGraph(State)
    builder.add_node("reply", reply)
    builder.add_edge(START, "reply")
    builder.add_edge("reply", END)
    return builder.compile(checkpointer=saver)


def test_a_graph_continues_after_a_restart_and_branches(tmp_path: Path) -> None:
    config: Any = {"configurable": {"thread_id": "letters/1"}}
    first = graph(LoomSaver(tmp_path / "trees.db"))
    first.invoke({"messages": [("user", "hello")], "steps": 0}, config)
    first.invoke({"messages": [("user", "again")]}, config)

    again = graph(LoomSaver(tmp_path / "trees.db"))
    state = again.get_state(config)
    assert [message.content for message in state.values["messages"]] == [
        "hello",
        "reply 1 from the harbour",
        "again",
        "reply 3 from the harbour",
    ]
    assert state.values["steps"] == 2
    history = list(again.get_state_history(config))
    assert len(history) == 6

    # A run from an earlier checkpoint is a branch of the tree.
    earlier = next(entry for entry in history if len(entry.values["messages"]) == 2 and not entry.next)
    again.invoke({"messages": [("user", "otherwise")]}, earlier.config)
    contents = [message.content for message in again.get_state(config).values["messages"]]
    assert contents == ["hello", "reply 1 from the harbour", "otherwise", "reply 3 from the harbour"]
    loom = loomtree.open(tmp_path / "trees.db")
    assert loom.trees()[0].branches == 2
    assert loom.recall("otherwise").hits[0].node.role == "human"
    assert loom.verify() == []


def test_an_unchanged_channel_is_stored_once(tmp_path: Path) -> None:
    saver = LoomSaver(tmp_path / "trees.db")
    config: Any = {"configurable": {"thread_id": "1", "checkpoint_ns": ""}}
    large = "x" * 100_000
    for step in range(20):
        checkpoint = empty_checkpoint()
        checkpoint["id"] = f"{step:032}"
        checkpoint["channel_values"] = {"large": large, "small": step}
        checkpoint["channel_versions"] = {"large": 1, "small": step + 1}
        new: Any = {"small": step + 1} | ({"large": 1} if step == 0 else {})
        config = saver.put(config, checkpoint, {"source": "loop", "step": step}, new)
    loom = LoomSaver(tmp_path / "trees.db").loom
    sizes = [len(node.metadata_json or "") for node in loom.nodes(loom.trees()[0])]
    assert sum(sizes) < 2 * len(large)
    values = LoomSaver(tmp_path / "trees.db").get_tuple(config)
    assert values is not None and values.checkpoint["channel_values"] == {"large": large, "small": 19}

    # The value outlives the checkpoint that holds it.
    saver.prune(["1"])
    values = LoomSaver(tmp_path / "trees.db").get_tuple({"configurable": {"thread_id": "1"}})
    assert values is not None and values.checkpoint["channel_values"] == {"large": large, "small": 19}
    assert len(list(saver.list(config))) == 1

    # It outlives the checkpoints after that one too, also when another process stored them.
    other = LoomSaver(tmp_path / "trees.db")
    for writer, step in ((saver, 20), (other, 21), (saver, 22)):
        checkpoint["id"] = f"{step:032}"
        checkpoint["channel_values"] = {"large": large, "small": step}
        checkpoint["channel_versions"] = {"large": 1, "small": step + 1}
        config = writer.put(config, checkpoint, {"source": "loop", "step": step}, {"small": step + 1})
        for reader in (saver, other, LoomSaver(tmp_path / "trees.db")):
            values = reader.get_tuple(config)
            assert values is not None and values.checkpoint["channel_values"] == {"large": large, "small": step}
    for _ in range(2):
        saver.prune(["1"])
        values = LoomSaver(tmp_path / "trees.db").get_tuple({"configurable": {"thread_id": "1"}})
        assert values is not None and values.checkpoint["channel_values"] == {"large": large, "small": 22}


def test_a_deleted_thread_leaves_no_text(tmp_path: Path) -> None:
    saver = LoomSaver(tmp_path / "trees.db")
    config: Any = {"configurable": {"thread_id": "private"}}
    graph(saver).invoke({"messages": [("user", "a secret word: heliotrope")], "steps": 0}, config)
    saver.delete_thread("private")
    assert saver.get_tuple(config) is None
    saver.loom.close()
    for file in tmp_path.iterdir():
        assert b"heliotrope" not in file.read_bytes(), file


def test_a_thread_that_another_process_deleted_begins_again(tmp_path: Path) -> None:
    first, second = (LoomSaver(tmp_path / "trees.db") for _ in range(2))
    config: Any = {"configurable": {"thread_id": "1"}}
    graph(first).invoke({"messages": [("user", "hello")], "steps": 0}, config)
    assert first.get_tuple(config) is not None
    second.delete_thread("1")
    state = graph(first).invoke({"messages": [("user", "again")], "steps": 0}, config)
    assert state["messages"][-2].content == "again"
    assert len(first.loom.trees()) == 1


def test_many_threads_write_at_once(tmp_path: Path) -> None:
    saver = LoomSaver(tmp_path / "trees.db")
    compiled = graph(saver)

    async def run(name: int) -> int:
        config: Any = {"configurable": {"thread_id": str(name)}}
        for _ in range(3):
            state = await compiled.ainvoke({"messages": [("user", f"message of {name}")], "steps": 0}, config)
        return len(state["messages"])

    async def main() -> list[int]:
        return await asyncio.gather(*(run(name) for name in range(20)))

    assert asyncio.run(main()) == [6] * 20
    assert len(saver.loom.trees()) == 20
