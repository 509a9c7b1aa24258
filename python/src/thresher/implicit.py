"""The k best items of users, for implicit: its ``topk`` of factors.

Examples
--------
>>> from thresher.implicit import recommend, topk
>>> ids, scores = topk(model.item_factors, model.user_factors, 10, filter_query_items=user_items)  # doctest: +SKIP
>>> ids, scores = recommend(model, user_ids, user_items[user_ids], N=10)  # doctest: +SKIP
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from thresher import _arrays, _forms
from thresher._arguments import Device, Method
from thresher._arrays import Lists, Vectors
from thresher._index import Index
from thresher._knn import once

__all__ = ["recommend", "topk"]

NOTHING = -np.finfo(np.float32).max  # the score that implicit gives where there is no item


def topk(
    items: Vectors,
    query: Vectors,
    k: int,
    item_norms: npt.ArrayLike | None = None,
    filter_query_items: Lists | None = None,
    filter_items: npt.ArrayLike | None = None,
    num_threads: int = 0,
    *,
    method: Method = "auto",
    delta: float = 0.01,
    device: Device = "auto",
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """Return the k items with the largest products, as ``implicit.cpu.topk.topk`` does.

    Parameters
    ----------
    items : array (n, f), or Index
        Factors of items; an Index that is used again saves building.
    query : array (m, f) or (f,)
        Factors of users, or of items.
    k : int
        How many.
    item_norms : array (n,), optional
        What scores are divided by; not with an Index.
    filter_query_items : CSR matrix (m, any), optional
        The items that each user has seen and does not get: a matrix of any width, without items that are not there.
    filter_items : sequence of int, optional
        Items that nobody gets.
    num_threads : int
        Of implicit; thresher uses all cores.
    method, delta, device
        As in `thresher.Index.search`.

    Returns
    -------
    ids : ndarray of int32 (m, k)
        Best first; -1 where there are fewer items left, where implicit has some that were refused.
    scores : ndarray of float32 (m, k)
        -3.4e38 where there are fewer.

    Raises
    ------
    IndexError
        If a user has seen an item that is not there.
    """
    if isinstance(items, Index) and item_norms is not None:
        raise ValueError("item_norms: with an Index; build it from items / item_norms")
    rows = items if isinstance(items, Index) else _divided(items, item_norms)
    return _best(rows, query, k, filter_query_items, filter_items, None, method, delta, device)


def _best(
    items: Index | npt.NDArray[Any],
    query: Vectors,
    k: int,
    seen: Lists | None,
    refused: npt.ArrayLike | None,
    allowed: npt.NDArray[np.bool_] | None,
    method: Method,
    delta: float,
    device: Device,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """Return the k best items: none of those refused, and, of those seen, none that the query has."""
    own = not isinstance(items, Index)
    index = (
        items if isinstance(items, Index) else Index(items, metric="ip", device=device, _once=once(query, k, method))
    )
    try:
        if refused is not None:
            _forms.refuse_lists(refused, "filter_items")
            allowed = np.ones(len(index), bool)
            allowed[index._rows_of(refused if np.ndim(refused) else [refused], "filter_items")] = False
        result = index.search(query, k, method=method, delta=delta, exclude=_seen(seen, len(index)), filter=allowed)
        scores = np.where(result.rows < 0, np.float32(NOTHING), result.scores)
        return result.rows.astype(np.int32), scores
    finally:
        if own:
            index.close()


def _seen(items: Lists | None, n: int) -> Lists | None:
    """Return which of n items users have seen.

    implicit takes all that a matrix stores, zeros too, and matrices of any width without other items.
    """
    if items is None or not hasattr(items, "tocsr"):
        return items
    csr = items.tocsr(copy=True)
    if csr.shape[1] > n and (csr.indices >= n).any():
        at = int(np.argmax(csr.indices >= n))
        row = int(np.searchsorted(csr.indptr, at, side="right")) - 1
        raise IndexError(f"filter_query_items: row {row}: item {csr.indices[at]} is not among the {n} items")
    csr.data[:] = 1
    csr.resize(csr.shape[0], n)
    return csr


def _divided(items: Vectors, norms: npt.ArrayLike | None) -> npt.NDArray[Any]:
    rows = _arrays.table(items, "items")
    if norms is None:
        return rows
    each = np.asarray(norms, np.float32)
    if each.shape != (len(rows),):
        raise ValueError(f"item_norms: shape {each.shape}, expected ({len(rows)},), one for each item")
    return np.asarray(rows / each[:, np.newaxis])


def recommend(
    model: Any,
    userid: Any,
    user_items: Any,
    N: int = 10,
    filter_already_liked_items: bool = True,
    filter_items: npt.ArrayLike | None = None,
    recalculate_user: bool = False,
    items: npt.ArrayLike | None = None,
    *,
    index: Index | None = None,
    method: Method = "auto",
    delta: float = 0.01,
    device: Device = "auto",
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """Return the N best items of users, as ``model.recommend`` of implicit does.

    Parameters
    ----------
    model : implicit.cpu.matrix_factorization_base.MatrixFactorizationBase
        Fitted, on the CPU: `item_factors` and `user_factors` are numpy arrays.
    userid : int or array (m,)
        Rows of the user factors.
    user_items : CSR matrix (m, any)
        What these users have seen, a row for each.
    N, filter_already_liked_items, filter_items
        As in implicit; but -1 among `filter_items`, by which implicit leaves out the last item, is refused.
    recalculate_user : bool
        Take the factors that the model computes from `user_items`, for new users or those with new items.
    items : sequence of int, optional
        The only items that may be recommended, all different; not with `filter_items`. At most so many are returned,
        and those that a user has seen come last, with score -3.4e38.
    index : Index, optional
        Of the item factors, for calls in a row.
    method, delta, device
        As in `thresher.Index.search`.

    Returns
    -------
    ids : ndarray of int32 (m, N), or (N,) for one user
        -1 where there are fewer items left and ``items`` are not given.
    scores : ndarray of float32, of the same shape

    Raises
    ------
    ValueError
        If an argument is wrong; the message names it.
    IndexError
        If one of items, or one that a user has seen, is not in the model.
    """
    one = np.ndim(userid) == 0
    users = 1 if one else len(userid)
    if filter_already_liked_items or recalculate_user:
        if getattr(user_items, "format", None) != "csr":
            raise ValueError("user_items: a CSR matrix is needed, with a row for each user")
        if user_items.shape[0] != users:
            raise ValueError(f"user_items: {user_items.shape[0]} rows for {users} users")
    factors = model.recalculate_user(userid, user_items) if recalculate_user else model.user_factors[userid]
    rows = _divided(model.item_factors, None) if index is None else index
    allowed = None
    if items is not None:
        if filter_items is not None and np.size(filter_items):
            raise ValueError("filter_items: items is given, too, which are all that may be recommended")
        allowed = _among(items, len(rows))
        N = min(N, int(np.count_nonzero(allowed)))
        filter_items = None
    seen = user_items if filter_already_liked_items else None
    ids, scores = _best(rows, factors, N, seen, filter_items, allowed, method, delta, device)
    if items is not None:  # implicit ranks all of items: those that a user has seen come last
        first = _first(items, N)
        for j in np.flatnonzero((ids < 0).any(axis=1)):
            lacking = ids[j] < 0
            rest = first[~np.isin(first, ids[j])][::-1]
            ids[j, lacking] = rest[: np.count_nonzero(lacking)]
    return (ids[0], scores[0]) if one else (ids, scores)


def _first(items: npt.ArrayLike, count: int) -> npt.NDArray[Any]:
    """Return the least items named, of which implicit shows those that a user has seen where others are too few.

    It keeps the best in a heap, which others enter only by a better score, and of equal ones the first leave first.
    """
    return np.unique(np.asarray(items))[:count]


def _among(items: npt.ArrayLike, n: int) -> npt.NDArray[np.bool_]:
    """Return which of n items are named."""
    named = np.asarray(items)
    if named.ndim != 1 or named.size == 0 or named.dtype.kind not in "iu":
        raise ValueError(f"items: {named.dtype} of shape {named.shape}, expected a list of one or more item numbers")
    outside = (named < 0) | (named >= n)
    if outside.any():
        raise IndexError(f"items: {named[outside][0]} is not in the model, which has {n} items")
    allowed = np.zeros(n, bool)
    allowed[named] = True
    return allowed
