"""Commits and models in an event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable
from typing import Any

from ._loomtree import Loom, Pending

#: Longest time for which a commit may hold the event loop: a few times a commit in memory, less than one on a disk.
_POLL_MICROS = 150
#: After a commit that took longer, so many commits are not waited for in place.
_SLOW_COMMITS = 256

_slow = 0
_looms: dict[str, Loom] = {}
_looms_lock = threading.Lock()


async def committed(pending: Pending) -> list[str]:
    """Waits until a change is on disk, and returns the ids of its nodes.

    On storage in memory a commit takes less time than a switch to another thread, so the loop waits for it in place.
    On a disk the loop goes on; commits that wait at the same time share one sync.
    """
    global _slow
    if _slow == 0:
        if pending.poll(_POLL_MICROS):
            return pending.node_ids
        _slow = _SLOW_COMMITS
    else:
        _slow -= 1
    loop = asyncio.get_running_loop()
    result: asyncio.Future[list[str]] = loop.create_future()

    def settle(ids: list[str] | None, error: BaseException | None) -> None:
        if result.cancelled():
            return
        if error is not None:
            result.set_exception(error)
        else:
            result.set_result(ids or [])

    def done(ids: list[str] | None, error: BaseException | None) -> None:
        try:
            loop.call_soon_threadsafe(settle, ids, error)
        except RuntimeError:
            pass  # the loop was closed: nobody waits for the result

    pending.notify(done)
    return await asyncio.shield(result)


def run(awaitable: Awaitable[Any]) -> Any:
    """Runs an awaitable to its end on this thread."""

    async def main() -> Any:
        return await awaitable

    return asyncio.run(main())
