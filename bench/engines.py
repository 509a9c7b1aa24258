#!/usr/bin/env python3
"""What a job of Ray, of Spark or of an array takes beyond one process that walks the same segments: processor
seconds, Parquet to Parquet, and whether the answers are the same. The start of the engine and of its workers is not
counted, which a job of one query a task has as well, nor that of the one process.

    python3 bench/engines.py ray|spark|array build/thresher [--queries 20000] [--rows 200000] [--dim 256] [--rounds 3]
    python3 bench/engines.py array build/thresher --rows 5400000 --queries 500 --block 125 --memory 2048 --whole

Processor seconds are those of all processes below the one that measures, read ten times a second, less what reading
them takes. They are stated apart for what searches (actors, workers of Python, and their children) and for what the
engine runs beside, some of which grows with the time that a job takes rather than with its work. It needs Linux, and of
python/requirements-engines.txt what the engine is; Spark needs Java."""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

TICK = os.sysconf("SC_CLK_TCK")
K = 10


class Meter:
    """Processor seconds of this process and all below it, those that have ended included, by what they are."""

    def __init__(self) -> None:
        self.by: Counter[str] = Counter()
        self.own = 0.0  # of reading

    def __enter__(self) -> Meter:
        self.last: dict[tuple[str, str], float] = {}
        self.kinds: dict[tuple[str, str], str] = {}
        self.peaks: dict[tuple[str, str], tuple[str, int]] = {}  # of those that search, and their programs
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
        for who, now in self.last.items():
            self.by[self.kinds.get(who, "other")] += now - self.first.get(who, 0)
        self.by["here"] -= self.own

    @property
    def seconds(self) -> float:
        return sum(self.by.values())

    @property
    def searching(self) -> float:
        """Those of processes that search, this one included."""
        return self.by["search"] + self.by["here"]

    def watch(self) -> None:
        while not self.done.wait(0.1):
            self.read()
        self.own = time.thread_time()

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
                with contextlib.suppress(OSError):
                    if (
                        self.kinds.get((pid, start)) != "search"
                    ):  # Ray names its workers anew, and those that end have no name
                        self.kinds[pid, start] = (
                            "here" if pid == me else kind(Path(f"/proc/{pid}/cmdline").read_bytes())
                        )
                    if self.kinds[pid, start] == "search":
                        self.note(pid, start)

    def note(self, pid: str, start: str) -> None:
        """Note what a process that searches has in memory now."""
        program, greatest = self.peaks.get((pid, start), ("", 0))
        if program != "thresher":  # the shell that limits it becomes thresher
            program = os.path.basename(os.readlink(f"/proc/{pid}/exe"))
        self.peaks[pid, start] = program, max(greatest, anonymous(pid))

    def memory(self) -> str:
        """Return the greatest memory beside files of each process that searched, by programs."""
        by: dict[str, list[int]] = {}
        for program, greatest in sorted(self.peaks.values()):
            by.setdefault(program, []).append(greatest >> 20)
        return ", ".join(f"{program} {' '.join(map(str, mebibytes))}" for program, mebibytes in by.items())


def kind(command: bytes) -> str:
    """Return what a process is to a job."""
    program = os.path.basename(command.split(b"\0")[0])
    if program in (b"java", b"raylet", b"gcs_server"):
        return program.decode()
    if program == b"thresher" or b"SearchSegments" in command or b"pyspark" in command:
        return "search"
    return "agents" if b"dashboard" in command or b"runtime_env" in command else "other"


def anonymous(pid: str) -> int:
    """Return the bytes that a process has in memory beside files, which the system can drop and read again."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) << 10
    return 0


def limited(binary: str, mebibytes: int, home: str) -> str:
    """Return a program that runs another with so much memory beside mapped files."""
    path = Path(home, f"limited-{os.path.basename(binary)}")
    path.write_text(f'#!/bin/sh\nulimit -d {mebibytes << 10}\nexec "{binary}" "$@"\n')
    path.chmod(0o700)
    return str(path)


class Data:
    """Vectors and queries as Parquet files, and what one process answers that walks segments of them."""

    def __init__(self, home: str, a: argparse.Namespace) -> None:
        self.home, self.dim, self.method, self.block = home, a.dim, a.method, a.block
        rng = np.random.default_rng(1)

        def drawn(ids: Any) -> Any:
            """Return vectors that have no near neighbours, as bench/sizes.py draws them."""
            scale = np.arange(1, a.dim + 1, dtype=np.float32) ** -0.5
            return rng.standard_normal((len(ids), a.dim), dtype=np.float32) * scale

        if os.path.isdir(f"{home}/one"):
            return
        self.write("vectors", drawn, a.rows, a.segments)
        queries, tasks = drawn(range(a.queries)), -(-a.queries // a.block)
        self.write("queries", lambda ids: queries[ids], a.queries, tasks)
        self.write("one", lambda ids: queries[ids], tasks, tasks)

    def write(self, name: str, rows: Callable[[Any], Any], n: int, files: int) -> None:
        """Write n rows to files, each of which is made when it is written."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        os.mkdir(f"{self.home}/{name}")
        for i, ids in enumerate(np.array_split(np.arange(n), files)):
            vectors = pa.FixedSizeListArray.from_arrays(pa.array(rows(ids).reshape(-1)), self.dim)
            table = pa.table({"id": ids, "vector": vectors})
            pq.write_table(table, f"{self.home}/{name}/{i:03d}.parquet", use_dictionary=False, compression="none")

    @property
    def segments(self) -> str:
        return f"{self.home}/segments"

    def bytes(self, engine: str) -> int:
        """Return what all segments, or the collection of an array, take."""
        pattern = "items.thresher" if engine == "array" else "segments/*.thresher"
        return sum(path.stat().st_size for path in Path(self.home).glob(pattern))

    def files(self, of: str) -> list[str]:
        return sorted(str(path) for path in Path(f"{self.home}/{of}").iterdir())

    def alone(self, of: str, rows: Callable[[Any, Any], Any]) -> None:
        """Read queries, walk the segments for those of each file, and write what rows makes of the answers."""
        import pyarrow as pa
        import pyarrow.parquet as pq
        from thresher._parts import Folder
        from thresher._walk import Segments

        os.makedirs(f"{self.home}/alone", exist_ok=True)
        segments = Segments(Folder(self.segments).paths(), threads=1)
        try:
            for path in self.files(of):
                block = pq.read_table(path).combine_chunks()
                ids = pa.concat_arrays(block["id"].chunks)
                found = segments.search(block["vector"], K, method=self.method)
                pq.write_table(rows(found, ids), f"{self.home}/alone/{os.path.basename(path)}")
        finally:
            segments.close()


# An engine returns a job, what one process does in its place, and whether both have answered the same. A job answers
# the queries of a folder.
Engine = tuple[Callable[[str], Any], Callable[[str], Any], Callable[[], bool]]


def ray_engine(data: Data, a: argparse.Namespace) -> Engine:
    """Ray on one processor more than search, which reads and writes."""
    import pyarrow.parquet as pq
    import ray
    import thresher.ray
    from thresher._walk import answers

    ray.init(
        address="local", num_cpus=a.tasks + 1, include_dashboard=False, log_to_driver=False, logging_level="warning"
    )
    ray.data.DataContext.get_current().enable_progress_bars = False
    if not os.path.isdir(data.segments):
        thresher.ray.build(f"{data.home}/vectors", data.segments, metric="cosine", rows=1)
    out = f"{data.home}/found"

    def job(of: str) -> None:
        found = thresher.ray.knn(f"{data.home}/{of}", data.segments, K, method=a.method, block=a.block, actors=a.tasks)
        found.write_parquet(out, mode="overwrite")

    def same() -> bool:
        got, want = (pq.read_table(f"{data.home}/{name}").sort_by("query_id") for name in ("found", "alone"))
        return bool(got.combine_chunks().equals(want.combine_chunks()))

    return job, lambda of: data.alone(of, lambda found, ids: answers(found, ids, False)), same


def spark_engine(data: Data, a: argparse.Namespace) -> Engine:
    """Spark with a partition for each file."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    import thresher.spark
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.sql.files.openCostInBytes": "134217728",  # a file is a partition
    }
    os.environ["PYSPARK_PYTHON"] = limited(sys.executable, a.memory, data.home) if a.memory else sys.executable
    builder = SparkSession.builder.master(f"local[{a.tasks}]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    if not os.path.isdir(data.segments):
        thresher.spark.build(spark.read.parquet(f"{data.home}/vectors"), data.segments, metric="cosine")
    out = f"{data.home}/found"

    def job(of: str) -> None:
        found = thresher.spark.knn(spark.read.parquet(f"{data.home}/{of}"), data.segments, K, method=a.method)
        found.write.mode("overwrite").parquet(out)

    def rows(found: Any, ids: Any) -> Any:
        columns = {
            "id": np.repeat(np.asarray(ids), K),
            "rank": np.tile(np.arange(1, K + 1, dtype=np.int32), len(ids)),
            "neighbor_id": found.ids.reshape(-1),
            "score": found.scores64.reshape(-1),
            "guarantee": np.repeat(found.guarantee, K),
            "delta": np.repeat(found.delta, K),
        }
        return pa.table(columns)

    def same() -> bool:
        got, want = (
            pq.read_table(f"{data.home}/{name}").sort_by([("id", "ascending"), ("rank", "ascending")])
            for name in ("found", "alone")
        )
        return got.column_names == want.column_names and all(
            np.array_equal(np.asarray(got[name]), np.asarray(want[name])) for name in got.column_names
        )

    return job, lambda of: data.alone(of, rows), same


def array_engine(data: Data, a: argparse.Namespace) -> Engine:
    """A process for each part of the queries, which searches one collection of all vectors."""
    task, items, parts = os.environ["THRESHER_BINARY"], f"{data.home}/items.thresher", f"{data.home}/parts"

    def run(binary: str, *words: str) -> None:
        subprocess.run([binary, *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    if not os.path.isfile(items):
        run(task, "build", "--vectors", f"{data.home}/vectors", "--metric", "cosine", "--ids", "id", "--out", items)

    def search(binary: str, of: str, out: str, *more: str) -> None:
        words = ["--vectors", items, "--queries", f"{data.home}/{of}", "--queries-column", "vector", "-k", str(K)]
        run(binary, "search", *words, "--method", a.method, "--threads", "1", "--overwrite", "--out", out, *more)

    def job(of: str) -> None:
        tasks = len(data.files(of))
        for i in range(tasks):
            search(task, of, f"{parts}/{i}.parquet", "--part", f"{i}/{tasks}")

    def same() -> bool:
        run(task, "check", parts, "--out", f"{data.home}/whole.parquet", "--overwrite")
        return Path(f"{data.home}/whole.parquet").read_bytes() == Path(f"{data.home}/alone.parquet").read_bytes()

    os.makedirs(parts, exist_ok=True)
    return job, lambda of: search(os.environ["THRESHER_BINARY"], of, f"{data.home}/alone.parquet"), same


ENGINES = {"ray": ray_engine, "spark": spark_engine, "array": array_engine}


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("engine", choices=ENGINES)
    words.add_argument("binary")
    for name, value in (("queries", 20_000), ("rows", 200_000), ("dim", 256), ("segments", 8), ("rounds", 3)):
        words.add_argument(f"--{name}", type=int, default=value)
    words.add_argument("--block", type=int, default=5000, help="queries of a task")
    words.add_argument("--tasks", type=int, default=2, help="tasks at a time")
    words.add_argument("--method", default="auto")
    words.add_argument("--home", help="folder for the data, which are kept there and used again; a new one without")
    words.add_argument(
        "--memory",
        type=int,
        help="MiB beside mapped files that each process of a job's thresher and Spark's Python may have",
    )
    words.add_argument(
        "--whole", action="store_true", help="count the start as well, for jobs beside which it is short"
    )
    a = words.parse_args()
    root = Path(__file__).resolve().parents[1]
    os.environ["THRESHER_BINARY"] = os.path.abspath(a.binary)
    os.environ["PYTHONPATH"] = str(root / "python" / "src")
    sys.path.insert(0, os.environ["PYTHONPATH"])

    def seconds(call: Callable[[str], Any], of: str) -> Meter:
        with Meter() as meter:
            call(of)
        return meter

    with tempfile.TemporaryDirectory() if a.home is None else contextlib.nullcontext(a.home) as home:
        data, unlimited = Data(home, a), os.environ["THRESHER_BINARY"]
        if a.memory:
            os.environ["THRESHER_BINARY"] = limited(unlimited, a.memory, home)
        job, alone, same = ENGINES[a.engine](data, a)  # the processes of an engine have the variables of its start
        if not a.whole:
            job("queries" if a.engine == "spark" else "one")  # what the engine starts once, and Java compiles
        os.environ["THRESHER_BINARY"] = unlimited
        print("measuring", flush=True)
        ratios = []
        for i in range(a.rounds):
            took_by: dict[Any, tuple[Meter, Meter]] = {}
            for call in (job, alone) if i % 2 == 0 else (alone, job):  # the speed of a processor drifts
                took_by[call] = Meter() if a.whole else seconds(call, "one"), seconds(call, "queries")
            (start, full), (opened, one) = took_by[job], took_by[alone]
            took = one.seconds - opened.seconds
            ratios.append((full.seconds - start.seconds) / took)
            beside = {what: full.by[what] - start.by[what] for what in full.by if what not in ("search", "here")}
            print(
                f"one process {took:.2f} s beyond {opened.seconds:.2f}; {a.engine} {full.seconds - start.seconds:.2f} "
                f"beyond {start.seconds:.2f}, of which searching {full.searching - start.searching:.2f}"
                + "".join(f", {what} {used:.2f}" for what, used in beside.items())
                + f"; MiB in memory beside files of {data.bytes(a.engine) / 2**20:.0f}: {full.memory()}; "
                f"one process at most {max((of for _, of in one.peaks.values()), default=0) >> 20}"
                f"; ratio {ratios[-1]:.3f}; {'the same answers' if same() else 'OTHER ANSWERS'}",
                flush=True,
            )
        print(f"median of {a.rounds}: {statistics.median(ratios):.3f}")


if __name__ == "__main__":
    main()
