"""What is right: best atoms, pairs and recalls by float64 arithmetic of numpy.

Float32 products only select what is computed again in float64: all within twice a bound of their
rounding error, whatever the order of summation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

BLOCK = 512  # queries whose products with all atoms are held at once


@dataclass(frozen=True)
class Scorer:
    """Scores of rows of a metric, the greater the better: inner products, cosines, or squared
    distances with their signs changed."""

    atoms: np.ndarray  # [n, d] float32
    metric: str
    norms: np.ndarray  # [n] float64

    @staticmethod
    def of(atoms: np.ndarray, metric: str) -> Scorer:
        norms = np.concatenate([np.linalg.norm(b.astype(np.float64), axis=1) for b in blocks(atoms)])
        return Scorer(atoms, metric, norms)

    def exact(self, q: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """Float64 scores of some atoms for one query. Each is summed by itself, so that it does not depend
        on the other atoms."""
        x, q = self.atoms[ids].astype(np.float64), q.astype(np.float64)
        if self.metric == "l2":
            return -((x - q) ** 2).sum(axis=1)
        products = (x * q).sum(axis=1)
        return products / (self.norms[ids] * np.linalg.norm(q)) if self.metric == "cosine" else products

    def about(self, queries: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Float32 scores [queries, atoms], and a bound on the error of each query's."""
        lengths = np.linalg.norm(queries.astype(np.float64), axis=1)
        products = queries @ self.atoms.T
        d = queries.shape[1]
        bound = (d + 8) * 2.0**-23 * lengths * self.norms.max()
        if self.metric == "l2":
            scores = 2 * products - (self.norms**2).astype(np.float32) - (lengths**2).astype(np.float32)[:, None]
            return scores, 4 * bound + (d + 8) * 2.0**-22 * (lengths**2 + self.norms.max() ** 2)
        if self.metric == "cosine":
            scale = np.maximum(self.norms, 1e-300)
            return products / (scale * lengths[:, None]), bound / (lengths * scale.min())
        return products, bound


def blocks(rows: np.ndarray, size: int = 4096) -> Iterator[np.ndarray]:
    for lo in range(0, len(rows), size):
        yield np.asarray(rows[lo : lo + size])


def best(scorer: Scorer, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Ids and float64 scores of the k best atoms of each query, equal scores by id."""
    n = len(scorer.atoms)
    ids, scores = np.empty((len(queries), k), np.int64), np.empty((len(queries), k))
    for lo in range(0, len(queries), BLOCK):
        block = np.asarray(queries[lo : lo + BLOCK])
        about, bound = scorer.about(block)
        least = np.partition(about, n - k, axis=1)[:, n - k] - 2 * bound
        for j, (row, floor) in enumerate(zip(about, least, strict=True)):
            near = np.flatnonzero(row >= floor)
            exact = scorer.exact(block[j], near)
            order = np.lexsort((near, -exact))[:k]
            ids[lo + j], scores[lo + j] = near[order], exact[order]
    return ids, scores


def found(scorer: Scorer, queries: np.ndarray, answers: np.ndarray, right: np.ndarray) -> np.ndarray:
    """How many of its k best atoms each answer has; those that tie with the k-th best stand for each other.
    right holds the scores of the k best. Ids below 0 are padding."""
    k = right.shape[1]
    counts = np.zeros(len(answers), np.int64)
    for j, row in enumerate(answers):
        ids = np.unique(row[row >= 0][:k])
        scores, last = scorer.exact(queries[j], ids), right[j, -1]
        counts[j] = np.sum(scores > last) + min(np.sum(scores == last), np.sum(right[j] == last))
    return counts


def different(scorer: Scorer, queries: np.ndarray, answers: np.ndarray, right: np.ndarray) -> int:
    """The answers that are not a right one: k different atoms whose scores, sorted, are those of the
    best to within the rounding of float64 sums."""
    d = queries.shape[1]
    wrong = 0
    for j, row in enumerate(answers):
        if len(np.unique(row)) != len(row) or len(row) != right.shape[1] or row.min() < 0:
            wrong += 1
            continue
        scores = -np.sort(-scorer.exact(queries[j], row))
        scale = np.maximum(np.abs(right[j]), np.linalg.norm(queries[j].astype(np.float64)) * scorer.norms[row].max())
        wrong += bool(np.any(np.abs(scores - right[j]) > (d + 8) * 2.0**-52 * scale))
    return wrong


def pairs_above(scorer: Scorer, least: float) -> np.ndarray:
    """All pairs i < j of atoms that score at least this in float64, [pairs, 2], sorted. For metrics of
    which more is better."""
    kept = []
    for lo in range(0, len(scorer.atoms), BLOCK):
        block = np.asarray(scorer.atoms[lo : lo + BLOCK])
        about, bound = scorer.about(block)
        for j, (row, error) in enumerate(zip(about, bound, strict=True)):
            near = np.flatnonzero(row[lo + j + 1 :] >= least - error) + lo + j + 1
            near = near[scorer.exact(block[j], near) >= least]
            kept.append(np.stack([np.full(len(near), lo + j), near], axis=1))
    return np.concatenate(kept)
