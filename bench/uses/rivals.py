"""What others do for the same ends, each in a process of its own:

    python rivals.py NAME '{"atoms": "a.npy", .., "out": "found.npz"}'

NAME is a function of this file. It returns what it found as arrays, and the seconds of the work
itself, which are printed. Functions import what they need, so that one that is not installed
keeps no other from running."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Found = tuple[dict[str, np.ndarray], float]
THREADS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
TILE = 1024  # rows of a tile of products


def load(path: str) -> np.ndarray:
    return np.ascontiguousarray(np.load(path), dtype=np.float32)


def flat(rows: np.ndarray, metric: str) -> Any:
    """FAISS's exact index; rows have norm 1 where the metric is the cosine."""
    import faiss

    index = faiss.IndexFlatL2(rows.shape[1]) if metric == "l2" else faiss.IndexFlatIP(rows.shape[1])
    index.add(rows)
    return index


# The k best atoms of every query


def faiss_flat(atoms: str, queries: str, metric: str, k: int) -> Found:
    x, q = load(atoms), load(queries)
    began = time.perf_counter()
    scores, ids = flat(x, metric).search(q, k)
    return {"ids": ids, "scores": scores}, time.perf_counter() - began


def numpy_tiles(atoms: str, queries: str, metric: str, k: int) -> Found:
    """Products of tiles of queries with all atoms, argpartition, and a sort of the k."""
    x, q = load(atoms), load(queries)
    began = time.perf_counter()
    ids = np.empty((len(q), k), np.int64)
    squares = (x * x).sum(axis=1) / 2 if metric == "l2" else 0
    for lo in range(0, len(q), TILE):
        scores = q[lo : lo + TILE] @ x.T - squares
        part = np.argpartition(scores, len(x) - k, axis=1)[:, len(x) - k :]
        order = np.argsort(-np.take_along_axis(scores, part, axis=1), axis=1)
        ids[lo : lo + TILE] = np.take_along_axis(part, order, axis=1)
    return {"ids": ids}, time.perf_counter() - began


# Graphs: the k nearest others of every atom


def without_self(ids: np.ndarray, k: int) -> np.ndarray:
    """k others of k + 1 neighbours: self is left out where it is found, else the last."""
    keep = ids != np.arange(len(ids))[:, None]
    keep[keep.all(axis=1), -1] = False
    return ids[keep].reshape(len(ids), k)


def graph_faiss(atoms: str, metric: str, k: int) -> Found:
    x = load(atoms)
    began = time.perf_counter()
    _, ids = flat(x, metric).search(x, k + 1)
    return {"ids": without_self(ids, k)}, time.perf_counter() - began


def graph_numpy(atoms: str, metric: str, k: int) -> Found:
    found, seconds = numpy_tiles(atoms, atoms, metric, k + 1)
    began = time.perf_counter()
    return {"ids": without_self(found["ids"], k)}, seconds + time.perf_counter() - began


def graph_sklearn(atoms: str, metric: str, k: int) -> Found:
    from sklearn.neighbors import NearestNeighbors

    x = load(atoms)
    began = time.perf_counter()
    # With rows of norm 1 the nearest are those of the greatest cosine.
    model = NearestNeighbors(n_neighbors=k, algorithm="brute", metric="euclidean", n_jobs=THREADS).fit(x)
    return {"ids": model.kneighbors(return_distance=False)}, time.perf_counter() - began


def graph_pynndescent(atoms: str, metric: str, k: int) -> Found:
    import pynndescent

    x = load(atoms)
    name = "euclidean" if metric == "l2" else "cosine"
    pynndescent.NNDescent(x[:1000], metric=name, n_neighbors=k + 1, random_state=1)  # compiles
    began = time.perf_counter()
    ids, _ = pynndescent.NNDescent(x, metric=name, n_neighbors=k + 1, random_state=1, n_jobs=THREADS).neighbor_graph
    return {"ids": without_self(ids, k)}, time.perf_counter() - began


# Pairs above a score; rows have norm 1


def pairs_faiss(atoms: str, least: float) -> Found:
    """Range searches of blocks of rows against all; both directions and self come with it."""
    x = load(atoms)
    began = time.perf_counter()
    index, kept = flat(x, "ip"), []
    for lo in range(0, len(x), TILE):
        limits, _, ids = index.range_search(x[lo : lo + TILE], least)
        rows = np.repeat(np.arange(lo, lo + len(limits) - 1), np.diff(limits.astype(np.int64)))
        once = ids > rows
        kept.append(np.stack([rows[once], ids[once]], axis=1))
    return {"pairs": np.concatenate(kept)}, time.perf_counter() - began


def pairs_numpy(atoms: str, least: float) -> Found:
    """Products of tiles of the upper triangle."""
    x = load(atoms)
    began = time.perf_counter()
    kept = []
    for lo in range(0, len(x), TILE):
        scores = x[lo : lo + TILE] @ x[lo:].T
        i, j = np.nonzero(scores >= least)
        kept.append(np.stack([i[j > i], j[j > i]], axis=1) + lo)
    return {"pairs": np.concatenate(kept)}, time.perf_counter() - began


def pairs_paraphrases(atoms: str, least: float) -> Found:
    """sentence-transformers' paraphrase_mining on embeddings, with its defaults; what scores less is
    left out."""
    import torch
    from sentence_transformers.util import paraphrase_mining_embeddings

    x = torch.from_numpy(load(atoms))
    began = time.perf_counter()
    found = paraphrase_mining_embeddings(x)
    pairs = np.array([(i, j) for score, i, j in found if score >= least], np.int64).reshape(-1, 2)
    return {"pairs": pairs}, time.perf_counter() - began


def groups_communities(atoms: str, least: float) -> Found:
    """sentence-transformers' community_detection: groups around a centre, no pairs. A member of no
    group has label -1."""
    from sentence_transformers.util import community_detection

    x = load(atoms)
    began = time.perf_counter()
    groups = community_detection(x, threshold=least, min_community_size=2)
    seconds = time.perf_counter() - began
    labels = np.full(len(x), -1, np.int64)
    for g, members in enumerate(groups):
        labels[members] = g
    return {"labels": labels}, seconds


def pairs_clusters(atoms: str, least: float, clusters: int) -> Found:
    """Semantic deduplication as NeMo Curator does it: k-means, then the pairs within each cluster.
    Pairs between clusters are never compared."""
    import faiss

    x = load(atoms)
    began = time.perf_counter()
    means = faiss.Kmeans(x.shape[1], clusters, niter=20, seed=1, spherical=True, max_points_per_centroid=len(x))
    means.train(x)
    _, of = means.index.search(x, 1)
    order = np.argsort(of[:, 0], kind="stable")
    kept = []
    for members in np.split(order, np.flatnonzero(np.diff(of[order, 0])) + 1):
        i, j = np.nonzero(np.triu(x[members] @ x[members].T >= least, 1))
        kept.append(np.sort(np.stack([members[i], members[j]], axis=1), axis=1))
    return {"pairs": np.concatenate(kept)}, time.perf_counter() - began


# Hard negatives: the k best below a share of the positive's score; rows have norm 1


def negatives_faiss(atoms: str, queries: str, positives: str, k: int, share: float) -> Found:
    """FAISS has no ceiling: fetch more, drop what is above it, and fetch twice as many for the queries
    that lack some."""
    x, q, positive = load(atoms), load(queries), np.load(positives)
    began = time.perf_counter()
    index, ceiling = flat(x, "ip"), share * np.einsum("ij,ij->i", q, x[positive])
    ids, left, fetch = np.full((len(q), k), -1, np.int64), np.arange(len(q)), 4 * k
    while len(left):
        fetch = min(fetch, len(x))
        scores, near = index.search(q[left], fetch)
        below = (scores <= ceiling[left, None]) & (near != positive[left, None])
        enough = (below.sum(axis=1) >= k) | (fetch == len(x))
        for row, j in zip(np.flatnonzero(enough), left[enough], strict=True):
            of = near[row][below[row]][:k]
            ids[j, : len(of)] = of
        left, fetch = left[~enough], 2 * fetch
    return {"ids": ids}, time.perf_counter() - began


class Encoded:
    """A model of sentence-transformers whose texts are numbers of rows that are encoded already: "a7" is
    an atom, "q7" a query."""

    device = "cpu"

    def __init__(self, atoms: np.ndarray, queries: np.ndarray) -> None:
        self.rows = {"a": atoms, "q": queries}

    def encode_document(self, texts: list[str], **_: Any) -> np.ndarray:
        return self.rows[texts[0][0]][[int(t[1:]) for t in texts]]

    encode_query = encode_document

    def get_embedding_dimension(self) -> int:
        return self.rows["a"].shape[1]

    def similarity(self, one: np.ndarray, other: Any) -> Any:
        import torch

        return torch.as_tensor(one) @ torch.as_tensor(other).T

    def similarity_pairwise(self, one: np.ndarray, other: Any) -> Any:
        import torch

        return (torch.as_tensor(one) * torch.as_tensor(other)).sum(dim=1)


def negatives_sentence(atoms: str, queries: str, positives: str, k: int, share: float) -> Found:
    """sentence-transformers' mine_hard_negatives with FAISS, its defaults, and embeddings made before."""
    from datasets import Dataset
    from sentence_transformers.util import mine_hard_negatives

    x, q, positive = load(atoms), load(queries), np.load(positives)
    pairs = Dataset.from_dict({"query": [f"q{j}" for j in range(len(q))], "answer": [f"a{i}" for i in positive]})
    corpus = [f"a{i}" for i in range(len(x))]
    began = time.perf_counter()
    mined = mine_hard_negatives(
        pairs,
        Encoded(x, q),  # type: ignore[arg-type]
        corpus=corpus,
        relative_margin=1 - share,
        num_negatives=k,
        sampling_strategy="top",
        use_faiss=True,
        output_format="triplet",
        verbose=False,
    )
    ids = np.full((len(q), k), -1, np.int64)
    filled = np.zeros(len(q), np.int64)
    for query, negative in zip(mined["query"], mined["negative"], strict=True):
        j = int(query[1:])
        ids[j, filled[j]] = int(negative[1:])
        filled[j] += 1
    return {"ids": ids}, time.perf_counter() - began


# The k best atoms that a user has not seen; seen is a CSR matrix of scipy


def seen_implicit(atoms: str, queries: str, seen: str, k: int) -> Found:
    """What implicit's recommend does for factors that are there: products, then a selection that skips
    the items of the user's row."""
    import scipy.sparse
    from implicit.cpu.topk import topk

    x, q, known = load(atoms), load(queries), scipy.sparse.load_npz(seen).tocsr()
    began = time.perf_counter()
    ids, scores = topk(x, q, k, filter_query_items=known, num_threads=THREADS)
    return {"ids": ids, "scores": scores}, time.perf_counter() - began


def seen_selector(atoms: str, queries: str, seen: str, k: int) -> Found:
    """A FAISS search for each user, since a selector of ids belongs to a call."""
    import faiss
    import scipy.sparse

    x, q, known = load(atoms), load(queries), scipy.sparse.load_npz(seen).tocsr()
    began = time.perf_counter()
    index, ids = flat(x, "ip"), np.full((len(q), k), -1, np.int64)
    for j, row in enumerate(q):
        mine = known.indices[known.indptr[j] : known.indptr[j + 1]].astype(np.int64)
        selector = faiss.IDSelectorNot(faiss.IDSelectorBatch(mine))
        ids[j] = index.search(row[None], k, params=faiss.SearchParameters(sel=selector))[1][0]
    return {"ids": ids}, time.perf_counter() - began


def seen_more(atoms: str, queries: str, seen: str, k: int) -> Found:
    """k and as many more as any user has seen from FAISS, less what the user has seen."""
    import scipy.sparse

    x, q, known = load(atoms), load(queries), scipy.sparse.load_npz(seen).tocsr()
    began = time.perf_counter()
    most = int(np.diff(known.indptr).max())
    ids = np.full((len(q), k), -1, np.int64)
    index = flat(x, "ip")
    for lo in range(0, len(q), TILE):
        _, near = index.search(q[lo : lo + TILE], min(len(x), k + most))
        for j, row in enumerate(near, lo):
            mine = known.indices[known.indptr[j] : known.indptr[j + 1]]
            of = row[~np.isin(row, mine)][:k]
            ids[j, : len(of)] = of
    return {"ids": ids}, time.perf_counter() - began


# Answers of indexes at some settings

Search = Callable[[np.ndarray, int, int], tuple[np.ndarray, np.ndarray]]  # queries, k, setting
SAMPLE = 500  # queries that settings are chosen by


def answers(
    build: Callable[[np.ndarray, str], Search],
    atoms: str,
    queries: str,
    metric: str,
    right: str,
    recalls: list[float],
    settings: list[int],
) -> Found:
    """Answers at the settings whose recalls on a sample are nearest to those wanted: one array of ids
    and one of scores for each. right is a file of the ids of the best atoms."""
    x, q, best = load(atoms), load(queries), np.load(right)
    k = best.shape[1]
    if metric == "cosine":
        x, q = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (x, q))
    began = time.perf_counter()
    search = build(x, metric)
    some = np.arange(0, len(q), max(1, len(q) // SAMPLE))
    found = {s: recall(search(q[some], k, s)[0], best[some]) for s in settings}
    arrays: dict[str, np.ndarray] = {}
    for setting in dict.fromkeys(min(found, key=lambda s: abs(found[s] - r)) for r in recalls):
        arrays[f"ids{setting}"], arrays[f"scores{setting}"] = search(q, k, setting)
    return arrays, time.perf_counter() - began


def recall(ids: np.ndarray, best: np.ndarray) -> float:
    """The mean share of the best atoms that answers have, by their ids."""
    return float(np.mean([np.isin(b, row).mean() for row, b in zip(ids, best, strict=True)]))


def hnsw(**arguments: Any) -> Found:
    """hnswlib; a setting is ef. It states distances: 1 less the inner product, or squared."""
    import hnswlib

    links = arguments.pop("links")

    def build(x: np.ndarray, metric: str) -> Search:
        index = hnswlib.Index("l2" if metric == "l2" else "ip", x.shape[1])
        index.init_index(len(x), M=links, ef_construction=8 * links, random_seed=1)
        index.add_items(x)

        def search(q: np.ndarray, k: int, ef: int) -> tuple[np.ndarray, np.ndarray]:
            index.set_ef(ef)
            return index.knn_query(q, k)

        return search

    return answers(build, **arguments)


def ivf(**arguments: Any) -> Found:
    """FAISS's inverted lists; a setting is nprobe. It states inner products or squared distances."""
    import faiss

    lists = arguments.pop("lists")

    def build(x: np.ndarray, metric: str) -> Search:
        kind = faiss.METRIC_L2 if metric == "l2" else faiss.METRIC_INNER_PRODUCT
        index = faiss.index_factory(x.shape[1], f"IVF{lists},Flat", kind)
        index.train(x)
        index.add(x)

        def search(q: np.ndarray, k: int, nprobe: int) -> tuple[np.ndarray, np.ndarray]:
            index.nprobe = nprobe
            scores, ids = index.search(q, k)
            return ids, scores

        return search

    return answers(build, **arguments)


def scann(**arguments: Any) -> Found:
    """ScaNN's tree with anisotropic codes; a setting is the number of leaves searched. It states inner
    products or squared distances."""
    import scann as library

    leaves = arguments.pop("leaves")

    def build(x: np.ndarray, metric: str) -> Search:
        builder = library.scann_ops_pybind.builder(x, 10, "squared_l2" if metric == "l2" else "dot_product")
        builder.tree(leaves, leaves, training_sample_size=len(x), spherical=metric != "l2")
        threshold = float("nan") if metric == "l2" else 0.2
        index = builder.score_ah(2, anisotropic_quantization_threshold=threshold).reorder(100).build()

        def search(q: np.ndarray, k: int, searched: int) -> tuple[np.ndarray, np.ndarray]:
            ids, scores = index.search_batched(q, k, leaves_to_search=searched, pre_reorder_num_neighbors=10 * k)
            return ids.astype(np.int64), scores

        return search

    return answers(build, **arguments)


def versions(*packages: str) -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = ""
    return found


def main() -> None:
    name, arguments = sys.argv[1], json.loads(sys.argv[2])
    out = Path(arguments.pop("out"))
    arrays, seconds = globals()[name](**arguments)
    np.savez(out, **arrays)
    print(json.dumps({"seconds": seconds}))


if __name__ == "__main__":
    main()
