"""docs/benchmarks/cpu.md and its plots, made of the results."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from data import MAIN
from environment import ROOT
from results import Record, load
from roofline import KERNELS, PEAKS

# What was set out to be reached. FAISS's time over thresher's, by k = 1, 10,
# 100, for one query and for batches of 256 and more.
TARGETS: dict[str, tuple[dict[int, float], dict[int, float]]] = {
    "lsa768": ({1: 60, 10: 30, 100: 8}, {1: 22, 10: 13, 100: 6}),
    "lsa1536": ({1: 100, 10: 30, 100: 8}, {1: 34, 10: 17, 100: 6}),
    "power768": ({1: 80, 10: 40, 100: 18}, {1: 27, 10: 17, 100: 8}),
    "power4096": ({1: 130, 10: 75, 100: 32}, {1: 75, 10: 40, 100: 13}),
    "iid768": ({1: 5.5, 10: 5.5, 100: 5}, {1: 4.3, 10: 4.2, 100: 3.5}),
}
OVER_EXACT = 0.9  # thresher's own dense path over its choice
TWO_THREADS = 1.8
AVX2_SLOWER = 2.5
BUILD_MB_S = 300.0
MEMORY = 1.4  # from 512 dimensions on
RECALLS = (0.95, 0.99, 0.999)

PLOTS = (
    ("speedup-d", "Speed-up by dimension"),
    ("speedup-n", "Speed-up by number of atoms"),
    ("speedup-k", "Speed-up by k"),
    ("speedup-m", "Speed-up by batch"),
    ("speedup-delta", "Speed-up by delta"),
    ("indexes-lsa768", "Recall and time, building included: LSA"),
    ("indexes-power768", "Recall and time, building included: synthetic embeddings"),
)


class Misses:
    """What was asked for and not reached, in the order found."""

    def __init__(self) -> None:
        self.judged = 0
        self.lines: list[str] = []

    def judge(self, reached: bool, what: str) -> str:
        """A mark for the table: empty, or that a target was missed."""
        self.judged += 1
        if not reached:
            self.lines.append(what)
        return "" if reached else " ✗"


def write(results: Path) -> None:
    """Writes the report beside the folder of results."""
    files = {p.stem: load(p) for p in sorted(results.glob("*.jsonl"))}
    records = [r for f in files.values() for r in f]
    if any(r["kind"] == "sweep" for r in records) or any(r["kind"] == "peer" for r in records):
        subprocess.run(["go", "run", "./bench/plots", "-results", results.resolve()], cwd=ROOT, check=True)
    misses = Misses()
    sections = [
        speed(records, misses), own_dense(records, misses), wrong(records), compared(records, misses), builds(records, misses),
        indexes(records), every_cell(records), reading(records), split(records), limits(records, results), plots(results), sets(records),
    ]  # fmt: skip
    text = "\n\n".join([head(files), summary(misses), *(s for s in sections if s)]) + "\n"
    (results.parent / f"{results.name}.md").write_text(text)
    print(f"wrote {results.parent / results.name}.md", flush=True)


def of(records: list[Record], kind: str, **fields: object) -> list[Record]:
    return [r for r in records if r["kind"] == kind and all(r.get(f) == v for f, v in fields.items())]


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(str(c) for c in line) + " |" for line in lines)


def digits(x: float | None) -> str:
    """Three significant digits, and no more places than they need."""
    if x is None:
        return ""
    if abs(x) >= 100:
        return f"{x:,.0f}"
    return f"{float(f'{x:.2g}' if abs(x) < 10 else f'{x:.3g}'):g}"


def head(files: dict[str, list[Record]]) -> str:
    runs: dict[str, list[str]] = {}
    facts: dict[str, Record] = {}
    for name, records in files.items():
        for r in of(records, "run"):
            key = str((r["facts"], r["commit"], r["command"]))
            facts[key] = r
            runs.setdefault(key, []).append(name)
    parts = ["# thresher on the CPU, against its peers", "Written by `make bench-peers` (`python3 bench/bench.py`) from the results in the folder beside it; not by hand."]
    for key, names in runs.items():
        f = facts[key]["facts"]
        rows = [
            ("processor", f"{f['cpu']}, {f['cores']} cores, caches {f['caches']}"),
            ("its flags", " ".join(f["flags"])),
            ("system", f["system"]),
            ("thresher", f"commit {facts[key]['commit'] or 'unknown'}, {f['go']}"),
            ("peers", f"FAISS {f['faiss']} ({' '.join(f['faiss_options'])}), numpy {f['numpy']}, Python {f['python']}"),
            ("command", f"`{facts[key]['command']}`"),
            ("results", ", ".join(names)),
        ]
        parts.append(table(("run", ""), rows))
    return "\n\n".join(parts)


def summary(misses: Misses) -> str:
    lines = [f"{misses.judged - len(misses.lines)} of {misses.judged} targets reached."]
    if misses.lines:
        lines.append("Missed (✗ in the tables):\n\n" + "\n".join(f"- {line}" for line in misses.lines))
    return "## Targets\n" + "\n\n".join(lines)


def speed(records: list[Record], misses: Misses) -> str:
    rows = []
    for name in MAIN:
        cells = {(r["m"], r["k"]): r for r in of(records, "race", set=name)}
        ms = (1, 16, 256, 1024)
        for k in sorted({k for _, k in cells}):
            row = [name, k]
            for m in ms:
                cell = cells.get((m, k))
                target = TARGETS[name][m >= 256].get(k) if name in TARGETS and m != 16 else None
                if cell is None:
                    row.append("")
                elif target is None:
                    row.append(digits(cell["ratio"]))
                else:
                    mark = misses.judge(cell["ratio"] >= target, f"{name}, m = {m}, k = {k}: {digits(cell['ratio'])} times FAISS, target {digits(target)}")
                    row.append(f"{digits(cell['ratio'])} ({digits(target)}){mark}")
            rows.append(row)
    if not rows:
        return ""
    return "\n\n".join([
        "## Times faster than FAISS's exact search",
        "FAISS IndexFlatIP's time over thresher's on the same queries, in brackets the target; m queries a call, delta .01, one core, "
        "median of the ratios of paired turns. thresher runs through its library as a caller would, by the plan it chooses itself; FAISS "
        "is called below its Python wrapper, by its BLAS path, and for small batches also row by row: its faster way counts.",
        table(("data", "k", "m = 1", "m = 16", "m = 256", "m = 1,024"), rows),
    ])  # fmt: skip


def own_dense(records: list[Record], misses: Misses) -> str:
    cells = [r for r in of(records, "race") if "over_exact" in r]
    if not cells:
        return ""
    below = [r for r in cells if r["over_exact"] < OVER_EXACT]
    for r in below:
        misses.judge(False, f"{r['set']}, m = {r['m']}, k = {r['k']}: {digits(r['over_exact'])} of the speed of its own dense path, target {OVER_EXACT}")
    misses.judged += len(cells) - len(below)
    rows = []
    for name in dict.fromkeys(r["set"] for r in cells):
        of_set = [r for r in cells if r["set"] == name]
        least = min(of_set, key=lambda r: r["over_exact"])
        beside = max(r["faiss_us"] / r["exact_us"] for r in of_set)
        rows.append((name, digits(least["over_exact"]), f"m = {least['m']}, k = {least['k']}", digits(beside)))
    return "\n\n".join([
        "## Never slower than its own dense scan",
        f"Time of method `exact`, thresher's dense path, over the time of its own choice; target {OVER_EXACT} in each of {len(cells)} cells.",
        table(("data", "least", "at", "`exact` against FAISS, best"), rows),
    ])  # fmt: skip


def wrong(records: list[Record]) -> str:
    cells = of(records, "race") + of(records, "sweep")
    if not cells:
        return ""
    total, checked = sum(r["wrong"] for r in cells), sum(r["checked"] for r in cells)
    allowed = sum(r["allowed"] for r in cells)
    dense = sum(r.get("exact_checked", 0) for r in cells), sum(r.get("exact_wrong", 0) for r in cells)
    bad = [r for r in cells if not r["compatible"]]
    lines = [
        "## Wrong answers",
        "Every query of every cell is checked against float64 sums. An answer is wrong if one of its atoms scores below the k-th best by more "
        "than 2^-22 |q| max(|v|, |v_k|). Queries of one set share a random rotation, so they fail together.",
        f"thresher: {total} wrong of {checked:,} answers in {len(cells)} cells; delta allows {allowed:,.0f} on average. "
        f"{sum(r['certain_wrong'] for r in cells)} of them under a certificate that needs no probability. "
        f"Its dense path: {dense[1]} of {dense[0]:,}.",
    ]
    if bad:
        where = ", ".join(f"{r['set']} m = {r['m']} k = {r['k']}" for r in bad)
        lines.append(f"**Not compatible with delta (binomial, 1e-6)**: {where}.")
    some = [r for r in cells if r["wrong"]]
    if some:
        rows = [(r["set"], r["m"], r["k"], r["delta"], r["wrong"], r["checked"], digits(r["allowed"]), f"{r['p']:.2g}") for r in some]
        lines.append(table(("data", "m", "k", "delta", "wrong", "of", "delta allows", "p, if independent"), rows))
    flat = of(records, "faiss")
    if flat:
        said = ", ".join(f"{r['set']} k = {r['k']}: {r['wrong']}" for r in flat if r["wrong"])
        lines.append(f"FAISS's float32 answers by the same check, of {flat[0]['checked']:,} queries a cell: {said or 'none wrong'}.")
    return "\n\n".join(lines)


def compared(records: list[Record], misses: Misses) -> str:
    parts = []
    for one, title, wanted, target in (
        ("1 thread", "Two cores against one", "time on one core over time on two", TWO_THREADS),
        ("avx2", "AVX2 against the best kernels", "time with AVX2 kernels over time with the best", AVX2_SLOWER),
    ):
        cells = of(records, "versus", one=one)
        if not cells:
            continue
        rows = []
        for name in dict.fromkeys(r["set"] for r in cells):
            row = [name]
            for m in (1, 256):
                for k in (1, 10, 100):
                    cell = next((r for r in cells if (r["set"], r["m"], r["k"]) == (name, m, k)), None)
                    if cell is None:
                        row.append("")
                        continue
                    reached = cell["ratio"] >= target if one == "1 thread" else cell["ratio"] <= target
                    mark = misses.judge(reached, f"{title}, {name}, m = {m}, k = {k}: {digits(cell['ratio'])}, target {digits(target)}")
                    row.append(digits(cell["ratio"]) + mark)
            rows.append(row)
        bound = "at least" if one == "1 thread" else "at most"
        kernels = " and ".join(dict.fromkeys(cells[0]["kernels"]))
        parts.append("\n\n".join([
            f"## {title}",
            f"thresher's {wanted}, in turns ({kernels}); target {bound} {target}.",
            table(("data", *(f"m = {m}, k = {k}" for m in (1, 256) for k in (1, 10, 100))), rows),
        ]))  # fmt: skip
    return "\n\n".join(parts)


def builds(records: list[Record], misses: Misses) -> str:
    sizes = {r["name"]: r for r in of(records, "set")}
    rows = []
    for r in of(records, "build"):
        rate = r["build_mb_s"] / r["threads"]
        mark = misses.judge(rate >= BUILD_MB_S, f"build of {r['set']}, {r['kernels']}, {r['threads']} threads: {digits(rate)} MB/s a core, target {digits(BUILD_MB_S)}")
        row = [r["set"], r["kernels"], r["threads"], digits(r["load_seconds"]), digits(r["build_seconds"]), digits(rate) + mark, digits(r["memory"])]
        if sizes.get(r["set"], {}).get("dimension", 0) >= 512:
            row[-1] += misses.judge(r["memory"] <= MEMORY, f"memory of {r['set']}: {r['memory']:.3g} of the data, target {MEMORY}")
        rows.append([*row, digits(r["peak"])])
    if not rows:
        return ""
    return "\n\n".join([
        "## Build time and memory",
        f"Seconds to read the file and to prepare it, the median of several processes. Targets: {BUILD_MB_S:g} MB of float32 a second and core; "
        f"from 512 dimensions on, a collection of at most {MEMORY} times the data. Peak is the process's greatest resident memory over the data.",
        table(("data", "kernels", "threads", "read, s", "build, s", "MB/s a core", "memory", "peak"), rows),
    ])  # fmt: skip


def indexes(records: list[Record]) -> str:
    """For each recall the fastest setting of each index that reaches it, and
    after how many queries its build is paid."""
    parts = []
    for name in dict.fromkeys(r["set"] for r in of(records, "peer")):
        build = next((r["build_seconds"] for r in of(records, "build", set=name, task=name)), None)
        if build is None:
            continue
        rows = []
        for wanted in RECALLS:
            for peer in of(records, "peer", set=name):
                good = [p for p in peer["points"] if p["recall"] >= wanted]
                if not good:
                    rows.append((wanted, peer["index"], "not reached", *[""] * 8))
                    continue
                row: list[object] = [wanted, peer["index"]]
                for m in (1, 256):
                    p = min(good, key=lambda p: p[f"us_m{m}"])
                    saved = (p[f"thresher_us_m{m}"] - p[f"us_m{m}"]) * 1e-6
                    pays = f"{max(0.0, (peer['build_seconds'] - build) / saved):,.0f}" if saved > 0 else "never"
                    row += [f"{p['setting']}: {p['recall']:.4f}", digits(p[f"us_m{m}"]), digits(p[f"thresher_us_m{m}"]), pays]
                rows.append([*row, digits(peer["build_seconds"])])
        parts.append(f"### {name}, k = 10; thresher is built in {digits(build)} s\n" + table(
            ("recall", "index", "m = 1", "µs", "thresher µs", "pays after", "m = 256", "µs", "thresher µs", "pays after", "build, s"), rows
        ))  # fmt: skip
    if not parts:
        return ""
    return "\n\n".join([
        "## Indexes with a recall",
        "The fastest setting that reaches a recall, and how many queries it takes until the index's longer build is paid: (its build - thresher's "
        "build) / (thresher's time a query - its own). thresher's recall is above .9999 throughout (see wrong answers). One core, µs a query.",
        *parts,
    ])  # fmt: skip


def every_cell(records: list[Record]) -> str:
    rows = []
    for r in of(records, "race"):
        low, high = r["ratio_range"]
        rows.append((
            r["set"], r["m"], r["k"], digits(r["faiss_us"]) + (" rows" if r["faiss"] == "faiss-rows" else ""), digits(r["faiss_gflops"]), digits(r["ours_us"]),
            digits(r["ratio"]), f"{digits(low)} to {digits(high)}, {r['rounds']}", digits(r.get("over_exact")), f"{r['wrong']} of {r['checked']} ({digits(r['allowed'])})",
        ))  # fmt: skip
    if not rows:
        return ""
    header = ("data", "m", "k", "FAISS µs", "GFLOP/s", "thresher µs", "ratio", "range, rounds", "over `exact`", "wrong (allowed)")
    said = "µs a query; `rows` where FAISS's row by row path was the faster; the range is that of the rounds."
    return "## Every cell\n" + said + "\n\n" + table(header, rows)


def reading(records: list[Record]) -> str:
    cells = [r for r in of(records, "race") if r["set"] in MAIN and r["m"] in (1, 256)]
    rows = []
    for r in cells:
        plan = "; ".join(f"{plan} ({count / r['checked']:.0%})" if len(r["plans"]) > 1 else plan for plan, count in r["plans"].items())
        rows.append((r["set"], r["m"], r["k"], digits(r["saving"]), digits(r["rows"]), "; ".join(r["looks"]), f"{r['certain']:.0%}", plan))
    if not rows:
        return ""
    header = ("data", "m", "k", "saving", "rows a query", "looks: survivors of those seen", "certain", "method, guarantee: plan")
    said = "Coordinates a dense scan reads over those read, atoms scored in full, what each look kept, and the share of answers that needed no probability."
    return "## What is read\n" + said + "\n\n" + table(header, rows)


def split(records: list[Record]) -> str:
    rows = []
    for r in of(records, "split"):
        rows.append((r["set"], r["m"], r["k"], ", ".join(f"{name.replace('thresher/', '')} {share:.0f}%" for name, share in r["functions"][:8] if share >= 1)))
    if not rows:
        return ""
    return "## Where the time goes\nFunctions by their share of a CPU profile of searches.\n\n" + table(("data", "m", "k", "functions"), rows)


def limits(records: list[Record], results: Path) -> str:
    """The kernels' rates beside the processor's; what explains the distance is
    written by hand in limits.md."""
    rows = []
    for package, title in ((PEAKS, "the processor"), (KERNELS, "kernels")):
        for r in of(records, "benchmark", package=package):
            m = r["metrics"]
            bytes_ = m.get("GB/s", m.get("MB/s", 0) / 1000)
            rows.append((title, r["name"], digits(m["ns/op"]), digits(m.get("GMAC/s")), digits(bytes_) if bytes_ else ""))
    by_hand = results / "limits.md"
    if not rows and not by_hand.exists():
        return ""
    parts = ["## Roofline", f"`go test -run '^$' -bench . {PEAKS} {KERNELS}`, on one core."]
    if rows:
        parts.append(table(("of", "benchmark", "ns", "GMAC/s", "GB/s"), rows))
    if by_hand.exists():
        parts.append(by_hand.read_text().strip())
    return "\n\n".join(parts)


def plots(results: Path) -> str:
    there = [(name, title) for name, title in PLOTS if (results / f"{name}.png").exists()]
    if not there:
        return ""
    return "## Plots\n" + "\n\n".join(f"![{title}]({results.name}/{name}.png)" for name, title in there)


def sets(records: list[Record]) -> str:
    rows = [
        (r["name"], f"{r['atoms']:,} x {r['dimension']}", f"{r['queries']:,}", f"{r['norm_spread']:.2f}", r["from"]) for r in of(records, "set")
    ]
    if not rows:
        return ""
    absent = [name for name in MAIN if not of(records, "set", name=name)]
    said = f"Not run here: {', '.join(absent)}." if absent and len(rows) > 2 else ""
    header = ("data", "atoms", "queries", "norms: deviation over mean", "made of")
    return "\n\n".join(["## Data", table(header, rows), *([said] if said else [])])
