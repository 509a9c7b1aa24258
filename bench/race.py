"""One cell of the race: contestants take turns on the same batches, then the answers are
checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from answers import CRITERION
from check import Verdict, judge, recall
from contestants import PATHS, Contestant, Flat, FlatPath, Racer, Thresher
from data import DataSet
from environment import RACER, go
from others import TOLERATED, Others

KS = (1, 10, 100)
TURN = 0.1  # least seconds of a turn, if a batch is quicker
BUDGET = 6.0  # seconds for the turns of a cell, beyond three rounds
DUEL_BUDGET = 4.0  # the same for two threshers
ROUNDS = (3, 9)  # least and most
# A FAISS path whose trial takes so many times the fastest one's is not raced.
HOPELESS = 3.0
PROVED = 128  # queries whose answers by a FAISS path are checked

Times = dict[str, list[float]]  # seconds a query, round by round


def take_turns(
    contestants: Sequence[Contestant],
    m: int,
    k: int,
    budget: float = BUDGET,
    turn: float = TURN,
    most: int = ROUNDS[1],
    settled: Callable[[Times], bool] = lambda times: False,
) -> tuple[Times, int]:
    """Times of each contestant. In every round each has one turn; the starting contestant rotates,
    and every second round goes backwards, so that none always follows the same other. A turn is
    one batch, or as many as fill so many seconds. A round in which other processes used
    more than TOLERATED is repeated, at most as often as there are rounds; the number of such
    rounds kept is returned too. From the least number of rounds on they end once the times are
    settled."""
    counts, first_round = {}, 0.0
    for c in contestants:
        once = c.run(m, k, 0, 1)  # warms caches and pools
        if once < turn:
            once = c.run(m, k, 1, 1)
        counts[c.name] = max(1, round(turn / max(once, 1e-6)))
        first_round += once * counts[c.name]
    times: Times = {c.name: [] for c in contestants}
    wanted = rounds(first_round, budget, most)
    again, disturbed = wanted, 0
    others = Others()
    while len(times[contestants[0].name]) < wanted:
        r = len(times[contestants[0].name])
        turns = {}
        others.share()
        for i in range(len(contestants)):
            c = contestants[(r + (-i if r % 2 else i)) % len(contestants)]
            # Batches are a prime number apart, so that rounds have different queries.
            turns[c.name] = c.run(m, k, r * 37, counts[c.name]) / counts[c.name] / m
        if others.share() > TOLERATED:
            if again > 0:
                again -= 1
                continue
            disturbed += 1
        for name, seconds in turns.items():
            times[name].append(seconds)
        if ROUNDS[0] <= r + 1 and settled(times):
            break
    return times, disturbed


def rounds(first_round: float, budget: float, most: int = ROUNDS[1]) -> int:
    """The number of rounds within the budget."""
    return int(np.clip(budget / first_round, ROUNDS[0], most))


def paired(over: list[float], under: list[float]) -> float:
    """The median of the rounds' ratios."""
    return median(a / b for a, b in zip(over, under, strict=True))


def hopeful(trials: dict[str, float]) -> list[str]:
    """The paths worth racing, given the seconds of each."""
    return [path for path, t in trials.items() if t <= HOPELESS * min(trials.values())]


class Field:
    """A set with all contestants ready to run on it, each on one core."""

    def __init__(self, data: DataSet, work: Path) -> None:
        self.data, self.work = data, work
        self.flat = Flat(data)
        assert self.flat.flat.ntotal == data.n  # built now, not in the first turn
        self.racer = Racer(data)

    def __enter__(self) -> Field:
        return self

    def __exit__(self, *exception: object) -> None:
        self.racer.__exit__(*exception)

    def cell(self, m: int, k: int, delta: float = 0.01, dense: bool = True, budget: float = BUDGET) -> dict[str, Any]:
        """Thresher with the planner's choice against FAISS and, if dense, against its own dense path;
        every query is checked."""
        auto = Thresher(self.racer, delta=delta)
        trials = {path: FlatPath(self.flat, path).trial(m, k) for path in PATHS}
        contestants: list[Contestant] = [*(FlatPath(self.flat, path) for path in hopeful(trials)), auto]
        if dense:
            contestants.append(Thresher(self.racer, "exact"))
        times, disturbed = take_turns(contestants, m, k, budget)
        faiss = min((n for n in times if n.startswith("faiss")), key=lambda n: median(times[n]))
        ratios = [a / b for a, b in zip(times[faiss], times["auto"], strict=True)]
        record = {
            "m": m,
            "k": k,
            "delta": delta,
            "rounds": len(ratios),
            "disturbed": disturbed,
            "faiss": faiss,
            "trials": {path: t * 1e6 for path, t in trials.items()},
            "faiss_us": median(times[faiss]) * 1e6,
            "ours_us": median(times["auto"]) * 1e6,
            "ratio": median(ratios),
            "ratio_range": [min(ratios), max(ratios)],
            "faiss_gflops": 2e-9 * self.data.n * self.data.d / median(times[faiss]),
            "us": {name: [t * 1e6 for t in ts] for name, ts in times.items()},
        }
        if dense:
            record |= {"exact_us": median(times["exact"]) * 1e6, "over_exact": paired(times["exact"], times["auto"])}
        return record | self.checked(auto, m, k, times)

    def checked(self, auto: Thresher, m: int, k: int, times: Times) -> dict[str, Any]:
        """All queries in batches of m, and the dense path on the batches of its timed turns, compared
        with float64; and what the answers cost."""
        batches = len(self.data.queries) // m
        verdict = self.verdict(auto, m, k, batches)
        queries = len(verdict.checked)
        last = auto.last
        record = {
            "criterion": CRITERION,
            "checked": queries,
            "wrong": len(verdict.wrong),
            "wrong_queries": sorted(verdict.wrong),
            "certain_wrong": len(verdict.certain_wrong),
            "allowed": auto.delta * len(verdict.checked - verdict.certain),
            "p": verdict.chance(auto.delta),
            "compatible": verdict.compatible(auto.delta),
            "saving": last["dense_pulls"] / max(1, last["pulls"]),
            "rows": last["rows"] / last["queries"],
            "certain": last["exact"] / last["queries"],
            "fallback": last["dense"] / last["queries"],
            "plans": last["plans"],
            "looks": [
                f"{look['reads']} {look['width']} {look['rule']}: {look['survivors'] / max(1, look['seen']):.3%} of "
                f"{look['seen'] / max(1, look['queries']):.0f}"
                for look in last["looks"] or []
            ],
        }
        if "exact" in times:
            exact = Thresher(self.racer, "exact")
            # The dense path is the same for all m: few batches suffice for small m.
            dense = self.verdict(exact, m, k, min(batches, max(1, 64 // m)))
            record |= {"exact_checked": len(dense.checked), "exact_wrong": len(dense.wrong)}
            record["compatible"] = record["compatible"] and not dense.wrong
        return record

    def verdict(self, thresher: Thresher, m: int, k: int, batches: int) -> Verdict:
        answers, certain = thresher.answers(m, k, 0, batches, self.work / "answers.bin")
        verdict = Verdict()
        judge(verdict, self.data, np.arange(batches * m), answers, certain, k)
        return verdict

    def answers(self, method: str, m: int, k: int) -> dict[str, Any]:
        """How many of all queries' answers by a method are wrong."""
        verdict = self.verdict(Thresher(self.racer, method), m, k, len(self.data.queries) // m)
        return {
            "method": method,
            "m": m,
            "k": k,
            "criterion": CRITERION,
            "checked": len(verdict.checked),
            "wrong": len(verdict.wrong),
            "certain_wrong": len(verdict.certain_wrong),
            "compatible": not verdict.wrong,
        }

    def faiss_wrong(self, path: str, k: int) -> dict[str, Any]:
        """How many queries fail the same check with a FAISS path's float32 answers: of all queries for
        products, else of some."""
        m = len(self.data.queries) if path == "blas" else min(PROVED, len(self.data.queries))
        wrong = recall(self.data, self.flat.search(path, m, k, 0, 1)[1], min(k, self.data.n))[1]
        return {"path": path, "k": k, "criterion": CRITERION, "checked": m, "wrong": wrong}

    def split(self, m: int, k: int, seconds: float = 3.0) -> list[list[Any]]:
        """Where the time of searches goes: the first twelve functions by their share of a CPU profile;
        none if the profile cannot be read."""
        auto = Thresher(self.racer)
        auto.run(m, k, 0, 1)
        count = max(1, round(seconds / auto.run(m, k, 1, 1)))
        profile = self.work / "cpu.prof"
        auto.run(m, k, 0, count, profile=str(profile))
        top = go("tool", "pprof", "-top", "-nodecount=12", RACER, profile, check=False)
        rows = re.findall(r"^\s*\S+\s+([\d.]+)%\s+[\d.]+%\s+\S+\s+[\d.]+%\s+(.+)$", top, re.M)
        return [[name.strip(), float(share)] for share, name in rows]


def builds(data: DataSet, threads: int = 1, godebug: str = "", repeats: int = 3) -> dict[str, Any]:
    """The cost of preparing the set, the median of several processes."""
    runs = []
    for _ in range(repeats):
        with Racer(data, threads, godebug) as racer:
            runs.append(racer.prepared)
    size = 4 * data.n * data.d
    seconds = median(r["build_seconds"] for r in runs)
    return {
        "threads": threads,
        "kernels": runs[0]["kernels"],
        "load_seconds": median(r["load_seconds"] for r in runs),
        "build_seconds": seconds,
        "open_seconds": median(r["open_seconds"] for r in runs),
        "build_mb_s": size / 1e6 / seconds,
        "memory": runs[0]["collection_bytes"] / size,
        "peak": max(r["peak_bytes"] for r in runs) / size,
    }


def duel(one: Thresher, other: Thresher, m: int, k: int, budget: float = DUEL_BUDGET) -> dict[str, Any]:
    """Two threshers in turns; ratio is the time of the first over the other's."""
    times, disturbed = take_turns([one, other], m, k, budget)
    return {
        "m": m,
        "k": k,
        "rounds": len(times[one.name]),
        "disturbed": disturbed,
        "one_us": median(times[one.name]) * 1e6,
        "other_us": median(times[other.name]) * 1e6,
        "ratio": paired(times[one.name], times[other.name]),
        "us": {name: [t * 1e6 for t in ts] for name, ts in times.items()},
    }
