"""The cells of the race with all exact peers: a set, a metric, the number of queries in a batch
and k. It does not use numpy, since the report is written without it."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase


IP = "ip"  # the metric of cells that say none, and of results from before there were others
METRICS = (IP, "cosine", "l2")


@dataclass(frozen=True, order=True)
class Cell:
    set: str
    m: int
    k: int
    metric: str = IP

    def __str__(self) -> str:
        of = "" if self.metric == IP else f":metric={self.metric}"
        return f"{self.set}{of}:m={self.m}:k={self.k}"


Grid = tuple[tuple[int, ...], tuple[int, ...]]  # the m and the k of a set's cells

LARGE: Grid = ((1, 16, 256, 1024), (1, 10, 100, 1000))
MEDIUM: Grid = ((1, 16, 256), (1, 10, 100, 1000))
TINY: Grid = ((1, 16, 64), (1, 10, 100))
LONG: Grid = ((1, 16, 256), (1, 10, 100))

# Cells of each set. A run may be cut short, so the most informative sets are first.
GRIDS: dict[str, Grid] = {
    "records768": LARGE,
    "mnist": MEDIUM,
    "bert-590x768": TINY,
    "power768": LARGE,
    "power-10000x128": MEDIUM,
    "items-64": MEDIUM,
    "items-64-skewed": MEDIUM,
    "ml1m-64": MEDIUM,
    "tiny-1000x768": TINY,
    "iid768": MEDIUM,
    "lsa768": LARGE,
    "power4096": MEDIUM,
    "records1536": MEDIUM,
    "lsa768-10000": MEDIUM,
    "power-200000x128": MEDIUM,
    "sp500-439x1536": TINY,
    "mpnet-590x768": TINY,
    "flat1536": MEDIUM,
    "lsa1536": MEDIUM,
    "ml1m": MEDIUM,
    "items-128": MEDIUM,
    "items-128-skewed": MEDIUM,
    "sweep-64": MEDIUM,
    "power-60000x128": MEDIUM,
    "iid-60000x128": MEDIUM,
    "power-10000x384": MEDIUM,
    "power-60000x384": MEDIUM,
    "power-10000x768": MEDIUM,
    "iid-10000x768": MEDIUM,
    "power-10000x1536": MEDIUM,
    "tiny-100x128": TINY,
    "tiny-500x128": TINY,
    "tiny-1000x128": TINY,
    "tiny-100x768": TINY,
    "power-200000x384": MEDIUM,
    "power-200000x768": MEDIUM,
    "mix-100000x384": MEDIUM,
    "mix-10000x768": MEDIUM,
    "mix-100000x768": MEDIUM,
    "mix-10000x64": MEDIUM,
    "counts-10000x2000": MEDIUM,
    "counts-60000x512": MEDIUM,
    "mix-1000x384": TINY,
    "mix-1000x768": TINY,
    "mix-100000x64": MEDIUM,
    "mix-10000x384": MEDIUM,
    "mix-1000x64": TINY,
    "mix-10000x1536": MEDIUM,
    "counts-10000x128": MEDIUM,
    "counts-60000x2000": MEDIUM,
    "mix-1000x1536": TINY,
    "mix-100000x1536": MEDIUM,
}
# The metrics of the sets that are raced by others than inner products alone.
BY: dict[str, tuple[str, ...]] = {
    "records768": METRICS,
    "lsa768": METRICS,
    "mnist": (IP, "l2"),
    **dict.fromkeys(("mix-100000x768", "mix-100000x1536", "mix-10000x384", "mix-10000x64"), ("cosine",)),
    **dict.fromkeys(("mix-100000x384", "mix-100000x64", "mix-10000x768", "mix-10000x1536"), ("l2",)),
    **dict.fromkeys(("mix-1000x768", "mix-1000x1536"), ("cosine",)),
    **dict.fromkeys(("mix-1000x384", "mix-1000x64"), ("l2",)),
    "counts-10000x2000": METRICS,
    "small-power": METRICS,
    "small-counts": METRICS,
}
# Sets of a million atoms, which are raced only if asked for.
LONG_GRIDS: dict[str, Grid] = {"power-1000000x256": LONG, "power-1000000x768": LONG}
ALL = GRIDS | LONG_GRIDS
# Cells of every number of atoms, k and m: some seventy by inner products, and about sixty of other
# metrics, mixtures and counts.
QUICK_IP = (
    "records768:m=1/16/256,lsa768:m=1/16/256:k=10/100/1000,mnist,bert-590x768,power768:m=1/16/256:k=10/100,"
    "power-10000x128:m=1/256:k=10/100/1000,power-200000x128:m=1/16/256:k=10/100,items-64:m=1/256:k=10,"
    "items-64-skewed:m=256:k=100,ml1m-64:m=1/256:k=10/100,iid768:m=1/256:k=10,tiny-1000x768:m=1/64:k=1/100"
)
QUICK_OTHERS = (
    "records768:metric=l2:m=1/16/256:k=10/100,records768:metric=cosine:m=1/256:k=10/100,lsa768:metric=l2:m=1/256:k=10,"
    "lsa768:metric=cosine:m=256:k=10,mnist:metric=l2:m=1/16/256:k=10/100/1000,"
    "mix-100000x768:metric=cosine:m=1/256:k=10/100,mix-100000x384:metric=l2:m=1/256:k=10/100,"
    "mix-100000x64:metric=l2:m=1/256:k=10/100,mix-10000x768:metric=l2:m=1/256:k=10/100/1000,"
    "mix-10000x64:metric=cosine:m=1/256:k=10/1000,mix-1000x384:metric=l2:m=1/64:k=10,"
    "mix-1000x768:metric=cosine:m=1/64:k=10,counts-10000x2000:m=1/16/256:k=10/100,"
    "counts-10000x2000:metric=cosine:m=256:k=10,counts-60000x512:m=1/256:k=10/100"
)
# On one core and on two.
CORES = "records768:m=1/256:k=10/100,power768:m=1/256:k=10/100,power-200000x768:m=1/256:k=10,power4096:m=1/256:k=10"
# For tests of all contestants' answers.
SMALL: dict[str, Grid] = {
    "small-power": ((1, 16, 64), (10,)),
    "small-iid": ((1, 64), (100,)),
    "small-counts": ((1, 64), (100,)),
}


def parse(text: str, grids: dict[str, Grid] = ALL) -> list[Cell]:
    """The cells that a text names: SET:metric=METRIC/..:m=M/M/..:k=K/K/.., separated by commas. SET may
    have * for any characters; what it does not say of m and k is the set's own, the metric is that of
    inner products. Ends the program for others."""
    found: dict[Cell, None] = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        name, *said = part.split(":")
        chosen: dict[str, tuple[int, ...]] = {}
        metrics: tuple[str, ...] = (IP,)
        for one in said:
            what, _, values = one.partition("=")
            several = values.split("/")
            if what == "metric" and set(several) <= set(METRICS):
                metrics = tuple(several)
                continue
            if what not in ("m", "k") or not all(v.isdigit() and int(v) > 0 for v in several):
                sys.exit(
                    f"cells {part!r}: {one!r} is neither m= nor k= with numbers from 1 on, separated by /, "
                    f"nor metric= with some of {', '.join(METRICS)}"
                )
            chosen[what] = tuple(map(int, several))
        sets = [s for s in grids if fnmatchcase(s, name)]
        if not sets:
            sys.exit(f"cells {part!r}: no set {name}; there are {', '.join(grids)}")
        for s in sets:
            ms, ks = grids[s]
            grid = (chosen.get("m", ms), chosen.get("k", ks))
            found |= dict.fromkeys(c for metric in metrics for c in of_grid(s, grid, metric))
    return list(found)


def chosen(text: str, quick: bool, long: bool, kind: str = "race") -> list[Cell]:
    """The cells of a run: those that a text names, a quick selection, those of a million atoms, or all
    others; of two cores a few, or those of a million atoms at k = 10."""
    if text:
        return parse(text)
    if kind == "cores":
        return parse(",".join(f"{name}:m=1/256:k=10" for name in LONG_GRIDS) if long else CORES)
    if quick:
        return parse(f"{QUICK_IP},{QUICK_OTHERS}")
    return of_grids(LONG_GRIDS if long else GRIDS)


def of_grids(grids: dict[str, Grid]) -> list[Cell]:
    """The cells of these sets by each metric that they are raced by."""
    return [c for name, grid in grids.items() for metric in BY.get(name, (IP,)) for c in of_grid(name, grid, metric)]


def of_grid(name: str, grid: Grid, metric: str = IP) -> list[Cell]:
    return [Cell(name, m, k, metric) for m in grid[0] for k in grid[1]]


def sets_of(cells: Iterable[Cell]) -> list[str]:
    return list(dict.fromkeys(c.set for c in cells))


def metrics_of(cells: Iterable[Cell]) -> list[tuple[str, str]]:
    """Each set with each metric that these cells have of it."""
    return list(dict.fromkeys((c.set, c.metric) for c in cells))
