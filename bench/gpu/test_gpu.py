"""Tests of what a call's words rest on: parts and their limits, verdicts of Go's tests,
targets, the page. They need the standard library alone; `make gpu-rehearsal` runs them.

    PYTHONPATH=bench python3 -m unittest discover -s bench/gpu
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import stat
import sys
import tempfile
import time
import unittest
from collections.abc import Collection
from pathlib import Path
from typing import Any
from unittest import mock

import binaries
import goals
import gpu
import page
import parts
import returned
import short
import suite


def program(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def quietly() -> contextlib.redirect_stdout[io.StringIO]:
    return contextlib.redirect_stdout(io.StringIO())


class Parts(unittest.TestCase):
    def test_each_ends_by_itself(self) -> None:
        with tempfile.TemporaryDirectory() as folder, quietly():
            results = parts.Results(Path(folder) / "out")
            call = parts.Call(results, 3600)
            told: list[float] = []

            def fail(seconds: float) -> int:
                told.append(seconds)
                raise ValueError("no such thing")

            call.part("fails", 5, fail)
            call.part("says why", 5, lambda s: "there is none here")
            call.part("has a code", 5, lambda s: 3)
            call.until = time.monotonic() + 1
            call.part("late", 5, fail)
            self.assertEqual(told, [5])
            ends = [(r["name"], r.get("rc", r.get("left_out"))) for r in results.all()]
            self.assertEqual(
                ends,
                [
                    ("fails", "ValueError: no such thing"),
                    ("says why", "there is none here"),
                    ("has a code", 3),
                    ("late", "no time was left"),
                ],
            )

    def test_only_parts_that_are_named(self) -> None:
        with tempfile.TemporaryDirectory() as folder, quietly():
            results = parts.Results(Path(folder))
            call = parts.Call(results, 3600, ["two", "three"])
            ends = {"one": 0, "two": parts.LATE, "three": 1}
            for name in ends:
                if call.chosen(name):
                    self.assertEqual(call.part(name, 5, lambda s: ends[name]), ends[name])
            self.assertEqual([r["name"] for r in results.all()], ["two", "three"])
            self.assertEqual(call.left_out, ["two"], "what is for another call")

    def test_what_hangs_is_left(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            script = Path(name) / "hangs.py"
            script.write_text(
                "import sys, time, parts\nfrom pathlib import Path\n"
                "call = parts.Call(parts.Results(Path(sys.argv[1])), 0.2)\n"
                "call.watch(0.2, lambda: print('the table', flush=True))\n"
                "time.sleep(100000)\n"
            )
            env = {"PYTHONPATH": str(Path(parts.__file__).parent)}
            code, out = parts.run([sys.executable, script, name], 100_000, Path(name) / "log", env=env)
            self.assertEqual((code, out), (parts.HUNG, "the table\n"))

    def test_what_says_nothing_is_ended(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            silent = program(folder, "silent", "echo begun; sleep 100000")
            code, out = parts.run([silent], 100_000, folder / "log", silent=3)
            self.assertEqual((code, out), (parts.HUNG, "begun\n"))
            talks = program(folder, "talks", "for i in 1 2 3 4 5 6 7 8 9 10; do echo $i; sleep 0.4; done; exit 3")
            self.assertEqual(parts.run([talks], 100_000, folder / "log", silent=3)[0], 3, "it is silent for less")

    def test_limit_ends_all_that_was_begun(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            held = folder / "held"  # open as long as one of them is there
            os.mkfifo(held)
            read = os.open(held, os.O_RDONLY | os.O_NONBLOCK)
            script = program(folder, "slow", f"exec 9>{held}; echo begun; sleep 100000 & sleep 100000")
            code, out = parts.run([script], 3, folder / "log")
            self.assertEqual((code, out), (parts.LATE, "begun\n"))
            os.set_blocking(read, True)
            self.assertEqual(os.read(read, 1), b"", "all have ended")
            os.close(read)

    def test_output_is_of_this_command(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            self.assertEqual(parts.run(["echo", "one"], 9, folder / "log"), (0, "one\n"))
            self.assertEqual(parts.run(["sh", "-c", "echo two >&2; exit 4"], 9, folder / "log"), (4, "two\n"))
            self.assertEqual((folder / "log").read_text(), "one\ntwo\n")

    def test_records_cut_short(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            file = Path(name) / "r"
            file.write_text('{"kind": "a"}\n{"kind": "b')
            self.assertEqual(parts.records_of(file), [{"kind": "a"}])


OUTPUT = """=== RUN   TestA
=== RUN   TestA/sub
--- PASS: TestA (0.01s)
    --- FAIL: TestA/sub (0.00s)
=== RUN   TestB
    x_test.go:1: no
--- FAIL: TestB (0.00s)
=== RUN   TestC
--- SKIP: TestC (0.00s)
=== RUN   TestD
panic: lost
"""


class Verdicts(unittest.TestCase):
    def test_read(self) -> None:
        said = suite.read(OUTPUT, ["TestA", "TestB", "TestC", "TestD", "TestE"])
        self.assertEqual(
            said,
            suite.Said(["TestA"], ["TestB"], ["TestC"], ["TestD", "TestE"], ["TestA/sub", "TestB"], running="TestD"),
        )

    def test_those_unheard_run_alone(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            # all together it dies in the second, alone the second fails
            binary = program(
                folder,
                "some.test",
                """case "$3" in
"-test.list") ;;
"^(TestA|TestB|TestC)$") echo "--- PASS: TestA (0.01s)"; exit 2 ;;
"^(TestB)$") echo "--- FAIL: TestB (0.01s)"; exit 1 ;;
"^(TestC)$") echo "--- PASS: TestC (0.01s)" ;;
*) echo "asked for $3"; exit 7 ;;
esac""",
            )
            code, said = suite.Suite(binary, folder, folder / "log").each(["TestA", "TestB", "TestC"], 20)
            self.assertEqual(said, suite.Said(["TestA", "TestC"], ["TestB"], [], [], ["TestB"]))
            self.assertNotEqual(code, 0)

    def test_parts_of_tests(self) -> None:
        text = """=== RUN   TestGate
=== RUN   TestGate/ip
=== RUN   TestGate/ip/mixed
--- FAIL: TestGate (0.01s)
    --- FAIL: TestGate/ip (0.00s)
        --- FAIL: TestGate/ip/mixed (0.00s)
        --- PASS: TestGate/ip/dense (0.00s)
    --- FAIL: TestGate/l2 (0.00s)
        --- FAIL: TestGate/l2/dense (0.00s)
"""
        said = suite.read(text, ["TestGate"])
        self.assertEqual(said.culprits(), ["TestGate/ip/mixed", "TestGate/l2/dense"])
        self.assertEqual(suite.pattern(said.culprits()), "^(TestGate)$/^(ip|l2)$/^(mixed|dense)$")
        ended = suite.read(text.split("--- FAIL")[0], ["TestGate"])
        self.assertEqual((ended.without_result, ended.culprits()), (["TestGate"], ["TestGate/ip/mixed"]))
        self.assertEqual(suite.pattern(["TestA", "TestB"]), "^(TestA|TestB)$")

    def test_after_one_that_hung_none_runs(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            binary = program(folder, "some.test", "echo '=== RUN   TestA'; sleep 100000")
            code, said = suite.Suite(binary, folder, folder / "log").each(["TestA", "TestB"], 50_000, silent=3)
            self.assertEqual((code, said.without_result, said.running), (parts.HUNG, ["TestA", "TestB"], "TestA"))

    def test_where_a_process_hangs(self) -> None:
        dump = """SIGQUIT: quit

goroutine 1 [chan receive]:
thresher/gpu.serve(0x1)

goroutine 34 [syscall, locked to thread]:
runtime.cgocall(0x12, 0x34)
\t/go/src/runtime/cgocall.go:167
gorgonia.org/cu._Cfunc_cuStreamSynchronize(0x1)
gorgonia.org/cu.Stream.Synchronize({0x1})
\t/go/x.go:1
thresher/gpu/device.(*Stream).Sync(0x1, 0x2)
"""
        self.assertEqual(
            suite.stuck(dump), "cu._Cfunc_cuStreamSynchronize < cu.Stream.Synchronize < device.(*Stream).Sync"
        )
        self.assertEqual(suite.stuck("goroutine 1 [running]:\nthresher/gpu.serve(0x1)"), "")


class Calls(unittest.TestCase):
    def test_scripts_name_parts_that_exist(self) -> None:
        folder = Path(gpu.__file__).parent
        with tempfile.TemporaryDirectory() as name:
            every = gpu.Gpu(Path(name), []).parts()
        for script, within in (("call1.sh", 570), ("call2.sh", 210)):
            text = (folder / script).read_text()
            named = re.findall(r"PARTS=(\S+)", text)[0].split(",")
            self.assertEqual([n for n in named if n not in every], [], script)
            seconds = float(re.findall(r"GPU_SECONDS:-(\d+)", text)[0])
            self.assertLessEqual(seconds + min(20, 0.04 * seconds) + parts.LINGER, within, script)
        self.assertTrue(set(gpu.GATE) <= set(every))


class Alone(unittest.TestCase):
    def test_a_call_needs_no_variables(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            env = {"PYTHONPATH": "", "PARTS": "nothing", "OUT": f"{name}/out"}
            # -S: without numpy and other packages
            code, out = parts.run([sys.executable, "-S", gpu.__file__], 60, Path(name) / "log", Path(name), env)
            self.assertEqual(code, 2, out)
            self.assertIn("PARTS names nothing; there are facts, opening,", out)


class Packed(unittest.TestCase):
    def test_programs_are_unpacked_once(self) -> None:
        with (
            tempfile.TemporaryDirectory() as name,
            mock.patch.object(binaries, "DEVICE", Path(name)),
            mock.patch.dict(os.environ, {binaries.VARIABLE: f"{name}/cache"}),
        ):
            found = []
            for text in ("echo one", "echo one", "echo two"):
                (Path(name) / "some").write_text(f"#!/bin/sh\n{text}\n")
                binaries.pack(Path(name) / "some")
                self.assertFalse((Path(name) / "some").exists())
                os.utime(Path(name) / "some.xz", (0, 0))
                found.append(binaries.unpacked("some"))
            self.assertEqual((found[0], found[0] == found[2]), (found[1], False))
            self.assertEqual([parts.run([p], 9, Path(name) / "log")[1] for p in found[1:]], ["one\n", "two\n"])
            self.assertIsNone(binaries.selftest())


class FilesReturned(unittest.TestCase):
    def fit(self, sizes: dict[str, int], before: Collection[str] = ()) -> tuple[dict[str, int], list[str]]:
        with tempfile.TemporaryDirectory() as name:
            folder, told = Path(name), list[str]()
            for at, size in sizes.items():
                (folder / at).parent.mkdir(parents=True, exist_ok=True)
                (folder / at).write_bytes(b"first" + os.urandom(size) + b"last")
            returned.Returned(folder, before, told.append).fit()
            self.assertEqual([p.name for p in folder.iterdir() if p.is_dir()], [n for n in before if "." not in n])
            return {str(p.relative_to(folder)): p.stat().st_size for p in folder.rglob("*") if p.is_file()}, told

    def test_what_fits_is_left_as_it_is(self) -> None:
        self.assertEqual(self.fit({"results.jsonl": 9, "a.log": 1}), ({"results.jsonl": 18, "a.log": 10}, []))

    def test_what_was_there_before_is_left(self) -> None:
        sizes = {"results.jsonl": 9, "mine/a b": 1, "notes.log": 1} | {f"{i}.log": i for i in range(1, 9)}
        kept, told = self.fit(sizes, before=("mine", "notes.log"))
        self.assertEqual((kept["mine/a b"], kept["notes.log"], told), (10, 10, []))
        self.assertEqual(len(kept), returned.FILES + 2)

    def test_names_and_folders(self) -> None:
        kept, told = self.fit({"results.jsonl": 1, "deep/er/a b.txt": 2, "deep/results.jsonl": 3})
        self.assertEqual((kept, told), ({"results.jsonl": 10, "a_b.txt": 11, "deep-results.jsonl": 12}, []))

    def test_long_logs_lose_their_middle(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            log = Path(name) / "long.log"
            log.write_bytes(b"first" + bytes(returned.TEXT) + b"last")
            returned.Returned(Path(name), (), print).fit()
            text = log.read_bytes()
            self.assertTrue(text.startswith(b"first") and text.endswith(b"last") and b"left out" in text)
            self.assertLess(len(text), returned.TEXT + 100)

    def test_too_many_files(self) -> None:
        sizes = {"results.jsonl": 50, "table.txt": 60} | {f"{i}.log": 1000 * i for i in range(1, 6)}
        kept, told = self.fit(sizes | {f"{i}.report": 10 * i for i in range(1, 5)})
        self.assertEqual(len(kept), returned.FILES)
        self.assertEqual(told, [])
        self.assertTrue({"results.jsonl", "table.txt", "4.report", "logs.log", "5.log"} <= set(kept))
        kept, told = self.fit(sizes | {f"{i}.report": 10 * i for i in range(1, 9)})
        self.assertEqual((len(kept), len(told)), (returned.FILES, 3))
        self.assertTrue({"results.jsonl", "table.txt"} <= set(kept))

    def test_too_many_bytes(self) -> None:
        with mock.patch.multiple(returned, FILE=16000, TOGETHER=30000, TEXT=14000):
            kept, told = self.fit({"results.jsonl": 8000, "a.log": 99000, "b.bin": 15000, "c.bin": 17000})
            self.assertLessEqual(sum(kept.values()), 30000)
            self.assertIn("results.jsonl", kept)
            self.assertEqual([line.split(":")[0] for line in told], ["c.bin.gz", "b.bin"])


def made(**change: Any) -> list[goals.Record]:
    """Records of a call that reaches every target by a hair; changes make it miss."""
    v: dict[str, Any] = {
        "tf32": 10.0,
        "bf16": 5.0,
        "d4096": 20.0,
        "iid": 1.0,
        "scan": 0.002,
        "single": 1e-3,
        "host": 1.15,
        "quarter": 3.0,
    } | change
    # a second each: a copy of 1e12 bytes, 1e15 operations, 1e12 tests
    found: list[goals.Record] = [
        {"kind": "run", "small": False},
        {"kind": "card", "emulator": False, "device": {"Name": "card"}, "kernels": {}, "seconds": 1.0, "driver": ""},
        {
            "kind": "ceilings",
            "copy_bytes": 10**12,
            "copy": [1.0],
            "mma_operations": 10**15,
            "mma": [1.0],
            "tests_pairs": 10**12,
            "tests": [1.0],
        },
    ]

    def cell(data: str, **ratios: float) -> goals.Record:
        return {
            "kind": "cell",
            "set": data,
            "m": 1024,
            "k": 10,
            "plan": "64,rescore",
            "ratios": {f"torch-{p}": {"median": 2 * r, "least": r, "most": 3 * r} for p, r in ratios.items()},
            "ratios_auto": {f"torch-{p}": {"median": r, "least": r, "most": r} for p, r in ratios.items()},
            "host": {"plan": [1e-3], "auto": [1e-3], "torch-tf32": [1e-2]},
            "device": {},
            "recall": {},
            "checked": {},
        }

    found += [
        cell("power768", tf32=v["tf32"], bf16=v["bf16"]),
        cell("power4096", tf32=v["d4096"]),
        cell("iid768", tf32=v["iid"]),
    ]
    found += [
        # 1e9 pairs of 100 codes: 2e11 operations take .2 ms, 1e9 tests 1 ms
        {
            "kind": "split",
            "set": "power768",
            "m": 1024,
            "k": 10,
            "plan": "64,rescore",
            "atoms": 10**6,
            "pairs": 1e9,
            "width": 100,
            "kernels": {"scan_s8": {"launches": 5, "seconds": v["scan"]}},
            "sum": 1.0,
            "span": 1.0,
            "host": v["host"],
        },
        # 588 + 12 bytes an atom: .6 ms; 70% of it would be .857
        {
            "kind": "split",
            "set": "power768",
            "m": 1,
            "k": 10,
            "plan": "64,rescore",
            "atoms": 10**6,
            "pairs": 1e6,
            "width": 688,
            "kernels": {"scan_s8": {"launches": 5, "seconds": v["single"]}},
            "sum": 1.0,
            "span": 1.0,
            "host": 1.0,
        },
        {
            "kind": "quarter",
            "set": "power768",
            "m": 1024,
            "k": 10,
            "plan": "64,rescore",
            "host": {"resident": [1.0], "quarter": [3.0]},
            "ratio": {"median": v["quarter"]},
        },
        {
            "kind": "loaded",
            "set": "power768",
            "name": "q",
            "memory": 1 << 30,
            "bytes": 4 << 30,
            "device_bytes": 1 << 30,
            "host_bytes": 3 << 30,
            "atoms": 10,
            "dim": 768,
            "build_seconds": 1.0,
            "load_seconds": 1.0,
        },
    ]
    return found


class Goals(unittest.TestCase):
    def test_each_is_missed_alone(self) -> None:
        self.assertEqual([g.reached for g in goals.judge(made())], [True] * 8)
        changes: list[dict[str, float]] = [
            {"tf32": 9.99},
            {"bf16": 4.99},
            {"scan": 0.00201},
            {"d4096": 19.9},
            {"single": 1.01e-3},
            {"iid": 0.99},
            {"host": 1.151},
            {"quarter": 3.01},
        ]
        for at, change in enumerate(changes):
            missed = [i for i, g in enumerate(goals.judge(made(**change))) if not g.reached]
            self.assertEqual(missed, [at], f"{change}")

    def test_first_look_at_mixed_codes(self) -> None:
        # 100 codes are 128 mixed ones and 32 of terms: 3.2e11 operations take .32 ms, and 160e6 bytes .16 ms
        records = made()
        for kernels, least in (({"scan_mixed": 6e-4, "scan_s8": 4e-5}, True), ({"scan_mixed_wide": 6.5e-4}, False)):
            (split,) = goals.of(records, "split", m=1024)
            split["kernels"] = {name: {"launches": 1, "seconds": s} for name, s in kernels.items()}
            ceilings = goals.Ceilings.read(records)
            assert ceilings is not None
            look = goals.FirstLook.read(split, ceilings)
            assert look is not None
            self.assertEqual((look.tests, round(look.products, 9), round(look.memory, 9)), (0.0, 3.2e-4, 1.6e-4))
            self.assertEqual(goals.judge(records)[2].reached, least)

    def test_reduced_sets_are_not_judged(self) -> None:
        records = [*made(), {"kind": "set", "name": "power768", "reduced": True}]
        self.assertEqual([g.reached for g in goals.judge(records)], [None, None, None, True, None, True, None, None])
        records[-1]["reduced"] = False
        self.assertEqual([g.reached for g in goals.judge(records)], [True] * 8)

    def test_a_later_call_says_it_better(self) -> None:
        first: list[goals.Record] = [
            {"kind": "part", "name": "peers", "left_out": parts.NO_TIME},
            {"kind": "part", "name": "a", "rc": 0},
        ]
        self.assertEqual([r["name"] for r in goals.parts_left_out(first)], ["peers"])
        self.assertEqual(goals.parts_left_out([*first, {"kind": "part", "name": "peers", "rc": 0}]), [])

    def test_what_was_not_measured(self) -> None:
        self.assertEqual([g.mark for g in goals.judge([])], ["not measured"] * 8)


class Page(unittest.TestCase):
    def write(self, raw: Path, date: str, records: list[goals.Record]) -> None:
        (raw / date).mkdir(parents=True)
        (raw / date / "results.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))

    def test_committed_page_is_what_the_command_writes(self) -> None:
        self.assertEqual(page.PAGE.read_text(), page.page(page.RAW), "make gpu-report writes another page")

    def test_nothing_is_claimed_without_results(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(page.page(Path(folder) / "raw"), "not yet measured on hardware\n")
            (Path(folder) / "raw" / "2026-01-01").mkdir(parents=True)
            self.assertEqual(page.page(Path(folder) / "raw"), "not yet measured on hardware\n")

    def test_the_latest_counts(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            raw = Path(folder)
            self.write(raw, "2026-02-01", made(tf32=9.0))
            self.assertIn("7 of 8 reached", page.page(raw))
            self.write(raw, "2026-10-01", made())
            text = page.page(raw)
            for said in ("8 of 8 reached", "gpu/raw/2026-10-01", "| measured | 2026-10-01 |", "1.00 TB/s"):
                self.assertIn(said, text)

    def test_no_emulator_and_no_rehearsal(self) -> None:
        for at, name in ((1, "emulator"), (0, "small")):
            with tempfile.TemporaryDirectory() as folder:
                records = made()
                records[at][name] = True
                self.write(Path(folder), "2026-01-01", records)
                with self.assertRaises(page.Refused):
                    page.page(Path(folder))
        with tempfile.TemporaryDirectory() as folder:
            self.write(Path(folder), "2026-01-01", [{"kind": "run", "small": False}])
            with self.assertRaises(page.Refused):
                page.page(Path(folder))


class Short(unittest.TestCase):
    def test_what_makes_a_call_fail(self) -> None:
        records = made()
        self.assertEqual(short.bad(records), [])
        records += [
            {
                "kind": "tests",
                "group": "kernels",
                "rc": 1,
                "passed": 3,
                "failed": ["TestScan"],
                "skipped": [],
                "without_result": ["TestSelectCandidates"],
            },
            {"kind": "part", "name": "benchmarks", "rc": 124, "seconds": 250.0},
            {"kind": "part", "name": "command", "left_out": "no time was left", "seconds": 0.0},
            {"kind": "part", "name": "racecheck", "rc": 124, "seconds": 45.0},
            {"kind": "sanitizer", "tool": "racecheck", "rc": 124, "summary": []},
            {"kind": "sanitizer", "tool": "memcheck", "rc": 9, "summary": ["ERROR SUMMARY: 2 errors"]},
            {"kind": "left_out", "what": "a set", "why": "Failed: no plan answered", "must": True},
            {"kind": "left_out", "what": "a set: torch", "why": "there is no torch here", "must": False},
        ]
        records += [
            {"kind": "tests", "group": "gate", "rc": parts.HUNG, "passed": 0, "failed": [], "skipped": [],
             "without_result": ["TestGate"], "running": "TestGate/ip", "where": "cu.Launch"},
            {"kind": "gate", "part": "gate", "culprits": ["TestGate/ip"]},
            {"kind": "struck", "set": "power768", "m": 1024, "k": 10, "plan": "96,rescore", "chosen": True,
             "late": False, "why": "search:\n illegal"},
            {"kind": "costs", "unfit": "no cost"},
            {"kind": "selftest", "rc": 1, "said": "FAIL words"},
            {"kind": "ptx", "compiled": False, "assembled": ["scan"]},
        ]  # fmt: skip
        records[3]["checked"] = {
            "plan": {"compatible": False, "wrong": 99, "answers": 100},
            "auto": {"compatible": True, "wrong": 1, "answers": 100},
        }
        self.assertEqual(
            short.bad(records),
            [
                "the gate: gate failed, so nothing was measured",
                "kernels: TestScan, TestSelectCandidates",
                "gate: TestGate, hung in TestGate/ip: cu.Launch",
                "benchmarks: code 124",
                "memcheck: ERROR SUMMARY: 2 errors",
                "selftest: FAIL words",
                "command: no time was left",
                "a set: Failed: no plan answered",
                "power768 m=1024 k=10: plan 96,rescore lost the device, the engine's choice: search: illegal",
                "ptx: code that was assembled, scan",
                "costs: no cost",
                "power768 m=1024 k=10: 99 of 100 wrong by plan",
            ],
        )
        records[3]["checked"]["plan"] |= {"plans": {}}
        shape = {"tile": 64, "blocks": 3, "seconds": 1e-4, "own": False}
        chunk = {"first": 512, "growth": 8, "seconds": 3e-4, "own": True}
        records.append(
            {
                "kind": "sweep", "set": "power768", "m": 1024, "k": 10, "to": 64, "chunks": [chunk],
                "shapes": [shape, {"tile": 256, "blocks": 2, "seconds": 2e-4, "own": True}],
            }
        )  # fmt: skip
        text = short.table(records)
        self.assertIn("to 64, shapes: 100.0 with tile 64, blocks 3; the program's 200.0", text)
        self.assertIn("to 64, chunks: 300.0 with first 512, growth 8; the program's 300.0", text)
        for said in ("BAD benchmarks", "3 passed, 1 failed, 0 skipped, 1 without result", "reached", "10.000"):
            self.assertIn(said, text)


if __name__ == "__main__":
    unittest.main()
