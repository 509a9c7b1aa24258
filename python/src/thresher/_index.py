"""Collections of vectors, and searches of them."""

from __future__ import annotations

import json
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from thresher import _arrays, _capacity, _changes, _columns, _devices, _fetch, _forms, _ids, _kept, _narrow, _worker
from thresher._arguments import (
    Deadline,
    Device,
    DType,
    Filter,
    Method,
    Metric,
    Published,
    dtype_name,
    explained,
    file_name,
    flag,
    in_callers_words,
    metric_name,
    number,
    probability,
    published_options,
    renamed,
    seconds,
    text,
    vector_files,
    whole,
)
from thresher._arrays import Lists, Vectors
from thresher._awaiting import Request, answered, awaited
from thresher._coverage import Queries, Shard, sampled
from thresher._limits import Limits, limits, reach
from thresher._progress import Progress, reporting
from thresher._pursuit import Pursuit, pursuit_of
from thresher._range_result import RangeResult
from thresher._result import Result

__all__ = ["Index"]

log = logging.getLogger("thresher")

R = TypeVar("R")

_forked = threading.Lock()  # while an index gets the lock of this process


def _after_fork() -> None:
    global _forked
    _forked = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


class Index:
    """Vectors that are prepared once, to be searched often.

    There is nothing to train or tune: building rotates and rounds the vectors, which takes about
    as long as reading them a few times. Searches read the rounded coordinates first and score
    exactly what they do not rule out.

    Parameters
    ----------
    vectors : array (n, d)
        What can be found. Among no rows, such as an empty part of a data set, searches find nothing.
        float32, float16, bfloat16 (of torch or ml_dtypes), int8 and uint8 are kept in their type, in
        which they take a half or a quarter of the memory, and in C order are copied once, into memory
        shared with the process that searches; not at all if it came from `thresher.empty` or from
        ``numpy.load(.., mmap_mode="r")``, and must then not be changed while the index lives.
        float64 is rounded to float32, for ``l2`` relative to a point near the vectors, so that a
        common offset costs nothing; certificates say by how much a value was changed, which is what
        ``exact`` then is exact for. Integers that float32 does not hold are refused. Tensors of torch on
        the CPU and columns of pandas, polars and pyarrow with a row each are accepted. Of data frames
        the names of the columns are kept, and frames of queries are taken by them.
    ids : sequence (n,), optional
        Integers from 0 on or strings, all different, which answers have in place of row numbers.
        Integers are int64 while all fit, else uint64; floats and negative numbers are refused.
    columns : mapping or table, optional
        Columns by which filters select: a mapping of names to sequences with a value for each vector, or
        a table of pandas, polars or pyarrow. Values are int, float, str, bool, datetime, date, lists of
        str, or None; NaN is a missing value. They are kept by `save`. docs/filters.md.
    metric : {"ip", "cosine", "l2"}
        Required: the largest inner product, the largest cosine, or the smallest squared Euclidean
        distance. The names that libraries and databases have for them are taken in any case
        (``inner_product``, ``dot``, ``COSINE``, ``euclidean``, ..), and the constants of FAISS.
    dtype : {"float32", "float64"}
        How float64 is kept: rounded, or as it is given. As it is, nothing is rounded in answers: scores are sums in
        float64 of the values given, at any offset; vectors take 8 bytes a value and are searched on the CPU. float32 is
        then kept in float64, too; narrower types are kept as they are either way.
    basis : {"auto", "rotated", "raw"}
        ``raw`` is for method ``strict`` and the published methods.
    seed : int, optional
        Of the random rotation. The default is public, so that searches repeat; where users may
        look for queries that fail, pass a secret one, or search by ``certain``.
    device : {"auto", "cpu", "cuda"}
        Where to search. ``auto`` is a GPU if there is one that can be used and is expected to answer sooner.
        If there is one that cannot be used, a `DeviceUnused` warns of it, once.
    threads : int, optional
        How many threads of the CPU build and search, at most those that the process may use. Without
        it as many as ``THRESHER_THREADS`` or else ``OMP_NUM_THREADS`` says, which Ray, Spark and Dask set
        for the processes that they start, at the time of the first call; otherwise all that the process
        may use by its affinity and its control groups.
    progress, deadline
        As in `search`; they hold for the build.

    Raises
    ------
    ValueError
        If an argument is wrong (`BadInput`): the message names it, and the row.
    DeviceMissing
        If there is no such device; the message says why.
    DeadlineExceeded
        If the build took longer than the deadline.

    Notes
    -----
    An index can be searched by several threads at once, and their searches share work; not while
    it is changed (`add`, `upsert`, `remove`) or closed. In a process forked from this one, and in one that
    it was pickled to, it is built again at its first use.

    Examples
    --------
    >>> import numpy as np, thresher
    >>> vectors = np.eye(4, dtype=np.float32)
    >>> with thresher.Index(vectors, ids=["a", "b", "c", "d"], metric="ip") as index:
    ...     scores, ids = index.search([0.1, 0.2, 0.9, 0.3], k=2)
    >>> ids.tolist()
    [['c', 'd']]
    """

    def __init__(
        self,
        vectors: Vectors,
        ids: npt.ArrayLike | None = None,
        *,
        columns: _kept.Table | None = None,
        metric: Metric | None = None,
        dtype: DType = "float32",
        basis: str = "auto",
        seed: int | None = None,
        device: Device = "auto",
        threads: int | None = None,
        progress: Progress = None,
        deadline: Deadline = None,
        _once: dict[str, Any] | None = None,  # of an index that is searched once: queries, k and method
    ) -> None:
        self._settings: dict[str, Any] = {"metric": metric_name(metric), "device": text(device, "device")}
        if text(basis, "basis") != "auto":
            self._settings["basis"] = basis
        if seed is not None:
            self._settings["seed"] = whole(seed, "seed", 0)
        if threads is not None:
            self._settings["threads"] = whole(threads, "threads")
        if _once is not None:
            self._settings["once"] = _once
        self._path: str | None = None
        self._columns = _columns.names_of(vectors, "vectors")
        kept = dtype_name(dtype) == "float64"
        given = shared_rows(vectors, "vectors", centre=self._settings["metric"] == "l2", float64=kept)
        self._rows, self._origin, self._rounded = given.rows, given.origin, _rounding(given)
        self._ids = _ids.checked_ids(ids, len(given.rows))
        self._kept = _kept.keep(columns, len(given.rows))
        self._begin(progress, deadline)

    # What follows a build, an opening, or a change of the vectors.

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

    # Searches

    def search(
        self,
        queries: Vectors,
        k: npt.ArrayLike = 10,
        *,
        method: Method = "auto",
        delta: float = 0.01,
        epsilon: float = 0.0,
        exclude: Lists | None = None,
        min_score: npt.ArrayLike | None = None,
        max_score: npt.ArrayLike | None = None,
        max_distance: npt.ArrayLike | None = None,
        min_distance: npt.ArrayLike | None = None,
        candidates: Lists | None = None,
        filter: Filter | None = None,
        exclude_self: bool = False,
        query_ids: npt.ArrayLike | None = None,
        published: Published | None = None,
        plan: str | None = None,
        threads: int | None = None,
        progress: Progress = None,
        deadline: Deadline = None,
        below: npt.ArrayLike | None = None,
        floor: npt.ArrayLike | None = None,
    ) -> Result:
        """Return the k best vectors of each query.

        Parameters
        ----------
        queries : array (m, d) or (d,)
            One row is a list of one query. Converted as the vectors of the index are. NaN and
            infinite values are refused.
        k : int or sequence of int (m,)
            How many are wanted, of all or of each query. Of k > n there are only n answers, and the
            columns beyond them are padding: -1 and NaN.
        method : str
            ``auto`` takes what is fastest; ``certain`` and ``exact`` are never wrong. The
            certificates say what was promised.
        delta : float
            Allowed probability that a query's answer is wrong, in (0, 1), for methods that may fail.
        epsilon : float
            Allowed gap, in units of scores.
        exclude : CSR matrix (m, n) or lists, optional
            What each query may not return: a sparse matrix of scipy whose columns are row numbers
            of vectors (without stored zeros), a pair (indptr, indices) of arrays, a bool array
            (m, n), an integer array (m, w) padded with -1, or a list of ids for each query.
        min_score, max_score : float or sequence (m,), optional
            The least and the greatest score that is wanted, of all or each query; NaN stands for none. They
            are float64 and compared so: a score that a result shows, of ``scores`` or ``scores64``, given
            back, lets its vector through. The greatest is for hard negatives, and to skip duplicates.
        max_distance, min_distance : float or sequence (m,), optional
            For ``l2``, in place of these: the greatest and the least squared distance.
        candidates : array (m, w), CSR matrix or lists, optional
            Probable answers, from an index or an earlier search, as in `exclude`. They save work and
            change no answer.
        filter : str, dict, bool array (n,) or sequence of ids, or a list of these, optional
            The only vectors that may be returned: those for which an expression over the
            columns is true, such as ``"year >= 1999 and lang in ('go', 'rust')"``, or a filter in Qdrant's
            form (docs/filters.md); those of a mask, such as a Series of bool; or those of ids. As many
            integers as there are vectors, all 0 or 1, can be mask or ids and are refused. Or a filter
            for each query: a list of m of these, None for all vectors, or a bool array (m, n). Queries
            with equal filters are searched together. Of an index whose ids are texts, a list of texts
            is ids, unless it has one for each query and none of them is an id.
        exclude_self : bool
            That query j is row j of the vectors and does not find itself. Other queries are refused:
            what they may not return is named by `exclude`.
        query_ids : sequence (m,), optional
            Integers from 0 on or strings, which the result has beside its answers.
        published : dict, optional
            Options of a published method: ``{"sigma": 1}``, or ``"range"`` (the default), ``"data"``,
            ``"bernstein"``; ``beta`` of banditmips-beta; ``sampling``, ``"with_replacement"`` or
            ``"without_replacement"``; ``bins`` of bucket-ae, vectors a bin; ``union`` of boundedme,
            ``"published"`` or ``"corrected"``; ``warm`` of banditmips, coordinates that are read once for
            all queries. One that the method does not have is refused. docs/guarantee.md says what is
            then guaranteed: with a sigma, for instance, what is promised rests on its being true.
        plan : str, optional
            The looks to take in place of the planner's choice; docs/planning.md.
        threads : int, optional
            How many threads of the CPU search; those of the index, if not given. The answers are the same.
        progress : bool or callable, optional
            True for a bar of tqdm if that is installed, else lines on stderr; or a function of (step, done, total).
        deadline : float or timedelta, optional
            Seconds after which the answers are the best so far. ``Result.complete`` is then False for
            those that were stopped, their guarantee is ``bound``, and certificates say what is open.
        below, floor
            Old names of ``max_score`` and ``min_score``, or ``min_distance`` and ``max_distance``.

        Returns
        -------
        Result
            ``scores, ids = index.search(queries, k)`` unpacks it.

        Raises
        ------
        ValueError
            If an argument is wrong (`BadInput`); the message names it.
        MemoryError
            If the answers take more memory than is free, columns beyond n included.
        """
        asked = self._to_search(
            queries,
            k,
            method=method,
            delta=delta,
            epsilon=epsilon,
            exclude=exclude,
            min_score=min_score,
            max_score=max_score,
            max_distance=max_distance,
            min_distance=min_distance,
            candidates=candidates,
            filter=filter,
            exclude_self=exclude_self,
            query_ids=query_ids,
            published=published,
            plan=plan,
            threads=threads,
            below=below,
            floor=floor,
        )
        return self._answered(asked, progress, deadline)

    @awaited(search)
    async def asearch(self, *given: Any, **options: Any) -> Result:
        """Return the k best vectors of each query, as `search` does, to a task of asyncio.

        Parameters and result are those of `search`. Many can be awaited at once, and share work as searches of
        several threads do; no thread waits with them. A task that is cancelled, by ``asyncio.timeout`` for instance,
        cancels its search in the process that searches. progress is called by the event loop.

        Examples
        --------
        >>> import asyncio, numpy as np, thresher
        >>> async def both(index):
        ...     return await asyncio.gather(index.asearch([1, 0, 0], 1), index.asearch([0, 0, 1], 1))
        >>> with thresher.Index(np.eye(3), metric="ip") as index:
        ...     [result.ids.item() for result in asyncio.run(both(index))]
        [0, 2]
        """
        return await answered(self, self._to_search, *given, **options)

    def _to_search(
        self,
        queries: Vectors,
        k: npt.ArrayLike = 10,
        *,
        method: Method = "auto",
        delta: float = 0.01,
        epsilon: float = 0.0,
        exclude: Lists | None = None,
        min_score: npt.ArrayLike | None = None,
        max_score: npt.ArrayLike | None = None,
        max_distance: npt.ArrayLike | None = None,
        min_distance: npt.ArrayLike | None = None,
        candidates: Lists | None = None,
        filter: Filter | None = None,
        exclude_self: bool = False,
        query_ids: npt.ArrayLike | None = None,
        published: Published | None = None,
        plan: str | None = None,
        threads: int | None = None,
        below: npt.ArrayLike | None = None,
        floor: npt.ArrayLike | None = None,
    ) -> Request[Result] | Result:
        """Return the request of a search, or its result where there is nothing to search."""
        given = self._asked(queries)
        m = len(given.rows)
        wanted = limits(
            self.metric,
            m,
            min_score=min_score,
            max_score=max_score,
            max_distance=max_distance,
            min_distance=min_distance,
            floor=floor,
            below=below,
        )
        fields, arrays = self._request(
            given, method, delta, epsilon, exclude, wanted, candidates, filter, exclude_self, plan, threads
        )
        width = self._add_k(k, m, fields, arrays)
        own = _ids.query_ids(query_ids, m)
        if published is not None:
            fields["published"] = published_options(published)
        if m == 0 or len(self) == 0:
            return self._without_search(given.rows, width, own, self._covers(given, fields, arrays, width))
        if width < 2**63:  # the worker refuses others
            _capacity.check_answers(width, m, len(self), 0 if self._ids is None else self._ids.dtype.itemsize)
        covers = self._covers(given, fields, arrays, width)
        return Request(
            "search", fields, arrays, wanted.names, lambda reply, out: self._result(reply, out, width, own, covers)
        )

    def range_search(
        self,
        queries: Vectors,
        *reached: npt.ArrayLike,
        min_score: npt.ArrayLike | None = None,
        max_distance: npt.ArrayLike | None = None,
        method: Method = "auto",
        delta: float = 0.01,
        exclude: Lists | None = None,
        max_score: npt.ArrayLike | None = None,
        min_distance: npt.ArrayLike | None = None,
        filter: Filter | None = None,
        exclude_self: bool = False,
        query_ids: npt.ArrayLike | None = None,
        limit: int | None = None,
        threads: int | None = None,
        progress: Progress = None,
        deadline: Deadline = None,
        below: npt.ArrayLike | None = None,
        threshold: npt.ArrayLike | None = None,
    ) -> RangeResult:
        """Return all vectors that reach a score, for each query, as ``range_search`` of FAISS does.

        Parameters
        ----------
        queries : array (m, d) or (d,)
            As in `search`.
        min_score, max_distance : float or sequence (m,)
            The least score, or for ``l2`` the greatest squared distance; the one that the metric has can be
            given by position, too. A vector exactly there is returned (FAISS leaves it out). `threshold` is
            the former name of both.
        limit : int, optional
            At most so many of each query, the best.
        method, delta, exclude, max_score, min_distance, filter, exclude_self, query_ids, threads, progress,
        deadline, below
            As in `search`. By a method that may fail, each vector is missed with probability at
            most delta.

        Returns
        -------
        RangeResult
            ``lims, scores, ids = index.range_search(queries, 0.9)`` unpacks it. The answer of
            query j is at ``lims[j]:lims[j+1]``, best first.
        """
        asked = self._to_range_search(
            queries,
            *reached,
            min_score=min_score,
            max_distance=max_distance,
            method=method,
            delta=delta,
            exclude=exclude,
            max_score=max_score,
            min_distance=min_distance,
            filter=filter,
            exclude_self=exclude_self,
            query_ids=query_ids,
            limit=limit,
            threads=threads,
            below=below,
            threshold=threshold,
        )
        return self._answered(asked, progress, deadline)

    @awaited(range_search)
    async def arange_search(self, *given: Any, **options: Any) -> RangeResult:
        """Return all vectors that reach a score, as `range_search` does, to a task of asyncio: see `asearch`."""
        return await answered(self, self._to_range_search, *given, **options)

    def _to_range_search(
        self,
        queries: Vectors,
        *reached: npt.ArrayLike,
        min_score: npt.ArrayLike | None = None,
        max_distance: npt.ArrayLike | None = None,
        method: Method = "auto",
        delta: float = 0.01,
        exclude: Lists | None = None,
        max_score: npt.ArrayLike | None = None,
        min_distance: npt.ArrayLike | None = None,
        filter: Filter | None = None,
        exclude_self: bool = False,
        query_ids: npt.ArrayLike | None = None,
        limit: int | None = None,
        threads: int | None = None,
        below: npt.ArrayLike | None = None,
        threshold: npt.ArrayLike | None = None,
    ) -> Request[RangeResult] | RangeResult:
        """Return the request of a search for all that reach a score, or its result where there is nothing to search."""
        given = self._asked(queries)
        m = len(given.rows)
        wanted = limits(self.metric, m, max_score=max_score, min_distance=min_distance, below=below)
        fields, arrays = self._request(
            given, method, delta, 0.0, exclude, wanted, None, filter, exclude_self, None, threads
        )
        own = _ids.query_ids(query_ids, m)
        limit_of, called = reach(self.metric, min_score, max_distance, threshold, by_position=reached)
        floors = _arrays.column(limit_of, called, m)
        if np.isnan(floors).any():
            raise ValueError(f"{called}: query {int(np.argmax(np.isnan(floors)))} has none (NaN)")
        if limit is not None:
            fields["limit"] = whole(limit, "limit")
        if m == 0 or len(self) == 0:
            arrays["floors"] = floors
            none = self._without_search(given.rows, 0, own, self._covers(given, fields, arrays, 0))
            return RangeResult(
                np.zeros(m + 1, np.int64),
                none.ids.reshape(-1),
                limited=np.zeros(m, bool),
                rows=none.rows.reshape(-1),
                scores64=none.scores64.reshape(-1),
                query_ids=own,
                **none._described(),
            )
        arrays["floors"] = floors
        names = {**wanted.names, "floors": called, "min_score": called}
        covers = self._covers(given, fields, arrays, 0)
        return Request(
            "range",
            fields,
            arrays,
            names,
            lambda reply, out: RangeResult(
                out["lims"],
                self._named(out["rows"]),
                limited=out["limited"],
                rows=out["rows"],
                scores64=out["scores64"],
                query_ids=own,
                **self._described(reply, out["certificates"], covers),
            ),
        )

    def _answered(self, asked: Request[R] | R, progress: Progress, deadline: Deadline) -> R:
        """Return the result of a request, which the worker performs."""
        if not isinstance(asked, Request):
            return asked
        reply, out = self._call(
            asked.op, asked.fields, asked.arrays, progress=progress, deadline=deadline, names=asked.names
        )
        return asked.answer(reply, out)

    def pursuit(
        self,
        signals: Vectors,
        terms: int,
        *,
        method: Method = "certain",
        delta: float = 0.01,
        nonnegative: bool = False,
        published: Published | None = None,
        progress: Progress = None,
        deadline: Deadline = None,
    ) -> Pursuit:
        """Write signals as sums of few vectors, by matching pursuit.

        Each step finds the vector v with the largest |<r, v>|/|v| for the rest r of a signal, and subtracts
        <r, v>/|v|^2 times v. The metric must be ``cosine``: vectors are found by their directions, and may
        have any length but 0.

        Parameters
        ----------
        signals : array (m, d) or (d,)
            Converted as the vectors of the index are. NaN and infinite values are refused.
        terms : int
            The greatest number of terms of a signal. A signal of which nothing is left has fewer; where
            there are more terms than vectors, vectors recur.
        method, delta
            Of the searches. By ``certain``, the default, and ``exact`` every step takes the best vector
            for the rest as float32 holds its direction; by others a signal has a step that does not with
            probability at most delta.
        nonnegative : bool
            That coefficients are positive, as published. Otherwise each step searches for the rest and
            for its opposite.
        published : dict, optional
            Options of a published method, as of `search`.
        progress, deadline
            As in `search`; a pursuit that its deadline ends is an error.

        Returns
        -------
        Pursuit

        Raises
        ------
        ValueError
            If an argument is wrong (`BadInput`); the message names it, and the row.
        DeadlineExceeded
            If the pursuit took longer than the deadline.

        Examples
        --------
        >>> import numpy as np, thresher
        >>> with thresher.Index([[2.0, 0, 0], [0, 4, 0], [1, 1, 1]], metric="cosine") as index:
        ...     found = index.pursuit([6, 4, 0], terms=2)
        >>> found.rows.tolist(), found.coefficients.round(6).tolist()
        ([[0, 1]], [[3.0, 1.0]])
        """
        given = self._asked(signals, "signals")
        fields: dict[str, Any] = {
            "terms": whole(terms, "terms"),
            "method": text(method, "method"),
            "delta": probability(delta, "delta"),
        }
        if flag(nonnegative, "nonnegative"):
            fields["nonnegative"] = True
        if published is not None:
            fields["published"] = published_options(published)
        reply, out = self._call("pursuit", fields, {"signals": given.rows}, progress=progress, deadline=deadline)
        found = pursuit_of(reply, out, given.rows)
        return Pursuit(ids=self._named(found["rows"]), **found)

    def _asked(self, queries: Vectors, name: str = "queries", *, one: bool = True) -> _narrow.Given:
        """Return queries as the worker takes them, relative to what the vectors are.

        The columns of a data frame go by the names of the vectors'.
        """
        if self.dtype == "float64":
            rows = _arrays.table(queries, name, self.dim or None, one=one, columns=self._columns)
            return _narrow.doubled(rows, name)._replace(given=rows)
        return _arrays.given(queries, name, self.dim or None, one=one, columns=self._columns, origin=self._origin)

    def _request(
        self,
        given: _narrow.Given,
        method: Method,
        delta: float,
        epsilon: float,
        exclude: Lists | None,
        wanted: Limits,
        candidates: Lists | None,
        filter: Filter | None,
        exclude_self: bool,
        plan: str | None,
        threads: int | None = None,
    ) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return the fields and arrays of a search, without k."""
        m = len(given.rows)
        fields: dict[str, Any] = {"method": text(method, "method"), "delta": probability(delta, "delta")}
        if (gap := number(epsilon, "epsilon")) != 0:
            fields["epsilon"] = gap
        if plan is not None:
            fields["plan"] = text(plan, "plan")
        if flag(exclude_self, "exclude_self"):
            fields["self_first"] = 0
        if threads is not None:
            fields["threads"] = whole(threads, "threads")
        arrays: dict[str, npt.NDArray[Any]] = {**given.queries, **wanted.arrays}
        for name, value in (("exclude", exclude), ("candidates", candidates)):
            if value is not None:
                arrays[f"{name}_lims"], arrays[name] = self._lists(value, name, m)
        if (each := self._filter_each(filter, m)) is not None:
            arrays["filter_lims"], arrays["filter"], arrays["filter_of"] = each
        elif isinstance(filter, (str, dict)):
            arrays["filter"] = self._selected(filter)
        elif filter is not None:
            _refuse_frameless(filter)
            if (mask := _arrays.mask_of(filter, "filter", (len(self),))) is not None:
                arrays["mask"] = np.ascontiguousarray(mask)
            else:
                arrays["filter"] = self._rows_of(filter, "filter")
        return fields, arrays

    def _filter_each(self, filter: Any, m: int) -> tuple[npt.NDArray[Any], ...] | None:
        """Return lists as CSR and which of them each query has, -1 for none; None of one filter for all queries."""
        parts: list[Any] = []
        if isinstance(filter, (list, tuple)):
            parts = list(filter)
            texts = self._ids is not None and self._ids.dtype.kind not in "iu"  # then texts are ids, if one of them is
            if texts and len(parts) == m and self.columns and all(isinstance(part, str) for part in parts):
                texts = bool(np.isin(np.array(parts), np.asarray(self._ids)).any())
            own = any(
                part is None
                or isinstance(part, (dict, list, tuple))
                or getattr(part, "ndim", 0) > 0
                or (isinstance(part, str) and not texts)
                for part in parts
            )
        else:
            own = hasattr(filter, "tocsr") or getattr(filter, "ndim", 1) > 1
        if not own:
            return None
        listed = bool(parts)
        if not listed:  # a matrix, whose lists are rows already
            if getattr(filter, "ndim", 0) == 2 and filter.shape[1] == 1 and filter.dtype != np.bool_:
                raise _forms.ambiguous("lists of a filter", "filter", "an array of one column")
            lims, rows = self._lists(filter, "filter", m)
            parts = [rows[lims[j] : lims[j + 1]].astype(np.int64, copy=False) for j in range(m)]
        elif len(parts) != m:
            raise ValueError(f"filter: {len(parts)} filters for {m} queries; a list has one for each query")
        numbers: dict[object, int] = {}
        lists: list[npt.NDArray[np.int64]] = []
        of = np.full(m, -1, np.int64)
        for j, part in enumerate(parts):
            if part is None:
                continue
            with _of_query(j):
                key: object = _as_json(part) if isinstance(part, dict) else part
                if not isinstance(key, str):
                    if listed:
                        part = self._filter_of(part)
                    key = part.tobytes()
                if key not in numbers:
                    numbers[key] = len(lists)
                    lists.append(self._selected(part) if isinstance(part, (str, dict)) else part)
            of[j] = numbers[key]
        lims = np.zeros(len(lists) + 1, np.int64)
        np.cumsum([len(rows) for rows in lists], out=lims[1:])
        return lims, np.concatenate(lists) if lists else np.empty(0, np.int64), of

    def _taking_part(self, filter: Filter | None) -> dict[str, npt.NDArray[np.int64]]:
        """Return the rows that a filter allows, ascending, as an array of a call; nothing without a filter."""
        if filter is None:
            return {}
        _refuse_frameless(filter)
        rows = self._selected(filter) if isinstance(filter, (str, dict)) else self._filter_of(filter)
        return {"filter": np.unique(rows)}

    def _filter_of(self, part: Any) -> npt.NDArray[np.int64]:
        """Return the rows of a mask or of ids, the filter of one query."""
        if (mask := _arrays.mask_of(part, "filter", (len(self),))) is not None:
            return np.flatnonzero(mask).astype(np.int64, copy=False)
        return np.ascontiguousarray(self._rows_of(part, "filter"), np.int64)

    def _selected(self, filter: str | dict[str, Any]) -> npt.NDArray[np.int64]:
        """Return the rows for which an expression, or a filter in Qdrant's form, is true."""
        if len(self) == 0:
            return np.empty(0, np.int64)
        fields: dict[str, Any] = {"filter": filter}
        if isinstance(filter, dict):
            fields = {"filter": _as_json(filter), "json": True}
        _, out = self._call("filter", fields)
        return out["rows"]

    def _add_k(self, k: npt.ArrayLike, m: int, fields: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]) -> int:
        """Add k to a request, and return the greatest."""
        each = _arrays.plain(k, "k")
        _forms.refuse_truth(each, "k")
        if each.ndim == 0:
            fields["k"] = whole(k, "k")
            return int(fields["k"])
        if each.dtype.kind not in "iu":
            raise TypeError(f"k: values are {each.dtype}, not integers")
        if each.shape != (m,):
            raise ValueError(f"k: shape {each.shape}, expected one number or ({m},), one for each query")
        if (each < 1).any():
            raise ValueError(f"k: query {int(np.argmax(each < 1))} asks for {each[each < 1][0]}, at least 1")
        arrays["ks"] = np.ascontiguousarray(each, np.int64)
        fields["k"] = int(each.max(initial=1))
        return int(fields["k"])

    def _lists(self, value: Lists, name: str, m: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return lists of rows in compressed form. Matrices and pairs hold rows, other lists ids."""
        if self._ids is None or hasattr(value, "tocsr") or isinstance(value, tuple):
            return _arrays.lists(value, name, m, len(self))
        if _arrays.mask_of(value, name, (m, len(self))) is not None:
            return _arrays.lists(value, name, m, len(self))
        if isinstance(value, np.ndarray) and value.ndim == 2:
            table, none = _ids.given_ids(value, name)
            for row in table:
                _forms.refuse_mask(row, name, len(self))
            value = [row[~gone] for row, gone in zip(table, none, strict=True)]
        parts = [self._rows_of(part, name) for part in _arrays.parts_of(value, name)]
        indptr = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
        if len(parts) != m:
            raise ValueError(f"{name}: {len(parts)} lists for {m} queries")
        return indptr, np.concatenate([*parts, np.empty(0, np.int64)])

    def _rows_of_answers(self, table: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Return the rows of answers (m, w), -1 for what stands for none."""
        table, none = _ids.given_ids(table, "answers")
        rows = np.full(table.shape, -1, np.int64)
        if self._ids is not None:
            rows[~none] = self._rows_of(table[~none], "answers", masks=False)
        elif table.dtype.kind in "OU" and all(isinstance(x, str) and x.isdecimal() for x in table[~none].flat):
            for at in np.flatnonzero(~none):
                if len(table.flat[at].lstrip("0")) > 18:  # beyond int64, and every vector
                    raise ValueError(
                        f"answers: query {at // max(table.shape[-1], 1)}: {table.flat[at]:.80} is no row number"
                    )
            rows[~none] = [int(x) for x in table[~none].flat]  # as databases write them
        elif table.dtype.kind != "i":
            first = str(next(iter(table[~none].flat), ""))
            raise TypeError(
                f"answers: values are {table.dtype}, such as {first!r:.60}, not row numbers; the vectors have no ids: "
                "give them those that the answers name (thresher.Index(vectors, ids=..))"
            )
        else:
            rows[~none] = table[~none]
        return rows

    def _rows_of(self, ids: Any, name: str, *, masks: bool = True) -> npt.NDArray[np.int64]:
        """Return the rows of ids; masks says that a mask could stand in their place."""
        wanted = _ids.as_ids(ids, name)
        if masks:
            _forms.refuse_mask(wanted, name, len(self))
        if self._ids is not None:
            return _ids.rows_of_ids(self._ids, wanted, name, self._sorted)
        rows = wanted.reshape(-1)
        if rows.dtype.kind != "i" and rows.size:
            raise TypeError(f"{name}: values are {rows.dtype}, not row numbers")
        return _arrays._inside(rows.astype(np.int64, copy=False), name, len(self))

    def _sorted(self) -> npt.NDArray[np.int64]:
        """Return the rows in the order of their ids."""
        if self._sorter is None:
            self._sorter = np.argsort(self.ids, kind="stable")
        return self._sorter

    def _named(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return the ids of rows, and those that stand for none where a row is negative."""
        return rows if self._ids is None else _ids.named(self._ids, rows)

    def _result(
        self,
        reply: dict[str, Any],
        out: dict[str, npt.NDArray[Any]],
        width: int,
        query_ids: npt.NDArray[Any] | None = None,
        covers: Queries | None = None,
    ) -> Result:
        rows, scores64 = out["rows"], out["scores64"]
        lacking = width - rows.shape[1]
        if lacking > 0:  # k > n
            try:
                rows = np.pad(rows, ((0, 0), (0, lacking)), constant_values=-1)
                scores64 = np.pad(scores64, ((0, 0), (0, lacking)), constant_values=np.nan)
            except (MemoryError, ValueError):
                raise MemoryError(
                    f"k: {width} columns for {len(rows)} queries; there are {len(self)} vectors"
                ) from None
        return Result(
            self._named(rows),
            rows=rows,
            scores64=scores64,
            query_ids=query_ids,
            **self._described(reply, out["certificates"], covers),
        )

    def _described(
        self, reply: dict[str, Any], records: npt.NDArray[Any], covers: Queries | None = None
    ) -> dict[str, Any]:
        """Return what results say beside their answers."""
        return {
            "took": reply["took_ms"] / 1e3,
            "saving": reply["saving"],
            "warnings": tuple(reply.get("warnings") or ()),
            "metric": self.metric,
            "_records": records,
            "_promise": reply["promise"],
            "_names": names_in(self._worker, reply),
            "_own_ids": self._ids is not None,
            "_covers": covers,
        }

    def _covers(
        self, given: _narrow.Given, fields: dict[str, Any], arrays: dict[str, npt.NDArray[Any]], k: int
    ) -> Queries | None:
        """Return what the answers to a request are for; None of an index that is searched once, and not kept."""
        if "once" in self._settings or given.given is None or "filter_of" in arrays:
            return None
        ks, least = arrays.get("ks"), arrays.get("floors")
        mask = arrays.get("mask")
        if "filter" in arrays:
            mask = np.zeros(len(self), bool)
            mask[arrays["filter"]] = True
        kept = None if mask is None else np.packbits(mask.astype(bool), bitorder="little").tobytes()
        said: dict[str, Any] = {"count": len(given.rows), "metric": self.metric, "k": k}
        if ks is not None and (ks != ks[:1]).any():
            said["own_k"] = True
        if least is not None and not np.isnan(least).all():
            said["reaching"] = True
        said["method"] = fields["method"]
        return Queries(given.given, said, self._described_shard(), kept, least, arrays.get("ceilings"))

    def _described_shard(self) -> Shard:
        """Return the vectors as answers state them; if the worker alone has them, it is asked."""
        if self._shard is None:
            some = sampled(len(self))
            ids = None if self._ids is None else self._ids[some]
            if self._rows is not None and self._history is None:
                self._shard = Shard(len(self), self._rows[some], self._origin, ids)
            else:
                said, _ = self._call("shard", {} if ids is None else {"ids": [str(i) for i in ids.tolist()]})
                self._shard = Shard(said["rows"], None, digest=said["digest"])
        return self._shard

    def _without_search(
        self,
        queries: npt.NDArray[np.float32],
        width: int,
        query_ids: npt.NDArray[Any] | None,
        covers: Queries | None,
    ) -> Result:
        """Return the answers to no queries, or to queries of no vectors, which are exact."""
        worker, _ = self._live()
        if not (fine := np.isfinite(queries).all(axis=1)).all():
            row = int(np.argmin(fine))
            raise _worker.BadInput(f"queries: row {row}: a value that is not finite", "queries", row)
        m = len(queries)
        try:
            rows = np.full((m, width), -1, np.int64)
            scores64 = np.full((m, width), np.nan)
        except (MemoryError, ValueError):
            raise MemoryError(f"k: {width} columns for {m} queries; there are no vectors") from None
        records = np.zeros(m, worker.records["certificate"])
        for name, word in (("method", "exact"), ("guarantee", "exact"), ("stopped_by", "done")):
            records[name] = names_in(worker, {})[name].index(word)
        for name in ("law", "plan", "backend", "candidates_given", "candidates_right"):
            records[name] = -1
        for name in ("threshold", "open_bound"):
            records[name] = np.nan
        records["exact"] = True
        promise = "exact: there are no vectors" if m else ""
        reply = {"took_ms": 0.0, "saving": 1.0, "promise": promise}
        out: dict[str, npt.NDArray[Any]]
        out = {"rows": rows, "scores64": scores64, "certificates": records}
        return self._result(reply, out, width, query_ids, covers)

    # Changes

    def add(
        self,
        vectors: Vectors,
        ids: npt.ArrayLike | None = None,
        *,
        columns: _kept.Table | None = None,
        progress: Progress = None,
    ) -> None:
        """Add vectors, whose row numbers follow the others.

        The index is built anew, from a copy of all vectors: it costs what building costs, and
        twice the memory meanwhile. Add many at a time.

        Parameters
        ----------
        vectors : array (a, d)
            As of the index, whose type has to hold their values.
        ids : sequence (a,), optional
            Needed if the index has ids, and only then.
        columns : mapping or table, optional
            Of the new vectors, as of the index; what is missing is null. Columns that the index lacks are
            refused.
        progress
            As in `search`.
        """
        given = _arrays.given(
            vectors,
            "vectors",
            self.dim or None,
            columns=self._columns,
            origin=self._origin,
            keep=True,
            float64=self.dtype == "float64",
        )
        more, rounded = given.rows, _rounding(given, self._rounded)
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

    def upsert(self, ids: npt.ArrayLike, vectors: Vectors) -> int:
        """Write vectors under their ids: replace those that are there, and add the others.

        The index is not built anew: the vectors are written beside it, are in the next search, and are merged with
        it in the background. `recall`, `certify`, `verify`, graphs, pairs, pursuits and `save` prepare what is there
        now once, at the first of them after a change. An opened file stays as it is.

        Parameters
        ----------
        ids : sequence (u,)
            All different, of the kind that the index has. Without ids, row numbers: of those that are there, or
            those that follow them.
        vectors : array (u, d)
            As of the index.

        Returns
        -------
        int
            How many were replaced. These keep their rows; the others follow, in the order in which they are given.

        Raises
        ------
        ValueError, TypeError
            If an argument is wrong; the message names row and id. Nothing was written then.

        Notes
        -----
        This process keeps a copy of each vector that was written, for the case that the worker dies or the index
        is pickled.

        Examples
        --------
        >>> import numpy as np, thresher
        >>> with thresher.Index(np.eye(3), ids=["a", "b", "c"], metric="ip") as index:
        ...     replaced = index.upsert(["b", "d"], [[0, 5, 0], [0, 4, 0]])
        ...     index.remove("a")
        ...     replaced, index.search([0, 1, 0], 2).ids.tolist(), index.ids.tolist()
        (1, [['b', 'd']], ['b', 'c', 'd'])
        """
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
            self._replace(first, None if self._ids is None else own, None, None, _rounding(given))
            return 0
        replaced = int(np.count_nonzero(rows < len(self)))
        self._history = changes
        self._write(rows, given.rows[order], None if self._ids is None else own[order[replaced:]], given)
        return replaced

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
        info, _ = self._call("upsert", _rounding(given), arrays)
        self._history.write(rows, vectors, added, _rounding(given, self._history.rounding))
        if added is not None:
            self._ids = _changes.joined(self._ids, added)
        self._changed(info)

    def _changed(self, info: dict[str, Any]) -> None:
        """Take over the description of the vectors after a change."""
        self._info, self._sorter, self._shard = info, None, None

    def remove(self, ids: npt.ArrayLike, *, progress: Progress = None) -> None:
        """Remove vectors. Without ids, row numbers behind a removed one move up.

        The index is not built anew: see `upsert`. Some vectors must remain.

        Parameters
        ----------
        ids : sequence of ids, or of row numbers if the index has none
            What to remove; an unknown one is an error, and nothing is removed.
        progress
            As in `search`.
        """
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

    # Files

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False, progress: Progress = None) -> None:
        """Write the index to a file, which `open` maps; durably, or not at all.

        Parameters
        ----------
        path : path
            Ending in ``.thresher``. Ids go to a file beside it, which ends in ``.thresher.ids.npz``, and columns
            to one that ends in ``.thresher.columns``.
        overwrite : bool
            Whether a file that exists is replaced.
        progress
            As in `search`.

        Raises
        ------
        FileExistsError, OSError
            If the file exists, or cannot be written.
        """
        name = file_name(path)
        if not name.endswith(".thresher"):
            raise ValueError(f"path: {name} does not end in .thresher")
        names = name + _ids.SUFFIX
        if not overwrite:
            for existing in (name, names, name + ".columns"):
                if os.path.lexists(existing):
                    raise FileExistsError(f"path: {existing} exists; overwrite=True replaces it")
        fields = {"path": name, "force": overwrite}
        self._call("save", fields, progress=progress, again={"force": True})  # the first may have written it
        if self._ids is not None:
            with open(names + ".part", "wb") as f:
                np.savez(f, ids=self._ids, collection=np.array(_ids.header_of(name)))
                f.flush()
                os.fsync(f.fileno())
            os.replace(names + ".part", names)
        elif os.path.lexists(names):
            os.remove(names)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        *,
        metric: Metric | None = None,
        dtype: DType | None = None,
        column: str | None = None,
        ids: str | None = None,
        columns: str | Sequence[str] | None = None,
        header: Literal["yes", "no"] | None = None,
        basis: str | None = None,
        seed: int | None = None,
        device: Device = "auto",
        threads: int | None = None,
        progress: Progress = None,
        deadline: Deadline = None,
    ) -> Index:
        """Open an index that `save` or ``thresher build`` wrote, or build one from a file of vectors.

        Parameters
        ----------
        path : path, or list of paths
            A file ``.thresher``, which is mapped, not read; or vectors as ``.npy`` (mapped, too),
            npz, fvecs, bvecs, fbin, f16bin, u8bin, i8bin, JSONL, CSV, Parquet, Arrow or safetensors. The worker
            streams these into a file without a name in the folder for temporary files, which takes
            what vectors and codes take, and maps it; no process holds them in memory of its own.
            A folder, a pattern such as ``part-*.parquet``, names separated by commas, and a list stand
            for several files of one format, dimension and type, which are read one after the other, and
            whose ids are all different. Files of a folder or a pattern are in the order of their names
            (part-2 before part-10). A URL that fsspec opens (``s3://``, ``gs://``, ``https://`` ..) is fetched to
            a cache, the folder THRESHER_CACHE or else that of the user, unless the same version is there.
        metric, basis, seed
            Of vectors, which need a metric; a saved index has its own, and others are refused.
        dtype : {"float32", "float64"}, optional
            How vectors of float64 are kept, as of the index; a saved index has its own. Numbers in text are rounded.
        column, ids : str, optional
            The column or array of the vectors, and that of their ids. Of CSV,
            Parquet and Arrow `column` may also list columns with a coordinate each, separated by commas, or
            be a pattern such as ``d*``.
        columns : str or sequence of str, optional
            Other columns of the file, by which filters select; ``"all"`` stands for all. A saved index has all
            that it was saved with, without this. Of files in folders such as ``year=2024`` these are columns.
        header : "yes" or "no", optional
            Whether the first line of CSV names the columns. Without it lines of texts do, and those
            that count 0,1,2,.. or 1,2,3,..
        device, threads, progress, deadline
            As of the index.
        """
        self = cls.__new__(cls)
        name = vector_files(path)
        given = {
            "column": column,
            "ids": ids,
            "header": header,
            "basis": basis,
            "seed": seed,
            "metric": None if metric is None else metric_name(metric),
            "dtype": None if dtype is None else dtype_name(dtype),
        }
        self._settings = {
            "device": text(device, "device"),
            **{key: value for key, value in given.items() if value is not None},
        }
        if threads is not None:
            self._settings["threads"] = whole(threads, "threads")
        if columns is not None:
            self._settings["columns"] = _kept.names_of(columns)
        self._path, self._rows, self._ids, self._columns, self._origin = name, None, None, None, None
        self._kept = None
        with _fetch.errors_of_urls():
            self._begin(progress, deadline)
            if self._ids is None and os.path.exists(name + _ids.SUFFIX):
                with np.load(name + _ids.SUFFIX, allow_pickle=False) as saved:
                    if str(saved["collection"]) != _ids.header_of(name):
                        self.close()
                        raise ValueError(
                            f"path: {name + _ids.SUFFIX} has the ids of another index than {name}; save it again"
                        )
                    self._ids = _ids.checked_ids(saved["ids"], len(self))
        return self

    # Life

    _closed = False
    _history: _changes.Changes | None = None  # since the vectors were built or opened
    _lock: tuple[int, threading.Lock] = (0, threading.Lock())
    _rows: npt.NDArray[Any] | None  # relative to the origin
    _origin: _narrow.Origin
    _rounded: dict[str, Any]  # fields of a build
    _columns: _columns.Names
    _ids: npt.NDArray[Any] | None
    _kept: _kept.Kept = None  # of an index whose rows this process has

    def close(self) -> None:
        """Free the memory of the index. Searches in progress end first; later ones are an error."""
        if not self._closed:
            self._closed = True
            self._finalizer()
            self._rows = self._history = None

    def __enter__(self) -> Index:
        if self._closed:
            raise ValueError("index: closed")
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Callable[..., Index], tuple[Any, ...]]:
        if self._closed:
            raise ValueError("index: closed")
        if self._rows is None and self._path is None:
            raise TypeError("index: its vectors are in the worker alone; save it, and open it there")
        rows = None if self._rows is None else np.asarray(self._rows)
        given = (self._ids, self._columns, self._origin, self._rounded)
        return _restored, (self._settings, self._path, rows, *given, self._history, self._kept)


def _refuse_frameless(filter: Any) -> None:
    """Refuse an expression of polars, which needs a frame."""
    if type(filter).__module__.startswith("polars") and type(filter).__name__ == "Expr":
        raise TypeError(
            "filter: an expression of polars says nothing without its frame; frame.select(expression).to_series() "
            "is a mask"
        )


@contextmanager
def _of_query(query: int) -> Iterator[None]:
    """Say of which query a filter is wrong."""
    try:
        yield
    except (TypeError, ValueError) as e:
        said = f"filter: query {query}: {str(e).removeprefix('filter: ')}"
        if isinstance(e, _worker.BadInput):
            raise _worker.BadInput(said, e.argument, query) from None
        raise type(e)(said) from None


def _as_json(filter: dict[str, Any]) -> str:
    """Return a filter in Qdrant's form as text."""
    try:
        return json.dumps(filter, allow_nan=False)
    except (TypeError, ValueError) as e:
        raise type(e)(f"filter: {e}") from None


def names_in(worker: _worker.Worker, reply: dict[str, Any]) -> dict[str, list[str]]:
    """Return the names behind the numbers in columns of certificates."""
    of_worker = {"method": "methods", "guarantee": "guarantees", "law": "laws", "stopped_by": "stops"}
    of_reply = {"plan": "plans", "backend": "backends"}
    return {
        **{name: worker.hello[key] for name, key in of_worker.items()},
        **{name: reply.get(key) or [] for name, key in of_reply.items()},
    }


def _restored(
    settings: dict[str, Any],
    path: str | None,
    rows: npt.NDArray[Any] | None,
    ids: npt.NDArray[Any] | None,
    columns: _columns.Names = None,
    origin: _narrow.Origin = None,
    rounded: dict[str, Any] | None = None,
    changes: _changes.Changes | None = None,
    kept: _kept.Kept = None,
) -> Index:
    """Return an index that was pickled."""
    if path is None or not path.endswith(".thresher"):
        settings = {"metric": "ip", **settings}  # pickled when this was the default
    index = Index.__new__(Index)
    index._origin, index._rounded, index._history, index._kept = origin, rounded or {}, changes, kept
    index._settings, index._path, index._ids, index._columns = settings, path, ids, columns
    index._rows = None if rows is None else shared_rows(rows, "vectors", float64=rows.dtype == np.float64).rows
    index._begin()
    return index


def _rounding(given: _narrow.Given, before: dict[str, Any] | None = None) -> dict[str, Any]:
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
