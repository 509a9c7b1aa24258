"""The commands of the documentation, run as they are written."""

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


def operations() -> str:
    """The blocks marked sh, in order."""
    text = (ROOT / "docs" / "operations.md").read_text()
    return "".join(re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))


def readme() -> str:
    """The README's commands that ask a server: lines that begin with curl or
    thresher job, and those that these go on with."""
    text = (ROOT / "README.md").read_text()
    command = r"^ *(?:curl|thresher job|go run \./cmd/thresher job) (?:.*[\\|]\n)*.*$"
    commands = [m.strip() for m in re.findall(command, text, re.MULTILINE)]
    return "\n".join(commands).replace("go run ./cmd/thresher", "thresher") + "\n"


@pytest.mark.parametrize("script", [operations, readme], ids=["docs/operations.md", "README.md"])
def test_commands_work_as_written(toured: Server, tmp_path: Path, script) -> None:
    commands = script()
    if script is operations:
        assert commands.count("curl") > 10 and commands.count("thresher job") > 3
    tools = tmp_path / "tools"
    tools.mkdir()
    (tools / "thresher").symlink_to(os.environ["E2E_THRESHER"])
    curl = tools / "curl"
    curl.write_text(f'#!/bin/sh\nexec {shutil.which("curl")} --fail-with-body --show-error --max-time 30 "$@"\n')
    curl.chmod(0o755)
    folder = tmp_path / "folder"
    folder.mkdir()
    done = subprocess.run(
        ["bash", "-euxo", "pipefail", "-c", commands.replace(WRITTEN, toured.url)],
        cwd=folder,
        env=os.environ | {"PATH": f"{tools}:{os.environ['PATH']}", "THRESHER_SERVER": toured.url},
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
