"""ptxas, the assembler from PTX to one GPU's instructions, which reports what a kernel uses there."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from os import cpu_count
from pathlib import Path

# Ampere (A100; A10, RTX 30), Ada, Hopper (generic and arch-specific), Blackwell.
TARGETS = ("sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_120")

_FUNCTION = re.compile(
    r"Function properties for (\w+)\n\s*(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads"
)
_ENTRY = re.compile(r"Compiling entry function '(\w+)'.*?: Used (\d+) registers([^\n]*)", re.DOTALL)


class AssembleError(Exception):
    """ptxas failed or warned; the text is its output."""


@dataclass(frozen=True)
class Function:
    """An entry, or a function that was not inlined, for one target."""

    name: str
    stack: int  # bytes a thread
    spilled: int  # bytes stored and loaded


@dataclass(frozen=True)
class Use:
    """What an entry uses on one target."""

    registers: int
    shared: int  # static, bytes a block


@dataclass(frozen=True)
class Assembly:
    file: Path
    target: str
    functions: list[Function]
    entries: dict[str, Use]


def assemble_all(
    root: Path, files: Iterable[Path], kept: Mapping[str, Path], options: Sequence[str] = ()
) -> Iterator[Assembly]:
    """Assembles every file for every target, in that order, with more options. For targets in `kept` the
    code is written to that folder as NAME.cubin."""
    jobs = [(file, target) for file in files for target in TARGETS]
    for folder in kept.values():
        folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(cpu_count()) as pool:
        yield from pool.map(lambda job: _assemble(root, *job, kept.get(job[1]), options), jobs)


def _assemble(root: Path, file: Path, target: str, kept: Path | None, options: Sequence[str]) -> Assembly:
    program = root / "nvidia" / "cuda_nvcc" / "bin" / "ptxas"
    output = kept / f"{file.stem}.cubin" if kept else "/dev/null"
    command = [str(program), f"-arch={target}", "-v", "--warning-as-error", *options, str(file), "-o", str(output)]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode:
        raise AssembleError(f"{file} for {target}: {run.stdout}{run.stderr}".strip())
    return Assembly(file, target, *parse(run.stdout + run.stderr))


def parse(log: str) -> tuple[list[Function], dict[str, Use]]:
    """Parses the output of `ptxas -v`."""
    functions = [
        Function(name, int(stack), int(stores) + int(loads)) for name, stack, stores, loads in _FUNCTION.findall(log)
    ]
    entries = {}
    for name, registers, rest in _ENTRY.findall(log):
        shared = re.search(r"(\d+) bytes smem", rest)
        entries[name] = Use(int(registers), int(shared.group(1)) if shared else 0)
    return functions, entries


def warps_sm90(use: Use, threads: int) -> int:
    """How many warps, of at most 64, an sm_90 multiprocessor can hold, given the
    registers, the static shared memory and the size of a block.

    Table of compute capabilities, CUDA C++ Programming Guide 12.4: 65,536
    registers in four parts, allocated to warps in units of 256; 228 KB of shared memory, of
    which a block takes 1 KB for the system, in units of 128 bytes; 32 blocks.
    """
    warps = -(-threads // 32)
    a_warp = -(-use.registers * 32 // 256) * 256
    a_block = -(-use.shared // 128) * 128 + 1024
    blocks = min(32, 64 // warps, 4 * (16384 // a_warp) // warps, 228 * 1024 // a_block)
    return blocks * warps
