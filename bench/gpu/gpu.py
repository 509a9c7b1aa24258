#!/usr/bin/env python3
"""Everything there is to prove and measure on a machine with a GPU, in one call.

    make gpu                                all of it, below eight minutes
    GPU_SMALL=1 make gpu                    the same steps on tiny sizes: a rehearsal

It takes what `make gpu-binaries` left in build/device, and of the machine python3 and
the driver; torch, CuPy, JAX and compute-sanitizer where they are. A part that fails
keeps no other from running. Results and logs go to $OUT, or to build/gpu-out, and a
table comes last; the exit code is 1 if a test failed, an answer was wrong beyond what
delta allows, or the benchmarks broke off.
"""

from __future__ import annotations

import array
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import facts
import parts
import short
from suite import Suite

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
DEVICE = ROOT / "build" / "device"

SMALL = bool(os.environ.get("GPU_SMALL"))
SECONDS = 460
MEASURE = 250  # of these the benchmarks'; a rehearsal takes a tenth of it where nobody else works

FRAGMENTS = ("TestFragments", "TestFragmentsOfShared", "TestAsyncCopiesToShared", "TestWords")
# What a rehearsal runs of the suite: that it can be run is what it shows.
REHEARSED = ("TestLayout", "TestParsePTX", "TestEveryCallFails", "TestFormatBytes")
# A few of each kind of kernel, for tools that slow them down a hundred times.
WATCHED = (
    *FRAGMENTS, "TestScan", "TestPrune", "TestLeaders", "TestLookRows", "TestLookSigns", "TestScores", "TestMerge",
    "TestQueryCodes", "TestLookFactors", "TestHeads", "TestRotations",
)  # fmt: skip


def npy(path: Path, rows: int, columns: int, seed: int) -> None:
    """A file of normal float32, as numpy writes them."""
    draw = random.Random(seed)
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}"
    head = head.ljust(117) + "\n"  # with what comes before it, 128 bytes
    values = array.array("f", (draw.gauss(0, 1) for _ in range(rows * columns)))
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + values.tobytes())


class Gpu:
    def __init__(self, out: Path) -> None:
        self.results = parts.Results(out)
        self.call = parts.Call(self.results, SECONDS)
        self.suite = Suite(DEVICE / "gpu.test", ROOT / "gpu", out / "tests.log")
        self.names: list[str] = []

    def run(self) -> int:
        self.results.add("run", when=time.strftime("%Y-%m-%d"), small=SMALL, version=facts.version(DEVICE / "VERSION"))
        part = self.call.part
        part("facts", 60, self.facts)
        part("primitives", 60, lambda s: self.tests("primitives", [n for n in self.names if n in FRAGMENTS], s))
        part("conformance", 150, lambda s: self.tests("conformance", [n for n in self.names if self.conforms(n)], s))
        part("kernels and device layer", 100, lambda s: self.tests("kernels and device layer", self.rest(), s))
        part("command", 30, self.command)
        part("benchmarks", MEASURE, self.measure)
        for tool in ("memcheck", "racecheck"):
            part(tool, 45, lambda s, tool=tool: self.sanitize(tool, s))
        return self.end()

    def facts(self, seconds: float) -> int | str:
        if not self.suite.binary.exists():
            return f"there is no {self.suite.binary.relative_to(ROOT)}: make gpu-binaries, where there is Go"
        self.names = self.suite.names()
        self.results.add("facts", **facts.gather(self.results.folder / "facts.log", seconds))
        return 0 if self.names else 1

    def conforms(self, name: str) -> bool:
        return name.startswith("TestBackend") and not SMALL

    def rest(self) -> list[str]:
        if SMALL:
            return [n for n in self.names if n in REHEARSED]
        return [n for n in self.names if n not in FRAGMENTS and not self.conforms(n)]

    def tests(self, group: str, names: list[str], seconds: float) -> int | str:
        if not names:
            return "none of them is in this binary"
        code, said = self.suite.each(names, seconds)
        self.results.add("tests", group=group, rc=code, **said.record())
        return code

    def command(self, seconds: float) -> int:
        """The program itself: what it is, a search on the device, and the check of its
        answers."""
        program, log = DEVICE / "thresher", self.results.folder / "tests.log"
        with tempfile.TemporaryDirectory() as folder:
            atoms, queries, answers = (Path(folder) / name for name in ("atoms.npy", "queries.npy", "answers.npz"))
            npy(atoms, 2000, 64, 1)
            npy(queries, 50, 64, 2)
            given: list[str | Path] = ["--atoms", atoms, "--queries", queries]
            commands: dict[str, list[str | Path]] = {
                "version": [],
                "search": [*given, "-k", "5", "--backend", "cuda", "--costs", "builtin", "--out", answers],
                "verify": [*given, "--answers", answers],
            }
            for verb, more in commands.items():
                code, out = parts.run([program, verb, *more], seconds, log)
                self.results.add("command", verb=verb, rc=code, said=out.strip()[-500:])
                if code:
                    return code
        return 0

    def measure(self, seconds: float) -> int | str:
        command: list[str | Path] = [
            sys.executable,
            "-u",
            HERE / "measure.py",
            "--out",
            self.results.file,
            "--seconds",
            str(int(seconds - 15)),
        ]
        env = {
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
            "PYTHONPATH": f"{ROOT / 'bench'}:{os.environ.get('PYTHONPATH', '')}",
        }
        if subprocess.run([sys.executable, "-c", "import numpy"], capture_output=True).returncode:
            return "python3 has no numpy here"
        return parts.run(command + ["--small"] * SMALL, seconds, self.results.folder / "bench.log", ROOT, env)[0]

    def sanitize(self, tool: str, seconds: float) -> int | str:
        found = shutil.which("compute-sanitizer") or next(
            iter(Path("/usr/local").glob("cuda*/bin/compute-sanitizer")), None
        )
        if not found:
            return "there is no compute-sanitizer here"
        log = self.results.folder / f"{tool}.log"
        suite = Suite(self.suite.binary, self.suite.folder, log)
        code, said = suite.run(
            [n for n in self.names if n in WATCHED], seconds, [str(found), "--tool", tool, "--error-exitcode", "9"]
        )
        errors = [line.lstrip("= ") for line in log.read_text(errors="replace").splitlines() if "SUMMARY" in line]
        self.results.add("sanitizer", tool=tool, rc=code, summary=errors, **said.record())
        return code

    def end(self) -> int:
        records = self.results.all()
        table = short.table(records)
        (self.results.folder / "table.txt").write_text(table)
        print(table, flush=True)
        return 1 if short.bad(records) else 0


def main() -> int:
    return Gpu(Path(os.environ.get("OUT") or ROOT / "build" / "gpu-out")).run()


if __name__ == "__main__":
    sys.exit(main())
