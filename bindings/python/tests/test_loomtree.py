"""The module: trees, nodes, models, contexts, recall, arrow lines, events, import and export."""

from __future__ import annotations

import asyncio
import doctest
import inspect
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

import loomtree
from loomtree import Loom


@pytest.fixture
def loom(tmp_path: Path) -> Iterator[Loom]:
    with loomtree.open(tmp_path / "trees.db") as loom:
        yield loom


def root_of(loom: Loom, text: str = "Where could it begin?", **options: Any) -> str:
    root = loom.new_tree(text, **options).root_id
    assert root is not None
    return root


def test_nodes_form_paths_and_branches(loom: Loom) -> None:
    tree = loom.new_tree("Where could it begin?", title="Letters", system="Be brief.")
    assert tree.root_id is not None
    harbour = loom.append(tree.root_id, "At the harbour.", role="assistant", metadata={"mood": "dry"})
    pier = loom.edit(harbour, "At the pier.")
    assert harbour.role == "model" and harbour.metadata == {"mood": "dry"} and harbour.depth == 1
    assert [node.content for node in loom.path(pier)] == ["Where could it begin?", "At the pier."]
    assert [node.content for node in loom.path(pier, limit=1)] == ["At the pier."]
    assert [node.content for node in loom.children(tree.root_id)] == ["At the harbour.", "At the pier."]
    assert loom.tree("letters").branches == 2 and loom.tree(tree.id).nodes == 3
    assert [node.content for node in loom.nodes(tree)] == ["Where could it begin?", "At the harbour.", "At the pier."]
    assert loom.node(harbour.local_id, tree) == harbour == loom.node(harbour.id)
    assert len({harbour, loom.node(harbour.id)}) == 1
    assert loom.leaf(tree.root_id) == pier
    assert harbour.to_dict()["content"] == "At the harbour."
    assert harbour.to_dict()["role"] == harbour.role
    assert abs(harbour.created_at.timestamp() - time.time()) < 60


def test_changes_are_hidden_undone_and_purged(loom: Loom) -> None:
    root = root_of(loom)
    reply = loom.append(root, "At the harbour.")
    loom.annotate(reply, "too early")
    loom.bookmark(reply, "the opening")
    assert loom.node(reply.id).bookmark == "the opening"
    assert loom.prune(reply) == 1
    assert loom.node(reply.id).pruned_by == reply.id and loom.children(root) == []
    loom.undo(reply.tree_id)
    assert loom.node(reply.id).pruned_by is None
    loom.purge(nodes=[reply])
    assert loom.node(reply.id).purged and loom.node(reply.id).content == ""
    assert loom.verify() == []


def test_a_callable_is_a_model(loom: Loom) -> None:
    root = root_of(loom, system="Be brief.")
    seen: list[Any] = []

    def model(messages: list[dict[str, Any]]) -> Iterator[str]:
        seen.append(messages)
        yield "At "
        yield "the harbour."

    pieces: list[tuple[int, str]] = []
    replies = loom.continue_(root, model, n=2, on_text=lambda index, text: pieces.append((index, text)))
    assert [node.content for node in replies] == ["At the harbour."] * 2
    assert seen[0][0]["role"] == "system" and "Be brief." in seen[0][0]["content"]
    assert (seen[0][-1]["role"], seen[0][-1]["content"]) == ("user", "Where could it begin?")
    assert "".join(text for index, text in pieces if index == 1) == "At the harbour."
    assert replies[0].role == "model" and loom.tree(replies[0].tree_id).branches == 2

    async def later(messages: list[dict[str, Any]]) -> str:
        await asyncio.sleep(0)
        return f"after {len(messages)} messages"

    assert loom.continue_(replies[0], later)[0].content == "after 3 messages"
    # Messages have the form of a chat completion's request, so that a client can send them.
    assert all(set(message) == {"role", "content"} for message in seen[0])
    assert len(loom.continue_(root, "scripted:words", n=3)) == 3


def test_asynchronous_models_share_a_loop_and_run_side_by_side(loom: Loom) -> None:
    root = root_of(loom)
    loops: set[int] = set()
    running = most = 0
    tracer: ContextVar[str] = ContextVar("tracer", default="none")
    tracer.set("the caller's")
    seen: set[str] = set()

    async def model(messages: list[dict[str, Any]]) -> str:
        nonlocal running, most
        loops.add(id(asyncio.get_running_loop()))
        seen.add(tracer.get())
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.05)
        running -= 1
        return "later"

    async def pieces(messages: list[dict[str, Any]]) -> AsyncIterator[str]:
        for word in ["At ", "the ", "harbour."]:
            await asyncio.sleep(0)
            yield word

    assert len(loom.continue_(root, model, n=4)) == 4
    assert loom.continue_(root, model)[0].content == "later"
    assert len(loops) == 1 and most == 4 and seen == {"the caller's"}
    assert loom.continue_(root, pieces)[0].content == "At the harbour."

    # A model that continues with another one, without `await`.
    async def outer(messages: list[dict[str, Any]]) -> str:
        return "outer, " + loom.continue_(root, model)[0].content

    assert loom.continue_(root, outer)[0].content == "outer, later"

    async def ends(messages: list[dict[str, Any]]) -> str:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        loom.continue_(root, ends)
    assert loom.continue_(root, model)[0].content == "later"

    async def breaks(messages: list[dict[str, Any]]) -> str:
        raise ZeroDivisionError("the model broke")

    with pytest.raises(ZeroDivisionError, match="the model broke"):
        loom.continue_(root, breaks)

    async def forgets(messages: list[dict[str, Any]]) -> Any:
        pass

    with pytest.raises(TypeError, match="returns a str"):
        loom.continue_(root, forgets)

    def traced(messages: list[dict[str, Any]]) -> Iterator[str]:
        yield tracer.get()

    assert loom.continue_(root, traced)[0].content == "the caller's"


def test_a_function_has_no_settings_and_returns_texts(loom: Loom) -> None:
    root = root_of(loom)
    with pytest.raises(ValueError, match="a function sets its own"):
        loom.continue_(root, lambda messages: "a", temperature=0.5)
    with pytest.raises(TypeError, match="returns a str"):
        loom.continue_(root, lambda messages: {"role": "assistant", "content": "a"})  # type: ignore[arg-type, return-value]
    assert loom.children(root) == []
    gone = loom.append(root, "gone")
    loom.prune(gone)
    for call in (lambda: loom.append(gone, "lost"), lambda: loom.continue_(gone, lambda messages: "lost")):
        with pytest.raises(loomtree.LoomError, match="pruned"):
            call()


def test_an_exception_of_a_model_reaches_the_caller(loom: Loom) -> None:
    root = root_of(loom)

    def broken(messages: list[dict[str, Any]]) -> Iterator[str]:
        yield "At the "
        raise ZeroDivisionError("the model broke")

    with pytest.raises(ZeroDivisionError, match="the model broke"):
        loom.continue_(root, broken)
    # What was written by then is saved.
    saved = loom.children(root)
    assert [(node.content, node.interrupted) for node in saved] == [("At the ", True)]
    with pytest.raises(TypeError, match="returns a str"):
        loom.continue_(root, lambda messages: 7)  # type: ignore[arg-type, return-value]
    with pytest.raises(loomtree.ModelError):
        loom.continue_(root, "nonsense:")


def test_a_context_has_a_report(loom: Loom) -> None:
    root = root_of(loom, "one " * 400)
    leaf = loom.append(root, "two " * 400, role="assistant")
    context = loom.context(leaf)
    assert context.messages is not None and [message["role"] for message in context.messages][-2:] == ["user", "assistant"]
    assert context.report["total"] > 500
    small = loom.context(leaf, window=700)
    assert small.report["total"] < context.report["total"]


def test_recall_ranks_and_filters(loom: Loom) -> None:
    root = root_of(loom)
    storm = loom.append(root, "The lighthouse keeper saw the storm.", role="assistant")
    loom.append(storm, "Go on.")
    other = root_of(loom, "A storm elsewhere.")
    found = loom.recall("keeper and storm")
    assert found.hits[0].node == storm and found.hits[0].after is not None
    assert [hit.node.id for hit in loom.recall("storm", tree=loom.node(other).tree_id).hits] == [other]
    assert loom.recall("zeppelin").absent == ["zeppelin"]
    assert {hit.node.id for hit in loom.recall("storm", by="model").hits} == {storm.id}


def test_arrow_lines_run_as_an_agent(loom: Loom) -> None:
    root = root_of(loom)
    replies = loom.run(["→ annotate \"too early\"", "tree", "no such command"], root)
    assert [reply.ok for reply in replies] == [True, True, False]
    assert replies[2].code is not None and "Where could it begin?" in replies[1].text
    assert [node.content for node in loom.children(root, kind="annotation")] == ["too early"]


def test_events_of_other_handles_arrive(loom: Loom, tmp_path: Path) -> None:
    root = root_of(loom)
    events = loom.events()
    assert events.read() == []
    other = loomtree.open(tmp_path / "trees.db")
    threading.Timer(0.1, lambda: other.append(root, "At the harbour.")).start()
    event = next(events)
    assert event.op == "append" and event.node_id is not None
    assert loom.node(event.node_id).content == "At the harbour."
    assert [entry.seq for entry in loom.events(after=0).read()] == list(range(1, event.seq + 1))


def test_an_export_is_imported_once(loom: Loom, tmp_path: Path) -> None:
    root = root_of(loom)
    loom.append(root, "At the harbour.", role="assistant")
    loom.export(tmp_path / "trees.jsonl")
    assert loom.export() == (tmp_path / "trees.jsonl").read_bytes()
    with loomtree.open(tmp_path / "other.db") as other:
        assert other.import_file(tmp_path / "trees.jsonl", dry_run=True)["nodes"] == 2
        assert other.trees() == []
        assert other.import_file(tmp_path / "trees.jsonl")["nodes"] == 2
        assert other.import_file(tmp_path / "trees.jsonl")["nodes"] == 0
        assert other.node(root).hash == loom.node(root).hash
    chat = loom.export(format="openai-chat")
    assert chat is not None and b'"role":"assistant"' in chat
    with pytest.raises(loomtree.LoomError, match="known are"):
        loom.export(format="none")
    assert not list(tmp_path.glob("*.part"))


def test_sessions_keep_a_position(loom: Loom) -> None:
    tree = loom.new_tree("root")
    session = loom.start_session(tree, "/work", metadata={"kind": "test"})
    pending = loom.submit(session, [loomtree.Draft("one"), loomtree.Draft("two", role="assistant", source="here")])
    ids = pending.wait()
    assert [node.content for node in loom.path(session)] == ["root", "one", "two"]
    found = loom.find_source("here")
    assert found is not None and found.id == ids[1] and loom.find_source("there") is None
    assert loom.session(session).turns == 2
    loom.switch(session, ids[0])
    loom.append(session, "three")
    assert [node.content for node in loom.path(session)] == ["root", "one", "three"]
    assert [entry.id for entry in loom.sessions(workspace="/work")] == [session.id]
    loom.end_session(session)
    assert loom.sessions(workspace="/work") == []


def test_metadata_is_read_as_json_reads_it(loom: Loom) -> None:
    values = [
        1, -1, 0, 2**63 - 1, -(2**63), 2**64 - 1, 2**64, -(2**70), 0.1, 1e300, -0.0, True, None, "", "\u2028 \" \\ ✓ 𝄞 \x00",
        [], {}, [[1, [2.5]], {"a": {"b": ["c", None]}}], {"é": 1, "a": 2}, {str(at): at for at in range(100)},
    ]
    tree = loom.new_tree("root", metadata={"other": 1})
    session = loom.start_session(tree, "/work")
    texts = [json.dumps({"before": [1.5], "item": value, "after": {}}) for value in values]
    texts += ['{"item": 1, "item": {"a": 1, "a": 2}}', '[{"item": 1}]', '"item"', '{"item": -0}', '{"item": "\\ud800"}', "{}"]
    texts.append('{"item": ' + "[" * 300 + "]" * 300 + "}")
    loom.submit(session, [loomtree.Draft("said", metadata=text) for text in texts]).wait()
    stored = [json.loads(text) for text in texts]
    expected = [value["item"] for value in stored if isinstance(value, dict) and "item" in value]
    found = loom.path_metadata(session, "item")
    assert repr(found) == repr(expected)
    assert repr(loom.path_metadata(session, "item", limit=4)) == repr(expected[-3:])
    assert json.loads(loom.path_metadata_json(session))[1:] == stored


def test_a_position_is_read_with_its_children(loom: Loom) -> None:
    tree = loom.new_tree("root")
    session = loom.start_session(tree, "/work")
    node = loom.append(session, "said")
    loom.append(node, "found", kind="tool")
    loom.append(node, "more", keep_position=True)
    at, children = loom.position(session)
    assert at is not None and at.id == node.id and [child.content for child in children] == ["found", "more"]
    assert [child.content for child in loom.position(session, kind="tool")[1]] == ["found"]


def test_chains_are_submitted_together(loom: Loom) -> None:
    tree = loom.new_tree("root")
    sessions = [loom.start_session(tree, f"/{name}") for name in "abc"]
    loom.end_session(sessions[1])
    chains = [(session, [loomtree.Draft(f"{at}"), loomtree.Draft("reply")]) for at, session in enumerate(sessions)]
    for _ in range(3):
        results = []
        for pending in loom.submit_here(chains):
            try:
                results.append(len(pending.wait()))
            except loomtree.LoomError:
                results.append(0)
        assert results[::2] == [2, 2]
    one = loom.submit(sessions[0], [loomtree.Draft("last")], here=True)
    assert one.poll(10_000_000) or one.wait()
    assert [node.content for node in loom.path(sessions[0])][-3:] == ["0", "reply", "last"]
    assert loom.verify() == []


def test_errors_are_told_apart(loom: Loom, tmp_path: Path) -> None:
    root = root_of(loom, "one", title="Letters of spring")
    root_of(loom, "two", title="Letters of autumn")
    with pytest.raises(loomtree.Ambiguous):
        loom.tree("letters")
    with pytest.raises(loomtree.NotFound, match="Letters of"):
        loom.tree("novel")
    with pytest.raises(loomtree.NotFound):
        loom.append("01ARZ3NDEKTSV4RRFFQ69G5FAV", "text")
    with pytest.raises(ValueError):
        loom.node("not an id")
    with pytest.raises(ValueError):
        loom.append(root, "text", role="pirate")
    with pytest.raises(ValueError, match="not JSON"):
        loom.append(root, "text", metadata="{")
    (tmp_path / "text.db").write_text("no database, but long enough to be read as one" * 100)
    with pytest.raises(loomtree.LoomError):
        loomtree.open(tmp_path / "text.db")
    loom.close()
    with pytest.raises(loomtree.LoomError, match="closed"):
        loom.trees()


def test_other_threads_run_while_the_store_works(loom: Loom, tmp_path: Path) -> None:
    """A counting thread goes on while a call waits for the lock of the file, which another process holds."""
    root = root_of(loom)
    script = f"""
import sqlite3, time
holder = sqlite3.connect({str(tmp_path / "trees.db")!r})
holder.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
time.sleep(0.5)
holder.rollback()
"""
    holder = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None and holder.stdout.readline() == "locked\n"
    counts: list[float] = []
    stop = threading.Event()

    def count() -> None:
        while not stop.is_set():
            counts.append(time.monotonic())
            time.sleep(0.005)

    counter = threading.Thread(target=count)
    counter.start()
    loom.append(root, "waits for the lock")
    stop.set()
    counter.join()
    holder.wait(timeout=20)
    assert len(counts) > 20
    assert max(after - before for before, after in zip(counts, counts[1:])) < 0.3


def test_many_threads_share_a_file(loom: Loom) -> None:
    root = root_of(loom)

    def write(name: int) -> None:
        parent = root
        for number in range(25):
            parent = loom.append(parent, f"{name} {number}").id

    threads = [threading.Thread(target=write, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert loom.tree(loom.trees()[0].id).nodes == 201
    assert loom.verify() == []


def test_ctrl_c_ends_a_generation_and_saves_its_text(tmp_path: Path) -> None:
    script = f"""
import signal, time, loomtree
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job of a shell ignores the signal
loom = loomtree.open({str(tmp_path / "trees.db")!r})
root = loom.new_tree("Where could it begin?").root_id
def slow(messages):
    yield "At the "
    print("ready", flush=True)
    for _ in range(100):
        time.sleep(0.05)
        yield "harbour "
try:
    loom.continue_(root, slow)
except KeyboardInterrupt:
    print(loom.children(root)[0].interrupted, flush=True)
"""
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    child.send_signal(signal.SIGINT)
    assert child.stdout.readline() == "True\n"
    # The function may still be asleep on its thread. The interpreter waits for it.
    assert child.wait(timeout=20) == 0


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="signals of Unix")
def test_ctrl_c_starts_no_further_reply(tmp_path: Path) -> None:
    script = f"""
import time, loomtree
loom = loomtree.open({str(tmp_path / "trees.db")!r})
root = loom.new_tree("x").root_id
calls = []
def slow(messages):
    calls.append(1)
    print("ready", flush=True)
    time.sleep(1)
    return "late"
try:
    loom.continue_(root, slow, n=4)
except KeyboardInterrupt:
    print(len(calls), flush=True)
"""
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    child.send_signal(signal.SIGINT)
    assert child.stdout.readline() == "1\n"
    child.wait(timeout=20)


def test_every_public_name_has_a_docstring_and_a_stub() -> None:
    stub = (Path(loomtree.__file__).parent / "_loomtree.pyi").read_text()
    for name in loomtree.__all__:
        if name == "__version__":
            continue
        value = getattr(loomtree, name)
        assert inspect.getdoc(value), name
        assert f"class {name}" in stub or f"def {name}(" in stub, name
        for member, function in vars(value).items() if inspect.isclass(value) else ():
            if not member.startswith("_"):
                assert inspect.getdoc(function), f"{name}.{member}"
                assert f" {member}(" in stub, f"{name}.{member} is not in the stub"


def test_the_examples_of_the_docstring_run() -> None:
    assert doctest.testmod(loomtree).failed == 0
