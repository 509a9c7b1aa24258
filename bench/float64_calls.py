"""Whole calls of vectors given in float64: kept so, rounded, and what a person would write with numpy or scikit-learn.

    THRESHER_BINARY=build/thresher PYTHONPATH=python/src python3 bench/float64_calls.py [--rows 60000] [--turns 5]

Vectors of 256 normal coordinates of falling size, k = 10, Euclidean distance. Every cell is the median of turns, in which
all take part one after the other: milliseconds, and how many times as long as kept.
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np
import thresher
from sklearn.neighbors import NearestNeighbors

K = 10


def by_numpy(queries: np.ndarray, vectors: np.ndarray) -> np.ndarray:
    scores = queries @ vectors.T
    scores *= -2
    scores += np.einsum("ij,ij->i", vectors, vectors)
    near = np.argpartition(scores, K, axis=1)[:, :K]
    return np.take_along_axis(near, np.argsort(np.take_along_axis(scores, near, 1), axis=1), 1)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=60_000)
    parser.add_argument("--turns", type=int, default=5)
    o = parser.parse_args()
    rng = np.random.default_rng(1)
    sizes = 1 / np.sqrt(1 + np.arange(256))
    vectors = rng.standard_normal((o.rows, 256)) * sizes
    kept = thresher.Index(vectors, metric="l2", dtype="float64")
    rounded = thresher.Index(vectors, metric="l2")
    brute = NearestNeighbors(n_neighbors=K, algorithm="brute").fit(vectors)
    print("| queries | call | milliseconds | of kept |\n|---|---|---|---|")
    for m in (1, 64, 1024):
        queries = rng.standard_normal((m, 256)) * sizes
        calls = {
            "`knn`, kept": lambda: thresher.knn(queries, vectors, K, metric="l2", dtype="float64")[1],
            "`knn`, rounded": lambda: thresher.knn(queries, vectors, K, metric="l2")[1],
            "`search`, kept": lambda: kept.search(queries, K, method="certain").ids,
            "`search`, kept, exact": lambda: kept.search(queries, K, method="exact").ids,
            "`search`, rounded": lambda: rounded.search(queries, K, method="certain").ids,
            "numpy, argpartition": lambda: by_numpy(queries, vectors),
            "scikit-learn, brute": lambda: brute.kneighbors(queries, return_distance=False),
        }
        right = calls["numpy, argpartition"]()
        took: dict[str, list[float]] = {name: [] for name in calls}
        for turn in range(o.turns + 1):
            for name, call in calls.items():
                begun = time.perf_counter()
                found = call()
                if turn > 0:  # the first warms up
                    took[name].append(1e3 * (time.perf_counter() - begun))
                if "rounded" not in name and (found[:, 0] != right[:, 0]).any():
                    raise SystemExit(f"{name}: another nearest")
        for name, times in took.items():
            first = took["`search`, kept" if "search" in name else "`knn`, kept"]
            ratio = statistics.median(a / b for a, b in zip(times, first, strict=True))
            print(f"| {m} | {name} | {statistics.median(times):.1f} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
