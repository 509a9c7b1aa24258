"""The right answers: each query's best atoms by float64 scores, and which answers are wrong, by
the definition of failure of bench/check.py and docs/guarantee.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import check
import data
from vectors import Vectors


@dataclass
class Truth:
    """The norms of the atoms, and the best atoms of every query, best first."""

    vectors: Vectors
    norms: np.ndarray  # [n] float64
    ids: np.ndarray  # [queries, best]
    scores: np.ndarray  # [queries, best] float64

    def wrong(self, first: int, answers: np.ndarray) -> np.ndarray:
        """Which answers [m, k] of queries first.. are wrong: not k different atoms, or one of the best is
        missing that scores more than one of them."""
        m, k = answers.shape
        ordered = np.sort(answers, axis=1)
        bad = (ordered[:, 0] < 0) | (ordered[:, -1] >= len(self.norms)) | np.any(np.diff(ordered, axis=1) == 0, axis=1)
        best = np.sort(self.ids[first : first + m, :k], axis=1)
        for j in np.flatnonzero(~bad & np.any(ordered != best, axis=1)):
            q = self.vectors.queries[first + j].astype(np.float64)
            scores = self.vectors.atoms[answers[j]].astype(np.float64) @ q
            at = np.flatnonzero(~np.isin(self.ids[first + j, :k], answers[j]))
            missing, better = self.ids[first + j, at], self.scores[first + j, at]
            length = float(np.linalg.norm(q))
            bad[j] = check.exceeded(better, self.norms[missing], scores, self.norms[answers[j]], length)
        return bad

    def recall(self, first: int, answers: np.ndarray) -> float:
        """The mean share of the k best, by id, among answers [m, k]."""
        m, k = answers.shape
        best = self.ids[first : first + m, :k]
        return float(np.mean([len(np.intersect1d(a, b)) / k for a, b in zip(answers, best, strict=True)]))


def truth(vectors: Vectors, best: int, torch: Any = None) -> Truth:
    """Float32 products determine the candidates, with room for their rounding; float64 products
    decide."""
    best = min(best, vectors.recipe.n)
    if torch is None or vectors.on_device is None:
        ids, scores, norms = data.best_atoms(vectors.atoms, vectors.queries, best)
        return Truth(vectors, norms, ids.astype(np.int64), scores)
    atoms, queries = vectors.on_device
    torch.set_float32_matmul_precision("highest")
    n, d = atoms.shape
    norms = torch.cat([part.double().norm(dim=1) for part in atoms.split(1 << 16)])
    rounding = d * 2.0**-23 * float(norms.max())
    found: list[tuple[Any, Any]] = []
    lo, room = 0, min(n, best + 128)
    while lo < len(queries):
        q = queries[lo : lo + 64]
        near, candidates = (q @ atoms.T).topk(room, dim=1)
        exact = (atoms[candidates].double() @ q.double().unsqueeze(2)).squeeze(2)
        # score descending, and of equals the least id
        by_id = candidates.argsort(dim=1)
        exact, candidates = exact.gather(1, by_id), candidates.gather(1, by_id)
        order = exact.argsort(dim=1, descending=True, stable=True)[:, :best]
        scores = exact.gather(1, order)
        left = near[:, -1].double() + 2 * rounding * q.double().norm(dim=1)
        if room < n and bool((left >= scores[:, -1]).any()):
            room = min(n, 4 * room)  # an excluded atom might be among the best
            continue
        found.append((candidates.gather(1, order), scores))
        lo += len(q)
    ids, scores = (torch.cat(column).cpu().numpy() for column in zip(*found, strict=True))
    if atoms.is_cuda:
        torch.cuda.empty_cache()  # for thresher's process, whose budget is what it finds free
    return Truth(vectors, norms.cpu().numpy(), ids, scores)
