"""The files of a call that come back from the device's machine, within the limits of the way back."""

from __future__ import annotations

import gzip
import re
import shutil
from collections.abc import Callable, Collection
from pathlib import Path

MIB = 1 << 20
FILES = 8  # at most
FILE, TOGETHER = 16 * MIB, 64 * MIB  # bytes
TEXT = 14 * MIB  # of a log that is kept completely
FIRST = ("results.jsonl", "table.txt")  # the last to be left out
LOGS = "logs.log"  # several short logs


def name_of(path: Path) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "_", path.name).lstrip(".-") or "file"


def cut(file: Path, most: int) -> None:
    """Removes the middle of a text that is longer."""
    size = file.stat().st_size
    if size <= most:
        return
    with file.open("rb") as f:
        head = f.read(most // 2)
        f.seek(size - most // 2)
        tail = f.read()
    file.write_bytes(head + b"\n... left out ...\n" + tail)


def pack(file: Path) -> Path:
    to = file.with_name(file.name + ".gz")
    with file.open("rb") as source, gzip.open(to, "wb") as target:
        shutil.copyfileobj(source, target)
    file.unlink()
    return to


class Returned:
    """A folder whose files come back; what does not fit is left out, and told. What was there before is left alone: on
    the device's machine there is nothing."""

    def __init__(self, folder: Path, before: Collection[str], tell: Callable[[str], None]) -> None:
        self.folder, self.before, self.tell = folder, before, tell

    def entries(self) -> list[Path]:
        return sorted(p for p in self.folder.iterdir() if p.name not in self.before)

    def files(self) -> list[Path]:
        """Those in the folder, the most important first, then the smallest."""
        found = [p for p in self.entries() if p.is_file() and not p.is_symlink()]
        return sorted(found, key=lambda p: (FIRST.index(p.name) if p.name in FIRST else len(FIRST), p.stat().st_size))

    def fit(self) -> None:
        self._flatten()
        for file in self.files():
            if file.suffix == ".log":
                cut(file, TEXT)
            if file.stat().st_size > FILE:
                file = pack(file)
            if file.stat().st_size > FILE:
                self._leave(file, f"{file.stat().st_size} bytes")
        self._merge()
        for file in self.files()[FILES:]:
            self._leave(file, f"{FILES} files are the most")
        self._shrink()

    def _flatten(self) -> None:
        """Only files of plain names, and no folders."""
        for path in [p for entry in self.entries() for p in (entry, *sorted(entry.rglob("*")))]:
            if path.is_symlink() or not (path.is_file() or path.is_dir()):
                path.unlink()
                self.tell(f"{path.name} is no file")
            elif path.is_file():
                to = self.folder / name_of(path)
                if to != path:
                    path.rename(to if not to.exists() else to.with_name(f"{path.parent.name}-{to.name}"))
        for path in self.entries():
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)

    def _merge(self) -> None:
        """If there are too many files, the shortest logs become one."""
        files = self.files()
        logs = [f for f in files if f.suffix == ".log"]
        if len(files) <= FILES or len(logs) < 2:
            return
        together = logs[: len(files) - FILES + 1]
        text = b"".join(b"== %s\n%s\n" % (f.name.encode(), f.read_bytes()) for f in together)
        for file in together:
            file.unlink()
        (self.folder / LOGS).write_bytes(text)
        cut(self.folder / LOGS, TEXT)

    def _shrink(self) -> None:
        """Until all fit together the greatest is cut or left out."""
        while sum(f.stat().st_size for f in self.files()) > TOGETHER:
            greatest = max(self.files()[1:], key=lambda f: f.stat().st_size)
            if greatest.suffix == ".log" and greatest.stat().st_size > MIB:
                cut(greatest, greatest.stat().st_size // 2)
            else:
                self._leave(greatest, "all together are too many bytes")

    def _leave(self, file: Path, why: str) -> None:
        file.unlink()
        self.tell(f"{file.name}: {why}")
