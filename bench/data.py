"""The race's data sets: atoms, queries, and the right answers.

Each set is a folder of .data with atoms.npy and queries.npy (float32, one vector a row),
top.npz (ids and float64 scores of each query's best atoms), norms.npy (float64, of the
atoms) and about.json. The best by another metric than inner products are in a file of their
own, top-l2.npz for instance. Seeds are fixed: a machine always makes the same sets, and the
synthetic ones are the same everywhere.

    python data.py NAME ...     make these sets, if they are missing; NAME:l2 with the best by l2"""

from __future__ import annotations

import csv
import gzip
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import corpus
import lsa
import mixtures
import recommenders
import scores
from cells import IP
from sets import BERT, COUNTS, IID, ITEMS, MIXTURES, MPNET, NEEDS, POWER, SP500, SWEEP_DIMS, TINY

HERE = Path(__file__).resolve().parent
FOLDER = HERE / ".data"
# Data that may not be distributed is next to the checkout, if anywhere.
SHARED = HERE.parent.parent / "shared" / "data"

QUERIES = 1024
SAMPLE = 20000  # approximate number of atoms that the principal axes are computed from
SEED = 20240614

# Texts of an analysis: most atoms, and the least number worth analysing.
ATOMS = 61440
FEWEST = 10000

Made = tuple[np.ndarray, np.ndarray, dict[str, Any]]  # atoms, queries, description


class Absent(Exception):
    """The source of a set is missing."""


@dataclass(frozen=True)
class Recipe:
    """How to make one set. best is the number of best atoms of each query that are computed in
    float64."""

    name: str
    make: Callable[[], Made]
    best: int = 1000


@dataclass(frozen=True)
class DataSet:
    """A set on disk, or its first atoms, with the best by one metric. The atoms are mapped, not read."""

    name: str
    path: Path
    about: dict[str, Any]
    atoms: np.ndarray  # [n, d] float32
    queries: np.ndarray  # [queries, d] float32
    norms: np.ndarray  # [n] float64
    top_ids: np.ndarray  # [queries, best] int32, best first
    top_scores: np.ndarray  # [queries, best] float64, as scores.exactly
    metric: str = IP

    @staticmethod
    def open(name: str, metric: str = IP) -> DataSet:
        path = FOLDER / name
        top = np.load(path / by_metric("top.npz", metric))
        return DataSet(
            name=name,
            path=path,
            about=json.loads((path / "about.json").read_text()),
            atoms=np.load(path / "atoms.npy", mmap_mode="r"),
            queries=np.load(path / "queries.npy"),
            norms=np.load(path / "norms.npy"),
            top_ids=top["ids"],
            top_scores=top["scores"],
            metric=metric,
        )

    @staticmethod
    def about_of(name: str) -> dict[str, Any]:
        """The description of a set; {} if it is not there."""
        path = FOLDER / name / "about.json"
        about: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        return about

    def basis(self) -> np.ndarray:
        """The orthogonal matrix of principal_axes, float32, a row an axis, stored with the atoms."""
        path = self.path / by_metric("axes.npy", self.metric)
        if not path.exists():
            np.save(path, principal_axes(self.atoms, self.metric))
        axes: np.ndarray = np.load(path)
        return axes

    def scores(self, query: int, ids: np.ndarray) -> np.ndarray:
        """The float64 scores of some atoms for a query, of which the greatest are best."""
        return scores.exactly(self.metric, self.queries[query], self.atoms[ids])

    def reach(self, query: int, ids: np.ndarray) -> np.ndarray:
        """What float32 rounding of these scores is relative to."""
        length = float(np.linalg.norm(self.queries[query].astype(np.float64)))
        return scores.reach(self.metric, length, self.norms[ids])

    def first(self, n: int) -> DataSet:
        """The set of the first n atoms."""
        ids, best, norms = best_atoms(self.atoms[:n], self.queries, min(n, self.top_ids.shape[1]), self.metric)
        return replace(self, atoms=self.atoms[:n], norms=norms, top_ids=ids, top_scores=best)

    @property
    def n(self) -> int:
        return len(self.atoms)

    @property
    def d(self) -> int:
        return int(self.atoms.shape[1])


# Text


def factors(name: str, find: Callable[[], tuple[list[str], str]]) -> Made:
    """Coordinates of texts found on this machine. They are kept in a folder of this name, for the
    sets cut from them. Raises Absent."""
    folder = FOLDER / name
    if not (folder / "about.json").exists():
        texts, said = find()
        if len(texts) < FEWEST:
            raise Absent
        # Some held-out texts share no word with the atoms: have a few to spare.
        atoms, queries = lsa.analyse(texts, ATOMS, QUERIES + 64, SEED)
        said += "; sublinear tf-idf, randomised SVD, rows of norm 1"
        save(folder, {"from": said}, atoms=atoms, queries=queries)
    about = json.loads((folder / "about.json").read_text())
    return np.load(folder / "atoms.npy", mmap_mode="r"), np.load(folder / "queries.npy"), about


def text(name: str, find: Callable[[], tuple[list[str], str]], d: int) -> Made:
    """The first d coordinates of factors."""
    atoms, queries, about = factors(name, find)
    return unit(atoms[:, :d]), unit(queries[:, :d])[:QUERIES], about


def unit(x: np.ndarray) -> np.ndarray:
    """The nonzero rows of x, divided by their norms."""
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    keep = norms[:, 0] > 1e-6
    return x[keep] / norms[keep]


# Synthetic


def embeddings(n: int, d: int, decay: float, queries: int = QUERIES) -> Made:
    """Vectors like a text encoder's.

    In some basis, coordinate j has standard deviation proportional to j^-decay (real encoders:
    .53 to .66 measured on three; 0 is a flat spectrum). A vector is .4 of a direction common to
    all, plus, in shares .3, .3 and .4 of the remaining variance, its topic, its subtopic (20 to
    a topic) and itself, each Gaussian with those deviations. Topics are drawn with probability
    proportional to (rank + 10)^-.8. Norms are spread log-normally by 6%. Finally comes a
    Haar-random rotation. Queries are further vectors of the same distribution."""
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
    for lo in range(0, n + queries, 8192):  # in blocks, to limit memory
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
        raise Absent
    pixels = np.frombuffer(gzip.decompress(path.read_bytes()), np.uint8, offset=16).reshape(10000, 784)
    return held_out(pixels.astype(np.float32), QUERIES, "MNIST's 10,000 test images, values 0 to 255")


def ratings() -> np.ndarray:
    """MovieLens 1M, movies by users. What is missing is the movie's mean, with five average ratings
    added."""
    path = SHARED / "ml-1m" / "ratings.csv"
    if not path.exists():
        raise Absent
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
    filled: np.ndarray = np.where(np.isnan(rated), mean[:, None], rated)
    return filled


def movies() -> Made:
    said = "MovieLens 1M, movies by users; what is missing is the movie's mean, five average ratings added"
    return held_out(ratings(), 256, said)


def movie_factors(d: int) -> Made:
    return recommenders.factorised(ratings(), d, QUERIES)


def encoded(file: str, queries: int, said: str) -> Made:
    """Vectors that an encoder of text made."""
    path = SHARED / file
    if not path.exists():
        raise Absent
    return held_out(np.load(path).astype(np.float32), queries, said)


def first(name: str, n: int) -> Made:
    """The first atoms of another set, with its queries."""
    make(name)
    atoms = np.load(FOLDER / name / "atoms.npy", mmap_mode="r")
    return np.array(atoms[:n]), np.load(FOLDER / name / "queries.npy"), {"from": f"the first atoms of {name}"}


def held_out(x: np.ndarray, queries: int, said: str) -> Made:
    order = np.random.default_rng(SEED).permutation(len(x))
    return x[order[queries:]], x[order[:queries]], {"from": said}


# Making

SWEEP_ATOMS = 20000
MANY = 1_000_000

RECIPES: dict[str, Recipe] = {
    r.name: r
    for r in [
        Recipe("records768", partial(text, "records", corpus.records, 768)),
        Recipe("records1536", partial(text, "records", corpus.records, 1536)),
        Recipe("lsa768", partial(text, "lsa", corpus.documents, 768)),
        Recipe("lsa1536", partial(text, "lsa", corpus.documents, 1536)),
        Recipe("power768", partial(embeddings, 100000, 768, 0.6)),
        Recipe("flat1536", partial(embeddings, 100000, 1536, 0)),
        Recipe("power4096", partial(embeddings, 60000, 4096, 0.6)),
        Recipe("iid768", partial(gaussian, 60000, 768)),
        Recipe("mnist", mnist),
        Recipe("ml1m", movies),
        Recipe("ml1m-64", partial(movie_factors, 64)),
        Recipe("bert-590x768", partial(encoded, BERT, 128, "plots of films by BERT")),
        Recipe("mpnet-590x768", partial(encoded, MPNET, 128, "plots of films by MPNet")),
        Recipe(
            "sp500-439x1536", partial(encoded, SP500, 64, "descriptions of companies by a 1,536-dimensional encoder")
        ),
        Recipe("lsa768-10000", partial(first, "lsa768", 10000)),
        *(
            Recipe(f"power-{n}x{d}", partial(embeddings, n, d, 0.6, queries=512 if n < MANY else 256), best=best)
            for n, d, best in POWER
        ),
        *(Recipe(f"iid-{n}x{d}", partial(gaussian, n, d, queries=512)) for n, d in IID),
        *(
            Recipe(f"items-{d}{'-skewed' if skewed else ''}", partial(recommenders.factors, 100_000, d, skewed, 512))
            for d in ITEMS
            for skewed in (False, True)
        ),
        *(Recipe(f"tiny-{n}x{d}", partial(embeddings, n, d, 0.6)) for n, d in TINY),
        *(Recipe(f"sweep-{d}", partial(embeddings, SWEEP_ATOMS, d, 0.6)) for d in SWEEP_DIMS),
        Recipe("small-power", partial(embeddings, 5000, 256, 0.6, queries=512), best=100),
        *(
            Recipe(f"mix-{n}x{d}", partial(mixtures.mixture, n, d, 512 if d == 1536 else 1024, centres))
            for n, d, centres in MIXTURES
        ),
        *(Recipe(f"counts-{n}x{d}", partial(mixtures.counts, n, d, 256, SEED)) for n, d in COUNTS),
        Recipe("small-iid", partial(gaussian, 2000, 64, queries=512), best=100),
        Recipe("small-counts", partial(mixtures.counts, 2000, 256, 128, SEED), best=100),
    ]
}


def best_atoms(
    atoms: np.ndarray, queries: np.ndarray, k: int, metric: str = IP
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Ids and float64 scores of each query's k best atoms, best first, and the atoms' norms.

    Float32 products determine the candidates: all within twice the bound of their rounding error
    (scores.estimates) of the k-th best. Float64 scores decide."""
    n = len(atoms)
    norms = np.empty(n)
    for lo in range(0, n, 4096):
        norms[lo : lo + 4096] = np.linalg.norm(atoms[lo : lo + 4096].astype(np.float64), axis=1)
    ids, best = np.empty((len(queries), k), np.int32), np.empty((len(queries), k))
    for lo in range(0, len(queries), 256):
        some = queries[lo : lo + 256]
        estimates, rounding = scores.estimates(metric, some, atoms, norms)
        for j, row in enumerate(estimates, lo):
            near = np.flatnonzero(row >= np.partition(row, n - k)[n - k] - 2 * rounding[j - lo])
            exact = scores.exactly(metric, queries[j], atoms[near])
            order = np.lexsort((near, -exact))[:k]
            ids[j], best[j] = near[order], exact[order]
    return ids, best, norms


def principal_axes(atoms: np.ndarray, metric: str = IP) -> np.ndarray:
    """Eigenvectors of the second moment of some atoms, largest first: [d, d] float32, a row an axis,
    computed in float64. The atoms are taken as they are, for cosine scaled to norm 1, for l2 relative
    to their mean."""
    some = np.array(atoms[:: max(1, len(atoms) // SAMPLE)])
    if metric == "cosine":
        some = scores.normalised(some)
    elif metric == "l2":
        some -= some.mean(axis=0)
    axes = np.linalg.eigh((some.T @ some).astype(np.float64))[1]
    return np.ascontiguousarray(axes[:, ::-1].T, dtype=np.float32)


def by_metric(file: str, metric: str) -> str:
    """The name of a file that depends on the metric; that of inner products is plain."""
    stem, _, ending = file.partition(".")
    return file if metric == IP else f"{stem}-{metric}.{ending}"


def save(folder: Path, about: dict[str, Any], **arrays: np.ndarray) -> None:
    """Writes arrays, one a file, and last their description, which completes the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)
    (folder / "about.json").write_text(json.dumps(about, indent=1) + "\n")


def make(name: str, metric: str = IP) -> None:
    """Makes one set, with as many best atoms of each query as its recipe says, unless it is there.
    Raises Absent."""
    folder = FOLDER / name
    about = DataSet.about_of(name)
    recipe = RECIPES[name]
    began = time.perf_counter()
    if not about or about.get("best", 0) < min(recipe.best, about["atoms"]):
        atoms, queries, about = recipe.make()
        atoms, queries = (np.ascontiguousarray(x, dtype=np.float32) for x in (atoms, queries))
        best = min(recipe.best, len(atoms))
        ids, top, norms = best_atoms(atoms, queries, best)
        about |= {"best": best, "name": name, "atoms": len(atoms), "dimension": atoms.shape[1], "queries": len(queries)}
        about["norm_spread"] = float(norms.std() / norms.mean())
        folder.mkdir(parents=True, exist_ok=True)
        np.savez(folder / "top.npz", ids=ids, scores=top)
        save(folder, about, atoms=atoms, queries=queries, norms=norms)
        print(f"{name}: {len(atoms):,} x {atoms.shape[1]}, {time.perf_counter() - began:.0f} s", flush=True)
    path = folder / by_metric("top.npz", metric)
    if not path.exists() or np.load(path)["ids"].shape[1] < about["best"]:
        atoms, queries = np.load(folder / "atoms.npy", mmap_mode="r"), np.load(folder / "queries.npy")
        ids, top, _ = best_atoms(atoms, queries, about["best"], metric)
        np.savez(path, ids=ids, scores=top)
        print(f"{name}: the best by {metric}, {time.perf_counter() - began:.0f} s", flush=True)


if __name__ == "__main__":
    for wanted in sys.argv[1:]:
        named, _, of = wanted.partition(":")
        try:
            make(named, of or IP)
            DataSet.open(named, of or IP).basis()
        except Absent:
            print(f"{named}: not made, for want of {NEEDS[named]}", flush=True)
