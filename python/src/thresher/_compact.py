"""Compact headers of searches and of the replies to them, as docs/worker.md describes them."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["FIRST", "REPLY_BYTES", "Headers", "number"]

FIRST = 1
"""The first byte of a compact header."""

_SEARCH = struct.Struct("<BBBBIqqqddd")
_ARRAY = struct.Struct("<BBBBIqqqq")
_REPLY = struct.Struct("<BBHIqqqdd")
_FIELDS = {"handle", "k", "method", "delta", "epsilon"}

REPLY_BYTES = _REPLY.size
"""The bytes of a reply's header without its words."""

# How many words of replies, which hardly differ, are kept.
_KEPT = 64

_ROWS, _SCORES64 = np.dtype("<i8"), np.dtype("<f8")


def number(text: bytearray, at: int) -> int:
    """Return the call that a reply answers, of its header at a place of a text."""
    return int(_REPLY.unpack_from(text, at)[4])


class Headers:
    """Writes and reads compact headers.

    Parameters
    ----------
    hello : dict
        What the worker said: what numbers in headers stand for.
    certificate : dtype
        The layout of a certificate.
    """

    def __init__(self, hello: Mapping[str, Any], certificate: np.dtype[Any]) -> None:
        self._methods, self._names, self._types = (
            {word: i for i, word in enumerate(hello[key])} for key in ("methods", "compact_arrays", "compact_types")
        )
        self._certificate = certificate
        self._words: dict[bytes, dict[str, Any]] = {}

    def encode(self, header: Mapping[str, Any], fields: Mapping[str, Any]) -> bytes:
        """Return the compact header of a search; nothing of another call, or of one that has none."""
        if header["op"] != "search" or not _FIELDS.issuperset(fields):
            return b""
        handle, k, method = fields.get("handle"), fields.get("k"), fields.get("method", "auto")
        delta, epsilon = fields.get("delta", 0.0), fields.get("epsilon", 0.0)
        if type(handle) is not int or type(k) is not int or not max(abs(handle), abs(k)) < 1 << 63:
            return b""
        if not isinstance(method, str) or method not in self._methods:
            return b""
        if not (type(delta) is type(epsilon) is float and math.isfinite(delta) and math.isfinite(epsilon)):
            return b""
        arrays, progress = header.get("arrays", ()), "progress" in header
        fixed = (FIRST, self._methods[method], len(arrays), progress, 0, header["id"], handle, k, delta, epsilon)
        parts = [_SEARCH.pack(*fixed, header["deadline_ms"])]
        for d in arrays:
            name, kind, shape = self._names.get(d["name"]), self._types.get(d["dtype"]), d["shape"]
            if name is None or kind is None or d["at"] == "file":
                return b""
            segment, columns = d.get("segment", 0), shape[1] if len(shape) == 2 else 0
            parts.append(_ARRAY.pack(name, kind, segment != 0, len(shape), 0, shape[0], columns, segment, d["offset"]))
        return b"".join(parts)

    def decode(
        self, text: bytearray, at: int, end: int, memory: Any, offset: int
    ) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return the reply whose header is text[at:end], and its arrays, which begin at an offset of memory."""
        _, complete, _, _, _, m, k, took, saving = _REPLY.unpack_from(text, at)
        words = bytes(text[at + REPLY_BYTES : end])
        known = self._words.get(words)
        if known is None:
            if len(self._words) >= _KEPT:
                self._words.clear()
            known = self._words[words] = json.loads(words)
        found: dict[str, npt.NDArray[Any]] = {}
        for name, shape, kind in (
            ("rows", (m, k), _ROWS),
            ("scores64", (m, k), _SCORES64),
            ("certificates", (m,), self._certificate),
        ):
            found[name] = array = np.ndarray(shape, kind, memory, offset)
            offset += -(-array.nbytes // 64) * 64
        return {**known, "k": k, "complete": complete == 1, "took_ms": took, "saving": saving}, found
