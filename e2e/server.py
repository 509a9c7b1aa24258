"""A separate thresher server: a free port, a new folder, stopped by SIGTERM."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

BUILD = Path(__file__).resolve().parent.parent / "build" / "e2e"

START = 60  # seconds until the demo is loaded, on a busy machine
STOP = 40  # seconds that a drain may take


class Server:
    """A thresher serve process, from __init__ to stop; its log is in build/e2e."""

    def __init__(self, name: str, *flags: str, token: str = "") -> None:
        self.name = name
        self.token = token
        self.folder = tempfile.TemporaryDirectory(prefix="thresher-e2e-")
        self.address = f"127.0.0.1:{free_port()}"
        self.grpc = f"127.0.0.1:{free_port()}"
        self.url = f"http://{self.address}"
        self.log = BUILD / f"{name}.log"
        self.flags = flags
        self.process = self.start()

    def start(self) -> subprocess.Popen[bytes]:
        """Starts the process on its folder and waits until it is ready."""
        command = [
            os.environ["E2E_THRESHER"],
            "serve",
            "--listen",
            self.address,
            "--grpc-listen",
            self.grpc,
            "--data",
            self.folder.name,
            *self.flags,
        ]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log)
        deadline = time.monotonic() + START
        while not self.ready():
            if self.process.poll() is not None:
                raise AssertionError(f"{self.name} ended with {self.process.returncode}: {self.said()}")
            if time.monotonic() > deadline:
                self.kill()
                raise AssertionError(f"{self.name} is not ready after {START} s: {self.said()}")
            time.sleep(0.05)
        return self.process

    def ready(self) -> bool:
        try:
            self.ask("/readyz")
            # The demo is built while the server serves.
            return "--demo" not in self.flags or self.ask("/v1/collections/demo")["state"] == "ready"
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False

    def said(self) -> str:
        return self.log.read_text(errors="replace")[-2000:]

    def kill(self) -> None:
        """Ends the process as a crash would."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """Stops it with SIGTERM, and fails unless it exits with success."""
        try:
            self.process.send_signal(signal.SIGTERM)
            code = self.process.wait(STOP)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"{self.name} did not stop within {STOP} s of SIGTERM") from None
        finally:
            self.folder.cleanup()
        assert code == 0, f"{self.name} ended with {code}: {self.said()}"

    def ask(self, path: str, body: Any = None) -> Any:
        """The JSON at a path, or the answer to a JSON body."""
        if body is None:
            return self.send(path)
        return self.send(path, json.dumps(body).encode(), "application/json", "POST")

    def send(self, path: str, body: bytes | None = None, kind: str = "", method: str = "GET") -> Any:
        request = urllib.request.Request(self.url + path, body, method=method)
        if kind:
            request.add_header("Content-Type", kind)
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read() or b"null")


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port: int = s.getsockname()[1]
        return port
