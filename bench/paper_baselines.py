"""Two baselines of the papers' figures that libraries of Python have: HNSW-MIPS and NEQ-MIPS.

    python3 bench/paper_baselines.py OUT/banditmips-3 ...

reads every POINT.npz that `thresher paper run --out OUT` left in a figure's folder (float32 arrays
vectors and queries, and about.json), and writes python.csv there, a table like the figure's own
points.csv. `thresher paper run ID --out OUT --resume` then draws its lines. Needs numpy and FAISS
(requirements.txt).

HNSW-MIPS is ip-NSW (Morozov and Babenko, NeurIPS 2018): a small-world graph by inner products,
FAISS's IndexHNSWFlat. A query takes d multiplications for each product that FAISS counts. It counts
none while building, so that column is 0 and the time of building says it.

NEQ-MIPS is norm-explicit quantization (Dai and others, AAAI 2020, arXiv 1911.04654): directions by a
product quantizer, relative norms by a codebook of their own, no re-ranking. A query takes
codewords x d multiplications for its tables and codebooks + 1 for each atom: the papers count these."""

from __future__ import annotations

import csv
import json
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import faiss
import numpy as np

TABLE = "python.csv"
HNSW, NEQ = "HNSW-MIPS", "NEQ-MIPS"

# Settings: M 4 to 32 and ef 2 to 500, codebooks and codewords up to 100 (arXiv 2212.07551, appendix 10). FAISS's
# quantizer has powers of two as codewords.
LINKS = (4, 8, 16, 32)
CONSTRUCTION = 500
BREADTHS = (2, 5, 10, 20, 50, 100, 200, 500)
CODEBOOKS = (1, 2, 4, 10, 20, 50, 100)
CODEWORD_BITS = (1, 2, 3, 4, 5, 6)

SEED = 20240614

Row = dict[str, Any]
Wanted = Callable[[str, str], bool]  # whether the rows of an algorithm at a setting are wanted


class Truth:
    """The exact scores of all queries, in float64."""

    def __init__(self, vectors: np.ndarray, queries: np.ndarray) -> None:
        self.scores = queries.astype(np.float64) @ vectors.astype(np.float64).T
        self.descending = -np.sort(-self.scores, axis=1)
        # what rounding can change of a score: an atom with the same score may stand for another
        sizes = np.abs(queries.astype(np.float64)) @ np.abs(vectors.astype(np.float64)).T
        self.rounding = sizes.max(axis=1) * vectors.shape[1] * 2.0**-52

    def right(self, query: int, ids: np.ndarray, k: int) -> int:
        """Return how many of the first k ids are among the k best; ids below 0 are none."""
        ids = ids[:k][ids[:k] >= 0]
        return int((self.scores[query, ids] >= self.descending[query, k - 1] - self.rounding[query]).sum())


def summary(truth: Truth, answers: list[np.ndarray], k: int, multiplications: list[float], walls: list[float]) -> Row:
    """Return the columns that depend on the answers to all queries, for one k."""
    right = [truth.right(q, ids, k) for q, ids in enumerate(answers)]
    n, m, mean = truth.scores.shape[1], len(answers), float(np.mean(multiplications))
    return {
        "n": n, "k": k, "draws": 1, "answers": m, "wrong": sum(r < k for r in right), "precision": sum(right) / (k * m),
        "multiplications": mean, "multiplications_sd": float(np.std(multiplications, ddof=1)) if m > 1 else 0.0,
        "wall_ns": int(np.median(walls) * 1e9),
    }  # fmt: skip


def everything(algorithm: str, setting: str) -> bool:
    return True


def hnsw(
    vectors: np.ndarray, queries: np.ndarray, ks: list[int], truth: Truth, wanted: Wanted = everything
) -> Iterator[Row]:
    """Yield a row for each number of links, breadth of search and k."""
    d = vectors.shape[1]
    stats: Any = faiss.cvar.hnsw_stats  # type: ignore[attr-defined]
    for links in LINKS:
        breadths = [b for b in BREADTHS if wanted(HNSW, f"M {links}, ef {b}")]
        if not breadths:
            continue
        began = time.perf_counter()
        index = faiss.IndexHNSWFlat(d, links, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = CONSTRUCTION
        index.add(vectors)
        built = time.perf_counter() - began
        for breadth in breadths:
            for k in ks:  # FAISS searches at least as broadly as k
                index.hnsw.efSearch = breadth
                answers, products, walls = [], [], []
                for query in queries:
                    stats.reset()
                    began = time.perf_counter()
                    _, ids = index.search(query[None], k)
                    walls.append(time.perf_counter() - began)
                    answers.append(ids[0])
                    products.append(float(stats.ndis * d))
                yield summary(truth, answers, k, products, walls) | {
                    "algorithm": HNSW, "setting": f"M {links}, ef {breadth}", "build_wall_ns": int(built * 1e9),
                }  # fmt: skip


class Quantized:
    """Vectors as norm-explicit quantization stores them."""

    def __init__(self, vectors: np.ndarray, codebooks: int, bits: int) -> None:
        n, d = vectors.shape
        self.d, self.width = d, -(-d // codebooks) * codebooks  # padded with zeros to a multiple
        norms = np.linalg.norm(vectors.astype(np.float64), axis=1)
        directions = self.padded((vectors / np.maximum(norms, np.finfo(np.float32).tiny)[:, None]).astype(np.float32))
        quantizer = faiss.ProductQuantizer(self.width, codebooks, bits)
        quantizer.cp.seed, quantizer.cp.min_points_per_centroid = SEED, 1
        quantizer.train(directions)
        unpacked = faiss.unpack_bitstrings(quantizer.compute_codes(directions), codebooks, bits)
        self.codes = unpacked.astype(np.int64)
        centroids = faiss.vector_to_array(quantizer.centroids)
        self.centroids = centroids.reshape(codebooks, 1 << bits, self.width // codebooks)
        self.books = np.arange(codebooks)
        # The norm that is kept is relative to that of the quantized direction, as the paper has it.
        stored = self.centroids[self.books, self.codes].reshape(n, self.width)
        lengths = np.linalg.norm(stored.astype(np.float64), axis=1)
        relative = (norms / np.maximum(lengths, np.finfo(np.float32).tiny)).astype(np.float32)[:, None]
        means = faiss.Kmeans(1, min(1 << bits, n), seed=SEED, min_points_per_centroid=1)
        means.train(relative)
        assert means.centroids is not None
        self.norms = means.centroids[means.index.search(relative, 1)[1][:, 0], 0]

    def padded(self, rows: np.ndarray) -> np.ndarray:
        return np.pad(rows, ((0, 0), (0, self.width - self.d)))

    def scores(self, query: np.ndarray) -> np.ndarray:
        parts = self.padded(query[None]).reshape(len(self.books), -1)
        tables = np.einsum("bwj,bj->bw", self.centroids, parts)
        return self.norms * tables[self.books, self.codes].sum(axis=1)

    def multiplications(self) -> int:
        return self.centroids.shape[1] * self.d + len(self.codes) * (len(self.books) + 1)

    def preprocessing(self) -> int:
        """Return the norms and the assignments to codewords, once: iterations of k-means are not counted."""
        n = len(self.codes)
        return n * self.d + n * self.centroids.shape[1] * self.d


def neq(
    vectors: np.ndarray, queries: np.ndarray, ks: list[int], truth: Truth, wanted: Wanted = everything
) -> Iterator[Row]:
    """Yield a row for each number of codebooks and of codewords, and each k."""
    n, d = vectors.shape
    for codebooks in CODEBOOKS:
        for bits in CODEWORD_BITS:
            setting = f"codebooks {codebooks}, codewords {1 << bits}"
            if 1 << bits > n or codebooks > d or not wanted(NEQ, setting):
                continue
            began = time.perf_counter()
            quantized = Quantized(vectors, codebooks, bits)
            built = time.perf_counter() - began
            answers, walls = [], []
            for query in queries:
                began = time.perf_counter()
                answers.append(np.argsort(-quantized.scores(query), kind="stable"))
                walls.append(time.perf_counter() - began)
            for k in ks:
                yield summary(truth, answers, k, [float(quantized.multiplications())] * len(queries), walls) | {
                    "algorithm": NEQ, "setting": setting,
                    "preprocessing": float(quantized.preprocessing()), "build_wall_ns": int(built * 1e9),
                }  # fmt: skip


def rows(path: Path) -> tuple[list[str], list[Row]]:
    """Return the columns that a file asks for, and its rows."""
    with zipfile.ZipFile(path) as archive:
        about = json.loads(archive.read("about.json"))
    with np.load(path) as arrays:
        vectors, queries = arrays["vectors"], arrays["queries"]
    if vectors.ndim != 2 or queries.ndim != 2 or vectors.shape[1] != queries.shape[1]:
        raise ValueError(f"{path}: vectors are {vectors.shape}, queries {queries.shape}")
    truth = Truth(vectors, queries)
    common = {"point": about["point"], "panel": about["panel"], "data": about["data"], "d": vectors.shape[1]}
    settings = about.get("settings")

    def wanted(algorithm: str, setting: str) -> bool:
        return settings is None or setting in settings.get(algorithm, [])

    out = []
    for method in (hnsw, neq):
        for row in method(vectors, queries, about["k"], truth, wanted):
            if about["x"] == "d":
                place = {"x": vectors.shape[1], "y": row["multiplications"]}
            else:
                place = {"x": vectors.size / row["multiplications"], "y": row["precision"]}
            out.append(row | common | place)
    return about["columns"], out


# Columns of text; the others are numbers.
TEXT = {"point", "panel", "algorithm", "variant", "data", "setting"}


def write(folder: Path) -> None:
    """Compute a folder's table."""
    files = sorted(folder.glob("*.npz"))
    if not files:
        raise FileNotFoundError(f"{folder} has no npz file, which thresher paper run leaves for figures of BanditMIPS")
    columns: list[str] = []
    table: list[Row] = []
    for path in files:
        columns, found = rows(path)
        unknown = {name for row in found for name in row} - set(columns)
        if unknown:
            raise ValueError(f"{path}: about.json has no columns {sorted(unknown)}")
        table += found
        print(f"{path}: {len(found)} rows", flush=True)
    part = folder / (TABLE + ".part")
    with part.open("w", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(columns)
        for row in table:
            out.writerow([row.get(name, "" if name in TEXT else 0) for name in columns])
    part.replace(folder / TABLE)


def main() -> None:
    faiss.omp_set_num_threads(1)  # times are of one core
    folders = sys.argv[1:]
    if not folders or folders[0].startswith("-"):
        sys.exit(__doc__)
    for name in folders:
        write(Path(name))


if __name__ == "__main__":
    main()
