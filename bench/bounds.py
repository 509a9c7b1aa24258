"""What share of the atoms deterministic bounds keep, by how much of each atom they read.

    python3 bench/bench.py --race records768:m=1:k=1,lsa768:m=1:k=1 --data   # makes the data
    bench/.venv/bin/python bench/bounds.py records768 lsa768

simulates looks of `certain` in float32, without thresher: a head of principal directions, the rest rotated at random,
and codes of the rest in so many bits. For k = 1, 10 and 100 it prints the share of the atoms, in per cent, whose upper
bound reaches the k-th best score of all atoms, and that of the 1,024 atoms of greatest norm (the first threshold).
"""

import sys
from pathlib import Path

import numpy as np

DATA = Path(__file__).parent / ".data"
QUERIES, SAMPLE, KS = 48, 16384, (1, 10, 100)


def levels(bits, random):
    """The 2^bits levels of least squared error for a standard normal variable, and the borders between them."""
    x = np.sort(random.standard_normal(200_000))
    level = np.quantile(x, (np.arange(2**bits) + 0.5) / 2**bits)
    for _ in range(200):
        border = (level[1:] + level[:-1]) / 2
        at = np.searchsorted(border, x)
        level = np.bincount(at, x, 2**bits) / np.maximum(1, np.bincount(at, minlength=2**bits))
    return level, (level[1:] + level[:-1]) / 2


def code(rest, bits, random):
    """The rests in so many bits a coordinate, at any scale."""
    if bits == 1:
        return np.where(rest >= 0, 1, -1).astype(np.float32)
    if bits == 8:
        return np.rint(rest / (np.abs(rest).max(1) / 127)[:, None])
    level, border = levels(bits, random)
    sigma = np.linalg.norm(rest, axis=1) / np.sqrt(rest.shape[1])
    return level[np.searchsorted(border, rest / np.maximum(sigma, 1e-30)[:, None])].astype(np.float32)


def split(x, axes, rotation, head):
    """The heads of vectors and their rotated rests."""
    return x @ axes[:, :head], x @ (axes[:, head:] @ rotation)


def kept(bound, thresholds):
    """The shares of the bounds that reach thresholds, in per cent."""
    return ", ".join(f"{100 * (bound >= t).mean():.3g}" for t in thresholds)


def simulate(name):
    random = np.random.default_rng(1)
    atoms = np.load(DATA / name / "atoms.npy").astype(np.float32)
    queries = np.load(DATA / name / "queries.npy", mmap_mode="r")[:QUERIES].astype(np.float32)
    scores = atoms @ queries.T
    first = np.argsort(-np.linalg.norm(atoms, axis=1), kind="stable")[:1024]
    thresholds = [[-np.sort(-s, axis=0)[k - 1] for s in (scores, scores[first])] for k in KS]
    some = atoms[random.choice(len(atoms), min(8192, len(atoms)), replace=False)].astype(np.float64)
    axes = np.linalg.eigh(some.T @ some)[1][:, ::-1].astype(np.float32)
    sample = atoms[random.choice(len(atoms), min(SAMPLE, len(atoms)), replace=False)]
    print(f"\n{name}, {len(atoms):,} x {atoms.shape[1]}\n")
    print("| head | look | bytes |" + "".join(f" k = {k}: final, first |" for k in KS) + "\n|" + "---|" * (3 + len(KS)))

    def row(head, look, size, bound):
        shares = " | ".join(kept(bound, both) for both in thresholds)
        print(f"| {head} | {look} | {size:.0f} | {shares} |", flush=True)

    for head in (32, 64, 128):
        width = atoms.shape[1] - head
        if width < 32:
            continue
        rotation = np.linalg.qr(random.standard_normal((width, width)))[0].astype(np.float32)
        heads, rest = split(sample, axes, rotation, head)
        query, beside = split(queries, axes, rotation, head)
        known, far = heads @ query.T, np.linalg.norm(beside, axis=1)
        sizes = np.linalg.norm(rest, axis=1)[:, None] * far
        for prefix in (32, 64, 128):
            if prefix >= width:
                continue
            others, w = rest[:, prefix:], beside[:, prefix:]
            bound = known + rest[:, :prefix] @ beside[:, :prefix].T + 0.012 * np.sqrt(prefix / width) * sizes
            norm, farther = np.linalg.norm(others, axis=1), np.linalg.norm(w, axis=1)
            row(head, f"{prefix} int8", head + prefix, bound + norm[:, None] * farther)
            if head == 32 and prefix == 128:
                step = np.abs(others).mean(1)
                error = np.sqrt(np.maximum(0, norm**2 - step**2 * others.shape[1]))
                bound += step[:, None] * (np.sign(others) @ w.T) + error[:, None] * farther
                row(head, "128 int8, signs of the others", head + prefix + (width - prefix) / 8, bound)
        for bits in (1, 2, 4, 8):
            x = code(rest, bits, random)
            squares = (x * x).sum(1)
            step = (x * rest).sum(1) / squares
            error = np.sqrt(np.maximum(0, (rest * rest).sum(1) - step**2 * squares))
            bound = known + step[:, None] * (x @ beside.T) + error[:, None] * far
            bound += (0.0065 if bits < 8 else 0.0001) * sizes
            row(head, f"{bits} bits of all" if bits > 1 else "signs of all", head + width * bits / 8, bound)


if __name__ == "__main__":
    for name in sys.argv[1:] or ["records768", "lsa768", "power768", "mnist", "items-64"]:
        simulate(name)
