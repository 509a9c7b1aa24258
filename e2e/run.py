#!/usr/bin/env python3
"""Real clients against a real server, in two to three minutes.

    python3 e2e/run.py                       everything
    python3 e2e/run.py test_page.py -k row   a part, selected as in pytest

It creates a virtual environment in build/e2e, builds thresher and a client in Go, finds
Node and a Chromium or installs Debian's, and runs the tests of this folder. Anything that
is missing and cannot be installed fails the run; only E2E_BROWSER=0 and E2E_NODE=0 skip
the tests of the page and of the client for Node. Screenshots and the servers' logs stay in
build/e2e. A test that takes longer than LIMIT ends the run, with the place where it hangs."""

from __future__ import annotations

import os
import subprocess
import sys

import environment

# Seconds. Most of it is for the requests of test_description.py.
LIMIT = 1800 + 60 * int(os.environ.get("E2E_EXAMPLES", "12"))


def main() -> int:
    environment.enter()
    wanted = sys.argv[1:]
    known = dict(
        os.environ,
        THRESHER_COSTS="builtin",  # plans depend on no machine
        E2E_THRESHER=str(environment.build("./cmd/thresher")),
        E2E_PROMLINT=str(environment.build(".", environment.HERE / "promlint")),
        E2E_OFFLINE=str(environment.build(".", environment.HERE / "offline" / "go", "offline")),
        E2E_NODE=environment.node(environment.HERE / "offline" / "node"),
        E2E_CHROMIUM=environment.chromium(),
    )
    limits = ["-o", f"faulthandler_timeout={LIMIT}", "-o", "faulthandler_exit_on_timeout=true"]
    options = ["-q", "--durations=5", "-p", "no:cacheprovider", *limits]
    command = [sys.executable, "-m", "pytest", *options, *(wanted or ["."])]
    return subprocess.run(command, cwd=environment.HERE, env=known).returncode


if __name__ == "__main__":
    sys.exit(main())
