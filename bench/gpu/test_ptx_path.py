"""Tests of the part that has the driver compile PTX."""

from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest.mock import patch

import parts
import ptx_path

KERNELS = {"scan": {"Local": 0}, "score": {"Local": 16}}


class PtxPath(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.results = parts.Results(Path(folder.name))
        self.seen: list[str | None] = []

    def check(self, modules: dict[str, bool], code: int | str = 0) -> int | str:
        def opened(seconds: float) -> dict[str, Any]:
            self.seen.append(os.environ.get(ptx_path.VARIABLE))
            return {"seconds": 2.5, "modules": modules, "kernels": KERNELS}

        def tests(seconds: float) -> int | str:
            self.seen.append(os.environ.get(ptx_path.VARIABLE))
            return code

        return ptx_path.check(self.results, opened, tests, 10)

    def test_processes_compile_ptx(self) -> None:
        with patch.dict(os.environ):
            os.environ.pop(ptx_path.VARIABLE, None)
            self.assertEqual(self.check({"scan": False, "score": False}), 0)
            self.assertEqual(self.seen, ["1", "1"])
            self.assertNotIn(ptx_path.VARIABLE, os.environ)
            os.environ[ptx_path.VARIABLE] = "0"
            self.assertEqual(self.check({"scan": False}, 7), 7)
            self.assertEqual(os.environ[ptx_path.VARIABLE], "0")
        record = {"seconds": 2.5, "modules": 2, "assembled": [], "local": {"score": 16}, "compiled": True}
        self.assertEqual(self.results.all()[0], {"kind": "ptx", **record})

    def test_assembled_code_is_a_failure(self) -> None:
        for modules, assembled in (({"scan": False, "score": True}, ["score"]), ({}, [])):
            with self.subTest(modules=modules):
                self.seen.clear()
                self.assertEqual(self.check(modules), 1)
                self.assertEqual(self.seen, ["1"])  # no test is run
                record = self.results.all()[-1]
                self.assertEqual((record["compiled"], record["assembled"]), (False, assembled))

    def test_the_variable_is_restored_after_a_failure(self) -> None:
        def opened(seconds: float) -> dict[str, Any]:
            raise OSError("the process ended")

        with patch.dict(os.environ):
            os.environ.pop(ptx_path.VARIABLE, None)
            with self.assertRaises(OSError):
                ptx_path.check(self.results, opened, lambda s: 0, 10)
            self.assertNotIn(ptx_path.VARIABLE, os.environ)


if __name__ == "__main__":
    unittest.main()
