"""Parts of a call, each with a limit, none of which keeps the others from running."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

LATE = 124  # as timeout(1) has it


def records_of(file: Path) -> list[dict[str, Any]]:
    """The records of a file; a last line cut short is left out."""
    records = []
    for line in file.read_text().splitlines():
        try:
            records.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return records


class Results:
    """The folder of a call's results: results.jsonl and logs."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.file = folder, folder / "results.jsonl"
        self.file.write_text("")

    def add(self, kind: str, **record: Any) -> None:
        with self.file.open("a") as f:
            f.write(json.dumps({"kind": kind, **record}) + "\n")

    def all(self) -> list[dict[str, Any]]:
        return records_of(self.file)


class Call:
    """seconds is how long everything may take together."""

    def __init__(self, results: Results, seconds: float) -> None:
        self.results, self.until = results, time.monotonic() + seconds

    def left(self, limit: float) -> float:
        return max(0.0, min(limit, self.until - time.monotonic()))

    def part(self, name: str, limit: float, do: Callable[[float], int | str]) -> None:
        """Runs a part, which is told how many seconds it has and returns 0, another
        code, or why it was left out."""
        seconds, began = self.left(limit), time.monotonic()
        print(f"== {name}: at most {seconds:.0f} s", flush=True)
        end: int | str
        if seconds < 2:
            end = "no time was left"
        else:
            try:
                end = do(seconds)
            except Exception as e:  # whatever it is, the next part shall run
                end = f"{type(e).__name__}: {e}"
        took = time.monotonic() - began
        code = {"left_out": end} if isinstance(end, str) else {"rc": end}
        self.results.add("part", name=name, seconds=round(took, 2), **code)
        print(f"== {name}: {end if isinstance(end, str) else f'code {end}'}, {took:.0f} s", flush=True)


def run(
    command: list[str | Path], seconds: float, log: Path, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """Runs a command with both outputs into a log, behind what is there, and returns
    its code and its output. Past the limit it is ended with all it began, code 124."""
    at = log.stat().st_size if log.exists() else 0
    with log.open("ab") as out:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, cwd=cwd,
            env=os.environ | dict(env or {}), start_new_session=True,
        )  # fmt: skip
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            code = LATE
    with log.open("rb") as text:
        text.seek(at)
        return code, text.read().decode(errors="replace")
