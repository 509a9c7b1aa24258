"""One call for a search of vectors that are searched once."""

from __future__ import annotations

import logging
import time
from typing import Any

import numpy as np
import numpy.typing as npt

from thresher import _arrays, _capacity, _devices, _narrow, _scan, _scan64, _worker
from thresher._arguments import (
    Deadline,
    Device,
    DType,
    Method,
    Metric,
    dtype_name,
    explained,
    metric_name,
    probability,
    renamed,
    seconds,
    text,
    whole,
)
from thresher._arrays import Vectors
from thresher._columns import names_of
from thresher._index import Index
from thresher._progress import Progress
from thresher._worker import DeadlineExceeded

__all__ = ["as_index", "knn", "knn_once"]

log = logging.getLogger("thresher")


def knn(
    queries: Vectors,
    vectors: Vectors,
    k: int,
    metric: Metric | None = None,
    method: Method = "auto",
    delta: float = 0.01,
    *,
    dtype: DType = "float32",
    seed: int | None = None,
    device: Device = "auto",
    threads: int | None = None,
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
        As in `Index`, where it is required, too: ``faiss.knn`` has ``l2`` if none is given. An
        Index has its own.
    method : str
        ``auto`` takes what is fastest, the building of the vectors included: few queries scan them as
        they lie, the fewest in this process, and get exact answers. Otherwise each answer is wrong
        with probability at most delta; ``exact`` and ``certain`` are never wrong.
    delta : float
        Allowed probability that a query's answer is wrong.
    dtype, seed, device, threads, progress, deadline
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
    MemoryError
        If the answers take more memory than is free, columns beyond the vectors included.
    DeadlineExceeded
        If the deadline passes before all answers are complete. Its ``result`` is a `Result` with the
        best so far, whose ``complete`` says which answers are, or None if the search had not begun.

    Examples
    --------
    >>> import numpy as np, thresher
    >>> scores, ids = thresher.knn([[1.0, 0.0]], [[0.2, 0.9], [0.9, 0.1], [0.5, 0.5]], k=2, metric="ip")
    >>> ids.tolist()
    [[1, 2]]
    """
    begun, limit = time.monotonic(), seconds(deadline)
    k = whole(k, "k")
    columns = vectors._columns if isinstance(vectors, Index) else names_of(vectors, "vectors")
    dtype = dtype_name(dtype)
    rows = _arrays.table(queries, "queries", one=True, columns=columns)
    if deadline is None and not progress and _as_they_lie(rows, vectors):
        settings = {"device": text(device, "device"), "method": text(method, "method"), "delta": delta}
        if seed is not None:
            settings["seed"] = whole(seed, "seed", 0)
        if threads is not None:
            settings["threads"] = whole(threads, "threads")
        return knn_once(_narrow.narrowed(rows, "queries").rows, vectors, k, metric_name(metric), settings)
    plain = deadline is None and not progress and seed is None and threads is None and method in _EXACT
    if dtype == "float64" and plain and device in _HERE and _as_they_lie(rows, vectors, np.dtype(np.float64)):
        found = _scanned(_narrow.doubled(rows, "queries").rows, vectors, k, metric_name(metric))
        if found is not None:
            return found
    wanted = once(rows, k, method)
    own_settings: dict[str, Any] = {
        "dtype": dtype,
        "seed": seed,
        "device": device,
        "progress": progress,
        "deadline": deadline,
    }
    index, own = as_index(vectors, metric, once=wanted, threads=threads, **own_settings)
    try:
        if limit is not None:
            limit = max(limit - (time.monotonic() - begun), 1e-3)
        result = index.search(rows, k, method=method, delta=delta, threads=threads, progress=progress, deadline=limit)
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


# Methods and devices for which a scan answers.
_EXACT, _HERE = ("auto", "exact", "certain"), ("auto", "cpu")


def _as_they_lie(queries: npt.NDArray[Any], vectors: Any, dtype: npt.DTypeLike = np.float32) -> bool:
    """Tell whether vectors need no conversion, and there is something to search."""
    if not isinstance(vectors, np.ndarray) or isinstance(vectors, np.ma.MaskedArray) or vectors.dtype != dtype:
        return False
    if vectors.ndim != 2 or not vectors.flags.c_contiguous or not vectors.dtype.isnative:
        return False
    return vectors.size > 0 and len(queries) > 0 and queries.shape[1] == vectors.shape[1]


def _scanned(
    queries: npt.NDArray[np.float64], vectors: npt.NDArray[np.float64], k: int, metric: str
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]] | None:
    """Return the answers of a scan here of vectors kept as float64; None if the worker should answer."""
    m, (n, dim) = len(queries), vectors.shape
    if not (1 <= k < 2**63 and _scan64.pays64(m, n, dim, min(k, n), False)):
        return None
    _capacity.check_answers(k, m, n)
    found = _scan64.scan64(queries, np.asarray(vectors), min(k, n), metric)
    return found if found is None or k <= n else _scan.padded(*found, k)


def knn_once(
    queries: npt.NDArray[np.float32], vectors: npt.NDArray[np.float32], k: int, metric: str, settings: dict[str, Any]
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """Return the answers, of a scan here or of a worker that builds, searches and frees.

    Queries (m, d) and vectors (n, d) are in C order, and neither is empty. settings has method, delta and device, and
    seed and threads if they are given.
    """
    probability(settings["delta"], "delta")
    m, (n, dim) = len(queries), vectors.shape
    most = min(k, n)
    if k < 2**63:  # the worker refuses others
        _capacity.check_answers(k, m, n)
    scores: npt.NDArray[np.float32]
    ids: npt.NDArray[np.int64]
    found = None
    here = settings["method"] in _EXACT and settings["device"] in _HERE and "seed" not in settings
    if "threads" in settings and m * n * dim > _scan.ALONE:  # of a larger product BLAS chooses how many take part
        here = False
    # Finding out whether the worker can read them takes longer than the smallest scans.
    if here and (
        _scan.pays(m, n, dim, most, True) or (_scan.pays(m, n, dim, most, False) and not _worker.shared(vectors))
    ):
        found = _scan.scan(queries, np.asarray(vectors), most, metric)
    if found is None:
        fields, arrays = {"metric": metric, "k": k, **settings}, {"vectors": vectors, "queries": queries}
        with renamed(), explained():
            try:
                worker = _worker.get()
                reply, out = worker.call("knn", fields, arrays)
            except _worker.WorkerDied as e:
                log.warning("knn is repeated, because the worker died: %s", e)
                worker = _worker.get()
                reply, out = worker.call("knn", fields, arrays)
        _devices.warn_unused(worker, reply.get("gpu_unused", ()))
        found = out["scores"], out["rows"]
    scores, ids = found
    return (scores, ids) if k <= n else _scan.padded(scores, ids, k)


def as_index(
    vectors: Any, metric: Any, *, once: dict[str, Any] | None = None, name: str = "vectors", **settings: Any
) -> tuple[Index, bool]:
    """Return vectors as an index, and whether it is to be closed after use.

    once, what it is searched for, keeps the worker from building what few queries have no use for.
    """
    if not isinstance(vectors, Index):
        return Index(vectors, metric=metric, _once=once, **settings), True
    if metric is not None and metric_name(metric) != vectors.metric:
        raise ValueError(f"metric: {metric!r} is asked for, and {name} is an index by {vectors.metric!r}")
    if dtype_name(settings.get("dtype", "float32")) == "float64" and "rounded" in vectors.info:
        raise ValueError(f"dtype: 'float64' is asked for, and {name} is an index that rounded its vectors to float32")
    return vectors, False


def once(queries: Any, k: Any, method: str) -> dict[str, Any]:
    """Return what an index that answers these queries and no others is searched for."""
    first = queries[0] if isinstance(queries, (list, tuple, np.ndarray)) and len(queries) else queries
    count = 1 if np.isscalar(first) else len(queries) if hasattr(queries, "__len__") else 0
    return {"queries": count, "k": 0 if k is None else whole(k, "k"), "method": text(method, "method")}
