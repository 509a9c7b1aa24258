"""Sets of ids that a search may return, or that are removed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from thresher.faiss._pointers import elements

__all__ = [
    "IDSelector",
    "IDSelectorAll",
    "IDSelectorAnd",
    "IDSelectorArray",
    "IDSelectorBatch",
    "IDSelectorBitmap",
    "IDSelectorNot",
    "IDSelectorOr",
    "IDSelectorRange",
    "IDSelectorTranslated",
    "IDSelectorXOr",
    "PyCallbackIDSelector",
    "SearchParameters",
    "selected",
    "selector",
]

Ids = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class IDSelector:
    """A set of ids. Another one is a subclass with `mask`, or with `is_member` alone."""

    def is_member(self, id: int) -> bool:
        """Tell whether an id is in the set."""
        return bool(self.mask(np.array([id], np.int64))[0])

    def mask(self, ids: Ids) -> Mask:
        """Tell of each id of an array (n,) whether it is in the set."""
        if type(self).is_member is IDSelector.is_member:
            raise NotImplementedError(f"{type(self).__name__}: neither mask nor is_member is written")
        return np.fromiter((bool(self.is_member(i)) for i in ids.tolist()), np.bool_, len(ids))


class IDSelectorRange(IDSelector):
    """The ids from imin on and below imax."""

    def __init__(self, imin: int, imax: int, assume_sorted: bool = False) -> None:
        self.imin, self.imax, self.assume_sorted = int(imin), int(imax), bool(assume_sorted)

    def mask(self, ids: Ids) -> Mask:
        """Tell of each id whether it is in the set."""
        found: Mask = (ids >= self.imin) & (ids < self.imax)
        return found

    def find_sorted_ids_bounds(self, list_size: int, ids: Ids, jmin: Ids, jmax: Ids) -> None:
        """Write to arrays (1,) where ids of the set begin and end among the first list_size of an ascending array."""
        jmin[0], jmax[0] = np.searchsorted(ids[:list_size], [self.imin, max(self.imin, self.imax)])


class IDSelectorBatch(IDSelector):
    """The ids of an array, or the first n of one: ``IDSelectorBatch(ids)``, ``IDSelectorBatch(n, ids)``."""

    def __init__(self, *given: Any) -> None:
        self._ids: Ids = elements(given, np.int64)

    def mask(self, ids: Ids) -> Mask:
        """Tell of each id whether it is in the set."""
        return np.isin(ids, self._ids)


class IDSelectorArray(IDSelectorBatch):
    """The ids of an array: here the same as `IDSelectorBatch`."""


class IDSelectorBitmap(IDSelector):
    """The ids whose bit is set in bytes, the lowest first, as ``numpy.packbits(mask, bitorder="little")`` has them."""

    def __init__(self, *given: Any) -> None:
        self._bits: npt.NDArray[np.uint8] = elements(given, np.uint8)

    def mask(self, ids: Ids) -> Mask:
        """Tell of each id whether its bit is set; beyond the array none is."""
        inside = (ids >= 0) & (ids >> 3 < len(self._bits))
        found = np.zeros(len(ids), np.bool_)
        within = ids[inside]
        found[inside] = (self._bits[within >> 3] >> (within & 7).astype(np.uint8)) & 1
        return found


class IDSelectorAll(IDSelector):
    """All ids."""

    def mask(self, ids: Ids) -> Mask:
        """Tell of each id that it is in the set."""
        return np.ones(len(ids), np.bool_)


class IDSelectorNot(IDSelector):
    """The ids that another selector does not have."""

    def __init__(self, sel: IDSelector) -> None:
        self.sel = selector(sel, "sel")

    def mask(self, ids: Ids) -> Mask:
        """Tell of each id whether it is in the set."""
        return ~self.sel.mask(ids)


class _Two(IDSelector):
    def __init__(self, lhs: IDSelector, rhs: IDSelector) -> None:
        self.lhs, self.rhs = selector(lhs, "lhs"), selector(rhs, "rhs")


class IDSelectorAnd(_Two):
    """The ids that two selectors have."""

    def mask(self, ids: Ids) -> Mask:
        """Tell of each id whether it is in the set."""
        return self.lhs.mask(ids) & self.rhs.mask(ids)


class IDSelectorOr(_Two):
    """The ids that one of two selectors has, or both."""

    def mask(self, ids: Ids) -> Mask:
        """Tell of each id whether it is in the set."""
        return self.lhs.mask(ids) | self.rhs.mask(ids)


class IDSelectorXOr(_Two):
    """The ids that one of two selectors has, and not both."""

    def mask(self, ids: Ids) -> Mask:
        """Tell of each id whether it is in the set."""
        return self.lhs.mask(ids) ^ self.rhs.mask(ids)


class IDSelectorTranslated(IDSelector):
    """The row numbers whose ids another selector has; the ids are those of an IndexIDMap, or an array."""

    def __init__(self, id_map: Any, sel: IDSelector) -> None:
        self._ids = getattr(id_map, "id_map", id_map)
        self.sel = selector(sel, "sel")

    def mask(self, ids: Ids) -> Mask:
        """Tell of each row number whether its id is in the set; of those that are no row it is not."""
        known = np.asarray(self._ids, np.int64)
        inside = (ids >= 0) & (ids < len(known))
        found = np.zeros(len(ids), np.bool_)
        found[inside] = self.sel.mask(known[ids[inside]])
        return found


class PyCallbackIDSelector(IDSelector):
    """The ids for which a function is true."""

    def __init__(self, callback: Callable[[int], bool]) -> None:
        if not callable(callback):
            raise TypeError(f"callback: {callback!r:.80} cannot be called")
        self._callback = callback

    def is_member(self, id: int) -> bool:
        """Tell whether an id is in the set."""
        return bool(self._callback(id))


class SearchParameters:
    """What a search is asked beside k: `sel`, the only ids that it may return, or None."""

    __slots__ = ("sel",)

    def __init__(self, sel: IDSelector | None = None) -> None:
        self.sel = sel


def selector(value: Any, name: str) -> IDSelector:
    """Return an IDSelector; anything else is refused by the name of the argument."""
    if not isinstance(value, IDSelector):
        raise TypeError(f"{name}: {type(value).__name__}, an IDSelector of thresher.faiss is expected")
    return value


def selected(params: Any) -> IDSelector | None:
    """Return the selector of a search's parameters, None if there is none."""
    if params is None:
        return None
    if not isinstance(params, SearchParameters):
        raise TypeError(f"params: {type(params).__name__}, SearchParameters of thresher.faiss are expected")
    return None if params.sel is None else selector(params.sel, "params.sel")
