"""Builds the thresher program with the CUDA backend for a wheel of thresher-cuda.

It needs Go, and the header of the CUDA driver, which kernels/toolchain/install.sh installs; `make wheel-cuda` does all
of it. The C compiler is zigcc.sh, so that the program needs no newer C library than manylinux_2_28 has. The program
loads the driver when it runs.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MOST_GLIBC = (2, 28)  # of manylinux_2_28, and of zigcc.sh's target


class ProgramHook(BuildHookInterface[Any]):
    """Adds the program to wheels."""

    scratch: tempfile.TemporaryDirectory[str] | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root).parents[1]
        header = root / "build" / "cuda" / "nvidia" / "cuda_runtime" / "include"
        self.scratch = tempfile.TemporaryDirectory()
        program = Path(self.scratch.name, "thresher")
        linked = f"-s -w -extldflags=-s -X main.packaged={self.metadata.version}"
        flags = ["-trimpath", "-buildvcs=false", "-tags", "cuda,netgo,osusergo", "-ldflags", linked]
        compiler = {"CC": str(Path(self.root, "zigcc.sh")), "PYTHON": sys.executable, "C_INCLUDE_PATH": str(header)}
        environment = {**os.environ, **compiler, "CGO_ENABLED": "1", "GOOS": "linux", "GOARCH": "amd64"}
        subprocess.run(
            [os.environ.get("GO", "go"), "build", *flags, "-o", str(program), "./cmd/thresher"],
            cwd=root, env=environment, check=True,
        )  # fmt: skip
        if (needed := newest_glibc(program)) > MOST_GLIBC:
            raise RuntimeError(f"the program needs glibc {needed}, newer than {MOST_GLIBC}")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-manylinux_{MOST_GLIBC[0]}_{MOST_GLIBC[1]}_x86_64"
        build_data["force_include"][str(program)] = "thresher_cuda/_bin/thresher"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if self.scratch is not None:
            self.scratch.cleanup()


def newest_glibc(program: Path) -> tuple[int, int]:
    """Return the newest version of the C library whose symbols a program uses."""
    return max((int(a), int(b)) for a, b in re.findall(rb"GLIBC_(\d+)\.(\d+)", program.read_bytes()))
