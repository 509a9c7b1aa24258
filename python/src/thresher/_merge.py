"""Answers over disjoint sets of vectors, merged into answers over all of them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from os import PathLike
from typing import Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from thresher._answers import read_answers, spread
from thresher._arguments import Metric, metric_name, whole
from thresher._coverage import Coverage
from thresher._coverage import joined as joined_coverage
from thresher._ids import NONE, joined_ids
from thresher._range_result import RangeResult
from thresher._result import Result

__all__ = ["merge"]

# From best to worst. A bound beside a heuristic is no bound of both.
_GUARANTEES = ("exact", "certain", "probabilistic", "bound", "heuristic")
_LAWS = ("", "haar", "order", "calibrated", "published", "assumed")
_STOPS = ("done", "deadline", "cancelled")

# How failure probabilities of a method combine: divided over the k best, so that the greatest counts; of any
# failure in a set, so that they add up. Nothing follows from those of boundedme. docs/guarantee.md, "Merged answers".
_SHARED = ("auto", "adaptive", "strict", "prefix-f32")
_ADDED = ("banditmips", "banditmips-beta", "bucket-ae")
_SURE = ("exact", "certain")


@overload
def merge(
    results: Sequence[Result],
    k: int | None = None,
    *,
    offsets: Sequence[int] | None = None,
    unchecked: bool = False,
    metric: Metric | None = None,
) -> Result: ...


@overload
def merge(
    results: Sequence[RangeResult],
    k: None = None,
    *,
    offsets: Sequence[int] | None = None,
    unchecked: bool = False,
    metric: Metric | None = None,
) -> RangeResult: ...


@overload
def merge(
    results: Sequence[Result | RangeResult | str | PathLike[str]],
    k: int,
    *,
    offsets: Sequence[int] | None = None,
    unchecked: bool = False,
    metric: Metric | None = None,
) -> Result: ...


@overload
def merge(
    results: Sequence[Result | RangeResult | str | PathLike[str]],
    k: int | None = None,
    *,
    offsets: Sequence[int] | None = None,
    unchecked: bool = False,
    metric: Metric | None = None,
) -> Result | RangeResult: ...


def merge(
    results: Sequence[Result | RangeResult | str | PathLike[str]],
    k: int | None = None,
    *,
    offsets: Sequence[int] | None = None,
    unchecked: bool = False,
    metric: Metric | None = None,
) -> Result | RangeResult:
    """Merge the answers to the same queries over disjoint sets of vectors.

    Each set was searched by itself, with the same queries, metric, k and limits. By the methods
    ``exact`` and ``certain`` the merged answers are those of one search of all vectors. Results can be
    merged in any order, at once or in several steps.

    Parameters
    ----------
    results : sequence of Result, of RangeResult and of paths
        Of `Index.search` or of `Index.range_search`, and files of answers, of whatever format: of
        ``thresher search`` and ``merge``, of `Result.save`, and bodies that the service answered, as
        ``curl -o part.json`` saves them.
    k : int, optional
        How many vectors each query gets, at most the k of the results, which is the default: all that reach a
        score, if the results have these.
    offsets : sequence of int, optional
        The number that the first vector of each set has among all. Vectors without ids need it, since each
        set counts its own rows.
    unchecked : bool
        Merge results that do not state what they are for (`Result.covers` is None), such as files of other
        programs. That they belong together is then not checked.
    metric : {"ip", "cosine", "l2"}, optional
        Of files that do not state theirs.

    Returns
    -------
    Result or RangeResult
        Of each query the k best of all results by ``scores64``, or all of them, as a RangeResult; equal scores are
        in the order of the rows with `offsets`, else in that of the ids: whole numbers by value, before other
        strings by their bytes. If the ids of some results are integers and of others strings, all are strings. The
        guarantee is the worst, work is added, the greatest open bound counts, and an answer is complete if all are.

    Raises
    ------
    ValueError
        If the results are to other queries, differ in metric, k or limits, or are over the same vectors, as
        `Result.covers` says; or if one does not say it.
    OSError
        If a file cannot be read, or holds no answers.

    Examples
    --------
    >>> import numpy as np, thresher
    >>> rng = np.random.default_rng(0)
    >>> vectors = rng.standard_normal((1000, 16), dtype=np.float32)
    >>> sets = vectors[:400], vectors[400:]
    >>> halves = [thresher.Index(own, metric="cosine").search(vectors[:3], k=2) for own in sets]
    >>> thresher.merge(halves, offsets=[0, 400]).ids[:, 0].tolist()
    [0, 1, 2]
    """
    given, names = _opened(results, None if metric is None else metric_name(metric))
    k, covers = _checked(given, names, k, offsets, unchecked)
    first = given[0]
    if len(given) == 1 and offsets is None and k == (first.scores64.shape[1] if isinstance(first, Result) else 0):
        return first
    found = _joined(given, offsets)
    _refuse_twice(found)
    order = _order(first.metric, found)
    owners = found.queries[order]
    if k > 0:
        order = order[np.arange(len(order)) - np.searchsorted(owners, owners) < k]
    best = _taken(found, order)
    lims = np.searchsorted(best.queries, np.arange(len(first) + 1))
    records, known = _certified(given, k)
    dense = sum(int(r.certificates["dense_pulls"].sum()) for r in given)
    pulls = int(records["pulls"].sum())
    summary: dict[str, Any] = {
        "query_ids": next((r.query_ids for r in given if r.query_ids is not None), None),
        "took": sum(r.took for r in given),
        "saving": dense / pulls if pulls else 1.0,
        "warnings": tuple(dict.fromkeys(w for r in given for w in r.warnings)),
        "metric": first.metric,
        "_records": records,
        "_names": known,
        "_promise": _promise(records, known),
        "_own_ids": first._own_ids,
        "_covers": covers,
        "_rounded": any(r._rounded for r in given),
    }
    ids = _narrow(best.ids)
    if k == 0:
        limited = [r.limited for r in given if isinstance(r, RangeResult)]
        limits = np.logical_or.reduce([np.zeros(len(first), bool), *limited])
        return RangeResult(lims, ids, limited=limits, rows=best.rows, scores64=best.scores64, **summary)
    return Result(
        spread(ids, lims, {"i": -1, "u": NONE}.get(ids.dtype.kind, ""), k),
        rows=spread(best.rows, lims, -1, k),
        scores64=spread(best.scores64, lims, np.nan, k),
        **summary,
    )


def _opened(
    results: Sequence[Result | RangeResult | str | PathLike[str]], metric: str | None
) -> tuple[list[Result | RangeResult], list[str]]:
    """Return results, those of files too, and what errors call them."""
    answers: list[Result | RangeResult] = []
    names = []
    for i, r in enumerate(results):
        if isinstance(r, (str, PathLike)):
            answers.append(read_answers(r, metric, f"results: result {i}"))
            names.append(f"result {i} ({os.fspath(r)})")
        elif isinstance(r, (Result, RangeResult)):
            answers.append(r)
            names.append(f"result {i}")
        else:
            raise TypeError(f"results: result {i} is {type(r).__name__}, not Result, RangeResult or a path")
    return answers, names


def _checked(
    results: list[Result | RangeResult],
    names: list[str],
    k: int | None,
    offsets: Sequence[int] | None,
    unchecked: bool,
) -> tuple[int, Coverage | None]:
    """Check that results belong together, and return how many vectors each query gets and what they cover.

    0 stands for all vectors that reach a score.
    """
    if not results:
        raise ValueError("results: none to merge")
    first = results[0]
    stated = [(c, name) for r, name in zip(results, names, strict=True) if (c := r.covers) is not None]
    if len(stated) < len(results) and not unchecked:
        lacking = next(name for r, name in zip(results, names, strict=True) if r.covers is None)
        raise ValueError(
            f"results: {lacking} does not state which queries, vectors and k its answers are for; "
            "unchecked=True merges it all the same"
        )
    _check_alike(results, names)
    widths = [0 if isinstance(r, RangeResult) else r.scores64.shape[1] for r in results]
    width = stated[0][0]["k"] if stated else max(widths)
    k = width if k is None else whole(k, "k", 1)
    if k > width > 0:
        raise ValueError(f"k: {k}, expected 1 to {width}, the k of the results")
    covers = joined_coverage([c for c, _ in stated], [name for _, name in stated], k) if stated else None
    if offsets is None and not first._own_ids and len(results) > 1:
        raise ValueError(
            "results: their vectors have no ids, and each set counts its own rows; offsets says where each begins"
        )
    if offsets is not None:
        if len(offsets) != len(results):
            raise ValueError(f"offsets: {len(offsets)} for {len(results)} results")
        for r, name, given in zip(results, names, offsets, strict=True):
            at = whole(given, "offsets", 0)
            rows = r.rows[~np.isnan(r.scores64)]
            if (rows < 0).any():
                raise ValueError(f"offsets: {name} has no row numbers that one could be added to")
            if (last := int(rows.max(initial=0))) + at >= 2**63:
                raise ValueError(f"offsets: row {last} of {name} and offset {at} exceed the numbers of rows")
    return k, covers if len(stated) == len(results) else None


def _check_alike(results: list[Result | RangeResult], names: list[str]) -> None:
    """Refuse results whose answers could not stand beside each other, whatever they cover."""
    first = results[0]
    for r, name in zip(results[1:], names[1:], strict=True):
        for what, a, b in (("the number of queries", len(first), len(r)), ("metric", first.metric, r.metric)):
            if a != b:
                raise ValueError(f"results: {what} differs, {a} of {names[0]} and {b} of {name}")
        if first.query_ids is not None and r.query_ids is not None and not np.array_equal(first.query_ids, r.query_ids):
            raise ValueError(f"results: query_ids of {names[0]} and of {name} differ")
        if first._own_ids != r._own_ids:
            raise ValueError(f"results: only one of {names[0]} and {name} has ids; the other has row numbers")
        if isinstance(first, RangeResult) != isinstance(r, RangeResult):
            every, best = (names[0], name) if isinstance(first, RangeResult) else (name, names[0])
            raise ValueError(f"results: {every} has all vectors that reach a score, and {best} no more than k")


class _Found(NamedTuple):
    """The vectors of answers, one after another."""

    queries: npt.NDArray[np.intp]  # their queries
    ids: npt.NDArray[Any]
    rows: npt.NDArray[np.int64]  # among all, -1 if unknown
    scores64: npt.NDArray[np.float64]
    names: npt.NDArray[Any]  # ids, or with offsets rows


def _taken(found: _Found, which: npt.NDArray[np.intp]) -> _Found:
    return _Found(*(np.take(column, which) for column in found))


def _joined(results: list[Result | RangeResult], offsets: Sequence[int] | None) -> _Found:
    """Return the vectors of all results."""
    there = [~np.isnan(r.scores64) for r in results]
    owners = np.concatenate([np.repeat(np.arange(len(r)), r.counts) for r in results])
    scores64 = np.concatenate([r.scores64[some] for r, some in zip(results, there, strict=True)])
    rows = np.full(len(owners), -1)
    if offsets is not None:
        rows = np.concatenate([r.rows[some] + at for r, some, at in zip(results, there, offsets, strict=True)])
    if offsets is not None and not results[0]._own_ids:
        return _Found(owners, rows, rows, scores64, rows)
    ids = [r.ids[some] for r, some in zip(results, there, strict=True)]
    if any(x.dtype.kind == "U" for x in ids):
        ids = [x.astype(str) for x in ids]
    joined = joined_ids(ids, "results")
    return _Found(owners, joined, rows, scores64, joined if offsets is None else rows)


def _narrow(ids: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return ids as int64 if all fit."""
    if ids.dtype.kind != "u" or ((ids >= 2**63) & (ids != NONE)).any():
        return ids
    return ids.astype(np.int64)


def _order(metric: str, found: _Found) -> npt.NDArray[np.intp]:
    """Return where the vectors are in the order of the queries, best first."""
    key = found.scores64 if metric == "l2" else -found.scores64
    if found.names.dtype.kind != "U":
        return np.asarray(np.lexsort((found.names, key, found.queries)))
    order = np.lexsort((key, found.queries))
    same = (np.diff(key[order]) == 0) & (np.diff(found.queries[order]) == 0)
    tied = np.zeros(len(order), bool)
    tied[:-1] |= same
    tied[1:] |= same
    where = order[tied]
    names, of = np.unique(found.names[where], return_inverse=True)
    ranks = np.empty(len(names), np.intp)
    ranks[sorted(range(len(names)), key=lambda i: _rank_of(str(names[i])))] = np.arange(len(names))
    ties = np.zeros(len(order), np.intp)
    ties[where] = ranks[of]
    return np.asarray(np.lexsort((ties, key, found.queries)))


def _rank_of(name: str) -> tuple[int, int, str]:
    """Return what orders ids as ``tasks.Merge`` does: whole numbers by value, then texts by their bytes.

    Python compares code points, whose order is that of the bytes of UTF-8.
    """
    digits = len(name) <= len(str(NONE)) and name.isascii() and name.isdigit()
    if digits and (name == "0" or name[0] != "0") and int(name) <= NONE:
        return 0, int(name), ""
    return 1, 0, name


def _refuse_twice(found: _Found) -> None:
    """Refuse answers that have a vector twice."""
    order = np.lexsort((found.names, found.queries))
    ties, owners = found.names[order], found.queries[order]
    twice = np.flatnonzero((ties[1:] == ties[:-1]) & (owners[1:] == owners[:-1]))
    if len(twice) > 0:
        which, query = ties[twice[0]].item(), owners[twice[0]]
        raise ValueError(f"results: vector {which!r} is twice among the answers to query {query}; the sets overlap")


def _certified(results: list[Result | RangeResult], k: int) -> tuple[npt.NDArray[Any], dict[str, list[str]]]:
    """Return the merged certificates, as records, and the names that they number."""
    first = results[0]
    tables = [r.certificates for r in results]
    names = {name: list(known) for name, known in first._names.items()}
    names["plan"] = ["merged"]
    records = np.zeros(len(first), first._records.dtype)
    stack = {name: np.stack([t[name] for t in tables]) for name in tables[0].dtype.names or ()}

    def _worst(name: str, order: Sequence[str]) -> npt.NDArray[np.str_]:
        rank = np.stack([np.array([order.index(v) for v in row.tolist()], np.intp).reshape(-1) for row in stack[name]])
        return np.asarray(np.array(order)[rank.max(axis=0)])

    guarantee, stopped = _worst("guarantee", _GUARANTEES), _worst("stopped_by", _STOPS)
    delta, law = _delta(stack["method"], stack["delta"]), _worst("law", _LAWS)
    if len(results) > 1:
        guarantee[np.isnan(delta)] = "heuristic"
        for r in results:
            if r._rounded:  # which vector is better is not known of equal scores
                guarantee[r.counts > 0] = "heuristic"
    delta[np.isin(guarantee, ("exact", "certain", "heuristic"))] = 0
    law[delta == 0] = ""
    same = (stack["method"] == stack["method"][0]).all(axis=0)
    words = {
        "method": np.where(same, stack["method"][0], "auto"),
        "guarantee": guarantee,
        "law": law,
        "stopped_by": stopped,
        "plan": np.full(len(first), "merged"),
        "backend": stack["backend"][0],
    }
    for name, values in words.items():
        if name in records.dtype.names:
            records[name] = _numbered(values, names.setdefault(name, []))
    records["delta"] = delta
    for name in ("pulls", "dense_pulls", "bytes", "rows_scored"):
        records[name] = stack[name].sum(axis=0)
    for name in ("epsilon", "vectors_change", "query_change"):
        records[name] = stack[name].max(axis=0)
    records["exact"] = stack["exact"].all(axis=0)
    records["threshold_before"] = stack["threshold_before"].any(axis=0)
    records["dense"] = stack["dense"].any(axis=0)
    records["threshold"] = np.nan
    records["candidates_given"] = records["candidates_right"] = -1
    records["open_bound"] = _open_bound(results, stack["open_bound"], stack["epsilon"], k)
    return records, names


def _numbered(values: npt.NDArray[np.str_], known: list[str]) -> npt.NDArray[np.int64]:
    """Return the numbers of names, -1 for none, and add those that are not known yet."""
    numbers = []
    for value in values.tolist():
        if value and value not in known:
            known.append(value)
        numbers.append(known.index(value) if value else -1)
    return np.array(numbers, np.int64)


def _delta(methods: npt.NDArray[np.str_], deltas: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the failure probabilities of merged answers, NaN where nothing is promised."""
    shared = (np.isin(methods, _SHARED) & (deltas > 0)).any(axis=0)
    added = (np.isin(methods, _ADDED) & (deltas > 0)).any(axis=0)
    if (shared & added).any():
        raise ValueError("results: what elimination and a published method allow to fail does not combine")
    up = np.where((deltas > 0).sum(axis=0) > 1, np.ceil(deltas * 2.0**53) / 2.0**53, deltas)
    merged = np.where(added, up.sum(axis=0), deltas.max(axis=0))
    unfounded = (~np.isin(methods, _SHARED + _ADDED + _SURE) & (deltas > 0)).any(axis=0)
    merged[unfounded | (merged >= 1)] = np.nan
    return np.asarray(merged)


def _open_bound(
    results: list[Result | RangeResult], bounds: npt.NDArray[np.float64], epsilons: npt.NDArray[np.float64], k: int
) -> npt.NDArray[np.float64]:
    """Return what no vector exceeds that was left out by a search that was stopped, NaN for none.

    The last score of an answer of fewer than k vectors counts, too: it may not be the last of the merged answer.
    """
    raised = bounds.copy()
    for i, r in enumerate(results):
        count = r.counts
        short = ~np.isnan(bounds[i]) & (count > 0) & ((k == 0) | (count < k))
        last = np.full(len(count), np.nan)
        ends = np.nonzero(short)[0], count[short] - 1
        last[short] = r.scores64[ends] if isinstance(r, Result) else r.scores64[r.lims[1:][short] - 1]
        half = 0.5 if r.metric == "l2" else 1.0
        search = (-half * last if r.metric == "l2" else last) + half * epsilons[i]
        raised[i, short] = np.maximum(bounds[i, short], search[short])
    return np.asarray(np.fmax.reduce(raised, axis=0))


def _promise(records: npt.NDArray[Any], names: dict[str, list[str]]) -> str:
    """Return the guarantees, the most frequent first."""
    counted = Counter(np.array(names["guarantee"])[records["guarantee"]].tolist())
    return ", ".join(g if n == len(records) else f"{g} ({n} of {len(records)})" for g, n in counted.most_common())
