"""Searches and builds as jobs of Spark: DataFrames in and out, without a shuffle, a broadcast or Scala.

>>> import thresher.spark
>>> thresher.spark.build(items, "segments/", metric="cosine")    # doctest: +SKIP
>>> found = thresher.spark.knn(users, "segments/", k=10)         # doctest: +SKIP
>>> found.write.parquet("found/")                                # doctest: +SKIP

`build` makes a segment of each partition. `knn` is in place of ``users.nearestByJoin(items, ..)`` of Spark 4.2, whose
plan compares all pairs: each task walks all segments for the queries of one partition. Segments stay open in the
Python processes that Spark keeps between tasks, and are mapped, so that those of a machine share them. Tasks keep
nothing, so that one that is repeated gives the same. docs/scale.md.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from thresher._arguments import Method, Metric, flag, metric_name, text, whole
from thresher._index import Index
from thresher._kept import names_of
from thresher._parts import Folder
from thresher._staged import Staged
from thresher._walk import REFUSALS, Segments, column_of, errors_by_id, lists_of, row_name

try:
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyspark import TaskContext
    from pyspark.sql import functions, types
except ImportError as e:
    raise ImportError(f"thresher.spark needs Spark and Arrow: pip install thresher[spark] ({e})") from None

if TYPE_CHECKING:
    from os import PathLike

    from pyarrow.fs import FileSystem
    from pyspark.sql import DataFrame

__all__ = ["build", "knn"]

_BLOCK = 1 << 17  # queries that walk together
_BYTES = 64 << 20  # of them; Spark does not count the memory of Python
_ROWS = 1 << 16  # of answers that Spark is given at a time
_SMALL = 50_000  # rows, below which segments cost more than they must

_VALUES = ("float", "double", "tinyint", "smallint", "int", "bigint")
_ADDED = ("rank", "neighbor_id", "score", "guarantee", "delta")

# What a task of a build returns: a segment, or why there is none.
_MADE = pa.schema(
    {"partition": pa.int32(), "path": pa.string(), "rows": pa.int64(), "dim": pa.int32(), "refused": pa.string()}
)

_Nulls = Literal["refuse", "drop"]


def build(
    df: DataFrame,
    out: str | PathLike[str],
    *,
    metric: Metric,
    vector: str = "vector",
    id: str | None = "id",
    columns: str | Sequence[str] | None = None,
    dtype: str | None = None,
    seed: int | None = None,
    nulls: _Nulls = "refuse",
    overwrite: bool = False,
    filesystem: FileSystem | None = None,
) -> list[str]:
    """Build a folder of segments, one of each partition that has rows.

    It runs a job, without a shuffle. Few large segments are searched sooner than many: ``df.coalesce(n)`` joins
    partitions; a million rows are a good size. A task writes its partition to the folder for temporary files
    (``TMPDIR``), which takes twice what a segment does, and in memory has a part of it. Segments that are in the
    folder stay there until all new ones are written. Tasks that are repeated, or run twice, are safe.

    Parameters
    ----------
    df : pyspark.sql.DataFrame
        The vectors.
    out : path or URI
        The folder of the segments, which the driver and every machine can write.
    metric : {"ip", "cosine", "l2"}
        As of `thresher.Index`.
    vector, id : str
        The columns of vectors, arrays of numbers of one length, and of their ids: integers from 0 on or strings,
        all different. Without ids (None) vectors have numbers in the order of the partitions.
    columns : str or sequence of str, optional
        Other columns, by which filters select; ``"all"`` stands for all.
    dtype, seed
        As of `thresher.Index.open`. Arrays of double are rounded to float32 without ``dtype="float64"``.
    nulls : {"refuse", "drop"}
        What is done with rows whose vector is null.
    overwrite : bool
        Whether segments that are in the folder are replaced.
    filesystem : pyarrow.fs.FileSystem, optional
        Of the folder, if out is no URI.

    Returns
    -------
    list of str
        The names of the segments.

    Raises
    ------
    FileExistsError, ValueError, TypeError
        Before the job starts: if the folder has segments, if a column is missing or has another type.
    ValueError
        If there are no rows, if a task refuses a row, which the message names, or if partitions differ in dimension;
        the folder is then as it was.
    """
    _check_frame(df, "df")
    if df.isStreaming:
        raise ValueError("df: a stream has no end, and a folder of segments one")
    _check_columns(df, vector, id, "df")
    metric = metric_name(metric)
    kept = _filter_columns(df, columns, vector, id)
    staged = Staged(out, overwrite=flag(overwrite, "overwrite"), filesystem=filesystem)
    given = {"column": vector, "ids": id, "columns": kept or None, "dtype": dtype, "seed": seed}
    settings = {name: value for name, value in given.items() if value is not None}
    drop = _drops(nulls)

    def build_segments(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with tempfile.TemporaryDirectory(prefix="thresher-") as scratch:
            path = os.path.join(scratch, "vectors.arrow")
            try:
                dim = _spill(_renamed(batches, named), path, vector, id, drop)
                if dim is not None:
                    yield _built(path, staged, metric, settings)
            except (ValueError, TypeError) as e:  # of its rows, which no repetition changes
                yield pa.RecordBatch.from_pylist([{"refused": str(e)}], _MADE)

    named = list(dict.fromkeys(name for name in (vector, id, *kept) if name is not None))
    try:
        with _described(df, f"thresher.spark.build {os.fspath(out)}"):
            made = (
                _numbered(df, named)
                .mapInArrow(build_segments, "partition int, path string, rows long, dim int, refused string")
                .collect()
            )
        for row in made:
            if row.refused is not None:
                raise ValueError(row.refused)
        made.sort(key=lambda row: row.partition)
        if not made:
            raise ValueError("df: no rows" + ("" if not drop else " with a vector"))
        for row in made:
            if row.dim != made[0].dim:
                raise ValueError(
                    f"vector: dimension differs, {made[0].dim} in partition {made[0].partition} of column {vector!r} "
                    f"and {row.dim} in partition {row.partition}"
                )
        names = staged.commit([row.path for row in made])
    except BaseException:
        staged.abandon()
        raise
    rows = sum(row.rows for row in made)
    if len(made) > 1 and rows < _SMALL * len(made):
        warnings.warn(
            f"{len(made)} segments of {rows // len(made)} vectors each: searches of fewer larger ones, of "
            f"df.coalesce({max(1, rows // 1_000_000)}), take less time",
            stacklevel=2,
        )
    return names


def _spill(batches: Iterator[pa.RecordBatch], path: str, vector: str, id: str | None, drop: bool) -> int | None:
    """Write a partition to a file, and return the dimension of its vectors; None if it has no rows."""
    dim: int | None = None
    with ExitStack() as files:
        writer = None
        for batch in batches:
            rows = _rows_of(batch, vector, id, "row", drop, dim)
            if not len(rows.values):
                continue
            dim = rows.values.shape[1]
            if rows.there is not None:
                batch = batch.filter(pa.array(rows.there))
            if id is not None and (ids := column_of(batch, id, "id")).null_count:
                raise ValueError(f"id: row {int(np.argmin(np.asarray(ids.is_valid())))} of a block has none (null)")
            if writer is None:
                writer = files.enter_context(pa.ipc.new_file(files.enter_context(pa.OSFile(path, "wb")), batch.schema))
            writer.write_batch(batch)
    return dim


def _built(path: str, staged: Staged, metric: str, settings: dict[str, Any]) -> pa.RecordBatch:
    """Build a segment of a file, and return what it is."""
    context = TaskContext.get()
    assert context is not None
    partition, attempt = context.partitionId(), context.taskAttemptId()
    try:
        with Index.open(path, metric=metric, device="cpu", threads=_threads(), **settings) as index:
            written = staged.write(index, f"{partition}-{attempt}")
            rows, dim = len(index), index.dim
    except (ValueError, TypeError, OSError) as e:
        if path not in str(e):
            raise
        raise ValueError(str(e).removeprefix("path: ").replace(path, f"partition {partition}")) from None
    return pa.RecordBatch.from_pylist([{"partition": partition, "path": written, "rows": rows, "dim": dim}], _MADE)


def knn(
    queries: DataFrame,
    vectors: str | PathLike[str] | Sequence[str | PathLike[str]],
    k: int = 10,
    *,
    vector: str = "vector",
    id: str | None = "id",
    exclude: str | None = None,
    exclude_self: bool = False,
    method: Method = "auto",
    delta: float = 0.01,
    min_score: float | None = None,
    max_score: float | None = None,
    max_distance: float | None = None,
    min_distance: float | None = None,
    filter: str | dict[str, Any] | None = None,
    keep: str | Sequence[str] | None = None,
    nulls: _Nulls = "refuse",
    joinType: Literal["inner", "leftouter"] = "inner",
    filesystem: FileSystem | None = None,
    cache: str | None = None,
) -> DataFrame:
    """Return the k best vectors of each query, a row for each of them.

    Nothing runs before the DataFrame that is returned does. A partition of the queries is a task, which has as many
    threads as ``spark.task.cpus`` says; there is no shuffle.

    Parameters
    ----------
    queries : pyspark.sql.DataFrame
        Streams are taken, too.
    vectors : path or URI, or a list of these
        A folder of segments, of `build` or other files ``.thresher``. Every machine opens it where it is mounted,
        and copies it once from elsewhere (``s3://..``).
    k, method, delta, min_score, max_score, max_distance, min_distance, filter
        As of `thresher.Index.search`, for all queries.
    vector : str
        The column of the queries, arrays of numbers.
    id : str, optional
        The column of their ids, by which errors name queries, and which exclude_self compares. None without.
    exclude : str, optional
        A column with an array of the ids that a query may not return.
    exclude_self : bool
        That a query does not find the vector of its own id.
    keep : str or sequence of str, optional
        Which columns of the queries the result has. All but `vector` and `exclude` are, if it is not given.
    nulls : {"refuse", "drop"}
        What is done with queries whose vector is null. ``drop`` leaves them without answers.
    joinType : {"inner", "leftouter"}
        As of ``DataFrame.nearestByJoin``: whether queries without answers are left out, or have a row with nulls.
    filesystem : pyarrow.fs.FileSystem, optional
        Of the vectors, if these are no URI.
    cache : path, optional
        Where a machine keeps copies of segments from elsewhere; a folder in that for temporary files.

    Returns
    -------
    pyspark.sql.DataFrame
        The columns of the queries, and ``rank`` (int, 1 is the best), ``neighbor_id`` (bigint or string, the id of
        the vector; its number, counted through all segments, if vectors have no ids), ``score`` (double),
        ``guarantee`` (string) and ``delta`` (double), the last two of the whole answer. By the methods ``exact`` and
        ``certain`` the answers are those of one index of all vectors.

    Raises
    ------
    FileNotFoundError, ValueError, TypeError
        Before a job starts: if segments are not there, not whole, or differ in metric or dimension, if the queries
        lack a column or it has another type, or if an argument is wrong.
    pyspark.errors.PythonException
        When the result is read: if a task refuses a query, which its last line names.
    """
    _check_frame(queries, "queries")
    _check_columns(queries, vector, id, "queries", exclude)
    own = flag(exclude_self, "exclude_self")
    if own and id is None:
        raise ValueError("exclude_self: a query is known by its id, and id is None")
    if joinType not in ("inner", "leftouter"):
        raise ValueError(f"joinType: {joinType!r}, expected 'inner' or 'leftouter'")
    limits = {
        "min_score": min_score,
        "max_score": max_score,
        "max_distance": max_distance,
        "min_distance": min_distance,
        "filter": filter,
    }
    asked: dict[str, Any] = {"k": whole(k, "k"), "method": method, "delta": delta}
    asked |= {name: value for name, value in limits.items() if value is not None}
    kept = _kept_columns(queries, keep, vector, exclude)
    folder = Folder(vectors, filesystem=filesystem, cache=cache)
    texts = _tried(folder, asked)
    join = _Join(vector, id, exclude, own, asked, kept, _drops(nulls), joinType == "leftouter", texts)

    def search_segments(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        try:
            for block in _blocks(_renamed(batches, named)):
                yield from join.answered(_opened(folder), block)
        except REFUSALS as e:
            raise e.with_traceback(None) from None

    paths = [vectors] if isinstance(vectors, (str, os.PathLike)) else vectors
    search_segments.__name__ = f"search_segments {' '.join(os.fspath(path) for path in paths)}"  # in Spark's pages
    named = list(dict.fromkeys(name for name in (vector, id, exclude, *kept) if name is not None))
    schema = types.StructType(
        [
            *(queries.schema[name] for name in kept),
            types.StructField("rank", types.IntegerType()),
            types.StructField("neighbor_id", types.StringType() if texts else types.LongType()),
            types.StructField("score", types.DoubleType()),
            types.StructField("guarantee", types.StringType()),
            types.StructField("delta", types.DoubleType()),
        ]
    )
    return _numbered(queries, named).mapInArrow(search_segments, schema)


def _tried(folder: Folder, asked: dict[str, Any]) -> bool:
    """Search for one query, so that what is wrong is said before a job starts; return whether ids are texts."""
    if not folder.local:  # the tasks, which copy the segments, check the rest
        folder.heads()
        kind = folder.id_kind()
        _refuse_wide(kind == "u")
        return kind == "U"
    segments = Segments(folder.paths())
    try:
        _refuse_wide(segments.wide)
        first = segments.indexes[0]
        first.search(np.ones((1, segments.dim), np.float32), **asked)
        return first.ids.dtype.kind == "U"
    finally:
        segments.close()


def _refuse_wide(wide: bool) -> None:
    if wide:
        raise ValueError("vectors: some ids are 2^63 or greater, for which Spark has no type")


def _numbered(df: DataFrame, names: Sequence[str]) -> DataFrame:
    """Return these columns alone, called by their numbers: mapInArrow takes no names with dots."""
    return df.select(
        *(functions.col("`" + name.replace("`", "``") + "`").alias(f"c{i}") for i, name in enumerate(names))
    )


def _renamed(batches: Iterator[pa.RecordBatch], names: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Return batches of `_numbered` columns under their names."""
    for batch in batches:
        yield pa.RecordBatch.from_arrays(batch.columns, names=list(names))


class _Join:
    """What tasks do for a block of queries."""

    def __init__(
        self,
        vector: str,
        id: str | None,
        exclude: str | None,
        own: bool,
        asked: dict[str, Any],
        kept: list[str],
        drop: bool,
        outer: bool,
        texts: bool,
    ) -> None:
        self.vector, self.id, self.exclude, self.own = vector, id, exclude, own
        self.asked, self.kept, self.drop, self.outer = asked, kept, drop, outer
        self.texts = texts

    def answered(self, segments: Segments, block: pa.Table) -> Iterator[pa.RecordBatch]:
        """Return the answers to a block."""
        if (segments.indexes[0].ids.dtype.kind == "U") != self.texts or segments.wide:
            raise ValueError("vectors: the segments have ids of another type than when knn() was called; call it again")
        rows = _rows_of(block, self.vector, self.id, "query", self.drop, segments.dim, "the vectors have")
        asked = block if rows.there is None else block.filter(pa.array(rows.there))
        lists = None if self.exclude is None else lists_of(asked, self.exclude)
        if self.own:
            own = self._own(asked)
            lists = own if lists is None else [np.concatenate(both) for both in zip(lists, own, strict=True)]
        with errors_by_id(asked, self.id):
            found = segments.repeating(lambda: segments.search(rows.values, exclude=lists, **self.asked))
        counts = np.zeros(block.num_rows, np.int64)
        answers = slice(None) if rows.there is None else rows.there
        counts[answers] = found.counts
        guarantee, delta = np.full(block.num_rows, "", found.guarantee.dtype), np.zeros(block.num_rows)
        guarantee[answers], delta[answers] = found.guarantee, found.delta
        there = ~np.isnan(found.scores64)
        ids, scores = found.ids[there], found.scores64[there]
        ends = np.cumsum(counts)
        step = max(1, _ROWS // self.asked["k"])
        queries = block.select(self.kept)
        for low in range(0, block.num_rows, step):
            high = min(low + step, block.num_rows)
            some = counts[low:high]
            first = int(ends[low] - counts[low])
            wide = np.maximum(some, 1) if self.outer else some
            owner = np.repeat(np.arange(low, high), wide)
            rank = np.arange(1, len(owner) + 1) - np.repeat(np.cumsum(wide) - wide, wide)
            none = np.repeat(some == 0, wide) if self.outer else None  # rows of queries without answers
            at = np.arange(len(owner)) + first
            if none is not None:
                at -= np.cumsum(none)
                at[none] = 0
            columns = {
                "rank": pa.array(rank.astype(np.int32), mask=none),
                "neighbor_id": _taken(ids, at, none, pa.string() if self.texts else pa.int64()),
                "score": _taken(scores, at, none, pa.float64()),
                "guarantee": pa.array(guarantee[owner].astype(object), pa.string(), mask=none),
                "delta": pa.array(delta[owner], mask=none),
            }
            part = queries.slice(low, high - low).take(pa.array(owner - low))
            for name, values in columns.items():
                part = part.append_column(name, values)
            yield from part.combine_chunks().to_batches()

    def _own(self, block: pa.Table) -> list[npt.NDArray[Any]]:
        """Return the ids of queries, each as a list of one."""
        from thresher._ids import as_ids

        assert self.id is not None
        ids = column_of(block, self.id, "id")
        if ids.null_count:
            raise ValueError("id: a query has none (null), by which exclude_self would know it")
        return np.split(as_ids(ids, "id"), len(ids)) if len(ids) else []


def _taken(values: npt.NDArray[Any], at: npt.NDArray[np.int64], none: npt.NDArray[np.bool_] | None, of: Any) -> Any:
    """Return values as a column, null where there is none."""
    if not len(values):
        return pa.nulls(len(at), of)
    return pa.array(values[at] if values.dtype.kind != "U" else values[at].astype(object), of, mask=none)


class _Rows:
    """Vectors of a block (m, d), and which rows of the block have one, None for all."""

    def __init__(self, values: npt.NDArray[Any], there: npt.NDArray[np.bool_] | None) -> None:
        self.values, self.there = values, there


def _rows_of(
    block: Any, name: str, id: str | None, what: str, drop: bool, dim: int | None, others: str = "those before"
) -> _Rows:
    """Return the vectors of a block, after a check that there are no nulls and that they have one length."""
    column = column_of(block, name, "vector")
    there = None
    if column.null_count:
        there = np.asarray(column.is_valid())
        if not drop:
            raise ValueError(
                f"vector: {row_name(block, id, int(np.argmin(there)), what)} has none (null) in column {name!r}; "
                "nulls='drop' leaves such rows out"
            )
        block = block.filter(pa.array(there))
        column = column.filter(pa.array(there))
    lengths = np.asarray(pc.list_value_length(column))
    if len(lengths):
        known = int(lengths[0]) if dim is None else dim
        if (wrong := lengths != known).any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"vector: {row_name(block, id, row, what)} has {lengths[row]} values in column {name!r}, "
                + (f"{others} {known}" if dim is not None else f"{row_name(block, id, 0, what)} has {known}")
            )
        dim = known
        if known == 0:
            raise ValueError(f"vector: {row_name(block, id, 0, what)} has no values in column {name!r}")
    values = column.flatten()
    if values.null_count:
        row = int(np.argmin(np.asarray(values.is_valid()))) // max(1, dim or 1)
        raise ValueError(f"vector: {row_name(block, id, row, what)} has a null among its values in column {name!r}")
    return _Rows(np.asarray(values).reshape(len(lengths), dim or 0), there)


def _blocks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Join batches to blocks of queries that walk together."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        if not batch.num_rows:
            continue
        waiting.append(batch)
        if sum(b.num_rows for b in waiting) >= _BLOCK or sum(b.nbytes for b in waiting) >= _BYTES:
            yield pa.Table.from_batches(waiting).combine_chunks()
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting).combine_chunks()


# The segments that this process, which Spark keeps between tasks, has open, by the folder as the driver saw it.
_open: dict[Any, Segments] = {}
_KEPT = 2


def _opened(folder: Folder) -> Segments:
    """Return the segments of a folder, open; those that were used longest ago are closed."""
    paths = folder.paths()
    folder.check_unchanged()
    key = folder.version, os.getpid(), _threads()
    segments = _open.pop(key, None)
    if segments is None:
        while len(_open) >= _KEPT:
            _open.pop(next(iter(_open))).close()
        segments = Segments(paths, threads=_threads())
    _open[key] = segments
    return segments


def _threads() -> int:
    """Return how many threads the processors that Spark gave a task are."""
    context = TaskContext.get()
    return 1 if context is None else max(1, context.cpus())


@contextmanager
def _described(df: DataFrame, description: str) -> Iterator[None]:
    """Name the jobs that run here, unless the caller has: Spark's pages show it."""
    try:
        context = df.sparkSession.sparkContext
    except Exception:  # Spark Connect has none
        yield
        return
    key = "spark.job.description"
    if context.getLocalProperty(key):
        yield
        return
    context.setLocalProperty(key, description)
    try:
        yield
    finally:
        context.setLocalProperty(key, None)


# What is wrong with arguments, which the driver says before a job starts.


def _check_frame(df: Any, argument: str) -> None:
    if not hasattr(df, "mapInArrow"):
        of = type(df)
        raise TypeError(f"{argument}: {of.__module__.split('.')[0]}.{of.__name__}, expected a DataFrame of Spark")


def _check_columns(df: DataFrame, vector: str, id: str | None, what: str, exclude: str | None = None) -> None:
    """Refuse a frame that lacks a column, or has it in another type."""
    for argument, name in (("vector", vector), ("id", id), ("exclude", exclude)):
        if name is None and argument != "vector":
            continue
        count = df.columns.count(text(name, argument))
        if count != 1:
            lacks = f"have no column {name!r}" if what == "queries" else f"has no column {name!r}"
            without = "; id=None if there are no ids" if argument == "id" else ""
            raise ValueError(
                f"{argument}: {what} {lacks}, but {', '.join(df.columns)}{without}"
                if not count
                else f"{argument}: {count} columns of {what} are called {name!r}"
            )
    of = df.schema[vector].dataType
    if not isinstance(of, types.ArrayType) or of.elementType.simpleString() not in _VALUES:
        wanted = f"expected an array of one of {', '.join(_VALUES)}"
        if type(of).__name__ == "VectorUDT":
            wanted = "of Spark's ML; pyspark.ml.functions.vector_to_array makes arrays of it"
        raise TypeError(f"vector: column {vector!r} is {of.simpleString()}, {wanted}")
    if id is not None and not isinstance(of := df.schema[id].dataType, (types.IntegralType, types.StringType)):
        raise TypeError(f"id: column {id!r} is {of.simpleString()}, expected integers or strings")
    if exclude is not None:
        of = df.schema[exclude].dataType
        if not isinstance(of, types.ArrayType) or not isinstance(
            of.elementType, (types.IntegralType, types.StringType)
        ):
            raise TypeError(f"exclude: column {exclude!r} is {of.simpleString()}, expected an array of ids")


def _filter_columns(df: DataFrame, columns: str | Sequence[str] | None, vector: str, id: str | None) -> list[str]:
    """Return the columns by which filters are to select."""
    if columns is None:
        return []
    if columns == "all":
        return [name for name in df.columns if name not in (vector, id)]
    names = names_of(columns)
    for name in names:
        if df.columns.count(name) != 1:
            raise ValueError(f"columns: df has no column {name!r}, but {', '.join(df.columns)}")
    return names


def _kept_columns(df: DataFrame, keep: str | Sequence[str] | None, vector: str, exclude: str | None) -> list[str]:
    """Return the columns of queries that the result has."""
    if keep is None:
        names = [name for name in df.columns if name not in (vector, exclude)]
    else:
        names = [keep] if isinstance(keep, str) else [text(name, "keep") for name in keep]
    for name in names:
        if (count := df.columns.count(name)) != 1:
            raise ValueError(
                f"keep: queries have no column {name!r}, but {', '.join(df.columns)}"
                if not count
                else f"keep: {count} columns of queries are called {name!r}"
            )
        if name.lower() in _ADDED:
            raise ValueError(
                f"keep: queries have a column {name!r}, as the result has one of its own; rename it, or leave it out"
            )
    return names


def _drops(nulls: str) -> bool:
    """Return whether rows without a vector are left out."""
    if nulls not in ("refuse", "drop"):
        raise ValueError(f"nulls: {nulls!r}, expected 'refuse' or 'drop'")
    return nulls == "drop"
