"""Runs thresher and its rivals as processes, one at a time, on all cores, and says how long each
took and how much memory it had at most."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import environment

HERE = Path(__file__).resolve().parent
THRESHER = environment.BUILD / "thresher"


class Failed(Exception):
    """A command ended with another exit code than 0."""


@dataclass(frozen=True)
class Run:
    """One process that ended well. report is the JSON object that it printed."""

    report: dict[str, Any]
    wall: float  # seconds from its start to its end
    peak: int  # bytes resident at most


def build() -> None:
    environment.BUILD.mkdir(exist_ok=True)
    environment.go("build", "-trimpath", "-buildvcs=false", "-o", THRESHER, "./cmd/thresher")


def run(command: Sequence[str | Path]) -> Run:
    """Runs a command that prints a JSON object, as the last line at the latest. Raises Failed."""
    with tempfile.NamedTemporaryFile("r") as measured:
        launched = [sys.executable, "-SE", HERE / "launch.py", measured.name, *command]
        done = subprocess.run(
            [str(c) for c in launched], capture_output=True, text=True, errors="replace", env=environment.all_threads()
        )
        if done.returncode != 0:
            raise Failed(f"exit code {done.returncode}: {' '.join(map(str, command))}\n{done.stderr}")
        of = json.load(measured)
    lines = done.stdout.strip().splitlines()
    return Run(json.loads(lines[-1]) if lines else {}, of["seconds"], of["peak"])


def thresher(verb: str, *arguments: str | Path | int | float) -> Run:
    """A verb of the command line, with its summary."""
    return run([THRESHER, verb, *map(str, arguments), "--json"])


def refused(verb: str, *arguments: str | Path) -> tuple[int, str]:
    """The exit code of a verb, and the last line that it wrote to stderr."""
    done = subprocess.run([THRESHER, verb, *map(str, arguments)], capture_output=True, text=True, errors="replace")
    lines = done.stderr.strip().splitlines()
    return done.returncode, lines[-1] if lines else ""


def rival(name: str, folder: Path, **arguments: Any) -> tuple[Run, dict[str, np.ndarray]]:
    """A contestant of rivals.py in a process of its own, and the arrays that it found. Its report has
    the seconds of the work itself, without importing packages and reading files."""
    found = folder / f"{name}.npz"
    done = run([sys.executable, HERE / "rivals.py", name, json.dumps(arguments | {"out": str(found)})])
    with np.load(found) as arrays:
        answer = {k: arrays[k] for k in arrays.files}
    found.unlink()
    return done, answer
