"""Go's tests on the device: lists them and collects their results."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import parts

SERVE = ("-test.run", "^TestServe$", "-test.timeout", "0")
VERDICT = re.compile(r"^--- (PASS|FAIL|SKIP): (Test\w+)", re.MULTILINE)


@dataclass
class Said:
    """Top-level tests by result."""

    passed: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    without_result: list[str] = field(default_factory=list)  # no result: the process ended, or its time

    def record(self) -> dict[str, object]:
        return {"passed": len(self.passed), "failed": self.failed, "skipped": self.skipped, "without_result": self.without_result}


def read(output: str, asked: list[str]) -> Said:
    """The results that `-test.v` printed for the tests asked for."""
    end = {name: verdict for verdict, name in VERDICT.findall(output)}
    said = Said()
    for name in asked:
        {"PASS": said.passed, "FAIL": said.failed, "SKIP": said.skipped}.get(end.get(name, ""), said.without_result).append(
            name
        )
    return said


class Suite:
    """A test binary, run in the folder of its package."""

    def __init__(self, binary: Path, folder: Path, log: Path) -> None:
        self.binary, self.folder, self.log = binary, folder, log

    def names(self) -> list[str]:
        _, out = parts.run([self.binary, "-test.list", "."], 60, self.log, self.folder)
        return [line for line in out.splitlines() if line.startswith("Test")]

    def ask(self, request: dict[str, Any], seconds: float) -> tuple[dict[str, Any], int]:
        """The answer of the benchmarks' process (gpu/bench_test.go) to one request, and its code; the
        rest of its output goes to the log."""
        with self.log.open("ab") as err:
            process = subprocess.Popen(
                [self.binary, *SERVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err,
                env=os.environ | {"THRESHER_GPU_SERVE": "1"}, start_new_session=True,
            )  # fmt: skip
            try:
                out, _ = process.communicate(json.dumps(request).encode() + b"\n", seconds)
            except subprocess.TimeoutExpired:
                parts.kill(process)
                assert process.stdout
                process.stdout.close()
                return {"error": "no answer in time"}, parts.LATE
        try:
            said = json.loads(out.split(b"\n", 1)[0])
        except json.JSONDecodeError:
            said = {"error": out.decode(errors="replace")[-500:]}
        return said, process.returncode

    def run(self, names: list[str], seconds: float, wrap: list[str] | None = None) -> tuple[int, Said]:
        """Runs tests in one process, under wrap if there is one."""
        pattern = f"^({'|'.join(names)})$"
        limit = max(1, int(seconds) - 3)  # the test binary then reports which test was running
        command: list[str | Path] = [
            *(wrap or []),
            self.binary,
            "-test.v",
            "-test.run",
            pattern,
            f"-test.timeout={limit}s",
        ]
        code, out = parts.run(command, seconds, self.log, self.folder)
        return code, read(out, names)

    def each(self, names: list[str], seconds: float) -> tuple[int, Said]:
        """Runs tests together, and those without a result, because another ended the process, alone."""
        until = time.monotonic() + seconds
        code, said = self.run(names, seconds)
        for name in list(said.without_result):
            left = until - time.monotonic()
            if left < 2:
                break
            again, alone = self.run([name], min(left, 30))
            said.without_result.remove(name)
            for into, of in (
                (said.passed, alone.passed),
                (said.failed, alone.failed),
                (said.skipped, alone.skipped),
                (said.without_result, alone.without_result),
            ):
                into.extend(of)
            code = code or again
        return code, said
