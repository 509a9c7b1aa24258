"""Flat indexes in FAISS's own files."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from thresher.faiss import _metrics
from thresher.faiss._flat import Index, IndexFlat, IndexFlatIP, IndexFlatL2
from thresher.faiss._idmap import IndexIDMap, IndexIDMap2
from thresher.faiss._metrics import METRIC_INNER_PRODUCT, METRIC_L2
from thresher.faiss._pointers import Vector
from thresher.faiss._rows import Rows
from thresher.faiss._streams import FileIOReader, FileIOWriter, IOReader, IOWriter, VectorIOReader, VectorIOWriter

__all__ = ["deserialize_index", "read_index", "serialize_index", "write_index"]

# The kinds of index by the first bytes of their files.
_FLAT = {b"IxF2": IndexFlatL2, b"IxFI": IndexFlatIP, b"IxFl": IndexFlat}
_MAPS: dict[bytes, type[IndexIDMap]] = {b"IxMp": IndexIDMap, b"IxM2": IndexIDMap2}

# d, ntotal, two numbers that once had a meaning, is_trained, metric_type; for metrics above 1 metric_arg follows.
_HEADER = struct.Struct("<iqqqBi")
_UNUSED = 1 << 20

Target = str | os.PathLike[str] | IOWriter
Source = str | os.PathLike[str] | IOReader


def write_index(index: Index, fname: Target, io_flags: int = 0) -> None:
    """Write an index as FAISS does, byte for byte: a file that it reads, too.

    Parameters
    ----------
    index : IndexFlat or IndexIDMap
    fname : path or IOWriter
        A file that exists is replaced once all is written.
    io_flags : int
        Have no meaning for flat indexes.

    Raises
    ------
    RuntimeError
        If the file cannot be opened.
    """
    parts = _parts(index)
    if isinstance(fname, IOWriter):
        for part in parts:
            fname.write(part)
        fname.close()
        return
    file = FileIOWriter(fname)
    try:
        for part in parts:
            file.write(part)
        file.close()
    except BaseException:
        file.discard()
        raise


def _parts(index: Index) -> Iterator[memoryview]:
    """Yield the bytes of an index."""
    if isinstance(index, IndexIDMap):
        kind = b"IxM2" if isinstance(index, IndexIDMap2) else b"IxMp"
        yield from (_view(kind), _view(_header(index)))
        yield from _parts(index.index)
        ids = np.array(index.id_map, "<i8")
        yield from (_view(struct.pack("<Q", len(ids))), memoryview(ids.view(np.uint8)))
    elif isinstance(index, IndexFlat):
        kind = {METRIC_L2: b"IxF2", METRIC_INNER_PRODUCT: b"IxFI"}.get(index.metric_type, b"IxFl")
        values = index.get_xb().astype("<f4", copy=False)
        yield from (_view(kind), _view(_header(index)), _view(struct.pack("<Q", len(values))))
        if len(values):
            yield memoryview(values.view(np.uint8))
    else:
        raise TypeError(f"index: {type(index).__name__}, an index of thresher.faiss is expected")


def _view(data: bytes) -> memoryview:
    return memoryview(data)


def _header(index: Index) -> bytes:
    said = _HEADER.pack(index.d, index.ntotal, _UNUSED, _UNUSED, index.is_trained, index.metric_type)
    return said + (struct.pack("<f", index.metric_arg) if index.metric_type > 1 else b"")


def read_index(fname: Source, io_flags: int = 0) -> Index:
    """Read a flat index, or one of these that maps ids, from a file of FAISS.

    Parameters
    ----------
    fname : path or IOReader
    io_flags : int
        Have no meaning here: files are read, not mapped.

    Raises
    ------
    RuntimeError
        If there is no such file, if it is damaged, or if it has an index of another kind.
    """
    if isinstance(fname, IOReader):
        with _naming(fname.name):
            return _index(fname)
    with closing(FileIOReader(fname)) as reader, _naming(reader.name):
        return _index(reader)


@contextmanager
def _naming(name: str) -> Iterator[None]:
    """Say of which file an error is."""
    try:
        yield
    except RuntimeError as e:
        raise RuntimeError(f"{name}: {e}" if name else str(e)) from None


def _index(reader: IOReader) -> Index:
    kind = _bytes(reader, 4, "kind")
    if kind not in _FLAT and kind not in _MAPS:
        raise RuntimeError(
            f"index type {kind!r} not recognized; thresher.faiss reads IndexFlat, IndexIDMap and IndexIDMap2"
        )
    d, ntotal, _, _, _, metric = _HEADER.unpack(_bytes(reader, _HEADER.size, "header"))
    argument = struct.unpack("<f", _bytes(reader, 4, "metric_arg"))[0] if metric > 1 else 0.0
    if d < 0 or ntotal < 0:
        raise RuntimeError(f"header: d is {d} and ntotal {ntotal}; the file is damaged")
    if kind in _MAPS:
        inner = _index(reader)
        if not isinstance(inner, IndexFlat):
            raise RuntimeError(f"index: an {type(inner).__name__} within an index that maps ids; a flat one is read")
        return _mapping(_MAPS[kind], inner, _array(reader, "id_map", inner.ntotal, np.dtype("<i8")))
    made = IndexFlat.__new__(_FLAT[kind])
    IndexFlat.__init__(made, d, _metrics.checked(metric))
    made.metric_arg = argument
    count = _count(reader, "codes", ntotal * d)
    rows = Rows(d)
    try:
        place = rows.place(ntotal)
    except (MemoryError, OSError, OverflowError, ValueError) as e:
        raise MemoryError(
            f"codes: {ntotal} vectors of {d} values, as the header has it, do not fit in memory: {e}"
        ) from e
    if count:
        _fill(reader, place.reshape(-1).view(np.uint8), "codes")
        if np.dtype("<f4") != np.float32:
            place.byteswap(inplace=True)
    made._start(rows)
    return made


def _mapping(kind: type[IndexIDMap], inner: IndexFlat, ids: npt.NDArray[np.int64]) -> IndexIDMap:
    made = kind(IndexFlat(inner.d, inner.metric_type))
    made.index, made.metric_arg = inner, inner.metric_arg
    made._label(ids)
    return made


def _bytes(reader: IOReader, size: int, what: str) -> bytes:
    place = np.empty(size, np.uint8)
    _fill(reader, place, what)
    return place.tobytes()


def _fill(reader: IOReader, place: npt.NDArray[np.uint8], what: str) -> None:
    found = reader.fill(place)
    if found < len(place):
        raise RuntimeError(f"{what}: ends after {found} of {len(place)} bytes; the file is damaged")


def _count(reader: IOReader, what: str, expected: int) -> int:
    """Read how many elements follow, which is known."""
    count: int = struct.unpack("<Q", _bytes(reader, 8, what))[0]
    if count != expected:
        raise RuntimeError(f"{what}: {count} elements, expected {expected}; the file is damaged")
    return count


def _array(reader: IOReader, what: str, count: int, kind: np.dtype[Any]) -> npt.NDArray[np.int64]:
    found = np.empty(_count(reader, what, count), kind)
    _fill(reader, found.view(np.uint8), what)
    return found.astype(np.int64, copy=False)


def serialize_index(index: Index, io_flags: int = 0) -> npt.NDArray[np.uint8]:
    """Return the bytes that `write_index` writes."""
    writer = VectorIOWriter()
    write_index(index, writer, io_flags)
    return writer.data.data()


def deserialize_index(data: npt.ArrayLike, io_flags: int = 0) -> Index:
    """Return the index whose bytes, uint8 (n,), `serialize_index` returned, or FAISS's."""
    reader = VectorIOReader()
    reader.data = Vector(np.asarray(data, np.uint8).reshape(-1))
    return read_index(reader, io_flags)
