"""What a file may claim or expand to has limits, whose default no ordinary file reaches; a variable raises them."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

import thresher

LONG = 70_000

RAISED = """
import sys, thresher
with thresher.Index.open(sys.argv[1], metric="ip", ids="id") as index:
    print(len(index), len(index.ids[1]))
"""


def test_long_ids(tmp_path: Path) -> None:
    file = tmp_path / "names.jsonl"
    file.write_text('{"id":"a","v":[1,2]}\n{"id":"' + "b" * LONG + '","v":[3,4]}\n')
    message = r"names.jsonl: row 1.*id of 70000 bytes, at most 65536 \(THRESHER_READ_LIMIT sets the limit\)"
    with pytest.raises(OSError, match=message):
        thresher.Index.open(file, metric="ip", ids="id")
    done = subprocess.run(
        [sys.executable, "-c", RAISED, str(file)],
        env={**os.environ, "THRESHER_READ_LIMIT": "8GiB", "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.stdout.split() == ["2", str(LONG)], done.stderr


def test_columns(tmp_path: Path) -> None:
    """A line that expands to more columns than a collection can have is refused while it is split."""
    file = tmp_path / "x.csv.gz"
    with gzip.open(file, "wb", compresslevel=1) as out:
        out.write(b"1" + b",1" * (1 << 22))
    with pytest.raises(
        OSError, match=r"row 0.*a row has more than 4194304 columns \(THRESHER_READ_LIMIT sets the limit\)"
    ):
        thresher.Index.open(file, metric="ip", header="no")
