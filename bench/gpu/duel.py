"""Contestants answer the same batches alternately."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

from rivals import Contestant


@dataclass(frozen=True)
class Pace:
    """The length of turns. A turn is one batch, or as many as fill `turn` seconds; there are `rounds`
    of them, or fewer, but at least three, if they would take more than `budget` seconds together."""

    turn: float = 0.03
    rounds: int = 7
    budget: float = 2.0
    most: int = 64  # batches of a turn


@dataclass(frozen=True)
class Batches:
    """The batches of m queries that are raced: lo to hi-1."""

    lo: int
    hi: int

    @staticmethod
    def held_out(queries: int, m: int) -> Batches:
        """The batches of the last three quarters of the queries; plans are chosen on the first quarter."""
        return Batches(max(1, queries // 4 // m), queries // m)

    def start(self, turn: int, count: int) -> int:
        """The first batch of a turn of count batches, a different one each time."""
        return self.lo + turn * 37 * count % max(1, self.hi - self.lo - count + 1)


def turns(contestants: Sequence[Contestant], m: int, k: int, batches: Batches, pace: Pace) -> dict[str, Any]:
    """Seconds a batch of each contestant, round by round: `host` from queries on the host to answers
    there, `device` the device's own, if the contestant can tell. In every round each has one turn;
    the starting contestant rotates."""
    most = min(pace.most, batches.hi - batches.lo)
    counts, first_round = {}, 0.0
    for c in contestants:
        c.run(m, k, batches.lo, 1)
        once = min(c.run(m, k, batches.lo, min(3, most)).seconds)
        counts[c.name] = int(min(most, max(1, pace.turn / max(once, 1e-6))))
        first_round += once * counts[c.name]
    rounds = int(min(pace.rounds, max(3, pace.budget / first_round)))
    host: dict[str, list[float]] = {c.name: [] for c in contestants}
    device: dict[str, list[float]] = {c.name: [] for c in contestants}
    for r in range(rounds):
        for i in range(len(contestants)):
            c = contestants[(r + i) % len(contestants)]
            turn = c.run(m, k, batches.start(r, counts[c.name]), counts[c.name])
            host[c.name].append(median(turn.seconds))
            if turn.device:
                device[c.name].append(median(turn.device))
    return {"rounds": rounds, "batches": counts, "host": host, "device": {n: s for n, s in device.items() if s}}


def ratio(over: list[float], under: list[float]) -> dict[str, float]:
    """The median of the rounds' ratios, and their range."""
    each = [a / b for a, b in zip(over, under, strict=True)]
    return {"median": median(each), "least": min(each), "most": max(each)}
