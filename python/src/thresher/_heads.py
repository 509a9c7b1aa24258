"""What the headers of segments say, which are read where these are: of those elsewhere, before any is copied.

A file ``.thresher`` begins with its magic, version, the length of its header and a checksum; the header is JSON
(collection/store.go).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

__all__ = ["Head", "read_heads", "refuse_unlike"]

_MAGIC = b"THRESHER"
_FIXED = 20  # bytes before the JSON
_MOST = 1 << 16  # bytes of both


@dataclass(frozen=True)
class Head:
    """What a segment is: rows of `dim` values of a type, compared by a metric."""

    rows: int
    dim: int
    metric: str
    dtype: str


def read_heads(system: FileSystem, files: Sequence[tuple[str, int, int]]) -> list[Head]:
    """Return the headers of segments, given as paths with their sizes and times, after a check that they are alike.

    Raises
    ------
    OSError
        If one is no segment, or lacks its end; the message names it.
    ValueError
        If two of them differ in metric, dimension or type; the message names both.
    """
    with ThreadPoolExecutor(16) as pool:
        heads = list(pool.map(lambda file: _read_head(system, file[0], file[1]), files))
    for head, (path, _, _) in zip(heads, files, strict=True):
        refuse_unlike(heads[0], files[0][0], head, path)
    return heads


def refuse_unlike(first: Any, path: str, other: Any, other_path: str) -> None:
    """Refuse two segments, each an `Index` or a `Head`, that cannot be searched together."""
    for what, name in (("metric", "metric"), ("dimension", "dim"), ("type", "dtype")):
        a, b = getattr(first, name), getattr(other, name)
        if a != b:
            raise ValueError(f"vectors: {what} differs, {a} of {path} and {b} of {other_path}")


def _read_head(system: FileSystem, path: str, size: int) -> Head:
    with system.open_input_file(path) as f:
        start = f.read(_FIXED)
        if not start.startswith(_MAGIC) or len(start) < _FIXED:
            raise OSError(f"vectors: {path}: not a collection file")
        length = int.from_bytes(start[12:16], "little")
        text = f.read(min(length, _MOST - _FIXED))
    try:
        said = json.loads(text)
        head = Head(said["N"], said["Dim"], said["Metric"], said.get("Elem", "float32"))
        whole = int(said["Bytes"])
    except (ValueError, KeyError, TypeError):
        raise OSError(f"vectors: {path}: collection file is damaged: in its header") from None
    if size < whole:
        raise OSError(f"vectors: {path}: collection file is truncated: {size} of {whole} bytes")
    return head
