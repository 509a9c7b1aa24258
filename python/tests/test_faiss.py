"""thresher.faiss beside FAISS itself, where that is installed, and beside what is known otherwise."""

from __future__ import annotations

import os
import pickle

import numpy as np
import pytest

import thresher
import thresher.faiss as ours
from thresher.faiss import _searcher

try:
    import faiss as theirs
except ImportError:
    theirs = None

needs_faiss = pytest.mark.skipif(theirs is None, reason="faiss is not installed")

FARTHEST = np.finfo(np.float32).max
SQUARED = np.array([[0, 0], [3, 4], [6, 8], [0, 1]], np.float32)


@pytest.fixture(params=[ours.METRIC_L2, ours.METRIC_INNER_PRODUCT, ours.METRIC_L1], ids=["l2", "ip", "l1"])
def metric(request):
    return request.param


def filled(module, vectors, metric):
    index = module.IndexFlat(vectors.shape[1], metric)
    index.add(vectors)
    return index


def same(found, wanted):
    """Compare answers, of which FAISS's distances are sums in float32."""
    np.testing.assert_array_equal(found[-1], wanted[-1])
    np.testing.assert_array_equal(found[:-2], wanted[:-2])
    np.testing.assert_allclose(found[-2], wanted[-2], rtol=1e-4, atol=1e-3)
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape


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


def test_answers_are_those_of_the_engine_however_they_are_found(vectors, queries, monkeypatch):
    index = filled(ours, vectors, ours.METRIC_L2)
    scanned = index.search(queries, 10), index.range_search(queries, 30.0)
    with monkeypatch.context() as patched:
        patched.setattr(_searcher._scan, "pays", lambda *_, **__: False)
        patched.setattr(_searcher, "_SORTED", 0)
        patched.setattr(_searcher, "_BUILD", 1.0)
        few = index.search(queries, 10), index.range_search(queries, 30.0)
        assert index._searcher._index is None
        patched.setattr(_searcher, "_BUILD", 0.0)
        many = index.search(queries, 10), index.range_search(queries, 30.0)
        assert index._searcher._index is not None
        patched.setattr(_searcher, "_COPIED", 0)
        params = ours.SearchParameters(sel=ours.IDSelectorAll())
        passed = index.search(queries, 10, params=params), index.range_search(queries, 30.0, params=params)
    for found in (few, many, passed):
        for one, other in zip(found, scanned, strict=True):
            for part, wanted in zip(one, other, strict=True):
                np.testing.assert_array_equal(part, wanted)


# Additions and removals


def test_an_index_takes_in_what_is_added(vectors, queries, monkeypatch):
    monkeypatch.setattr(_searcher._scan, "pays", lambda *_, **__: False)
    monkeypatch.setattr(_searcher, "_BUILD", 0.0)
    index, count = ours.IndexFlatL2(48), 0
    index.add(vectors[:1000])
    built = []
    for more in (1000, 1010, 1100, 1300, 1500):
        index.add(vectors[index.ntotal : more])
        _, labels = index.search(queries, 5)
        wanted = filled(ours, vectors[:more], ours.METRIC_L2).thresher.search(queries, 5, method="exact").ids
        np.testing.assert_array_equal(labels, wanted)
        if index._searcher._index not in built:
            built.append(index._searcher._index)
        count += 1
    assert 1 < len(built) < count  # neither at every addition nor never


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


# Ids


@needs_faiss
@pytest.mark.parametrize("kind", ["IndexIDMap", "IndexIDMap2"])
def test_indexes_of_ids(vectors, queries, metric, kind):
    ids = np.random.default_rng(4).choice(1 << 40, len(vectors), replace=False) - (1 << 39)
    indexes = []
    for module in (ours, theirs):
        index = getattr(module, kind)(module.IndexFlat(48, metric))
        index.add_with_ids(vectors[:700], ids[:700])
        index.add_with_ids(vectors[700:], ids[700:])
        indexes.append(index)
    index, wanted = indexes
    some = ids[:900:2]
    radius = float(np.median(wanted.search(queries, 50)[0]))
    for _ in range(2):
        same(index.search(queries, 6), wanted.search(queries, 6))
        same(index.range_search(queries, radius), wanted.range_search(queries, radius))
        params = [module.SearchParameters(sel=module.IDSelectorBatch(some)) for module in (ours, theirs)]
        same(index.search(queries, 6, params=params[0]), wanted.search(queries, 6, params=params[1]))
        params[0].sel = ours.IDSelectorTranslated(index, params[0].sel)
        same(index.search(queries, 6, params=params[0]), wanted.search(queries, 6, params=params[1]))
        np.testing.assert_array_equal(ours.vector_to_array(index.id_map), theirs.vector_to_array(wanted.id_map))
        assert index.id_map.at(3) == wanted.id_map.at(3) and index.id_map.size() == index.ntotal
        if kind == "IndexIDMap2":
            np.testing.assert_array_equal(index.reconstruct(int(ids[-1])), vectors[-1])
        assert index.remove_ids(ids[10:20]) == wanted.remove_ids(ids[10:20])


def test_the_last_of_equal_ids_is_reconstructed():
    index = ours.IndexIDMap2(ours.IndexFlatL2(2))
    index.add_with_ids(SQUARED, np.array([5, 5, 7, 8]))
    assert index.reconstruct(5).tolist() == [3, 4]
    index.add_with_ids(SQUARED[:1] + 9, np.array([7]))
    assert index.reconstruct(7).tolist() == [9, 9]
    assert index.remove_ids(np.array([5, 77])) == 2
    with pytest.raises(RuntimeError, match="key: 5 not found"):
        index.reconstruct(5)
    index.check_consistency()
    other = ours.IndexIDMap2(ours.IndexFlatL2(2))
    other.add_with_ids(SQUARED[:2], np.array([1, 2]))
    index.merge_from(other, 100)
    assert index.reconstruct(102).tolist() == [3, 4] and other.ntotal == 0


# Files

GOLDEN = (
    b"IxF2\x02\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x10\x00\x00\x00\x00\x00\x00\x00\x10\x00\x00\x00"
    b"\x00\x00\x01\x01\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80?\x00\x00\x00@"
)


def test_the_bytes_of_a_file(tmp_path):
    index = ours.IndexFlatL2(2)
    index.add(np.array([[1, 2]]))
    assert ours.serialize_index(index).tobytes() == GOLDEN
    path = tmp_path / "flat.index"
    for _ in range(2):  # the second replaces it
        ours.write_index(index, path)
        assert path.read_bytes() == GOLDEN
    assert [p.name for p in tmp_path.iterdir()] == ["flat.index"]
    found = ours.read_index(str(path))
    assert type(found) is ours.IndexFlatL2 and found.reconstruct(0).tolist() == [1, 2]
    found.add(np.array([[3, 4]]))
    assert found.ntotal == 2


@needs_faiss
@pytest.mark.parametrize("maps", ["", "IDMap,", "IDMap2,"])
def test_files_are_those_of_faiss(vectors, queries, metric, maps, tmp_path):
    made = []
    for module in (ours, theirs):
        index = module.index_factory(48, maps + "Flat", metric)
        index.add_with_ids(vectors, np.arange(1500) * 3) if maps else index.add(vectors)
        made.append(index)
    index, wanted = made
    np.testing.assert_array_equal(ours.serialize_index(index), theirs.serialize_index(wanted))
    ours.write_index(index, str(tmp_path / "ours"))
    theirs.write_index(wanted, str(tmp_path / "theirs"))
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()
    same(theirs.read_index(str(tmp_path / "ours")).search(queries, 4), wanted.search(queries, 4))
    found = ours.read_index(tmp_path / "theirs")
    assert type(found) is type(ours.deserialize_index(ours.serialize_index(index)))
    same(found.search(queries, 4), wanted.search(queries, 4))
    same(pickle.loads(pickle.dumps(index)).search(queries, 4), wanted.search(queries, 4))


def test_damaged_files(tmp_path):
    for end in range(len(GOLDEN)):
        with pytest.raises(RuntimeError, match="ends after"):
            ours.deserialize_index(np.frombuffer(GOLDEN[:end], np.uint8))
    for at, byte in ((8, 9), (37, 9), (34, 77), (3, 0x7F), (7, 0xFF)):  # ntotal, elements, metric, kind, d
        data = bytearray(GOLDEN)
        data[at] = byte
        with pytest.raises(RuntimeError):
            ours.deserialize_index(np.frombuffer(data, np.uint8))
    path = tmp_path / "flat.index"
    path.write_bytes(GOLDEN[:-1])
    with pytest.raises(RuntimeError, match=f"{path}: codes: ends after 7 of 8 bytes"):
        ours.read_index(path)
    with pytest.raises(RuntimeError, match="nowhere: could not open"):
        ours.read_index(str(tmp_path / "nowhere"))
    with pytest.raises(RuntimeError, match="could not open for writing"):
        ours.write_index(ours.IndexFlatL2(1), tmp_path / "none" / "flat.index")


# Arguments


@needs_faiss
@pytest.mark.parametrize(
    "call",
    [
        lambda f, i: i.search(np.ones((1, 3)), 1),
        lambda f, i: i.search(np.ones((1, 2)), 0),
        lambda f, i: i.search(np.ones((1, 2)), -3),
        lambda f, i: i.search(np.ones((1, 2)), 2.0),
        lambda f, i: i.search(np.ones(2), 1),
        lambda f, i: i.search([[1, 2]], 1),
        lambda f, i: i.search(np.ones((1, 2)), 1, params=3),
        lambda f, i: i.search(np.ones((1, 2)), 2, D=np.empty((1, 3), np.float32)),
        lambda f, i: i.range_search(np.ones((1, 2)), "far"),
        lambda f, i: i.range_search(np.ones((1, 3)), 1.0),
        lambda f, i: i.add(np.ones((1, 3))),
        lambda f, i: i.add([[1, 2]]),
        lambda f, i: i.train(np.ones((1, 3))),
        lambda f, i: i.add_with_ids(np.ones((1, 2)), np.array([3])),
        lambda f, i: i.remove_ids([1]),
        lambda f, i: i.remove_ids(np.ones((1, 1), np.int64)),
        lambda f, i: i.reconstruct(4),
        lambda f, i: i.reconstruct(0, np.empty(3, np.float32)),
        lambda f, i: i.reconstruct_n(3, 2),
        lambda f, i: f.IndexIDMap(i),
        lambda f, i: f.IndexIDMap(f.IndexFlatL2(2)).add(np.ones((1, 2))),
        lambda f, i: f.IndexIDMap(f.IndexFlatL2(2)).reconstruct(0),
        lambda f, i: f.IndexIDMap(f.IndexFlatL2(2)).add_with_ids(np.ones((1, 2)), np.arange(2)),
        lambda f, i: f.IndexFlat("2"),
        lambda f, i: f.IndexFlat(2.0),
        lambda f, i: f.IndexFlat(2, "ip"),
        lambda f, i: f.knn(np.ones((1, 2)), np.ones((1, 3)), 1),
        lambda f, i: f.pairwise_distances(np.ones((1, 2)), np.ones((1, 3))),
        lambda f, i: f.index_factory(2, "Flat,PQ"),
        lambda f, i: f.read_index("/nowhere/at/all"),
        lambda f, i: setattr(i, "nprobe", 3),
        lambda f, i: f.nothing_of_this_name,
    ],
)
def test_errors_are_of_the_types_that_faiss_has(call):
    for module in (theirs, ours):
        index = module.IndexFlatL2(2)
        index.add(SQUARED)
        if module is theirs:
            with pytest.raises(Exception) as wanted:
                call(module, index)
        else:
            with pytest.raises(wanted.type):
                call(module, index)


@needs_faiss
@pytest.mark.parametrize("change", [lambda x: x.astype(np.float64), np.asfortranarray, lambda x: x[::-2], np.round])
def test_arrays_of_any_order_and_type(vectors, queries, change):
    index, wanted = (filled(module, change(vectors), ours.METRIC_L2) for module in (ours, theirs))
    same(index.search(change(queries), 3), wanted.search(change(queries), 3))
    whole = [filled(module, (vectors * 10).astype(np.int64), ours.METRIC_L2) for module in (ours, theirs)]
    distances = [index.search((queries * 10).astype(np.int8), 3)[0] for index in whole]
    np.testing.assert_array_equal(*distances)


def test_what_is_written_to(vectors):
    index = filled(ours, vectors, ours.METRIC_L2)
    distances, labels = np.empty((2, 3), np.float32), np.empty((2, 3), np.int64)
    found = index.search(vectors[:2], 3, D=distances, I=labels)
    assert found[0] is distances and found[1] is labels
    np.testing.assert_array_equal(labels[:, 0], [0, 1])
    distances, labels = index.search(vectors[:2], 3)
    distances.sort()
    labels.sort()  # they are the caller's
    lims, distances, labels = index.range_search(vectors[:2], 10.0)
    labels[lims[0] : lims[1]].sort()


def test_what_was_added_is_not_the_caller_s():
    rows = SQUARED.copy()
    index = filled(ours, rows, ours.METRIC_L2)
    rows[:] = 7
    np.testing.assert_array_equal(index.reconstruct_n(), SQUARED)
    assert not index.get_xb().flags.writeable


@needs_faiss
def test_functions(vectors):
    x, y = vectors.copy(), vectors.copy()
    x[5] = y[5] = 0
    ours.normalize_L2(x)
    theirs.normalize_L2(y)
    np.testing.assert_allclose(x, y, rtol=1e-6)
    with pytest.raises(TypeError, match="float32"):
        ours.normalize_L2(vectors.astype(np.float64))
    for name in ("kmin", "kmax"):
        same(getattr(ours, name)(vectors, 4), getattr(theirs, name)(vectors, 4))
    for largest in (False, True):
        heaps = [module.ResultHeap(20, 5, keep_max=largest) for module in (ours, theirs)]
        for heap in heaps:
            for at in (0, 24):
                heap.add_result(vectors[:20, at : at + 24], np.tile(np.arange(at, at + 24), (20, 1)))
            heap.add_result_subset(np.array([3, 5]), vectors[30:32, :9], np.arange(100, 109))
            heap.finalize()
        same((heaps[0].D, heaps[0].I), (heaps[1].D, heaps[1].I))
        parts = [filled(theirs, part, int(not largest)).search(vectors[:9], 4) for part in np.split(vectors, 3)]
        scores, ids = (np.stack(part) for part in zip(*parts, strict=True))
        same(ours.merge_knn_results(scores, ids, largest), theirs.merge_knn_results(scores, ids, largest))
    first, second = np.random.default_rng(3).integers(0, 9, (2, 6, 5))
    unique = [np.array([np.random.default_rng(row.sum()).permutation(9)[:5] for row in t]) for t in (first, second)]
    assert ours.eval_intersection(*unique) == theirs.eval_intersection(*unique)


def test_threads():
    before = ours.omp_get_max_threads()
    try:
        ours.omp_set_num_threads(1)
        assert ours.omp_get_max_threads() == 1
        index = filled(ours, SQUARED, ours.METRIC_L2)
        assert index.search(SQUARED, 1)[1].reshape(-1).tolist() == [0, 1, 2, 3]
        with pytest.raises(ValueError, match="num_threads: 0"):
            ours.omp_set_num_threads(0)
    finally:
        ours.omp_set_num_threads(before)


@needs_faiss
def test_constants():
    for name in ours.__all__:
        assert hasattr(theirs, name), name
        if name.startswith(("METRIC_", "IO_FLAG_")):
            assert getattr(ours, name) == getattr(theirs, name)
