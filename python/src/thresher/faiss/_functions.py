"""FAISS's functions about vectors and answers."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import numpy.typing as npt

from thresher.faiss import _metrics
from thresher.faiss._flat import Index, IndexFlat, IndexFlatIP, IndexFlatL2
from thresher.faiss._idmap import IndexIDMap, IndexIDMap2
from thresher.faiss._metrics import FARTHEST, METRIC_INNER_PRODUCT, METRIC_L2
from thresher.faiss._searcher import nearest
from thresher.faiss._shapes import matrix_shape

__all__ = [
    "ResultHeap",
    "clone_index",
    "downcast_index",
    "eval_intersection",
    "index_factory",
    "kmax",
    "kmin",
    "knn",
    "merge_knn_results",
    "normalize_L2",
]

Floats = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]


def knn(
    xq: npt.ArrayLike, xb: npt.ArrayLike, k: int, metric: int = METRIC_L2, metric_arg: float = 0.0
) -> tuple[Floats, Ids]:
    """Return the k best vectors of each query, without an index.

    Parameters
    ----------
    xq, xb : array (m, d) and (n, d)
        Queries and vectors, rounded to float32.
    k : int
        How many are wanted.
    metric : int
        A ``METRIC_`` constant.
    metric_arg : float
        The p of ``METRIC_Lp``.

    Returns
    -------
    D : float32 (m, k)
    I : int64 (m, k)
        As of `Index.search`.
    """
    queries, rows = np.ascontiguousarray(xq, np.float32), np.ascontiguousarray(xb, np.float32)
    (m, width), (_, d) = matrix_shape(queries, "xq"), matrix_shape(rows, "xb")
    if width != d:
        raise AssertionError(f"xq: rows of {width} values, xb has {d}")
    if k < 0:
        raise ValueError(f"k: {k}, at least 0")
    if k == 0:
        return np.empty((m, 0), np.float32), np.empty((m, 0), np.int64)
    return nearest(queries, rows, int(k), _metrics.checked(metric), metric_arg)


def index_factory(d: int, description: str, metric: int = METRIC_L2) -> Index:
    """Return an index of a description: ``Flat``, or with ids ``IDMap,Flat``, ``IDMap2,Flat`` or these turned round.

    Raises
    ------
    RuntimeError
        If the description is another one.
    """
    flat: dict[int, type[IndexFlat]] = {METRIC_L2: IndexFlatL2, METRIC_INNER_PRODUCT: IndexFlatIP}
    parts = re.fullmatch(r"(?:(IDMap2?),)?Flat(?:,(IDMap2?))?", description)
    if parts is None or (parts[1] and parts[2]):
        raise RuntimeError(
            f"description: could not parse {description!r}; thresher.faiss has Flat, which compares all vectors, and "
            "IDMap and IDMap2 before or after it"
        )
    inner = flat[metric](d) if metric in flat else IndexFlat(d, metric)
    maps = parts[1] or parts[2]
    return inner if not maps else {"IDMap": IndexIDMap, "IDMap2": IndexIDMap2}[maps](inner)


def clone_index(index: Index) -> Index:
    """Return a copy of an index with vectors of its own."""
    return index.clone()


def downcast_index(index: Index) -> Index:
    """Return the index: it has its own type already."""
    return index


def normalize_L2(x: Floats) -> None:
    """Divide rows (n, d) of float32 by their lengths, in place; those of length 0 stay."""
    if not isinstance(x, np.ndarray) or x.dtype != np.float32 or x.ndim != 2:
        raise TypeError("x: an array of float32 in 2 dimensions is expected, which is changed in place")
    if not x.flags.c_contiguous:
        raise ValueError("array is not C-contiguous")
    step = max(1, (1 << 18) // max(1, x.shape[1]))
    for first in range(0, len(x), step):
        some = x[first : first + step]
        lengths = np.sqrt(np.einsum("ij,ij->i", some, some, dtype=np.float64))
        some *= np.divide(1, lengths, out=np.ones_like(lengths), where=lengths > 0).astype(np.float32)[:, np.newaxis]


def kmin(array: npt.ArrayLike, k: int) -> tuple[Floats, Ids]:
    """Return the k smallest values of each line (m, n), ascending, and their columns."""
    return _first(_lines(array), None, k, FARTHEST, False)


def kmax(array: npt.ArrayLike, k: int) -> tuple[Floats, Ids]:
    """Return the k greatest values of each line (m, n), descending, and their columns."""
    return _first(_lines(array), None, k, FARTHEST, True)


def _lines(array: npt.ArrayLike) -> Floats:
    values = np.ascontiguousarray(array, np.float32)
    matrix_shape(values, "array")
    return values


def _first(values: Floats, ids: Ids | None, k: int, lacking: np.float32, largest: bool) -> tuple[Floats, Ids]:
    """Return the k best values of each line with their ids, or columns; equal ones as they come."""
    m, n = values.shape
    empty = -lacking if largest else lacking
    out, named = np.full((m, k), empty, np.float32), np.full((m, k), -1, np.int64)
    order = np.argsort(-values if largest else values, axis=1, kind="stable")[:, :k]
    found = np.take_along_axis(values, order, axis=1)
    better = found > empty if largest else found < empty
    out[:, : min(k, n)] = np.where(better, found, empty)
    labels = order if ids is None else np.take_along_axis(ids, order, axis=1)
    named[:, : min(k, n)] = np.where(better, labels, -1)
    return out, named


class ResultHeap:
    """The best of answers that come in parts, of the same queries among other vectors: `D` and `I`, (nq, k).

    Parameters
    ----------
    nq, k : int
        How many queries, and how many answers of each are kept.
    keep_max : bool
        Whether the greatest values are the best.
    """

    def __init__(self, nq: int, k: int, keep_max: bool = False) -> None:
        self.nq, self.k, self.keep_max = nq, k, bool(keep_max)
        self.D: Floats = np.full((nq, k), -FARTHEST if keep_max else FARTHEST, np.float32)
        self.I: Ids = np.full((nq, k), -1, np.int64)

    def add_result(self, D: npt.ArrayLike, I: npt.ArrayLike) -> None:
        """Take in distances and ids (nq, any number), in any order."""
        self._take(slice(None), np.asarray(D, np.float32), np.asarray(I, np.int64), self.nq)

    def add_result_subset(self, subset: npt.ArrayLike, D: npt.ArrayLike, I: npt.ArrayLike) -> None:
        """Take in answers of some queries (n,); ids in one dimension are those of all of them."""
        scores, ids = np.asarray(D, np.float32), np.asarray(I, np.int64)
        if ids.ndim == 1:
            ids = np.broadcast_to(ids, (len(scores), len(ids)))
        queries = np.asarray(subset, np.int64)
        self._take(queries, scores, ids, len(queries))

    def _take(self, queries: Any, scores: Floats, ids: Ids, count: int) -> None:
        if scores.shape != ids.shape or len(scores) != count:
            raise AssertionError(f"D: shape {scores.shape}, I: shape {ids.shape}, expected {count} rows of both")
        scores, ids = np.hstack([self.D[queries], scores]), np.hstack([self.I[queries], ids])
        self.D[queries], self.I[queries] = _first(scores, ids, self.k, FARTHEST, self.keep_max)

    def finalize(self) -> None:
        """Finish: answers are in order already."""


def merge_knn_results(
    Dall: npt.NDArray[Any], Iall: npt.NDArray[Any], keep_max: bool = False
) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the best (nq, k) of the sorted answers of several sets of vectors, (nshard, nq, k)."""
    if Dall.shape != Iall.shape:
        raise AssertionError(f"Dall: shape {Dall.shape}, Iall: shape {Iall.shape}")
    _, _, k = Dall.shape
    scores, ids = (np.concatenate(list(part), axis=1) for part in (Dall, Iall))
    keys = np.where(ids < 0, np.inf, -scores if keep_max else scores)
    order = np.argsort(keys, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(scores, order, axis=1), np.take_along_axis(ids, order, axis=1)


def eval_intersection(I1: npt.ArrayLike, I2: npt.ArrayLike) -> int:
    """Return how many ids the lines of two tables (n, any number) have in common, of all lines together."""
    first, second = np.asarray(I1, np.int64), np.asarray(I2, np.int64)
    if len(first) != len(second):
        raise AssertionError(f"I1: {len(first)} lines, I2: {len(second)}")
    return sum(len(np.intersect1d(a, b)) for a, b in zip(first, second, strict=True))
