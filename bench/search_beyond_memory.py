"""How fast a collection is searched that is larger than the memory for it, beside the disk that it is on.

    python3 bench/search_beyond_memory.py THRESHER COLLECTION QUERIES.npy [--limit MIB] [--turns T] [--methods M,M]

COLLECTION is a file of `thresher build`, QUERIES.npy a batch. Before each run the system drops the file from memory.
Printed are how many MB a second the disk gives when the file is read in order, and of each search of the batch with
GOMEMLIMIT, which has rows read ahead: its seconds, how many bytes it reads from the disk, by /proc, how many MB a
second that is and what part of the disk's speed, and its seconds beside those of reading the whole file.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path


def drop(path: Path) -> None:
    """Have the system drop a file from memory."""
    os.sync()
    with path.open("rb") as f:
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def read_in_order(path: Path) -> float:
    drop(path)
    begun = time.monotonic()
    with path.open("rb", buffering=0) as f:
        buffer = bytearray(1 << 20)
        while f.readinto(buffer):
            pass
    return time.monotonic() - begun


def search(binary: str, path: Path, queries: Path, method: str, limit: int) -> tuple[float, int]:
    """Search once, and return the seconds and the bytes read from the disk."""
    drop(path)
    with tempfile.TemporaryDirectory() as scratch:
        command = [binary, "search", "--vectors", str(path), "--queries", str(queries), "-k", "10", "--chunk", "4096"]
        command += ["--method", method, "--out", str(Path(scratch) / "answers.npz")]
        begun = time.monotonic()
        child = subprocess.Popen(command, stderr=subprocess.DEVNULL, env={**os.environ, "GOMEMLIMIT": f"{limit}MiB"})
        read, ended = 0, threading.Event()

        def watch() -> None:
            nonlocal read
            while not ended.wait(0.02):
                try:
                    text = Path(f"/proc/{child.pid}/io").read_text()
                except OSError:
                    return
                read = max(read, int(text.split("\nread_bytes: ")[1].split()[0]))

        thread = threading.Thread(target=watch)
        thread.start()
        code = child.wait()
        took = time.monotonic() - begun
        ended.set()
        thread.join()
    if code:
        sys.exit(f"{' '.join(command)} ended with code {code}")
    return took, read


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("binary")
    p.add_argument("collection", type=Path)
    p.add_argument("queries", type=Path)
    p.add_argument("--limit", type=int, default=256, help="MiB")
    p.add_argument("--turns", type=int, default=2)
    p.add_argument("--methods", default="adaptive,certain,exact")
    o = p.parse_args()
    size = o.collection.stat().st_size
    print(f"{size / 1e6:.0f} MB, limit {o.limit} MiB, least of {o.turns} turns")
    methods = o.methods.split(",")
    orders: list[float] = []
    runs: dict[str, list[tuple[float, int]]] = {method: [] for method in methods}
    for _ in range(o.turns):
        orders.append(read_in_order(o.collection))
        for method in methods:
            runs[method].append(search(o.binary, o.collection, o.queries, method, o.limit))
    order = min(orders)
    print(f"in order: {order:.2f} s, {size / order / 1e6:.0f} MB/s")
    print("| method | s | MB read | MB/s | of the disk's | s / reading all |\n|---|---|---|---|---|---|")
    for method in methods:
        took, read = min(runs[method])
        speed = read / took
        part, whole = speed * order / size, took / order
        print(f"| {method} | {took:.2f} | {read / 1e6:.0f} | {speed / 1e6:.0f} | {part:.2f} | {whole:.2f} |")


if __name__ == "__main__":
    main()
