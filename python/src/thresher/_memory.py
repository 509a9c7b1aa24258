"""Files without a name, which this process and its worker map: what shared memory is made of.

Not every Python has `os.memfd_create`, and a sandbox may refuse the call, so there are several
ways to make one. The first that works is chosen once a process, by trying.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import logging
import mmap
import os
import platform
import sys
import tempfile
from collections.abc import Callable
from typing import Any, NamedTuple

__all__ = ["LINUX", "available", "mapped", "new_file"]

LINUX = sys.platform.startswith("linux")

_MFD_CLOEXEC, _MFD_ALLOW_SEALING = 1, 2
_F_ADD_SEALS, _F_SEAL_SEAL, _F_SEAL_SHRINK, _F_SEAL_GROW = 1033, 1, 2, 4

# The numbers of memfd_create, by machine.
_MEMFD_CREATE = {"x86_64": 319, "aarch64": 279}

# Whoever lacks descriptors or memory lacks them by every way.
_PASSING = (errno.EMFILE, errno.ENFILE, errno.ENOMEM)
# What a folder lacks the next way may have.
_FULL = (errno.ENOSPC, errno.EDQUOT)

_SHM = "/dev/shm"

_log = logging.getLogger("thresher.worker")


class Way(NamedTuple):
    """A way to make a file without a name."""

    name: str
    make: Callable[[int], int]


def _by_python(size: int) -> int:
    create = getattr(os, "memfd_create", None)
    if create is None:
        raise OSError(errno.ENOSYS, "this Python lacks it")
    return _sealed(create("thresher", _MFD_CLOEXEC | _MFD_ALLOW_SEALING), size)


def _by_syscall(size: int) -> int:
    machine = platform.machine()
    number = _MEMFD_CREATE.get(machine) if sys.maxsize > 1 << 32 else None
    if number is None:
        raise OSError(errno.ENOSYS, f"its number on {machine} is not known")
    ctypes, libc = _libc()
    fd = libc.syscall(ctypes.c_long(number), b"thresher", ctypes.c_uint(_MFD_CLOEXEC | _MFD_ALLOW_SEALING))
    if fd < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return _sealed(int(fd), size)


@functools.cache
def _libc() -> tuple[Any, Any]:
    """Return ctypes, which a Python can be built without, and the C library."""
    try:
        import ctypes

        return ctypes, ctypes.CDLL(None, use_errno=True)
    except ImportError as e:
        raise OSError(errno.ENOSYS, f"this Python lacks ctypes: {e}") from e


def _sealed(fd: int, size: int) -> int:
    """Give a memfd its size, for good."""
    try:
        os.ftruncate(fd, size)
        import fcntl

        fcntl.fcntl(fd, _F_ADD_SEALS, _F_SEAL_SEAL | _F_SEAL_SHRINK | _F_SEAL_GROW)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _in_shm(size: int) -> int:
    return _in_folder(_SHM, size)


def _in_temporary(size: int) -> int:
    return _in_folder(tempfile.gettempdir(), size)


def _in_folder(folder: str, size: int) -> int:
    fd, path = tempfile.mkstemp(prefix="thresher-", dir=folder)
    try:
        os.unlink(path)
        if LINUX and os.fstat(fd).st_nlink > 0:
            raise OSError(errno.ENOTSUP, f"{folder} keeps the name of a file that is open")
        _reserve(fd, size)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _reserve(fd: int, size: int) -> None:
    """Give a file its size, and on Linux the space for it: a write to a mapping without space is a SIGBUS."""
    if not LINUX:
        os.ftruncate(fd, size)
    elif hasattr(os, "posix_fallocate"):
        os.posix_fallocate(fd, 0, size)
    else:
        zeros, at = bytes(1 << 20), 0
        while at < size:
            at += os.pwrite(fd, zeros[: size - at], at)


def _ways() -> tuple[Way, ...]:
    if os.name != "posix":
        return ()
    temporary = Way("a file in the folder for temporary files", _in_temporary)
    if not LINUX:
        return (temporary,)
    return (
        Way("os.memfd_create", _by_python),
        Way("the system call memfd_create", _by_syscall),
        Way(f"a file in {_SHM}", _in_shm),
        temporary,
    )


# The way of this process, and those below it; None until the first file, empty if there is no way.
_chosen: tuple[Way, ...] | None = None


def _choose() -> tuple[Way, ...]:
    global _chosen
    if _chosen is not None:
        return _chosen
    ways, tried = _ways(), []
    for i, way in enumerate(ways):
        try:
            os.close(way.make(mmap.PAGESIZE))
        except OSError as e:
            if e.errno in _PASSING:
                raise
            tried.append(f"{way.name}: {e}")
            continue
        if tried:
            _log.info("shared memory is made by %s (%s)", way.name, "; ".join(tried))
        _chosen = ways[i:]
        return _chosen
    if tried:
        _log.warning("no shared memory, arrays are copied through pipes (%s)", "; ".join(tried))
    _chosen = ()
    return _chosen


def available() -> bool:
    """Tell whether this process can share memory with another one."""
    return bool(_choose())


def new_file(size: int) -> int:
    """Return the descriptor of a new file of size > 0 bytes without a name, all zero, which keeps its size."""
    first: OSError | None = None
    tried = []
    for way in _choose():
        try:
            return way.make(size)
        except OSError as e:
            first = first or e
            tried.append(f"{way.name}: {e}")
            if e.errno not in _FULL:
                break
    number = first.errno if first is not None else errno.ENOTSUP
    raise OSError(number, f"{size} bytes of shared memory cannot be had ({'; '.join(tried) or 'there is no way'})")


# Python 3.13 and newer map files without a descriptor of their own for each mapping.
WITHOUT_FD: dict[str, Any] = {"trackfd": False} if os.name == "posix" and sys.version_info >= (3, 13) else {}

# Of Linux on the machines above and of macOS.
_PROT_READ_WRITE, _MAP_SHARED, _MAP_FIXED = 3, 1, 0x10


def mapped(fd: int, size: int, kind: type[mmap.mmap] = mmap.mmap) -> mmap.mmap:
    """Map a file of size > 0 bytes, writable. The mapping holds no descriptor, if the system allows."""
    if WITHOUT_FD:
        return kind(fd, size, **WITHOUT_FD)
    if not (LINUX or sys.platform == "darwin") or sys.maxsize <= 1 << 32:
        return kind(fd, size)
    with contextlib.suppress(OSError, AttributeError):
        ctypes, libc = _libc()
        return _mapped_over(kind(-1, size), fd, size, ctypes, libc.mmap)
    return kind(fd, size)


def _mapped_over(memory: mmap.mmap, fd: int, size: int, ctypes: Any, call: Any) -> mmap.mmap:
    """Map a file in the place of memory without one: Python's own mapping of a file duplicates its descriptor."""
    call.restype = ctypes.c_void_p
    call.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64]
    start = ctypes.c_char.from_buffer(memory)
    address = ctypes.addressof(start)
    del start  # a mapping with a view of it cannot be closed
    if call(address, size, _PROT_READ_WRITE, _MAP_SHARED | _MAP_FIXED, fd, 0) != address:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return memory
