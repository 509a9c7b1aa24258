"""Indexes that trade recall for time, on the same data in the same turns: HNSW, inverted lists,
and codes with exact re-ranking, in lists or all scanned."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import faiss
import numpy as np

from answers import CRITERION
from check import recall
from contestants import Racer, Thresher
from data import DataSet
from race import take_turns

try:
    import hnswlib
except ModuleNotFoundError:  # it needs a C++ compiler to install
    hnswlib = None
try:
    import scann
except ModuleNotFoundError:  # it has no wheel for this system
    scann = None

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


Setting = tuple[str, Callable[[], None]]  # name, and the function that applies it


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


def composed(x: np.ndarray, description: str, settings: Sequence[str]) -> Index:
    """By FAISS's index factory; settings as its ParameterSpace parses them."""
    began = time.perf_counter()
    index = faiss.index_factory(x.shape[1], description, faiss.METRIC_INNER_PRODUCT)
    index.train(x)
    index.add(x)
    choose = faiss.ParameterSpace().set_index_parameters
    return Index(
        time.perf_counter() - began,
        lambda q, k: index.search(q, k)[1],
        [(setting, partial(choose, index, setting)) for setting in settings],
    )


def scann_tree(x: np.ndarray, leaves: int, settings: Sequence[tuple[int, int]]) -> Index:
    """ScaNN as its documentation advises: leaves near the square root of the atoms, 4 bits for two
    coordinates; leaves by direction if all atoms have the same norm: it ranks others as if they
    had. A setting is the number of leaves searched and of candidates re-ranked."""
    began = time.perf_counter()
    builder = scann.scann_ops_pybind.builder(x, 10, "dot_product").set_n_training_threads(1)
    norms = np.linalg.norm(x, axis=1)
    builder.tree(leaves, leaves, training_sample_size=len(x), spherical=bool(np.ptp(norms) <= 1e-3 * norms.max()))
    index = builder.score_ah(2, anisotropic_quantization_threshold=0.2).reorder(100).build()
    seconds = time.perf_counter() - began
    chosen: dict[str, int] = {}

    def search(q: np.ndarray, k: int) -> np.ndarray:
        if len(q) == 1:  # the faster call for one
            return index.search(q[0], k, **chosen)[0][np.newaxis]
        return index.search_batched(q, k, **chosen)[0]

    def choose(searched: int, candidates: int) -> None:
        chosen.update(leaves_to_search=searched, pre_reorder_num_neighbors=candidates)

    return Index(seconds, search, [(f"leaves={s}, reorder={c}", partial(choose, s, c)) for s, c in settings])


def probing(*settings: tuple[int, int]) -> list[str]:
    """Lists probed, and candidates re-ranked as a multiple of k."""
    return [f"nprobe={probes},k_factor_rf={factor}" for probes, factor in settings]


def refining(*factors: int) -> list[str]:
    return [f"k_factor_rf={factor}" for factor in factors]


# FAISS's indexes as its index factory spells them. PQ384x4fs is 384 codes of 4 bits (fsr:
# of the residual to the list's centre), RaBitQfs a bit a coordinate, both scanned by
# table look-ups in registers; RR rotates at random before; RFlat re-ranks exactly.
# RaBitQ of 2 and of 4 bits is slower at every recall, and PQ of all atoms without RR.
FACTORY = {
    "IVF256,Flat": [f"nprobe={2**i}" for i in range(8)],
    "IVF1024,Flat": [f"nprobe={2**i}" for i in range(9)],
    "SQ8,RFlat": refining(1, 2, 4),
    "RR,PQ256x4fs,RFlat": refining(2, 4, 8, 16, 32),
    "IVF1024,PQ384x4fsr,RFlat": probing((4, 4), (8, 4), (16, 8), (32, 8), (64, 8), (128, 16), (256, 16)),
    "RR,RaBitQfs,RFlat": refining(2, 3, 4, 8, 16),
    "RR,IVF1024,RaBitQfs,RFlat": probing((4, 2), (8, 2), (16, 3), (32, 3), (64, 4), (128, 4)),
}

# Leaves searched and candidates re-ranked.
SCANN = ((8, 30), (16, 50), (32, 80), (64, 100), (128, 100), (250, 200))

INDEXES: dict[str, Callable[[np.ndarray], Index]] = {
    **({"HNSW (hnswlib), M=16, efc=200": hnsw} if hnswlib else {"HNSW (FAISS), M=16, efc=200": hnsw_faiss}),
    **{name: partial(composed, description=name, settings=settings) for name, settings in FACTORY.items()},
    **({"ScaNN, 250 leaves": partial(scann_tree, leaves=250, settings=SCANN)} if scann else {}),
}


def curve(name: str, data: DataSet, racer: Racer, k: int) -> dict[str, Any]:
    """An index's points: for each setting the recall over all queries and the time a query by
    batch, with thresher's in the same turns."""
    faiss.omp_set_num_threads(1)
    index = INDEXES[name](np.ascontiguousarray(data.atoms))
    peer, auto = Peer(name, data.queries, index.search), Thresher(racer)
    points = []
    for setting, choose in index.settings:
        choose()
        found, wrong = recall(data, index.search(data.queries, k), k)
        point: dict[str, Any] = {"setting": setting, "recall": found, "criterion": CRITERION, "wrong": wrong}
        for m in BATCHES:
            times, _ = take_turns([peer, auto], m, k, budget=1.0)
            point[f"us_m{m}"] = median(times[name]) * 1e6
            point[f"thresher_us_m{m}"] = median(times["auto"]) * 1e6
        points.append(point)
    return {"index": name, "k": k, "build_seconds": index.seconds, "points": points}
