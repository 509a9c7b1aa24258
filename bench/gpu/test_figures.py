"""Tests of what the figures rest on: peers by torch, real text, sets that fit, percentiles. They need numpy; those of
torch's part of it, torch."""

from __future__ import annotations

import tempfile
import unittest
from dataclasses import replace
from pathlib import Path
from unittest import mock

try:
    import numpy as np
except ImportError as e:
    raise unittest.SkipTest("no numpy") from e

import child
import duel
import exact
import products
import rivals
import serving
import text
import vectors
from test_gpu import quietly
from test_measure import TORCH, draw


@unittest.skipUnless(TORCH, "no torch")
class Selections(unittest.TestCase):
    def test_maxima_of_blocks_find_the_same(self) -> None:
        r = TORCH.Generator().manual_seed(1)
        for m, n, k, block in (
            (7, 20000, 10, 128),
            (3, 9999, 1, 128),
            (5, 4096, 100, 128),
            (4, 131072, 32, 512),
            (2, 515, 1, 64),
        ):
            scores = TORCH.randn(m, n, generator=r)
            same = rivals.select(TORCH, scores, k, block).sort(dim=1).values
            self.assertTrue(TORCH.equal(same, scores.topk(k, dim=1).indices.sort(dim=1).values), (m, n, k, block))

    def test_they_are_read_in_place_of_topk(self) -> None:
        scores = TORCH.zeros(1, 4096)
        scores[0, 300:303] = TORCH.tensor([3.0, 1.0, 2.0])  # in one block, which is taken once
        scores[0, 4090] = 0.5
        self.assertEqual(rivals.select(TORCH, scores, 4, 128).tolist(), [[300, 302, 301, 4090]])
        self.assertEqual(
            rivals.select(TORCH, scores[:, :4000], 3, 96).tolist(), [[300, 302, 301]]
        )  # and columns left over

    def test_every_way_of_a_peer_finds_the_same(self) -> None:
        v = draw(5000, 40, 24)
        truth = exact.truth(v, 7)
        for peer in (rivals.Torch(TORCH, v, "fp32"), rivals.Torch(TORCH, v, "tf32", True), rivals.TorchInt8(TORCH, v)):
            for peer.way in (rivals.Way(c, b) for c in (0, 1700, 4999) for b in (0, 16)):
                for m in (1, 8):
                    ids = peer.run(m, 7, 2, 2).ids
                    assert ids is not None
                    np.testing.assert_array_equal(ids, truth.ids[3 * m : 4 * m], f"{peer.name}, {peer.way}")

    def test_codes_of_rows(self) -> None:
        v = draw(30, 4, 16)
        v.atoms[3] = 0
        peer = rivals.TorchInt8(TORCH, v)
        codes, steps = peer.encoded(TORCH.from_numpy(v.atoms))
        self.assertEqual((codes.abs().amax(dim=1)[[0, 3]].tolist(), tuple(peer.padded.shape)), ([127, 0], (32, 16)))
        self.assertLessEqual(
            float((codes * steps[:, None] - TORCH.from_numpy(v.atoms)).abs().max()), 0.51 * float(steps.max())
        )
        with self.assertRaisesRegex(ValueError, "20 coordinates"):
            rivals.TorchInt8(TORCH, draw(30, 4, 20))

    def test_the_fastest_way_is_taken_that_there_is_memory_for(self) -> None:
        peer = rivals.Torch(TORCH, draw(300, 8, 8), "tf32", True)
        peer.ways = [rivals.Way(), rivals.Way(200), rivals.Way(100, 8)]
        seconds = {rivals.Way(): None, rivals.Way(200): 2.0, rivals.Way(100, 8): 1.0}

        def run(m: int, k: int, first: int, count: int) -> rivals.Turn:
            if (took := seconds[peer.way]) is None:
                raise TORCH.cuda.OutOfMemoryError("too much")
            return rivals.Turn([took] * count)

        with mock.patch.object(peer, "run", run):
            self.assertEqual((peer.prepare(4, 2), peer.way), ("100 atoms at once, maxima of 8", rivals.Way(100, 8)))
            self.assertRaises(TORCH.cuda.OutOfMemoryError, peer.prepare, 1, 2)  # chunks are for many queries

    def test_peers_of_a_large_set_share_its_memory(self) -> None:
        v = draw(30, 4, 16)
        names = ["fp32", "tf32", "tf32-maxima", "bf16", "bf16-maxima", "int8"]
        made = rivals.peers(TORCH, v)
        self.assertEqual([made[f"torch-{n}"]().name for n in names], list(made))
        with mock.patch.object(vectors, "LARGE", 0):
            self.assertEqual(list(rivals.peers(TORCH, v)), ["torch-tf32", "torch-tf32-maxima"])


# Texts of three subjects, so that three directions hold most of each.
SUBJECTS = (
    "red green blue paint brush canvas",
    "bread butter flour oven yeast salt",
    "bolt nut washer spanner thread drill",
)


def texts(n: int) -> list[str]:
    r = np.random.default_rng(3)
    return [
        " ".join(r.choice(SUBJECTS[i % 3].split(), 6)) + f" common {r.choice(['one', 'two', 'three'])} rare{i}"
        for i in range(n)
    ]


class Text(unittest.TestCase):
    def counts(self) -> text.Counts:
        return text.count(texts(1300), 40)

    def test_what_is_counted(self) -> None:
        c = text.count(["a red red car", "the red door, 2 keys", "Keys: the car", "the door x1"], 1)
        self.assertEqual((len(c), c.queries), (4, 1))
        held_out = {"red": 2, "keys": 2, "car": 2, "the": 3, "door": 2}
        self.assertLessEqual(c.words, len(held_out))  # in two of the three others
        self.assertGreaterEqual(c.words, 2)
        self.assertEqual(c.ends[-1], len(c.word))
        self.assertTrue(all(0 <= w < c.words for w in c.word))

    def test_files_hold_what_was_counted(self) -> None:
        c = self.counts()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "counts.gz"
            text.write(c, path)
            self.assertEqual(text.read(path), c)
            once = path.read_bytes()
            text.write(c, path)
            self.assertEqual(path.read_bytes(), once)
            with self.assertRaisesRegex(text.NoText, r"there is no other\.gz"):
                text.read(Path(folder) / "other.gz")

    def test_the_command_counts_what_apt_knows(self) -> None:
        with tempfile.TemporaryDirectory() as folder, quietly() as told:
            path = Path(folder) / "records.gz"
            with mock.patch("sys.argv", ["text.py", str(path)]):
                with mock.patch.object(text.corpus, "records", return_value=(["one record"], "1 of them")):
                    self.assertEqual((text.main(), path.exists()), (0, False))
                with mock.patch.object(text.corpus, "records", return_value=(texts(3100), "")):
                    self.assertEqual((text.main(), len(text.read(path))), (0, 3100))
            self.assertIn("no set of real text: 1 of them", told.getvalue())

    def test_products_of_sparse_matrices(self) -> None:
        r = np.random.default_rng(4)
        full = r.standard_normal((3000, 50)).astype(np.float32) * (r.random((3000, 50)) < 0.05)
        full[5] = full[2999] = 0  # rows without an entry
        ends = np.cumsum((full != 0).sum(1))
        sparse = text.Sparse(None, ends, np.nonzero(full)[1], full[full != 0], 50, "cpu")
        right, left = r.standard_normal((50, 7)).astype(np.float32), r.standard_normal((3000, 7)).astype(np.float32)
        np.testing.assert_allclose(sparse @ right, full @ right, atol=1e-5)
        np.testing.assert_allclose(sparse.transposed("cpu") @ left, full.T @ left, atol=1e-3)

    def test_directions_are_those_of_a_decomposition(self) -> None:
        c, d = self.counts(), 3  # directions whose singular values are far above the next
        a, _ = text.weights(c, c.queries, c.queries + 1200, None, None, "cpu")
        np.testing.assert_allclose(
            np.bincount(np.repeat(np.arange(1200), np.diff(a.ends, prepend=0)), a.values**2), 1, rtol=1e-5
        )
        full = a @ np.eye(c.words, dtype=np.float32)
        _, _, right = np.linalg.svd(full, full_matrices=False)
        with mock.patch.object(text, "OVERSAMPLED", 4):
            for torch in {None, TORCH}:
                atoms, queries = (np.asarray(x) for x in text.analyse(c, 1200, 30, d, torch, "cpu"))
                want = full @ right[:d].T
                want /= np.linalg.norm(want, axis=1, keepdims=True)
                np.testing.assert_allclose(atoms[:50] @ atoms.T, want[:50] @ want.T, atol=0.05)
                np.testing.assert_allclose(np.linalg.norm(queries, axis=1), 1, rtol=1e-4)
                self.assertEqual((atoms.shape, queries.shape), ((1200, d), (30, d)))
                near = np.sort(queries @ atoms.T, axis=1)
                self.assertGreater(
                    float(near[:, -300:].mean()), float(near[:, :600].mean()) + 0.5
                )  # a third has the subject
            for asked in ((1261, 30, d), (1200, 41, d), (900, 30, d), (1200, 30, 600)):
                with self.assertRaises(text.NoText):
                    text.analyse(c, *asked, None, "cpu")

    def test_a_set_of_text(self) -> None:
        recipe = vectors.Recipe("records768", 1200, 8, None, 30, text=True)
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(text, "FILE", Path(folder) / "counts.gz"):
            with self.assertRaises(text.NoText):
                vectors.make(recipe, TORCH)
            text.write(self.counts(), text.FILE)
            with mock.patch.object(text, "OVERSAMPLED", 4):
                v = vectors.make(recipe, TORCH)
        self.assertEqual((v.atoms.shape, v.queries.shape, v.atoms.dtype), ((1200, 8), (30, 8), np.float32))


class Asked:
    """A plan that says what it was asked, and that a batch takes a millisecond."""

    def __init__(self) -> None:
        self.asked: list[dict[str, int]] = []

    def ask(self, do: str, m: int, k: int, first: int, count: int, callers: int = 1) -> dict[str, object]:
        self.asked.append({"m": m, "first": first, "count": count, "callers": callers})
        seconds = [1e-3 * (i + 1) for i in range(count)]
        return {"seconds": 2.0, "each": seconds * callers} if do == "callers" else {"seconds": seconds}


class Services(unittest.TestCase):
    def test_callers(self) -> None:
        way = Asked()
        said = serving.callers(way, 16, 10, duel.Batches(64, 256), 1e-3, False)  # type: ignore[arg-type]
        self.assertEqual([(a["callers"], a["count"]) for a in way.asked], [(1, 250), (2, 125), (4, 62)])
        self.assertEqual((said["4"]["batches"], said["4"]["rate"]), (248, 124.0))
        self.assertEqual(said["1"]["most"], 0.25)
        self.assertAlmostEqual(said["1"]["p50"], 0.1255)
        serving.callers(way, 16, 10, duel.Batches(64, 256), 10.0, False)  # type: ignore[arg-type]
        self.assertEqual([a["count"] for a in way.asked[3:]], [4, 4, 4])

    def test_percentiles_of_a_thousand_single_queries(self) -> None:
        way = Asked()
        said = serving.singles(way, 10, duel.Batches(1024, 4096), 1e-3, False)  # type: ignore[arg-type]
        self.assertEqual(
            (way.asked[0]["m"], way.asked[0]["first"], said["queries"], said["most"]), (1, 1024, 1000, 1.0)
        )
        self.assertAlmostEqual(said["p99"], 0.99, places=3)
        said = serving.singles(way, 10, duel.Batches(32, 128), 0.1, False)  # type: ignore[arg-type]
        self.assertEqual(said["queries"], 30)

    def test_times_on_the_device_are_of_batches_that_are_raced(self) -> None:
        way = Asked()
        self.assertEqual(len(serving.device(way, 1024, 10, duel.Batches(1, 4), 8)), 3)  # type: ignore[arg-type]
        self.assertEqual((way.asked[0]["first"], way.asked[0]["count"]), (1, 3))


@unittest.skipUnless(TORCH, "no torch")
class Products(unittest.TestCase):
    def test_rates(self) -> None:
        said = products.rates(TORCH, True)
        self.assertEqual(said["size"], 64)
        for name in ("int8", "bf16", "tf32"):
            self.assertEqual((said[name]["operations"], len(said[name]["seconds"])), (2 * 64**3, 2))
            rate = products.rate(said, name)
            assert rate is not None
            self.assertGreater(rate, 0)

    def test_one_that_is_refused_is_told(self) -> None:
        with mock.patch.object(TORCH, "_int_mm", side_effect=RuntimeError("not on this device")):
            said = products.rates(TORCH, True)
        self.assertEqual(said["int8"], {"failed": "RuntimeError: not on this device"})
        self.assertIsNone(products.rate(said, "int8"))
        self.assertIsNone(products.rate(None, "int8"))
        self.assertIn("seconds", said["tf32"])


GIB = 1 << 30


class Patience(unittest.TestCase):
    def test_of_a_request(self) -> None:
        with (
            tempfile.TemporaryDirectory() as folder,
            (Path(folder) / "log").open("wb") as log,
            child.Child(Path("/bin/cat"), log) as process,
        ):
            usual = process.silent
            with process.patient(1000):
                self.assertEqual(process.silent, 1000)
            with self.assertRaises(ZeroDivisionError), process.patient(0):
                self.assertEqual(process.silent, usual)
                raise ZeroDivisionError
            self.assertEqual(process.silent, usual)


class Fitting(unittest.TestCase):
    def test_coordinates_by_what_there_is_room_for(self) -> None:
        large = next(r for r in vectors.FULL if r.large)
        h100 = vectors.Room(78 * GIB, 120 * GIB, 60 * GIB)
        self.assertEqual(vectors.fitted(large, h100), large)
        self.assertTrue(vectors.fitted(large, replace(h100, device=40 * GIB)).large, "no room for copies either")
        for room, d in (
            (replace(h100, device=40 * GIB), 384),
            (replace(h100, host=26 * GIB), 256),
            (replace(h100, folder=17 * GIB), 512),
            (vectors.Room(GIB, GIB, GIB), 128),
        ):
            self.assertEqual(vectors.fitted(large, room).d, d)
        self.assertEqual(vectors.fitted(vectors.FULL[0], vectors.Room(0, 0, 0)), vectors.FULL[0])

    @unittest.skipUnless(TORCH, "no torch")
    def test_a_large_set_is_in_its_file(self) -> None:
        recipe = vectors.Recipe("test", 3000, 16, 0.6, 8)
        plain = vectors.make(recipe, TORCH)
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(vectors, "LARGE", 0):
            v = vectors.make(recipe, TORCH, Path(folder))
            paths = v.save(Path(folder))
            np.testing.assert_array_equal(np.fromfile(paths[0], np.float32).reshape(3000, 16), plain.atoms)
            np.testing.assert_array_equal(np.fromfile(paths[1], np.float32).reshape(8, 16), plain.queries)
            np.testing.assert_array_equal(v.atoms, plain.atoms)

    def test_memory_of_the_host(self) -> None:
        self.assertGreater(vectors.host_memory(), 0)
        self.assertLess(vectors.host_memory(), 1 << 60)


if __name__ == "__main__":
    unittest.main()
