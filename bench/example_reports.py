"""The example reports of docs/reports: answers of HNSW indexes (FAISS) to queries of three kinds, and the pages that
`thresher report` makes of them. Each command is printed as docs/report.md shows it.

    python3 bench/example_reports.py --mnist FOLDER --movielens FOLDER --out docs/reports

`text` is the comments of this repository as vectors of latent semantic analysis. FOLDER of --mnist has
t10k-images-idx3-ubyte.gz; that of --movielens has ml-100k's u.data and u.item. Its licence does not allow passing the
titles on, so that a page with them (--titles) is for whoever has the data. Sets without a folder are left out."""

from __future__ import annotations

import argparse
import gzip
import random
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import corpus
import lsa

ROOT = Path(__file__).resolve().parent.parent
LEAST = 60  # letters of a comment


def table(path: Path, vectors: np.ndarray, texts: list[str]) -> None:
    values = pa.array(vectors.ravel())
    column = pa.FixedSizeListArray.from_arrays(values, vectors.shape[1])
    pq.write_table(pa.table({"vector": column, "text": texts}), path)


def index(vectors: np.ndarray, queries: np.ndarray, metric: str, effort: int, out: Path) -> None:
    """Answers of an HNSW index, with the seconds that they took."""
    import faiss

    kind = faiss.METRIC_L2 if metric == "l2" else faiss.METRIC_INNER_PRODUCT
    if metric == "cosine":
        vectors, queries = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (vectors, queries))
    hnsw = faiss.IndexHNSWFlat(vectors.shape[1], 16, kind)
    hnsw.add(np.ascontiguousarray(vectors, np.float32))
    for ef in (effort, 4 * effort):
        hnsw.hnsw.efSearch = ef
        begun = time.perf_counter()
        _, ids = hnsw.search(np.ascontiguousarray(queries, np.float32), 10)
        np.savez(out.with_name(f"{out.name}-ef{ef}.npz"), ids=ids, seconds=time.perf_counter() - begun)


def text(folder: Path) -> list[str]:
    comments = sorted({" ".join(c.split()) for file in corpus.go_comments(ROOT) for c in file})
    comments = [c for c in comments if len(c) >= LEAST and not corpus.NOT_PROSE.search(c)]
    vectors, queries = lsa.analyse(comments, len(comments), 500, 1, 256)
    shuffled = comments.copy()
    random.Random(1).shuffle(shuffled)  # as lsa.analyse does
    table(folder / "comments.parquet", vectors, shuffled[500:])
    table(folder / "asked.parquet", queries, shuffled[:500])
    index(vectors, queries, "cosine", 8, folder / "hnsw")
    return ["--vectors", "comments.parquet", "--queries", "asked.parquet", "--metric", "cosine", "--show", "text"]


def mnist(folder: Path, source: Path) -> list[str]:
    with gzip.open(source / "t10k-images-idx3-ubyte.gz") as f:
        images = np.frombuffer(f.read()[16:], np.uint8).reshape(-1, 784)
    np.save(folder / "digits.npy", images[:9000])
    np.save(folder / "asked.npy", images[9000:])
    index(images[:9000].astype(np.float32), images[9000:].astype(np.float32), "l2", 8, folder / "hnsw")
    return ["--vectors", "digits.npy", "--queries", "asked.npy", "--metric", "l2", "--pixels", "28x28"]


def movielens(folder: Path, source: Path, shown: bool) -> list[str]:
    from scipy.sparse import csr_matrix
    from scipy.sparse.linalg import svds

    users, films, ratings = np.loadtxt(source / "u.data", dtype=np.int64, usecols=(0, 1, 2)).T
    given = csr_matrix((ratings.astype(np.float64), (users - 1, films - 1)))
    left, values, right = svds(given, k=64, random_state=1)
    with open(source / "u.item", encoding="latin-1") as f:
        titles = [line.split("|")[1] for line in f]
    films_of = np.ascontiguousarray(right.T, np.float32)
    users_of = np.ascontiguousarray(left * values, np.float32)
    np.save(folder / "users.npy", users_of)
    index(films_of, users_of, "ip", 8, folder / "hnsw")
    asked = ["--queries", "users.npy", "--metric", "ip"]
    if not shown:
        np.save(folder / "films.npy", films_of)
        return ["--vectors", "films.npy", *asked]
    table(folder / "films.parquet", films_of, titles)
    return ["--vectors", "films.parquet", *asked, "--show", "text"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--thresher", default=str(ROOT / "build/thresher"), help="the program")
    parser.add_argument("--mnist", type=Path, help="folder of MNIST's test images")
    parser.add_argument("--movielens", type=Path, help="folder of ml-100k")
    parser.add_argument("--titles", action="store_true", help="show the titles of films")
    parser.add_argument("--out", type=Path, required=True, help="folder of the pages")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    sets = {"text": lambda folder: text(folder)}
    if given.mnist:
        sets["digits"] = lambda folder: mnist(folder, given.mnist)
    if given.movielens:
        sets["films"] = lambda folder: movielens(folder, given.movielens, given.titles)
    for name, make in sets.items():
        with tempfile.TemporaryDirectory() as folder:
            arguments = make(Path(folder))
            answers = ",".join(sorted((p.name for p in Path(folder).glob("hnsw-*.npz")), key=len))
            command = ["report", *arguments, "--answers", answers, "--out", f"{name}.html"]
            print("thresher", *command, flush=True)
            subprocess.run([given.thresher, *command], cwd=folder, check=True)
            (given.out / f"{name}.html").write_bytes((Path(folder) / f"{name}.html").read_bytes())


if __name__ == "__main__":
    main()
