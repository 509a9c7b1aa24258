"""One cell of the race with all exact peers: a trial of each of them, then the best two and
thresher take turns, and all answers are checked."""

from __future__ import annotations

from collections.abc import Container, Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import numpy as np

from anchors import Anchor, Anchors
from answers import CRITERION
from cells import Cell
from check import Verdict, judge, recall
from contestants import Contestant, Racer, Thresher
from data import DataSet
from race import Times, take_turns

METHODS = ("auto", "certain", "exact")
RACED = 2  # peers raced in earnest
BUDGET = 2.0  # seconds for the turns of a cell, beyond three rounds
TURN = 0.03  # least seconds of a turn, if a batch is quicker
MOST = 15  # rounds
FEWEST = 5  # rounds, if the budget allows them
# The rounds end when the quartiles of the ratio are so close, as a share of it.
SETTLED = 0.04
# Bytes of atoms above which not all peers' copies of them are kept at once.
CROWDED = 1 << 30
TRIED = 8  # least queries of a trial
# A trial that takes so many seconds is not repeated.
SLOW = 0.3
# A peer is not tried again if at a smaller k it took so many times what the second best of
# those tried takes now: its time does not fall with k.
BEHIND = 1.5

# Queries checked of each method, fewer if they take longer than so many seconds.
CHECKED = {"auto": 256, "certain": 128, "exact": 64}
CHECK_SECONDS, CHECKED_FEWEST = 3.0, 8
PEER_CHECKED = 32  # queries checked of each peer raced
# Up to this k certain is compared with adaptive, which takes turns where auto scans.
BESIDE_UP_TO = 100
FORCED = 4  # plans of the least forecast cost that are timed for the planner's regret
PLAN_ROUNDS = 5
WHOLE, DENSE = "whole,rescore", "dense"


def spread(ratios: Sequence[float]) -> tuple[float, float]:
    """The quartiles."""
    low, _, high = quantiles(ratios, n=4, method="inclusive")
    return low, high


def ratios(times: Times, ours: str = "auto") -> tuple[str, list[float]]:
    """The best peer of those raced, and round by round its time over ours."""
    best = min((n for n in times if n.startswith("peer ")), key=lambda n: median(times[n]))
    return best, [a / b for a, b in zip(times[best], times[ours], strict=True)]


def settled(times: Times) -> bool:
    """Whether there are enough rounds and the ratio's quartiles are close."""
    found = ratios(times)[1]
    if len(found) < FEWEST:
        return False
    low, high = spread(found)
    return high - low <= SETTLED * median(found)


class Named:
    """A peer under the name it has among thresher's methods."""

    def __init__(self, anchor: Anchor) -> None:
        self.anchor, self.name = anchor, f"peer {anchor.name}"

    def run(self, m: int, k: int, first: int, count: int) -> float:
        return self.anchor.run(m, k, first, count)


class Heats:
    """A set with all peers and thresher ready to run on it, each on one core."""

    def __init__(self, data: DataSet, work: Path, budget: float = BUDGET) -> None:
        self.data, self.work, self.budget = data, work, budget
        self.anchors = Anchors(data)
        self.peers = {a.name: a for a in self.anchors.all()}
        self.crowded = 4 * data.n * data.d > CROWDED
        self.recalls: dict[tuple[str, int], float] = {}
        self.racer = Racer(data)
        self.ready: set[str] = set()
        self.tried: dict[tuple[str, int], tuple[int, float]] = {}  # by peer and m: k and seconds

    def __enter__(self) -> Heats:
        return self

    def __exit__(self, *exception: object) -> None:
        self.racer.__exit__(*exception)

    def trials(self, m: int, k: int) -> dict[str, float]:
        """Seconds a query of each peer, fastest first at a smaller k if there was one; without those
        that cannot be among the best two."""

        def before(name: str) -> tuple[int, float]:
            return self.tried.get((name, m), (0, 0.0))

        found: dict[str, float] = {}
        for name in sorted(self.peers, key=lambda n: before(n)[1]):
            smaller, seconds = before(name)
            if (
                smaller
                and smaller <= k
                and len(found) >= RACED
                and seconds > BEHIND * sorted(found.values())[RACED - 1]
            ):
                continue
            peer = self.peers[name]
            if name not in self.ready:
                peer.run(1, 1, 0, 1)  # makes what it keeps of the set
                self.ready.add(name)
            some = min(m, peer.most)
            # Peers that eliminate take longer for some queries than for others.
            count = max(1, min(TRIED, len(self.data.queries)) // some)
            took = peer.run(some, k, 0, count)
            if took < SLOW:
                took = min(took, *(peer.run(some, k, 0, count) for _ in range(2)))
            found[name] = took / some / count
            self.tried[name, m] = (k, found[name])
            if self.crowded:
                self.anchors.release()
                self.ready.clear()
        return found

    def cell(self, cell: Cell, methods: Sequence[str] = METHODS, more: Sequence[Contestant] = ()) -> dict[str, Any]:
        """The times of a cell, in microseconds a query, and the checks of its answers. more are other
        builds of thresher."""
        m, k = cell.m, cell.k
        trials = self.trials(m, k)
        raced = sorted(trials, key=lambda n: trials[n])[:RACED]
        ours = [Thresher(self.racer, method) for method in methods]
        if "certain" in methods and k <= BESIDE_UP_TO and "adaptive" not in methods and self.chosen(m, k) == DENSE:
            ours.append(Thresher(self.racer, "adaptive"))
        contestants: list[Contestant] = [*(Named(self.peers[n]) for n in raced), *ours, *more]
        times, disturbed = take_turns(contestants, m, k, self.budget, TURN, MOST, settled)
        best, found = ratios(times)
        record = {
            "set": cell.set,
            "metric": self.data.metric,
            "n": self.data.n,
            "d": self.data.d,
            "m": m,
            "k": k,
            "delta": ours[0].delta,
            "best": best.removeprefix("peer "),
            "trials": {name: t * 1e6 for name, t in trials.items()},
            "us": {name.removeprefix("peer "): median(ts) * 1e6 for name, ts in times.items()},
            "ratio": median(found),
            "quartiles": list(spread(found)),
            "rounds": len(found),
            "disturbed": disturbed,
            "plans": {t.name: t.last["plans"] for t in ours},
        }
        if "certain" in times:
            record["certain_ratio"] = median(ratios(times, "certain")[1])
        return record

    def checked(self, cell: Cell, us: dict[str, float], methods: Sequence[str] = METHODS) -> dict[str, Any]:
        """How many of the answers of each method are wrong, given its microseconds a query."""
        m, k = cell.m, cell.k
        said: dict[str, Any] = {"criterion": CRITERION, "checked": {}, "wrong": {}, "compatible": True}
        for method in methods:
            thresher = Thresher(self.racer, method)
            within = max(CHECKED_FEWEST, int(CHECK_SECONDS * 1e6 / us[method]))
            batches = max(1, min(len(self.data.queries), CHECKED[method], within) // m)
            answers, certain = thresher.answers(m, k, 0, batches, self.work / "answers.bin")
            verdict = Verdict()
            judge(verdict, self.data, np.arange(batches * m), answers, certain, k)
            fine = verdict.compatible(thresher.delta) if method == "auto" else not verdict.wrong
            said["checked"][method], said["wrong"][method] = len(verdict.checked), len(verdict.wrong)
            said["compatible"] = said["compatible"] and fine
        return said

    def peer_recall(self, name: str, k: int) -> float:
        """The share of the k best that a peer's float32 finds, of some queries."""
        if (name, k) not in self.recalls:
            answers = self.peers[name].answers(min(len(self.data.queries), PEER_CHECKED), k)
            self.recalls[name, k] = recall(self.data, answers, min(k, self.data.n))[0]
        return self.recalls[name, k]

    def offered(self, m: int, k: int) -> list[dict[str, Any]]:
        """The planner's forecasts."""
        answer = self.racer.ask(m=m, k=k, count=1, method="auto", delta=0.01, forecast=True)
        plans: list[dict[str, Any]] = answer["forecasts"]
        return plans

    def chosen(self, m: int, k: int) -> str:
        return str(next(f["plan"] for f in self.offered(m, k) if f["chosen"]))

    def regret(self, cell: Cell) -> dict[str, Any]:
        """The chosen plan next to the cheapest others by forecast, whole rows, the dense scan and the
        ladder that any set of this dimension would get for this k, in turns."""
        m, k = cell.m, cell.k
        by_plan = {f["plan"]: f for f in self.offered(m, k)}
        chosen = self.chosen(m, k)
        fixed = fixed_plan(self.data.d, k, by_plan)
        wanted = [chosen, *list(by_plan)[:FORCED], fixed, WHOLE, DENSE]
        plans = [p for p in dict.fromkeys(wanted) if p in by_plan]
        # By auto, which may plan otherwise for one query than the method that it chooses.
        contestants = [Thresher(self.racer, "auto", name=p, plan=p) for p in plans]
        times, _ = take_turns(contestants, m, k, self.budget, TURN, PLAN_ROUNDS)
        us = {name: median(ts) * 1e6 for name, ts in times.items()}
        best = min(us, key=lambda p: us[p])
        return {
            "set": cell.set,
            "metric": self.data.metric,
            "n": self.data.n,
            "d": self.data.d,
            "m": m,
            "k": k,
            "chosen": chosen,
            "best": best,
            "fixed": fixed,
            "us": us,
            "regret": us[chosen] / us[best],
            "fixed_regret": us[fixed] / us[best],
        }


def fixed_plan(d: int, k: int, offered: Container[str]) -> str:
    """A plan by dimension and k alone, such as a library without a planner would have; the dense scan
    if it is not offered."""
    if k >= 1000:
        return DENSE
    ladder = WHOLE if d <= 128 else "128,whole,rescore" if k >= 100 else "64,whole,rescore"
    return ladder if ladder in offered else DENSE
