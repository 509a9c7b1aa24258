"""The kernels' benchmarks beside what the processor can do at most."""

from __future__ import annotations

import re
import subprocess
from typing import Any

from environment import BUILD, ROOT, one_thread

PEAKS = "./bench/peak"
KERNELS = "./cpu/simd"


def benchmarks(package: str, seconds: float = 0.3) -> list[dict[str, Any]]:
    """What a package's benchmarks report on one core: for each its name and its
    metrics by unit."""
    binary = BUILD / "benchmarks.test"
    subprocess.run(["go", "test", "-c", "-o", binary, package], cwd=ROOT, check=True)
    command = [binary, "-test.run", "^$", "-test.bench", ".", "-test.benchtime", f"{seconds}s"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=one_thread())
    found = []
    for name, rest in re.findall(r"^Benchmark(\S+)\s+\d+\s+(.*)$", done.stdout, re.M):
        metrics = {unit: float(value) for value, unit in re.findall(r"([\d.e+-]+) (\S+)", rest)}
        found.append({"name": name, "metrics": metrics})
    return found
