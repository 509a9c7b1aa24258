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

import answers
import check
import contestants
import corpus
import estimate
import mixtures
import others
import peers
import race
import results
import roofline
import scores
import sections
import tasks
from cells import METRICS
from data import RECIPES, DataSet, best_atoms, save
from markdown import digits


def tiny_set(atoms: np.ndarray, queries: np.ndarray, k: int, metric: str = "ip") -> DataSet:
    atoms, queries = atoms.astype(np.float32), queries.astype(np.float32)
    ids, scores, norms = best_atoms(atoms, queries, k, metric)
    return DataSet("test", Path(), {}, atoms, queries, norms, ids, scores, metric)


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

    def test_by_every_metric(self) -> None:
        r = np.random.default_rng(4)
        spread = np.exp(r.standard_normal((400, 1)))
        atoms = (r.standard_normal((400, 9)) * spread + 2).astype(np.float32)
        atoms[7] = 0  # no direction
        atoms[50] = atoms[20]
        queries = (r.standard_normal((5, 9)) + 2).astype(np.float32)
        v, q = atoms.astype(np.float64), queries.astype(np.float64)
        products = q @ v.T
        lengths = np.linalg.norm(q, axis=1)[:, None] * np.linalg.norm(v, axis=1)
        right = {
            "ip": products,
            "cosine": np.where(lengths > 0, products / np.where(lengths > 0, lengths, 1), 0),
            "l2": -np.square(q[:, None, :] - v).sum(axis=2) / 2,
        }
        orders = []
        for metric, all_scores in right.items():
            ids, best, _ = best_atoms(atoms, queries, 60, metric)
            for j in range(5):
                order = np.argsort(-all_scores[j], kind="stable")[:60]
                self.assertEqual(ids[j].tolist(), order.tolist(), metric)
                np.testing.assert_allclose(best[j], all_scores[j, order], rtol=1e-12, atol=1e-12)
            orders.append(ids[0].tolist())
        self.assertEqual(len({tuple(o) for o in orders}), 3, "metrics that agree show nothing")

    def test_whole_numbers_are_not_rounded(self) -> None:
        """All that tie with the k-th best are candidates otherwise, which takes minutes on counts."""
        x, norms = np.ones((3, 4), np.float32), np.full(3, 2.0)
        self.assertFalse(scores.estimates("ip", x, x, norms)[1].any())
        for some, of in ((x / 3, norms), (x * 4096, 4096 * norms)):
            self.assertTrue(scores.estimates("ip", some, some, of)[1].all())


class Sets(unittest.TestCase):
    def test_counts_tie(self) -> None:
        atoms, queries, _ = mixtures.counts(10_000, 2000, 256, 1)
        products = queries @ atoms.T
        self.assertTrue(scores.whole(atoms) and atoms.min() == 0 and (atoms.max(axis=1) > 0).all())
        self.assertAlmostEqual(float(((products > 0).sum(axis=1) < 100).mean()), 0.72, delta=0.08)
        tenth = np.sort(products, axis=1)[:, -10]
        self.assertGreater(float(np.median((products == tenth[:, None]).sum(axis=1))), 30)

    def test_a_mixture_is_around_its_centres(self) -> None:
        atoms, queries, _ = mixtures.mixture(4000, 64, 200, 100)
        again, _, _ = mixtures.mixture(4000, 64, 200, 100)
        np.testing.assert_array_equal(atoms, again)
        of = tiny_set(atoms, queries, 2, "l2")
        alone = tiny_set(np.random.default_rng(1).permutation(atoms.ravel()).reshape(atoms.shape), queries, 2, "l2")
        self.assertGreater(np.median(alone.top_scores[:, 0] / of.top_scores[:, 0]), 1.3, "nearest are no nearer")
        norms = np.linalg.norm(atoms, axis=1)
        self.assertGreater(norms.std() / norms.mean(), 0.08)


class Hits(unittest.TestCase):
    def test_tolerance(self) -> None:
        step = 2.0**-24  # of float32 below 1; four are the tolerance
        atoms = np.array([[1 - 4 * step, 0], [1 - 5 * step, 0], [0, 1], [1, 0]])
        data = tiny_set(atoms, np.array([[1, 0]]), 1)
        for atom, hit in ((3, 1), (0, 1), (1, 0), (2, 0), (4, -1), (-1, -1)):
            self.assertEqual(check.hits(data, 0, np.array([atom]), 1), hit, f"atom {atom}")

    def test_ties_do_not_stand_for_better_atoms(self) -> None:
        atoms = np.concatenate([np.full((25, 2), 0.5), np.full((20, 2), 0.66)])
        data = tiny_set(atoms, np.ones((4, 2)), 45)
        copies, right = np.arange(25), np.concatenate([np.arange(25, 45), np.arange(5)])
        other = np.concatenate([np.arange(25, 45), np.arange(7, 12)])  # copies for copies
        for answer, wrong, found in ((copies, True, 5), (right, False, 25), (other, False, 25), (right[:24], True, 24)):
            self.assertEqual(check.fails(data, 0, answer, 25), wrong)
            self.assertEqual(check.hits(data, 0, answer, 25), found)
        verdict = check.Verdict()
        answers = np.stack([copies, right, other, copies])
        check.judge(verdict, data, np.arange(4), answers, np.array([True, True, True, False]), 25)
        self.assertEqual((verdict.wrong, verdict.certain_wrong), ({0, 3}, {0}))
        self.assertEqual(check.recall(data, answers, 25), (0.6, 2))

    def test_wrong_answers_are_caught(self) -> None:
        r = np.random.default_rng(2)
        for metric in METRICS:
            check.prove(tiny_set(r.standard_normal((300, 16)) + 1, r.standard_normal((40, 16)), 20, metric), 10)

    def test_the_tolerance_is_of_the_metric(self) -> None:
        step = 2.0**-24
        near, far = np.array([[1.0 + 6 * step, 1]]), np.array([[1000.0 + 6 * step, 1000]])
        for metric, atoms, query, wrong in (
            ("cosine", np.array([[1, 1 - 40 * step], [1, 1 - 400 * step]]), near, False),
            ("cosine", np.array([[1, 1], [1, 0.99]]), near, True),
            ("l2", np.array([[1000, 1000], [1000, 1000.5]]), far, False),  # .1 of 4 million
            ("l2", np.array([[1000, 1000], [1000, 1002]]), far, True),
        ):
            data = tiny_set(atoms, query, 1, metric)
            self.assertEqual((data.top_ids[0, 0], check.fails(data, 0, np.array([1]), 1)), (0, wrong), (metric, atoms))
            self.assertEqual(check.hits(data, 0, np.array([1]), 1), 0 if wrong else 1)


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

    def test_counts_of_another_definition_are_left_out(self) -> None:
        said = {"kind": "race", "set": "a", "m": 256, "k": 10, "delta": 0.01, "checked": 1000, "wrong": 3, "certain": 0}
        old = said | {"certain_wrong": 0, "wrong_queries": [1, 2, 3]}
        text = sections.wrong([old, {"kind": "faiss", "set": "a", "k": 1, "wrong": 1, "checked": 9}])
        self.assertIn("They are not counted", text)
        self.assertNotIn("3 wrong", text)
        self.assertNotIn("FAISS", text)
        self.assertIn("3 wrong of 1,000", sections.wrong([old, old | {"criterion": answers.CRITERION, "k": 1}]))


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
