"""Indexes whose vectors have ids."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from thresher.faiss._flat import Index, IndexFlat, shaped, written
from thresher.faiss._pointers import Vector
from thresher.faiss._selectors import IDSelector, IDSelectorTranslated, SearchParameters, selected
from thresher.faiss._shapes import check_list

__all__ = ["IndexIDMap", "IndexIDMap2"]

Floats = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]


class IndexIDMap(Index):
    """An index whose answers are ids that were given with the vectors, any int64; several vectors may have one id.

    Parameters
    ----------
    index : IndexFlat
        An empty one, which has the vectors; it is `index` of this one.
    """

    __slots__ = ("_known", "_labels", "index", "own_fields")

    def __init__(self, index: IndexFlat) -> None:
        if not isinstance(index, IndexFlat):
            raise TypeError(f"index: {type(index).__name__}, an IndexFlat of thresher.faiss is expected")
        if index.ntotal:
            raise RuntimeError(f"index: has {index.ntotal} vectors, which have no ids; an empty one is expected")
        super().__init__(index.d, index.metric_type)
        self.index, self.own_fields = index, False
        self.metric_arg = index.metric_arg
        self._labels: list[Ids] = [np.empty(0, np.int64)]
        self._known: dict[int, int] | None = None

    @property
    def ntotal(self) -> int:
        """How many vectors there are."""
        return self.index.ntotal

    @property
    def id_map(self) -> Vector:
        """The ids of the vectors: `vector_to_array` returns them as an array."""
        return Vector(self._own())

    def _own(self) -> Ids:
        if len(self._labels) > 1:
            self._labels = [np.concatenate(self._labels)]
        return self._labels[0]

    def add(self, x: Any) -> None:
        """Refuse vectors without ids."""
        raise RuntimeError(f"add: {type(self).__name__} needs ids; add_with_ids takes them")

    def add_with_ids(self, x: Any, ids: Any) -> None:
        """Append vectors (n, d) under ids (n,)."""
        vectors = shaped(x, self.d)
        if ids.shape != (len(vectors),):
            raise AssertionError(f"ids: shape {ids.shape}, expected ({len(vectors)},): not same nb of vectors as ids")
        own = np.array(ids, np.int64)
        self.index.add(vectors)
        self._label(own)

    def _label(self, own: Ids) -> None:
        """Name the last vectors."""
        self._labels.append(own)
        if self._known is not None:
            first = self.ntotal - len(own)
            self._known.update(zip(own.tolist(), range(first, self.ntotal), strict=True))

    def clone(self) -> IndexIDMap:
        """Return a copy with vectors of its own."""
        made = type(self)(IndexFlat(self.d, self.metric_type))
        made.index, made.metric_arg, made.verbose = self.index.clone(), self.metric_arg, self.verbose
        made._labels = [self._own().copy()]
        return made

    def _ids(self, params: SearchParameters | None) -> npt.NDArray[np.bool_] | None:
        chosen = selected(params)
        return None if chosen is None else self._mask(chosen)

    def _mask(self, chosen: IDSelector) -> npt.NDArray[np.bool_]:
        """Return the rows of a selector; one that is translated has row numbers already."""
        return chosen.mask(np.arange(self.ntotal) if isinstance(chosen, IDSelectorTranslated) else self._own())

    def _named(self, rows: Ids) -> Ids:
        if self.ntotal == 0:
            return rows
        return np.where(rows < 0, -1, self._own()[rows])

    def _find(self, queries: Floats, k: int, allowed: npt.NDArray[np.bool_] | None) -> tuple[Floats, Ids]:
        scores, rows = self.index._find(queries, k, allowed)
        return scores, self._named(rows)

    def _find_within(
        self, queries: Floats, radius: float, allowed: npt.NDArray[np.bool_] | None
    ) -> tuple[Ids, Floats, Ids]:
        lims, scores, rows = self.index._find_within(queries, radius, allowed)
        return lims, scores, self._named(rows)

    def _gone(self, chosen: IDSelector) -> npt.NDArray[np.bool_]:
        return self._mask(chosen)

    def _keep(self, kept: npt.NDArray[np.bool_]) -> None:
        self.index._keep(kept)
        self._labels, self._known = [self._own()[kept]], None

    def merge_from(self, otherIndex: IndexIDMap, add_id: int = 0) -> None:
        """Append the vectors of another index, which is empty then; add_id is added to their ids."""
        self.check_compatible_for_merge(otherIndex)
        own = otherIndex._own() + np.int64(add_id)
        self.index.merge_from(otherIndex.index)
        otherIndex.reset()
        self._label(own)

    def check_compatible_for_merge(self, otherIndex: Index) -> None:
        """Refuse an index of another type, dimension or metric, of which `merge_from` takes none."""
        super().check_compatible_for_merge(otherIndex)
        assert isinstance(otherIndex, IndexIDMap)
        self.index.check_compatible_for_merge(otherIndex.index)


class IndexIDMap2(IndexIDMap):
    """`IndexIDMap` that returns vectors by their ids; of several with one id, the last."""

    __slots__ = ()

    def construct_rev_map(self) -> None:
        """Note the row of each id, as the first `reconstruct` does."""
        self._known = dict(zip(self._own().tolist(), range(self.ntotal), strict=True))

    def check_consistency(self) -> None:
        """Refuse an index whose vectors and ids are not as many."""
        if len(self._own()) != self.ntotal:
            raise RuntimeError(f"id_map: {len(self._own())} ids of {self.ntotal} vectors; `index` was changed itself")

    def reconstruct_batch(self, key: Any, x: Any = None) -> Floats:
        """Return the vectors of ids (n,), (n, d)."""
        keys = np.ascontiguousarray(key, np.int64)
        check_list(keys, "key")
        if self._known is None:
            self.construct_rev_map()
        assert self._known is not None
        rows = [self._known.get(one, -1) for one in keys.tolist()]
        if -1 in rows:
            raise RuntimeError(f"key: {keys[rows.index(-1)]} not found")
        return written(self.index.reconstruct_batch(np.array(rows, np.int64)), x, "x")
