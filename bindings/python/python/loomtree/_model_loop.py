"""The event loop of asynchronous models, which has a thread of its own."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import os
import threading
from collections.abc import Callable
from typing import Any

#: Seconds between looks for a cancelled reply.
_CANCEL_INTERVAL = 0.05

_models: asyncio.AbstractEventLoop | None = None
_models_lock = threading.Lock()

#: True in the task of a model: a call that it waits for without `await` needs another loop.
_in_model: contextvars.ContextVar[bool] = contextvars.ContextVar("loomtree_in_model", default=False)


def _models_loop() -> asyncio.AbstractEventLoop:
    """Returns the event loop of asynchronous models, which has a thread of its own: clients keep connections of their loop."""
    global _models
    with _models_lock:
        if _models is None or _models.is_closed():
            _models = _start_loop()
        return _models


def _start_loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()

    def serve() -> None:
        try:
            loop.run_forever()
        finally:
            loop.close()

    threading.Thread(target=serve, name="loomtree-models", daemon=True).start()
    return loop


def _forget_models_loop() -> None:
    global _models, _models_lock
    _models, _models_lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_models_loop)


def run(result: Any, send: Callable[[str], bool], is_gone: Callable[[], bool]) -> Any:
    """Runs what an asynchronous model returned.

    Pieces are sent as they come, and `()` is returned. A result that is awaited is returned.

    When the reader is gone, the model's task is cancelled.
    """

    async def main() -> tuple[Any, BaseException | None]:
        _in_model.set(True)
        try:
            if not hasattr(result, "__aiter__"):
                return await result, None
            async for piece in result:
                if not await asyncio.to_thread(send, piece):
                    break
            return (), None
        except asyncio.CancelledError:
            raise
        except BaseException as error:  # SystemExit in a task would end the loop
            return None, error

    is_nested = _in_model.get()
    loop = _start_loop() if is_nested else _models_loop()
    future = asyncio.run_coroutine_threadsafe(main(), loop)
    try:
        while True:
            done, _ = concurrent.futures.wait([future], timeout=_CANCEL_INTERVAL)
            if done:
                value, error = future.result()
                if error is not None:
                    raise error
                return value
            if loop.is_closed():
                raise RuntimeError("a task of a model ended the event loop of all models")
            if is_gone():
                future.cancel()
                raise concurrent.futures.CancelledError
    finally:
        if is_nested and not loop.is_closed():
            loop.call_soon_threadsafe(loop.stop)
