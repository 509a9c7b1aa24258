"""The kernels' benchmarks compared with the processor's peak."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

from environment import BUILD, ROOT, go, one_thread

# Folders of packages, by which records name them.
PEAKS = "./bench/peak"
KERNELS = "./simd"


# Kernels with float32 products; those of the others are of bytes.
FLOAT = re.compile(r"Gemm|Dense|Float|^Dots?\b")
INSTRUCTIONS = ("generic", "avx2", "avx512")


def benchmarks(package: str, seconds: float = 0.05, repeats: int = 3) -> list[dict[str, Any]]:
    """What the benchmarks of a folder's package report on one core: for each its name and its metrics by unit,
    from the fastest of the repeats."""
    binary = BUILD / "benchmarks.test"
    go("test", "-c", "-o", binary, ".", folder=ROOT / package)
    command: list[str | Path] = [
        binary,
        "-test.run",
        "^$",
        "-test.bench",
        ".",
        "-test.benchtime",
        f"{seconds}s",
        "-test.count",
        str(repeats),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=one_thread())
    found: dict[str, dict[str, float]] = {}
    for name, rest in re.findall(r"^Benchmark(\S+)\s+\d+\s+(.*)$", done.stdout, re.M):
        metrics = {unit: float(value) for value, unit in re.findall(r"([\d.e+-]+) (\S+)", rest)}
        if name not in found or metrics["ns/op"] < found[name]["ns/op"]:
            found[name] = metrics
    return [{"name": name, "metrics": metrics} for name, metrics in found.items()]


def rate(metrics: dict[str, float]) -> tuple[float, str]:
    """A benchmark's rate and its unit; (0, "") if it reports none."""
    if "GMAC/s" in metrics:
        return metrics["GMAC/s"], "GMAC/s"
    if "GB/s" in metrics or "MB/s" in metrics:
        return metrics.get("GB/s", metrics.get("MB/s", 0) / 1000), "GB/s"
    return 0, ""


Row = tuple[str, str, dict[str, float], float | None]  # name, unit, rate by instruction set, share of the peak


def rows(peaks: list[dict[str, Any]], kernels: list[dict[str, Any]]) -> list[Row]:
    """For each kernel, at the size where it is fastest: its name, unit, rate by instruction set,
    and the share of the processor's peak that the best reaches, if there is a peak of such
    products."""
    most = {p["name"]: rate(p["metrics"])[0] for p in peaks}
    # By kernel, then by size: unit and rates by instruction set.
    table: dict[str, dict[str, tuple[str, dict[str, float]]]] = {}
    for k in kernels:
        value, unit = rate(k["metrics"])
        parts = k["name"].split("/")
        instructions = next((p for p in parts if p in INSTRUCTIONS), INSTRUCTIONS[0])
        parts = [p for p in parts if p not in INSTRUCTIONS]
        size = parts.pop() if len(parts) > 1 and parts[-1][0].isdigit() else ""
        if unit:
            table.setdefault("/".join(parts), {}).setdefault(size, (unit, {}))[1][instructions] = value
    out = []
    for name, sizes in table.items():
        size, (unit, rates) = max(sizes.items(), key=lambda s: max(s[1][1].values()))
        instructions = max(rates, key=rates.__getitem__)
        of = "float32" if FLOAT.search(name) else "int8"
        peak = most.get(f"Products/{of}/{instructions}") if unit == "GMAC/s" else None
        out.append((f"{name} {size}".strip(), unit, rates, rates[instructions] / peak if peak else None))
    return out
