"""Memory that one scan leaves to the next: fresh pages take longer than what is computed in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Scratch"]

# Memory that no scan uses, at most so many times the bytes of one. A list's append and pop are atomic.
_SPARE: list[npt.NDArray[np.uint8]] = []
_MOST = 2


class Scratch:
    """Arrays in memory that is taken again once this is left; no array of it may then be used any more.

    Parameters
    ----------
    size : int
        The bytes of all arrays together, 0 for none. What is beyond them is allocated.
    """

    def __init__(self, size: int) -> None:
        self.size, self._used = size, 0

    def __enter__(self) -> Scratch:
        if self.size > 0:
            try:
                self._memory = _SPARE.pop()
            except IndexError:
                self._memory = np.empty(self.size, np.uint8)
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        if self.size > 0 and kind is None and len(_SPARE) < _MOST:  # after an error, a thread may still use it
            _SPARE.append(self._memory)

    def array(self, shape: tuple[int, ...], dtype: Any) -> npt.NDArray[Any]:
        """Return an array whose values are arbitrary."""
        if self.size == 0:
            return np.empty(shape, dtype)
        kind = np.dtype(dtype)
        size = kind.itemsize
        for length in shape:
            size *= length
        begin = -(-self._used // 64) * 64
        if begin + size > len(self._memory):
            return np.empty(shape, kind)
        self._used = begin + size
        found: npt.NDArray[Any] = self._memory[begin : self._used].view(kind).reshape(shape)
        return found
