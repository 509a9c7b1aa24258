"""thresher's process: gpu.test as a server of benchmarks (gpu/bench_test.go)."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

import parts
from suite import SERVE


class Failed(Exception):
    """A request that was answered with an error."""


class Gone(Exception):
    """The process ended, or took too long and was ended."""

    noted = False  # recorded in the results
    late = False  # it exceeded its time, rather than ended by itself


class Child:
    """wrap is a program, with its arguments, that runs the child."""

    def __init__(self, binary: Path, log: BinaryIO, wrap: Sequence[str] = ()) -> None:
        self.process = subprocess.Popen(
            [*wrap, str(binary), *SERVE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=os.environ | {"THRESHER_GPU_SERVE": "1"},
        )
        assert self.process.stdout
        self.rest = b""
        self.ready = selectors.DefaultSelector()
        self.ready.register(self.process.stdout, selectors.EVENT_READ)

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        """Closes the process's input and waits: it then frees the device's memory before it ends."""
        assert self.process.stdin and self.process.stdout
        self.ready.close()
        try:
            self.process.stdin.close()
            self.process.wait(20)
        except (OSError, subprocess.TimeoutExpired):
            self._kill()
        self.process.stdout.close()

    def ask(self, seconds: float = 60, **request: Any) -> Any:
        """The answer to a request. Raises Failed or, if there is none within so many
        seconds, Gone."""
        assert self.process.stdin
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
        except OSError as e:
            raise Gone(f"{request['do']}: the process had ended") from e
        until = time.monotonic() + seconds
        while (line := self._line(until, request["do"]))[:1] not in (b"{", b"["):
            pass  # output of a driver or a tool
        said = json.loads(line)
        if isinstance(said, dict) and set(said) == {"error"}:
            raise Failed(f"{request['do']}: {said['error']}")
        return said

    def _kill(self) -> None:
        self.process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(parts.LINGER)

    def _line(self, until: float, what: str) -> bytes:
        assert self.process.stdout
        while b"\n" not in self.rest:
            if not self.ready.select(max(0.0, until - time.monotonic())):
                self._kill()
                late = Gone(f"{what}: no answer in time")
                late.late = True
                raise late
            part = os.read(self.process.stdout.fileno(), 1 << 16)
            if not part:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.process.wait(parts.LINGER)
                raise Gone(f"{what}: the process ended with code {self.process.returncode}")
            self.rest += part
        line, self.rest = self.rest.split(b"\n", 1)
        return line


def dumped(file: Path, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The answers that a search wrote to a file: ids [queries, k], and whether each
    certificate needs no probability."""
    rows = np.fromfile(file, np.int32).reshape(-1, k + 1)
    return rows[:, :k], rows[:, k] == 1
