"""Vectors that are added to, in memory that the process which searches maps, too."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from thresher import _worker

__all__ = ["Rows"]

# From how many bytes on rows lie in shared memory, whose pages take longer to get than those of other memory. Fewer
# are mostly searched in this process, or copied to the worker.
_SHARED = 1 << 24


class Rows:
    """Rows of float32, (n, d), that are appended to. What was written once is not written again.

    Room for more is taken half as much as there is at a time; pages of it that were not written take no memory.
    """

    def __init__(self, dim: int) -> None:
        self._room: npt.NDArray[np.float32] = np.empty((0, dim), np.float32)
        self._count = 0
        self._owner = os.getpid()

    def __len__(self) -> int:
        return self._count

    @property
    def array(self) -> npt.NDArray[np.float32]:
        """The rows, a view that later additions leave as it is."""
        return self._room[: self._count]

    @property
    def room(self) -> npt.NDArray[np.float32]:
        """The array whose first rows these are, another one when there was no room left."""
        return self._room

    def add(self, rows: npt.NDArray[Any]) -> None:
        """Append rows (a, d) of numbers, rounded to float32."""
        count = self._count + len(rows)
        np.copyto(self._place(len(rows)), rows, casting="unsafe")
        self._count = count

    def place(self, count: int) -> npt.NDArray[np.float32]:
        """Append rows, which the caller writes."""
        place = self._place(count)
        self._count += count
        return place

    def _place(self, more: int) -> npt.NDArray[np.float32]:
        count = self._count + more
        # A process forked from the one that took the room shares it, and would write over that one's additions.
        if more and (count > len(self._room) or self._owner != os.getpid()):
            wanted = max(count, self._count + self._count // 2)
            room = _new((wanted, self._room.shape[1]))
            room[: self._count] = self.array
            self._room, self._owner = room, os.getpid()
        return self._room[self._count : count]

    def keep(self, kept: npt.NDArray[np.bool_]) -> Rows:
        """Return the rows of a mask (n,), in memory of their own."""
        left = Rows(self._room.shape[1])
        np.compress(kept, self.array, axis=0, out=left.place(int(np.count_nonzero(kept))))
        return left


def _new(shape: tuple[int, int]) -> npt.NDArray[np.float32]:
    if 4 * shape[0] * shape[1] < _SHARED:
        return np.empty(shape, np.float32)
    return _worker.empty(shape, np.float32)
