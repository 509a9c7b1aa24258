"""Searches that walk segments one after the other, for engines that run them as tasks.

A segment is an index that `Index.save` or ``thresher build`` wrote. Each is searched from the k-th score of those
before it, so that the answers cost little more than those of one index of all vectors.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from thresher import _ids, _worker
from thresher._arguments import renamed
from thresher._heads import refuse_unlike
from thresher._index import Index
from thresher._merge import merge
from thresher._range_result import RangeResult
from thresher._result import Result

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "REFUSALS",
    "TOGETHER",
    "Segments",
    "answers",
    "column_of",
    "errors_by_id",
    "lists_of",
    "row_name",
    "vectors_of",
]

log = logging.getLogger("thresher")

TOGETHER = 1 << 17  # queries that walk together

# Errors in what a task was given, which say what it is. Tasks raise them without the frames of this package: engines
# print these before what the error says.
REFUSALS = (ValueError, TypeError, OSError)

_MERGED = 8  # results that are merged at once, and are held until then

_TRIES = 3  # of a block whose worker dies; each search repeats itself once, too

T = TypeVar("T")


class Segments:
    """Segments that are open, to be searched together.

    Parameters
    ----------
    paths : sequence of paths
        Files ``.thresher``, in the order of their vectors: row numbers count through all of them, and equal scores
        are in their order. They are mapped, so that processes of a machine share them.
    threads : int, optional
        As of `Index`.

    Raises
    ------
    ValueError
        If two of them differ in metric, dimension, type or in the kind of their ids; the message names both.
    """

    def __init__(self, paths: Sequence[str | os.PathLike[str]], *, threads: int | None = None) -> None:
        if not paths:
            raise ValueError("vectors: no segments")
        self.paths = [os.fspath(path) for path in paths]
        self.indexes: list[Index] = []
        try:
            for path in self.paths:
                with renamed(path="vectors"):
                    self.indexes.append(Index.open(path, device="cpu", threads=threads))
                self._check(path)
        except BaseException:
            self.close()
            raise
        sizes = [len(index) for index in self.indexes]
        self.offsets = [sum(sizes[:i]) for i in range(len(sizes))]
        self._wide = any(index.ids.dtype.kind == "u" for index in self.indexes)

    def _check(self, path: str) -> None:
        first, last = self.indexes[0], self.indexes[-1]
        refuse_unlike(first, self.paths[0], last, path)
        if (a := _kind(first)) != (b := _kind(last)):
            raise ValueError(f"vectors: ids differ, {a} of {self.paths[0]} and {b} of {path}")

    def __len__(self) -> int:
        return sum(len(index) for index in self.indexes)

    @property
    def metric(self) -> str:
        """That of every segment."""
        return self.indexes[0].metric

    @property
    def dim(self) -> int:
        """How many values a vector has."""
        return self.indexes[0].dim

    def search(
        self, queries: Any, k: int, *, exclude: Sequence[npt.NDArray[Any]] | None = None, **options: Any
    ) -> Result:
        """Return the k best vectors of all segments for each query, as `Index.search` of one index of them would.

        exclude has the ids that each query may not return, of whichever segment. Other options are those of
        `Index.search`.
        """
        reach = "max_distance" if self.metric == "l2" else "min_score"
        own = options.pop(reach, None)
        found: list[tuple[Result, int]] = []  # and the first row among all
        best: npt.NDArray[np.float64] | None = None  # the scores of the k best of each query, least first
        for index, offset in zip(self.indexes, self.offsets, strict=True):
            within: dict[str, Any] = {reach: self._floor(best, own), **options}
            r = index.search(queries, k, exclude=_excluded(index, exclude), **within)
            found.append((replace(r, _covers=None), offset))  # its least score is of this segment alone
            if len(found) == _MERGED:
                found = [(self._merged(found, k), 0)]
            scores = r.scores64 if self.metric == "l2" else -r.scores64
            best = scores if best is None else np.sort(np.concatenate([best, scores], axis=1), axis=1)[:, :k]
        result = found[0][0] if len(found) == 1 else self._merged(found, k)
        self._refuse_twice(result)
        return result

    def _merged(self, found: Sequence[tuple[Result, int]], k: int) -> Result:
        return merge([r for r, _ in found], k, offsets=[offset for _, offset in found], unchecked=True)

    def _floor(self, best: npt.NDArray[np.float64] | None, own: Any) -> Any:
        """Return the least score that changes the best of each query: its k-th, or the caller's own."""
        if best is None:
            return own
        kth = best[:, -1] if self.metric == "l2" else -best[:, -1]  # NaN of fewer than k, which stands for none
        if own is None:
            return kth
        return (np.fmin if self.metric == "l2" else np.fmax)(kth, own)

    def range_search(
        self, queries: Any, *, exclude: Sequence[npt.NDArray[Any]] | None = None, **options: Any
    ) -> RangeResult:
        """Return all vectors of all segments that reach a score, as `Index.range_search` does, `min_score` by name."""
        found = [
            replace(index.range_search(queries, exclude=_excluded(index, exclude), **options), _covers=None)
            for index in self.indexes
        ]
        return merge(found, offsets=self.offsets, unchecked=True)

    def _refuse_twice(self, best: Result) -> None:
        """Refuse answers with an id twice: two segments have it."""
        if len(self.indexes) == 1 or not best._own_ids:
            return
        ordered = np.sort(best.ids, axis=1)
        twice = (ordered[:, 1:] == ordered[:, :-1]) & (np.sort(best.rows, axis=1)[:, 1:] >= 0)
        none = {"i": -1, "u": _ids.NONE}.get(ordered.dtype.kind, "")
        twice &= ordered[:, 1:] != none
        if twice.any():
            which = ordered[:, 1:][twice][0]
            rows = np.sort(best.rows[np.nonzero(best.ids == which)])[:2]
            at = np.searchsorted(self.offsets, rows, side="right") - 1
            names = " and ".join(dict.fromkeys(self.paths[i] for i in at))
            raise ValueError(f"vectors: id {which.item()!r} is there twice, in {names}")

    def close(self) -> None:
        """Close every segment."""
        for index in self.indexes:
            index.close()

    def repeating(self, call: Callable[[], T]) -> T:
        """Return what a call returns that searches; again, if workers died of it, at most twice."""
        for left in reversed(range(_TRIES)):
            try:
                return call()
            except _worker.WorkerDied as e:
                if not left:
                    raise
                log.warning("the block is repeated, because the worker died twice: %s", e)
        raise AssertionError

    @property
    def wide(self) -> bool:
        """Whether ids need uint64."""
        return self._wide


def _kind(index: Index) -> str:
    """Return what the ids of an index are, in words."""
    if index._ids is None:
        return "none"
    return "texts" if index._ids.dtype.kind == "U" else "integers"


def _excluded(
    index: Index, lists: Sequence[npt.NDArray[Any]] | None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None:
    """Return lists of ids as rows of an index, without those that it has not: (indptr, indices)."""
    if lists is None:
        return None
    counts = np.array([len(part) for part in lists], np.int64)
    owners = np.repeat(np.arange(len(lists)), counts)
    if not counts.sum():
        return np.zeros(len(lists) + 1, np.int64), np.empty(0, np.int64)
    wanted = np.concatenate([part for part in lists if len(part)])
    ids = index.ids
    if (wanted.dtype.kind == "U") != (ids.dtype.kind == "U"):
        raise TypeError(f"exclude: ids are {wanted.dtype}, those of the vectors {ids.dtype}")
    if wanted.dtype.kind != "U":  # negative ones are no ids
        fine = wanted >= 0
        wanted, owners = wanted[fine], owners[fine]
        wanted = wanted.astype(np.uint64)
        ids = ids.astype(np.uint64, copy=False)
    order = index._sorted()
    rows = order[np.minimum(np.searchsorted(ids, wanted, sorter=order), len(ids) - 1)]
    there = ids[rows] == wanted
    rows, owners = rows[there], owners[there]
    each = np.unique(np.stack([owners, rows]), axis=1)  # a row once in a list
    lims = np.zeros(len(lists) + 1, np.int64)
    np.cumsum(np.bincount(each[0], minlength=len(lists)), out=lims[1:])
    return lims, each[1].astype(np.int64)


def vectors_of(block: pa.Table, name: str) -> Any:
    """Return a column of vectors of a block of an engine, as searches take it.

    Raises
    ------
    ValueError
        If there is no such column; the message has those that there are.
    """
    column = column_of(block, name, "vector")
    if hasattr(column, "to_numpy") and column.type.__class__.__name__.startswith("ArrowTensor"):
        return column.to_numpy(zero_copy_only=False)  # of Ray, (n, d)
    return column


def column_of(block: pa.Table, name: str, argument: str) -> pa.Array:
    """Return a column of a block in one piece."""
    import pyarrow as pa

    if name not in block.column_names:
        raise ValueError(f"{argument}: queries have no column {name!r}, but {', '.join(block.column_names)}")
    column = block.column(name)
    if isinstance(column, pa.ChunkedArray):
        column = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    return column


def lists_of(block: pa.Table, name: str) -> list[npt.NDArray[Any]]:
    """Return a column of lists of ids as arrays, without nulls."""
    import pyarrow as pa

    column = column_of(block, name, "exclude")
    if not (pa.types.is_list(column.type) or pa.types.is_large_list(column.type)):
        raise TypeError(f"exclude: column {name!r} is {column.type}, expected lists of ids")
    lengths = np.asarray(column.value_lengths().fill_null(0))
    ids = column.flatten()
    if ids.null_count:
        raise ValueError(f"exclude: column {name!r} has null in a list")
    return np.split(_ids.as_ids(ids, "exclude"), np.cumsum(lengths)[:-1]) if len(lengths) else []


def row_name(block: Any, id: str | None, row: int, what: str) -> str:
    """Return how errors name a row: by its id, or else by its number in the partition's block."""
    if id is None:
        return f"{what} {row} of a block"
    return f"the {what} of {id} {column_of(block, id, 'id')[row].as_py()!r}"


@contextmanager
def errors_by_id(block: pa.Table, id: str | None) -> Iterator[None]:
    """Name queries by their ids in errors of a search, which has their numbers."""
    try:
        yield
    except ValueError as e:
        if id is None or not str(e).startswith("queries: row "):
            raise
        said = re.sub(r"\brow (\d+)", lambda at: row_name(block, id, int(at[1]), "query"), str(e))
        raise ValueError(f"vector: {said.removeprefix('queries: ')}") from None


def answers(result: Result | RangeResult, query_id: pa.Array, wide: bool) -> pa.Table:
    """Return `Result.to_arrow` of a block of queries, under their ids, with the same types whatever the block."""
    import pyarrow as pa

    table = result.to_arrow().replace_schema_metadata(None)
    if wide:
        at = table.column_names.index("ids")
        table = table.set_column(at, "ids", table["ids"].cast(pa.list_(pa.uint64())))
    return table.set_column(0, "query_id", query_id)  # in place of the number within the block
