"""Where indexes are read from and written to: files, functions, and arrays of bytes."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from thresher.faiss._pointers import Vector

__all__ = [
    "BufferedIOReader",
    "BufferedIOWriter",
    "FileIOReader",
    "FileIOWriter",
    "IOReader",
    "IOWriter",
    "PyCallbackIOReader",
    "PyCallbackIOWriter",
    "VectorIOReader",
    "VectorIOWriter",
]


class IOReader:
    """Where bytes come from."""

    name = ""

    def read(self, size: int) -> bytes:
        """Return the next bytes, at most size; none at the end."""
        raise NotImplementedError

    def fill(self, place: npt.NDArray[np.uint8]) -> int:
        """Write the next bytes to an array, and return how many there were; fewer than it takes at the end."""
        at = 0
        while at < len(place) and (part := self.read(min(len(place) - at, 1 << 24))):
            place[at : at + len(part)] = np.frombuffer(part, np.uint8)
            at += len(part)
        return at

    def __call__(self, ptr: npt.NDArray[Any], size: int, nitems: int) -> int:
        """Write the next nitems of so many bytes behind a pointer, and return how many there were."""
        return self.fill(ptr.reshape(-1).view(np.uint8)[: size * nitems]) // max(size, 1)


class IOWriter:
    """Where bytes go."""

    name = ""

    def write(self, data: memoryview) -> None:
        """Write bytes."""
        raise NotImplementedError

    def close(self) -> None:
        """Finish, once all is written."""


class FileIOReader(IOReader):
    """A file."""

    def __init__(self, name: str | os.PathLike[str]) -> None:
        self.name = os.fspath(name)
        try:
            self._file = open(self.name, "rb", buffering=0)  # noqa: SIM115 - it lives as long as the reader
        except OSError as e:
            raise RuntimeError(f"{self.name}: could not open for reading: {e.strerror}") from e

    def read(self, size: int) -> bytes:
        """Return the next bytes."""
        return self._file.read(size) or b""

    def close(self) -> None:
        """Close the file; a reader that is not closed does so when it is dropped."""
        self._file.close()

    def fill(self, place: npt.NDArray[np.uint8]) -> int:
        """Write the next bytes to an array."""
        at, view = 0, memoryview(place)
        while at < len(view) and (count := self._file.readinto(view[at:])):
            at += count
        return at


class FileIOWriter(IOWriter):
    """A file, which has its name once all is written."""

    def __init__(self, name: str | os.PathLike[str]) -> None:
        self.name = os.fspath(name)
        try:
            self._file = open(self.name + ".part", "wb")  # noqa: SIM115 - it lives as long as the writer
        except OSError as e:
            raise RuntimeError(f"{self.name}: could not open for writing: {e.strerror}") from e

    def write(self, data: memoryview) -> None:
        """Write bytes."""
        self._file.write(data)

    def close(self) -> None:
        """Give the file its name."""
        if not self._file.closed:
            self._file.close()
            os.replace(self.name + ".part", self.name)

    def discard(self) -> None:
        """Remove what was written, and leave a file of that name as it was."""
        self._file.close()
        with contextlib.suppress(OSError):
            os.remove(self.name + ".part")


class PyCallbackIOReader(IOReader):
    """A function of a number of bytes that returns at most so many; it is asked for at most bs at once."""

    def __init__(self, callback: Callable[[int], bytes], bs: int = 1024 * 1024) -> None:
        self._callback, self._size = callback, int(bs)

    def read(self, size: int) -> bytes:
        """Return the next bytes."""
        return self._callback(min(size, self._size))


class PyCallbackIOWriter(IOWriter):
    """A function of bytes, which is given at most bs at once."""

    def __init__(self, callback: Callable[[bytes], Any], bs: int = 1024 * 1024) -> None:
        self._callback, self._size = callback, int(bs)

    def write(self, data: memoryview) -> None:
        """Write bytes."""
        for at in range(0, len(data), self._size):
            self._callback(bytes(data[at : at + self._size]))


class BufferedIOReader(IOReader):
    """Another reader, which is asked for bsz bytes at once."""

    def __init__(self, reader: IOReader, bsz: int = 1024 * 1024) -> None:
        self._reader, self._size, self._left, self.name = reader, int(bsz), b"", reader.name

    def read(self, size: int) -> bytes:
        """Return the next bytes."""
        if not self._left:
            self._left = self._reader.read(self._size)
        part, self._left = self._left[:size], self._left[size:]
        return part


class BufferedIOWriter(IOWriter):
    """Another writer, which is given bsz bytes at once."""

    def __init__(self, writer: IOWriter, bsz: int = 1024 * 1024) -> None:
        self._writer, self._size, self._kept, self.name = writer, int(bsz), bytearray(), writer.name

    def write(self, data: memoryview) -> None:
        """Write bytes."""
        self._kept += data
        whole = len(self._kept) // self._size * self._size
        if whole:
            self._writer.write(memoryview(bytes(self._kept[:whole])))
            del self._kept[:whole]

    def close(self) -> None:
        """Write what is left."""
        self._writer.write(memoryview(bytes(self._kept)))
        self._kept.clear()
        self._writer.close()


class VectorIOReader(IOReader):
    """Bytes in memory, `data`."""

    def __init__(self) -> None:
        self.data = Vector(np.empty(0, np.uint8))
        self._at = 0

    def read(self, size: int) -> bytes:
        """Return the next bytes."""
        part = self.data.data()[self._at : self._at + size].tobytes()
        self._at += len(part)
        return part


class VectorIOWriter(IOWriter):
    """Bytes in memory."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    @property
    def data(self) -> Vector:
        """What was written."""
        return Vector(np.frombuffer(bytearray(b"".join(self._parts)), np.uint8))

    def write(self, data: memoryview) -> None:
        """Write bytes."""
        self._parts.append(bytes(data))
