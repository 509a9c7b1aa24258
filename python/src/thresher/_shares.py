"""Work shared among threads of this process, in calls of numpy that let others run."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

__all__ = ["CORES", "in_threads", "shares"]

# Of which BLAS takes as many, too, for a product.
CORES = min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, 8)


def shares(count: int, threads: int) -> list[tuple[int, int]]:
    """Return where the shares of at most so many threads begin and end."""
    threads = max(1, min(threads, CORES))
    return list(pairwise(count * i // threads for i in range(threads + 1)))


def in_threads(work: Callable[[int, int], Any], shares: list[tuple[int, int]]) -> list[Any]:
    """Return what the work gives of each share, done in a thread each, the first in this one.

    The first error of one is raised when all have ended.
    """
    given: list[Any] = [None] * len(shares)
    errors: list[BaseException] = []

    def one(i: int) -> None:
        try:
            with np.errstate(all="ignore"):
                given[i] = work(*shares[i])
        except BaseException as e:
            errors.append(e)

    threads = []
    for i in range(1, len(shares)):
        thread = threading.Thread(target=one, args=(i,), name="thresher scan", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the system has no more threads
            one(i)
        else:
            threads.append(thread)
    one(0)
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return given
