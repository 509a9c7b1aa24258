"""How fast a prepared file that is not in memory is searched, beside the disk and beside the same file in memory.

    python3 bench/search_beyond_memory.py COLLECTION QUERIES.npy THRESHER.. [--limit MIB] [--turns T] [--methods M,M]
        [--counts N,N]

COLLECTION is a file of `thresher build`, THRESHER are builds of the program, which run in turns. Each method searches
the first N of the queries in one batch with GOMEMLIMIT, which has rows read ahead: cold, after the system has dropped
the file from memory, and warm. Printed are how long the disk takes to read the file in order, and the least seconds of
all turns: of the clock, cold and warm, of the processor (user and system, all threads), cold; then MB read from the
disk, cold, what part of the disk's speed the search has (reading in order / cold), and cold / warm.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np


def drop(path: Path) -> None:
    """Have the system drop a file from memory."""
    os.sync()
    with path.open("rb") as f:
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def read_in_order(path: Path) -> float:
    begun = time.monotonic()
    with path.open("rb", buffering=0) as f:
        buffer = bytearray(1 << 20)
        while f.readinto(buffer):
            pass
    return time.monotonic() - begun


def search(binary: str, path: Path, queries: Path, method: str, limit: int) -> tuple[float, float, float]:
    """Search once, and return the seconds of the clock and of the processor, and the bytes read from the disk."""
    with tempfile.TemporaryDirectory() as scratch:
        command = [binary, "search", "--vectors", str(path), "--queries", str(queries), "-k", "10", "--chunk", "4096"]
        command += ["--method", method, "--out", str(Path(scratch) / "answers.npz")]
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        environment = {**os.environ, "GOMEMLIMIT": f"{limit}MiB"}
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, env=environment)
        took, after = time.monotonic() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with code {done.returncode}: {done.stderr}")
    worked = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return took, worked, 512.0 * (after.ru_inblock - before.ru_inblock)


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("collection", type=Path)
    p.add_argument("queries", type=Path)
    p.add_argument("binaries", nargs="+")
    p.add_argument("--limit", type=int, default=256, help="MiB")
    p.add_argument("--turns", type=int, default=2)
    p.add_argument("--methods", default="adaptive,certain,exact")
    p.add_argument("--counts", default="64,512,4096", help="of queries")
    o = p.parse_args()
    counts = [int(n) for n in o.counts.split(",")]
    cells = [(n, method, binary) for n in counts for method in o.methods.split(",") for binary in o.binaries]
    orders: list[float] = []
    runs: dict[tuple[int, str, str, bool], list[tuple[float, float, float]]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        asked = {n: Path(scratch) / f"{n}.npy" for n in counts}
        for n, path in asked.items():
            np.save(path, np.load(o.queries)[:n])
        for _ in range(o.turns):
            drop(o.collection)
            orders.append(read_in_order(o.collection))
            for cold in (True, False):
                for n, method, binary in cells:
                    if cold:
                        drop(o.collection)
                    run = search(binary, o.collection, asked[n], method, o.limit)
                    runs.setdefault((n, method, binary, cold), []).append(run)
    size, order = o.collection.stat().st_size, min(orders)
    speed = f"in order {order:.2f} s, {size / order / 1e6:.0f} MB/s"
    print(f"{size / 1e6:.0f} MB, limit {o.limit} MiB, least of {o.turns} turns; {speed}")
    heads = ["queries", "method", "program", "cold, s", "warm, s", "processor, s", "MB read", "of the disk's speed"]
    print(f"| {' | '.join([*heads, 'cold / warm'])} |\n{'|---' * 9}|")
    for n, method, binary in cells:
        cold, worked, read = min(runs[n, method, binary, True])
        warm = min(runs[n, method, binary, False])[0]
        figures = f"{cold:.2f} | {warm:.2f} | {worked:.2f} | {read / 1e6:.0f} | {order / cold:.2f} | {cold / warm:.2f}"
        print(f"| {n} | {method} | {Path(binary).name} | {figures} |")


if __name__ == "__main__":
    main()
