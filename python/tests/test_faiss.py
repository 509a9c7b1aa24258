"""thresher.faiss beside FAISS itself, where that is installed, and beside what is known otherwise: answers."""

from __future__ import annotations

import concurrent.futures
import os

import numpy as np
import pytest

import thresher
import thresher.faiss as ours
from flat import FARTHEST, SQUARED, filled, needs_faiss, same, theirs
from thresher.faiss import _rows, _searcher

# Answers


def test_known_answers():
    index = ours.IndexFlatL2(2)
    index.add(SQUARED)
    distances, labels = index.search(np.zeros((1, 2)), 5)
    assert distances.tolist() == [[0, 1, 25, 100, FARTHEST]]
    assert labels.tolist() == [[0, 3, 1, 2, -1]]
    assert (distances.dtype, labels.dtype) == (np.float32, np.int64)
    lims, distances, labels = index.range_search(np.zeros((1, 2)), 100)
    assert (lims.tolist(), distances.tolist(), labels.tolist()) == ([0, 3], [0, 25, 1], [0, 1, 3])
    assert lims.dtype == np.uint64
    index = ours.IndexFlatIP(2)
    index.add(SQUARED)
    distances, labels = index.search(np.ones((1, 2)), 5)
    assert distances.tolist() == [[14, 7, 1, 0, -FARTHEST]]
    assert labels.tolist() == [[2, 1, 3, 0, -1]]
    assert [part.tolist() for part in index.range_search(np.ones((1, 2)), 1)] == [[0, 2], [7, 14], [1, 2]]


@needs_faiss
@pytest.mark.parametrize(("n", "k"), [(1500, 1), (1500, 10), (50, 60)])
def test_search_and_range_search(vectors, queries, metric, n, k):
    vectors = vectors[:n]
    index, wanted = (filled(module, vectors, metric) for module in (ours, theirs))
    same(index.search(queries, k), wanted.search(queries, k))
    radius = float(np.median(wanted.search(queries, 20)[0]))
    same(index.range_search(queries, radius), wanted.range_search(queries, radius))
    np.testing.assert_array_equal(index.assign(queries, k), wanted.assign(queries, k))


@needs_faiss
@pytest.mark.parametrize("metric", [0, 1, 2, 3, 4, 20, 21, 22, 23, 24])
def test_pairwise_distances_and_knn(vectors, queries, metric):
    rows, asked = np.abs(vectors[:200]), np.abs(queries)
    found = ours.pairwise_distances(asked, rows, metric, 1.5)
    np.testing.assert_allclose(found, theirs.pairwise_distances(asked, rows, metric, 1.5), rtol=1e-4, atol=1e-4)
    same(ours.knn(asked, rows, 7, metric, 1.5), theirs.knn(asked, rows, 7, metric, 1.5))


def test_distances_of_near_rows_do_not_cancel():
    x = np.full((1, 64), 1000, np.float32)
    y = np.nextafter(x, np.float32(2000))
    apart = float(y[0, 0]) - 1000
    np.testing.assert_allclose(ours.pairwise_distances(x, y), [[64 * apart**2]], rtol=1e-6)
    assert (ours.pairwise_distances(x, x) == 0).all()


@needs_faiss
def test_values_that_are_not_finite(metric):
    rows = np.array([[np.nan] * 4, [1, 1, 1, 1], [2, 1, 1, 1], [-np.inf, 1, 1, 1], [np.inf] * 4], np.float32)
    asked = np.array([[1, 1, 1, 0], [np.nan, 0, 0, 0]], np.float32)
    index, wanted = (filled(module, rows, metric) for module in (ours, theirs))
    for _ in range(2):  # the second time it is known
        same(index.search(asked, 5), wanted.search(asked, 5))
        same(index.range_search(asked[:1], 3.5), wanted.range_search(asked[:1], 3.5))
    only, theirs_only = ours.SearchParameters(), theirs.SearchParameters()
    only.sel, theirs_only.sel = ours.IDSelectorRange(1, 4), theirs.IDSelectorRange(1, 4)
    same(index.search(asked, 5, params=only), wanted.search(asked, 5, params=theirs_only))
    same(ours.knn(asked, rows, 3, metric), theirs.knn(asked, rows, 3, metric))


def test_what_the_engine_refuses_of_selected_rows(metric, monkeypatch):
    monkeypatch.setattr(_searcher, "_COPIED", 0)  # as for more rows than are copied
    rows = np.arange(24, dtype=np.float32).reshape(6, 4)
    asked, odd = np.ones((1, 4), np.float32), np.array([[np.nan, 1, 1, 1]], np.float32)
    index = filled(ours, rows, metric)
    for sel, wanted in (ours.IDSelectorRange(2, 5), [2, 3, 4]), (ours.IDSelectorBatch(np.array([0, 5])), [0, 5]):
        params = ours.SearchParameters(sel=sel)
        everything = -np.inf if metric == ours.METRIC_INNER_PRODUCT else np.inf
        lims, distances, labels = index.range_search(asked, everything, params=params)
        assert labels.tolist() == wanted and lims.tolist() == [0, len(wanted)]
        np.testing.assert_array_equal(distances, ours.pairwise_distances(asked, rows[wanted], metric)[0])
        two = np.concatenate([odd, asked])
        assert index.range_search(two, float(np.nextafter(everything, 0)), params=params)[2].tolist() == wanted
        assert sorted(index.search(two, 6, params=params)[1][1].tolist()) == sorted([-1] * (6 - len(wanted)) + wanted)


def test_answers_are_those_of_the_engine_however_they_are_found(vectors, queries, monkeypatch):
    index = filled(ours, vectors, ours.METRIC_L2)
    scanned = index.search(queries, 10), index.range_search(queries, 30.0)
    with monkeypatch.context() as patched:
        patched.setattr(_searcher._scan, "pays", lambda *_, **__: False)
        patched.setattr(_searcher, "_SORTED", 0)
        patched.setattr(_searcher, "_BUILD", 1.0)
        few = index.search(queries, 10), index.range_search(queries, 30.0)
        patched.setattr(_searcher, "_COPIED", 0)
        params = ours.SearchParameters(sel=ours.IDSelectorAll())
        few_passed = index.search(queries, 10, params=params), index.range_search(queries, 30.0, params=params)
        assert index._searcher._index is None
        patched.setattr(_searcher, "_BUILD", 0.0)
        many = index.search(queries, 10), index.range_search(queries, 30.0)
        assert index._searcher._index is not None
        passed = index.search(queries, 10, params=params), index.range_search(queries, 30.0, params=params)
    for found in (few, few_passed, many, passed):
        for one, other in zip(found, scanned, strict=True):
            for part, wanted in zip(one, other, strict=True):
                np.testing.assert_array_equal(part, wanted)


@pytest.mark.filterwarnings("error")
def test_a_radius_beyond_float32():
    index = filled(ours, np.ones((2, 3), np.float32), ours.METRIC_L2)
    assert index.range_search(np.zeros((1, 3)), 1e300)[2].tolist() == [0, 1]
    assert index.range_search(np.zeros((1, 3)), -1e300)[2].tolist() == []


def test_nothing_to_search_or_to_search_for():
    for module in (ours,) if theirs is None else (ours, theirs):
        index = module.IndexFlatL2(3)
        for asked in (np.ones((2, 3)), np.ones((0, 3))):
            assert index.search(asked, 2)[1].tolist() == [[-1, -1]] * len(asked)
            assert [len(part) for part in index.range_search(asked, 1.0)] == [len(asked) + 1, 0, 0]
        index.add(np.ones((0, 3)))
        assert index.ntotal == 0
        index.add(np.ones((1, 3)))
        assert index.search(np.ones((0, 3)), 2)[0].shape == (0, 2)
        assert index.range_search(np.ones((1, 3)), float("nan"))[0].tolist() == [0, 0]
        assert index.range_search(np.ones((1, 3)), float("inf"))[2].tolist() == [0]
        assert module.knn(np.ones((2, 3)), np.ones((1, 3)), 0)[0].shape == (2, 0)


# Additions and removals


def test_an_index_takes_in_what_is_added(vectors, queries, monkeypatch):
    monkeypatch.setattr(_searcher._scan, "pays", lambda *_, **__: False)
    monkeypatch.setattr(_searcher, "_BUILD", 0.0)
    monkeypatch.setattr(_rows, "_SHARED", 0)
    index, count = ours.IndexFlatL2(48), 0
    index.add(vectors[:1000])
    built = []
    for more in (1000, 1010, 1100, 1300, 1500):
        index.add(vectors[index.ntotal : more])
        _, labels = index.search(queries, 5)
        wanted = filled(ours, vectors[:more], ours.METRIC_L2).thresher.search(queries, 5, method="exact").ids
        np.testing.assert_array_equal(labels, wanted)
        assert np.shares_memory(index._searcher._index._rows, index._rows.room)  # whose memory is the only one
        if index._searcher._index not in built:
            built.append(index._searcher._index)
        count += 1
    assert 1 < len(built) < count  # neither at every addition nor never


def test_threads_share_an_index(vectors, queries, monkeypatch):
    monkeypatch.setattr(_searcher._scan, "pays", lambda *_, **__: False)
    monkeypatch.setattr(_searcher, "_BUILD", 0.0)
    index = filled(ours, vectors[:1200], ours.METRIC_L2)
    index.add(vectors[1200:1400])  # and room for more
    index.search(queries, 5)
    built = index._searcher._index
    index.add(vectors[1400:])
    wanted = filled(ours, vectors, ours.METRIC_L2).thresher.search(queries, 5, method="exact").ids
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for _, labels in pool.map(lambda _: index.search(queries, 5), range(8)):
            np.testing.assert_array_equal(labels, wanted)
    assert index._searcher._index is built and len(built) == 1500


def test_rows_are_not_copied_for_the_engine():
    index = ours.IndexFlatIP(64)
    index.add(np.random.default_rng(0).standard_normal((1 << 16, 64)))
    rows = index._rows.array
    assert thresher._worker.shared(rows)
    index.add(np.zeros((1, 64)))
    assert index._rows.room is not rows.base  # there was no room
    room = index._rows.room
    index.add(np.zeros((100, 64)))
    assert index._rows.room is room
    assert index.thresher._rows is not None and np.shares_memory(index.thresher._rows, room)


def test_the_engine_proves_what_is_found(vectors, queries):
    index = filled(ours, vectors, ours.METRIC_L2)
    result = index.thresher.search(queries, 3, method="certain")
    assert set(result.guarantee.tolist()) <= {"exact", "certain"}
    np.testing.assert_array_equal(result.ids, index.search(queries, 3)[1])
    with pytest.raises(RuntimeError, match="metric_type: 2"):
        _ = ours.IndexFlat(3, ours.METRIC_L1).thresher


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_forked_process_adds_to_its_own_rows():
    index = ours.IndexFlatL2(64)
    index.add(np.zeros((1 << 16, 64)))
    index.add(np.zeros((1, 64)))  # and room for more
    child = os.fork()
    if child == 0:
        index.add(np.ones((5, 64)))
        os._exit(0 if index.reconstruct((1 << 16) + 1)[0] == 1 else 1)
    assert os.waitpid(child, 0)[1] == 0
    index.add(np.full((1, 64), 2.0))
    assert index.reconstruct((1 << 16) + 1).tolist() == [2.0] * 64
    assert index._rows.room[(1 << 16) + 2 :].max() == 0  # nothing of the child's


@needs_faiss
def test_removals(vectors, queries, metric):
    index, wanted = (filled(module, vectors, metric) for module in (ours, theirs))
    index.search(queries, 3)
    gone = np.array([3, 3, 7, 1499, 99999])
    assert index.remove_ids(gone) == wanted.remove_ids(gone) == 3
    same(index.search(queries, 3), wanted.search(queries, 3))
    assert index.remove_ids(ours.IDSelectorRange(0, 700)) == wanted.remove_ids(theirs.IDSelectorRange(0, 700))
    same(index.search(queries, 3), wanted.search(queries, 3))
    np.testing.assert_array_equal(index.reconstruct_n(5, 9), wanted.reconstruct_n(5, 9))
    for one in (index, wanted):
        one.reset()
        assert one.ntotal == 0
    same(index.search(queries, 3), wanted.search(queries, 3))


def test_reconstruct(vectors):
    index = filled(ours, vectors, ours.METRIC_L2)
    np.testing.assert_array_equal(index.reconstruct(7), vectors[7])
    np.testing.assert_array_equal(index.reconstruct_n(), vectors)
    np.testing.assert_array_equal(index.reconstruct_batch([5, 0]), vectors[[5, 0]])
    assert index.reconstruct_n(1500, 0).shape == (0, 48)
    for key in (1500, -1):
        with pytest.raises(RuntimeError, match=f"key: {key}; the 1500 vectors"):
            index.reconstruct(key)
    with pytest.raises(RuntimeError, match="key: 1500"):
        index.reconstruct_n(1499, 2)
    index.reconstruct(7)[:] = 0
    np.testing.assert_array_equal(index.reconstruct(7), vectors[7])
    distances, labels, found = index.search_and_reconstruct(vectors[:2], 1501)
    np.testing.assert_array_equal(found[0, 0], vectors[labels[0, 0]])
    assert distances[0, -1] == FARTHEST and np.isnan(found[0, -1]).all()
    flat = ours.rev_swig_ptr(index.get_xb(), 1500 * 48).reshape(1500, 48)
    np.testing.assert_array_equal(flat, vectors)
    np.testing.assert_array_equal(ours.vector_to_array(index.codes).view(np.float32).reshape(1500, 48), vectors)


def test_merge_and_clone(vectors, queries):
    whole = filled(ours, vectors, ours.METRIC_L2).search(queries, 4)
    index, other = filled(ours, vectors[:600], ours.METRIC_L2), filled(ours, vectors[600:], ours.METRIC_L2)
    copy = ours.clone_index(index)
    index.merge_from(other)
    assert (index.ntotal, other.ntotal, copy.ntotal) == (1500, 0, 600)
    same(index.search(queries, 4), whole)
    for wrong in (ours.IndexFlatL2(48), ours.IndexFlat(47), ours.IndexFlat(48, ours.METRIC_L1)):
        with pytest.raises(RuntimeError, match="otherIndex: "):
            index.merge_from(wrong)
    with pytest.raises(RuntimeError, match="itself"):
        index.merge_from(index)


# Selectors


def selections(module):
    """Yield selectors of FAISS or of thresher.faiss."""
    some, others = np.arange(0, 1500, 7), np.arange(300, 1700, 3)
    bits = np.packbits(np.isin(np.arange(1000), some), bitorder="little")
    batch, array = module.IDSelectorBatch(some), module.IDSelectorArray(others)
    yield from (batch, array, module.IDSelectorRange(20, 300), module.IDSelectorBitmap(bits), module.IDSelectorAll())
    yield from (module.IDSelectorNot(batch), module.IDSelectorAnd(batch, array), module.IDSelectorOr(batch, array))
    yield from (module.IDSelectorXOr(batch, array), module.IDSelectorRange(5, 5))


@needs_faiss
def test_selectors(vectors, queries, metric):
    index, wanted = (filled(module, vectors, metric) for module in (ours, theirs))
    count = 0
    for mine, other in zip(selections(ours), selections(theirs), strict=True):
        params, their_params = ours.SearchParameters(sel=mine), theirs.SearchParameters(sel=other)
        same(index.search(queries, 30, params=params), wanted.search(queries, 30, params=their_params))
        radius = float(np.median(wanted.search(queries, 50)[0]))
        same(
            index.range_search(queries, radius, params=params),
            wanted.range_search(queries, radius, params=their_params),
        )
        assert [mine.is_member(i) for i in range(-2, 1702)] == [other.is_member(i) for i in range(-2, 1702)]
        count += 1
    assert count == 10


def test_selectors_by_functions_and_pointers(vectors):
    ids = np.array([4, 8, 15])
    assert ours.IDSelectorBatch(2, ours.swig_ptr(ids)).mask(np.arange(16)).nonzero()[0].tolist() == [4, 8]
    odd = ours.PyCallbackIDSelector(lambda i: i % 2 == 1)
    index = filled(ours, vectors, ours.METRIC_L2)
    _, labels = index.search(vectors[:3], 5, params=ours.SearchParameters(sel=odd))
    assert (labels % 2 == 1).all()

    class Small(ours.IDSelector):
        def is_member(self, id):
            return id < 3

    assert sorted(index.search(vectors[:1], 9, params=ours.SearchParameters(Small()))[1][0].tolist())[-3:] == [0, 1, 2]
