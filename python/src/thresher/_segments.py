"""Memory that this process shares with its workers.

A segment is a file without a name, of `_memory`, that both map. Arrays in a segment are passed
to a worker where they lie; the segment goes when the last of them does.
"""

from __future__ import annotations

import contextlib
import itertools
import mmap
import os
import weakref
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from thresher import _memory
from thresher._memory import LINUX, available, mapped, new_file

__all__ = ["Segment", "empty", "file_of", "segment_of", "shared", "write_array"]

# Segments up to this size give their descriptor up once a worker has mapped them, so that hundreds
# of them live at once; another worker gets a copy. Answers up to this size are copied, likewise,
# where a mapping holds a descriptor.
_COPIED = 64 << 20

# Of the larger ones so many keep theirs, the largest, so that descriptors do not run out.
_KEPT = 64

_numbers = itertools.count(1)

# The files of segments that workers have mapped and that keep their descriptors, by number.
_keeping: dict[int, _File] = {}


def contents(fd: int) -> Any:
    """Return the bytes of a file without a name, writable: mapped, or copied as `_COPIED` says."""
    size = os.fstat(fd).st_size
    if _memory.WITHOUT_FD or size > _COPIED:
        return mapped(fd, size)
    data = np.empty(size, np.uint8)
    view, at = memoryview(data), 0
    while at < size:
        got = os.preadv(fd, [view[at:]], at) if hasattr(os, "preadv") else 0
        if got == 0:
            return mapped(fd, size)
        at += got
    return data


class Segment(mmap.mmap):
    """Mapped memory that workers can map too. Arrays over it keep it, as their base."""

    number: int
    file: _File
    forget: list[weakref.WeakMethod[Callable[[int], None]]]  # told of the number when the segment goes

    @classmethod
    def new(cls, size: int) -> Segment:
        """Return a new segment of size > 0 bytes, all zero."""
        fd = new_file(size)
        try:
            segment = cast(Segment, mapped(fd, size, cls))
        except BaseException:
            os.close(fd)
            raise
        segment.number, segment.file, segment.forget = next(_numbers), _File(fd, size), []
        weakref.finalize(segment, _forget, segment.number, segment.file, segment.forget).atexit = False
        return segment

    def was_mapped(self) -> None:
        """Note that a worker has the segment, or its descriptor is on the way to one.

        The caller holds the lock under which descriptors are sent: one of another segment may be closed.
        """
        if len(self) <= _COPIED:
            self.file.close()
            return
        _keeping[self.number] = self.file
        if len(_keeping) > _KEPT:
            _, number = min((file.size, number) for number, file in list(_keeping.items()))
            if (smallest := _keeping.pop(number, None)) is not None:
                smallest.close()


class _File:
    """The descriptor of a segment, -1 once it is closed, and its size in bytes."""

    def __init__(self, fd: int, size: int) -> None:
        self.fd, self.size = fd, size

    def close(self) -> None:
        fd, self.fd = self.fd, -1
        if fd >= 0:
            with contextlib.suppress(OSError):
                os.close(fd)


def _forget(number: int, file: _File, told: list[weakref.WeakMethod[Callable[[int], None]]]) -> None:
    _keeping.pop(number, None)
    file.close()
    for weak in told:
        if (tell := weak()) is not None:
            tell(number)


def empty(shape: int | tuple[int, ...], dtype: npt.DTypeLike = np.float32) -> npt.NDArray[Any]:
    """Return an array in memory that workers share, filled with zeros: searches take it without a copy.

    Contiguous slices of it are taken without a copy, too. An array holds a file descriptor until it
    is first used; the 64 largest above 64 MiB, as long as they live, so that processes forked from
    this one share them as well. Where memory cannot be shared it is an array like any other.

    Parameters
    ----------
    shape : int or tuple of ints
        As of `numpy.empty`.
    dtype : dtype
        float32 for queries; float32, float16, int8 or uint8 for vectors.
    """
    shape = (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    if not all(isinstance(n, (int, np.integer)) for n in shape):
        raise TypeError(f"shape: {shape}, expected integers")
    kind = np.dtype(dtype)
    if kind.hasobject:
        raise ValueError(f"dtype: {kind} refers to Python objects, which no other process can read")
    if any(n < 0 for n in shape):
        raise ValueError(f"shape: {shape}; no length is negative")
    size = kind.itemsize
    for n in shape:
        size *= int(n)
    if size == 0 or not available():
        return np.zeros(shape, kind)
    return np.ndarray(shape, kind, buffer=Segment.new(size))


def _owner(array: npt.NDArray[Any]) -> tuple[Any, np.memmap[Any, Any] | None]:
    """Return what owns the array's memory, and the memmap directly on it if there is one."""
    at: Any = array
    mapped = None
    while isinstance(at, np.ndarray):
        if isinstance(at, np.memmap) and isinstance(at.base, mmap.mmap):
            mapped = at
        at = at.base
    if isinstance(at, memoryview):
        at = at.obj
    return at, mapped


def _address(array: npt.NDArray[Any]) -> int:
    return int(array.__array_interface__["data"][0])


def _in_order(array: npt.NDArray[Any]) -> bool:
    """Tell whether the array's bytes lie as the worker reads them."""
    return array.flags.c_contiguous and array.flags.aligned and array.dtype.newbyteorder("<") == array.dtype


def segment_of(array: npt.NDArray[Any]) -> tuple[Segment, int] | None:
    """Return the segment that an array is in, and the offset of its first byte; None if it is in none."""
    owner, _ = _owner(array)
    if not isinstance(owner, Segment) or not _in_order(array) or array.nbytes == 0:
        return None
    start = _address(np.ndarray((1,), np.uint8, buffer=owner))
    return owner, _address(array) - start


# Arrays in files below this size are copied: that takes less time than finding out which file it is.
_LEAST_FILE = 1 << 20


def file_of(array: npt.NDArray[Any]) -> tuple[int, str, int] | None:
    """Return the file that an array maps: an open descriptor, its path, and the offset of the first byte.

    None if it maps none, or a file that has another content by now. The caller closes the
    descriptor.
    """
    if array.nbytes < _LEAST_FILE or not _in_order(array):
        return None
    _, root = _owner(array)
    if root is None or root.filename is None or root.mode not in ("r", "r+", "w+"):
        return None
    path = os.path.abspath(root.filename)
    offset = int(root.offset) + _address(array) - _address(root)
    try:
        fd = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0))
    except OSError:
        return None
    try:
        if os.fstat(fd).st_size >= offset + array.nbytes and _same(fd, offset, array):
            return fd, path, offset
    except BaseException:
        os.close(fd)
        raise
    os.close(fd)
    return None


def _same(fd: int, offset: int, array: npt.NDArray[Any]) -> bool:
    """Tell whether an array maps this file, which could have been replaced since."""
    page = mmap.ALLOCATIONGRANULARITY
    start = offset // page * page
    with contextlib.closing(mmap.mmap(fd, offset - start + 1, access=mmap.ACCESS_READ, offset=start)) as again:
        if LINUX:
            view = np.ndarray((1,), np.uint8, buffer=again)
            files = _files_at(_address(array), _address(view))
            del view
            return len(files) == 2 and files[0] == files[1]
    flat = array.reshape(-1).view(np.uint8)
    for at in (0, flat.size // 2, max(0, flat.size - 4096)):
        piece = flat[at : at + 4096].tobytes()
        os.lseek(fd, offset + at, os.SEEK_SET)
        if os.read(fd, len(piece)) != piece:
            return False
    return True


def _files_at(*addresses: int) -> list[tuple[bytes, bytes]]:
    """Return device and inode of the files mapped at addresses; nothing where there is no /proc."""
    found = {}
    with contextlib.suppress(OSError), open("/proc/self/maps", "rb") as maps:
        for line in maps:
            span, _, _, device, inode = line.split(None, 5)[:5]
            low, high = (int(x, 16) for x in span.split(b"-"))
            for address in addresses:
                if low <= address < high and inode != b"0":
                    found[address] = (device, inode)
    return [found[a] for a in addresses if a in found]


def shared(array: npt.NDArray[Any]) -> bool:
    """Tell whether a worker can take the array without a copy."""
    if segment_of(array) is not None:
        return True
    found = file_of(array)
    if found is None:
        return False
    os.close(found[0])
    return True


# How many bytes are written at once: the kernel writes at most 2 GiB.
_PIECE = 1 << 30


def write_array(fd: int, array: npt.NDArray[Any]) -> None:
    """Write the elements of an array to a file of its size: one copy, whatever its strides."""
    if _in_order(array):
        data = memoryview(array.reshape(-1).view(np.uint8))
        at = 0
        while at < len(data):
            at += os.pwrite(fd, data[at : at + _PIECE], at)
        return
    with contextlib.closing(mmap.mmap(fd, array.nbytes)) as to:
        view: npt.NDArray[Any] = np.ndarray(array.shape, array.dtype.newbyteorder("<"), buffer=to)
        np.copyto(view, array)
        del view
