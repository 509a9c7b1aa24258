"""Bytes on disk and in memory, and processor time, of each million vectors, as docs/scale.md has them.

    python3 bench/sizes.py build/thresher [--rows 100000]

Vectors are drawn: normal coordinates of falling size, rotated, of length 1, as embeddings are spread. Their neighbours
are not near, so searches have more to do than among most real ones. One thread, k = 10, 1,024 queries at once.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import tempfile

import numpy as np

QUERIES = 1024


def draw(n: int, dim: int) -> np.ndarray:
    r = np.random.default_rng(3)
    x = r.standard_normal((n, dim), dtype=np.float32) * np.arange(1, dim + 1, dtype=np.float32) ** -0.5
    turned = x @ np.linalg.qr(r.standard_normal((dim, dim)))[0].astype(np.float32)
    return turned / np.linalg.norm(turned, axis=1, keepdims=True)


def processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def size_of(text: str) -> float:
    number, unit = text.split()
    return float(number) * {"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9}[unit]


def measure(program: str, folder: str, n: int, dim: int, dtype: str) -> str:
    x = draw(n + QUERIES, dim)
    if dtype == "uint8":
        x = np.clip(np.round(128 + 30 * x / x.std()), 0, 255)
    vectors, queries, collection = (os.path.join(folder, name) for name in ("v.npy", "q.npy", "c.thresher"))
    np.save(vectors, x[:n].astype(dtype))
    np.save(queries, x[n:].astype(np.float32))
    before = processor_seconds()
    common = ["--threads", "1"]
    subprocess.run(
        [program, "build", "--vectors", vectors, "--metric", "l2", "--out", collection, "--overwrite", *common],
        check=True,
        capture_output=True,
    )
    build = processor_seconds() - before
    info = subprocess.run([program, "info", collection], check=True, capture_output=True, text=True).stdout
    parts = dict(line.strip().split(None, 1) for line in info.splitlines() if line.startswith("  "))
    disk = os.path.getsize(collection)
    rows, codes = size_of(parts["rows"]), size_of(parts["codes"])
    times = []
    for method in ("certain", "adaptive"):
        out = os.path.join(folder, "o.npz")
        search = [program, "search", "--vectors", collection, "--queries", queries, "-k", "10", "--method", method]
        search += ["--out", out, "--overwrite", "--json", *common]
        made = subprocess.run(search, check=True, capture_output=True, text=True)
        times.append(json.loads(made.stdout)["search_seconds"] / QUERIES)
    scale = 1e6 / n
    cells = [dim, dtype, f"{disk * scale / 1e9:.2f}", f"{(disk - rows) * scale / 1e9:.2f}"]
    cells += [f"{(disk - rows - codes) * scale / 1e9:.2f}", f"{build * scale:.0f}"]
    cells += [f"{t * scale * 1e3:.2g}" for t in times]
    return "| " + " | ".join(str(c) for c in cells) + " |"


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("--rows", type=int, default=100_000)
    a = p.parse_args()
    for dim in (128, 384, 768, 1536):
        for dtype in ("float32", "float16", "uint8"):
            with tempfile.TemporaryDirectory() as folder:
                print(measure(a.program, folder, a.rows, dim, dtype), flush=True)


if __name__ == "__main__":
    main()
