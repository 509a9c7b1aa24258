"""Numbers that float32 does not hold: what rounding changes, and an origin that keeps differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["BFLOAT16", "Given", "Origin", "doubled", "finite", "fitted", "name_of", "narrowed", "rests", "widened"]

FloatRows = npt.NDArray[np.float32]
Origin = npt.NDArray[np.float64] | None
"""A point (d,) that rows are relative to, in float64; None is zero."""

BFLOAT16 = np.dtype([("bfloat16", "u2")])
"""bfloat16, of which numpy has no type, as the upper halves of float32."""

# Types in which vectors are kept as they were given, by name; all others become float32.
_KEPT = {"float16": np.dtype(np.float16), "bfloat16": BFLOAT16, "int8": np.dtype(np.int8), "uint8": np.dtype(np.uint8)}

_BLOCK = 1 << 18  # values that are rounded at a time
_SAMPLE = 1024  # most rows that an origin is chosen by
_FAR = 4  # an origin serves a column whose median is so many times its spread from zero


class Given(NamedTuple):
    """Rows as the worker takes them, and what making them so changed."""

    rows: npt.NDArray[Any]  # float32, unless their own type is kept
    origin: Origin = None
    changes: npt.NDArray[np.float64] | None = None  # the largest change of each row; None if none can have one
    values: int = 0  # how many were changed
    given: npt.NDArray[Any] | None = None  # the rows as they were given, if the caller wants them

    @property
    def queries(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays of a call that has the rows as its queries."""
        if self.changes is None or not self.changes.any():
            return {"queries": self.rows}
        return {"queries": self.rows, "changes": self.changes}

    @property
    def largest(self) -> float:
        """The largest absolute change of a value."""
        return 0.0 if self.changes is None else float(self.changes.max(initial=0.0))


def narrowed(
    array: npt.NDArray[Any],
    name: str,
    *,
    origin: Origin = None,
    centre: bool = False,
    keep: bool = False,
    float64: bool = False,
    allocate: Callable[[tuple[int, ...], npt.DTypeLike], npt.NDArray[Any]] = np.empty,
) -> Given:
    """Return rows (n, d) of real numbers in C-contiguous float32.

    float32 rows without an origin are returned as they are if they are in order, everything else is
    copied once. Integers that float32 does not hold are refused.

    Parameters
    ----------
    array
        The rows.
    name
        What an error calls them.
    origin
        What is subtracted from every row before it is rounded.
    centre
        Whether rows of a type that float32 does not hold may have an origin of their own: for
        metrics that only depend on differences.
    keep
        Whether rows of a narrower type in which vectors are kept stay in it, unless they have an origin.
    float64
        Whether rows are kept in float64, whether they need it or not, but for those of a narrower type in which
        vectors are kept; they are refused if they are of a wider type.
    allocate
        Where a copy goes, if one is needed: a function of shape and dtype.
    """
    if float64 and (array.dtype.itemsize >= 4 if array.dtype.kind == "f" else _whole(array)):
        return Given(_doubled(array, name, allocate))
    if keep and origin is None and (own := array.dtype.newbyteorder("=")) in _KEPT.values():
        if array.dtype.isnative and array.flags.c_contiguous:
            return Given(array)
        rows = allocate(array.shape, own)
        np.copyto(rows, array)
        return Given(rows)
    array = widened(array)
    long = array.dtype.itemsize > (2 if array.dtype.kind in "iu" else 4)
    if not long and origin is None:
        if array.dtype == np.float32 and array.dtype.isnative and array.flags.c_contiguous:
            return Given(array)
        rows = allocate(array.shape, np.float32)
        np.copyto(rows, array, casting="unsafe")
        return Given(rows)
    rows = allocate(array.shape, np.float32)
    near = _chosen(array) if long and centre and origin is None else origin
    given = _rounded(array, rows, name, near, long)
    if given.values and origin is None and near is not None and _held(array):
        return _rounded(array, rows, name, None, long)  # the origin would change what float32 holds
    return given


def _whole(array: npt.NDArray[Any]) -> bool:
    """Report whether numbers are integers that are not kept as such."""
    return array.dtype.kind in "iu" and array.dtype.itemsize >= 2


def _doubled(
    array: npt.NDArray[Any],
    name: str,
    allocate: Callable[[tuple[int, ...], npt.DTypeLike], npt.NDArray[Any]] = np.empty,
) -> npt.NDArray[np.float64]:
    """Return numbers as C-contiguous float64, as they are if they are so; those that it does not hold are refused."""
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        raise ValueError(f"{name}: values are {array.dtype}, which float64 does not hold; round them by .astype(float)")
    if array.dtype == np.float64 and array.dtype.isnative and array.flags.c_contiguous:
        return array
    rows = allocate(array.shape, np.dtype(np.float64))
    np.copyto(rows, _doubles(array, name, 0, "float64"))
    return rows


def doubled(array: npt.NDArray[Any], name: str) -> Given:
    """Return rows (n, d) of real numbers in C-contiguous float64, which queries of vectors kept so are."""
    return Given(_doubled(widened(array), name))


def _rounded(array: npt.NDArray[Any], rows: FloatRows, name: str, origin: Origin, wide: bool) -> Given:
    changes, values = np.zeros(len(rows)), 0
    step = max(1, _BLOCK // max(1, rows.shape[1]))
    for start in range(0, len(rows), step):
        given, out = array[start : start + step], rows[start : start + step]
        with np.errstate(over="ignore", invalid="ignore"):
            exact = _doubles(given, name, start)
            less = exact if origin is None else exact - origin
            np.copyto(out, less, casting="unsafe")
            change = np.abs(less - out)
            if origin is not None:  # a difference too close to be told apart in float64 still is a change
                np.maximum(change, np.abs(exact - (less + origin)), out=change)
        if not np.isfinite(change).all():
            change = _not_finite(change, exact, out, name, start)
        if wide and given.dtype.kind in "iu" and change.any():
            row, col = np.argwhere(change)[0]
            raise _inexact(name, start + row, col, given[row, col])
        values += int(np.count_nonzero(change))
        change.max(axis=1, initial=0.0, out=changes[start : start + step])
    return Given(rows, origin, changes, values)


def name_of(kind: np.dtype[Any]) -> str:
    """Return the name of the type in which vectors of a numpy type are kept."""
    if kind == np.float64:
        return "float64"
    return next((name for name, kept in _KEPT.items() if kept == kind), "float32")


def widened(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return BFLOAT16 in float32; numbers of another type as they are."""
    if array.dtype != BFLOAT16:
        return array
    wide: FloatRows = (array["bfloat16"].astype(np.uint32) << 16).view(np.float32)
    return wide


def finite(rows: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Tell of each row whether its values are finite."""
    if rows.dtype == BFLOAT16:
        return np.asarray((rows["bfloat16"] & 0x7F80 != 0x7F80).all(axis=1))
    return np.asarray(np.isfinite(rows).all(axis=1))


def fitted(rows: npt.NDArray[Any], kind: str, name: str) -> npt.NDArray[Any]:
    """Return rows in the type of that name, in which vectors are kept; values that it does not hold are refused."""
    if kind == "float64":
        return _doubled(widened(rows), name)
    to = _KEPT.get(kind, np.dtype(np.float32))
    if rows.dtype == to:
        return rows
    wide = np.ascontiguousarray(widened(rows), np.float32)
    if to == np.float32:
        return wide
    with np.errstate(over="ignore", invalid="ignore"):
        narrow = (wide.view(np.uint32) >> 16).astype(np.uint16).view(BFLOAT16) if to == BFLOAT16 else wide.astype(to)
    if (lost := widened(narrow) != wide).any():
        row, col = np.argwhere(lost)[0]
        raise ValueError(
            f"{name}: row {row}, column {col} is {wide[row, col]:g}, which {kind}, the type in which the index keeps "
            "its vectors, does not hold; round it yourself, or build an index of float32"
        )
    return narrow


def rests(array: npt.NDArray[Any], rows: FloatRows, origin: Origin) -> FloatRows:
    """Return what rows in float32, relative to an origin, lack of those given."""
    lacking = np.empty(rows.shape, np.float32)
    step = max(1, _BLOCK // max(1, rows.shape[1]))
    for start in range(0, len(rows), step):
        exact = array[start : start + step].astype(np.float64)
        if origin is not None:
            exact -= origin
        np.copyto(lacking[start : start + step], exact - rows[start : start + step], casting="unsafe")
    return lacking


def _not_finite(
    change: npt.NDArray[Any], given: npt.NDArray[Any], out: FloatRows, name: str, start: int
) -> npt.NDArray[Any]:
    """Refuse what is finite and beyond float32; the worker refuses what is not finite."""
    if (beyond := np.isfinite(given) & ~np.isfinite(out)).any():
        row, col = np.argwhere(beyond)[0]
        raise ValueError(
            f"{name}: row {start + row}, column {col} is {given[row, col]:g}, beyond what float32 can hold"
        )
    return np.where(np.isfinite(change), change, 0.0)


def _doubles(given: npt.NDArray[Any], name: str, start: int, into: str = "float32") -> npt.NDArray[Any]:
    """Return numbers in float64 at least; integers that it does not hold are refused."""
    if given.dtype.kind == "f" and given.dtype.itemsize >= 8:
        return given
    exact = given.astype(np.float64)
    if given.dtype.kind in "iu" and given.dtype.itemsize == 8:
        top = 2.0**64 if given.dtype.kind == "u" else 2.0**63
        wrong = (exact >= top) | (np.where(exact >= top, 0, exact).astype(given.dtype) != given)
        if wrong.any():
            row, col = np.argwhere(wrong)[0]
            raise _inexact(name, start + row, col, given[row, col], into)
    return exact


def _inexact(name: str, row: int, col: int, value: Any, into: str = "float32") -> ValueError:
    if into == "float64":
        return ValueError(
            f"{name}: row {row}, column {col} is the integer {value}, which float64 cannot hold exactly; "
            "round it by .astype(float)"
        )
    return ValueError(
        f"{name}: row {row}, column {col} is the integer {value}, which float32 cannot hold exactly; "
        "as float64 (.astype(float)) it is rounded, and certificates say by how much"
    )


def _held(array: npt.NDArray[Any]) -> bool:
    """Tell whether float32 holds all numbers."""
    step = max(1, _BLOCK // max(1, array.shape[1]))
    return all(
        bool((block.astype(np.float32) == block).all())
        for block in (array[start : start + step] for start in range(0, len(array), step))
    )


def _chosen(array: npt.NDArray[Any]) -> Origin:
    """Return a point near the rows, None where no column is far from zero.

    In a column that is not, it is 0. In the others it is a multiple of a power of two not below
    the column's spread, so that float32 holds the differences of numbers that it holds.
    """
    n, dim = array.shape
    most = max(16, min(_SAMPLE, (1 << 20) // max(1, dim)))
    sample = np.sort(array[:: max(1, -(-n // most))].astype(np.float64), axis=0)
    if not len(sample) or not np.isfinite(sample).all():
        return None
    median, out = sample[len(sample) // 2], len(sample) // 20
    spread = np.maximum(sample[len(sample) - 1 - out] - median, median - sample[out])
    far = np.abs(median) > _FAR * spread
    if not far.any():
        return None
    step = np.ldexp(1.0, np.frexp(spread)[1])
    near = np.where(spread > 0, np.round(median / step) * step, median)
    return np.where(far, near, 0.0)
