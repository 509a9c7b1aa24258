"""Answers of other programs, compared with the best vectors: recall, certificates, verification."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from thresher import _arrays, _clients, _ids, _narrow
from thresher._answer import Answer
from thresher._answers import spread
from thresher._arguments import (
    Deadline,
    Device,
    DType,
    Filter,
    Method,
    Metric,
    Published,
    number,
    published_options,
    text,
    whole,
)
from thresher._arrays import Lists, Vectors
from thresher._index import Index
from thresher._knn import as_index, once
from thresher._limits import former, limits
from thresher._progress import Progress
from thresher._range_result import RangeResult
from thresher._result import Result

__all__ = ["Certified", "Recall", "Verification", "certify", "recall", "verify"]

_UNKNOWN_SCALE = "on a scale that is not known"  # scores of this form are not compared


@dataclass(frozen=True, eq=False, repr=False)
class Recall:
    """How many of the k best vectors of each query some answers have.

    A vector counts as found if it is one of them, or ties with the k-th best and one that does is
    missing: ties neither lower the recall nor raise it.

    Attributes
    ----------
    recall : float
        The mean over the queries, in [0, 1].
    low, high : float
        Its 95% interval, if the queries are a sample of many.
    complete : int
        Answers that lack nothing.
    k : int
        How many of each answer were compared.
    per_query : ndarray of float64 (m,)
        The recall of each query.
    report : dict
        What ``thresher recall --json`` prints: misses by rank, by how much better the missed vectors
        are, stated scores that are not the vectors'.
    reasons : list of dict, or None
        Why answers lack vectors, what explains most first: ``kind`` (``shifted``, ``order``, ``metric``,
        ``reversed``, ``rounded``, ``ties``, ``filter`` or ``absent``), how many of the answers examined it
        explains (``queries`` of ``of``), their recall with it granted, and all that in words (``text``).
        Empty if none is known, None if no answer lacks vectors, or the deadline left no time to look.
    """

    recall: float
    low: float
    high: float
    complete: int
    k: int
    per_query: npt.NDArray[np.float64]
    report: dict[str, Any]
    _lims: npt.NDArray[np.int64] = field(repr=False)
    _missed: npt.NDArray[Any] = field(repr=False)
    _filter: str = field(default="", repr=False)

    def __repr__(self) -> str:
        of = f"{self.complete} of {len(self.per_query)} answers lack nothing"
        return f"<thresher.Recall {self.recall:.4f}, 95% {self.low:.4f} to {self.high:.4f}, k {self.k}; {of}>"

    def __float__(self) -> float:
        return self.recall

    @property
    def reasons(self) -> list[dict[str, Any]] | None:
        reasons: list[dict[str, Any]] | None = self.report.get("reasons")
        return reasons

    def missed(self, query: int) -> npt.NDArray[Any]:
        """Return the ids of the vectors that the answer to one query lacks, best first."""
        return self._missed[self._lims[query] : self._lims[query + 1]]

    def summary(self) -> str:
        """Return a few lines."""
        lines = [
            f"recall     {self.recall:.4f}; 95% interval {self.low:.4f} to {self.high:.4f}",
            f"complete   {self.complete} of {len(self.per_query)} answers lack nothing of the {self.k} best",
        ]
        if self._filter:
            lines.append(f"filter     {self._filter}")
        for at, why in enumerate(self.reasons or ()):
            lines.append(("why        " if at == 0 else "           ") + why["text"])
        if self.reasons == []:
            lines.append("why        not known: none of the usual reasons explains what answers lack")
        return "\n".join(lines + _stated(self.report.get("scores")))


@dataclass(frozen=True, eq=False, repr=False)
class Certified:
    """Answers that are proven, and what was wrong with those that were given.

    Attributes
    ----------
    result : Result
        The answers of a search, each with its certificate; the ones given are only its candidates,
        and cannot make it wrong. Where ``result.complete`` is False a deadline stopped the search, and
        the answer is the one that was given, unproven.
    recall : float
        That of the answers given, in [0, 1].
    right : int
        How many of the answers given were right, of those whose search was finished.
    missing : int
        How many vectors they lacked.
    per_query : ndarray of float64 (m,)
        The recall of each answer given, NaN where it is not known.
    report : dict
        The counts of ``thresher certify --json``, under ``certified``, and the scores stated that
        are not the vectors'.
    """

    result: Result
    recall: float
    right: int
    missing: int
    per_query: npt.NDArray[np.float64]
    report: dict[str, Any]
    _lims: npt.NDArray[np.int64] = field(repr=False)
    _missed: npt.NDArray[Any] = field(repr=False)

    def __repr__(self) -> str:
        given = f"{self.right} of {self.report['compared']} answers given were right, recall {self.recall:.4f}"
        return f"<thresher.Certified: {given}; {self.result!r}>"

    def missed(self, query: int) -> npt.NDArray[Any]:
        """Return the ids of the vectors that the answer given to one query lacked, best first."""
        return self._missed[self._lims[query] : self._lims[query + 1]]

    def summary(self) -> str:
        """Return a few lines."""
        compared, unwanted = self.report["compared"], self.report["unwanted"]
        held = f" and held {unwanted} that may not be returned" if unwanted else ""
        before = (
            f"recall {self.recall:.4f}; {self.right} of {compared} answers were right"
            if compared
            else "unknown, as no search was finished in time"
        )
        lines = [
            self.result.summary(),
            f"before     {before}",
            f"corrected  {compared - self.right} answers, which lacked {self.missing} vectors{held}",
        ]
        if kept := self.report["kept"]:
            lines.append(f"unproven   {kept} answers are kept as they were: the deadline stopped their searches")
        return "\n".join(lines + _stated(self.report.get("scores")))


@dataclass(frozen=True, eq=False, repr=False)
class Verification:
    """What recomputing every score in float64 says of some answers.

    Attributes
    ----------
    wrong : bool ndarray (m,)
        Answers that break their promise, or are malformed.
    gaps : ndarray of float64 (m,)
        By how much the best vector that an answer lacks is better than the worst it has, in units
        of the search (inner product, cosine, half the squared distance).
    report : dict
        Counts by guarantee, and how they compare with the failures that delta allows, as
        ``thresher verify --json`` prints them. ``rounded`` is the largest change of a value of
        vectors and queries that float32 does not hold. With ``as_given`` these were compared as given, and
        answers may differ by what rounding changes; without, as of an Index, the rounded were.
    defects : list of dict
        ``{"query": .., "what": ..}`` of malformed and wrong answers, the first of them.
    unfinished : int
        Answers of stopped searches, which are only held to their open bound. With any, a
        Verification is not true.
    """

    wrong: npt.NDArray[np.bool_]
    gaps: npt.NDArray[np.float64]
    report: dict[str, Any]
    defects: list[dict[str, Any]]
    _filter: str = field(default="", repr=False)

    def __repr__(self) -> str:
        late = f", {self.unfinished} unfinished" if self.unfinished else ""
        return f"<thresher.Verification of {len(self.wrong)} answers: {int(self.wrong.sum())} wrong{late}>"

    @property
    def unfinished(self) -> int:
        return int(self.report["unfinished"])

    @property
    def partial(self) -> int:
        """The former name of ``unfinished``."""
        former("partial", "unfinished")
        return self.unfinished

    def __bool__(self) -> bool:
        return not self.wrong.any() and not self.unfinished

    def summary(self) -> str:
        """Return a few lines."""
        lines = [f"checked    {len(self.wrong)} answers"]
        if self._filter:
            lines.append(f"filter     {self._filter}")
        if granted := _granted(self.report["granted"]):
            lines.append(f"granted    {granted}")
        lines.append(f"wrong      {int(self.wrong.sum())}")
        if rounded := float(self.report.get("rounded") or 0):
            as_given = f"as given; answers may differ by what float32 changes of one, at most {rounded:.2g}"
            as_held = f"as float32 has them, largest change {rounded:.2g}"
            lines.append(f"rounded    values were compared {as_given if self.report.get('as_given') else as_held}")
        if self.unfinished:
            lines.append(f"unfinished {self.unfinished} were stopped early: held to their open bound, no more")
        lines += _stated(self.report.get("scores"))
        return "\n".join(lines + [f"           query {d['query']}: {d['what']}" for d in self.defects[:10]])


def _granted(most: dict[str, Any]) -> str:
    """Return what certificates grant, in words."""
    said = []
    for name in ("epsilon", "delta"):
        if count := most[f"with_{name}"]:
            said.append(f"{name} up to {most[name]:.4g} ({count} answers)")
    return ", ".join(said)


def _stated(scores: dict[str, Any] | None) -> list[str]:
    if not scores:
        return []
    said = f"{scores['wrong']} of {scores['stated']} are not the vectors'"
    if scores["form"] == _UNKNOWN_SCALE:
        said = scores.get("hint", "none is called wrong")
    return [f"scores     {scores['form']}; {said}"]


def _table_of(value: Any, name: str) -> tuple[npt.NDArray[Any], list[int] | None]:
    """Return lists as a table, the shorter ones padded with None, and how long each is; None if all are alike."""
    parts = value
    if not isinstance(value, (list, tuple)):
        parts = table = _arrays.plain(value, name)
        if table.dtype.kind != "O" or table.ndim != 1:
            return table, None
    lists = [isinstance(part, (list, tuple)) or getattr(part, "ndim", 0) == 1 for part in parts]
    if not any(lists):
        return _arrays.plain(value, name), None
    if not all(lists):
        j = lists.index(False)
        raise TypeError(f"{name}: query {j} has {parts[j]!r:.80}, expected a list")
    lengths = [len(part) for part in parts]
    if isinstance(value, (list, tuple)) and len(set(lengths)) == 1:
        return _arrays.plain(value, name), None
    out = np.full((len(lengths), max(lengths)), None, object)
    for j, part in enumerate(parts):
        one = _arrays.plain(part, name)
        if one.ndim != 1:
            raise TypeError(f"{name}: query {j} has {part!r:.80}, expected a list")
        out[j, : len(one)] = one.tolist()
    return out, lengths


def _result_of(answers: Any) -> Result | None:
    """Return what a search, merge or certify returned as a table of answers; None of answers in any other form."""
    if isinstance(answers, Certified):
        return answers.result
    if not isinstance(answers, RangeResult):
        return answers if isinstance(answers, Result) else None
    lims = answers.lims
    none = {"i": -1, "u": _ids.NONE}.get(answers.ids.dtype.kind, "")
    return Result(
        spread(answers.ids, lims, none),
        rows=spread(answers.rows, lims, -1),
        scores64=spread(answers.scores64, lims, np.nan),
        query_ids=answers.query_ids,
        **answers._described(),
    )


def _rows_of_result(index: Index, result: Result) -> npt.NDArray[np.int64]:
    """Return the rows of the answers of a result, those that a file or merge does not know by their ids."""
    if ((result.rows >= 0) | np.isnan(result.scores64)).all():
        return result.rows
    return index._rows_of_answers(result.ids)


def _given(index: Index, answers: Any, scores: npt.ArrayLike | None, queries: int) -> dict[str, npt.NDArray[Any]]:
    """Return answers as rows (m, w), padded with -1, and their scores if they state some."""
    lengths: list[int] | None = None
    if (result := _result_of(answers)) is not None:
        rows, scores = _rows_of_result(index, result), result.scores if scores is None else scores
    elif isinstance(answers, Answer):
        raise TypeError("answers: an Answer is the one to a single query; give the Result that it is of")
    else:
        answers, own = _clients.apart(answers, "answers")
        scores = own if scores is None else scores
        table, lengths = _table_of(answers, "answers")
        if table.ndim == 1 and queries == 1:
            table = table[np.newaxis, :]
        if table.ndim != 2:
            raise ValueError(f"answers: shape {table.shape}, expected ({queries}, k): ids, -1 for none")
        rows = index._rows_of_answers(table)
    if len(rows) != queries:
        raise ValueError(f"answers: {len(rows)} for {queries} queries")
    given: dict[str, npt.NDArray[Any]] = {"answers": rows}
    if scores is not None:
        values, counts = _table_of(scores, "scores")
        for query, (count, length) in enumerate(zip(counts or (), lengths or (), strict=False)):
            if count != length:
                raise ValueError(f"scores: query {query} has {count}, and {length} answers")
        if counts is not None:  # None becomes NaN, which stands beside no answer
            if odd := [x for x in values.flat if x is not None and (isinstance(x, bool) or not isinstance(x, Real))]:
                raise TypeError(f"scores: {odd[0]!r:.80}, expected a number")
            values = np.array(values.tolist(), np.float64)
        stated = _arrays.matrix(scores if counts is None else values, "scores", one=queries == 1)
        if stated.shape != rows.shape:
            raise ValueError(f"scores: shape {stated.shape}, expected {rows.shape}, one for each answer")
        given["scores"] = stated
    return given


def recall(
    answers: Any,
    vectors: Vectors,
    queries: Vectors,
    k: int | None = None,
    *,
    scores: npt.ArrayLike | None = None,
    metric: Metric | None = None,
    dtype: DType = "float32",
    method: Method = "certain",
    delta: float = 0.01,
    exclude: Lists | None = None,
    filter: Filter | None = None,
    exclude_self: bool = False,
    device: Device = "auto",
    progress: Progress = None,
    deadline: Deadline = None,
    published: Published | None = None,
) -> Recall:
    """Measure the recall of answers of any origin. No ground truth is needed.

    Parameters
    ----------
    answers : int array (m, w), lists of ids, Result, RangeResult, Certified, what a client returned, or a path
        Row numbers (or the ids of the index) as FAISS, hnswlib or a database returned them, best
        first; -1 stands for none. Lists may be of different lengths. With scores: a pair
        ``(D, I)`` or ``(labels, distances)``, matches of usearch, the dict of Chroma, or for each
        query a list of hits with ``id`` and ``score`` (Qdrant, pymilvus, sentence-transformers). The
        response of a database as a dict, or of each query one in a list (Elasticsearch, OpenSearch,
        Milvus, Weaviate, Pinecone, turbopuffer, Vespa). The path of a file of answers of any of these,
        or of a table, as the command reads it (docs/answers.md).
    vectors : array (n, d), or Index
        What they were found among.
    queries : array (m, d)
        What they answer.
    k : int, optional
        How many of each to compare; as many as the answers have, if not given.
    scores : array (m, w), optional
        What the answers state, which is checked too: inner products, cosines, or distances in any
        usual form.
    metric, dtype, device, progress, deadline
        As in `Index`; an Index has its own metric and type.
    method, delta
        How the best vectors are found. By ``certain``, the default, none is wrong.
    exclude, filter
        Which vectors may be returned, as in `Index.search`: the best of these are what answers are
        compared with, and others in an answer are no hits.
    exclude_self : bool
        That query j is row j and does not find itself; other queries are refused.
    published : dict, optional
        Options of a published method, as of `Index.search`.

    Returns
    -------
    Recall
    """
    wanted = once(queries, k, text(method, "method"))
    index, own = as_index(
        vectors, metric, once=wanted, dtype=dtype, device=device, progress=progress, deadline=deadline
    )
    try:
        asked = index._asked(queries)
        none = limits(index.metric, len(asked.rows))
        fields, own_arrays = index._request(asked, method, delta, 0.0, exclude, none, None, filter, exclude_self, None)
        arrays = {**own_arrays, **_given(index, answers, scores, len(asked.rows))}
        if k is not None:
            fields["k"] = whole(k, "k")
        if published is not None:
            fields["published"] = published_options(published)
        reply, out = index._call("recall", fields, arrays, progress=progress, deadline=deadline)
        report = reply["report"]
        return Recall(
            float(report["recall"]),
            float(report["recall_low"]),
            float(report["recall_high"]),
            report["complete"],
            report["k"],
            out["recalls"],
            report,
            out["missed_lims"],
            index._named(out["missed"]),
            index._allowed(arrays),
        )
    finally:
        if own:
            index.close()


def certify(
    answers: Any,
    vectors: Vectors,
    queries: Vectors,
    k: int | None = None,
    *,
    scores: npt.ArrayLike | None = None,
    metric: Metric | None = None,
    dtype: DType = "float32",
    method: Method = "certain",
    delta: float = 0.01,
    exclude: Lists | None = None,
    filter: Filter | None = None,
    exclude_self: bool = False,
    device: Device = "auto",
    progress: Progress = None,
    deadline: Deadline = None,
) -> Certified:
    """Prove answers of an index or a database, or correct them.

    Their vectors are the candidates of a search, which is fast if they are good. Wrong ones are
    replaced and counted, and every answer gets its certificate.

    Parameters
    ----------
    answers, vectors, queries, k, scores, metric, method, delta, device, progress, deadline
        As in `recall`. By ``certain``, the default, no answer of the result is wrong.
    exclude, filter, exclude_self
        As in `recall`: vectors of an answer that may not be returned are replaced and counted.

    Returns
    -------
    Certified
    """
    wanted = once(queries, k, text(method, "method"))
    index, own = as_index(
        vectors, metric, once=wanted, dtype=dtype, device=device, progress=progress, deadline=deadline
    )
    try:
        asked = index._asked(queries)
        none = limits(index.metric, len(asked.rows))
        fields, own_arrays = index._request(asked, method, delta, 0.0, exclude, none, None, filter, exclude_self, None)
        arrays = {**own_arrays, **_given(index, answers, scores, len(asked.rows))}
        width = arrays["answers"].shape[1]
        if k is not None:
            fields["k"] = width = whole(k, "k")
        reply, out = index._call("certify", fields, arrays, progress=progress, deadline=deadline)
        report = reply["certified"]
        result = index._result(reply, out, width, allowed=index._allowed(arrays))
        return Certified(
            result,
            float(report["recall"]),
            report["right"],
            report["missed"],
            out["recalls"],
            report,
            out["missed_lims"],
            index._named(out["missed"]),
        )
    finally:
        if own:
            index.close()


def verify(
    answers: Any,
    vectors: Vectors,
    queries: Vectors,
    *,
    k: npt.ArrayLike | None = None,
    scores: npt.ArrayLike | None = None,
    metric: Metric | None = None,
    dtype: DType = "float32",
    min_score: npt.ArrayLike | None = None,
    max_score: npt.ArrayLike | None = None,
    max_distance: npt.ArrayLike | None = None,
    min_distance: npt.ArrayLike | None = None,
    exclude: Lists | None = None,
    filter: Filter | None = None,
    exclude_self: bool = False,
    epsilon: float | None = None,
    delta: float | None = None,
    require: Literal["exact", "certain", "probabilistic"] | None = None,
    guarantee: Literal["exact", "certain", "probabilistic", "heuristic"] | None = None,
    progress: Progress = None,
    deadline: Deadline = None,
    floor: npt.ArrayLike | None = None,
    below: npt.ArrayLike | None = None,
) -> Verification:
    """Recompute every score in float64, by independent code, and check each answer.

    It costs what computing all m x n scores costs.

    Parameters
    ----------
    answers : Result, RangeResult, Certified, int array (m, k), or lists of ids
        Results are held to their certificates, a Certified those of its ``result``; ids alone to ``guarantee``.
        A RangeResult needs the ``min_score`` or ``max_distance`` that it was searched with.
    vectors : array (n, d), or Index
        What they were found among.
    queries : array (m, d)
        What they answer.
    k, min_score, max_score, max_distance, min_distance, exclude, filter, exclude_self, floor, below
        What was asked for, as in `Index.search`; k is by default the number of columns, at most n.
        An answer of more than k ids is malformed; -1 is none, and columns of it are padding.
    scores : array (m, k), optional
        What the answers state, if they are no Result; checked too, on any usual scale. An answer
        with NaN for the score of an id is malformed.
    epsilon, delta : float, optional
        The greatest gap and failure probability that certificates may grant: an answer whose
        certificate grants more is wrong. Of ids alone, what they are granted: 0, and 0.01 if
        ``guarantee`` is a probability.
    require : {"exact", "certain", "probabilistic"}, optional
        The least guarantee of certificates: none of the k best missing; the same within epsilon;
        with probability at least 1 - delta. An answer whose certificate promises less is wrong.
    guarantee : {"exact", "certain", "probabilistic", "heuristic"}, optional
        What ids alone are held to; exact, if not given.
    metric, dtype, progress, deadline
        As in `recall`.

    Returns
    -------
    Verification
        True if no answer is wrong, or unfinished.
    """
    wanted = once(queries, None, "exact")  # which needs the vectors alone
    index, own = as_index(vectors, metric, once=wanted, dtype=dtype, progress=progress, deadline=deadline)
    try:
        asked = index._asked(queries)
        given = _given(index, answers, scores, len(asked.rows))
        result = _result_of(answers)
        within = limits(
            index.metric,
            len(asked.rows),
            min_score=min_score,
            max_score=max_score,
            max_distance=max_distance,
            min_distance=min_distance,
            floor=floor,
            below=below,
        )
        fields, arrays = index._request(asked, "auto", 0.01, 0.0, exclude, within, None, filter, exclude_self, None)
        for unused in ("method", "delta", "epsilon"):
            fields.pop(unused, None)
        for name, limit in (("epsilon", epsilon), ("delta", delta)):
            if limit is not None:
                fields[name] = number(limit, name)
        for name, word in (("require", require), ("guarantee", guarantee)):
            if word is not None:
                fields[name] = text(word, name)
        most: npt.ArrayLike = min(given["answers"].shape[1], len(index)) if k is None else k
        if isinstance(answers, RangeResult) and k is None:
            if "floors" not in within.arrays:
                raise ValueError(
                    "min_score, max_distance: neither is given; a RangeResult has all vectors that reach one of them: "
                    "give what it was searched with"
                )
            most = np.where(answers.limited, np.maximum(answers.counts, 1), max(len(index), 1))
        index._add_k(most, len(asked.rows), fields, arrays)
        arrays["rows"] = np.ascontiguousarray(given["answers"])
        if "scores" in given:
            arrays["scores"] = np.ascontiguousarray(given["scores"])
        if result is not None and scores is None:
            arrays["scores64"] = np.ascontiguousarray(result.scores64)
        if result is not None:
            arrays["certificates"] = result._records
        if own:  # an Index has the rounded ones only
            if index._rounded and index._rows is not None:
                arrays["vectors_rests"] = _narrow.rests(_arrays.table(vectors, "vectors"), index._rows, index._origin)
            if "changes" in arrays:
                table = _arrays.table(queries, "queries", one=True, columns=index._columns)
                arrays["queries_rests"] = _narrow.rests(table, asked.rows, index._origin)
        reply, out = index._call(
            "verify", fields, arrays, progress=progress, deadline=deadline, names={**within.names, "rows": "answers"}
        )
        report = reply["report"]
        return Verification(
            out["wrong"], out["gaps"], report, list(report.get("defects") or ()), index._allowed(arrays)
        )
    finally:
        if own:
            index.close()
