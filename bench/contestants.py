"""The contestants: thresher in a child process, FAISS's exact indexes in this one. Both get
batches of the set's queries and report how long they took."""

from __future__ import annotations

import json
import subprocess
import time
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import faiss
import numpy as np

from data import DataSet
from environment import RACER, one_thread, pin


class Contestant(Protocol):
    name: str

    def run(self, m: int, k: int, first: int, count: int) -> float:
        """Seconds for count batches of m queries, from batch first on, cycling through the set's whole
        batches."""


class Racer:
    """A thresher process with one prepared set."""

    def __init__(self, data: DataSet, threads: int = 1, godebug: str = "", seed: int = 1, binary: Path = RACER) -> None:
        command: list[str | Path] = [binary, "-atoms", data.path / "atoms.npy", "-queries", data.path / "queries.npy"]
        command += ["-first", str(data.n), "-threads", str(threads), "-seed", str(seed), "-metric", data.metric]
        self.data = data
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: pin(0, threads),
            env=one_thread() | {"GOMAXPROCS": str(threads), "GODEBUG": godebug},
        )
        self.prepared: dict[str, Any] = self._line()

    def __enter__(self) -> Racer:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()

    def _line(self) -> dict[str, Any]:
        assert self.process.stdout
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"racer ended with code {self.process.wait()} on {self.data.name}")
        said: dict[str, Any] = json.loads(line)
        return said

    def ask(self, **request: Any) -> dict[str, Any]:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return self._line()


class Thresher:
    """A method of a Racer. last holds the racer's report on the last run."""

    def __init__(self, racer: Racer, method: str = "auto", delta: float = 0.01, name: str = "", plan: str = "") -> None:
        self.name = name or method
        self.racer, self.method, self.delta, self.plan = racer, method, delta, plan
        self.last: dict[str, Any] = {}

    def run(self, m: int, k: int, first: int, count: int, dump: str = "", profile: str = "") -> float:
        self.last = self.racer.ask(
            m=m,
            k=k,
            first=first,
            count=count,
            method=self.method,
            delta=self.delta,
            plan=self.plan,
            dump=dump,
            profile=profile,
        )
        return float(self.last["seconds"])

    def answers(self, m: int, k: int, first: int, count: int, file: Path) -> tuple[np.ndarray, np.ndarray]:
        """The ids [count m, k], and whose certificate needs no probability."""
        self.run(m, k, first, count, dump=str(file))
        rows = np.fromfile(file, np.int32).reshape(-1, k + 1)
        return rows[:, :k], rows[:, k] == 1


# Coordinates of a level of Panorama, and atoms of a block: the fastest, or nearly, of 24 to 96
# and of 128 and 1,024, on package records and synthetic embeddings.
LEVEL, BLOCK = 48, 1024


def unit(queries: np.ndarray) -> np.ndarray:
    """Float32 queries scaled to norm 1, by FAISS below its Python wrapper; zero queries stay."""
    found = queries.copy()
    m, d = found.shape
    faiss.fvec_renorm_L2(d, m, faiss.swig_ptr(found))
    return found


class Flat:
    """FAISS's exact search, called below its Python wrappers, by three paths: a flat index's matrix
    products (blas) and row by row (rows), and Panorama, which eliminates: it drops an atom once the
    coordinates seen and the norms of the others cannot reach the k-th best. It needs a rotation
    that moves the scores' main contributions to the front; FAISS's own PCA centres the data, which
    changes inner products but no distance. For cosine the indexes hold atoms of norm 1, and scaling
    the queries is part of a search."""

    def __init__(self, data: DataSet) -> None:
        faiss.omp_set_num_threads(1)
        self.data, self.queries = data, data.queries
        self.l2, self.cosine = data.metric == "l2", data.metric == "cosine"

    @cached_property
    def flat(self) -> faiss.Index:
        return self._filled((faiss.IndexFlatL2 if self.l2 else faiss.IndexFlatIP)(self.data.d))

    @cached_property
    def panorama(self) -> faiss.Index:
        d = self.data.d
        turn = faiss.LinearTransform(d, d, self.l2)
        axes = self.data.basis()
        faiss.copy_array_to_vector(axes.ravel(), turn.A)
        if self.l2:
            faiss.copy_array_to_vector(-axes @ self.data.atoms.mean(axis=0), turn.b)
        turn.is_trained = turn.is_orthonormal = True
        levels = faiss.IndexFlatL2Panorama if self.l2 else faiss.IndexFlatIPPanorama
        return self._filled(faiss.IndexPreTransform(turn, levels(d, -(-d // LEVEL), BLOCK)))

    def _filled(self, index: faiss.Index) -> faiss.Index:
        for lo in range(0, self.data.n, 16384):
            some = np.ascontiguousarray(self.data.atoms[lo : lo + 16384])
            index.add(unit(some) if self.cosine else some)
        return index

    def release(self) -> None:
        """Frees the indexes; they are built again when used."""
        self.__dict__.pop("flat", None)
        self.__dict__.pop("panorama", None)

    def search(self, path: str, m: int, k: int, first: int, count: int) -> tuple[float, np.ndarray]:
        index = self.panorama if path == "panorama" else self.flat
        scores, ids = np.empty((m, k), np.float32), np.empty((m, k), np.int64)
        out = faiss.swig_ptr(scores), faiss.swig_ptr(ids)
        batches = len(self.queries) // m
        some = [self.queries[b * m : (b + 1) * m] for b in ((first + i) % batches for i in range(count))]
        inputs = [faiss.swig_ptr(x) for x in some]
        faiss.cvar.distance_compute_blas_threshold = 1 if path == "blas" else 1 << 30
        began = time.perf_counter()
        if self.cosine:
            for x in some:
                scaled = unit(x)  # a pointer alone does not keep it
                index.search_c(m, faiss.swig_ptr(scaled), k, *out)
        else:
            for pointer in inputs:
                index.search_c(m, pointer, k, *out)
        return time.perf_counter() - began, ids


# Paths, and the queries of a trial: matrix products are faster for a batch, the others take
# one query at a time.
PATHS = {"blas": 256, "rows": 16, "panorama": 16}


class FlatPath:
    """A path of a Flat."""

    def __init__(self, flat: Flat, path: str) -> None:
        self.name = f"faiss-{path}"
        self.flat, self.path = flat, path

    def run(self, m: int, k: int, first: int, count: int) -> float:
        return self.flat.search(self.path, m, k, first, count)[0]

    def trial(self, m: int, k: int) -> float:
        """Seconds a query, the better of two runs on enough of a batch to measure."""
        m = min(m, PATHS[self.path])
        return min(self.run(m, k, i, 1) for i in range(2)) / m
