"""Shapes of arguments. Errors are of the types that FAISS's wrapper raises, which unpacks `shape`."""

from __future__ import annotations

from typing import Any


def matrix_shape(x: Any, name: str) -> tuple[int, int]:
    """Return the shape (n, d) of rows.

    Raises
    ------
    AttributeError
        For what is no array, such as a list.
    ValueError
        For an array that has not two dimensions.
    """
    shape = _shape(x, name, "(n, d)")
    if len(shape) != 2:
        one = f"; of one vector {name}[numpy.newaxis] is a row" if len(shape) == 1 else ""
        raise ValueError(f"{name}: shape {shape}, expected (n, d){one}")
    return int(shape[0]), int(shape[1])


def check_list(x: Any, name: str) -> None:
    """Refuse an array that has not one dimension, with the errors of `matrix_shape`."""
    shape = _shape(x, name, "(n,)")
    if len(shape) != 1:
        raise ValueError(f"{name}: shape {shape}, expected (n,)")


def _shape(x: Any, name: str, wanted: str) -> tuple[int, ...]:
    try:
        return tuple(x.shape)
    except AttributeError:
        raise AttributeError(f"{name}: {type(x).__name__}, expected an array {wanted}") from None
