"""Commits that an event loop awaits."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Sequence

from ._loomtree import Draft, Loom, Pending, Session

#: Longest time for which a commit may hold the event loop: a few times a commit in memory, less than one on a disk.
_POLL_MICROS = 500
#: Commits that took longer, without as many shorter ones, after which the event loop no longer waits for each.
_MAX_MISSES = 3
#: Shorter commits in sequence after which the event loop commits itself.
_MIN_SHORT = 3


class _Pace:
    """Decides whether the event loop waits for a commit in place.

    On storage in memory a commit takes less time than a switch to another thread. On a disk the loop continues
    meanwhile: after several commits that took too long, twice as many are not waited for each time, at most 256.
    """

    def __init__(self) -> None:
        self.misses = 0
        self.skipped = 0
        self.short = 0

    def waits(self) -> bool:
        """Returns whether the next commit is waited for."""
        if self.skipped:
            self.skipped -= 1
            return False
        return True

    def commits_here(self) -> bool:
        """Returns whether a commit that is waited for may run on the thread of the event loop.

        Only after other threads committed in a short time: no sync of a disk begins here.
        """
        return self.short >= _MIN_SHORT

    def took(self, is_short: bool) -> None:
        """Notes a commit that was waited for."""
        if is_short:
            self.misses = max(self.misses - 1, 0)
            self.short += 1
            return
        self.short = 0
        self.misses = min(self.misses + 1, 8)
        if self.misses >= _MAX_MISSES:
            self.skipped = 2**self.misses


_pace = _Pace()
#: An append that waits for its batch: parent, drafts, and the result.
_Entry = tuple[Session, list[Draft], "asyncio.Future[list[str]]"]
#: Appends of this turn of an event loop to a file.
_batches: dict[tuple[asyncio.AbstractEventLoop, Loom], list[_Entry]] = {}


def append(loom: Loom, session: Session, drafts: list[Draft]) -> Awaitable[list[str]]:
    """Appends nodes at the position of a session. The result is ready when they are on disk.

    Appends of tasks that run in the same turn of the event loop share one commit.
    """
    loop = asyncio.get_running_loop()
    result: asyncio.Future[list[str]] = loop.create_future()
    batch = _batches.get((loop, loom))
    if batch is None:
        _batches[loop, loom] = [(session, drafts, result)]
        loop.call_soon(_commit, loop, loom)
    else:
        batch.append((session, drafts, result))
    return asyncio.shield(result)


def _commit(loop: asyncio.AbstractEventLoop, loom: Loom) -> None:
    batch = _batches.pop((loop, loom))
    waits = _pace.waits()
    start = time.perf_counter()
    queued: list[tuple[Pending, asyncio.Future[list[str]]]] = []
    if waits and _pace.commits_here():
        try:
            pendings = loom.submit_here([(session, drafts) for session, drafts, _ in batch])
            queued = [(pending, result) for pending, (_, _, result) in zip(pendings, batch)]
        except Exception as error:
            for _, _, result in batch:
                _settle(result, None, error)
    else:
        for session, drafts, result in batch:
            try:
                queued.append((loom.submit(session, drafts), result))
            except Exception as error:
                _settle(result, None, error)
    budget = _POLL_MICROS * len(batch) if waits else 0
    in_time = True
    for pending, result in queued:
        passed = int((time.perf_counter() - start) * 1e6)
        in_time &= _finish(pending, result, loop, max(budget - passed, 0))
    if waits:
        _pace.took(in_time and (time.perf_counter() - start) * 1e6 <= budget)


def _finish(
    pending: Pending, result: asyncio.Future[list[str]], loop: asyncio.AbstractEventLoop, micros: int = 0
) -> bool:
    """Sets the result if the change is on disk after so many microseconds, else when it is. Returns whether it is set."""
    try:
        if pending.poll(micros):
            _settle(result, pending.node_ids, None)
            return True
    except Exception as error:
        _settle(result, None, error)
        return True

    def done(ids: list[str] | None, error: BaseException | None) -> None:
        try:
            loop.call_soon_threadsafe(_settle, result, ids, error)
        except RuntimeError:
            pass  # the loop was closed: nobody waits for the result

    pending.notify(done)
    return False


def _settle(result: asyncio.Future[list[str]], ids: list[str] | None, error: BaseException | None) -> None:
    if result.cancelled():
        return
    if error is not None:
        result.set_exception(error)
    else:
        result.set_result(ids or [])


def submit(
    loom: Loom,
    parent: str | Session,
    drafts: Sequence[Draft],
    *,
    session: Session | None = None,
    keep_position: bool = False,
) -> Pending:
    """Submits a change that the event loop awaits next with `committed`."""
    here = _pace.skipped == 0 and _pace.commits_here()
    start = time.perf_counter()
    pending = loom.submit(parent, drafts, session=session, keep_position=keep_position, here=here)
    if here:
        _pace.took((time.perf_counter() - start) * 1e6 <= _POLL_MICROS)
    return pending


async def committed(pending: Pending) -> list[str]:
    """Waits until a change is on disk, and returns the ids of its nodes."""
    if _pace.waits():
        start = time.perf_counter()
        is_done = pending.poll(_POLL_MICROS)
        if not is_done or not _pace.commits_here():
            _pace.took(is_done and (time.perf_counter() - start) * 1e6 <= _POLL_MICROS)
        if is_done:
            return pending.node_ids
    loop = asyncio.get_running_loop()
    result: asyncio.Future[list[str]] = loop.create_future()
    _finish(pending, result, loop)
    return await asyncio.shield(result)
