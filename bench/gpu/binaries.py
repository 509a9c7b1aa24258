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
    """A program, unpacked by the first who asks for it."""
    of, to = packed(name), cache() / name
    stamp = of.stat().st_mtime_ns
    if to.exists() and to.stat().st_mtime_ns == stamp:
        return to
    part = to.with_name(f"{name}.{os.getpid()}")
    with gzip.open(of) as source, part.open("wb") as target:
        shutil.copyfileobj(source, target)
    part.chmod(0o755)
    os.utime(part, ns=(stamp, stamp))
    part.replace(to)
    return to


def selftest() -> Path | None:
    """The folder of the selftest's program and PTX, None if binaries.sh made none."""
    of = DEVICE / "selftest.tar.gz"
    if not of.exists():
        return None
    with tarfile.open(of) as files:
        files.extractall(cache() / "selftest", filter="data")
    return cache() / "selftest"
