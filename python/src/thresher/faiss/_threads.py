"""How many threads search, as FAISS is told for a whole process."""

from __future__ import annotations

from thresher._shares import PROCESSORS, threads_given

__all__ = ["limit", "omp_get_max_threads", "omp_set_num_threads"]

_limit: int | None = None


def omp_set_num_threads(num_threads: int) -> None:
    """Set how many threads of the CPU search in this process from now on, at most those that it may use."""
    global _limit
    if num_threads < 1:
        raise ValueError(f"num_threads: {num_threads}, at least 1")
    _limit = int(num_threads)


def omp_get_max_threads() -> int:
    """Return how many threads may search: what was set, or else how many the process was given."""
    return _limit or threads_given() or PROCESSORS


def limit() -> int | None:
    """Return the threads of a search, None for as many as there are."""
    return None if _limit is None else min(_limit, PROCESSORS)
