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
    """A scan. Its float32 scores are products, less half the squared norm for l2, over the norm for cosine."""

    def __init__(self, queries: Floats, vectors: Floats, k: int, metric: str) -> None:
        self.queries, self.vectors, self.k, self.metric = queries, vectors, k, metric
        self.m, self.n, self.dim = len(queries), len(vectors), vectors.shape[1]
        wide = queries.astype(np.float64)
        self.squares: Doubles = np.einsum("ij,ij->i", wide, wide)
        self.norms: Doubles = np.sqrt(self.squares)
        # The roundings of a float32 sum of products in any order, with fused operations or without, and of
        # what is done with it; more than all of them together.
        self.rounding = (self.dim + 16) * _UNIT * 1.01
        # Lower bounds of the k-th best scores, and what may be among the best: query, row, float32 score.
        self.floor: Doubles = np.full(self.m, -np.inf)
        self.kept: list[tuple[Rows, Rows, Floats]] = []
        self.error: Doubles = np.zeros(self.m)

    def run(self) -> tuple[Floats, Rows] | None:
        if not ((self.squares > _LEAST) & (self.squares < _MOST)).all() or self.k * self.m * self.dim > _TESTED * 8:
            return None
        if _SUBNORMAL.astype(np.float64)[0] == 0:  # this thread takes subnormal numbers for 0
            return None
        size = _ONE if self.m == 1 else _FEW if self.m < 16 else _MANY
        block = max(1, size // (4 * self.dim))
        chunk = max(block, _TESTED // self.m)
        scores = np.empty((min(chunk, self.n), self.m), np.float32)
        for low in range(0, self.n, chunk):
            high = min(low + chunk, self.n)
            if not self._multiply(scores, low, high, block) or not self._test(scores[: high - low], low):
                return None
        return self._answers()

    def _multiply(self, scores: Floats, low: int, high: int, block: int) -> bool:
        """Write the float32 scores of rows low to high-1, and raise the error bound to theirs."""
        greatest = 0.0  # squared norm of a row, or of several together
        for at in range(low, high, block):
            rows = self.vectors[at : min(at + block, high)]
            to = scores[at - low : at - low + len(rows)]
            if self.m == 1:
                np.dot(rows, self.queries[0], out=to[:, 0])
            else:
                np.dot(rows, self.queries.T, out=to)
            if self.metric == "ip":
                flat = rows.reshape(-1)
                square = float(np.dot(flat, flat))
                if not _LEAST < square < _MOST:
                    return False
                greatest = max(greatest, square * (1 + flat.size * _UNIT * 2))
                continue
            squares = np.einsum("ij,ij->i", rows, rows)[:, np.newaxis]
            most = float(squares.max())
            small = squares <= _LEAST
            if not most < _MOST or (small.any() and rows[small[:, 0]].any()):  # rows of zeros have no error
                return False
            greatest = max(greatest, most * (1 + self.dim * _UNIT * 2))
            if self.metric == "l2":
                to -= squares * np.float32(0.5)
            else:
                squares[small] = 1
                to /= np.sqrt(squares)
        self.error = np.maximum(self.error, self._error(greatest**0.5))
        return True

    def _error(self, norm: float) -> Doubles:
        """Bound the errors of float32 scores of rows of at most this norm."""
        error: Doubles = self.rounding * norm * self.norms
        if self.metric == "cosine":
            error = 3 * self.rounding * self.norms
        elif self.metric == "l2":  # of which float64 sums have errors too, of the size of the distance
            sums = self.norms + norm
            error = self.rounding * norm * sums + self.dim * _UNIT**2 * sums * sums
        return error

    def _test(self, scores: Floats, low: int) -> bool:
        """Keep the rows from row low on that may be among the best; False if they are too many."""
        if low == 0 and self.k <= len(scores):
            greatest, groups = scores, max(_GROUPS, 8 * self.k)
            if (size := len(scores) // groups) > 2:  # the k-th of the groups' is hardly less than the k-th of all
                greatest = scores[: size * groups].reshape(size, groups, self.m).max(axis=0)
            last = len(greatest) - self.k
            self.floor = np.partition(greatest, last, axis=0)[last] - self.error
        found = np.flatnonzero(scores >= self._least())
        if self.m == 1:
            row, query = found, np.zeros(len(found), np.int64)
        else:
            row, query = np.divmod(found, self.m)
        self.kept.append((query, row + low, scores.reshape(-1)[found]))
        # Where the floor is that of all rows so far, little can be dropped.
        return (low == 0 and len(found) <= 2 * self.m * self.k) or self._tighten()

    def _least(self) -> Floats:
        """Return the float32 scores that rows of the answers reach."""
        return np.nextafter((self.floor - self.error).astype(np.float32), np.float32(-np.inf))

    def _tighten(self) -> bool:
        """Raise the floor to what k of the rows that are kept reach, and drop those below it."""
        query, row, score = (
            np.concatenate(part) if len(part) > 1 else part[0] for part in zip(*self.kept, strict=True)
        )
        order = np.lexsort((-score, query)) if self.m > 1 else np.argsort(-score, kind="stable")
        query, row, score = query[order], row[order], score[order]
        first = np.searchsorted(query, np.arange(self.m + 1))
        full = np.diff(first) >= self.k
        kth = score[np.minimum(first[:-1] + self.k, len(score)) - 1].astype(np.float64)
        self.floor = np.where(full, np.maximum(self.floor, kth - self.error), self.floor)
        left = score >= self._least()[query]
        query, row, score = query[left], row[left], score[left]
        self.kept = [(query, row, score)]
        return len(query) <= 4 * self.m * self.k + 4096

    def _answers(self) -> tuple[Floats, Rows]:
        """Score what is kept in float64, and return the best of it."""
        query, row, _ = self.kept[0]
        step = max(1, _SCORED // self.dim)
        if len(query) <= step:
            score = self._score(query, row)
        else:
            parts = [slice(at, at + step) for at in range(0, len(query), step)]
            score = np.concatenate([self._score(query[part], row[part]) for part in parts])
        if self.m == 1:
            best = np.lexsort((row, -score))[np.newaxis, : self.k]
        else:
            order = np.lexsort((row, -score, query))
            first = np.searchsorted(query[order], np.arange(self.m))
            best = order[first[:, np.newaxis] + np.arange(self.k)]
        shown = score[best]
        return (-2 * shown + 0 if self.metric == "l2" else shown).astype(np.float32), row[best]

    def _score(self, query: Rows, row: Rows) -> Doubles:
        """Return the search scores of pairs of a query and a row."""
        wide = (self.queries if self.m == 1 else self.queries[query]).astype(np.float64)
        rows = self.vectors[row].astype(np.float64)
        if self.metric == "l2":
            rows -= wide
            return 0 - _sums(rows * rows) / 2
        dots = _sums(rows * wide)
        if self.metric == "ip":
            return dots
        return _cosines(dots, _sums(rows * rows), _sums(wide * wide))  # of one query or of each


def _sums(terms: Doubles) -> Doubles:
    """Return the canonical sum of each row: lane j % 32 adds term j, in order; lanes are then folded in halves."""
    count, dim = terms.shape
    lanes = np.zeros((_LANES, count))
    for at in range(0, dim, _LANES):
        part = terms[:, at : at + _LANES].T
        lanes[: len(part)] += part
    half = _LANES
    while half > 1:
        half //= 2
        lanes = lanes[:half] + lanes[half:]
    sums: Doubles = lanes[0]
    return sums


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
