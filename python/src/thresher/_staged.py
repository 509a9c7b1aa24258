"""Folders of segments that tasks write apart, and that become a folder when all of them are there.

Engines repeat tasks, run two of one at a time, and say in the end which of them count: as their own writers do, each
task writes to a folder of its own, and the driver moves what counts to where it belongs.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING

from thresher import _parts
from thresher._index import Index

if TYPE_CHECKING:
    from pyarrow.fs import FileSystem

__all__ = ["Staged"]


class Staged:
    """Where tasks write segments of a folder, whose segments stay as they are until `commit`.

    Parameters
    ----------
    out : path or URI
        The folder, which the driver and every machine can write.
    overwrite : bool
        Whether segments that are in the folder are replaced.
    filesystem : pyarrow.fs.FileSystem, optional
        Where it is, if out does not say it.

    Raises
    ------
    FileExistsError
        If the folder has segments, and overwrite is False.
    """

    def __init__(
        self, out: str | os.PathLike[str], *, overwrite: bool = False, filesystem: FileSystem | None = None
    ) -> None:
        self._system, self.folder = _parts._opened(os.fspath(out), filesystem, "out")
        names = [os.path.basename(path) for path in self._there()]
        if not overwrite and not self._half_moved(names) and any(name.endswith(_parts.SUFFIX) for name in names):
            raise FileExistsError(
                errno.EEXIST, "out: the folder has segments; overwrite=True replaces them", self.folder
            )
        self._apart = f"{self.folder}/{_parts._SCRATCH}{uuid.uuid4().hex}"

    def _there(self) -> list[str]:
        """Return what is in the folder."""
        from pyarrow import fs

        info = self._system.get_file_info(self.folder)
        if info.type == fs.FileType.File:
            raise FileExistsError(errno.EEXIST, "out: it is a file, expected a folder of segments", self.folder)
        return [f.path for f in self._system.get_file_info(fs.FileSelector(self.folder, allow_not_found=True))]

    def _half_moved(self, names: Sequence[str]) -> bool:
        """Return whether a driver died while it moved segments here, of which nothing counts."""
        plan = f"{self.folder}/{_parts._PLAN}"
        return _parts._PLAN in names and bool(json.loads(_parts._read(self._system, plan)).get("staged"))

    def write(self, index: Index, attempt: str) -> str:
        """Write a segment apart, in the name of one attempt of a task, and return its path."""
        from pyarrow import fs

        to = f"{self._apart}/{attempt}{_parts.SUFFIX}"
        self._system.create_dir(self._apart, recursive=True)
        if isinstance(self._system, fs.LocalFileSystem):
            index.save(to, overwrite=True)
            return to
        with tempfile.TemporaryDirectory(prefix="thresher-") as scratch:
            made = os.path.join(scratch, attempt + _parts.SUFFIX)
            index.save(made)
            for beside in ("", *_parts._BESIDE):
                if os.path.exists(made + beside):
                    with open(made + beside, "rb") as f, self._system.open_output_stream(to + beside) as copy:
                        shutil.copyfileobj(f, copy, 1 << 24)
        return to

    def commit(self, made: Sequence[str]) -> list[str]:
        """Make segments that `write` wrote those of the folder, in this order, and return their names."""
        from pyarrow import fs

        names = [f"segment-{i:05d}{_parts.SUFFIX}" for i in range(len(made))]
        ends = tuple(_parts.SUFFIX + beside for beside in ("", *_parts._BESIDE))
        old = [path for path in self._there() if path.endswith(ends)]
        with self._system.open_output_stream(f"{self.folder}/{_parts._PLAN}") as f:  # until all are there, it is none
            f.write(json.dumps({"segments": names, "staged": True}).encode())
        for path in old:
            self._system.delete_file(path)
        for path, name in zip(made, names, strict=True):
            for beside in (*_parts._BESIDE, ""):  # the segment last, which says that all is there
                if not beside or self._system.get_file_info(path + beside).type == fs.FileType.File:
                    self._system.move(path + beside, f"{self.folder}/{name}{beside}")
        self._system.delete_file(f"{self.folder}/{_parts._PLAN}")
        self.abandon()
        return names

    def abandon(self) -> None:
        """Remove what tasks have written apart."""
        from pyarrow import fs

        if self._system.get_file_info(self._apart).type == fs.FileType.Directory:
            self._system.delete_dir(self._apart)
