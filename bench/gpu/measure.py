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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import binaries
import clocks
import duel
import exact
import figures
import parts
import products
import text
import vectors
from child import Child, Gone, Trouble
from field import Field
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
# Sets whose collection is built with two seeds; batches alternate between them.
TWICE = ("power768",)
# The set that is also searched with a quarter of its size in device memory, after so many cells:
# those it is compared with.
QUARTER, BEFORE = "power768", 2

SET = 50.0  # seconds reserved for each set to come
CELL = 8.0  # most seconds of a cell
PROCESSES = 16  # that a set may use up: each ends with a plan struck off, or with a step that is not tried a third time
BARREN = 2  # that may end in a row before their first step


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
