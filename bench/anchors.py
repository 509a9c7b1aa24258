"""The exact peers of the race: every exact search that a user could pick instead of thresher and
that installs from a wheel. Each computes all float32 scores, or eliminates with bounds that
cannot fail (FAISS's Panorama), on one core, with its data and buffers ready beforehand. For
cosine its atoms have norm 1 and scaling the queries is part of a search. For l2 those who
multiply matrices know half the atoms' squared norms, which are subtracted from the products."""

from __future__ import annotations

import ctypes
import sys
import time
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from contestants import PATHS, Flat, unit
from data import DataSet

try:
    import scann
except ModuleNotFoundError:  # it has no wheel for this system
    scann = None
try:
    from usearch import index as usearch
except ModuleNotFoundError:
    usearch = None
try:
    import torch
except ModuleNotFoundError:  # gigabytes: only where it is asked for
    torch = None

# Scores that are kept at once: batches with more are answered in parts.
SCORES = 1 << 26
# Atoms up to which one selection for a whole batch is faster than one a query.
TOGETHER = 4096
ONE_BY_ONE = 16  # queries of a trial of a peer that answers one query at a time
BATCH = 256  # and of the others

Search = Callable[[np.ndarray, int], np.ndarray]  # queries [m, d], k: ids [m, k]


def libmkl() -> ctypes.CDLL | None:
    """Intel's MKL on one thread, from its wheel in this environment."""
    found = sorted(Path(sys.prefix).glob("lib*/libmkl_rt.so*"))
    if not found:
        return None
    library = ctypes.CDLL(str(found[0]))
    library.MKL_Set_Threading_Layer(1)  # sequential
    return library


def top(scores: np.ndarray, k: int) -> np.ndarray:
    """Columns of the k greatest scores of each row, greatest first, the fastest way numpy has."""
    m, n = scores.shape
    if k == 1:
        return scores.argmax(axis=1)[:, np.newaxis]
    if k >= n:
        return np.argsort(scores, axis=1)[:, ::-1]
    if n <= TOGETHER:
        ids = np.argpartition(scores, n - k, axis=1)[:, n - k :]
        order = np.argsort(np.take_along_axis(scores, ids, axis=1), axis=1)[:, ::-1]
        return np.take_along_axis(ids, order, axis=1)
    out = np.empty((m, k), np.int64)
    for row, answer in zip(scores, out, strict=True):
        # Values alone are partitioned several times as fast as their places.
        ids = np.flatnonzero(row >= np.partition(row, n - k)[n - k])
        answer[:] = ids[np.argsort(row[ids])[::-1][:k]]
    return out


class Anchors:
    """A set with the exact peers that are installed, made ready when first used."""

    def __init__(self, data: DataSet) -> None:
        self.data = data
        self.faiss = Flat(data)
        self.buffer = np.empty(0, np.float32)

    @cached_property
    def atoms(self) -> np.ndarray:
        """In memory: the set's own are mapped."""
        atoms = np.array(self.data.atoms)
        return unit(atoms) if self.data.metric == "cosine" else atoms

    @cached_property
    def less(self) -> np.ndarray | None:
        """What is added to the products for l2, half the squared norms, negated; None otherwise."""
        if self.data.metric != "l2":
            return None
        return (np.square(self.data.norms) / -2).astype(np.float32)

    def asked(self, q: np.ndarray) -> np.ndarray:
        """Queries as the peers take them."""
        return unit(q) if self.data.metric == "cosine" else q

    @cached_property
    def mkl_product(self) -> Callable[[np.ndarray, np.ndarray], None]:
        library = libmkl()
        assert library
        n, d = self.atoms.shape
        rows = self.atoms.ctypes.data_as(ctypes.c_void_p)
        one, added = ctypes.c_float(1), ctypes.c_float(0 if self.less is None else 1)
        row_major, plain, transposed = 101, 111, 112

        def product(q: np.ndarray, scores: np.ndarray) -> None:
            x, y = q.ctypes.data_as(ctypes.c_void_p), scores.ctypes.data_as(ctypes.c_void_p)
            if self.less is not None:
                scores[:] = self.less
            if len(q) == 1:
                library.cblas_sgemv(row_major, plain, n, d, one, rows, d, x, 1, added, y, 1)
            else:
                library.cblas_sgemm(row_major, plain, transposed, len(q), n, d, one, x, d, rows, d, added, y, n)

        return product

    @cached_property
    def scann_index(self) -> Any:
        kind = "dot_product" if self.less is None else "squared_l2"
        return scann.scann_ops_pybind.builder(self.atoms, 10, kind).score_brute_force().build()

    @cached_property
    def torch_atoms(self) -> Any:
        torch.set_num_threads(1)
        return torch.from_numpy(self.atoms).T

    def release(self) -> None:
        """Frees the copies of the atoms that peers made; they are made again when used."""
        self.faiss.release()
        self.__dict__.pop("scann_index", None)

    def scores(self, m: int) -> np.ndarray:
        """A buffer for the scores of m queries, the same at each call."""
        n = self.data.n
        if self.buffer.size < m * n:
            self.buffer = np.empty(m * n, np.float32)
        return self.buffer[: m * n].reshape(m, n)

    def parts(self, q: np.ndarray) -> Iterable[np.ndarray]:
        """The queries, as many at a time as SCORES allows."""
        step = max(1, SCORES // self.data.n)
        return (q[lo : lo + step] for lo in range(0, len(q), step))

    def with_numpy(self, q: np.ndarray, k: int) -> np.ndarray:
        found = []
        for part in self.parts(q):
            scores = self.scores(len(part))
            if len(part) == 1:
                np.dot(self.atoms, part[0], out=scores[0])
            else:
                np.matmul(part, self.atoms.T, out=scores)
            if self.less is not None:
                scores += self.less
            found.append(top(scores, k))
        return found[0] if len(found) == 1 else np.concatenate(found)

    def with_mkl(self, q: np.ndarray, k: int) -> np.ndarray:
        found = []
        for part in self.parts(q):
            scores = self.scores(len(part))
            self.mkl_product(np.ascontiguousarray(part), scores)
            found.append(top(scores, k))
        return found[0] if len(found) == 1 else np.concatenate(found)

    def with_torch(self, q: np.ndarray, k: int) -> np.ndarray:
        found = []
        with torch.inference_mode():
            for part in self.parts(q):
                scores = torch.from_numpy(self.scores(len(part)))
                if self.less is None:
                    torch.mm(torch.from_numpy(part), self.torch_atoms, out=scores)
                else:
                    torch.addmm(torch.from_numpy(self.less), torch.from_numpy(part), self.torch_atoms, out=scores)
                found.append(torch.topk(scores, k).indices.numpy())
        return found[0] if len(found) == 1 else np.concatenate(found)

    def with_scann(self, q: np.ndarray, k: int) -> np.ndarray:
        if len(q) == 1:  # the faster call for one
            return self.scann_index.search(q[0], k)[0][np.newaxis]
        return self.scann_index.search_batched(q, k)[0]

    def with_usearch(self, q: np.ndarray, k: int) -> np.ndarray:
        kind = usearch.MetricKind.IP if self.less is None else usearch.MetricKind.L2sq
        keys = usearch.search(self.atoms, q, k, kind, exact=True, threads=1).keys
        return keys.reshape(len(q), -1)

    def all(self) -> list[Anchor]:
        """The peers that are installed here."""
        found: list[Anchor] = [FaissAnchor(self, path) for path in PATHS]
        found.append(Anchor("numpy", self, self.with_numpy, BATCH))
        if libmkl():
            found.append(Anchor("mkl", self, self.with_mkl, BATCH))
        if torch:
            found.append(Anchor("torch", self, self.with_torch, BATCH))
        if scann:
            found.append(Anchor("scann", self, self.with_scann, BATCH))
        if usearch:
            found.append(Anchor("usearch", self, self.with_usearch, ONE_BY_ONE))
        return found


class Anchor:
    """One exact peer on a set. most is the number of queries a trial takes of a batch."""

    def __init__(self, name: str, of: Anchors, search: Search, most: int) -> None:
        self.name, self.of, self.search, self.most = name, of, search, most

    def run(self, m: int, k: int, first: int, count: int) -> float:
        queries, k = self.of.data.queries, min(k, self.of.data.n)
        batches = len(queries) // m
        began = time.perf_counter()
        for i in range(count):
            b = (first + i) % batches
            self.search(self.of.asked(queries[b * m : (b + 1) * m]), k)
        return time.perf_counter() - began

    def answers(self, queries: int, k: int) -> np.ndarray:
        """Ids of the first queries' k best atoms."""
        return np.asarray(self.search(self.of.asked(self.of.data.queries[:queries]), min(k, self.of.data.n)))


class FaissAnchor(Anchor):
    """A path of FAISS's flat indexes, called below its Python wrappers."""

    def __init__(self, of: Anchors, path: str) -> None:
        super().__init__(f"faiss-{path}", of, self.found, PATHS[path])
        self.path = path

    def run(self, m: int, k: int, first: int, count: int) -> float:
        return self.of.faiss.search(self.path, m, min(k, self.of.data.n), first, count)[0]

    def found(self, q: np.ndarray, k: int) -> np.ndarray:
        return self.of.faiss.search(self.path, len(q), k, 0, 1)[1]
