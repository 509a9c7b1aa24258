"""The targets of the race, and which were missed."""

from __future__ import annotations

# FAISS's time over thresher's, by k, for one query and for batches of 256 and more.
Times = tuple[dict[int, float], dict[int, float]]

# For latent semantic analysis, set on package records.
TEXT768: Times = ({1: 60, 10: 30, 100: 8}, {1: 22, 10: 13, 100: 6})
TEXT1536: Times = ({1: 100, 10: 30, 100: 8}, {1: 34, 10: 17, 100: 6})

FAISS: dict[str, Times] = {
    "records768": TEXT768,
    "records1536": TEXT1536,
    "lsa768": TEXT768,
    "lsa1536": TEXT1536,
    "power768": ({1: 80, 10: 40, 100: 18}, {1: 27, 10: 17, 100: 8}),
    "power4096": ({1: 130, 10: 75, 100: 32}, {1: 75, 10: 40, 100: 13}),
    "iid768": ({1: 5.5, 10: 5.5, 100: 5}, {1: 4.3, 10: 4.2, 100: 3.5}),
}
OVER_EXACT = 0.9  # at least; time of thresher's own dense path over time of its choice
TWO_THREADS = 1.8  # at least; time on one core over time on two
AVX2 = 2.5  # at most; time with AVX2 kernels over time with the best
BUILD = 300.0  # at least; MB of float32 a second and core
MEMORY = 1.4  # at most; a collection over its data, from MEMORY_FROM dimensions on
MEMORY_FROM = 512


def faiss(data: str, m: int, k: int) -> float | None:
    """The target of a cell, if it has one."""
    if data not in FAISS or 1 < m < 256:
        return None
    return FAISS[data][m >= 256].get(k)


class Misses:
    """Counts the targets judged and describes those missed."""

    def __init__(self) -> None:
        self.judged = 0
        self.lines: list[str] = []

    def judge(self, reached: bool, what: str) -> str:
        """A mark for a table: empty, or that the target was missed."""
        self.judged += 1
        if reached:
            return ""
        self.lines.append(what)
        return " ✗"
