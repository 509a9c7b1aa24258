"""The tasks of the race. A task has its own file of results; cells that the file has are
skipped."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import environment
import estimate
import peers
import roofline
from check import prove
from contestants import Racer, Thresher
from data import FOLDER, DataSet
from estimate import Size
from race import BUDGET, KS, Field, builds, duel
from results import Log, rounded
from sets import MAIN, SMALL, SWEEP_DIMS, TINY

# Disables this program's use of AVX-512, in Go's standard way.
NO_AVX512 = "cpu.avx512f=off"
# Seconds for the turns of a cell, by batch; 0 is the fewest rounds, since a round of 1,024
# queries takes 2 to 10 seconds.
BUDGETS = {1: BUDGET, 16: BUDGET, 256: BUDGET, 1024: 0.0}
TINY_BUDGETS = {1: 1.5, 16: 1.5, 256: 1.5}
SHORT = 1.5  # for a cell of a sweep
COMPARED = ("records768", "power768", "power4096", "iid768")
INDEXED = ("records768",)
CHECKED = ("blas", "panorama")  # FAISS paths whose answers are checked
# Fields of a record that are printed as it is made.
TOLD = ("set", "over", "value", "index", "name", "method", "m", "k", "ratio", "over_exact", "wrong", "build_mb_s")
TINY_SETS = tuple(f"tiny-{n}x{d}" for n, d in TINY)


@dataclass(frozen=True)
class Task:
    """A name, the sets it can use, what to do with those that exist, and roughly how many seconds
    that takes, by their sizes."""

    name: str
    sets: tuple[str, ...]
    work: Callable[[Task, Log], None]
    seconds: Callable[[dict[str, Size]], float]

    def sizes(self) -> dict[str, Size]:
        """The sizes of its sets that exist."""
        about = (DataSet.about_of(name) for name in self.sets)
        return {a["name"]: (a["atoms"], a["dimension"]) for a in about if a}

    def here(self) -> Task | None:
        """The task with its sets that exist; None if there are none."""
        there = tuple(self.sizes())
        return replace(self, sets=there) if there or not self.sets else None


def cells(log: Log, data: DataSet, budgets: dict[int, float]) -> None:
    """The missing cells of one set, with seconds by batch."""
    wanted = [
        (m, k)
        for m in budgets
        for k in KS
        if m <= len(data.queries) and not log.has(kind="race", set=data.name, m=m, k=k)
    ]
    if not wanted:
        return
    with Field(data, FOLDER) as field:
        for m, k in wanted:
            keep(log, {"kind": "race", "set": data.name} | field.cell(m, k, budget=budgets[m]))


def keep(log: Log, record: dict[str, Any]) -> None:
    """Appends a record, under its task's name, and prints it."""
    log.append(rounded(record | {"task": log.task}))
    told = {f: f"{v:.3g}" if isinstance(v := record[f], float) else v for f in TOLD if record.get(f) is not None}
    print(f"{time.strftime('%H:%M:%S')} {record['kind']} {told}", flush=True)


def main_set(task: Task, log: Log) -> None:
    """The race of one set, the cost of its build, and where its time goes."""
    data = DataSet.open(task.name)
    if not log.has(kind="set"):
        keep(log, {"kind": "set"} | data.about)
    if not log.has(kind="build"):
        keep(log, {"kind": "build", "set": data.name} | builds(data))
    cells(log, data, BUDGETS)
    flat = [(path, k) for path in CHECKED for k in KS if not log.has(kind="faiss", path=path, k=k)]
    split = [m for m in (1, 256) if not log.has(kind="split", m=m)]
    if not flat and not split:
        return
    with Field(data, FOLDER) as field:
        surely(log, field, 256)
        for m in split:
            keep(log, {"kind": "split", "set": data.name, "m": m, "k": 10, "functions": field.split(m, 10)})
        for path, k in flat:
            keep(log, {"kind": "faiss", "set": data.name} | field.faiss_wrong(path, k))


def surely(log: Log, field: Field, m: int) -> None:
    """The answers of the methods that may never be wrong."""
    for method in ("exact", "certain"):
        for k in KS:
            if not log.has(kind="answers", set=field.data.name, method=method, k=k):
                keep(log, {"kind": "answers", "set": field.data.name} | field.answers(method, m, k))


def tiny(task: Task, log: Log) -> None:
    for name in task.sets:
        cells(log, DataSet.open(name), TINY_BUDGETS)


@dataclass(frozen=True)
class Stop:
    """One value of a sweep."""

    over: str
    value: float
    m: int
    k: int = 10
    delta: float = 0.01


@dataclass(frozen=True)
class Leg:
    """The stops of a sweep on one set, or on its first atoms."""

    name: str
    stops: list[Stop]
    first: int = 0

    def open(self) -> DataSet:
        data = DataSet.open(self.name)
        return data.first(self.first) if self.first else data


# The speed-up against one quantity at a time.
LEGS = [
    Leg(
        "records768",
        [Stop("m", m, m) for m in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)]
        + [Stop("k", k, m, k=k) for k in (1, 3, 10, 30, 100, 300, 1000) for m in (1, 256)]
        + [Stop("delta", x, m, delta=x) for x in (0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5, 1e-6) for m in (1, 256)],
    ),
    *(Leg("power768", [Stop("n", n, m) for m in (1, 256)], first=n) for n in (1000, 3000, 10000, 30000, 100000)),
    *(Leg(f"sweep-{d}", [Stop("d", d, m) for m in (1, 256)]) for d in SWEEP_DIMS),
]


def sweeps(task: Task, log: Log) -> None:
    for leg in LEGS:
        if leg.name in task.sets:
            sweep(log, leg)


def sweep(log: Log, leg: Leg) -> None:
    """The missing stops of a leg."""
    missing = [s for s in leg.stops if not log.has(kind="sweep", over=s.over, value=s.value, m=s.m)]
    if not missing:
        return
    with Field(leg.open(), FOLDER) as field:
        for s in missing:
            cell = field.cell(s.m, s.k, s.delta, dense=False, budget=SHORT)
            at = {"over": s.over, "value": s.value, "set": field.data.name, "atoms": field.data.n}
            keep(log, {"kind": "sweep"} | at | cell)


def sweep_seconds(sizes: dict[str, Size]) -> float:
    total = 0.0
    for leg in LEGS:
        if leg.name in sizes:
            n, d = sizes[leg.name]
            of = (leg.first or n, d)
            total += estimate.opening(of) + sum(estimate.cell(of, s.m, s.k, SHORT, dense=False) for s in leg.stops)
    return total


def threads(task: Task, log: Log) -> None:
    """Two cores against one."""
    if len(environment.CORES) < 2:
        return
    versus(task, log, lambda data: (Racer(data), Racer(data, threads=2)), ("1 thread", "2 threads"))
    for name in task.sets:
        if not log.has(kind="build", set=name):
            keep(log, {"kind": "build", "set": name} | builds(DataSet.open(name), threads=2))


def kernels(task: Task, log: Log) -> None:
    """AVX2 kernels against the best available."""
    versus(task, log, lambda data: (Racer(data, godebug=NO_AVX512), Racer(data)), ("avx2", "best"))
    for name in task.sets:
        if not log.has(kind="build", set=name):
            keep(log, {"kind": "build", "set": name} | builds(DataSet.open(name), godebug=NO_AVX512))


def versus(task: Task, log: Log, pair: Callable[[DataSet], tuple[Racer, Racer]], names: tuple[str, str]) -> None:
    """Two racers on each set of a task."""
    for name in task.sets:
        wanted = [(m, k) for m in (1, 256) for k in KS if not log.has(kind="versus", set=name, m=m, k=k)]
        if not wanted:
            continue
        one, other = pair(DataSet.open(name))
        with one, other:
            for m, k in wanted:
                of = Thresher(one, name=names[0]), Thresher(other, name=names[1])
                said: dict[str, Any] = {"kind": "versus", "set": name, "one": names[0], "other": names[1]}
                said["kernels"] = [r.prepared["kernels"] for r in (one, other)]
                keep(log, said | duel(*of, m, k))


def indexes(task: Task, log: Log) -> None:
    for name in task.sets:
        data = DataSet.open(name)
        for index in peers.INDEXES:
            if not log.has(kind="peer", set=name, index=index):
                with Racer(data) as racer:
                    keep(log, {"kind": "peer", "set": name} | peers.curve(index, data, racer, 10))


def limits(task: Task, log: Log) -> None:
    for package in (roofline.PEAKS, roofline.KERNELS):
        if not log.has(kind="benchmark", package=package):
            for b in roofline.benchmarks(package):
                keep(log, {"kind": "benchmark", "package": package} | b)


def small(task: Task, log: Log) -> None:
    """A short race to check answers; first it proves that the checker detects wrong ones."""
    for name in task.sets:
        data = DataSet.open(name)
        prove(data, 10)
        keep(log, {"kind": "set"} | data.about)
        keep(log, {"kind": "build", "set": name} | builds(data, repeats=1))
        cells(log, data, {1: 0.5, 64: 0.5})
        with Field(data, FOLDER) as field:
            surely(log, field, 64)
            for path in CHECKED:
                keep(log, {"kind": "faiss", "set": name} | field.faiss_wrong(path, 10))
    # For the plots.
    sweep(log, Leg(task.sets[0], [Stop("delta", delta, 64, delta=delta) for delta in (0.1, 0.01)]))


def each(seconds: Callable[[Size], float]) -> Callable[[dict[str, Size]], float]:
    """The sum over a task's sets."""
    return lambda sizes: sum(map(seconds, sizes.values()))


TASKS = [
    *(Task(name, (name,), main_set, each(lambda size: estimate.main_set(size, BUDGETS))) for name in MAIN),
    Task("tiny", TINY_SETS, tiny, each(lambda size: estimate.race(size, TINY_BUDGETS))),
    Task("threads", COMPARED, threads, each(estimate.versus)),
    Task("kernels", COMPARED, kernels, each(estimate.versus)),
    Task("indexes", INDEXED, indexes, each(estimate.indexes)),
    Task("sweeps", tuple(dict.fromkeys(leg.name for leg in LEGS)), sweeps, sweep_seconds),
    Task("limits", (), limits, lambda sizes: 90),
]


def choose(only: str, is_small: bool) -> list[Task]:
    """The tasks of --only, or all."""
    if is_small:
        return [Task("small", SMALL, small, lambda sizes: 30)]
    if not only:
        return TASKS
    by_name = {t.name: t for t in TASKS}
    names = only.split(",")
    if unknown := [n for n in names if n not in by_name]:
        sys.exit(f"no task {', '.join(unknown)}; there are {', '.join(by_name)}")
    return [by_name[n] for n in names]


def forecast(chosen: list[Task]) -> str:
    """How long the tasks take if none is done yet."""
    minutes = {t.name: t.seconds(t.sizes()) / 60 for t in chosen if t.here()}
    parts = ", ".join(f"{name} {m:.1f}" for name, m in minutes.items())
    return f"about {sum(minutes.values()):.2g} minutes, less what has results: {parts}"


def run(task: Task, results: Path, command: str) -> bool:
    """Does what is missing of a task, for its sets that exist. Returns False if answers were wrong
    that should not have been."""
    here = task.here()
    if absent := sorted(set(task.sets) - set(here.sets if here else ())):
        print(f"{task.name}: no data for {', '.join(absent)}", flush=True)
    if not here:
        return True
    began = time.perf_counter()
    log = Log(results, task.name, environment.facts(), environment.commit(), command)
    task.work(here, log)
    print(f"{task.name}: {time.perf_counter() - began:.0f} s", flush=True)
    bad = [r for r in log.records if r.get("compatible") is False]
    for r in bad:
        found = {
            f: r[f]
            for f in ("set", "method", "m", "k", "checked", "wrong", "certain_wrong", "exact_wrong", "p")
            if f in r
        }
        print(f"WRONG ANSWERS: {found}", flush=True)
    return not bad
