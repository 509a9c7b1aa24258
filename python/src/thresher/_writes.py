"""Changes of vectors: what is added, replaced and removed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from thresher import _arrays, _changes, _ids, _kept, _narrow, _worker
from thresher._arrays import Vectors
from thresher._collection import rounding
from thresher._progress import Progress
from thresher._selection import Selection

__all__ = ["Writes"]


class Writes(Selection):
    """What `add`, `upsert` and `remove` of an index do."""

    def _add(
        self, vectors: Vectors, ids: npt.ArrayLike | None, columns: _kept.Table | None, progress: Progress
    ) -> None:
        """Add vectors behind the others, in a new build of all unless the vectors were written to before."""
        given = _arrays.given(
            vectors,
            "vectors",
            self.dim or None,
            columns=self._columns,
            origin=self._origin,
            keep=True,
            float64=self.dtype == "float64",
        )
        more, rounded = given.rows, rounding(given, self._rounded)
        if not (fine := _narrow.finite(more)).all():
            row = int(np.argmin(fine))
            raise _worker.BadInput(f"vectors: row {row}: a value that is not finite", "vectors", row)
        more = _narrow.fitted(more, self.dtype, "vectors")
        if (ids is None) != (self._ids is None):
            raise ValueError(
                "ids: the index has ids, so new vectors need them"
                if ids is None
                else "ids: the vectors of the index have none"
            )
        if columns is not None and self._kept is None and not self.columns:
            raise ValueError("columns: the vectors of the index have none")
        joined, own = None, None
        if self._ids is not None:
            own = _ids.as_ids(ids)
            if len(self) == 0:
                self._ids = own[:0]  # of the kind that the first ones have
            if own.shape != (len(more),):
                raise ValueError(f"ids: shape {own.shape}, expected ({len(more)},), one for each new vector")
            if own.size and (own.dtype.kind == "U") != (self._ids.dtype.kind == "U"):
                raise TypeError(f"ids: values are {own.dtype}, those of the index {self._ids.dtype}")
            joined = self._ids
            if own.size:
                joined = _ids.checked_ids(_ids.joined_ids([self._ids, own]), len(self) + len(more))
        if len(more) == 0:
            return
        if self._history is not None:
            self._write(np.arange(len(self), len(self) + len(more)), more, own, given)
            return
        if self._rows is None:
            arrays: dict[str, npt.NDArray[Any]] = {"vectors": more}
            if (own_columns := _kept.keep(columns, len(more))) is not None:
                arrays["columns"] = own_columns
            self._change("add", arrays, joined, progress, rounded)
            return
        described = _kept.grown(self._kept, None, columns, len(more))
        rows = _worker.empty((len(self) + len(more), more.shape[1]), more.dtype)
        if len(self) > 0:
            rows[: len(self)] = self._rows
        rows[len(self) :] = more
        self._replace(rows, joined, described, progress, rounded)

    def _upsert(self, ids: npt.ArrayLike, vectors: Vectors) -> int:
        """Write vectors under their ids, and return how many were there."""
        given = _arrays.given(
            vectors,
            "vectors",
            self.dim or None,
            columns=self._columns,
            origin=self._origin,
            float64=self.dtype == "float64",
        )
        if self.dtype == "float64":  # of which all values are
            given = given._replace(rows=_narrow.fitted(given.rows, "float64", "vectors"))
        own = _ids.checked_ids(ids, len(given.rows))
        if own is None:
            raise TypeError("ids: None; each vector needs one")
        if not (fine := np.isfinite(given.rows).all(axis=1)).all():
            row = int(np.argmin(fine))
            raise _worker.BadInput(
                f"vectors: row {row}, id {own[row].item()!r}: a value that is not finite", "vectors", row
            )
        if self._closed:
            raise ValueError("index: closed")
        if self._rebuilt():
            raise ValueError("index: it has columns, which `add` and `remove` write and `upsert` does not")
        if len(own) == 0:
            return 0
        kind = "i" if self._ids is None else self._ids.dtype.kind
        if len(self) > 0 and (own.dtype.kind == "U") != (kind == "U"):
            theirs = "row numbers" if self._ids is None else self._ids.dtype
            raise TypeError(f"ids: values are {own.dtype}, those of the index {theirs}")
        changes = self._history or _changes.Changes(len(self))
        rows = changes.rows_of(self._ids, own)
        order, rows = _changes.places(rows, own, self._ids, len(self))
        if len(self) == 0:
            first = _worker.empty(given.rows.shape, given.rows.dtype)
            first[:] = given.rows[order]
            self._replace(first, None if self._ids is None else own, None, None, rounding(given))
            return 0
        replaced = int(np.count_nonzero(rows < len(self)))
        self._history = changes
        self._write(rows, given.rows[order], None if self._ids is None else own[order[replaced:]], given)
        return replaced

    def _remove(self, ids: npt.ArrayLike, progress: Progress) -> None:
        """Remove the vectors of ids, all of which are there."""
        gone = np.unique(self._rows_of(ids if np.ndim(ids) else [ids], "ids"))
        if len(gone) == 0:
            return
        if len(gone) == len(self):
            raise ValueError(f"ids: all {len(self)} vectors; an index has at least one")
        if self._rebuilt() or (self._history is None and self.dtype not in ("float32", "float64")):
            keep = np.ones(len(self), bool)
            keep[gone] = False
            kept = None if self._ids is None else self._ids[keep]
            if self._rows is None:
                self._change("remove", {"rows": gone}, kept, progress, self._rounded)
                return
            rows = _worker.empty((len(self) - len(gone), self.dim), self._rows.dtype)
            np.compress(keep, self._rows, axis=0, out=rows)
            self._replace(rows, kept, _kept.grown(self._kept, np.flatnonzero(keep), None, 0), progress, self._rounded)
            return
        info, _ = self._call("delete", {}, {"rows": gone}, progress=progress)
        if self._history is None:
            self._history = _changes.Changes(len(self))
        self._history.remove(gone, None if self._ids is None else self._ids[gone])
        if self._ids is not None:
            self._ids = np.delete(self._ids, gone)
        self._changed(info)

    def _rebuilt(self) -> bool:
        """Return whether a change builds the index anew: an upsert has no columns for segments."""
        return bool(self.columns)

    def _write(
        self,
        rows: npt.NDArray[np.int64],
        vectors: npt.NDArray[Any],
        added: npt.NDArray[Any] | None,
        given: _narrow.Given,
    ) -> None:
        """Write vectors to rows; those that are added, with ids if the index has any, come last."""
        assert self._history is not None
        arrays: dict[str, npt.NDArray[Any]] = {"vectors": np.ascontiguousarray(vectors), "rows": rows}
        info, _ = self._call("upsert", rounding(given), arrays)
        self._history.write(rows, vectors, added, rounding(given, self._history.rounding))
        if added is not None:
            self._ids = _changes.joined(self._ids, added)
        self._changed(info)

    def _changed(self, info: dict[str, Any]) -> None:
        """Take over the description of the vectors after a change."""
        self._info, self._sorter, self._shard, self._single = info, None, None, None

    def _replace(
        self,
        rows: npt.NDArray[Any],
        ids: npt.NDArray[Any] | None,
        columns: _kept.Kept,
        progress: Progress,
        rounded: dict[str, Any],
    ) -> None:
        """Build from other rows; the index is as it was if that fails."""
        before, finalizer = (self._rows, self._ids, self._kept, self._rounded), self._finalizer
        self._rows, self._ids, self._kept, self._rounded = rows, ids, columns, rounded
        try:
            self._begin(progress)
        except BaseException:
            self._rows, self._ids, self._kept, self._rounded = before
            raise
        finalizer()

    def _change(
        self,
        op: str,
        arrays: dict[str, npt.NDArray[Any]],
        ids: npt.NDArray[Any] | None,
        progress: Progress,
        rounded: dict[str, Any],
    ) -> None:
        """Let the worker, which alone has the rows of a file, build from them."""
        info, _ = self._call(op, rounded, arrays, progress=progress)
        self._finalizer()
        self._path, self._ids = None, ids
        self._adopt(self._worker, info)
