#!/usr/bin/env python3
"""Whole calls of few queries: thresher.knn against faiss.knn and numpy, in turns in one process.

python3 bench/few_queries.py                             1, 8, 64, 512 queries on three sets, a few minutes
python3 bench/few_queries.py --metric l2 --method exact  another metric, another method
python3 bench/few_queries.py --small                     tiny sets, to see that it runs; exit code 1 for wrong answers

It runs in bench/.venv with the package of this checkout on all cores, and prints a table in Markdown: the
least time of each contestant, thresher's over that of the fastest, and whether it is within the goal: the
greater of 1.15 times the fastest and 60 us more."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
import time
from collections.abc import Callable
from typing import Any

import environment
from markdown import table

PROGRAM = environment.BUILD / "thresher"
K = 10
SETS = ((1_000, 64), (20_000, 128), (60_000, 768))
QUERIES = (1, 8, 64, 512)
RATIO, EXTRA = 1.15, 60e-6  # the goal: times the fastest, or seconds more


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="thresher.knn of few queries against faiss.knn and numpy")
    parser.add_argument("--metric", default="ip", choices=("ip", "cosine", "l2"))
    parser.add_argument("--method", default="auto", help="of thresher (default auto)")
    parser.add_argument("--seconds", type=float, default=6.0, help="for each row of the table (default 6)")
    parser.add_argument("--small", action="store_true", help="only see that it runs")
    return parser.parse_args()


def main() -> int:
    args = arguments()
    os.environ["PYTHONPATH"] = os.pathsep.join([str(environment.ROOT / "python" / "src"), str(environment.HERE)])
    environment.enter("requirements.txt", env=environment.all_threads())
    environment.BUILD.mkdir(exist_ok=True)
    if "THRESHER_BINARY" not in os.environ:
        environment.go("build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", PROGRAM, "./cmd/thresher")
        os.environ["THRESHER_BINARY"] = str(PROGRAM)
    import numpy as np

    lines, right = [], True
    random = np.random.default_rng(0)
    for n, d in ((300, 32),) if args.small else SETS:
        vectors = random.standard_normal((n, d), dtype="f4")
        for m in (1, 8) if args.small else QUERIES:
            queries = random.standard_normal((m, d), dtype="f4")
            calls = contestants(queries, vectors, args.metric, args.method)
            right = check(calls) and right
            line = [f"{n:,} x {d}", f"{m}", *row(in_turns(calls, 0.1 if args.small else args.seconds))]
            print(" | ".join(line), flush=True)
            lines.append(line)
    print(f"\n`{shlex.join(['python3', 'bench/few_queries.py', *sys.argv[1:]])}`, {environment.commit()}")
    print(f"{environment.processor()}, {os.cpu_count()} cores, metric {args.metric}, method {args.method}, k = {K}\n")
    print(table(["vectors", "queries", "thresher ms", "faiss ms", "numpy ms", "over the fastest", "goal"], lines))
    return 0 if right else 1


def contestants(queries: Any, vectors: Any, metric: str, method: str) -> dict[str, Callable[[], Any]]:
    """Returns whole calls that answer the queries with row numbers (m, k), best first."""
    import faiss
    import numpy as np
    import thresher

    constant = faiss.METRIC_L2 if metric == "l2" else faiss.METRIC_INNER_PRODUCT

    def by_faiss() -> Any:
        q, v = (queries, vectors) if metric != "cosine" else (unit(queries), unit(vectors))
        return faiss.knn(q, v, K, metric=constant)[1]

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

    def by_thresher() -> Any:
        return thresher.knn(queries, vectors, K, metric=metric, method=method)[1]

    return {"thresher": by_thresher, "faiss": by_faiss, "numpy": by_numpy}


def check(calls: dict[str, Callable[[], Any]]) -> bool:
    """Runs each once, and tells whether thresher's answers are those of FAISS but for near ties."""
    answers = {name: call() for name, call in calls.items()}
    return bool((answers["thresher"] == answers["faiss"]).mean() > 0.99)


def in_turns(calls: dict[str, Callable[[], Any]], seconds: float) -> dict[str, float]:
    """Returns the least seconds of each call, all of them taking turns."""
    least = dict.fromkeys(calls, float("inf"))
    end, rounds = time.perf_counter() + seconds, 0
    while rounds < 5 or time.perf_counter() < end:
        for name, call in calls.items():
            begun = time.perf_counter()
            call()
            least[name] = min(least[name], time.perf_counter() - begun)
        rounds += 1
    return least


def row(least: dict[str, float]) -> list[str]:
    """Returns the cells of a row of the table."""
    fastest = min(least["faiss"], least["numpy"])
    reached = least["thresher"] <= max(RATIO * fastest, fastest + EXTRA)
    times = [f"{least[name] * 1e3:.3f}" for name in ("thresher", "faiss", "numpy")]
    return [*times, f"{least['thresher'] / fastest:.2f}", "reached" if reached else "missed"]


if __name__ == "__main__":
    sys.exit(main())
