"""Columns that describe vectors, by which filters select."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from thresher import _worker

__all__ = ["Kept", "Table", "fields_of", "grown", "keep", "names_of"]

Table: TypeAlias = Any
"""A mapping of names to sequences with a value for each vector, or a table of pandas, polars or pyarrow."""

Kept: TypeAlias = npt.NDArray[np.uint8] | None
"""Columns as workers take them, None for none."""


def keep(value: Table | None, rows: int) -> Kept:
    """Return the columns of a table of so many rows."""
    if value is None:
        return None
    return _made({"values": _json(value)}, rows)


def grown(before: Kept, rows_kept: npt.NDArray[np.int64] | None, more: Table | None, rows: int) -> Kept:
    """Return the columns of rows that are kept, None for all, and of so many more after them.

    Without columns before there are none of the others, either.
    """
    if before is None:
        return None
    arrays: dict[str, npt.NDArray[Any]] = {"columns": before}
    if rows_kept is not None:
        arrays["rows"] = rows_kept
    if more is not None:
        arrays["values"] = _json(more)
    return _made(arrays, rows)


def _made(arrays: dict[str, npt.NDArray[Any]], rows: int) -> Kept:
    _, out = _worker.get().call("columns", {"rows": rows}, arrays)
    return np.array(out["columns"])  # not of the worker's memory


def names_of(columns: str | Sequence[str]) -> list[str]:
    """Return the names of columns of a file: one, several, or ``"all"``."""
    names = [columns] if isinstance(columns, str) else list(columns)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"columns: {name!r} is {type(name).__name__}, and names of columns are strings")
    if not names:
        raise ValueError("columns: no name")
    return names


def fields_of(info: dict[str, Any]) -> dict[str, str]:
    """Return the types of columns by their names."""
    return {str(field["name"]): str(field["dtype"]) for field in info.get("columns") or ()}


def _json(value: Table) -> npt.NDArray[np.uint8]:
    """Return the columns of a table as the bytes of a JSON object of arrays."""
    columns = {}
    for name, given in _items(value):
        if not isinstance(name, str):
            raise TypeError(f"columns: {name!r} is {type(name).__name__}, and names of columns are strings")
        columns[name] = [_value(v, name, row) for row, v in enumerate(_listed(given))]
    if not columns:
        raise ValueError("columns: no column")
    return np.frombuffer(json.dumps(columns, allow_nan=False).encode("utf-8", "surrogatepass"), np.uint8)


def _items(value: Table) -> list[tuple[Any, Any]]:
    if isinstance(value, Mapping):
        return list(value.items())
    names = getattr(value, "column_names", None) or getattr(value, "columns", None)  # pyarrow; pandas and polars
    if names is None or not hasattr(value, "__getitem__") or isinstance(value, np.ndarray):
        raise TypeError(
            f"columns: {type(value).__name__}, expected a mapping of names to sequences, or a table of pandas, polars "
            "or pyarrow"
        )
    if len(set(names)) < len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        raise ValueError(f"columns: two are called {twice!r}")
    return [(name, value[name]) for name in names]


# What numpy (also of the other order of bytes), pandas and polars; pyarrow, and pandas of it; and torch call float32.
_FLOAT32 = ("float32", ">f4", "<f4", "float", "float[pyarrow]", "torch.float32")


def _listed(given: Any) -> list[Any]:
    """Return the values of a column, as Python has them."""
    if isinstance(given, str):
        raise TypeError("columns: a text, where a sequence with a value for each vector is expected")
    for name in ("to_pylist", "to_list", "tolist"):  # pyarrow; pandas and polars; numpy
        if hasattr(given, name):
            if isinstance(given, np.ndarray) and given.dtype.kind == "M":
                given = given.astype("datetime64[us]")
            values = list(getattr(given, name)())
            dtype = getattr(given, "dtype", getattr(given, "type", ""))
            if str(dtype).lower() in _FLOAT32:
                return [np.float32(v) if isinstance(v, float) else v for v in values]
            return values
    return list(given)


def _value(v: Any, name: str, row: int) -> Any:
    """Return a value as JSON has it. NaN and NaT are missing values."""
    if v is None or isinstance(v, (bool, int, str)):
        return v
    if isinstance(v, np.float32):
        v = float(str(v))  # 0.1, not what float32 makes of it
    if isinstance(v, np.datetime64):
        v = v.astype("datetime64[us]")  # of finer ones the item is an integer
    if isinstance(v, np.generic):
        return _value(v.item(), name, row)
    if isinstance(v, float):
        if math.isinf(v):
            raise ValueError(f"columns: {name!r}, row {row}: {v}; values are finite, or NaN for a missing one")
        return None if math.isnan(v) else float(repr(float(v)))
    if isinstance(v, (list, tuple, np.ndarray)):
        if all(t is None or isinstance(t, str) for t in v):
            return list(v)
    elif type(v).__name__ in ("NAType", "NaTType") or v != v:  # of pandas
        return None
    elif isinstance(v, (datetime.datetime, datetime.date)):
        return _time(v)
    raise TypeError(
        f"columns: {name!r}, row {row}: {type(v).__name__}; values are int, float, str, bool, datetime, date, lists of "
        "str, or None"
    )


def _time(v: datetime.date) -> str:
    """Return a time in the form of RFC 3339; one without a zone is of UTC. Nanoseconds are cut off."""
    if hasattr(v, "to_pydatetime"):  # of pandas
        v = v.to_pydatetime(warn=False)
    if isinstance(v, datetime.datetime) and v.tzinfo is None:
        v = v.replace(tzinfo=datetime.timezone.utc)
    return v.isoformat()
