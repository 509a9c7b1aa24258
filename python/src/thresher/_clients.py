"""Answers as clients of other programs return them, taken apart into ids and scores."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np

from thresher._answers import read_others, read_response

__all__ = ["apart"]

_IDS = ("id", "_id", "corpus_id", "key")
_SCORES = ("score", "distance", "_score", "_distance", "similarity")


def apart(answers: Any, name: str) -> tuple[Any, Any]:
    """Return (ids, scores) of answers, scores None where there are none; what is no client's is returned as it is.

    Read are a pair of scores and ids (FAISS, `thresher.knn`) or of ids and scores (hnswlib,
    scikit-learn's (distances, indices) is the first), matches of usearch (``keys``, ``distances``,
    ``counts``), the dict of a query of Chroma (``ids``, ``distances``), and for each query a list of
    hits: dicts or objects with ``id`` (``corpus_id``, ..) and ``score`` or ``distance``, as pymilvus,
    sentence-transformers and qdrant-client return them, also below ``points``. A path is that of a file of
    answers; other dicts, and lists of them, are responses of databases as their REST interfaces have them.
    """
    if isinstance(answers, (str, PathLike)):
        return read_others(answers, name)
    if isinstance(answers, tuple) and len(answers) == 2:
        return _pair(*answers) or (answers, None)
    if isinstance(answers, Mapping):
        if "ids" not in answers:
            return read_response(answers, name)
        return answers["ids"], answers.get("distances")
    if all(isinstance(getattr(answers, part, None), np.ndarray) for part in ("keys", "distances", "counts")):
        there = np.arange(answers.keys.shape[1]) < np.asarray(answers.counts)[:, np.newaxis]
        return [row[in_row] for row, in_row in zip(answers.keys, there, strict=True)], [
            row[in_row] for row, in_row in zip(answers.distances, there, strict=True)
        ]
    if isinstance(answers, (list, tuple)) and answers and all(isinstance(part, Mapping) for part in answers):
        return read_response(answers, name)
    if isinstance(answers, (list, tuple)):
        lists: list[Any] = [getattr(part, "points", part) for part in answers]
        first = next((hit for part in lists if _listed(part) for hit in part), None)
        if first is not None and _field(first, _IDS) is not None:
            return _hits(lists, name)
    return answers, None


def _pair(first: Any, second: Any) -> tuple[Any, Any] | None:
    """Return (ids, scores) of two arrays of one shape, one of integers and one of floats."""
    if not all(isinstance(part, np.ndarray) and part.ndim == 2 for part in (first, second)):
        return None
    kinds = first.dtype.kind, second.dtype.kind
    if kinds[0] == "f" and kinds[1] in "iuUO":
        return second, first
    if kinds[0] in "iuUO" and kinds[1] == "f":
        return first, second
    return None


def _listed(value: Any) -> bool:
    return hasattr(value, "__len__") and hasattr(value, "__getitem__") and not isinstance(value, (str, bytes, Mapping))


def _field(hit: Any, names: tuple[str, ...]) -> str | None:
    """Return which of the names a hit has, as a key or, of an object of a client, as an attribute."""
    if isinstance(hit, Mapping):
        return next((name for name in names if name in hit), None)
    if type(hit).__module__.partition(".")[0] in ("builtins", "numpy"):
        return None
    return next((name for name in names if hasattr(hit, name)), None)


def _hits(lists: list[Any], name: str) -> tuple[list[list[Any]], list[list[Any]] | None]:
    """Return ids and scores of lists of hits."""
    ids: list[list[Any]] = []
    scores: list[list[Any]] = []
    scored = False
    for query, part in enumerate(lists):
        ids.append([])
        scores.append([])
        for rank, hit in enumerate(part):
            field = _field(hit, _IDS)
            if field is None:
                raise TypeError(f"{name}: query {query}, hit {rank} has none of {', '.join(_IDS)}")
            ids[-1].append(_value(hit, field))
            if (field := _field(hit, _SCORES)) is not None:
                scored = True
                scores[-1].append(_value(hit, field))
        if scored and len(scores[-1]) != len(ids[-1]):
            raise ValueError(f"{name}: query {query} has {len(scores[-1])} scores for {len(ids[-1])} hits")
    return ids, scores if scored else None


def _value(hit: Any, field: str) -> Any:
    return hit[field] if isinstance(hit, Mapping) else getattr(hit, field)
