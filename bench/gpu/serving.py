"""What a service asks of a plan, besides how long a batch takes: its time on the device alone, batches a second
with several callers, and how long the slowest of many single queries take."""

from __future__ import annotations

from typing import Any

import numpy as np

from duel import Batches
from rivals import Thresher

CALLERS = (1, 2, 4)
SINGLES = 1000  # queries whose percentiles are taken: ten are beyond the 99th
PERCENTILES = (50, 90, 99)
BUDGET = 3.0  # most seconds of these
TURN, MOST = 0.25, 256  # seconds of a number of callers, and batches of each caller


def percentiles(seconds: list[float]) -> dict[str, float]:
    return {f"p{p}": float(np.percentile(seconds, p)) for p in PERCENTILES} | {"most": max(seconds)}


def device(c: Thresher, m: int, k: int, batches: Batches, count: int) -> list[float]:
    """The seconds from a batch's first kernel to its last one."""
    said: list[float] = c.ask("device", m, k, batches.lo, min(count, batches.hi - batches.lo))["seconds"]
    return said


def callers(c: Thresher, m: int, k: int, batches: Batches, once: float, small: bool) -> dict[str, Any]:
    """Batches a second with so many callers at once, each with batches of its own, and what they wait. once is
    about what a batch takes."""
    out = {}
    for n in CALLERS:
        count = 2 if small else int(min(MOST, max(4, TURN / max(once, 1e-6) / n)))
        said = c.ask("callers", m, k, batches.lo, count, callers=n)
        out[str(n)] = {
            "batches": n * count,
            "seconds": said["seconds"],
            "rate": n * count / said["seconds"],
            **percentiles(said["each"]),
        }
    return out


def singles(c: Thresher, k: int, batches: Batches, once: float, small: bool) -> dict[str, Any]:
    """Percentiles of single queries, one after the other: of SINGLES, or as many as there is time for."""
    count = 20 if small else int(min(SINGLES, max(20, BUDGET / max(once, 1e-6))))
    said = c.ask("search", 1, k, batches.lo, min(count, batches.hi - batches.lo))["seconds"]
    return {"queries": len(said), **percentiles(said)}
