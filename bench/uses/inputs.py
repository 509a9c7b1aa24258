"""The data of the uses: atoms and queries as files, and what is right about them.

python inputs.py NAME ...    make these sets, if they are missing"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import corpus
import lsa
from data import FOLDER, SEED, SHARED, Absent, embeddings, mnist

# Rows of package records that are held out as queries.
HELD_OUT = 10000
RECORDS = 51200


@dataclass(frozen=True)
class Input:
    """A set on disk. Its files are named by their paths, since other processes read them."""

    name: str
    folder: Path
    metric: str
    said: str

    @property
    def atoms(self) -> Path:
        return self.folder / "atoms.npy"

    @property
    def queries(self) -> Path:
        return self.folder / "queries.npy"

    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        return np.load(self.atoms, mmap_mode="r"), np.load(self.queries, mmap_mode="r")

    def shape(self) -> dict[str, Any]:
        atoms, queries = self.rows()
        return {
            "set": self.name,
            "atoms": len(atoms),
            "dimension": atoms.shape[1],
            "queries": len(queries),
            "metric": self.metric,
            "from": self.said,
        }

    def files(self) -> list[str | Path]:
        """The flags of thresher that name the set."""
        return ["--atoms", self.atoms, "--queries", self.queries, "--metric", self.metric]


Made = tuple[np.ndarray, np.ndarray, str, str]  # atoms, queries, metric, description


def records(atoms: int, queries: int) -> Made:
    texts, said = corpus.records()
    if len(texts) < atoms + queries:
        raise Absent
    x, q = lsa.analyse(texts, atoms, queries + 64, SEED, coordinates=768)
    x, q = (unit(rows) for rows in (x, q))
    return x, q[:queries], "ip", f"{said}; sublinear tf-idf, randomised SVD, rows of norm 1"


def unit(x: np.ndarray) -> np.ndarray:
    """The nonzero rows of x, divided by their norms."""
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    keep = norms[:, 0] > 1e-6
    return np.ascontiguousarray(x[keep] / norms[keep], dtype=np.float32)


def images() -> Made:
    atoms, queries, about = mnist()
    return atoms, queries, "l2", about["from"]


def digits(n: int) -> Made:
    """MNIST's test images, and copies shifted by a pixel that are darker or lighter by up to a fifth, each
    pixel by itself."""
    atoms, queries, _, _ = images()
    known = np.concatenate([atoms, queries]).reshape(-1, 28, 28)
    r = np.random.default_rng(SEED)
    rows = [known]
    while sum(map(len, rows)) < n:
        shift = (int(r.integers(-1, 2)), int(r.integers(-1, 2)))
        noise = r.uniform(0.8, 1.2, known.shape).astype(np.float32)
        rows.append(np.minimum(255, np.roll(known, shift, axis=(1, 2)) * noise))
    said = "MNIST's test images, and copies shifted by up to a pixel, each pixel times .8 to 1.2"
    return np.concatenate(rows)[:n].reshape(n, 784), queries, "l2", said


def shared(path: str, said: str) -> Made:
    """Some rows of an array that is not shipped, the others being the queries."""
    if not (SHARED / path).exists():
        raise Absent
    x = np.load(SHARED / path).astype(np.float32)
    x = x[np.random.default_rng(SEED).permutation(len(x))]
    return x[100:], x[:100], "cosine", said


def synthetic(n: int, d: int, queries: int) -> Made:
    x, q, about = embeddings(n, d, 0.6, queries=queries)
    return unit(x), unit(q), "ip", about["from"] + ", rows of norm 1"


RECIPES: dict[str, Callable[[], Made]] = {
    "records": partial(records, RECORDS, HELD_OUT),
    "mnist-images": images,
    "mpnet-films": partial(shared, "bert-mpnet-movies/mpnet_embeddings.npy", "MPNet embeddings of film plots"),
    "sp500": partial(shared, "sp500-embeddings/embeddings.npy", "embeddings of company descriptions"),
    "digits": partial(digits, 60000),
    "embeddings": partial(synthetic, 100000, 768, 1000),
    "uses-small": partial(synthetic, 4000, 128, 400),
}


def open_input(name: str) -> Input | None:
    """A set, None if it is not on disk."""
    folder = FOLDER / "uses" / name
    about = folder / "about.json"
    if not about.exists():
        return None
    fields = json.loads(about.read_text())
    return Input(name, folder, fields["metric"], fields["from"])


def make(name: str) -> None:
    """Makes one set unless it is there. Raises Absent."""
    if open_input(name):
        return
    began = time.perf_counter()
    atoms, queries, metric, said = RECIPES[name]()
    folder = FOLDER / "uses" / name
    folder.mkdir(parents=True, exist_ok=True)
    for file, rows in (("atoms", atoms), ("queries", queries)):
        np.save(folder / f"{file}.npy", np.ascontiguousarray(rows, dtype=np.float32))
    (folder / "about.json").write_text(json.dumps({"metric": metric, "from": said}) + "\n")
    print(f"{name}: {len(atoms):,} x {atoms.shape[1]}, {time.perf_counter() - began:.0f} s", flush=True)


if __name__ == "__main__":
    for wanted in sys.argv[1:]:
        try:
            make(wanted)
        except Absent:
            print(f"{wanted}: not made, its source is missing", flush=True)
