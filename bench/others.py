"""Processor time used by other processes during the race. One that streams memory on another
core slows a search that waits for memory more than a matrix product, and so changes the
ratio."""

from __future__ import annotations

import os
import time
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")
# Of one core; a round with more is repeated.
TOLERATED = 0.15


class Others:
    """Measures which share of one core others used between two calls."""

    def __init__(self) -> None:
        self.at, self.used = time.perf_counter(), elsewhere()

    def share(self) -> float:
        """The share since the last call; 0 if the system does not say."""
        now, used = time.perf_counter(), elsewhere()
        share = (used - self.used) / max(now - self.at, 1e-9)
        self.at, self.used = now, used
        return max(0.0, share)


def elsewhere() -> float:
    """Seconds of all cores used neither by this process nor by its children, including what the
    hypervisor gave to others."""
    try:
        busy = of_all(Path("/proc/stat").read_text())
        stats = [Path(f"/proc/{pid}/stat").read_text() for pid in children()]
    except OSError:
        return 0.0
    return busy - sum(os.times()[:2]) - sum(map(of_one, stats))


def children() -> list[str]:
    """Ids of this process's children, of any thread."""
    return " ".join(t.read_text() for t in Path("/proc/self/task").glob("*/children")).split()


def of_all(stat: str) -> float:
    """Seconds of all cores that were not idle, from the text of /proc/stat."""
    user, nice, system, _, _, irq, soft, steal = map(int, stat.split()[1:9])
    return (user + nice + system + irq + soft + steal) / TICK


def of_one(stat: str) -> float:
    """Seconds of processor time of a process, from the text of its stat file."""
    fields = stat.rpartition(")")[2].split()  # its name, in brackets, may contain anything
    return (int(fields[11]) + int(fields[12])) / TICK
