"""Writes docs/benchmarks/certify.md and docs/benchmarks/uses.md from the results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from markdown import digits, section, table
from results import Record, load

NOTHING = "Not measured yet; `make bench-uses` measures it.\n"
TITLES = {
    "graph": "k-NN graphs",
    "pairs": "Pairs above a similarity",
    "truth": "Ground truth",
    "negatives": "Hard negatives",
    "seen": "Candidates for users who have seen some items",
}
WORK = {
    "graph": "The {k} nearest others of each of {atoms:,} rows of {dimension} dimensions ({metric}).",
    "pairs": "All pairs of {atoms:,} rows of {dimension} dimensions with an inner product of at least {least}: "
    "{wanted:,}.",
    "truth": "The {k:,} best of {atoms:,} rows of {dimension} dimensions for each of {queries:,} queries ({metric}).",
    "negatives": "For each of {queries:,} queries the {k} best of {atoms:,} rows of {dimension} dimensions that score "
    "at most .95 of its positive's score. The positive is the query's third best row.",
    "seen": "The {k} best of {atoms:,} items of {dimension} dimensions for each of {users:,} users, but those that the "
    "user has seen: about 100 to 1,000, of which up to 100 are among the user's 200 best.",
}
# What of a contestant's result is told, and how.
TOLD = {
    "graph": (("recall", "recall"), ("different", "rows that differ")),
    "pairs": (("missed", "pairs missed"), ("extra", "pairs too many"), ("different", "rows in another component")),
    "truth": (("different", "answers that differ"),),
    "negatives": (("unfilled", "places left empty"), ("different", "answers that differ")),
    "seen": (("different", "answers that differ"),),
}


def write(results: Path) -> None:
    """Writes the pages next to the folder of results."""
    files = {p.stem: load(p) for p in sorted(results.glob("*.jsonl"))}
    for name, text in (("certify", certify_page(files)), ("uses", uses_page(files))):
        path = results.parent / f"{name}.md"
        path.write_text(text or NOTHING)
        print(f"wrote {path}", flush=True)


def of(records: Sequence[Record], kind: str) -> list[Record]:
    return [r for r in records if r["kind"] == kind]


def head(title: str, said: str, runs: list[Record]) -> str:
    """The start of a page: where and with what its results were measured."""
    parts = [f"# {title}", said]
    kinds: dict[str, Record] = {}
    for run in runs:
        kinds.setdefault(str((run["facts"], run["commit"])), run)
    for run in kinds.values():
        f = run["facts"]
        packages = ", ".join(
            f"{name} {f[name]}"
            for name in ("numpy", "faiss", "scikit-learn", "pynndescent", "sentence-transformers", "torch", "implicit")
            if f.get(name)
        )
        parts.append(
            table(
                ("run", ""),
                [
                    ("processor", f"{f['cpu']}, {f['cores']} cores, caches {f['caches']}"),
                    ("system", f"{f['system']}, {f['go']}, Python {f['python']}"),
                    ("packages", f"{packages}, {f['hnswlib']}, {f['scann']}"),
                    ("commit", f"{run['commit']}, `{run['command']}`"),
                ],
            )
        )
    return "\n\n".join(parts)


# certify.md


def certify_page(files: dict[str, list[Record]]) -> str:
    records = files.get("certify", []) + files.get("foreign", [])
    if not of(records, "certify"):
        return ""
    said = (
        "`thresher certify` proves or corrects the answers of other programs. Written by "
        "`python3 bench/uses/uses.py --only certify,foreign` from the results in [uses](uses); not by hand."
    )
    parts = [head("Certifying the answers of others", said, of(records, "run")), how(), summary(of(records, "certify"))]
    for data in of(records, "set"):
        parts.append(of_set(data, [r for r in of(records, "certify") if r["set"] == data["set"]]))
    parts += [forms(of(records, "foreign")), tampered(of(records, "tampered"))]
    return "\n\n".join(p for p in parts if p) + "\n"


def how() -> str:
    return section(
        "How it is measured",
        "hnswlib, FAISS's inverted lists and ScaNN answer the queries, each at the settings whose recalls are nearest "
        "to .8, .95 and .99, and their answers are written as their users write them. Then `thresher certify` and "
        "`thresher search`, both with `--method certain -k 10` on all cores, run in turns; the ratio is the time of "
        "certify over that of the search before it, the median over the rounds, of the search seconds that both "
        "print and, in brackets, of whole processes, which also read the rows and prepare them. Two more files show "
        "the limits: the right answers, and ids drawn at random.",
        "Recall is measured by `thresher recall` and by float64 sums in numpy, which must agree; atoms that tie "
        "with the k-th best stand for each other. *Differ* counts certified answers that are not those of a float64 "
        "search of all atoms: none may.",
    )


def summary(records: list[Record]) -> str:
    """The targets, and what was found."""
    good = [r for r in records if r["recall"] >= 0.9 and r["recall"] < 1]
    lines = [
        f"- {sum(r['compared'] for r in records):,} answers certified in {len(records)} files: "
        f"{sum(r['different'] for r in records)} differ from the float64 oracle's.",
        f"- Largest difference between the recalls of `thresher recall` and numpy: "
        f"{max(abs(r['recall'] - r['recall_numpy']) for r in records):.2g}.",
    ]
    for name in dict.fromkeys(r["set"] for r in records):
        ratios = [r["ratio"] for r in good if r["set"] == name]
        useless = [r["ratio"] for r in records if r["set"] == name and r["index"] == "ids drawn at random"]
        if ratios and useless:
            lines.append(
                f"- {name}: answers with recall .9 to 1 take {digits(min(ratios))} to {digits(max(ratios))} of a "
                f"search's time (target .7), useless candidates {digits(useless[0])} (target 1.1)."
            )
    return section("Found", "\n".join(lines))


def of_set(data: Record, records: list[Record]) -> str:
    rows = [
        (
            r["index"],
            r["setting"],
            f"{r['recall']:.4f}",
            f"{r['ratio']:.2f} ({r['ratio_wall']:.2f})",
            f"{digits(r['certify_seconds'])} / {digits(r['search_seconds'])}",
            f"{r['corrected']:,}",
            f"{r['missing']:,}",
            r["different"],
        )
        for r in records
    ]
    title = f"{data['set']}: {data['atoms']:,} x {data['dimension']}, {data['metric']}, {data['queries']:,} queries"
    columns = ("answers of", "setting", "recall before", "certify / search", "seconds", "corrected", "ids", "differ")
    return section(title, f"{data['from'][0].upper()}{data['from'][1:]}.", table(columns, rows))


def forms(records: list[Record]) -> str:
    if not records:
        return ""
    rows = [(r["set"], r["form"], f"{r['recall']:.6f}", f"{r['recall_numpy']:.6f}") for r in records]
    return section(
        "Forms of answers",
        "The same answers, of half of which the last two ids are the next best, in other programs' forms.",
        table(("set", "form", "`thresher recall`", "numpy"), rows),
    )


def tampered(records: list[Record]) -> str:
    if not records:
        return ""
    rows = [(r["change"], found_out(r)) for r in records if r["set"] == records[0]["set"]]
    return section(
        "Tampered answers",
        f"What `thresher recall` says of such answers after one change ({records[0]['set']}; the other sets give the "
        "same).",
        table(("change", "found"), rows),
    )


def found_out(r: Record) -> str:
    if r["code"] != 0:
        return f"exit code {r['code']}: `{r['said']}`"
    said = [
        f"{r['scores_wrong']} scores are not the atoms'" if r["scores_wrong"] else "",
        f"{r['repeated']} repeated ids" if r["repeated"] else "",
        f"{r['short']} short answers" if r["short"] else "",
    ]
    return ", ".join(s for s in said if s) or "nothing"


# uses.md


def uses_page(files: dict[str, list[Record]]) -> str:
    records = [r for name in (*TITLES, "graph-large") for r in files.get(name, [])]
    sides = of(records, "side")
    if not sides:
        return ""
    said = (
        "What `thresher` and others need for the same work, on all cores of one machine. Written by "
        "`python3 bench/uses/uses.py` from the results in [uses](uses); not by hand. [docs/uses.md](../uses.md) shows "
        "how each is used."
    )
    how = section(
        "How it is measured",
        "Every contestant is a process of its own; while one works the others wait. *Seconds* are of the work "
        "itself, preparing an index or a collection included, without importing packages and without reading and "
        "writing files; *whole* is the process from start to end; *memory* is the most that was resident. Those that "
        "are fast enough run three times, and the median counts. Lines are those of the function in "
        "`bench/uses/rivals.py`, without reading and timing. All results are compared with float64 sums: a contestant "
        "that computes in float32 may differ in near ties.",
    )
    parts = [head("The uses, side by side", said, of(records, "run")), how]
    for use, title in TITLES.items():
        cells = dict.fromkeys((r["set"], r.get("k", 0)) for r in sides if r["use"] == use)
        if cells:
            parts.append(section(title, *(of_cell(use, cell, sides) for cell in cells), notes(use)))
    return "\n\n".join(p for p in parts if p) + "\n"


def of_cell(use: str, cell: tuple[str, int], sides: list[Record]) -> str:
    mine = [r for r in sides if r["use"] == use and (r["set"], r.get("k", 0)) == cell]
    told = TOLD[use]
    rows = []
    for r in mine:
        if "absent" in r or "failed" in r:
            why = f"{r['absent']} is not installed" if "absent" in r else f"failed: {r['failed']}"
            rows.append((r["contestant"], r["steps"], why, "", "", *("" for _ in told)))
            continue
        rows.append(
            (
                r["contestant"],
                r["steps"],
                digits(r["seconds"]),
                digits(r["wall"]),
                f"{r['peak'] / 2**20:,.0f} MiB",
                *(tell(r.get(field)) for field, _ in told),
            )
        )
    columns = ("contestant", "to write", "seconds", "whole", "memory", *(name for _, name in told))
    return f"**{cell[0]}.** {WORK[use].format(**mine[0])}\n\n{table(columns, rows)}"


def tell(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.4f}" if isinstance(value, float) else f"{value:,}"


def notes(use: str) -> str:
    return {
        "graph": "Every row of `thresher graph` is a `certain` answer. pynndescent is approximate; its seconds leave "
        "out the compilation on first use, which *whole* includes.",
        "pairs": "`paraphrase_mining` returns at most 100 partners a row and 500,000 pairs, by default. "
        "`community_detection` returns groups around a centre; a pair counts as missed unless both are in one group. "
        "k-means and pairs within clusters is the algorithm of NeMo Curator's semantic deduplication, by FAISS on the "
        "CPU; pairs between clusters are never compared.",
        "negatives": "`mine_hard_negatives` fetches the 10 k + 1 best and drops those above the ceiling: where too few "
        "are left, places stay empty. It is given the embeddings, so that no model runs; its seconds include the "
        "Python objects of its texts.",
        "seen": "`implicit` computes all products of a user's batch and skips the items seen when it selects; FAISS's "
        "selectors belong to a call, so that every user needs one.",
    }.get(use, "")
