"""A dense scan in the calling process, for so few queries that handing the vectors over takes longer.

Float32 products, by whichever BLAS numpy has, exclude the vectors that cannot be among the best; the others are
scored in float64 by the canonical sums of docs/guarantee.md, whose order of additions is the worker's. So scores and
order are the worker's, bit for bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from thresher import _single
from thresher._pairs import SCRATCH, Pairs
from thresher._products import LEAST, MOST, SUBNORMAL, Products, error_of
from thresher._scratch import Scratch
from thresher._shares import CORES
from thresher._sums import cosines, sums

__all__ = ["ALONE", "padded", "pays", "scan"]

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]

# What calls cost in ns, roughly, on one core of an AMD EPYC 9004: a call of the worker, and each of its answers; a
# coordinate that is copied to where it reads, with the pages that this takes; a coordinate that it builds; a product,
# what one of numpy takes more than one of the worker, and a product's test; a vector that is scored here, and each
# coordinate of it. Where the worker builds, a search is taken to cost a third of a scan (plan.Once).
_CALL, _ANSWER, _COPY, _BUILD, _BUILT = 400e3, 2500, 1.3, 8, 3
_PRODUCT, _MORE, _TEST, _SCORE, _COORDINATE = 0.02, 0.004, 0.3, 60, 1.2

# Up to how many products (rows, queries and coordinates multiplied) OpenBLAS leaves a call to one thread; so does
# what scores pairs.
ALONE = 1 << 18
# How many products are tested at once, and of how many groups of rows the greatest make the first threshold.
_TESTED, _GROUPS = 1 << 20, 64
# Up to how many candidates of all queries a sort of all takes less than one of each query's.
_SORTED = 256

# Which part of the vectors may be candidates before it is asked whether all are whole numbers, whose scores are exact;
# and up to how many cosines of these, of which many are equal, take less here than in the worker.
_SOME, _EQUAL = 8, 1 << 18

# Bytes of scores, of what they reach, and of pairs that are scored; up to how many values allocating is as fast.
_SCRATCH, _SMALL = 5 * _TESTED + SCRATCH, 1 << 14

_UNIT = 2.0**-24
_DOWN = np.float32(-np.inf)


def pays(queries: int, rows: int, dim: int, k: int, shared: bool, *, built: bool = False) -> bool:
    """Tell whether a scan here is expected to take less than handing the vectors to the worker, or an index there."""
    handing = _CALL + (0 if shared else _COPY * rows * dim) + _ANSWER * queries
    product = queries * rows * dim * _PRODUCT / CORES
    more = queries * (rows * (_MORE * dim / CORES + _TEST) + k * (_SCORE + _COORDINATE * dim))
    build = 0 if built else _BUILD * rows * dim / CORES
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
    m, (n, dim) = len(queries), vectors.shape
    if m == 1 and vectors.size <= min(ALONE, _single.MOST_VALUES):  # beyond, threads and sums of several norms pay
        found = _single.Single(vectors, metric).nearest(queries, k)
        if found is not None:
            return found[0].astype(np.float32)[np.newaxis], found[1][np.newaxis]
    size = _SCRATCH if m * max(n, k * dim) > _SMALL else 0
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
        # Lower bounds of the k-th best scores, the k best float32 scores of the chunks before, and what may
        # be among the best, a chunk each in order of queries and rows: query, row, float32 score.
        self.floor: Doubles
        self.best: Floats | None = None
        self.kept: list[tuple[Rows, Rows, Floats]] = []
        self.error: Doubles
        self.norm = 0.0  # of a row, at most
        # Whether scores are those of whole numbers, which float32 has exactly: cosines but for roundings of their own.
        self.whole = False
        self.slack: Doubles
        self.products = Products(queries, vectors, metric, self.norms)

    def run(self) -> tuple[Floats, Rows] | None:
        if not all(LEAST < square < MOST for square in self.squares.tolist()):
            return None
        if self.k * self.m * self.dim > _TESTED * 8:
            return None
        if SUBNORMAL.item() == 0:  # this thread takes subnormal numbers for 0
            return None
        chunk = min(max(1, _TESTED // self.m), self.n)
        room = self.scratch.array((chunk * self.m,), np.float32)
        self.reach = self.scratch.array((chunk * self.m,), np.bool_)
        for low in range(0, self.n, chunk):
            count = min(chunk, self.n - low)
            scores = room[: count * self.m].reshape(self.m, count)
            square = self.products.write(scores, low)
            if square == np.inf:
                return None
            self.norm = max(self.norm, square**0.5)
            if self.whole and not self.products.exact(self.norm):
                return None
            error = self._error(square**0.5)
            self.error = np.maximum(self.error, error) if low > 0 else error
            if not self._keep(scores, low):
                return None
        return self._answers()

    def _error(self, norm: float) -> Doubles:
        """Bound the errors of float32 scores of rows of at most this norm."""
        if self.whole:
            return np.zeros(self.m)
        return error_of(self.metric, self.dim, norm, self.norms)

    def _keep(self, scores: Floats, low: int) -> bool:
        """Keep the rows from row low on that may be among the best; False if they are too many."""
        count = scores.shape[1]
        if low == 0:
            self._begin(scores)
        found = self._reaching(scores, self._least(low > 0))
        many = max(2 * self.m * self.k, count // _SOME)  # for which looking for whole numbers takes less than scoring
        if low == 0 and self.k <= count and len(found) > many:
            best = self._best(scores)
            self.floor = best - self.error
            found = self._reaching(scores, self._least())
            if len(found) > many and self.products.whole(self.norm):
                self.whole, self.floor, self.error = True, best, np.zeros(self.m)
                self.slack = 16 * _UNIT * self.norms if self.metric == "cosine" else self.error
                found = self._first_of_equals(scores)
        query, row, score = self._places(scores, found)
        self.kept.append((query, row + low if low else row, score))
        alone = count == self.n
        if alone and (self.whole or len(found) <= 2 * self.m * self.k):
            return len(found) <= self._most()  # the floor is that of all rows, so little could be dropped
        self._raise(query, score)
        if alone or sum(len(rows) for _, rows, _ in self.kept) > self._most():
            return self._drop() <= self._most()
        return True

    def _most(self) -> int:
        """Return how many may be kept, beyond which float32 does not tell enough."""
        most = 4 * self.m * self.k + 4096
        return max(most, _EQUAL) if self.whole else most  # which need no vector to be scored

    def _begin(self, scores: Floats) -> None:
        """Set the floor to what the greatest scores of groups of rows say."""
        if self.k > scores.shape[1]:
            self.floor = np.full(self.m, -np.inf)
            return
        groups = max(_GROUPS, 4 * self.k)
        while (half := scores.shape[1] // 2) >= groups:  # the k-th of the groups' is hardly less than the k-th of all
            scores = np.maximum(scores[:, :half], scores[:, half : 2 * half])
        last = scores.shape[1] - self.k
        self.floor = np.partition(scores, last, axis=1)[:, last] - self.error

    def _reaching(self, scores: Floats, least: Floats) -> Rows:
        """Return the places of the scores that reach the least of their query, in scores as one row."""
        reach = self.reach[: scores.size].reshape(scores.shape)
        np.greater_equal(scores, least[:, np.newaxis], out=reach)
        return reach.reshape(-1).nonzero()[0]

    def _places(self, scores: Floats, found: Rows) -> tuple[Rows, Rows, Floats]:
        """Return queries, columns and scores of places."""
        if self.m == 1:
            return np.zeros(len(found), np.int64), found, scores[0, found]
        query, row = np.divmod(found, scores.shape[1])
        return query, row, scores.reshape(-1)[found]

    def _best(self, scores: Floats) -> Doubles:
        """Return the k-th best of the first scores of each query, which the floor is not far below."""
        best: Doubles = (self.floor + self.error).astype(np.float32).astype(np.float64)  # again as it was found
        for j, floor in enumerate(best.tolist()):
            above = scores[j][scores[j] > floor]
            if (last := len(above) - self.k) >= 0:
                best[j] = np.partition(above, last)[last]
        return best

    def _first_of_equals(self, scores: Floats) -> Rows:
        """Return the places of the k best of the first rows, which are whole numbers, where the floor is the k-th best.

        Of scores that equal it, which are many among whole numbers, they are the first.
        """
        reach = self.reach[: scores.size].reshape(scores.shape)
        np.greater_equal(scores, self._least(True)[:, np.newaxis], out=reach)
        for j in np.flatnonzero(self._exact()).tolist():
            lacking = self.k - int(np.count_nonzero(reach[j]))
            reach[j, np.flatnonzero(scores[j] == self.floor[j])[:lacking]] = True
        return np.flatnonzero(reach)

    def _exact(self) -> npt.NDArray[np.bool_]:
        """Tell for which queries equal scores of whole numbers equal the floor without a rounding."""
        exact: npt.NDArray[np.bool_] = (self.slack == 0) | (self.floor == 0)
        return exact

    def _least(self, later: bool = False) -> Floats:
        """Return the float32 scores that rows of the answers reach.

        later says that of whole numbers k that are before all others reach the floor, so that others exceed it.
        """
        error = self.slack if self.whole else self.error
        least: Floats = np.nextafter((self.floor - error).astype(np.float32), _DOWN)
        if self.whole and later:
            least = np.where(self._exact(), np.nextafter(self.floor.astype(np.float32), -_DOWN), least)
        return least

    def _raise(self, query: Rows, score: Floats) -> None:
        """Raise the floor to the k-th best float32 score of all chunks so far, of which the last has these."""
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
        if self.whole:
            best = left[np.lexsort((-score[left], query[left]))]
            of = query[best]
            rank = np.arange(len(best)) - np.searchsorted(of, of)
            left = np.sort(best[(rank < self.k) | ~self._exact()[of]])
        self.kept = [(query[left], row[left], score[left])]
        return len(left)

    def _answers(self) -> tuple[Floats, Rows]:
        """Score what is kept in float64, and return the best of it."""
        if self.best is not None:
            self._drop()
        query, row, found = self.kept[0]
        few = len(query) <= _SORTED
        if self.best is not None and not few and self.m > 1:
            order = np.argsort(query.astype(np.min_scalar_type(self.m)), kind="stable")
            query, row, found = query[order], row[order], found[order]
        if self.whole:
            score = self._of_whole_numbers(query, row, found)
        else:
            pairs = Pairs(self.queries, self.vectors, self.squares, self.metric, self.scratch)
            score = pairs.scores(query, row, self.norm)
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

    def _of_whole_numbers(self, query: Rows, row: Rows, found: Floats) -> Doubles:
        """Return the search scores of pairs of whole numbers, of which these are the float32 scores."""
        score = found.astype(np.float64) + 0.0
        if self.metric == "ip":
            return score
        if self.metric == "l2":
            return score - self.squares[query] / 2
        squares = self.products.squares[row].astype(np.float64)
        return cosines(np.rint(score * np.sqrt(squares)) + 0.0, squares, self.squares[query])


def padded(scores: Floats, ids: Rows, k: int) -> tuple[Floats, Rows]:
    """Return answers of fewer vectors than k with what stands for none."""
    lacking: Any = ((0, 0), (0, k - scores.shape[1]))
    return np.pad(scores, lacking, constant_values=np.nan), np.pad(ids, lacking, constant_values=-1)
