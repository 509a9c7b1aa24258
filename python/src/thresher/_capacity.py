"""What answers take of memory, compared with what is free of it before any is taken."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["check_answers", "free_bytes"]

_ANSWER = 4 + 8  # bytes of a score and a row
_SMALL = 1 << 26  # answers up to this size are not compared: finding out what is free takes longer


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
        do not fit. Where the system does not say what is free, nothing is refused.
    """
    needed = queries * (k * (_ANSWER + named) + min(k, n) * _ANSWER)
    if needed <= _SMALL:
        return
    free = free_bytes()
    if free is not None and needed > free:
        padding = "; columns beyond them are padding" if k > n else ""
        raise MemoryError(
            f"k: {k} columns for {queries} queries take {needed} bytes, and {free} are free; "
            f"there are {n} vectors{padding}"
        )


def free_bytes() -> int | None:
    """Return what is free on the machine and in the control group, None where neither says so."""
    free = []
    if (kib := _field("/proc/meminfo", "MemAvailable:")) is not None:
        free.append(kib << 10)
    most, taken = _field("/sys/fs/cgroup/memory.max"), _field("/sys/fs/cgroup/memory.stat", "anon")
    if most is not None and taken is not None:
        free.append(max(0, most - taken))
    return min(free, default=None)


def _field(path: str, name: str = "") -> int | None:
    """Return the number behind a name at the beginning of a line of a file; without a name the first."""
    try:
        with open(path) as f:
            return _number(f, name)
    except OSError:
        return None


def _number(lines: Iterable[str], name: str) -> int | None:
    for line in lines:
        words = line.split()
        if name and words and words[0] == name:
            words = words[1:]
        elif name:
            continue
        return int(words[0]) if words and words[0].isdecimal() else None  # there may be no limit: "max"
    return None
