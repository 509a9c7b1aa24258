"""What reports to other projects tell of going wrong: docs/elsewhere.md names the test for each."""

import asyncio
import os
import subprocess
import sys

import numpy as np
import pytest

import thresher
from conftest import best
from thresher import _memory, _worker

METRICS = ("ip", "cosine", "l2")


def search(vectors, queries, k, metric, **asked):
    """Search a new index by a method that finds the one right list."""
    with thresher.Index(vectors, metric=metric) as index:
        return index.search(queries, k, **{"method": "certain", **asked})


# Numbers


def test_small_differences_of_large_values():
    near = np.repeat(np.float32([[1.0], [1.001], [1.01]]), 1000, axis=1)
    found = search(near, near[:1], 3, "l2")
    assert found.ids.tolist() == [[0, 1, 2]]
    np.testing.assert_allclose(found.scores, [[0, 1000 * 0.001**2, 1000 * 0.01**2]], rtol=1e-3)
    one = np.float32([[0.7125930], [0.7123166]])
    np.testing.assert_allclose(search(one, one[:1], 2, "l2").scores, [[0, 7.6423e-8]], rtol=1e-3)


@pytest.mark.parametrize("offset", [0, 1e2, 1e4, 1e5])
def test_shifted_data(rng, offset):
    vectors = (rng.standard_normal((600, 32)) + offset).astype(np.float32)
    order, squares = best(vectors[:20], vectors, 10, "l2")
    for method in ("exact", "certain"):
        found = search(vectors, vectors[:20], 10, "l2", method=method)
        np.testing.assert_array_equal(found.ids, order)
        np.testing.assert_allclose(found.scores, squares, rtol=1e-6)


@pytest.mark.parametrize("offset", [0, 1e4])
def test_distance_to_itself(rng, offset):
    vectors = (rng.standard_normal((500, 40)) + offset).astype(np.float32)
    found = search(vectors, vectors, 1, "l2")
    np.testing.assert_array_equal(found.ids[:, 0], np.arange(500))
    assert (found.scores == 0).all()


def test_cosine_of_copies(rng):
    one = rng.standard_normal((1, 100)).astype(np.float32)
    vectors = np.concatenate([one * np.float32(f) for f in (1, 3.3, 0.001, 7e5)] + [-one])
    found = search(vectors, one, 5, "cosine")
    assert found.scores.max() == 1 and found.scores.min() == -1
    with thresher.Index(vectors, metric="cosine") as index:
        reached = index.range_search(one, 1.0, method="certain")
    assert reached.ids.tolist() == [0, 1, 2, 3] and (reached.scores == 1).all()


def test_range_of_all_cosines(rng):
    half = rng.standard_normal((100, 24)).astype(np.float32)
    vectors = np.concatenate([half, -half])
    with thresher.Index(vectors, metric="cosine") as index:
        found = index.range_search(vectors[:20], -1.0, method="certain")
    np.testing.assert_array_equal(np.diff(found.lims), 200)
    assert (np.abs(found.scores) <= 1).all()


def test_zeros_under_cosine(rng):
    vectors = rng.standard_normal((50, 8)).astype(np.float32)
    vectors[[3, 7]] = 0
    queries = np.concatenate([vectors[:5], np.zeros((1, 8), np.float32)])
    found = search(vectors, queries, 50, "cosine")
    order, cosines = best(queries, vectors, 50, "cosine")
    np.testing.assert_array_equal(found.ids, order)
    np.testing.assert_allclose(found.scores, cosines, atol=1e-6)
    assert (found.scores[5] == 0).all() and (found.ids[5] == np.arange(50)).all()


def test_subnormal_vectors():
    vectors = np.float32([[1, 0], [0, 1], [-1, 0.1]]) * np.float32(1e-40)
    found = search(vectors, np.float32([[1, 0]]), 3, "cosine")
    assert found.ids.tolist() == [[0, 1, 2]]
    np.testing.assert_allclose(found.scores, [[1, 0, -0.995]], atol=1e-3)


def test_half_precision_makes_no_ties(rng):
    vectors = rng.standard_normal((3000, 64)).astype(np.float16)
    queries = vectors[:10].astype(np.float32)
    order, scores = best(queries, vectors, 50, "ip")
    found = search(vectors, queries, 50, "ip")
    assert any(len(set(row.astype(np.float16))) < 50 for row in scores)  # which float16 would have made
    np.testing.assert_array_equal(found.ids, order)


def test_cosine_of_long_queries(rng):
    vectors, queries = rng.standard_normal((400, 12)).astype(np.float32), 50 * rng.standard_normal((9, 12))
    order, cosines = best(queries.astype(np.float32), vectors, 5, "cosine")
    found = search(vectors, queries.astype(np.float32), 5, "cosine")
    np.testing.assert_array_equal(found.ids, order)
    np.testing.assert_allclose(found.scores, cosines, atol=1e-6)


# Ties and order


@pytest.fixture(scope="module")
def tied():
    """Rows of few values, of which many are alike."""
    return np.random.default_rng(4).integers(-1, 2, (1200, 6)).astype(np.float32)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("method", ["exact", "certain"])
def test_few_are_the_beginning_of_many(tied, metric, method):
    many = search(tied, tied[:20], 1000, metric, method=method)
    for k in (1, 10, 100):
        few = search(tied, tied[:20], k, metric, method=method)
        np.testing.assert_array_equal(few.ids, many.ids[:, :k])
        np.testing.assert_array_equal(few.scores, many.scores[:, :k])


@pytest.mark.parametrize("metric", METRICS)
def test_equal_scores_are_ordered_by_row(tied, metric):
    found = search(tied, tied[:20], 300, metric)
    alike = np.diff(found.scores, axis=1) == 0
    assert alike.sum() > 3000
    assert (np.diff(found.ids, axis=1)[alike] > 0).all()


@pytest.mark.parametrize("metric", METRICS)
def test_alone_and_together(vectors, queries, metric):
    many = np.tile(queries, (10, 1))
    with thresher.Index(vectors, metric=metric) as index:
        together = index.search(many, 7, method="certain")
        for j in (0, 11, 299):
            alone = index.search(many[j : j + 1], 7, method="certain")
            assert alone.ids[0].tolist() == together.ids[j].tolist()
            assert alone.scores[0].tobytes() == together.scores[j].tobytes()


# k, ranges, filters


def test_all_rows(rng):
    vectors = rng.standard_normal((6000, 8)).astype(np.float32)
    found = search(vectors, vectors[:3], 6000, "ip")
    np.testing.assert_array_equal(found.ids, best(vectors[:3], vectors, 6000)[0])


def test_pages_by_distance(vectors, queries):
    order, squares = best(queries, vectors, 40, "l2")
    edges = (squares[:, 9:-1:10] + squares[:, 10::10]) / 2  # between the pages
    with thresher.Index(vectors, metric="l2") as index:
        for page in range(1, 3):
            found = index.search(queries, 10, min_distance=edges[:, page - 1], method="certain")
            np.testing.assert_array_equal(found.ids, order[:, 10 * page : 10 * page + 10])


def test_filter_that_allows_little(vectors, queries):
    allowed = np.array([5, 77, 1200])
    found = search(vectors, queries, 5, "cosine", filter=allowed)
    assert (np.sort(found.ids[:, :3], axis=1) == allowed).all() and (found.ids[:, 3:] == -1).all()
    none = search(vectors, queries, 5, "cosine", filter=np.zeros(len(vectors), bool))
    assert (none.ids == -1).all() and np.isnan(none.scores).all() and (none.counts == 0).all()


def test_range_over_zeros():
    zeros = np.zeros((800, 16), np.float32)
    for metric, threshold in (("l2", 0.0), ("ip", 0.0), ("cosine", 0.0)):
        with thresher.Index(zeros, metric=metric) as index:
            found = index.range_search(zeros[:40], threshold, method="certain")
        np.testing.assert_array_equal(found.ids, np.tile(np.arange(800), 40))


def test_negatives_below_a_margin(vectors, queries):
    order, cosines = best(queries, vectors, 1500, "cosine")
    ceiling = 0.95 * cosines[:, 0] - 1e-4
    found = search(vectors, queries, 30, "cosine", max_score=ceiling)
    assert (found.counts == 30).all()
    for j, row in enumerate(found.ids):
        assert row.tolist() == order[j][cosines[j] <= ceiling[j]][:30].tolist()


# Ids and shapes


@pytest.mark.parametrize(
    "laid",
    [
        np.asfortranarray,
        lambda x: np.repeat(x, 2, axis=1)[:, ::2],
        lambda x: np.ascontiguousarray(x[::-1])[::-1],
        lambda x: x.astype(">f4"),
        lambda x: np.frombuffer(x.tobytes(), np.float32).reshape(x.shape),  # read-only
    ],
    ids=["fortran", "strided", "reversed", "big endian", "read-only"],
)
def test_vectors_however_they_lie(vectors, queries, laid):
    found = search(laid(vectors), laid(queries), 5, "ip")
    np.testing.assert_array_equal(found.ids, best(queries, vectors, 5)[0])


def test_a_mapped_part_of_a_file(vectors, queries, tmp_path):
    path = tmp_path / "vectors.raw"
    path.write_bytes(b"\1" * 52 + vectors.tobytes())
    mapped = np.memmap(path, np.float32, "r", offset=52, shape=vectors.shape)
    np.testing.assert_array_equal(search(mapped, queries, 5, "ip").ids, best(queries, vectors, 5)[0])


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "?", "f8", "g"])
def test_numbers_of_every_type(rng, dtype):
    vectors = rng.integers(0, 2 if dtype == "?" else 100, (300, 16)).astype(dtype)
    found = search(vectors, vectors[:9], 4, "l2")
    order, squares = best(vectors[:9], vectors, 4, "l2")
    np.testing.assert_array_equal(found.ids, order)
    np.testing.assert_array_equal(found.scores, squares)


def test_exact_search_returns_the_key(vectors, queries):
    keys = np.arange(1500) * 7 + 10**12
    with thresher.Index(vectors, metric="cosine", ids=keys) as index:
        found = index.search(queries, 3, method="exact")
    np.testing.assert_array_equal(found.ids, keys[best(queries, vectors, 3, "cosine")[0]])


# Itself among neighbours


def test_copies_are_told_from_itself(rng):
    vectors = np.repeat(rng.standard_normal((20, 8)), 15, axis=0).astype(np.float32)
    own = np.arange(300)
    found = search(vectors, vectors, 14, "l2", exclude_self=True)
    assert (found.ids != own[:, None]).all() and (found.ids // 15 == own[:, None] // 15).all()
    assert (found.scores == 0).all()

    pytest.importorskip("pynndescent")
    from thresher.umap import precomputed_knn

    indices, distances, _ = precomputed_knn(vectors, 15)
    np.testing.assert_array_equal(indices[:, 0], own)
    assert (np.sort(indices, axis=1) // 15 == own[:, None] // 15).all() and (distances == 0).all()


def test_a_graph_of_parts(rng):
    csgraph = pytest.importorskip("scipy.sparse.csgraph")
    cluster = pytest.importorskip("sklearn.cluster")
    part = np.arange(120) % 4
    vectors = (rng.standard_normal((120, 5)) + 1000 * part[:, None]).astype(np.float32)
    graph = thresher.knn_graph(vectors, 12, metric="l2", distances=True, symmetric=True)
    count, labels = csgraph.connected_components(graph)
    assert count == 4 and (labels == part).all()  # nothing joins them
    graph.sort_indices()
    found = cluster.DBSCAN(eps=6, metric="precomputed", min_samples=3).fit(graph).labels_
    assert {tuple(p) for p in zip(found, part, strict=True)} == {(i, i) for i in range(4)}


def test_each_pair_of_copies_once():
    found = thresher.pairs(np.ones((400, 4), np.float32), 0.99, metric="cosine")
    assert len(found) == 400 * 399 // 2 and (found.a < found.b).all()
    assert len(np.unique(found.a * 400 + found.b)) == len(found)
    assert found.keep().sum() == 1


# Recall


@pytest.fixture(scope="module")
def beside(vectors):
    """Queries and their best ten by inner product."""
    queries = vectors[:28] + np.float32(0.1)
    return queries, best(queries, vectors, 10)[0]


def test_recall_of_one_point_ten_times(vectors, beside):
    queries, right = beside
    found = thresher.recall(np.repeat(right[:, :1], 10, axis=1), vectors, queries, metric="ip")
    assert found.recall == pytest.approx(0.1) and found.report["repeated"] == 9 * 28


def test_recall_counts_what_is_short(vectors, beside):
    queries, right = beside
    found = thresher.recall(np.where(np.arange(10) < 7, right, -1), vectors, queries, metric="ip")
    assert found.recall == pytest.approx(0.7) and found.report["short"] == 28


def test_recall_of_shifted_ids(vectors, beside):
    queries, right = beside
    found = thresher.recall((right + 1) % 1500, vectors, queries, metric="ip")
    assert found.recall < 0.2 and found.low <= found.recall <= found.high
    assert found.report["complete"] == 0 and len(found.missed(0)) > 5
    assert found.report["gaps"]["median"] > 1  # what was missed is better by far: no matter of rounding


def test_recall_tells_by_how_much_answers_are_worse():
    vectors = np.ones((200, 8), np.float32)
    vectors[:, 0] += np.arange(200, dtype=np.float32) * np.float32(1.2e-7)  # one float32 apart
    queries = np.ones((1, 8), np.float32)
    order = best(queries, vectors, 30)[0]
    found = thresher.recall(np.delete(order, [3, 4], axis=1)[:, :20], vectors, queries, metric="ip")
    assert found.recall == pytest.approx(0.9)
    assert 0 < found.report["gaps"]["worst"] < 1e-6


def test_recall_of_ties(tied):
    queries = tied[:20]
    order, scores = best(queries, tied, 1200)
    others = order[:, :10].copy()  # in place of the tenth score's first rows, its last
    for j, (row, values) in enumerate(zip(order, scores, strict=True)):
        better = (values > values[9]).sum()
        others[j, better:] = row[values == values[9]][better - 10 :]
    by_id = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(others, order[:, :10], strict=True)])
    found = thresher.recall(others, tied, queries, metric="ip")
    assert found.recall == 1 and by_id < 0.9
    assert found.report["recall_by_id"] == pytest.approx(by_id)


# Memory and speed


PRODUCT = """
import os, resource
import numpy as np, thresher
rng = np.random.default_rng(0)
users, items = (rng.standard_normal((n, 8), np.float32) for n in (40_000, 2_500))
with thresher.Index(items, metric="ip") as index:
    found = index.search(users, 5, method="exact")
    peak = next(int(l.split()[1]) for l in open(f"/proc/{thresher._worker.get().process}/status") if "VmHWM" in l)
assert (found.ids[:50] == np.argsort(-users[:50].astype(float) @ items.T.astype(float), 1, "stable")[:, :5]).all()
print(peak << 10)
"""


def run(program, **environment):
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, **environment},
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.skipif(not _memory.LINUX, reason="reads /proc")
def test_no_product_of_all_with_all():
    assert int(run(PRODUCT)[0]) < 40_000 * 2_500 * 4 / 2


THREADS = """
import os, thresher
if os.environ.get("ONE_CORE"): os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
print(*[d["threads"] for d in thresher.devices() if d["name"] == "cpu"])
"""


@pytest.mark.skipif(not _memory.LINUX, reason="sets the affinity")
def test_cores_that_are_taken():
    assert run(THREADS, THRESHER_THREADS="1") == ["1"]
    assert run(THREADS, ONE_CORE="1") == ["1"]


def test_asyncio(vectors, queries):
    right = best(queries, vectors, 5)[0]

    async def all_at_once(index):
        calls = [asyncio.to_thread(index.search, queries, 5, method="certain") for _ in range(8)]
        return await asyncio.wait_for(asyncio.gather(*calls), 600)

    with thresher.Index(vectors, metric="ip") as index:
        for found in asyncio.run(all_at_once(index)):
            np.testing.assert_array_equal(found.ids, right)
    assert _worker.get().process > 0
