"""Data of the tests, and what is right."""

from __future__ import annotations

import os

import numpy as np
import pytest


def best(queries, vectors, k, metric="ip"):
    """Return the ids and scores of the k best in float64; ties by row number."""
    q, v = np.asarray(queries, np.float64), np.asarray(vectors, np.float64)
    scores = q @ v.T
    if metric == "cosine":
        norms = np.linalg.norm(q, axis=1)[:, None] * np.linalg.norm(v, axis=1)
        scores = np.divide(scores, norms, out=np.zeros_like(norms), where=norms > 0)
    if metric == "l2":
        scores = np.array([((row - v) ** 2).sum(axis=1) for row in q])
    order = np.argsort(scores if metric == "l2" else -scores, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(scores, order, axis=1)


def memfds(pid):
    """Return how many descriptors and mappings of shared memory a process has."""
    fds = 0
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            fds += "memfd:thresher" in os.readlink(f"/proc/{pid}/fd/{fd}")
        except OSError:
            continue
    with open(f"/proc/{pid}/maps") as maps:
        return fds + sum("memfd:thresher" in line for line in maps)


@pytest.fixture(scope="session")
def rng():
    return np.random.default_rng(1)


@pytest.fixture(scope="session")
def vectors():
    """1,500 rows in clusters, of 48 values."""
    rng = np.random.default_rng(2)
    centres = rng.standard_normal((30, 48))
    return (centres[rng.integers(30, size=1500)] + 0.5 * rng.standard_normal((1500, 48))).astype(np.float32)


@pytest.fixture(scope="session")
def queries(vectors):
    rng = np.random.default_rng(3)
    return vectors[::50] + rng.standard_normal((30, 48)).astype(np.float32) / 4


@pytest.fixture(params=[1, 0, 2], ids=["l2", "ip", "l1"])
def metric(request):
    """A metric by the number that FAISS gives it."""
    return request.param
