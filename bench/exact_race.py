"""The race with all exact peers (heats.py), set by set, with a file of results a set in a folder
for this processor. Cells that a file has are skipped."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cells
import environment
from cells import IP, Cell
from contestants import Racer, Thresher
from data import FOLDER, DataSet
from heats import BUDGET, CROWDED, MOST, TURN, Heats
from race import duel
from results import Log, rounded

# Least share of the k best that an exact peer's float32 must find.
FOUND = 0.995
# Rates of one core, for forecasts.
READ = 15e9  # bytes a second
MULTIPLY = 100e9  # float32 products and sums a second
PRODUCTS = 5  # peers that multiply matrices
SECONDS = {"race": 2.0, "regret": 1.0, "cores": 1.0}  # of a cell besides its scans
COPY = 1e9  # bytes a second of a peer's own copy of the atoms


def facts() -> dict[str, Any]:
    """What results depend on."""
    packages = {name: environment.installed(name, "optional") for name in ("mkl", "usearch", "torch")}
    return environment.facts() | packages


def folder(results: Path) -> Path:
    """Where this processor's results are."""
    letters = "".join(c if c.isalnum() else "-" for c in environment.processor().lower())
    return results / "-".join(filter(None, letters.split("-")))


def scan(n: int, d: int, m: int) -> float:
    """Seconds of a dense scan for a batch."""
    return max(4 * n * d / READ, 2 * m * n * d / MULTIPLY)


def seconds(kind: str, cell: Cell, n: int, d: int) -> float:
    """About how long a cell takes."""
    batch, row = scan(n, d, cell.m), scan(n, d, 1)
    if kind != "race":
        return SECONDS[kind] + 3 * batch
    trials = PRODUCTS * scan(n, d, min(cell.m, 256)) + 3 * min(cell.m, 16) * row
    turns = max(3 * 3 * max(TURN, batch), min(BUDGET, MOST * 5 * TURN))
    # A large set's copies are made again in each cell, some rotated.
    again = 8 * n * d / COPY + n * d * d / MULTIPLY if 4 * n * d > CROWDED else 0
    return SECONDS[kind] + trials / 2 + turns + again


def forecast(kind: str, chosen: Sequence[Cell]) -> str:
    total = opening = 0.0
    for of in cells.metrics_of(chosen):
        about = DataSet.about_of(of[0])
        if about:
            n, d = about["atoms"], about["dimension"]
            opening += 3 + 40 * scan(n, d, 1)
            total += sum(seconds(kind, c, n, d) for c in chosen if (c.set, c.metric) == of)
    return f"{kind}: {len(chosen)} cells, about {(total + opening) / 60:.2g} minutes, less what has results"


def run(kind: str, chosen: Sequence[Cell], results: Path, command: str, budget: float = BUDGET) -> bool:
    """The missing results of these cells, of the kind race, cores or regret. Returns False if answers
    were wrong that should not be."""
    right = True
    if kind == "cores" and len(environment.CORES) < 2:
        print("cores: this machine has one", flush=True)
        return True
    place, about = folder(results), facts()
    for name in cells.sets_of(chosen):
        if not DataSet.about_of(name):
            print(f"{name}: no data", flush=True)
            continue
        log = Log(place, name, about, environment.commit(), command)
        there = {measured(r) for r in log.records if r["kind"] == kind}
        for metric in dict.fromkeys(c.metric for c in chosen if c.set == name):
            missing = [c for c in chosen if (c.set, c.metric) == (name, metric) and c not in there]
            if missing:
                began = time.perf_counter()
                of_set(kind, missing, log, budget)
                took = time.perf_counter() - began
                print(f"{name} by {metric}: {kind}, {len(missing)} cells, {took:.0f} s", flush=True)
        right = all(map(fine, log.records)) and right
    return right


def measured(record: dict[str, Any]) -> Cell:
    """The cell of a record; those from before there were other metrics are of inner products."""
    return Cell(record["set"], record["m"], record["k"], record.get("metric", IP))


def of_set(kind: str, missing: Sequence[Cell], log: Log, budget: float) -> None:
    """Cells of one set and metric."""
    data = DataSet.open(missing[0].set, missing[0].metric)
    if not log.has(kind="set"):
        log.append(rounded({"kind": "set"} | data.about))
    if kind == "cores":
        two_cores(data, missing, log, budget)
        return
    with Heats(data, FOLDER, budget) as heats:
        for cell in missing:
            if cell.m > len(data.queries) or cell.k > data.top_ids.shape[1] < data.n:
                sys.exit(
                    f"{cell}: the set has {len(data.queries)} queries and the {data.top_ids.shape[1]} best of each"
                )
            if kind == "race":
                record = heats.cell(cell)
                record |= heats.checked(cell, record["us"])
                raced = [peer for peer in record["us"] if peer in heats.peers]
                record["recall"] = {peer: heats.peer_recall(peer, cell.k) for peer in raced}
                told = f"{record['ratio']:.3g} x {record['best']}"
            else:
                record = heats.regret(cell)
                told = f"{record['regret']:.3g} ({record['chosen']}; best {record['best']})"
            log.append(rounded({"kind": kind} | record))
            print(f"{time.strftime('%H:%M:%S')} {kind} {cell} {told}", flush=True)


def two_cores(data: DataSet, missing: Sequence[Cell], log: Log, budget: float) -> None:
    """Thresher on one core and on two, in turns."""
    with Racer(data) as one, Racer(data, threads=2) as two:
        for cell in missing:
            found = duel(Thresher(one, name="one core"), Thresher(two, name="two cores"), cell.m, cell.k, budget)
            of = {"kind": "cores", "set": data.name, "metric": data.metric, "n": data.n, "d": data.d}
            log.append(rounded(of | found))
            print(f"{time.strftime('%H:%M:%S')} cores {cell} {found['ratio']:.3g}", flush=True)


def fine(record: dict[str, Any]) -> bool:
    """Whether a record has no wrong answers that it should not have; tells of those it has."""
    missed = {peer: r for peer, r in record.get("recall", {}).items() if r < FOUND}
    if record.get("compatible", True) and not missed:
        return True
    of = {f: record[f] for f in ("set", "metric", "m", "k", "wrong", "checked") if f in record}
    print(f"WRONG ANSWERS: {of}{f', peers: {missed}' if missed else ''}", flush=True)
    return False
