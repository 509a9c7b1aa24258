#!/usr/bin/env python3
"""Flat indexes of thresher.faiss beside FAISS's own, in turns in one process: docs/faiss.md.

python3 bench/flat_indexes.py                 three sets, 1 to 1,024 queries, by squared distance; a minute
taskset -c 1 python3 bench/flat_indexes.py    the same on one core
python3 bench/flat_indexes.py --small         tiny sets, to see that it runs; exit code 1 for wrong answers

It runs with whichever Python starts it, which needs numpy, faiss-cpu and the package thresher, and prints a table in
Markdown: the least time of an index's first search with the addition of its vectors before it, and of a search once
thresher's index is built; and FAISS's time over thresher's."""

from __future__ import annotations

import argparse
import datetime
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import faiss as theirs
import numpy as np
import thresher.faiss as ours

import environment
from markdown import table

K = 10
SETS = ((1_000, 64), (10_000, 128), (100_000, 128))
QUERIES = (1, 16, 128, 1_024)
HEADER = ("vectors", "queries", "first: thresher ms", "FAISS ms", "ratio", "later: thresher ms", "FAISS ms", "ratio")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="only see that it runs")
    parser.add_argument("--turns", type=int, default=3, help="of each contestant in each row (default 3)")
    args = parser.parse_args()
    lines, right = [], True
    for n, d in ((300, 32),) if args.small else SETS:
        vectors, queries = rows(n, d)
        for m in (1, 8) if args.small else QUERIES:
            asked = queries[:m]
            first = in_turns({f.__name__: whole(f, vectors, asked) for f in (ours, theirs)}, 0.01, args.turns)
            indexes = {f.__name__: filled(f, vectors) for f in (ours, theirs)}
            for index in indexes.values():
                index.search(queries, K)
            _ = indexes[ours.__name__].thresher  # built, as it is once enough searches were made without
            right = same(*(index.search(asked, K) for index in indexes.values())) and right
            later = in_turns({name: searching(i, asked) for name, i in indexes.items()}, 0.05, args.turns)
            lines.append((f"{n:,} x {d}", f"{m:,}", *shown(first), *shown(later)))
            print(" | ".join(lines[-1]), file=sys.stderr, flush=True)
    print(table(HEADER, lines))
    print(
        f"\n{environment.commit()}, {datetime.date.today()}: {environment.processor()}, {os.cpu_count()} cores, ",
        end="",
    )
    print(f"numpy {np.__version__}, FAISS {theirs.__version__}, k = {K}")
    return 0 if right else 1


def rows(n: int, d: int) -> tuple[Any, Any]:
    """Returns vectors in clusters, and the most queries, which lie between two of them."""
    random = np.random.default_rng(0)
    centres = random.standard_normal((100, d))
    vectors = centres[random.integers(100, size=n)] + 0.5 * random.standard_normal((n, d))
    some = random.integers(n, size=(2, max(QUERIES)))
    return vectors.astype("f4"), ((2 * vectors[some[0]] + vectors[some[1]]) / 3).astype("f4")


def filled(module: Any, vectors: Any) -> Any:
    index = module.IndexFlatL2(vectors.shape[1])
    index.add(vectors)
    return index


def whole(module: Any, vectors: Any, queries: Any) -> Callable[[], Any]:
    return lambda: filled(module, vectors).search(queries, K)


def searching(index: Any, queries: Any) -> Callable[[], Any]:
    return lambda: index.search(queries, K)


def same(found: Any, wanted: Any) -> bool:
    """Tells whether distances are equal but for the rounding of FAISS's sums."""
    return bool(np.allclose(found[0], wanted[0], rtol=1e-3, atol=1e-3))


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


def shown(least: dict[str, float]) -> tuple[str, str, str]:
    mine, other = least[ours.__name__], least[theirs.__name__]
    return f"{mine * 1e3:.3g}", f"{other * 1e3:.3g}", f"{other / mine:.2f}"


if __name__ == "__main__":
    sys.exit(main())
