"""What stands here for FAISS's pointers and C++ vectors: numpy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from thresher.faiss._shapes import check_list

__all__ = [
    "Vector",
    "copy_array_to_vector",
    "elements",
    "rev_swig_ptr",
    "swig_ptr",
    "vector_float_to_array",
    "vector_to_array",
]


class Vector:
    """An array (n,) by the names that a C++ vector has, as of ``index.id_map`` and ``index.codes``."""

    def __init__(self, array: npt.NDArray[Any]) -> None:
        self._array = array

    def size(self) -> int:
        """Return how many elements there are."""
        return len(self._array)

    def at(self, i: int) -> Any:
        """Return one element."""
        if not 0 <= i < len(self._array):
            raise IndexError(f"i: {i}; there are {len(self._array)}")
        return self._array[i].item()

    def data(self) -> npt.NDArray[Any]:
        """Return the elements, not copied."""
        return self._array

    def assign(self, array: npt.NDArray[Any]) -> None:
        """Take a copy of an array in place of the elements."""
        self._array = array.copy()

    def __len__(self) -> int:
        return len(self._array)

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self._array, dtype) if copy else np.asarray(self._array, dtype)


def vector_to_array(v: Vector) -> npt.NDArray[Any]:
    """Return a copy of ``index.id_map`` or ``index.codes`` as an array."""
    return np.array(v)


vector_float_to_array = vector_to_array


def copy_array_to_vector(a: npt.NDArray[Any], v: Vector) -> None:
    """Make the elements of a vector, such as ``VectorIOReader().data``, those of an array (n,) of its type."""
    check_list(a, "a")
    if a.dtype != v.data().dtype:
        raise AssertionError(f"a: values are {a.dtype}, those of the vector {v.data().dtype}")
    v.assign(a)


def swig_ptr(a: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return what functions take as a pointer: here the array itself, which must be in C order."""
    if not isinstance(a, np.ndarray) or not a.flags.c_contiguous:
        raise ValueError("array is not C-contiguous")
    return a


def rev_swig_ptr(ptr: npt.NDArray[Any], n: int) -> npt.NDArray[Any]:
    """Return the first n elements behind a pointer, not copied."""
    return ptr.reshape(-1)[:n]


def elements(given: tuple[Any, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return a copy of an array (n,), or of the first n elements behind a pointer: of the arguments (a) or (n, a)."""
    if len(given) not in (1, 2):
        raise TypeError(f"{len(given)} arguments; an array is expected, or a number and a pointer")
    array = np.array(given[-1], dtype)
    if len(given) == 1:
        if array.ndim != 1:
            raise AssertionError(f"{array.ndim} dimensions, expected 1")
        return array
    n, array = int(given[0]), array.reshape(-1)
    if not 0 <= n <= len(array):
        raise ValueError(f"n: {n}, and the array has {len(array)} elements")
    return array[:n]
