"""Tests of what judges the uses, and of the pages."""

from __future__ import annotations

import sys
import unittest
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1])]

import numpy as np  # noqa: E402

import oracle  # noqa: E402
import rivals  # noqa: E402
import sides  # noqa: E402
import uses_page  # noqa: E402


class TestOracle(unittest.TestCase):
    def setUp(self) -> None:
        r = np.random.default_rng(1)
        self.atoms = r.integers(-4, 5, (300, 12)).astype(np.float32)  # with many ties
        self.queries = r.standard_normal((20, 12)).astype(np.float32)

    def scores(self, metric: str) -> np.ndarray:
        x, q = self.atoms.astype(np.float64), self.queries.astype(np.float64)
        if metric == "l2":
            return -((q[:, None] - x[None]) ** 2).sum(axis=2)
        products = q @ x.T
        lengths = np.linalg.norm(q, axis=1)[:, None] * np.linalg.norm(x, axis=1)
        return products / lengths if metric == "cosine" else products

    def test_best(self) -> None:
        for metric in ("ip", "cosine", "l2"):
            scorer = oracle.Scorer.of(self.atoms, metric)
            _, scores = oracle.best(scorer, self.queries, 7)
            np.testing.assert_allclose(scores, -np.sort(-self.scores(metric), axis=1)[:, :7], rtol=1e-12)

    def test_wrong_answers_are_found(self) -> None:
        scorer = oracle.Scorer.of(self.atoms, "ip")
        ids, scores = oracle.best(scorer, self.queries, 8)
        answers, right = ids[:, :7], scores[:, :7]
        self.assertEqual(oracle.different(scorer, self.queries, answers, right), 0)
        self.assertEqual(oracle.found(scorer, self.queries, answers, right).sum(), 140)
        for at, other in ((0, ids[0, 7]), (1, ids[1, 0]), (2, -1)):
            bad = answers.copy()
            bad[at, 6] = other
            self.assertEqual(oracle.different(scorer, self.queries, bad, right), 1)
            self.assertEqual(oracle.found(scorer, self.queries, bad, right).sum(), 139)

    def test_ties_do_not_stand_for_better_atoms(self) -> None:
        scorer = oracle.Scorer.of(np.array([[2], [3], [2], [2]], np.float32), "ip")
        q = np.ones((3, 1), np.float32)
        right = oracle.best(scorer, q, 2)[1]
        answers = np.array([[0, 2], [3, 1], [1, -1]])
        self.assertEqual(oracle.found(scorer, q, answers, right).tolist(), [1, 2, 1])

    def test_pairs(self) -> None:
        scorer = oracle.Scorer.of(self.atoms, "ip")
        wanted = np.argwhere(np.triu(self.atoms.astype(np.float64) @ self.atoms.T >= 60, 1))
        self.assertGreater(len(wanted), 10)
        np.testing.assert_array_equal(oracle.pairs_above(scorer, 60), wanted)

    def test_below(self) -> None:
        scorer = oracle.Scorer.of(self.atoms, "ip")
        positive = np.zeros(20, np.int64)
        found = sides.below(scorer, self.queries, positive, np.full(20, 3.0), 5)
        for row, of in zip(found, self.scores("ip")[:, 1:], strict=True):
            np.testing.assert_allclose(row, -np.sort(-of[of <= 3])[:5], rtol=1e-12)


class TestSides(unittest.TestCase):
    def test_without_self(self) -> None:
        ids = np.array([[0, 2, 1], [0, 1, 2], [1, 0, 3], [3, 1, 0]])
        np.testing.assert_array_equal(rivals.without_self(ids, 2), [[2, 1], [0, 2], [1, 0], [1, 0]])

    def test_keys(self) -> None:
        np.testing.assert_array_equal(sides.keys(np.array([[3, 1], [1, 3], [0, 2]]), 10), [2, 13])
        self.assertEqual(len(sides.keys(np.empty((0, 2), np.int64), 10)), 0)

    def test_groups(self) -> None:
        right = np.array([1, 23])  # pairs 0, 1 and 2, 3 of 10
        self.assertEqual(sides.joined(np.array([0, 0, -1, -1] + [-1] * 6), right, 10), {"missed": 1})

    def test_history(self) -> None:
        known = sides.history(np.arange(400).reshape(2, 200), 5000)
        for j in (0, 1):
            mine = known.indices[known.indptr[j] : known.indptr[j + 1]]
            self.assertEqual(len(mine), len(np.unique(mine)))
            self.assertTrue(np.all(mine < 5000) and np.any(mine // 200 == j))


class TestPages(unittest.TestCase):
    def test_no_results_no_page(self) -> None:
        self.assertEqual(uses_page.certify_page({}), "")
        self.assertEqual(uses_page.uses_page({"graph": []}), "")

    def test_side(self) -> None:
        facts = {
            "cpu": "c",
            "cores": 2,
            "caches": "",
            "system": "s",
            "go": "g",
            "python": "3",
            "hnswlib": "",
            "scann": "",
        }
        run = {"kind": "run", "facts": facts, "commit": "abc", "command": "x"}
        side = {"kind": "side", "use": "truth", "k": 10, "set": "s", "atoms": 5000, "dimension": 8, "queries": 40}
        side |= {"metric": "ip", "contestant": "thresher truth", "steps": "1 command"}
        measured = side | {"seconds": 0.25, "wall": 0.5, "peak": 2**21, "different": 0}
        page = uses_page.uses_page({"truth": [run, measured, side | {"contestant": "other", "absent": "faiss"}]})
        self.assertIn("| thresher truth | 1 command | 0.25 | 0.5 | 2 MiB | 0 |", page)
        self.assertIn("| other | 1 command | faiss is not installed |", page)


if __name__ == "__main__":
    unittest.main()
