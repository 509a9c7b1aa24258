"""Searches that tasks of asyncio wait for. No thread waits with them: the worker's answer wakes the event loop."""

from __future__ import annotations

import contextlib
import inspect
import logging
import queue
import re
import time
import weakref
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

import numpy.typing as npt

from thresher import _worker
from thresher._arguments import in_callers_words, seconds
from thresher._progress import reporting

if TYPE_CHECKING:
    from thresher._index import Index

__all__ = ["Request", "answered", "awaited"]

log = logging.getLogger("thresher")

# How many searches of an event loop the worker has at once; it refuses more than 256 calls of all threads and loops.
_AT_ONCE = 100
_turns: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()  # a semaphore for each event loop

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Request(Generic[R]):
    """A search that the worker is asked for.

    Attributes
    ----------
    op, fields, arrays
        As of `_worker.Worker.call`, without the handle.
    names : dict of str to str
        What the caller calls arguments.
    answer : callable (reply, arrays)
        Makes the result of what the worker answers.
    """

    op: str
    fields: dict[str, Any]
    arrays: dict[str, npt.NDArray[Any]]
    names: dict[str, str]
    answer: Callable[[dict[str, Any], dict[str, npt.NDArray[Any]]], R]


def awaited(of: Callable[P, R]) -> Callable[[Callable[..., Any]], Callable[P, Coroutine[Any, Any, R]]]:
    """Give a method the parameters of another one, whose result it returns to who awaits it."""

    def give(method: Callable[..., Any]) -> Callable[P, Coroutine[Any, Any, R]]:
        method.__signature__ = inspect.signature(of)  # type: ignore[attr-defined]
        return method

    return give


async def answered(index: Index, ask: Callable[..., Request[R] | R], *given: Any, **options: Any) -> R:
    """Return the result of a search; once more, in a new build, if the worker died of it.

    ask makes the request, or the result where there is nothing to search, from the arguments without progress and
    deadline. It is called, and its arrays are copied, in a thread of the event loop's executor.
    """
    limit = seconds(options.pop("deadline", None))
    until = None if limit is None else time.monotonic() + limit
    progress = options.pop("progress", None)
    ask = partial(ask, *given, **options)
    with reporting(progress) as report:
        result: R
        try:
            result = await _once(index, ask, report, until)
        except _worker.WorkerDied as e:
            if not index._renewable():
                raise
            log.warning("a search is repeated, because the worker died: %s", e)
            result = await _once(index, ask, report, until)
        return result


async def _once(index: Index, ask: Callable[[], Any], report: _worker.Progress | None, until: float | None) -> Any:
    import asyncio  # which takes longer than the rest of this package, and few programs need

    loop = asyncio.get_running_loop()
    arrived = asyncio.Event()

    def wake() -> None:
        try:
            loop.call_soon_threadsafe(arrived.set)
        except RuntimeError:  # the loop is closed, and nobody waits
            begun.abandon()

    begun = _Begun(_worker.Call(wake))
    answer: _worker.Message | None = None
    turn = _turns.setdefault(loop, asyncio.Semaphore(_AT_ONCE))
    await turn.acquire()
    try:
        try:
            asked = await loop.run_in_executor(None, begun.begin, index, ask, report is not None, until)
        except TypeError as e:
            if "._to_" not in str(e):
                raise
            said = re.sub(r"\w+\._to_", f"{type(index).__name__}.a", str(e), count=1)
            raise TypeError(said) from None  # the caller knows Index.asearch, not Searches._to_search
        if not isinstance(asked, Request):
            return asked
        assert begun.worker is not None
        while answer is None:
            await arrived.wait()
            arrived.clear()
            with contextlib.suppress(queue.Empty):
                while answer is None:
                    message = begun.call.inbox.get_nowait()
                    if "progress" not in message[0]:
                        answer = message
                    elif report is not None:
                        step = message[0]["progress"]
                        report(step["step"], step["done"], step["total"])
        try:
            reply, arrays = begun.worker.opened(answer)
        except _worker.BadInput as e:
            raise in_callers_words(e, asked.names) from None
        return asked.answer(reply, arrays)
    finally:
        turn.release()
        if answer is None:
            begun.abandon()


class _Begun:
    """A call that one thread begins while another may abandon it. Whichever of them is later cancels it."""

    def __init__(self, call: _worker.Call) -> None:
        self.call = call
        self.worker: _worker.Worker | None = None  # once it has begun

    def begin(self, index: Index, ask: Callable[[], Any], progress: bool, until: float | None) -> Any:
        """Send the request that ask makes, and return it; or its result where there is nothing to search."""
        asked = ask()
        if self.call.abandoned or not isinstance(asked, Request):
            return asked
        worker, handle = index._live()
        left = None if until is None else max(until - time.monotonic(), 1e-9)  # a late search has a bound
        fields = {"handle": handle, **asked.fields}
        try:
            worker.begin(self.call, asked.op, fields, asked.arrays, progress=progress, deadline=left)
        except BaseException:
            worker.abandon_call(self.call)
            raise
        self.worker = worker
        worker.receive()
        if self.call.abandoned:
            worker.abandon_call(self.call)
        return asked

    def abandon(self) -> None:
        """Cancel the call in the worker, unless it has not begun; then it is cancelled as soon as it has."""
        self.call.abandoned = True
        if self.worker is not None:
            self.worker.abandon_call(self.call)
