"""Searches as the worker is asked for them, and its answers as results."""

from __future__ import annotations

import time
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from thresher import _arrays, _capacity, _forms, _ids, _narrow, _single, _worker
from thresher._arguments import (
    Deadline,
    Filter,
    Method,
    Published,
    flag,
    number,
    probability,
    published_options,
    seconds,
    text,
    whole,
)
from thresher._arrays import Lists, Vectors
from thresher._awaiting import Request
from thresher._coverage import Queries, Shard, sampled
from thresher._limits import Limits, limits, reach
from thresher._progress import Progress, check_progress
from thresher._range_result import RangeResult
from thresher._result import Result
from thresher._selection import Selection

__all__ = ["Searches", "names_in"]

R = TypeVar("R")

# What a search may ask for that is answered in this process, by which methods, and what an index must not have of
# settings and properties: one search, values that were rounded.
_PLAIN, _NEVER_WRONG = {"method", "delta", "k", "threads"}, ("auto", "certain", "exact")
_UNLIKE = {"once", "rounded"}


class Searches(Selection):
    """Requests of searches, and the results that are made of what the worker replies."""

    _last: tuple[tuple[int, int, str], bytes] | None = None  # what `_scanned` returned, and of what

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
            return self._without_search(
                given.rows, width, own, self._covers(given, fields, arrays, width), self._allowed(arrays)
            )
        if width < 2**63:  # the worker refuses others
            _capacity.check_answers(width, m, len(self), 0 if self._ids is None else self._ids.dtype.itemsize)
        covers, allowed = self._covers(given, fields, arrays, width), self._allowed(arrays)
        if m == 1 and (found := self._alone(fields, arrays)) is not None:
            return self._result(*found, width, own, covers, allowed)
        return Request(
            "search",
            fields,
            arrays,
            wanted.names,
            lambda reply, out: self._result(reply, out, width, own, covers, allowed),
        )

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
            none = self._without_search(
                given.rows, 0, own, self._covers(given, fields, arrays, 0), self._allowed(arrays)
            )
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
        covers, allowed = self._covers(given, fields, arrays, 0), self._allowed(arrays)
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
                **self._described(reply, out["certificates"], covers, allowed),
            ),
        )

    def _answered(self, asked: Request[R] | R, progress: Progress, deadline: Deadline) -> R:
        """Return the result of a request, which the worker performs."""
        if not isinstance(asked, Request):
            check_progress(progress)
            seconds(deadline)
            return asked
        reply, out = self._call(
            asked.op, asked.fields, asked.arrays, progress=progress, deadline=deadline, names=asked.names
        )
        return asked.answer(reply, out)

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
        if filter is not None:
            arrays.update(self._filtered(filter, m))
        return fields, arrays

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

    # Results

    def _result(
        self,
        reply: dict[str, Any],
        out: dict[str, npt.NDArray[Any]],
        width: int,
        query_ids: npt.NDArray[Any] | None = None,
        covers: Queries | None = None,
        allowed: str = "",
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
            **self._described(reply, out["certificates"], covers, allowed),
        )

    def _described(
        self, reply: dict[str, Any], records: npt.NDArray[Any], covers: Queries | None = None, allowed: str = ""
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
            "_filter": allowed,
        }

    def _mask(self, arrays: dict[str, npt.NDArray[Any]]) -> npt.NDArray[np.bool_] | None:
        """Return which vectors the filter of all queries allows, (n,); None without one."""
        if "filter" not in arrays:
            return arrays.get("mask")
        mask = np.zeros(len(self), bool)
        mask[arrays["filter"]] = True
        return mask

    def _allowed(self, arrays: dict[str, npt.NDArray[Any]]) -> str:
        """Return what the filter of a request allows, in the words of the command's summaries; "" without one."""
        if "filter_of" in arrays:
            return "of each query"
        mask = self._mask(arrays)
        return "" if mask is None else f"allows {np.count_nonzero(mask)} of the {len(self)} vectors"

    def _covers(
        self, given: _narrow.Given, fields: dict[str, Any], arrays: dict[str, npt.NDArray[Any]], k: int
    ) -> Queries | None:
        """Return what the answers to a request are for; None of an index that is searched once, and not kept."""
        if "once" in self._settings or given.given is None or "filter_of" in arrays:
            return None
        ks, least = arrays.get("ks"), arrays.get("floors")
        mask = self._mask(arrays)
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

    def _alone(
        self, fields: dict[str, Any], arrays: dict[str, npt.NDArray[Any]]
    ) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]] | None:
        """Return what the worker would reply to a search for one query that is found here; None if it is to be asked.

        Here are few vectors, which this process has as they were built, and of a search only k and a method that is
        never wrong are asked for.
        """
        rows, worker = self._rows, self._worker
        if rows is None or rows.size > _single.MOST_VALUES or rows.dtype != np.float32 or len(arrays) > 1:
            return None
        if not (fields.keys() <= _PLAIN and fields["method"] in _NEVER_WRONG and fields["k"] <= len(rows)):
            return None
        if self._history is not None or self._closed or worker is not _worker.running():
            return None  # where the worker died, the index is built again, or says that it is lost
        if self._info["device"] != "cpu" or not _UNLIKE.isdisjoint((*self._settings, *self._info)):
            return None
        begun = time.perf_counter()
        if self._single is None:
            self._single = _single.Single(rows, self.metric)
        found = self._single.nearest(arrays["queries"], fields["k"])
        if found is None:
            return None
        scores, of = found
        records = np.frombuffer(bytearray(self._scanned(worker, fields["method"])), worker.records["certificate"])
        records["threshold"] = scores[-1] / -2 if self.metric == "l2" else scores[-1]
        reply = {"saving": 1.0, "promise": "exact: none wrong", "plans": ["dense"], "backends": ["cpu"]}
        reply["took_ms"] = (time.perf_counter() - begun) * 1e3
        return reply, {"rows": of[np.newaxis], "scores64": scores[np.newaxis], "certificates": records}

    def _scanned(self, worker: _worker.Worker, method: str) -> bytes:
        """Return the certificate of one answer that a dense scan found, without its threshold."""
        key = (worker.process, len(self), method)
        last = self._last
        if last is None or last[0] != key:
            records, size = _exact(worker, 1), len(self) * self.dim
            values = {"plan": 0, "backend": 0, "pulls": size, "dense_pulls": size, "rows_scored": len(self)}
            for name, value in {**values, "bytes": 4 * size}.items():
                records[name] = value
            if method != "auto":
                records["method"] = worker.hello["methods"].index(method)
            last = self._last = key, records.tobytes()
        return last[1]

    def _without_search(
        self,
        queries: npt.NDArray[np.float32],
        width: int,
        query_ids: npt.NDArray[Any] | None,
        covers: Queries | None,
        allowed: str,
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
        records = _exact(worker, m)
        promise = "exact: there are no vectors" if m else ""
        reply = {"took_ms": 0.0, "saving": 1.0, "promise": promise}
        out: dict[str, npt.NDArray[Any]]
        out = {"rows": rows, "scores64": scores64, "certificates": records}
        return self._result(reply, out, width, query_ids, covers, allowed)


def _exact(worker: _worker.Worker, m: int) -> npt.NDArray[Any]:
    """Return the certificates of exact answers for which nothing was read."""
    records = np.zeros(m, worker.records["certificate"])
    names = names_in(worker, {})
    for name, word in (("method", "exact"), ("guarantee", "exact"), ("stopped_by", "done")):
        records[name] = names[name].index(word)
    for name in ("law", "plan", "backend", "candidates_given", "candidates_right"):
        records[name] = -1
    for name in ("threshold", "open_bound"):
        records[name] = np.nan
    records["exact"] = True
    return records


def names_in(worker: _worker.Worker, reply: dict[str, Any]) -> dict[str, list[str]]:
    """Return the names behind the numbers in columns of certificates."""
    of_worker = {"method": "methods", "guarantee": "guarantees", "law": "laws", "stopped_by": "stops"}
    of_reply = {"plan": "plans", "backend": "backends"}
    return {
        **{name: worker.hello[key] for name, key in of_worker.items()},
        **{name: reply.get(key) or [] for name, key in of_reply.items()},
    }
