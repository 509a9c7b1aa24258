"""Searches for one query in the calling process: the worker's answers, bit for bit."""

import asyncio
import threading

import numpy as np
import pytest

import thresher
import thresher.faiss
from thresher import _single, _worker


def drawn(rng, kind, n, d):
    rows = rng.standard_normal((n, d), dtype=np.float32)
    if kind == "clusters":
        rows[:] = rng.standard_normal((5, d), dtype=np.float32)[np.sort(rng.integers(5, size=n))] + rows / 4
    if kind == "norms":
        rows *= np.exp2(rng.integers(-24, 24, (n, 1))).astype(np.float32)
    if kind == "near ties":  # which float32 products cannot order
        rows = rows[0] + rows * np.float32(1e-5)
    if kind == "offset":
        rows += 3
    if kind == "copies":
        rows[n // 2 :] = rows[: n - n // 2]
    if kind == "zeros":
        rows[::5] = 0
        rows[:, ::3] = 0
    if kind == "counts":
        rows = np.maximum(0, rng.integers(0, 9, (n, d)) - 6).astype(np.float32)
    return rows


@pytest.fixture
def asked(monkeypatch):
    """Return a search by the worker, whatever its size."""

    def search(index, query, k, method="exact"):
        with monkeypatch.context() as m:
            m.setattr(_single, "MOST_VALUES", 0)
            return index.search(query, k, method=method)

    return search


@pytest.mark.parametrize("metric", ["ip", "cosine", "l2"])
@pytest.mark.parametrize("kind", ["normal", "clusters", "norms", "offset", "copies", "zeros", "counts", "near ties"])
def test_as_the_worker(monkeypatch, asked, metric, kind):
    """By rows and by coordinates, in one part and in several."""
    monkeypatch.setattr(_single, "_OFTEN", 1)
    rng = np.random.default_rng([5, len(kind), len(metric)])
    found_here = 0
    for n, d, k, at_once in ((1, 1, 1, 99), (7, 3, 7, 99), (300, 31, 10, 4000), (1000, 64, 10, 1 << 18),
                             (900, 100, 1, 7000), (3000, 16, 60, 9000), (500, 300, 10, 10)):  # fmt: skip
        monkeypatch.setattr(_single, "_ONE_THREAD", at_once)
        vectors = drawn(rng, kind, n, d)
        query = vectors[n // 3 : n // 3 + 1] + np.float32(1 if kind == "counts" else 0.25)
        single = _single.Single(vectors, metric)
        with thresher.Index(vectors, metric=metric) as index:
            want = asked(index, query, k)
            for turned in (False, False, True):
                assert (single._turned is not None) == turned
                found = single.nearest(query, k)
                if found is None:
                    break
                found_here += 1
                np.testing.assert_array_equal(found[1], want.rows[0], err_msg=f"{n} x {d}, k = {k}")
                np.testing.assert_array_equal(found[0].view(np.int64), want.scores64[0].view(np.int64))
    assert found_here >= (0 if kind in ("counts", "near ties") else 6)


@pytest.mark.parametrize("metric", ["ip", "cosine", "l2"])
def test_values_of_extreme_size_are_left_to_others(metric):
    rng = np.random.default_rng(8)
    vectors, query = rng.standard_normal((50, 8), dtype=np.float32), np.ones((1, 8), np.float32)
    assert _single.Single(vectors, metric).nearest(query, 3) is not None
    for wrong in (np.nan, np.inf, 1e12, 1e30):
        assert _single.Single(vectors, metric).nearest(query * np.float32(wrong), 3) is None
        other = vectors.copy()
        other[7, 3] = wrong
        assert _single.Single(other, metric).nearest(query, 3) is None
    tiny = vectors.copy()
    tiny[4] = 1e-20
    assert _single.Single(tiny, metric).nearest(query, 3) is None
    assert _single.Single(vectors * 0, metric).nearest(query, 3) is None
    assert _single.Single(vectors, metric).nearest(query * 0, 3) is None


@pytest.mark.parametrize("metric", ["ip", "cosine", "l2"])
@pytest.mark.parametrize("method", ["auto", "certain", "exact"])
def test_an_index_answers_as_its_worker(asked, metric, method):
    rng = np.random.default_rng(21)
    vectors, query = rng.standard_normal((400, 20), dtype=np.float32), rng.standard_normal(20)
    ids = [f"v{i}" for i in range(400)]
    with thresher.Index(vectors, ids, metric=metric) as index:
        assert index._single is None
        want, found = asked(index, query, 7, method), index.search(query, 7, method=method)
        assert index._single is None  # of a query of float64, whose rounding is told
        found = index.search(query.astype(np.float32), 7, method=method, query_ids=["q"])
        want = asked(index, query.astype(np.float32), 7, method)
        assert index._single is not None
        for name in ("ids", "rows", "scores", "scores64", "metric", "complete", "guarantee", "delta", "saving"):
            np.testing.assert_array_equal(getattr(found, name), getattr(want, name), err_msg=name)
        assert found.query_ids.tolist() == ["q"] and found.covers == want.covers and found.took > 0
        assert found.certificate(0) == want.certificate(0) | {"predicted_ns": 0.0}
        assert found.summary().splitlines()[:-1] == want.summary().splitlines()[:-1]
        awaited = asyncio.run(index.asearch(query.astype(np.float32), 7, method=method))
        np.testing.assert_array_equal(awaited.ids, want.ids)
        with pytest.raises(ValueError, match="deadline: 0 seconds"):
            index.search(query.astype(np.float32), 7, deadline=0)
        with pytest.raises(TypeError, match="progress: 5"):
            index.search(query.astype(np.float32), 7, progress=5)
        with pytest.raises(thresher.BadInput, match="queries: row 0"):
            index.search(np.full(20, np.nan, np.float32), 7)


def test_what_the_worker_is_asked_for(monkeypatch):
    """All but plain searches, and those of an index that it alone can answer."""
    rng = np.random.default_rng(4)
    vectors = rng.standard_normal((60, 20), dtype=np.float32)
    q = vectors[:1]
    calls = []
    call = _worker.Worker.call
    monkeypatch.setattr(
        _worker.Worker, "call", lambda self, op, *rest, **named: calls.append(op) or call(self, op, *rest, **named)
    )

    def asks(index, *given, **options):
        calls.clear()
        index.search(*given, **options)
        return "search" in calls

    with thresher.Index(vectors, metric="l2") as index:
        assert not asks(index, q, 3) and not asks(index, q, 60, threads=1)
        assert asks(index, vectors[:2], 3) and asks(index, q, 61) and asks(index, q, [3])
        for options in (
            {"epsilon": 0.1}, {"exclude": [[1]]}, {"max_distance": 5.0}, {"candidates": [[1]]}, {"filter": [1, 2, 3]},
            {"exclude_self": True}, {"method": "adaptive"},
        ):  # fmt: skip
            assert asks(index, q, 3, **options), options
        index.upsert([2], q + 1)
        assert asks(index, q, 3)
        assert index.search(q + 1, 1).ids.tolist() == [[2]]
    with thresher.Index(vectors.astype(np.float64) + 1e-9, metric="l2") as index:
        assert asks(index, q, 3)
    with thresher.Index(vectors.astype(np.float16), metric="l2") as index:
        assert asks(index, q, 3)
    with pytest.raises(ValueError, match="closed"):
        index.search(q, 3)


def test_changes_are_found():
    rng = np.random.default_rng(6)
    vectors = rng.standard_normal((60, 9), dtype=np.float32)
    flat = thresher.faiss.IndexFlatL2(9)
    flat.add(vectors)
    with thresher.Index(vectors, metric="l2") as index:
        more = vectors[:1] + 9
        for add in (index.add, flat.add):
            before = add.__self__.search(more, 1)
            add(more)
            after = add.__self__.search(more, 1)
            assert [list(x)[1].tolist() for x in (before, after)][1] == [[60]] != list(before)[1].tolist()
    flat.remove_ids(np.array([60]))
    assert flat.search(more, 1)[1].tolist() != [[60]]


def test_a_flat_index_builds_none_for_few_vectors(monkeypatch):
    """Beyond, it answers single queries here until they have taken as long as a build."""
    rng = np.random.default_rng(2)
    vectors = rng.standard_normal((500, 16), dtype=np.float32)
    flat = thresher.faiss.IndexFlatIP(16)
    flat.add(vectors)
    want = np.argsort(-(vectors @ vectors[3]))[:4].tolist()
    for _ in range(300):
        flat.search(vectors[3:4], 4)
    assert flat._searcher._index is None and flat._searcher._spent == 0
    monkeypatch.setattr(_single, "MOST_VALUES", 100)
    flat.search(vectors[3:4], 4)
    assert flat._searcher._index is None and flat._searcher._spent > 0
    for _ in range(1000):
        assert flat.search(vectors[3:4], 4)[1].tolist() == [want]
        if flat._searcher._index is not None:
            break
    assert flat._searcher._index is not None


def test_threads_share_it(monkeypatch):
    monkeypatch.setattr(_single, "_OFTEN", 20)
    rng = np.random.default_rng(9)
    vectors = rng.standard_normal((300, 12), dtype=np.float32)
    single = _single.Single(vectors, "l2")
    want = [single.nearest(v[np.newaxis], 5)[1].tolist() for v in vectors[:40]]
    single = _single.Single(vectors, "l2")
    found = {}

    def search(i):
        for j in range(i, 40, 4):
            found[j] = single.nearest(vectors[j : j + 1], 5)[1].tolist()

    threads = [threading.Thread(target=search, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[j] for j in range(40)] == want and single._turned is not None
