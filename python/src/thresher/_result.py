"""Answers of searches for the k best, and their files."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from thresher._certified import ANSWERS_VERSION, CertifiedAnswers
from thresher._coverage import Coverage, Queries

__all__ = ["Result"]


@dataclass(frozen=True, eq=False, repr=False)
class Result(CertifiedAnswers):
    """The k best vectors of each query.

    ``scores, ids = result`` unpacks it in the order of FAISS. ``result[3]`` is the `Answer` to query 3, of which
    there are ``len(result)``, and ``result.answers()`` yields all.

    Attributes
    ----------
    ids : ndarray (m, k)
        Row numbers (int64), or the ids that the index was given; best first, equal scores by row
        number. Where a query has fewer than k answers (`counts`), -1, ``""`` if ids are strings, or
        2**64 - 1 if they are uint64.
    rows : ndarray of int64 (m, k)
        Row numbers of the answers; -1 where there is none, and where `merge` does not know it.
    scores : ndarray of float32 (m, k)
        Inner products, cosines, or for metric ``l2`` squared distances; NaN where there is no answer.
    scores64 : ndarray of float64 (m, k)
        The same before they are rounded to float32: by these answers are ordered, and one of them, given
        back as a limit, lets its vector through.
    query_ids : ndarray (m,) or None
        The ids of the queries, if the search was given any.
    metric : str
        ``ip``, ``cosine`` or ``l2``.
    complete : bool ndarray (m,)
        Which answers are complete; False where a deadline stopped the search.
    guarantee : str ndarray (m,)
        ``exact``, ``certain``, ``probabilistic`` or ``heuristic``; ``bound`` of an answer that is not
        complete: no vector that is left out scores above the greater of its ``open_bound`` and its
        last score.
    delta : ndarray of float64 (m,)
        With which probability each answer may be wrong.
    took : float
        Seconds in the search.
    saving : float
        By what factor fewer coordinates were read than by a dense scan.
    warnings : tuple of str
        What was changed in the request.
    certificates : structured ndarray (m,)
        What is guaranteed of each answer.
    """

    ids: npt.NDArray[Any]
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
    _own_ids: bool = field(repr=False)  # whether ids are not row numbers
    _covers: Queries | Coverage | None = field(default=None, repr=False)
    _rounded: bool = field(default=False, repr=False)  # whether the scores are of float32
    _filter: str = field(default="", repr=False)  # what it allows, in words

    def __iter__(self) -> Iterator[npt.NDArray[Any]]:
        self._say_if_partial()
        yield self.scores
        yield self.ids

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """How many vectors each query has in its answer, (m,)."""
        return np.asarray(np.count_nonzero(~np.isnan(self.scores64), axis=1))

    def _lists(self) -> tuple[npt.NDArray[np.int64], dict[str, npt.NDArray[Any]]]:
        there = ~np.isnan(self.scores64)
        lims = np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int64)
        return lims, {name: getattr(self, name)[there] for name in ("ids", "rows", "scores", "scores64")}

    def _span(self, query: int) -> tuple[int, npt.NDArray[np.int64] | slice]:
        there = ~np.isnan(self.scores64[query])
        found = int(np.count_nonzero(there))
        return query, slice(found) if there[:found].all() else np.flatnonzero(there)

    def _title(self) -> str:
        m, k = self.scores64.shape
        return f"{m:,} {'query' if m == 1 else 'queries'}, {k:,} best each, {self.metric}"

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the answers to a file as ``thresher search`` writes them, for `merge` and the commands.

        Certificates are not in it, but what they guarantee is.

        Parameters
        ----------
        path : path
            Ending in ``.npz``, in ``.parquet``, which needs pyarrow, or in ``.csv``, which has a row for each
            query and vector.
        overwrite : bool
            Whether a file that exists is replaced.

        Raises
        ------
        FileExistsError, OSError
            If the file exists, or cannot be written.
        """
        name = os.fspath(path)
        if not name.endswith((".npz", ".parquet", ".csv")):
            raise ValueError(f"path: {name} ends in none of .npz, .parquet, .csv")
        if not overwrite and os.path.lexists(name):
            raise FileExistsError(f"path: {name} exists; overwrite=True replaces it")
        part = name + ".part"
        if name.endswith(".parquet"):
            table = self.to_arrow()
            import pyarrow.parquet

            pyarrow.parquet.write_table(table, part)
        elif name.endswith(".csv"):
            with open(part, "w", encoding="utf-8", newline="") as f:
                csv.writer(f, lineterminator="\n").writerows(self._lines())
        else:
            with open(part, "wb") as arrays:
                np.savez(arrays, **self._arrays())  # type: ignore[arg-type]
        os.replace(part, name)

    def _lines(self) -> Iterator[list[Any]]:
        """Yield the lines of a CSV of answers: docs/uses.md, "Files of answers"."""
        named, asked = self._own_ids, self.query_ids is not None
        there = ~np.isnan(self.scores64)
        placed = named and bool((self.rows[there] >= 0).all())
        covers = None if self.covers is None else json.dumps(self.covers, separators=(",", ":"))
        work = ("pulls", "exact", "complete", "guarantee", "delta", "epsilon", "answers_version")
        yield [
            *("query", *["query_id"] * asked, "rank", "id", *["row"] * placed, "score", "score64", "count", *work),
            *["id_kind"] * (not named),
            *["covers"] * (covers is not None),
        ]
        first = True
        for j, c in enumerate(self.certificates):
            found = np.flatnonzero(there[j])
            promise = [str(bool(c["exact"])).lower(), str(bool(self.complete[j])).lower(), c["guarantee"]]
            answer = [len(found), int(c["pulls"]), *promise, float(c["delta"]), float(c["epsilon"]), ANSWERS_VERSION]
            query = [j] if self.query_ids is None else [j, self.query_ids[j]]
            for i in found if len(found) else [None]:
                line = [*query, "", "", *[""] * placed, "", ""]
                if i is not None:
                    row = [int(self.rows[j, i])] * placed
                    line = [*query, i + 1, self.ids[j, i], *row, str(self.scores[j, i]), float(self.scores64[j, i])]
                about = [] if covers is None else [covers if first else ""]
                first = False
                yield [*line, *answer, *["row"] * (not named), *about]

    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays of an npz of answers, by their names: docs/uses.md, "Files of answers"."""
        none = np.isnan(self.scores64)
        c = self.certificates
        arrays = {
            "answers_version": np.array(ANSWERS_VERSION, np.int64),
            "ids": self.ids,
            "scores": np.where(none, -np.inf, self.scores).astype(np.float32),
            "scores64": np.where(none, -np.inf, self.scores64),
            "pulls": c["pulls"],
            "exact": c["exact"],
            "complete": self.complete,
            **{name: c[name] for name in ("guarantee", "delta", "epsilon")},
        }
        if (self.rows[~none] >= 0).all():
            arrays["rows"] = self.rows
        if self.ids.dtype.kind == "u":
            arrays["counts"] = self.counts
        if self.query_ids is not None:
            arrays["query_ids"] = self.query_ids
        if not self._own_ids:
            arrays["id_kind"] = np.array("row")
        if self.covers is not None:
            arrays["covers"] = np.array(json.dumps(self.covers, separators=(",", ":")).encode())
        return arrays

    def summary(self) -> str:
        """Return a few lines on guarantee, work and time."""
        m, k = self.scores64.shape
        return self._summary(f"queries    {m}, {k} best each")
