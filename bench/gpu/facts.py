"""The machine: device, driver, clocks, and what is installed."""

from __future__ import annotations

import json
import os
import platform
import re
import sys
import time
from pathlib import Path
from typing import Any

import parts

# Fields of nvidia-smi; clocks are momentary values, none is set.
ASKED = (
    "name", "driver_version", "pci.bus_id", "memory.total", "compute_cap", "clocks.sm", "clocks.mem", "clocks.max.sm",
    "clocks.max.mem", "power.limit", "temperature.gpu", "ecc.mode.current", "mig.mode.current", "pcie.link.gen.current",
    "pcie.link.width.current",
)  # fmt: skip
# The driver's path and free space, for the log.
PLACES = "ldconfig -p | grep libcuda; ls -l /usr/local/nvidia /usr/local/nvidia/lib64; df -h /dev/shm /tmp; free -g"
PACKAGES = ("torch", "triton", "cupy", "jax", "numpy")
# Versions, without importing modules that take seconds to import.
LOOK = """
import importlib.metadata as m, json
names = {}
for d in m.distributions():
    name = (d.metadata["Name"] or "").lower()
    for p in %r:
        if name == p or name.startswith(p + "-cuda"):
            names[p] = d.version
print(json.dumps(names))
"""


def version(file: Path) -> dict[str, str]:
    """What make gpu-binaries recorded about the binaries: lines of a name and a value."""
    if not file.exists():
        return {}
    pairs = (line.split(" ", 1) for line in file.read_text().splitlines() if " " in line)
    return dict(pairs)


def gather(log: Path, seconds: float) -> dict[str, Any]:
    until = time.monotonic() + seconds

    def said(*command: str) -> str:
        try:
            code, out = parts.run(list(command), max(1.0, min(12.0, until - time.monotonic())), log)
        except OSError:
            return ""
        return out.strip() if code == 0 else ""

    line = said("nvidia-smi", f"--query-gpu={','.join(ASKED)}", "--format=csv,noheader").splitlines()
    gpu = dict(zip(ASKED, (v.strip() for v in line[0].split(",")), strict=False)) if line else {}
    said("nvidia-smi", "-q", "-d", "CLOCK,POWER,TEMPERATURE,PERFORMANCE")
    said("sh", "-c", PLACES)
    nvcc = re.search(r"release ([\d.]+)", said("nvcc", "--version"))
    packages = said(sys.executable, "-c", LOOK % (PACKAGES,))
    return {
        "gpu": gpu,
        "nvcc": nvcc.group(1) if nvcc else "",
        "packages": json.loads(packages) if packages else {},
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "libc": " ".join(platform.libc_ver()),
        "cores": os.cpu_count(),
        "cpu": processor(),
    }


def processor() -> str:
    try:
        found = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        return ""
    return found.group(1) if found else ""
