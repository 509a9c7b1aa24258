"""The peers of thresher, on the same device and the same batches: dense products and a
selection, by torch, CuPy and JAX. Each reports how long batches took from queries on the host
to ids on the host and, if it can, how long the device worked."""

from __future__ import annotations

import time
from collections.abc import Callable
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


@dataclass(frozen=True)
class Way:
    """How products become the k best: of all atoms at once (0) or of so many at a time, whose best are
    combined; by topk (0), or by the maxima of blocks of so many atoms."""

    chunk: int = 0
    block: int = 0

    def __str__(self) -> str:
        return f"{self.chunk or 'all'} atoms at once, " + (f"maxima of {self.block}" if self.block else "topk")


CHUNKS, BLOCKS = (0, 1 << 17, 1 << 15), (128, 512)


def select(torch: Any, scores: Any, k: int, block: int = 0) -> Any:
    """The columns of the k greatest scores [m, n] of each row, by topk or, if there is a block, by topk of the
    maxima of so many columns and then of the columns of the k best blocks. Each of the k greatest scores is in
    a block whose maximum reaches the k-th of them, and only k blocks have such a maximum, ties aside."""
    m, n = scores.shape
    whole = n // block * block if block else 0
    if not block or n < 4 * k * block:
        return scores.topk(k, dim=1).indices
    best = scores[:, :whole].view(m, whole // block, block).amax(dim=2).topk(k, dim=1).indices
    at = (best.unsqueeze(2) * block + torch.arange(block, device=scores.device)).view(m, k * block)
    if whole < n:
        at = torch.cat([at, torch.arange(whole, n, device=scores.device).expand(m, -1)], dim=1)
    return at.gather(1, scores.gather(1, at).topk(k, dim=1).indices)


class Torch:
    """torch's products of queries and atoms, and a selection, by the way that prepare finds fastest: with topk
    or, if maxima, with maxima of blocks in its place."""

    def __init__(self, torch: Any, vectors: Vectors, precision: str, maxima: bool = False) -> None:
        assert vectors.on_device
        self.torch, self.name, self.precision = torch, f"torch-{precision}{'-maxima' * maxima}", precision
        self.ways = [Way(chunk, block) for chunk in CHUNKS for block in (BLOCKS if maxima else (0,))]
        self.atoms = self.coded(vectors.on_device[0])
        self.queries = torch.from_numpy(vectors.queries)
        self.device = device_of(torch)
        if self.device == "cuda":
            self.queries = self.queries.pin_memory()
        self.way = self.ways[0]

    def coded(self, atoms: Any) -> Any:
        """What products read of the atoms."""
        return atoms.bfloat16() if self.precision == "bf16" else atoms

    def prepare(self, m: int, k: int) -> str:
        """Chooses the way for such batches. Some may need more memory than there is."""
        took = {}
        failed: Exception | None = None
        for way in self.ways:
            if way.chunk >= len(self.atoms) or (way.chunk and m == 1):
                continue
            self.way = way
            try:
                self.run(m, k, 0, 1)
                took[way] = min(self.run(m, k, 0, 3).seconds)
            except self.torch.cuda.OutOfMemoryError as e:
                failed = e
        if self.device == "cuda":  # what the others leave is thresher's, too
            self.torch.cuda.empty_cache()
        if failed and not took:
            raise failed
        self.way = min(took, key=lambda w: took[w])
        return str(self.way)

    def products(self, q: Any, lo: int, hi: int) -> Any:
        """The scores [m, hi - lo] of atoms lo to hi-1."""
        return q @ self.atoms[lo:hi].T

    def best(self, q: Any, k: int) -> Any:
        """The ids of the k best atoms."""
        return self.nearest(q, k)[1]

    def nearest(self, q: Any, k: int) -> tuple[Any, Any]:
        """The k greatest scores and their atoms."""
        n = len(self.atoms)
        scores, ids = [], []
        for lo in range(0, n, self.way.chunk or n):
            part = self.products(q, lo, min(n, lo + (self.way.chunk or n)))
            at = select(self.torch, part, min(k, part.shape[1]), self.way.block)
            scores.append(part.gather(1, at))
            ids.append(at + lo)
        if len(ids) == 1:
            return scores[0], ids[0]
        order = self.torch.cat(scores, dim=1).topk(k, dim=1)
        return order.values, self.torch.cat(ids, dim=1).gather(1, order.indices)

    def run(self, m: int, k: int, first: int, count: int) -> Turn:
        torch, turn = self.torch, Turn([])
        torch.set_float32_matmul_precision("high" if self.precision == "tf32" else "highest")
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


class TorchInt8(Torch):
    """Dense products of 8-bit codes (torch._int_mm, which is cuBLASLt's on a GPU), a step for each row, and the
    best candidates scored again in float32."""

    LEAST, STEP = 32, 8  # rows of queries at least, and what sizes are a multiple of

    def __init__(self, torch: Any, vectors: Vectors) -> None:
        assert vectors.on_device
        self.rows = vectors.on_device[0]
        super().__init__(torch, vectors, "int8")
        self.ways = [Way(chunk, block) for chunk in CHUNKS for block in (0, *BLOCKS)]

    def coded(self, atoms: Any) -> Any:
        """The codes of the atoms, and of zeros up to a multiple of eight. Sets steps."""
        n, d = atoms.shape
        if d % self.STEP:
            raise ValueError(f"{d} coordinates are not a multiple of {self.STEP}")
        codes = self.torch.zeros((-(-n // self.STEP) * self.STEP, d), dtype=self.torch.int8, device=atoms.device)
        self.steps = self.torch.empty(n, device=atoms.device)
        for lo in range(0, n, 1 << 17):  # in pieces, to limit memory
            codes[lo : min(n, lo + (1 << 17))], self.steps[lo : lo + (1 << 17)] = self.encoded(
                atoms[lo : lo + (1 << 17)]
            )
        self.padded = codes
        return codes[:n]

    def encoded(self, x: Any) -> tuple[Any, Any]:
        """Codes of rows, and each row's step."""
        step = x.abs().amax(dim=1) / 127
        step = self.torch.where(step > 0, step, self.torch.ones_like(step))
        return (x / step.unsqueeze(1)).round().to(self.torch.int8), step

    def products(self, q: Any, lo: int, hi: int) -> Any:
        """In units of the query's step, which changes no order. Codes of queries come padded."""
        n = -(-(hi - lo) // self.STEP) * self.STEP
        sums = self.torch._int_mm(q, self.padded[lo : lo + n].T)
        return sums[: self.asked, : hi - lo] * self.steps[lo:hi]

    def best(self, q: Any, k: int) -> Any:
        self.asked = len(q)
        codes, _ = self.encoded(q)
        rows = max(self.LEAST, -(-len(q) // self.STEP) * self.STEP)
        padded = self.torch.nn.functional.pad(codes, (0, 0, 0, rows - len(q)))
        candidates = self.nearest(padded, min(len(self.atoms), max(64, 4 * k)))[1]
        scores = (self.rows[candidates] @ q.unsqueeze(2)).squeeze(2)
        return candidates.gather(1, scores.topk(k, dim=1).indices)


def peers(torch: Any, vectors: Vectors) -> dict[str, Callable[[], Torch]]:
    """The contestants by torch, by name. One copy of the atoms is made for each but those by float32; large
    sets have no room for more."""

    def of(precision: str, maxima: bool) -> Callable[[], Torch]:
        return lambda: Torch(torch, vectors, precision, maxima)

    kinds = [("tf32", False), ("tf32", True)]
    if not vectors.recipe.large:
        kinds = [("fp32", False), *kinds, ("bf16", False), ("bf16", True)]
    named = {f"torch-{precision}{'-maxima' * maxima}": of(precision, maxima) for precision, maxima in kinds}
    return named if vectors.recipe.large else named | {"torch-int8": lambda: TorchInt8(torch, vectors)}


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
