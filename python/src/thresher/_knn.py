"""One call for a search of vectors that are searched once."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import numpy.typing as npt

from thresher import _arrays, _scan, _worker
from thresher._arguments import Deadline, Device, Method, Metric, metric_name, probability, seconds, text, whole
from thresher._arrays import Vectors
from thresher._columns import names_of
from thresher._index import Index
from thresher._progress import Progress
from thresher._worker import DeadlineExceeded

__all__ = ["as_index", "knn"]


def knn(
    queries: Vectors,
    vectors: Vectors,
    k: int,
    metric: Metric = "ip",
    method: Method = "auto",
    delta: float = 0.01,
    *,
    seed: int | None = None,
    device: Device = "auto",
    progress: Progress = None,
    deadline: Deadline = None,
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Return the k best vectors of each query, in the order of ``faiss.knn``.

    Parameters
    ----------
    queries : array (m, d) or (d,)
        What to look for.
    vectors : array (n, d), or Index
        What can be found. float32 in C order is best; `Index` has what else is accepted, and is
        better for vectors that are searched more than once.
    k : int
        How many are wanted.
    metric : {"ip", "cosine", "l2"}
        Inner product, cosine, or squared Euclidean distance; 0 and 1 as in FAISS (whose default
        is 1). An Index has its own.
    method : str
        ``auto`` takes what is fastest, and each answer is wrong with probability at most delta;
        ``exact`` and ``certain`` are never wrong.
    delta : float
        Allowed probability that a query's answer is wrong.
    seed, device, progress, deadline
        As in `Index` and `Index.search`. The deadline holds for building and search together.

    Returns
    -------
    scores : ndarray of float32 (m, k)
        Best first; NaN where there are fewer than k vectors.
    ids : ndarray of int64 (m, k)
        Row numbers of the vectors; -1 where there are fewer.

    Raises
    ------
    ValueError
        If an argument is wrong (`BadInput`); the message names it, and the row.
    DeadlineExceeded
        If the deadline passes before all answers are complete. Its ``result`` is a `Result` with the
        best so far, whose ``complete`` says which answers are, or None if the search had not begun.

    Examples
    --------
    >>> import numpy as np, thresher
    >>> scores, ids = thresher.knn([[1.0, 0.0]], [[0.2, 0.9], [0.9, 0.1], [0.5, 0.5]], k=2)
    >>> ids.tolist()
    [[1, 2]]
    """
    begun, limit = time.monotonic(), seconds(deadline)
    whole(k, "k")
    columns = vectors._columns if isinstance(vectors, Index) else names_of(vectors, "vectors")
    rows = _arrays.matrix(queries, "queries", one=True, columns=columns)
    if deadline is None and not progress and seed is None and device in ("auto", "cpu") and method in _EXACT:
        found = _scanned(rows, vectors, k, metric, delta)
        if found is not None:
            return found
    wanted = once(rows, k, method)
    index, own = as_index(vectors, metric, once=wanted, seed=seed, device=device, progress=progress, deadline=deadline)
    try:
        if limit is not None:
            limit = max(limit - (time.monotonic() - begun), 1e-3)
        result = index.search(rows, k, method=method, delta=delta, progress=progress, deadline=limit)
        partial = len(result) - int(np.count_nonzero(result.complete))
        if partial:
            late = DeadlineExceeded(
                f"deadline: it stopped {partial} of {len(result)} answers; the result of this error has what was found"
            )
            late.result = result
            raise late
        return result.scores, result.ids
    finally:
        if own:
            index.close()


# Methods that a scan answers.
_EXACT = ("auto", "exact", "certain")


def _scanned(
    queries: npt.NDArray[np.float32], vectors: Any, k: int, metric: Any, delta: float
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]] | None:
    """Return the answers by a scan in this process, None if the worker should answer or refuse."""
    probability(delta, "delta")
    if not isinstance(vectors, np.ndarray) or vectors.dtype != np.float32 or not vectors.dtype.isnative:
        return None
    if vectors.ndim != 2 or not vectors.flags.c_contiguous or len(vectors) == 0 or len(queries) == 0:
        return None
    n, dim = vectors.shape
    if queries.shape[1] != dim or dim == 0 or isinstance(vectors, np.ma.MaskedArray):
        return None
    if not _scan.pays(len(queries), n, dim, min(k, n), _worker.shared(vectors)):
        return None
    found = _scan.scan(queries, np.asarray(vectors), min(k, n), metric_name(metric))
    return found if found is None or k <= n else _scan.padded(*found, k)


def as_index(
    vectors: Any, metric: Any, *, once: dict[str, Any] | None = None, name: str = "vectors", **settings: Any
) -> tuple[Index, bool]:
    """Return vectors as an index, and whether it is to be closed after use.

    once, what it is searched for, keeps the worker from building what few queries have no use for.
    """
    if isinstance(vectors, Index):
        return vectors, False
    return Index(vectors, metric="ip" if metric is None else metric, _once=once, **settings), True


def once(queries: Any, k: Any, method: str) -> dict[str, Any]:
    """Return what an index that answers these queries and no others is searched for."""
    first = queries[0] if isinstance(queries, (list, tuple, np.ndarray)) and len(queries) else queries
    count = 1 if np.isscalar(first) else len(queries) if hasattr(queries, "__len__") else 0
    return {"queries": count, "k": 0 if k is None else whole(k, "k"), "method": text(method, "method")}
