"""A dense scan in the calling process, for so few queries that handing the vectors over takes longer.

Float32 products, by whichever BLAS numpy has, exclude the vectors that cannot be among the best; the others are
scored in float64 by the canonical sums of docs/guarantee.md, whose order of additions is the worker's. So scores and
order are the worker's, bit for bit.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["padded", "pays", "scan"]

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]

# What calls cost in ns, roughly, on one core of an AMD EPYC 9004: a call of the worker; a coordinate that is copied
# to where it reads, with the pages that this takes; a product of numpy more than of the worker, and a product's
# test; a vector that is scored here, and each coordinate of it.
_CALL, _COPY, _PRODUCT, _TEST, _SCORE, _COORDINATE = 400e3, 1.3, 0.007, 0.5, 300, 4

# Bytes of the blocks of rows whose products and norms are computed one after the other, so that a cache has them: for
# one query, for few, of which OpenBLAS multiplies small matrices without copying them, and for more queries.
_ONE, _FEW, _MANY = 1 << 20, 256 << 10, 2 << 20
# How many products are tested at once, and of how many groups of rows the greatest make the first threshold.
_TESTED, _GROUPS = 1 << 20, 128
# Float64 values of rows that are scored at once.
_SCORED = 1 << 18

# What a matrix product of numpy usually takes.
_CORES = min(os.cpu_count() or 1, 8)

_LANES = 32
_UNIT = 2.0**-24
# Squared norms for which float32 neither overflows nor loses what the error bound does not count.
_LEAST, _MOST = 1e-20, 1e20
_SUBNORMAL = np.full(1, 2.0**-149, np.float32)


def pays(queries: int, rows: int, dim: int, k: int, shared: bool) -> bool:
    """Tell whether a scan here is expected to take less than handing the vectors to the worker."""
    handing = _CALL + (0 if shared else _COPY * rows * dim)
    scan = rows * (_PRODUCT * dim / _CORES + _TEST) + k * (_SCORE + _COORDINATE * dim)
    return queries * scan < handing


def scan(queries: Floats, vectors: Floats, k: int, metric: str) -> tuple[Floats, Rows] | None:
    """Return scores and row numbers of the k best vectors of each query, (m, k), the worker's bit for bit.

    Parameters
    ----------
    queries, vectors : float32 (m, d) and (n, d), in C order
    k : int
        1 to n.
    metric : {"ip", "cosine", "l2"}

    Returns
    -------
    None if the worker should answer: values are not finite or of extreme size, or so many vectors score alike that
    float32 does not tell which are best.
    """
    with np.errstate(all="ignore"):
        return _Scan(queries, vectors, k, metric).run()


class _Scan:
    """A scan. Its float32 scores are products, less half the squared norm for l2, over the norm for cosine.

    They are stored by query, so that what is done with those of one query runs over memory in order.
    """

    def __init__(self, queries: Floats, vectors: Floats, k: int, metric: str) -> None:
        self.queries, self.vectors, self.k, self.metric = queries, vectors, k, metric
        self.m, self.n, self.dim = len(queries), len(vectors), vectors.shape[1]
        wide = queries.astype(np.float64)
        self.squares: Doubles = _sums(wide * wide) if metric == "cosine" else np.einsum("ij,ij->i", wide, wide)
        self.norms: Doubles = np.sqrt(self.squares)
        # The roundings of a float32 sum of products in any order, with fused operations or without, and of
        # what is done with it; more than all of them together.
        self.rounding = (self.dim + 16) * _UNIT * 1.01
        # Lower bounds of the k-th best scores, the k best float32 scores of the chunks before, and what may
        # be among the best, a chunk each in order of query and row: query, row, float32 score.
        self.floor: Doubles = np.full(self.m, -np.inf)
        self.best: Floats | None = None
        self.kept: list[tuple[Rows, Rows, Floats]] = []
        self.error: Doubles = np.zeros(self.m)
        # How many may be kept, beyond which float32 does not tell enough.
        self.most = 4 * self.m * k + 4096

    def run(self) -> tuple[Floats, Rows] | None:
        if not (self.squares.min() > _LEAST and self.squares.max() < _MOST):
            return None
        if self.k * self.m * self.dim > _TESTED * 8:
            return None
        if _SUBNORMAL.astype(np.float64)[0] == 0:  # this thread takes subnormal numbers for 0
            return None
        size = _ONE if self.m == 1 else _FEW if self.m < 16 else _MANY
        block = max(1, size // (4 * self.dim))
        chunk = min(max(block, _TESTED // self.m), self.n)
        scores = np.empty((self.m, chunk), np.float32)
        for low in range(0, self.n, chunk):
            rows = self.vectors[low : low + chunk]
            part = scores[:, : len(rows)]
            if not self._multiply(part, rows, block) or not self._keep(part, low):
                return None
        return self._answers()

    def _multiply(self, scores: Floats, vectors: Floats, block: int) -> bool:
        """Write the float32 scores of vectors (m, w), and raise the error bound to theirs."""
        greatest = 0.0  # squared norm of a row, or of several together
        for at in range(0, len(vectors), block):
            rows, to = vectors[at : at + block], scores[:, at : at + block]
            if self.m == 1:
                np.dot(rows, self.queries[0], out=to[0])
            else:
                np.matmul(self.queries, rows.T, out=to)
            square = self._squares(rows) if self.metric == "ip" else self._finish(to, rows)
            if square is None:
                return False
            greatest = max(greatest, square)
        self.error = np.maximum(self.error, self._error(greatest**0.5))
        return True

    def _squares(self, rows: Floats) -> float | None:
        """Return what the squared norm of each row is at most: that of several together."""
        most, step = 0.0, max(1, _FEW // (4 * self.dim)) if self.m > 1 else len(rows)
        for at in range(0, len(rows), step):
            flat = rows[at : at + step].reshape(-1)
            square = float(np.dot(flat, flat))
            if not _LEAST < square < _MOST:
                return None
            most = max(most, square * (1 + flat.size * _UNIT * 2))
        return most

    def _finish(self, scores: Floats, rows: Floats) -> float | None:
        """Turn products into scores by cosine or l2; return what the squared norm of each row is at most."""
        squares = np.einsum("ij,ij->i", rows, rows)
        most = float(squares.max())
        small = squares <= _LEAST
        if not most < _MOST or (small.any() and rows[small].any()):  # rows of zeros have no error
            return None
        if self.metric == "l2":
            scores -= squares * np.float32(0.5)
        else:
            squares[small] = 1
            scores /= np.sqrt(squares)
        return most * (1 + self.dim * _UNIT * 2)

    def _error(self, norm: float) -> Doubles:
        """Bound the errors of float32 scores of rows of at most this norm."""
        error: Doubles = self.rounding * norm * self.norms
        if self.metric == "cosine":
            error = 3 * self.rounding * self.norms
        elif self.metric == "l2":  # of which float64 sums have errors too, of the size of the distance
            sums = self.norms + norm
            error = self.rounding * norm * sums + self.dim * _UNIT**2 * sums * sums
        return error

    def _keep(self, scores: Floats, low: int) -> bool:
        """Keep the rows from row low on that may be among the best; False if they are too many."""
        width = scores.shape[1]
        if low == 0 and self.k <= width:
            self._begin(scores)
        found = np.flatnonzero(scores >= self._least()[:, np.newaxis])
        if self.m == 1:
            query, row, score = np.zeros(len(found), np.int64), found, scores[0, found]
        else:
            query, row = np.divmod(found, width)
            score = scores[query, row]
        self.kept.append((query, row + low if low else row, score))
        if width == self.n and len(found) <= 2 * self.m * self.k:
            return True  # the floor is that of all rows, so little could be dropped
        self._raise(query, score)
        if width == self.n or sum(len(rows) for _, rows, _ in self.kept) > self.most:
            return self._drop() <= self.most
        return True

    def _begin(self, scores: Floats) -> None:
        """Set the floor to what the greatest scores of groups of rows say."""
        groups = max(_GROUPS, 4 * self.k)
        if (size := scores.shape[1] // groups) > 2:  # the k-th of the groups' is hardly less than the k-th of all
            scores = scores[:, : size * groups].reshape(self.m, size, groups).max(axis=1)
        last = scores.shape[1] - self.k
        self.floor = np.partition(scores, last, axis=1)[:, last] - self.error

    def _least(self) -> Floats:
        """Return the float32 scores that rows of the answers reach."""
        return np.nextafter((self.floor - self.error).astype(np.float32), np.float32(-np.inf))

    def _raise(self, query: Rows, score: Floats) -> None:
        """Raise the floor to the k-th best float32 score of all chunks so far, of which the last has these."""
        first, width = self._lists(query)
        merged = np.full((self.m, self.k + width), -np.inf, np.float32)
        merged[query, np.arange(len(query)) - first[query]] = score
        if self.best is not None:
            merged[:, width:] = self.best
        self.best = np.partition(merged, width, axis=1)[:, width:]
        self.floor = np.maximum(self.floor, self.best[:, 0] - self.error)

    def _lists(self, query: Rows) -> tuple[Rows, int]:
        """Return where the list of each query begins, and the length of the longest."""
        first = np.searchsorted(query, np.arange(self.m + 1))
        return first[:-1], int(np.diff(first).max())

    def _drop(self) -> int:
        """Leave of what is kept what may still be among the best, and return how much that is."""
        query, row, score = (np.concatenate(part) for part in zip(*self.kept, strict=True))
        left = np.flatnonzero(score >= self._least()[query])
        self.kept = [(query[left], row[left], score[left])]
        return len(left)

    def _answers(self) -> tuple[Floats, Rows]:
        """Score what is kept in float64, and return the best of it."""
        if self.best is not None:
            self._drop()
        query, row, _ = self.kept[0]
        if self.best is not None and self.m > 1:
            order = np.argsort(query, kind="stable")
            query, row = query[order], row[order]
        score = self._score(query, row)
        if self.m == 1:
            best = np.argsort(-score, kind="stable")[np.newaxis, : self.k]  # of equals, rows ascend
        else:
            first, width = self._lists(query)
            lists = np.full((self.m, width), np.inf)
            lists[query, np.arange(len(query)) - first[query]] = -score
            best = np.argsort(lists, axis=1, kind="stable")[:, : self.k] + first[:, np.newaxis]
        shown = score[best]
        return (-2 * shown + 0 if self.metric == "l2" else shown).astype(np.float32), row[best]

    def _score(self, query: Rows, row: Rows) -> Doubles:
        """Return the search scores of pairs of a query and a row."""
        step = max(1, _SCORED // self.dim)
        if len(row) <= step:
            return self._scored(query, row)
        parts = [slice(at, at + step) for at in range(0, len(row), step)]
        return np.concatenate([self._scored(query[part], row[part]) for part in parts])

    def _scored(self, query: Rows, row: Rows) -> Doubles:
        rows, queries = self.vectors[row], self.queries if self.m == 1 else self.queries[query]
        if self.metric == "l2":
            apart = np.subtract(rows, queries, dtype=np.float64)
            return 0 - _sums(np.multiply(apart, apart, out=apart)) / 2
        dots = _sums(np.multiply(rows, queries, dtype=np.float64))
        if self.metric == "ip":
            return dots
        squares = _sums(np.multiply(rows, rows, dtype=np.float64))
        return _cosines(dots, squares, self.squares if self.m == 1 else self.squares[query])


def _sums(terms: Doubles) -> Doubles:
    """Return the canonical sum of each row: lane j % 32 adds term j, in order; lanes are then folded in halves."""
    lanes = np.zeros((len(terms), _LANES))
    for at in range(0, terms.shape[1], _LANES):
        part = terms[:, at : at + _LANES]
        lanes[:, : part.shape[1]] += part
    half = _LANES
    while half > 1:
        half //= 2
        lanes = lanes[:, :half] + lanes[:, half:]
    return lanes[:, 0]


def _product(a: Doubles, b: Doubles) -> tuple[Doubles, Doubles]:
    """Return a*b rounded and its error, which is exact (Dekker 1971)."""
    product = a * b
    a1, a2 = _halves(a)
    b1, b2 = _halves(b)
    return product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2


def _halves(a: Doubles) -> tuple[Doubles, Doubles]:
    """Return two numbers of 26 bits whose sum is a."""
    scaled = a * (2.0**27 + 1)
    high = scaled - (scaled - a)
    return high, a - high


def _cosines(dots: Doubles, vv: Doubles, qq: Doubles) -> Doubles:
    """Return cosines as the worker computes them: the square of the product over vv in twice the precision."""
    square, beyond = _product(dots, dots)
    ratio = square / vv
    product, error = _product(ratio, vv)
    ratio += (((square - product) - error) + beyond) / vv
    return np.where(dots == 0, 0.0, np.copysign(np.sqrt(ratio / qq), dots))


def padded(scores: Floats, ids: Rows, k: int) -> tuple[Floats, Rows]:
    """Return answers of fewer vectors than k with what stands for none."""
    lacking: Any = ((0, 0), (0, k - scores.shape[1]))
    return np.pad(scores, lacking, constant_values=np.nan), np.pad(ids, lacking, constant_values=-1)
