"""The path of devices without assembled code: the driver compiles the PTX of every module."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

from parts import Results

# The driver's own variable, which it reads when a process begins to use it: assembled code is refused.
VARIABLE = "CUDA_FORCE_PTX_JIT"
# The test that no module of its process is assembled, those of tests included (gpu/machine_test.go).
TEST = "TestPTXPath"


@contextlib.contextmanager
def forced() -> Iterator[None]:
    """Processes that start within it compile PTX."""
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before


def check(
    results: Results, opened: Callable[[float], dict[str, Any]], tests: Callable[[float], int | str], seconds: float
) -> int | str:
    """Opens the device and runs the tests of the primitives, and TEST, in processes that compile PTX. `opened` returns
    what a process says of the device that it opened, with `modules`, whether each is assembled code, and `kernels`."""
    until = time.monotonic() + seconds
    with forced():
        said = opened(seconds)
        assembled = sorted(name for name, is_assembled in said["modules"].items() if is_assembled)
        local = {name: use["Local"] for name, use in said["kernels"].items() if use["Local"]}
        results.add(
            "ptx", seconds=said["seconds"], modules=len(said["modules"]), assembled=assembled, local=local,
            compiled=bool(said["modules"]) and not assembled,
        )  # fmt: skip
        if assembled or not said["modules"]:
            return 1
        return tests(max(1.0, until - time.monotonic()))
