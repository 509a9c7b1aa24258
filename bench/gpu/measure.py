"""The benchmarks of one call on a device: its peak rates, then sets in order of importance, each
raced, checked and analysed. Results are JSON lines, written as they are made, so that what ran
before a time limit is kept.

  PYTHONPATH=bench python3 bench/gpu/measure.py --out FILE --seconds N [--sets A,B] [--small]"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, BinaryIO

import binaries
import check
import clocks
import duel
import exact
import figures
import parts
import products
import rivals
import serving
import text
import vectors
from child import Child, Failed, Gone, Trouble
from results import rounded
from trials import Cell, Trials

# In order of importance.
CELLS: dict[str, list[Cell]] = {
    "power768": [(1024, 10), (1, 10), (1024, 1), (1024, 100), (256, 10), (16, 10)]
    + [(m, k) for m in (1, 16, 256) for k in (1, 100)],
    "power4096": [(1024, 10), (1, 10), (1024, 1), (1024, 100)],
    "iid768": [(1024, 10), (1, 10), (1024, 1), (1024, 100)],
    "records768": [(1024, 10), (1, 10), (1024, 100)],
    "power8m": [(1024, 10), (1, 10)],
}
SMALL_CELLS: dict[str, list[Cell]] = {name: [(8, 5)] for name in CELLS} | {"power768": [(8, 5), (1, 5)]}
SERVED = "callers"  # among what is done of a cell
# Sets whose collection is built with two seeds; batches alternate between them.
TWICE = ("power768",)
# The set that is also searched with a quarter of its size in device memory, after so many cells:
# those it is compared with.
QUARTER, BEFORE = "power768", 2

SET = 50.0  # seconds reserved for each set to come
CELL = 8.0  # most seconds of a cell
PROCESSES = 16  # that a set may use up: each ends with a plan struck off, or with a step that is not tried a third time
BARREN = 2  # that may end in a row before their first step
TRIED = 2.0  # seconds of plans that answer, in which further ones are tried beside those that must be
TRYING = 6.0  # the same with what prepares them


class Log:
    """A file of JSON lines."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.bad = False  # something was recorded with which the call fails
        self.left_out: set[str] = set()

    def add(self, kind: str, **record: Any) -> None:
        self.bad = self.bad or kind == "struck" or bool(record.get("must"))
        line = json.dumps({"kind": kind, **rounded(record)})
        if kind == "left_out":  # once, if several processes say so
            if line in self.left_out:
                return
            self.left_out.add(line)
        with self.path.open("a") as f:
            f.write(line + "\n")
        print(line[:240], flush=True)


class Late(Exception):
    """Too little time is left for the next step."""


class Unopened(Exception):
    """A process could not open the device."""


class Hangs(Unopened):
    """It did not answer, or a second process was ended because it hung."""


class Run:
    """One call: its contestants and remaining time. later is the number of sets after this one."""

    def __init__(self, log: Log, folder: Path, seconds: float, small: bool, torch: Any) -> None:
        self.log, self.folder, self.small, self.torch = log, folder, small, torch
        self.until, self.later = time.monotonic() + seconds, 0
        self.pace = duel.Pace(turn=0.01, rounds=3, budget=0.1, most=2) if small else duel.Pace()
        self.costs: dict[str, float] | None = None  # measured; the backend's own until then
        self.hung = 0  # processes
        self.clocks = clocks.Clocks(log.path.with_name("clocks.csv"))
        self.child: Child

    def need(self, seconds: float) -> None:
        if not self.small and time.monotonic() + seconds + SET * self.later > self.until:
            raise Late

    @contextmanager
    def part(self, what: str, must: bool = True) -> Iterator[None]:
        """A failure inside is recorded, and whether the call fails with it, and the next part runs; but
        nothing continues with a child that is gone."""
        try:
            yield
        except Late:
            self.log.add("left_out", what=what, why="no time was left", must=False)
        except Gone as e:
            if not e.noted:
                self.log.add("left_out", what=what, must=must, **e.record())
            e.noted = True
            raise
        except Hangs as e:  # nor does anything with another child
            self.log.add("left_out", what=what, why=str(e)[:500], must=must)
            raise
        except Trouble as e:
            self.log.add("left_out", what=what, must=must, **e.record())
        except Exception as e:  # libraries may raise anything
            self.log.add("left_out", what=what, why=f"{type(e).__name__}: {e}"[:500], must=must)

    @contextmanager
    def thresher(self, stderr: BinaryIO, wrap: Sequence[str] = ()) -> Iterator[None]:
        """Starts a new child process, so that a failure of one, or of its device, does not affect the next.
        Raises Unopened."""
        opened = False
        try:
            with Child(binaries.unpacked("gpu.test"), stderr, wrap) as self.child:
                self.log.add("card", **self.child.ask(100, do="open"))
                opened = True
                yield
        except Trouble as e:
            late = isinstance(e, Gone) and e.late
            self.hung += late
            if not opened:
                raise (Hangs if late else Unopened)(str(e)) from e
            if not (isinstance(e, Gone) and e.noted):
                self.log.add("left_out", what="what was to come of this process", must=True, **e.record())
            if self.hung > 1:
                raise Hangs(str(e)) from e

    def device(self, stderr: BinaryIO) -> None:
        """What is measured of the device itself; if it is lost, the rest in another process."""
        left = [("ceilings", self.ceilings), ("costs", self.measured)]
        while left:
            with self.thresher(stderr):
                while left:
                    what, do = left.pop(0)
                    with self.part(what):
                        do()

    def ceilings(self) -> None:
        size = {"bytes": 1 << 16, "rounds": 2} if self.small else {"bytes": 2 << 30, "rounds": 4096}
        count = 2 if self.small else 40
        self.log.add("ceilings", **self.child.ask(do="ceilings", count=count, **size))
        if self.torch is not None and (self.small or self.torch.cuda.is_available()):
            with self.part("ceilings by torch"):
                began = time.monotonic()
                rates = products.rates(self.torch, self.small)
                self.log.add("products", **rates, clocks=self.clocks.between(began, time.monotonic()))

    def measured(self) -> None:
        """Measures the costs of work on this device, by which `auto` then chooses plans."""
        said = self.child.ask(do="costs", size=2048 if self.small else 0)
        self.costs = None if said["unfit"] else said["measured"]
        self.log.add("costs", **said)

    def make(self, recipe: vectors.Recipe) -> tuple[vectors.Vectors, tuple[Path, Path]]:
        """A set and its files."""
        began = time.monotonic()
        recipe = vectors.fitted(recipe, vectors.Room.here(self.torch, self.folder))
        made = vectors.make(recipe, self.torch, self.folder)
        files = made.save(self.folder)
        self.log.add("set", **vars(recipe), reduced=recipe in vectors.LESS, seconds=time.monotonic() - began)
        return made, files

    def load(self, recipe: vectors.Recipe, files: tuple[Path, Path], name: str, seed: int) -> dict[str, Any]:
        """Has the child build a collection of a set and load it."""
        # A large one is copied to the device for longer than a driver's call takes else.
        with self.child.patient(recipe.setup if recipe.large else 0):
            said: dict[str, Any] = self.child.ask(
                max(75, recipe.setup), do="build", set=name, atoms=str(files[0]), queries=str(files[1]), dim=recipe.d,
                seed=seed, costs=self.costs,
            )  # fmt: skip
        self.log.add("loaded", set=recipe.name, name=name, **said)
        return said

    def set(self, recipe: vectors.Recipe, stderr: BinaryIO) -> None:
        """All measurements of one set. If a process ends early, another continues with the remaining ones."""
        self.need(recipe.setup)
        try:
            made, files = self.make(recipe)
        except text.NoText as e:
            self.log.add("left_out", what=recipe.name, why=str(e), must=False)
            return
        try:
            self.work(made, files, stderr)
        finally:
            for file in files:
                file.unlink()

    def work(self, made: vectors.Vectors, files: tuple[Path, Path], stderr: BinaryIO) -> None:
        recipe = made.recipe
        cells = list((SMALL_CELLS if self.small else CELLS)[recipe.name])
        truth = None
        with self.part(f"{recipe.name}: what is right"):
            truth = exact.truth(made, max(k for _, k in cells), self.torch)
        names = [f"{recipe.name}-{seed}" for seed in (1, 2)[: 1 + (recipe.name in TWICE)]]
        left: list[Cell | None] = list(cells)  # None is the quarter of the memory
        if recipe.name == QUARTER:
            left.insert(BEFORE, None)
        trials = Trials(recipe.name)
        again: set[Cell | None] = set()  # the step before may have broken the process
        barren = 0  # processes in a row that ended before their first step
        for at in range(PROCESSES):
            self.need(recipe.setup if at else 0)
            barren += 1
            with self.thresher(stderr):
                loaded = self.load(recipe, files, names[0], 1)
                field = Field(self, made, truth, names, loaded, trials)
                field.load = lambda name, seed: self.load(recipe, files, name, seed)
                while left:
                    step, barren = left.pop(0), 0
                    try:
                        self.step(field, step, cells)
                    except Gone as e:
                        if e.struck:
                            left.insert(0, step)
                        elif step not in again and not e.late:
                            again.add(step)
                            left.insert(0, step)
                        raise
                for name in field.ready:
                    self.child.ask(do="close", set=name)
            if not left:
                return
            if barren == BARREN:
                break
        why = f"{at + 1} processes ended, the last {barren} before their first step"
        self.log.add("left_out", what=f"{recipe.name}: {len(left)} steps", why=why, must=True)

    def step(self, field: Field, step: Cell | None, cells: list[Cell]) -> None:
        """A cell or, if step is None, those that are compared with a quarter of the memory."""
        if step is None:
            with self.part(f"{field.name}: a quarter of the memory"):
                self.need(15)
                field.quarter(cells[:BEFORE])
        else:
            with self.part(f"{field.name}: m = {step[0]}, k = {step[1]}"), field.striking(step):
                self.need(CELL)
                field.cell(*step)


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
            if ((m, k), name) in self.trials.split or name in self.trials.struck:
                continue
            self.trials.split.add(((m, k), name))
            with self.run.part(f"{what}: kernels of {name}"):
                self.split(self.thresher(name, name), m, k, batches)
        if ((m, k), SERVED) not in self.trials.split:
            self.trials.split.add(((m, k), SERVED))
            with self.run.part(f"{what}: several callers"):
                self.serve(m, k, batches)

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
            with self.run.part(f"{what}: times on the device"), self.striking((m, k)):
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


def torch_here() -> Any:
    """torch, if available; THRESHER_NO_TORCH disables it."""
    if os.environ.get("THRESHER_NO_TORCH"):
        return None
    try:
        import torch
    except ImportError:
        return None
    except Exception as e:  # libraries may raise anything
        print(f"torch: {type(e).__name__}: {e}", flush=True)
        return None
    return torch


def arguments(name: str) -> argparse.ArgumentParser:
    """The options of this and of extras.py."""
    parser = argparse.ArgumentParser(prog=name)
    parser.add_argument("--out", type=Path, required=True, help="file of JSON lines to append to")
    parser.add_argument("--folder", type=Path, help="for vectors; by default one that is made")
    parser.add_argument("--seconds", type=float, default=240)
    parser.add_argument("--small", action="store_true")
    return parser


@contextmanager
def begun(args: argparse.Namespace) -> Iterator[tuple[Run, BinaryIO]]:
    """A call, and the log of its processes' errors."""
    where = args.folder or parts.roomy(1 << (26 if args.small else 34))
    with (
        tempfile.TemporaryDirectory(dir=where, prefix="thresher-") as folder,
        args.out.with_name("bench.log").open("ab") as stderr,
    ):
        yield Run(Log(args.out), Path(folder), args.seconds, args.small, torch_here()), stderr


def main() -> int:
    parser = arguments("measure.py")
    parser.add_argument("--sets", default="", help="names of sets, all if none is given")
    args = parser.parse_args()
    with begun(args) as (run, stderr), run.clocks:
        recipes = [r for r in vectors.recipes(args.small, run.torch) if not args.sets or r.name in args.sets.split(",")]
        try:
            run.device(stderr)
            for at, recipe in enumerate(recipes):
                run.later = len(recipes) - at - 1
                with run.part(recipe.name):
                    run.set(recipe, stderr)
                if run.torch is not None and run.torch.cuda.is_available():
                    gc.collect()
                    run.torch.cuda.empty_cache()
        except Unopened as e:  # nothing else can run
            run.log.add("left_out", what="benchmarks", why=str(e)[:500], must=True)
        run.log.add("launched", **figures.launched(parts.records_of(args.out)))
    return 1 if run.log.bad else 0


if __name__ == "__main__":
    sys.exit(main())
