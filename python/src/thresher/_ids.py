"""Ids of vectors: checked, saved, and those that stand for none."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt

from thresher._arrays import plain

__all__ = ["SUFFIX", "as_ids", "checked_ids", "given_ids", "header_of", "split_names"]

SUFFIX = ".ids.npz"  # what the name of the file of ids adds to that of its index


def given_ids(ids: Any) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
    """Return ids as an array, and which of them stand for none: -1, "" and None."""
    array = np.asarray(ids)
    if array.dtype.kind == "O":
        array = np.array(["" if i is None else i for i in array.reshape(-1).tolist()]).reshape(array.shape)
    if array.dtype.kind in "iu":
        return array, array < 0
    return array, array == ""


def as_ids(ids: Any) -> npt.NDArray[Any]:
    """Return ids as an array; of Python objects, such as a column of pandas, one of integers or strings."""
    array = plain(ids, "ids")
    if array.dtype.kind != "O":
        return array
    objects = array.reshape(-1).tolist()
    for kind in (int, str):
        if objects and all(type(i) is kind for i in objects):
            return plain(objects, "ids").reshape(array.shape)
    return array


def header_of(path: str) -> str:
    """Return a digest of a collection file's header, which has the checksums of all that follows."""
    with open(path, "rb") as f:
        return hashlib.sha256(f.read(1 << 14)).hexdigest()


def checked_ids(ids: npt.ArrayLike | None, count: int) -> npt.NDArray[Any] | None:
    """Return ids of count vectors as an array, after a check that they are all different."""
    if ids is None:
        return None
    array = as_ids(ids)
    if array.dtype.kind not in "iuU":
        raise TypeError(f"ids: values are {array.dtype}, expected integers or strings")
    if array.dtype.kind in "iu":
        array = array.astype(np.int64)
    if given_ids(array)[1].any():
        raise ValueError("ids: negative numbers and empty strings stand for no vector")
    if array.shape != (count,):
        raise ValueError(f"ids: shape {array.shape}, expected ({count},), one for each vector")
    ordered = np.sort(array)
    twice = ordered[1:] == ordered[:-1]
    if twice.any():
        raise ValueError(f"ids: {ordered[1:][twice][0].item()!r} is there twice")
    return array


def split_names(text: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    """Return names from their bytes, one after the other."""
    data = text.tobytes()
    starts = np.concatenate([[0], ends[:-1]])
    return np.array([data[a:b].decode() for a, b in zip(starts.tolist(), ends.tolist(), strict=True)])
