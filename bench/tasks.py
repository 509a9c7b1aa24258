"""What is measured. A task has a file of results of its own and is skipped, cell
by cell, where that file has them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import environment
import roofline
from check import prove
from contestants import Racer, Thresher
from data import FOLDER, MAIN, SMALL, SWEEP_DIMS, TINY, DataSet
from race import Field, builds, duel
from results import Log, rounded

KS = (1, 10, 100)
# What switches this program's use of AVX-512 off, in Go's standard way.
NO_AVX512 = "cpu.avx512f=off"
COMPARED = ("lsa768", "power768", "power4096", "iid768")
INDEXED = ("lsa768", "power768")
# Fields of a record that are printed as it is made.
TOLD = ("set", "over", "value", "index", "name", "method", "m", "k", "ratio", "over_exact", "wrong", "build_mb_s")
TINY_SETS = tuple(f"tiny-{n}x{d}" for n, d in TINY)


@dataclass(frozen=True)
class Task:
    name: str
    sets: tuple[str, ...]
    work: Callable[[Task, Log], None]


def cells(log: Log, data: DataSet, ms: tuple[int, ...], ks: tuple[int, ...] = KS, **options: Any) -> None:
    """The cells of one set that are missing."""
    wanted = [
        (m, k) for m in ms for k in ks if m <= len(data.queries) and not log.has(kind="race", set=data.name, m=m, k=k)
    ]
    if not wanted:
        return
    with Field(data, FOLDER) as field:
        for m, k in wanted:
            keep(log, {"kind": "race", "set": data.name} | field.cell(m, k, **options))


def keep(log: Log, record: dict[str, Any]) -> None:
    """Appends a record, under its task's name, and says so."""
    log.append(rounded(record | {"task": log.task}))
    told = {f: f"{v:.3g}" if isinstance(v := record[f], float) else v for f in TOLD if record.get(f) is not None}
    print(f"{time.strftime('%H:%M:%S')} {record['kind']} {told}", flush=True)


def main_set(task: Task, log: Log) -> None:
    """The race of one set, what its build costs and where its time goes."""
    data = DataSet.open(task.name)
    if not log.has(kind="set"):
        keep(log, {"kind": "set"} | data.about)
    if not log.has(kind="build"):
        keep(log, {"kind": "build", "set": data.name} | builds(data))
    cells(log, data, (1, 16, 256, 1024))
    flat = [k for k in KS if not log.has(kind="faiss", k=k)]
    split = [m for m in (1, 256) if not log.has(kind="split", m=m)]
    if not flat and not split:
        return
    with Field(data, FOLDER) as field:
        surely(log, field, 256)
        for m in split:
            keep(log, {"kind": "split", "set": data.name, "m": m, "k": 10, "functions": field.split(m, 10)})
        for k in flat:
            said = {"checked": len(data.queries), "wrong": field.faiss_wrong(k)}
            keep(log, {"kind": "faiss", "set": data.name, "k": k} | said)


def surely(log: Log, field: Field, m: int) -> None:
    """The answers of the methods that may never be wrong."""
    for method in ("exact", "certain"):
        for k in KS:
            if not log.has(kind="answers", set=field.data.name, method=method, k=k):
                keep(log, {"kind": "answers", "set": field.data.name} | field.answers(method, m, k))


def tiny(task: Task, log: Log) -> None:
    for name in task.sets:
        cells(log, DataSet.open(name), (1, 16, 256), budget=2.0)


def sweeps(task: Task, log: Log) -> None:
    """The speed-up against one quantity at a time."""
    for d in SWEEP_DIMS:
        sweep(log, lambda: DataSet.open(f"sweep-{d}"), [Stop("d", d, m) for m in (1, 256)])
    for n in (1000, 3000, 10000, 30000, 100000):
        sweep(log, lambda: DataSet.open("power768").first(n), [Stop("n", n, m) for m in (1, 256)])
    stops = [Stop("k", k, m, k=k) for k in (1, 3, 10, 30, 100, 300, 1000) for m in (1, 256)]
    stops += [
        Stop("delta", delta, m, delta=delta) for delta in (0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5, 1e-6) for m in (1, 256)
    ]
    stops += [Stop("m", m, m) for m in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)]
    sweep(log, lambda: DataSet.open("lsa768"), stops)


@dataclass(frozen=True)
class Stop:
    """One value of a sweep."""

    over: str
    value: float
    m: int
    k: int = 10
    delta: float = 0.01


def sweep(log: Log, data: Callable[[], DataSet], stops: list[Stop]) -> None:
    """The stops of one set that are missing."""
    missing = [s for s in stops if not log.has(kind="sweep", over=s.over, value=s.value, m=s.m)]
    if not missing:
        return
    with Field(data(), FOLDER) as field:
        for s in missing:
            cell = field.cell(s.m, s.k, s.delta, dense=False, budget=2.0)
            at = {"over": s.over, "value": s.value, "set": field.data.name, "atoms": field.data.n}
            keep(log, {"kind": "sweep"} | at | cell)


def threads(task: Task, log: Log) -> None:
    """Two cores against one."""
    if len(environment.CORES) < 2:
        return
    versus(task, log, lambda data: (Racer(data), Racer(data, threads=2)), ("1 thread", "2 threads"))
    for name in task.sets:
        if not log.has(kind="build", set=name):
            keep(log, {"kind": "build", "set": name} | builds(DataSet.open(name), threads=2))


def kernels(task: Task, log: Log) -> None:
    """AVX2 kernels against the best there are."""
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
    import peers  # its packages are not installed for --small

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
    """A race for the sake of its answers; what the checker catches is shown
    first."""
    for name in task.sets:
        data = DataSet.open(name)
        prove(data, 10)
        keep(log, {"kind": "set"} | data.about)
        keep(log, {"kind": "build", "set": name} | builds(data, repeats=1))
        cells(log, data, (1, 64), budget=0.5)
        with Field(data, FOLDER) as field:
            surely(log, field, 64)
    # for the plots' sake
    sweep(log, lambda: DataSet.open(SMALL[0]), [Stop("delta", delta, 64, delta=delta) for delta in (0.1, 0.01)])


TASKS = [
    *(Task(name, (name,), main_set) for name in MAIN),
    Task("tiny", TINY_SETS, tiny),
    Task("threads", COMPARED, threads),
    Task("kernels", COMPARED, kernels),
    Task("indexes", INDEXED, indexes),
    Task("sweeps", ("power768", "lsa768", *(f"sweep-{d}" for d in SWEEP_DIMS)), sweeps),
    Task("limits", (), limits),
]


def choose(only: str, is_small: bool) -> list[Task]:
    """The tasks of --only, or all."""
    if is_small:
        return [Task("small", SMALL, small)]
    if not only:
        return TASKS
    by_name = {t.name: t for t in TASKS}
    names = only.split(",")
    if unknown := [n for n in names if n not in by_name]:
        sys.exit(f"no task {', '.join(unknown)}; there are {', '.join(by_name)}")
    return [by_name[n] for n in names]


def run(task: Task, results: Path, command: str) -> bool:
    """Does what is missing of a task. False if answers were wrong that should
    not have been."""
    absent = [s for s in task.sets if not (FOLDER / s / "about.json").exists()]
    if absent:
        print(f"{task.name}: skipped, no data for {', '.join(absent)}", flush=True)
        return True
    log = Log(results, task.name, environment.facts(), environment.commit(), command)
    task.work(task, log)
    bad = [r for r in log.records if r.get("compatible") is False]
    for r in bad:
        found = {
            f: r[f]
            for f in ("set", "method", "m", "k", "checked", "wrong", "certain_wrong", "exact_wrong", "p")
            if f in r
        }
        print(f"WRONG ANSWERS: {found}", flush=True)
    return not bad
