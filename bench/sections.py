"""The sections of the report. Each is empty if its task has no results."""

from __future__ import annotations

from pathlib import Path
from statistics import median

import roofline
import targets
from answers import NOT_COUNTED, Answers, allowed, by_criterion, distinct
from markdown import digits, section, table
from results import Record
from sets import MAIN, NEEDS
from targets import Misses

BATCHES = (1, 16, 256, 1024)
COMPARED = [(m, k) for m in (1, 256) for k in (1, 10, 100)]
RECALLS = (0.95, 0.99, 0.999)
EARLIER = "†"  # marks a set whose results are of an earlier kind of race


def of(records: list[Record], kind: str, **fields: object) -> list[Record]:
    """The records of a kind with these fields."""
    return [r for r in records if r["kind"] == kind and all(r.get(f) == v for f, v in fields.items())]


def names(records: list[Record]) -> list[str]:
    """The sets of some records, in order."""
    return list(dict.fromkeys(r["set"] for r in records))


def marked(r: Record) -> str:
    return f"{r['set']} {EARLIER}" if r.get("earlier") else str(r["set"])


def cell(r: Record) -> str:
    return f"{r['set']}, m = {r['m']}, k = {r['k']}"


def speed(records: list[Record], misses: Misses) -> str:
    rows = []
    for name in MAIN:
        cells = {(r["m"], r["k"]): r for r in of(records, "race", set=name)}
        for k in sorted({k for _, k in cells}):
            row = [marked(next(iter(cells.values()))), str(k)]
            for m in BATCHES:
                row.append(against_target(cells[m, k], misses) if (m, k) in cells else "")
            rows.append(row)
    if not rows:
        return ""
    return section(
        "FAISS's exact search over thresher",
        "The time of FAISS's exact search over thresher's on the same queries, in brackets the target; m queries a "
        "call, delta .01, one core, median of the ratios of paired turns. thresher runs through its library as a "
        "caller would, by the plan it chooses itself. FAISS is called below its Python wrapper, by IndexFlatIP's "
        f"products of matrices and row by row, and but for sets with {EARLIER} by IndexFlatIPPanorama: the fastest "
        "counts, and the table of every cell names it. Targets were set against IndexFlatIP.",
        "The targets of the LSA rows were set on package records (records768, records1536). The same stand beside "
        "passages of documentation (lsa768, lsa1536), whose best atoms stand out less: they are harder.",
        table(("data", "k", *(f"m = {m:,}" for m in BATCHES)), rows),
    )


def against_target(r: Record, misses: Misses) -> str:
    target = targets.faiss(r["set"], r["m"], r["k"])
    if target is None:
        return digits(r["ratio"])
    said = f"{cell(r)}: {digits(r['ratio'])} times FAISS, target {digits(target)}"
    return f"{digits(r['ratio'])} ({digits(target)})" + misses.judge(r["ratio"] >= target, said)


def slower(records: list[Record]) -> str:
    """The cells that FAISS wins."""
    cells = of(records, "race") + of(records, "sweep", over="k")
    rows = []
    for name in dict.fromkeys(map(marked, cells)):
        mine = [r for r in cells if marked(r) == name]
        lost = [r for r in mine if r["ratio"] < 1]
        if not lost:
            continue
        least = min(lost, key=lambda r: r["ratio"])
        at = f"m = {least['m']}, k = {least['k']}"
        ks = sorted({r["k"] for r in lost})
        rows.append((name, f"{len(lost)} of {len(mine)}", ", ".join(map(str, ks)), digits(1 / least["ratio"]), at))
    if not rows:
        return ""
    return section(
        "Where FAISS is faster",
        "Cells that thresher loses, those of the sweep over k included, and how many times as fast FAISS is in the "
        "worst.",
        table(("data", "lost", "at k", "FAISS times as fast", "at"), rows),
    )


def own_dense(records: list[Record], misses: Misses) -> str:
    cells = [r for r in of(records, "race") if "over_exact" in r]
    if not cells:
        return ""
    for r in cells:
        said = f"{cell(r)}: {digits(r['over_exact'])} of the speed of its own dense path, target {targets.OVER_EXACT}"
        misses.judge(r["over_exact"] >= targets.OVER_EXACT, said)
    rows = []
    for name in names(cells):
        mine = [r for r in cells if r["set"] == name]
        least = min(mine, key=lambda r: r["over_exact"])
        beside = [r["faiss_us"] / r["exact_us"] for r in mine]
        at = f"m = {least['m']}, k = {least['k']}"
        rows.append((marked(least), digits(least["over_exact"]), at, f"{digits(min(beside))} to {digits(max(beside))}"))
    return section(
        "Beside its own dense scan",
        "Time of method `exact`, thresher's dense path, over the time of its own choice: the least of each set; "
        f"target {targets.OVER_EXACT} in each of {len(cells)} cells. Beside it FAISS's time over that dense path's.",
        table(("data", "least", "at", "`exact` against FAISS"), rows),
    )


def wrong(records: list[Record]) -> str:
    cells = of(records, "race") + of(records, "sweep")
    if not cells:
        return ""
    definition = (
        "Every query of every cell is checked against float64 sums. An answer is wrong if one of the k best atoms is "
        "missing, v_i, that scores more than one of its atoms, v, by more than 2^-22 |q| max(|v_i|, |v|). An answer "
        "does not depend on the batch that it was asked in: each query counts once for each k and delta."
    )
    judged = [r for r in cells if by_criterion(r)]
    if not judged:
        return section("Wrong answers", definition, f"They are {NOT_COUNTED}.")
    groups = distinct(judged, {r["name"]: r["atoms"] for r in of(records, "set")})
    return section(
        "Wrong answers",
        definition,
        *by_certificate(judged, groups),
        surely([r for r in of(records, "answers") if by_criterion(r)]),
        *beyond_delta(groups),
        flat_wrong([r for r in of(records, "faiss") if by_criterion(r)]),
    )


def by_certificate(cells: list[Record], groups: list[Answers]) -> list[str]:
    """Wrong answers, and how many certificates allow."""
    checked, may = sum(g.checked for g in groups), sum(g.probabilistic for g in groups)
    wrong, sure = sum(g.wrong for g in groups), sum(g.certain_wrong for g in groups)
    dense = sum(r.get("exact_wrong", 0) for r in cells)
    return [
        f"thresher: {wrong} wrong of {checked:,} answers. {may:,} of them may be wrong by their certificates, of which "
        f"delta allows {sum(g.allowed for g in groups):,.0f} on average; {checked - may:,} are exact or certain, "
        f"{sure} of them wrong. Its dense path, beside: {dense} wrong.",
        f"The queries of a set share one random rotation and fail together: this is a sample of "
        f"{len({(g.data, g.atoms) for g in groups if g.probabilistic})} rotations.",
    ]


def beyond_delta(groups: list[Answers]) -> list[str]:
    """The sets that have wrong answers."""
    parts = []
    bad = [f"{g.data}, k = {g.k}, delta = {g.delta:g}" for g in groups if not g.compatible]
    if bad:
        parts.append(f"**Not compatible with delta (binomial, 1e-6)**: {'; '.join(bad)}.")
    rows = [
        (g.data, g.k, f"{g.delta:g}", g.wrong, g.probabilistic, digits(g.allowed), f"{g.p:.2g}")
        for g in groups
        if g.wrong
    ]
    if rows:
        parts.append(table(("data", "k", "delta", "wrong", "of", "delta allows", "p, if independent"), rows))
    return parts


def flat_wrong(flat: list[Record]) -> str:
    """What FAISS's exact search gets wrong in float32."""
    if not flat:
        return ""
    said = ", ".join(
        f"{r['set']} k = {r['k']} ({r.get('path', 'blas')}): {r['wrong']} of {r['checked']:,}"
        for r in flat
        if r["wrong"]
    )
    return f"FAISS's float32 answers by the same check: {said or 'none wrong'}."


def surely(answers: list[Record]) -> str:
    """The methods that may never be wrong."""
    said = []
    for method in dict.fromkeys(r["method"] for r in answers):
        mine = [r for r in answers if r["method"] == method]
        said.append(f"`{method}` {sum(r['wrong'] for r in mine)} of {sum(r['checked'] for r in mine):,}")
    return f"Methods that may never be wrong, each query at k = 1, 10, 100: {', '.join(said)}." if said else ""


def two_threads(records: list[Record], misses: Misses) -> str:
    cells = of(records, "versus", one="1 thread")
    target = targets.TWO_THREADS
    marks = [
        misses.judge(r["ratio"] >= target, f"two cores, {cell(r)}: {digits(r['ratio'])} times one, target {target}")
        for r in cells
    ]
    said = f"thresher's time on one core over its time on two, in turns; target at least {target}."
    return versus("Two cores against one", said, cells, marks)


def avx2(records: list[Record], misses: Misses) -> str:
    cells = of(records, "versus", one="avx2")
    target = targets.AVX2
    marks = [
        misses.judge(r["ratio"] <= target, f"AVX2, {cell(r)}: {digits(r['ratio'])} times as long, target {target}")
        for r in cells
    ]
    said = f"thresher's time with AVX2 kernels over its time with the best, in turns; target at most {target}."
    return versus("AVX2 against the best kernels", said, cells, marks)


def versus(title: str, said: str, cells: list[Record], marks: list[str]) -> str:
    if not cells:
        return ""
    shown = {(r["set"], r["m"], r["k"]): digits(r["ratio"]) + mark for r, mark in zip(cells, marks, strict=True)}
    rows = [(name, *(shown.get((name, m, k), "") for m, k in COMPARED)) for name in names(cells)]
    kernels = "Kernels: " + " and ".join(dict.fromkeys(cells[0]["kernels"])) + "."
    return section(title, f"{said} {kernels}", table(("data", *(f"m = {m}, k = {k}" for m, k in COMPARED)), rows))


def rates(records: list[Record]) -> str:
    """The build's rate by the best kernels on one core."""
    best = [r["build_mb_s"] for r in of(records, "build", threads=1) if r.get("task") == r["set"]]
    if not best:
        return ""
    return (
        f"By the best kernels on one core: {digits(min(best))} to {digits(max(best))} MB/s over {len(best)} sets, "
        f"median {digits(median(best))}. Builds take no turns: what else the host did is in them, by tens of per cent."
    )


def builds(records: list[Record], misses: Misses) -> str:
    dimension = {r["name"]: r["dimension"] for r in of(records, "set")}
    rows = []
    for r in of(records, "build"):
        rate = r["build_mb_s"] / r["threads"]
        who = f"{r['set']}, {r['kernels']}, {r['threads']} threads"
        slow = misses.judge(
            rate >= targets.BUILD, f"build of {who}: {digits(rate)} MB/s a core, target {targets.BUILD:g}"
        )
        large = ""
        if dimension.get(r["set"], 0) >= targets.MEMORY_FROM:
            said = f"memory of {who}: {r['memory']:.3g} of the data, target {targets.MEMORY}"
            large = misses.judge(r["memory"] <= targets.MEMORY, said)
        seconds = (digits(r["load_seconds"]), digits(r["build_seconds"]))
        sizes = (f"{r['memory']:.3g}{large}", digits(r["peak"]))
        rows.append((r["set"], r["kernels"], r["threads"], *seconds, digits(rate) + slow, *sizes))
    if not rows:
        return ""
    return section(
        "Build time and memory",
        "Seconds to read the file and to prepare it, the median of several processes. Targets: "
        f"{targets.BUILD:g} MB of float32 a second and core; from {targets.MEMORY_FROM} dimensions on a collection of "
        f"at most {targets.MEMORY} times the data. Peak is the process's greatest resident memory over the data.",
        rates(records),
        table(("data", "kernels", "threads", "read, s", "build, s", "MB/s a core", "memory", "peak"), rows),
    )


def indexes(records: list[Record]) -> str:
    """For each recall the fastest setting of each index that reaches it, and after how many
    queries its build is amortised."""
    parts = []
    for name in names(of(records, "peer")):
        mine = of(records, "build", set=name, task=name)
        if not mine:
            continue
        built = mine[0]["build_seconds"]
        rows = [
            (recall, peer["index"], *payment(peer, recall, built))
            for recall in RECALLS
            for peer in of(records, "peer", set=name)
        ]
        race = of(records, "race", set=name, m=256, k=10)
        judged = [r for r in race if by_criterion(r)]
        right = f"; {judged[0]['wrong']} of its {judged[0]['checked']:,} answers are wrong" if judged else ""
        header = ["recall", "index", "build, s"]
        for m in (1, 256):
            header += [f"m = {m}", "µs", "thresher µs", "pays after"]
        title = f"### {name}, k = 10\n\nthresher is built in {digits(built)} s{right}."
        parts.append(f"{title}\n\n{table(header, rows)}")
    if not parts:
        return ""
    return section(
        "Indexes with a recall",
        "The fastest setting that reaches a recall, called through its Python wrapper (some µs a call), built on one "
        "core; and how many queries it takes until the index's longer build is "
        "paid: (its build - thresher's build) / (thresher's time a query - its own). One core, µs a query, thresher's "
        "in the same turns. Indexes of FAISS's have their index factory's names: IVF1024 is 1,024 lists, SQ8 8 bits a "
        "coordinate, PQ256x4fs 256 codes of 4 bits and RaBitQfs one bit a coordinate, both by fast scan, RR a random "
        "rotation before, RFlat exact re-ranking.",
        *parts,
    )


def payment(peer: Record, recall: float, built: float) -> list[str]:
    good = [p for p in peer["points"] if p["recall"] >= recall]
    cells = [digits(peer["build_seconds"])]
    for m in (1, 256):
        if not good:
            cells += ["not reached", "", "", ""]
            continue
        p = min(good, key=lambda p: p[f"us_m{m}"])
        index, ours = p[f"us_m{m}"], p[f"thresher_us_m{m}"]
        pays = f"{max(0, 1e6 * (peer['build_seconds'] - built) / (ours - index)):,.0f}" if index < ours else "never"
        cells += [f"{p['setting']}: {p['recall']:.4f}", digits(index), digits(ours), pays]
    return cells


SWEEPS = {
    "k": "by k (package records, d = 768)",
    "n": "by the number of atoms (synthetic embeddings, d = 768, k = 10)",
    "d": "by dimension (synthetic embeddings, 20,000 atoms, k = 10)",
    "delta": "by delta (package records, k = 10)",
    "m": "by batch (package records, k = 10)",
}


def sweeps(records: list[Record]) -> str:
    """The speed-up against one quantity at a time, in figures."""
    parts = []
    for over, said in SWEEPS.items():
        cells = of(records, "sweep", over=over)
        rows = [
            (
                f"{r['value']:g}",
                f"{r['m']}",
                digits(r["faiss_us"]),
                digits(r["ours_us"]),
                f"**{digits(r['ratio'])}**" if r["ratio"] < 1 else digits(r["ratio"]),
                f"{digits(r['ratio_range'][0])} to {digits(r['ratio_range'][1])}",
            )
            for r in sorted(cells, key=lambda r: (r["m"] if over != "m" else 0, r["value"]))
        ]
        if rows:
            mark = f" {EARLIER}" if any(r.get("earlier") for r in cells) else ""
            header = (over, "queries a batch", "FAISS µs", "thresher µs", "ratio", "range")
            parts.append(f"### {said[0].upper()}{said[1:]}{mark}\n\n{table(header, rows)}")
    if not parts:
        return ""
    said = "µs a query, and FAISS's time over thresher's; bold where FAISS is the faster."
    return section("Sweeps", said, *parts)


def every_cell(records: list[Record]) -> str:
    rows = []
    names_of = {"faiss-rows": " rows", "faiss-panorama": " panorama"}
    disturbed = sum(r.get("disturbed", 0) for r in of(records, "race"))
    for r in of(records, "race"):
        low, high = r["ratio_range"]
        faiss = digits(r["faiss_us"]) + names_of.get(r["faiss"], "")
        ratio = (digits(r["ratio"]), f"{digits(low)} to {digits(high)}, {r['rounds']}", digits(r.get("over_exact")))
        answers = f"{r['wrong']} of {r['checked']} ({digits(allowed(r))})" if by_criterion(r) else "not counted"
        times = (faiss, digits(r["faiss_gflops"]), digits(r["ours_us"]))
        rows.append((marked(r), r["m"], r["k"], *times, *ratio, answers))
    if not rows:
        return ""
    header = ("data", "m", "k", "FAISS µs", "GFLOP/s", "thresher µs", "ratio", "range, rounds", "over `exact`")
    return section(
        "Every cell",
        "µs a query; `rows` or `panorama` where that path of FAISS's was the fastest, else products of matrices; the "
        "range is that of the rounds. In brackets what delta allows of the answers that may be wrong. "
        "A round in which other processes took more than 15% of a core was run again; of those below "
        f"{disturbed} had to be kept.",
        table((*header, "wrong (allowed)"), rows),
    )


def reading(records: list[Record]) -> str:
    rows = []
    for r in of(records, "race"):
        if r["set"] not in MAIN or r["m"] not in (1, 256):
            continue
        plan = "; ".join(f"{p} ({count / r['checked']:.0%})" for p, count in r["plans"].items())
        looks = "; ".join(r["looks"])
        rows.append(
            (r["set"], r["m"], r["k"], digits(r["saving"]), digits(r["rows"]), looks, f"{r['certain']:.0%}", plan)
        )
    if not rows:
        return ""
    header = ("data", "m", "k", "saving", "rows a query", "looks: kept of those seen", "certain", "plan")
    return section(
        "What is read",
        "Coordinates a dense scan reads over those read, atoms scored in full, what each look kept, the share of "
        "answers that needed no probability, and method, guarantee and plan.",
        table(header, rows),
    )


def split(records: list[Record]) -> str:
    rows = []
    for r in of(records, "split"):
        shares = (f"{name.replace('thresher/', '')} {share:.0f}%" for name, share in r["functions"][:8] if share >= 1)
        rows.append((r["set"], r["m"], r["k"], ", ".join(shares)))
    if not rows:
        return ""
    said = "Functions by their share of a CPU profile of searches."
    return section("Where the time goes", said, table(("data", "m", "k", "functions"), rows))


def limits(records: list[Record], by_hand: Path) -> str:
    """The kernels' rates next to the processor's. The explanation of the difference is written by
    hand in a file of its own."""
    peaks = of(records, "benchmark", package=roofline.PEAKS)
    kernels = of(records, "benchmark", package=roofline.KERNELS)
    parts = []
    if peaks:
        rows = [(p["name"], "{:.3g} {}".format(*roofline.rate(p["metrics"]))) for p in peaks]
        parts += [
            "What one core can do at most: products of registers that wait for nothing, and reads of one buffer again "
            "and again.",
            table(("processor", "rate"), rows),
        ]
    if kernels:
        speeds = [
            (name, *(digits(rates.get(i)) for i in roofline.INSTRUCTIONS), unit, f"{share:.0%}" if share else "")
            for name, unit, rates, share in roofline.rows(peaks, kernels)
        ]
        parts += [
            "Kernels alone, at the size where each is fastest, and the share of the products that the "
            "processor can do with its best instructions.",
            table(("kernel", *roofline.INSTRUCTIONS, "unit", "of the peak"), speeds),
        ]
    if by_hand.exists():
        parts.append(by_hand.read_text().strip())
    if not parts:
        return ""
    peaks_in, kernels_in = (f"`{folder.removeprefix('./')}`" for folder in (roofline.PEAKS, roofline.KERNELS))
    command = f"`go test -run '^$' -bench .` in {peaks_in} and in {kernels_in}, on one core."
    return section("Roofline", command, *parts)


def data(records: list[Record]) -> str:
    made = of(records, "set")
    if not made:
        return ""
    rows = [
        (r["name"], f"{r['atoms']:,} x {r['dimension']}", f"{r['queries']:,}", f"{r['norm_spread']:.2f}", r["from"])
        for r in made
    ]
    absent = [name for name in MAIN if not of(records, "set", name=name)]
    needs = (f"{name} (it needs {NEEDS[name]})" if name in NEEDS else name for name in absent)
    missing = f"Not run: {', '.join(needs)}." if absent else ""
    header = ("data", "atoms", "queries", "norms: deviation over mean", "made of")
    return section("Data", table(header, rows), missing)
