"""The commands of the documentation, run verbatim."""

from __future__ import annotations

import os
import re
import shutil
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


def blocks(path: str) -> str:
    """The blocks marked sh, in order."""
    return "".join(re.findall(r"^```sh\n(.*?)^```$", (ROOT / path).read_text(), re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize(("path", "curls", "jobs"), [("docs/operations.md", 12, 4), ("README.md", 3, 1)])
def test_commands_work_as_written(toured: Server, tmp_path: Path, path: str, curls: int, jobs: int) -> None:
    commands = blocks(path)
    assert commands.count("curl") >= curls and commands.count("thresher job") >= jobs
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "thresher").symlink_to(os.environ["E2E_THRESHER"])
    curl = tools / "curl"
    curl.write_text(f'#!/bin/sh\nexec {shutil.which("curl")} --fail-with-body --show-error --max-time 120 "$@"\n')
    curl.chmod(0o755)
    folder = tmp_path / "folder"
    folder.mkdir()
    done = subprocess.run(
        ["bash", "-euxo", "pipefail", "-c", commands.replace(WRITTEN, toured.url)],
        cwd=folder,
        env=os.environ | {"PATH": f"{tools}:{os.environ['PATH']}", "THRESHER_SERVER": toured.url},
        capture_output=True,
        text=True,
        timeout=360,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
