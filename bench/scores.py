"""Scores of the metrics in float64, of which the greatest are best: the inner product, the cosine
(0 of a zero vector), and half the squared distance, negated."""

from __future__ import annotations

import numpy as np


def exactly(metric: str, query: np.ndarray, atoms: np.ndarray) -> np.ndarray:
    """The scores of float32 atoms [n, d] for a query [d], summed in float64."""
    q, v = query.astype(np.float64), atoms.astype(np.float64)
    if metric == "l2":
        v -= q
        distances: np.ndarray = np.einsum("ij,ij->i", v, v)
        return -0.5 * distances
    found: np.ndarray = v @ q
    if metric == "cosine":
        lengths = np.linalg.norm(v, axis=1) * np.linalg.norm(q)
        return np.divide(found, lengths, out=np.zeros_like(found), where=lengths > 0)
    return found


def reach(metric: str, length: float, norms: np.ndarray) -> np.ndarray:
    """What the rounding of a score in float32 is relative to, by the query's norm and the atoms'."""
    if metric == "cosine":
        return np.ones_like(norms)
    if metric == "l2":
        return np.square(length + norms) / 2
    return length * norms


def estimates(metric: str, queries: np.ndarray, atoms: np.ndarray, norms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Float32 numbers [m, n] in the order of the scores of each query, and what they may be off by [m]:
    d 2^-23 |q||v| covers any order of summation."""
    found: np.ndarray = queries @ atoms.T
    lengths = np.linalg.norm(queries.astype(np.float64), axis=1)
    greatest = float(norms.max())
    unit = (atoms.shape[1] + 8) * 2.0**-23
    if metric == "cosine":
        found /= np.where(norms > 0, norms, 1).astype(np.float32)
        return found, unit * lengths
    if metric == "l2":
        found -= (np.square(norms) / 2).astype(np.float32)
        return found, unit * (lengths * greatest + greatest**2 / 2)
    if whole(queries) and whole(atoms) and lengths.max() * greatest < 1 << 24:
        return found, np.zeros(len(queries))  # no partial sum is rounded
    return found, unit * lengths * greatest


def whole(x: np.ndarray) -> bool:
    """Whether all numbers are integers."""
    return bool(np.array_equal(x, np.rint(x)))


def normalised(x: np.ndarray) -> np.ndarray:
    """The rows of x scaled to norm 1; zero rows stay."""
    norms = np.linalg.norm(x, axis=1, keepdims=True)
    found: np.ndarray = x / np.where(norms > 0, norms, 1)
    return found
