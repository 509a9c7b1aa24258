"""Entries of the cache of files that fsspec fetched: what arrived of each, who uses it, and which are evicted."""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import tempfile
import time
import zlib
from typing import BinaryIO, NamedTuple

try:
    import fcntl
except ImportError:  # Windows has none
    fcntl = None  # type: ignore[assignment]

log = logging.getLogger("thresher")

# Beside the folder of an entry: what arrived in it, and a file that those who use it hold locked.
_STATE, _LOCK, _GONE = ".json", ".lock", ".gone"

# For how many seconds entries are kept on systems without locks, which do not tell who uses them.
_UNLOCKED_AGE = 24 * 3600

_VARIABLE = "THRESHER_CACHE_LIMIT"
_UNITS = {"": 1, **{f"{p}B": 1000**i for i, p in enumerate(["", "K", "M", "G", "T"])}}
_UNITS |= {f"{p}IB": 1024**i for i, p in enumerate(["", "K", "M", "G", "T"]) if i}

_held: dict[str, BinaryIO] = {}  # the locks of entries that this process uses, until it ends


class Arrived(NamedTuple):
    """A file as it was when all of its bytes were there."""

    bytes: int
    modified: int  # nanoseconds since 1970
    crc32: int

    @classmethod
    def at(cls, path: str) -> Arrived:
        """Describe a file that has just arrived."""
        crc = _crc_of(path)
        status = os.stat(path)
        return cls(status.st_size, status.st_mtime_ns, crc)

    def is_damaged(self, path: str, *, read: bool = False) -> bool:
        """Whether a file has other bytes; they are only read where it was written to since, or if told to."""
        try:
            status = os.stat(path)
            if status.st_size != self.bytes:
                return True
            return (read or status.st_mtime_ns != self.modified) and _crc_of(path) != self.crc32
        except FileNotFoundError:
            return False
        except OSError:  # a disk that does not give the bytes back
            return True


def arrivals(entry: str) -> dict[str, Arrived]:
    """Return what arrived in an entry, by the paths of files in it; of entries of earlier versions nothing is known."""
    try:
        with open(entry + _STATE, encoding="utf-8") as f:
            return {name: Arrived(*map(int, of)) for name, of in json.load(f).items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}


def note(entry: str, all_: dict[str, Arrived]) -> None:
    """Write what arrived in an entry."""
    handle, part = tempfile.mkstemp(prefix=".", suffix=".part", dir=os.path.dirname(entry))
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as f:
            json.dump(all_, f)
        os.replace(part, entry + _STATE)
    finally:
        if os.path.exists(part):
            os.unlink(part)


def remove_damaged(entry: str) -> bool:
    """Remove the files of an entry that have other bytes than those that arrived, and return whether there were any."""
    removed = False
    for name, was in arrivals(entry).items():
        path = os.path.join(entry, name)
        if was.is_damaged(path, read=True):
            log.warning("a copy in the cache is damaged, and is fetched again: %s", path)
            os.unlink(path)
            removed = True
    return removed


def hold(entry: str) -> None:
    """Keep an entry from being evicted until this process ends, and note that it is used now."""
    os.makedirs(os.path.dirname(entry), exist_ok=True)
    path = entry + _LOCK
    while entry not in _held or not _is_at(_held[entry], path):
        f = open(path, "ab")  # noqa: SIM115 - held until the process ends
        if fcntl is not None:
            fcntl.flock(f, fcntl.LOCK_SH)
        _held[entry] = f  # or once more, if it was evicted meanwhile
    os.utime(path)


def limit() -> int:
    """Return the size of the cache beyond which entries are evicted, THRESHER_CACHE_LIMIT, in bytes; 0 for none."""
    text = os.environ.get(_VARIABLE, "").strip()
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Z]*)", text.upper())
    if not text:
        return 0
    if match is None or match[2] not in _UNITS:
        raise ValueError(f"{_VARIABLE}: {text!r} is no size, such as 200GB or 500MiB")
    return int(float(match[1]) * _UNITS[match[2]])


def evict(folder: str, most: int) -> None:
    """Remove the entries that were used the longest ago until the others have at most so many bytes."""
    entries = []  # those that a process uses stay
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if name.endswith(_GONE):
            shutil.rmtree(path, ignore_errors=True)  # what is left of one that was being removed
        elif re.fullmatch("[0-9a-f]{32}", name) and os.path.isdir(path):
            entries.append((_used(path), _size(path), path))
    total = sum(size for _, size, _ in entries)
    for used, size, path in sorted(entries):
        if total <= most:
            break
        if path not in _held and _remove(path, used):
            total -= size


def _remove(entry: str, used: float) -> bool:
    """Remove an entry unless a process uses it, and return whether it is gone."""
    with open(entry + _LOCK, "ab") as f:
        if fcntl is None:
            if time.time() - used < _UNLOCKED_AGE:
                return False
        else:
            try:
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return False
        try:
            os.rename(entry, entry + _GONE)  # so that nobody takes the rest for whole
            for beside in (_STATE, _LOCK):
                if os.path.exists(entry + beside):
                    os.unlink(entry + beside)
            shutil.rmtree(entry + _GONE)
        except OSError as e:
            log.warning("an entry of the cache stays beyond its limit: %s", e)
            return False
    return True


def _used(entry: str) -> float:
    """Return when an entry was used last."""
    path = entry + _LOCK
    return os.path.getmtime(path if os.path.exists(path) else entry)


def _size(entry: str) -> int:
    """Return how many bytes the files of an entry have."""
    total = 0
    for folder, _, names in os.walk(entry):
        for name in names:
            try:
                total += os.path.getsize(os.path.join(folder, name))
            except FileNotFoundError:  # a part of a file that has arrived meanwhile
                continue
    return total


def _is_at(f: BinaryIO, path: str) -> bool:
    """Whether an open file is still the one at a path."""
    try:
        return os.path.samestat(os.fstat(f.fileno()), os.stat(path))
    except FileNotFoundError:
        return False


def _crc_of(path: str) -> int:
    crc = 0
    with open(path, "rb") as f:
        while block := f.read(1 << 20):
            crc = zlib.crc32(block, crc)
    return crc
