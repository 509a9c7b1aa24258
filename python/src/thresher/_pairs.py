"""Search scores in float64 of pairs of a query and a vector, of which float32 did not tell which are best."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from thresher._scratch import Scratch
from thresher._shares import in_threads, shares
from thresher._sums import cosines, sums

__all__ = ["SCRATCH", "Pairs"]

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]
Rows = npt.NDArray[np.int64]
Work = Callable[[Rows, Rows, Doubles, int, Scratch], None]

# Values of rows: up to which canonical sums of all pairs take the least; that are scored at once; how many of either
# kind of sums are worth a thread.
_FEW, _ONCE, _THREAD = 1 << 14, 1 << 17, 1 << 18
# Rows that are scored at once by canonical sums.
_CANONICAL = 1 << 15

SCRATCH = 16 * _ONCE
"""Bytes of memory that scoring takes in each thread."""

_UNIT = 2.0**-53


class Pairs:
    """Scores pairs: inner products, cosines, or minus half the squared distance.

    Parameters
    ----------
    queries, vectors : float32 (m, d) and (n, d)
    squares : float64 (m,)
        The canonical squared norms of the queries for cosine, otherwise any.
    metric : {"ip", "cosine", "l2"}
    """

    def __init__(self, queries: Floats, vectors: Floats, squares: Doubles, metric: str, scratch: Scratch) -> None:
        self._queries, self._vectors, self._squares, self._metric = queries, vectors, squares, metric
        self._dim, self._scratch = vectors.shape[1], scratch

    def scores(self, query: Rows, row: Rows, norm: float) -> Doubles:
        """Return scores that have the order and, in float32, the values of the canonical ones.

        norm is the greatest of the rows. Sums in the order that is fastest differ from the canonical ones by less than
        a bound; where that leaves a question, the canonical ones are taken.
        """
        if row.size * self._dim <= _FEW:
            return self.canonical(query, row)
        found = np.empty(len(row))
        self._in_threads(self._near, query, row, found, _ONCE)
        unit = 2.1 * (self._dim + 8) * _UNIT  # both sums' roundings
        error: Doubles
        if self._metric == "l2":
            error = found * -unit
        elif self._metric == "ip":
            error = (unit * norm * np.sqrt(self._squares) * (1 + 1e-6))[query]
        else:
            error = np.full(len(row), 2 * unit)
        doubt = np.flatnonzero(_doubtful(query, found, error, -2 if self._metric == "l2" else 1))
        if len(doubt) > 0:
            found[doubt] = self.canonical(query[doubt], row[doubt])
        return found

    def canonical(self, query: Rows, row: Rows) -> Doubles:
        """Return the canonical scores, which are the worker's, bit for bit."""
        if row.size * self._dim <= _FEW:
            rows, queries = self._vectors[row], self._asked(query)
            return self._canonical(rows, queries, np.empty(rows.shape), query)
        found = np.empty(len(row))
        self._in_threads(self._canonical_some, query, row, found, _CANONICAL)
        return found

    def _asked(self, query: Rows) -> Floats:
        return self._queries if len(self._queries) == 1 else self._queries[query]

    def _in_threads(self, work: Work, query: Rows, row: Rows, found: Doubles, once: int) -> None:
        """Let threads work on pairs, so many values at once, each in memory of its own."""
        step = max(1, once // self._dim)
        threads = row.size * self._dim // _THREAD

        def some(low: int, high: int) -> None:
            with Scratch(self._scratch.size) as scratch:
                work(query[low:high], row[low:high], found[low:high], step, scratch)

        if threads < 2:
            work(query, row, found, step, self._scratch)
        else:
            in_threads(threads, some, shares(len(row), step))

    def _gather(self, query: Rows, row: Rows, rows: Floats, queries: Floats) -> tuple[Floats, Floats]:
        """Return the rows and queries of pairs, in memory for at least as many."""
        count = len(row)
        np.take(self._vectors, row, axis=0, out=rows[:count], mode="clip")
        if len(self._queries) == 1:
            return rows[:count], self._queries
        np.take(self._queries, query, axis=0, out=queries[:count], mode="clip")
        return rows[:count], queries[:count]

    def _near(self, query: Rows, row: Rows, found: Doubles, step: int, scratch: Scratch) -> None:
        """Write scores by sums in the order that is fastest."""
        step = min(step, len(row))
        rows, queries = (scratch.array((step, self._dim), np.float32) for _ in range(2))
        changes = scratch.array((step, self._dim), np.float64) if self._metric == "l2" else None
        alone = len(self._queries) == 1
        for at in range(0, len(row), step):
            part = slice(at, at + step)
            some, asked = self._gather(query[part], row[part], rows, queries)
            out = found[part]
            if changes is not None:
                change = np.subtract(some, asked, out=changes[: len(some)], dtype=np.float64)
                np.einsum("ij,ij->i", change, change, out=out)
                out *= -0.5
                continue
            if alone:
                np.einsum("ij,j->i", some, asked[0], out=out, dtype=np.float64)
            else:
                np.einsum("ij,ij->i", some, asked, out=out, dtype=np.float64)
            if self._metric == "cosine":
                norms = np.einsum("ij,ij->i", some, some, dtype=np.float64)
                norms *= self._squares if alone else self._squares[query[part]]
                norms[norms == 0] = 1
                out /= np.sqrt(norms)

    def _canonical_some(self, query: Rows, row: Rows, found: Doubles, step: int, scratch: Scratch) -> None:
        step = min(step, len(row))
        rows, queries = (scratch.array((step, self._dim), np.float32) for _ in range(2))
        terms = scratch.array((step, self._dim), np.float64)
        for at in range(0, len(row), step):
            part = slice(at, at + step)
            some, asked = self._gather(query[part], row[part], rows, queries)
            found[part] = self._canonical(some, asked, terms[: len(some)], query[part])

    def _canonical(self, rows: Floats, queries: Floats, terms: Doubles, query: Rows) -> Doubles:
        """Return the canonical scores of rows and the queries beside them; terms is overwritten."""
        if self._metric == "l2":
            np.subtract(rows, queries, out=terms, dtype=np.float64)
            return 0 - sums(np.multiply(terms, terms, out=terms)) / 2
        dots = sums(np.multiply(rows, queries, out=terms, dtype=np.float64))
        if self._metric == "ip":
            return dots
        squares = sums(np.multiply(rows, rows, out=terms, dtype=np.float64))
        return cosines(dots, squares, self._squares if len(self._queries) == 1 else self._squares[query])


def _doubtful(query: Rows, scores: Doubles, error: Doubles, shown: int) -> npt.NDArray[np.bool_]:
    """Tell of which scores, wrong by at most an error, neither the order nor, shown times, the float32 is certain."""
    least, most = (((scores + side) * shown).astype(np.float32) for side in (-error, error))
    doubt: npt.NDArray[np.bool_] = least != most
    order = np.lexsort((scores, query))
    ordered, bound, of = scores[order], error[order], query[order]
    close = np.flatnonzero((ordered[1:] - ordered[:-1] <= 2 * (bound[1:] + bound[:-1])) & (of[1:] == of[:-1]))
    doubt[order[close]] = doubt[order[close + 1]] = True
    return doubt
