"""Progress without tqdm: a line that is written over on a terminal, and else few lines."""

from __future__ import annotations

import io
import sys

import pytest

import thresher
from thresher._progress import reporting


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def without_tqdm(monkeypatch):
    for name in ("tqdm", "tqdm.auto"):
        monkeypatch.setitem(sys.modules, name, None)  # whose import then fails


def test_a_terminal_has_one_line(monkeypatch, without_tqdm):
    monkeypatch.setattr(sys, "stderr", screen := Terminal())
    with reporting(True) as report:
        report("building", 1000, 20000)
        report("building", 20000, 20000)
        report("searching", 5, 10)
    lines = screen.getvalue().split("\r")
    assert lines[:4] == [
        "",
        "building:   5%, 1,000 of 20,000",
        "building: 100%, 20,000 of 20,000",
        "searching:  50%, 5 of 10".ljust(len(lines[2])),
    ]
    assert lines[4].strip() == "" and lines[5] == "" and "\n" not in screen.getvalue()  # cleared at the end


def test_a_file_has_few_lines(monkeypatch, without_tqdm):
    monkeypatch.setattr(sys, "stderr", screen := io.StringIO())
    with reporting(True) as report:
        for step in ("building", "searching"):
            for done in range(1, 1001):
                report(step, done, 1000)
        report("reading", 7, -1)  # of an unknown total
    lines = screen.getvalue().splitlines()
    assert lines[:5] == [f"building: {s}%, {d} of 1,000" for s, d in zip(
        ("  0", " 25", " 50", " 75", "100"), ("1", "250", "500", "750", "1,000"), strict=True)]  # fmt: skip
    assert len(lines) == 11 and lines[-1] == "reading: 7"


def test_a_closed_stream_ends_no_work(monkeypatch, without_tqdm):
    monkeypatch.setattr(sys, "stderr", screen := Terminal())
    with reporting(True) as report:
        report("building", 1, 2)
        screen.close()
        report("building", 2, 2)
    monkeypatch.setattr(sys, "stderr", None)
    with reporting(True) as report:
        assert report is None


def test_calls_print(monkeypatch, without_tqdm, vectors, queries):
    monkeypatch.setattr(sys, "stderr", screen := io.StringIO())
    many = vectors.repeat(20, axis=0)
    with thresher.Index(many, metric="ip", progress=True) as index:
        want = index.search(queries, 3, progress=False)
        assert (index.search(queries, 3, progress=True).ids == want.ids).all()
    assert screen.getvalue().startswith("building: ")
