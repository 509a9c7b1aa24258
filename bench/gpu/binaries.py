"""The programs that binaries.sh left in build/device, unpacked where they can be run."""

from __future__ import annotations

import gzip
import os
import shutil
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEVICE = ROOT / "build" / "device"
VARIABLE = "THRESHER_GPU_CACHE"


def cache() -> Path:
    """A folder for programs, compiled kernels and results, for all processes and later calls."""
    folder = Path(os.environ.get(VARIABLE) or Path(tempfile.gettempdir()) / "thresher-compute-cache")
    folder.mkdir(parents=True, exist_ok=True)
    if os.statvfs(folder).f_flag & os.ST_NOEXEC:
        folder = ROOT / "build" / "gpu-cache"
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def packed(name: str) -> Path:
    return DEVICE / f"{name}.gz"


def unpacked(name: str) -> Path:
    """A program, unpacked by the first who asks for it. Its name has the checksum that ends the packed file, since a
    copy of the tree may have lost the times."""
    of = packed(name)
    with of.open("rb") as source:
        source.seek(-8, os.SEEK_END)
        to = cache() / f"{name}-{source.read(4).hex()}"
    if to.exists():
        return to
    part = to.with_name(f"{to.name}.{os.getpid()}")
    with gzip.open(of) as source, part.open("wb") as target:
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
