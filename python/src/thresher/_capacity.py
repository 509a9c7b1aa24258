"""What answers take of memory, compared with what is free of it before any is taken."""

from __future__ import annotations

from thresher import _worker

__all__ = ["check_answers", "free_bytes"]

_ANSWER = 4 + 8  # bytes of a score and a row
_SMALL = 1 << 26  # answers up to this size are not compared: asking what is free takes longer


def check_answers(k: int, queries: int, n: int, named: int = 0) -> None:
    """Refuse a k for which the answers to queries take more memory than is free.

    Parameters
    ----------
    k, queries, n
        How many columns and rows the answers have, and how many vectors there are.
    named
        The bytes of an id; 0 if answers have row numbers.

    Raises
    ------
    MemoryError
        If columns of scores and ids, those beyond n included, and what the worker holds of them
        do not fit into three quarters of what is free. Where that is not known, nothing is refused.
    """
    needed = queries * (k * (_ANSWER + named) + min(k, n) * _ANSWER)
    if needed <= _SMALL:
        return
    free = free_bytes()
    if free is not None and needed > free:
        padding = "; columns beyond them are padding" if k > n else ""
        raise MemoryError(
            f"k: {k} columns for {queries} queries take {needed} bytes, and {free} are available "
            f"(three quarters of what is free); there are {n} vectors{padding}"
        )


def free_bytes() -> int | None:
    """Return what one piece of work may take of memory, None if it is not known.

    The worker knows: internal/machine reads what the machine and each of the control groups have free.
    """
    try:
        reply, _ = _worker.get().call("memory", {})
    except (_worker.WorkerError, _worker.BadInput):  # it died, or does not know the operation
        return None
    available: int | None = reply.get("available")
    return available
