"""Neighbours for UMAP: its ``precomputed_knn``, exact and fast.

Examples
--------
>>> import umap, thresher.umap
>>> neighbours = thresher.umap.precomputed_knn(embeddings, n_neighbors=15, metric="cosine")  # doctest: +SKIP
>>> umap.UMAP(n_neighbors=15, metric="cosine", precomputed_knn=neighbours).fit_transform(embeddings)  # doctest: +SKIP
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from thresher._arguments import Deadline, Device, Method, whole
from thresher._arrays import Vectors
from thresher._joins import neighbours
from thresher._progress import Progress

__all__ = ["precomputed_knn"]


def precomputed_knn(
    embeddings: Vectors,
    n_neighbors: int = 15,
    metric: Literal["euclidean", "cosine"] = "euclidean",
    *,
    method: Method = "certain",
    delta: float = 0.01,
    device: Device = "auto",
    progress: Progress = None,
    deadline: Deadline = None,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """Return the neighbours of each row as ``umap.UMAP(precomputed_knn=..)`` takes them.

    Parameters
    ----------
    embeddings : array (n, d)
        What UMAP is fitted to.
    n_neighbors : int
        As UMAP counts them: a row is its own first neighbour. At least 2, at most n.
    metric : {"euclidean", "cosine"}
        That of UMAP.
    method, delta, device, progress, deadline
        As in `thresher.knn_graph`; by ``certain``, the default, no neighbour is wrong.

    Returns
    -------
    indices : ndarray of int32 (n, n_neighbors)
        Row numbers, each row itself first.
    distances : ndarray of float32 (n, n_neighbors)
        Euclidean (not squared) or cosine distances.
    """
    if metric not in ("euclidean", "cosine"):
        raise ValueError(f"metric: {metric!r} is none of 'euclidean', 'cosine'")
    k = whole(n_neighbors, "n_neighbors", 2) - 1
    lims, rows, distances, _, _ = neighbours(
        embeddings,
        k,
        metric="l2" if metric == "euclidean" else "cosine",
        method=method,
        delta=delta,
        distances=True,
        device=device,
        progress=progress,
        deadline=deadline,
    )
    n = len(lims) - 1
    if n <= k:
        raise ValueError(f"n_neighbors: {n_neighbors} of {n} rows; at most {n}")
    selves = np.arange(n, dtype=np.int32)[:, np.newaxis]
    return (
        np.hstack([selves, rows.reshape(n, k).astype(np.int32)]),
        np.hstack([np.zeros((n, 1), np.float32), distances.reshape(n, k)]),
    )
