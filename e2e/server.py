"""A separate thresher server: ports that it picks itself, a new folder, stopped by SIGTERM."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

BUILD = Path(__file__).resolve().parent.parent / "build" / "e2e"

START = 900  # seconds until the demo is loaded, on a busy machine
STOP = 600  # seconds that a drain may take there
ANSWER = 600  # seconds for an answer there

# With these no limit of time strikes on a machine that is slow or stands still for a while.
NO_HURRY = ("--timeouts-header=1h", "--timeouts-body=1h", "--timeouts-idle=1h", "--timeouts-search=1h")

SERVES = re.compile(r"^thresher serves http://(\S+), data in ", re.MULTILINE)
SERVES_GRPC = re.compile(r"^thresher serves gRPC on (\S+)$", re.MULTILINE)


class Server:
    """A thresher serve process, from __init__ to stop; its log is in build/e2e."""

    def __init__(self, name: str, *flags: str, token: str = "") -> None:
        self.name = name
        self.token = token
        self.folder = tempfile.TemporaryDirectory(prefix="thresher-e2e-")
        self.address = self.grpc = self.url = ""  # until it says them
        self.log = BUILD / f"{name}.log"
        self.flags = flags
        self.process = self.start()

    def start(self) -> subprocess.Popen[bytes]:
        """Starts the process on its folder and waits until it is ready. Its addresses are new each time: a
        port that was chosen for it could be taken by another process meanwhile."""
        self.address = self.grpc = self.url = ""
        command = [
            os.environ["E2E_THRESHER"],
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--grpc-listen",
            "127.0.0.1:0",
            "--data",
            self.folder.name,
            *NO_HURRY,
            *self.flags,
        ]
        with self.log.open("ab") as log:
            self.mark = log.tell()
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

    def heard(self) -> bool:
        """Whether the process has said where it serves."""
        with self.log.open("rb") as log:
            log.seek(self.mark)
            said = log.read().decode(errors="replace")
        http, grpc = SERVES.search(said), SERVES_GRPC.search(said)
        if http is None or grpc is None:
            return False
        self.address, self.grpc, self.url = http[1], grpc[1], f"http://{http[1]}"
        return True

    def ready(self) -> bool:
        if not self.url and not self.heard():
            return False
        try:
            self.ask("/readyz")
            # A server with the demo says that it serves once the demo answers.
            assert "--demo" not in self.flags or self.ask("/v1/collections/demo")["state"] == "ready"
            return True
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
        with urllib.request.urlopen(request, timeout=ANSWER) as answer:
            return json.loads(answer.read() or b"null")
