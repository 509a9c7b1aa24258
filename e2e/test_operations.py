"""The commands of the documentation, run verbatim."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from server import Server

ROOT = Path(__file__).resolve().parent.parent
WRITTEN = "http://127.0.0.1:8080"


@pytest.fixture(scope="module")
def toured() -> Iterator[Server]:
    s = Server("toured", "--demo")
    yield s
    s.stop()


def blocks(path: str, mark: str = "sh") -> str:
    """The blocks with a mark, in order."""
    return "".join(re.findall(rf"^```{mark}\n(.*?)^```$", (ROOT / path).read_text(), re.MULTILINE | re.DOTALL))


def test_commands_work_as_written(toured: Server, tmp_path: Path) -> None:
    commands = blocks("docs/operations.md")
    assert commands.count("curl") >= 12 and commands.count("thresher job") >= 4
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "thresher").symlink_to(os.environ["E2E_THRESHER"])
    curl = tools / "curl"
    curl.write_text(f'#!/bin/sh\nexec {shutil.which("curl")} --fail-with-body --show-error --max-time 600 "$@"\n')
    curl.chmod(0o755)
    folder = tmp_path / "folder"
    folder.mkdir()
    done = subprocess.run(
        ["bash", "-euxo", "pipefail", "-c", commands.replace(WRITTEN, toured.url)],
        cwd=folder,
        env=os.environ | {"PATH": f"{tools}:{os.environ['PATH']}", "THRESHER_SERVER": toured.url},
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def free_port() -> int:
    """A port for a server that a script starts, and asks before it can read which port that picked."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def test_backup_and_restore_work_as_written(tmp_path: Path) -> None:
    """A server of its own, whose data are backed up, put aside and restored; its process group ends with the test."""
    commands = blocks("docs/operations.md", "bash")
    assert "data backup" in commands and "data restore" in commands
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "thresher").symlink_to(os.environ["E2E_THRESHER"])
    folder = tmp_path / "folder"
    folder.mkdir()
    address = f"127.0.0.1:{free_port()}"
    url = f"http://{address}"
    path = f"{tools}:{os.environ['PATH']}"
    done = subprocess.Popen(
        ["bash", "-euxo", "pipefail", "-c", commands.replace(WRITTEN, url)],
        cwd=folder,
        env=os.environ | {"PATH": path, "THRESHER_SERVER": url, "THRESHER_LISTEN": address},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = done.communicate(timeout=1200)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(done.pid, signal.SIGKILL)
    assert done.returncode == 0, said[-5000:]
    assert "0 damaged, 0 missing, 0 unknown" in said
