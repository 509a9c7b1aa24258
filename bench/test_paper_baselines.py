"""Tests of the papers' baselines in Python: python3 -m unittest test_paper_baselines, in this folder."""

from __future__ import annotations

import csv
import json
import tempfile
import unittest
import zipfile
from pathlib import Path

import numpy as np

try:
    import faiss

    import paper_baselines as baselines
except ImportError as missing:
    raise unittest.SkipTest(f"{missing}: the baselines need FAISS (requirements.txt)") from missing

# As papers/figures/table.go has them.
TEXT = ["point", "panel", "algorithm", "variant", "data", "setting"]
NUMBERS = ["n", "d", "k", "x", "y", "y_sd", "draw", "draws", "gap", "answers", "wrong", "precision", "multiplications"]
COLUMNS = [*TEXT, *NUMBERS, "multiplications_sd", "preprocessing", "comparisons", "wall_ns", "build_wall_ns"]


def normal(n: int, d: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n, d)).astype(np.float32)


class Exhaustive(unittest.TestCase):
    """Precision is 1 where nothing is left out or rounded."""

    def setUp(self) -> None:
        faiss.omp_set_num_threads(1)
        self.vectors, self.queries = normal(150, 24, 1), normal(6, 24, 2)
        self.truth = baselines.Truth(self.vectors, self.queries)

    def test_hnsw_as_broad_as_its_graph(self) -> None:
        rows = [
            r for r in baselines.hnsw(self.vectors, self.queries, [1, 5], self.truth) if r["setting"] == "M 32, ef 500"
        ]
        self.assertEqual([r["k"] for r in rows], [1, 5])
        for row in rows:
            self.assertEqual((row["precision"], row["wrong"]), (1.0, 0))
            self.assertGreaterEqual(row["multiplications"], 150 * 24)  # every atom at least once
            self.assertLess(row["multiplications"], 2 * 150 * 24)

    def test_neq_with_a_codeword_for_each_vector(self) -> None:
        few = self.vectors[:64]
        truth = baselines.Truth(few, self.queries)
        quantized = baselines.Quantized(few, 1, 6)
        for q, query in enumerate(self.queries):
            np.testing.assert_allclose(quantized.scores(query), truth.scores[q], rtol=1e-3, atol=1e-3)
            self.assertEqual(truth.right(q, np.argsort(-quantized.scores(query)), 5), 5)
        self.assertEqual(quantized.multiplications(), 64 * 24 + 64 * 2)

    def test_neq_pads_what_codebooks_do_not_divide(self) -> None:
        quantized = baselines.Quantized(self.vectors, 5, 4)
        norms = np.linalg.norm(self.vectors, axis=1)
        for i in (0, 77):  # the quantized vector has nearly the length of its own
            own = np.array([quantized.scores(e)[i] for e in np.eye(24, dtype=np.float32)])
            self.assertLess(abs(np.linalg.norm(own) / norms[i] - 1), 0.15)


class Files(unittest.TestCase):
    def leave(self, folder: Path, columns: list[str], **more: object) -> None:
        path = folder / "set.npz"
        np.savez(path, vectors=normal(40, 10, 3), queries=normal(3, 10, 4))
        with zipfile.ZipFile(path, "a") as archive:
            about = {
                "point": "python set",
                "panel": "p",
                "data": "set",
                "k": [1, 2],
                "columns": columns,
                "x": "saving",
            } | more
            archive.writestr("about.json", json.dumps(about))

    def test_table(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            self.leave(folder, COLUMNS)
            baselines.write(folder)
            with (folder / baselines.TABLE).open() as f:
                table = list(csv.DictReader(f))
            self.assertEqual(list(table[0]), COLUMNS)
            self.assertEqual({r["algorithm"] for r in table}, {baselines.HNSW, baselines.NEQ})
            for row in table:
                self.assertEqual(
                    (row["point"], row["panel"], row["data"], row["n"], row["d"]),
                    ("python set", "p", "set", "40", "10"),
                )
                self.assertAlmostEqual(float(row["x"]) * float(row["multiplications"]), 400)
                self.assertEqual(row["y"], row["precision"])
                int(row["wall_ns"])

    def test_settings_that_are_asked_for(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            self.leave(folder, COLUMNS, settings={baselines.HNSW: ["M 8, ef 20"]}, x="d")
            baselines.write(folder)
            with (folder / baselines.TABLE).open() as f:
                table = list(csv.DictReader(f))
            self.assertEqual([(r["setting"], r["k"], r["x"]) for r in table], [("M 8, ef 20", k, "10") for k in "12"])
            self.assertEqual([r["y"] for r in table], [r["multiplications"] for r in table])

    def test_columns_that_are_not_asked_for(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            self.leave(folder, COLUMNS[:-1])
            with self.assertRaisesRegex(ValueError, "build_wall_ns"):
                baselines.write(folder)
            self.assertFalse((folder / baselines.TABLE).exists())

    def test_folder_without_files(self) -> None:
        with tempfile.TemporaryDirectory() as name, self.assertRaisesRegex(FileNotFoundError, "no npz"):
            baselines.write(Path(name))


if __name__ == "__main__":
    unittest.main()
