"""Folders of segments: files ``.thresher`` side by side, which engines build as tasks and walk.

Such a folder needs nothing else: ``thresher build`` and `Index.save` can write its files, too. While a build is under
way it has ``building.json``, what is to be built; a folder with one lacks segments, and is not searched.
"""

from __future__ import annotations

import errno
import glob
import hashlib
import json
import logging
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from thresher import _ids
from thresher._arguments import metric_name
from thresher._heads import Head, read_heads
from thresher._index import Index

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

__all__ = ["Build", "Folder", "find_files"]

log = logging.getLogger("thresher")

SUFFIX = ".thresher"
_BESIDE = (_ids.SUFFIX, ".columns")  # what files beside a segment add to its name
_PLAN = "building.json"
_SCRATCH = ".building-"

ROWS = 1_000_000  # files are joined to segments of at least so many rows


def _opened(path: str, filesystem: FileSystem | None, argument: str) -> tuple[FileSystem, str]:
    """Return the file system of a path or URI, and the path within it."""
    from pyarrow import fs

    if not path and filesystem is None:  # which would be the current folder
        raise ValueError(f"{argument}: an empty path, expected that of a file or folder")
    if filesystem is not None:
        return (filesystem if isinstance(filesystem, fs.FileSystem) else fs._ensure_filesystem(filesystem)), path
    if "://" in path:
        return fs.FileSystem.from_uri(path)  # type: ignore[no-any-return]
    return fs.LocalFileSystem(), os.path.abspath(path)


def _natural(path: str) -> list[Any]:
    """Return what orders names with part-2 before part-10."""
    return [int(piece) if piece.isdigit() else piece for piece in re.split(r"(\d+)", path)]


def _matched(name: str, local: bool) -> list[str]:
    """Return the files of a pattern such as ``part-*.parquet``, of this machine; other names as they are."""
    if not local or "://" in name or os.path.exists(name) or not any(mark in name for mark in "*?["):
        return [name]
    return sorted(glob.glob(name, recursive=True), key=_natural) or [name]


def find_files(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    suffix: str,
    argument: str,
    filesystem: FileSystem | None = None,
) -> tuple[FileSystem, list[Any]]:
    """Return the file system and the files (`pyarrow.fs.FileInfo`) of paths: files, patterns and folders.

    Files of a folder are all below it that end in suffix and begin with neither ``.`` nor ``_``, in the order of their
    names.

    Raises
    ------
    FileNotFoundError
        If a path is not there, or a folder has no such file; the message begins with argument.
    """
    from pyarrow import fs

    paths = [source] if isinstance(source, (str, os.PathLike)) else source
    if not isinstance(paths, (list, tuple)):
        raise TypeError(
            f"{argument}: {type(source).__name__}, expected the path of a file or folder, or a list of these"
        )
    given = [name for path in paths for name in _matched(os.fspath(path), filesystem is None)]
    if not given:
        raise ValueError(f"{argument}: an empty list, expected paths")
    found: list[Any] = []
    system: FileSystem | None = None
    for name in given:
        own, within = _opened(name, filesystem, argument)
        if system is not None and own != system:
            raise ValueError(f"{argument}: {name} is in another file system than {given[0]}")
        system = own
        info = own.get_file_info(within)
        if info.type == fs.FileType.NotFound:
            raise FileNotFoundError(errno.ENOENT, f"{argument}: there is no such file or folder", name)
        if info.type == fs.FileType.File:
            found.append(info)
            continue
        below = [
            f
            for f in own.get_file_info(fs.FileSelector(within, recursive=True))
            if f.type == fs.FileType.File
            and f.path.endswith(suffix)
            and not any(part[0] in "._" for part in PurePosixPath(f.path).relative_to(within).parts)
        ]
        if not below:
            raise FileNotFoundError(errno.ENOENT, f"{argument}: the folder has no files {suffix}", name)
        found += sorted(below, key=lambda f: _natural(f.path))
    assert system is not None
    return system, found


class Folder:
    """A folder of segments, in whichever file system, as every machine opens it.

    Parameters
    ----------
    path : path or URI, or a list of these
        A folder, whose segments are in the order of their names, or segments.
    filesystem : pyarrow.fs.FileSystem, optional
        Where it is, if path does not say it.
    cache : path, optional
        Where a machine keeps copies of segments that are not in a file system that it has mounted; a folder in that
        for temporary files.

    Raises
    ------
    FileNotFoundError
        If it is not there, or has no segments.
    ValueError
        If it is not whole, because a build has not ended.
    """

    def __init__(self, path: Any, *, filesystem: FileSystem | None = None, cache: str | None = None) -> None:
        from pyarrow import fs

        self._system, files = find_files(path, SUFFIX, "vectors", filesystem)
        self._files = [(f.path, f.size, f.mtime_ns) for f in files]
        for f in files:
            if not f.path.endswith(SUFFIX):
                raise ValueError(f"vectors: {f.path} is no segment, whose name ends in {SUFFIX}; build() makes them")
        for folder in dict.fromkeys(os.path.dirname(f.path) for f in files):
            plan = f"{folder}/{_PLAN}"
            if self._system.get_file_info(plan).type == fs.FileType.File:
                there = sum(os.path.dirname(f.path) == folder for f in files)
                wanted = len(json.loads(_read(self._system, plan))["segments"])
                raise ValueError(
                    f"vectors: the build of {folder} has not ended: {there} of {wanted} segments are there; "
                    "build() with the same arguments goes on"
                )
        self._cache = cache

    @property
    def local(self) -> bool:
        """Whether the segments are files of this machine, which are mapped where they are."""
        from pyarrow import fs

        return isinstance(self._system, fs.LocalFileSystem)

    def __len__(self) -> int:
        return len(self._files)

    @property
    def version(self) -> tuple[tuple[str, int, int], ...]:
        """The segments with their sizes and times of change when the folder was opened, by which caches know it."""
        return tuple(self._files)

    def check_unchanged(self) -> None:
        """Refuse segments of this machine that have been replaced since the folder was opened."""
        if not self.local:
            return  # copies are kept by their versions
        for path, size, changed in self._files:
            now = os.stat(path) if os.path.exists(path) else None
            if now is None or (now.st_size, now.st_mtime_ns) != (size, changed):
                gone = "is gone" if now is None else "was replaced"
                raise ValueError(f"vectors: {path} {gone} since the folder was opened; open it again")

    def heads(self) -> list[Head]:
        """Return what the segments are, by their headers alone, after a check that they are alike.

        Raises
        ------
        OSError, ValueError
            As of `thresher._heads.read_heads`.
        """
        return read_heads(self._system, self._files)

    def id_kind(self) -> str:
        """Return the kind of the first segment's ids as numpy has it: i, u or U; i without ids."""
        import numpy as np
        from pyarrow import fs

        beside = self._files[0][0] + _ids.SUFFIX
        if self._system.get_file_info(beside).type != fs.FileType.File:
            return "i"
        with self._system.open_input_file(beside) as f, np.load(f, allow_pickle=False) as saved:
            return str(saved["ids"].dtype.kind)

    def paths(self) -> list[str]:
        """Return the segments as files of this machine, copied once where they are elsewhere."""
        if self.local:
            return [path for path, _, _ in self._files]
        return [self._copied(*file) for file in self._files]

    def _copied(self, path: str, size: int, changed: int) -> str:
        """Copy a segment and what is beside it; one process of the machine does, and the others wait for it."""
        from pyarrow import fs

        cache = self._cache or os.path.join(tempfile.gettempdir(), f"thresher-segments-{_user()}")
        key = hashlib.sha256(repr((self._system.type_name, path, size, changed)).encode()).hexdigest()[:16]
        folder = os.path.join(cache, key)
        name = os.path.join(folder, os.path.basename(path))
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with _locked(os.path.join(folder, "lock")):
            if not os.path.exists(name):
                for beside in _BESIDE:
                    if self._system.get_file_info(path + beside).type == fs.FileType.File:
                        _fetch(self._system, path + beside, name + beside)
                log.info("copying %s, %d bytes, to %s", path, size, name)
                _fetch(self._system, path, name)
        return name


def _user() -> str:
    return str(os.getuid()) if hasattr(os, "getuid") else "user"


@contextmanager
def _locked(path: str) -> Iterator[None]:
    """Hold a lock that ends with the process."""
    with open(path, "w") as f:
        try:
            import fcntl
        except ImportError:  # Windows: two processes may copy the same
            yield
            return
        fcntl.flock(f, fcntl.LOCK_EX)
        yield


def _read(system: FileSystem, path: str) -> bytes:
    with system.open_input_stream(path) as f:
        return bytes(f.read())


def _fetch(system: FileSystem, path: str, name: str) -> None:
    """Copy a file to this machine, whole or not at all."""
    with system.open_input_stream(path) as f, open(f"{name}.{os.getpid()}", "wb") as out:
        shutil.copyfileobj(f, out, 1 << 24)
    os.replace(f"{name}.{os.getpid()}", name)


class Build:
    """What is to be built: which files make which segments, checked before any task starts.

    Parameters are those of `thresher.ray.build`.
    """

    def __init__(
        self,
        source: Any,
        out: str | os.PathLike[str],
        *,
        metric: Any,
        vector: str,
        id: str | None,
        columns: str | Sequence[str] | None,
        dtype: str | None,
        seed: int | None,
        rows: int,
        overwrite: bool,
        filesystem: FileSystem | None,
    ) -> None:
        from pyarrow import fs

        self.metric = metric_name(metric)
        self.source, files = find_files(source, ".parquet", "source", filesystem)
        with ThreadPoolExecutor(16) as pool:
            shapes = list(pool.map(lambda f: _shape(self.source, f.path, vector, id), files))
        files, shapes = _checked(files, shapes, vector, id)
        self.settings = {"column": vector, "ids": id, "columns": columns, "dtype": dtype, "seed": seed}
        self.segments: list[list[str]] = []
        full = rows
        for f, shape in zip(files, shapes, strict=True):
            if full >= rows:
                self.segments.append([])
                full = 0
            self.segments[-1].append(f.path)
            full += shape[0]
        self.files = [[f.path, f.size, f.mtime_ns] for f in files]
        self.out, self.folder = _opened(os.fspath(out), filesystem, "out")
        if self.out.get_file_info(self.folder).type == fs.FileType.File:
            raise NotADirectoryError(errno.ENOTDIR, "out: it is a file, expected a folder", self.folder)
        plan = self._stated()
        there = self.out.get_file_info(fs.FileSelector(self.folder, allow_not_found=True))
        names = {os.path.basename(f.path) for f in there}
        if _PLAN in names and json.loads(_read(self.out, self._at(_PLAN))) == json.loads(plan):
            log.info("going on with the build of %s", self.folder)
        else:
            old = [f.path for f in there if f.path.endswith((SUFFIX, *(SUFFIX + b for b in _BESIDE)))]
            if (old or _PLAN in names) and not overwrite:
                unfinished = " of a build with other arguments or files, which has not ended" if _PLAN in names else ""
                raise FileExistsError(
                    errno.EEXIST, f"out: the folder has segments{unfinished}; overwrite=True replaces them", self.folder
                )
            self.out.create_dir(self.folder, recursive=True)
            self._write(_PLAN, plan.encode())  # first: without all of its segments the folder is none
            for path in old:
                self.out.delete_file(path)
            names -= {os.path.basename(path) for path in old}
        self.left = [i for i in range(len(self.segments)) if self.name(i) not in names]

    def _stated(self) -> str:
        """Return the plan as text."""
        return json.dumps(
            {
                "segments": [self.name(i) for i in range(len(self.segments))],
                "of": self.segments,
                "files": self.files,
                "metric": self.metric,
                **self.settings,
            }
        )

    def name(self, number: int) -> str:
        """Return the file name of a segment."""
        return f"segment-{number:05d}{SUFFIX}"

    def _at(self, name: str) -> str:
        return f"{self.folder}/{name}"

    def _write(self, name: str, data: bytes) -> None:
        with self.out.open_output_stream(self._at(name)) as f:
            f.write(data)

    def segment(self, number: int, threads: int | None = None) -> dict[str, Any]:
        """Build a segment and put it into the folder, whole or not at all; again, with the same result."""
        from pyarrow import fs

        name, local = self.name(number), isinstance(self.out, fs.LocalFileSystem)
        # Beside where it goes, so that it is renamed; a name with "." is none of the folder's segments.
        with tempfile.TemporaryDirectory(prefix=_SCRATCH, dir=self.folder if local else None) as scratch:
            sources = self.segments[number]
            if not isinstance(self.source, fs.LocalFileSystem):
                copies = [os.path.join(scratch, f"{i}.parquet") for i in range(len(sources))]
                for path, copy in zip(sources, copies, strict=True):
                    _fetch(self.source, path, copy)
                sources = copies
            given: dict[str, Any] = {key: value for key, value in self.settings.items() if value is not None}
            made = os.path.join(scratch, name)
            with (
                _in_their_names(dict(zip(sources, self.segments[number], strict=True))),
                Index.open(sources, metric=self.metric, device="cpu", threads=threads, **given) as index,
            ):
                index.save(made)
                info = {"file": name, "rows": len(index), "dim": index.dim}
            for beside in (*_BESIDE, ""):  # the segment last, which says that all is there
                if not os.path.exists(made + beside):
                    continue
                if local:
                    os.replace(made + beside, self._at(name + beside))
                else:
                    with open(made + beside, "rb") as f, self.out.open_output_stream(self._at(name + beside)) as to:
                        shutil.copyfileobj(f, to, 1 << 24)
        return info

    def end(self) -> None:
        """Say that all segments are there, and remove what killed tasks have left."""
        from pyarrow import fs

        if isinstance(self.out, fs.LocalFileSystem):
            for name in os.listdir(self.folder):
                if name.startswith(_SCRATCH):
                    shutil.rmtree(self._at(name), ignore_errors=True)
        self.out.delete_file(self._at(_PLAN))


@contextmanager
def _in_their_names(names: dict[str, str]) -> Iterator[None]:
    """Raise what is wrong in files as ValueError, by their names of the caller; names has those of what tasks read."""
    try:
        yield
    except (ValueError, TypeError, OSError) as e:
        if isinstance(e, OSError) and not (type(e) is OSError and str(e).startswith("path: ")):
            raise  # of this machine
        said = re.sub("^path: ", "source: ", str(e))
        for read, path in names.items():
            said = said.replace(read, path)
        raise ValueError(said) from None


_Shape = tuple[int, int | None, str, str]  # rows, dimension, types of the vectors' values and of ids


def _shape(system: FileSystem, path: str, vector: str, id: str | None) -> _Shape:
    """Return what a Parquet file has, from its footer and, if that does not say the dimension, its first row."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with system.open_input_file(path) as opened:
            file = pq.ParquetFile(opened)
            schema = file.schema_arrow
            for argument, name in (("vector", vector), ("id", id)):
                if name is not None and name not in schema.names:
                    raise ValueError(f"{argument}: {path} has no column {name!r}, but {', '.join(schema.names)}")
            of, rows = schema.field(vector).type, file.metadata.num_rows
            known = "" if id is None else str(schema.field(id).type)
            if pa.types.is_fixed_size_list(of):
                return rows, of.list_size, str(of.value_type), known
            if not (pa.types.is_list(of) or pa.types.is_large_list(of)):
                raise ValueError(f"vector: column {vector!r} of {path} is {of}, expected lists of numbers")
            if rows == 0:
                return 0, None, str(of.value_type), known
            first = next(file.iter_batches(batch_size=1, columns=[vector])).column(0)[0]
            return rows, None if first.as_py() is None else len(first), str(of.value_type), known
    except pa.ArrowInvalid as e:
        raise OSError(f"source: {path}: {e}") from None


def _checked(files: list[Any], shapes: list[_Shape], vector: str, id: str | None) -> tuple[list[Any], list[_Shape]]:
    """Return the files that have rows, after a check that they are alike."""
    some = [(f, s) for f, s in zip(files, shapes, strict=True) if s[0] > 0]
    if not some:
        raise ValueError(f"source: {files[0].path} has no rows" + (", nor have the others" if len(files) > 1 else ""))
    first, of = some[0]
    for f, s in some[1:]:
        for what, i in ((f"dimension of {vector!r}", 1), (f"type of {vector!r}", 2), (f"type of {id!r}", 3)):
            if s[i] != of[i] and None not in (s[i], of[i]):
                raise ValueError(f"source: {what} differs, {of[i]} of {first.path} and {s[i]} of {f.path}")
    return [f for f, _ in some], [s for _, s in some]
