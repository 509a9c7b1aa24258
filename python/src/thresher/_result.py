"""Answers of searches, and their certificates; and both as tables of Arrow."""

from __future__ import annotations

import csv
import json
import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from thresher._coverage import Coverage, Queries
from thresher._limits import former

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ANSWERS_VERSION", "RangeResult", "Result"]

ANSWERS_VERSION = 2
"""That of tables and files of answers: docs/files.md."""


class _Certified:
    """What the answers of k-best and range searches have in common."""

    ids: npt.NDArray[Any]
    rows: npt.NDArray[np.int64]
    scores64: npt.NDArray[np.float64]
    query_ids: npt.NDArray[Any] | None
    metric: str
    took: float
    saving: float
    warnings: tuple[str, ...]
    _records: npt.NDArray[Any]
    _names: dict[str, list[str]]
    _promise: str
    _own_ids: bool
    _covers: Queries | Coverage | None
    _rounded: bool

    @cached_property
    def covers(self) -> Coverage | None:
        """What the answers are for, by which `merge` tells those that belong together; None if it is not known.

        A dict as files of answers have it: ``queries``, a digest of the queries as they were given, their number
        ``count``, ``metric``, ``k`` (0 of a range search), ``method``, ``limits``, a digest of the least and
        greatest scores, and ``shards``, a ``digest`` of the vectors and how many ``rows`` there are of each set.
        Exclusions of single queries are not part of it.
        """
        return self._covers.stated() if isinstance(self._covers, Queries) else self._covers

    @cached_property
    def scores(self) -> npt.NDArray[np.float32]:
        """The scores rounded to float32, of the shape of ``scores64``."""
        return self.scores64.astype(np.float32)

    @cached_property
    def complete(self) -> npt.NDArray[np.bool_]:
        """Which answers are complete, bool (m,): False where a deadline stopped the search."""
        return np.asarray(self._records["stopped_by"] == self._names["stopped_by"].index("done"))

    @property
    def guarantee(self) -> npt.NDArray[np.str_]:
        """What is promised of each answer, (m,): the column ``guarantee`` of ``certificates``."""
        return np.asarray(self.certificates["guarantee"])

    @property
    def guarantees(self) -> npt.NDArray[np.str_]:
        """The same by its former name."""
        former("guarantees", "guarantee")
        return self.guarantee

    @property
    def delta(self) -> npt.NDArray[np.float64]:
        """With which probability each answer may be wrong, float64 (m,); 0 where it cannot."""
        return np.asarray(self._records["delta"])

    def _described(self) -> dict[str, Any]:
        """Return what results have beside their answers, by the names of their fields."""
        names = ("took", "saving", "warnings", "metric", "_records", "_promise", "_names", "_own_ids", "_covers")
        return {name: getattr(self, name) for name in names}

    def _table(self, lims: npt.NDArray[np.int64], columns: dict[str, npt.NDArray[Any]]) -> pa.Table:
        """Return lists of columns, query j's at lims[j]:lims[j+1], with what is known of each answer."""
        pa = _pyarrow()
        # Offsets of large lists are 64 bits wide; the command's lists have 32.
        of = pa.ListArray if lims[-1] < 2**31 else pa.LargeListArray
        offsets = pa.array(lims, pa.int32() if of is pa.ListArray else pa.int64())
        certificates = self.certificates
        table: dict[str, Any] = {"query": np.arange(len(lims) - 1)}
        if self.query_ids is not None:
            table["query_id"] = self.query_ids
        if (columns["rows"] < 0).any():  # of merged answers
            del columns["rows"]
        for name, values in columns.items():
            table[name] = of.from_arrays(offsets, pa.array(values))
        table |= {name: certificates[name] for name in ("pulls", "exact")}
        table["complete"] = self.complete
        table |= {name: certificates[name] for name in ("guarantee", "delta", "epsilon")}
        table["open_bound"] = pa.array(certificates["open_bound"], mask=np.isnan(certificates["open_bound"]))
        metadata = {"answers_version": str(ANSWERS_VERSION), "metric": self.metric}
        if not self._own_ids:
            metadata["id_kind"] = "row"
        if self.covers is not None:
            metadata["covers"] = json.dumps(self.covers, separators=(",", ":"))
        return pa.table(table).replace_schema_metadata(metadata)

    def _say_if_partial(self) -> None:
        """Warn whoever takes the answers without asking which are complete."""
        partial = len(self._records) - int(np.count_nonzero(self.complete))
        if partial:
            text = f"the deadline stopped {partial} of {len(self._records)} answers; the result's complete says which"
            warnings.warn(text, RuntimeWarning, stacklevel=3)

    @cached_property
    def certificates(self) -> npt.NDArray[Any]:
        """What is guaranteed of each answer and what was done for it, a structured array (m,).

        Fields, of which docs/guarantee.md tells the meaning:

        ========================  ==================================================================
        ``method``                how the answer was found: ``exact``, ``certain``, ``adaptive``, ..
        ``guarantee``             ``exact``, ``certain``, ``probabilistic`` or ``heuristic``; ``bound``
                                  if the search was stopped, whatever the method
        ``law``                   what a probability rests on, ``""`` for other guarantees
        ``delta``                 allowed failure probability, 0 where none is needed
        ``epsilon``               allowed gap in score units
        ``exact``                 nothing was dropped by a bound that can fail
        ``stopped_by``            ``done``, or ``deadline`` or ``cancelled``
        ``pulls, dense_pulls``    coordinates read, and those that a dense scan reads
        ``bytes``                 bytes of vectors read
        ``rows_scored``           vectors scored in full
        ``threshold``             the last threshold, NaN for none
        ``open_bound``            of a partial answer: what no vector that was not scored exceeds
        ``plan``, ``backend``     the looks that were taken, and where
        ``dense``                 looks sent the query to a dense scan
        ``threshold_before``      there was a threshold before the first look
        ``candidates_given``      candidates that may be returned, -1 if there were none
        ``candidates_right``      candidates in the answer
        ``predicted_survivors``   forecast share of vectors that survive the first look, 0 without one
        ``predicted_ns``          forecast cost, ns for each vector and query
        ``vectors_change``        the largest change of a value of the vectors by rounding to float32
        ``query_change``          the same of this query; what is guaranteed is so of the rounded
        ========================  ==================================================================

        ``threshold`` and ``open_bound`` are inner products, cosines, or for ``l2`` minus half the
        squared distance.
        """
        return _decode(self._records, self._names)

    def certificate(self, query: int) -> dict[str, Any]:
        """Return the certificate of one answer, without what it lacks."""
        record = self.certificates[query]
        values = {name: record[name].item() for name in record.dtype.names or ()}
        return {
            name: value
            for name, value in values.items()
            if not (value == "" or value != value or (name.startswith("candidates") and value < 0))
        }

    def _summary(self, answers: str) -> str:
        count = len(self._records)
        lines = [answers]
        if count:
            c = self.certificates
            lines.append("guarantee  " + self._promise)
            lines.append("method     " + ", ".join(np.unique(c["method"]).tolist()))
            partial = count - int(np.count_nonzero(self.complete))
            if partial:
                lines.append(f"partial    {partial} of {count} were stopped early and hold the best so far")
            percent = 100 / self.saving
            lines.append(f"read       {percent:{'.2g' if percent < 10 else '.0f'}}% of the data")
            lines.append(f"time       {self.took * 1e3:.3g} ms in the search")
        lines += [f"warning    {w}" for w in self.warnings]
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Result(_Certified):
    """The k best vectors of each query.

    ``scores, ids = result`` unpacks it in the order of FAISS.

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

    def __iter__(self) -> Iterator[npt.NDArray[Any]]:
        self._say_if_partial()
        yield self.scores
        yield self.ids

    def __len__(self) -> int:
        return len(self.scores64)

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """How many vectors each query has in its answer, (m,)."""
        return np.asarray(np.count_nonzero(~np.isnan(self.scores64), axis=1))

    def to_arrow(self) -> pa.Table:
        """Return a table of Arrow with a row for each query, as ``thresher search`` writes it to Parquet.

        Its columns are ``query`` (int64), ``query_id`` if queries have ids, the lists ``ids``, ``rows``,
        ``scores`` and ``scores64`` without padding, and ``pulls``, ``exact``, ``complete``,
        ``guarantee``, ``delta``, ``epsilon`` and ``open_bound``, which is null for answers that are
        complete. The metadata has ``answers_version``, ``metric`` and ``covers``, by which ``thresher merge``
        and `merge` tell answers that belong together, and ``id_kind`` is ``row`` if ids are row numbers.

        Raises
        ------
        ImportError
            If pyarrow is not installed.
        """
        there = ~np.isnan(self.scores64)
        lims = np.concatenate([[0], np.cumsum(self.counts)]).astype(np.int64)
        columns = {name: getattr(self, name)[there] for name in ("ids", "rows", "scores", "scores64")}
        return self._table(lims, columns)

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


@dataclass(frozen=True, eq=False)
class RangeResult(_Certified):
    """All vectors that reach a score, for each query.

    ``lims, scores, ids = result`` unpacks it in the order of FAISS. The answer of query j is at
    ``lims[j]:lims[j+1]``, best first.

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
        Queries of which ``limit`` left vectors out.
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

    def __iter__(self) -> Iterator[npt.NDArray[Any]]:
        self._say_if_partial()
        yield self.lims
        yield self.scores
        yield self.ids

    def __len__(self) -> int:
        return len(self.lims) - 1

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """How many vectors each query has in its answer, (m,)."""
        return np.diff(self.lims)

    def summary(self) -> str:
        """Return a few lines on guarantee, work and time."""
        return self._summary(f"queries    {len(self)}, {len(self.ids)} answers in all")

    def to_arrow(self) -> pa.Table:
        """Return a table of Arrow as `Result.to_arrow` does."""
        return self._table(self.lims, {name: getattr(self, name) for name in ("ids", "rows", "scores", "scores64")})


def _decode(records: npt.NDArray[Any], names: dict[str, list[str]]) -> npt.NDArray[Any]:
    """Return the worker's records with names in place of their numbers, of which -1 stands for none."""
    columns = {name: records[name] for name in records.dtype.names or () if name != "reserved"}
    for name, known in names.items():
        columns[name] = np.array([*known, ""])[columns[name]]
    decoded = np.empty(len(records), dtype=[(name, values.dtype) for name, values in columns.items()])
    for name, values in columns.items():
        decoded[name] = values
    return decoded


def _pyarrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise ImportError("to_arrow returns a table of pyarrow, which is not installed: pip install pyarrow") from None
    return pyarrow
