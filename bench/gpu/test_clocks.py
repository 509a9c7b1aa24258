"""Tests of the samples of nvidia-smi, by a program that says what one would."""

from __future__ import annotations

import os
import stat
import tempfile
import threading
import unittest
from pathlib import Path
from unittest import mock

import clocks

# Knows the older names only, and then says a sample in every tenth of a second, the third one throttled.
SMI = """#!/bin/sh
echo "$$ $*" >>"$SAID"
case "$1" in *event*) echo 'Field "clocks_event_reasons.active" is not a valid field to query.'; exit 2 ;; esac
line() { echo "$1, 2619, [N/A], 41, $2"; }
line 345 0x0000000000000001
case "$*" in *loop*) ;; *) exit 0 ;; esac
line 1980 0x0000000000000000
line 1755 0x0000000000000004
echo nonsense
exec sleep 60
"""


class Reading(unittest.TestCase):
    def test_lines(self) -> None:
        self.assertEqual(
            clocks.sample("1980, 2619, 412.31, 55, 0x0000000000000004", 3.0),
            clocks.Sample(3.0, (1980.0, 2619.0, 412.31, 55.0), 4),
        )
        self.assertEqual(
            clocks.sample("1980, 2619, [N/A], 55, [N/A]", 3.0), clocks.Sample(3.0, (1980.0, 2619.0, None, 55.0), 0)
        )
        for text in ("", "No devices were found", "1, 2, 3, 4", "a, b, c, d, e"):
            self.assertIsNone(clocks.sample(text, 0), text)

    def test_reasons(self) -> None:
        self.assertEqual(clocks.named(clocks.IDLE | clocks.SETTING), [])
        self.assertEqual(clocks.named(0x44), ["power limit", "temperature, by hardware"])
        self.assertEqual(clocks.named(0x2001), ["0x2000"])

    def test_summary(self) -> None:
        said = clocks.summary(
            [clocks.Sample(0, (float(f), 1.0, None, 40.0), m) for f, m in ((3, 0), (1, 4), (8, 5), (7, 0))]
        )
        self.assertEqual(said["sm"], {"least": 1.0, "median": 5.0, "most": 8.0})
        self.assertEqual((said["samples"], said["throttled"]), (4, {"power limit": 0.5}))
        self.assertNotIn("power", said)


class Sampling(unittest.TestCase):
    def test_none_there(self) -> None:
        with clocks.Clocks(Path("/nowhere/clocks.csv"), "no-such-smi") as c:
            self.assertEqual(c.between(0, 1), {"missing": "there is no no-such-smi here"})

    def test_until_it_is_left(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            program = folder / "nvidia-smi"
            program.write_text(SMI)
            program.chmod(program.stat().st_mode | stat.S_IXUSR)
            with (
                mock.patch.dict(os.environ, {"SAID": str(folder / "said"), "CUDA_VISIBLE_DEVICES": "3,1"}),
                clocks.Clocks(folder / "clocks.csv", str(program)) as c,
            ):
                self.assertEqual(c.missing, "")
                there = threading.Event()
                for _ in range(200):  # at most 20 s
                    if len(c.samples) == 3 or there.wait(0.1):
                        break
                said = c.between(0, float("inf"))
                self.assertEqual(
                    (said["samples"], said["sm"]["most"], said["throttled"]), (3, 1980.0, {"power limit": 1 / 3})
                )
                self.assertIn("missing", c.between(-2, -1))
            asked = (folder / "said").read_text().splitlines()
            self.assertIn("--id=3 --loop-ms=100", asked[-1])
            self.assertIn("clocks_throttle_reasons", asked[-1])
            with self.assertRaises(ProcessLookupError):
                os.kill(int(asked[-1].split()[0]), 0)
            lines = (folder / "clocks.csv").read_text().splitlines()
            self.assertEqual((len(lines), lines[0]), (4, "time, sm, memory, power, temperature, reasons"))

    def test_a_driver_that_knows_nothing(self) -> None:
        with clocks.Clocks(Path("/nowhere/clocks.csv"), "false") as c:
            self.assertEqual(c.between(0, 1), {"missing": "false does not know these figures"})


if __name__ == "__main__":
    unittest.main()
