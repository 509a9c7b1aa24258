"""thresher's answers in all cells, each counted once. An answer does not depend on the batch it
was asked in, so cells that differ only in m have the same ones. It does not use numpy, since
the report is written without it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from results import Record

# The definition (check.py) that a record's counts of wrong answers were made by is its "criterion". Those without
# are of an earlier one, by which atoms that tie with the k-th best stood for better ones.
CRITERION = "missing"
NOT_COUNTED = (
    "not counted: these results are from a time when atoms that tie with the k-th best could stand for better ones"
)
FALSE_ALARM = 1e-6  # probability that correct answers are called incompatible with delta


def by_criterion(record: Record) -> bool:
    """Whether a record's counts of wrong answers were made by the definition of check.py."""
    return record.get("criterion") == CRITERION


def chance(wrong: int, n: int, delta: float) -> float:
    """P(X >= wrong), X binomial(n, delta)."""
    if wrong <= 0:
        return 1.0

    def log_term(i: int) -> float:
        return (
            math.lgamma(n + 1)
            - math.lgamma(i + 1)
            - math.lgamma(n - i + 1)
            + i * math.log(delta)
            + (n - i) * math.log1p(-delta)
        )

    return min(1.0, math.fsum(math.exp(log_term(i)) for i in range(wrong, n + 1)))


def probabilistic(cell: Record) -> int:
    """How many of a cell's answers may be wrong by their certificates; delta allows no failure among
    the others."""
    return round(int(cell["checked"]) * (1 - float(cell["certain"])))


def allowed(cell: Record) -> float:
    return float(cell["delta"]) * probabilistic(cell)


@dataclass(frozen=True)
class Answers:
    """The answers to a set's queries at one k and delta."""

    data: str
    atoms: int  # 0 if the results do not say
    k: int
    delta: float
    checked: int
    probabilistic: int
    wrong: int
    certain_wrong: int

    @property
    def allowed(self) -> float:
        return self.delta * self.probabilistic

    @property
    def p(self) -> float:
        """The probability of so many wrong answers, if they were independent."""
        return chance(self.wrong, self.probabilistic, self.delta)

    @property
    def compatible(self) -> bool:
        return not self.certain_wrong and self.p >= FALSE_ALARM


def distinct(cells: Iterable[Record], atoms: dict[str, int]) -> list[Answers]:
    """The different answers of cells; atoms are those of whole sets, by name. Answers under an
    earlier kind of rotation are different ones. A query wrong in any cell counts as wrong; if
    results do not name queries, the greatest count of any cell is used."""
    groups: dict[tuple[str, int, int, float, bool], list[Record]] = {}
    for r in cells:
        of = r.get("atoms", atoms.get(r["set"], 0))
        key = (r["set"], of, r["k"], r["delta"], r.get("earlier", False))
        groups.setdefault(key, []).append(r)
    found = []
    for (data, of, k, delta, _), same in groups.items():
        named: set[int] = set().union(*(r.get("wrong_queries", []) for r in same))
        most = max(same, key=lambda r: r["checked"])
        found.append(
            Answers(
                data,
                of,
                k,
                delta,
                checked=most["checked"],
                probabilistic=probabilistic(most),
                wrong=max(len(named), *(r["wrong"] for r in same)),
                certain_wrong=max(r["certain_wrong"] for r in same),
            )
        )
    return found
