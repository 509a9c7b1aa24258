"""Tests of the figures beside the race: the prediction, sections and lines of clocks, callers and kernels,
ncu's report. They need the standard library alone."""

from __future__ import annotations

import json
import stat
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import figures
import goals
import page
import prediction
import profiled
import short
from test_gpu import made

ROOT = Path(__file__).resolve().parents[2]


def measured() -> list[goals.Record]:
    """Records with every figure."""
    records = made()
    for r in records:
        if r["kind"] == "cell":
            r |= {
                "device": {"plan": [5e-4, 6e-4, 7e-4], "auto": [8e-4], "torch-tf32": [9e-3]},
                "recall": {"torch-tf32": 0.9991},
                "clocks": {
                    "samples": 40,
                    "sm": {"least": 1200.0, "median": 1755.0, "most": 1980.0},
                    "power": {"least": 90.0, "median": 410.0, "most": 640.0},
                    "throttled": {"power limit": 0.25},
                },
            }
        if r["kind"] == "split" and r["m"] == 1024:
            r |= {
                "kernels": {
                    name: {"launches": 2, "seconds": s}
                    for name, s in (
                        ("query_load", 1e-5),
                        ("dense_tf32", 4e-5),
                        ("scan_mixed", 3e-4),
                        ("tighten", 8e-5),
                        ("score", 9e-5),
                    )
                },
                "sum": 5.2e-4,
                "host": 8.6e-4,
                "phases": {"check": 6e-5, "copy": 7e-5, "enqueue": 5e-5, "wait": 5e-4, "answers": 1e-4},
            }
    far: dict[str, Any] = next(r for r in records if r["kind"] == "cell") | {"set": "power8m"}
    ratio = {"median": 25.0, "least": 24.0, "most": 26.0}
    more = {f"torch-{p}": ratio | {"median": v} for p, v in (("tf32-maxima", 5.5), ("bf16-maxima", 3.5), ("int8", 7.0))}
    records[3]["ratios_auto"] |= more
    records[3]["ratios"] |= more
    records[1]["kernels"] = {"scan_mixed": {"Local": 0}, "look_signs": {"Local": 0}}
    of = {"batches": 100, "seconds": 0.1, "rate": 1000.0, "p50": 1e-3, "p90": 2e-3, "p99": 3e-3, "most": 4e-3}
    place = {"set": "power768", "k": 10, "plan": "64,rescore"}
    products = {"int8": {"operations": 10**15, "seconds": [0.8]}, "tf32": {"failed": "no"}}
    return [
        *records,
        far | {"ratios_auto": {"torch-tf32": ratio}, "ratios": {"torch-tf32": ratio}},
        {"kind": "products", "size": 8192, **products, "clocks": {"missing": "there is no nvidia-smi here"}},
        {"kind": "callers", **place, "m": 1024, "callers": {"1": of, "4": of | {"rate": 1500.0}}},
        {"kind": "singles", **place, "m": 1, "queries": 1000, "p50": 1e-4, "p90": 2e-4, "p99": 3e-4, "most": 4e-4},
    ]


class Predicted(unittest.TestCase):
    def test_every_figure_is_read(self) -> None:
        records = measured()
        self.assertEqual(
            {r.what: r.measured(records) for r in prediction.ROWS},
            {
                "1,024 queries, 2^20 x 768, k = 10, end to end": "1 ms",
                "- check and copy, on the host": "0.13 ms",
                "- seven preparing kernels": "0.01 ms",
                "- start, without the tightening that follows it": "0.04 ms",
                "- scan": "0.3 ms",
                "- between chunks": "0.08 ms",
                "- end of the look, and scores": "0.09 ms",
                "- waits: what is left of the whole": "0.11 ms",
                "- answers, on the host": "0.1 ms",
                "the device, first kernel to last": "0.8 ms",
                "times as long: torch TF32 and topk": "10",
                "times as long: torch TF32 and maxima of blocks": "5.5",
                "times as long: torch bf16, the faster of both": "3.5",
                "2^23 atoms, times as long: torch TF32 and topk": "25",
                "mma.sync with 8-bit integers, share of the data sheet's 1,979 Tera-operations": "0.51",
                "mma.sync with 8-bit integers, share of torch._int_mm (cuBLASLt)": "0.8",
            },
        )

    def test_nothing_is_claimed_without_results(self) -> None:
        for records in ([], [{"kind": "set", "name": "power768", "reduced": True}, *measured()[3:8]]):
            told = {r.measured(records) for r in prediction.ROWS if "2^23" not in r.what and "iid" not in r.what}
            self.assertEqual(told, {prediction.UNMEASURED})

    def test_parts_of_a_batch_are_all_its_kernels(self) -> None:
        manifest = json.loads((ROOT / "kernels" / "ptx" / "manifest.json").read_text())
        known = {entry["name"] for module in manifest["modules"] for entry in module["entries"]}
        groups = (prediction.PREPARE, prediction.START, goals.SCANS, prediction.BETWEEN, prediction.FINISH)
        those = [name for group in groups for name in group]
        self.assertEqual(len(those), len(set(those)))
        self.assertEqual([name for name in those if name not in known], [])

    def test_the_scan_by_products(self) -> None:
        self.assertAlmostEqual(prediction.scan_by_products(96, 4, 0.63), 0.296, places=3)
        self.assertAlmostEqual(prediction.scan_by_products(128, 3, 1.0), 0.231, places=3)

    def test_the_page_has_what_was_measured(self) -> None:
        text = f"before\n{prediction.BEGIN}\nold\n{prediction.END}\nafter\n"
        new = prediction.written(text, measured())
        self.assertTrue(new.startswith("before\n") and new.endswith("\nafter\n") and "old" not in new)
        self.assertIn("| - scan | 0.30 ms | 0.3 ms |", new)
        self.assertEqual(prediction.written(new, measured()), new)
        with self.assertRaisesRegex(ValueError, "gpu.md has no"):
            prediction.written("before", [])

    def test_committed_table_is_what_the_command_writes(self) -> None:
        doc = prediction.DOC.read_text()
        self.assertEqual(
            doc, prediction.written(doc, page.measured(page.RAW)[1]), "make gpu-report writes another table"
        )


class Told(unittest.TestCase):
    def test_on_the_page(self) -> None:
        text = page.report(measured(), "2026-01-01")
        for said in (
            "| power768 | 1024 | 10 | 64,rescore | 1 (0.6) | 1 (0.8) |  | 10 (9) |",
            "| power768 | 1024 | 10 | 1,755 (1,200 to 1,980) |  | 410 (90 to 640) |  | power limit 25% |",
            "| power768 | 1024 | 10 | 64,rescore | 4 | 1,500 | 1 | 2 | 3 |",
            "| power768 | 10 | 64,rescore | 1000 | 0.1 | 0.2 | 0.3 | 0.4 |",
            "8-bit integers (torch._int_mm) 1,250, bfloat16 none (), TF32 none (no). mma.sync has 0.80 of torch's",
            "| `scan_mixed` | 1 | 2 to 2 | power768 m=1024 k=10 |",
            "| `look_signs` |",
        ):
            self.assertIn(said, text)

    def test_in_the_short_table(self) -> None:
        records = measured()
        records.append({"kind": "launched", **figures.launched(records)})
        self.assertEqual(records[-1]["never"], ["look_signs"])
        text = short.table(records)
        for said in (
            "mma.sync has 0.80 of torch's",
            "10 (best plan tried: 20; with maxima of blocks in place of topk: 5.5)",
            "device, ms: plan 0.600, auto 0.800, torch-tf32 9.000",
            "over auto: torch-tf32 10 x, torch-bf16 5 x, torch-tf32-maxima 5.5 x",
            "recall: torch-tf32 0.9991",
            "1,755 MHz (1,200 to 1,980), 410 W (90 to 640), throttled: power limit 25%",
            "batches a second: 1 callers 1000, 4 callers 1500",
            "1000 queries, ms: p50 0.100, p90 0.200, p99 0.300, most 0.400",
            "kernels that no best plan launched: look_signs",
        ):
            self.assertIn(said, text)

    def test_no_clocks(self) -> None:
        records = measured()
        for r in goals.of(records, "cell"):
            r["clocks"] = {"missing": "there is no nvidia-smi here"}
        self.assertIn("clocks: there is no nvidia-smi here", short.table(records))
        self.assertIn("Not recorded: there is no nvidia-smi here.", page.report(records, "2026-01-01"))


# Says what a report says, unless there is none.
NCU = """#!/bin/sh
echo "$*" >>"$0.asked"
echo "  scan_s8 (2, 1, 1)x(256, 1, 1), Context 1"
echo "  tighten_short(unsigned int) (4, 1, 1)x(256, 1, 1), Context 1"
exit ${CODE:-0}
"""


class Profiles(unittest.TestCase):
    def told(self, size: int, code: str = "0") -> tuple[dict[str, Any], bool, str]:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            ncu, report, log = folder / "ncu", folder / profiled.REPORT, folder / "profile.log"
            ncu.write_text(NCU)
            ncu.chmod(ncu.stat().st_mode | stat.S_IXUSR)
            if size:
                report.write_bytes(bytes(size))
            with mock.patch.dict("os.environ", {"CODE": code}):
                said = profiled.told(str(ncu), report, log)
            return said, report.exists(), log.read_text() if log.exists() else ""

    def test_a_report_is_kept_beside_its_text(self) -> None:
        said, there, text = self.told(100)
        self.assertEqual((said, there), ({"kernels": 2, "bytes": 100}, True))
        self.assertIn("tighten_short", text)

    def test_one_that_is_too_large_is_not(self) -> None:
        with mock.patch.object(profiled, "FILE", 99):
            said, there, text = self.told(100)
        self.assertEqual((said["kernels"], there), (2, False))
        self.assertIn("too large", said["why"])
        self.assertIn("scan_s8", text)

    def test_none(self) -> None:
        self.assertEqual(self.told(0)[0], {"kernels": 0, "bytes": 0, "why": "ncu left no profile.ncu-rep"})
        said, there, _ = self.told(100, code="3")
        self.assertEqual((said["why"], there), ("reading profile.ncu-rep ended with code 3", True))


if __name__ == "__main__":
    unittest.main()
