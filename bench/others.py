"""What other processes take of the machine while the race runs: one that streams
memory on another core slows a search that waits for memory more than a product
of matrices, and with it the ratio."""

from __future__ import annotations

import os
import time
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")
# Of one core; a round with more is run again.
TOLERATED = 0.15


class Others:
    """Asked twice, says which share of one core others took in between."""

    def __init__(self) -> None:
        self.at, self.used = time.perf_counter(), elsewhere()

    def share(self) -> float:
        """Since the last question; 0 where the system does not say."""
        now, used = time.perf_counter(), elsewhere()
        share = (used - self.used) / max(now - self.at, 1e-9)
        self.at, self.used = now, used
        return max(0.0, share)


def elsewhere() -> float:
    """Seconds of all cores that neither this process nor its children had, what
    the hypervisor gave to others included."""
    try:
        busy = of_all(Path("/proc/stat").read_text())
        stats = [Path(f"/proc/{pid}/stat").read_text() for pid in children()]
    except OSError:
        return 0.0
    return busy - sum(os.times()[:2]) - sum(map(of_one, stats))


def children() -> list[str]:
    """Process ids of this process's children, of whatever thread."""
    return " ".join(t.read_text() for t in Path("/proc/self/task").glob("*/children")).split()


def of_all(stat: str) -> float:
    """Seconds of all cores that were not idle, by the text of /proc/stat."""
    user, nice, system, _, _, irq, soft, steal = map(int, stat.split()[1:9])
    return (user + nice + system + irq + soft + steal) / TICK


def of_one(stat: str) -> float:
    """Seconds of processor a process had, by the text of its stat file."""
    fields = stat.rpartition(")")[2].split()  # its name, in brackets, may hold anything
    return (int(fields[11]) + int(fields[12])) / TICK
