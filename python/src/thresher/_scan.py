"""A dense scan in the calling process, for so few queries that handing the vectors over takes longer.

Float32 products, by whichever BLAS numpy has, exclude the vectors that cannot be among the best; the others are
scored in float64 by the canonical sums of docs/guarantee.md, whose order of additions is the worker's. So scores and
order are the worker's, bit for bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from thresher._scratch import Scratch
from thresher._shares import CORES, in_threads, shares
from thresher._sums import cosines, sums

__all__ = ["padded", "pays", "scan"]

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]

# What calls cost in ns, roughly, on one core of an AMD EPYC 9004: a call of the worker, and each of its answers; a
# coordinate that is copied to where it reads, with the pages that this takes; a coordinate that it builds; a product,
# what one of numpy takes more than one of the worker, and a product's test; a vector that is scored here, and each
# coordinate of it. Where the worker builds, a search is taken to cost a third of a scan (plan.Once).
_CALL, _ANSWER, _COPY, _BUILD, _BUILT = 400e3, 2500, 1.3, 8, 3
_PRODUCT, _MORE, _TEST, _SCORE, _COORDINATE = 0.02, 0.004, 0.3, 60, 1.2

# Bytes of the rows whose norms and products are computed one after the other, so that a cache has them: for one
# query, for few, for more, of whose calls each waits for all threads of BLAS. For one query it is all of them if they
# are few enough for a shared cache, and one thread does it.
_ONE, _FEW, _MANY, _CACHED = 512 << 10, 256 << 10, 8 << 20, 16 << 20
# From how many queries on BLAS uses all cores well, the bytes of rows that make a thread of this module worth its
# start, the products (rows, queries and coordinates multiplied) of a call that OpenBLAS leaves to one thread, and those
# where queries have so few values that its kernels for small matrices answer.
_THREADED, _SHARE, ALONE, _ALONE_SMALL, _SMALL_QUERIES = 16, 4 << 20, 1 << 18, 1 << 19, 1 << 12
# How many products are tested at once, the fewest that numpy compares at once, and of how many groups of rows the
# greatest make the first threshold.
_TESTED, _LINE, _GROUPS = 1 << 20, 512, 64
# Up to how many candidates of all queries a sort of all takes less than one of each query's.
_SORTED = 256
# Float64 values of rows that are scored at once, and how many are worth a thread.
_SCORED, _SCORED_THREAD = 1 << 15, 1 << 17

# Bytes of scores, of what they reach, and of values that are scored; up to how many scores allocating is as fast.
_SCRATCH, _SMALL = 5 * _TESTED + 64 * _SCORED, 1 << 14

_UNIT = 2.0**-24
# Squared norms for which float32 neither overflows nor loses what the error bound does not count.
_LEAST, _MOST = 1e-20, 1e20
_SUBNORMAL = np.full(1, 2.0**-149, np.float32)


def pays(queries: int, rows: int, dim: int, k: int, shared: bool) -> bool:
    """Tell whether a scan here is expected to take less than handing the vectors to the worker."""
    handing = _CALL + (0 if shared else _COPY * rows * dim) + _ANSWER * queries
    product = queries * rows * dim * _PRODUCT / CORES
    more = queries * (rows * (_MORE * dim / CORES + _TEST) + k * (_SCORE + _COORDINATE * dim))
    build = _BUILD * rows * dim / CORES
    return more < handing and more + product * (1 - 1 / _BUILT) < handing + build


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
    size = _SCRATCH if len(queries) * len(vectors) > _SMALL else 0
    with np.errstate(all="ignore"), Scratch(size) as scratch:
        return _Scan(queries, vectors, k, metric, scratch).run()


class _Scan:
    """A scan. Its float32 scores are products, less half the squared norm for l2, over the norm for cosine."""

    def __init__(self, queries: Floats, vectors: Floats, k: int, metric: str, scratch: Scratch) -> None:
        self.queries, self.vectors, self.k, self.metric, self.scratch = queries, vectors, k, metric, scratch
        self.m, self.n, self.dim = len(queries), len(vectors), vectors.shape[1]
        wide = queries.astype(np.float64)
        self.squares: Doubles = sums(wide * wide) if metric == "cosine" else np.einsum("ij,ij->i", wide, wide)
        self.norms: Doubles = np.sqrt(self.squares)
        # The roundings of a float32 sum of products in any order, with fused operations or without, and of
        # what is done with it; more than all of them together.
        self.rounding = (self.dim + 16) * _UNIT * 1.01
        # Lower bounds of the k-th best scores, the k best float32 scores of the chunks before, and what may
        # be among the best, a chunk each in order of rows: query, row, float32 score.
        self.floor: Doubles = np.full(self.m, -np.inf)
        self.best: Floats | None = None
        self.kept: list[tuple[Rows, Rows, Floats]] = []
        self.error: Doubles = np.zeros(self.m)
        # How many may be kept, beyond which float32 does not tell enough.
        self.most = 4 * self.m * k + 4096

    def run(self) -> tuple[Floats, Rows] | None:
        if not all(_LEAST < square < _MOST for square in self.squares.tolist()):
            return None
        if self.k * self.m * self.dim > _TESTED * 8:
            return None
        if _SUBNORMAL.item() == 0:  # this thread takes subnormal numbers for 0
            return None
        chunk = min(max(1, _TESTED // self.m), self.n)
        scores = self.scratch.array((chunk, self.m), np.float32)
        if self.m > 1:
            self.reach = self.scratch.array((chunk, self.m), np.bool_)
        for low in range(0, self.n, chunk):
            rows = self.vectors[low : low + chunk]
            part = scores[: len(rows)]
            square = self._multiply(part, rows)
            if square == np.inf:
                return None
            error = self._error(square**0.5)
            self.error = np.maximum(self.error, error) if low > 0 else error
            if not self._keep(part, low):
                return None
        return self._answers()

    def _multiply(self, scores: Floats, rows: Floats) -> float:
        """Write the float32 scores of rows; return what the squared norm of each is at most.

        That is infinite if values are not finite or of extreme size, and scores then are not all written.
        """
        size, threads = _MANY, 1
        if self.m < _THREADED:  # such products BLAS does not share among cores, or with norms between them
            threads = min(rows.nbytes // _SHARE, CORES)
            size = _ONE if self.m == 1 else _FEW
            if self.m > 1 and threads > 1:
                alone = _ALONE_SMALL if self.queries.size <= _SMALL_QUERIES else ALONE
                size = min(size, 4 * alone // self.m)
        if self.m == 1 and threads < 2 and rows.nbytes <= _CACHED:
            size = rows.nbytes
        block = max(1, size // (4 * self.dim))
        if block >= len(rows):
            return self._block(scores, rows)

        def some(low: int, high: int) -> float:
            return self._block(scores[low:high], rows[low:high])

        return max(in_threads(threads, some, shares(len(rows), block)))

    def _block(self, scores: Floats, rows: Floats) -> float:
        """Do as `_multiply` of rows that a cache has."""
        squares = None if self.metric == "ip" else np.einsum("ij,ij->i", rows, rows)
        square = self._joint(rows) if squares is None else self._greatest(rows, squares)
        if square == np.inf:
            return square
        # Last: BLAS reads memory in order faster for norms than for products.
        if self.m == 1:
            np.dot(rows, self.queries[0], out=scores[:, 0])
        else:
            np.dot(rows, self.queries.T, out=scores)
        if squares is None:
            return square
        if self.metric == "l2":
            scores -= (squares * np.float32(0.5))[:, np.newaxis]
        else:
            squares[squares <= _LEAST] = 1
            scores /= np.sqrt(squares)[:, np.newaxis]
        return square

    def _joint(self, rows: Floats) -> float:
        """Return what the squared norm of each row is at most: that of several together."""
        most, step = 0.0, len(rows) if self.m == 1 else max(1, _FEW // (4 * self.dim))
        for at in range(0, len(rows), step):
            flat = rows[at : at + step].reshape(-1)
            square = float(np.dot(flat, flat))
            if not _LEAST < square < _MOST:
                return float("inf")
            most = max(most, square * (1 + flat.size * _UNIT * 2))
        return most

    def _greatest(self, rows: Floats, squares: Floats) -> float:
        """Return what the squared norm of each row is at most, of which squares are those in float32."""
        most: float = squares.max().item()
        small = squares <= _LEAST
        if not most < _MOST or (small.any() and rows[small].any()):  # rows of zeros have no error
            return float("inf")
        return float(most * (1 + self.dim * _UNIT * 2))

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
        if low == 0 and self.k <= len(scores):
            self._begin(scores)
        found = self._reaching(scores)
        if self.m == 1:
            query, row, score = np.zeros(len(found), np.int64), found, scores[found, 0]
        else:
            row, query = np.divmod(found, self.m)
            score = scores.reshape(-1)[found]
        self.kept.append((query, row + low if low else row, score))
        whole = len(scores) == self.n
        if whole and len(found) <= 2 * self.m * self.k:
            return True  # the floor is that of all rows, so little could be dropped
        self._raise(query, score)
        if whole or sum(len(rows) for _, rows, _ in self.kept) > self.most:
            return self._drop() <= self.most
        return True

    def _begin(self, scores: Floats) -> None:
        """Set the floor to what the greatest scores of groups of rows say."""
        groups = max(_GROUPS, 4 * self.k)
        if (size := len(scores) // groups) > 2:  # the k-th of the groups' is hardly less than the k-th of all
            scores = scores[: size * groups].reshape(size, -1).max(axis=0).reshape(groups, self.m)
        last = len(scores) - self.k
        self.floor = np.partition(scores.T, last, axis=1)[:, last] - self.error

    def _reaching(self, scores: Floats) -> Rows:
        """Return the places of the scores that rows of the answers reach, in scores as one row."""
        least, rows = self._least(), _LINE // self.m
        if self.m == 1 or rows < 2:
            return np.flatnonzero(scores >= least)
        reach = self.reach[: len(scores)]
        whole, line = len(scores) - len(scores) % rows, rows * self.m
        lines = scores[:whole].reshape(-1, line), least[np.newaxis].repeat(rows, axis=0).reshape(-1)
        np.greater_equal(*lines, out=reach[:whole].reshape(-1, line))
        np.greater_equal(scores[whole:], least, out=reach[whole:])
        return np.flatnonzero(reach)

    def _least(self) -> Floats:
        """Return the float32 scores that rows of the answers reach."""
        return np.nextafter((self.floor - self.error).astype(np.float32), np.float32(-np.inf))

    def _raise(self, query: Rows, score: Floats) -> None:
        """Raise the floor to the k-th best float32 score of all chunks so far, of which the last has these."""
        if self.m > 1:
            order = _by_query(query, self.m)
            query, score = query[order], score[order]
        if self.best is None:
            self.best = np.full((self.m, self.k), -np.inf, np.float32)
        lists, _ = self._lists(query, score, self.best)
        last = lists.shape[1] - self.k
        self.best = np.partition(lists, last, axis=1)[:, last:]
        self.floor = np.maximum(self.floor, self.best[:, 0] - self.error)

    def _lists(self, query: Rows, values: Any, more: Any = None) -> tuple[npt.NDArray[Any], Rows]:
        """Return the values of each query as a row, and where they begin; queries ascend.

        More are put behind them; what is lacking is -inf.
        """
        first = np.searchsorted(query, np.arange(self.m + 1))
        width = int(np.diff(first).max())
        behind = 0 if more is None else more.shape[1]
        lists = np.full((self.m, width + behind), -np.inf, values.dtype)
        lists[query, np.arange(len(query)) - first[query]] = values
        if more is not None:
            lists[:, width:] = more
        return lists, first[:-1]

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
        few = len(query) <= _SORTED
        if not few and self.m > 1:
            order = _by_query(query, self.m)
            query, row = query[order], row[order]
        score = self._score(query, row)
        # Sorts are stable, and of a query's rows with equal scores the lowest is first.
        if self.m == 1:
            best = np.argsort(-score, kind="stable")[np.newaxis, : self.k]
        elif few:
            order = np.lexsort((-score, query))
            first = np.searchsorted(query[order], np.arange(self.m))
            best = order[first[:, np.newaxis] + np.arange(self.k)]
        else:
            lists, first = self._lists(query, score)
            best = np.argsort(-lists, axis=1, kind="stable")[:, : self.k] + first[:, np.newaxis]
        shown = score[best]
        return (-2 * shown + 0 if self.metric == "l2" else shown).astype(np.float32), row[best]

    def _score(self, query: Rows, row: Rows) -> Doubles:
        """Return the search scores of pairs of a query and a row."""
        scores = np.empty(len(row))

        def some(low: int, high: int) -> None:
            with Scratch(_SCRATCH) as scratch:
                self._score_some(query, row, scores, low, high, scratch)

        threads = len(row) * self.dim // _SCORED_THREAD
        if len(row) * self.dim <= _SMALL:
            rows, queries = self.vectors[row], self.queries if self.m == 1 else self.queries[query]
            return self._score_few(rows, queries, np.empty(rows.shape), query)
        if threads < 2:
            self._score_some(query, row, scores, 0, len(row), self.scratch)
        else:
            in_threads(threads, some, shares(len(row), max(1, 4 * _SCORED // self.dim)))
        return scores

    def _score_some(self, query: Rows, row: Rows, scores: Doubles, low: int, high: int, scratch: Scratch) -> None:
        """Write the scores of pairs low to high-1."""
        step = min(high - low, max(1, _SCORED // self.dim))
        rows, terms = scratch.array((step, self.dim), np.float32), scratch.array((step, self.dim), np.float64)
        asked = self.queries if self.m == 1 else scratch.array((step, self.dim), np.float32)
        for at in range(low, high, step):
            part = slice(at, min(at + step, high))
            count = part.stop - at
            np.take(self.vectors, row[part], axis=0, out=rows[:count], mode="clip")
            if self.m > 1:
                np.take(self.queries, query[part], axis=0, out=asked[:count], mode="clip")
            scores[part] = self._score_few(rows[:count], asked[:count], terms[:count], query[part])

    def _score_few(self, rows: Floats, queries: Floats, terms: Doubles, query: Rows) -> Doubles:
        """Return the search scores of rows and the queries beside them; terms is overwritten."""
        if self.metric == "l2":
            np.subtract(rows, queries, out=terms, dtype=np.float64)
            return 0 - sums(np.multiply(terms, terms, out=terms)) / 2
        dots = sums(np.multiply(rows, queries, out=terms, dtype=np.float64))
        if self.metric == "ip":
            return dots
        squares = sums(np.multiply(rows, rows, out=terms, dtype=np.float64))
        return cosines(dots, squares, self.squares if self.m == 1 else self.squares[query])


def _by_query(query: Rows, m: int) -> Rows:
    """Return the order by query that leaves those of a query in theirs."""
    return np.argsort(query.astype(np.min_scalar_type(m)), kind="stable")


def padded(scores: Floats, ids: Rows, k: int) -> tuple[Floats, Rows]:
    """Return answers of fewer vectors than k with what stands for none."""
    lacking: Any = ((0, 0), (0, k - scores.shape[1]))
    return np.pad(scores, lacking, constant_values=np.nan), np.pad(ids, lacking, constant_values=-1)
