"""Compares LoomSession and LoomSaver with the sessions of the OpenAI Agents SDK and the SQLite savers of LangGraph.

    python bindings/python/benches/compare.py [FOLDER]

All candidates take turns within each round, so that a busy machine slows all of them. A figure is the least of all
rounds. FOLDER is on a file system in memory by default, so that code is measured and not a disk.
"""

from __future__ import annotations

import asyncio
import gc
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from agents import SQLiteSession
from agents.extensions.memory import AdvancedSQLiteSession
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

import loomtree
from loomtree.langgraph import LoomSaver
from loomtree.openai_agents import LoomSession

ROUNDS = 5
TEXT = "Three long flashes, low on the water, where the chart shows nine fathoms and no light. " * 4


def turn(number: int) -> list[Any]:
    return [
        {"role": "user", "content": f"{number}: {TEXT}"},
        {"role": "assistant", "content": [{"type": "output_text", "text": TEXT, "annotations": []}], "type": "message"},
    ]


async def timed(repeats: int, call: Callable[[], Awaitable[Any]]) -> float:
    """Returns the microseconds of one call."""
    gc.collect()
    start = time.perf_counter()
    for _ in range(repeats):
        await call()
    return (time.perf_counter() - start) / repeats * 1e6


async def least(candidates: dict[str, Callable[[], Awaitable[Any]]], repeats: int) -> dict[str, float]:
    best = dict.fromkeys(candidates, float("inf"))
    for _ in range(ROUNDS):
        for name, call in candidates.items():
            best[name] = min(best[name], await timed(repeats, call))
    return best


def report(what: str, times: dict[str, float]) -> None:
    ours, *others = times.values()
    cells = " | ".join(f"{time:.0f} µs" for time in times.values())
    print(f"| {what} | {cells} | {min(others) / ours:.2f} × |", flush=True)


async def sessions(folder: Path) -> None:
    print("| session | LoomSession | SQLiteSession | AdvancedSQLiteSession | beside the faster |")
    print("| --- | --- | --- | --- | --- |")
    for turns in (10, 1000, 10_000):
        loom = LoomSession("s", folder / f"loom{turns}.db")
        simple = SQLiteSession("s", folder / f"simple{turns}.db")
        advanced = AdvancedSQLiteSession(session_id="s", db_path=folder / f"advanced{turns}.db", create_tables=True)
        all_sessions = {"loom": loom, "simple": simple, "advanced": advanced}
        for session in all_sessions.values():
            for start in range(0, turns, 100):
                await session.add_items([item for n in range(start, min(start + 100, turns)) for item in turn(n)])
        number = f"{2 * turns:,} items"

        def of(call: Callable[[Any], Awaitable[Any]]) -> dict[str, Callable[[], Awaitable[Any]]]:
            return {name: (lambda session=session: call(session)) for name, session in all_sessions.items()}

        report(f"add a turn, {number}", await least(of(lambda session: session.add_items(turn(0))), 50))
        report(f"get the last 20, {number}", await least(of(lambda session: session.get_items(20)), 50))
        report(f"get all, {number}", await least(of(lambda session: session.get_items()), max(1, 200 // turns)))

        async def many(open_one: Callable[[int], Any]) -> None:
            await asyncio.gather(*(open_one(at).add_items(turn(0)) for at in range(32)))

        if turns == 10:
            looms = [LoomSession(f"s{at}", loom.loom) for at in range(32)]
            simples = [SQLiteSession(f"s{at}", folder / "simple10.db") for at in range(32)]
            advanceds = [
                AdvancedSQLiteSession(session_id=f"s{at}", db_path=folder / "advanced10.db", create_tables=True)
                for at in range(32)
            ]
            lists = {"loom": looms, "simple": simples, "advanced": advanceds}
            calls = {name: (lambda every=every: many(every.__getitem__)) for name, every in lists.items()}
            times = await least(calls, 5)
            report("add a turn to each of 32 sessions at once", times)


def checkpoint(number: int, messages: int) -> Any:
    value = empty_checkpoint()
    value["id"] = f"{number:032}"
    history = [{"role": "user", "content": f"{at}: {TEXT}"} for at in range(messages)]
    value["channel_values"] = {"messages": history, "documents": [TEXT] * 20, "step": number}
    value["channel_versions"] = {"messages": messages, "documents": 1, "step": number + 1}
    return value


async def checkpoints(folder: Path) -> None:
    print("| checkpointer | LoomSaver | SqliteSaver | LoomSaver, async | AsyncSqliteSaver | beside SqliteSaver | async |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for length, messages in ((10, 4), (1000, 4), (10_000, 4), (10, 100)):
        loom = LoomSaver(folder / f"saver{length}-{messages}.db")
        other = SqliteSaver(sqlite3.connect(folder / f"sqlite{length}-{messages}.db", check_same_thread=False))
        async with AsyncSqliteSaver.from_conn_string(str(folder / f"aio{length}-{messages}.db")) as later:
            savers = {"loom": loom, "other": other, "loom_async": loom, "later": later}
            state: dict[str, tuple[int, Any]] = {}
            for name in savers:
                state[name] = 0, {"configurable": {"thread_id": name, "checkpoint_ns": ""}}

            async def step(name: str) -> None:
                number, config = state[name]
                saver, value = savers[name], checkpoint(number, messages)
                new: Any = {"messages": messages, "step": number + 1} | ({"documents": 1} if number == 0 else {})
                writes = [("messages", [{"role": "assistant", "content": TEXT}]), ("step", number)]
                if name in ("later", "loom_async"):
                    config = await saver.aput(config, value, {"source": "loop", "step": number}, new)
                    await saver.aput_writes(config, writes, f"task{number}")
                else:
                    config = saver.put(config, value, {"source": "loop", "step": number}, new)
                    saver.put_writes(config, writes, f"task{number}")
                state[name] = number + 1, config

            async def read(name: str) -> None:
                config = {"configurable": {"thread_id": name, "checkpoint_ns": ""}}
                found = await savers[name].aget_tuple(config) if name in ("later", "loom_async") else savers[name].get_tuple(config)
                assert found is not None and len(found.checkpoint["channel_values"]["messages"]) == messages

            for name in savers:
                for _ in range(length):
                    await step(name)
            for what, call, repeats in (("a step (put, put_writes)", step, 50), ("get_tuple", read, 50)):
                times = await least({name: (lambda name=name, call=call: call(name)) for name in savers}, repeats)
                ours, theirs, ours_async, theirs_async = times.values()
                cells = " | ".join(f"{time:.0f} µs" for time in times.values())
                print(
                    f"| {what}, {length:,} checkpoints, {messages} messages | {cells} "
                    f"| {theirs / ours:.2f} × | {theirs_async / ours_async:.2f} × |",
                    flush=True,
                )
        mine, its = ((folder / f"{kind}{length}-{messages}.db").stat().st_size for kind in ("saver", "sqlite"))
        print(f"| size of the files | {mine / 1e6 / 2:.1f} MB | {its / 1e6:.1f} MB | | | {its * 2 / mine:.2f} × | |")


def main() -> None:
    memory = Path("/dev/shm")
    parent = Path(sys.argv[1]) if len(sys.argv) > 1 else memory if memory.is_dir() else None
    folder = Path(tempfile.mkdtemp(dir=parent))
    print(f"loomtree in {Path(loomtree.__file__).parent.name}, files in {folder.parent}\n")
    try:
        asyncio.run(sessions(folder))
        print()
        asyncio.run(checkpoints(folder))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
