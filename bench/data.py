"""The race's data sets: atoms, queries, and what is right.

Each set is a folder of .data with atoms.npy and queries.npy (float32, one vector
a row), top.npz (ids and float64 scores of each query's best atoms), norms.npy
(float64, of the atoms) and about.json. Seeds are fixed: on one machine the same
sets come out each time, and the synthetic ones are the same on all.

    python data.py NAME ...     make these sets, where they are missing
"""

from __future__ import annotations

import csv
import gzip
import json
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import corpus

HERE = Path(__file__).resolve().parent
FOLDER = HERE / ".data"
# Data that may not be shipped lies beside the checkout, if at all.
SHARED = HERE.parent.parent / "shared" / "data"

QUERIES = 1024
SEED = 20240614

Made = tuple[np.ndarray, np.ndarray, dict[str, Any]]  # atoms, queries, what to say about them


class Absent(Exception):
    """Says which file a set is made of and is not there."""


@dataclass(frozen=True)
class Recipe:
    """How to make one set. best is how many best atoms of each query are
    recomputed in float64."""

    name: str
    make: Callable[[], Made]
    best: int = 100


@dataclass(frozen=True)
class DataSet:
    """A set on disk, opened, or its first atoms. The atoms are mapped, not
    read."""

    name: str
    path: Path
    about: dict[str, Any]
    atoms: np.ndarray  # [n, d] float32
    queries: np.ndarray  # [queries, d] float32
    norms: np.ndarray  # [n] float64
    top_ids: np.ndarray  # [queries, best] int32, best first
    top_scores: np.ndarray  # [queries, best] float64

    @staticmethod
    def open(name: str) -> DataSet:
        path = FOLDER / name
        top = np.load(path / "top.npz")
        return DataSet(
            name=name,
            path=path,
            about=json.loads((path / "about.json").read_text()),
            atoms=np.load(path / "atoms.npy", mmap_mode="r"),
            queries=np.load(path / "queries.npy"),
            norms=np.load(path / "norms.npy"),
            top_ids=top["ids"],
            top_scores=top["scores"],
        )

    def first(self, n: int) -> DataSet:
        """The set of the first n atoms."""
        ids, scores, norms = best_atoms(self.atoms[:n], self.queries, min(n, self.top_ids.shape[1]))
        return replace(self, atoms=self.atoms[:n], norms=norms, top_ids=ids, top_scores=scores)

    @property
    def n(self) -> int:
        return len(self.atoms)

    @property
    def d(self) -> int:
        return int(self.atoms.shape[1])


# Text


def lsa_factors() -> tuple[np.ndarray, np.ndarray, dict[str, int]]:
    """Latent semantic analysis of text found here: 1,536 coordinates of the
    atoms and of held-out queries, largest singular value first, and how many
    passages came from where.

    Weights are sublinear tf-idf of the 50,000 commonest words, fitted to the
    atoms alone; queries are projected on the atoms' right singular vectors.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.utils.extmath import randomized_svd

    folder = FOLDER / "lsa"
    files = [folder / f for f in ("atoms.npy", "queries.npy", "counts.json")]
    if not all(f.exists() for f in files):
        texts, counts = corpus.documents()
        random.Random(SEED).shuffle(texts)
        # some held-out texts share no word with the atoms; a few to spare
        held, texts = texts[: QUERIES + 64], texts[QUERIES + 64 : QUERIES + 64 + 61440]
        words = TfidfVectorizer(
            max_features=50000, min_df=2, sublinear_tf=True, token_pattern=r"[A-Za-z][A-Za-z0-9]+", dtype=np.float32
        )
        weights = words.fit_transform(texts)
        left, values, right = randomized_svd(weights, 1536, n_oversamples=20, n_iter=2, random_state=0)
        queries = words.transform(held) @ right.T
        folder.mkdir(parents=True, exist_ok=True)
        np.save(files[0], (left * values).astype(np.float32))
        np.save(files[1], queries.astype(np.float32))
        files[2].write_text(json.dumps(counts))
    return np.load(files[0], mmap_mode="r"), np.load(files[1]), json.loads(files[2].read_text())


def lsa(d: int) -> Made:
    atoms, queries, counts = lsa_factors()
    places = ", ".join(f"{n:,} from {name}" for name, n in counts.items())
    said = f"text found on this machine in passages of about 100 words, a sample of these: {places}; "
    said += "sublinear tf-idf, randomised SVD, rows of norm 1"
    return unit(atoms[:, :d]), unit(queries[:, :d])[:QUERIES], {"from": said}


def unit(x: np.ndarray) -> np.ndarray:
    """The rows of x that are not zero, divided by their norms."""
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    keep = norms[:, 0] > 1e-6
    return x[keep] / norms[keep]


# Synthetic


def embeddings(n: int, d: int, decay: float, queries: int = QUERIES) -> Made:
    """Vectors like a text encoder's.

    In a basis of its own, coordinate j has standard deviation proportional to
    j^-decay (real encoders: .53 to .66 measured on three; 0 is a flat spectrum).
    A vector is .4 of a direction common to all, plus, in shares .3, .3 and .4 of
    the remaining variance, its topic, its subtopic (20 to a topic) and itself,
    each Gaussian with those deviations. Topics are drawn with probability
    proportional to (rank + 10)^-.8. Norms are spread log-normally by 6%. Last, a
    Haar-random rotation. Queries are further vectors of the same law.
    """
    r = np.random.default_rng(SEED)
    topics = int(np.clip(n // 100, 8, 1000))
    deviation = np.arange(1, d + 1) ** -decay
    deviation = (deviation / np.linalg.norm(deviation)).astype(np.float32)

    def gaussian(rows: int, share: float) -> np.ndarray:
        x = r.standard_normal((rows, d), dtype=np.float32)
        x *= deviation * np.float32(np.sqrt(share))
        return x

    popular = (np.arange(topics) + 10.0) ** -0.8
    topic = r.choice(topics, n + queries, p=popular / popular.sum())
    subtopic = topic * 20 + r.integers(20, size=n + queries)
    common = gaussian(1, 1)
    common *= 0.4 / np.linalg.norm(common)
    x = gaussian(n + queries, 0.4 * 0.84)
    of_topic, of_subtopic = gaussian(topics, 0.3 * 0.84), gaussian(topics * 20, 0.3 * 0.84)
    for lo in range(0, n + queries, 8192):  # in pieces, for the memory
        part = slice(lo, lo + 8192)
        x[part] += common + of_topic[topic[part]] + of_subtopic[subtopic[part]]
        norms = np.linalg.norm(x[part], axis=1)
        x[part] *= (np.exp(0.06 * r.standard_normal(len(norms))) / norms).astype(np.float32)[:, None]
    q, upper = np.linalg.qr(r.standard_normal((d, d), dtype=np.float32))
    q *= np.sign(np.diag(upper))
    for lo in range(0, n + queries, 8192):
        x[lo : lo + 8192] = x[lo : lo + 8192] @ q
    said = f"synthetic embeddings: {topics} topics of 20 subtopics, standard deviations j^-{decay:g}, seed {SEED}"
    return x[:n], x[n:], {"from": said}


def gaussian(n: int, d: int, queries: int = QUERIES) -> Made:
    r = np.random.default_rng(SEED)
    atoms = r.standard_normal((n, d), dtype=np.float32)
    return atoms, r.standard_normal((queries, d), dtype=np.float32), {"from": f"iid standard normal, seed {SEED}"}


# Shared


def mnist() -> Made:
    path = SHARED / "mnist-t10k" / "t10k-images-idx3-ubyte.gz"
    if not path.exists():
        raise Absent("mnist-t10k/t10k-images-idx3-ubyte.gz")
    pixels = np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8, offset=16).reshape(10000, 784)
    return held_out(pixels.astype(np.float32), QUERIES, "MNIST's 10,000 test images, values 0 to 255")


def movies() -> Made:
    path = SHARED / "ml-1m" / "ratings.csv"
    if not path.exists():
        raise Absent("ml-1m/ratings.csv")
    with path.open() as f:
        rows = csv.reader(f)
        next(rows)
        table = np.array([[int(x) for x in row[:3]] for row in rows], dtype=np.int64)
    _, user = np.unique(table[:, 0], return_inverse=True)
    _, movie = np.unique(table[:, 1], return_inverse=True)
    rated = np.full((movie.max() + 1, user.max() + 1), np.nan, dtype=np.float32)
    rated[movie, user] = table[:, 2]
    count = np.sum(~np.isnan(rated), axis=1)
    mean = (np.nansum(rated, axis=1) + 5 * np.nanmean(rated)) / (count + 5)
    filled = np.where(np.isnan(rated), mean[:, None], rated)
    return held_out(
        filled, 256, "MovieLens 1M, movies by users; what is missing is the movie's mean, five average ratings added"
    )


def held_out(x: np.ndarray, queries: int, said: str) -> Made:
    order = np.random.default_rng(SEED).permutation(len(x))
    return x[order[queries:]], x[order[:queries]], {"from": said}


# Making

MAIN = ("lsa768", "lsa1536", "power768", "flat1536", "power4096", "iid768", "mnist", "ml1m")
TINY = tuple((n, d) for d in (128, 768) for n in (100, 500, 1000))
SWEEP_DIMS = (64, 128, 256, 512, 1024, 2048, 4096)
SWEEP_ATOMS = 20000
SMALL = ("small-power", "small-iid")

RECIPES: dict[str, Recipe] = {
    r.name: r
    for r in [
        Recipe("lsa768", partial(lsa, 768), best=1000),
        Recipe("lsa1536", partial(lsa, 1536)),
        Recipe("power768", partial(embeddings, 100000, 768, 0.6)),
        Recipe("flat1536", partial(embeddings, 100000, 1536, 0)),
        Recipe("power4096", partial(embeddings, 60000, 4096, 0.6)),
        Recipe("iid768", partial(gaussian, 60000, 768)),
        Recipe("mnist", mnist),
        Recipe("ml1m", movies),
        *(Recipe(f"tiny-{n}x{d}", partial(embeddings, n, d, 0.6)) for n, d in TINY),
        *(Recipe(f"sweep-{d}", partial(embeddings, SWEEP_ATOMS, d, 0.6)) for d in SWEEP_DIMS),
        Recipe("small-power", partial(embeddings, 5000, 256, 0.6, queries=512)),
        Recipe("small-iid", partial(gaussian, 2000, 64, queries=512)),
    ]
}


def best_atoms(atoms: np.ndarray, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ids and float64 scores of each query's k best atoms, best first, and the
    atoms' norms.

    Float32 products name the candidates: all within twice the bound on their
    rounding (d 2^-23 |q||v| covers any order of summation) of the k-th best.
    Float64 products decide.
    """
    n, d = atoms.shape
    norms = np.empty(n)
    for lo in range(0, n, 4096):
        norms[lo : lo + 4096] = np.linalg.norm(atoms[lo : lo + 4096].astype(np.float64), axis=1)
    ids, scores = np.empty((len(queries), k), np.int32), np.empty((len(queries), k))
    for lo in range(0, len(queries), 256):
        products = queries[lo : lo + 256] @ atoms.T
        for j, row in enumerate(products, lo):
            q = queries[j].astype(np.float64)
            rounding = d * 2.0**-23 * np.linalg.norm(q) * norms.max()
            near = np.flatnonzero(row >= np.partition(row, n - k)[n - k] - 2 * rounding)
            exact = atoms[near].astype(np.float64) @ q
            order = np.lexsort((near, -exact))[:k]
            ids[j], scores[j] = near[order], exact[order]
    return ids, scores, norms


def make(name: str) -> None:
    """Makes one set, unless it is there. Raises Absent."""
    folder = FOLDER / name
    if (folder / "about.json").exists():
        return
    began = time.perf_counter()
    recipe = RECIPES[name]
    atoms, queries, about = recipe.make()
    atoms, queries = (np.ascontiguousarray(x, dtype=np.float32) for x in (atoms, queries))
    ids, scores, norms = best_atoms(atoms, queries, min(recipe.best, len(atoms)))
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "atoms.npy", atoms)
    np.save(folder / "queries.npy", queries)
    np.save(folder / "norms.npy", norms)
    np.savez(folder / "top.npz", ids=ids, scores=scores)
    about |= {"name": name, "atoms": len(atoms), "dimension": atoms.shape[1], "queries": len(queries)}
    about["norm_spread"] = float(norms.std() / norms.mean())
    (folder / "about.json").write_text(json.dumps(about, indent=1) + "\n")  # last: the set is whole
    print(f"{name}: {len(atoms):,} x {atoms.shape[1]}, {time.perf_counter() - began:.0f} s", flush=True)


if __name__ == "__main__":
    for wanted in sys.argv[1:]:
        try:
            make(wanted)
        except Absent as e:
            print(f"{wanted}: skipped, {e} is not there", flush=True)
