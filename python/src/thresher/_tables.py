"""Tables joined by their vectors: each row of one with the nearest rows of another, among those with equal keys."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from thresher import _arrays, _worker
from thresher._arguments import (
    Deadline,
    Method,
    Metric,
    explained,
    metric_name,
    number,
    probability,
    renamed,
    seconds,
    whole,
)
from thresher._arguments import text as as_text
from thresher._frames import RANK, SCORE, Columns, Table, table
from thresher._limits import limits
from thresher._progress import Progress, reporting

__all__ = ["join"]

log = logging.getLogger("thresher")

Rows = npt.NDArray[np.int64]


def join(
    left: Any,
    right: Any,
    on: str | Sequence[str] | None = None,
    k: int | None = None,
    metric: Metric | None = None,
    by: str | Sequence[str] | None = None,
    *,
    left_on: str | Sequence[str] | None = None,
    right_on: str | Sequence[str] | None = None,
    how: Literal["inner", "left"] = "inner",
    min_score: float | None = None,
    max_score: float | None = None,
    max_distance: float | None = None,
    min_distance: float | None = None,
    method: Method = "certain",
    delta: float = 0.01,
    seed: int | None = None,
    threads: int | None = None,
    progress: Progress = None,
    deadline: Deadline = None,
) -> Any:
    """Join each row of a table with the k nearest rows of another, among those with equal keys.

    Parameters
    ----------
    left, right : DataFrame of pandas or polars, or Table of pyarrow
        Both of one package.
    on : str or list of str
        The column of vectors in both tables, or columns with a coordinate each, by name or by a pattern such as
        ``d[0-9]*``. `left_on` and `right_on` are in its
        place where the names differ.
    k : int, optional
        With how many rows of the right table one of the left is joined at most: 10, or with a least score
        any number.
    metric : str
        As in `Index`.
    by : str or list of str, optional
        Columns that must be equal, of integers, texts, bools, dates or timestamps; of one type in both tables.
        null equals nothing, as in SQL.
    how : {"inner", "left"}
        ``left`` keeps rows of the left table that join with none, once, without values of the right.
    min_score, max_score : float, optional
        The least and the greatest score of a pair.
    max_distance, min_distance : float, optional
        For ``l2``, in place of these: the greatest and the least squared distance.
    method, delta
        By ``certain``, the default, nothing is wrong; by ``adaptive`` what a row is joined with is wrong with
        probability at most delta. Also ``auto`` and ``exact``.
    seed, threads, progress, deadline
        As in `Index` and `Index.search`. After the deadline there is no result.

    Returns
    -------
    DataFrame or Table, as left and right
        A row for each pair, in the order of the left table and then of ``rank``: the columns of the left table, those
        of the right one, ``rank`` from 1, and ``score`` in float64 (``l2``: the squared distance). The columns
        that make the vectors are left out; those of `by` are there once. A column of the right table called as one of
        the left gets ``_right`` behind its name; one called rank or score gets ``_left`` or ``_right``. pandas'
        ``attrs["thresher_join"]`` and the metadata of pyarrow say what is guaranteed.

    Raises
    ------
    ValueError, TypeError
        If an argument is wrong; the message names it, the column and the row.

    Examples
    --------
    >>> import pandas as pd, thresher
    >>> users = pd.DataFrame({"user": ["a", "b"], "lang": ["de", "fr"], "v": [[1.0, 0.0], [0.0, 1.0]]})
    >>> items = pd.DataFrame({"item": [1, 2, 3], "lang": ["de", "de", "fr"], "v": [[0.5, 0.1], [0.9, 0.1], [1.0, 0.0]]})
    >>> thresher.join(users, items, on="v", k=1, metric="ip", by="lang")[["user", "item", "score"]]
      user  item  score
    0    a     2    0.9
    1    b     3    0.0
    """
    a, b = table(left, "left"), table(right, "right")
    if a.kind is not b.kind:
        raise TypeError(f"right: a table of {b.kind.name}, and left is one of {a.kind.name}; both are of one package")
    if how not in ("inner", "left"):
        raise ValueError(f"how: {how!r} is neither 'inner' nor 'left'")
    if on is not None and (left_on is not None or right_on is not None):
        raise ValueError("on: left_on or right_on is given, too; on names the vectors of both tables")
    a.vectors = a.named(left_on if on is None else on, "on" if on is not None else "left_on")
    b.vectors = b.named(right_on if on is None else on, "on" if on is not None else "right_on")
    keys = [] if by is None else a.named(by, "by")
    b.named(keys, "by", empty=True)
    space = metric_name(metric)
    given = {"min_score": min_score, "max_score": max_score, "max_distance": max_distance, "min_distance": min_distance}
    for name, value in given.items():
        if value is not None and not np.isfinite(number(value, name)):
            raise ValueError(f"{name}: {value:g} is not finite")
    within = limits(
        space, 1, min_score=min_score, max_score=max_score, max_distance=max_distance, min_distance=min_distance
    )
    ends = {"floors": "min_score", "ceilings": "max_score"}
    reaching = {ends[name]: float(value[0]) for name, value in within.arrays.items() if not np.isnan(value[0])}
    request: dict[str, Any] = {
        "metric": space,
        "k": (0 if "min_score" in reaching else 10) if k is None else whole(k, "k"),
        "method": as_text(method, "method"),
        "delta": probability(delta, "delta"),
        **reaching,
    }
    if seed is not None:
        request["seed"] = whole(seed, "seed", 0)
    if threads is not None:
        request["threads"] = whole(threads, "threads")
    columns = _columns(a, b, keys)
    lims, rows, scores, summary = _matches(a, b, keys, request, within.names, progress, seconds(deadline))
    found = np.diff(lims)
    wanted = np.maximum(found, 1) if how == "left" else found
    from_left = np.repeat(np.arange(len(found)), wanted)
    first = np.repeat(np.cumsum(wanted) - wanted, wanted)
    rank = np.arange(len(from_left)) - first + 1
    from_right, alone = rows, found[from_left] == 0
    if alone.any():
        from_right, own = np.full(len(from_left), -1), scores
        from_right[~alone] = rows
        scores = np.zeros(len(from_left))
        scores[~alone] = own
    return a.kind.joined(a, b, columns, from_left, from_right, rank, scores, alone, summary)


def _columns(a: Table, b: Table, keys: list[str]) -> Columns:
    taken = {RANK, SCORE}
    left: dict[str, str] = {}
    right: dict[str, str] = {}
    for name in a.names:
        if name not in a.vectors:
            left[name] = f"{name}_left" if name in taken else name
            if left[name] in taken:
                raise ValueError(f"left: two columns of the result are called {left[name]!r}; rename one")
            taken.add(left[name])
    for name in b.names:
        if name not in b.vectors and name not in keys:
            right[name] = f"{name}_right" if name in taken else name
            if right[name] in taken:
                raise ValueError(f"right: two columns of the result are called {right[name]!r}; rename one")
            taken.add(right[name])
    return Columns(left, right)


def _matches(
    a: Table,
    b: Table,
    by: list[str],
    request: dict[str, Any],
    names: dict[str, str],
    progress: Progress,
    deadline: float | None,
) -> tuple[Rows, Rows, npt.NDArray[np.float64], dict[str, Any]]:
    """Return lims, the rows of the right table, their scores, and what is guaranteed."""
    groups = _groups(a, b, by)
    if a.count == 0 or b.count == 0:
        return np.zeros(a.count + 1, np.int64), np.empty(0, np.int64), np.empty(0), _nothing(a.count, request)
    right = _arrays.given(b.values(), b.called, centre=request["metric"] == "l2", keep=True)
    left = _arrays.given(a.values(), a.called, right.rows.shape[1], origin=right.origin)
    if right.values:
        request["rounded"] = {"values": right.values, "largest": right.largest}
    arrays = {"vectors": right.rows, **left.queries}
    if groups is not None:
        arrays["left_groups"], arrays["right_groups"] = groups
    with reporting(progress) as report, renamed(**{"vectors": b.called, "queries": a.called, **names}), explained():
        try:
            summary, out = _worker.get().call("join", request, arrays, progress=report, deadline=deadline)
        except _worker.WorkerDied as e:
            log.warning("join is repeated, because the worker died: %s", e)
            summary, out = _worker.get().call("join", request, arrays, progress=report, deadline=deadline)
    return out["lims"], out["rows"], out["scores64"], summary


def _nothing(rows: int, request: dict[str, Any]) -> dict[str, Any]:
    """Return what the worker says of a join in which no row has a partner."""
    return {
        "rows": rows,
        **dict.fromkeys(("matched", "pairs", "groups"), 0),
        **{name: request[name] for name in ("k", "metric")},
        **{"method": "exact", "guarantee": "exact", "promise": "exact: none wrong", "delta": request["delta"]},
        **{"search_seconds": 0.0, "pulls": 0, "saving": 1, "bytes_read": 0, "rows_scored": 0},
    }


def _groups(a: Table, b: Table, keys: list[str]) -> tuple[Rows, Rows] | None:
    """Return the number of each row's key, -1 for none; None without keys."""
    groups: Rows | None = None
    for name in keys:
        x, y = a.type_of(name), b.type_of(name)
        for kind, side in ((x, "left"), (y, "right")):
            if kind is not None and kind.startswith("!"):
                raise TypeError(
                    f"by: column {name!r} is {kind[1:]} in the {side} table; keys are integers, texts, bools, dates or "
                    "timestamps"
                )
        if x != y and x is not None and y is not None:
            raise TypeError(f"by: column {name!r} is {x} in the left table and {y} in the right; give both one type")
        nothing = x is None or y is None  # all of one table is null
        codes = np.full(a.count + b.count, -1)
        if not nothing:
            try:
                codes = a.kind.codes(a.frame, b.frame, name, x or "")
            except MemoryError:
                raise
            except Exception as e:  # of the package of the tables, which names neither argument nor column
                raise ValueError(f"by: values of column {name!r} cannot be compared as {x}: {e}") from e
        if groups is None:
            groups = codes
            continue
        none = (groups < 0) | (codes < 0)
        _, groups = np.unique(groups * (codes.max(initial=0) + 1) + codes, return_inverse=True)
        groups = groups.astype(np.int64)
        groups[none] = -1
    if groups is None:
        return None
    return np.ascontiguousarray(groups[: a.count], np.int64), np.ascontiguousarray(groups[a.count :], np.int64)
