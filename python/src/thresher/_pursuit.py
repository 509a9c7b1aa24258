"""Signals as sums of few vectors: matching pursuit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Pursuit", "pursuit_of"]


@dataclass(frozen=True, eq=False)
class Pursuit:
    """Signals as sums of vectors: signal i is about ``coefficients[i] @ vectors[rows[i]]``.

    Columns are terms in the order in which they were found, as many as the longest sum has. Shorter
    sums are padded: row -1, coefficient 0, and the residual stays.

    Attributes
    ----------
    ids : ndarray (m, t)
        What the index calls the vectors: row numbers, if it has no ids.
    rows : ndarray of int64 (m, t)
        Their row numbers.
    coefficients : ndarray of float64 (m, t)
        Of the vectors as they were given, whatever their lengths.
    residuals : ndarray of float64 (m, t)
        The length of what is left of the signal after each term.
    counts : ndarray of int64 (m,)
        How many terms each signal has.
    pulls : ndarray of int64 (m, t)
        How many coordinates of vectors were read for each term, 0 for none.
    summary : dict
        What ``thresher pursuit --json`` says, under the same names: ``terms``, ``residual``, ``guarantee``,
        ``promise``, ``saving``, ...
    """

    ids: npt.NDArray[Any]
    rows: npt.NDArray[np.int64]
    coefficients: npt.NDArray[np.float64]
    residuals: npt.NDArray[np.float64]
    counts: npt.NDArray[np.int64]
    pulls: npt.NDArray[np.int64]
    summary: dict[str, Any]

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"<thresher.Pursuit of {len(self)} signals, {self.counts.sum()} terms: {self.summary['promise']}>"


def pursuit_of(
    reply: dict[str, Any],
    out: dict[str, npt.NDArray[Any]],
    signals: npt.NDArray[np.float32],
) -> dict[str, Any]:
    """Return the fields of a Pursuit, without ids, from terms that follow one another."""
    counts = np.diff(out["lims"])
    width = int(counts.max(initial=0))
    there = np.arange(width) < counts[:, None]
    shape = len(counts), width
    rows, pulls = np.full(shape, -1), np.zeros(shape, np.int64)
    coefficients, residuals = np.zeros(shape), np.zeros(shape)
    rows[there], pulls[there], coefficients[there] = out["rows"], out["pulls"], out["coefficients"]
    residuals[there] = out["residuals"]
    last = np.linalg.norm(signals.astype(np.float64), axis=1)
    some = counts > 0
    last[some] = out["residuals"][out["lims"][1:][some] - 1]
    np.copyto(residuals, last[:, None], where=~there)
    return {
        "rows": rows,
        "coefficients": coefficients,
        "residuals": residuals,
        "counts": counts,
        "pulls": pulls,
        "summary": reply,
    }
