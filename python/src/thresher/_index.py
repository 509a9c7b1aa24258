"""Collections of vectors, and searches of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from thresher import _changes, _columns, _fetch, _ids, _kept, _narrow
from thresher._arguments import (
    Deadline,
    Device,
    DType,
    Filter,
    Method,
    Metric,
    Published,
    dtype_name,
    file_name,
    flag,
    metric_name,
    probability,
    published_options,
    text,
    vector_files,
    whole,
)
from thresher._arrays import Lists, Vectors
from thresher._awaiting import answered, awaited
from thresher._collection import rounding, shared_rows
from thresher._progress import Progress
from thresher._pursuit import Pursuit, pursuit_of
from thresher._range_result import RangeResult
from thresher._result import Result
from thresher._searches import Searches
from thresher._writes import Writes

__all__ = ["Index"]


class Index(Searches, Writes):
    """Vectors that are prepared once, to be searched often.

    There is nothing to train or tune: building rotates and rounds the vectors, which takes about
    as long as reading them a few times. Searches read the rounded coordinates first and score
    exactly what they do not rule out.

    Parameters
    ----------
    vectors : array (n, d)
        What can be found. Among no rows, such as an empty part of a data set, searches find nothing.
        float32, float16, bfloat16 (of torch or ml_dtypes), int8 and uint8 are kept in their type, in
        which they take a half or a quarter of the memory, and in C order are copied once, into memory
        shared with the process that searches; not at all if it came from `thresher.empty` or from
        ``numpy.load(.., mmap_mode="r")``, and must then not be changed while the index lives.
        float64 is rounded to float32, for ``l2`` relative to a point near the vectors, so that a
        common offset costs nothing; certificates say by how much a value was changed, which is what
        ``exact`` then is exact for. Integers that float32 does not hold are refused. Tensors of torch on
        the CPU and columns of pandas, polars and pyarrow with a row each are accepted. Of data frames
        the names of the columns are kept, and frames of queries are taken by them.
    ids : sequence (n,), optional
        Integers from 0 on or strings, all different, which answers have in place of row numbers.
        Integers are int64 while all fit, else uint64; floats and negative numbers are refused.
    columns : mapping or table, optional
        Columns by which filters select: a mapping of names to sequences with a value for each vector, or
        a table of pandas, polars or pyarrow. Values are int, float, str, bool, datetime, date, lists of
        str, or None; NaN is a missing value. They are kept by `save`. docs/filters.md.
    metric : {"ip", "cosine", "l2"}
        Required: the largest inner product, the largest cosine, or the smallest squared Euclidean
        distance. The names that libraries and databases have for them are taken in any case
        (``inner_product``, ``dot``, ``COSINE``, ``euclidean``, ..), and the constants of FAISS.
    dtype : {"float32", "float64"}
        How float64 is kept: rounded, or as it is given. As it is, nothing is rounded in answers: scores are sums in
        float64 of the values given, at any offset; vectors take 8 bytes a value and are searched on the CPU. float32 is
        then kept in float64, too; narrower types are kept as they are either way.
    basis : {"auto", "rotated", "raw"}
        ``raw`` is for method ``strict`` and the published methods.
    seed : int, optional
        Of the random rotation. The default is public, so that searches repeat; where users may
        look for queries that fail, pass a secret one, or search by ``certain``.
    device : {"auto", "cpu", "cuda"}
        Where to search. ``auto`` is a GPU if there is one that can be used and is expected to answer sooner.
        If there is one that cannot be used, a `DeviceUnused` warns of it, once.
    threads : int, optional
        How many threads of the CPU build and search, at most those that the process may use. Without
        it as many as ``THRESHER_THREADS`` or else ``OMP_NUM_THREADS`` says, which Ray, Spark and Dask set
        for the processes that they start, at the time of the first call; otherwise all that the process
        may use by its affinity and its control groups.
    progress, deadline
        As in `search`; they hold for the build.

    Raises
    ------
    ValueError
        If an argument is wrong (`BadInput`): the message names it, and the row.
    DeviceMissing
        If there is no such device; the message says why.
    DeadlineExceeded
        If the build took longer than the deadline.

    Notes
    -----
    An index can be searched by several threads at once, and their searches share work; not while
    it is changed (`add`, `upsert`, `remove`) or closed. In a process forked from this one, and in one that
    it was pickled to, it is built again at its first use.

    Examples
    --------
    >>> import numpy as np, thresher
    >>> vectors = np.eye(4, dtype=np.float32)
    >>> with thresher.Index(vectors, ids=["a", "b", "c", "d"], metric="ip") as index:
    ...     scores, ids = index.search([0.1, 0.2, 0.9, 0.3], k=2)
    >>> ids.tolist()
    [['c', 'd']]
    """

    def __init__(
        self,
        vectors: Vectors,
        ids: npt.ArrayLike | None = None,
        *,
        columns: _kept.Table | None = None,
        metric: Metric | None = None,
        dtype: DType = "float32",
        basis: str = "auto",
        seed: int | None = None,
        device: Device = "auto",
        threads: int | None = None,
        progress: Progress = None,
        deadline: Deadline = None,
        _once: dict[str, Any] | None = None,  # of an index that is searched once: queries, k and method
    ) -> None:
        self._settings: dict[str, Any] = {"metric": metric_name(metric), "device": text(device, "device")}
        if text(basis, "basis") != "auto":
            self._settings["basis"] = basis
        if seed is not None:
            self._settings["seed"] = whole(seed, "seed", 0)
        if threads is not None:
            self._settings["threads"] = whole(threads, "threads")
        if _once is not None:
            self._settings["once"] = _once
        self._path: str | None = None
        self._columns = _columns.names_of(vectors, "vectors")
        kept = dtype_name(dtype) == "float64"
        given = shared_rows(vectors, "vectors", centre=self._settings["metric"] == "l2", float64=kept)
        self._rows, self._origin, self._rounded = given.rows, given.origin, rounding(given)
        self._ids = _ids.checked_ids(ids, len(given.rows))
        self._kept = _kept.keep(columns, len(given.rows))
        self._begin(progress, deadline)

    # Searches

    def search(
        self,
        queries: Vectors,
        k: npt.ArrayLike = 10,
        *,
        method: Method = "auto",
        delta: float = 0.01,
        epsilon: float = 0.0,
        exclude: Lists | None = None,
        min_score: npt.ArrayLike | None = None,
        max_score: npt.ArrayLike | None = None,
        max_distance: npt.ArrayLike | None = None,
        min_distance: npt.ArrayLike | None = None,
        candidates: Lists | None = None,
        filter: Filter | None = None,
        exclude_self: bool = False,
        query_ids: npt.ArrayLike | None = None,
        published: Published | None = None,
        plan: str | None = None,
        threads: int | None = None,
        progress: Progress = None,
        deadline: Deadline = None,
        below: npt.ArrayLike | None = None,
        floor: npt.ArrayLike | None = None,
    ) -> Result:
        """Return the k best vectors of each query.

        Parameters
        ----------
        queries : array (m, d) or (d,)
            One row is a list of one query. Converted as the vectors of the index are. NaN and
            infinite values are refused.
        k : int or sequence of int (m,)
            How many are wanted, of all or of each query. Of k > n there are only n answers, and the
            columns beyond them are padding: -1 and NaN.
        method : str
            ``auto`` takes what is fastest; ``certain`` and ``exact`` are never wrong. The
            certificates say what was promised.
        delta : float
            Allowed probability that a query's answer is wrong, in (0, 1), for methods that may fail.
        epsilon : float
            Allowed gap, in units of scores.
        exclude : CSR matrix (m, n) or lists, optional
            What each query may not return: a sparse matrix of scipy whose columns are row numbers
            of vectors (without stored zeros), a pair (indptr, indices) of arrays, a bool array
            (m, n), an integer array (m, w) padded with -1, or a list of ids for each query.
        min_score, max_score : float or sequence (m,), optional
            The least and the greatest score that is wanted, of all or each query; NaN stands for none. They
            are float64 and compared so: a score that a result shows, of ``scores`` or ``scores64``, given
            back, lets its vector through. The greatest is for hard negatives, and to skip duplicates.
        max_distance, min_distance : float or sequence (m,), optional
            For ``l2``, in place of these: the greatest and the least squared distance.
        candidates : array (m, w), CSR matrix or lists, optional
            Probable answers, from an index or an earlier search, as in `exclude`. They save work and
            change no answer.
        filter : str, dict, bool array (n,) or sequence of ids, or a list of these, optional
            The only vectors that may be returned: those for which an expression over the
            columns is true, such as ``"year >= 1999 and lang in ('go', 'rust')"``, or a filter in Qdrant's
            form (docs/filters.md); those of a mask, such as a Series of bool; or those of ids. As many
            integers as there are vectors, all 0 or 1, can be mask or ids and are refused. Or a filter
            for each query: a list of m of these, None for all vectors, or a bool array (m, n). Queries
            with equal filters are searched together. Of an index whose ids are texts, a list of texts
            is ids, unless it has one for each query and none of them is an id.
        exclude_self : bool
            That query j is row j of the vectors and does not find itself. Other queries are refused:
            what they may not return is named by `exclude`.
        query_ids : sequence (m,), optional
            Integers from 0 on or strings, which the result has beside its answers.
        published : dict, optional
            Options of a published method: ``{"sigma": 1}``, or ``"range"`` (the default), ``"data"``,
            ``"bernstein"``; ``beta`` of banditmips-beta; ``sampling``, ``"with_replacement"`` or
            ``"without_replacement"``; ``bins`` of bucket-ae, vectors a bin; ``union`` of boundedme,
            ``"published"`` or ``"corrected"``; ``warm`` of banditmips, coordinates that are read once for
            all queries. One that the method does not have is refused. docs/guarantee.md says what is
            then guaranteed: with a sigma, for instance, what is promised rests on its being true.
        plan : str, optional
            The looks to take in place of the planner's choice; docs/planning.md.
        threads : int, optional
            How many threads of the CPU search; those of the index, if not given. The answers are the same.
        progress : bool or callable, optional
            True for a bar of tqdm if that is installed, else lines on stderr; or a function of (step, done, total).
        deadline : float or timedelta, optional
            Seconds after which the answers are the best so far. ``Result.complete`` is then False for
            those that were stopped, their guarantee is ``bound``, and certificates say what is open.
        below, floor
            Old names of ``max_score`` and ``min_score``, or ``min_distance`` and ``max_distance``.

        Returns
        -------
        Result
            ``scores, ids = index.search(queries, k)`` unpacks it.

        Raises
        ------
        ValueError
            If an argument is wrong (`BadInput`); the message names it.
        MemoryError
            If the answers take more memory than is free, columns beyond n included.
        """
        asked = self._to_search(
            queries,
            k,
            method=method,
            delta=delta,
            epsilon=epsilon,
            exclude=exclude,
            min_score=min_score,
            max_score=max_score,
            max_distance=max_distance,
            min_distance=min_distance,
            candidates=candidates,
            filter=filter,
            exclude_self=exclude_self,
            query_ids=query_ids,
            published=published,
            plan=plan,
            threads=threads,
            below=below,
            floor=floor,
        )
        return self._answered(asked, progress, deadline)

    @awaited(search)
    async def asearch(self, *given: Any, **options: Any) -> Result:
        """Return the k best vectors of each query, as `search` does, to a task of asyncio.

        Parameters and result are those of `search`. Many can be awaited at once, and share work as searches of
        several threads do; no thread waits with them. A task that is cancelled, by ``asyncio.timeout`` for instance,
        cancels its search in the process that searches. progress is called by the event loop.

        Examples
        --------
        >>> import asyncio, numpy as np, thresher
        >>> async def both(index):
        ...     return await asyncio.gather(index.asearch([1, 0, 0], 1), index.asearch([0, 0, 1], 1))
        >>> with thresher.Index(np.eye(3), metric="ip") as index:
        ...     [result.ids.item() for result in asyncio.run(both(index))]
        [0, 2]
        """
        return await answered(self, self._to_search, *given, **options)

    def range_search(
        self,
        queries: Vectors,
        *reached: npt.ArrayLike,
        min_score: npt.ArrayLike | None = None,
        max_distance: npt.ArrayLike | None = None,
        method: Method = "auto",
        delta: float = 0.01,
        exclude: Lists | None = None,
        max_score: npt.ArrayLike | None = None,
        min_distance: npt.ArrayLike | None = None,
        filter: Filter | None = None,
        exclude_self: bool = False,
        query_ids: npt.ArrayLike | None = None,
        limit: int | None = None,
        threads: int | None = None,
        progress: Progress = None,
        deadline: Deadline = None,
        below: npt.ArrayLike | None = None,
        threshold: npt.ArrayLike | None = None,
    ) -> RangeResult:
        """Return all vectors that reach a score, for each query, as ``range_search`` of FAISS does.

        Parameters
        ----------
        queries : array (m, d) or (d,)
            As in `search`.
        min_score, max_distance : float or sequence (m,)
            The least score, or for ``l2`` the greatest squared distance; the one that the metric has can be
            given by position, too. A vector exactly there is returned (FAISS leaves it out). `threshold` is
            the former name of both.
        limit : int, optional
            At most so many of each query, the best.
        method, delta, exclude, max_score, min_distance, filter, exclude_self, query_ids, threads, progress,
        deadline, below
            As in `search`. By a method that may fail, each vector is missed with probability at
            most delta.

        Returns
        -------
        RangeResult
            ``lims, scores, ids = index.range_search(queries, 0.9)`` unpacks it. The answer of
            query j is at ``lims[j]:lims[j+1]``, best first.
        """
        asked = self._to_range_search(
            queries,
            *reached,
            min_score=min_score,
            max_distance=max_distance,
            method=method,
            delta=delta,
            exclude=exclude,
            max_score=max_score,
            min_distance=min_distance,
            filter=filter,
            exclude_self=exclude_self,
            query_ids=query_ids,
            limit=limit,
            threads=threads,
            below=below,
            threshold=threshold,
        )
        return self._answered(asked, progress, deadline)

    @awaited(range_search)
    async def arange_search(self, *given: Any, **options: Any) -> RangeResult:
        """Return all vectors that reach a score, as `range_search` does, to a task of asyncio: see `asearch`."""
        return await answered(self, self._to_range_search, *given, **options)

    def pursuit(
        self,
        signals: Vectors,
        terms: int,
        *,
        method: Method = "certain",
        delta: float = 0.01,
        nonnegative: bool = False,
        published: Published | None = None,
        progress: Progress = None,
        deadline: Deadline = None,
    ) -> Pursuit:
        """Write signals as sums of few vectors, by matching pursuit.

        Each step finds the vector v with the largest |<r, v>|/|v| for the rest r of a signal, and subtracts
        <r, v>/|v|^2 times v. The metric must be ``cosine``: vectors are found by their directions, and may
        have any length but 0.

        Parameters
        ----------
        signals : array (m, d) or (d,)
            Converted as the vectors of the index are. NaN and infinite values are refused.
        terms : int
            The greatest number of terms of a signal. A signal of which nothing is left has fewer; where
            there are more terms than vectors, vectors recur.
        method, delta
            Of the searches. By ``certain``, the default, and ``exact`` every step takes the best vector
            for the rest as float32 holds its direction; by others a signal has a step that does not with
            probability at most delta.
        nonnegative : bool
            That coefficients are positive, as published. Otherwise each step searches for the rest and
            for its opposite.
        published : dict, optional
            Options of a published method, as of `search`.
        progress, deadline
            As in `search`; a pursuit that its deadline ends is an error.

        Returns
        -------
        Pursuit

        Raises
        ------
        ValueError
            If an argument is wrong (`BadInput`); the message names it, and the row.
        DeadlineExceeded
            If the pursuit took longer than the deadline.

        Examples
        --------
        >>> import numpy as np, thresher
        >>> with thresher.Index([[2.0, 0, 0], [0, 4, 0], [1, 1, 1]], metric="cosine") as index:
        ...     found = index.pursuit([6, 4, 0], terms=2)
        >>> found.rows.tolist(), found.coefficients.round(6).tolist()
        ([[0, 1]], [[3.0, 1.0]])
        """
        given = self._asked(signals, "signals")
        fields: dict[str, Any] = {
            "terms": whole(terms, "terms"),
            "method": text(method, "method"),
            "delta": probability(delta, "delta"),
        }
        if flag(nonnegative, "nonnegative"):
            fields["nonnegative"] = True
        if published is not None:
            fields["published"] = published_options(published)
        reply, out = self._call("pursuit", fields, {"signals": given.rows}, progress=progress, deadline=deadline)
        found = pursuit_of(reply, out, given.rows)
        return Pursuit(ids=self._named(found["rows"]), **found)

    # Changes

    def add(
        self,
        vectors: Vectors,
        ids: npt.ArrayLike | None = None,
        *,
        columns: _kept.Table | None = None,
        progress: Progress = None,
    ) -> None:
        """Add vectors, whose row numbers follow the others.

        The index is built anew, from a copy of all vectors: it costs what building costs, and
        twice the memory meanwhile. Add many at a time.

        Parameters
        ----------
        vectors : array (a, d)
            As of the index, whose type has to hold their values.
        ids : sequence (a,), optional
            Needed if the index has ids, and only then.
        columns : mapping or table, optional
            Of the new vectors, as of the index; what is missing is null. Columns that the index lacks are
            refused.
        progress
            As in `search`.
        """
        self._add(vectors, ids, columns, progress)

    def upsert(self, ids: npt.ArrayLike, vectors: Vectors) -> int:
        """Write vectors under their ids: replace those that are there, and add the others.

        The index is not built anew: the vectors are written beside it, are in the next search, and are merged with
        it in the background. `recall`, `certify`, `verify`, graphs, pairs, pursuits and `save` prepare what is there
        now once, at the first of them after a change. An opened file stays as it is.

        Parameters
        ----------
        ids : sequence (u,)
            All different, of the kind that the index has. Without ids, row numbers: of those that are there, or
            those that follow them.
        vectors : array (u, d)
            As of the index.

        Returns
        -------
        int
            How many were replaced. These keep their rows; the others follow, in the order in which they are given.

        Raises
        ------
        ValueError, TypeError
            If an argument is wrong; the message names row and id. Nothing was written then.

        Notes
        -----
        This process keeps a copy of each vector that was written, for the case that the worker dies or the index
        is pickled.

        Examples
        --------
        >>> import numpy as np, thresher
        >>> with thresher.Index(np.eye(3), ids=["a", "b", "c"], metric="ip") as index:
        ...     replaced = index.upsert(["b", "d"], [[0, 5, 0], [0, 4, 0]])
        ...     index.remove("a")
        ...     replaced, index.search([0, 1, 0], 2).ids.tolist(), index.ids.tolist()
        (1, [['b', 'd']], ['b', 'c', 'd'])
        """
        return self._upsert(ids, vectors)

    def remove(self, ids: npt.ArrayLike, *, progress: Progress = None) -> None:
        """Remove vectors. Without ids, row numbers behind a removed one move up.

        The index is not built anew: see `upsert`. Some vectors must remain.

        Parameters
        ----------
        ids : sequence of ids, or of row numbers if the index has none
            What to remove; an unknown one is an error, and nothing is removed.
        progress
            As in `search`.
        """
        self._remove(ids, progress)

    # Files

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False, progress: Progress = None) -> None:
        """Write the index to a file, which `open` maps; durably, or not at all.

        Parameters
        ----------
        path : path
            Ending in ``.thresher``. Ids go to a file beside it, which ends in ``.thresher.ids.npz``, and columns
            to one that ends in ``.thresher.columns``.
        overwrite : bool
            Whether a file that exists is replaced.
        progress
            As in `search`.

        Raises
        ------
        FileExistsError, OSError
            If the file exists, or cannot be written.
        """
        name = file_name(path)
        if not name.endswith(".thresher"):
            raise ValueError(f"path: {name} does not end in .thresher")
        names = name + _ids.SUFFIX
        if not overwrite:
            for existing in (name, names, name + ".columns"):
                if os.path.lexists(existing):
                    raise FileExistsError(f"path: {existing} exists; overwrite=True replaces it")
        fields = {"path": name, "force": overwrite}
        self._call("save", fields, progress=progress, again={"force": True})  # the first may have written it
        if self._ids is not None:
            with open(names + ".part", "wb") as f:
                np.savez(f, ids=self._ids, collection=np.array(_ids.header_of(name)))
                f.flush()
                os.fsync(f.fileno())
            os.replace(names + ".part", names)
        elif os.path.lexists(names):
            os.remove(names)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
        *,
        metric: Metric | None = None,
        dtype: DType | None = None,
        column: str | None = None,
        ids: str | None = None,
        columns: str | Sequence[str] | None = None,
        header: Literal["yes", "no"] | None = None,
        basis: str | None = None,
        seed: int | None = None,
        device: Device = "auto",
        threads: int | None = None,
        progress: Progress = None,
        deadline: Deadline = None,
    ) -> Index:
        """Open an index that `save` or ``thresher build`` wrote, or build one from a file of vectors.

        Parameters
        ----------
        path : path, or list of paths
            A file ``.thresher``, which is mapped, not read; or vectors as ``.npy`` (mapped, too, if their
            codes fit in memory), npz, fvecs, bvecs, fbin, f16bin, u8bin, i8bin, JSONL, CSV, Parquet, Arrow or
            safetensors. The worker streams these into a file without a name in the folder for temporary files, which
            takes what vectors and codes take, and maps it; no process holds them in memory of its own.
            A folder, a pattern such as ``part-*.parquet``, names separated by commas, and a list stand
            for several files of one format, dimension and type, which are read one after the other, and
            whose ids are all different. Files of a folder or a pattern are in the order of their names
            (part-2 before part-10). A URL that fsspec opens (``s3://``, ``gs://``, ``https://`` ..) is fetched to
            a cache, the folder THRESHER_CACHE or else that of the user, unless the same version is there; one that is
            damaged is fetched again, and THRESHER_CACHE_LIMIT (``200GB``) bounds what is kept of others.
        metric, basis, seed
            Of vectors, which need a metric; a saved index has its own, and others are refused.
        dtype : {"float32", "float64"}, optional
            How vectors of float64 are kept, as of the index; a saved index has its own. Numbers in text are rounded.
        column, ids : str, optional
            The column or array of the vectors, and that of their ids. Of CSV,
            Parquet and Arrow `column` may also list columns with a coordinate each, separated by commas, or
            be a pattern such as ``d*``.
        columns : str or sequence of str, optional
            Other columns of the file, by which filters select; ``"all"`` stands for all. A saved index has all
            that it was saved with, without this. Of files in folders such as ``year=2024`` these are columns.
        header : "yes" or "no", optional
            Whether the first line of CSV names the columns. Without it lines of texts do, and those
            that count 0,1,2,.. or 1,2,3,..
        device, threads, progress, deadline
            As of the index.
        """
        self = cls.__new__(cls)
        name = vector_files(path)
        given = {
            "column": column,
            "ids": ids,
            "header": header,
            "basis": basis,
            "seed": seed,
            "metric": None if metric is None else metric_name(metric),
            "dtype": None if dtype is None else dtype_name(dtype),
        }
        self._settings = {
            "device": text(device, "device"),
            **{key: value for key, value in given.items() if value is not None},
        }
        if threads is not None:
            self._settings["threads"] = whole(threads, "threads")
        if columns is not None:
            self._settings["columns"] = _kept.names_of(columns)
        with _fetch.errors_of_urls():
            try:
                self._open_files(name, progress, deadline)
            except (OSError, ValueError):
                if not _fetch.mended(name):
                    raise
                self._open_files(vector_files(path), progress, deadline)  # as they are fetched again
        return self

    def _open_files(self, name: str, progress: Progress, deadline: Deadline) -> None:
        """Open files on this machine, with the ids beside a saved index."""
        self._path, self._rows, self._ids, self._columns, self._origin = name, None, None, None, None
        self._kept = None
        self._begin(progress, deadline)
        if self._ids is None and os.path.exists(name + _ids.SUFFIX):
            with np.load(name + _ids.SUFFIX, allow_pickle=False) as saved:
                if str(saved["collection"]) != _ids.header_of(name):
                    self.close()
                    raise ValueError(
                        f"path: {name + _ids.SUFFIX} has the ids of another index than {name}; save it again"
                    )
                self._ids = _ids.checked_ids(saved["ids"], len(self))

    # Life

    def close(self) -> None:
        """Free the memory of the index. Searches in progress end first; later ones are an error."""
        if not self._closed:
            self._closed = True
            self._finalizer()
            self._rows = self._history = self._single = None

    def __enter__(self) -> Index:
        if self._closed:
            raise ValueError("index: closed")
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Callable[..., Index], tuple[Any, ...]]:
        if self._closed:
            raise ValueError("index: closed")
        if self._rows is None and self._path is None:
            raise TypeError("index: its vectors are in the worker alone; save it, and open it there")
        rows = None if self._rows is None else np.asarray(self._rows)
        given = (self._ids, self._columns, self._origin, self._rounded)
        return _restored, (self._settings, self._path, rows, *given, self._history, self._kept)


def _restored(
    settings: dict[str, Any],
    path: str | None,
    rows: npt.NDArray[Any] | None,
    ids: npt.NDArray[Any] | None,
    columns: _columns.Names = None,
    origin: _narrow.Origin = None,
    rounded: dict[str, Any] | None = None,
    changes: _changes.Changes | None = None,
    kept: _kept.Kept = None,
) -> Index:
    """Return an index that was pickled."""
    if path is None or not path.endswith(".thresher"):
        settings = {"metric": "ip", **settings}  # pickled when this was the default
    index = Index.__new__(Index)
    index._origin, index._rounded, index._history, index._kept = origin, rounded or {}, changes, kept
    index._settings, index._path, index._ids, index._columns = settings, path, ids, columns
    index._rows = None if rows is None else shared_rows(rows, "vectors", float64=rows.dtype == np.float64).rows
    index._begin()
    return index
