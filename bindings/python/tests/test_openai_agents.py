"""The session of the OpenAI Agents SDK: the laws of its protocol beside SQLiteSession, branches, and a whole run."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

agents = pytest.importorskip("agents")

from agents import Agent, Runner, SQLiteSession
from agents.items import ModelResponse
from agents.memory import Session, SessionSettings
from agents.models.interface import Model
from agents.usage import Usage
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

import loomtree
from loomtree.openai_agents import LoomSession

ITEMS: list[Any] = [
    {"role": "user", "content": "What is the weather in Bergen? ✓ \"quoted\" \\ \u2028"},
    {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city": "Bergen"}'},
    {"type": "function_call_output", "call_id": "c1", "output": "rain"},
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "It rains."}]},
    {
        "type": "message",
        "role": "assistant",
        "id": "msg_1",
        "status": "completed",
        "content": [{"type": "output_text", "text": "It rains.", "annotations": []}],
    },
    {"type": "web_search_call", "id": "ws_1", "status": "completed"},
]


def test_it_does_what_sqlite_session_does(tmp_path: Path) -> None:
    async def laws(session: Any) -> list[Any]:
        seen: list[Any] = [await session.get_items(), await session.pop_item()]
        await session.add_items([])
        await session.add_items(ITEMS)
        for limit in (None, 1, 2, 5, 6, 7, 100):
            seen.append(await session.get_items(limit))
        seen.append(await session.pop_item())
        await session.add_items([{"role": "user", "content": "And now?"}])
        seen += [await session.get_items(), await session.get_items(2)]
        for _ in range(8):
            seen.append(await session.pop_item())
        await session.add_items(ITEMS[:1])
        seen.append(await session.get_items())
        await session.clear_session()
        seen.append(await session.get_items())
        await session.add_items(ITEMS[:2])
        seen.append(await session.get_items())
        return seen

    async def main() -> None:
        ours = await laws(LoomSession("s", tmp_path / "trees.db"))
        theirs = await laws(SQLiteSession("s", tmp_path / "theirs.db"))
        assert json.dumps(ours) == json.dumps(theirs)

    asyncio.run(main())


def test_it_is_a_session_by_the_protocol(tmp_path: Path) -> None:
    session = LoomSession("s", tmp_path / "trees.db", session_settings=SessionSettings(limit=2))
    assert isinstance(session, Session)

    async def main() -> None:
        await session.add_items(ITEMS)
        assert await session.get_items() == ITEMS[-2:]

    asyncio.run(main())


def test_branches_share_their_history(tmp_path: Path) -> None:
    def said(*texts: str) -> list[Any]:
        return [{"role": "user" if at % 2 == 0 else "assistant", "content": text} for at, text in enumerate(texts)]

    async def main() -> None:
        session = LoomSession("s", tmp_path / "trees.db")
        await session.add_items(said("one", "first", "two", "second"))
        await session.create_branch("other", turn=2)
        assert await session.get_items() == said("one", "first")
        await session.add_items(said("three"))
        await session.switch_branch("main")
        assert await session.get_items() == said("one", "first", "two", "second")
        # A new process finds both branches.
        again = LoomSession("s", tmp_path / "trees.db", branch="other")
        assert await again.get_items() == said("one", "first", "three")
        assert await again.list_branches() == ["main", "other"]
        # An item that another branch continues is not hidden from it.
        await session.create_branch("short", turn=2)
        assert await session.pop_item() == said("one", "first")[1]
        assert await session.get_items() == said("one")
        await session.switch_branch("main")
        assert len(await session.get_items()) == 4
        with pytest.raises(ValueError):
            await session.create_branch("other")
        with pytest.raises(ValueError):
            await session.switch_branch("none")
        await session.delete_branch("other")
        assert await session.list_branches() == ["main", "short"]
        tree = session.loom.trees()[0]
        assert tree.nodes == 6, "nothing is copied"
        assert session.loom.verify() == []

    asyncio.run(main())


def test_erased_text_is_not_in_the_file(tmp_path: Path) -> None:
    async def main() -> None:
        session = LoomSession("s", tmp_path / "trees.db")
        await session.add_items([{"role": "user", "content": "a secret word: heliotrope"}])
        await session.clear_session()
        await session.erase()
        session.loom.close()

    asyncio.run(main())
    for file in tmp_path.iterdir():
        assert b"heliotrope" not in file.read_bytes(), file


def test_other_handles_of_a_session_notice_that_it_was_cleared(tmp_path: Path) -> None:
    async def run() -> None:
        loom = loomtree.open(tmp_path / "trees.db")
        one, two = LoomSession("s", loom), LoomSession("s", loom)
        await one.add_items([{"role": "user", "content": "old"}])
        assert len(await two.get_items()) == 1
        await one.clear_session()
        assert await two.get_items() == [] and await two.pop_item() is None
        await two.add_items([{"role": "user", "content": "new"}])
        assert [item["content"] for item in await one.get_items()] == ["new"]  # type: ignore[typeddict-item]
        await one.add_items([{"role": "user", "content": str(number)} for number in range(20)])
        popped = await asyncio.gather(*[LoomSession("s", loom).pop_item() for _ in range(10)])
        assert len({item["content"] for item in popped if item}) == 10  # type: ignore[typeddict-item]
        assert len(await two.get_items()) == 11

    asyncio.run(run())


def test_sessions_of_one_file_write_at_once(tmp_path: Path) -> None:
    loom = loomtree.open(tmp_path / "trees.db")

    async def one(session: LoomSession, name: int) -> None:
        for number in range(20):
            await session.add_items([{"role": "user", "content": f"{name} {number}"}, {"role": "assistant", "content": "yes"}])

    async def main() -> None:
        await LoomSession("shared", loom).add_items(ITEMS)
        await asyncio.gather(
            *(one(LoomSession(f"s{name}", loom), name) for name in range(10)),
            *(one(LoomSession("shared", loom), name) for name in range(4)),
        )
        for name in range(10):
            items: Any = await LoomSession(f"s{name}", loom).get_items()
            assert [item["content"] for item in items[::2]] == [f"{name} {number}" for number in range(20)]
        shared: Any = await LoomSession("shared", loom).get_items()
        assert len(shared) == 6 + 4 * 40
        # The items of one call stay together.
        assert all(item["content"] == "yes" for item in shared[7::2])

    asyncio.run(main())
    assert loom.verify() == []


def test_appends_of_one_moment_do_not_fail_each_other(tmp_path: Path) -> None:
    loom = loomtree.open(tmp_path / "trees.db")
    sessions = [LoomSession(f"s{name}", loom) for name in range(3)]

    async def main() -> None:
        await asyncio.gather(*(session.add_items(ITEMS[:1]) for session in sessions))
        broken: Any = {"role": "pirate", "content": "a role that there is not"}
        results = await asyncio.gather(
            sessions[0].add_items(ITEMS[1:]), sessions[1].add_items([broken]), sessions[2].add_items(ITEMS[1:]),
            return_exceptions=True,
        )
        assert [type(result) for result in results] == [type(None), ValueError, type(None)]
        assert [len(await session.get_items()) for session in sessions] == [6, 1, 6]
        loom.close()
        with pytest.raises(loomtree.LoomError, match="closed"):
            await sessions[0].add_items(ITEMS)

    asyncio.run(main())


def test_the_event_loop_stops_waiting_for_a_slow_disk() -> None:
    from loomtree._async_commits import _Pace

    pace = _Pace()
    assert pace.waits() and not pace.commits_here(), "the loop syncs no disk before it knows that commits are short"
    for _ in range(3):
        pace.took(True)
    assert pace.commits_here()
    pace.took(False)
    assert not pace.commits_here()
    assert pace.waits(), "one slow commit, such as a batch of the index, is no slow disk"
    for _ in range(9):
        pace.took(False)
    assert not pace.commits_here()
    assert [pace.waits() for _ in range(257)].index(True) == 256
    for _ in range(8):
        pace.took(True)
    assert pace.commits_here() and pace.waits()


class Echo(Model):
    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> ModelResponse:
        text = ResponseOutputText(text=f"{len(input)} items", type="output_text", annotations=[])
        message = ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


def test_a_runner_remembers(tmp_path: Path) -> None:
    agent = Agent(name="echo", model=Echo())

    async def main() -> None:
        agents.set_tracing_disabled(True)
        for expected in ("1 items", "3 items", "5 items"):
            result = await Runner.run(agent, "hello", session=LoomSession("s", tmp_path / "trees.db"))
            assert result.final_output == expected

    asyncio.run(main())


def test_a_session_closes_the_file_that_it_opened(tmp_path: Path) -> None:
    file = tmp_path / "trees.db"
    session = LoomSession("one", file)
    asyncio.run(session.add_items(ITEMS[:1]))
    session.close()
    with pytest.raises(Exception, match="closed"):
        asyncio.run(session.get_items())
    with loomtree.open(file) as loom:
        shared = LoomSession("one", loom)
        shared.close()
        assert asyncio.run(shared.get_items()) == ITEMS[:1]
