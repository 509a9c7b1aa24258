#!/usr/bin/env python3
"""The race of thresher against FAISS, hnswlib, ScaNN and itself, and with all exact peers.

    python3 bench/bench.py                        everything against FAISS and indexes, about 40 minutes
    python3 bench/bench.py --only records768,tiny   some tasks
    python3 bench/bench.py --only race --quick    some cells with all exact peers
    python3 bench/bench.py --small                a minute; fails for wrong answers only

It creates a virtual environment in bench/.venv and the data in bench/.data, runs what has
no result yet, and writes docs/benchmarks. An interrupted run continues where it stopped."""

from __future__ import annotations

import argparse
import subprocess
import sys
import unittest

import cells
import environment
import race_page
import report

EXACT = environment.ROOT / "docs" / "benchmarks" / "race"  # results of the race with all exact peers
RESULTS = environment.ROOT / "docs" / "benchmarks" / "cpu"

KINDS = ("race", "cores", "regret")  # tasks over the cells of the race with all exact peers
PROCESS = "process"
TESTS = ("test_bench", "test_race", "test_paper_baselines")
OPTIONAL = ("requirements-race.txt", "requirements-scann.txt")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="thresher against its peers, on one core")
    parser.add_argument(
        "--small", action="store_true", help="tiny data; exit code 1 on more wrong answers than delta allows"
    )
    parser.add_argument(
        "--only", default="", help="comma-separated tasks; an unknown name lists them; race, cores, regret, process"
    )
    parser.add_argument("--cells", default="", help="with --only race, cores or regret: SET:metric=M:m=M/M:k=K/K,..")
    parser.add_argument(
        "--metric", default="", help="with --only race, cores or regret: only cells of these metrics, M,M"
    )
    parser.add_argument("--quick", action="store_true", help="with --only race or regret: about 130 cells")
    parser.add_argument("--long", action="store_true", help="with --only race, cores or regret: a million atoms")
    parser.add_argument("--torch", action="store_true", help="with --only race: install PyTorch (6 GB) and race it")
    parser.add_argument("--fresh", action="store_true", help="forget the results these tasks have")
    parser.add_argument("--data", action="store_true", help="only make the data, and with --race build thresher")
    parser.add_argument("--race", default="", metavar="CELLS", help="print some cells against the best exact peers")
    parser.add_argument("--against", default="", help="with --race: another racer binary, or a revision of git")
    parser.add_argument("--methods", default="auto", help="with --race: methods of thresher, separated by commas")
    parser.add_argument(
        "--report", action="store_true", help="only write the report from the results; needs Go, no packages"
    )
    return parser.parse_args()


def main() -> int:
    args = arguments()
    if args.report:  # needs no packages
        report.write(RESULTS)
        race_page.write(EXACT)
        return 0
    if args.only in KINDS:
        return exact(args)
    if args.only == PROCESS:
        return processes(args)
    if args.race:
        return look(args)
    if args.small:
        environment.enter("requirements.txt")
    else:
        environment.enter("requirements-full.txt", optional=("requirements-compiled.txt", "requirements-scann.txt"))
    import tasks

    chosen = tasks.choose(args.only, args.small)
    results = environment.BUILD / "small" / "cpu" if args.small else RESULTS
    if args.small and not unittest.main(None, argv=["bench", *TESTS], exit=False).result.wasSuccessful():
        return 1
    environment.build_racer()
    if args.fresh or args.small:
        for task in chosen:
            (results / f"{task.name}.jsonl").unlink(missing_ok=True)
    make_data(list(dict.fromkeys(s for task in chosen for s in task.sets)))
    if args.data:
        return 0
    right = True
    environment.pin(0, 1)
    print(tasks.forecast(chosen), flush=True)
    command = " ".join(["python3 bench/bench.py", *sys.argv[1:]])
    for task in chosen:
        right = tasks.run(task, results, command) and right
    report.write(results)
    if args.small:
        right = race_small() and right
    return 0 if right else 1


def exact(args: argparse.Namespace) -> int:
    """The race with all exact peers, two cores against one, or the planner's regret over its cells."""
    chosen = cells.chosen(args.cells, args.quick, args.long, args.only)
    chosen = [c for c in chosen if not args.metric or c.metric in args.metric.split(",")]
    environment.enter("requirements-full.txt", optional=OPTIONAL + (("requirements-torch.txt",) if args.torch else ()))
    environment.build_racer()
    make_data([f"{name}:{metric}" for name, metric in cells.metrics_of(chosen)])
    if args.data:
        return 0
    import exact_race

    print(exact_race.forecast(args.only, chosen), flush=True)
    if args.fresh:
        for name in cells.sets_of(chosen):
            (exact_race.folder(EXACT) / f"{name}.jsonl").unlink(missing_ok=True)
    environment.pin(0, 1)
    command = " ".join(["python3 bench/bench.py", *sys.argv[1:]])
    right = exact_race.run(args.only, chosen, EXACT, command)
    race_page.write(EXACT)
    return 0 if right else 1


def processes(args: argparse.Namespace) -> int:
    """Whole processes, thresher search beside faiss.knn."""
    environment.enter("requirements-full.txt", optional=OPTIONAL, env=environment.all_threads())
    import whole

    whole.build()
    whole.files(*whole.FULL)
    if args.data:
        return 0
    if args.fresh:
        whole.forget(EXACT)
    right = whole.run(EXACT, " ".join(["python3 bench/bench.py", *sys.argv[1:]]))
    race_page.write(EXACT)
    return 0 if right else 1


def race_small() -> bool:
    """A few cells of it, to check answers and the page."""
    import exact_race
    import whole

    results = environment.BUILD / "small" / "race"
    for name in cells.SMALL:
        (exact_race.folder(results) / f"{name}.jsonl").unlink(missing_ok=True)
    chosen = cells.of_grids(cells.SMALL)
    make_data([f"{name}:{metric}" for name, metric in cells.metrics_of(chosen)])
    right = True
    for kind in KINDS:
        some = [c for c in chosen if kind == "race" or c.metric == cells.IP]
        right = exact_race.run(kind, some, results, "python3 bench/bench.py --small", budget=0.1) and right
    whole.build()
    whole.forget(results)
    right = whole.run(results, "python3 bench/bench.py --small", small=True) and right
    race_page.write(results)
    return right


def look(args: argparse.Namespace) -> int:
    """Some cells of the race with all exact peers, for a developer."""
    import compare

    chosen = cells.parse(args.race)
    environment.enter("requirements-full.txt", optional=OPTIONAL)
    environment.build_racer()
    against = compare.other_racer(args.against) if args.against else None
    make_data([f"{name}:{metric}" for name, metric in cells.metrics_of(chosen)])
    if args.data:
        return 0
    environment.pin(0, 1)
    return 0 if compare.race(chosen, args.methods.split(","), against) else 1


def make_data(sets: list[str]) -> None:
    """In a process of its own with all cores; the race has one."""
    subprocess.run([sys.executable, environment.HERE / "data.py", *sets], env=environment.all_threads(), check=True)


if __name__ == "__main__":
    sys.exit(main())
