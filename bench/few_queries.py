#!/usr/bin/env python3
"""Whole calls of few queries: thresher.knn against faiss.knn and numpy, in turns in one process.

python3 bench/few_queries.py --metric ip --keep          1 to 64 queries on six sets, half a minute; writes the page
python3 bench/few_queries.py --metric l2                 another metric; only prints
python3 bench/few_queries.py --counts --against ../main  counts, beside the package of another checkout
python3 bench/few_queries.py --report                    only the page, from its results
python3 bench/few_queries.py --small                     tiny sets, to see that it runs; exit code 1 for wrong answers

It runs in bench/.venv with the package of this checkout on all cores, and prints a table in Markdown: the
least time of each contestant, thresher's over that of the fastest, and whether it is within the goal: the
greater of 1.15 times the fastest and 60 us more. With --keep it also writes the results of the metric to
docs/benchmarks/python, and the page docs/benchmarks/few.md."""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import os
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import environment
from markdown import section, table

PROGRAM = environment.BUILD / "thresher"
K = 10
SETS = ((1_000, 64), (1_000, 768), (10_000, 128), (10_000, 768), (100_000, 128), (100_000, 768))
COUNTS = ((1_000, 256), (1_000, 2_000), (10_000, 256), (10_000, 2_000), (60_000, 512))
QUERIES = (1, 4, 16, 64)
RATIO, EXTRA = 1.15, 60e-6  # the goal: times the fastest, or seconds more
DOCS = environment.ROOT / "docs" / "benchmarks"
METRICS = ("ip", "cosine", "l2")
HEADER = ("vectors", "queries", "thresher ms", "faiss ms", "numpy ms", "over the fastest", "goal")
BEFORE = ("before ms", "before / now")
BURST = 0.04  # seconds that a contestant has in each turn: threads of the one before it wait for work meanwhile


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="thresher.knn of few queries against faiss.knn and numpy")
    parser.add_argument("--metric", default="ip", choices=METRICS)
    parser.add_argument("--method", default="auto", help="of thresher (default auto)")
    parser.add_argument("--counts", action="store_true", help="vectors of counts, most of which are 0")
    parser.add_argument("--against", default="", metavar="CHECKOUT", help="another checkout of the package")
    parser.add_argument("--turns", type=int, default=3, help="of each contestant in each row (default 3)")
    parser.add_argument("--one-core", action="store_true", help="all contestants on one core")
    parser.add_argument("--keep", action="store_true", help="write the results and the page")
    parser.add_argument("--beside", default="", metavar="TEXT", help="what else ran meanwhile, for the page")
    parser.add_argument("--report", action="store_true", help="only write the page from the results")
    parser.add_argument("--small", action="store_true", help="only see that it runs")
    return parser.parse_args()


def main() -> int:
    args = arguments()
    if args.report:
        write_page(DOCS)
        return 0
    os.environ["PYTHONPATH"] = os.pathsep.join([str(environment.ROOT / "python" / "src"), str(environment.HERE)])
    if args.one_core:
        environment.pin(0, 1)
    environment.enter("requirements.txt", env=environment.one_thread() if args.one_core else environment.all_threads())
    environment.BUILD.mkdir(exist_ok=True)
    if "THRESHER_BINARY" not in os.environ:
        environment.go("build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", PROGRAM, "./cmd/thresher")
        os.environ["THRESHER_BINARY"] = str(PROGRAM)
    import thresher

    packages = {"thresher": thresher}
    if args.against:
        packages["before"] = package(Path(args.against))
    records, right = [about(args)], True
    for n, d in ((300, 32),) if args.small else COUNTS if args.counts else SETS:
        vectors, queries = rows(n, d, args.counts)
        for m in (1, 8) if args.small else QUERIES:
            calls = contestants(packages, queries[:m], vectors, args.metric, args.method)
            right = check(calls) and right
            least = in_turns(calls, 0.01 if args.small else BURST, args.turns)
            records.append({"what": "call", "vectors": [n, d], "queries": m, "seconds": least})
            print(" | ".join(row(records[-1])), flush=True)
    print("\n" + measured(records))
    if args.keep and not args.small and right:
        path = kept(DOCS, args.metric, args.counts, args.one_core)
        path.write_text("".join(json.dumps(r) + "\n" for r in records))
        write_page(DOCS)
    return 0 if right else 1


def package(checkout: Path) -> Any:
    """Returns the package of another checkout, which is loaded beside this one's, with a worker of its own."""

    def loaded() -> dict[str, Any]:
        return {name: m for name, m in sys.modules.items() if name.partition(".")[0] == "thresher"}

    ours, binary = loaded(), os.environ["THRESHER_BINARY"]
    for name in ours:
        del sys.modules[name]
    sys.path.insert(0, str(checkout.resolve() / "python" / "src"))
    other = importlib.import_module("thresher")
    sys.path.pop(0)
    for name in loaded():
        del sys.modules[name]
    sys.modules.update(ours)
    os.environ["THRESHER_BINARY"] = binary
    return other


def rows(n: int, d: int, counts: bool) -> tuple[Any, Any]:
    """Returns float32 vectors, standard normal or counts, and the most queries."""
    import numpy as np

    if not counts:
        random = np.random.default_rng(0)
        return random.standard_normal((n, d), dtype="f4"), random.standard_normal((max(QUERIES), d), dtype="f4")
    import mixtures

    vectors, queries, _ = mixtures.counts(n, d, max(QUERIES), 0)
    return np.ascontiguousarray(vectors), np.ascontiguousarray(queries)


def about(args: argparse.Namespace) -> dict[str, Any]:
    """Returns what the times depend on."""
    import faiss
    import numpy

    return {
        "what": "machine",
        "command": shlex.join(["python3", "bench/few_queries.py", *sys.argv[1:]]),
        "metric": args.metric,
        "counts": args.counts,
        "method": args.method,
        "beside": args.beside,
        "commit": environment.commit(),
        "date": datetime.date.today().isoformat(),
        "cpu": environment.processor(),
        "cores": len(environment.CORES) or os.cpu_count(),
        "numpy": numpy.__version__,
        "faiss": faiss.__version__,
        "k": K,
    }


def contestants(
    packages: dict[str, Any], queries: Any, vectors: Any, metric: str, method: str
) -> dict[str, Callable[[], Any]]:
    """Returns whole calls that answer the queries with row numbers (m, k), best first."""
    import faiss
    import numpy as np

    constant = faiss.METRIC_L2 if metric == "l2" else faiss.METRIC_INNER_PRODUCT

    def by_faiss() -> Any:
        q, v = (queries, vectors) if metric != "cosine" else (unit(queries), unit(vectors))
        return faiss.knn(q, v, K, metric=constant)

    def by_numpy() -> Any:
        scores = queries @ vectors.T
        if metric == "l2":
            scores -= np.einsum("ij,ij->i", vectors, vectors) * np.float32(0.5)
        if metric == "cosine":
            scores /= np.sqrt(np.einsum("ij,ij->i", vectors, vectors))
        best = np.argpartition(scores, -K, axis=1)[:, -K:]
        order = np.argsort(-np.take_along_axis(scores, best, 1), axis=1)
        return np.take_along_axis(best, order, 1)

    def unit(rows: Any) -> Any:
        return rows / np.sqrt(np.einsum("ij,ij->i", rows, rows))[:, np.newaxis]

    def by(package: Any) -> Callable[[], Any]:
        return lambda: package.knn(queries, vectors, K, metric=metric, method=method)

    ours = {name: by(package) for name, package in packages.items()}
    return ours | {"faiss": by_faiss, "numpy": by_numpy}


def check(calls: dict[str, Callable[[], Any]]) -> bool:
    """Runs each once, and tells whether thresher's answers score as FAISS's do, but for roundings."""
    import numpy as np

    scores, theirs = calls["thresher"]()[0], calls["faiss"]()[0]
    return bool((np.abs(scores - theirs) <= 1e-3 * np.abs(theirs) + 1e-4).all())


def in_turns(calls: dict[str, Callable[[], Any]], seconds: float, turns: int) -> dict[str, float]:
    """Returns the least seconds of each call. They take turns, of so many seconds or one call."""
    least = dict.fromkeys(calls, float("inf"))
    for _ in range(turns):
        for name, call in calls.items():
            end = time.perf_counter() + seconds
            while (begun := time.perf_counter()) < end:
                call()
                least[name] = min(least[name], time.perf_counter() - begun)
    return least


def row(call: dict[str, Any]) -> list[str]:
    """Returns the cells of a row of the table."""
    (n, d), least = call["vectors"], call["seconds"]
    fastest = min(least["faiss"], least["numpy"])
    reached = least["thresher"] <= max(RATIO * fastest, fastest + EXTRA)
    times = [f"{least[name] * 1e3:.3f}" for name in ("thresher", "faiss", "numpy")]
    over, goal = f"{least['thresher'] / fastest:.2f}", "reached" if reached else "missed"
    cells = [f"{n:,} x {d:,}", str(call["queries"]), *times, over, goal]
    if "before" in least:
        cells += [f"{least['before'] * 1e3:.3f}", f"{least['before'] / least['thresher']:.2f}"]
    return cells


def kept(docs: Path, metric: str, counts: bool, one_core: bool) -> Path:
    return docs / "python" / f"few-{metric}{'-counts' if counts else ''}{'-one-core' if one_core else ''}.jsonl"


def write_page(docs: Path) -> None:
    parts = [
        "# Calls of few queries",
        "Whole calls of `thresher.knn`, `faiss.knn` and numpy (a product, `argpartition`, a sort of what it found) on "
        "vectors that are searched once, in float32: standard normal ones, or counts, whole numbers most of which are "
        "0. All may use every core but where it says one core. They take turns in one process, "
        f"{BURST * 1e3:.0f} ms at a time, so that none is measured while threads of the one before it still poll for "
        "work; each time is the least. The goal, which is for every core, is at most the greater of "
        f"{RATIO} times the faster of the two others and {EXTRA * 1e6:.0f} us more. *Before* is an earlier commit, in "
        "the same process and turns.",
    ]
    for metric in METRICS:
        for counts in (False, True):
            for one_core in (False, True):
                if (path := kept(docs, metric, counts, one_core)).exists():
                    records = [json.loads(line) for line in path.read_text().splitlines()]
                    name = f"{metric}{', counts' if counts else ''}{', on one core' if one_core else ''}"
                    parts.append(section(name, measured(records)))
    causes = docs / "python" / "few-causes.md"
    if causes.exists():
        parts.append(causes.read_text().rstrip())
    (docs / "few.md").write_text("\n\n".join(parts) + "\n")


def measured(records: list[dict[str, Any]]) -> str:
    """Returns the table of a run, and what it was."""
    run, calls = records[0], records[1:]
    beside = f" Beside it ran {run['beside']}." if run["beside"] else ""
    return "\n\n".join([
        f"`{run['command']}` at {run['commit']}, {run['date']}: {run['cpu']}, {run['cores']} cores, numpy "
        f"{run['numpy']}, FAISS {run['faiss']}, method {run['method']}, k = {run['k']}.{beside}",
        table(HEADER + (BEFORE if "before" in calls[0]["seconds"] else ()), [row(call) for call in calls]),
    ])  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
