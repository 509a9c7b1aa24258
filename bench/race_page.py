"""Writes docs/benchmarks/race.md from the results of the race with all exact peers, a section for
each processor. It does not use numpy: the report is written without it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import median

from answers import NOT_COUNTED, by_criterion
from markdown import digits, table
from race_goals import BEHIND, BESIDE, CAUSES, SIZES, beside_adaptive, goals, label, mean, metric, missed_of, size
from results import Record, load

NOTHING = "Not measured yet; `make bench-race` measures it.\n"
BATCH = 256  # the greatest batch of the headline
WORTH_TELLING = 1.25  # regrets from here on are listed
TITLE = "# thresher against every exact peer"
HEAD = """\
Written by `python3 bench/bench.py --only race`, `--only cores`, `--only regret` and `--only process` from the \
results in [race](race), not by hand, except for the causes of missed goals (`causes.md` beside a processor's \
results). \
[bench/README.md](../../bench/README.md) says how it is measured.

The peers are all exact: FAISS's IndexFlatIP by products of matrices (`faiss-blas`) and row by row (`faiss-rows`), its \
IndexFlatIPPanorama, numpy with the wheel's OpenBLAS (`numpy`) and with Intel's MKL (`mkl`), PyTorch's product and \
topk (`torch`, where it is installed), ScaNN's brute force (`scann`) and usearch's exact search (`usearch`). In each \
cell all have a trial; the best two, and thresher's methods (with built-in costs), then take turns on one core. A \
ratio is the best peer's time over thresher's `auto` in the same round, the median of the rounds. A cell is one set, m \
queries in a batch and the k best, by inner product unless the set says *by cosine* or *by l2*. For cosine the peers \
have atoms of norm 1 and scale the queries, which is timed; for l2 they are FAISS's IndexFlatL2 and \
IndexFlatL2Panorama, products less half the atoms' squared norms, and the others' squared distances.

PDX is absent: Python's package index has no `pdxearch`, which is built from its source. Measured apart on a Zen 4, \
its exact search was 1.2 to 3.9 times behind and the best peer in no cell."""


def write(results: Path) -> None:
    """Writes the page next to the folder of results, which has a folder for each processor."""
    text = page(results)
    path = results.parent / f"{results.name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    print(f"wrote {path}", flush=True)


def page(results: Path) -> str:
    parts, verdicts = [], []
    for folder in sorted(p for p in results.glob("*") if p.is_dir()):
        records = [r for p in sorted(folder.glob("*.jsonl")) for r in load(p)]
        if any(of(records, kind) for kind in ("race", "cores", "regret", "process")):
            parts += processor(records, folder / CAUSES)
            verdicts += verdict(records)
    return "\n\n".join([TITLE, *verdicts, HEAD, *parts]) + "\n" if parts else NOTHING


def verdict(records: Sequence[Record]) -> list[str]:
    """What was won on a processor, then what was missed: a sentence, if anything was raced there."""
    cells = of(records, "race")
    if not cells:
        return []
    processor = of(records, "run")[0]["facts"]["cpu"].replace("(R)", "").replace("family/model/stepping ", "")
    won, behind = (sum(f(r["ratio"]) for r in cells) for f in (lambda x: x >= 1, lambda x: x < BEHIND))
    worst = min(cells, key=lambda r: r["ratio"])
    missed, goals_measured = missed_of(records)
    return [
        f"On the {processor} thresher's `auto` is as fast as the fastest exact peer, or faster, in {won} of "
        f"{len(cells)} cells, {digits(mean([r['ratio'] for r in cells]))} times as fast in the geometric mean; it is "
        f"behind (below {BEHIND}) in {behind}, at worst {digits(worst['ratio'])} ({label(worst)}, m = {worst['m']}, "
        f"k = {worst['k']}), and {missed} of {goals_measured} goals are missed."
    ]


def of(records: Iterable[Record], kind: str) -> list[Record]:
    return [r for r in records if r["kind"] == kind]


def processor(records: Sequence[Record], causes: Path) -> list[str]:
    """The section of one processor. causes is a file written by hand."""
    runs = of(records, "run")
    facts = runs[0]["facts"]
    parts = [f"## {facts['cpu']}", setting(runs), goals(records, causes)]
    records = [r | {"set": label(r)} if "set" in r else r for r in records]
    cells = of(records, "race")
    if cells:
        parts += [
            counted(cells),
            metrics(cells),
            headline(cells),
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
    parts.append(two_cores(of(records, "cores")))
    parts.append(processes(of(records, "process")))
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
            ("command", commands(r["command"] for r in runs)),
        ],
    )


# The most cells of a command that are named.
NAMED = 8


def commands(run: Iterable[str]) -> str:
    """The commands that were run, each once; those that differ in their cells as one with all of these."""
    found: dict[str, dict[str, None]] = {}
    for command in run:
        start, _, of = command.partition(" --cells ")
        found.setdefault(start, {}).update({of: None} if of else {})
    return "; ".join(f"`{start} --cells {some(list(of))}`" if of else f"`{start}`" for start, of in found.items())


def some(cells: Sequence[str]) -> str:
    """Cells as an option, without most of them if there are many."""
    chosen = ",".join(cells).split(",")
    return ",".join(chosen[:NAMED]) + (f",.. ({len(chosen)} in all)" if len(chosen) > NAMED else "")


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


def metrics(cells: Sequence[Record]) -> str:
    """A row for each metric, if there are several."""
    found = sorted({metric(r) for r in cells})
    if len(found) < 2:
        return ""
    rows = []
    for name in found:
        mine = [r for r in cells if metric(r) == name]
        certain = [x for r in mine if (x := r.get("certain_ratio"))]
        behind, slower = sum(r["ratio"] < BEHIND for r in mine), sum(BEHIND <= r["ratio"] < 1 for r in mine)
        shown = (digits(mean([r["ratio"] for r in mine])), digits(mean(certain)) if certain else "")
        rows.append((name, len(mine), *shown, behind or "", slower or ""))
    header = ("metric", "cells", "`auto`, geometric mean", "`certain`", f"behind (below {BEHIND})", "a little slower")
    return table(header, rows)


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


def headline(cells: Sequence[Record]) -> str:
    """A row a set: auto and certain over the best peer, for one query and for a batch."""
    ks = sorted({r["k"] for r in cells})
    rows = []
    for name in dict.fromkeys(r["set"] for r in cells):
        mine = {(r["m"], r["k"]): r for r in cells if r["set"] == name}
        one = next(iter(mine.values()))
        batch = max(m for m, _ in mine if m <= BATCH)
        shown: list[str] = []
        for m in (1, batch):
            for field in ("ratio", "certain_ratio"):
                values = [mine[m, k].get(field) if (m, k) in mine else None for k in ks]
                shown.append(" / ".join(digits(v) or "-" for v in values) if any(values) else "")
        rows.append((name, f"{one['n']:,} x {one['d']}", *shown[:2], batch, *shown[2:]))
    header = ("set", "atoms", "1 query: `auto`", "`certain`", "m", "m queries: `auto`", "`certain`")
    said = f"The best peer's time over that of `auto` and of `certain`, k = {' / '.join(f'{k:,}' for k in ks)}."
    return f"### Sets, `certain` beside `auto`\n\n{said}\n\n{table(header, rows)}"


def beside(cells: Sequence[Record]) -> str:
    """How much longer certain takes than auto and adaptive."""
    rows = []
    for k in sorted({r["k"] for r in cells}):
        mine = [r for r in cells if r["k"] == k and "certain" in r["us"]]
        if mine:
            auto = [r["us"]["certain"] / r["us"]["auto"] for r in mine]
            adaptive = [beside_adaptive(r) or 0 for r in mine]
            rows.append(
                (
                    *(k, len(mine), digits(mean(auto)), digits(max(auto))),
                    *(digits(mean(adaptive)), digits(max(adaptive)), sum(x > BESIDE for x in adaptive)),
                )
            )
    header = ("k", "cells", "over `auto`", "greatest", "over `adaptive`", "greatest", f"above {BESIDE}")
    parts = ["Time of `certain` over that of `auto` and of `adaptive`, geometric means:", table(header, rows)]
    far = sorted((r for r in cells if (beside_adaptive(r) or 0) > BESIDE), key=lambda r: -(beside_adaptive(r) or 0))
    if far:
        listed = [
            (
                *(r["set"], r["m"], r["k"], digits(beside_adaptive(r))),
                *(plans(r, "certain"), plans(r, "adaptive") or plans(r, "auto")),
            )
            for r in far
        ]
        parts += [
            f"Cells above {BESIDE}, worst first:",
            table(("set", "m", "k", "over `adaptive`", "plan of `certain`", "plan of `adaptive`"), listed),
        ]
    return "\n\n".join(parts)


def plans(r: Record, method: str) -> str:
    return "; ".join(p.rpartition(": ")[2] for p in r["plans"].get(method, {}))


def losses(cells: Sequence[Record]) -> str:
    lost = sorted((r for r in cells if r["ratio"] < 1), key=lambda r: r["ratio"])
    title = "### Cells that a peer wins"
    if not lost:
        return f"{title}\n\nNone."
    rows = []
    for r in lost:
        low, high = r["quartiles"]
        ratio = f"**{digits(r['ratio'])}**" if r["ratio"] < BEHIND else digits(r["ratio"])
        rows.append(
            (
                *(r["set"], f"{r['n']:,} x {r['d']}", r["m"], r["k"]),
                *(r["best"], digits(r["us"][r["best"]]), digits(r["us"]["auto"])),
                *(
                    ratio,
                    f"{digits(low)} to {digits(high)}, {r['rounds']}",
                    digits(r.get("certain_ratio")),
                    plans(r, "auto"),
                ),
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
    found = [x for r in cells for x in r["recall"].values()]
    judged = [r for r in cells if by_criterion(r)]
    said = []
    for method in ("auto", "certain", "exact") if judged else ():
        wrong, checked = (sum(r[f].get(method, 0) for r in judged) for f in ("wrong", "checked"))
        said.append(f"`{method}` {wrong} of {checked:,}")
    bad = [f"{r['set']} m = {r['m']} k = {r['k']}" for r in judged if not r["compatible"]]
    return (
        (
            f"Wrong answers by float64 sums, queries counted in each cell: {', '.join(said)} (`auto` may fail with "
            "probability .01)."
            if said
            else f"Wrong answers are {NOT_COUNTED}."
        )
        + f" The peers raced find at least {min(found):.4f} of the k best in float32."
        + (f" **Not compatible with delta: {', '.join(bad)}.**" if bad else "")
    )


def two_cores(records: Sequence[Record]) -> str:
    """The same search on one core and on two."""
    if not records:
        return ""
    rows = [
        (
            *(r["set"], f"{r['n']:,} x {r['d']}", r["m"], r["k"], f"`{r.get('method', 'auto')}`"),
            *(digits(r["one_us"]), digits(r["other_us"]), digits(r["ratio"]), digits(r["ratio"] / 2)),
        )
        for r in records
    ]
    header = ("set", "atoms", "m", "k", "method", "one core, µs", "two cores, µs", "ratio", "of a core each")
    return f"### Two cores\n\nµs a query, in turns.\n\n{table(header, rows)}"


def processes(records: Sequence[Record]) -> str:
    """Whole processes, from files to files."""
    if not records:
        return ""
    said = (
        "`thresher search` and a Python process that calls `faiss.knn`, each from its start to its end, from the same "
        ".npy files to a file of answers, on all cores, in turns; `auto` with delta .01."
    )
    rows = [
        (
            *(r["set"], f"{r['n']:,} x {r['d']}", f"{r['m']:,}", r["k"]),
            *(digits(median(r["seconds"][name])) for name in ("thresher", "faiss.knn")),
            *(digits(r["ratio"]), f"{r['recall']:.4f}"),
        )
        for r in records
    ]
    header = ("set", "atoms", "m", "k", "thresher, s", "faiss.knn, s", "ratio", "answers that both have")
    return f"### Whole processes\n\n{said}\n\n{table(header, rows)}"


def regret(records: Sequence[Record]) -> str:
    """How far the planner's choice, and a fixed ladder, are from the best plan timed."""
    better = sum(r["fixed_regret"] < r["regret"] / 1.05 for r in records)
    said = (
        "The time of the plan that the planner chose over that of the best of a few: the four of the least forecast "
        "cost, whole rows, the dense scan and a *fixed* ladder that depends on the dimension and k alone (the dense "
        "scan from k = 1,000 on, whole rows up to 128 dimensions, else 64 coordinates, from k = 100 on 128, then whole "
        f"rows). The fixed ladder is faster than the choice by more than 5% in {better} of {len(records)} cells. "
        f"Geometric means: {exactly([r['regret'] for r in records])} of the choice, "
        f"{exactly([r['fixed_regret'] for r in records])} of the fixed ladder."
    )
    by_size = regrets(records, "atoms", lambda r: size(r["n"]), [name for _, name in SIZES])
    dims = sorted({r["d"] for r in records})
    by_dim = regrets(records, "dimension", lambda r: r["d"], dims)
    far = sorted((r for r in records if r["regret"] >= WORTH_TELLING), key=lambda r: -r["regret"])
    parts = [said, by_size, by_dim]
    if far:
        listed = [
            (r["set"], r["m"], r["k"], digits(r["regret"]), r["chosen"], r["best"], digits(r["fixed_regret"]))
            for r in far
        ]
        header = ("set", "m", "k", "regret", "chosen", "best", "of the fixed ladder")
        parts += [f"Choices of a regret from {WORTH_TELLING} on, worst first:", table(header, listed)]
    return "\n\n".join(parts)


def exactly(xs: Sequence[float]) -> str:
    return f"{mean(xs):.3f}"


def regrets(
    records: Sequence[Record], title: str, of_group: Callable[[Record], object], all_of: Sequence[object]
) -> str:
    """A row for each group and k."""
    rows = []
    for group in all_of:
        for k in sorted({r["k"] for r in records}):
            mine = [r for r in records if of_group(r) == group and r["k"] == k]
            if not mine:
                continue
            worst = max(mine, key=lambda r: r["regret"])
            where = f"{worst['set']} m = {worst['m']}: {worst['chosen']}, best {worst['best']}"
            chosen, fixed = [r["regret"] for r in mine], [r["fixed_regret"] for r in mine]
            rows.append(
                (
                    *(group, k, len(mine), digits(mean(chosen)), f"{digits(max(chosen))} ({where})"),
                    *(digits(mean(fixed)), digits(max(fixed))),
                )
            )
    header = (title, "k", "cells", "regret, geometric mean", "greatest", "of the fixed ladder", "its greatest")
    return table(header, rows)


def sets(made: Sequence[Record]) -> str:
    rows = [(r["name"], f"{r['atoms']:,} x {r['dimension']}", f"{r['norm_spread']:.2f}", r["from"]) for r in made]
    return f"### Sets\n\n{table(('set', 'atoms', 'norms: deviation over mean', 'made of'), rows)}" if rows else ""
