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
TINY_SETS = tuple(f"tiny-{n}x{d}" for n, d in TINY)
SWEPT = "lsa768"


@dataclass(frozen=True)
class Task:
    name: str
    sets: tuple[str, ...]
    work: Callable[[Task, Log], None]


def cells(log: Log, data: DataSet, ms: tuple[int, ...], ks: tuple[int, ...] = KS, **options: Any) -> None:
    """The cells of one set that are missing."""
    wanted = [(m, k) for m in ms for k in ks if m <= len(data.queries) and not log.has(kind="race", set=data.name, m=m, k=k)]
    if not wanted:
        return
    with Field(data, FOLDER) as field:
        for m, k in wanted:
            keep(log, {"kind": "race", "set": data.name} | field.cell(m, k, **options))


def keep(log: Log, record: dict[str, Any]) -> None:
    """Appends a record, under its task's name, and says so."""
    log.append(rounded(record | {"task": log.task}))
    told = {f: record.get(f) for f in ("set", "over", "value", "index", "m", "k", "ratio", "over_exact", "wrong", "build_mb_s")}
    told = {f: f"{v:.3g}" if isinstance(v, float) else v for f, v in told.items() if v is not None}
    print(f"{time.strftime('%H:%M:%S')} {record['kind']} {told}", flush=True)


def main_set(task: Task, log: Log) -> None:
    """The race of one set, what its build costs and where its time goes."""
    data = DataSet.open(task.name)
    if not log.has(kind="set"):
        keep(log, {"kind": "set"} | data.about)
    if not log.has(kind="build"):
        keep(log, {"kind": "build", "set": data.name} | builds(data))
    cells(log, data, (1, 16, 256, 1024))
    if log.has(kind="split"):
        return
    with Field(data, FOLDER) as field:
        for k in KS:
            keep(log, {"kind": "faiss", "set": data.name, "k": k, "checked": len(data.queries), "wrong": field.faiss_wrong(k)})
        for m in (1, 256):
            keep(log, {"kind": "split", "set": data.name, "m": m, "k": 10, "functions": field.split(m, 10)})


def tiny(task: Task, log: Log) -> None:
    for name in task.sets:
        cells(log, DataSet.open(name), (1, 16, 256), budget=2.0)


def sweeps(task: Task, log: Log) -> None:
    """The speed-up against one quantity at a time."""

    def sweep(over: str, value: float, data: Callable[[], DataSet], m: int, k: int, delta: float = 0.01) -> None:
        if log.has(kind="sweep", over=over, value=value, m=m):
            return
        with Field(data(), FOLDER) as field:
            cell = field.cell(m, k, delta, dense=False, budget=3.0)
        keep(log, {"kind": "sweep", "over": over, "value": value, "set": field.data.name, "atoms": field.data.n} | cell)

    for m in (1, 256):
        for d in SWEEP_DIMS:
            sweep("d", d, lambda d=d: DataSet.open(f"sweep-{d}"), m, 10)
        for n in (1000, 3000, 10000, 30000, 100000):
            sweep("n", n, lambda n=n: DataSet.open("power768").first(n), m, 10)
        for k in (1, 3, 10, 30, 100, 300, 1000):
            sweep("k", k, lambda: DataSet.open(SWEPT), m, k)
        for delta in (0.1, 0.03, 0.01, 1e-3, 1e-4, 1e-5, 1e-6):
            sweep("delta", delta, lambda: DataSet.open(SWEPT), m, 10, delta)
    for m in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024):
        sweep("m", m, lambda: DataSet.open(SWEPT), m, 10)


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
                said = {"kind": "versus", "set": name, "one": names[0], "other": names[1]}
                said |= {"kernels": [r.prepared["kernels"] for r in (one, other)]}
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


TASKS = [
    *(Task(name, (name,), main_set) for name in MAIN),
    Task("tiny", TINY_SETS, tiny),
    Task("threads", COMPARED, threads),
    Task("kernels", COMPARED, kernels),
    Task("indexes", INDEXED, indexes),
    Task("sweeps", ("power768", SWEPT, *(f"sweep-{d}" for d in SWEEP_DIMS)), sweeps),
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
        print(f"WRONG ANSWERS: {r['set']} m={r['m']} k={r['k']}: {r['wrong']} of {r['checked']} queries, p {r['p']:.2g}, "
              f"{r['certain_wrong']} of them certain", flush=True)  # fmt: skip
    return not bad
