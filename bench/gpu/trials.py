"""The plans of a set: what is known of each, and which are struck off because they lost the device."""

from __future__ import annotations

from typing import Any

from child import Failed, Gone

Cell = tuple[int, int]  # m, k
# What plans are made of; one with each is tried in every cell, whatever the planner expects of it. Mixed codes have a
# kernel for few (mixed) and one for many (wide).
MADE_OF = ("panels", "mixed", "wide", "rows", "dense")
NARROW = 128  # the most mixed codes, those of the head included, of the first of these kernels (gpu/mixed.go)


def made_of(plan: str, head: int) -> set[str]:
    """What a plan reads: panels or mixed codes first, rows of codes afterwards or first, or all rows."""
    looks = plan.split(",")[:-1]  # the last word is rescore
    if not looks:
        return {"dense"}
    first = "rows" if looks[0] == "whole" else "panels"
    if looks[0].startswith("mixed"):
        first = "wide" if int(looks[0].removeprefix("mixed")) + head > NARROW else "mixed"
    return {first} | ({"rows"} if "whole" in looks else set())


def first_look(plan: str) -> str:
    return plan.split(",")[0]


# Plans that may lose the device with the same first look, and with one that reads the same: looks at panels are
# followed by various others, which may be at fault.
MOST_OF_LOOK, MOST_OF_KIND = 2, {"panels": 3, "mixed": 2, "wide": 2, "rows": 2, "dense": 1}


class Trials:
    """The trials of one set in all its cells. They outlive the process that a plan ends."""

    def __init__(self, name: str, head: int = 0) -> None:
        self.name, self.head = name, head  # codes of an atom's head
        self.tried: dict[Cell, dict[str, dict[str, Any]]] = {}
        self.failed: dict[Cell, dict[str, dict[str, Any]]] = {}
        self.chosen: dict[Cell, str] = {}  # by the engine
        self.struck: dict[str, str] = {}  # why, by plan
        self.raced: dict[Cell, tuple[str, str]] = {}  # the fastest plan, and the fastest with looks
        self.done: set[tuple[Cell, str]] = set()  # what was begun of a cell besides its race

    def first_of(self, plan: str) -> str:
        """What the first look of a plan reads, of any width."""
        return min(made_of(plan, self.head), key=MADE_OF.index)

    def why_not(self, plan: str) -> str:
        """Why a plan may not be tried, "" if it may. Each that loses the device takes a process, so after some with the
        same first look, or with one that reads the same, that is at fault."""
        if plan in self.struck:
            return self.struck[plan]
        for of, most in ((first_look, MOST_OF_LOOK), (self.first_of, MOST_OF_KIND[self.first_of(plan)])):
            same = [p for p in self.struck if of(p) == of(plan)]
            if len(same) >= most:
                return f"plans {' and '.join(same)} lost the device, whose first look is at {of(plan)}, too"
        return ""

    def order(self, cell: Cell, plans: list[dict[str, Any]]) -> list[tuple[bool, dict[str, Any]]]:
        """The plans to be tried, and whether each must be: the cheapest by forecast with everything that plans are made
        of, then the others. None is tried again, but in the place of one that failed another that is made of the
        same."""
        done = self.tried.get(cell, {})
        left = [p for p in plans if not self.why_not(p["plan"]) and p["plan"] not in self.failed.get(cell, {})]
        first: list[dict[str, Any]] = []
        for part in MADE_OF:
            cheapest = next((p for p in left if part in made_of(p["plan"], self.head)), None)
            if cheapest is not None and cheapest not in first:
                first.append(cheapest)
        both = [(True, p) for p in first] + [(False, p) for p in left if p not in first]
        return [(must, p) for must, p in both if p["plan"] not in done]

    def answered(self, cell: Cell, plan: str, record: dict[str, Any]) -> None:
        self.tried.setdefault(cell, {})[plan] = {"plan": plan} | record

    def refused(self, cell: Cell, plan: str, e: Failed) -> None:
        self.failed.setdefault(cell, {})[plan] = {"plan": plan, "lost": False, "seconds": None} | e.record()

    def strike(self, cell: Cell, e: Gone) -> dict[str, Any] | None:
        """Strikes the plan off that a search lost the device with, and returns the record of it; None if it was no
        search: what is measured besides would take plans along. Without a name the plan is the engine's choice."""
        if e.request.get("do") != "search":
            return None
        plan = e.request["plan"] or self.chosen.get(cell, "")
        if not plan or plan in self.struck:
            return None
        self.struck[plan] = str(e)
        self.failed.setdefault(cell, {})[plan] = {"plan": plan, "lost": True, "seconds": None} | e.record()
        return {"plan": plan, "chosen": plan == self.chosen.get(cell), "late": e.late} | e.record()

    def good(self, cell: Cell) -> list[dict[str, Any]]:
        """The plans that answered, the fastest first."""
        those = [t for t in self.tried.get(cell, {}).values() if t["plan"] not in self.struck]
        return sorted(those, key=lambda t: t["seconds"])

    def auto(self, cell: Cell) -> str:
        """Why the engine's choice may not be run, "" if it may."""
        plan = self.chosen.get(cell, "")
        return "" if plan in self.tried.get(cell, {}) and plan not in self.struck else self.why_not(plan)

    def best(self, cell: Cell) -> tuple[str, str]:
        """The fastest plan and the fastest with looks."""
        good = self.good(cell)
        if not good:
            failed = list(self.failed.get(cell, {}).values())
            raise Failed(f"no plan answered: {failed[0]['why'] if failed else 'there is none'}")
        return good[0]["plan"], next((t["plan"] for t in good if t["plan"] != "dense"), good[0]["plan"])
