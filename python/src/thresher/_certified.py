"""What the answers of k-best and range searches have in common, and their tables."""

from __future__ import annotations

import importlib
import json
import operator
import warnings
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from thresher import _shown
from thresher._answer import Answer
from thresher._coverage import Coverage, Queries
from thresher._limits import former

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

__all__ = ["ANSWERS_VERSION", "CertifiedAnswers"]

ANSWERS_VERSION = 2
"""That of tables and files of answers: docs/files.md."""


class CertifiedAnswers:
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
    _filter: str

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

    def _span(self, query: int) -> tuple[Any, ...] | slice:
        """Return where the answer to a query is in ids, rows and scores."""
        raise NotImplementedError

    def __getitem__(self, query: int) -> Answer:
        """Return the answer to one query, counted from the end if the number is negative."""
        try:
            at = operator.index(query)
        except TypeError:
            raise TypeError(
                f"result[{query!r}]: the number of a query is wanted; arrays such as ids are taken by slices and masks"
            ) from None
        count = len(self._records)
        if not -count <= at < count:
            raise IndexError(f"result[{at}]: there are {count} queries")
        at %= count
        where = self._span(at)
        asked = None if self.query_ids is None else self.query_ids[at].item()
        return Answer(
            query=at,
            query_id=asked,
            ids=self.ids[where],
            rows=self.rows[where],
            scores=self.scores[where],
            scores64=self.scores64[where],
            complete=bool(self.complete[at]),
            guarantee=str(self.guarantee[at]),
            delta=float(self.delta[at]),
            certificate=self.certificate(at),
        )

    def answers(self) -> Iterator[Answer]:
        """Yield the answer to each query; iteration of the result itself unpacks its arrays, as FAISS has them."""
        return map(self.__getitem__, range(len(self._records)))

    def __len__(self) -> int:
        return len(self._records)

    def _repr_html_(self) -> str:
        return _shown.table(self, self._asked(), [self[j] for j in range(min(len(self), _shown.QUERIES))])

    def __repr__(self) -> str:
        return f"<thresher.{type(self).__name__}: {self._asked()}. {_shown.sentence(self)}>"

    def _asked(self) -> str:
        """Return what was asked for, with the filter if there was one, so that nobody takes it for all vectors."""
        return f"{self._title()}, filter {self._filter}" if self._filter else self._title()

    def _title(self) -> str:
        """Return what was asked for, in a few words."""
        raise NotImplementedError

    def _long(self, lims: npt.NDArray[np.int64], columns: dict[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
        """Return columns with an element for each query and vector, of lists, query j's at lims[j]:lims[j+1]."""
        counts = np.diff(lims)
        of = np.repeat(np.arange(len(counts)), counts)
        long: dict[str, npt.NDArray[Any]] = {"query": of}
        if self.query_ids is not None:
            long["query_id"] = self.query_ids[of]
        long["rank"] = np.arange(len(of)) - np.repeat(lims[:-1], counts) + 1
        long["id"] = columns["ids"]
        if self._own_ids and (columns["rows"] >= 0).all():
            long["row"] = columns["rows"]
        long |= {"score": columns["scores"], "score64": columns["scores64"]}
        return long | {name: getattr(self, name)[of] for name in ("guarantee", "delta", "complete")}

    def _lists(self) -> tuple[npt.NDArray[np.int64], dict[str, npt.NDArray[Any]]]:
        """Return lims, and ids, rows, scores and scores64 without padding, query j's at lims[j]:lims[j+1]."""
        raise NotImplementedError

    def to_pandas(self) -> pd.DataFrame:
        """Return a table of pandas with a row for each query and vector found, the best of a query first.

        Its columns are ``query``, ``query_id`` if queries have ids, ``rank`` from 1, ``id``, ``row`` if vectors
        have ids and all rows are known, ``score``, ``score64``, and what is promised of the answer that the row is
        part of: ``guarantee``, ``delta`` and ``complete``. A query without answers has no row.

        Raises
        ------
        ImportError
            If pandas is not installed.
        """
        return _package("pandas", "to_pandas").DataFrame(self._long(*self._lists()))

    def to_polars(self) -> pl.DataFrame:
        """Return the table of `to_pandas` as one of polars.

        Raises
        ------
        ImportError
            If polars is not installed.
        """
        return _package("polars", "to_polars").DataFrame(self._long(*self._lists()))

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
        return self._table(*self._lists())

    def _described(self) -> dict[str, Any]:
        """Return what results have beside their answers, by the names of their fields."""
        names = (
            "took",
            "saving",
            "warnings",
            "metric",
            "_records",
            "_promise",
            "_names",
            "_own_ids",
            "_covers",
            "_filter",
        )
        return {name: getattr(self, name) for name in names}

    def _table(self, lims: npt.NDArray[np.int64], columns: dict[str, npt.NDArray[Any]]) -> pa.Table:
        """Return lists of columns, query j's at lims[j]:lims[j+1], with what is known of each answer."""
        pa = _package("pyarrow", "to_arrow")
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
        if self._filter:
            lines.append(f"filter     {self._filter}")
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


def _decode(records: npt.NDArray[Any], names: dict[str, list[str]]) -> npt.NDArray[Any]:
    """Return the worker's records with names in place of their numbers, of which -1 stands for none."""
    columns = {name: records[name] for name in records.dtype.names or () if name != "reserved"}
    for name, known in names.items():
        columns[name] = np.array([*known, ""])[columns[name]]
    decoded = np.empty(len(records), dtype=[(name, values.dtype) for name, values in columns.items()])
    for name, values in columns.items():
        decoded[name] = values
    return decoded


def _package(name: str, method: str) -> Any:
    """Import the package whose table a method returns."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ImportError(f"{method} returns a table of {name}, which is not installed: pip install {name}") from None
