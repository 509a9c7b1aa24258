"""Tests of what the benchmarks rest on: sets, what is right, turns, the child. They
need numpy; those of torch's part of it, torch."""

from __future__ import annotations

import stat
import tempfile
import unittest
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

try:
    import numpy as np
except ImportError as e:
    raise unittest.SkipTest("no numpy") from e

import data
import duel
import exact
import measure
import vectors
from child import Child, Failed, Gone, dumped
from measure import torch_here
from rivals import Torch, Turn, Way
from test_gpu import quietly
from trials import Trials, made_of

TORCH = torch_here()


def small(atoms: np.ndarray, queries: np.ndarray) -> vectors.Vectors:
    recipe = vectors.Recipe("test", len(atoms), atoms.shape[1], None, len(queries))
    on_device = (TORCH.from_numpy(atoms), TORCH.from_numpy(queries)) if TORCH else None
    return vectors.Vectors(recipe, atoms, queries, on_device)


def draw(n: int, m: int, d: int) -> vectors.Vectors:
    r = np.random.default_rng(1)
    return small(r.standard_normal((n, d)).astype(np.float32), r.standard_normal((m, d)).astype(np.float32))


class Right(unittest.TestCase):
    def test_wrong_answers_are_caught(self) -> None:
        truth = exact.truth(draw(300, 40, 16), 20)
        right = truth.ids[5:25, :10].copy()
        right[3] = right[3, ::-1]  # their order is no matter
        self.assertFalse(truth.wrong(5, right).any())
        for at, other in ((0, truth.ids[5, 10]), (1, right[1, 0]), (2, 300), (4, -1)):
            bad = right.copy()
            bad[at, 9] = other
            self.assertEqual(np.flatnonzero(truth.wrong(5, bad)).tolist(), [at])
        self.assertTrue(truth.wrong(6, right).any(), "answers to other queries")

    def test_ties_within_the_tolerance_are_right(self) -> None:
        step = 2.0**-24  # of float32 below 1; four are the tolerance
        atoms = np.array([[1 - 4 * step, 0], [1 - 5 * step, 0], [0, 1], [1, 0]], np.float32)
        truth = exact.truth(small(atoms, np.array([[1, 0]], np.float32)), 1)
        self.assertEqual([bool(truth.wrong(0, np.array([[i]]))[0]) for i in range(4)], [False, True, True, False])

    def test_ties_do_not_stand_for_better_atoms(self) -> None:
        atoms = np.array([[2], [3], [2], [2], [1]], np.float32)
        truth = exact.truth(small(atoms, np.ones((3, 1), np.float32)), 5)
        answers = np.array([[0, 2], [1, 3], [1, 4]])
        self.assertEqual(truth.wrong(0, answers).tolist(), [True, False, True])

    def test_recall(self) -> None:
        truth = exact.truth(draw(300, 4, 16), 20)
        answers = truth.ids[:4, :4].copy()
        answers[1, 0] = truth.ids[1, 19]
        self.assertEqual(truth.recall(0, answers), 15 / 16)

    @unittest.skipUnless(TORCH, "no torch")
    def test_torch_finds_the_same(self) -> None:
        v = draw(3000, 70, 24)
        v.atoms[1500:1510] = v.atoms[90:100]  # ties: the lower id first
        with_torch, without = exact.truth(v, 30, TORCH), exact.truth(v, 30)
        np.testing.assert_array_equal(with_torch.ids, without.ids)
        np.testing.assert_allclose(with_torch.scores, without.scores, rtol=1e-12)
        np.testing.assert_allclose(with_torch.norms, without.norms, rtol=1e-12)

    @unittest.skipUnless(TORCH, "no torch")
    def test_torch_looks_further_where_many_are_near(self) -> None:
        r = np.random.default_rng(2)
        atoms = np.repeat(r.standard_normal((8, 12)), 500, axis=0).astype(np.float32)  # 500 ties each
        atoms[777] *= np.float32(1 + 2e-7)
        v = small(atoms, r.standard_normal((6, 12)).astype(np.float32))
        np.testing.assert_array_equal(exact.truth(v, 5, TORCH).ids, exact.truth(v, 5).ids)


class Sets(unittest.TestCase):
    def law(self, x: np.ndarray) -> tuple[float, float, float]:
        """Of embeddings: the spread of the norms, the share of the common direction,
        the exponent of the spectrum's decay."""
        norms = np.linalg.norm(x, axis=1)
        unit = x / norms[:, None]
        middle = unit.mean(axis=0)
        values = np.linalg.svd(unit - middle, compute_uv=False)[2:24]
        slope = np.polyfit(np.log(np.arange(3, 25)), np.log(values), 1)[0]
        return float(norms.std()), float(np.linalg.norm(middle)), float(-slope)

    @unittest.skipUnless(TORCH, "no torch")
    def test_torch_draws_by_the_same_law(self) -> None:
        ours = vectors.make(vectors.Recipe("test", 4000, 48, 0.6, 16), TORCH)
        self.assertEqual((ours.atoms.shape, ours.queries.shape), ((4000, 48), (16, 48)))
        theirs, _, _ = data.embeddings(4000, 48, 0.6, queries=16)
        for a, b, off in zip(self.law(ours.atoms), self.law(theirs), (0.01, 0.05, 0.12), strict=True):
            self.assertAlmostEqual(a, b, delta=off)
        again = vectors.make(vectors.Recipe("test", 4000, 48, 0.6, 16), TORCH)
        np.testing.assert_array_equal(ours.atoms, again.atoms)

    def test_files_are_plain(self) -> None:
        v = draw(30, 4, 8)
        with tempfile.TemporaryDirectory() as folder:
            atoms, queries = v.save(Path(folder))
            np.testing.assert_array_equal(np.fromfile(atoms, np.float32).reshape(30, 8), v.atoms)
            np.testing.assert_array_equal(np.fromfile(queries, np.float32).reshape(4, 8), v.queries)

    def test_answers_are_read_as_they_are_dumped(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "answers"
            np.array([3, 4, 1, 7, -1, 0], "<i4").tofile(file)
            ids, certain = dumped(file, 2)
            self.assertEqual((ids.tolist(), certain.tolist()), ([[3, 4], [7, -1]], [True, False]))


class Peers(unittest.TestCase):
    @unittest.skipUnless(TORCH, "no torch")
    def test_chunks_change_no_answer(self) -> None:
        v = draw(1000, 32, 24)
        truth = exact.truth(v, 7)
        for precision in ("fp32", "tf32"):  # a CPU knows no tf32
            peer = Torch(TORCH, v, precision)
            for peer.way in (Way(0), Way(300), Way(997)):
                ids = peer.run(8, 7, 1, 2).ids
                assert ids is not None
                np.testing.assert_array_equal(ids, truth.ids[16:24])
        self.assertEqual(Torch(TORCH, v, "bf16").atoms.dtype, TORCH.bfloat16)


class Fixed:
    """A contestant that says a batch took so long, and notes what it was asked."""

    def __init__(self, name: str, once: float, device: bool = False) -> None:
        self.name, self.once, self.on_device = name, once, device
        self.asked: list[tuple[int, int]] = []

    def run(self, m: int, k: int, first: int, count: int) -> Turn:
        self.asked.append((first, count))
        return Turn([self.once] * count, [self.once / 2] * count if self.on_device else [])


class Turns(unittest.TestCase):
    def test_those_of_plans_are_not_raced(self) -> None:
        for queries, m in ((4096, 1024), (4096, 256), (4096, 1), (128, 16), (128, 1)):
            batches = duel.Batches.held_out(queries, m)
            one, two = Fixed("one", 1e-3), Fixed("two", 4e-3, device=True)
            record = duel.turns([one, two], m, 1, batches, duel.Pace())
            for c in (one, two):
                for first, count in c.asked:
                    self.assertGreaterEqual(first * m, queries // 4)
                    self.assertLessEqual((first + count) * m, queries)
            self.assertEqual(duel.ratio(record["host"]["two"], record["host"]["one"])["median"], 4)
            self.assertEqual(record["device"], {"two": [2e-3] * record["rounds"]})

    def test_rounds_keep_within_the_budget(self) -> None:
        slow = duel.turns([Fixed("a", 0.5), Fixed("b", 0.1)], 1, 1, duel.Batches(1, 9), duel.Pace(budget=2.0, rounds=7))
        quick = duel.turns(
            [Fixed("a", 1e-3), Fixed("b", 1e-3)], 1, 1, duel.Batches(1, 9), duel.Pace(budget=2.0, rounds=7)
        )
        self.assertEqual((slow["rounds"], quick["rounds"]), (3, 7))
        self.assertEqual((slow["batches"]["a"], quick["batches"]["a"]), (1, 8))


class Children(unittest.TestCase):
    def child(self, script: str, seconds: float = 20, **ask: Any) -> Any:
        with tempfile.TemporaryDirectory() as folder, (Path(folder) / "log").open("ab") as log:
            path = Path(folder) / "child"
            path.write_text(f"#!/bin/sh\n{script}\n")
            path.chmod(path.stat().st_mode | stat.S_IXUSR)
            try:
                with Child(path, log) as child:
                    return child.ask(seconds, **({"do": "open"} | ask))
            finally:
                self.log = (Path(folder) / "log").read_text()

    def test_answers(self) -> None:
        self.assertEqual(self.child('read line; echo "[$line]"', m=3), [{"do": "open", "m": 3}])
        self.assertEqual(self.child("read line; echo a driver speaks; echo '{}'"), {})
        self.assertEqual(self.log, "a driver speaks\n")
        with self.assertRaisesRegex(Failed, "open: no such set") as e:
            self.child("""read line; echo '{"error": "no such set", "driver": {"code": 2}}'""", m=3)
        record = {"why": "open: no such set", "request": {"do": "open", "m": 3}, "driver": {"code": 2}}
        self.assertEqual(e.exception.record(), record)

    def test_a_lost_device_is_told_with_what_the_driver_said(self) -> None:
        answer = '{"error": "illegal address", "driver": {"code": 700, "log": "scan_mixed"}, "lost": true}'
        with self.assertRaisesRegex(Gone, "search: illegal address") as e:
            self.child(
                f"read line; echo '{answer}'; echo '--- FAIL: last words'; exit 1", do="search", plan="96,rescore"
            )
        record = e.exception.record()
        self.assertEqual(record["driver"], {"code": 700, "log": "scan_mixed"})
        self.assertEqual(record["request"], {"do": "search", "plan": "96,rescore"})
        self.assertIn("--- FAIL: last words", self.log)

    def test_ended(self) -> None:
        with self.assertRaisesRegex(Gone, "code 3; it said: out of order"):
            self.child("read line; echo out of order >&2; exit 3")
        with self.assertRaisesRegex(Gone, "code 4; it said: out of order"):
            self.child("read line; echo out of order; exit 4")

    def test_late(self) -> None:
        with self.assertRaisesRegex(Gone, "no answer in time") as e:
            self.child("read line; printf '{'; exec sleep 60", seconds=0.3)
        self.assertTrue(e.exception.late)

    def test_what_says_nothing_hangs(self) -> None:
        with mock.patch("child.SILENT", 1.0):
            self.assertEqual(
                self.child("read line; for i in 1 2 3 4 5; do echo working: $i; sleep 0.3; done; echo '{}'"), {}
            )
            with self.assertRaisesRegex(Gone, "nothing for 1 s, last building") as e:
                self.child("read line; echo working: building; exec sleep 60")
        self.assertTrue(e.exception.late)


def plan(name: str, chosen: bool = False) -> dict[str, Any]:
    return {"plan": name, "chosen": chosen}


class Plans(unittest.TestCase):
    cell = (8, 5)
    listed: ClassVar = [
        plan(p) for p in ("96,rescore", "64,rescore", "96,whole,rescore", "mixed64,rescore", "mixed96,rescore", "dense")
    ]

    def order(self, trials: Trials) -> list[tuple[bool, str]]:
        return [(must, p["plan"]) for must, p in trials.order(self.cell, self.listed)]

    def lost(self, trials: Trials, name: str) -> None:
        self.assertIsNotNone(trials.strike(self.cell, Gone("illegal address", {"do": "search", "plan": name})))

    def test_one_of_each_is_tried(self) -> None:
        must = ["96,rescore", "mixed64,rescore", "96,whole,rescore", "dense"]
        rest = ["64,rescore", "mixed96,rescore"]
        self.assertEqual(self.order(Trials("x")), [(True, p) for p in must] + [(False, p) for p in rest])
        trials = Trials("x")
        trials.answered(self.cell, "96,rescore", {"seconds": 1.0})
        trials.refused(self.cell, "mixed64,rescore", Failed("no room"))
        self.assertEqual(
            self.order(trials),
            [(True, p) for p in ("mixed96,rescore", "96,whole,rescore", "dense")] + [(False, "64,rescore")],
        )

    def test_mixed_codes_have_two_kernels(self) -> None:
        self.assertEqual(made_of("mixed96,rescore", 32), {"mixed"})
        self.assertEqual(made_of("mixed128,whole,rescore", 32), {"wide", "rows"})
        must = [p for must, p in self.order(Trials("x", 40)) if must]
        self.assertEqual(must, ["96,rescore", "mixed64,rescore", "mixed96,rescore", "96,whole,rescore", "dense"])

    def test_what_lost_the_device_is_struck_off(self) -> None:
        trials = Trials("x")
        trials.answered(self.cell, "96,rescore", {"seconds": 2.0})
        trials.answered(self.cell, "64,rescore", {"seconds": 1.0})
        trials.chosen[self.cell] = "64,rescore"
        self.assertEqual(trials.auto(self.cell), "")
        record = trials.strike(self.cell, Gone("illegal address", {"do": "search", "plan": ""}, {"code": 700}))
        self.assertEqual(
            record,
            {"plan": "64,rescore", "chosen": True, "late": False, "why": "illegal address",
             "request": {"do": "search", "plan": ""}, "driver": {"code": 700}},
        )  # fmt: skip
        self.assertEqual(trials.auto(self.cell), "illegal address")
        self.assertEqual(trials.best(self.cell), ("96,rescore", "96,rescore"))
        self.assertIsNone(
            trials.strike(self.cell, Gone("again", {"do": "search", "plan": "64,rescore"})), "nothing loops"
        )
        self.assertIsNone(trials.strike(self.cell, Gone("no plan", {"do": "build"})))
        other = Gone("it was what is measured besides", {"do": "split", "plan": "96,rescore"})
        self.assertIsNone(trials.strike(self.cell, other))
        self.assertNotIn("64,rescore", [p for _, p in self.order(trials)])
        with self.assertRaisesRegex(Failed, "no plan answered: there is none"):
            trials.best((1, 1))

    def test_a_look_at_fault_is_not_tried_again_and_again(self) -> None:
        trials = Trials("x")
        self.lost(trials, "96,rescore")
        self.assertIn((True, "96,whole,rescore"), self.order(trials))
        self.lost(trials, "96,whole,rescore")
        self.assertTrue(trials.why_not("96,128,rescore"))
        self.assertFalse(trials.why_not("64,rescore"))
        self.lost(trials, "64,rescore")
        self.assertTrue(trials.why_not("128,rescore"), "panels are at fault")
        self.assertEqual([p for _, p in self.order(trials)], ["mixed64,rescore", "dense", "mixed96,rescore"])


class Working(measure.Run):
    """A call whose processes end as told: at the step of a name, so often."""

    def __init__(self, folder: Path, ends: dict[Any, list[Any]]) -> None:
        super().__init__(measure.Log(folder / "results"), folder, 60, True, None)
        self.ends, self.processes, self.done = ends, 0, list[Any]()
        self.child = self  # type: ignore[assignment]

    def ask(self, *_: Any, **request: Any) -> Any:
        return {}

    @contextmanager
    def thresher(self, stderr: Any, wrap: Any = ()) -> Iterator[None]:
        self.processes += 1
        with suppress(Gone, Failed):
            yield

    def load(self, *_: Any) -> dict[str, Any]:
        if self.ends.get("load"):
            raise self.ends["load"].pop()
        return {}

    def step(self, field: Any, step: Any, cells: Any) -> None:
        if self.ends.get(step):
            raise self.ends[step].pop()
        self.done.append(step)


class Steps(unittest.TestCase):
    def work(self, **ends: list[Any]) -> Working:
        """Steps are the cells a, b and the quarter of the memory, q."""
        a, b = measure.SMALL_CELLS["power768"]
        recipe = vectors.Recipe("power768", 30, 4, None, 4)
        made = draw(30, 4, 4)
        with tempfile.TemporaryDirectory() as folder, open("/dev/null", "wb") as log, quietly():
            run = Working(Path(folder), {{"a": a, "b": b, "q": None}.get(name, name): e for name, e in ends.items()})
            run.work(vectors.Vectors(recipe, made.atoms, made.queries), (Path(), Path()), log)
        run.done = ["abq"[[a, b, None].index(step)] for step in run.done]
        return run

    def test_another_process_goes_on(self) -> None:
        for ends, done, processes in (
            ({}, "abq", 1),
            ({"b": 1}, "abq", 2),  # it may have been a that broke the process
            ({"a": 2}, "bq", 3),
            ({"b": 2, "q": 1}, "aq", 4),
            ({"a": 9, "b": 9}, "q", 5),
            ({"a": 9, "b": 9, "q": 9}, "", 6),
        ):
            run = self.work(**{name: [Gone("ended") for _ in range(n)] for name, n in ends.items()})
            self.assertEqual(("".join(run.done), run.processes), (done, processes), f"{ends}")

    def test_a_cell_goes_on_after_plans_that_are_struck_off(self) -> None:
        struck = [Gone("ended") for _ in range(9)]
        for e in struck:
            e.struck = True
        run = self.work(b=struck)
        self.assertEqual(("".join(run.done), run.processes), ("abq", 10))
        endless = [Gone("ended") for _ in range(99)]
        for e in endless:
            e.struck = True
        self.assertEqual(self.work(b=endless).processes, measure.PROCESSES)

    def test_a_set_that_cannot_be_loaded_is_left(self) -> None:
        for e in (Gone("lost"), Failed("no room")):
            self.assertEqual((run := self.work(load=[e])).processes, 2, "the second loads it")
            self.assertEqual("".join(run.done), "abq")
            self.assertEqual(((run := self.work(load=[e] * 9)).processes, run.done), (measure.BARREN, []))

    def test_what_hung_is_not_tried_again(self) -> None:
        late = Gone("ended")
        late.late = True
        run = self.work(a=[late])
        self.assertEqual(("".join(run.done), run.processes), ("bq", 2))


if __name__ == "__main__":
    unittest.main()
