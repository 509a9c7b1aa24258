"""Neighbours for UMAP: its ``precomputed_knn``, exact and fast, for `transform` of new rows, too.

Examples
--------
>>> import umap, thresher.umap
>>> neighbours = thresher.umap.precomputed_knn(embeddings, n_neighbors=15, metric="cosine")  # doctest: +SKIP
>>> model = umap.UMAP(n_neighbors=15, metric="cosine", precomputed_knn=neighbours).fit(embeddings)  # doctest: +SKIP
>>> model.transform(more)  # doctest: +SKIP
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pynndescent import NNDescent

from thresher import _arrays
from thresher._arguments import Deadline, Device, Method, whole
from thresher._arrays import Vectors
from thresher._index import Index
from thresher._joins import as_distances, neighbours
from thresher._progress import Progress

__all__ = ["SearchIndex", "precomputed_knn"]

METRICS: dict[str, Literal["l2", "cosine"]] = {"euclidean": "l2", "cosine": "cosine"}


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
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32], SearchIndex]:
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
    search : SearchIndex
        What UMAP searches when it transforms new rows and is updated with some. It holds the rows; without it,
        ``precomputed_knn[:2]``, UMAP refuses both.
    """
    if metric not in METRICS:
        raise ValueError(f"metric: {metric!r} is none of 'euclidean', 'cosine'")
    k = whole(n_neighbors, "n_neighbors", 2) - 1
    settings: dict[str, Any] = {"method": method, "delta": delta}
    index = Index(embeddings, metric=METRICS[metric], device=device, progress=progress, deadline=deadline)
    try:
        indices, distances = _of_rows(index, k, n_neighbors, progress=progress, deadline=deadline, **settings)
    except BaseException:
        index.close()
        raise
    return indices, distances, SearchIndex(index, embeddings, n_neighbors, settings)


def _of_rows(index: Index, k: int, n_neighbors: int, **settings: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the neighbours of each row and their distances, itself first."""
    lims, rows, distances, _, _ = neighbours(index, k, distances=True, **settings)
    n = len(lims) - 1
    if n <= k:
        raise ValueError(f"n_neighbors: {n_neighbors} of {n} rows; at most {n}")
    selves = np.arange(n, dtype=np.int32)[:, np.newaxis]
    return (
        np.hstack([selves, rows.reshape(n, k).astype(np.int32)]),
        np.hstack([np.zeros((n, 1), np.float32), distances.reshape(n, k)]),
    )


class SearchIndex(NNDescent):  # type: ignore[misc]  # UMAP asks for this type
    """What UMAP searches for neighbours of new rows: an index of thresher in place of one of PyNNDescent.

    Attributes
    ----------
    index : Index
        Of the rows that UMAP was fitted to.
    neighbor_graph : tuple
        The neighbours of these rows, and their distances.
    """

    _angular_trees = False  # what UMAP chooses an epsilon by, which exact searches do not need

    def __init__(self, index: Index, rows: Vectors, n_neighbors: int, settings: dict[str, Any]) -> None:
        self.index = index
        self._raw_data = np.asarray(_arrays.table(rows, "embeddings"), np.float32)
        self._n_neighbors, self._settings = n_neighbors, settings

    def prepare(self) -> None:
        """Do nothing: there is nothing to prepare."""

    def query(
        self, query_data: Vectors, k: int = 10, epsilon: float = 0.0
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """Return the k nearest rows of each row of query_data, and their distances; epsilon has no effect."""
        if k > len(self.index):
            raise ValueError(f"k: {k} of {len(self.index)} rows")
        result = self.index.search(query_data, k, **self._settings)
        return result.rows.astype(np.int32), as_distances(result.scores, self.index.metric)

    def update(self, xs_fresh: Vectors) -> None:
        """Add rows, as ``UMAP.update`` does."""
        self.index.add(xs_fresh)
        self._raw_data = np.concatenate([self._raw_data, np.asarray(_arrays.table(xs_fresh, "xs_fresh"), np.float32)])

    @property
    def neighbor_graph(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """The neighbours of each row, itself first, and their distances."""
        return _of_rows(self.index, self._n_neighbors - 1, self._n_neighbors, **self._settings)

    def __getstate__(self) -> dict[str, Any]:
        return dict(self.__dict__)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
