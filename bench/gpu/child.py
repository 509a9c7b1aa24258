"""thresher's process: gpu.test as a server of benchmarks (gpu/bench_test.go)."""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import time
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

Answer = dict[str, Any]


class Failed(Exception):
    """A request that was answered with an error."""


class Gone(Exception):
    """The process ended, or took too long and was ended."""


class Child:
    def __init__(self, binary: Path, log: BinaryIO) -> None:
        self.process = subprocess.Popen(
            [str(binary), "-test.run", "^TestServe$", "-test.timeout", "0"],
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
        """Lets the process end by itself: a device's memory is given back so."""
        assert self.process.stdin and self.process.stdout
        self.ready.close()
        try:
            self.process.stdin.close()
            self.process.wait(20)
        except (OSError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    def ask(self, seconds: float = 60, **request: Any) -> Any:
        """The answer to a request. Raises Failed or, when there is none within so
        many seconds, Gone."""
        assert self.process.stdin
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
        except OSError as e:
            raise Gone(f"{request['do']}: the process had ended") from e
        said = json.loads(self._line(time.monotonic() + seconds, request["do"]))
        if isinstance(said, dict) and set(said) == {"error"}:
            raise Failed(f"{request['do']}: {said['error']}")
        return said

    def _line(self, until: float, what: str) -> bytes:
        assert self.process.stdout
        while b"\n" not in self.rest:
            if not self.ready.select(max(0.0, until - time.monotonic())):
                self.process.kill()
                raise Gone(f"{what}: no answer in time")
            part = os.read(self.process.stdout.fileno(), 1 << 16)
            if not part:
                raise Gone(f"{what}: the process ended with code {self.process.wait()}")
            self.rest += part
        line, self.rest = self.rest.split(b"\n", 1)
        return line


def dumped(file: Path, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Answers that a search left in a file: ids [queries, k], and whose certificate
    needs no probability."""
    rows = np.fromfile(file, np.int32).reshape(-1, k + 1)
    return rows[:, :k], rows[:, k] == 1
