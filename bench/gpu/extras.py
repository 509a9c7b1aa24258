"""Explains the benchmarks, on their first set: other shapes of the first look than the program's,
other peers than torch, counters of the kernels. No target needs it, and some of it may end the
process: JAX and ncu are kept out of the benchmarks.

  PYTHONPATH=bench python3 bench/gpu/extras.py --out FILE (--sweep | --peers | --profile NCU)"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import duel
import exact
import measure
import profiled
import rivals
import vectors
from goals import K, M, one
from parts import records_of

SWEPT = (64, 96, 128, 192)  # rest codes of first looks that are tried; those of the collection's levels can be
KERNELS = (
    "scan_s8", "scan_rows_s8", "scan_mixed", "scan_mixed_wide", "mixed_codes", "tighten", "tighten_short", "look_rows",
    "look_signs", "select_candidates", "score", "merge", "dense_tf32",
)  # fmt: skip
LISTED = f"regex:^({'|'.join(KERNELS)})$"
SECTIONS = (
    "SpeedOfLight", "LaunchStats", "Occupancy", "SchedulerStats", "WarpStateStats", "InstructionStats",
    "ComputeWorkloadAnalysis", "MemoryWorkloadAnalysis",
)  # fmt: skip


class Before:
    """The results of the benchmarks of this call, or of an earlier one on this machine."""

    def __init__(self, files: list[Path]) -> None:
        self.records = [r for f in files if f.exists() for r in records_of(f)]

    def plan(self, m: int, k: int) -> str:
        """The best plan, "" for the engine's choice."""
        cell = one(self.records, "cell", set=measure.QUARTER, m=m, k=k)
        return str(cell["plan"]) if cell else ""

    def costs(self) -> dict[str, Any] | None:
        r = one(self.records, "costs")
        return None if r is None or r["unfit"] else r["measured"]


def sweep(run: measure.Run, recipe: vectors.Recipe, cell: measure.Cell, stderr: BinaryIO) -> None:
    _, files = run.make(recipe)
    with run.thresher(stderr):
        said = run.load(recipe, files, recipe.name, 1)
        m, k = cell
        stall, count, tried = (1 << 16, 1, 1) if run.small else (2 << 30, 5, 2)
        for to in [w for w in said["widths"] if w in SWEPT and w <= said["panel"]][:tried]:
            for of in (m, 1)[:tried]:
                with run.part(f"sweep of looks at {to}, m = {of}"):
                    ask = {"m": of, "k": k, "delta": 0.01, "to": to, "count": count, "stall": stall}
                    found = run.child.ask(do="sweep", set=recipe.name, **ask)
                    run.log.add("sweep", set=recipe.name, m=of, k=k, to=to, **found)


def peers(run: measure.Run, recipe: vectors.Recipe, cell: measure.Cell, before: Before, stderr: BinaryIO) -> None:
    made, files = run.make(recipe)
    torch, (m, k) = run.torch, cell
    if made.on_device is None:
        run.log.add("left_out", what="peers", why="there is no torch here", must=False)
        return
    truth = exact.truth(made, k, torch)
    makers: dict[str, Callable[[], rivals.Contestant]] = {
        "cupy-fp32": lambda: rivals.CuPy(torch, made),
        "jax-approx": lambda: rivals.Jax(torch, made, True),
        "jax-tf32": lambda: rivals.Jax(torch, made, False),
    }
    with run.thresher(stderr):
        if run.costs is None:
            run.measured()
        run.load(recipe, files, recipe.name, 1)
        plan = rivals.Thresher(run.child, [recipe.name], "plan", before.plan(m, k))
        batches = duel.Batches.held_out(len(made.queries), m)
        for name, make in makers.items():
            with run.part(name, must=False):
                run.need(5)
                other = make()
                record = duel.turns([plan, other], m, k, batches, replace(run.pace, turn=0.02, rounds=3))
                ids = other.run(m, k, batches.lo, 1).ids
                assert ids is not None
                record["ratio"] = duel.ratio(record["host"][name], record["host"]["plan"])
                recall = truth.recall(batches.lo * m, ids)
                run.log.add("other", set=recipe.name, m=m, k=k, peer=name, recall=recall, **record)


def profile(
    run: measure.Run, recipe: vectors.Recipe, cell: measure.Cell, before: Before, stderr: BinaryIO, ncu: str
) -> None:
    """A batch of many queries, then of one, under ncu. Its report is kept, and what it says in words."""
    _, files = run.make(recipe)
    report = run.log.path.with_name(profiled.REPORT)
    wrap = [
        ncu, "--clock-control", "none", "--target-processes", "all", "--kernel-name", LISTED, "--launch-count", "80",
        "--force-overwrite", "--export", str(report.with_suffix("")),
        *(word for s in SECTIONS for word in ("--section", s)),
    ]  # fmt: skip
    with run.thresher(stderr, wrap):
        run.load(recipe, files, recipe.name, 1)
        for m in dict.fromkeys((cell[0], 1)):
            way = rivals.Thresher(run.child, [recipe.name], "plan", before.plan(m, cell[1]))
            with run.part(f"profile of m = {m}"):
                way.run(m, cell[1], 0, 1)
    run.log.add("profile", **profiled.told(ncu, report, run.log.path.with_name("profile.log")))


def main() -> int:
    parser = measure.arguments("extras.py")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--sweep", action="store_true")
    what.add_argument("--peers", action="store_true")
    what.add_argument("--profile", metavar="NCU", default="")
    parser.add_argument("--before", type=Path, help="results of a call before this one")
    args = parser.parse_args()
    before = Before([f for f in (args.before, args.out) if f])
    with measure.begun(args) as (run, stderr):
        run.costs = before.costs()
        recipe = next(r for r in vectors.recipes(args.small, run.torch) if r.name == measure.QUARTER)
        cell = (M, K) if not args.small else measure.SMALL_CELLS[recipe.name][0]
        with run.part("sweep" if args.sweep else "peers" if args.peers else "profile", must=False):
            if args.sweep:
                sweep(run, recipe, cell, stderr)
            elif args.peers:
                peers(run, recipe, cell, before, stderr)
            else:
                profile(run, replace(recipe, n=min(recipe.n, 1 << 18)), cell, before, stderr, args.profile)
    return 0


if __name__ == "__main__":
    sys.exit(main())
