"""Metrics by the numbers that FAISS gives them, and matrices of distances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from thresher.faiss._shapes import matrix_shape

__all__ = [
    "FARTHEST",
    "METRIC_GOWER",
    "METRIC_INNER_PRODUCT",
    "METRIC_L1",
    "METRIC_L2",
    "NAMES",
    "METRIC_BrayCurtis",
    "METRIC_Canberra",
    "METRIC_Jaccard",
    "METRIC_JensenShannon",
    "METRIC_Linf",
    "METRIC_Lp",
    "METRIC_NaNEuclidean",
    "checked",
    "distances",
    "is_similarity_metric",
    "pairwise_distances",
    "worst",
]

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]

METRIC_INNER_PRODUCT, METRIC_L2, METRIC_L1, METRIC_Linf, METRIC_Lp = 0, 1, 2, 3, 4
METRIC_Canberra, METRIC_BrayCurtis, METRIC_JensenShannon = 20, 21, 22
METRIC_Jaccard, METRIC_NaNEuclidean, METRIC_GOWER = 23, 24, 25

# What thresher calls those that its engine searches by. The others are computed here.
NAMES = {METRIC_INNER_PRODUCT: "ip", METRIC_L2: "l2"}

# What FAISS returns in place of a distance where there is no vector; no vector that is as far is found.
FARTHEST = np.float32(np.finfo(np.float32).max)

# Coordinates of pairs that are compared at once.
_BLOCK = 1 << 21


def is_similarity_metric(metric: int) -> bool:
    """Tell whether the greatest values of a metric are the best."""
    return metric in (METRIC_INNER_PRODUCT, METRIC_Jaccard)


def worst(metric: int) -> np.float32:
    """Return what stands for no distance by a metric."""
    return -FARTHEST if is_similarity_metric(metric) else FARTHEST


def checked(metric: Any) -> int:
    """Return the number of a metric; others are refused."""
    if isinstance(metric, bool) or not isinstance(metric, (int, np.integer)):
        raise TypeError(f"metric: {metric!r} is no number; METRIC_L2, METRIC_INNER_PRODUCT and so on are")
    if metric not in NAMES and metric not in _OTHERS:
        known = ", ".join(str(number) for number in sorted({*NAMES, *_OTHERS}))
        raise RuntimeError(f"metric: {metric} is none; the METRIC_ constants are {known}")
    return int(metric)


def distances(queries: Floats, rows: Floats, metric: int, argument: float = 0.0) -> Floats:
    """Return the distances of queries (m, d) to rows (n, d), (m, n): squared by METRIC_L2.

    Squared distances are sums in float64, rounded once, and never below 0; inner products are those of numpy in
    float32; the other metrics, whose argument is the p of METRIC_Lp, are sums in float64.
    """
    out = np.empty((len(queries), len(rows)), np.float32)
    with np.errstate(all="ignore"):
        if metric == METRIC_INNER_PRODUCT:
            return np.matmul(queries, rows.T, out=out)
        wide = rows.astype(np.float64)
        if metric == METRIC_L2 and np.isfinite(wide).all() and np.isfinite(queries).all():
            return _squares(queries.astype(np.float64), wide, out)
        each = _OTHERS.get(metric, _l2)
        step = max(1, _BLOCK // max(1, rows.size))
        for first in range(0, len(queries), step):
            some = queries[first : first + step, np.newaxis].astype(np.float64)
            out[first : first + step] = each(some, wide[np.newaxis], argument)
    return out


def _squares(queries: Doubles, rows: Doubles, out: Floats) -> Floats:
    """Write squared distances of finite rows; those near 0, where the sum of products cancels, are summed anew."""
    of_queries, of_rows = (np.einsum("ij,ij->i", x, x) for x in (queries, rows))
    step = max(1, _BLOCK // max(1, len(rows)))
    for first in range(0, len(queries), step):
        some = slice(first, first + step)
        sums = of_queries[some, np.newaxis] + of_rows
        found = sums - 2 * (queries[some] @ rows.T)
        query, row = np.nonzero(found < 1e-6 * sums)
        pairs = max(1, _BLOCK // queries.shape[1])
        for at in range(0, len(query), pairs):
            of, to = query[at : at + pairs], row[at : at + pairs]
            apart = queries[first + of] - rows[to]
            found[of, to] = np.einsum("ij,ij->i", apart, apart)
        out[some] = found
    return out


def pairwise_distances(xq: npt.ArrayLike, xb: npt.ArrayLike, metric: int = METRIC_L2, metric_arg: float = 0) -> Floats:
    """Return the matrix of distances of queries (m, d) to vectors (n, d), as `distances` computes them.

    Raises
    ------
    AssertionError
        If the two have not as many columns.
    """
    queries, rows = np.ascontiguousarray(xq, np.float32), np.ascontiguousarray(xb, np.float32)
    (_, width), (_, d) = matrix_shape(queries, "xq"), matrix_shape(rows, "xb")
    if width != d:
        raise AssertionError(f"xq: rows of {width} values, xb has {d}")
    return distances(queries, rows, checked(metric), metric_arg)


# The other metrics, of queries (m, 1, d) and rows (1, n, d) in float64.


def _l2(x: Doubles, y: Doubles, _: float) -> Doubles:
    found: Doubles = np.square(x - y).sum(axis=-1)
    return found


def _l1(x: Doubles, y: Doubles, _: float) -> Doubles:
    found: Doubles = np.abs(x - y).sum(axis=-1)
    return found


def _linf(x: Doubles, y: Doubles, _: float) -> Doubles:
    found: Doubles = np.fmax.reduce(np.abs(x - y), axis=-1, initial=0.0)
    return found


def _lp(x: Doubles, y: Doubles, p: float) -> Doubles:
    found: Doubles = (np.abs(x - y) ** p).sum(axis=-1)  # of which FAISS does not take the root
    return found


def _canberra(x: Doubles, y: Doubles, _: float) -> Doubles:
    found: Doubles = (np.abs(x - y) / (np.abs(x) + np.abs(y))).sum(axis=-1)
    return found


def _bray_curtis(x: Doubles, y: Doubles, _: float) -> Doubles:
    found: Doubles = np.abs(x - y).sum(axis=-1) / np.abs(x + y).sum(axis=-1)
    return found


def _jensen_shannon(x: Doubles, y: Doubles, _: float) -> Doubles:
    middle = (x + y) / 2
    found: Doubles = (-x * np.log(middle / x) - y * np.log(middle / y)).sum(axis=-1) / 2
    return found


def _jaccard(x: Doubles, y: Doubles, _: float) -> Doubles:
    found: Doubles = np.fmin(x, y).sum(axis=-1) / np.fmax(x, y).sum(axis=-1)
    return found


def _nan_euclidean(x: Doubles, y: Doubles, _: float) -> Doubles:
    apart = np.square(x - y)
    there = ~np.isnan(apart)
    found: Doubles = np.where(there, apart, 0).sum(axis=-1) * (x.shape[-1] / there.sum(axis=-1))
    shown: Doubles = np.where(there.any(axis=-1), found, np.nan)
    return shown


def _gower(x: Doubles, y: Doubles, _: float) -> Doubles:
    """Compare coordinates from 0 to 1 by their difference, and negative ones, which are categories, for equality."""
    there = ~(np.isnan(x) | np.isnan(y))
    numbers = (x >= 0) & (y >= 0)
    apart = np.where(numbers, np.abs(x - y), (x != y).astype(np.float64))
    wrong = there & (((x < 0) != (y < 0)) | (numbers & ((x > 1) | (y > 1))))
    found: Doubles = np.where(there, apart, 0).sum(axis=-1) / there.sum(axis=-1)
    shown: Doubles = np.where(wrong.any(axis=-1) | ~there.any(axis=-1), np.nan, found)
    return shown


_OTHERS: dict[int, Callable[[Doubles, Doubles, float], Doubles]] = {
    METRIC_L1: _l1,
    METRIC_Linf: _linf,
    METRIC_Lp: _lp,
    METRIC_Canberra: _canberra,
    METRIC_BrayCurtis: _bray_curtis,
    METRIC_JensenShannon: _jensen_shannon,
    METRIC_Jaccard: _jaccard,
    METRIC_NaNEuclidean: _nan_euclidean,
    METRIC_GOWER: _gower,
}
