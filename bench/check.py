"""Checks every answer against float64 sums.

A query fails if some returned atom's score is below that of the k-th best atom by more than
2^-22 |q| max(|v|, |v_k|), or if its answer is not k different atoms. The tolerance covers
the rounding of float32, in which most peers score, so all are judged alike;
docs/guarantee.md promises more of thresher, which `thresher verify` checks."""

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


def hits(data: DataSet, query: int, ids: np.ndarray, k: int) -> int:
    """How many of the ids are among the k best of a query, including ties within the tolerance; -1
    if they are not different atoms of the set."""
    if len(np.unique(ids)) != len(ids) or np.any((ids < 0) | (ids >= data.n)):
        return -1
    best = data.top_ids[query, :k]
    if np.array_equal(np.sort(ids), np.sort(best)):
        return k
    q = data.queries[query].astype(np.float64)
    scores = data.atoms[ids].astype(np.float64) @ q
    slack = TOLERANCE * np.linalg.norm(q) * np.maximum(data.norms[ids], data.norms[best[-1]])
    return int(np.sum(scores >= data.top_scores[query, k - 1] - slack))


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
        if hits(data, query, ids[:k], k) < k:
            verdict.wrong.add(query)
            if sure:
                verdict.certain_wrong.add(query)


def recall(data: DataSet, answers: np.ndarray, k: int) -> tuple[float, int]:
    """The mean share of the k best found over the first queries, those that have answers, and how
    many of them fail."""
    found = np.array([max(0, hits(data, j, ids[ids >= 0][:k], k)) for j, ids in enumerate(answers)])
    return float(found.mean() / k), int(np.sum(found < k))


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
