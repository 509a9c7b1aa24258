#!/usr/bin/env python3
"""The race of thresher against FAISS, hnswlib, ScaNN and itself.

    python3 bench/bench.py                        everything, about 40 minutes
    python3 bench/bench.py --only records768,tiny   some tasks
    python3 bench/bench.py --small                a minute; fails for wrong answers only

It creates a virtual environment in bench/.venv and the data in bench/.data, runs what has
no result yet, and writes docs/benchmarks. An interrupted run continues where it stopped."""

from __future__ import annotations

import argparse
import subprocess
import sys
import unittest

import environment
import report

RESULTS = environment.ROOT / "docs" / "benchmarks" / "cpu"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="thresher against its peers, on one core")
    parser.add_argument(
        "--small", action="store_true", help="tiny data; exit code 1 on more wrong answers than delta allows"
    )
    parser.add_argument("--only", default="", help="comma-separated tasks; an unknown name lists them")
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
        return 0
    if args.race:
        return look(args)
    if args.small:
        environment.enter("requirements.txt")
    else:
        environment.enter("requirements-full.txt", optional=("requirements-compiled.txt", "requirements-scann.txt"))
    import tasks

    chosen = tasks.choose(args.only, args.small)
    results = environment.BUILD / "small" / "cpu" if args.small else RESULTS
    if args.small and not unittest.main("test_bench", argv=["bench"], exit=False).result.wasSuccessful():
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
    return 0 if right else 1


def look(args: argparse.Namespace) -> int:
    """Some cells of the race with all exact peers, for a developer."""
    import cells
    import compare

    chosen = cells.parse(args.race)
    environment.enter("requirements-full.txt", optional=("requirements-race.txt", "requirements-scann.txt"))
    environment.build_racer()
    against = compare.other_racer(args.against) if args.against else None
    make_data(cells.sets_of(chosen))
    if args.data:
        return 0
    environment.pin(0, 1)
    return 0 if compare.race(chosen, args.methods.split(","), against) else 1


def make_data(sets: list[str]) -> None:
    """In a process of its own with all cores; the race has one."""
    subprocess.run([sys.executable, environment.HERE / "data.py", *sets], env=environment.all_threads(), check=True)


if __name__ == "__main__":
    sys.exit(main())
