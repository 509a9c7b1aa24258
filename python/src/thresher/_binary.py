"""The thresher program that this package brings along."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

__all__ = ["main", "path"]


def path() -> Path:
    """Return the path of the program: that of thresher-cuda, if it is installed, or this package's.

    The environment variable ``THRESHER_BINARY`` names another one.

    Raises
    ------
    FileNotFoundError
        If there is none: the package was copied without its program, or ``THRESHER_BINARY`` is
        not the path of a file.
    """
    named = os.environ.get("THRESHER_BINARY")
    if named:
        if not Path(named).is_file():
            raise FileNotFoundError(f"THRESHER_BINARY={named}: there is no such file")
        return Path(named)
    cuda = find_spec("thresher_cuda")
    if cuda is not None and cuda.origin is not None:
        with_cuda = Path(cuda.origin).parent / "_bin" / "thresher"
        if with_cuda.is_file():
            return with_cuda
    program = Path(__file__).parent / "_bin" / ("thresher.exe" if os.name == "nt" else "thresher")
    if not program.is_file():
        raise FileNotFoundError(
            f"{program} is missing: install a wheel of thresher, or set THRESHER_BINARY to the path of the program"
        )
    return program


def main() -> NoReturn:
    """Run the program with the arguments of this process: the command ``thresher``."""
    command = [str(path()), *sys.argv[1:]]
    if os.name == "nt":
        sys.exit(subprocess.run(command).returncode)
    os.execv(command[0], command)
