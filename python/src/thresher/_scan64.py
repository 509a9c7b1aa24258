"""A dense scan of vectors kept as float64 in the calling process, where handing them to the worker takes longer.

Products in float64, by whichever BLAS numpy has, rule out what cannot be among the best; the others are scored by the
canonical sums of docs/guarantee.md. So scores and order are the worker's, bit for bit.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thresher._products import LEAST, MOST
from thresher._scan import pays
from thresher._shares import in_threads, shares
from thresher._sums import cosines, sums

__all__ = ["pays64", "scan64"]

Doubles = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]

_UNIT = 2.0**-53
# Values of rows that one call multiplies, so few that BLAS leaves them to one thread; that a thread takes at once.
_OWN, _SHARE = 1 << 16, 1 << 19
_GROUPS = 64  # of how many groups of rows the greatest scores make the threshold, at least
_SINGLY = 6  # up to how many queries rows are multiplied by one after the other
_MOST = 4096  # how many vectors beside 4 k of each query may be left, beyond which float64 products do not tell enough


def pays64(queries: int, rows: int, dim: int, k: int, shared: bool) -> bool:
    """Tell of float64 what `pays` tells of float32, of which a value takes half as long to copy and to multiply."""
    return pays(queries, rows, 2 * dim, k, shared)


def scan64(queries: Doubles, vectors: Doubles, k: int, metric: str) -> tuple[npt.NDArray[np.float32], Rows] | None:
    """Return scores and row numbers of the k best vectors of each query, (m, k), the worker's bit for bit.

    Parameters
    ----------
    queries, vectors : float64 (m, d) and (n, d), in C order
    k : int
        1 to n.
    metric : {"ip", "cosine", "l2"}

    Returns
    -------
    None if the worker should answer: values are not finite or of extreme size, or so many vectors score alike that
    products do not tell which are best, as of l2 far from zero.
    """
    m, (n, dim) = len(queries), vectors.shape
    with np.errstate(all="ignore"):
        asked: Doubles = np.einsum("ij,ij->i", queries, queries)
        if not all(LEAST < square < MOST for square in asked.tolist()):
            return None
        scores, squares = np.empty((m, n)), np.empty(n)
        _multiply(queries, vectors, scores, squares)
        most = float(squares.max())
        if not most < MOST or not (metric != "cosine" or float(squares.min()) > LEAST):
            return None
        norm, norms = most**0.5, np.sqrt(asked)
        if metric == "l2":
            scores -= squares * 0.5
        elif metric == "cosine":
            scores /= np.sqrt(squares)
        # The roundings of products in any order, and of the canonical sums; more than all of them together.
        size = {"ip": norm * norms, "cosine": 4 * norms, "l2": 2 * (norm + norms) ** 2}[metric]
        error = 2 * (dim + 16) * _UNIT * 1.01 * size
        floor = _kth(scores, k) - 2 * error
        query, row = np.nonzero(scores >= floor[:, np.newaxis])
        if len(row) > 4 * m * k + _MOST:
            return None
        found = np.empty(len(row))
        own = sums(queries * queries) if metric == "cosine" else asked
        step = max(1, _SHARE // (4 * dim))
        for at in range(0, len(row), step):
            part = slice(at, at + step)
            found[part] = _scores(queries[query[part]], vectors[row[part]], own[query[part]], metric)
        order = np.lexsort((row, -found, query))
        first = np.searchsorted(query[order], np.arange(m))
        best = order[first[:, np.newaxis] + np.arange(k)]
        shown = -2 * found[best] + 0 if metric == "l2" else found[best]
        return shown.astype(np.float32), row[best]


def _kth(scores: Doubles, k: int) -> Doubles:
    """Return scores that k of each row reach, hardly less than the k-th best."""
    groups = max(_GROUPS, 16 * k)
    while (half := scores.shape[1] // 2) >= groups:
        scores = np.maximum(scores[:, :half], scores[:, half : 2 * half])
    last: Doubles = np.partition(scores, scores.shape[1] - k, axis=1)[:, scores.shape[1] - k]
    return last


def _multiply(queries: Doubles, vectors: Doubles, scores: Doubles, squares: Doubles) -> None:
    """Write the products of queries and vectors (m, n), and the squared norms of the vectors."""
    own, share = (max(1, size // vectors.shape[1]) for size in (_OWN, _SHARE))

    def some(low: int, high: int) -> float:
        for at in range(low, high, own):
            part = slice(at, min(at + own, high))
            rows = vectors[part]
            np.einsum("ij,ij->i", rows, rows, out=squares[part])
            if len(queries) <= _SINGLY:
                for q, out in zip(queries, scores, strict=True):
                    np.dot(rows, q, out=out[part])
        return 0.0

    in_threads(vectors.size // _SHARE, some, shares(len(vectors), share))
    if len(queries) > _SINGLY:
        np.matmul(queries, vectors.T, out=scores)


def _scores(queries: Doubles, rows: Doubles, squares: Doubles, metric: str) -> Doubles:
    """Return the canonical scores of rows and the queries beside them, of these squared norms."""
    if metric == "l2":
        change = rows - queries
        return 0 - sums(change * change) / 2
    dots = sums(rows * queries)
    return dots if metric == "ip" else cosines(dots, sums(rows * rows), squares)
