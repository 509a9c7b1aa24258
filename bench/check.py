"""Checks every answer against float64 sums.

A query fails if one of its k best atoms is missing, v_i, that scores more than some returned
atom v by more than 2^-22 |q| max(|v_i|, |v|), or if its answer is not k different atoms. By
cosine the norms are 1; by l2, where the score is -|q - v|^2 / 2, the greater of (|q| + |v|)^2 / 2
takes the place of the norms' product. It is the definition of docs/guarantee.md with a tolerance
that covers the rounding of float32, in which most peers score, so all are judged alike;
`thresher verify` checks what is promised of thresher."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from answers import FALSE_ALARM, chance
from data import DataSet

TOLERANCE = 2.0**-22


@dataclass
class Verdict:
    """The results for the queries of a cell. A query asked several times is counted once, and as
    wrong if it ever was."""

    checked: set[int] = field(default_factory=set)
    # whose certificate says that no probability was needed
    certain: set[int] = field(default_factory=set)
    wrong: set[int] = field(default_factory=set)
    certain_wrong: set[int] = field(default_factory=set)

    def compatible(self, delta: float) -> bool:
        """Whether the failures are consistent with a failure probability of delta a query: never for a
        certificate that needs no probability, otherwise by a one-sided binomial test."""
        return not self.certain_wrong and self.chance(delta) >= FALSE_ALARM

    def chance(self, delta: float) -> float:
        """The probability of so many wrong answers among those that may be wrong."""
        return chance(len(self.wrong), len(self.checked - self.certain), delta)


def different(data: DataSet, ids: np.ndarray) -> bool:
    """Whether the ids are different atoms of the set."""
    return len(np.unique(ids)) == len(ids) and not np.any((ids < 0) | (ids >= data.n))


def fails(data: DataSet, query: int, ids: np.ndarray, k: int) -> bool:
    """Whether ids are no answer to a query for the k best."""
    if len(ids) < k or not different(data, ids):
        return True
    at = np.flatnonzero(~np.isin(data.top_ids[query, :k], ids))
    if len(at) == 0:
        return False
    missing, better = data.top_ids[query, at], data.top_scores[query, at]
    return exceeded(better, data.reach(query, missing), data.scores(query, ids), data.reach(query, ids), 1.0)


def exceeded(better: np.ndarray, missing: np.ndarray, scores: np.ndarray, norms: np.ndarray, length: float) -> bool:
    """Whether one of the scores of missing atoms, of these norms, exceeds one of the returned atoms' scores
    by more than the tolerance. length is the query's norm."""
    slack = TOLERANCE * length * np.maximum(missing[:, np.newaxis], norms)
    return bool(np.any(better[:, np.newaxis] > scores + slack))


def hits(data: DataSet, query: int, ids: np.ndarray, k: int) -> int:
    """How many of the ids are among the k best of a query, where atoms that tie with the k-th best within
    the tolerance stand for each other; -1 if they are not different atoms of the set."""
    if not different(data, ids):
        return -1
    best, kth = data.top_ids[query, :k], data.top_scores[query, k - 1]
    reach = data.reach(query, best[-1:])

    def beyond(atoms: np.ndarray) -> tuple[int, int]:
        """How many atoms score more than the k-th best, and how many do or tie with it."""
        scores = data.scores(query, atoms)
        slack = TOLERANCE * np.maximum(data.reach(query, atoms), reach)
        return int(np.sum(scores > kth + slack)), int(np.sum(scores >= kth - slack))

    above, there = beyond(ids)
    return min(k, above + min(there - above, k - beyond(best)[0]))


def judge(
    verdict: Verdict, data: DataSet, queries: np.ndarray, answers: np.ndarray, certain: np.ndarray, k: int
) -> None:
    """Adds answers [m, at least min(k, n)] to the queries of these indexes; certain marks those
    whose certificate needs no probability."""
    k = min(k, data.n)
    for query, ids, sure in zip(queries.tolist(), answers, certain.tolist(), strict=True):
        verdict.checked.add(query)
        if sure:
            verdict.certain.add(query)
        if fails(data, query, ids[:k], k):
            verdict.wrong.add(query)
            if sure:
                verdict.certain_wrong.add(query)


def recall(data: DataSet, answers: np.ndarray, k: int) -> tuple[float, int]:
    """The mean share of the k best found over the first queries, those that have answers, and how
    many of them fail."""
    given = [ids[ids >= 0][:k] for ids in answers]
    found = np.array([max(0, hits(data, j, ids, k)) for j, ids in enumerate(given)])
    return float(found.mean() / k), sum(fails(data, j, ids, k) for j, ids in enumerate(given))


def prove(data: DataSet, k: int) -> None:
    """Proves that wrong answers are detected: right ones pass, and fail once their last atom is
    replaced by a worse one, by the first again, or by none. k is at least 2 and less than the
    number of the set's best atoms. Raises AssertionError."""
    queries = np.arange(len(data.queries))
    sure = np.ones(len(queries), bool)
    right = data.top_ids[:, :k].astype(np.int64)

    def failures(answers: np.ndarray) -> set[int]:
        v = Verdict()
        judge(v, data, queries, answers, sure, k)
        assert v.certain_wrong == v.wrong and v.compatible(0.01) == (not v.wrong)
        return v.wrong

    assert not failures(right), "right answers are called wrong"
    for at, other in ((0, data.top_ids[0, k]), (1, right[1, 0]), (2, data.n), (3, -1)):
        bad = right.copy()
        bad[at, k - 1] = other
        assert failures(bad) == {at}, f"query {at}: atom {other} in place of {right[at, k - 1]} is not noticed"
    assert chance(0, 100, 0.01) == 1 and 1e-8 < chance(10, 100, 0.01) < 1e-6
