"""Vectors kept as float64: answers are those of the numbers given, in every function, at any offset."""

import pickle

import numpy as np
import pytest

import thresher
from conftest import best
from thresher import _scan64


def close(n=600, m=40, dim=24, seed=0):
    """Return vectors that float32 does not tell apart, and queries."""
    rng = np.random.default_rng(seed)
    vectors = np.repeat(rng.standard_normal((n // 30, dim)), 30, axis=0) + 1e-9 * rng.standard_normal((n, dim))
    return vectors, rng.standard_normal((m, dim))


def best64(queries, vectors, k, metric):
    """Return the k best by scores in float64: of l2 by differences, which lose nothing."""
    if metric != "l2":
        return best(queries, vectors, k, metric)[0]
    distances = np.array([((vectors - q) ** 2).sum(axis=1) for q in queries])
    return np.argsort(distances, axis=1, kind="stable")[:, :k]


@pytest.mark.parametrize("metric", ["ip", "cosine", "l2"])
@pytest.mark.parametrize("method", ["exact", "certain", "auto"])
def test_answers_are_those_of_the_numbers_given(metric, method):
    vectors, queries = close()
    if metric == "l2":
        vectors, queries = vectors + 1e5, queries + 1e5
    right = np.sort(best64(queries, vectors, 5, metric), axis=1)
    rounded = thresher.Index(vectors, metric=metric).search(queries, 5, method="exact")
    assert (np.sort(rounded.ids, axis=1) != right).any()  # or this tests nothing
    with thresher.Index(vectors, metric=metric, dtype="float64") as index:
        assert index.dtype == "float64" and "rounded" not in index.info
        result = index.search(queries, 5, method=method)
        np.testing.assert_array_equal(np.sort(result.ids, axis=1), right)
        assert not result.certificates["vectors_change"].any() and not result.certificates["query_change"].any()
        assert "float32" not in result.summary()
        assert thresher.verify(result, index, queries)
        assert thresher.verify(result, vectors, queries, metric=metric, dtype=np.float64)
        full = thresher.recall(result.ids, index, queries)
        assert float(full) == 1 and full.reasons is None and "why" not in full.summary()
        if method == "exact":
            less = thresher.recall(np.roll(result.ids, 1, axis=0), index, queries)
            assert float(less) < 1 and "order" in [why["kind"] for why in less.reasons]
            narrow = [x.astype(np.float32).astype(np.float64) for x in (queries, vectors)]
            less = thresher.recall(best64(*narrow, 5, metric), index, queries)
            assert float(less) < 1 and {"rounded", "ties"} & {why["kind"] for why in less.reasons}
        assert thresher.certify(result.ids, vectors, queries, metric=metric, dtype="float64").right == len(queries)
        reached = index.range_search(queries[:1], result.scores64[0, -1])
        np.testing.assert_array_equal(reached.ids, result.ids[0])
    _, ids = thresher.knn(queries, vectors, 5, metric=metric, method=method, dtype="float64")
    np.testing.assert_array_equal(ids, result.ids)


def test_files_changes_and_copies(tmp_path):
    vectors, queries = close()
    vectors, queries = vectors + 1e6, queries + 1e6
    more = vectors[:100] + 0.5
    both = np.vstack([vectors, more])
    right, of_both = (best64(queries, v, 3, "l2") for v in (vectors, both))
    np.save(tmp_path / "a.npy", vectors)
    with thresher.Index(vectors, metric="l2", dtype="float64") as index:
        index.save(tmp_path / "a.thresher")
        names = {"a.thresher": {}, "a.npy": {"metric": "l2", "dtype": "float64"}}
        for opened in (thresher.Index.open(tmp_path / name, **settings) for name, settings in names.items()):
            with opened:
                assert opened.dtype == "float64"
                opened.add(more)
                np.testing.assert_array_equal(opened.search(queries, 3, method="exact").ids, of_both)
                opened.remove(np.arange(600, 700))
                np.testing.assert_array_equal(opened.search(queries, 3, method="exact").ids, right)
        with pickle.loads(pickle.dumps(index)) as copy:
            assert copy.dtype == "float64"
            np.testing.assert_array_equal(copy.search(queries, 3, method="exact").ids, right)
        result = index.search(queries, 3)
        assert thresher.merge([result], k=3).ids.shape == (40, 3)  # whose digests the worker makes of the same values
    with pytest.raises(ValueError, match="a collection has its own"):
        thresher.Index.open(tmp_path / "a.thresher", dtype="float64")


def test_written_by_id(tmp_path):
    vectors, queries = close()
    vectors, queries = vectors + 1e6, queries + 1e6
    now = np.vstack([vectors, vectors[:100] + 1e-7])  # which float32 does not tell apart
    now[5] = vectors[5] - 1e-7
    with thresher.Index(vectors, metric="l2", dtype="float64") as index:
        added = np.arange(len(vectors), len(now))
        assert index.upsert([5, *added], now[[5, *added]]) == 1
        assert index.dtype == "float64" and len(index) == len(now)
        result = index.search(queries, 3, method="exact")
        np.testing.assert_array_equal(result.ids, best64(queries, now, 3, "l2"))
        assert not result.certificates["vectors_change"].any()
        np.testing.assert_array_equal(index.search(now[-9:], 1).ids[:, 0], np.arange(len(now))[-9:])
        others = index.search(now, 1, exclude_self=True).ids[:, 0]
        assert not (others == np.arange(len(now))).any()
        with pytest.raises(ValueError, match="query 0 is not"):
            index.search(now[::-1], 1, exclude_self=True)
        assert float(thresher.recall(result.ids, index, queries)) == 1
        assert not np.any(thresher.verify(result, index, queries).wrong)
        with pickle.loads(pickle.dumps(index)) as copy:
            np.testing.assert_array_equal(copy.search(queries, 3, method="exact").ids, result.ids)
        index.save(tmp_path / "now.thresher")
        index.remove(np.arange(600, 700))
        index.upsert([7], vectors[8:9].astype(np.float32))
        now[7] = vectors[8].astype(np.float32)
        left = np.delete(now, np.arange(600, 700), axis=0)
        np.testing.assert_array_equal(index.search(queries, 3, method="exact").ids, best64(queries, left, 3, "l2"))
        with pytest.raises(ValueError, match="row 0, id 3: a value that is not finite"):
            index.upsert([3], np.full((1, vectors.shape[1]), np.inf))
    with thresher.Index.open(tmp_path / "now.thresher") as saved:
        assert saved.dtype == "float64"
        np.testing.assert_array_equal(saved.search(queries, 3, method="exact").ids, result.ids)


def test_joins_and_pursuits():
    vectors, _ = close(n=300)
    vectors += 1e4
    graph = thresher.knn_graph(vectors, 4, metric="l2", dtype="float64", scores64=True)
    np.testing.assert_array_equal(graph.indices.reshape(300, 4)[:, 0], best64(vectors, vectors, 2, "l2")[:, 1])
    reach = float(graph.data.reshape(300, 4)[7, 0])
    found = thresher.pairs(vectors, max_distance=reach, others=vectors[7:8], metric="l2", dtype="float64")
    assert sorted(found.a.tolist()) == sorted([7, graph.indices[28]]) and "others_change" not in found.work
    with thresher.Index(vectors - 1e4, metric="cosine", dtype="float64") as index:
        signal = 2 * (vectors[3] - 1e4) + (vectors[200] - 1e4) * 1e-3
        pursued = index.pursuit(signal, terms=2)
        assert pursued.residuals[0, 0] < 1e-2 and pursued.counts[0] == 2


def test_numbers_of_other_types():
    vectors, queries = close()
    with thresher.Index(vectors.astype(np.float32), metric="ip", dtype="float64") as index:
        assert index.dtype == "float64"  # as asked, whether these values need it or not
        index.upsert([7], np.full((1, 24), 1e3 + 1e-9))
        found = index.search(np.ones((1, 24)), 1).scores64[0, 0]
        assert index.dtype == "float64" and found == pytest.approx(24e3 + 24e-9, rel=1e-15)
    with thresher.Index(np.arange(48, dtype=np.int16).reshape(2, 24), metric="ip", dtype="float64") as index:
        assert index.dtype == "float64"
    with thresher.Index(np.ones((2, 24), np.int8), metric="ip", dtype="float64") as index:
        assert index.dtype == "int8"
    with thresher.Index(vectors, metric="ip", dtype="float64") as index:
        for asked in (queries.astype(np.float32), np.rint(9 * queries).astype(np.int64), queries[0].tolist()):
            rows = np.atleast_2d(np.asarray(asked, np.float64))
            np.testing.assert_array_equal(index.search(asked, 1).ids, best(rows, vectors, 1, "ip")[0])
        with pytest.raises(ValueError, match="queries: row 0, column 0 is the integer 9007199254740993, which float64"):
            index.search(np.full((1, 24), 2**53 + 1), 1)
        with pytest.raises(ValueError, match="dtype: 'float16' is none of 'float32', 'float64'"):
            thresher.Index(vectors, metric="ip", dtype="float16")
    index = thresher.Index(vectors, metric="ip")
    with pytest.raises(ValueError, match="an index that rounded its vectors"):
        thresher.knn(queries, index, 1, dtype="float64")


@pytest.mark.parametrize("metric", ["ip", "cosine", "l2"])
@pytest.mark.parametrize("m", [1, 5, 9])
def test_scans_here_are_the_workers(metric, m):
    rng = np.random.default_rng(m)
    vectors = np.repeat(rng.standard_normal((700, 37)), 3, axis=0)
    vectors[::3] *= 1 + 2e-16  # rows that differ in the last bits, and rows that do not
    queries = rng.standard_normal((m, 37))
    with thresher.Index(vectors, metric=metric, dtype="float64") as index:
        for k in (1, 7, 2100):
            result = index.search(queries, k, method="exact")
            found = _scan64.scan64(queries, vectors, k, metric)
            if k == 2100 and found is None:
                continue
            np.testing.assert_array_equal(found[1], result.ids)
            np.testing.assert_array_equal(found[0], result.scores)
    assert thresher.knn(queries, vectors, 2101, metric=metric, dtype="float64")[1][:, -1].tolist() == [-1] * m


def test_what_scans_here_leave_to_the_worker():
    rng = np.random.default_rng(0)
    vectors, queries = rng.standard_normal((5000, 8)), rng.standard_normal((2, 8))
    assert _scan64.scan64(queries + 1e9, vectors + 1e9, 3, "l2") is None  # which it takes relative to a point near them
    for wrong in (np.nan, np.inf, 1e200):
        other = vectors.copy()
        other[70, 3] = wrong
        assert _scan64.scan64(queries, other, 3, "ip") is None
        with pytest.raises(ValueError, match="row 70"):
            thresher.knn(queries, other, 3, metric="ip", dtype="float64")
    zero = np.vstack([np.zeros((1, 8)), vectors])
    assert _scan64.scan64(queries, zero, 3, "cosine") is None and _scan64.scan64(queries, zero, 3, "ip") is not None
