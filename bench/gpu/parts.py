"""Parts of a call, each with a time limit; a failing part does not stop the others."""

from __future__ import annotations

import contextlib
import json
import math
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

NO_TIME = "no time was left"
LATE, HUNG = 124, 125  # exit codes of a command past its limit, as in timeout(1), and of a command or call that hung
LINGER = 5.0  # seconds for a killed process to end: one that waits for a driver may never
DUMPING = 2.0  # seconds for a program that hangs to print where
POLL = 0.2  # seconds between looks at the output of a command that may hang


def roomy(need: int) -> Path:
    """A folder with room for `need` bytes, in memory if possible."""
    for folder in ("/dev/shm", tempfile.gettempdir(), "/var/tmp"):
        if Path(folder).is_dir() and os.access(folder, os.W_OK) and shutil.disk_usage(folder).free > need:
            return Path(folder)
    raise OSError(f"no folder has room for {need} bytes")


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kills a process and all its descendants, if possible, and continues in any case."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(LINGER)


def ask_where(process: subprocess.Popen[bytes]) -> None:
    """Has a Go program, which it ends, print where it hangs."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGQUIT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(DUMPING)


def records_of(file: Path) -> list[dict[str, Any]]:
    """The records of a file, without a truncated last line."""
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
        self.before = {path.name for path in folder.iterdir()}
        self.folder, self.file = folder, folder / "results.jsonl"
        self.file.write_text("")

    def add(self, kind: str, **record: Any) -> None:
        with self.file.open("a") as f:
            f.write(json.dumps({"kind": kind, **record}) + "\n")

    def all(self) -> list[dict[str, Any]]:
        return records_of(self.file)


class Call:
    """seconds is the time for everything together; only, if not empty, names the parts to run."""

    def __init__(self, results: Results, seconds: float, only: Collection[str] = ()) -> None:
        self.results, self.until, self.only = results, time.monotonic() + seconds, only
        self.left_out: list[str] = []  # parts not completed for lack of time or because of their limit

    def watch(self, grace: float, end: Callable[[], object]) -> None:
        """If the call hangs grace seconds past its end, calls end and exits."""

        def leave() -> None:
            try:
                end()
            finally:
                os._exit(HUNG)

        timer = threading.Timer(self.left(float("inf")) + grace, leave)
        timer.daemon = True
        timer.start()

    def left(self, limit: float) -> float:
        return max(0.0, min(limit, self.until - time.monotonic()))

    def chosen(self, name: str) -> bool:
        return not self.only or name in self.only

    def part(self, name: str, limit: float, do: Callable[[float], int | str]) -> int | str:
        """Runs a part with the seconds it has; it returns 0, another code, or why it was skipped."""
        seconds, began = self.left(limit), time.monotonic()
        print(f"== {name}: at most {seconds:.0f} s", flush=True)
        end: int | str
        if seconds < min(limit, 5):
            end = NO_TIME
        else:
            try:
                end = do(seconds)
            except Exception as e:  # whatever it is, the next part must run
                end = f"{type(e).__name__}: {e}"
        took = time.monotonic() - began
        if end in (NO_TIME, LATE):
            self.left_out.append(name)
        code = {"left_out": end} if isinstance(end, str) else {"rc": end}
        self.results.add("part", name=name, seconds=round(took, 2), **code)
        print(f"== {name}: {end if isinstance(end, str) else f'code {end}'}, {took:.0f} s", flush=True)
        return end


def run(
    command: list[str | Path],
    seconds: float,
    log: Path,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    silent: float = math.inf,
) -> tuple[int, str]:
    """Runs a command with both outputs appended to a log, and returns its code and its output. Past
    the limit it is killed with its descendants, code 124, and so it is if it prints nothing for too long, code 125."""
    at = log.stat().st_size if log.exists() else 0
    with log.open("ab") as out:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT, cwd=cwd,
            env=os.environ | dict(env or {}), start_new_session=True,
        )  # fmt: skip
        code = await_end(process, seconds, log, silent)
        if code == HUNG:
            ask_where(process)
        if code in (LATE, HUNG):
            kill(process)
    with log.open("rb") as text:
        text.seek(at)
        return code, text.read().decode(errors="replace")


def await_end(process: subprocess.Popen[bytes], seconds: float, log: Path, silent: float) -> int:
    """The code of a process that ends in time, while its log grows."""
    until, size, grew = time.monotonic() + seconds, -1, time.monotonic()
    looked = grew
    while True:
        now = time.monotonic()
        grew += max(0, now - looked - 2 * POLL)  # while this process stood still, so did others perhaps
        looked = now
        if (present := log.stat().st_size) != size:
            size, grew = present, now
        if now > until or now - grew > silent:
            return LATE if now > until else HUNG
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(until - now if silent == math.inf else POLL)
