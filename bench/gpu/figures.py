"""Figures beside the race, as sections of the page and lines of the short table: clocks, several callers,
single queries, the rates of torch's products, and which kernels the best plans launched."""

from __future__ import annotations

from statistics import median
from typing import Any

import products
from goals import Ceilings, Record, cells, one, raced
from markdown import digits, section, table

Rows = list[tuple[object, ...]]
# torch's, and what they are called; those that are not exact.
PEERS = {
    "torch-fp32": "torch fp32", "torch-tf32": "TF32", "torch-tf32-maxima": "TF32, maxima", "torch-bf16": "bf16",
    "torch-bf16-maxima": "bf16, maxima", "torch-int8": "8 bits",
}  # fmt: skip
ROUNDED = tuple(PEERS)[1:]


def where(r: Record) -> tuple[object, object, object]:
    return r["set"], r["m"], r["k"]


def name(r: Record) -> str:
    return f"{r['set']} m={r['m']} k={r['k']}"


def launched(records: list[Record]) -> dict[str, Any]:
    """The launches a batch of each kernel by the best plan of each cell, and the kernels that none of them launched."""
    found: dict[str, dict[str, int]] = {}
    plans = {}
    for r in cells(records):
        split = one(records, "split", set=r["set"], m=r["m"], k=r["k"], plan=r["plan"])
        if split is not None:
            plans[name(r)] = r["plan"]
            for kernel, of in split["kernels"].items():
                found.setdefault(kernel, {})[name(r)] = of["launches"]
    card = one(records, "card") or {}
    return {"plans": plans, "kernels": found, "never": sorted(set(card.get("kernels", {})) - set(found))}


def span(of: dict[str, float] | None, unit: str = "") -> str:
    """The median of a figure, and its range."""
    if not of:
        return ""
    return f"{digits(of['median'])}{unit} ({digits(of['least'])} to {digits(of['most'])})"


def ms(times: list[float]) -> str:
    return digits(median(times) * 1e3)


def speed(records: list[Record]) -> str:
    rows: list[tuple[object, ...]] = []
    over: list[tuple[object, ...]] = []
    for r in cells(records):
        host, device = r["host"], r["device"]
        took = [
            f"{ms(host[p])}{f' ({ms(device[p])})' if p in device else ''}" if p in host else ""
            for p in ("plan", "auto", *PEERS)
        ]
        rows.append((*where(r), r["plan"], *took))
        times = [span(r["ratios"].get(p)) for p in ROUNDED]
        over.append((*where(r), *times, *(f"{r['recall'][p]:.4f}" if p in r["recall"] else "" for p in ROUNDED)))
    if not rows:
        return ""
    names = [PEERS[p] for p in ROUNDED]
    return section(
        "End to end",
        "Milliseconds a batch, from queries on the host to ids on the host; in brackets those of the device alone, "
        "by events before the first kernel and after the last. torch multiplies and takes topk, or the maxima of "
        "blocks of atoms and then topk of the best blocks, each by its fastest way; with 8 bits it scores the best "
        "candidates again in float32.",
        table(("data", "m", "k", "plan", "thresher", "`auto`", *PEERS.values()), rows),
        "torch's time over that of thresher's plan, the median of the rounds and their range. Its answers are not "
        "exact: their recall of the k best is at the end.",
        table(("data", "m", "k", *(f"times {n}" for n in names), *(f"recall {n}" for n in names)), over),
    )


def throttled(said: dict[str, Any]) -> str:
    return ", ".join(f"{why} {share:.0%}" for why, share in said.get("throttled", {}).items()) or "none"


def clocks(records: list[Record]) -> str:
    """Of each cell's turns, and of torch's products."""
    rows: Rows = []
    missing = set()
    for r in [*([p] if (p := one(records, "products")) else []), *cells(records)]:
        said = r.get("clocks") or {"missing": "not recorded"}
        if "missing" in said:
            missing.add(said["missing"])
            continue
        at = where(r) if "set" in r else ("products by torch", "", "")
        rows.append((*at, *(span(said.get(f)) for f in ("sm", "memory", "power", "temperature")), throttled(said)))
    if not rows:
        return section("Clocks", f"Not recorded: {'; '.join(sorted(missing))}.") if missing else ""
    header = ("data", "m", "k", "multiprocessors, MHz", "memory, MHz", "power, W", "temperature, °C", "throttled by")
    told = (
        "By nvidia-smi, every 100 ms, while contestants took turns: the median and the range, and in what share of the "
        "samples a reason of throttling was active. No clock was set."
    )
    return section("Clocks", told, table(header, rows))


def services(records: list[Record]) -> str:
    """Several callers, and single queries."""
    rows: Rows = [
        (*where(r), r["plan"], n, digits(of["rate"]), *(digits(of[p] * 1e3) for p in ("p50", "p90", "p99")))
        for r in raced(records, "callers")
        for n, of in r["callers"].items()
    ]
    singles: Rows = [
        (r["set"], r["k"], r["plan"], r["queries"], *(digits(r[p] * 1e3) for p in ("p50", "p90", "p99", "most")))
        for r in raced(records, "singles")
    ]
    if not rows and not singles:
        return ""
    head = ("data", "m", "k", "plan", "callers", "batches a second", "p50, ms", "p90, ms", "p99, ms")
    alone = ("data", "k", "plan", "queries", "p50, ms", "p90, ms", "p99, ms", "most, ms")
    return section(
        "Services",
        "The fastest plan, by several callers at once in one process, and what each batch takes.",
        table(head, rows) if rows else "",
        "Single queries, one after the other." if singles else "",
        table(alone, singles) if singles else "",
    )


def unused(records: list[Record]) -> str:
    """Which kernels the best plans launched, and which none did."""
    said = launched(records)
    if not said["plans"]:
        return ""
    rows: Rows = [
        (f"`{kernel}`", len(of), f"{min(of.values())} to {max(of.values())}", next(iter(of)) if len(of) == 1 else "")
        for kernel, of in sorted(said["kernels"].items(), key=lambda item: -len(item[1]))
    ]
    told = (
        f"By the best plan of each of {len(said['plans'])} cells, all of inner products: how many launched a kernel, "
        "and how often a batch. What only cosine and Euclidean distance, filters, ranges, greater k or a full device "
        "need is not among them, so a kernel that is missing here may be needed there."
    )
    never: Rows = [(f"`{kernel}`",) for kernel in said["never"]]
    return section(
        "Kernels of the best plans",
        told,
        table(("kernel", "cells", "launches a batch", "only in"), rows),
        table(("kernels that no best plan launched",), never) if never else "Every kernel was launched by one.",
    )


def mma_share(records: list[Record]) -> float | None:
    """The rate of mma.sync over that of torch._int_mm."""
    c, theirs = Ceilings.read(records), products.rate(one(records, "products"), "int8")
    return c.operations / theirs if c and theirs else None


def torch_rates(records: list[Record]) -> str:
    """The rates of torch's products, in words; "" if there are none."""
    r = one(records, "products")
    if r is None:
        return ""
    kinds = {"int8": "8-bit integers (torch._int_mm)", "bf16": "bfloat16", "tf32": "TF32"}
    told = []
    for kind, what in kinds.items():
        found = products.rate(r, kind)
        told.append(f"{what} {found / 1e12:,.4g}" if found else f"{what} none ({r.get(kind, {}).get('failed', '')})")
    share = mma_share(records)
    beside = f" mma.sync has {share:.2f} of torch's with 8-bit integers." if share else ""
    return f"torch's products of {r['size']} rows and columns, Tera-operations a second: {', '.join(told)}.{beside}"


def lines(records: list[Record]) -> list[str]:
    """What the short table says of these."""
    out = [torch_rates(records)] if torch_rates(records) else []
    for r in cells(records):
        device = ", ".join(f"{who} {median(times) * 1e3:.3f}" for who, times in r["device"].items())
        over = ", ".join(f"{who} {q['median']:.3g} x" for who, q in r["ratios_auto"].items())
        recall = ", ".join(f"{who} {share:.4f}" for who, share in r["recall"].items())
        out += [
            f"{name(r):<26}{what}: {said}"
            for what, said in (("device, ms", device), ("over auto", over), ("recall", recall))
            if said
        ]
        said = r.get("clocks") or {}
        if "samples" in said:
            out.append(
                f"{name(r):<26}{span(said.get('sm'), ' MHz')}, {span(said.get('power'), ' W')}, "
                f"throttled: {throttled(said)}"
            )
    for r in raced(records, "callers"):
        out.append(
            f"{name(r):<26}batches a second: "
            + ", ".join(f"{n} callers {of['rate']:.4g}" for n, of in r["callers"].items())
        )
    for r in raced(records, "singles"):
        out.append(
            f"{name(r):<26}{r['queries']} queries, ms: "
            + ", ".join(f"{p} {r[p] * 1e3:.3f}" for p in ("p50", "p90", "p99", "most"))
        )
    last = one(records, "launched")
    if last and last["plans"]:
        out.append(f"kernels that no best plan launched: {', '.join(last['never']) or 'none'}")
    missing = {said["missing"] for r in cells(records) if "missing" in (said := r.get("clocks") or {})}
    return out + [f"clocks: {why}" for why in sorted(missing)]
