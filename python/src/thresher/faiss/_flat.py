"""Flat indexes: all vectors, as they were added."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

import thresher
from thresher.faiss import _metrics
from thresher.faiss._metrics import METRIC_INNER_PRODUCT, METRIC_L2
from thresher.faiss._pointers import Vector
from thresher.faiss._rows import Rows
from thresher.faiss._searcher import Searcher
from thresher.faiss._selectors import IDSelector, IDSelectorBatch, SearchParameters, selected
from thresher.faiss._shapes import check_list, matrix_shape

__all__ = ["Index", "IndexFlat", "IndexFlatIP", "IndexFlatL2"]

Floats = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]
T = TypeVar("T", bound=np.generic)


class Index:
    """What flat indexes and those that map ids have in common.

    Arguments are FAISS's: vectors are arrays (n, d) of numbers, which are rounded to float32 and copied, ids are
    int64. An array of another width is an AssertionError, and what the index cannot do a RuntimeError.

    Attributes
    ----------
    d : int
        How many values a vector has.
    metric_type : int
        A ``METRIC_`` constant.
    metric_arg : float
        The p of ``METRIC_Lp``.
    is_trained : bool
        True: there is nothing to train.
    verbose : bool
        As it was set; nothing is printed.
    """

    __slots__ = ("__weakref__", "d", "is_trained", "metric_arg", "metric_type", "verbose")

    def __init__(self, d: int, metric: int) -> None:
        self.d, self.metric_type = d, metric
        self.metric_arg, self.is_trained, self.verbose = 0.0, True, False

    @property
    def ntotal(self) -> int:
        """How many vectors there are."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<thresher.faiss.{type(self).__name__} {self.ntotal} x {self.d}, metric {self.metric_type}>"

    def __len__(self) -> int:
        return self.ntotal

    def __deepcopy__(self, _: Any) -> Index:
        return self.clone()

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        from thresher.faiss._files import deserialize_index, serialize_index

        return deserialize_index, (serialize_index(self),)

    def clone(self) -> Index:
        """Return a copy with vectors of its own."""
        raise NotImplementedError

    # Of the row numbers of vectors and what answers name.

    def _ids(self, params: SearchParameters | None) -> npt.NDArray[np.bool_] | None:
        """Return which rows a search may return, None for all."""
        raise NotImplementedError

    def _find(self, queries: Floats, k: int, allowed: npt.NDArray[np.bool_] | None) -> tuple[Floats, Ids]:
        raise NotImplementedError

    def _find_within(
        self, queries: Floats, radius: float, allowed: npt.NDArray[np.bool_] | None
    ) -> tuple[Ids, Floats, Ids]:
        raise NotImplementedError

    def train(self, x: Any) -> None:
        """Check the shape of vectors; there is nothing to train."""
        rows_of(x, self.d)

    def add(self, x: Any) -> None:
        """Append vectors (n, d)."""
        raise NotImplementedError

    def add_with_ids(self, x: Any, ids: Any) -> None:
        """Append vectors (n, d) under ids (n,): an `IndexIDMap` does."""
        raise RuntimeError(f"add_with_ids: {type(self).__name__} numbers its vectors; wrap it, empty, in an IndexIDMap")

    def search(
        self,
        x: Any,
        k: int,
        *,
        params: SearchParameters | None = None,
        D: Any = None,
        I: Any = None,
    ) -> tuple[Floats, Ids]:
        """Return the k best vectors of each query.

        Parameters
        ----------
        x : array (m, d)
            The queries.
        k : int
            How many are wanted.
        params : SearchParameters, optional
            With the ids that may be returned.
        D, I : arrays (m, k), optional
            Where distances and labels are written.

        Returns
        -------
        D : float32 (m, k)
            Squared distances, smallest first, or inner products, greatest first.
        I : int64 (m, k)
            Row numbers or ids; equal distances in order of rows. Where there are fewer than k, -1, with the greatest
            number of float32 as the distance, or the smallest as the product.
        """
        queries = rows_of(x, self.d)
        k = _positive(k)
        scores, ids = self._find(queries, k, self._ids(params))
        return written(scores, D, "D"), written(ids, I, "I")

    def assign(self, x: Any, k: int, labels: Any = None) -> Ids:
        """Return the labels of `search`, (m, k)."""
        return self.search(x, k, I=labels)[1]

    def range_search(
        self, x: Any, thresh: float, *, params: SearchParameters | None = None
    ) -> tuple[npt.NDArray[np.uint64], Floats, Ids]:
        """Return all vectors nearer than a squared distance, or with a product above thresh.

        Parameters
        ----------
        x : array (m, d)
            The queries.
        thresh : float
            Rounded to float32; a distance that equals it is not found.
        params : SearchParameters, optional
            As of `search`.

        Returns
        -------
        lims : uint64 (m + 1,)
            The answer of query j is at ``lims[j]:lims[j+1]``.
        D : float32 (lims[-1],)
        I : int64 (lims[-1],)
            Row numbers or ids, in order of rows.
        """
        queries = rows_of(x, self.d)
        lims, scores, ids = self._find_within(queries, float(thresh), self._ids(params))
        return lims.astype(np.uint64), scores, ids

    def search_and_reconstruct(
        self,
        x: Any,
        k: int,
        *,
        params: SearchParameters | None = None,
        D: Any = None,
        I: Any = None,
        R: Any = None,
    ) -> tuple[Floats, Ids, Floats]:
        """Return `search`, and the vectors that were found, (m, k, d): NaN where there is none."""
        scores, ids = self.search(x, k, params=params, D=D, I=I)
        there = ids >= 0
        found = np.full((*ids.shape, self.d), np.nan, np.float32)
        found[there] = self.reconstruct_batch(ids[there])
        return scores, ids, written(found, R, "R")

    def reconstruct(self, key: int, x: Any = None) -> Floats:
        """Return the vector of a row number or id, (d,)."""
        found: Floats = self.reconstruct_batch([key])[0]
        return written(found, x, "x")

    def reconstruct_batch(self, key: Any, x: Any = None) -> Floats:
        """Return the vectors of row numbers or ids (n,), (n, d)."""
        raise RuntimeError(f"reconstruct: {type(self).__name__} does not find vectors by their ids; IndexIDMap2 does")

    def reconstruct_n(self, n0: int = 0, ni: int = -1, x: Any = None) -> Floats:
        """Return ni vectors from a row number or id on, (ni, d); -1 stands for all that follow."""
        count = self.ntotal - n0 if ni == -1 else ni
        return self.reconstruct_batch(np.arange(n0, n0 + count), x)

    def remove_ids(self, x: Any) -> int:
        """Remove the vectors of ids (n,) or of an IDSelector, and return how many there were; rows behind move up."""
        chosen = x if isinstance(x, IDSelector) else IDSelectorBatch(_column(x))
        gone = self._gone(chosen)
        count = int(np.count_nonzero(gone))
        if count:
            self._keep(~gone)
        return count

    def _gone(self, chosen: IDSelector) -> npt.NDArray[np.bool_]:
        raise NotImplementedError

    def _keep(self, kept: npt.NDArray[np.bool_]) -> None:
        raise NotImplementedError

    def reset(self) -> None:
        """Remove all vectors."""
        self._keep(np.zeros(self.ntotal, np.bool_))

    def check_compatible_for_merge(self, otherIndex: Index) -> None:
        """Refuse an index of another type, dimension or metric, of which `merge_from` takes none."""
        if type(otherIndex) is not type(self):
            raise RuntimeError(f"otherIndex: {type(otherIndex).__name__}, and this is {type(self).__name__}")
        for name in ("d", "metric_type", "metric_arg"):
            theirs, ours = getattr(otherIndex, name), getattr(self, name)
            if theirs != ours:
                raise RuntimeError(f"otherIndex: its {name} is {theirs}, that of this is {ours}")


class IndexFlat(Index):
    """All vectors, numbered as they were added, and compared with every query.

    Parameters
    ----------
    d : int
        How many values a vector has.
    metric : int
        ``METRIC_L2`` and ``METRIC_INNER_PRODUCT`` are searched by thresher's engine, exactly, and other metrics by
        a matrix of distances.
    """

    __slots__ = ("_rows", "_searcher")

    def __init__(self, d: int = 0, metric: int = METRIC_L2) -> None:
        if isinstance(d, bool) or not isinstance(d, (int, np.integer)):
            raise TypeError(f"d: {d!r}, an integer is expected")
        if d < 0:
            raise ValueError(f"d: {d}, at least 0")
        super().__init__(int(d), _metrics.checked(metric))
        self._start(Rows(self.d))

    def _start(self, rows: Rows) -> None:
        self._rows, self._searcher = rows, Searcher(self.metric_type)

    @property
    def ntotal(self) -> int:
        """How many vectors there are."""
        return len(self._rows)

    @property
    def thresher(self) -> thresher.Index:
        """The vectors as they are now as a `thresher.Index`, which shares their memory and gives certificates.

        It is that of this index's own searches: additions reach it with the next search, after other changes it
        stays as it is.
        """
        if self.metric_type not in _metrics.NAMES:
            raise RuntimeError(f"metric_type: {self.metric_type}; thresher has METRIC_L2 and METRIC_INNER_PRODUCT")
        return self._searcher.index(self._rows)

    @property
    def code_size(self) -> int:
        """Bytes of a vector."""
        return 4 * self.d

    @property
    def codes(self) -> Vector:
        """The bytes of all vectors."""
        return Vector(self.get_xb().view(np.uint8))

    def get_xb(self) -> Floats:
        """Return the vectors, not copied and read-only, as `rev_swig_ptr` takes them."""
        values = self._rows.array.reshape(-1)
        values.flags.writeable = False
        return values

    def add(self, x: Any) -> None:
        """Append vectors (n, d)."""
        self._rows.add(shaped(x, self.d))

    def clone(self) -> IndexFlat:
        """Return a copy with vectors of its own."""
        made = type(self).__new__(type(self))
        IndexFlat.__init__(made, self.d, self.metric_type)
        made.metric_arg, made.verbose = self.metric_arg, self.verbose
        made._rows.add(self._rows.array)
        return made

    def _ids(self, params: SearchParameters | None) -> npt.NDArray[np.bool_] | None:
        chosen = selected(params)
        return None if chosen is None else chosen.mask(np.arange(self.ntotal))

    def _find(self, queries: Floats, k: int, allowed: npt.NDArray[np.bool_] | None) -> tuple[Floats, Ids]:
        return self._searcher.search(queries, self._rows, k, allowed, self.metric_arg)

    def _find_within(
        self, queries: Floats, radius: float, allowed: npt.NDArray[np.bool_] | None
    ) -> tuple[Ids, Floats, Ids]:
        return self._searcher.within(queries, self._rows, radius, allowed, self.metric_arg)

    def reconstruct_batch(self, key: Any, x: Any = None) -> Floats:
        """Return the vectors of row numbers (n,), (n, d)."""
        keys = np.ascontiguousarray(key, np.int64)
        check_list(keys, "key")
        wrong = (keys < 0) | (keys >= self.ntotal)
        if wrong.any():
            raise RuntimeError(f"key: {keys[wrong][0]}; the {self.ntotal} vectors are numbered from 0")
        found: Floats = self._rows.array[keys]
        return written(found, x, "x")

    def _gone(self, chosen: IDSelector) -> npt.NDArray[np.bool_]:
        return chosen.mask(np.arange(self.ntotal))

    def _keep(self, kept: npt.NDArray[np.bool_]) -> None:
        self._start(self._rows.keep(kept))

    def merge_from(self, otherIndex: IndexFlat, add_id: int = 0) -> None:
        """Append the vectors of another index, which is empty then."""
        if add_id != 0:
            raise RuntimeError(f"add_id: {add_id}; {type(self).__name__} numbers its vectors")
        self.check_compatible_for_merge(otherIndex)
        if otherIndex is self:
            raise RuntimeError("otherIndex: this index itself")
        self._rows.add(otherIndex._rows.array)
        otherIndex.reset()


class IndexFlatL2(IndexFlat):
    """`IndexFlat` by squared Euclidean distances."""

    __slots__ = ()

    def __init__(self, d: int = 0) -> None:
        super().__init__(d, METRIC_L2)


class IndexFlatIP(IndexFlat):
    """`IndexFlat` by inner products."""

    __slots__ = ()

    def __init__(self, d: int = 0) -> None:
        super().__init__(d, METRIC_INNER_PRODUCT)


def shaped(x: Any, d: int) -> npt.NDArray[Any]:
    """Return vectors as they were given; those of another width are refused."""
    _, width = matrix_shape(x, "x")
    if width != d:
        raise AssertionError(f"x: rows of {width} values, the index has {d}")
    return np.asarray(x)


def rows_of(x: Any, d: int) -> Floats:
    """Return vectors (n, d) in C-contiguous float32."""
    return np.ascontiguousarray(shaped(x, d), np.float32)


def written(found: npt.NDArray[T], out: Any, name: str) -> npt.NDArray[T]:
    """Return an array, written to the one that the caller gave, if any."""
    if out is None:
        return found
    if out.shape != found.shape:
        raise AssertionError(f"{name}: shape {out.shape}, expected {found.shape}")
    out[...] = found
    given: npt.NDArray[T] = out
    return given


def _positive(k: Any) -> int:
    if isinstance(k, (bool, np.bool_)) or not isinstance(k, (int, np.integer)):
        raise TypeError(f"k: {k!r} cannot be interpreted as an integer")
    if k <= 0:
        raise AssertionError(f"k: {k}, at least 1")
    return int(k)


def _column(x: Any) -> Ids:
    if x.ndim != 1:
        raise AssertionError(f"x: {x.ndim} dimensions, expected ids in 1")
    return np.ascontiguousarray(x, np.int64)
