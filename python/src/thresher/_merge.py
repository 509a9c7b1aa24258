"""Answers over disjoint sets of vectors, merged into answers over all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from thresher._arguments import whole
from thresher._ids import NONE
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


def merge(results: Sequence[Result], k: int | None = None, *, offsets: Sequence[int] | None = None) -> Result:
    """Merge the answers to the same queries over disjoint sets of vectors.

    Each set was searched by itself, with the same queries, metric, k, limits and exclusions. By the methods
    ``exact`` and ``certain`` the merged answers are those of one search of all vectors. Results can be
    merged in any order, at once or in several steps.

    Parameters
    ----------
    results : sequence of Result
        Of `Index.search` or `knn`.
    k : int, optional
        How many vectors each query gets, at most the k of the results, which is the default.
    offsets : sequence of int, optional
        The number that the first vector of each set has among all. Vectors without ids need it, since each
        set counts its own rows.

    Returns
    -------
    Result
        Of each query the k best of all results by ``scores64``; equal scores are in the order of the rows
        with `offsets`, else in that of the ids: integers by value, strings by their bytes. The guarantee is
        the worst, work is added, the greatest open bound counts, and an answer is complete if all are.

    Raises
    ------
    ValueError
        If the results differ in metric, k or number of queries, or have a vector in common.

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
    results = list(results)
    k = _checked(results, k, offsets)
    if len(results) == 1 and offsets is None and k == results[0].scores64.shape[1]:
        return results[0]
    ids, rows, scores64 = _joined(results, offsets)
    found = ~np.isnan(scores64)
    order = _order(results[0].metric, scores64, found, ids if offsets is None else rows)
    kept = order[:, :k]
    _refuse_twice(ids if offsets is None else rows, found)

    def take(table: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.asarray(np.take_along_axis(table, kept, axis=1))

    records, names = _certified(results, k)
    dense = sum(int(r.certificates["dense_pulls"].sum()) for r in results)
    pulls = int(records["pulls"].sum())
    query_ids = next((r.query_ids for r in results if r.query_ids is not None), None)
    return Result(
        _narrow(take(ids)),
        rows=take(rows),
        scores64=take(scores64),
        query_ids=query_ids,
        took=sum(r.took for r in results),
        saving=dense / pulls if pulls else 1.0,
        warnings=tuple(dict.fromkeys(w for r in results for w in r.warnings)),
        metric=results[0].metric,
        _records=records,
        _names=names,
        _promise=_promise(records, names),
        _own_ids=results[0]._own_ids,
    )


def _checked(results: list[Result], k: int | None, offsets: Sequence[int] | None) -> int:
    """Check that results belong together, and return how many vectors each query gets."""
    if not results:
        raise ValueError("results: none to merge")
    for i, r in enumerate(results):
        if not isinstance(r, Result):
            raise TypeError(f"results: result {i} is {type(r).__name__}, not Result")
    first = results[0]
    for i, r in enumerate(results[1:], 1):
        for what, a, b in (
            ("queries", len(first), len(r)),
            ("metric", first.metric, r.metric),
            ("k", first.scores64.shape[1], r.scores64.shape[1]),
        ):
            if a != b:
                raise ValueError(f"results: {what} differs, {a} of result 0 and {b} of result {i}")
        if first.query_ids is not None and r.query_ids is not None and not np.array_equal(first.query_ids, r.query_ids):
            raise ValueError(f"results: query_ids of result 0 and of result {i} differ")
        if first._own_ids != r._own_ids:
            raise ValueError(f"results: only one of result 0 and result {i} has ids; the other has row numbers")
        if (first.ids.dtype.kind == "U") != (r.ids.dtype.kind == "U"):
            raise TypeError(f"results: ids are {first.ids.dtype} in result 0 and {r.ids.dtype} in result {i}")
    width = int(first.scores64.shape[1])
    if offsets is None and not first._own_ids and len(results) > 1:
        raise ValueError(
            "results: their vectors have no ids, and each set counts its own rows; offsets says where each begins"
        )
    if offsets is not None:
        if len(offsets) != len(results):
            raise ValueError(f"offsets: {len(offsets)} for {len(results)} results")
        for at in offsets:
            whole(at, "offsets", 0)
    k = width if k is None else whole(k, "k")
    if not 1 <= k <= width:
        raise ValueError(f"k: {k}, expected 1 to {width}, the k of the results")
    return k


def _joined(
    results: list[Result], offsets: Sequence[int] | None
) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return ids, rows and scores of all results beside each other."""
    scores64 = np.concatenate([r.scores64 for r in results], axis=1)
    if offsets is None:
        rows = np.full(scores64.shape, -1, np.int64)
    else:
        at = np.concatenate([np.full(r.rows.shape[1], o, np.int64) for r, o in zip(results, offsets, strict=True)])
        own = np.concatenate([r.rows for r in results], axis=1)
        rows = np.where(own < 0, -1, own + at)
    if not results[0]._own_ids and offsets is not None:
        return rows, rows, scores64
    if any(r.ids.dtype.kind == "u" for r in results):  # numpy makes floats of int64 and uint64
        return np.concatenate([r.ids.astype(np.uint64) for r in results], axis=1), rows, scores64
    return np.concatenate([r.ids for r in results], axis=1), rows, scores64


def _narrow(ids: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return ids as int64 if all fit."""
    if ids.dtype.kind != "u" or ((ids >= 2**63) & (ids != NONE)).any():
        return ids
    return ids.astype(np.int64)


def _order(
    metric: str, scores64: npt.NDArray[np.float64], found: npt.NDArray[np.bool_], ties: npt.NDArray[Any]
) -> npt.NDArray[np.intp]:
    """Return the columns of each row, best first."""
    if ties.dtype.kind == "U":  # numpy compares code points, whose order is that of the bytes of UTF-8
        ties = np.unique(ties, return_inverse=True)[1].reshape(ties.shape)
    key = np.where(found, scores64 if metric == "l2" else -scores64, np.inf)
    return np.asarray(np.lexsort((ties, key, ~found), axis=1))


def _refuse_twice(ids: npt.NDArray[Any], found: npt.NDArray[np.bool_]) -> None:
    """Refuse answers that have a vector twice."""
    if ids.shape[1] < 2:
        return
    order = np.lexsort((ids, ~found), axis=1)
    ordered, there = np.take_along_axis(ids, order, axis=1), np.take_along_axis(found, order, axis=1)
    twice = (ordered[:, 1:] == ordered[:, :-1]) & there[:, 1:]
    if twice.any():
        query, column = np.argwhere(twice)[0]
        which = ordered[query, column].item()
        raise ValueError(f"results: vector {which!r} is twice among the answers to query {query}; the sets overlap")


def _certified(results: list[Result], k: int) -> tuple[npt.NDArray[Any], dict[str, list[str]]]:
    """Return the merged certificates, as records, and the names that they number."""
    first = results[0]
    tables = [r.certificates for r in results]
    names = {name: list(known) for name, known in first._names.items()}
    names["plan"] = ["merged"]
    records = np.zeros(len(first), first._records.dtype)
    stack = {name: np.stack([t[name] for t in tables]) for name in tables[0].dtype.names or ()}

    def worst(name: str, order: Sequence[str]) -> npt.NDArray[np.str_]:
        rank = np.stack([np.array([order.index(v) for v in row.tolist()], np.intp).reshape(-1) for row in stack[name]])
        return np.asarray(np.array(order)[rank.max(axis=0)])

    guarantee, stopped = worst("guarantee", _GUARANTEES), worst("stopped_by", _STOPS)
    delta, law = _delta(stack["method"], stack["delta"]), worst("law", _LAWS)
    if len(results) > 1:
        guarantee[np.isnan(delta)] = "heuristic"
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
    results: list[Result], bounds: npt.NDArray[np.float64], epsilons: npt.NDArray[np.float64], k: int
) -> npt.NDArray[np.float64]:
    """Return what no vector exceeds that was left out by a search that was stopped, NaN for none.

    The last score of an answer of fewer than k vectors counts, too: it may not be the last of the merged answer.
    """
    raised = bounds.copy()
    for i, r in enumerate(results):
        count = np.count_nonzero(~np.isnan(r.scores64), axis=1)
        short = ~np.isnan(bounds[i]) & (count > 0) & (count < k)
        last = r.scores64[np.arange(len(count)), np.maximum(count, 1) - 1]
        half = 0.5 if r.metric == "l2" else 1.0
        search = (-half * last if r.metric == "l2" else last) + half * epsilons[i]
        raised[i, short] = np.maximum(bounds[i, short], search[short])
    return np.asarray(np.fmax.reduce(raised, axis=0))


def _promise(records: npt.NDArray[Any], names: dict[str, list[str]]) -> str:
    """Return the guarantees, the most frequent first."""
    counted = Counter(np.array(names["guarantee"])[records["guarantee"]].tolist())
    return ", ".join(g if n == len(records) else f"{g} ({n} of {len(records)})" for g, n in counted.most_common())
