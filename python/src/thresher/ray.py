"""Searches and builds as jobs of Ray, on one machine or many.

>>> import ray, thresher.ray
>>> thresher.ray.build("vectors/", "segments/", metric="cosine")    # doctest: +SKIP
>>> answers = thresher.ray.knn("queries/", "segments/", k=10)       # doctest: +SKIP
>>> answers.write_parquet("answers/")                               # doctest: +SKIP

`build` makes segments of Parquet files, a task each. `knn`, `pairs` and `graph` take a Dataset of queries and return
one of answers: each actor of a pool opens all segments, which are mapped, so that the actors of a machine share them,
and each block of queries is a task, which walks all segments. Tasks keep nothing, so that one that is repeated gives
the same. Nothing is computed before the Dataset that is returned is read. docs/scale.md.
"""

from __future__ import annotations

import logging
import os
import traceback
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from thresher._arguments import Method, Metric, flag, number, text, whole
from thresher._parts import ROWS, Build, Folder
from thresher._walk import (
    REFUSALS,
    TOGETHER,
    Segments,
    answers,
    column_of,
    errors_by_id,
    lists_of,
    vectors_of,
)

try:
    import pyarrow as pa
    import ray
    import ray.data
    from ray.data.dataset import MaterializedDataset
except ImportError as e:
    raise ImportError(f"thresher.ray needs Ray: pip install thresher[ray] ({e})") from None

if TYPE_CHECKING:
    from os import PathLike

    from pyarrow.fs import FileSystem

__all__ = ["build", "graph", "knn", "pairs"]

log = logging.getLogger("ray.thresher")  # Ray shows what is logged below its own name

BLOCK = 4096  # queries of a task

# What an actor and its child take beside mapped files, about. Others state none: of operators that ask for the same
# Ray makes one, which would undo the division into blocks.
_MEMORY = 256 << 20


def build(
    source: str | PathLike[str] | Sequence[str | PathLike[str]],
    out: str | PathLike[str],
    *,
    metric: Metric,
    vector: str = "vector",
    id: str | None = "id",
    columns: str | Sequence[str] | None = None,
    dtype: str | None = None,
    seed: int | None = None,
    rows: int = ROWS,
    overwrite: bool = False,
    num_cpus: float = 1,
    filesystem: FileSystem | None = None,
) -> list[str]:
    """Build segments from Parquet files, a task each.

    A task streams its files through the folder for temporary files (``TMPDIR``), which takes what a segment does;
    in memory it has a part of them. A build that was killed or cancelled is gone on with by the same call: segments
    that are there stay.

    Parameters
    ----------
    source : path or URI, or a list of these
        Parquet files, and folders with all files ``.parquet`` below them, which every machine can read.
    out : path or URI
        The folder of the segments, which every machine can write.
    metric : {"ip", "cosine", "l2"}
        As of `thresher.Index`.
    vector, id : str
        The columns of vectors and of their ids, integers from 0 on or strings, all different. Without ids
        (None) vectors have the numbers of their rows, in the order of the files.
    columns, dtype, seed
        As of `thresher.Index.open`.
    rows : int
        Files are joined to segments of at least so many rows; one file is not divided. Few large segments are
        searched sooner than many.
    overwrite : bool
        Whether segments that are in the folder are replaced.
    num_cpus : float
        Processors of a task, and its threads.
    filesystem : pyarrow.fs.FileSystem, optional
        Of both, where paths are no URIs.

    Returns
    -------
    list of str
        The names of the segments.

    Raises
    ------
    FileNotFoundError, FileExistsError, ValueError
        Before any task starts: if files are not there, lack a column, or differ in dimension or type, the
        message names the file; if the folder has segments of another build.
    ValueError
        If a task refuses a row; the message names its file. Other segments are kept, and a call goes on with them.
    """
    plan = Build(
        source,
        out,
        metric=metric,
        vector=text(vector, "vector"),
        id=id if id is None else text(id, "id"),
        columns=columns,
        dtype=dtype,
        seed=seed,
        rows=whole(rows, "rows"),
        overwrite=flag(overwrite, "overwrite"),
        filesystem=filesystem,
    )
    if plan.left:
        _connect()
        ref = ray.put(plan)

        def build_segment(row: dict[str, Any]) -> dict[str, Any]:
            made: Build = ray.get(ref)
            try:
                return {**made.segment(int(row["segment"]), _threads()), "refused": ""}
            except ValueError as e:  # of its rows, which no repetition changes
                return {"file": "", "rows": 0, "dim": 0, "refused": str(e)}

        made = ray.data.from_items([{"segment": i} for i in plan.left], override_num_blocks=len(plan.left)).map(
            build_segment, num_cpus=_cpus(num_cpus)
        )
        made.set_name("thresher.ray.build")
        dims: dict[int, str] = {}
        for info in made.take_all():
            if info["refused"]:
                raise ValueError(info["refused"])
            dims.setdefault(int(info["dim"]), info["file"])
        if len(dims) > 1:
            (a, one), (b, other) = sorted(dims.items())[:2]
            raise ValueError(f"source: dimension differs, {a} of {one} and {b} of {other}")
    plan.end()
    return [plan.name(i) for i in range(len(plan.segments))]


def knn(
    queries: Any,
    vectors: str | PathLike[str] | Sequence[str | PathLike[str]],
    k: int = 10,
    *,
    vector: str = "vector",
    id: str = "id",
    exclude: str | None = None,
    exclude_self: bool = False,
    method: Method = "auto",
    delta: float = 0.01,
    min_score: float | None = None,
    max_score: float | None = None,
    max_distance: float | None = None,
    min_distance: float | None = None,
    filter: str | None = None,
    block: int = BLOCK,
    actors: int | tuple[int, int] | None = None,
    num_cpus: float = 1,
    filesystem: FileSystem | None = None,
    cache: str | None = None,
) -> ray.data.Dataset:
    """Return the k best vectors of each query.

    Parameters
    ----------
    queries : ray.data.Dataset, or path or URI of Parquet files
        Their ids need not be different.
    vectors : path or URI, or a list of these
        A folder of segments, of `build` or other files ``.thresher``. Every machine opens it where it is mounted,
        and copies it once from elsewhere (``s3://..``).
    k, method, delta, min_score, max_score, max_distance, min_distance, filter
        As of `thresher.Index.search`, for all queries.
    vector, id : str
        The columns of the queries and of their ids.
    exclude : str, optional
        A column with a list of the ids that a query may not return.
    exclude_self : bool
        That a query does not find the vector of its own id.
    block : int
        The most queries of a task, which is what is repeated where an actor or a machine dies. Where segments take
        more than the memory of a machine, each task reads them all: more queries, up to 131,072, make fewer tasks.
    actors : int or (int, int), optional
        How many search, or the least and the greatest number. By default as many as there are processors, less an
        eighth of them, at least one, for tasks that read and write: where actors hold all, Ray waits for ever.
    num_cpus : float
        Processors of an actor, and its threads.
    filesystem : pyarrow.fs.FileSystem, optional
        Of the vectors, if these are no URI.
    cache : path, optional
        Where a machine keeps copies of segments from elsewhere; a folder in that for temporary files.

    Returns
    -------
    ray.data.Dataset
        A row for each query, in any order: ``query_id``, and the columns of `thresher.Result.to_arrow`. ``rows`` counts
        through all segments. By the methods ``exact`` and ``certain`` the answers are those of one index.

    Raises
    ------
    FileNotFoundError, ValueError, TypeError
        Before any task starts, if segments are not there, not whole, or differ in metric or dimension, if the
        queries lack a column, as far as their schema is known, or if an argument is wrong.
    """
    limits = {
        "min_score": min_score,
        "max_score": max_score,
        "max_distance": max_distance,
        "min_distance": min_distance,
        "filter": filter,
    }
    asked: dict[str, Any] = {"k": whole(k, "k"), "method": method, "delta": delta}
    asked |= {name: value for name, value in limits.items() if value is not None}
    return _walked(
        "thresher.ray.knn",
        SearchSegments,
        queries,
        Folder(vectors, filesystem=filesystem, cache=cache),
        _Columns(text(vector, "vector"), text(id, "id"), exclude, flag(exclude_self, "exclude_self")),
        asked,
        whole(block, "block"),
        actors,
        num_cpus,
    )


def graph(
    queries: Any,
    vectors: str | PathLike[str] | Sequence[str | PathLike[str]],
    k: int = 10,
    *,
    method: Method = "certain",
    **options: Any,
) -> ray.data.Dataset:
    """Return the k nearest neighbours of each vector among the others.

    Parameters
    ----------
    queries : ray.data.Dataset, or path or URI of Parquet files
        The vectors that `vectors` was built from, or some of them, with their ids.
    vectors, k, method
        As of `knn`; by ``certain``, the default, no neighbour is wrong.
    options
        Others of `knn`.

    Returns
    -------
    ray.data.Dataset
        As of `knn`: a vector does not find itself, by its id; duplicates of it it does.
    """
    found = knn(queries, vectors, k, method=method, exclude_self=True, **options)
    if found.name == "thresher.ray.knn":
        found.set_name("thresher.ray.graph")
    return found


def pairs(
    queries: Any,
    vectors: str | PathLike[str] | Sequence[str | PathLike[str]],
    min_score: float | None = None,
    *,
    max_distance: float | None = None,
    others: bool = False,
    vector: str = "vector",
    id: str = "id",
    method: Method = "certain",
    delta: float = 0.01,
    block: int = BLOCK,
    actors: int | tuple[int, int] | None = None,
    num_cpus: float = 1,
    filesystem: FileSystem | None = None,
    cache: str | None = None,
) -> ray.data.Dataset:
    """Return all pairs of vectors that reach a score: near duplicates, record linkage.

    Parameters
    ----------
    queries, vectors, vector, id, method, delta, block, actors, num_cpus, filesystem, cache
        As of `knn`; by ``certain``, the default, no pair is missing.
    min_score, max_distance : float
        The least score, or for ``l2`` the greatest squared distance.
    others : bool
        Whether the queries are another set than the vectors. Otherwise they are the vectors that `vectors` was built
        from, and each pair is there once, with ``a_id`` less than ``b_id``.

    Returns
    -------
    ray.data.Dataset
        A row for each pair: ``a_id`` of the query, ``b_id``, ``score`` (float32) and ``score64``.
    """
    asked: dict[str, Any] = {"method": method, "delta": delta}
    for name, value in (("min_score", min_score), ("max_distance", max_distance)):
        if value is not None:
            asked[name] = number(value, name)
    if len(asked) != 3:
        raise ValueError("min_score: one of it and max_distance is needed")
    return _walked(
        "thresher.ray.pairs",
        FindPairs,
        queries,
        Folder(vectors, filesystem=filesystem, cache=cache),
        _Columns(text(vector, "vector"), text(id, "id"), None, not flag(others, "others")),
        asked,
        whole(block, "block"),
        actors,
        num_cpus,
    )


class _Columns:
    """Which columns of the queries are what."""

    def __init__(self, vector: str, id: str, exclude: str | None, own: bool) -> None:
        self.vector, self.id, self.exclude, self.own = vector, id, exclude, own

    def check(self, names: Sequence[str]) -> None:
        """Refuse queries that lack a column."""
        for argument, name in (("vector", self.vector), ("id", self.id), ("exclude", self.exclude)):
            if name is not None and name not in names:
                raise ValueError(f"{argument}: queries have no column {name!r}, but {', '.join(names)}")

    def check_types(self, types: dict[str, Any], dim: int, texts: bool) -> None:
        """Refuse columns of other types than the segments take; dim is theirs, texts whether their ids are."""
        of = types[self.vector]
        if isinstance(of, pa.DataType) and (pa.types.is_primitive(of) or _is_text(of)):
            raise TypeError(f"vector: column {self.vector!r} is {of}, expected lists of numbers")
        has = getattr(of, "list_size", dim)
        if has != dim:
            raise ValueError(f"vector: column {self.vector!r} has vectors of {has} values, the segments of {dim}")
        ids = types[self.id]
        if self.own and isinstance(ids, pa.DataType) and _is_text(ids) != texts:
            raise TypeError(
                f"id: column {self.id!r} is {ids}, the ids of the vectors are {'texts' if texts else 'integers'}: a "
                "query is told from the vector of its own id"
            )


def _is_text(of: pa.DataType) -> bool:
    return bool(pa.types.is_string(of) or pa.types.is_large_string(of))


class SearchSegments:
    """An actor that searches all segments for a block of queries. Its name is what Ray shows."""

    def __init__(self, folder: Folder, columns: _Columns, asked: dict[str, Any], threads: int | None = None) -> None:
        try:
            folder.check_unchanged()
            self.segments = Segments(folder.paths(), threads=threads or _threads())
        except REFUSALS as e:
            raise e.with_traceback(None) from None
        self.columns, self.asked = columns, asked

    def __call__(self, block: pa.Table) -> pa.Table:
        parts = range(0, max(block.num_rows, 1), TOGETHER)
        try:
            self.columns.check(block.column_names)
            return pa.concat_tables([self.walked(block.slice(at, TOGETHER)) for at in parts])
        except REFUSALS as e:
            raise e.with_traceback(None) from None

    def walked(self, block: pa.Table) -> pa.Table:
        """Return the answers to a block."""
        queries, ids = vectors_of(block, self.columns.vector), column_of(block, self.columns.id, "id")
        lists = None if self.columns.exclude is None else lists_of(block, self.columns.exclude)
        if self.columns.own:
            own = np.split(_own(ids), len(ids)) if len(ids) else []
            lists = own if lists is None else [np.concatenate(both) for both in zip(lists, own, strict=True)]
        with errors_by_id(block, self.columns.id):
            found = self.segments.repeating(lambda: self.segments.search(queries, exclude=lists, **self.asked))
        return answers(found, ids, self.segments.wide)


class FindPairs(SearchSegments):
    """An actor that finds all vectors that reach a score, for a block of queries. Its name is what Ray shows."""

    def walked(self, block: pa.Table) -> pa.Table:
        """Return the pairs of a block."""
        queries, ids = vectors_of(block, self.columns.vector), column_of(block, self.columns.id, "id")
        with errors_by_id(block, self.columns.id):
            found = self.segments.repeating(lambda: self.segments.range_search(queries, **self.asked))
        b = pa.array(found.ids, pa.uint64() if self.segments.wide else None)
        owners = np.repeat(np.arange(len(found)), found.counts)
        table = pa.table(
            {"a_id": ids.take(pa.array(owners)), "b_id": b, "score": found.scores, "score64": found.scores64}
        )
        if not self.columns.own:
            return table
        a = _own(ids)[owners]
        if (a.dtype.kind == "U") != (found.ids.dtype.kind == "U"):
            raise TypeError(f"id: ids are {ids.type}, those of the vectors {b.type}; others=True is for another set")
        return table.filter(pa.array(a < found.ids))


def _own(ids: pa.Array) -> Any:
    """Return the ids of queries as those of vectors are kept."""
    from thresher._ids import as_ids

    if ids.null_count:
        raise ValueError("id: a query has none (null)")
    return as_ids(ids, "id")


def _threads() -> int:
    """Return how many threads the processors that Ray gave are."""
    return max(1, int(ray.get_runtime_context().get_assigned_resources().get("CPU", 1)))


def _cpus(value: Any) -> float:
    cpus = number(value, "num_cpus")
    if cpus <= 0:
        raise ValueError(f"num_cpus: {cpus:g}, more than 0")
    return cpus


def _connect() -> None:
    """Connect to Ray, or start it, unless the program has."""
    if not ray.is_initialized():
        ray.init()


def _pool(actors: int | tuple[int, int] | None, cpus: float) -> Any:
    """Return how many actors there are, so that processors are left."""
    there = ray.cluster_resources().get("CPU", 0)
    left = max(1, there // 8)
    if actors is None:
        actors = int((there - left) // cpus)
        if actors < 1:
            raise ValueError(
                f"num_cpus: {cpus:g} of an actor and {left:g} for tasks that read and write are more than the "
                f"{there:g} processors that Ray has: ray.init(num_cpus=..) says how many"
            )
    most = None
    if isinstance(actors, tuple):
        if len(actors) != 2:
            raise ValueError(f"actors: {len(actors)} numbers, expected two, the least and the greatest")
        actors, most = (whole(n, "actors") for n in actors)
        if actors > most:
            raise ValueError(f"actors: the least number, {actors}, is above the greatest, {most}")
    if whole(actors, "actors") * cpus > there - 1:
        raise ValueError(
            f"actors: {actors} of {cpus:g} processors leave {there - actors * cpus:g} of {there:g} for tasks that read "
            "and write, which need one: Ray would wait for ever"
        )
    if most is not None:
        return ray.data.ActorPoolStrategy(min_size=actors, max_size=most)
    log.info(
        "thresher: %d x %g processors search; %g of %g are left for tasks that read and write",
        actors,
        cpus,
        there - actors * cpus,
        there,
    )
    return ray.data.ActorPoolStrategy(size=actors)


def _tried(segments: Segments, kind: type[SearchSegments], asked: dict[str, Any]) -> None:
    """Search for one query, so that what is wrong with the arguments is said before any task starts."""
    one = np.ones((1, segments.dim), np.float32)
    index = segments.indexes[0]
    (index.range_search if kind is FindPairs else index.search)(one, **asked)


def _walked(
    name: str,
    kind: type[SearchSegments],
    queries: Any,
    folder: Folder,
    columns: _Columns,
    asked: dict[str, Any],
    block: int,
    actors: int | tuple[int, int] | None,
    num_cpus: float,
) -> ray.data.Dataset:
    """Return the answers to the queries, which actors of a kind find, as a Dataset of a name."""
    cpus = _cpus(num_cpus)
    if folder.local:
        segments = Segments(folder.paths())
        try:
            _tried(segments, kind, asked)
            dim, texts = segments.dim, segments.indexes[0].ids.dtype.kind == "U"
        finally:
            segments.close()
    else:  # the actors, which copy them, check the rest
        dim, texts = folder.heads()[0].dim, folder.id_kind() == "U"
    _connect()
    pool = _pool(actors, cpus)
    if not isinstance(queries, ray.data.Dataset):
        named = [n for n in (columns.id, columns.vector, columns.exclude) if n is not None]
        queries = _read(queries, columns, named)
    there = isinstance(queries, MaterializedDataset)
    known = queries.schema(fetch_if_missing=there)
    if known is not None:
        columns.check(known.names)
        columns.check_types(dict(zip(known.names, known.types, strict=True)), dim, texts)
        schema = known.base_schema
        if there and folder.local and isinstance(schema, pa.Schema) and not queries.count():
            # No actor sees a block without rows, and Ray would know no columns of the answers.
            at, empty = schema.get_field_index(columns.vector), schema.empty_table()
            empty = empty.set_column(at, columns.vector, pa.array([], pa.list_(pa.float32(), dim)))
            return ray.data.from_arrow(kind(folder, columns, asked, 1)(empty))
    found = queries.repartition(target_num_rows_per_block=block).map_batches(
        kind,
        fn_constructor_args=(folder, columns, asked),
        batch_format="pyarrow",
        batch_size=None,  # a block is a task
        zero_copy_batch=True,
        compute=pool,
        num_cpus=cpus,
        memory=_MEMORY,
    )
    if found.name is None:
        found.set_name(name)  # in Ray's pages and logs
    told = getattr(found.context, "custom_execution_callback_classes", None)  # of a Ray that has them
    if told is not None and _Released not in told:
        told.append(_Released)
    return found


class _Released:
    """Lets go of the actors of a job that failed, whose exception Python may keep.

    The exception is raised while Ray handles another, whose frames refer to the task that failed and so to its actor,
    which holds its processors as long as anything refers to it. Ray calls these methods (its ExecutionCallback).
    """

    def before_execution_starts(self, executor: Any) -> None:
        """Do nothing."""

    def on_execution_step(self, executor: Any) -> None:
        """Do nothing."""

    def after_execution_succeeds(self, executor: Any) -> None:
        """Do nothing."""

    def after_execution_fails(self, executor: Any, error: BaseException) -> None:
        """Drop the variables of the frames of all that the error says."""
        left, seen = [error], set()
        while left:
            e = left.pop()
            seen.add(id(e))
            traceback.clear_frames(e.__traceback__)
            left += [o for o in (e.__cause__, e.__context__) if o is not None and id(o) not in seen]


def _read(path: Any, columns: _Columns, named: list[str]) -> ray.data.Dataset:
    """Return the queries of Parquet files."""
    import pyarrow.parquet as pq

    from thresher._parts import find_files

    if not isinstance(path, (str, os.PathLike, list, tuple)):
        raise TypeError(
            f"queries: {type(path).__name__}, expected a Dataset, such as ray.data.from_arrow makes, or paths"
        )
    system, files = find_files(path, ".parquet", "queries")
    rows = 0
    with system.open_input_file(files[0].path) as f:
        try:
            file = pq.ParquetFile(f)
            columns.check(file.schema_arrow.names)
            rows = file.metadata.num_rows
        except pa.ArrowInvalid as e:
            raise OSError(f"queries: {files[0].path}: {e}") from None
        except ValueError as e:
            raise ValueError(f"{e}, in {files[0].path}") from None
    if len(files) == 1 and not rows:
        return ray.data.from_arrow(file.schema_arrow.empty_table().select(list(dict.fromkeys(named))))
    given = [path] if isinstance(path, (str, os.PathLike)) else path
    return ray.data.read_parquet([os.fspath(p) for p in given]).select_columns(named)
