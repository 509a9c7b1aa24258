"""Writes docs/benchmarks/race.md from the results of the race with all exact peers, a section for
each processor. It does not use numpy: the report is written without it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import exp, log
from pathlib import Path
from statistics import median

from markdown import digits, table
from results import Record, load

NOTHING = "Not measured yet; `make bench-race` measures it.\n"
# Numbers of atoms that are told together, by the largest.
SIZES = (
    (1_000, "up to 1,000"),
    (5_000, "1,001 to 5,000"),
    (20_000, "5,001 to 20,000"),
    (99_999, "20,001 to 99,999"),
    (999_999, "100,000 to 999,999"),
    (1 << 62, "1,000,000 and more"),
)
BEHIND = 0.95  # a cell below is behind, one below 1 only slower
HEAD = """# thresher against every exact peer

Written by `python3 bench/bench.py --only race` and `--only regret` from the results in [race](race); not by hand. \
[bench/README.md](../../bench/README.md) says how it is measured.

The peers are all exact: FAISS's IndexFlatIP by products of matrices (`faiss-blas`) and row by row (`faiss-rows`), its \
IndexFlatIPPanorama, numpy with the wheel's OpenBLAS (`numpy`) and with Intel's MKL (`mkl`), PyTorch's product and \
topk (`torch`, where it is installed), ScaNN's brute force (`scann`) and usearch's exact search (`usearch`). In each \
cell all have a trial; the best two, and thresher's methods (with built-in costs), then take turns on one core. A \
ratio is the best peer's time over thresher's `auto` in the same round, the median of the rounds. A cell is one set, m \
queries in a batch and the k best."""


def write(results: Path) -> None:
    """Writes the page next to the folder of results, which has a folder for each processor."""
    text = page(results)
    path = results.parent / f"{results.name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    print(f"wrote {path}", flush=True)


def page(results: Path) -> str:
    parts = [HEAD]
    for folder in sorted(p for p in results.glob("*") if p.is_dir()):
        records = [r for p in sorted(folder.glob("*.jsonl")) for r in load(p)]
        if of(records, "race") or of(records, "regret"):
            parts += processor(records)
    return "\n\n".join(parts) + "\n" if len(parts) > 1 else NOTHING


def of(records: Iterable[Record], kind: str) -> list[Record]:
    return [r for r in records if r["kind"] == kind]


def processor(records: Sequence[Record]) -> list[str]:
    """The section of one processor."""
    runs, cells = of(records, "run"), of(records, "race")
    facts = runs[0]["facts"]
    parts = [f"## {facts['cpu']}", setting(runs)]
    if cells:
        parts += [
            counted(cells),
            "### The best peer's time over that of `auto`",
            "The geometric mean over the cells and, in brackets, the worst set.",
            groups(cells, lambda r: r.get("ratio")),
            "### The best peer's time over that of `certain`",
            "As above, for the method whose answers cannot be wrong.",
            groups(cells, lambda r: r.get("certain_ratio")),
            beside(cells),
            losses(cells),
            winners(cells),
            answers(cells),
        ]
    regrets = of(records, "regret")
    if regrets:
        parts += ["### The planner's regret", regret(regrets)]
    parts.append(sets(of(records, "set")))
    return [p for p in parts if p]


def setting(runs: Sequence[Record]) -> str:
    """Where and with what all was measured."""
    facts = runs[0]["facts"]
    packages = [facts[p] for p in ("scann", "mkl", "usearch", "torch") if p in facts]
    commits = dict.fromkeys(f"{r['commit'] or 'unknown'}, {r['facts']['go']}" for r in runs)
    return table(
        ("run", ""),
        [
            ("processor", f"{facts['cores']} cores, caches {facts['caches']}; {' '.join(facts['flags'])}"),
            ("system", facts["system"]),
            ("thresher", "; ".join(f"commit {c}" for c in commits)),
            ("peers", ", ".join([f"FAISS {facts['faiss']}", f"numpy {facts['numpy']}", *packages])),
            ("command", "; ".join(dict.fromkeys(f"`{r['command']}`" for r in runs))),
        ],
    )


def mean(xs: Sequence[float]) -> float:
    """The geometric mean."""
    return exp(sum(map(log, xs)) / len(xs))


def size(n: int) -> str:
    return next(name for most, name in SIZES if n <= most)


def counted(cells: Sequence[Record]) -> str:
    behind = sum(r["ratio"] < BEHIND for r in cells)
    slower = sum(BEHIND <= r["ratio"] < 1 for r in cells)
    spread = median((r["quartiles"][1] - r["quartiles"][0]) / r["ratio"] for r in cells)
    of_sets = len({r["set"] for r in cells})
    said = (
        f"{len(cells)} cells of {of_sets} sets: `auto` is behind the best peer (below {BEHIND}) "
        f"in {behind} cells, a little slower in {slower}. Geometric mean of all: "
        f"{digits(mean([r['ratio'] for r in cells]))}. "
        f"The quartiles of a cell's rounds are {spread:.1%} of its ratio apart (median of the cells)."
    )
    disturbed = sum(r["disturbed"] for r in cells)
    return said + (f" {disturbed} rounds were disturbed by other processes and kept." if disturbed else "")


def groups(cells: Sequence[Record], value: Callable[[Record], float | None]) -> str:
    """By number of atoms and k in rows, by m in columns."""
    ms = sorted({r["m"] for r in cells})
    rows = []
    for _, name in SIZES:
        mine = [r for r in cells if size(r["n"]) == name and value(r)]
        for k in sorted({r["k"] for r in mine}):
            shown = []
            for m in ms:
                found = {r["set"]: value(r) or 0 for r in mine if r["k"] == k and r["m"] == m}
                if not found:
                    shown.append("")
                    continue
                worst = min(found, key=lambda s: found[s])
                text = f"{digits(mean(list(found.values())))} ({digits(found[worst])} {worst})"
                shown.append(f"**{text}**" if found[worst] < BEHIND else text)
            rows.append((name, k, *shown))
    return table(("atoms", "k", *(f"m = {m}" for m in ms)), rows)


def beside(cells: Sequence[Record]) -> str:
    """How much longer certain takes than auto."""
    rows = []
    for k in sorted({r["k"] for r in cells}):
        found = [r["us"]["certain"] / r["us"]["auto"] for r in cells if r["k"] == k and "certain" in r["us"]]
        if found:
            rows.append((k, len(found), digits(mean(found)), digits(max(found)), sum(x > 1.5 for x in found)))
    return "Time of `certain` over that of `auto`:\n\n" + table(
        ("k", "cells", "geometric mean", "greatest", "above 1.5"), rows
    )


def losses(cells: Sequence[Record]) -> str:
    lost = sorted((r for r in cells if r["ratio"] < 1), key=lambda r: r["ratio"])
    title = "### Cells that a peer wins"
    if not lost:
        return f"{title}\n\nNone."
    rows = []
    for r in lost:
        low, high = r["quartiles"]
        ratio = f"**{digits(r['ratio'])}**" if r["ratio"] < BEHIND else digits(r["ratio"])
        plans = "; ".join(p.rpartition(": ")[2] for p in r["plans"].get("auto", {}))
        rows.append(
            (
                *(r["set"], f"{r['n']:,} x {r['d']}", r["m"], r["k"]),
                *(r["best"], digits(r["us"][r["best"]]), digits(r["us"]["auto"])),
                *(ratio, f"{digits(low)} to {digits(high)}, {r['rounds']}", digits(r.get("certain_ratio")), plans),
            )
        )
    header = (
        "set",
        "atoms",
        "m",
        "k",
        "peer",
        "its µs",
        "`auto` µs",
        "ratio",
        "quartiles, rounds",
        "`certain`",
        "plan",
    )
    return f"{title}\n\nµs a query; bold below {BEHIND}.\n\n{table(header, rows)}"


def winners(cells: Sequence[Record]) -> str:
    """How often each peer was the best of them."""
    ms = sorted({r["m"] for r in cells})
    count = Counter(r["best"] for r in cells)
    rows = [
        (peer, total, *(sum(r["best"] == peer and r["m"] == m for r in cells) or "" for m in ms))
        for peer, total in count.most_common()
    ]
    return "### The best peer\n\nCells in which each was the fastest peer.\n\n" + table(
        ("peer", "cells", *(f"m = {m}" for m in ms)), rows
    )


def answers(cells: Sequence[Record]) -> str:
    """Wrong answers, by float64."""
    said = []
    for method in ("auto", "certain", "exact"):
        wrong, checked = (sum(r[f].get(method, 0) for r in cells) for f in ("wrong", "checked"))
        said.append(f"`{method}` {wrong} of {checked:,}")
    bad = [f"{r['set']} m = {r['m']} k = {r['k']}" for r in cells if not r["compatible"]]
    found = [x for r in cells for x in r["recall"].values()]
    return (
        f"Wrong answers by float64 sums, queries counted in each cell: {', '.join(said)} (`auto` may fail with "
        f"probability .01). The peers raced find at least {min(found):.4f} of the k best in float32."
        + (f" **Not compatible with delta: {', '.join(bad)}.**" if bad else "")
    )


def regret(records: Sequence[Record]) -> str:
    """How far the planner's choice, and a fixed ladder, are from the best plan timed."""
    rows = []
    for _, name in SIZES:
        for k in sorted({r["k"] for r in records}):
            mine = [r for r in records if size(r["n"]) == name and r["k"] == k]
            if not mine:
                continue
            worst = max(mine, key=lambda r: r["regret"])
            where = f"{worst['set']} m = {worst['m']}: {worst['chosen']}, best {worst['best']}"
            chosen, fixed = [r["regret"] for r in mine], [r["fixed_regret"] for r in mine]
            rows.append(
                (
                    *(name, k, len(mine), digits(mean(chosen)), f"{digits(max(chosen))} ({where})"),
                    *(digits(mean(fixed)), digits(max(fixed))),
                )
            )
    better = sum(r["fixed_regret"] < r["regret"] / 1.05 for r in records)
    said = (
        "The time of the plan that the planner chose over that of the best of a few: the four of the least forecast "
        "cost, whole rows, the dense scan and a *fixed* ladder that depends on the dimension and k alone (the dense "
        "scan from k = 1,000 on, whole rows up to 128 dimensions, else 64 coordinates, from k = 100 on 128, then whole "
        f"rows). The fixed ladder is faster than the choice by more than 5% in {better} of {len(records)} cells."
    )
    header = ("atoms", "k", "cells", "regret, geometric mean", "greatest", "of the fixed ladder", "its greatest")
    return f"{said}\n\n{table(header, rows)}"


def sets(made: Sequence[Record]) -> str:
    rows = [(r["name"], f"{r['atoms']:,} x {r['dimension']}", f"{r['norm_spread']:.2f}", r["from"]) for r in made]
    return f"### Sets\n\n{table(('set', 'atoms', 'norms: deviation over mean', 'made of'), rows)}" if rows else ""
