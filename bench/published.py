"""What the published methods read of real vectors, by their options: the table of docs/guarantee.md.

    go build -o build/thresher ./cmd/thresher
    bench/.venv/bin/python bench/published.py [SET ..]

Sets are MNIST's test images, its pixels as vectors, two sets of embeddings, and ratings of MovieLens 1M as a
factor model predicts them; of each 20 rows are drawn as queries. A set whose files are not in ../shared/data is
left out, and the program says so. Printed is by what factor fewer coordinates are read than by a dense scan,
below 1 for more, and how many of the answers are wrong, by float64 scores of all vectors.
"""

import gzip
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

DATA = Path(__file__).parent.parent.parent / "shared" / "data"
PROGRAM = Path(__file__).parent.parent / "build" / "thresher"
QUERIES, GAP = 20, 0.05  # of boundedme: the allowed gap, as a share of the median of the best scores

CASES = [
    ("banditmips", []),
    ("banditmips", ["--sigma", "bernstein"]),
    ("banditmips", ["--sigma", "data"]),
    ("banditmips", ["--sigma", "data", "--sampling", "with_replacement"]),
    ("banditmips-alpha", ["--sigma", "data"]),
    ("banditmips-beta", []),
    ("banditmips-beta", ["--sigma", "bernstein"]),
    ("banditmips-beta", ["--sigma", "data"]),
    ("bucket-ae", ["--sigma", "data"]),
    ("boundedme", []),
    ("adaptive", []),
    ("certain", []),
]


def images():
    """The test images of MNIST (10,000, 784)."""
    with gzip.open(DATA / "mnist-t10k" / "t10k-images-idx3-ubyte.gz") as f:
        return np.frombuffer(f.read()[16:], np.uint8).reshape(-1, 784).astype(np.float32)


def ratings(factors=20, damping=10.0, rounds=6):
    """Ratings that a factor model predicts (films, users): biases, and alternating least squares on the rest."""
    table = np.loadtxt(DATA / "ml-1m" / "ratings.csv", delimiter=",", usecols=(0, 1, 2), skiprows=1)
    user, film = (np.unique(table[:, column], return_inverse=True)[1] for column in (0, 1))
    given = np.zeros((film.max() + 1, user.max() + 1), np.float32)
    known = np.zeros(given.shape, bool)
    given[film, user], known[film, user] = table[:, 2], True
    mean = table[:, 2].mean()
    films = ((given - mean) * known).sum(1) / (known.sum(1) + 5)
    users = ((given - mean - films[:, None]) * known).sum(0) / (known.sum(0) + 5)
    base = mean + films[:, None] + users
    rest = (given - base) * known
    random = np.random.default_rng(1)
    a, b = (0.1 * random.standard_normal((size, factors)) for size in given.shape)
    for _ in range(rounds):
        for rows, others, values, mask in ((a, b, rest, known), (b, a, rest.T, known.T)):
            for i, w in enumerate(mask):
                if w.any():
                    s = others[w]
                    rows[i] = np.linalg.solve(s.T @ s + damping * np.eye(factors), s.T @ values[i][w])
    return np.clip(base + a @ b.T, 1, 5).astype(np.float32)


SETS = {
    "images": lambda: images()[:2020],
    "pixels": lambda: images().T[images().max(0) > 0],
    "sp500": lambda: np.load(DATA / "sp500-embeddings" / "embeddings.npy"),
    "films": lambda: np.load(DATA / "bert-mpnet-movies" / "mpnet_embeddings.npy"),
    "ratings": ratings,
}


def measure(vectors, queries, method, options, folder):
    """By what factor fewer coordinates are read, the wrong answers, and the guarantee."""
    scores = queries.astype(np.float64) @ vectors.astype(np.float64).T
    best = scores.max(1)
    gap = GAP * np.median(best) if method == "boundedme" else 0
    files = ["--vectors", folder / "v.npy", "--queries", folder / "q.npy", "--out", folder / "a.npz"]
    wanted = ["--metric", "ip", "-k", "1", "--method", method, "--epsilon", repr(float(gap)), "--json", "--overwrite"]
    command = [PROGRAM, "search", *files, *wanted, *options]
    said = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    ids = np.load(folder / "a.npz")["ids"].reshape(len(queries))
    wrong = scores[np.arange(len(queries)), ids] < best - gap - 1e-6 * np.abs(best)
    return said["saving"], int(wrong.sum()), said["guarantee"]


def main():
    for name in sys.argv[1:] or SETS:
        try:
            rows = np.ascontiguousarray(SETS[name](), dtype=np.float32)
        except OSError as error:
            print(f"{name}: left out: {error}")
            continue
        rows = rows[np.random.default_rng(5).permutation(len(rows))]
        queries, vectors = rows[:QUERIES], rows[QUERIES:]
        with tempfile.TemporaryDirectory() as folder:
            folder = Path(folder)
            np.save(folder / "v.npy", vectors)
            np.save(folder / "q.npy", queries)
            for method, options in CASES:
                saving, wrong, guarantee = measure(vectors, queries, method, options, folder)
                size = "{} x {}".format(*vectors.shape)
                how = " ".join([method, *options])
                print(f"{name} {size}\t{how}\t{saving:.2f}\t{wrong} of {QUERIES} wrong\t{guarantee}", flush=True)


if __name__ == "__main__":
    main()
