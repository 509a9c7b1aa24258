"""Arguments as the worker takes them: rows of numbers, and lists of rows in compressed form."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from thresher import _narrow
from thresher._columns import Names, by_name
from thresher._forms import ambiguous, refuse_mask, refuse_truth

__all__ = ["Lists", "Vectors", "column", "given", "lists", "mask_of", "matrix", "plain", "table"]

Vectors: TypeAlias = Any
"""Rows of numbers: numpy, a tensor of torch on the CPU, a column of pandas, polars or pyarrow, lists."""

Lists: TypeAlias = Any
"""A list for each query: a CSR matrix, a pair (indptr, indices), or a sequence of sequences."""

FloatRows: TypeAlias = npt.NDArray[np.float32]
IntColumn: TypeAlias = npt.NDArray[np.int64]


def matrix(
    value: Vectors,
    name: str,
    dim: int | None = None,
    *,
    one: bool = False,
    columns: Names = None,
    allocate: Callable[[tuple[int, ...], npt.DTypeLike], npt.NDArray[Any]] = np.empty,
) -> FloatRows:
    """Return rows as a C-contiguous float32 array.

    An array that already is one is returned as it is; everything else is copied once.

    Parameters
    ----------
    value
        Numbers in two dimensions: whatever numpy reads, a tensor of torch on the CPU, a column of
        polars (``Array`` or ``List``) or pyarrow (lists of one size), a column of arrays of pandas, a
        dataset of h5py, and frames and tables of these with a column for each coordinate.
    name
        What an error calls the value.
    dim
        The number of columns that it must have.
    one
        Whether a single row in one dimension is accepted.
    columns
        The names of the columns of the vectors, in whose order those of a data frame are taken.
    allocate
        Where a copy goes, if one is needed: a function of shape and dtype.

    Raises
    ------
    TypeError
        If the values are no real numbers.
    ValueError
        If the shape is another one, a value is finite but beyond float32, or an integer that float32
        does not hold.
    """
    array = table(value, name, dim, one=one, columns=columns)
    return _narrow.narrowed(array, name, allocate=allocate).rows


def given(
    value: Vectors,
    name: str,
    dim: int | None = None,
    *,
    one: bool = False,
    columns: Names = None,
    origin: _narrow.Origin = None,
    centre: bool = False,
    keep: bool = False,
    float64: bool = False,
    allocate: Callable[[tuple[int, ...], npt.DTypeLike], npt.NDArray[Any]] = np.empty,
) -> _narrow.Given:
    """Return `matrix`, relative to an origin, and what rounding to float32 changed: `_narrow.narrowed`."""
    rows = table(value, name, dim, one=one, columns=columns, keep=keep)
    given = _narrow.narrowed(rows, name, origin=origin, centre=centre, keep=keep, float64=float64, allocate=allocate)
    return given._replace(given=rows)


def table(
    value: Vectors,
    name: str,
    dim: int | None = None,
    *,
    one: bool = False,
    columns: Names = None,
    keep: bool = False,
) -> npt.NDArray[Any]:
    """Return rows of real numbers as a numpy array of their own type; parameters as of `matrix`.

    bfloat16 becomes float32 unless keep says that `_narrow.BFLOAT16` is wanted.
    """
    array = _read(by_name(value, name, columns), name)
    if array.dtype.kind == "O":
        array = _of_objects(array, name)
    if array.dtype.isbuiltin != 1 and str(array.dtype) == "bfloat16":  # of ml_dtypes
        array = array.view(_narrow.BFLOAT16)
    if not keep:
        array = _narrow.widened(array)
    if array.dtype.kind not in "fiub" and array.dtype != _narrow.BFLOAT16:
        raise TypeError(f"{name}: values are {array.dtype}, not real numbers")
    if array.ndim == 1 and one:
        array = array[np.newaxis, :]
    if array.ndim == 1:
        raise ambiguous("single row", name, f"1 dimensions (shape {array.shape})")
    if array.ndim != 2:
        raise ValueError(f"{name}: {array.ndim} dimensions (shape {array.shape}), expected 2: rows and columns")
    if dim is not None and array.shape[1] != dim:
        raise ValueError(f"{name}: rows of {array.shape[1]} values, the vectors have {dim}")
    if array.shape[1] == 0:
        raise ValueError(f"{name}: rows of no values")
    return array


def _of_objects(array: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """Return the rows in a column of them, such as a Series of arrays; other Python objects are refused."""
    column = array.reshape(-1)
    rows = array.ndim in (1, 2) and array.size == len(array) > 0
    if not rows or not (isinstance(column[0], (list, tuple)) or getattr(column[0], "ndim", 0) == 1):
        at = next((i for i, value in enumerate(column) if not _usual(value)), 0)
        first = f", number {at} of them a {type(column[at]).__name__}" if array.size else ""
        raise TypeError(f"{name}: values are Python objects{first}; an array of numbers is expected")
    like = column[0]
    if type(like) is np.ndarray and like.dtype.kind in "fiub":
        values = column.tolist()
        joined = _concatenated(values, like.dtype) if set(map(type, values)) == {np.ndarray} else None
        if joined is not None and set(map(len, values)) == {len(like)}:
            return joined.reshape(len(values), -1)
    parts = []
    for row, value in enumerate(column):
        part = plain(value, f"{name}: row {row}")
        if part.ndim != 1:
            raise TypeError(f"{name}: row {row} is {value!r:.80}, row 0 has {len(column[0])} values")
        if len(part) != len(column[0]):
            raise ValueError(f"{name}: row {row} has {len(part)} values, row 0 has {len(column[0])}")
        if part.dtype.kind not in "fiub" and str(part.dtype) != "bfloat16":
            raise TypeError(f"{name}: row {row}: values are {part.dtype}, not real numbers")
        parts.append(part)
    return np.stack(parts)


def _concatenated(rows: list[npt.NDArray[Any]], dtype: np.dtype[Any]) -> npt.NDArray[Any] | None:
    """Return rows of one dimension as one, or None if they are of other types or dimensions: nothing is converted."""
    try:
        return np.concatenate(rows, dtype=dtype, casting="no")
    except (TypeError, ValueError):
        return None


def _usual(value: Any) -> bool:
    """Tell whether a Python object is a number that numpy has a type for."""
    return isinstance(value, (float, np.number)) or (isinstance(value, int) and -(2**63) <= value < 2**64)


def _read(value: Any, name: str) -> npt.NDArray[Any]:
    """Return value as a numpy array, without a copy where there is a way."""
    if isinstance(value, np.ndarray):
        refuse_masked(value, name)
        return value
    if isinstance(value, (str, bytes, os.PathLike)):
        raise TypeError(f"{name}: a path, where rows are expected; open files with numpy.load(path, mmap_mode='r')")
    module = type(value).__module__.partition(".")[0]
    if module == "pandas":
        return _pandas(value, name)
    if module == "polars":
        return _polars(value, name)
    if module == "pyarrow":
        return _arrow(value, name)
    if module == "torch":
        return _torch(value, name)
    if module == "scipy" and hasattr(value, "toarray"):
        raise TypeError(f"{name}: a sparse matrix; thresher searches dense rows (.toarray())")
    if hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        kind, _ = value.__dlpack_device__()
        if int(kind) != 1:
            raise ValueError(f"{name}: not in the memory of the CPU (dlpack device {int(kind)}); copy it there first")
        if str(getattr(value, "dtype", "")) == "bfloat16":  # which numpy does not take so
            return plain(value, name)
        return np.from_dlpack(value)
    if isinstance(value, (list, tuple)) and any(isinstance(row, np.ma.MaskedArray) for row in value):
        return _read(np.ma.stack(list(value)), name)
    return plain(value, name)


def refuse_masked(value: Any, name: str) -> None:
    """Refuse a masked array with masked values, beneath which numpy finds numbers."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise ValueError(f"{name}: a masked array with masked values")


def plain(value: Any, name: str) -> npt.NDArray[Any]:
    """Return what numpy makes of a value; errors name it."""
    refuse_masked(value, name)
    try:
        return np.asarray(value)
    except Exception as e:  # of the methods of the value, too
        kind = TypeError if isinstance(e, TypeError) else ValueError
        raise kind(f"{name}: {e}") from e


def _torch(value: Any, name: str) -> npt.NDArray[Any]:
    if value.device.type != "cpu":
        raise ValueError(f"{name}: a tensor on {value.device}; move it with .cpu()")
    if value.layout != _torch_has("strided"):
        raise TypeError(f"{name}: a sparse tensor; thresher searches dense rows (.to_dense())")
    tensor = value.detach()
    if str(tensor.dtype) == "torch.bfloat16":  # which numpy lacks
        return np.from_dlpack(tensor.view(_torch_has("int16"))).view(_narrow.BFLOAT16)
    return np.from_dlpack(tensor.resolve_conj())


def _torch_has(name: str) -> Any:
    import torch

    return getattr(torch, name)


def _pandas(value: Any, name: str) -> npt.NDArray[Any]:
    """Return a frame or a column; numbers of pandas' own types, which can be missing, become numpy's."""
    frame = type(value).__name__ == "DataFrame"
    own = list(value.dtypes) if frame else [getattr(value, "dtype", None)]
    kinds = [getattr(kind, "numpy_dtype", kind) for kind in own]
    if own == kinds or not all(isinstance(kind, np.dtype) and kind.kind in "fiub" for kind in kinds):
        return plain(value, name)
    missing = np.asarray(value.isna())
    if missing.any():
        row, *column = np.argwhere(missing)[0]
        where = f", column {value.columns[column[0]]!r}" if column else ""
        raise ValueError(f"{name}: row {row}{where} is missing")
    return np.asarray(value.to_numpy(dtype=np.result_type(*kinds)))


def _polars(value: Any, name: str) -> npt.NDArray[Any]:
    import polars

    if isinstance(value, polars.DataFrame):
        if value.width == 1 and value.dtypes[0] in (polars.List, polars.Array):
            return _polars(value.to_series(), name)
        for label in value.columns:
            if value[label].null_count():
                raise ValueError(f"{name}: row {value[label].is_null().arg_true()[0]}, column {label!r} is null")
        return np.asarray(value.to_numpy())
    if not isinstance(value, polars.Series):
        raise TypeError(f"{name}: {type(value).__name__} of polars; collect it to a Series or DataFrame")
    if value.null_count():
        raise ValueError(f"{name}: row {value.is_null().arg_true()[0]} is null")
    if value.dtype == polars.List:
        lengths = value.list.len()
        if len(value) and lengths.n_unique() != 1:
            row = int(np.argmax(lengths.to_numpy() != lengths[0]))
            raise ValueError(f"{name}: row {row} has {lengths[row]} values, row 0 has {lengths[0]}")
        width = int(lengths[0]) if len(value) else 0
        value = value.list.to_array(width)
    if value.dtype == polars.Array and value.explode().null_count():
        raise ValueError(f"{name}: nulls within rows")
    return np.asarray(value.to_numpy())


def _arrow(value: Any, name: str) -> npt.NDArray[Any]:
    import pyarrow as pa

    if isinstance(value, (pa.Table, pa.RecordBatch)):
        return _arrow_table(value, name)
    if isinstance(value, pa.Tensor):
        return np.asarray(value.to_numpy())
    if isinstance(value, pa.ChunkedArray):
        value = value.combine_chunks()
        if isinstance(value, pa.ChunkedArray):  # without chunks
            value = pa.array([], type=value.type)
    if isinstance(value, pa.ExtensionArray):
        value = value.storage
    if not isinstance(value, pa.Array) or not (
        pa.types.is_fixed_size_list(value.type) or pa.types.is_list(value.type) or pa.types.is_large_list(value.type)
    ):
        raise TypeError(
            f"{name}: {getattr(value, 'type', type(value).__name__)} of pyarrow; expected a column of lists"
        )
    if value.null_count:
        raise ValueError(f"{name}: row {np.argmax(value.is_null().to_numpy(zero_copy_only=False))} is null")
    if pa.types.is_fixed_size_list(value.type):
        width = value.type.list_size
    else:
        lengths = np.asarray(value.value_lengths())
        if len(lengths) and (lengths != lengths[0]).any():
            row = int(np.argmax(lengths != lengths[0]))
            raise ValueError(f"{name}: row {row} has {lengths[row]} values, row 0 has {lengths[0]}")
        width = int(lengths[0]) if len(lengths) else 0
    flat = value.flatten()
    if flat.null_count:
        raise ValueError(f"{name}: row {np.argmax(flat.is_null().to_numpy(zero_copy_only=False)) // width} has nulls")
    return np.asarray(flat.to_numpy(zero_copy_only=False)).reshape(len(value), width)


def _arrow_table(value: Any, name: str) -> npt.NDArray[Any]:
    """Return a table of pyarrow that is one column of lists, or columns of numbers."""
    import pyarrow as pa

    if value.num_columns == 1 and not pa.types.is_primitive(value.schema.types[0]):
        return _arrow(value.column(0), name)
    columns = []
    for label, values in zip(value.schema.names, value.columns, strict=True):
        kind = values.type
        if not (pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
            raise TypeError(f"{name}: column {label!r} is {kind} of pyarrow, not real numbers")
        if values.null_count:
            row = np.argmax(np.asarray(values.is_null()))
            raise ValueError(f"{name}: row {row}, column {label!r} is null")
        columns.append(np.asarray(values))
    if not columns:
        raise ValueError(f"{name}: rows of no values")
    return np.column_stack(columns)


def column(value: npt.ArrayLike, name: str, count: int, per: str = "query") -> npt.NDArray[np.float64]:
    """Return one float64 for each of count queries, from one number or as many; NaN stands for none."""
    array = plain(value, name)
    refuse_truth(array, name)
    if array.dtype.kind not in "fiu":
        raise TypeError(f"{name}: values are {array.dtype}, not real numbers")
    if array.dtype.kind in "iu" and array.size and max(int(array.max()), -int(array.min())) > 2**53:
        raise ValueError(f"{name}: {array.dtype} beyond 2**53, which float64 would round; give floats")
    if array.ndim == 0:
        return np.full(count, array, dtype=np.float64)
    if array.shape != (count,):
        raise ValueError(f"{name}: shape {array.shape}, expected one number or ({count},), one for each {per}")
    return np.ascontiguousarray(array, dtype=np.float64)


def lists(value: Lists, name: str, count: int, n: int) -> tuple[IntColumn, IntColumn]:
    """Return lists of rows, one for each of count queries, as (indptr, indices) in int64.

    Parameters
    ----------
    value
        A sparse matrix of scipy (count x n, without stored zeros), a pair (indptr, indices), a mask
        (a bool array, count x n), an integer array with a row for each query in which -1 stands for
        none, or a sequence of sequences of rows.
    name
        What an error calls the value.
    count, n
        How many queries and vectors there are.
    """
    if hasattr(value, "tocsr"):
        return _of_matrix(value, name, count, n)
    if isinstance(value, tuple) and len(value) == 2 and all(isinstance(part, np.ndarray) for part in value):
        return _of_pair(value, name, count, n)
    if (mask := mask_of(value, name, (count, n))) is not None:
        return np.concatenate([[0], np.cumsum(mask.sum(axis=1))]).astype(np.int64), np.nonzero(mask)[1]
    if isinstance(value, np.ndarray) and value.ndim == 2:
        table = _integers(value, name)
        if len(table) != count:
            raise ValueError(f"{name}: {len(table)} rows for {count} queries")
        for row in table:
            refuse_mask(row, name, n)
        if table.size and table.min() < -1:
            raise ambiguous("negative ids", name, f"id {table.min()}")
        given = table >= 0
        return np.concatenate([[0], np.cumsum(given.sum(axis=1))]).astype(np.int64), _inside(table[given], name, n)
    parts = [_integers(part, name).reshape(-1) for part in parts_of(value, name)]
    if len(parts) != count:
        raise ValueError(f"{name}: {len(parts)} lists for {count} queries")
    for part in parts:
        refuse_mask(part, name, n)
    indptr = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    return indptr, _inside(np.concatenate([*parts, np.empty(0, np.int64)]), name, n)


def _of_matrix(value: Any, name: str, count: int, n: int) -> tuple[IntColumn, IntColumn]:
    """Return the lists of a sparse matrix of scipy."""
    csr = value.tocsr()
    if csr.shape != (count, n):
        raise ValueError(f"{name}: shape {csr.shape}, expected ({count}, {n}): queries and vectors")
    if (zeros := int(np.count_nonzero(csr.data == 0))) > 0:
        raise ambiguous("stored zeros", name, f"a sparse matrix that stores {zeros} zeros")
    return np.asarray(csr.indptr, np.int64), np.asarray(csr.indices, np.int64)


def _of_pair(value: tuple[Any, Any], name: str, count: int, n: int) -> tuple[IntColumn, IntColumn]:
    """Return the lists of (indptr, indices)."""
    indptr, indices = _integers(value[0], name), _integers(value[1], name)
    if indptr.shape != (count + 1,) or indptr[0] != 0 or indptr[-1] != len(indices) or (np.diff(indptr) < 0).any():
        raise ValueError(
            f"{name}: indptr must ascend from 0 to {len(indices)} in {count + 1} steps, one more than queries"
        )
    indices = _inside(indices, name, n)
    if count == 2 and indptr.max() < n:
        raise ambiguous("pair of arrays", name, f"a tuple of arrays {indptr.tolist()} and {len(indices)} integers")
    return indptr, indices


def mask_of(value: Any, name: str, shape: tuple[int, ...]) -> npt.NDArray[np.bool_] | None:
    """Return a mask of this shape, None of what is no array or lists of bool."""
    first = value
    while isinstance(first, list) and first:  # lists of other lengths are no array
        first = first[0]
    if isinstance(value, list):
        if getattr(first, "dtype", type(first)) not in (bool, np.dtype(bool)):
            return None
    elif not hasattr(value, "__array__") or hasattr(value, "tocsr"):
        return None
    mask = plain(value, name)
    if mask.dtype != np.bool_:
        return None
    if mask.shape != shape:
        raise ValueError(f"{name}: shape {mask.shape}, expected {shape} of a mask")
    return mask


def parts_of(value: Any, name: str) -> list[Any]:
    """Return the lists of all queries."""
    if not isinstance(value, Iterable) or isinstance(value, (str, bytes, Mapping)):
        raise TypeError(f"{name}: {type(value).__name__}, expected a sparse matrix or a list for each query")
    parts = list(value)
    for j, part in enumerate(parts):
        if isinstance(part, (str, bytes)) or np.ndim(part) != 1:
            raise TypeError(f"{name}: query {j} has {part!r}, expected a list")
    return parts


def _integers(value: Any, name: str) -> IntColumn:
    array = plain(value, name)
    if array.size == 0:
        return np.empty(array.shape, np.int64)
    if array.dtype.kind == "f":
        raise ambiguous("floats as ids", name, f"values are {array.dtype}")
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name}: values are {array.dtype}, not integers")
    if array.dtype.kind == "u" and int(array.max()) >= 2**63:
        raise ValueError(f"{name}: {int(array.max())} is no row of the vectors")
    return np.ascontiguousarray(array, dtype=np.int64)


def _inside(rows: IntColumn, name: str, n: int) -> IntColumn:
    if rows.size and rows.min() < 0:
        raise ambiguous("negative ids", name, f"id {rows.min()}")
    if rows.size and rows.max() >= n:
        bad = rows[rows >= n][0]
        raise ValueError(f"{name}: row {bad}; the vectors are 0 to {n - 1}")
    return rows
