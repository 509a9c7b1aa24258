#!/usr/bin/env python3
"""What a job of Ray takes beyond one process that walks the same segments: processor seconds, and whether the answers are the
same. The start of the engine and of its workers, which a job of one query has as well, is not counted.

    python3 bench/engines.py build/thresher [--queries 4000] [--rows 100000] [--dim 128] [--segments 8] [--rounds 3]

Processor seconds are those of all processes below the one that measures, read every 20 ms. It needs Linux, and
python/requirements-engines.txt."""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

TICK = os.sysconf("SC_CLK_TCK")


class Meter:
    """Processor seconds of this process and all below it, those that have ended included."""

    def __enter__(self) -> Meter:
        self.last: dict[tuple[str, str], float] = {}
        self.first: dict[tuple[str, str], float] | None = None
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.watch)
        self.read()
        self.first = dict(self.last)
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.done.set()
        self.thread.join()
        self.read()
        self.seconds = sum(now - (self.first or {}).get(who, 0) for who, now in self.last.items())

    def watch(self) -> None:
        while not self.done.wait(0.02):
            self.read()

    def read(self) -> None:
        parents, used = {}, {}
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                stat = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            except OSError:
                continue
            parents[pid] = stat[1]
            used[pid] = (stat[19], (int(stat[11]) + int(stat[12])) / TICK)
        me = str(os.getpid())
        for pid, (start, seconds) in used.items():
            above = pid
            while above != me and above in parents:
                above = parents[above]
            if above == me:
                self.last[pid, start] = seconds


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("binary")
    for name, value in (("queries", 4000), ("rows", 100_000), ("dim", 128), ("segments", 8), ("rounds", 3), ("block", 512)):
        words.add_argument(f"--{name}", type=int, default=value)
    a = words.parse_args()
    root = Path(__file__).resolve().parents[1]
    os.environ["THRESHER_BINARY"] = os.path.abspath(a.binary)
    os.environ["PYTHONPATH"] = str(root / "python" / "src")
    sys.path.insert(0, os.environ["PYTHONPATH"])

    import pyarrow as pa
    import pyarrow.parquet as pq
    import ray

    import thresher.ray
    from thresher._parts import Folder
    from thresher._walk import Segments, answers

    rng = np.random.default_rng(1)
    centres = rng.standard_normal((1000, a.dim))

    def drawn(n: int) -> Any:
        return (centres[rng.integers(1000, size=n)] + 0.7 * rng.standard_normal((n, a.dim))).astype(np.float32)

    def write(path: str, rows: Any, first: int) -> None:
        vectors = pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), a.dim)
        pq.write_table(pa.table({"id": np.arange(first, first + len(rows)), "vector": vectors}), path)

    with tempfile.TemporaryDirectory() as home:
        for name in ("vectors", "queries", "one"):
            os.mkdir(f"{home}/{name}")
        ends = np.linspace(0, a.rows, a.segments + 1).astype(int)
        for i in range(a.segments):
            write(f"{home}/vectors/{i}.parquet", drawn(ends[i + 1] - ends[i]), ends[i])
        queries = drawn(a.queries)
        write(f"{home}/queries/0.parquet", queries, 0)
        write(f"{home}/one/0.parquet", queries[:1], 0)
        ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="warning")
        ray.data.DataContext.get_current().enable_progress_bars = False
        thresher.ray.build(f"{home}/vectors", f"{home}/segments", metric="cosine", rows=1)

        def job(of: str) -> Any:
            found = thresher.ray.knn(f"{home}/{of}", f"{home}/segments", 10, block=a.block)
            return pa.concat_tables(ray.get(found.to_arrow_refs())).sort_by("query_id").combine_chunks()

        def alone(rows: Any) -> Any:
            segments = Segments(Folder(f"{home}/segments").paths(), threads=1)
            try:
                blocks = [
                    answers(
                        segments.search(rows[at : at + a.block], 10), pa.array(np.arange(len(rows))[at : at + a.block]), False
                    )
                    for at in range(0, len(rows), a.block)
                ]
            finally:
                segments.close()
            return pa.concat_tables(blocks).combine_chunks()

        def seconds(call: Callable[[], Any]) -> tuple[float, Any]:
            with Meter() as meter:
                got = call()
            return meter.seconds, got

        job("one")  # what Ray starts once
        ratios = []
        for _ in range(a.rounds):
            start, _ = seconds(lambda: job("one"))
            full, got = seconds(lambda: job("queries"))
            opened, _ = seconds(lambda: alone(queries[:1]))
            one, want = seconds(lambda: alone(queries))
            ratios.append((full - start) / (one - opened))
            print(
                f"Ray {full:.2f} s, of which its start {start:.2f}; one process {one:.2f} s, opening {opened:.2f}; "
                f"ratio {ratios[-1]:.3f}; {'the same bytes' if got.equals(want) else 'OTHER ANSWERS'}"
            )
        print(f"median of {a.rounds}: {statistics.median(ratios):.3f}")


if __name__ == "__main__":
    main()
