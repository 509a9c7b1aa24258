"""Scans in the calling process: the worker's answers, bit for bit."""

import threading

import numpy as np
import pytest

import thresher
from thresher import _knn, _pairs, _products, _scan, _scratch, _shares, _single, _sums, _worker


@pytest.fixture(autouse=True)
def _scanned(monkeypatch):
    """Scan for single queries, too, and let the worker answer them where an index is asked."""
    monkeypatch.setattr(_single, "MOST_VALUES", 0)


def drawn(rng, kind, n, d):
    if kind == "counts":  # few values, so that many scores are equal
        return np.maximum(0, rng.integers(0, 9, (n, d)) - 6).astype(np.float32)
    rows = rng.standard_normal((n, d), dtype=np.float32)
    if kind == "norms":
        rows *= np.exp2(rng.integers(-24, 24, (n, 1))).astype(np.float32)
    if kind == "near ties":  # which float32 products cannot order
        return rows[0] + rng.standard_normal((n, d), dtype=np.float32) * np.float32(1e-5)
    if kind == "offset":
        rows += 3
    if kind == "copies":
        rows[n // 2 :] = rows[: n - n // 2]
    if kind == "zeros":
        rows[::5] = 0
        rows[:, ::3] = 0
    if kind == "negative zeros":
        rows[rows < 0] = -0.0
    return rows


@pytest.mark.parametrize("metric", ["ip", "cosine", "l2"])
@pytest.mark.parametrize(
    "kind", ["normal", "counts", "norms", "offset", "copies", "zeros", "negative zeros", "near ties"]
)
def test_as_the_worker(monkeypatch, metric, kind):
    rng = np.random.default_rng([3, len(kind), len(metric)])
    scanned = 0
    for n, d, m, k in (
        (1, 1, 1, 1), (7, 3, 2, 7), (300, 31, 1, 10), (1000, 64, 1, 10), (900, 33, 5, 1), (2000, 100, 9, 40),
        (700, 768, 3, 10), (4000, 16, 70, 3), (3000, 40, 1, 3000), (40000, 8, 30, 10),
    ):  # fmt: skip
        vectors = drawn(rng, kind, n, d)
        near = vectors[:1] + np.float32(1 if kind == "counts" else 0.25)
        queries = np.concatenate([near, drawn(rng, "normal" if kind == "zeros" else kind, m, d)])[:m]
        found = _scan.scan(queries, vectors, k, metric)
        if found is None:
            continue
        scanned += 1
        monkeypatch.setattr(_scan, "pays", lambda *_: False)
        want = thresher.knn(queries, vectors, k, metric=metric, method="exact")
        monkeypatch.undo()
        np.testing.assert_array_equal(found[1], want[1], err_msg=f"{n} x {d}, {m} queries, k = {k}")
        np.testing.assert_array_equal(found[0].view(np.int32), want[0].view(np.int32))
        assert found[0].dtype == want[0].dtype and found[1].dtype == want[1].dtype
    assert scanned >= (6 if kind == "counts" else 5)


@pytest.mark.parametrize("metric", ["ip", "cosine", "l2"])
@pytest.mark.parametrize("order", ["drawn", "best last", "best first", "copies"])
@pytest.mark.parametrize("tested", [1 << 8, 1 << 12])
def test_in_chunks(monkeypatch, metric, order, tested):
    """Of several chunks, each raises the floor for those after it; blocks and pieces end anywhere."""
    monkeypatch.setattr(_scan, "_TESTED", tested)
    for size in ("_OWN", "_MANY"):
        monkeypatch.setattr(_products, size, 3000)
    monkeypatch.setattr(_products, "_CACHED", 40000 if order == "drawn" else 3000)
    monkeypatch.setattr(_shares, "CORES", 3 if tested > 1000 else 1)
    monkeypatch.setattr(_products, "_SHARE", 9000)
    monkeypatch.setattr(_pairs, "_ONCE", 100)
    monkeypatch.setattr(_pairs, "_CANONICAL", 100)
    monkeypatch.setattr(_pairs, "_THREAD", 200)
    monkeypatch.setattr(_pairs, "_FEW", 100)
    monkeypatch.setattr(_scan, "_SMALL", 100)
    rng = np.random.default_rng([7, tested, len(order), len(metric)])
    for n, d, m, k in ((700, 12, 1, 5), (700, 12, 3, 5), (900, 33, 17, 10), (331, 5, 40, 1), (90, 40, 2, 90)):
        if k * m * d > tested * 8:
            continue  # of which the worker answers
        vectors = drawn(rng, "copies" if order == "copies" else "normal", n, d)
        queries = drawn(rng, "normal", m, d)
        if order.startswith("best"):
            vectors = vectors[np.argsort(vectors @ queries[0] * (1 if order == "best last" else -1))]
        found = _scan.scan(queries, vectors, k, metric)
        assert found is not None, f"{n} x {d}, {m} queries, k = {k}"
        with thresher.Index(vectors, metric=metric) as index:
            want = index.search(queries, k, method="exact")
        np.testing.assert_array_equal(found[1], want.rows, err_msg=f"{n} x {d}, {m} queries, k = {k}")
        np.testing.assert_array_equal(found[0].view(np.int32), want.scores.view(np.int32))


@pytest.mark.parametrize("metric", ["ip", "cosine", "l2"])
@pytest.mark.parametrize("tested", [1 << 8, 1 << 10, 1 << 20])
@pytest.mark.parametrize("kind", ["sparse", "signed", "few values", "zeros"])
def test_whole_numbers(monkeypatch, metric, tested, kind):
    """Float32 has their products exactly; of many equal scores the first are the answer."""
    monkeypatch.setattr(_scan, "_TESTED", tested)
    rng = np.random.default_rng([13, tested, len(kind), len(metric)])
    for n, d, m, k in ((2000, 40, 1, 10), (2000, 40, 7, 10), (900, 300, 25, 3), (3000, 6, 30, 20), (500, 20, 3, 90)):
        if k * m * max(d, 64) > tested * 8:
            continue
        vectors, queries = (
            rng.poisson(0.05 if kind == "sparse" else 1.5, (count, d)).astype(np.float32) for count in (n, m)
        )
        if kind == "signed":
            vectors -= 2
            queries -= 1
        if kind == "zeros":
            vectors[rng.random(n) < 0.7] = 0
        queries[:, 0] = 2
        found = _scan.scan(queries, vectors, k, metric)
        assert found is not None, f"{n} x {d}, {m} queries, k = {k}"
        with thresher.Index(vectors, metric=metric) as index:
            want = index.search(queries, k, method="exact")
        np.testing.assert_array_equal(found[1], want.rows, err_msg=f"{n} x {d}, {m} queries, k = {k}")
        np.testing.assert_array_equal(found[0].view(np.int32), want.scores.view(np.int32))


def test_not_whole():
    """One value that is no whole number, and whole numbers that are too large, are seen wherever they are."""
    rng = np.random.default_rng(19)
    whole = rng.poisson(1.0, (3000, 12)).astype(np.float32)
    query = whole[:1] + 1
    for row, value in ((0, 0.5), (17, 1.5), (2999, 2.25), (1000, 2.0**23 + 1), (5, 3e9)):
        vectors = whole.copy()
        vectors[row, 3] = value
        scan = _scan._Scan(query, vectors, 5, "ip", _scratch.Scratch(0))
        found = scan.run()
        assert not scan.whole and not scan.products.whole(scan.norm)
        want = thresher.knn(query, vectors, 5, metric="ip", seed=1, method="exact")
        np.testing.assert_array_equal(found[1], want[1])
        np.testing.assert_array_equal(found[0], want[0])


@pytest.mark.parametrize("m", [1, 20])
def test_floor_of_all_chunks(monkeypatch, m):
    """After the last chunk, rows need what the k best of all chunks have, wherever these were."""
    monkeypatch.setattr(_scan, "_TESTED", 1 << 10)
    rng = np.random.default_rng(17)
    vectors, queries = drawn(rng, "normal", 4000, 24), drawn(rng, "normal", 1, 24)
    vectors = vectors[np.argsort(-(vectors @ queries[0]))]
    with _scratch.Scratch(0) as scratch:
        scan = _scan._Scan(queries.repeat(m, axis=0), vectors, 5, "ip", scratch)
        scores, ids = scan.run()
    assert (ids < 6).all()
    assert (scan.floor > scores[:, -1] - 3 * scan.error).all() and (scan.floor <= scores[:, -1]).all()
    assert (scan._least() < scan.floor - scan.error / 2).all()  # a row's own rounding is not the floor's
    assert len(scan.kept[0][0]) < 6 * m


def test_scratch():
    """Arrays are aligned and apart; memory is taken again, but for after an error."""
    _scratch._SPARE.clear()
    with _scratch.Scratch(4096) as scratch:
        first, second = scratch.array((3, 5), np.float32), scratch.array((7,), np.bool_)
        large = scratch.array((1000, 2), np.float64)
        first[:], second[:], large[:] = 1, False, 3
        assert (first == 1).all() and not second.any() and (large == 3).all()
        assert first.ctypes.data % 4 == 0 and not np.shares_memory(first, second)
        memory = scratch._memory
        assert np.shares_memory(first, memory) and not np.shares_memory(large, memory)
        with _scratch.Scratch(4096) as other:
            assert other._memory is not memory
    with _scratch.Scratch(4096) as scratch:
        assert scratch._memory is memory
    with pytest.raises(KeyError), _scratch.Scratch(4096) as scratch:
        raise KeyError
    assert len(_scratch._SPARE) == 1 and scratch._memory is not _scratch._SPARE[0]
    _scratch._SPARE.clear()


def test_threads(monkeypatch):
    """Threads share the parts, errors come out, and a thread that is late or cannot be started has none."""
    monkeypatch.setattr(_shares, "CORES", 3)
    for count, most in ((10, 3), (10, 10), (10, 1), (2, 3)):
        assert [i for low, high in _shares.shares(count, most) for i in range(low, high)] == list(range(count))
    own, parts, both = threading.get_ident(), _shares.shares(8, 1), threading.Barrier(2)

    def meet(low, high):
        if low < 2:
            both.wait(600)
        return low, threading.get_ident()

    done = _shares.in_threads(2, meet, parts)
    assert [i for i, _ in done] == list(range(8)) and len({thread for _, thread in done[:2]}) == 2

    def fail(low, high):
        if low == 5:
            raise KeyError(low)

    for threads in (1, 3):
        with pytest.raises(KeyError):
            _shares.in_threads(threads, fail, parts)
    late = []
    monkeypatch.setattr(_shares._thread, "start_new_thread", lambda *work: late.append(work))
    assert _shares.in_threads(2, lambda low, high: (low, threading.get_ident()), parts) == [(i, own) for i in range(8)]
    for work, arguments in late:
        work(*arguments)

    def full(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_shares._thread, "start_new_thread", full)
    assert _shares.in_threads(2, lambda low, high: low, parts) == list(range(8))


@pytest.mark.parametrize("metric", ["ip", "cosine", "l2"])
def test_float64_scores_are_the_workers(metric):
    """A certificate's threshold is the k-th best score in float64, of which answers have the float32."""
    rng = np.random.default_rng(11)
    for d in (3, 31, 32, 33, 64, 100, 768):
        vectors, queries = drawn(rng, "normal", 200, d), drawn(rng, "normal", 150, d)
        with thresher.Index(vectors, metric=metric) as index:
            found = index.search(queries, 3, method="exact")
        wide = queries.astype(np.float64)
        with _scratch.Scratch(1 << 20) as scratch:
            pairs = _pairs.Pairs(queries, vectors, _sums.sums(wide * wide), metric, scratch)
            mine = pairs.canonical(np.arange(150), found.rows[:, 2])
        np.testing.assert_array_equal(mine.view(np.int64), found.certificates["threshold"].view(np.int64))


@pytest.mark.parametrize("metric", ["ip", "cosine", "l2"])
@pytest.mark.parametrize("m", [1, 5])
def test_sums_in_another_order(monkeypatch, metric, m):
    """They round to the canonical scores and have their order; what is in doubt is summed again."""
    monkeypatch.setattr(_pairs, "_FEW", 0)
    rng = np.random.default_rng([23, m, len(metric)])
    vectors, queries = drawn(rng, "normal", 60, 40), drawn(rng, "normal", m, 40)
    vectors[30:50] = vectors[:20]  # whose order is in doubt
    vectors[50] = queries[0]
    wide = queries.astype(np.float64)
    norm = float(np.linalg.norm(vectors, axis=1).max())
    for count in (1, 2, 7, 60):  # of which three make a part
        monkeypatch.setattr(_pairs, "_ONCE", 120)
        query, row = np.sort(rng.integers(0, m, count)), np.arange(60)[-count:]
        with _scratch.Scratch(1 << 16) as scratch:
            pairs = _pairs.Pairs(queries, vectors, _sums.sums(wide * wide), metric, scratch)
            near, want = pairs.scores(query, row, norm), pairs.canonical(query, row)
        np.testing.assert_array_equal(near.astype(np.float32), want.astype(np.float32))
        np.testing.assert_array_equal(np.lexsort((near, query)), np.lexsort((want, query)))


@pytest.mark.parametrize("metric", ["ip", "cosine", "l2"])
def test_left_to_the_worker(metric):
    rng = np.random.default_rng(5)
    vectors, query = drawn(rng, "normal", 50, 8), drawn(rng, "normal", 1, 8)
    assert _scan.scan(query, vectors, 3, metric) is not None
    for value in (np.nan, np.inf, 1e30):
        wrong = vectors.copy()
        wrong[7, 3] = value
        assert _scan.scan(query, wrong, 3, metric) is None
        assert _scan.scan(wrong[7:8], vectors, 3, metric) is None
    assert _scan.scan(query * np.float32(1e-30), vectors, 3, metric) is None
    assert _scan.scan(query, vectors * np.float32(1e-30), 3, metric) is None
    copies = np.broadcast_to(vectors[:1], (9000, 8)).copy()
    assert _scan.scan(query, copies, 3, metric) is None
    np.testing.assert_array_equal(thresher.knn(query, copies, 3, metric=metric)[1], [[0, 1, 2]])


def test_knn_scans_few_queries_itself(monkeypatch, vectors, queries):
    def worker(*_, **__):
        raise AssertionError("the worker was asked")

    right = thresher.knn(queries[:3], vectors, 4, metric="ip", seed=1)
    monkeypatch.setattr(_worker.Worker, "call", worker)
    for method in ("auto", "exact", "certain"):
        found = thresher.knn(queries[:3], vectors, 4, metric="ip", method=method)
        np.testing.assert_array_equal(found[1], right[1])
        np.testing.assert_array_equal(found[0], right[0])
    scores, ids = thresher.knn(queries[0], vectors[:3], 5, metric="ip")
    assert ids.shape == (1, 5) and (ids[0, 3:] == -1).all() and np.isnan(scores[0, 3:]).all()
    for given in ({"method": "adaptive"}, {"device": "cuda"}, {"seed": 1}, {"deadline": 5.0}, {"progress": True}):
        with pytest.raises(AssertionError, match="asked"):
            thresher.knn(queries[:1], vectors, 4, metric="ip", **given)
    with pytest.raises(ValueError, match="delta"):
        thresher.knn(queries[:1], vectors, 4, metric="ip", delta=2.0)


def test_one_call_of_the_worker(monkeypatch, vectors, queries):
    """The worker's call for all of it answers and refuses as an index does."""
    monkeypatch.setattr(_scan, "pays", lambda *_: False)
    asked = []
    worker = _worker.get()
    call = worker.call

    def noted(op, *rest, **more):
        asked.append(op)
        return call(op, *rest, **more)

    monkeypatch.setattr(worker, "call", noted)
    for method in ("auto", "certain", "adaptive"):
        with thresher.Index(vectors, metric="cosine", seed=3) as index:
            want = index.search(queries, 6, method="adaptive" if method == "adaptive" else "exact")
        asked.clear()
        scores, ids = thresher.knn(queries, vectors, 6, metric="cosine", method=method, seed=3)
        assert asked == ["knn"]
        np.testing.assert_array_equal(ids, want.ids)
        np.testing.assert_array_equal(scores, want.scores)
    scores, ids = thresher.knn(queries, vectors[:2], 4, metric="ip")
    assert ids.shape == (30, 4) and (ids[:, 2:] == -1).all() and np.isnan(scores[:, 2:]).all()
    wrong = vectors.copy()
    wrong[11, 5] = np.nan
    with pytest.raises(thresher.BadInput, match=r"vectors: row 11"):
        thresher.knn(queries, wrong, 4, metric="ip")
    with pytest.raises(thresher.BadInput, match="queries"):
        thresher.knn(wrong[11:12], vectors, 4, metric="ip")
    with pytest.raises(ValueError, match="method"):
        thresher.knn(queries, vectors, 4, metric="ip", method="fast")


def test_pays_for_few(monkeypatch):
    monkeypatch.setattr(_scan, "CORES", 2)
    for m, n, d in ((1, 1000, 64), (1, 60000, 768), (64, 60000, 768)):
        assert _scan.pays(m, n, d, 10, False)
    assert not _scan.pays(10000, 20000, 128, 10, False)
    assert _scan.pays(512, 60000, 768, 10, False)  # handing over and building take longer
    assert not _scan.pays(4096, 60000, 768, 10, False)  # what is built serves so many
    assert not _scan.pays(64, 60000, 768, 10, True)  # the worker reads them where they are
    assert not _scan.pays(64, 1000, 64, 1000, False)


def test_building_is_part_of_the_price(vectors, queries):
    """What is searched once by few queries is not built; an index is."""
    index, _ = _knn.as_index(vectors, "ip", once=_knn.once(queries, 5, "auto"))
    with index, thresher.Index(vectors, metric="ip") as built:
        once, often = index.search(queries, 5), built.search(queries, 5, method="exact")
        assert set(once.certificates["plan"].tolist()) == {"dense, no building"}
        assert set(once.certificates["guarantee"].tolist()) == {"exact"}
        assert "no building" not in often.certificates["plan"][0]
        np.testing.assert_array_equal(once.ids, often.ids)
        np.testing.assert_array_equal(once.scores, often.scores)
