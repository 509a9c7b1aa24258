"""The targets for a GPU, and what the records of a call say about them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median
from typing import Any

Record = dict[str, Any]

M, K = 1024, 10  # for which targets are set
TF32_768, BF16_768, TF32_4096, TF32_IID = 10.0, 5.0, 20.0, 1.0  # times torch's
FIRST_LOOK = 0.5  # of the ceiling of 8-bit products, or of the tests' floor
BANDWIDTH = 0.7  # of the copy's, by the first look for one query
OVERHEAD = 1.15  # end to end over the sum of the kernels, at most
QUARTER = 3.0  # times as long with a quarter of the memory, at most

NAMES = {"power768": "d = 768", "power4096": "d = 4096", "iid768": "iid Gaussian, d = 768"}
MIXED = ("scan_mixed", "scan_mixed_wide")
SCANS = ("scan_s8", "scan_rows_s8", *MIXED)
TERMS = 12  # bytes of an atom that a first look reads besides the codes
LEAST_MIXED, PART, MIXED_TERMS = 64, 32, 32  # mixed codes of an atom: at least, a multiple of, and those of its terms


def of(records: Iterable[Record], kind: str, **key: Any) -> list[Record]:
    return [r for r in records if r["kind"] == kind and all(r.get(f) == v for f, v in key.items())]


def one(records: Iterable[Record], kind: str, **key: Any) -> Record | None:
    """The last record of a kind with these fields."""
    found = of(records, kind, **key)
    return found[-1] if found else None


def last(records: Iterable[Record], kind: str, field: str) -> list[Record]:
    """The last record of a kind for each value of a field, in order of first occurrence: results of
    several calls may follow each other."""
    return list({r[field]: r for r in of(records, kind)}.values())


def raced(records: list[Record], kind: str) -> list[Record]:
    """The last record of a kind of each cell: one whose plan lost the device was raced again with another."""
    return list({(r["set"], r["m"], r["k"]): r for r in of(records, kind)}.values())


def cells(records: list[Record]) -> list[Record]:
    return raced(records, "cell")


def whole(records: list[Record]) -> list[Record]:
    """The records of sets of their full size, and those of none."""
    reduced = {r["name"] for r in of(records, "set", reduced=True)}
    return [r for r in records if r.get("set") not in reduced]


def parts_left_out(records: list[Record]) -> list[Record]:
    return [r for r in last(records, "part", "name") if "left_out" in r]


@dataclass(frozen=True)
class Ceilings:
    """The device's peak rates, per second."""

    copy: float  # bytes read and written
    operations: float  # of products of 8-bit integers
    pairs: float  # bounds tested

    @staticmethod
    def read(records: Iterable[Record]) -> Ceilings | None:
        r = one(records, "ceilings")
        if r is None:
            return None
        return Ceilings(
            r["copy_bytes"] / median(r["copy"]),
            r["mma_operations"] / median(r["mma"]),
            r["tests_pairs"] / median(r["tests"]),
        )


@dataclass(frozen=True)
class FirstLook:
    """The first look of a cell, and the least time each unit needs for it, in seconds."""

    took: float
    products: float
    tests: float
    memory: float

    @staticmethod
    def read(split: Record, c: Ceilings) -> FirstLook | None:
        took = sum(split["kernels"][name]["seconds"] for name in SCANS if name in split["kernels"])
        if not took:
            return None
        if any(name in split["kernels"] for name in MIXED):  # sums of products alone decide
            codes = max(LEAST_MIXED, -(-split["width"] // PART) * PART) + MIXED_TERMS
            return FirstLook(
                took, 2 * split["pairs"] * codes / c.operations, 0.0, split["atoms"] * codes / c.copy
            )
        return FirstLook(
            took,
            2 * split["pairs"] * split["width"] / c.operations,
            split["pairs"] / c.pairs,
            split["atoms"] * (split["width"] + TERMS) / c.copy,
        )

    @property
    def share(self) -> float:
        """The share of the slower of the two units that work on pairs."""
        return max(self.products, self.tests) / self.took


@dataclass(frozen=True)
class Goal:
    what: str
    target: str
    measured: str  # "" if it was not measured
    reached: bool | None

    @property
    def mark(self) -> str:
        return "not measured" if self.reached is None else "reached" if self.reached else "missed"


def least(what: str, x: float | None, target: float, unit: str = "") -> Goal:
    shown = "" if x is None else f"{x:.3g}{unit}"
    return Goal(what, f"at least {target:g}{unit}", shown, None if x is None else x >= target)


def most(what: str, x: float | None, target: float, unit: str = "") -> Goal:
    shown = "" if x is None else f"{x:.3g}{unit}"
    return Goal(what, f"at most {target:g}{unit}", shown, None if x is None else x <= target)


def over_torch(records: list[Record], data: str, peer: str, target: float) -> Goal:
    """Judges the engine's own choice of plan; the plan chosen by trying all on other queries is shown
    as well."""
    what = f"{NAMES[data]}, m = {M}, k = {K}: times torch {peer} matmul and topk"
    r, name = one(records, "cell", set=data, m=M, k=K), f"torch-{peer.lower()}"
    if r is None or name not in r["ratios_auto"]:
        return least(what, None, target)
    auto = r["ratios_auto"][name]["median"]
    shown = f"{auto:.3g} (best plan tried: {r['ratios'][name]['median']:.3g}"
    maxima = r["ratios_auto"].get(f"{name}-maxima")  # the stronger rival; the target is older
    shown += f"; with maxima of blocks in place of topk: {maxima['median']:.3g})" if maxima else ")"
    return Goal(what, f"at least {target:g}", shown, auto >= target)


def judge(records: list[Record]) -> list[Goal]:
    records = whole(records)
    ceilings = Ceilings.read(records)

    def first(data: str, m: int) -> FirstLook | None:
        those = [r for r in of(records, "split", set=data, m=m, k=K) if r["pairs"]]
        return FirstLook.read(those[0], ceilings) if those and ceilings else None

    look, single = first("power768", M), first("power768", 1)
    raced = one(records, "cell", set="power768", m=M, k=K)
    batch = one(records, "split", set="power768", m=M, k=K, plan=raced["plan"]) if raced else None
    quarter = one(records, "quarter", set="power768", m=M, k=K)
    at = f"m = {M}, k = {K}"
    return [
        over_torch(records, "power768", "TF32", TF32_768),
        over_torch(records, "power768", "bf16", BF16_768),
        least(
            "its first look: share of the ceiling of products or of the tests' floor",
            look.share if look else None,
            FIRST_LOOK,
        ),
        over_torch(records, "power4096", "TF32", TF32_4096),
        least(
            "d = 768, m = 1: first look, share of the copy's bandwidth",
            single.memory / single.took if single else None,
            BANDWIDTH,
        ),
        over_torch(records, "iid768", "TF32", TF32_IID),
        most(
            f"d = 768, {at}: end to end over the sum of its kernels",
            batch["host"] / batch["sum"] if batch else None,
            OVERHEAD,
        ),
        most(
            f"d = 768, {at}: times as long with a quarter of the memory",
            quarter["ratio"]["median"] if quarter else None,
            QUARTER,
        ),
    ]
