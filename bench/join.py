"""Joins by vectors: thresher.join, DuckDB, and the loop over keys that people write with pandas and numpy.

    make python && THRESHER_BINARY=build/thresher PYTHONPATH=python/src python bench/join.py

All take turns in one process, on all cores; thresher joins frames of pandas, and tables of Arrow, which like DuckDB's
hold the vectors as one array. DuckDB's EXACT NEAREST has no keys; with keys it runs max_by(id, similarity, k) over a
join by the key. The lists of all are compared.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
import pandas as pd
import pyarrow as pa

K = 10
# Rows of the left and of the right table, keys (0: none), rounds.
CASES = [(1_000, 20_000, 0, 3), (5_000, 50_000, 20, 3), (30_000, 30_000, 300, 3), (30_000, 30_000, 10_000, 7)]


def table(seed: int, n: int, dim: int, keys: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    key = rng.permutation(np.arange(n) % max(keys, 1))
    return pd.DataFrame({"id": np.arange(n), "key": key, "v": list(rng.standard_normal((n, dim), dtype=np.float32))})


def arrow(frame: pd.DataFrame) -> pa.Table:
    """Return a frame as a table of Arrow, with vectors of a fixed size."""
    rows = np.stack(frame["v"].to_list())
    v = pa.FixedSizeListArray.from_arrays(pa.array(rows.ravel()), rows.shape[1])
    return pa.table({"id": frame["id"], "key": frame["key"], "v": v})


def by_loop(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
    """Join by matrix products, key by key."""
    x, y = np.stack(left["v"].to_list()), np.stack(right["v"].to_list())
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y /= np.linalg.norm(y, axis=1, keepdims=True)
    theirs = right.groupby("key").indices
    parts = []
    for key, a in left.groupby("key").indices.items():
        b = theirs.get(key)
        if b is None:
            continue
        k = min(K, len(b))
        scores = x[a] @ y[b].T
        best = np.argpartition(-scores, k - 1, axis=1)[:, :k] if k < len(b) else np.tile(np.arange(k), (len(a), 1))
        found = np.take_along_axis(scores, best, axis=1)
        order = np.argsort(-found, axis=1, kind="stable")
        best, found = np.take_along_axis(best, order, axis=1), np.take_along_axis(found, order, axis=1)
        parts.append((np.repeat(a, k), b[best].ravel(), np.tile(np.arange(1, k + 1), len(a)), found.ravel()))
    rows, others, rank, scores = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.argsort(rows, kind="stable")
    made = left[["id", "key"]].take(rows[order]).reset_index(drop=True)
    made["id_right"] = right["id"].to_numpy()[others[order]]
    return made.assign(rank=rank[order], score=scores[order])


def lists(made: pd.DataFrame | pa.Table) -> np.ndarray:
    return np.column_stack([np.asarray(made[name]) for name in ("id", "id_right")])


def main() -> None:
    import duckdb
    import thresher

    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--dim", type=int, default=128)
    options.add_argument("--cases", default="0,1,2,3")
    options.add_argument("--rounds", type=int, help="in place of those of the cases")
    asked = options.parse_args()
    print(
        f"thresher {thresher.__version__}, duckdb {duckdb.__version__}, numpy {np.__version__}, pandas {pd.__version__}"
    )
    print(
        "| left | right | keys | thresher, ms | DuckDB | loop in numpy | Arrow | other lists |\n"
        "|---|---|---|---|---|---|---|---|"
    )
    for at in map(int, asked.cases.split(",")):
        m, n, keys, rounds = CASES[at]
        rounds = asked.rounds or rounds
        left, right = table(1, m, asked.dim, keys), table(2, n, asked.dim, keys)
        con = duckdb.connect()
        for name, frame in (("l", left), ("r", right)):
            con.register("frame", frame)
            con.sql(f"create table {name} as select id, key, v::float[{asked.dim}] as v from frame")
        score = "array_cosine_similarity(l.v, r.v)"
        query = f"select l.id, r.id as id_right from l join r exact nearest {K} by similarity {score}"
        if keys:
            query = (
                f"select id, unnest(ids) as id_right from (select l.id as id, max_by(r.id, {score}, {K}) as ids "
                "from l join r on l.key = r.key group by l.id)"
            )
        tables = arrow(left), arrow(right)
        ways: dict[str, Callable[[], pd.DataFrame | pa.Table]] = {
            "thresher": lambda: thresher.join(left, right, on="v", k=K, metric="cosine", by="key" if keys else None),
            "arrow": lambda: thresher.join(*tables, on="v", k=K, metric="cosine", by="key" if keys else None),
            "duckdb": lambda: con.sql(query).df(),
            "loop": lambda: by_loop(left, right),
        }
        took: dict[str, list[float]] = {name: [] for name in ways}
        found: dict[str, np.ndarray] = {}
        for _ in range(rounds + 1):  # the first is not counted
            for name, way in ways.items():
                begun = time.perf_counter()
                made = way()
                took[name].append(time.perf_counter() - begun)
                found[name] = lists(made)
        own = {tuple(pair) for pair in found["thresher"].tolist()}
        other = {name: len(own ^ {tuple(pair) for pair in rows.tolist()}) for name, rows in found.items()}
        median = {name: statistics.median(all_[1:]) for name, all_ in took.items()}
        ratios = " | ".join(f"{median[name] / median['thresher']:.2f} x" for name in ("duckdb", "loop", "arrow"))
        wrong = f"{other['duckdb']}, {other['loop']} and {other['arrow']} of {len(own)} pairs"
        print(f"| {m:,} | {n:,} | {keys:,} | {median['thresher'] * 1e3:.0f} | {ratios} | {wrong} |", flush=True)


if __name__ == "__main__":
    main()
