"""The report of ncu: a file that is kept if it is not too large, and its text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import parts
from returned import FILE

REPORT = "profile.ncu-rep"
READING = 30.0  # seconds for reading it


def told(ncu: str, report: Path, log: Path) -> dict[str, Any]:
    """Writes what a report says to a log, and removes a report that is too large to be returned."""
    if not report.exists():
        return {"kernels": 0, "bytes": 0, "why": f"{Path(ncu).name} left no {report.name}"}
    size = report.stat().st_size
    code, text = parts.run([ncu, "--import", report, "--page", "details"], READING, log)
    kernels = re.findall(r"^  \w+.*\(\d+, \d+, \d+\)x\(", text, re.MULTILINE)
    said: dict[str, Any] = {"kernels": len(kernels), "bytes": size}
    if code:
        said["why"] = f"reading {report.name} ended with code {code}"
    elif size > FILE:
        report.unlink()
        said["why"] = f"{report.name} is too large to be returned, profile.log has its text"
    return said
