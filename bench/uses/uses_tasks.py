"""The tasks: which sets each uses, and what of its results must not be."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import certify
import environment
import foreign
import processes
import rivals
import sides
from inputs import Input, open_input
from results import Log, Record

PACKAGES = ("pynndescent", "scikit-learn", "sentence-transformers", "torch", "implicit")


@dataclass(frozen=True)
class Task:
    """A name, the sets it can use, and what is done with each that exists."""

    name: str
    sets: tuple[str, ...]
    work: Callable[[Input, Log], None]
    default: bool = True  # whether it runs unless tasks are named


TASKS = [
    Task("certify", ("records", "mnist-images", "mpnet-films", "sp500"), partial(certify.certify, rounds=3)),
    Task("foreign", ("records", "mnist-images", "sp500"), foreign.foreign),
    Task("graph", ("mnist-images", "records"), sides.graph),
    Task("pairs", ("records",), partial(sides.pairs, wanted=200_000)),
    Task("truth", ("records",), sides.truth),
    Task("negatives", ("records",), sides.negatives),
    Task("seen", ("records",), sides.seen),
    Task("graph-large", ("digits", "embeddings"), sides.graph, default=False),
]
SMALL = "uses-small"


def choose(only: str, small: bool) -> list[Task]:
    """The tasks named, those that run by default without names; with small each on the small set."""
    by_name = {t.name: t for t in TASKS}
    names = only.split(",") if only else [t.name for t in TASKS if t.default]
    if unknown := [n for n in names if n not in by_name]:
        raise SystemExit(f"there is no task {', '.join(unknown)}; there are {', '.join(by_name)}")
    chosen = [by_name[n] for n in names]
    if small:
        works: dict[str, Callable[[Input, Log], None]] = {
            "certify": partial(certify.certify, rounds=1),
            "pairs": partial(sides.pairs, wanted=20_000, quick=True),
            **{f.__name__: partial(f, quick=True) for f in (sides.graph, sides.truth, sides.negatives, sides.seen)},
        }
        chosen = [replace(t, sets=(SMALL,), work=works.get(t.name, t.work)) for t in chosen]
    return chosen


def run(task: Task, results: Path, command: str) -> bool:
    """Does what is missing of a task. Returns False if a result is one that must not be."""
    began = time.perf_counter()
    processes.build()
    facts = environment.facts(processes.THRESHER) | rivals.versions(*PACKAGES)
    log = Log(results, task.name, facts, environment.commit(), command)
    for name in task.sets:
        data = open_input(name)
        if data is None:
            print(f"{task.name}: no data for {name}", flush=True)
            continue
        try:
            task.work(data, log)
        except processes.Failed as e:
            print(f"{task.name}: {name}: {e}", flush=True)
            return False
    print(f"{task.name}: {time.perf_counter() - began:.0f} s", flush=True)
    bad = [r for r in log.records if wrong(r)]
    for r in bad:
        print(f"WRONG: {r}", flush=True)
    return not bad


def wrong(r: Record) -> bool:
    """Whether a result is one that must not be: a wrong answer of thresher's, a recall that is not
    numpy's, tampering that is not noticed."""
    if r["kind"] == "certify":
        same = abs(r["recall"] - r["recall_numpy"]) < 1e-9 and r["missing"] == r["missing_numpy"]
        return not same or r["different"] > 0 or r["scores_wrong"] > 0
    if r["kind"] == "foreign":
        return not r["same"] or r["scores_wrong"] > 0
    if r["kind"] == "tampered":
        return r["code"] == 0 and not (r["scores_wrong"] or r["repeated"] or r["short"])
    if r["kind"] == "side" and r["contestant"].startswith("thresher"):
        return any(r.get(f, 0) for f in ("different", "missed", "extra", "unfilled"))
    return False
