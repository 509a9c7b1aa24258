"""How many answers rounding to float32 changes: exact lists by numpy, of float64 and of what float32 has of it.

Run as ``python3 bench/float64_answers.py``; it prints the rows of the table in docs/benchmarks/float64.md.
"""

import numpy as np

VECTORS, QUERIES, DIM, K = 20_000, 2_000, 128, 10


def best(queries, vectors, metric):
    """Return the K best rows of each query, best first."""
    scores = queries @ vectors.T
    if metric == "cosine":
        scores /= np.linalg.norm(vectors, axis=1)
    elif metric == "l2":  # less what depends on the query alone
        scores = 2 * scores - (vectors * vectors).sum(axis=1)
    near = np.argpartition(-scores, K, axis=1)[:, : K + 1]
    order = np.argsort(-np.take_along_axis(scores, near, axis=1), axis=1, kind="stable")
    return np.take_along_axis(near, order, axis=1)[:, :K]


def copies(rng, count):
    """Return vectors each of which has 29 others within about 1e-6."""
    middles = rng.standard_normal((count // 30 + 1, DIM))
    return np.repeat(middles, 30, axis=0)[:count] + 1e-6 * rng.standard_normal((count, DIM))


def main():
    rng = np.random.default_rng(0)
    sets = {
        "uniform, `numpy.random.rand`": lambda count: rng.random((count, DIM)),
        "normal": lambda count: rng.standard_normal((count, DIM)),
        "normal, each vector with 29 others within 1e-6": lambda count: copies(rng, count),
        "normal, around a million": lambda count: 1e6 + rng.standard_normal((count, DIM)),
    }
    print("| vectors and queries | ip | cosine | l2 |\n|---|---|---|---|")
    for name, draw in sets.items():
        vectors, queries = draw(VECTORS), draw(QUERIES)
        cells = []
        for metric in ("ip", "cosine", "l2"):
            near = 1e6 if metric == "l2" and name.endswith("million") else 0.0  # what they are relative to
            given = best(queries - near, vectors - near, metric)
            narrow = [(a - near).astype(np.float32).astype(np.float64) for a in (queries, vectors)]
            rounded = best(*narrow, metric)
            lists = (given != rounded).any(axis=1).mean()
            members = (np.sort(given, axis=1) != np.sort(rounded, axis=1)).any(axis=1).mean()
            cells.append(f"{lists:.0%}, {members:.0%}")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
