"""What commands do within limits on private memory: answer, refuse with figures, or die.

    python3 bench/memory_limits.py THRESHER [--vectors N] [--dim D] [--limits KIB,..] [--stack KIB] [--runs R]
        [--verbs V,..] [--forms F,..]

Each verb runs over the same vectors in each form under `ulimit -d` and `ulimit -s` (KiB), on two threads. A run
answers if it ends with code 0, refuses if its message says how much memory is available, and dies otherwise: it
ends by the runtime's "out of memory" or without a further thread. Printed are the runs of each kind, and how those
that died ended. The vectors are drawn from a seed; what the runtime maps when varies from run to run, so that counts
do, too.
"""

import argparse
import collections
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

REFUSED = ("are available", "are free", "needs up to")


def write_forms(folder: Path, n: int, dim: int) -> None:
    """Write vectors as npy, Parquet and CSV, 64 queries, and tables with ids for joins."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(5)
    rows, queries = rng.standard_normal((n, dim), np.float32), rng.standard_normal((64, dim), np.float32)
    for name, of in (("a", rows), ("q", queries)):
        np.save(folder / f"{name}.npy", of)
        np.savetxt(folder / f"{name}.csv", of, "%.6g", ",")
        values = pa.FixedSizeListArray.from_arrays(pa.array(of.reshape(-1)), dim)
        pq.write_table(pa.table({"vector": values, "id": np.arange(len(of))}), folder / f"{name}.parquet")


def commands(folder: Path, form: str) -> dict[str, list[str]]:
    """Return the arguments of each verb over the vectors of a form, without its output."""
    atoms, asked = str(folder / f"a.{form}"), str(folder / "q.npy")
    searched = ["--vectors", atoms, "--queries", asked, "--metric", "ip"]
    out = {
        "search": ["search", *searched, "-k", "10", "--out", "o.jsonl"],
        "truth": ["truth", *searched, "-k", "10", "--out", "o.jsonl"],
        "recall": ["recall", *searched, "--answers", str(folder / "found.jsonl")],
        "certify": ["certify", *searched, "--answers", str(folder / "found.jsonl"), "--out", "o.jsonl"],
        "verify": ["verify", *searched, "--answers", str(folder / "found.jsonl")],
        "graph": ["graph", "--vectors", atoms, "--metric", "ip", "-k", "5", "--out", "o.npz"],
        "pairs": ["pairs", "--vectors", atoms, "--metric", "cosine", "--min-score", ".7", "--out", "o.parquet"],
        "pursuit": ["pursuit", "--vectors", atoms, "--signals", asked, "--terms", "2", "--out", "o.csv"],
        "report": ["report", *searched, "--answers", str(folder / "found.jsonl"), "--out", "o.html"],
        "build": ["build", "--vectors", atoms, "--metric", "ip", "--out", "o.thresher"],
    }
    if form == "parquet":
        right = ["--right", atoms, "--on", "vector", "-k", "5", "--metric", "ip", "--out", "o.parquet"]
        out["join"] = ["join", "--left", str(folder / "q.parquet"), *right]
    return out


def run(binary: str, args: list[str], limit: int, stack: int, scratch: Path) -> tuple[str, str]:
    """Run a command within a limit, and return what became of it and its message."""
    for name in scratch.iterdir():
        name.unlink()
    bounded = ["bash", "-c", f'ulimit -s {stack}; ulimit -d {limit}; exec "$@"', "run", binary, *args, "--threads", "2"]
    env = {**os.environ, "GOMAXPROCS": "2", "GOMEMLIMIT": ""}
    done = subprocess.run(bounded, cwd=scratch, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    said = done.stderr.strip().splitlines()
    if done.returncode == 0:
        return "answered", ""
    if any(word in done.stderr for word in REFUSED) and "goroutine " not in done.stderr:
        return "refused", said[-1]
    return "died", said[0] if said else f"code {done.returncode}"


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("binary", type=os.path.abspath)
    p.add_argument("--vectors", type=int, default=60_000)
    p.add_argument("--dim", type=int, default=64)
    p.add_argument("--limits", default="115000,118000,121000,125000,130000,140000,150000,170000,200000", help="KiB")
    p.add_argument("--stack", type=int, default=1024, help="KiB of each thread")
    p.add_argument("--runs", type=int, default=3)
    p.add_argument("--verbs", default="search,truth,recall,certify,verify,graph,pairs,join,pursuit,report,build")
    p.add_argument("--forms", default="npy,parquet,csv")
    o = p.parse_args()
    with tempfile.TemporaryDirectory() as top:
        folder, scratch = Path(top) / "data", Path(top) / "out"
        folder.mkdir()
        scratch.mkdir()
        write_forms(folder, o.vectors, o.dim)
        found = commands(folder, "npy")["search"]
        subprocess.run([o.binary, *found[:-1], str(folder / "found.jsonl")], check=True, capture_output=True)
        print("| verb | from | limit, KiB | answered | refused | died |\n|---|---|---|---|---|---|")
        died = 0
        for form in o.forms.split(","):
            for verb, args in commands(folder, form).items():
                for limit in map(int, o.limits.split(",")) if verb in o.verbs.split(",") else ():
                    ends = collections.Counter(run(o.binary, args, limit, o.stack, scratch) for _ in range(o.runs))
                    of = collections.Counter[str]()
                    for (end, _), n in ends.items():
                        of[end] += n
                    how = "; ".join(f"{n}: {text[:90]}" for (end, text), n in ends.items() if end == "died")
                    died += of["died"]
                    counts = f"{of['answered']} | {of['refused']} | {of['died']}"
                    print(f"| {verb} | {form} | {limit} | {counts}{' (' + how + ')' if how else ''} |", flush=True)
    sys.exit(1 if died else 0)


if __name__ == "__main__":
    main()
