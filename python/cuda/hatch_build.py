"""Builds the thresher program with the CUDA backend for a wheel of thresher-cuda.

It needs Go, a C compiler, and the header of the CUDA driver, which kernels/toolchain/install.sh
installs; `make wheel-cuda` does all of it. The program loads the driver when it runs.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ProgramHook(BuildHookInterface[Any]):
    """Adds the program to wheels."""

    scratch: tempfile.TemporaryDirectory[str] | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root).parents[1]
        header = root / "build" / "cuda" / "nvidia" / "cuda_runtime" / "include"
        self.scratch = tempfile.TemporaryDirectory()
        program = Path(self.scratch.name, "thresher")
        linked = f"-s -w -X main.packaged={self.metadata.version}"
        flags = ["-trimpath", "-buildvcs=false", "-tags", "cuda,netgo,osusergo", "-ldflags", linked]
        environment = {**os.environ, "CGO_ENABLED": "1", "C_INCLUDE_PATH": str(header)}
        subprocess.run(
            [os.environ.get("GO", "go"), "build", *flags, "-o", str(program), "./cmd/thresher"],
            cwd=root, env=environment, check=True,
        )  # fmt: skip
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-manylinux_{newest_glibc(program)}_x86_64"
        build_data["force_include"][str(program)] = "thresher_cuda/_bin/thresher"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        if self.scratch is not None:
            self.scratch.cleanup()


def newest_glibc(program: Path) -> str:
    """Return the newest version of the C library whose symbols a program uses, as tags of wheels write it."""
    found = re.findall(rb"GLIBC_(\d+)\.(\d+)", program.read_bytes())
    major, minor = max((int(a), int(b)) for a, b in found)
    return f"{major}_{max(minor, 17)}"
