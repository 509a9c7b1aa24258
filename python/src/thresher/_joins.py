"""Vectors compared with each other: graphs of nearest neighbours, and pairs above a score."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from thresher._arguments import (
    Deadline,
    Device,
    DType,
    Filter,
    Method,
    Metric,
    Published,
    flag,
    number,
    probability,
    published_options,
    text,
    whole,
)
from thresher._arrays import Vectors
from thresher._certified import _package
from thresher._devices import depth
from thresher._knn import as_index
from thresher._limits import former, reach, renamed
from thresher._progress import Progress

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    from scipy.sparse import coo_matrix, csr_matrix

__all__ = ["MetricWarning", "Pairs", "knn_graph", "neighbours", "pairs"]


class MetricWarning(UserWarning):
    """What is near by the metric is not what is alike; the message says why."""


def _warn(reply: dict[str, Any]) -> None:
    """Warn of what the worker says of the metric, at the line that called this package."""
    for sentence in reply["warnings"]:
        warnings.warn(sentence, MetricWarning, stacklevel=depth())


def neighbours(
    vectors: Vectors,
    k: int,
    *,
    metric: Metric | None = None,
    dtype: DType = "float32",
    method: Method = "certain",
    delta: float = 0.01,
    published: Published | None = None,
    join: Literal["union", "mutual"] | None = None,
    distances: bool = False,
    scores64: bool = False,
    seed: int | None = None,
    device: Device = "auto",
    progress: Progress = None,
    deadline: Deadline = None,
    filter: Filter | None = None,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.floating[Any]], dict[str, Any], str]:
    """Return lims (n + 1,), rows and scores of the neighbours of each vector, a certificate and the metric."""
    index, own = as_index(vectors, metric, dtype=dtype, seed=seed, device=device, progress=progress, deadline=deadline)
    try:
        if len(index) < 2:
            raise ValueError("vectors: one row; a graph has at least two")
        fields: dict[str, Any] = {
            "k": whole(k, "k"),
            "method": text(method, "method"),
            "delta": probability(delta, "delta"),
        }
        if published is not None:
            fields["published"] = published_options(published)
        if join is not None:
            fields[{"union": "symmetric", "mutual": "mutual"}[join]] = True
        reply, out = index._call("graph", fields, index._taking_part(filter), progress=progress, deadline=deadline)
        _warn(reply)
        scores = out["scores64" if flag(scores64, "scores64") else "scores"]
        if flag(distances, "distances"):
            scores = as_distances(scores, index.metric)
        return out["lims"], out["rows"], scores, reply["certificate"], index.metric
    finally:
        if own:
            index.close()


def as_distances(scores: npt.NDArray[np.floating[Any]], metric: str) -> npt.NDArray[np.floating[Any]]:
    """Return distances: for ``l2`` not squared, for ``cosine`` 1 less the cosine, at least 0."""
    if metric == "l2":
        return np.asarray(np.sqrt(scores))
    if metric == "cosine":
        return np.asarray(np.maximum(scores.dtype.type(1) - scores, scores.dtype.type(0)))
    raise ValueError("distances: inner products are no distances; metric is 'l2' or 'cosine'")


def knn_graph(
    vectors: Vectors,
    k: int,
    *,
    metric: Metric | None = None,
    dtype: DType = "float32",
    method: Method = "certain",
    delta: float = 0.01,
    symmetric: bool = False,
    mutual: bool = False,
    distances: bool = False,
    scores64: bool = False,
    seed: int | None = None,
    device: Device = "auto",
    progress: Progress = None,
    deadline: Deadline = None,
    published: Published | None = None,
    join: Literal["union", "mutual"] | None = None,
    filter: Filter | None = None,
    sort: Literal["score", "column"] = "score",
) -> csr_matrix:
    """Return the graph of the k nearest neighbours of each vector among the others.

    Parameters
    ----------
    vectors : array (n, d), or Index
        At least two. A vector is no neighbour of itself; duplicates of it are.
    k : int
        How many neighbours each has; n - 1 at most.
    metric, dtype, seed, device, progress, deadline
        As in `Index`; an Index has its own metric and type. By inner products of vectors of different
        norms a `MetricWarning` says that long vectors are near to all.
    method, delta
        By ``certain``, the default, no row of the graph is wrong.
    published : dict, optional
        Options of a published method, as of `Index.search`.
    symmetric, mutual : bool
        Make the graph symmetric: connect two vectors if either is a neighbour of the other, or if
        both are. Their former names are ``join="union"`` and ``join="mutual"``.
    distances : bool
        Hold distances in place of scores (``l2``: not squared; ``cosine``: 1 less the cosine), as
        scikit-learn, UMAP and Scanpy take them.
    scores64 : bool
        Hold the scores in float64, before they are rounded to float32. One of them, given back as
        ``min_score`` or ``max_distance`` of a search for its row, finds its neighbour. (In `pairs` a cosine
        may differ in its last bit, by which of two rows is the query.)
    filter : str, dict, bool array (n,) or sequence of ids, optional
        Which vectors take part, as of `Index.search`; an expression is for an Index with columns. The others have
        rows without neighbours, and are no neighbours.
    sort : {"score", "column"}
        The order within a row: best first, as scikit-learn wants a precomputed graph, or by column, as much of scipy
        does. A symmetric graph is in the order of its columns either way.

    Returns
    -------
    scipy.sparse.csr_matrix of float32, or float64, (n, n)
        A graph that is not symmetric has in each row k entries. Distances of 0 are stored.

    Raises
    ------
    ImportError
        If scipy is not installed.
    """
    if sort not in ("score", "column"):
        raise ValueError(f"sort: {sort!r} is none of 'score', 'column'")
    join = _connected(join, flag(symmetric, "symmetric"), flag(mutual, "mutual"))
    sparse = _scipy_sparse("knn_graph")
    lims, rows, scores, _, _ = neighbours(
        vectors,
        k,
        metric=metric,
        dtype=dtype,
        method=method,
        delta=delta,
        published=published,
        join=join,
        distances=distances,
        scores64=scores64,
        seed=seed,
        device=device,
        progress=progress,
        deadline=deadline,
        filter=filter,
    )
    n = len(lims) - 1
    graph = sparse.csr_matrix((scores, rows, lims), shape=(n, n))
    if sort == "column":
        graph.sort_indices()
    return graph


def _connected(join: str | None, symmetric: bool, mutual: bool) -> Literal["union", "mutual"] | None:
    """Return which vectors a graph connects, by the present names or, with a warning, by the former one."""
    if symmetric and mutual:
        raise ValueError("mutual: symmetric is given, too; a graph is one of them")
    if join is None:
        return "union" if symmetric else "mutual" if mutual else None
    if join not in ("union", "mutual"):
        raise ValueError(f"join: {join!r} is none of None, 'union', 'mutual'")
    name = "symmetric" if join == "union" else "mutual"
    if symmetric or mutual:
        raise ValueError(f"join: {'symmetric' if symmetric else 'mutual'} is given, too, which is its new name")
    former(f"join={join!r}", f"{name}=True")
    return "union" if join == "union" else "mutual"


@dataclass(frozen=True, eq=False, repr=False)
class Pairs:
    """Pairs that reach a score. ``a, b, scores = result`` unpacks it.

    Attributes
    ----------
    a, b : ndarray of int64 (p,)
        Row numbers, a < b, in ascending order; where others were given b is a row of those.
    scores : ndarray of float32 (p,)
        Inner products, cosines, or for metric ``l2`` squared distances.
    scores64 : ndarray of float64 (p,)
        The same before they are rounded to float32: one given back as ``min_score`` or
        ``max_distance`` finds its pair.
    shape : (int, int)
        How many rows a and b are of.
    work : dict
        What was read, by which guarantees, and what rounding to float32 changed (``vectors_change``,
        ``others_change``).
    summary : dict
        What ``thresher pairs --json`` says of pairs, under the same names: ``pairs``, ``guarantee``,
        ``promise``, ``saving``, ...
    """

    a: npt.NDArray[np.int64]
    b: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float32]
    scores64: npt.NDArray[np.float64]
    shape: tuple[int, int]
    work: dict[str, Any]
    summary: dict[str, Any]
    _self: bool

    def __repr__(self) -> str:
        said = self.summary
        limit = "max_distance" if said["metric"] == "l2" else "min_score"
        of = f"{self.shape[0]} x {self.shape[1]} rows, {said['metric']}, {limit} {said['min_score']:g}"
        return f"<thresher.Pairs {len(self)} of {of}; {said['promise']}>"

    def __iter__(self) -> Iterator[npt.NDArray[Any]]:
        yield self.a
        yield self.b
        yield self.scores

    def __len__(self) -> int:
        return len(self.a)

    def matrix(self) -> coo_matrix:
        """Return the pairs as a sparse matrix of scipy."""
        return _scipy_sparse("matrix").coo_matrix((self.scores, (self.a, self.b)), shape=self.shape)

    def to_pandas(self) -> pd.DataFrame:
        """Return a table of pandas with a row for each pair, in their order.

        Its columns are ``a`` and ``b``, row numbers, ``score`` and ``score64``.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        return _package("pandas", "to_pandas").DataFrame(self._columns())

    def to_polars(self) -> pl.DataFrame:
        """Return the table of `to_pandas` as one of polars.

        Raises
        ------
        ImportError
            If polars is not installed.
        """
        return _package("polars", "to_polars").DataFrame(self._columns())

    def to_arrow(self) -> pa.Table:
        """Return the table of `to_pandas` as one of Arrow.

        Raises
        ------
        ImportError
            If pyarrow is not installed.
        """
        return _package("pyarrow", "to_arrow").table(self._columns())

    def _columns(self) -> dict[str, npt.NDArray[Any]]:
        """Return the columns of the table of pairs."""
        return {"a": self.a, "b": self.b, "score": self.scores, "score64": self.scores64}

    def components(self) -> npt.NDArray[np.int64]:
        """Return for each row the least row that pairs connect it with, (n,).

        Rows with the same number are near duplicates, directly or by way of others.
        """
        if not self._self:
            raise ValueError("components: the pairs are of two tables")
        least = np.arange(self.shape[0])
        while True:
            before = least.copy()
            np.minimum.at(least, self.a, before[self.b])
            np.minimum.at(least, self.b, before[self.a])
            least = least[least]  # halves the way to the least
            if np.array_equal(least, before):
                return least

    def keep(self) -> npt.NDArray[np.bool_]:
        """Return which rows remain if one of each component is kept, the first: (n,)."""
        return np.asarray(self.components() == np.arange(self.shape[0]))


def pairs(
    vectors: Vectors,
    min_score: float | None = None,
    others: Vectors | None = None,
    *,
    max_distance: float | None = None,
    metric: Metric | None = None,
    dtype: DType = "float32",
    method: Method = "certain",
    delta: float = 0.01,
    max_pairs: int | None = None,
    seed: int | None = None,
    device: Device = "auto",
    progress: Progress = None,
    deadline: Deadline = None,
    most: int | None = None,
    filter: Filter | None = None,
) -> Pairs:
    """Return all pairs of vectors that score at least so much: near duplicates, record linkage.

    Parameters
    ----------
    vectors : array (n, d), or Index
        What is compared with itself, each pair once, or with others.
    min_score, max_distance : float
        The least score, or for ``l2`` the greatest squared distance. One that no pair can have, such as a
        cosine above 1, is an error.
    others : array (o, d), optional
        What the vectors are compared with.
    metric, dtype, seed, device, progress, deadline
        As in `Index`; an Index has its own metric and type. By inner products of vectors of different
        norms a `MetricWarning` says that long vectors are near to all.
    method, delta
        By ``certain``, the default, no pair is missing; by ``adaptive`` each with probability at
        most delta.
    max_pairs : int, optional
        More pairs than this are an error, before they fill the memory. `most` is its former name.
    filter : str, dict, bool array (n,) or sequence of ids, optional
        Which of the vectors, but not of others, are in pairs, as of `Index.search`; an expression is for an Index
        with columns.

    Returns
    -------
    Pairs
    """
    index, own = as_index(vectors, metric, dtype=dtype, seed=seed, device=device, progress=progress, deadline=deadline)
    try:
        max_pairs = renamed("most", most, "max_pairs", max_pairs)
        wanted, called = reach(index.metric, min_score, max_distance)
        score = number(wanted, called)
        if not np.isfinite(score):
            raise ValueError(f"{called}: {score} is not finite")
        fields: dict[str, Any] = {
            "min_score": score,
            "method": text(method, "method"),
            "delta": probability(delta, "delta"),
        }
        if max_pairs is not None:
            fields["max_pairs"] = whole(max_pairs, "max_pairs")
        arrays: dict[str, npt.NDArray[Any]] = {**index._taking_part(filter)}
        columns = len(index)
        if others is not None:
            given = index._asked(others, "others", one=False)
            arrays["others"], columns = given.rows, len(given.rows)
            if given.changes is not None and given.changes.any():
                arrays["changes"] = given.changes
            if columns == 0:
                raise ValueError("others: no rows; at least one is needed")
        reply, out = index._call(
            "pairs",
            fields,
            arrays,
            progress=progress,
            deadline=deadline,
            names={"min_score": called},
        )
        _warn(reply)
        work = reply.pop("work")
        return Pairs(
            out["a"], out["b"], out["scores"], out["scores64"], (len(index), columns), work, reply, others is None
        )
    finally:
        if own:
            index.close()


def _scipy_sparse(what: str) -> Any:
    try:
        import scipy.sparse
    except ImportError:
        raise ImportError(
            f"{what} returns a matrix of scipy, which is not installed: pip install thresher[graph]"
        ) from None
    return scipy.sparse
