"""What an index was changed to since it was built or opened, so that it can be built again."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from thresher import _ids
from thresher._worker import Worker

__all__ = ["Changes", "joined", "places"]

Rows = npt.NDArray[np.int64]


class Changes:
    """The vectors written, and which are left, since an index of so many was built or opened.

    A vector has a number, which it keeps: its row in what was built, or the next one. Rows of the index are in
    the order of the numbers.
    """

    def __init__(self, count: int) -> None:
        self._count = count  # of what was built
        self._numbers: Rows = np.arange(count)  # of the rows
        self._next = count
        self._written: dict[int, npt.NDArray[Any]] = {}  # the last of each number that is left
        self.rounding: dict[str, Any] = {}  # field of the call that writes them again
        self._known: dict[Any, int] | None = None  # the numbers of ids

    def rows_of(self, ids: npt.NDArray[Any] | None, wanted: npt.NDArray[Any]) -> Rows:
        """Return the rows of wanted ids, -1 of those that are not there; ids are those of all rows, if any."""
        if ids is None:
            return np.where(wanted < len(self._numbers), wanted, -1).astype(np.int64)
        if self._known is None:
            self._known = dict(zip(ids.tolist(), self._numbers.tolist(), strict=True))
        numbers = np.array([self._known.get(i, -1) for i in wanted.tolist()], np.int64)
        return np.where(numbers < 0, -1, np.searchsorted(self._numbers, numbers))

    def write(
        self,
        rows: Rows,
        vectors: npt.NDArray[Any],
        added: npt.NDArray[Any] | None,
        rounding: dict[str, Any],
    ) -> None:
        """Note vectors that were written to rows, of which those that were added continue the others."""
        more = len(rows) - int(np.count_nonzero(rows < len(self._numbers)))
        if more:
            numbers = np.arange(self._next, self._next + more)
            self._numbers, self._next = np.concatenate([self._numbers, numbers]), self._next + more
            if self._known is not None and added is not None:
                self._known.update(zip(added.tolist(), numbers.tolist(), strict=True))
        for number, vector in zip(self._numbers[rows].tolist(), vectors, strict=True):
            self._written[number] = vector.copy()
        self.rounding = rounding

    def remove(self, rows: Rows, ids: npt.NDArray[Any] | None) -> None:
        """Note that rows, which had these ids, were removed."""
        for number in self._numbers[rows].tolist():
            self._written.pop(number, None)
        self._numbers = np.delete(self._numbers, rows)
        if self._known is not None and ids is not None:
            for i in ids.tolist():
                del self._known[i]

    def replay(self, worker: Worker, handle: int) -> dict[str, Any] | None:
        """Change what was built again, and return its description; None if there is nothing to change."""
        info = None
        numbers = sorted(self._written)
        if numbers:
            rows = np.array(numbers, np.int64)
            new = rows >= self._count
            rows[new] = self._count + np.arange(np.count_nonzero(new))
            vectors = np.stack([self._written[i] for i in numbers])
            fields = {"handle": handle, **self.rounding}
            info, _ = worker.call("upsert", fields, {"vectors": vectors, "rows": rows})
        gone = np.setdiff1d(np.arange(self._count), self._numbers)
        if len(gone):
            info, _ = worker.call("delete", {"handle": handle}, {"rows": gone})
        return info


def places(rows: Rows, wanted: npt.NDArray[Any], ids: npt.NDArray[Any] | None, count: int) -> tuple[Rows, Rows]:
    """Return the order in which vectors are written, and their rows, of which those that are added come last.

    rows are those of wanted ids among count vectors, -1 for new ones. Of vectors without ids, these continue the
    row numbers.
    """
    known, new = np.flatnonzero(rows >= 0), np.flatnonzero(rows < 0)
    added = np.arange(count, count + len(new))
    if ids is None:
        new = new[np.argsort(wanted[new])]
        wrong = wanted[new] != added
        if wrong.any():
            at = int(new[np.argmax(wrong)])
            raise ValueError(
                f"ids: row {at}: {wanted[at].item()}; the vectors have no ids but their row numbers, 0 to {count - 1}, "
                "and those that are added continue them"
            )
    return np.concatenate([known, new]), np.concatenate([rows[known], added])


def joined(ids: npt.NDArray[Any] | None, added: npt.NDArray[Any]) -> npt.NDArray[Any] | None:
    """Return the ids of the rows and of those that are added."""
    if ids is None or len(added) == 0:
        return ids
    return _ids.joined_ids([ids, added])
