"""Numbers that float32 does not hold: l2 loses nothing by a common offset, and answers say what was rounded."""

import pickle

import numpy as np
import pytest

import thresher
from conftest import best


def wrong_lists(ids, queries, vectors, k, metric):
    """Count the answers that are not the k best of the numbers given, as sets."""
    right, _ = best(queries, vectors, k, metric)
    return int((np.sort(ids, axis=1) != np.sort(right, axis=1)).any(axis=1).sum())


def far(offset, n=1500, m=60, dim=24, seed=0):
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((n, dim)) + offset
    return vectors, vectors[:m] + 1e-3 * rng.standard_normal((m, dim))


@pytest.mark.parametrize("offset", [0, 1e4, 1e6, 1e8])
@pytest.mark.parametrize("method", ["exact", "certain", "auto"])
def test_offset(offset, method):
    vectors, queries = far(offset)
    with thresher.Index(vectors, metric="l2") as index:
        result = index.search(queries, 10, method=method)
        assert wrong_lists(result.ids, queries, vectors, 10, "l2") == 0
        _, distances = best(queries, vectors, 10, "l2")
        np.testing.assert_allclose(result.scores, distances, rtol=1e-4)
        c = result.certificates
        assert (c["vectors_change"] == index.info["rounded"]["largest"]).all()
        assert 0 < index.info["rounded"]["largest"] < 1e-6
        assert 0 < c["query_change"].max() < 1e-6
        assert len(np.unique(c["query_change"])) > 1  # each query has its own
        largest = max(c["vectors_change"].max(), c["query_change"].max())
        assert f" for float32, largest change {largest:.2g}" in result.summary()
        check = thresher.verify(result, index, queries)
        assert check and check.report["rounded"] == largest
        assert f"largest change {largest:.2g}" in check.summary()
        assert float(thresher.recall(result.ids, index, queries)) == 1
        certified = thresher.certify(result.ids, index, queries)
        assert certified.right == len(queries) and f"largest change {largest:.2g}" in certified.summary()
    _, ids = thresher.knn(queries, vectors, 10, metric="l2", method=method)
    np.testing.assert_array_equal(ids, result.ids)


def test_verify_reads_what_was_given():
    vectors, queries = far(1e6)
    rough, asked = vectors.astype(np.float32), queries.astype(np.float32)
    with thresher.Index(rough, metric="l2") as index:
        result = index.search(asked, 10, method="exact")
    assert wrong_lists(result.ids, queries, vectors, 10, "l2") > 0  # or this tests nothing
    assert thresher.verify(result, rough, asked, metric="l2")
    by_given = thresher.verify(result, vectors, queries, metric="l2")
    assert not by_given and by_given.report["as_given"]
    with thresher.Index(vectors, metric="l2") as index:
        result = index.search(queries, 10, method="exact")
    for answers in (result, result.ids):
        found = thresher.verify(answers, vectors, queries, metric="l2")
        assert found and found.report["as_given"] and "compared as given" in found.summary()
    other = result.ids.copy()
    other[0, 0] = (other[0].max() + 1) % len(vectors)
    assert thresher.verify(other, vectors, queries, metric="l2").wrong.tolist() == [True] + [False] * 59


@pytest.mark.parametrize("metric", ["ip", "cosine", "l2"])
def test_answers_to_many_near_ties_are_right(metric):
    rng = np.random.default_rng(9)
    vectors = np.repeat(rng.standard_normal((40, 16)), 50, axis=0) + 1e-8 * rng.standard_normal((2000, 16))
    queries = rng.standard_normal((30, 16))
    with thresher.Index(vectors, metric=metric) as index:
        result = index.search(queries, 7, method="exact")
    assert wrong_lists(result.ids, queries, vectors, 7, metric) > 0
    assert thresher.verify(result, vectors, queries, metric=metric)


def test_offset_survives_files_changes_and_copies(tmp_path):
    vectors, queries = far(1e7)
    more = vectors[:100] + 0.5
    with thresher.Index(vectors, metric="l2") as index:
        index.save(tmp_path / "a.thresher")
        with thresher.Index.open(tmp_path / "a.thresher") as opened:
            for each in (index, opened):
                each.add(more)
                both = np.vstack([vectors, more])
                assert wrong_lists(each.search(queries, 5, method="exact").ids, queries, both, 5, "l2") == 0
                assert each.info["rounded"]["values"] > 0
                each.remove(np.arange(1500, 1600))
                assert wrong_lists(each.search(queries, 5, method="exact").ids, queries, vectors, 5, "l2") == 0
        with pickle.loads(pickle.dumps(index)) as copy:
            assert wrong_lists(copy.search(queries, 5, method="exact").ids, queries, vectors, 5, "l2") == 0
            assert copy.info["rounded"] == index.info["rounded"]
        # float32 queries are given like the vectors.
        rough = queries.astype(np.float32)
        assert wrong_lists(index.search(rough, 5, method="exact").ids, rough, vectors, 5, "l2") == 0
    np.save(tmp_path / "a.npy", vectors)
    np.savez(tmp_path / "a.npz", vectors=vectors)
    for name in ("a.npy", "a.npz"):
        with thresher.Index.open(tmp_path / name, metric="l2") as opened:
            assert wrong_lists(opened.search(queries, 5, method="exact").ids, queries, vectors, 5, "l2") == 0
            assert 0 < opened.info["rounded"]["largest"] < 1e-6


def test_offset_in_joins():
    vectors, queries = far(1e7, n=300)
    graph = thresher.knn_graph(vectors, 4, metric="l2")
    near, others = thresher.knn_graph(vectors - 1e7, 4, metric="l2"), queries[:40]
    assert (graph.indices.reshape(300, -1) == near.indices.reshape(300, -1)).mean() > 0.99
    found = thresher.pairs(vectors, max_distance=1e-3, others=others, metric="l2")
    assert sorted(zip(found.a.tolist(), found.b.tolist(), strict=True)) == [(j, j) for j in range(40)]
    assert 0 < found.work["vectors_change"] < 1e-6 and 0 < found.work["others_change"] < 1e-6


@pytest.mark.parametrize("metric", ["ip", "cosine"])
def test_other_metrics_say_what_was_rounded(metric):
    vectors, queries = far(3, n=400)
    result = thresher.Index(vectors, metric=metric).search(queries, 5, method="exact")
    change = np.abs(vectors - vectors.astype(np.float32)).max()
    assert (result.certificates["vectors_change"] == change).all()
    each = np.abs(queries - queries.astype(np.float32)).max(axis=1)
    np.testing.assert_array_equal(result.certificates["query_change"], each)
    assert "exact for float32, largest change" in result.summary()


def test_float32_is_as_it_was(vectors, queries):
    with thresher.Index(vectors + np.float32(1e4), metric="l2") as index:
        result = index.search(queries + np.float32(1e4), 5, method="exact")
        assert "rounded" not in index.info and index._origin is None
        assert not result.certificates["vectors_change"].any() and not result.certificates["query_change"].any()
        assert "exact: none wrong" in result.summary()
        assert thresher.verify(result, index, queries + np.float32(1e4)).report.get("rounded", 0) == 0
    # So are float64 numbers that float32 holds, and one query among them that it does not.
    with thresher.Index(vectors.astype(np.float64), metric="ip") as index:
        wide = queries.astype(np.float64)
        wide[3, 7] = 0.1
        change = index.search(wide, 5, method="exact").certificates["query_change"]
        assert np.flatnonzero(change).tolist() == [3]
    held = vectors.astype(np.float64) + 4096
    held = held.astype(np.float32).astype(np.float64)
    held[5, 5] = float(np.float32(1e-3))  # which an origin would round
    with thresher.Index(held, metric="l2") as index:
        assert index._origin is None and "rounded" not in index.info


def test_integers():
    with pytest.raises(ValueError, match=r"vectors: row 1, column 0 is the integer 16777217, which float32 cannot"):
        thresher.knn(np.array([[1]]), np.array([[2**24], [2**24 + 1]]), 1, metric="ip")
    with pytest.raises(ValueError, match=r"queries: row 0, column 1 is the integer 33554433"):
        thresher.knn(np.array([[1, 2**25 + 1]]), np.array([[1, 2]]), 1, metric="ip")
    for kind in (np.int64, np.uint64):
        with pytest.raises(ValueError, match="cannot hold exactly"):
            thresher.Index(np.array([[2**63 - 1], [3]], kind), metric="l2")
    rng = np.random.default_rng(5)
    vectors, queries = rng.integers(2**30, 2**30 + 10000, (800, 4)), rng.integers(2**30, 2**30 + 10000, (50, 4))
    with thresher.Index(vectors, metric="l2") as index:
        result = index.search(queries, 10, method="exact")
        assert wrong_lists(result.ids, queries, vectors, 10, "l2") == 0
        assert "rounded" not in index.info and "exact: none wrong" in result.summary()
    small = rng.integers(-128, 127, (50, 8))
    for kind in (np.int8, np.int16, np.int32, np.int64):
        ids = thresher.Index(small.astype(kind), metric="ip").search(small, 3, method="exact").ids
        np.testing.assert_array_equal(ids, best(small, small, 3)[0])


def test_what_is_too_small_or_too_large():
    with thresher.Index([[1e-60, 1.0], [0.5, 2.0]], metric="ip") as index:
        assert index.info["rounded"] == {"values": 1, "largest": 1e-60}
    with pytest.raises(ValueError, match=r"vectors: row 1, column 0 is 1e\+39, beyond"):
        thresher.Index([[1.0, 1.0], [1e39, 2.0]], metric="ip")
    with pytest.raises(ValueError, match=r"queries.*row 0"):
        thresher.knn([[float("nan"), 1.0]], [[1.0, 2.0]], 1, metric="ip")


def test_scikit_learn_asks_no_more_far_from_zero(monkeypatch):
    sklearn = pytest.importorskip("thresher.sklearn")
    asked = []
    search = thresher.Index.search

    def counted(self, queries, k, **settings):
        asked.append(len(queries) * k)
        return search(self, queries, k, **settings)

    monkeypatch.setattr(thresher.Index, "search", counted)
    work, rng = {}, np.random.default_rng(6)
    for offset in (0, 1e8):
        vectors = rng.standard_normal((400, 40)) + offset
        asked.clear()
        distances, found = sklearn.NearestNeighbors(n_neighbors=5).fit(vectors).kneighbors()
        work[offset] = sum(asked)
        exact = np.sqrt(((vectors[:, None] - vectors[None]) ** 2).sum(axis=2))
        np.fill_diagonal(exact, np.inf)
        np.testing.assert_array_equal(np.sort(found), np.sort(np.argsort(exact, axis=1)[:, :5]))
        np.testing.assert_allclose(distances, np.sort(exact, axis=1)[:, :5])
    assert work[1e8] == work[0]
