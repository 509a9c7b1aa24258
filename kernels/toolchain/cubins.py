"""kernels/ptx/cubins/TARGET.zip: the assembled code of every module for one GPU, as NAME.cubin.

Two versions of zlib may compress the same code to different bytes, so archives are compared by what they hold, and one
that holds the same is not written again.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

# The GPUs for which code is committed beside the PTX: Ampere, Ada, Hopper, Blackwell. Code for X.Y runs on X.Z if Z >= Y.
TARGETS = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120")

FOLDER = "cubins"
_TIME = (1980, 1, 1, 0, 0, 0)  # the first that the format has


def archive(folder: Path, target: str) -> Path:
    return folder / FOLDER / f"{target}.zip"


def content(file: Path) -> dict[str, bytes]:
    """What an archive holds, by module; nothing if the file does not exist or is no archive."""
    try:
        with zipfile.ZipFile(file) as held:
            return {name.removesuffix(".cubin"): held.read(name) for name in held.namelist()}
    except (FileNotFoundError, zipfile.BadZipFile):
        return {}


def write(file: Path, code: Mapping[str, bytes]) -> None:
    """Writes an archive of the code of modules, unless it holds that."""
    if content(file) == code:
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(code):
            member = zipfile.ZipInfo(f"{name}.cubin", _TIME)
            member.compress_type, member.external_attr, member.create_system = zipfile.ZIP_DEFLATED, 0o644 << 16, 3
            archive.writestr(member, code[name])
