"""What was expected of the goal's batch and its peers before anything was measured, and what was measured then.
docs/gpu.md has it as a table, which page.py writes."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from figures import mma_share
from goals import SCANS, Ceilings, K, M, Record, one, whole
from markdown import digits, table

DOC = Path(__file__).resolve().parents[2] / "docs" / "gpu.md"
BEGIN, END = "<!-- prediction:begin -->", "<!-- prediction:end -->"
UNMEASURED = "not yet measured on hardware"
# Of an H100 or H200 by its data sheet: operations a second of 8-bit integers, multiprocessors, their clock.
SHEET, MULTIPROCESSORS, CLOCK = 1979e12, 132, 1.755e9
SHARES = (1.0, 0.8, 0.63)  # of these operations that mma.sync might reach; the last is expected

# The kernels of a batch by what they are for, beside the scans.
PREPARE = ("query_load", "head_project", "rotate", "rotate_haar", "query_codes", "look_factors", "look_begin")
START = ("dense_load", "dense_tf32")
BETWEEN = ("scan_seen", "mix_queries", "mixed_codes", "mark_waiting", "mark_finished", "tighten", "tighten_short")
FINISH = (
    "look_end", "look_rows", "look_signs", "select_candidates", "share_candidates", "score", "merge", "prune",
)  # fmt: skip
HOST = ("check", "copy")

Measure = Callable[[list[Record]], float | None]


@dataclass(frozen=True)
class Row:
    """A figure: what it is, what was expected, the unit of what was measured, and how that is read from records, None
    if it was not."""

    what: str
    expected: str
    unit: str
    read: Measure

    def measured(self, records: list[Record]) -> str:
        found = self.read(whole(records))
        return UNMEASURED if found is None else f"{digits(found)}{self.unit}"


def cell(records: list[Record], data: str) -> Record | None:
    return one(records, "cell", set=data, m=M, k=K)


def split(records: list[Record]) -> Record | None:
    """Where the time of the goal's batch goes, by the best plan."""
    raced = cell(records, "power768")
    return raced and one(records, "split", set="power768", m=M, k=K, plan=raced["plan"])


def whole_batch(records: list[Record]) -> float | None:
    raced = cell(records, "power768")
    return median(raced["host"]["auto"]) * 1e3 if raced and "auto" in raced["host"] else None


def on_device(records: list[Record]) -> float | None:
    raced = cell(records, "power768")
    return median(raced["device"]["auto"]) * 1e3 if raced and "auto" in raced["device"] else None


def kernels(*names: str) -> Measure:
    """Milliseconds of kernels together."""

    def read(records: list[Record]) -> float | None:
        found = split(records)
        return (
            None if found is None else sum(found["kernels"][n]["seconds"] for n in names if n in found["kernels"]) * 1e3
        )

    return read


def phases(*names: str) -> Measure:
    """Milliseconds of the host's phases together."""

    def read(records: list[Record]) -> float | None:
        found = split(records)
        return None if found is None else sum(found["phases"][n] for n in names) * 1e3

    return read


def left(records: list[Record]) -> float | None:
    """What a batch takes beside its kernels and what the host does before and after them."""
    found = split(records)
    return (
        None
        if found is None
        else (found["host"] - found["sum"] - sum(found["phases"][n] for n in (*HOST, "answers"))) * 1e3
    )


def over(data: str, *peers: str) -> Measure:
    """How many times as long the fastest of some peers takes as the engine's own choice."""

    def read(records: list[Record]) -> float | None:
        raced = cell(records, data)
        times = (
            [raced["ratios_auto"][f"torch-{p}"]["median"] for p in peers if f"torch-{p}" in raced["ratios_auto"]]
            if raced
            else []
        )
        return min(times) if len(times) == len(peers) else None

    return read


def share_of_sheet(records: list[Record]) -> float | None:
    c = Ceilings.read(records)
    return None if c is None else c.operations / SHEET


BATCH = f"{M:,} queries, 2^20 x 768, k = {K}"
ROWS = (
    Row(f"{BATCH}, end to end", "0.9 (0.8 to 1.2) ms", " ms", whole_batch),
    Row("- check and copy, on the host", "0.13 ms", " ms", phases(*HOST)),
    Row("- seven preparing kernels", "0.04 ms", " ms", kernels(*PREPARE)),
    Row("- start, without the tightening that follows it", "0.06 ms", " ms", kernels(*START)),
    Row("- scan", "0.30 ms", " ms", kernels(*SCANS)),
    Row("- between chunks", "0.10 ms", " ms", kernels(*BETWEEN)),
    Row("- end of the look, and scores", "0.09 ms", " ms", kernels(*FINISH)),
    Row("- waits: what is left of the whole", "0.07 ms", " ms", left),
    Row("- answers, on the host", "0.11 ms", " ms", phases("answers")),
    Row("the device, first kernel to last", "0.6 ms", " ms", on_device),
    Row("times as long: torch TF32 and topk", "8 to 15", "", over("power768", "tf32")),
    Row("times as long: torch TF32 and maxima of blocks", "5 to 6", "", over("power768", "tf32-maxima")),
    Row("times as long: torch bf16, the faster of both", "3 to 6", "", over("power768", "bf16", "bf16-maxima")),
    Row("2^23 atoms, times as long: torch TF32 and topk", "20 to 30", "", over("power8m", "tf32")),
    Row("mma.sync with 8-bit integers, share of the data sheet's 1,979 Tera-operations", "0.63", "", share_of_sheet),
    Row(
        "mma.sync with 8-bit integers, share of torch._int_mm (cuBLASLt)",
        "if below 0.8, wgmma has a case",
        "",
        mma_share,
    ),
)


LIMITED = (
    "The scan is that of the width with 96 codes of the rest, limited by products alone: rounds of warps as the grid "
    "is shaped, at the share of the data sheet's rate that mma.sync reaches."
)


def shown(records: list[Record]) -> str:
    """The table of the prediction, beside what was measured."""
    return table(("figure", "predicted", "measured"), [(r.what, r.expected, r.measured(records)) for r in ROWS])


# Scans at mixed codes: codes of the rest, beside 32 of the head and 32 of terms, and 16 atoms so often a warp.
SCANNED = ((32, 4), (64, 4), (96, 4), (128, 3))


def scan_by_products(rest: int, tiles: int, share: float) -> float:
    """Milliseconds of the goal's scan if only products limit it: rounds of warps as gpu/mixed.go shapes the
    grid, chunks as gpu/takelook.go ends them, and a product of 16 x 8 x 32 in four cycles of a scheduler's
    tensor unit at the data sheet's rate."""
    blocks, warps, tile, n = 2, 8, 256, 1 << 20  # of a multiprocessor; of a block; queries of a block; atoms
    y, cycles = -(-M // tile), 0.0
    for lo, hi in ((4096, 32768), (32768, 262144), (262144, n)):
        x = min(-(-(hi - lo) // 512), max(1, blocks * MULTIPROCESSORS // y))
        rounds = math.ceil(math.ceil((hi - lo) / (16 * tiles)) / (x * warps))
        cycles += rounds * (tile // 8) * (2 + rest // 32) * tiles * 4 / share * (blocks * warps / 4)
    return cycles / CLOCK * 1e3


def scans() -> str:
    """The scans by products, for several shares of the data sheet's rate."""
    rows = [(f"32 + {rest}", *(f"{scan_by_products(rest, tiles, s):.3f}" for s in SHARES)) for rest, tiles in SCANNED]
    return table(("codes of head and rest", *(f"{s:.0%} of the data sheet's rate, ms" for s in SHARES)), rows)


def written(page: str, records: list[Record]) -> str:
    """docs/gpu.md with the table for these records."""
    before, found, rest = page.partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not found or not ended:
        raise ValueError(f"{DOC.name} has no {BEGIN} and {END}")
    return f"{before}{BEGIN}\n{shown(records)}\n\n{LIMITED}\n\n{scans()}\n{END}{after}"
