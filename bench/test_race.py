"""Tests of the race with all exact peers. `bench.py --small` runs them first."""

from __future__ import annotations

import tempfile
import unittest
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path
from unittest.mock import patch

import numpy as np

import anchors
import answers
import cells
import check
import compare
import exact_race
import heats
import python_calls
import race_goals
import race_page
import recommenders
import results
import whole
from data import RECIPES
from test_bench import tiny_set


class ExactPeers(unittest.TestCase):
    def test_every_one_finds_the_best(self) -> None:
        r = np.random.default_rng(6)
        sizes = (700, anchors.TOGETHER + 300)  # selected together, and query by query
        for n, metric in product(sizes, cells.METRICS):
            # The best differ by metric.
            atoms = r.standard_normal((n, 40)) * np.exp(0.3 * r.standard_normal((n, 1))) + 0.4
            data = tiny_set(atoms, 2 * r.standard_normal((48, 40)), 100, metric)
            of = anchors.Anchors(data)
            with tempfile.TemporaryDirectory() as folder:
                of.faiss.data = replace(data, path=Path(folder))
                for peer in of.all():
                    for m, k in ((1, 1), (1, 10), (48, 1), (48, 100)):
                        with self.subTest(peer=peer.name, n=n, metric=metric, m=m, k=k):
                            self.assertEqual(check.recall(data, peer.answers(m, k), k), (1.0, 0))
                            self.assertGreater(peer.run(m, k, 1, 2), 0)

    def test_what_is_released_is_made_again(self) -> None:
        r = np.random.default_rng(9)
        data = tiny_set(r.standard_normal((300, 16)), r.standard_normal((8, 16)), 5)
        of = anchors.Anchors(data)
        with tempfile.TemporaryDirectory() as folder:
            of.faiss.data = replace(data, path=Path(folder))
            for peer in of.all():
                peer.run(1, 1, 0, 1)
                of.release()
                self.assertFalse({"flat", "panorama"} & set(vars(of.faiss)) or "scann_index" in vars(of))
                self.assertEqual(check.recall(data, peer.answers(8, 5), 5), (1.0, 0), peer.name)

    def test_batches_too_large_for_the_buffer_come_in_parts(self) -> None:
        r = np.random.default_rng(7)
        data = tiny_set(r.standard_normal((90, 12)), r.standard_normal((25, 12)), 5)
        of = anchors.Anchors(data)
        with patch("anchors.SCORES", 90 * 10):
            for peer in of.all():
                if peer.name in ("numpy", "mkl", "torch"):
                    self.assertEqual(check.recall(data, peer.answers(25, 5), 5), (1.0, 0), peer.name)
                    self.assertLessEqual(of.buffer.size, 90 * 10)

    def test_the_top_is_in_order_and_has_k_even_with_ties(self) -> None:
        for n in (50, anchors.TOGETHER + 1):
            scores = np.tile(np.arange(n, dtype=np.float32) // 3, (2, 1))
            for k in (1, 4, n):
                found = np.take_along_axis(scores, anchors.top(scores, k), axis=1)
                np.testing.assert_array_equal(found, np.sort(scores, axis=1)[:, ::-1][:, :k])


class Cells(unittest.TestCase):
    def parse(self, text: str) -> list[str]:
        grids: dict[str, cells.Grid] = {"a": ((1, 16), (1, 10)), "ab": ((1,), (100,))}
        return [str(c) for c in cells.parse(text, grids)]

    def test_what_is_not_said_is_the_sets_own(self) -> None:
        self.assertEqual(self.parse("ab"), ["ab:m=1:k=100"])
        self.assertEqual(self.parse("a:k=3/7"), [f"a:m={m}:k={k}" for m in (1, 16) for k in (3, 7)])
        self.assertEqual(self.parse("a*:m=1:k=10,ab:k=10:m=1"), ["a:m=1:k=10", "ab:m=1:k=10"])

    def test_the_metric_is_said_unless_it_is_the_inner_product(self) -> None:
        self.assertEqual(self.parse("a:metric=l2/ip:k=1:m=1"), ["a:metric=l2:m=1:k=1", "a:m=1:k=1"])
        again = cells.parse(str(cells.Cell("mnist", 16, 10, "cosine")))
        self.assertEqual(again, [cells.Cell("mnist", 16, 10, "cosine")])
        self.assertEqual(cells.metrics_of(cells.parse("mnist:metric=l2,mnist")), [("mnist", "l2"), ("mnist", "ip")])

    def test_others_are_refused(self) -> None:
        for text in ("nowhere", "a:m=0", "a:m=", "a:n=5", "a:k=1/x", "a:metric=l3", "a:metric="):
            with self.subTest(text), self.assertRaises(SystemExit):
                self.parse(text)


class Trials(unittest.TestCase):
    def test_a_peer_far_behind_at_a_smaller_k_is_not_tried_again(self) -> None:
        class Fixed:
            most = 16

            def __init__(self, name: str, seconds: Callable[[int], float]) -> None:
                self.name, self.seconds, self.runs = name, seconds, 0

            def run(self, m: int, k: int, first: int, count: int) -> float:
                self.runs += 1
                return count * m * self.seconds(k)

        peers_of = [
            Fixed("a", lambda k: 1),
            Fixed("b", lambda k: 1 + k),
            Fixed("c", lambda k: 5),
            Fixed("d", lambda k: 2),
        ]
        race_of = heats.Heats.__new__(heats.Heats)
        race_of.peers, race_of.tried, race_of.ready = {p.name: p for p in peers_of}, {}, set()
        race_of.crowded = False
        race_of.data = tiny_set(np.eye(3), np.eye(3), 1)
        self.assertEqual(set(race_of.trials(4, 1)), {"a", "b", "c", "d"})
        self.assertEqual(race_of.trials(4, 10), {"a": 1, "b": 11, "d": 2})
        race_of.tried = {("c", 4): (10, 50.0)}
        self.assertIn("c", race_of.trials(4, 1), "slow at a larger k")

    def test_adaptive_takes_turns_where_auto_scans(self) -> None:
        class Planned:
            def __init__(self, plan: str) -> None:
                self.plan = plan

            def ask(self, **request: object) -> results.Record:
                return {"forecasts": [{"plan": "64,rescore", "chosen": False}, {"plan": self.plan, "chosen": True}]}

        def turns(contestants: list[object], *_: object) -> tuple[dict[str, list[float]], int]:
            for c in contestants:
                if isinstance(c, heats.Thresher):
                    c.last = {"plans": {}}
            return {c.name: [1.0, 1.0] for c in contestants}, 0  # type: ignore[attr-defined]

        race_of = heats.Heats.__new__(heats.Heats)
        race_of.data, race_of.budget = tiny_set(np.eye(3), np.eye(3), 1), 1.0
        race_of.peers = {"a": anchors.Anchor("a", None, lambda q, k: q, 1)}  # type: ignore[arg-type]
        race_of.trials = lambda m, k: {"a": 1.0}  # type: ignore[method-assign]
        with patch("heats.take_turns", turns):
            for plan, k, methods, raced_too in (
                ("dense", 100, heats.METHODS, True),
                ("64,whole,rescore", 100, heats.METHODS, False),
                ("dense", 1000, heats.METHODS, False),
                ("dense", 100, ("auto",), False),
            ):
                race_of.racer = Planned(plan)  # type: ignore[assignment]
                us = race_of.cell(cells.Cell("s", 1, k), methods)["us"]
                self.assertEqual("adaptive" in us, raced_too, (plan, k, methods))

    def test_rounds_end_when_the_ratio_is_settled(self) -> None:
        times = {"peer x": [4.0, 4.1, 4.0, 4.0, 4.0], "peer y": [9.0] * 5, "auto": [2.0] * 5}
        self.assertEqual(heats.ratios(times), ("peer x", [2.0, 2.05, 2.0, 2.0, 2.0]))
        self.assertTrue(heats.settled(times))
        self.assertFalse(heats.settled({name: ts[:4] for name, ts in times.items()}), "too few rounds")
        self.assertFalse(heats.settled(times | {"auto": [2.0, 1.0, 3.0, 1.0, 3.0]}))

    def test_a_fixed_plan_that_is_not_offered_is_the_dense_scan(self) -> None:
        for d, k, offered, plan in (
            (768, 10, ["64,whole,rescore", "dense"], "64,whole,rescore"),
            (768, 100, ["64,whole,rescore", "dense"], "dense"),
            (64, 10, ["whole,rescore", "dense"], "whole,rescore"),
            (64, 1000, ["whole,rescore", "dense"], "dense"),
        ):
            self.assertEqual(heats.fixed_plan(d, k, offered), plan)


def raced(name: str, n: int, m: int, k: int, ratio: float, best: str = "scann") -> results.Record:
    us = {best: 10 * ratio, "auto": 10.0, "certain": 20.0, "exact": 99.0}
    said = {"kind": "race", "set": name, "n": n, "d": 8, "m": m, "k": k, "us": us, "best": best, "ratio": ratio}
    said |= {"quartiles": [ratio * 0.9, ratio * 1.1], "rounds": 5, "disturbed": 0, "certain_ratio": ratio / 2}
    said |= {"plans": {"auto": {"adaptive, probabilistic: 64,rescore": 9}}, "recall": {best: 1.0}, "compatible": True}
    return said | {
        "criterion": answers.CRITERION,
        "wrong": {"auto": 1, "certain": 0, "exact": 0},
        "checked": {"auto": 9, "certain": 9, "exact": 9},
    }


def regretted(name: str, n: int, m: int, k: int, regret: float, fixed: float) -> results.Record:
    said = {"kind": "regret", "set": name, "n": n, "d": 8, "m": m, "k": k, "chosen": "x", "best": "y"}
    return said | {"regret": regret, "fixed_regret": fixed}


def on_cores(m: int, ratio: float) -> results.Record:
    said = {"kind": "cores", "set": "a", "n": 60_000, "d": 8, "m": m, "k": 10}
    return said | {"one_us": 10 * ratio, "other_us": 10.0, "ratio": ratio}


class RacePage(unittest.TestCase):
    def page(self, records: list[results.Record], causes: str = "") -> str:
        facts = {"cpu": "a processor", "cores": 1, "caches": "", "flags": [], "system": "", "go": "", "faiss": ""}
        with tempfile.TemporaryDirectory() as folder:
            log = results.Log(Path(folder) / "a-processor", "set", facts | {"numpy": ""}, "c0", "command")
            for r in records:
                log.append(r)
            if causes:
                (log.path.parent / race_goals.CAUSES).write_text(causes)
            return race_page.page(Path(folder))

    def test_every_goal_is_a_row_with_the_causes_of_those_missed(self) -> None:
        slow = raced("c", 61_440, 256, 10, 0.5) | {"d": 768}
        scanned = raced("b", 10_000, 1, 100, 3.0)
        scanned["us"]["adaptive"] = 16.0
        records = [
            *(slow, scanned, raced("a", 60_000, 1, 1000, 2.0), raced("b", 60_000, 1, 1000, 1.2)),
            *(raced("b", 60_000, 16, 1000, 1.4), on_cores(1, 1.6), on_cores(256, 1.7), on_cores(16, 1.95)),
        ]
        causes = "- *every cell from 1,000 atoms on.* Memory.\n  It is slow.\n- *k = 100 of 10,000 atoms.* Not shown."
        text = self.page(records, causes)
        for line in (
            "| every cell from 1,000 atoms on: at least 0.95 | 5 | 0.5 | 0.5 (c, m = 256, k = 10) | 1 | **missed** |",
            # the mean of m = 1 is 1.55
            "| k = 1,000 from 60,000 atoms on: at least 1.5 | 3 | 1.4 | 1.2 (b, m = 1, k = 1000) | 2 | **missed** |",
            "| k = 100 of 60,000 atoms, m from 16 on: at least 3.5 | 0 |  |  |  | not measured |",
            "| k = 100 of 10,000 atoms: at least 2 | 1 | 3 | 3 (b, m = 1, k = 100) |  | reached |",
            "| k = 10 of 60,000 x 768, m = 256: at least 8 | 1 | 0.5 | 0.5 (c, m = 256, k = 10) | 1 | **missed** |",
            "| one query on two cores from 60,000 atoms on: at least 1.4 | 1 | 1.6 | 1.6 (a, m = 1, k = 10) |",
            "| batches on two cores: at least 1.9 | 2 | 1.7 | 1.7 (a, m = 256, k = 10) | 1 | **missed** |",
            "| certain beside adaptive: at most 1.5 | 2 | 2 | 2 (c, m = 256, k = 10) | 1 | **missed** |",
            "at most delta of `auto` | 5 | 0 |  |  | reached |",
            "- *every cell from 1,000 atoms on.* Memory.\n  It is slow.",
            "Causes not written down: ip and cosine, k = 1,000 from 60,000 atoms on, k = 10 of 60,000",
            "| c | 256 | 10 | 2 | | 64,rescore |".replace("| | ", "|  | "),
            "| a | 60,000 x 8 | 256 | 10 | `auto` | 17 | 10 | 1.7 | 0.85 |",
        ):
            self.assertIn(line, text)
        self.assertNotIn("Not shown", text)
        wrong = raced("a", 10, 1, 1, 2.0)
        wrong["wrong"]["certain"] = 1
        self.assertIn("at most delta of `auto` | 1 | 1 |  |  | **missed** |", self.page([wrong]))
        del wrong["criterion"]  # of another definition
        text = self.page([wrong])
        self.assertIn("at most delta of `auto` | 0 |  |  |  | not measured |", text)
        self.assertIn("Wrong answers are not counted", text)
        with self.assertRaises(SystemExit):
            self.page(records, "- *every set.* No such goal.")

    def test_the_page_begins_with_what_was_won_and_missed(self) -> None:
        fast, slow = raced("a", 60_000, 1, 10, 4.0), raced("b", 60_000, 16, 10, 0.5) | {"metric": "l2"}
        first = self.page([fast, slow]).split("\n\n")[1]
        self.assertIn("as fast as the fastest exact peer, or faster, in 1 of 2 cells, 1.4 times as fast", first)
        self.assertIn("it is behind (below 0.95) in 1, at worst 0.5 (b by l2, m = 16, k = 10)", first)
        # Every cell, l2, k to 10 of one query, and certain beside adaptive are missed; ip and cosine, and the answers,
        # are as they should be.
        self.assertIn("and 4 of 6 goals are missed.", first)

    def test_metrics_have_cells_and_goals_of_their_own(self) -> None:
        nearest = [raced("a", 60_000, 1, k, ratio) | {"metric": "l2"} for k, ratio in ((10, 4.0), (1000, 1.0))]
        records = [
            *nearest,
            raced("a", 60_000, 1, 10, 8.0),
            raced("a", 10_000, 1, 100, 2.0) | {"metric": "cosine"},
            raced("counts-9x9", 10_000, 1, 100, 0.5),
            *(on_cores(1, 0.9) | {"method": "certain", "n": 9000}, on_cores(1, 1.5)),
            {"kind": "process", "set": "p", "metric": "l2", "n": 100, "d": 8, "m": 1000, "k": 10, "ratio": 4.0}
            | {"recall": 0.999, "seconds": {"thresher": [1.0, 3.0, 2.0], "faiss.knn": [8.0, 9.0, 7.0]}},
        ]
        text = self.page(records)
        for line in (
            "| ip and cosine: at least 3.5 | 3 | 2 | 0.5 (counts-9x9, m = 1, k = 100) | 2 | **missed** |",
            "| l2: at least 3 | 2 | 2 | 1 (a by l2, m = 1, k = 1000) | 1 | **missed** |",
            "| counts: at least 0.95 | 1 | 0.5 | 0.5 (counts-9x9, m = 1, k = 100) | 1 | **missed** |",
            "| k = 100 of 10,000 atoms: at least 2 | 0 |",
            "| m = 1, k to 10, from 60,000 atoms on: at least 12 | 2 | 5.7 | 4 (a by l2, m = 1, k = 10) | 2 |",
            "| every cell on two cores: at least 1 | 2 | 0.9 | 0.9 (a, m = 1, k = 10) | 1 | **missed** |",
            "| one query on two cores from 60,000 atoms on: at least 1.4 | 1 | 1.5 |",
            "| whole processes: at least 5 | 1 | 4 | 4 (p by l2, m = 1,000, k = 10) | 1 | **missed** |",
            "| l2 | 2 | 2 | 1 |  |  |",
            "| a by l2 | 60,000 x 8 | 4 / - / 1 | 2 / - / 0.5 |",
            "| a | 60,000 x 8 | 8 / - / - |",
            "| p by l2 | 100 x 8 | 1,000 | 10 | 2 | 8 | 4 | 0.9990 |",
            "| a | 9,000 x 8 | 1 | 10 | `certain` |",
        ):
            self.assertIn(line, text)

    def test_the_regret_is_beside_that_of_the_fixed_ladder(self) -> None:
        records = [regretted("a", 60_000, 1, 10, 1.5, 1.2), regretted("b", 60_000, 1, 10, 1.0, 2.0)]
        records.append(regretted("c", 60_000, 1, 10, 1.3, 1.0) | {"d": 99})
        text = self.page(records)
        for line in (
            "| 8 | 10 | 2 | 1.2 | 1.5 (a m = 1: x, best y) | 1.5 | 2 |",
            "| 99 | 10 | 1 | 1.3 | 1.3 (c m = 1: x, best y) | 1 | 1 |",
            "by more than 5% in 2 of 3 cells",
            "| a | 1 | 10 | 1.5 | x | y | 1.2 |\n| c | 1 | 10 | 1.3 | x | y | 1 |",
        ):
            self.assertIn(line, text)

    def test_groups_losses_and_winners(self) -> None:
        text = self.page(
            [
                raced("a", 60_000, 1, 10, 8.0),
                raced("b", 61_440, 1, 10, 2.0, "mkl"),
                raced("c", 500, 1, 10, 0.5),
                raced("c", 500, 16, 10, 0.97),
                regretted("a", 60_000, 1, 10, 1.5, 1.2),
            ]
        )
        for line in (
            "| 20,001 to 99,999 | 10 | 4 (2 b) |  |",
            "| up to 1,000 | 10 | **0.5 (0.5 c)** | 0.97 (0.97 c) |",
            "| 20,001 to 99,999 | 10 | 2 (1 b) |  |",  # certain
            "| c | 500 x 8 | 1 | 10 | scann | 5 | 10 | **0.5** | 0.45 to 0.55, 5 | 0.25 | 64,rescore |",
            "| c | 500 x 8 | 16 | 10 | scann | 9.7 | 10 | 0.97 | 0.87 to 1.1, 5 | 0.48 | 64,rescore |",
            "| c | 500 x 8 | 0.5 | 0.25 | 16 | 0.97 | 0.48 |",
            "| 10 | 4 | 2 | 2 | 2 | 2 | 4 |",
            "| scann | 3 | 2 | 1 |",
            "| mkl | 1 | 1 |  |",
            "`auto` 4 of 36",
            "| 20,001 to 99,999 | 10 | 1 | 1.5 | 1.5 (a m = 1: x, best y) | 1.2 | 1.2 |",
        ):
            self.assertIn(line, text)
        self.assertIn("(below 0.95) in 1 cells, a little slower in 1", text)
        self.assertLess(text.index("**0.5** | 0.45"), text.index("0.97 | 0.87"), "worst first")

    def test_commands_for_some_cells_each_are_one(self) -> None:
        run = ["bench --only race --cells a:m=1", "bench --only race --cells b", "bench --only race --cells b", "make"]
        self.assertEqual(race_page.commands(run), "`bench --only race --cells a:m=1,b`; `make`")

    def test_commands_name_some_of_many_cells(self) -> None:
        many = "bench --cells " + ",".join(f"c{i}" for i in range(20))
        named = ",".join(f"c{i}" for i in range(race_page.NAMED))
        self.assertEqual(race_page.commands([many]), f"`bench --cells {named},.. (20 in all)`")

    def test_nothing_measured(self) -> None:
        self.assertEqual(self.page([]), race_page.NOTHING)


class ExactRace(unittest.TestCase):
    def test_an_interrupted_set_goes_on_where_it_stopped(self) -> None:
        asked: list[tuple[str, list[cells.Cell]]] = []

        def of_set(kind: str, missing: list[cells.Cell], log: results.Log, budget: float) -> None:
            asked.append((kind, list(missing)))
            for cell in missing[:2]:  # then it is interrupted
                log.append({"kind": kind, "set": cell.set, "m": cell.m, "k": cell.k})

        chosen = cells.of_grid("s", ((1, 16), (1, 10)))
        with (
            tempfile.TemporaryDirectory() as folder,
            patch.multiple("exact_race", of_set=of_set, facts=lambda: {"cpu": "a"}),
            patch("builtins.print"),
            patch("data.DataSet.about_of", lambda name: {"atoms": 1, "dimension": 1}),
        ):
            for kind in ("race", "race", "race", "regret"):
                self.assertTrue(exact_race.run(kind, chosen, Path(folder), "command"))
        self.assertEqual(asked, [("race", chosen), ("race", chosen[2:]), ("regret", chosen)])

    def test_results_of_before_are_of_inner_products(self) -> None:
        asked: list[list[cells.Cell]] = []
        by_all = [c for metric in cells.METRICS for c in cells.of_grid("s", ((1,), (1, 10)), metric)]

        def of_set(kind: str, missing: list[cells.Cell], log: results.Log, budget: float) -> None:
            asked.append(list(missing))
            for cell in missing:
                log.append({"kind": kind, "set": cell.set, "metric": cell.metric, "m": cell.m, "k": cell.k})

        with (
            tempfile.TemporaryDirectory() as folder,
            patch.multiple("exact_race", of_set=of_set, facts=lambda: {"cpu": "a"}),
            patch("builtins.print"),
            patch("data.DataSet.about_of", lambda name: {"atoms": 1, "dimension": 1}),
        ):
            log = results.Log(exact_race.folder(Path(folder)), "s", {"cpu": "a"}, "", "")
            log.append({"kind": "race", "set": "s", "m": 1, "k": 10})
            for _ in range(2):
                exact_race.run("race", by_all, Path(folder), "command")
        self.assertEqual(asked, [by_all[:1], by_all[2:4], by_all[4:]])

    def test_wrong_answers_fail_the_run(self) -> None:
        right = raced("a", 10, 1, 1, 1.0)
        self.assertTrue(exact_race.fine(right))
        self.assertTrue(exact_race.fine({"kind": "regret"}))
        with patch("builtins.print"):
            self.assertFalse(exact_race.fine(right | {"compatible": False}))
            self.assertFalse(exact_race.fine(right | {"recall": {"scann": 0.99}}))

    def test_every_set_has_a_recipe_with_enough_of_the_best(self) -> None:
        for name, (_, ks) in cells.ALL.items():
            self.assertLessEqual(max(ks), RECIPES[name].best, name)
        for name, (_, ks) in cells.SMALL.items():
            self.assertLessEqual(max(ks), RECIPES[name].best, name)

    def test_two_cores_are_raced_with_thresher_alone(self) -> None:
        started: list[int] = []
        asked: list[tuple[int, int]] = []

        class Process:
            def __init__(self, data: object, threads: int = 1) -> None:
                started.append(threads)

            def __enter__(self) -> Process:
                return self

            def __exit__(self, *_: object) -> None:
                pass

        def duel(one: object, other: object, m: int, k: int, budget: float) -> results.Record:
            asked.append((m, k))
            return {"m": m, "k": k, "ratio": 1.9}

        data = replace(tiny_set(np.eye(3), np.eye(3), 1), name="s")
        chosen = cells.of_grid("s", ((1, 256), (10,)))
        with (
            tempfile.TemporaryDirectory() as folder,
            patch.multiple("exact_race", Racer=Process, duel=duel, facts=lambda: {"cpu": "a"}),
            patch("environment.CORES", (0, 1)),
            patch("builtins.print"),
            patch("data.DataSet.about_of", lambda name: {"atoms": 3, "dimension": 3}),
            patch("data.DataSet.open", lambda *of: data),
        ):
            for _ in range(2):
                self.assertTrue(exact_race.run("cores", chosen, Path(folder), "command"))
            with patch("environment.CORES", (0,)):
                self.assertTrue(exact_race.run("cores", cells.of_grid("t", ((1,), (10,))), Path(folder), "command"))
        self.assertEqual((started, asked), ([1, 2], [(1, 10), (1, 10), (256, 10), (256, 10)]))

    def test_the_cells_of_two_cores_have_one_query_and_batches(self) -> None:
        for long in (False, True):
            ms = {c.m for c in cells.chosen("", quick=False, long=long, kind="cores")}
            self.assertEqual(ms, {1, 256})

    def test_quick_cells_are_among_all(self) -> None:
        quick = cells.chosen("", quick=True, long=False)
        self.assertLessEqual(set(quick), set(cells.chosen("", quick=False, long=False)))
        self.assertIn(len(quick), range(120, 140))
        self.assertEqual({c.metric for c in quick}, set(cells.METRICS))


class Whole(unittest.TestCase):
    def test_processes_take_turns_and_answers_are_compared(self) -> None:
        turns: list[str] = []

        def once(command: list[str | Path]) -> float:
            ours = "search" in command
            turns.append("thresher" if ours else "faiss.knn")
            ids = np.arange(whole.K) + np.zeros((100, 1), int)
            if ours:
                ids[:missed] += 1000
            np.savez(Path(command[-1]), ids=ids)
            return len(turns) * (1.0 if ours else 3.0)

        with (
            tempfile.TemporaryDirectory() as folder,
            patch.multiple("whole", once=once, files=lambda n, d, m: Path("sets")),
            patch("exact_race.facts", lambda binary: {"cpu": "a"}),
            patch("builtins.print"),
        ):
            for missed, right in ((0, True), (2, False)):
                whole.forget(Path(folder))
                turns.clear()
                self.assertEqual(whole.run(Path(folder), "command", metrics=("ip",)), right)
                self.assertEqual(turns, ["faiss.knn", "thresher", "thresher", "faiss.knn"] * 2)
                (record,) = (r for r in results.load(whole.path(Path(folder))) if r["kind"] == "process")
                # The first two warm: 3 and 4, 6 and 5, 7 and 8 come after.
                self.assertEqual(record["seconds"], {"thresher": [3.0, 6.0, 7.0], "faiss.knn": [12.0, 15.0, 24.0]})
                self.assertAlmostEqual(record["ratio"], 24 / 7, places=4)
                self.assertAlmostEqual(record["recall"], 1 - missed / 100)
                self.assertEqual(whole.run(Path(folder), "command", metrics=("ip",)), right, "not measured again")
                self.assertEqual(len(turns), 8)


class Loops(unittest.TestCase):
    def test_the_worst_loop_decides(self) -> None:
        def of(n: int, beside: float) -> list[results.Record]:
            shape = {"what": "loop", "atoms": [n, 8]}
            ours = shape | {"name": "Index.search", "us": [90.0, 100.0, 110.0], "beside": [beside, beside, 1e9]}
            return [ours, shape | {"name": "IndexFlatIP.search", "us": [50.0]}, shape | {"name": "numpy", "us": [70.0]}]

        text = python_calls.looped(of(1000, 40) + of(20_000, 59))
        self.assertIn("| 20,000 x 8 | 100 | 59 | 50 | 70 | 0.5 |", text)
        self.assertIn("; reached.", text)
        self.assertIn("; missed.", python_calls.looped(of(1000, 61) + of(20_000, 59)))


class Recommenders(unittest.TestCase):
    def test_factors_rank_like_the_ratings_they_come_from(self) -> None:
        r = np.random.default_rng(8)
        rated = (r.standard_normal((30, 3)) @ r.standard_normal((3, 50))).astype(np.float32) + 3
        items, users, _ = recommenders.factorised(rated, 4, 50)
        some = np.random.default_rng(recommenders.SEED).permutation(50)
        np.testing.assert_allclose(items @ users.T, rated[:, some], atol=1e-4)

    def test_popular_items_are_longer(self) -> None:
        even, skewed = (np.linalg.norm(recommenders.factors(4000, 64, s, 10)[0], axis=1) for s in (False, True))
        self.assertLess(even.std() / even.mean(), 0.2)
        self.assertGreater(skewed.std() / skewed.mean(), 0.7)


class Comparison(unittest.TestCase):
    def test_the_other_build_is_a_binary_or_a_revision(self) -> None:
        self.assertEqual(compare.other_racer(__file__), Path(__file__).resolve())
        with self.assertRaises(SystemExit):
            compare.other_racer("no-such-revision")

    def test_a_cell_as_text(self) -> None:
        record = {"n": 1000, "d": 8, "ratio": 2.0, "quartiles": [1.9, 2.1], "rounds": 5, "best": "scann"}
        record["us"] = {"scann": 20.0, "auto": 10.0, "auto before": 5.0}
        record["trials"] = {"scann": 20.0, "numpy": 77.0}
        record["plans"] = {"auto": {"adaptive, probabilistic: 64,rescore": 3}}
        said = {"wrong": {"auto": 1}, "checked": {"auto": 99}}
        text = compare.lines(cells.Cell("s", 1, 10), record, said)
        self.assertIn("s:m=1:k=10 (1,000 x 8): 2 times as fast as scann (quartiles 1.9 to 2.1 of 5 rounds)", text[0])
        self.assertIn("0.5 x before, 64,rescore, 1 wrong of 99", text[2])
        self.assertIn("numpy 77", text[-1])


if __name__ == "__main__":
    unittest.main()
