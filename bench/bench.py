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
    parser.add_argument("--data", action="store_true", help="only make the data")
    parser.add_argument(
        "--report", action="store_true", help="only write the report from the results; needs Go, no packages"
    )
    return parser.parse_args()


def main() -> int:
    args = arguments()
    if args.report:  # needs no packages
        report.write(RESULTS)
        return 0
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
    # In a process of its own with all cores; the race has one.
    sets = list(dict.fromkeys(s for task in chosen for s in task.sets))
    subprocess.run([sys.executable, environment.HERE / "data.py", *sets], env=environment.all_threads(), check=True)
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


if __name__ == "__main__":
    sys.exit(main())
