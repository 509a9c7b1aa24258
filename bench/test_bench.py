"""Tests of the race's own code. `bench.py --small` runs them first."""

from __future__ import annotations

import json
import tempfile
import unittest
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import comb
from pathlib import Path
from unittest.mock import patch

import numpy as np

import anchors
import answers
import cells
import check
import compare
import contestants
import corpus
import estimate
import exact_race
import heats
import others
import peers
import race
import race_page
import recommenders
import results
import roofline
import tasks
from data import RECIPES, DataSet, best_atoms, save
from markdown import digits


def tiny_set(atoms: np.ndarray, queries: np.ndarray, k: int) -> DataSet:
    atoms, queries = atoms.astype(np.float32), queries.astype(np.float32)
    ids, scores, norms = best_atoms(atoms, queries, k)
    return DataSet("test", Path(), {}, atoms, queries, norms, ids, scores)


class Best(unittest.TestCase):
    def test_agrees_with_all_scores_in_float64(self) -> None:
        r = np.random.default_rng(1)
        atoms = r.standard_normal((500, 33)).astype(np.float32)
        atoms[100:110] = atoms[90:100]  # ties: the lower id first
        queries = r.standard_normal((7, 33)).astype(np.float32)
        ids, scores, norms = best_atoms(atoms, queries, 20)
        exact = queries.astype(np.float64) @ atoms.astype(np.float64).T
        for j in range(7):
            order = np.lexsort((np.arange(500), -exact[j]))[:20]
            self.assertEqual(ids[j].tolist(), order.tolist())
            np.testing.assert_allclose(scores[j], exact[j, order], rtol=1e-12)
        np.testing.assert_allclose(norms, np.linalg.norm(atoms.astype(np.float64), axis=1), rtol=1e-12)


class Hits(unittest.TestCase):
    def test_tolerance(self) -> None:
        step = 2.0**-24  # of float32 below 1; four are the tolerance
        atoms = np.array([[1 - 4 * step, 0], [1 - 5 * step, 0], [0, 1], [1, 0]])
        data = tiny_set(atoms, np.array([[1, 0]]), 1)
        for atom, hit in ((3, 1), (0, 1), (1, 0), (2, 0), (4, -1), (-1, -1)):
            self.assertEqual(check.hits(data, 0, np.array([atom]), 1), hit, f"atom {atom}")

    def test_wrong_answers_are_caught(self) -> None:
        r = np.random.default_rng(2)
        check.prove(tiny_set(r.standard_normal((300, 16)), r.standard_normal((40, 16)), 20), 10)


class Compatible(unittest.TestCase):
    def test_delta_is_of_answers_that_may_be_wrong(self) -> None:
        verdict = check.Verdict(checked=set(range(100)), certain=set(range(99)), wrong={99})
        self.assertAlmostEqual(verdict.chance(0.01), 0.01)


class Paths(unittest.TestCase):
    def test_every_path_of_faiss_is_exact(self) -> None:
        r = np.random.default_rng(3)
        # Far from centred: centred axes would change the order of inner products.
        atoms = r.standard_normal((3000, 100)) * np.arange(1, 101) ** -0.6 + 0.3
        data = tiny_set(atoms, r.standard_normal((64, 100)) + 0.3, 10)
        flat = contestants.Flat(data)
        with tempfile.TemporaryDirectory() as folder:
            flat.data = replace(data, path=Path(folder))
            for path in contestants.PATHS:
                found = flat.search(path, 64, 10, 0, 1)[1]
                self.assertEqual(check.recall(data, found, 10), (1.0, 0), path)

    def test_a_hopeless_path_is_not_raced(self) -> None:
        trials = {"blas": 5.0, "rows": 2.0, "panorama": 1.0}
        self.assertEqual(race.hopeful(trials), ["rows", "panorama"])


class Indexes(unittest.TestCase):
    def recalls(self, index: Callable[[np.ndarray], peers.Index]) -> list[float]:
        """At each setting, on atoms whose best inner products, distances and cosines differ."""
        r = np.random.default_rng(5)
        atoms = r.standard_normal((4000, 32)) * np.exp(0.5 * r.standard_normal((4000, 1))) + 0.3
        data = tiny_set(atoms, r.standard_normal((64, 32)), 10)
        built = index(data.atoms)
        found = []
        for _, choose in built.settings:
            choose()
            found.append(check.recall(data, built.search(data.queries, 10), 10)[0])
            self.assertEqual(built.search(data.queries[:1], 10).shape, (1, 10))
        return found

    def rises(self, found: list[float]) -> None:
        self.assertLess(found[0], 0.8)
        self.assertGreater(found[-1], 0.97)

    def test_settings_of_the_factory_reach_every_part(self) -> None:
        for name in ("IVF16,PQ16x4fsr,RFlat", "RR,IVF16,RaBitQfs,RFlat"):
            index = partial(peers.composed, description=name)
            self.rises(self.recalls(partial(index, settings=peers.probing((1, 100), (16, 100)))))
            self.rises(self.recalls(partial(index, settings=peers.probing((16, 1), (16, 100)))))

    @unittest.skipUnless(peers.scann, "ScaNN is not installed")
    def test_settings_of_scann(self) -> None:
        for settings in (((1, 1000), (16, 1000)), ((16, 10), (16, 1000))):
            self.rises(self.recalls(partial(peers.scann_tree, leaves=16, settings=settings)))


class ExactPeers(unittest.TestCase):
    def test_every_one_finds_the_best(self) -> None:
        r = np.random.default_rng(6)
        for n in (700, anchors.TOGETHER + 300):  # selected together, and query by query
            atoms = r.standard_normal((n, 40)) * np.exp(0.3 * r.standard_normal((n, 1)))
            data = tiny_set(atoms, r.standard_normal((48, 40)), 100)
            of = anchors.Anchors(data)
            with tempfile.TemporaryDirectory() as folder:
                of.faiss.data = replace(data, path=Path(folder))
                for peer in of.all():
                    for m, k in ((1, 1), (1, 10), (48, 1), (48, 100)):
                        with self.subTest(peer=peer.name, n=n, m=m, k=k):
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
    grids = {"a": ((1, 16), (1, 10)), "ab": ((1,), (100,))}

    def parse(self, text: str) -> list[str]:
        return [str(c) for c in cells.parse(text, self.grids)]

    def test_what_is_not_said_is_the_sets_own(self) -> None:
        self.assertEqual(self.parse("ab"), ["ab:m=1:k=100"])
        self.assertEqual(self.parse("a:k=3/7"), [f"a:m={m}:k={k}" for m in (1, 16) for k in (3, 7)])
        self.assertEqual(self.parse("a*:m=1:k=10,ab:k=10:m=1"), ["a:m=1:k=10", "ab:m=1:k=10"])

    def test_others_are_refused(self) -> None:
        for text in ("nowhere", "a:m=0", "a:m=", "a:n=5", "a:k=1/x"):
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

        peers_of = [Fixed("a", lambda k: 1), Fixed("b", lambda k: 1 + k), Fixed("c", lambda k: 5), Fixed("d", lambda k: 2)]
        race_of = heats.Heats.__new__(heats.Heats)
        race_of.peers, race_of.tried, race_of.ready = {p.name: p for p in peers_of}, {}, set()
        race_of.crowded = False
        race_of.data = tiny_set(np.eye(3), np.eye(3), 1)
        self.assertEqual(set(race_of.trials(4, 1)), {"a", "b", "c", "d"})
        self.assertEqual(race_of.trials(4, 10), {"a": 1, "b": 11, "d": 2})
        race_of.tried = {("c", 4): (10, 50.0)}
        self.assertIn("c", race_of.trials(4, 1), "slow at a larger k")

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
    return said | {"wrong": {"auto": 1, "certain": 0, "exact": 0}, "checked": {"auto": 9, "certain": 9, "exact": 9}}


class RacePage(unittest.TestCase):
    def page(self, records: list[results.Record]) -> str:
        facts = {"cpu": "a processor", "cores": 1, "caches": "", "flags": [], "system": "", "go": "", "faiss": ""}
        with tempfile.TemporaryDirectory() as folder:
            log = results.Log(Path(folder) / "a-processor", "set", facts | {"numpy": ""}, "c0", "command")
            for r in records:
                log.append(r)
            return race_page.page(Path(folder))

    def test_groups_losses_and_winners(self) -> None:
        text = self.page(
            [
                raced("a", 60_000, 1, 10, 8.0),
                raced("b", 61_440, 1, 10, 2.0, "mkl"),
                raced("c", 500, 1, 10, 0.5),
                raced("c", 500, 16, 10, 0.97),
                {"kind": "regret", "set": "a", "n": 60_000, "d": 8, "m": 1, "k": 10, "chosen": "x", "best": "y"}
                | {"regret": 1.5, "fixed_regret": 1.2},
            ]
        )
        for line in (
            "| 20,001 to 99,999 | 10 | 4 (2 b) |  |",
            "| up to 1,000 | 10 | **0.5 (0.5 c)** | 0.97 (0.97 c) |",
            "| 20,001 to 99,999 | 10 | 2 (1 b) |  |",  # certain
            "| c | 500 x 8 | 1 | 10 | scann | 5 | 10 | **0.5** | 0.45 to 0.55, 5 | 0.25 | 64,rescore |",
            "| c | 500 x 8 | 16 | 10 | scann | 9.7 | 10 | 0.97 | 0.87 to 1.1, 5 | 0.48 | 64,rescore |",
            "| scann | 3 | 2 | 1 |",
            "| mkl | 1 | 1 |  |",
            "`auto` 4 of 36",
            "| 20,001 to 99,999 | 10 | 1 | 1.5 | 1.5 (a m = 1: x, best y) | 1.2 | 1.2 |",
        ):
            self.assertIn(line, text)
        self.assertIn("(below 0.95) in 1, slower by less in 1", text)
        self.assertLess(text.index("**0.5** | 0.45"), text.index("0.97 | 0.87"), "worst first")

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

    def test_quick_cells_are_among_all(self) -> None:
        quick = cells.chosen("", quick=True, long=False)
        self.assertLessEqual(set(quick), set(cells.chosen("", quick=False, long=False)))
        self.assertIn(len(quick), range(60, 80))


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


class Chance(unittest.TestCase):
    def test_agrees_with_rational_arithmetic(self) -> None:
        for n, delta in ((20, Fraction(1, 100)), (50, Fraction(1, 10))):
            for wrong in range(0, n + 1, 5):
                terms = (comb(n, i) * delta**i * (1 - delta) ** (n - i) for i in range(wrong, n + 1))
                self.assertAlmostEqual(answers.chance(wrong, n, float(delta)) / float(sum(terms)), 1, places=9)


class Distinct(unittest.TestCase):
    def test_an_answer_counts_once_and_a_certain_one_allows_nothing(self) -> None:
        def cell(m: int, wrong: int, certain: float = 0.25, **more: object) -> results.Record:
            said = {"set": "a", "m": m, "k": 1, "delta": 0.01, "checked": 1000, "wrong": wrong, "certain_wrong": 0}
            return said | {"certain": certain} | more

        same = [cell(m, 1, wrong_queries=[7]) for m in (1, 16)] + [cell(256, 1, wrong_queries=[8]), cell(1024, 1)]
        one, other, fewer = answers.distinct(
            [*same, cell(1, 0, earlier=True), cell(1, 3, certain=1.0, atoms=50)], {"a": 100}
        )
        self.assertEqual((one.checked, one.probabilistic, one.wrong, one.allowed), (1000, 750, 2, 7.5))
        self.assertEqual((other.wrong, other.compatible), (0, True))
        self.assertEqual((fewer.atoms, fewer.allowed, fewer.compatible), (50, 0, False))


class Log(unittest.TestCase):
    def test_goes_on_only_with_its_own(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            log = results.Log(Path(folder), "task", {"cpu": "a"}, "c0", "command")
            log.append({"kind": "race", "m": 1})
            log.path.write_text(log.path.read_text() + '{"kind": "race", "m": 2')  # interrupted
            again = results.Log(Path(folder), "task", {"cpu": "a"}, "c1", "command")
            self.assertTrue(again.has(kind="race", m=1))
            self.assertFalse(again.has(kind="race", m=2))
            again.append({"kind": "race", "m": 2})
            self.assertEqual(
                [json.loads(line)["kind"] for line in again.path.read_text().splitlines()], ["run", "race", "race"]
            )
            other = results.Log(Path(folder), "task", {"cpu": "b"}, "c1", "command")
            self.assertFalse(other.has(kind="race"))


class Passages(unittest.TestCase):
    def test_runs_of_paragraphs_once_each(self) -> None:
        def paragraph(start: int, words: int) -> str:
            letters = (chr(97 + (start + i) // 26 % 26) + chr(97 + (start + i) % 26) for i in range(words))
            return " ".join(letters)

        first, second, third, short = paragraph(0, 60), paragraph(60, 60), paragraph(120, 60), paragraph(180, 20)
        licence = "licence " + paragraph(200, 60)
        files = [[first, "too short", second, licence, third], [first, third], [short]]
        self.assertEqual(list(corpus.passages(iter(files), set())), [f"{first}\n{second}", third])


class Packages(unittest.TestCase):
    def test_values_of_the_fields(self) -> None:
        whole = "Package: a\nVersion: 1\nTag: x,\n y\nSize: 2\n"
        listing = f"{whole}\nVersion: 2\n\nPackage: b\nPre-Depends: c\nDepends: d\n"
        self.assertEqual(corpus.packages(listing), [" a  x,\n y", " b  d"])


class Stopwatch:
    """A contestant that reports given times."""

    def __init__(self, name: str, once: float) -> None:
        self.name, self.once, self.total = name, once, 0.0

    def run(self, m: int, k: int, first: int, count: int) -> float:
        self.total += count * self.once
        return count * self.once


class Turns(unittest.TestCase):
    def test_take_as_long_as_estimated(self) -> None:
        for once in ([0.02, 0.5], [0.05, 0.02], [1.5, 0.25]):
            for budget in (0.0, 2.0, 60.0):
                those = [Stopwatch(str(i), t) for i, t in enumerate(once)]
                with patch("race.Others", quiet):
                    times, disturbed = race.take_turns(those, 1, 1, budget)
                self.assertEqual(disturbed, 0)
                self.assertAlmostEqual(sum(c.total for c in those), estimate.turns(once, budget))
                self.assertIn(len(times["0"]), range(race.ROUNDS[0], race.ROUNDS[1] + 1))

    def test_a_disturbed_round_is_run_again(self) -> None:
        for shares, rounds, disturbed in (
            ([0.0, 1.0, 0.1, 1.0, 0.0], 5, 0),  # 3 kept, 2 of them repeats
            ([1.0] * 6, 6, 3),  # repeated as often as there are rounds, then kept
        ):
            told = [s for share in shares for s in (0.0, share)]
            one = Stopwatch("0", 1.0)
            with patch("race.Others", lambda: Told(told)):
                times, kept = race.take_turns([one], 1, 1, 0.0)
            self.assertEqual((len(times["0"]), kept, len(told)), (3, disturbed, 0))
            self.assertEqual(one.total, 1.0 * (1 + rounds))

    def test_times_of_the_system_are_read(self) -> None:
        tick = others.TICK
        all_cores = "cpu  500 20 30 99999 777 4 5 6 70 80\ncpu0 1 1 1 1 1 1 1 1 1 1\n"
        self.assertAlmostEqual(others.of_all(all_cores) * tick, 500 + 20 + 30 + 4 + 5 + 6)
        name = "7 (a) b (c) S 1 7 7 0 -1 4194560 80 0 0 0 250 30 9 9 20 0 1 0 55"
        self.assertAlmostEqual(others.of_one(name) * tick, 280)


class Told:
    """Gives the shares of others, one after the other."""

    def __init__(self, shares: list[float]) -> None:
        self.shares = shares

    def share(self) -> float:
        return self.shares.pop(0)


def quiet() -> Told:
    return Told([0.0] * 100)


class Here(unittest.TestCase):
    def test_a_task_goes_without_sets_that_are_not_there(self) -> None:
        task = tasks.Task("t", ("a", "nowhere"), tasks.small, lambda sizes: 0)
        with tempfile.TemporaryDirectory() as folder, patch("data.FOLDER", Path(folder)):
            save(Path(folder) / "a", {"name": "a", "atoms": 5, "dimension": 3})
            self.assertEqual(task.sizes(), {"a": (5, 3)})
            self.assertEqual(task.here(), replace(task, sets=("a",)))
            self.assertIsNone(replace(task, sets=("nowhere",)).here())
            self.assertIsNotNone(replace(task, sets=()).here())

    def test_sweeps_find_as_many_best_atoms_as_they_ask_for(self) -> None:
        for leg in tasks.LEGS:
            self.assertLessEqual(max(stop.k for stop in leg.stops), RECIPES[leg.name].best, leg.name)


class Rows(unittest.TestCase):
    def test_levels_side_by_side_at_the_best_size(self) -> None:
        def of(name: str, unit: str, value: float) -> results.Record:
            return {"name": name, "metrics": {"ns/op": 1.0, unit: value}}

        peaks = [of("Products/float32/avx2", "GMAC/s", 40), of("Products/int8/avx2", "GMAC/s", 100)]
        kernels = [
            of("Gemm/generic/64x64", "GMAC/s", 2),
            of("Gemm/avx2/64x64", "GMAC/s", 20),
            of("Gemm/avx2/8x8", "GMAC/s", 10),
            of("Scan/avx2/32", "GMAC/s", 50),
            of("Pack/avx2/32", "MB/s", 5000),
        ]
        self.assertEqual(
            roofline.rows(peaks, kernels),
            [
                ("Gemm 64x64", "GMAC/s", {"generic": 2, "avx2": 20}, 0.5),
                ("Scan 32", "GMAC/s", {"avx2": 50}, 0.5),
                ("Pack 32", "GB/s", {"avx2": 5}, None),
            ],
        )


class Digits(unittest.TestCase):
    def test_figures(self) -> None:
        for x, text in (
            (None, ""),
            (0.0456, "0.046"),
            (9.96, "10"),
            (12.34, "12.3"),
            (99.96, "100"),
            (12345.6, "12,346"),
        ):
            self.assertEqual(digits(x), text)


if __name__ == "__main__":
    unittest.main()
