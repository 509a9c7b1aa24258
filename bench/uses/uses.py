#!/usr/bin/env python3
"""thresher's uses side by side with what others do for the same ends, on all cores.

    python3 bench/uses/uses.py                    everything, about 20 minutes
    python3 bench/uses/uses.py --only certify     one task
    python3 bench/uses/uses.py --small            two minutes; fails for wrong answers only

It creates a virtual environment in bench/.venv and the data in bench/.data, runs what has no
result yet, and writes docs/benchmarks/certify.md and docs/benchmarks/uses.md."""

from __future__ import annotations

import argparse
import subprocess
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import environment  # noqa: E402
import uses_page  # noqa: E402

RESULTS = environment.ROOT / "docs" / "benchmarks" / "uses"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="thresher's uses, side by side with others")
    parser.add_argument("--small", action="store_true", help="tiny data; exit code 1 on wrong answers")
    parser.add_argument("--only", default="", help="comma-separated tasks; an unknown name lists them")
    parser.add_argument("--fresh", action="store_true", help="forget the results these tasks have")
    parser.add_argument("--report", action="store_true", help="only write the pages; needs no packages")
    return parser.parse_args()


def main() -> int:
    args = arguments()
    if args.report:
        uses_page.write(RESULTS)
        return 0
    optional = () if args.small else ("requirements-compiled.txt", "requirements-scann.txt", "requirements-rivals.txt")
    environment.enter("requirements-full.txt", optional=optional, env=environment.all_threads())
    import uses_tasks

    chosen = uses_tasks.choose(args.only, args.small)
    if args.small and not unittest.main("test_uses", argv=["uses"], exit=False).result.wasSuccessful():
        return 1
    results = environment.BUILD / "small" / "uses" if args.small else RESULTS
    for task in chosen:
        if args.fresh or args.small:
            (results / f"{task.name}.jsonl").unlink(missing_ok=True)
    sets = list(dict.fromkeys(s for task in chosen for s in task.sets))
    path = {"PYTHONPATH": str(HERE.parent)}
    subprocess.run([sys.executable, HERE / "inputs.py", *sets], env=environment.all_threads() | path, check=True)
    command = " ".join(["python3 bench/uses/uses.py", *sys.argv[1:]])
    right = True
    for task in chosen:
        right = uses_tasks.run(task, results, command) and right
    uses_page.write(results)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
