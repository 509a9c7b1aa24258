"""What answers searches of rows: a scan in this process, one call of the worker, an index, or a matrix of distances."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from thresher import _scan, _single
from thresher._arguments import Method
from thresher._index import Index
from thresher._knn import knn_once
from thresher._shares import CORES
from thresher._worker import BadInput
from thresher.faiss import _dense, _threads
from thresher.faiss._metrics import NAMES, is_similarity_metric, worst
from thresher.faiss._rows import Rows

__all__ = ["Searcher", "nearest"]

Floats = npt.NDArray[np.float32]
Ids = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Found = tuple[Floats, Ids]
Lists = tuple[Ids, Floats, Ids]

log = logging.getLogger("thresher.faiss")

_METHOD: Method = "certain"

# Seconds that building an index takes for each coordinate, roughly, on one core of an AMD EPYC 9004.
_BUILD = 2e-8
# Up to how many values, which a cache holds, single queries are answered here until an index pays.
_CACHED = 4 << 20
# Of a selection up to this many values are copied, and searched as vectors of their own.
_COPIED = 1 << 22
# Which part of an index may have been written since it was built.
_WRITTEN = 4
# Up to how many products and sorted scores a range is searched by a scan here.
_SORTED = 1 << 20


class Searcher:
    """Searches of rows that are only added to, by one metric, with a method that is never wrong.

    At first the rows are searched as they lie. An index is built once such searches have taken as long as it takes
    to build one, so that it never costs more than twice what was best; it takes in what is added, until that is a
    fourth of it.
    """

    def __init__(self, metric: int) -> None:
        self.metric = metric
        self._index: Index | None = None
        self._room: Any = None  # the memory that the index was built from
        self._built = 0  # rows of it then
        self._spent = 0.0  # seconds of searches without an index since
        self._engine = metric in NAMES  # until it refuses rows: values that are not finite
        self._lock = os.getpid(), threading.Lock()
        self._single: _single.Single | None = (
            None  # what single queries are compared with, and the memory that it is in
        )
        self._single_room: Any = None

    def index(self, rows: Rows) -> Index:
        """Return an index of the rows as they are now, which is built, or takes in what was added, if there is need."""
        with self._changing():
            index = self._current(rows)
            if index is None:
                self._index = None  # before another one takes its place in memory
                index = Index(rows.array, metric=NAMES[self.metric], threads=_threads.limit())
                self._index, self._room, self._built, self._spent = index, rows.room, len(rows), 0.0
            elif len(index) < len(rows):
                index.upsert(np.arange(len(index), len(rows)), rows.array[len(index) :])
            return index

    def _changing(self) -> threading.Lock:
        """Return the lock of this process: one that another thread held when the process was forked is never free."""
        pid, lock = self._lock
        if pid != os.getpid():
            lock = threading.Lock()
            self._lock = os.getpid(), lock
        return lock

    def _current(self, rows: Rows) -> Index | None:
        """Return the index if what was added to these rows since is not too much for it."""
        few = (len(rows) - self._built) * _WRITTEN <= self._built
        return self._index if few and rows.room is self._room else None

    def search(self, queries: Floats, rows: Rows, k: int, allowed: Mask | None, argument: float) -> Found:
        """Return distances and row numbers, (m, k), best first; where there are fewer, -1 and the worst distance.

        Parameters
        ----------
        queries : float32 (m, d), in C order
        rows : Rows
        k : int
            At least 1.
        allowed : bool array (n,) or None
            Which rows may be found.
        argument : float
            Of the metric.
        """
        m, n = len(queries), len(rows) if allowed is None else int(np.count_nonzero(allowed))
        if m == 0 or n == 0:
            return _filled(None, m, k, self.metric)
        if m == 1 and allowed is None and k <= n and (found := self._alone(queries, rows, k)) is not None:
            return found
        if allowed is not None and self._copies(queries, n):
            own = np.flatnonzero(allowed)
            scores, ids = nearest(queries, rows.array[own], k, self.metric, argument)
            return scores, np.where(ids < 0, -1, own[ids])
        found = None
        if self._engine:
            with self._refusing(queries):
                found = self._by_engine(queries, rows, min(k, n), allowed)
        if found is None:
            return self._by_hand(queries, rows, allowed, k, argument)
        return _filled(found, m, k, self.metric)

    def _alone(self, query: Floats, rows: Rows, k: int) -> Found | None:
        """Return the answer to a single query among few rows; None if others are to find it."""
        values, begun = len(rows) * query.shape[1], time.perf_counter()
        if not self._engine or (values > _single.MOST_VALUES and (values > _CACHED or self._pays(rows))):
            return None
        single = self._single
        if single is None or self._single_room is not rows.room or len(single.vectors) != len(rows):
            single = _single.Single(rows.array, NAMES[self.metric])
            self._single, self._single_room = single, rows.room
        best = single.nearest(query, k)
        if values > _single.MOST_VALUES:
            self._spent += time.perf_counter() - begun
        return None if best is None else (best[0].astype(np.float32)[np.newaxis], best[1][np.newaxis])

    def _by_hand(self, queries: Floats, rows: Rows, allowed: Mask | None, k: int, argument: float) -> Found:
        """Search without the engine, for it refuses the values or has no such metric."""
        own = np.arange(len(rows)) if allowed is None else np.flatnonzero(allowed)
        array = rows.array if allowed is None else rows.array[own]
        scores, ids = _filled(_dense.best(queries, array, k, self.metric, argument), len(queries), k, self.metric)
        return scores, np.where(ids < 0, -1, own[ids])

    def _copies(self, queries: Floats, allowed: int) -> bool:
        """Tell whether so many allowed rows are copied, and searched as vectors of their own."""
        return self._engine and allowed * queries.shape[1] <= _COPIED

    def _by_engine(self, queries: Floats, rows: Rows, k: int, allowed: Mask | None) -> Found:
        (m, dim), n = queries.shape, len(rows)
        here = allowed is None and n * dim <= _single.MOST_VALUES and _scan.pays(m, n, dim, k, True, built=True)
        if allowed is None and (here or not self._pays(rows)):
            begun = time.perf_counter()
            found = _once(queries, rows.array, k, NAMES[self.metric])
            self._spent += 0 if here else time.perf_counter() - begun
            return found
        with self._opened(rows, m, k) as index:
            result = index.search(queries, k, method=_METHOD, filter=allowed, threads=_threads.limit())
        return result.scores, result.rows

    def _pays(self, rows: Rows) -> bool:
        """Tell whether an index is searched: there is one, or searches without have taken as long as building it."""
        if self._current(rows) is not None:
            return True
        self._index = None  # whose memory is free until the next one pays
        return self._spent >= _BUILD * rows.array.size / CORES

    @contextmanager
    def _opened(self, rows: Rows, queries: int, k: int) -> Iterator[Index]:
        """Yield an index to search: the one that is kept if that pays, else one that scans rows as they lie."""
        if self._pays(rows):
            yield self.index(rows)
            return
        begun = time.perf_counter()
        once = {"queries": queries, "k": k, "method": _METHOD}
        with Index(rows.array, metric=NAMES[self.metric], threads=_threads.limit(), _once=once) as index:
            yield index
        self._spent += time.perf_counter() - begun

    def within(self, queries: Floats, rows: Rows, radius: float, allowed: Mask | None, argument: float) -> Lists:
        """Return what is nearer than a radius, or of similarities above it, as lims (m + 1,), distances and rows.

        The answer of query j is at ``lims[j]:lims[j+1]``, in order of rows. Other parameters as of `search`.
        """
        m = len(queries)
        with np.errstate(over="ignore"):  # a radius beyond float32 is an infinite one
            limit = np.float32(radius)
        if allowed is not None and (not self._engine or int(np.count_nonzero(allowed)) * queries.shape[1] <= _COPIED):
            own, part = np.flatnonzero(allowed), Rows(queries.shape[1])
            part.add(rows.array[own])
            lims, scores, ids = Searcher(self.metric).within(queries, part, radius, None, argument)
            return lims, scores, own[ids]
        none = (
            len(rows) == 0
            or np.isnan(limit)
            or (self.metric in NAMES and not is_similarity_metric(self.metric) and limit <= 0)
        )
        if m == 0 or none:
            return np.zeros(m + 1, np.int64), np.empty(0, np.float32), np.empty(0, np.int64)
        found: Lists | None = None
        if self._engine and np.isfinite(limit):
            with self._refusing(queries):
                found = self._in_range(queries, rows, limit, allowed)
        if found is not None:
            return found
        if allowed is None:
            return _dense.within(queries, rows.array, limit, self.metric, argument)
        own = np.flatnonzero(allowed)
        lims, scores, ids = _dense.within(queries, rows.array[own], limit, self.metric, argument)
        return lims, scores, own[ids]

    def _in_range(self, queries: Floats, rows: Rows, limit: np.float32, allowed: Mask | None) -> Lists:
        (m, dim), n, metric = queries.shape, len(rows), NAMES[self.metric]
        if allowed is None and m * n * dim <= _SORTED and (best := _scan.scan(queries, rows.array, n, metric)):
            scores, ids, of = best[0].reshape(-1), best[1].reshape(-1), np.repeat(np.arange(m), n)
        else:
            with self._opened(rows, m, 0) as index:
                found = index.range_search(
                    queries, float(limit), method=_METHOD, filter=allowed, threads=_threads.limit()
                )
            scores, ids, of = found.scores, found.rows, np.repeat(np.arange(m), np.diff(found.lims))
        near = (
            scores > limit if is_similarity_metric(self.metric) else scores < limit
        )  # the engine's limit is found, too
        if not near.all():
            scores, ids, of = scores[near], ids[near], of[near]
        order = np.argsort(of * n + ids, kind="stable")
        lims = np.zeros(m + 1, np.int64)
        np.cumsum(np.bincount(of, minlength=m), out=lims[1:])
        return lims, scores[order], ids[order]

    @contextmanager
    def _refusing(self, queries: Floats) -> Iterator[None]:
        """Go on where the engine refuses values; without it from now on if they are not those of the queries."""
        try:
            yield
        except BadInput as e:
            log.info("a matrix of distances is computed: %s", e)
            if np.isfinite(queries).all():
                self._engine = False


def nearest(queries: Floats, rows: Floats, k: int, metric: int, argument: float = 0.0) -> Found:
    """Return `Searcher.search` of rows that are searched once."""
    m, most = len(queries), min(k, len(rows))
    if m == 0 or most == 0:
        return _filled(None, m, k, metric)
    found: Found | None = None
    if metric in NAMES:
        try:
            found = _once(queries, rows, most, NAMES[metric])
        except BadInput as e:
            log.info("a matrix of distances is computed: %s", e)
    if found is None:
        found = _dense.best(queries, rows, most, metric, argument)
    return _filled(found, m, k, metric)


def _once(queries: Floats, rows: Floats, k: int, metric: str) -> Found:
    threads = _threads.limit()
    settings = {"device": "auto", "method": _METHOD, "delta": 0.01}
    return knn_once(queries, rows, k, metric, settings if threads is None else {**settings, "threads": threads})


def _filled(found: Found | None, m: int, k: int, metric: int) -> Found:
    """Return answers of k columns, of which those that are lacking, or as far as float32 reaches, are empty."""
    empty = worst(metric)
    if found is not None and found[0].shape[1] == k:
        scores, ids = found
    else:
        scores, ids = np.full((m, k), empty), np.full((m, k), -1, np.int64)
        if found is not None:
            scores[:, : found[0].shape[1]], ids[:, : found[1].shape[1]] = found
    beaten = scores > empty if is_similarity_metric(metric) else scores < empty
    if not beaten.all():
        scores, ids = np.where(beaten, scores, empty), np.where(beaten, ids, -1)
    return scores, ids
