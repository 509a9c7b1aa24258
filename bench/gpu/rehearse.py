#!/usr/bin/env python3
"""Faults that are injected into a rehearsal on the emulator, and what a call must make of each.

    python3 bench/gpu/rehearse.py              those that CI runs
    python3 bench/gpu/rehearse.py all          all
    python3 bench/gpu/rehearse.py struck hung  these

Every one is a call of gpu.py with tiny sizes. It needs build/device and build/emu. Without numpy there are no
benchmarks, and what shows what becomes of them is left out."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import parts
from goals import of, one

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
EMULATOR = ROOT / "build" / "emu" / "libcuda.so.1"
LIMIT = 3600.0  # seconds of a call, most of which pass on a busy machine
ENDED = 600.0  # seconds in which a hang must be ended
ILLEGAL = 700  # an illegal address

Records = list[dict[str, Any]]


@dataclass
class Outcome:
    """What a call left."""

    code: int
    records: Records
    table: str
    log: str
    seconds: float
    wrong: list[str] = field(default_factory=list)

    def want(self, what: str, holds: bool) -> None:
        if not holds:
            self.wrong.append(what)

    def bad(self, *words: str) -> bool:
        """Whether a line of the table says that something is bad, in all these words."""
        lines = [line for line in self.table.splitlines() if line.startswith("BAD ")]
        return any(all(word in line for word in words) for line in lines)

    def part(self, name: str) -> dict[str, Any]:
        return one(self.records, "part", name=name) or {}


def cells(o: Outcome, name: str, *wanted: tuple[int, int]) -> None:
    """Every cell of a set was raced, and its answers are right."""
    for m, k in wanted:
        r = one(o.records, "cell", set=name, m=m, k=k)
        o.want(f"a cell of {name}, m = {m}", r is not None and bool(r["checked"]))
        o.want(
            f"right answers of {name}, m = {m}", r is not None and all(c["compatible"] for c in r["checked"].values())
        )


def struck(o: Outcome) -> None:
    """A plan that loses the device is struck off, with what the driver said, and its cell goes on with the next."""
    o.want("exit code 1", o.code == 1)
    cells(o, "power768", (8, 5), (1, 5))
    cells(o, "power4096", (8, 5))
    found = of(o.records, "struck")
    o.want("a plan struck off", bool(found))
    for r in found:
        o.want(f"the plan in {r}", r["plan"].startswith("mixed"))
        o.want(f"the code in {r}", r["driver"]["code"] == ILLEGAL)
        o.want(f"the last kernels in {r}", "scan_mixed_wide" in r["driver"]["log"])
        o.want(
            f"what was asked in {r}",
            r["request"]["plan"] in (r["plan"], "") and r["request"]["do"] == "search",
        )
        o.want(
            "a line of it in the table",
            o.bad(r["plan"], "lost the device", "CUDA_ERROR_ILLEGAL_ADDRESS", "scan_mixed_wide"),
        )
    o.want("the failure in bench.log", "failed: {" in o.log and "CUDA_ERROR_ILLEGAL_ADDRESS" in o.log)
    o.want("the process's last words in bench.log", "--- FAIL: TestServe" in o.log)


def auto(o: Outcome) -> None:
    """The same if every plan with mixed codes loses the device, among them perhaps the engine's own choice."""
    o.want("exit code 1", o.code == 1)
    cells(o, "power768", (8, 5), (1, 5))
    o.want("a few plans struck off", 1 < len(of(o.records, "struck")) < 5)
    for r in of(o.records, "cell"):
        o.want(f"another plan than {r['plan']}", not r["plan"].startswith("mixed"))
        chosen = [t["plan"] for t in of(o.records, "plans", set=r["set"], m=r["m"])[-1]["tried"] if t["chosen"]]
        o.want(
            f"auto, with {chosen}, or why not", ("auto" in r["host"]) == bool(chosen) or o.bad("auto, which is mixed")
        )


def costs(o: Outcome) -> None:
    """A fault while costs are measured fails the call, and the benchmarks go on with those that are built in."""
    o.want("exit code 1", o.code == 1)
    o.want("a line of it in the table", o.bad("costs", "CUDA_ERROR_ILLEGAL_ADDRESS", "scan_mixed"))
    o.want("no costs", not of(o.records, "costs"))
    cells(o, "power4096", (8, 5))


def shut(o: Outcome, part: str, *culprits: str) -> None:
    """The gate stays shut: nothing is measured, and what failed runs under compute-sanitizer."""
    o.want("exit code 1", o.code == 1)
    o.want("no benchmark", not o.part("benchmarks") and not of(o.records, "cell"))
    o.want("a line of it in the table", o.bad("the gate", part))
    for which in ("memcheck", "racecheck"):
        r = one(o.records, "sanitizer", tool=which) or {"summary": []}
        said = " ".join(r["summary"])
        o.want(f"{which} of {culprits} in {said}", all(c in said for c in culprits) and bool(said))


def opening(o: Outcome) -> None:
    o.want("exit code 1", o.code == 1)
    o.want(f"an end within {ENDED:.0f} s, not {o.seconds:.0f}", o.part("opening").get("seconds", LIMIT) < ENDED)
    o.want("a line of it in the table", o.bad("opening", "nothing for", "cuModuleLoadDataEx"))
    o.want("no benchmark", not o.part("benchmarks"))


def hung(o: Outcome) -> None:
    """A plan hangs: it is struck off, and with the second that hangs, or with costs before it, the benchmarks end."""
    o.want("exit code 1", o.code == 1)
    o.want(
        f"an end within twice {ENDED:.0f} s, not {o.seconds:.0f}",
        o.part("benchmarks").get("seconds", LIMIT) < 2 * ENDED,
    )
    o.want("a line of it in the table", o.bad("power4096", "plan dense hung", "cuStreamSynchronize"))


def tested(o: Outcome) -> None:
    o.want("exit code 1", o.code == 1)
    o.want("an end in time", o.part("primitives").get("seconds", LIMIT) < ENDED)
    o.want(
        "a line of it in the table", o.bad("primitives", "hung in TestFragments/fragments_s8", "cuStreamSynchronize")
    )
    o.want("no benchmark", not o.part("benchmarks"))


@dataclass(frozen=True)
class Injection:
    env: dict[str, str]
    check: Callable[[Outcome], None]
    quick: bool = True  # CI runs it

    @property
    def measures(self) -> bool:
        return self.env.get("PARTS") == "benchmarks"


BENCHMARKS = {"PARTS": "benchmarks"}
INJECTIONS = {
    "struck": Injection(
        {"EMU_FAIL": f"kernel scan_mixed_wide:4+:{ILLEGAL}", "SETS": "power768,power4096"} | BENCHMARKS, struck
    ),
    "auto": Injection({"EMU_FAIL": f"kernel mix_queries:1+:{ILLEGAL}", "SETS": "power768"} | BENCHMARKS, auto, False),
    "costs": Injection({"EMU_FAIL": f"kernel scan_mixed:1:{ILLEGAL}", "SETS": "power4096"} | BENCHMARKS, costs),
    "primitives": Injection(
        {"EMU_MMA_EXCHANGE": "1"}, lambda o: shut(o, "primitives", "TestFragments", "fragments_s8", "fragments_bf16")
    ),
    "gate": Injection(
        {"EMU_FAIL": f"kernel scan_mixed_wide:1:{ILLEGAL}"}, lambda o: shut(o, "gate", "TestGate", "ip", "mixed"), False
    ),
    "opening": Injection({"EMU_HANG": "cuModuleLoadDataEx:3"}, opening),
    "hung": Injection({"EMU_HANG": "kernel dense_tf32:1+", "SETS": "power4096"} | BENCHMARKS, hung, False),
    "tested": Injection({"EMU_HANG": "kernel fragments_s8:1"}, tested, False),
}
# In the place of the tool: it says what it was asked to run, and finds an error.
SANITIZER = '#!/bin/sh\necho "========= ERROR SUMMARY: 1 error in $*"\nexit 9\n'


def call(name: str, injection: Injection, tools: Path) -> Outcome:
    out = ROOT / "build" / "gpu-injections" / name
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    env = {
        "GPU_SMALL": "1",
        "OUT": str(out),
        "THRESHER_LIBCUDA": str(EMULATOR),
        "OMP_NUM_THREADS": "1",
        "PARTS": "",
        "SETS": "",
        "PATH": f"{tools}:{os.environ['PATH']}",
    }
    began = time.monotonic()
    command: list[str | Path] = [sys.executable, HERE / "gpu.py"]
    code, said = parts.run(command, LIMIT, out.with_suffix(".log"), ROOT, env | injection.env)
    results, table, log = out / "results.jsonl", out / "table.txt", out / "bench.log"
    outcome = Outcome(
        code,
        parts.records_of(results) if results.exists() else [],
        table.read_text() if table.exists() else said,
        log.read_text(errors="replace") if log.exists() else "",
        time.monotonic() - began,
    )
    injection.check(outcome)
    return outcome


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in (*INJECTIONS, "all")]
    if unknown:
        print(f"rehearse.py: {', '.join(unknown)}: there are all, {', '.join(INJECTIONS)}")
        return 2
    chosen = [n for n, i in INJECTIONS.items() if n in names or "all" in names or (not names and i.quick)]
    if importlib.util.find_spec("numpy") is None:
        print(f"left out, as there is no numpy: {', '.join(n for n in chosen if INJECTIONS[n].measures)}")
        chosen = [n for n in chosen if not INJECTIONS[n].measures]
    failed = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        sanitizer = Path(folder) / "compute-sanitizer"
        sanitizer.write_text(SANITIZER)
        sanitizer.chmod(0o755)
        # Those that hang wait most of the time, beside the others.
        ran = {name: pool.submit(call, name, INJECTIONS[name], Path(folder)) for name in chosen}
        for name, future in ran.items():
            o = future.result()
            failed += bool(o.wrong)
            print(f"{name}: {'FAILED' if o.wrong else 'as it must be'}, {o.seconds:.0f} s", flush=True)
            for what in o.wrong:
                print(f"  not found: {what}")
            if o.wrong:
                print(o.table)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
