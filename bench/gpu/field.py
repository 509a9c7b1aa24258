"""The cells of a set: plans are tried, the best races against its rivals and is checked, and its time is explained."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median
from typing import TYPE_CHECKING, Any

import check
import duel
import exact
import rivals
import serving
import vectors
from child import Failed, Gone
from trials import Cell, Trials

if TYPE_CHECKING:
    from measure import Run

TRIED = 2.0  # seconds of plans that answer, in which further ones are tried beside those that must be
TRYING = 6.0  # the same with what prepares them
SERVED, ALONE = "callers", "device"  # what is done once of a cell, besides races


class Field:
    """A set with all contestants ready to run on it."""

    def __init__(
        self,
        run: Run,
        made: vectors.Vectors,
        truth: exact.Truth | None,
        names: list[str],
        loaded: dict[str, Any],
        trials: Trials,
    ) -> None:
        self.run, self.made, self.truth, self.names, self.loaded = run, made, truth, names, loaded
        self.name, self.trials = made.recipe.name, trials
        trials.head = loaded.get("head", 0)
        self.ready = names[:1]
        self.load: Callable[[str, int], Any] = lambda name, seed: None  # another collection of the set
        self.torches = []
        if made.on_device is None or not (run.small or run.torch.cuda.is_available()):
            run.log.add("left_out", what=f"{self.name}: torch", why="there is no torch with a GPU here", must=False)
            return
        for peer, make in rivals.peers(run.torch, made).items():
            with run.part(f"{self.name}: {peer}"):
                self.torches.append(make())

    def thresher(
        self, name: str, plan: str = "", method: str = "auto", sets: list[str] | None = None
    ) -> rivals.Thresher:
        return rivals.Thresher(self.run.child, sets or self.names, name, plan, method)

    @contextmanager
    def striking(self, cell: Cell) -> Iterator[None]:
        """A plan that loses the device is struck off; the cell then goes on with others, in another process."""
        try:
            yield
        except Gone as e:
            struck = self.trials.strike(cell, e)
            if struck is not None:
                self.run.log.add("struck", set=self.name, m=cell[0], k=cell[1], **struck)
                e.struck = e.noted = True
            raise

    def cell(self, m: int, k: int) -> None:
        """The plan is chosen on the first quarter of the queries; turns, and the check of every answer,
        use the rest."""
        batches = duel.Batches.held_out(len(self.made.queries), m)
        what = f"{self.name}: m = {m}, k = {k}"
        if (m, k) not in self.trials.raced:
            plan, looking = self.choose(m, k)
            self.race(m, k, plan, batches)
            self.trials.raced[m, k] = plan, looking
        for name in dict.fromkeys(self.trials.raced[m, k]):
            if name not in self.trials.struck and self.first(m, k, name):
                with self.run.part(f"{what}: kernels of {name}"):
                    self.split(self.thresher(name, name), m, k, batches)
        if self.first(m, k, SERVED):
            with self.run.part(f"{what}: several callers"):
                self.serve(m, k, batches)

    def first(self, m: int, k: int, what: str) -> bool:
        """Whether it is the first time that this is to be done of a cell: what ends a process is not done again."""
        key = (m, k), what
        if key in self.trials.done:
            return False
        self.trials.done.add(key)
        return True

    def race(self, m: int, k: int, plan: str, batches: duel.Batches) -> None:
        """The plan, the engine's own choice, and torch, by turns."""
        what = f"{self.name}: m = {m}, k = {k}"
        self.complete()
        mine = [self.thresher("plan", plan), *self.auto(m, k)]
        ways: dict[str, str] = {}
        torches: list[rivals.Torch] = []
        for t in self.torches:
            with self.run.part(f"{what}: {t.name}"):
                ways[t.name] = t.prepare(m, k)
                torches.append(t)
        for way in mine:
            self.prepare(way, m, k)
        contestants: list[rivals.Contestant] = [*mine, *torches]
        began = time.monotonic()
        record = duel.turns(contestants, m, k, batches, self.run.pace)
        host = record["host"]
        autos = {n: duel.ratio(host[n], host["auto"]) for n in host if n.startswith("torch")} if "auto" in host else {}
        record |= {
            "ratios": {n: duel.ratio(host[n], host["plan"]) for n in host if n != "plan"},
            "ratios_auto": autos,
            "ways": ways,
            "clocks": self.run.clocks.between(began, time.monotonic()),
            "recall": {},
            "checked": {},
        }
        try:
            if self.first(m, k, ALONE):
                with self.run.part(f"{what}: times on the device"):
                    count = 2 if self.run.small else 8
                    record["device"] |= {c.name: serving.device(c, m, k, batches, count) for c in mine}
            if self.truth is not None:
                with self.run.part(f"{what}: whether it is right"), self.striking((m, k)):
                    record["checked"] = {c.name: self.checked(c, m, k, batches) for c in mine}
                    record["recall"] = {t.name: self.recall(t, m, k, batches) for t in torches}
        finally:
            self.run.log.add("cell", set=self.name, m=m, k=k, plan=plan, **record)

    def complete(self) -> None:
        """Has the child load the collections that races need and trials do not: a plan that loses the device takes
        those that are loaded along."""
        for name in self.names[len(self.ready) :]:
            self.load(name, len(self.ready) + 1)
            self.ready.append(name)

    def auto(self, m: int, k: int) -> list[rivals.Thresher]:
        """The engine's own choice of plan. If that is struck off there is none, and the call fails, but this cell has
        its other figures."""
        plan = self.trials.chosen.get((m, k), "")
        why = self.trials.auto((m, k))
        if not why:
            return [self.thresher("auto")]
        what = f"{self.name}: m = {m}, k = {k}: auto, which is {plan}"
        self.run.log.add("left_out", what=what, why=why[:500], must=True)
        return []

    def prepare(self, way: rivals.Thresher, m: int, k: int) -> None:
        """What the first search by a plan waits for and no later one: mixed codes, which the host computes, and
        tables."""
        for name in way.sets:
            self.run.child.ask(
                90, do="search", set=name, m=m, k=k, first=0, count=1, plan=way.plan, method=way.method, delta=0.01
            )

    def choose(self, m: int, k: int) -> tuple[str, str]:
        """The fastest plan on the first batches and the fastest with looks, and a record of all tried. In another
        process it goes on after the plan that ended the one before."""
        trials, cell = self.trials, (m, k)
        plans = self.run.child.ask(do="plans", set=self.names[0], m=m, k=k, delta=0.01)
        trials.chosen[cell] = next((f["plan"] for f in plans if f["chosen"]), "")
        began, spent = time.monotonic(), 0.0
        tried, trying = (0.5, 2.0) if self.run.small else (TRIED, TRYING)
        while order := trials.order(cell, plans):
            must, f = order[0]
            if not must and (spent > tried or time.monotonic() - began > trying):
                break
            spent += self.attempt(m, k, f)
        failed = list(trials.failed.get(cell, {}).values())
        self.run.log.add("plans", set=self.name, m=m, k=k, tried=trials.good(cell), failed=failed)
        best, looking = trials.best(cell)
        return (looking if self.run.small else best), looking

    def attempt(self, m: int, k: int, f: dict[str, Any]) -> float:
        """Tries a plan; returns the seconds that its batches took once it was prepared."""
        plan, cell = f["plan"], (m, k)
        way = self.thresher(plan, plan, sets=self.names[:1])
        tune = max(1, min(4, len(self.made.queries) // 4 // m))
        others = [t["seconds"] for t in self.trials.good(cell)]
        try:
            self.prepare(way, m, k)
            took = way.run(m, k, 0, 1).seconds
            if len(others) < 3 or took[0] < 5 * min(others):
                took = way.run(m, k, 0, tune).seconds + way.run(m, k, 0, tune).seconds
        except Failed as e:
            self.trials.refused(cell, plan, e)
            return 0.0
        record = {
            "seconds": median(took),
            "chosen": f["chosen"],
            "forecast": f["survivors"],
            "looks": kept(way.said),
            "rows": way.said["rows"] / way.said["queries"],
        }
        self.trials.answered(cell, plan, record)
        return sum(took)

    def recall(self, t: rivals.Torch, m: int, k: int, batches: duel.Batches) -> float:
        ids = t.run(m, k, batches.lo, 1).ids
        assert ids is not None and self.truth is not None
        return self.truth.recall(batches.lo * m, ids)

    def checked(self, c: rivals.Thresher, m: int, k: int, batches: duel.Batches) -> dict[str, Any]:
        """How many answers are wrong, of all queries raced (of single ones as many as fit half a second),
        by each seed."""
        assert self.truth is not None
        out: dict[str, Any] = {"answers": 0, "wrong": 0, "certain_wrong": 0}
        file = self.run.folder / "answers"
        for of in c.sets:
            once = median(c.ask("search", m, k, batches.lo, 1, of)["seconds"])
            count = int(min(batches.hi - batches.lo, max(1, (0.05 if self.run.small else 0.5) / once)))
            ids, certain = c.answers(m, k, batches.lo, count, of, file)
            wrong = self.truth.wrong(batches.lo * m, ids)
            out["answers"] += len(ids)
            out["wrong"] += int(wrong.sum())
            out["certain_wrong"] += int((wrong & certain).sum())
        p = check.chance(out["wrong"], out["answers"], 0.01)
        said = c.said
        return out | {
            "p": p,
            "compatible": not out["certain_wrong"] and p >= check.FALSE_ALARM,
            "plans": said["plans"],
            "looks": kept(said),
            "saving": said["dense_pulls"] / max(1, said["pulls"]),
            "rows": said["rows"] / said["queries"],
            "exact": said["exact"] / said["queries"],
            "dense": said["dense"] / said["queries"],
        }

    def split(self, c: rivals.Thresher, m: int, k: int, batches: duel.Batches) -> None:
        """Where the device's time goes, and the first look separately; end-to-end time is taken between
        two such measurements."""
        count = min(2 if self.run.small else 8, batches.hi - batches.lo)
        stall = 1 << 16 if self.run.small else 2 << 30
        takes, host = [], []
        for _ in range(2):
            takes.append(c.ask("split", m, k, batches.lo, count, stall=stall))
            host += c.ask("search", m, k, batches.lo, count)["seconds"]
        said = c.ask("search", m, k, batches.lo, count)
        kernels = {
            name: {
                "launches": of["launches"],
                "seconds": median(t for x in takes for t in x["kernels"][name]["seconds"]),
            }
            for name, of in takes[0]["kernels"].items()
            if all(name in x["kernels"] for x in takes)
        }
        first = said["looks"][0] if said["looks"] else {"seen": 0, "width": 0, "queries": 1}
        self.run.log.add(
            "split",
            set=self.name,
            m=m,
            k=k,
            plan=c.plan,
            atoms=self.made.recipe.n,
            kernels=kernels,
            sum=median(t for x in takes for t in x["sum"]),
            span=median(t for x in takes for t in x["span"]),
            host=median(host),
            phases=phases(takes, "phases"),
            singly=phases(takes, "singly"),
            graphs=sum(x["graphs"] for x in takes) / (2 * count),
            pairs=first["seen"] / count,
            width=first["width"],
        )

    def plan(self, m: int, k: int) -> str:
        """The fastest plan of a cell, or "", the engine's choice."""
        good = self.trials.good((m, k))
        return good[0]["plan"] if good else ""

    def serve(self, m: int, k: int, batches: duel.Batches) -> None:
        """Several callers at once and, of single queries, how long the slowest take; by the fastest plan."""
        plan, small = self.plan(m, k), self.run.small
        way = self.thresher("plan", plan)
        once = median(way.ask("search", m, k, batches.lo, min(4, batches.hi - batches.lo))["seconds"])
        cell: dict[str, Any] = {"set": self.name, "m": m, "k": k, "plan": plan}
        self.run.log.add("callers", **cell, callers=serving.callers(way, m, k, batches, once, small))
        if m == 1:
            self.run.log.add("singles", **cell, **serving.singles(way, k, batches, once, small))

    def quarter(self, cells: list[Cell]) -> None:
        """The same collection with a quarter of it in device memory."""
        name = f"{self.name}-quarter"
        memory = self.loaded["bytes"] // 4
        said = self.run.child.ask(45, do="load", set=name, of=self.names[0], memory=memory, costs=self.run.costs)
        self.run.log.add("loaded", set=self.name, name=name, memory=memory, **said)
        for m, k in cells:
            batches = duel.Batches.held_out(len(self.made.queries), m)
            plan = self.plan(m, k)
            those = [self.thresher("resident", plan, sets=self.names[:1]), self.thresher("quarter", plan, sets=[name])]
            record = duel.turns(those, m, k, batches, self.run.pace)
            record["ratio"] = duel.ratio(record["host"]["quarter"], record["host"]["resident"])
            self.run.log.add("quarter", set=self.name, m=m, k=k, plan=plan, **record)
        self.run.child.ask(do="close", set=name)


def phases(takes: Sequence[dict[str, Any]], kind: str) -> dict[str, float]:
    """The median seconds of each phase of the host's work."""
    return {p: median(t for x in takes for t in x[kind][p]) for p in takes[0][kind]}


def kept(said: dict[str, Any]) -> list[str]:
    """Describes what each look kept."""
    return [
        f"{look['reads']} {look['width']} {look['rule']}: {look['survivors'] / max(1, look['seen']):.3%} of "
        f"{look['seen'] / max(1, look['queries']):.0f}"
        for look in said["looks"] or []
    ]
