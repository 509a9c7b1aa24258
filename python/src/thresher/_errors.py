"""Errors of the worker, and of calls to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thresher._result import Result

__all__ = [
    "BadInput",
    "Cancelled",
    "DeadlineExceeded",
    "DeviceMissing",
    "HandleLost",
    "WorkerDied",
    "WorkerError",
    "error_of",
]


class BadInput(ValueError):
    """An argument is wrong: `argument` names it, `row` is the row of it that is wrong, or None."""

    def __init__(self, message: str, argument: str = "", row: int | None = None) -> None:
        super().__init__(message)
        self.argument = argument
        self.row = row


class WorkerError(RuntimeError):
    """The worker could not do what it was asked for; `kind` is one of those of docs/worker.md."""

    kind = "internal"

    def __init__(self, message: str, kind: str | None = None) -> None:
        super().__init__(message)
        if kind is not None:
            self.kind = kind


class WorkerDied(WorkerError):
    """The worker ended during the call, or could not be started; `log` has the last lines of its log."""

    kind = "died"

    def __init__(self, message: str, log: Sequence[str] = ()) -> None:
        super().__init__("\n  ".join([message, *log]))
        self.log = list(log)


class HandleLost(WorkerError):
    """The collection was freed, or was in a worker that is gone."""

    kind = "unknown-handle"


class Cancelled(WorkerError):
    """The call was cancelled by another one."""

    kind = "cancelled"


class DeviceMissing(WorkerError):
    """The device asked for is not there."""

    kind = "no-device"


class DeadlineExceeded(TimeoutError):
    """The deadline passed before the answers were complete.

    Attributes
    ----------
    result : Result or None
        What `knn` had found until then; ``result.complete`` says which answers are complete. None if
        there was nothing to return, and from other calls.
    """

    result: Result | None = None


def error_of(e: Mapping[str, Any]) -> BaseException:
    """Return the exception for an error of the worker."""
    kind, message, argument = e.get("kind", "internal"), e.get("message", ""), e.get("argument", "")
    text = f"{argument}: {message}" if argument else message
    if kind == "bad-input":
        return BadInput(text, argument, e.get("row"))
    if kind == "deadline":
        return DeadlineExceeded(text)
    if kind == "memory":
        return MemoryError(text)
    if kind == "file":
        return OSError(text)
    for known in (HandleLost, Cancelled, DeviceMissing):
        if kind == known.kind:
            return known(text)
    return WorkerError(text, kind)
