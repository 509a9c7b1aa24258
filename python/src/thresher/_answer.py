"""The answer to one query of a search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Answer"]


@dataclass(frozen=True, eq=False)
class Answer:
    """What a search found for one query, without padding; ``scores, ids = result[3]`` unpacks it.

    Arrays are views of those of the result.

    Attributes
    ----------
    query : int
        Which query it is, from 0.
    query_id : int, str or None
        The id of the query, if the search was given any.
    ids : ndarray (c,)
        Row numbers (int64), or the ids that the index was given; best first. c is the number of vectors found.
    rows : ndarray of int64 (c,)
        Row numbers; -1 where `merge` does not know it.
    scores : ndarray of float32 (c,)
        Inner products, cosines, or for metric ``l2`` squared distances.
    scores64 : ndarray of float64 (c,)
        The same before they are rounded to float32.
    complete : bool
        False if a deadline stopped the search for it.
    guarantee : str
        ``exact``, ``certain``, ``probabilistic``, ``heuristic``, or ``bound`` if it was stopped.
    delta : float
        With which probability the answer may be wrong; 0 if it cannot.
    certificate : dict
        What is guaranteed and what was done for it, by the names of `Result.certificates`, without what it lacks.
    """

    query: int
    query_id: int | str | None
    ids: npt.NDArray[Any]
    rows: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float32]
    scores64: npt.NDArray[np.float64]
    complete: bool
    guarantee: str
    delta: float
    certificate: dict[str, Any]

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[npt.NDArray[Any]]:
        yield self.scores
        yield self.ids

    def __repr__(self) -> str:
        asked = self.query if self.query_id is None else f"{self.query}, {self.query_id!r}"
        found = [f"{id} {score:.6g}" for id, score in zip(self.ids[:5].tolist(), self.scores[:5].tolist(), strict=True)]
        found += ["..."] * (len(self) > 5)
        promised = self.guarantee if self.delta == 0 else f"{self.guarantee}, delta {self.delta:.3g}"
        return f"<thresher.Answer to query {asked}, {promised}: {', '.join(found) or 'nothing'}>"
