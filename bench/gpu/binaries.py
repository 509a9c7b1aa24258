"""The programs that binaries.sh left in build/device, unpacked where they can be run.

    binaries.py FILE..    packs programs and removes them, as binaries.sh has it do"""

from __future__ import annotations

import hashlib
import lzma
import os
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEVICE = ROOT / "build" / "device"
VARIABLE = "THRESHER_GPU_CACHE"
# Jumps of amd64 made absolute before they are packed: 3% less.
FILTERS = [{"id": lzma.FILTER_X86}, {"id": lzma.FILTER_LZMA2, "preset": 4}]


def cache() -> Path:
    """A folder for programs, compiled kernels and results, for all processes and later calls."""
    folder = Path(os.environ.get(VARIABLE) or Path(tempfile.gettempdir()) / "thresher-compute-cache")
    folder.mkdir(parents=True, exist_ok=True)
    if os.statvfs(folder).f_flag & os.ST_NOEXEC:
        folder = ROOT / "build" / "gpu-cache"
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def packed(name: str) -> Path:
    return DEVICE / f"{name}.xz"


def pack(program: Path) -> None:
    """Puts a packed file in the place of a program."""
    with program.open("rb") as source, lzma.open(program.with_name(f"{program.name}.xz"), "wb", filters=FILTERS) as target:
        shutil.copyfileobj(source, target)
    program.unlink()


def unpacked(name: str) -> Path:
    """A program, unpacked by the first who asks for it. Its name has a digest of the packed file, since a copy of the
    tree may have lost the times."""
    of = packed(name)
    with of.open("rb") as source:
        to = cache() / f"{name}-{hashlib.sha256(source.read()).hexdigest()[:8]}"
    if to.exists():
        return to
    part = to.with_name(f"{to.name}.{os.getpid()}")
    with lzma.open(of) as source, part.open("wb") as target:
        shutil.copyfileobj(source, target)
    part.chmod(0o755)
    part.replace(to)
    return to


def selftest() -> Path | None:
    """The folder of the selftest's program and PTX, None if binaries.sh made none."""
    of = DEVICE / "selftest.tar.gz"
    if not of.exists():
        return None
    with tarfile.open(of) as files:
        files.extractall(cache() / "selftest")
    return cache() / "selftest"


if __name__ == "__main__":
    for file in sys.argv[1:]:
        pack(Path(file))
