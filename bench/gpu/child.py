"""thresher's process: gpu.test as a server of benchmarks (gpu/bench_test.go)."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import parts
from suite import SERVE, stuck

if TYPE_CHECKING:
    import numpy as np

# Seconds without a line from the process, after which its driver hangs. Every call of the driver ends sooner: the
# longest is the compilation of a module from PTX, 2 s. Of longer work on the host the process tells every second.
SILENT = 20.0
# The same for a process under a tool, which repeats every kernel many times.
SILENT_UNDER_TOOL = 60.0
CLOSING = 10.0  # seconds for a process without input to free the device and to end
WORKING = "working: "  # begins the line that says so
TAIL = 1000  # bytes of what a process printed that are kept with its end
MOST_TEXT = 2000  # of an error: that of a panic contains its stack


class Trouble(Exception):
    """A request without an answer. request is what was asked, driver what the driver said: call, code, and in
    log the last kernels."""

    def __init__(self, text: str, request: dict[str, Any] | None = None, driver: dict[str, Any] | None = None) -> None:
        super().__init__(text[:MOST_TEXT])
        self.request, self.driver = request or {}, driver

    def record(self) -> dict[str, Any]:
        """What results say about it."""
        record: dict[str, Any] = {"why": str(self), "request": self.request}
        return record | ({"driver": self.driver} if self.driver else {})


class Failed(Trouble):
    """A request that was answered with an error."""


class Gone(Trouble):
    """The process ended, lost the device, or took too long and was ended."""

    noted = False  # recorded in the results
    struck = False  # the plan of the request is struck off, so that the step can be tried again
    late = False  # it exceeded its time, rather than ended by itself


class Child:
    """wrap is a program, with its arguments, that runs the child. Whatever the child prints besides answers goes
    to log."""

    def __init__(self, binary: Path, log: BinaryIO, wrap: Sequence[str] = ()) -> None:
        self.log, self.silent = log, SILENT_UNDER_TOOL if wrap else SILENT
        self.began = os.fstat(log.fileno()).st_size
        self.process = subprocess.Popen(
            [*wrap, str(binary), *SERVE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env=os.environ | {"THRESHER_GPU_SERVE": "1"},
        )
        assert self.process.stdout
        self.rest = b""
        self.working = ""  # what it told last
        self.ended = False
        self.ready = selectors.DefaultSelector()
        self.ready.register(self.process.stdout, selectors.EVENT_READ)

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        """Closes the process's input and waits: it then frees the device's memory before it ends."""
        assert self.process.stdin and self.process.stdout
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        if not self.ended:
            self._drain(time.monotonic() + CLOSING)
            self._end()
        self.ready.close()
        self.process.stdout.close()

    def ask(self, seconds: float = 60, **request: Any) -> Any:
        """The answer to a request. Raises Failed or, if there is none within so many seconds, if the process says
        nothing for as long as only a hanging driver takes, or if it ends, Gone."""
        assert self.process.stdin
        self.working = ""
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            raise self._gone(request) from None
        until = time.monotonic() + seconds
        while (line := self._line(until, request))[:1] not in (b"{", b"["):
            self._note(line)
        said = json.loads(line)
        if not (isinstance(said, dict) and "error" in said):
            return said
        text, driver = f"{request['do']}: {said['error']}", said.get("driver")
        if not said.get("lost"):
            raise Failed(text, request, driver)
        self._drain(time.monotonic() + CLOSING)
        self._end()
        raise Gone(text, request, driver)

    @contextlib.contextmanager
    def patient(self, seconds: float) -> Iterator[None]:
        """For requests after which the process may say nothing for so many seconds."""
        silent = self.silent
        self.silent = max(silent, seconds)
        try:
            yield
        finally:
            self.silent = silent

    def _note(self, line: bytes) -> None:
        """Keeps what is no answer: a sign that a request is worked on, output of the driver or of a tool."""
        told = line.decode(errors="replace").strip()
        if told.startswith(WORKING):
            self.working = told.removeprefix(WORKING)
        self.log.write(line + b"\n")
        self.log.flush()

    def _line(self, until: float, request: dict[str, Any]) -> bytes:
        """The next line that the process prints."""
        while b"\n" not in self.rest:
            left = min(until - time.monotonic(), self.silent)
            if not self.ready.select(max(0.0, left)):
                raise self._late(request, self.silent if left == self.silent else None)
            if not self._read():
                raise self._gone(request)
        line, self.rest = self.rest.split(b"\n", 1)
        return line

    def _read(self) -> bool:
        """Reads what the process has printed; False at its end."""
        assert self.process.stdout
        part = os.read(self.process.stdout.fileno(), 1 << 16)
        self.rest += part
        return bool(part)

    def _late(self, request: dict[str, Any], silent: float | None) -> Gone:
        """Has a process that hangs print where, and ends it."""
        at = os.fstat(self.log.fileno()).st_size
        with contextlib.suppress(OSError):
            self.process.send_signal(signal.SIGQUIT)  # Go prints what each goroutine does
        self._drain(time.monotonic() + parts.DUMPING)
        self._kill()
        what = f"nothing for {silent:.0f} s" if silent else "no answer in time"
        where = stuck(self._printed(at, 1 << 20))
        text = f"{request['do']}: {what}{f', last {self.working}' if self.working else ''}"
        late = Gone(f"{text}; it hangs in {where}" if where else text + self._told(), request)
        late.late = True
        return late

    def _gone(self, request: dict[str, Any]) -> Gone:
        self._drain(time.monotonic() + 1)
        self._end()
        return Gone(f"{request['do']}: the process ended with code {self.process.returncode}{self._told()}", request)

    def _told(self) -> str:
        """The end of what it printed: a Go program's last words are why it ended."""
        lines = self._printed(self.began, TAIL).splitlines()
        told = "\n".join(line for line in lines if not line.startswith('{"kind"'))  # records are in the log, too
        return f"; it said: {told}" if told else ""

    def _printed(self, since: int, most: int) -> str:
        """The end of the log."""
        with contextlib.suppress(OSError), open(self.log.name, "rb") as log:
            log.seek(max(since, os.fstat(log.fileno()).st_size - most))
            return log.read().decode(errors="replace").strip()
        return ""

    def _drain(self, until: float) -> None:
        """Reads what the process still prints into the log, until it ends."""
        while (left := until - time.monotonic()) > 0 and self.ready.select(left) and self._read():
            pass
        for line in self.rest.splitlines():
            self._note(line)
        self.rest = b""

    def _end(self) -> None:
        """Waits for a process that has closed its output, and kills it if it does not end."""
        self.ended = True
        try:
            self.process.wait(1.0)
        except subprocess.TimeoutExpired:
            self._kill()

    def _kill(self) -> None:
        """One that waits for a driver where signals do not reach it is abandoned."""
        self.ended = True
        self.process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(parts.LINGER)


def dumped(file: Path, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The answers that a search wrote to a file: ids [queries, k], and whether each
    certificate needs no probability."""
    import numpy as np  # where a device is only opened there may be none

    rows = np.fromfile(file, np.int32).reshape(-1, k + 1)
    return rows[:, :k], rows[:, k] == 1
