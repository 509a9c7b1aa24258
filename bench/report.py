"""Writes docs/benchmarks/cpu.md and its plots from the results."""

from __future__ import annotations

from pathlib import Path

import sections
from environment import HERE, RACE, go
from markdown import section, table
from results import Record, load
from targets import Misses

PLOTS = (
    ("speedup-d", "Speed-up by dimension"),
    ("speedup-n", "Speed-up by number of atoms"),
    ("speedup-k", "Speed-up by k"),
    ("speedup-m", "Speed-up by batch"),
    ("speedup-delta", "Speed-up by delta"),
    ("indexes-records768", "Recall and time, building included: LSA of package records"),
)


def write(results: Path) -> None:
    """Writes the report next to the folder of results."""
    files = {p.stem: load(p) for p in sorted(results.glob("*.jsonl"))}
    for records in files.values():
        if records and sections.of(records, "run")[0]["facts"].get("race", 1) < RACE:
            for r in records:
                r["earlier"] = True
    records = [r for f in files.values() for r in f]
    if sections.of(records, "sweep") or sections.of(records, "peer"):
        go("run", "./plots", "-results", results.resolve(), folder=HERE)
    misses = Misses()
    parts = [
        sections.speed(records, misses),
        sections.slower(records),
        sections.own_dense(records, misses),
        sections.wrong(records),
        sections.two_threads(records, misses),
        sections.avx2(records, misses),
        sections.builds(records, misses),
        sections.indexes(records),
        sections.sweeps(records),
        sections.every_cell(records),
        sections.reading(records),
        sections.split(records),
        sections.limits(records, results / "limits.md"),
        plots(results),
        sections.data(records),
    ]
    text = "\n\n".join([head(files), summary(misses), *(p for p in parts if p)]) + "\n"
    path = results.parent / f"{results.name}.md"
    path.write_text(text)
    print(f"wrote {path}", flush=True)


def head(files: dict[str, list[Record]]) -> str:
    """Where and with what each file of results was measured."""
    names: dict[str, list[str]] = {}
    runs: dict[str, Record] = {}
    for name, records in files.items():
        for run in sections.of(records, "run"):
            # Tasks run one by one are one run in the report.
            command = run["command"].replace(f"--only {name}", "--only TASK")
            key = str((run["facts"], run["commit"], command))
            runs[key] = run | {"command": command}
            names.setdefault(key, []).append(name)
    parts = [
        "# thresher on the CPU, against its peers",
        "Written by `make bench-peers` (`python3 bench/bench.py`) from the results in the folder beside it; "
        "not by hand. [bench/README.md](../../bench/README.md) says how it is measured.",
    ]
    commits = dict.fromkeys(run["commit"] for run in runs.values() if run.get("earlier"))
    if commits:
        parts.append(
            f"Results of {' and '.join(commits)}, marked {sections.EARLIER} in the tables of cells, are from before "
            "FAISS's IndexFlatIPPanorama was raced, which can be faster than IndexFlatIP for few queries, and before "
            "thresher's fast rotation took three rounds instead of two in more than 256 dimensions that are a multiple "
            "of 256."
        )
    for key, run in runs.items():
        f = run["facts"]
        rows = [
            ("processor", f"{f['cpu']}, {f['cores']} cores, caches {f['caches']}"),
            ("its flags", " ".join(f["flags"])),
            ("system", f["system"]),
            ("thresher", f"commit {run['commit'] or 'unknown'}, {f['go']}"),
            ("peers", ", ".join([f"FAISS {f['faiss']} ({' '.join(f['faiss_options'])})", *index_libraries(f)])),
            ("Python", f"{f['python']}, numpy {f['numpy']}"),
            ("command", f"`{run['command']}`"),
            ("results", ", ".join(names[key])),
        ]
        parts.append(table(("run", ""), rows))
    return "\n\n".join(parts)


def index_libraries(facts: Record) -> list[str]:
    """The libraries besides FAISS; earlier results do not know all."""
    return [facts[name] for name in ("hnswlib", "scann") if name in facts]


def summary(misses: Misses) -> str:
    reached = f"{misses.judged - len(misses.lines)} of {misses.judged} targets reached."
    if not misses.lines:
        return section("Targets", reached)
    return section("Targets", reached, "Missed (✗ in the tables):", "\n".join(f"- {line}" for line in misses.lines))


def plots(results: Path) -> str:
    there = [(name, title) for name, title in PLOTS if (results / f"{name}.png").exists()]
    if not there:
        return ""
    return section("Plots", *(f"![{title}]({results.name}/{name}.png)" for name, title in there))
