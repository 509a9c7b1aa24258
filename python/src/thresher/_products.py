"""Float32 products of few queries with all vectors, by whichever BLAS numpy has, and the vectors' norms."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from thresher._shares import in_threads, shares

__all__ = ["LEAST", "MOST", "SUBNORMAL", "Products", "error_of", "squares_of"]

Floats = npt.NDArray[np.float32]
T = TypeVar("T", float, npt.NDArray[np.float64])

LEAST, MOST = 1e-20, 1e20
"""Squared norms for which float32 neither overflows nor loses what the error bound does not count."""

SUBNORMAL = np.full(1, 2.0**-149, np.float32)
"""A number that is 0 where a thread takes subnormal ones for 0."""

_UNIT = 2.0**-24

# Up to how many queries the rows are multiplied by one after the other: for more, one product of matrices is faster.
_SINGLY = 6
# Bytes of rows: up to which a cache that cores share is taken to hold them all; whose norms and products one thread of
# this module computes before it goes on; that it takes at once; that BLAS multiplies by many queries at once, of whose
# calls each waits for all its threads.
_CACHED, _OWN, _SHARE, _MANY = 16 << 20, 1 << 20, 4 << 20, 8 << 20

# Values of rows whose norm together stands for that of each, and that are looked at together for whole numbers.
_TOGETHER, _WHOLE = 1 << 17, 1 << 15

# Sums of whole numbers are exact in float32, in any order, where none of the absolute values reaches 2^24; here they
# are below half the square of the norms' sum, and quotients of so small ones tell which they were.
_EXACT = 2.0**20


def error_of(metric: str, dim: int, norm: float, norms: T) -> T:
    """Bound the errors of float32 scores of rows of at most a norm with queries of these norms.

    Scores are products, for l2 less half the squared norm of the row, for cosine over its norm.
    """
    # The roundings of a sum of products in any order, with fused operations or without, and of what is done with it;
    # more than all of them together.
    rounding = (dim + 16) * _UNIT * 1.01
    if metric == "cosine":
        return 3 * rounding * norms
    if metric == "l2":  # of which float64 sums have errors too, of the size of the distance
        both = norms + norm
        return rounding * norm * both + dim * _UNIT**2 * both * both
    return rounding * norm * norms


def squares_of(rows: Floats, out: Floats | None = None) -> Floats:
    """Return the squared norms of rows, as float32 sums."""
    if not hasattr(np, "vecdot"):  # numpy before 2
        return np.asarray(np.einsum("ij,ij->i", rows, rows, out=out))
    found: Floats = np.vecdot(rows, rows, out=out)
    return found


class Products:
    """Products with all vectors, a part of the rows at a time.

    Attributes
    ----------
    squares : float32 (n,)
        For cosine and l2, squared norms of the rows that were multiplied; for cosine 1 where there are only zeros.
    """

    def __init__(self, queries: Floats, vectors: Floats, metric: str, norms: npt.NDArray[np.float64]) -> None:
        """Take the norms of the queries, too."""
        self._queries, self._vectors, self._metric, self._norms_of_queries = queries, vectors, metric, norms
        self.squares: Floats = np.empty(len(vectors) if metric != "ip" else 0, np.float32)

    def write(self, scores: Floats, low: int) -> float:
        """Write the scores (m, c) of rows low to low+c-1.

        They are products, for l2 less half the squared norm of the row, for cosine over its norm. Returns what the
        squared norm of each row is at most: infinite if values are not finite or of extreme size.
        """
        rows, squares = self._vectors[low : low + scores.shape[1]], self.squares[low : low + scores.shape[1]]
        if len(scores) > _SINGLY:
            most = self._by_matrices(scores, rows, squares)
        elif rows.nbytes <= _CACHED:
            most = self._some(scores, rows, squares, len(rows))
        else:
            own, share = (max(1, size // (4 * rows.shape[1])) for size in (_OWN, _SHARE))

            def some(first: int, last: int) -> float:
                return self._some(scores[:, first:last], rows[first:last], squares[first:last], own)

            most = max(in_threads(rows.nbytes // _SHARE, some, shares(len(rows), share)))
        if self._metric == "ip":
            return most if LEAST < most < MOST else float("inf")
        most = squares.max().item()
        small = squares <= LEAST
        if not most < MOST or (small.any() and rows[small].any()):  # rows of zeros have no error
            return float("inf")
        if self._metric == "l2":
            scores -= squares * np.float32(0.5)
        elif self._metric == "cosine":
            squares[small] = 1
            scores /= np.sqrt(squares)
        return float(most * (1 + rows.shape[1] * _UNIT * 2))

    def _some(self, scores: Floats, rows: Floats, squares: Floats, step: int) -> float:
        """Multiply rows by one query after the other, so many rows at a time."""
        queries, most = list(zip(self._queries, scores, strict=True)), 0.0
        for at in range(0, len(rows), step):
            part = rows[at : at + step]
            most = max(most, self._norms(part, squares[at : at + step]))  # first: memory is read in order faster
            for query, found in queries:
                np.dot(part, query, out=found[at : at + step])
        return most

    def _by_matrices(self, scores: Floats, rows: Floats, squares: Floats) -> float:
        """Multiply rows by all queries at once, by all threads of BLAS."""
        most = 0.0
        step = max(1, _MANY // (4 * rows.shape[1]))
        for at in range(0, len(rows), step):
            part = rows[at : at + step]
            most = max(most, self._norms(part, squares[at : at + step]))
            np.matmul(self._queries, part.T, out=scores[:, at : at + step])
        return most

    def _norms(self, rows: Floats, squares: Floats) -> float:
        """Write the squared norms of rows; for ip, return instead what each is at most: that of several together."""
        if self._metric != "ip":
            squares_of(rows, squares)
            return 0.0
        most, flat, step = 0.0, rows.reshape(-1), max(1, min(len(rows), _TOGETHER // rows.shape[1])) * rows.shape[1]
        for at in range(0, len(flat), step):
            part = flat[at : at + step]
            square = float(np.dot(part, part))
            if not square < MOST:
                return float("inf")
            most = max(most, square)
        return float(most * (1 + step * _UNIT * 2))

    def whole(self, norm: float) -> bool:
        """Tell whether all values are whole numbers, and so small that products are exact with rows of this norm."""
        rows = self._vectors
        if not (self.exact(norm) and rows.item(0).is_integer() and _are_whole(self._queries) and _are_whole(rows[:1])):
            return False
        share = max(1, _SHARE // (4 * rows.shape[1]))
        return all(in_threads(rows.nbytes // _SHARE, lambda a, b: _are_whole(rows[a:b]), shares(len(rows), share)))

    def exact(self, norm: float) -> bool:
        """Tell whether products of whole numbers are exact with rows of at most this norm."""
        return float(self._norms_of_queries.max() + norm) ** 2 < _EXACT


def _are_whole(rows: Floats) -> bool:
    """Tell whether all values are whole numbers."""
    step = max(1, _WHOLE // rows.shape[1])
    rounded = np.empty((min(step, len(rows)), rows.shape[1]), np.float32)
    same = np.empty(rounded.shape, np.bool_)
    for at in range(0, len(rows), step):
        part = rows[at : at + step]
        count = len(part)
        np.rint(part, out=rounded[:count])
        if not np.equal(part, rounded[:count], out=same[:count]).all():
            return False
    return True
