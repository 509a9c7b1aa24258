"""Whole processes: thresher search beside a Python process that calls faiss.knn, from the same .npy
files to a file of answers, each on all cores, in turns."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import environment
import exact_race
from data import FOLDER, embeddings, save
from results import Log, rounded

THRESHER = environment.BUILD / "thresher"
K = 10
ROUNDS = 3
METRICS = ("ip", "l2")
NAME = "processes"  # of the results
FULL, SMALL = (100_000, 768, 10_000), (2000, 64, 100)  # atoms, dimension, queries
FOUND = 0.99  # least share of FAISS's answers in thresher's, whose delta is .01
FAISS = """
import sys, numpy as np, faiss
atoms, queries, metric, k, out = sys.argv[1:]
kind = faiss.METRIC_L2 if metric == "l2" else faiss.METRIC_INNER_PRODUCT
scores, ids = faiss.knn(np.load(queries), np.load(atoms), int(k), metric=kind)
np.savez(out, ids=ids, scores=scores)
"""


def build() -> None:
    environment.BUILD.mkdir(exist_ok=True)
    environment.go("build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", THRESHER, "./cmd/thresher")


def files(n: int, d: int, m: int) -> Path:
    """A folder with atoms.npy and queries.npy, made if it is missing."""
    folder = FOLDER / f"{NAME}-{n}x{d}"
    if not (folder / "about.json").exists():
        atoms, queries, about = embeddings(n, d, 0.6, queries=m)
        save(folder, about, atoms=atoms, queries=queries)
    return folder


def path(results: Path) -> Path:
    return exact_race.folder(results) / f"{NAME}.jsonl"


def forget(results: Path) -> None:
    path(results).unlink(missing_ok=True)


def run(results: Path, command: str, small: bool = False, metrics: tuple[str, ...] = METRICS) -> bool:
    """The missing results. Returns False if answers differ from FAISS's by more than delta allows."""
    n, d, m = SMALL if small else FULL
    folder = files(n, d, m)
    log = Log(exact_race.folder(results), NAME, exact_race.facts(THRESHER), environment.commit(), command)
    right = True
    for metric in metrics:
        cell = {"set": f"power-{n}x{d}", "metric": metric, "n": n, "d": d, "m": m, "k": K}
        if not log.has(kind="process", **cell):
            found = measure(folder, metric, 1 if small else ROUNDS)
            log.append(rounded({"kind": "process"} | cell | found))
            print(f"process {metric} {found['ratio']:.3g} x faiss.knn", flush=True)
    for r in log.records:
        if r["kind"] == "process" and r["recall"] < FOUND:
            print(f"WRONG ANSWERS: {r}", flush=True)
            right = False
    return right


def measure(folder: Path, metric: str, rounds: int) -> dict[str, Any]:
    """Seconds of both processes, round by round, after one that warms the page cache."""
    atoms, queries = folder / "atoms.npy", folder / "queries.npy"
    with tempfile.TemporaryDirectory() as out:
        answers = {name: Path(out) / f"{name}.npz" for name in ("thresher", "faiss.knn")}
        search: list[str | Path] = [THRESHER, "search", "--atoms", atoms, "--queries", queries, "--metric", metric]
        commands: dict[str, list[str | Path]] = {
            "thresher": [*search, "-k", str(K), "--force", "--out", answers["thresher"]],
            "faiss.knn": [sys.executable, "-c", FAISS, atoms, queries, metric, str(K), answers["faiss.knn"]],
        }
        seconds: dict[str, list[float]] = {name: [] for name in commands}
        for r in range(rounds + 1):
            for name in sorted(commands, reverse=bool(r % 2)):
                took = once(commands[name])
                if r or rounds == 1:
                    seconds[name].append(took)
        ids = {name: np.load(path)["ids"] for name, path in answers.items()}
    same = [len(np.intersect1d(a, b)) / K for a, b in zip(ids["thresher"], ids["faiss.knn"], strict=True)]
    ratio = median(f / t for f, t in zip(seconds["faiss.knn"], seconds["thresher"], strict=True))
    return {"seconds": seconds, "ratio": ratio, "recall": float(np.mean(same))}


def once(command: list[str | Path]) -> float:
    """Seconds from the start of a process to its end, on all cores."""
    began = time.perf_counter()
    subprocess.run(
        command,
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment.all_threads(),
        preexec_fn=lambda: environment.pin(0, len(environment.CORES)),
    )
    return time.perf_counter() - began
