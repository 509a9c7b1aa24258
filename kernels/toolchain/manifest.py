"""manifest.json: sources, compiler, flags and assembler, and the PTX and cubins they gave."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from importlib.metadata import distributions
from pathlib import Path

import ptx
import sources

NAME = "manifest.json"

# No fast arithmetic: results are those of the source. A product and a sum are fused
# only where it says fmaf, so the emulator, whose compiler never fuses, agrees.
FLAGS = (
    "--gpu-architecture=compute_80",
    "--std=c++17",
    "--device-as-default-execution-space",
    "--fmad=false",
    "--ftz=false",
    "--prec-div=true",
    "--prec-sqrt=true",
)
# Source lines for a profiler: the code is the same, the files are larger and change with every line of a source.
LINES = "--generate-line-info"


def version(root: Path, package: str) -> str:
    for found in distributions(name=package, path=[str(root)]):
        return found.version
    raise FileNotFoundError(f"no package {package} in {root}: run kernels/toolchain/install.sh")


def module(source: Path, text: bytes, cubins: Mapping[str, bytes]) -> dict:
    """The manifest's entry for a kernel file, its PTX and its cubins by target."""
    files, params, entries = sources.closure(source), sources.parameters(source), ptx.entries(text.decode())
    for e in entries:
        if len(params.get(e.name, ())) != e.params or e.name not in params:
            raise ptx.UnfitError(f"{e.name} has {e.params} parameters in PTX, and {params.get(e.name)} in {source.name}")
    return {
        "name": source.stem,
        "sources": [f.name for f in files],
        "sources_sha256": sources.digest(files),
        "ptx_sha256": hashlib.sha256(text).hexdigest(),
        "ptx_version": ptx.version(text.decode()),
        "cubins_sha256": digests(cubins),
        "entries": [{"name": e.name, "params": params[e.name]} for e in entries],
    }


def digests(cubins: Mapping[str, bytes]) -> dict[str, str]:
    return {target: hashlib.sha256(code).hexdigest() for target, code in cubins.items()}


def text(root: Path, flags: tuple[str, ...], modules: list[dict]) -> str:
    whole = {
        "compiler": "NVRTC " + version(root, "nvidia-cuda-nvrtc-cu12"),
        "flags": flags,
        "assembler": "ptxas " + version(root, "nvidia-cuda-nvcc-cu12"),
        "modules": sorted(modules, key=lambda m: m["name"]),
    }
    return json.dumps(whole, indent=2) + "\n"


def read(file: Path) -> list[dict]:
    """The modules of a manifest; none if the file does not exist."""
    return json.loads(file.read_text())["modules"] if file.exists() else []
