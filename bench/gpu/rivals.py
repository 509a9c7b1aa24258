"""The peers of thresher, on the same device and the same batches: dense products and a
selection, by torch, CuPy and JAX. Each reports how long batches took from queries on the host
to ids on the host and, if it can, how long the device worked."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from child import Child, dumped
from vectors import Vectors, device_of


@dataclass
class Turn:
    """Batches one after the other."""

    seconds: list[float]
    device: list[float] = field(default_factory=list)
    ids: np.ndarray | None = None  # of the last batch


class Contestant(Protocol):
    name: str

    def run(self, m: int, k: int, first: int, count: int) -> Turn:
        """Answers count batches of m queries, from batch first on."""


class Thresher:
    """A way to query a set of a Child, or several sets in turn, of the same vectors by different
    seeds. said holds the other members of the last answer."""

    def __init__(self, child: Child, sets: list[str], name: str, plan: str = "", method: str = "auto") -> None:
        self.child, self.sets, self.name, self.plan, self.method = child, sets, name, plan, method
        self.said: dict[str, Any] = {}
        self.turns = 0

    def ask(self, do: str, m: int, k: int, first: int, count: int, of: str = "", **more: Any) -> dict[str, Any]:
        said: dict[str, Any] = self.child.ask(
            30, do=do, set=of or self.sets[0], m=m, k=k, first=first, count=count, plan=self.plan, method=self.method,
            delta=0.01, **more,
        )  # fmt: skip
        return said

    def run(self, m: int, k: int, first: int, count: int) -> Turn:
        of = self.sets[self.turns % len(self.sets)]
        self.turns += 1
        self.said = self.ask("search", m, k, first, count, of)
        return Turn(self.said["seconds"])

    def answers(self, m: int, k: int, first: int, count: int, of: str, file: Path) -> tuple[np.ndarray, np.ndarray]:
        """The ids of count batches, and whether each certificate needs no probability."""
        self.said = self.ask("search", m, k, first, count, of, dump=str(file))
        return dumped(file, k)


class Torch:
    """torch.matmul and topk, for scores of all atoms at once or in chunks whose best are combined,
    whichever prepare finds faster."""

    def __init__(self, torch: Any, vectors: Vectors, precision: str) -> None:
        assert vectors.on_device
        self.torch, self.name, self.precision = torch, f"torch-{precision}", precision
        self.atoms = vectors.on_device[0].bfloat16() if precision == "bf16" else vectors.on_device[0]
        self.queries = torch.from_numpy(vectors.queries)
        self.device = device_of(torch)
        if self.device == "cuda":
            self.queries = self.queries.pin_memory()
        self.chunk = 0

    def prepare(self, m: int, k: int) -> int:
        """Chooses the chunk for such batches."""
        took = {}
        for chunk in (0, 1 << 17, 1 << 15):
            if chunk < len(self.atoms) and (chunk == 0 or m > 1):
                self.chunk = chunk
                self.run(m, k, 0, 1)
                took[chunk] = min(self.run(m, k, 0, 3).seconds)
        self.chunk = min(took, key=lambda c: took[c])
        return self.chunk

    def best(self, q: Any, k: int) -> Any:
        if not self.chunk:
            return (q @ self.atoms.T).topk(k, dim=1).indices
        scores, ids = [], []
        for lo in range(0, len(self.atoms), self.chunk):
            part = (q @ self.atoms[lo : lo + self.chunk].T).topk(min(k, len(self.atoms) - lo), dim=1)
            scores.append(part.values)
            ids.append(part.indices + lo)
        order = self.torch.cat(scores, dim=1).topk(k, dim=1).indices
        return self.torch.cat(ids, dim=1).gather(1, order)

    def run(self, m: int, k: int, first: int, count: int) -> Turn:
        torch, turn = self.torch, Turn([])
        torch.set_float32_matmul_precision("highest" if self.precision == "fp32" else "high")
        for i in range(first, first + count):
            marks = [torch.cuda.Event(enable_timing=True) for _ in range(2)] if self.device == "cuda" else []
            began = time.perf_counter()
            q = self.queries[i * m : (i + 1) * m].to(self.device, non_blocking=True)
            for mark in marks[:1]:
                mark.record()
            ids = self.best(q.bfloat16() if self.precision == "bf16" else q, k)
            for mark in marks[1:]:
                mark.record()
            turn.ids = ids.cpu().numpy()  # waits
            turn.seconds.append(time.perf_counter() - began)
            if marks:
                turn.device.append(marks[0].elapsed_time(marks[1]) / 1e3)
        return turn


class CuPy:
    """cupy.matmul and argpartition, 128 queries at a time."""

    name = "cupy-fp32"

    def __init__(self, torch: Any, vectors: Vectors) -> None:
        import cupy

        assert vectors.on_device
        self.cupy, self.queries = cupy, vectors.queries
        self.atoms = cupy.from_dlpack(vectors.on_device[0].contiguous())

    def run(self, m: int, k: int, first: int, count: int) -> Turn:
        cupy, turn = self.cupy, Turn([])
        for i in range(first, first + count):
            began = time.perf_counter()
            q = cupy.asarray(self.queries[i * m : (i + 1) * m])
            ids = []
            for lo in range(0, m, 128):
                scores = q[lo : lo + 128] @ self.atoms.T
                part = cupy.argpartition(-scores, k - 1, axis=1)[:, :k]
                order = cupy.argsort(-cupy.take_along_axis(scores, part, axis=1), axis=1)
                ids.append(cupy.take_along_axis(part, order, axis=1))
            turn.ids = cupy.asnumpy(cupy.concatenate(ids))
            turn.seconds.append(time.perf_counter() - began)
        return turn


class Jax:
    """jax.numpy.dot in tf32 and lax.approx_max_k (arXiv 2206.14286) or lax.top_k."""

    def __init__(self, torch: Any, vectors: Vectors, approximate: bool) -> None:
        import jax

        assert vectors.on_device
        self.name = "jax-approx" if approximate else "jax-tf32"
        self.queries = vectors.queries
        self.atoms = jax.dlpack.from_dlpack(vectors.on_device[0].contiguous())

        # A CPU, used for rehearsals, has no tf32.
        precision = jax.lax.DotAlgorithmPreset.TF32_TF32_F32 if jax.default_backend() == "gpu" else None

        def best(q: Any, atoms: Any, k: int) -> Any:
            scores = jax.numpy.dot(q, atoms.T, precision=precision)
            if approximate:
                return jax.lax.approx_max_k(scores, k, recall_target=0.99)[1]
            return jax.lax.top_k(scores, k)[1]

        self.best = jax.jit(best, static_argnums=2)

    def run(self, m: int, k: int, first: int, count: int) -> Turn:
        turn = Turn([])
        for i in range(first, first + count):
            began = time.perf_counter()
            turn.ids = np.asarray(self.best(self.queries[i * m : (i + 1) * m], self.atoms, k))
            turn.seconds.append(time.perf_counter() - began)
        return turn
