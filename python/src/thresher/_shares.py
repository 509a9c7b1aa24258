"""Work shared among threads of this process, in calls of numpy that let others run."""

from __future__ import annotations

import _thread
import os
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

__all__ = ["CORES", "PROCESSORS", "in_threads", "shares", "threads_given"]

T = TypeVar("T")

# On how many processors the process may run.
PROCESSORS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def threads_given() -> int | None:
    """Return how many threads whoever started the process gave it, None if that is all processors or not said.

    Ray, Spark and Dask say so by OMP_NUM_THREADS; BLAS reads it, too, and a list of numbers for nested
    levels, of which the first counts. THRESHER_THREADS, which the worker reads itself, wins.
    """
    said = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if os.environ.get("THRESHER_THREADS") or not (said.isascii() and said.isdigit()):
        return None
    return int(said) if 0 < int(said) < PROCESSORS else None


# How many threads compute here. BLAS takes as many, too, for a product.
CORES = min(threads_given() or PROCESSORS, 8)


def shares(count: int, most: int) -> list[tuple[int, int]]:
    """Return where shares of at most so many of a count begin and end."""
    return [(low, min(low + most, count)) for low in range(0, count, most)]


def in_threads(threads: int, work: Callable[[int, int], T], parts: list[tuple[int, int]]) -> list[T]:
    """Return what the work gives of each part, done by this thread and others beside it.

    Each takes the next part when it has done one, so that nothing waits for a thread that the
    system is late to run. The first error of one is raised when none works any more.
    """
    given: dict[int, T] = {}
    errors: list[BaseException] = []
    left = list(range(len(parts)))[::-1]

    def take() -> None:
        with np.errstate(all="ignore"):
            while not errors:
                try:
                    i = left.pop()
                except IndexError:
                    return
                try:
                    given[i] = work(*parts[i])
                except BaseException as e:
                    errors.append(e)

    begun: list[Any] = []  # locks that are held by threads that may have a part

    def beside(ended: Any) -> None:
        begun.append(ended)
        try:
            take()
        finally:
            ended.release()

    for _ in range(min(threads, CORES, len(parts)) - 1):
        ended = _thread.allocate_lock()
        ended.acquire()
        try:
            _thread.start_new_thread(beside, (ended,))  # a threading.Thread takes 30 us more
        except RuntimeError:  # the system has no more threads
            break
    take()
    # A thread that begins from here on finds nothing left, or an error.
    for ended in list(begun):
        ended.acquire()
    if errors:
        raise errors[0]
    return [given[i] for i in range(len(parts))]
