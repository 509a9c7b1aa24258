"""Indexes that trade recall for time, on the same data in the same turns: HNSW,
inverted lists, and 8-bit scalar quantisation with exact re-ranking."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import faiss
import numpy as np

from check import recall
from contestants import Racer, Thresher
from data import DataSet
from race import take_turns

try:
    import hnswlib
except ModuleNotFoundError:  # there was no C++ compiler to install it with
    hnswlib = None

BATCHES = (1, 256)
EFS = (10, 16, 32, 64, 128, 256, 512, 1024, 2048)


class Peer:
    """An index at one setting. search returns ids [m, k]."""

    def __init__(self, name: str, queries: np.ndarray, search: Callable[[np.ndarray, int], np.ndarray]) -> None:
        self.name, self.queries, self.search = name, queries, search

    def run(self, m: int, k: int, first: int, count: int) -> float:
        batches = len(self.queries) // m
        began = time.perf_counter()
        for i in range(count):
            b = (first + i) % batches
            self.search(self.queries[b * m : (b + 1) * m], k)
        return time.perf_counter() - began


Setting = tuple[str, Callable[[], None]]  # what it is called, and what sets it


@dataclass(frozen=True)
class Index:
    """A built index with its settings, fastest first."""

    seconds: float  # to build
    search: Callable[[np.ndarray, int], np.ndarray]
    settings: list[Setting]


def hnsw(x: np.ndarray) -> Index:
    began = time.perf_counter()
    index = hnswlib.Index("ip", x.shape[1])
    index.init_index(len(x), M=16, ef_construction=200, random_seed=1)
    index.set_num_threads(1)
    index.add_items(x, num_threads=1)
    return Index(
        time.perf_counter() - began,
        lambda q, k: index.knn_query(q, k, num_threads=1)[0],
        [(f"ef={ef}", partial(index.set_ef, ef)) for ef in EFS],
    )


def hnsw_faiss(x: np.ndarray) -> Index:
    began = time.perf_counter()
    index = faiss.IndexHNSWFlat(x.shape[1], 16, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = 200
    index.add(x)
    return Index(
        time.perf_counter() - began,
        lambda q, k: index.search(q, k)[1],
        [(f"ef={ef}", partial(setattr, index.hnsw, "efSearch", ef)) for ef in EFS],
    )


def inverted(x: np.ndarray, lists: int) -> Index:
    began = time.perf_counter()
    quantizer = faiss.IndexFlatIP(x.shape[1])
    index = faiss.IndexIVFFlat(quantizer, x.shape[1], lists, faiss.METRIC_INNER_PRODUCT)
    index.train(x)
    index.add(x)
    probes = [p for p in (1, 2, 4, 8, 16, 32, 64, 128, 256) if p <= lists // 2]
    return Index(
        time.perf_counter() - began,
        lambda q, k: index.search(q, k)[1],
        [(f"nprobe={p}", partial(setattr, index, "nprobe", p)) for p in probes],
    )


def quantised(x: np.ndarray) -> Index:
    began = time.perf_counter()
    codes = faiss.IndexScalarQuantizer(x.shape[1], faiss.ScalarQuantizer.QT_8bit, faiss.METRIC_INNER_PRODUCT)
    index = faiss.IndexRefineFlat(codes)
    index.train(x)
    index.add(x)
    return Index(
        time.perf_counter() - began,
        lambda q, k: index.search(q, k)[1],
        [(f"k_factor={f}", partial(setattr, index, "k_factor", f)) for f in (1, 2, 4)],
    )


INDEXES: dict[str, Callable[[np.ndarray], Index]] = {
    **({"HNSW (hnswlib), M=16, efc=200": hnsw} if hnswlib else {"HNSW (FAISS), M=16, efc=200": hnsw_faiss}),
    "IVF, 256 lists": partial(inverted, lists=256),
    "IVF, 1024 lists": partial(inverted, lists=1024),
    "SQ8 and exact re-rank": quantised,
}


def curve(name: str, data: DataSet, racer: Racer, k: int) -> dict[str, Any]:
    """An index's points: for each setting the recall over all queries and the
    time a query by batch, with thresher's in the same turns."""
    faiss.omp_set_num_threads(1)
    index = INDEXES[name](np.ascontiguousarray(data.atoms))
    peer, auto = Peer(name, data.queries, index.search), Thresher(racer)
    points = []
    for setting, choose in index.settings:
        choose()
        found, wrong = recall(data, index.search(data.queries, k), k)
        point: dict[str, Any] = {"setting": setting, "recall": found, "wrong": wrong}
        for m in BATCHES:
            times, _ = take_turns([peer, auto], m, k, budget=1.0)
            point[f"us_m{m}"] = median(times[name]) * 1e6
            point[f"thresher_us_m{m}"] = median(times["auto"]) * 1e6
        points.append(point)
    return {"index": name, "k": k, "build_seconds": index.seconds, "points": points}
