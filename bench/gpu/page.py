"""Writes docs/benchmarks/gpu.md and the prediction of docs/gpu.md from the newest folder of docs/benchmarks/gpu/raw.

PYTHONPATH=bench python3 bench/gpu/page.py            writes them
PYTHONPATH=bench python3 bench/gpu/page.py --check    fails if they differ from the present ones"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import figures
import prediction
from goals import Ceilings, FirstLook, Record, cells, judge, last, of, one, parts_left_out
from markdown import digits, section, table
from parts import records_of

DOCS = Path(__file__).resolve().parents[2] / "docs" / "benchmarks"
PAGE, RAW = DOCS / "gpu.md", DOCS / "gpu" / "raw"
NOTHING = f"{prediction.UNMEASURED}\n"


class Refused(Exception):
    """Results that are not from a GPU."""


def newest(raw: Path) -> Path | None:
    """The folder of the latest date, if there is any."""
    folders = sorted(p for p in raw.glob("*") if (p / "results.jsonl").exists()) if raw.exists() else []
    return folders[-1] if folders else None


def measured(raw: Path) -> tuple[str, list[Record]]:
    """The newest results and their date; "" and none if there are none. Raises Refused."""
    folder = newest(raw)
    if folder is None:
        return "", []
    records = records_of(folder / "results.jsonl")
    cards = of(records, "card")
    if not cards or any(c["emulator"] for c in cards) or any(r["small"] for r in of(records, "run")):
        raise Refused(f"{folder} is of no GPU, or of a rehearsal")
    return folder.name, records


def page(raw: Path) -> str:
    when, records = measured(raw)
    return report(records, when) if when else NOTHING


def report(records: list[Record], when: str) -> str:
    parts = [
        head(records, when),
        targets(records),
        figures.speed(records),
        figures.clocks(records),
        figures.services(records),
        roofline(records),
        split(records),
        figures.unused(records),
        plans(records),
        quarter(records),
        shapes(records),
        others(records),
        wrong(records),
        proofs(records),
        setup(records),
    ]
    return "\n\n".join(p for p in parts if p) + "\n"


def head(records: list[Record], when: str) -> str:
    run, facts, card = (one(records, kind) or {} for kind in ("run", "facts", "card"))
    device, gpu, version = card.get("device", {}), facts.get("gpu", {}), run.get("version", {})
    packages = ", ".join(f"{name} {v}" for name, v in facts.get("packages", {}).items())
    clocks = f"{gpu.get('clocks.sm', '?')} of {gpu.get('clocks.max.sm', '?')}, memory {gpu.get('clocks.mem', '?')}"
    rows = [
        (
            "device",
            f"{device.get('Name')}, compute capability {device.get('Major')}.{device.get('Minor')}, "
            f"{device.get('Multiprocessors')} multiprocessors, L2 {device.get('L2', 0) >> 20} MiB, "
            f"{device.get('Memory', 0) / 2**30:.0f} GiB",
        ),
        ("driver", f"{gpu.get('driver_version', '?')}, {card.get('driver')}"),
        ("clocks when idle", clocks),
        ("host", f"{facts.get('cpu')}, {facts.get('cores')} cores, {facts.get('system')}, {facts.get('libc')}"),
        ("peers", f"{packages}, nvcc {facts.get('nvcc') or 'none'}"),
        ("thresher", f"commit {version.get('commit', 'unknown')}, {version.get('go', '')}"),
        ("measured", when),
    ]
    return "\n\n".join(
        [
            "# thresher on a GPU, against its peers",
            f"Written by `make gpu-report` from gpu/raw/{when}, which `make gpu` wrote on the machine below; "
            f"not by hand. "
            "[bench/gpu/README.md](../../bench/gpu/README.md) says how it is measured.",
            table(("run", ""), rows),
        ]
    )


def targets(records: list[Record]) -> str:
    goals = judge(records)
    reached = sum(g.reached is True for g in goals)
    said = (
        f"{reached} of {len(goals)} reached. Judged is the engine's own choice of plan, by costs "
        f"measured in the same call, "
        "end to end, the median of the rounds; in brackets the plan that was fastest on other queries."
    )
    return section(
        "Targets",
        said,
        table(("what", "target", "measured", ""), [(g.what, g.target, g.measured, g.mark) for g in goals]),
    )


def roofline(records: list[Record]) -> str:
    c = Ceilings.read(records)
    if c is None:
        return ""
    rows = []
    for r in of(records, "split"):
        f = FirstLook.read(r, c)
        if f and r["pairs"]:
            times = (digits(t * 1e6) for t in (f.took, f.products, f.tests, f.memory))
            shares = (f"{t / f.took:.0%}" for t in (f.products, f.tests, f.memory))
            rows.append(
                (r["set"], r["m"], r["k"], r["plan"], r["width"], f"{r['pairs'] / 1e6:,.1f} M", *times, *shares)
            )
    said = (
        f"Measured in the same call: a copy moves {c.copy / 1e12:.2f} TB/s, read and written; mma.sync makes "
        f"{c.operations / 1e12:,.0f} Tera-operations a second of 8-bit integers in registers; tests of bounds, without "
        f"products and memory, are {c.pairs / 1e12:.2f} T pairs a second. Below, the first look in µs, "
        f"the least that each "
        "of the three would need for it, and the shares."
    )
    beside = figures.torch_rates(records)
    header = (
        "data",
        "m",
        "k",
        "plan",
        "codes",
        "pairs",
        "first look",
        "products",
        "tests",
        "memory",
        "of products",
        "of tests",
        "of the copy",
    )
    return section("Roofline", said, beside, table(header, rows) if rows else "")


def split(records: list[Record]) -> str:
    rows = []
    for r in of(records, "split"):
        order = sorted(r["kernels"].items(), key=lambda item: -item[1]["seconds"])
        launches = sum(of["launches"] for of in r["kernels"].values())
        shares = ", ".join(f"{name} {digits(of['seconds'] * 1e6)}" for name, of in order[:8])
        sums = (digits(r[t] * 1e6) for t in ("sum", "span", "host"))
        host, singly = (
            ", ".join(f"{name} {digits(seconds * 1e6)}" for name, seconds in (r.get(kind) or {}).items())
            for kind in ("phases", "singly")
        )
        graphs = f"{r['graphs']:.3g}" if r.get("singly") else "-"
        over = f"{r['host'] / r['sum']:.2f}"
        rows.append((r["set"], r["m"], r["k"], r["plan"], launches, *sums, over, shares, host, graphs, singly or "-"))
    if not rows:
        return ""
    header = (
        "data",
        "m",
        "k",
        "plan",
        "launches",
        "kernels",
        "first to last",
        "end to end",
        "over kernels",
        "of which",
        "on the host",
        "graphs a batch",
        "on the host without graphs",
    )
    said = (
        "µs a batch: the sum of all kernels by events on either side of each, behind a copy that lets "
        "the host run ahead; "
        "from the first's begin to the last's end in that run, the copies included; and end to end without events. "
        "On the host: checking the request and its queries and copying them to page-locked memory (`copy` is what "
        "remains of that for the run), enqueuing, waiting for the device, and making reports and answers; for few queries "
        "also with each kernel enqueued by a call of its own, in place of CUDA graphs."
    )
    return section("Where the time goes", said, table(header, rows))


def plans(records: list[Record]) -> str:
    rows = []
    for r in of(records, "plans"):
        for at, t in enumerate(r["tried"][:5]):
            place = (r["set"], r["m"], r["k"]) if at == 0 else ("", "", "")
            rows.append(
                (
                    *place,
                    t["plan"] + (" (`auto`)" if t["chosen"] else ""),
                    digits(t["seconds"] * 1e3),
                    "; ".join(t["looks"]),
                    digits(t["rows"]),
                )
            )
    if not rows:
        return ""
    said = (
        "Milliseconds a batch on queries that are not raced: the five fastest of the plans tried, what "
        "each look kept, and the rows scored a query."
    )
    return section("Plans", said, table(("data", "m", "k", "plan", "ms", "looks", "rows"), rows))


def quarter(records: list[Record]) -> str:
    rows = [
        (
            r["set"],
            r["m"],
            r["k"],
            r["plan"],
            figures.ms(r["host"]["resident"]),
            figures.ms(r["host"]["quarter"]),
            digits(r["ratio"]["median"]),
        )
        for r in of(records, "quarter")
    ]
    if not rows:
        return ""
    where = next(r for r in of(records, "loaded") if "memory" in r)
    said = (
        f"The collection takes {where['bytes'] / 2**30:.2f} GiB, the device may be used for "
        f"{where['memory'] / 2**30:.2f}: "
        f"{where['device_bytes'] / 2**30:.2f} GiB of it lie there, {where['host_bytes'] / 2**30:.2f} in "
        f"page-locked host "
        "memory. Milliseconds a batch, in turns with the same collection wholly on the device."
    )
    return section(
        "A quarter of the memory",
        said,
        table(("data", "m", "k", "plan", "all on the device", "a quarter", "times"), rows),
    )


def shapes(records: list[Record]) -> str:
    rows = []
    for r in of(records, "sweep"):
        for what in ("shapes", "chunks"):
            for t in sorted(r[what], key=lambda t: t["seconds"])[:3] + [t for t in r[what] if t["own"]]:
                told = ", ".join(f"{name} {digits(t[name])}" for name in t if name not in ("seconds", "own"))
                own = " (the program's)" if t["own"] else ""
                rows.append((r["set"], r["m"], r["k"], r["to"], f"{told}{own}", digits(t["seconds"] * 1e6)))
    said = (
        "First looks at so many rest codes, µs: one scan of all atoms by other shapes of its kernel, thresholds as a "
        "search ends with them, and whole looks by other chunks; the three fastest, and the program's own."
    )
    header = ("data", "m", "k", "rest codes", "by", "µs")
    return section("Other shapes", said, table(header, dict.fromkeys(rows))) if rows else ""


def others(records: list[Record]) -> str:
    rows = [
        (
            r["set"],
            r["m"],
            r["k"],
            r["peer"],
            figures.ms(r["host"][r["peer"]]),
            figures.ms(r["host"]["plan"]),
            digits(r["ratio"]["median"]),
            f"{r['recall']:.4f}",
        )
        for r in of(records, "other")
    ]
    if not rows:
        return ""
    said = "Milliseconds a batch, end to end. `jax-approx` is lax.approx_max_k with a recall target of .99."
    return section(
        "Other peers", said, table(("data", "m", "k", "peer", "its time", "thresher", "times", "its recall"), rows)
    )


def wrong(records: list[Record]) -> str:
    rows, answers, bad, certain = [], 0, 0, 0
    for r in cells(records):
        for who, c in r["checked"].items():
            answers, bad, certain = answers + c["answers"], bad + c["wrong"], certain + c["certain_wrong"]
            if c["wrong"] or not c["compatible"]:
                verdict = "" if c["compatible"] else "**more than delta allows**"
                rows.append((r["set"], r["m"], r["k"], who, c["wrong"], c["answers"], f"{c['p']:.2g}", verdict))
    if not answers:
        return ""
    said = (
        "Answers are checked against float64 scores, candidates found on the device with room for "
        "float32's rounding. An "
        "answer is wrong if one of the k best atoms is missing, v_i, that scores more than one of its atoms, v, by "
        "more than 2^-22 |q| max(|v_i|, |v|). "
        f"{bad} of {answers:,} are; delta .01 allows {answers / 100:,.0f} on average. {certain} of them "
        f"under a certificate "
        "that needs no probability."
    )
    return section(
        "Wrong answers",
        said,
        table(("data", "m", "k", "plan", "wrong", "of", "p, if independent", ""), rows) if rows else "",
    )


def proofs(records: list[Record]) -> str:
    rows = []
    for r in last(records, "tests", "group"):
        shown = {"failed": "failed", "without_result": "without result"}
        told = "; ".join(f"{name}: {', '.join(r[key])}" for key, name in shown.items() if r[key])
        rows.append((r["group"], r["passed"], len(r["failed"]), len(r["skipped"]), len(r["without_result"]), told))
    checks = [
        (r["tool"], f"code {r['rc']}", "; ".join(r["summary"]), f"{r['passed']} tests")
        for r in last(records, "sanitizer", "tool")
    ]
    gone = [f"- {r['name']}: {r['left_out']}" for r in parts_left_out(records)]
    gone += [f"- {r['what']}: {r['why']}" for r in of(records, "left_out")]
    return section(
        "Tests on the device",
        table(("group", "passed", "failed", "skipped", "without result", ""), rows) if rows else "",
        table(("compute-sanitizer", "ended with", "summary", "ran"), checks) if checks else "",
        "Left out:\n" + "\n".join(gone) if gone else "",
    )


def setup(records: list[Record]) -> str:
    rows = [
        (
            r["name"],
            f"{r['atoms']:,} x {r['dim']}",
            digits(r["build_seconds"]),
            digits(r["load_seconds"]),
            *(f"{r[b] / 2**30:.2f}" for b in ("bytes", "device_bytes")),
        )
        for r in of(records, "loaded")
    ]
    card = one(records, "card")
    if not card:
        return ""
    local = [f"{name} {k['Local']}" for name, k in sorted(card["kernels"].items()) if k["Local"]]
    first, *later = (digits(c["seconds"]) for c in of(records, "card"))
    costs = one(records, "costs")
    figures = (
        [(name, f"{costs['builtin'][name]:.3g}", f"{ns:.3g}") for name, ns in costs["measured"].items()]
        if costs
        else []
    )
    unfit = f"Costs could not be measured: {costs['unfit']}." if costs and costs["unfit"] else ""
    said = (
        f"Opening the device takes {first} s in the first process, whose driver compiles the kernels, and "
        f"{', '.join(later) or 'was not done again'} in others after it. "
        f"Local memory, bytes a thread: {', '.join(local) or 'none'}."
    )
    return section(
        "Setup",
        said,
        table(("set", "atoms", "build, s", "load, s", "collection, GiB", "on the device"), rows) if rows else "",
        unfit or (table(("cost", "in the program, ns", "measured here, ns"), figures) if figures else ""),
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="page.py")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    try:
        texts = {PAGE: page(RAW), prediction.DOC: prediction.written(prediction.DOC.read_text(), measured(RAW)[1])}
    except (Refused, ValueError) as e:
        sys.exit(f"page.py: {e}")
    for file, text in texts.items():
        if not args.check:
            file.write_text(text)
            print(f"wrote {file}")
        elif not file.exists() or file.read_text() != text:
            sys.exit(f"page.py: {file} is not what `make gpu-report` writes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
