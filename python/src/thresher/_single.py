"""Searches for one query at a time among few vectors, of which what does not depend on the query is kept.

What `_scan` does for any queries, without what several of them, or vectors that are searched once, take.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thresher._products import LEAST, MOST, SUBNORMAL, error_of, squares_of
from thresher._sums import cosines, sums

__all__ = ["MOST_VALUES", "Single"]

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]

MOST_VALUES = 3 << 19
"""Up to how many values of vectors a search here takes less than one of a built index by the worker."""

# After how many searches the vectors are kept a second time, by coordinates, whose products with a query BLAS computes
# in three quarters of the time; copying takes as long as a hundred products.
_OFTEN = 100
# Up to how many values OpenBLAS leaves a product to the thread that calls: its own threads take a hundred times as long
# where other processes have the cores.
_ONE_THREAD = 1 << 18
# Of how many groups of rows, times k, the greatest scores make the first threshold.
_GROUPS = 6
# How many rows may be left to be scored in float64.
_LEFT = 64


class Single:
    """Vectors that are compared with one query at a time. Several threads may search them at once.

    Parameters
    ----------
    vectors : float32 (n, d)
        In C order; not changed while this lives.
    metric : {"ip", "cosine", "l2"}
    """

    def __init__(self, vectors: Floats, metric: str) -> None:
        self.vectors, self.metric = vectors, metric
        step = max(1, _ONE_THREAD // vectors.shape[1])
        self._parts = [vectors[at : at + step] for at in range(0, len(vectors), step)]
        self._searches = 0
        self._turned: list[Floats] | None = None  # the parts, (d, step)
        with np.errstate(all="ignore"):
            squares = squares_of(vectors)
            most = float(squares.max())
            small = squares <= LEAST
            fine = most < MOST and not vectors[small].any()  # rows of zeros have no error
            self._norm = (most * (1 + vectors.shape[1] * 2.0**-23)) ** 0.5 if fine and most > LEAST else None
            if metric == "l2":
                squares *= np.float32(0.5)
            elif metric == "cosine":
                squares[small] = 1
                np.sqrt(squares, out=squares)
        self._of_rows = squares  # half the squared norms for l2, the norms for cosine

    def nearest(self, query: Floats, k: int) -> tuple[Doubles, Rows] | None:
        """Return the scores and row numbers of the k best vectors, (k,), the worker's bit for bit.

        Scores of l2 are squared distances.

        Parameters
        ----------
        query : float32 (1, d), in C order
        k : int
            1 to n.

        Returns
        -------
        None if `_scan` or the worker should answer: values are not finite or of extreme size, or so many vectors score
        alike that float32 does not tell which are best.
        """
        norm = self._norm
        if norm is None:
            return None
        with np.errstate(all="ignore"):
            one = query[0]
            square = float(np.dot(one, one))
            if not LEAST < square < MOST or SUBNORMAL.item() == 0:
                return None
            scores = self._scores(one)
            own = (square * (1 + len(one) * 2.0**-23)) ** 0.5
            found = _reaching(scores, k, 2 * error_of(self.metric, len(one), norm, own))
            if found is None:
                return None
            rows: Floats = self.vectors.take(found, axis=0)
            if self.metric == "l2":
                terms = np.subtract(rows, one, dtype=np.float64, order="F")
                exact = sums(np.multiply(terms, terms, out=terms))
                best = exact.argsort(kind="stable")[:k]
                return exact.take(best), found.take(best)
            exact = sums(np.multiply(rows, one, dtype=np.float64, order="F"))
            if self.metric == "cosine":
                wide = query.astype(np.float64)
                exact = cosines(exact, sums(np.multiply(rows, rows, dtype=np.float64, order="F")), sums(wide * wide))
            best = np.negative(exact).argsort(kind="stable")[:k]
            return exact.take(best), found.take(best)

    def _scores(self, query: Floats) -> Floats:
        """Return float32 scores of all vectors: products, less half the squared norm for l2, over norms for cosine."""
        turned = self._turned
        if turned is None:
            self._searches += 1
            if self._searches > _OFTEN:
                self._turned = [np.ascontiguousarray(part.T) for part in self._parts]
        if len(self._parts) == 1:
            scores: Floats = np.dot(self.vectors, query) if turned is None else np.dot(query, turned[0])
        else:
            scores = np.empty(len(self.vectors), np.float32)
            at = 0
            for i, part in enumerate(self._parts):
                out = scores[at : at + len(part)]
                if turned is None:
                    np.dot(part, query, out=out)
                else:
                    np.dot(query, turned[i], out=out)
                at += len(part)
        if self.metric == "l2":
            scores -= self._of_rows
        elif self.metric == "cosine":
            scores /= self._of_rows
        return scores


def _reaching(scores: Floats, k: int, error: float) -> Rows | None:
    """Return the places of scores that are at most an error below the k-th best, None if they are too many."""
    best, groups = scores, _GROUPS * k
    if len(best) < 2 * groups:
        best = scores.copy()
    while (half := len(best) // 2) >= groups:  # the k-th of the groups' is hardly less than the k-th of all
        best = np.maximum(best[:half], best[half : 2 * half])
    least = _below(best, k, error)
    found: Rows = (scores >= least).nonzero()[0]
    if len(found) > 2 * k + 8:
        some = scores.take(found)
        found = found[some >= _below(some.copy(), k, error)]
        if len(found) > 2 * k + _LEFT:
            return None
    return found


def _below(scores: Floats, k: int, error: float) -> np.float32:
    """Return what is an error below the k-th greatest score, rounded down. The scores are put into another order."""
    last = len(scores) - k
    scores.partition(last)
    best = float(scores[last])
    return np.float32(best - error - (abs(best) + error) * 2.0**-22)
