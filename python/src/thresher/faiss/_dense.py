"""Searches by a matrix of distances: of metrics that the engine lacks, and of values that are not finite."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from thresher.faiss._metrics import distances, is_similarity_metric, worst

__all__ = ["best", "within"]

Floats = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]

# Distances that are computed at once.
_BLOCK = 1 << 22


def _blocks(queries: Floats, rows: Floats, metric: int, argument: float) -> Iterator[tuple[int, Floats]]:
    """Yield the number of a query, and the distances of it and of those behind it."""
    step = max(1, _BLOCK // max(1, len(rows)))
    for first in range(0, len(queries), step):
        yield first, distances(queries[first : first + step], rows, metric, argument)


def best(queries: Floats, rows: Floats, k: int, metric: int, argument: float) -> tuple[Floats, Ids]:
    """Return the k best distances of each query and their rows, equal ones by row; as FAISS, no NaN is found.

    What is lacking is -1, with the worst distance.
    """
    k = min(k, len(rows))
    scores, ids = np.empty((len(queries), k), np.float32), np.empty((len(queries), k), np.int64)
    for first, found in _blocks(queries, rows, metric, argument):
        keys = -found if is_similarity_metric(metric) else found
        order = np.argsort(keys, axis=1, kind="stable")[:, :k]  # NaN is last
        shown = np.take_along_axis(found, order, axis=1)
        lacking = ~(shown > worst(metric)) if is_similarity_metric(metric) else ~(shown < worst(metric))
        some = slice(first, first + len(found))
        scores[some], ids[some] = np.where(lacking, worst(metric), shown), np.where(lacking, -1, order)
    return scores, ids


def within(queries: Floats, rows: Floats, radius: np.float32, metric: int, argument: float) -> tuple[Ids, Floats, Ids]:
    """Return lims, distances and rows of what is nearer than a radius, or of similarities above it, by row."""
    counts, scores, ids = np.zeros(len(queries), np.int64), [], []
    for first, found in _blocks(queries, rows, metric, argument):
        near = found > radius if is_similarity_metric(metric) else found < radius
        counts[first : first + len(found)] = np.count_nonzero(near, axis=1)
        scores.append(found[near])
        ids.append(np.nonzero(near)[1])
    lims = np.concatenate([[0], np.cumsum(counts)])
    return lims, np.concatenate(scores), np.concatenate(ids)
