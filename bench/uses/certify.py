"""Certifies the answers of HNSW, inverted lists and ScaNN, and searches without them, in turns."""

from __future__ import annotations

import importlib.util
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from inputs import Input
from oracle import Scorer, best, different, found
from processes import rival, thresher
from results import Log, rounded

K = 10
RECALLS = (0.8, 0.95, 0.99)
EFS = [10, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 512]
PROBES = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64]
# Indexes by size: links of HNSW, lists, leaves. Small sets get poor indexes, so that their answers
# have something to correct.
INDEXES = {10000: (16, 256, 250), 2000: (8, 64, 64), 0: (4, 16, 16)}


@dataclass(frozen=True)
class Others:
    """Answers of one index at one setting, in a file as its users write them."""

    index: str
    setting: str
    file: Path
    ids: np.ndarray  # [queries, K]


def certify(data: Input, log: Log, rounds: int) -> None:
    if log.has(kind="certify", set=data.name):
        return
    atoms, queries = data.rows()
    scorer = Scorer.of(np.asarray(atoms), data.metric)
    right = best(scorer, queries, K)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = [*indexed(data, folder, right[0]), *bounds(folder, right[0], len(atoms))]
        turns = race(data, folder, files, rounds)
        log.append(rounded({"kind": "set"} | data.shape()))
        for of in files:
            record = {"kind": "certify", "set": data.name, "k": K, "index": of.index, "setting": of.setting}
            record |= before(data, of, scorer, right[1])
            record |= after(folder / f"{of.file.stem}-proven.npz", scorer, queries, right[1])
            record |= timed(turns[of.file.stem], turns[""])
            log.append(rounded(record))
            print({f: record[f] for f in ("set", "index", "setting", "recall", "ratio", "different")}, flush=True)


def indexed(data: Input, folder: Path, right: np.ndarray) -> list[Others]:
    """The answers of each index at the settings whose recalls are nearest to RECALLS; right are the ids
    of the best atoms."""
    atoms, _ = data.rows()
    links, lists, leaves = next(v for n, v in INDEXES.items() if len(atoms) > n)
    best_ids = folder / "right.npy"
    np.save(best_ids, right)
    same: dict[str, Any] = {"atoms": str(data.atoms), "queries": str(data.queries), "metric": data.metric}
    same |= {"right": str(best_ids), "recalls": RECALLS}
    made_by: dict[str, tuple[str, str, str, dict[str, Any]]] = {
        "hnsw": ("hnswlib", f"hnswlib, M = {links}", "ef", {"links": links, "settings": EFS}),
        "ivf": ("faiss", f"FAISS IVF{lists},Flat", "nprobe", {"lists": lists, "settings": PROBES}),
        "scann": ("scann", f"ScaNN, {leaves} leaves", "leaves", {"leaves": leaves, "settings": PROBES}),
    }
    files = []
    for name, (package, said, word, own) in made_by.items():
        if importlib.util.find_spec(package) is None:
            print(f"{package} is not installed", flush=True)
            continue
        _, arrays = rival(name, folder, **same, **own)
        for setting in (n.removeprefix("ids") for n in arrays if n.startswith("ids")):
            ids = arrays[f"ids{setting}"].astype(np.int64)
            file = folder / f"{name}{setting}.npz"
            save(name, file, data.metric, ids, arrays[f"scores{setting}"])
            files.append(Others(said, f"{word} = {setting}", file, ids))
    return files


def save(index: str, file: Path, metric: str, ids: np.ndarray, scores: np.ndarray) -> None:
    """Writes answers under the names that users of the index give them."""
    if index == "hnsw":
        np.savez(file, labels=ids, distances=scores)
    elif index == "ivf":
        np.savez(file, I=ids, D=scores)
    elif metric == "l2":
        np.savez(file, neighbors=ids, distances=scores)
    else:
        np.savez(file, neighbors=ids, scores=scores)


def bounds(folder: Path, right: np.ndarray, atoms: int) -> list[Others]:
    """The best and the worst candidates there are: the right answers, and ids drawn at random."""
    drawn = np.random.default_rng(1).integers(atoms, size=right.shape)
    of = {"the right answers": right, "ids drawn at random": drawn}
    files = []
    for number, (said, ids) in enumerate(of.items()):
        file = folder / f"bound{number}.npz"
        np.savez(file, ids=ids)
        files.append(Others(said, "", file, ids))
    return files


def race(data: Input, folder: Path, files: list[Others], rounds: int) -> dict[str, list[dict[str, Any]]]:
    """Runs of certify by file, and of search under the empty name. A search starts each round and
    another follows the first half of the files, so that each file is near one."""
    turns: dict[str, list[dict[str, Any]]] = {"": [], **{f.file.stem: [] for f in files}}
    method: list[str | int] = ["--method", "certain", "-k", K, "--force"]
    for number in range(rounds):
        order = files[number % len(files) :] + files[: number % len(files)]
        for place, of in enumerate(order):
            if place in (0, len(order) // 2):
                done = thresher("search", *data.files(), *method, "--out", folder / "search.npz")
                turns[""].append(done.report | {"wall": done.wall, "round": number})
            proven = folder / f"{of.file.stem}-proven.npz"
            done = thresher("certify", *data.files(), *method, "--answers", of.file, "--out", proven)
            turns[of.file.stem].append(done.report | {"wall": done.wall, "search": len(turns[""]) - 1})
    return turns


def timed(runs: list[dict[str, Any]], searches: list[dict[str, Any]]) -> dict[str, Any]:
    """Medians over the rounds; a ratio is taken to the search before."""

    def ratio(field: str) -> list[float]:
        return [r[field] / searches[r["search"]][field] for r in runs]

    return {
        "ratio": median(ratio("search_seconds")),
        "ratio_range": [min(ratio("search_seconds")), max(ratio("search_seconds"))],
        "ratio_wall": median(ratio("wall")),
        "certify_seconds": median(r["search_seconds"] for r in runs),
        "search_seconds": median(r["search_seconds"] for r in searches),
        "certify_wall": median(r["wall"] for r in runs),
        "search_wall": median(r["wall"] for r in searches),
        "build_seconds": median(r["build_seconds"] for r in runs),
        "rounds": len(runs),
        "right": runs[-1]["certified"]["right"],
        "corrected": runs[-1]["certified"]["compared"] - runs[-1]["certified"]["right"],
        "missing": runs[-1]["certified"]["missed"],
        "compared": runs[-1]["certified"]["compared"],
    }


def before(data: Input, of: Others, scorer: Scorer, right: np.ndarray) -> dict[str, Any]:
    """Recall by thresher and by numpy, and how many ids the answers lack."""
    report = thresher("recall", *data.files(), "--answers", of.file, "-k", K).report
    _, queries = data.rows()
    counts = found(scorer, queries, of.ids, right)
    return {
        "recall": report["recall"],
        "recall_numpy": float(counts.mean() / K),
        "missing_numpy": int(K * len(counts) - counts.sum()),
        "right_numpy": int(np.sum(counts == K)),
        "scores_stated": report.get("scores", {}).get("stated", 0),
        "scores_wrong": report.get("scores", {}).get("wrong", 0),
    }


def after(proven: Path, scorer: Scorer, queries: np.ndarray, right: np.ndarray) -> dict[str, Any]:
    """How many proven answers differ from the float64 oracle's."""
    with np.load(proven) as arrays:
        return {"different": different(scorer, queries, arrays["ids"], right)}
