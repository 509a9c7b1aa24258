"""A developer's look at some cells: this checkout's thresher, another build of it, and the best
exact peers, in turns. Nothing is written.

    python3 bench/bench.py --race records768:m=1:k=10 --against main

The other build is a racer binary or a revision of git."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import environment
from cells import Cell, metrics_of
from results import Record


def other_racer(against: str) -> Path:
    """The binary of this name, or the racer of this revision, built once. Ends the program if there
    is neither."""
    path = Path(against)
    if path.is_file():
        return path.resolve()
    revision = environment.output("git", "rev-parse", "--verify", "--quiet", f"{against}^{{commit}}")
    if not revision:
        sys.exit(f"--against {against}: neither a binary of bench/racer nor a revision of this repository")
    built = environment.BUILD / f"racer-{revision[:12]}"
    if built.exists():
        return built
    with tempfile.TemporaryDirectory(dir=environment.BUILD) as folder:
        archive = subprocess.run(
            ["git", "archive", revision, ":!docs", ":!bench/gpu"],
            cwd=environment.ROOT,
            check=True,
            stdout=subprocess.PIPE,
        )
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        own = Path(folder) / "bench" / "racer"
        if '"metric"' not in (own / "main.go").read_text():  # from before there were other metrics
            shutil.copytree(environment.HERE / "racer", own, dirs_exist_ok=True)
        print(f"building the racer of {against}", flush=True)
        subprocess.run(
            ["go", "build", "-trimpath", "-buildvcs=false", "-o", built, "."],
            cwd=own,  # in a module of bench, or of the root where there was one only
            env=environment.all_threads(),
            check=True,
        )
    return built


def race(cells: Sequence[Cell], methods: Sequence[str], against: Path | None) -> bool:
    """Prints each cell's times. Returns False if an answer is wrong that should not be."""
    from contestants import Racer, Thresher
    from data import FOLDER, DataSet
    from heats import Heats

    right = True
    for name, metric in metrics_of(cells):
        data = DataSet.open(name, metric)
        with Heats(data, FOLDER) as heats:
            other = Racer(data, binary=against) if against else None
            more = [Thresher(other, method, name=f"{method} before") for method in methods] if other else []
            for cell in (c for c in cells if (c.set, c.metric) == (name, metric)):
                record = heats.cell(cell, methods, more)
                said = heats.checked(cell, record["us"], methods)
                right = right and said["compatible"]
                print("\n".join(lines(cell, record, said)), flush=True)
            if other:
                other.__exit__()
    return right


def lines(cell: Cell, record: Record, said: Record) -> list[str]:
    """A cell as text: each contestant's time a query, over which the best peer's is so many times."""
    us, best = record["us"], record["best"]
    low, high = record["quartiles"]
    found = [
        f"{cell} ({record['n']:,} x {record['d']}): {record['ratio']:.3g} times as fast as {best} "
        f"(quartiles {low:.3g} to {high:.3g} of {record['rounds']} rounds)"
    ]
    for name, t in us.items():
        plans = "; ".join(p.split(": ", 1)[1] for p in record["plans"].get(name, {}))
        wrong = f"{said['wrong'][name]} wrong of {said['checked'][name]}" if name in said["wrong"] else ""
        before = f"{us[f'{name} before'] / t:.3g} x before" if f"{name} before" in us else ""
        detail = ", ".join(filter(None, (before, plans, wrong)))
        found.append(f"  {name:16} {t:12,.1f} us a query  {us[best] / t:6.3g}  {detail}")
    slower = {n: t for n, t in record["trials"].items() if n not in us}
    if slower:
        found.append("  slower in a trial: " + ", ".join(f"{n} {t:,.0f}" for n, t in slower.items()))
    return found
