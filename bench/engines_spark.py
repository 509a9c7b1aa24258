#!/usr/bin/env python3
"""What a job of Spark takes beyond one process that walks the same segments: processor seconds, and whether the answers
are the same. The start of the engine and of its workers, which a job of a query a partition has too, is not counted.

    python3 bench/engines_spark.py build/thresher [--queries 6000] [--rows 100000] [--dim 256] [--rounds 3]

As bench/engines.py measures Ray. It needs Linux, Java, and python/requirements-engines.txt."""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from engines import Meter


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("binary")
    for name, value in (
        ("queries", 4000),
        ("rows", 100_000),
        ("dim", 128),
        ("segments", 8),
        ("rounds", 3),
        ("partitions", 4),
    ):
        words.add_argument(f"--{name}", type=int, default=value)
    words.add_argument("--method", default="auto")
    a = words.parse_args()
    root = Path(__file__).resolve().parents[1]
    os.environ["THRESHER_BINARY"] = os.path.abspath(a.binary)
    os.environ["PYTHONPATH"] = str(root / "python" / "src")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    sys.path.insert(0, os.environ["PYTHONPATH"])

    import pyarrow as pa
    import pyarrow.parquet as pq
    import thresher.spark
    from pyspark.sql import SparkSession
    from thresher._parts import Folder
    from thresher._walk import Segments

    rng = np.random.default_rng(1)

    def drawn(n: int) -> Any:
        """Return vectors that have no near neighbours, as bench/sizes.py draws them."""
        return rng.standard_normal((n, a.dim), dtype=np.float32) * np.arange(1, a.dim + 1, dtype=np.float32) ** -0.5

    def write(folder: str, rows: Any, files: int) -> None:
        os.mkdir(folder)
        for i, some in enumerate(np.array_split(np.arange(len(rows)), files)):
            vectors = pa.FixedSizeListArray.from_arrays(pa.array(rows[some].reshape(-1)), a.dim)
            pq.write_table(pa.table({"id": some, "vector": vectors}), f"{folder}/{i:03d}.parquet")

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.files.openCostInBytes": "134217728",  # a file is a partition
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")

    with tempfile.TemporaryDirectory() as home:
        queries = drawn(a.queries)
        write(f"{home}/vectors", drawn(a.rows), a.segments)
        write(f"{home}/queries", queries, a.partitions)
        write(f"{home}/one", queries[: a.partitions], a.partitions)
        thresher.spark.build(spark.read.parquet(f"{home}/vectors"), f"{home}/segments", metric="cosine")
        out = f"{home}/found"

        def job(of: str) -> None:
            found = thresher.spark.knn(spark.read.parquet(f"{home}/{of}"), f"{home}/segments", 10, method=a.method)
            found.write.mode("overwrite").parquet(out)

        def answered() -> Any:
            found = pq.read_table(out).sort_by([("id", "ascending"), ("rank", "ascending")])
            return np.asarray(found["neighbor_id"]), np.asarray(found["score"])

        def alone(of: str) -> Any:
            """Read the same files, answer them and write the same columns."""
            os.makedirs(f"{home}/alone", exist_ok=True)
            segments = Segments(Folder(f"{home}/segments").paths(), threads=1)
            ids, scores = [], []
            try:
                for name in sorted(os.listdir(f"{home}/{of}")):
                    block = pq.read_table(f"{home}/{of}/{name}")
                    rows = np.asarray(block["vector"].combine_chunks().flatten()).reshape(-1, a.dim)
                    found = segments.search(rows, 10, method=a.method)
                    ids.append(found.ids)
                    scores.append(found.scores64)
                    columns = {
                        "id": np.repeat(np.asarray(block["id"]), 10),
                        "rank": np.tile(np.arange(1, 11, dtype=np.int32), len(rows)),
                        "neighbor_id": found.ids.reshape(-1),
                        "score": found.scores64.reshape(-1),
                        "guarantee": np.repeat(found.guarantee, 10),
                        "delta": np.repeat(found.delta, 10),
                    }
                    pq.write_table(pa.table(columns), f"{home}/alone/{name}")
            finally:
                segments.close()
            return np.concatenate(ids).reshape(-1), np.concatenate(scores).reshape(-1)

        def seconds(call: Callable[[], Any]) -> tuple[float, Any]:
            with Meter() as meter:
                got = call()
            return meter.seconds, got

        job("queries")  # Java compiles what it runs often, once
        ratios = []
        for _ in range(a.rounds):
            start, _ = seconds(lambda: job("one"))
            full, _ = seconds(lambda: job("queries"))
            opened, _ = seconds(lambda: alone("one"))
            one, want = seconds(lambda: alone("queries"))
            same = all(np.array_equal(x, y) for x, y in zip(answered(), want, strict=True))
            ratios.append((full - start) / (one - opened))
            print(
                f"Spark {full:.2f} s, of which its start {start:.2f}; one process {one:.2f} s, opening {opened:.2f}; "
                f"ratio {ratios[-1]:.3f}; {'the same answers' if same else 'OTHER ANSWERS'}",
                flush=True,
            )
        print(f"median of {a.rounds}: {statistics.median(ratios):.3f}")


if __name__ == "__main__":
    main()
