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
    filter_query_items : CSR matrix (m, n), optional
        The items that each user has seen and does not get.
    filter_items : sequence of int, optional
        Items that nobody gets.
    num_threads : int
        Of implicit; thresher uses all cores.
    method, delta, device
        As in `thresher.Index.search`.

    Returns
    -------
    ids : ndarray of int32 (m, k)
        Best first; -1 where there are fewer items left.
    scores : ndarray of float32 (m, k)
        -3.4e38 where there are fewer.
    """
    return _topk(items, query, k, item_norms, filter_query_items, filter_items, None, method, delta, device)


def _topk(
    items: Vectors,
    query: Vectors,
    k: int,
    item_norms: npt.ArrayLike | None,
    filter_query_items: Lists | None,
    filter_items: npt.ArrayLike | None,
    only: npt.NDArray[np.int64] | None,
    method: Method,
    delta: float,
    device: Device,
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
    """Do what `topk` does, with the rows of the only items that may be returned, None for all."""
    own = not isinstance(items, Index)
    if not own and item_norms is not None:
        raise ValueError("item_norms: with an Index; build it from items / item_norms")
    wanted = once(query, k, method)
    index = items if not own else Index(_divided(items, item_norms), metric="ip", device=device, _once=wanted)
    try:
        allowed = None
        if filter_items is not None:
            _forms.refuse_lists(filter_items, "filter_items")
            allowed = np.ones(len(index), bool)
            allowed[index._rows_of(filter_items if np.ndim(filter_items) else [filter_items], "filter_items")] = False
        if only is not None:
            allowed = np.zeros(len(index), bool)
            allowed[index._rows_of(only, "items")] = True
        result = index.search(query, k, method=method, delta=delta, exclude=_seen(filter_query_items), filter=allowed)
        scores = np.where(result.rows < 0, np.float32(NOTHING), result.scores)
        return result.rows.astype(np.int32), scores
    finally:
        if own:
            index.close()


def _seen(items: Lists | None) -> Lists | None:
    """Return the items that users have seen; implicit takes all that a matrix stores, zeros too."""
    if items is None or not hasattr(items, "tocsr"):
        return items
    csr = items.tocsr(copy=True)
    csr.data[:] = 1
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
    user_items : CSR matrix (m, n)
        What these users have seen, a row for each.
    N, filter_already_liked_items, filter_items
        As in implicit.
    recalculate_user : bool
        Whether the model computes the factors of the users of what they have seen.
    items : sequence of int, optional
        The only items that anybody gets, in place of filter_items; N is at most as many.
    index : Index, optional
        Of the item factors, for calls in a row.
    method, delta, device
        As in `thresher.Index.search`.

    Returns
    -------
    ids : ndarray of int32 (m, N), or (N,) for one user
    scores : ndarray of float32, of the same shape
    """
    one = np.ndim(userid) == 0
    seen = user_items if filter_already_liked_items else None
    users = np.atleast_1d(userid)
    factors = model.recalculate_user(users, user_items) if recalculate_user else model.user_factors[users]
    only = None
    if items is not None:
        if filter_items is not None:
            raise ValueError("items: with filter_items; items are the only ones that anybody gets")
        _forms.refuse_lists(items, "items")
        only = np.unique(np.asarray(items))
        N = min(N, len(only))
    ids, scores = _topk(
        model.item_factors if index is None else index,
        np.atleast_2d(factors),
        N,
        None,
        seen,
        filter_items,
        only,
        method,
        delta,
        device,
    )
    return (ids[0], scores[0]) if one else (ids, scores)
