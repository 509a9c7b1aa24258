"""Vectors as the worker of this process has them: how they get there, again if need be, and what it says of them."""

from __future__ import annotations

import logging
import os
import threading
import time
import weakref
from typing import Any

import numpy as np
import numpy.typing as npt

from thresher import _arrays, _changes, _columns, _devices, _ids, _kept, _narrow, _worker
from thresher._arguments import Deadline, explained, in_callers_words, renamed, seconds
from thresher._arrays import Vectors
from thresher._coverage import Shard
from thresher._progress import Progress, reporting
from thresher._single import Single

__all__ = ["Collection", "rounding", "shared_rows"]

log = logging.getLogger("thresher")


_forked = threading.Lock()  # while an index gets the lock of this process


def _after_fork() -> None:
    global _forked
    _forked = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Collection:
    """Vectors in the worker of this process, and what it takes to build or open them there again."""

    _settings: dict[str, Any]  # fields of a build or an opening
    _path: str | None
    _closed = False
    _history: _changes.Changes | None = None  # since the vectors were built or opened
    _lock: tuple[int, threading.Lock] = (0, threading.Lock())
    _rows: npt.NDArray[Any] | None  # relative to the origin
    _origin: _narrow.Origin
    _rounded: dict[str, Any]  # fields of a build
    _columns: _columns.Names
    _ids: npt.NDArray[Any] | None
    _kept: _kept.Kept = None  # of an index whose rows this process has

    def _begin(self, progress: Progress = None, deadline: Deadline = None) -> None:
        """Build or open the collection; once more, in a new worker, if the worker died of it."""
        limit = seconds(deadline)
        until = None if limit is None else time.monotonic() + limit
        try:
            self._start(progress, deadline)
        except _worker.WorkerDied as e:
            log.warning("building is repeated, because the worker died: %s", e)
            self._start(progress, None if until is None else max(until - time.monotonic(), 1e-9))

    def _start(self, progress: Progress = None, deadline: Deadline = None) -> None:
        """Build or open the collection in the worker of this process."""
        worker = _worker.get()
        if self._rows is not None and len(self._rows) == 0:
            self._adopt(worker, self._nothing())
            return
        with reporting(progress) as report, renamed(handle="vectors"), explained():
            if self._path is not None:
                info, arrays = worker.call(
                    "open", {"path": self._path, **self._settings}, progress=report, deadline=seconds(deadline)
                )
                self._origin = arrays.get("origin")
                if info["handle"] == 0:  # there are no rows, and it is not known how many values one would have
                    self._path, self._rows = None, np.empty((0, 0), np.float32)
                    kept = ("metric", "basis", "seed", "device", "threads")
                    self._settings = {name: value for name, value in self._settings.items() if name in kept}
                if self._history is not None:
                    pass  # which have changed the ids, too
                elif "ids" in arrays:
                    self._ids = _ids.checked_ids(arrays["ids"], info["n"])
                elif "id_text" in arrays:
                    self._ids = _ids.split_texts(arrays["id_text"], arrays["id_ends"])
            else:
                assert self._rows is not None
                built: dict[str, Any] = {"vectors": self._rows}
                if self._origin is not None:
                    built["origin"] = self._origin
                if self._kept is not None:
                    built["columns"] = self._kept
                info, _ = worker.call(
                    "build", {**self._settings, **self._rounded}, built, progress=report, deadline=seconds(deadline)
                )
        self._adopt(worker, info)
        if self._history is not None and (now := self._history.replay(worker, info["handle"])) is not None:
            self._info = now

    def _nothing(self) -> dict[str, Any]:
        """Return the description of a collection of no vectors, which no worker has."""
        assert self._rows is not None
        s = {"basis": "rotated", "seed": 1, **self._settings}
        info = {"handle": 0, "n": 0, "dim": self._rows.shape[1], "bytes": 0, "device": "cpu", "seconds": 0.0}
        info["dtype"] = _narrow.name_of(self._rows.dtype)
        return {**info, **{name: s[name] for name in ("metric", "basis", "seed")}}

    def _adopt(self, worker: _worker.Worker, info: dict[str, Any]) -> None:
        self._worker, self._info = worker, info
        self._rounded = {"rounded": info["rounded"]} if info.get("rounded") else {}
        self._sorter: npt.NDArray[np.int64] | None = None
        self._shard: Shard | None = None  # the vectors as answers state them, since the first search
        self._single: Single | None = None  # and what single queries are compared with here
        free = (worker.release, info["handle"]) if info["handle"] else (int,)  # of no vectors there is nothing to free
        self._finalizer = weakref.finalize(self, *free)
        self._finalizer.atexit = False
        _devices.warn_unused(worker, info.get("gpu_unused", ()))
        log.debug(
            "%s of %d x %d, %s, on %s",
            "built" if self._path is None else "opened",
            info["n"],
            info["dim"],
            info["metric"],
            info["device"],
        )

    def _live(self) -> tuple[_worker.Worker, int]:
        """Return the worker and the handle, of a new build where the process was forked or the worker died."""
        if self._closed:
            raise ValueError("index: closed")
        worker = _worker.get()
        if worker is not self._worker:
            with self._renewing():
                if worker is not self._worker:
                    if not self._renewable():
                        raise _worker.HandleLost("the worker that held this index is gone, and its vectors with it")
                    log.info("building the index again: this process has another worker")
                    self._finalizer.detach()
                    self._start()
                worker = self._worker
        return worker, self._info["handle"]

    def _renewing(self) -> threading.Lock:
        """Return the lock of this process, in which one thread builds the index again."""
        pid, lock = self._lock
        if pid != os.getpid():
            with _forked:
                pid, lock = self._lock
                if pid != os.getpid():
                    lock = threading.Lock()
                    self._lock = os.getpid(), lock
        return lock

    def _call(
        self,
        op: str,
        fields: dict[str, Any],
        arrays: dict[str, npt.NDArray[Any]] | None = None,
        *,
        progress: Progress = None,
        deadline: Deadline = None,
        names: dict[str, str] | None = None,
        again: dict[str, Any] | None = None,
    ) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Perform an operation on the collection; once more, in a new build, if the worker died of it.

        again has fields of the second time.
        """
        limit = seconds(deadline)
        until = None if limit is None else time.monotonic() + limit

        def perform(fields: dict[str, Any]) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
            worker, handle = self._live()
            if handle == 0:
                raise ValueError("vectors: no rows; at least one is needed")
            left = None if until is None else max(until - time.monotonic(), 1e-9)  # a late search has a bound
            given = {"handle": handle, **fields}
            try:
                if progress is None:
                    return worker.call(op, given, arrays, deadline=left)
                with reporting(progress) as report:
                    return worker.call(op, given, arrays, progress=report, deadline=left)
            except _worker.BadInput as e:
                raise in_callers_words(e, names or {}) from None

        try:
            return perform(fields)
        except _worker.WorkerDied as e:
            if not self._renewable():
                raise
            log.warning("%s is repeated, because the worker died: %s", op, e)
            return perform({**fields, **(again or {})})

    def _renewable(self) -> bool:
        """Whether the index can be built again."""
        return self._rows is not None or self._path is not None

    # Properties

    def __len__(self) -> int:
        return int(self._info["n"])

    def __repr__(self) -> str:
        state = ", closed" if self._closed else ""
        return f"<thresher.Index {len(self)} x {self.dim}, {self.metric}, on {self._info['device']}{state}>"

    @property
    def dim(self) -> int:
        """How many values a vector has; 0 of an opened file without vectors."""
        return int(self._info["dim"])

    @property
    def metric(self) -> str:
        """``ip``, ``cosine`` or ``l2``."""
        return str(self._info["metric"])

    @property
    def dtype(self) -> str:
        """The type in which vectors are kept.

        float16, bfloat16, int8 or uint8 if they were given so, float64 if that was asked for, else float32.
        """
        return str(self._info.get("dtype", "float32"))

    @property
    def vector_columns(self) -> str:
        """Which columns of the file that `open` read made the vectors, as ``d0..d15``; empty without names."""
        return str(self._info.get("vector_columns", ""))

    @property
    def columns(self) -> dict[str, str]:
        """The columns by which filters select, with their types."""
        return _kept.fields_of(self._info)

    @property
    def ids(self) -> npt.NDArray[Any]:
        """The ids of the vectors (n,); row numbers if none were given."""
        return np.arange(len(self)) if self._ids is None else self._ids

    @property
    def info(self) -> dict[str, Any]:
        """Size, settings, bytes of memory, device, and the seconds that building took.

        ``rounded``, where it is there, says how many values of the vectors float32 does not hold, and the
        largest change of one: what certificates promise is true of the rounded ones.
        """
        return {key: value for key, value in self._info.items() if key != "handle"}


def rounding(given: _narrow.Given, before: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the field of a build that says what rounding changed, of rows and of those before them."""
    old = (before or {}).get("rounded") or {"values": 0, "largest": 0.0}
    values = given.values + old["values"]
    return {"rounded": {"values": values, "largest": max(given.largest, old["largest"])}} if values else {}


def shared_rows(value: Vectors, name: str, *, centre: bool = False, float64: bool = False) -> _narrow.Given:
    """Return vectors where the worker can read them: copied once into shared memory, unless they are there."""
    given = _arrays.given(value, name, centre=centre, keep=True, float64=float64, allocate=_worker.empty)
    rows = given.rows
    if len(rows) > 0 and not _worker.shared(rows):
        copy = _worker.empty(rows.shape, rows.dtype)
        np.copyto(copy, rows)
        return given._replace(rows=copy)
    return given
