"""What memory Python takes to build an index of files that are larger than the memory it may take.

    python3 bench/python_build_memory.py THRESHER FILE.. [--limit MIB]

Each of the files of vectors (npy, Parquet, or a folder) is opened by `thresher.Index.open` in a process of its own,
with GOMEMLIMIT and RLIMIT_DATA of the limit, and one query searched. Printed is the most private memory, of no file
(RssAnon), of the Python process and of its worker, which is looked at 20 times a second, beside what is allowed: 300 MB
and a segment, a sixteenth of the limit.
"""

import argparse
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

OPEN = """
import sys, numpy as np, thresher
with thresher.Index.open(sys.argv[1], metric="ip") as index:
    index.search(np.ones((1, index.dim), "f4"), k=10)
"""


def private(pid: int) -> int:
    """Return the private memory of a process that is of no file, in bytes; 0 if it has ended."""
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                return int(line.split()[1]) << 10
    except OSError:
        pass
    return 0


def children(pid: int) -> list[int]:
    try:
        return [int(c) for c in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("binary")
    p.add_argument("files", nargs="+")
    p.add_argument("--limit", type=int, default=2048, help="MiB")
    o = p.parse_args()
    source = Path(__file__).resolve().parent.parent / "python" / "src"
    env = {
        **os.environ,
        "THRESHER_BINARY": os.path.abspath(o.binary),
        "PYTHONPATH": str(source),
        "GOMEMLIMIT": f"{o.limit}MiB",
    }
    segment = (o.limit << 20) * 0.75 / 16  # of three quarters of what is free
    print("| from | Python, MB | worker, MB | together, MB | allowed, MB | s |\n|---|---|---|---|---|---|", flush=True)
    for name in o.files:
        begun = time.monotonic()
        child = subprocess.Popen(
            [sys.executable, "-c", OPEN, name],
            env=env,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (o.limit << 20, o.limit << 20)),
        )
        own = worker = both = 0
        while child.poll() is None:
            mine, theirs = private(child.pid), sum(private(c) for c in children(child.pid))
            own, worker, both = max(own, mine), max(worker, theirs), max(both, mine + theirs)
            time.sleep(0.05)
        if child.returncode:
            sys.exit(f"{name}: Python ended with code {child.returncode}")
        print(
            f"| {Path(name).name} | {own / 1e6:.0f} | {worker / 1e6:.0f} | {both / 1e6:.0f} "
            f"| {(300e6 + segment) / 1e6:.0f} | {time.monotonic() - begun:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
