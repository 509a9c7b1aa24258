"""Go's tests on the device: lists them and collects their results."""

from __future__ import annotations

import math
import re
import time
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path

import parts

SERVE = ("-test.run", "^TestServe$", "-test.timeout", "0")
VERDICT = re.compile(r"^--- (PASS|FAIL|SKIP): (Test\w+)", re.MULTILINE)
FAILED = re.compile(r"^ *--- FAIL: (Test\S+)", re.MULTILINE)
BEGUN = re.compile(r"^=== RUN +(Test\S+)", re.MULTILINE)
FRAMES = 6  # functions of that which are kept
FRAME = re.compile(
    r"^(?:gorgonia\.org|thresher(?:/gpu)?)/((?:cu|device|gpu|batch)\.[^\s(]*(?:\([^)]*\)[^\s(]*)?)\(", re.MULTILINE
)
# Seconds without a line from tests, after which the driver hangs: a call of it takes 2 s at most, and a test a few
# seconds. Those that search many sets compute the right answers on the host between their lines.
SILENT, SILENT_LONG = 22.0, 60.0


def stuck(dump: str) -> str:
    """Where the first goroutine that is in a call of the driver is, from what Go prints at a SIGQUIT: the innermost
    functions of this program and of its bindings."""
    for goroutine in dump.split("\n\n"):
        if "cgocall" in goroutine:
            return " < ".join(FRAME.findall(goroutine)[:FRAMES])
    return ""


@dataclass
class Said:
    """Top-level tests by result."""

    passed: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    without_result: list[str] = field(default_factory=list)  # no result: the process ended, or its time
    innermost: list[str] = field(default_factory=list)  # parts of tests that failed, without what contains them
    where: str = ""  # the call of the driver that a process hung in
    running: str = ""  # the test, or part of one, at the end of a process that did not end by itself

    def record(self) -> dict[str, object]:
        return vars(self) | {"passed": len(self.passed)}

    def culprits(self) -> list[str]:
        """What is to be looked into."""
        return self.innermost or ([self.running] if self.running else self.failed + self.without_result)


def read(output: str, asked: list[str]) -> Said:
    """The results that `-test.v` printed for the tests asked for."""
    end = {name: verdict for verdict, name in VERDICT.findall(output)}
    said = Said()
    lists = {"PASS": said.passed, "FAIL": said.failed, "SKIP": said.skipped}
    for name in asked:
        lists.get(end.get(name, ""), said.without_result).append(name)
    failed = FAILED.findall(output)
    said.innermost = [f for f in failed if not any(other.startswith(f + "/") for other in failed)]
    begun = BEGUN.findall(output)
    if said.without_result and begun:
        said.running = begun[-1]
    return said


def pattern(names: list[str]) -> str:
    """What -test.run needs for tests, or for parts of them; some others may match, too."""
    levels: list[str] = []
    for at in zip_longest(*(name.split("/") for name in names)):
        if None in at:
            break
        levels.append(f"^({'|'.join(re.escape(a) for a in dict.fromkeys(at))})$")
    return "/".join(levels)


class Suite:
    """A test binary, run in the folder of its package."""

    def __init__(self, binary: Path, folder: Path, log: Path) -> None:
        self.binary, self.folder, self.log = binary, folder, log

    def names(self) -> list[str]:
        _, out = parts.run([self.binary, "-test.list", "."], 60, self.log, self.folder)
        return [line for line in out.splitlines() if line.startswith("Test")]

    def run(
        self, names: list[str], seconds: float, wrap: list[str] | None = None, silent: float = SILENT
    ) -> tuple[int, Said]:
        """Runs tests in one process, under wrap if there is one. If it says nothing for long it is ended."""
        limit = max(1, int(seconds) - 3)  # the test binary then reports which test was running
        command: list[str | Path] = [
            *(wrap or []),
            self.binary,
            "-test.v",
            "-test.run",
            pattern(names),
            f"-test.timeout={limit}s",
        ]
        silent = math.inf if wrap else silent  # tools slow tests down a hundred times
        code, out = parts.run(command, seconds, self.log, self.folder, silent=silent)
        said = read(out, names)
        said.where = stuck(out) if code == parts.HUNG else ""
        return code, said

    def each(self, names: list[str], seconds: float, silent: float = SILENT) -> tuple[int, Said]:
        """Runs tests together, and those without a result, because another ended the process, alone; after one that
        hung none, since the device hangs."""
        until = time.monotonic() + seconds
        code, said = self.run(names, seconds, silent=silent)
        for name in list(said.without_result):
            left = until - time.monotonic()
            if left < 2 or code == parts.HUNG:
                break
            again, alone = self.run([name], min(left, 30), silent=silent)
            said.without_result.remove(name)
            for into, of in (
                (said.passed, alone.passed),
                (said.failed, alone.failed),
                (said.skipped, alone.skipped),
                (said.without_result, alone.without_result),
                (said.innermost, alone.innermost),
            ):
                into.extend(of)
            code = again if again == parts.HUNG else code or again
            said.running, said.where = alone.running or said.running, alone.where
        return code, said
