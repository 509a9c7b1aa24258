"""The cells of the race with all exact peers: a set, the number of queries in a batch and k. It
does not use numpy, since the report is written without it."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase


@dataclass(frozen=True, order=True)
class Cell:
    set: str
    m: int
    k: int

    def __str__(self) -> str:
        return f"{self.set}:m={self.m}:k={self.k}"


Grid = tuple[tuple[int, ...], tuple[int, ...]]  # the m and the k of a set's cells

LARGE: Grid = ((1, 16, 256, 1024), (1, 10, 100, 1000))
MEDIUM: Grid = ((1, 16, 256), (1, 10, 100, 1000))
TINY: Grid = ((1, 16, 64), (1, 10, 100))
LONG: Grid = ((1, 16, 256), (1, 10, 100))

# Cells of each set. A run may be cut short, so the most informative sets are first.
GRIDS: dict[str, Grid] = {
    "records768": LARGE,
    "mnist": MEDIUM,
    "tiny-1000x768": TINY,
    "power768": LARGE,
    "power4096": MEDIUM,
    "records1536": MEDIUM,
    "iid768": LARGE,
    "lsa768": LARGE,
    "flat1536": MEDIUM,
    "lsa1536": MEDIUM,
    "ml1m": MEDIUM,
}


def parse(text: str, grids: dict[str, Grid] = GRIDS) -> list[Cell]:
    """The cells that a text names: SET:m=M/M/..:k=K/K/.., separated by commas. SET may have * for any
    characters; what it does not say of m and k is the set's own. Ends the program for others."""
    found: dict[Cell, None] = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        name, *said = part.split(":")
        chosen = {}
        for one in said:
            letter, _, values = one.partition("=")
            numbers = values.split("/")
            if letter not in ("m", "k") or not all(v.isdigit() and int(v) > 0 for v in numbers):
                sys.exit(f"cells {part!r}: {one!r} is neither m= nor k= with numbers from 1 on, separated by /")
            chosen[letter] = tuple(map(int, numbers))
        sets = [s for s in grids if fnmatchcase(s, name)]
        if not sets:
            sys.exit(f"cells {part!r}: no set {name}; there are {', '.join(grids)}")
        for s in sets:
            ms, ks = grids[s]
            found |= dict.fromkeys(of_grid(s, (chosen.get("m", ms), chosen.get("k", ks))))
    return list(found)


def of_grid(name: str, grid: Grid) -> list[Cell]:
    return [Cell(name, m, k) for m in grid[0] for k in grid[1]]


def sets_of(cells: Iterable[Cell]) -> list[str]:
    return list(dict.fromkeys(c.set for c in cells))
