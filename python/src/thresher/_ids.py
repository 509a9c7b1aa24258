"""Ids of vectors: integers from 0 on or strings; checked, looked up, and those that stand for none.

Integers are int64 as long as all of them fit, else uint64. -1, or 2**64 - 1 among uint64, stands for none, and
so does an empty string.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from thresher._arrays import plain
from thresher._forms import ambiguous

__all__ = [
    "NONE",
    "SUFFIX",
    "as_ids",
    "checked_ids",
    "given_ids",
    "header_of",
    "joined_ids",
    "named",
    "query_ids",
    "rows_of_ids",
    "split_texts",
]

SUFFIX = ".ids.npz"  # what the name of the file of ids adds to that of its index

NONE = 2**64 - 1  # stands for no vector among uint64, as numpy converts -1
_WIDE = 2**63  # from here on ids need uint64


def as_ids(ids: Any, name: str = "ids") -> npt.NDArray[Any]:
    """Return ids as an array of int64, uint64 or strings.

    Python objects, such as a column of pandas, are integers or strings throughout. Floats, and
    bool, are refused: the former stand for several integers from 2**53 on.
    """
    array = plain(ids, name)
    if array.size == 0:
        return array.astype(np.int64) if array.dtype.kind != "U" else array
    if array.dtype.kind in "Of":
        array = _of_objects(ids, array)
    if array.dtype.kind == "f":
        raise ambiguous("floats as ids", name, f"values are {array.dtype}")
    if array.dtype.kind not in "iuU":
        raise TypeError(f"{name}: values are {array.dtype}, expected integers or strings")
    return _narrow(array)


def _narrow(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return integers as int64 if all of them fit."""
    if array.dtype.kind == "U" or (array.dtype.kind == "u" and array.size and int(array.max()) >= _WIDE):
        return array
    return array.astype(np.int64, copy=False)


def _of_objects(ids: Any, array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return an array of integers or strings in place of one of objects, if all of them are."""
    if array.dtype.kind == "f" and isinstance(ids, np.ndarray):
        return array
    try:  # numpy makes floats of integers that need both int64 and uint64
        objects = np.asarray(ids, dtype=object).reshape(-1).tolist()
    except Exception:
        return array
    if all(isinstance(i, str) for i in objects):
        return np.array(objects).reshape(array.shape)
    if all(isinstance(i, (int, np.integer)) and not isinstance(i, bool) for i in objects):
        whole = [int(i) for i in objects]
        if min(whole) >= 0 and max(whole) <= NONE:
            return np.array(whole, np.uint64).reshape(array.shape)
        if min(whole) >= -_WIDE and max(whole) < _WIDE:
            return np.array(whole, np.int64).reshape(array.shape)
    return array


def given_ids(ids: Any, name: str) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """Return ids as an array, and which of them stand for none: -1, "" and None."""
    array = plain(ids, name)
    if array.dtype.kind == "O":
        objects = array.reshape(-1).tolist()
        texts = any(isinstance(i, str) for i in objects)
        filled = np.empty(len(objects), object)
        filled[:] = [("" if texts else -1) if i is None else i for i in objects]
        array = filled.reshape(array.shape)
    array = as_ids(array, name)
    if array.dtype.kind == "U":
        return array, array == ""
    if array.dtype.kind == "u":
        return array, array == NONE
    if array.size and array.min() < -1:
        raise ambiguous("negative ids", name, f"id {array.min()}")
    return array, array == -1


def header_of(path: str) -> str:
    """Return a digest of a collection file's header, which has the checksums of all that follows."""
    with open(path, "rb") as f:
        return hashlib.sha256(f.read(1 << 14)).hexdigest()


def checked_ids(ids: npt.ArrayLike | None, count: int) -> npt.NDArray[Any] | None:
    """Return ids of count vectors as an array, after a check that they are all different."""
    if ids is None:
        return None
    array = as_ids(ids)
    if array.dtype.kind == "i" and array.size and array.min() < 0:
        raise ambiguous("negative ids", "ids", f"id {array.min()}")
    if array.dtype.kind == "u" and int(array.max()) == NONE:
        raise ValueError(f"ids: {NONE} (2**64 - 1) stands for no vector, as numpy converts -1")
    if (array.dtype.kind == "U") and (array == "").any():
        raise ValueError("ids: an empty string stands for no vector")
    if array.shape != (count,):
        raise ValueError(f"ids: shape {array.shape}, expected ({count},), one for each vector")
    ordered = np.sort(array)
    twice = ordered[1:] == ordered[:-1]
    if twice.any():
        raise ValueError(f"ids: {ordered[1:][twice][0].item()!r} is there twice")
    return array


def query_ids(ids: npt.ArrayLike | None, count: int) -> npt.NDArray[Any] | None:
    """Return ids of count queries as an array; queries may share one."""
    if ids is None:
        return None
    array = as_ids(ids, "query_ids")
    if array.dtype.kind == "i" and array.size and array.min() < 0:
        raise ambiguous("negative ids", "query_ids", f"id {array.min()}")
    if array.shape != (count,):
        raise ValueError(f"query_ids: shape {array.shape}, expected ({count},), one for each query")
    return array


def joined_ids(ids: Sequence[npt.NDArray[Any]], name: str = "ids") -> npt.NDArray[Any]:
    """Return ids one after another, all integers or all strings; numpy makes floats of int64 and uint64."""
    if len({x.dtype.kind for x in ids}) == 1:
        return np.concatenate(ids)
    if (least := min((int(x.min()) for x in ids if x.size), default=0)) < 0:
        raise ambiguous("negative ids", name, f"id {least}")
    return np.concatenate([x.astype(np.uint64) for x in ids])


def rows_of_ids(
    ids: npt.NDArray[Any], wanted: npt.ArrayLike, name: str, sorter: Callable[[], npt.NDArray[np.int64]]
) -> npt.NDArray[np.int64]:
    """Return the row of each wanted id; errors name the first that is unknown. sorter orders ids."""
    array = as_ids(wanted, name).reshape(-1)
    if array.size == 0:
        return np.empty(0, np.int64)
    if (array.dtype.kind == "U") != (ids.dtype.kind == "U"):
        raise TypeError(_unlike(array, ids, name))
    if array.dtype.kind == "i" and array.min() < 0:
        raise ambiguous("negative ids", name, f"id {array.min()}")
    if array.dtype.kind == "u" and ids.dtype.kind == "i":
        raise ValueError(f"{name}: {int(array.max())} is no id of the index")
    if ids.dtype.kind == "u":
        array = array.astype(np.uint64, copy=False)  # both are integers from 0 on
    order = sorter()
    rows = order[np.minimum(np.searchsorted(ids, array, sorter=order), len(ids) - 1)]
    wrong = ids[rows] != array
    if wrong.any():
        raise ValueError(f"{name}: {array[int(np.argmax(wrong))].item()!r} is no id of the index")
    return rows.astype(np.int64, copy=False)


def _unlike(array: npt.NDArray[Any], ids: npt.NDArray[Any], name: str) -> str:
    """Return what is wrong with integers where the index has texts, or texts where it has integers."""
    of = "texts" if ids.dtype.kind == "U" else "integers"
    said = f"{name}: {array[0].item()!r:.60} is given as an id, and the ids of the index are {of}, such as "
    said += f"{ids[0].item()!r:.60}" if len(ids) else "none, as it is empty"
    if array.dtype.kind == "U":
        return said + "; give integers"
    return said + "; row numbers are no ids: give index.ids[rows], and '' for none"


def named(ids: npt.NDArray[Any], rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """Return the ids of rows; where a row is negative, what stands for none."""
    if not ids.size:  # no row is another
        ids = np.zeros(1, ids.dtype)
    out = ids[np.maximum(rows, 0)]
    if (rows < 0).any():
        out[rows < 0] = {"i": -1, "u": NONE}.get(out.dtype.kind, "")
    return out


def split_texts(text: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """Return texts from their bytes, one after the other."""
    data = text.tobytes()
    starts = np.concatenate([[0], ends[:-1]])
    return np.array([data[a:b].decode() for a, b in zip(starts.tolist(), ends.tolist(), strict=True)])
