"""Answers of range searches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from thresher._certified import CertifiedAnswers
from thresher._coverage import Coverage, Queries

__all__ = ["RangeResult"]


@dataclass(frozen=True, eq=False, repr=False)
class RangeResult(CertifiedAnswers):
    """All vectors that reach a score, for each query.

    ``lims, scores, ids = result`` unpacks it in the order of FAISS. The answer of query j is at
    ``lims[j]:lims[j+1]``, best first; ``result[j]`` is the `Answer` to it.

    Attributes
    ----------
    lims : ndarray of int64 (m + 1,)
    scores : ndarray of float32 (lims[-1],)
        Inner products, cosines, or for metric ``l2`` squared distances.
    ids : ndarray (lims[-1],)
        Row numbers (int64), or the ids that the index was given.
    rows : ndarray of int64 (lims[-1],)
        Row numbers.
    scores64 : ndarray of float64 (lims[-1],)
        The scores before they are rounded to float32.
    limited : bool ndarray (m,)
        Queries whose answers have as many vectors as ``limit``: more may reach the score.
    query_ids, metric, complete, guarantee, delta, took, saving, warnings, certificates
        As of `Result`.
    """

    lims: npt.NDArray[np.int64]
    ids: npt.NDArray[Any]
    limited: npt.NDArray[np.bool_]
    rows: npt.NDArray[np.int64]
    scores64: npt.NDArray[np.float64]
    query_ids: npt.NDArray[Any] | None
    metric: str
    took: float
    saving: float
    warnings: tuple[str, ...]
    _records: npt.NDArray[Any] = field(repr=False)
    _names: dict[str, list[str]] = field(repr=False)
    _promise: str = field(repr=False)
    _own_ids: bool = field(repr=False)
    _covers: Queries | Coverage | None = field(default=None, repr=False)
    _rounded: bool = field(default=False, repr=False)
    _filter: str = field(default="", repr=False)

    def __iter__(self) -> Iterator[npt.NDArray[Any]]:
        self._say_if_partial()
        yield self.lims
        yield self.scores
        yield self.ids

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """How many vectors each query has in its answer, (m,)."""
        return np.diff(self.lims)

    def summary(self) -> str:
        """Return a few lines on guarantee, work and time."""
        return self._summary(f"queries    {len(self)}, {len(self.ids)} answers in all")

    def _lists(self) -> tuple[npt.NDArray[np.int64], dict[str, npt.NDArray[Any]]]:
        return self.lims, {name: getattr(self, name) for name in ("ids", "rows", "scores", "scores64")}

    def _span(self, query: int) -> slice:
        return slice(int(self.lims[query]), int(self.lims[query + 1]))

    def _title(self) -> str:
        m, found = len(self), len(self.ids)
        return f"{m:,} {'query' if m == 1 else 'queries'}, {found:,} vectors in all, {self.metric}"
