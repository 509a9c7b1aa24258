"""The goals of the race with all exact peers, and which of them the results reach. It does not use
numpy, since the report is written without it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import exp, log
from pathlib import Path

from answers import by_criterion
from cells import IP
from markdown import digits, table
from results import Record

# Numbers of atoms that are told together, by the largest.
SIZES = (
    (1_000, "up to 1,000"),
    (5_000, "1,001 to 5,000"),
    (20_000, "5,001 to 20,000"),
    (99_999, "20,001 to 99,999"),
    (999_999, "100,000 to 999,999"),
    (1 << 62, "1,000,000 and more"),
)
AROUND_10000, AROUND_60000 = SIZES[2][1], SIZES[3][1]
BEHIND = 0.95  # a cell below is behind, one below 1 only slower
BESIDE = 1.5  # at most; time of certain over that of adaptive
ONE_QUERY, BATCHES = 1.4, 1.9  # at least; time on one core over that on two
CAUSES = "causes.md"


def size(n: int) -> str:
    return next(name for most, name in SIZES if n <= most)


def mean(xs: Sequence[float]) -> float:
    """The geometric mean."""
    return exp(sum(map(log, xs)) / len(xs))


@dataclass(frozen=True)
class Goal:
    """A figure to reach in some cells: in each of them, or by the least geometric mean of those that
    by puts together."""

    name: str  # causes.md calls it so
    bar: float
    judges: Callable[[Record], bool]
    kind: str = "race"
    value: Callable[[Record], float | None] = lambda r: r["ratio"]
    by: Callable[[Record], object] | None = None  # None: each cell by itself
    at_most: bool = False


def metric(r: Record) -> str:
    """Results from before there were other metrics are of inner products."""
    return str(r.get("metric", IP))


def label(r: Record) -> str:
    """The set of a record, with its metric if that is not the inner product."""
    return str(r["set"]) if metric(r) == IP else f"{r['set']} by {metric(r)}"


def of_counts(r: Record) -> bool:
    return str(r["set"]).startswith("counts")


def of_products(r: Record) -> bool:
    """Whether a record is one of inner products of vectors without ties: earlier goals are about these."""
    return metric(r) == IP and not of_counts(r)


def beside_adaptive(r: Record) -> float | None:
    """The time of certain over that of adaptive, which is auto's where auto takes looks."""
    us = r["us"]
    return us["certain"] / us.get("adaptive", us["auto"]) if "certain" in us else None


GOALS = (
    Goal("every cell from 1,000 atoms on", BEHIND, lambda r: r["n"] >= 1000),
    Goal("ip and cosine", 3.5, lambda r: metric(r) != "l2", by=lambda r: ""),
    Goal("l2", 3, lambda r: metric(r) == "l2", by=lambda r: ""),
    Goal("counts", BEHIND, of_counts),
    Goal("k = 1,000 from 60,000 atoms on", 1.5, lambda r: r["k"] == 1000 and r["n"] > 20_000, by=lambda r: r["m"]),
    Goal(
        "k = 1,000 of 10,000 atoms",
        1.3,
        lambda r: r["k"] == 1000 and size(r["n"]) == AROUND_10000,
        by=lambda r: r["m"],
    ),
    Goal(
        "k = 100 of 60,000 atoms, m from 16 on",
        3.5,
        lambda r: r["k"] == 100 and r["m"] >= 16 and size(r["n"]) == AROUND_60000 and of_products(r),
        by=lambda r: r["m"],
    ),
    Goal(
        "k = 100 of 10,000 atoms",
        2,
        lambda r: r["k"] == 100 and size(r["n"]) == AROUND_10000 and of_products(r),
        by=lambda r: r["m"],
    ),
    Goal(
        "k = 10 of 60,000 x 768, m = 256",
        8,
        lambda r: r["k"] == 10 and r["m"] == 256 and r["d"] == 768 and size(r["n"]) == AROUND_60000 and of_products(r),
        by=lambda r: "",
    ),
    Goal(
        "k = 10 from 100,000 atoms on, m = 256",
        12,
        lambda r: r["k"] == 10 and r["m"] == 256 and r["n"] >= 100_000 and of_products(r),
        by=lambda r: "",
    ),
    Goal(
        "m = 1, k to 100, from 60,000 atoms and 384 dimensions on",
        6,
        lambda r: r["m"] == 1 and r["k"] <= 100 and r["d"] >= 384 and r["n"] > 20_000 and of_products(r),
        by=lambda r: r["d"],
    ),
    Goal(
        "m = 1, k to 10, from 60,000 atoms on",
        12,
        lambda r: r["m"] == 1 and r["k"] <= 10 and r["n"] >= 60_000,
        by=lambda r: "",
    ),
    Goal(
        "one query on two cores from 60,000 atoms on",
        ONE_QUERY,
        lambda r: r["m"] == 1 and r["n"] > 20_000,
        kind="cores",
    ),
    Goal("every cell on two cores", 1, lambda r: True, kind="cores"),
    Goal("batches on two cores", BATCHES, lambda r: r["m"] > 1, kind="cores"),
    Goal("certain beside adaptive", BESIDE, lambda r: r["k"] <= 100, value=beside_adaptive, at_most=True),
    Goal("whole processes", 5, lambda r: True, kind="process"),
)


def judged(goal: Goal, records: Iterable[Record]) -> list[tuple[float, Record]]:
    """The values of a goal's cells, worst first."""
    mine = (r for r in records if r["kind"] == goal.kind and goal.judges(r))
    found = [(value, r) for r in mine if (value := goal.value(r))]
    return sorted(found, key=lambda x: x[0], reverse=goal.at_most)


def figure(goal: Goal, found: Sequence[tuple[float, Record]]) -> float:
    """What is compared with the bar: the worst value, or the least geometric mean."""
    if goal.by is None:
        return found[0][0]
    groups: dict[object, list[float]] = {}
    for value, r in found:
        groups.setdefault(goal.by(r), []).append(value)
    return min(map(mean, groups.values()))


def short(goal: Goal, value: float) -> bool:
    return value > goal.bar if goal.at_most else value < goal.bar


def missed_of(records: Sequence[Record]) -> tuple[int, int]:
    """How many of the goals that were measured are missed, and how many were measured."""
    measured = [(goal, found) for goal in GOALS if (found := judged(goal, records))]
    verdict = answers_goal(records)[-1]
    missed = sum(short(goal, figure(goal, found)) for goal, found in measured) + (verdict == MISSED)
    return missed, len(measured) + (verdict != NOT_MEASURED)


def goals(records: Sequence[Record], by_hand: Path) -> str:
    """A table of the goals, and the causes of those missed, which are written by hand."""
    rows: list[tuple[object, ...]] = []
    missed: list[str] = []
    for goal in GOALS:
        found = judged(goal, records)
        bar = f"{goal.name}: at {'most' if goal.at_most else 'least'} {goal.bar:g}"
        if not found:
            rows.append((bar, 0, "", "", "", NOT_MEASURED))
            continue
        reached = figure(goal, found)
        worst, cell = found[0]
        fails = short(goal, reached)
        if fails:
            missed.append(goal.name)
        where = f"{digits(worst)} ({label(cell)}, m = {cell['m']:,}, k = {cell['k']})"
        beyond = sum(short(goal, value) for value, _ in found)
        rows.append((bar, len(found), digits(reached), where, beyond or "", MISSED if fails else "reached"))
    rows.append(answers_goal(records))
    if rows[-1][-1] == MISSED:
        missed.append(ANSWERS)
    said = (
        "Ratios are the best peer's time over that of `auto`. *Every cell*, *counts*, *certain beside adaptive*, "
        "*whole processes* and those of two cores hold for each cell, *ip and cosine* and *l2* for the geometric mean "
        "of all, the others for the least geometric mean by m (*m = 1*: by dimension). "
        f"*60,000 atoms* are sets of {AROUND_60000}, *10,000* of {AROUND_10000}. The goals of k = 10 and 100 are of "
        "inner products without counts. The time of `adaptive` is that of `auto` where that takes looks."
    )
    header = ("goal", "cells", "figure", "worst cell", "cells short of it", "")
    return "\n\n".join(["### Goals", said, table(header, rows), *explained(missed, by_hand)])


ANSWERS = "wrong answers"
MISSED, NOT_MEASURED = "**missed**", "not measured"


def answers_goal(records: Sequence[Record]) -> tuple[object, ...]:
    """The row of wrong answers: none of exact and certain, of auto no more than delta explains."""
    cells = [r for r in records if r["kind"] == "race" and by_criterion(r)]
    wrong = sum(r["wrong"].get(m, 0) for r in cells for m in ("certain", "exact"))
    bad = [r for r in cells if not r["compatible"]]
    where = f"{label(bad[0])}, m = {bad[0]['m']}, k = {bad[0]['k']}" if bad else ""
    name = f"{ANSWERS}: none of `exact` and `certain`, at most delta of `auto`"
    verdict = NOT_MEASURED if not cells else MISSED if bad or wrong else "reached"
    return (name, len(cells), wrong if cells else "", where, len(bad) or "", verdict)


def explained(missed: Sequence[str], by_hand: Path) -> list[str]:
    """The causes of the goals missed, as far as they are written, and of which they are not."""
    text = by_hand.read_text().strip() if by_hand.exists() else ""
    items = re.split(r"\n(?=- )", text) if text else []
    about: dict[str, str] = {}
    for item in items:
        name = re.match(r"- \*(.+?)\.\*", item)
        if not name or name[1] not in names():
            raise SystemExit(f"{by_hand}: {item[:60]!r} does not begin with - *GOAL.*; goals are {', '.join(names())}")
        about[name[1]] = item
    parts = ["\n".join(about[name] for name in missed if name in about)]
    if unsaid := [name for name in missed if name not in about]:
        parts.append(f"Causes not written down: {', '.join(unsaid)}.")
    return [p for p in parts if p]


def names() -> list[str]:
    return [*(g.name for g in GOALS), ANSWERS]
