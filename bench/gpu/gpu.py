#!/usr/bin/env python3
"""All tests and measurements on a machine with a GPU, in one call.

    python3 bench/gpu/gpu.py                        all, most important first, in less than nine minutes
    PARTS=peers,profile python3 bench/gpu/gpu.py    these parts only
    SETS=iid768 ...                                 of the benchmarks these sets only
    GPU_SECONDS=200 ...                             in as many seconds; 500 if it is not set
    GPU_SMALL=1 ...                                 the same steps on tiny sizes: a rehearsal

It needs what `make gpu-binaries` left in build/device and, on the machine, python3 and the
driver; it uses torch, CuPy, JAX, compute-sanitizer and ncu if available. First comes a gate: the
kernels are loaded, and primitives and small searches give right answers; if not, nothing is
measured. A failing part behind it does not stop the others. Results and logs are written to
$OUT, or to build/gpu-out, as they are made, and a table is printed at the end. The exit code is 1
if a test failed, an answer was wrong beyond what delta allows, a plan lost the device, or the
benchmarks did not complete."""

from __future__ import annotations

import array
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))  # a call is this file alone, without make and PYTHONPATH

import binaries  # noqa: E402
import facts  # noqa: E402
import parts  # noqa: E402
import ptx_path  # noqa: E402
import short  # noqa: E402
from binaries import DEVICE, ROOT  # noqa: E402
from child import Child, Gone, Trouble  # noqa: E402
from returned import Returned  # noqa: E402
from suite import SILENT as SILENT_TESTS  # noqa: E402
from suite import SILENT_LONG, Suite  # noqa: E402

SMALL = bool(os.environ.get("GPU_SMALL"))
SLOW = 8 if SMALL else 1  # a rehearsal has so many times the seconds of each part: others keep its machine busy
SECONDS = float(os.environ.get("GPU_SECONDS") or 500 * SLOW)
GRACE = min(20.0, 0.04 * SECONDS)  # seconds after that, hung processes are killed
# Seconds of these for the benchmarks, with 15 to finish, or more if few parts follow; a rehearsal takes a tenth.
MEASURE = 0.58 * SECONDS
# Seconds without a line from the benchmarks, after which they hang: they tell of all that takes long.
SILENT = 75.0
# The parts without which nothing is measured.
GATE = ("opening", "primitives", "gate")
LONG = ("conformance", "others")  # groups of tests that say little
CHECKED = ("memcheck", "racecheck")  # what runs on the part of the gate that failed

FRAGMENTS = ("TestFragments", "TestFragmentsOfShared", "TestAsyncCopiesToShared", "TestWords")
# The part of the suite that a rehearsal runs, to show that it can be run.
REHEARSED = ("TestLayout", "TestParsePTX", "TestEveryCallFails", "TestFormatBytes")
# A few tests of each kind of kernel, to detect failures before measuring, and for tools that slow
# tests down a hundred times.
WATCHED = (
    *FRAGMENTS, "TestScan", "TestPrune", "TestSelectCandidates", "TestLookRows", "TestLookSigns", "TestScores",
    "TestMerge", "TestQueryCodes", "TestLookFactors", "TestHeads", "TestRotations",
)  # fmt: skip
NOT_STARTED = 127  # code of a program that lacks a library
# Where the driver may be (gpu/device/driver.go); the first is the loader's path.
LIBRARIES = ("libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1", "/usr/lib/x86_64-linux-gnu/libcuda.so.1")
# Where ncu and compute-sanitizer may be, besides the PATH.
PLACES = ("/usr/local/cuda*/bin", "/opt/nvidia/nsight-compute/*")


def npy(path: Path, rows: int, columns: int, seed: int) -> None:
    """A file of normal float32, in numpy's format."""
    draw = random.Random(seed)
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({rows}, {columns}), }}"
    head = head.ljust(117) + "\n"  # 128 bytes with what precedes it
    values = array.array("f", (draw.gauss(0, 1) for _ in range(rows * columns)))
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + values.tobytes())


def tool(name: str) -> str | None:
    """The path of a program of the CUDA toolkit."""
    there = (path for place in PLACES for path in sorted(Path("/").glob(f"{place[1:]}/{name}")))
    return shutil.which(name) or next((str(path) for path in there), None)


class Gpu:
    def __init__(self, out: Path, only: list[str]) -> None:
        self.results = parts.Results(out)
        self.call = parts.Call(self.results, SECONDS, only)
        self.names: list[str] = []
        self.ended = self.unopened = self.emulated = False
        self.culprits: list[str] = []  # of the tests that ran last
        if SMALL:  # a rehearsal shares nothing with others
            os.environ.setdefault(binaries.VARIABLE, str(out.with_name(out.name + "-cache")))

    def parts(self) -> dict[str, tuple[float, Callable[[float], int | str]]]:
        """Every part: its limit in seconds, and its function. First the parts that all others depend on,
        then the measurements, then further tests and explanations."""
        all_ = {
            "facts": (30, self.facts),
            "opening": (100, self.opening),
            "primitives": (40, lambda s: self.tests("primitives", FRAGMENTS, s)),
            "selftest": (20, self.selftest),
            "gate": (60, lambda s: self.tests("gate", ("TestGate",), s)),
            "benchmarks": (MEASURE, self.measure),
            "conformance": (120, lambda s: self.tests("conformance", self.conformance(), s)),
            "ptx": (60, self.ptx),
            "kernels": (60, lambda s: self.tests("kernels", self.kernels(), s)),
            "command": (40, self.command),
            "others": (90, self.others),
            "profile": (70, self.profile),
            "memcheck": (45, lambda s: self.sanitize("memcheck", s, self.watched())),
            "racecheck": (45, lambda s: self.sanitize("racecheck", s, self.watched())),
            "synccheck": (40, lambda s: self.sanitize("synccheck", s, self.watched())),
            "sweep": (60, lambda s: self.extras(s, "--sweep")),
            "peers": (120, lambda s: self.extras(s, "--peers")),
        }
        return {name: (limit if name == "benchmarks" else SLOW * limit, do) for name, (limit, do) in all_.items()}

    def run(self) -> int:
        every = self.parts()
        unknown = [name for name in self.call.only if name not in every]
        if unknown:
            print(f"gpu.py: PARTS names {', '.join(unknown)}; there are {', '.join(every)}")
            return 2
        self.results.add("run", when=time.strftime("%Y-%m-%d"), small=SMALL, version=facts.version(DEVICE / "VERSION"))
        for name in ("gpu.test", "device.test"):
            if not binaries.packed(name).exists():
                print(f"gpu.py: no {binaries.packed(name).relative_to(ROOT)}: make gpu-binaries, where there is Go")
                return 2
        self.call.watch(GRACE, self.end)
        self.cache = binaries.cache()
        log = self.results.folder / "tests.log"
        self.suite = Suite(binaries.unpacked("gpu.test"), ROOT / "gpu", log)
        self.device = Suite(binaries.unpacked("device.test"), ROOT / "gpu" / "device", log)
        os.environ.setdefault("CUDA_CACHE_PATH", str(self.cache))
        os.environ["CUDA_CACHE_MAXSIZE"] = str(1 << 30)
        os.environ["CUDA_CACHE_DISABLE"] = "0"
        self.names = self.suite.names()
        chosen = {name: part for name, part in every.items() if self.call.chosen(name)}
        for name, (limit, do) in chosen.items():
            if name == "benchmarks":
                limit = self.spare(limit, list(chosen))
            end = self.call.part(name, limit, do)
            if name in GATE and end != 0:
                self.shut(name)
                break
        return self.end()

    def spare(self, least: float, names: list[str]) -> float:
        """The seconds for the benchmarks: all that the parts after them leave."""
        later = sum(self.parts()[name][0] for name in names[names.index("benchmarks") + 1 :])
        return max(least, self.call.left(SECONDS) - later)

    def shut(self, name: str) -> None:
        """The gate stays shut: what failed is run under tools that tell more, and nothing is measured."""
        self.results.add("gate", part=name, culprits=self.culprits)
        culprits = self.culprits
        for which in CHECKED if culprits else ():
            limit, _ = self.parts()[which]
            self.call.part(f"{which} of {name}", limit, lambda s, which=which: self.sanitize(which, s, culprits))  # type: ignore[misc]

    def facts(self, seconds: float) -> int:
        self.results.add("facts", **facts.gather(self.results.folder / "facts.log", seconds))
        return 0 if self.names else 1

    def opening(self, seconds: float) -> int:
        """Opens the device twice: if the driver compiles kernels, it does so once, and then reads its cache."""
        until = time.monotonic() + seconds
        for _ in range(2):
            try:
                said = self.opened(max(1.0, until - time.monotonic()))
            except Trouble as e:
                self.unopened = True
                self.results.add("left_out", what="opening", must=True, **e.record())
                return parts.HUNG if isinstance(e, Gone) and e.late else 1
            self.emulated = said["emulator"]
            self.results.add("card", **said)
        return 0

    def opened(self, seconds: float) -> dict[str, Any]:
        """What a process says of the device that it opened."""
        with (self.results.folder / "bench.log").open("ab") as log, Child(self.suite.binary, log) as child:
            said: dict[str, Any] = child.ask(seconds, do="open")
            return said

    def ptx(self, seconds: float) -> int | str:
        """Opening and primitives with what the driver compiles from PTX, on which other devices depend, but nothing
        else of this call."""
        tests = (*FRAGMENTS, ptx_path.TEST)
        try:
            return ptx_path.check(self.results, self.opened, lambda s: self.tests("ptx", tests, s), seconds)
        except Trouble as e:
            self.results.add("left_out", what="ptx", must=True, **e.record())
            return 1

    def selftest(self, seconds: float) -> int | str:
        """The emulator's tests of every function that kernels use, against plain C++. It is no part of the gate: it
        was never run on a device, and the primitives, on which everything depends, are tested by themselves."""
        folder = binaries.selftest()
        if folder is None:
            return "it was not built"
        if self.emulated:
            return "the emulator has kernels of its own for it"
        library = os.environ.get("THRESHER_LIBCUDA") or next((p for p in LIBRARIES if Path(p).exists()), LIBRARIES[0])
        log = self.results.folder / "tests.log"
        code, out = parts.run([folder / "selftest", library, folder / "ptx"], seconds, log, silent=seconds)
        if code == NOT_STARTED:
            return f"it does not start: {out.strip()[-200:]}"
        self.results.add("selftest", rc=code, said=out.strip()[-1000:])
        return code

    def kernels(self) -> list[str]:
        return [] if SMALL else [n for n in self.names if n in WATCHED and n not in FRAGMENTS]

    def conformance(self) -> list[str]:
        return [] if SMALL else [n for n in self.names if n.startswith("TestBackend")]

    def rest(self) -> list[str]:
        if SMALL:
            return [n for n in self.names if n in REHEARSED]
        return [n for n in self.names if n not in (*WATCHED, "TestGate", *self.conformance())]

    def watched(self) -> list[str]:
        return [n for n in self.names if n in WATCHED]

    def others(self, seconds: float) -> int | str:
        """The tests of the driver's calls, and those of searches that no other part runs."""
        until = time.monotonic() + seconds
        names = [n for n in self.device.names() if not SMALL or n in REHEARSED]
        code, said = self.device.each(names, seconds / 3)
        self.results.add("tests", group="device", rc=code, **said.record())
        return code or self.tests("others", self.rest(), max(1.0, until - time.monotonic()))

    def tests(self, group: str, names: Collection[str], seconds: float) -> int | str:
        names = [n for n in names if n in self.names]
        if not names:
            return "it is left to a GPU" if SMALL else "none of them is in this binary"
        code, said = self.suite.each(names, seconds, SILENT_LONG if group in LONG else SILENT_TESTS)
        self.results.add("tests", group=group, rc=code, **said.record())
        self.culprits = said.culprits()
        return code

    def command(self, seconds: float) -> int:
        """The program itself: its description, a search on the device, and the check of its answers."""
        program, log = binaries.unpacked("thresher"), self.results.folder / "tests.log"
        with tempfile.TemporaryDirectory() as folder:
            atoms, queries, answers = (Path(folder) / name for name in ("atoms.npy", "queries.npy", "answers.npz"))
            npy(atoms, 2000, 64, 1)
            npy(queries, 50, 64, 2)
            given: list[str | Path] = ["--atoms", atoms, "--queries", queries, "--metric", "ip"]
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
        sets = os.environ.get("SETS", "")
        return self.script("measure.py", seconds, *(["--sets", sets] if sets else []))

    def script(self, name: str, seconds: float, *more: str | Path) -> int | str:
        """Runs a script of this folder that adds to the results, with a folder for its vectors that is
        removed afterwards in any case."""
        if self.unopened:
            return "the device could not be opened"
        if subprocess.run([sys.executable, "-c", "import numpy"], capture_output=True, timeout=30 * SLOW).returncode:
            return "python3 has no numpy here"
        env = {
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
            "PYTHONPATH": f"{ROOT / 'bench'}:{os.environ.get('PYTHONPATH', '')}",
        }
        where = parts.roomy(1 << (26 if SMALL else 34))  # the greatest set, twice
        with tempfile.TemporaryDirectory(dir=where, prefix="thresher-", ignore_cleanup_errors=True) as folder:
            command: list[str | Path] = [sys.executable, "-u", HERE / name, "--out", self.results.file]
            command += ["--folder", folder, "--seconds", str(max(1, int(seconds - 15)))]
            command += [*["--small"] * SMALL, *more]
            return parts.run(command, seconds, self.results.folder / "bench.log", ROOT, env, SILENT)[0]

    def sanitize(self, which: str, seconds: float, names: list[str]) -> int | str:
        found = tool("compute-sanitizer")
        if not found:
            return "there is no compute-sanitizer here"
        log = self.results.folder / "sanitizer.log"
        at = log.stat().st_size if log.exists() else 0
        suite = Suite(self.suite.binary, self.suite.folder, log)
        wrap = [found, "--tool", which, "--error-exitcode", "9", "--print-limit", "40"]
        code, said = suite.run(names, seconds, wrap)
        text = log.read_bytes()[at:].decode(errors="replace")
        errors = [line.lstrip("= ") for line in text.splitlines() if "SUMMARY" in line]
        self.results.add("sanitizer", tool=which, rc=code, summary=errors, **said.record())
        return code

    def profile(self, seconds: float) -> int | str:
        """Counters of the kernels of a batch, by ncu, without locking clocks."""
        found = tool("ncu")
        if not found:
            return "there is no ncu here"
        return self.extras(seconds, "--profile", found)

    def extras(self, seconds: float, *what: str) -> int | str:
        return self.script("extras.py", seconds, *what, "--before", self.cache / self.results.file.name)

    def end(self) -> int:
        if self.ended:
            return 0
        self.ended = True
        records = self.results.all()
        table = short.table(records)
        if left := [name for name in self.call.left_out if name in self.parts()]:
            table += f"for another call: PARTS={','.join(left)} python3 bench/gpu/gpu.py\n"
        (self.results.folder / "table.txt").write_text(table)
        with (self.cache / self.results.file.name).open("ab") as kept:
            kept.write(self.results.file.read_bytes())
        told: list[str] = []
        Returned(self.results.folder, self.results.before, told.append).fit()
        if told:
            table += "".join(f"not returned: {line}\n" for line in told)
            (self.results.folder / "table.txt").write_text(table)
        print(table, flush=True)
        return 1 if short.bad(records) else 0


def main() -> int:
    only = [name for name in os.environ.get("PARTS", "").replace(" ", ",").split(",") if name]
    return Gpu(Path(os.environ.get("OUT") or ROOT / "build" / "gpu-out"), only).run()


if __name__ == "__main__":
    sys.exit(main())
