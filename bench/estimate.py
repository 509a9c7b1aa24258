"""Estimates the duration of a run from the sizes of its sets. The speeds are those of one core
of a server of the early 2020s."""

from __future__ import annotations

from race import BUDGET, DUEL_BUDGET, HOPELESS, KS, TURN, rounds

Size = tuple[int, int]  # atoms, dimension

READ = 0.19e-9  # seconds FAISS takes for a float32 of the atoms with one query
MULTIPLY = 0.019e-9  # and for each further query of a batch
PANORAMA = 0.3  # its time over that of a scan, for one query
OPEN = 7e-9  # seconds a racer takes to read and prepare a float32 of the atoms
CHECK = 0.3  # seconds of a cell's checks, besides searches
QUERIES = 1024


def batch(size: Size, m: int) -> float:
    """Seconds of a dense scan."""
    return size[0] * size[1] * (READ + MULTIPLY * m)


def ours(size: Size, m: int, k: int) -> float:
    """Seconds of thresher's search, estimated cautiously: 12 times faster at k = 1, twice at
    k = 100."""
    return batch(size, m) / max(1, 12 / k**0.4)


def turns(once: list[float], budget: float) -> float:
    """Seconds of the turns of contestants that take so long for a batch (race.take_turns)."""
    first_round = sum(max(TURN, t) for t in once)
    warm = sum(t if t > TURN else 2 * t for t in once)
    return warm + first_round * rounds(first_round, budget)


def cell(size: Size, m: int, k: int, budget: float = BUDGET, dense: bool = True) -> float:
    scan = batch(size, m)
    faiss = [scan, m * batch(size, 1), m * batch(size, 1) * PANORAMA]
    once = [ours(size, m, k), *(t for t in faiss if t <= HOPELESS * min(faiss))]
    checks = CHECK + ours(size, m, k) * QUERIES / m + 2 * sum(faiss) / max(1, m // 16)
    if dense:
        once.append(scan)
        checks += scan * max(1, 64 // m)
    return turns(once, budget) + checks


def opening(size: Size) -> float:
    return OPEN * size[0] * size[1]


def race(size: Size, budgets: dict[int, float]) -> float:
    """Seconds of the cells of a set, by batch and for each k."""
    return opening(size) + sum(cell(size, m, k, budget) for m, budget in budgets.items() for k in KS)


def main_set(size: Size, budgets: dict[int, float]) -> float:
    """Seconds of the cells, three builds and another opening, two profiles, and all queries by
    three methods for each k."""
    return race(size, budgets) + 4 * opening(size) + 12 + 3 * len(KS) * QUERIES / 256 * batch(size, 256)


def versus(size: Size) -> float:
    """Seconds of two racers, their cells, and three builds."""
    return 5 * opening(size) + sum(turns([ours(size, m, k)] * 2, DUEL_BUDGET) for m in (1, 256) for k in KS)


def indexes(size: Size) -> float:
    """Seconds for the index comparison; HNSW's build, the scan of the 8-bit codes and k-means for
    four more indexes dominate."""
    return 390 * size[0] * size[1] / (61440 * 768)
