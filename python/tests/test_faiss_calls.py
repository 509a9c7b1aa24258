"""thresher.faiss beside FAISS itself, where that is installed: ids, files, arguments and functions."""

from __future__ import annotations

import gc
import os
import pickle
import struct
import warnings

import numpy as np
import pytest

import thresher.faiss as ours
from flat import SQUARED, filled, needs_faiss, same, theirs

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
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        ours.read_index(path)
        gc.collect()
    assert not [one for one in said if str(path) in str(one.message)]  # a file that is left open


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


def test_a_file_stays_if_another_cannot_be_written(tmp_path, monkeypatch):
    path = tmp_path / "flat.index"
    path.write_bytes(GOLDEN)
    monkeypatch.setattr(ours.FileIOWriter, "close", lambda self: os.remove(tmp_path / "nothing"))
    with pytest.raises(FileNotFoundError):
        ours.write_index(ours.IndexFlatL2(3), path)
    assert path.read_bytes() == GOLDEN and [p.name for p in tmp_path.iterdir()] == ["flat.index"]
    data = bytearray(GOLDEN)
    data[8 + 6] = data[37 + 6] = 1  # 2**48 vectors, and twice as many numbers
    data[37 + 6] = 2
    with pytest.raises(MemoryError, match="codes: 281474976710657 vectors of 2 values"):
        ours.deserialize_index(np.frombuffer(data, np.uint8))


def test_damaged_files(tmp_path):
    for end in range(len(GOLDEN)):
        with pytest.raises(RuntimeError, match="ends after"):
            ours.deserialize_index(np.frombuffer(GOLDEN[:end], np.uint8))
    for at, byte in ((8, 9), (37, 9), (34, 77), (3, 0x7F), (7, 0xFF)):  # ntotal, elements, metric, kind, d
        data = bytearray(GOLDEN)
        data[at] = byte
        with pytest.raises(RuntimeError):
            ours.deserialize_index(np.frombuffer(data, np.uint8))
    data = bytearray(GOLDEN)
    data[4:16] = struct.pack("<iq", 2**31 - 1, 2**33)  # more bytes than a file can have
    data[37:45] = struct.pack("<Q", (2**31 - 1) << 33)
    with pytest.raises(MemoryError, match=f"codes: {2**33} vectors of {2**31 - 1} values"):
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


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda f, i: i.search(SQUARED[0], 1), ValueError, r"x: shape \(\d+,\), expected .*; of one vector x"),
        (lambda f, i: i.add(SQUARED[None]), ValueError, r"x: shape \(1, .*\), expected \(n, d\)$"),
        (lambda f, i: i.add([[1.0]]), AttributeError, r"x: list, expected an array \(n, d\)"),
        (lambda f, i: i.range_search("abc", 1.0), AttributeError, r"x: str, expected an array"),
        (lambda f, i: i.reconstruct_batch([[0]]), ValueError, r"key: shape \(1, 1\), expected \(n,\)"),
        (lambda f, i: f.knn(SQUARED[0], SQUARED, 1), ValueError, r"xq: shape \(\d+,\), expected \(n, d\)"),
        (lambda f, i: f.pairwise_distances(SQUARED, SQUARED[0]), ValueError, r"xb: shape \(\d+,\), expected \(n, d\)"),
        (lambda f, i: f.kmin(SQUARED[0], 1), ValueError, r"array: shape \(\d+,\), expected \(n, d\)"),
    ],
)
def test_shapes(call, error, says):
    """What is wrong is named, by errors of the types that FAISS's wrapper raises."""
    with pytest.raises(error, match=says):
        call(ours, filled(ours, SQUARED, ours.METRIC_L2))
    if theirs is not None:
        with pytest.raises(error):
            call(theirs, filled(theirs, SQUARED, theirs.METRIC_L2))


def test_other_indexes():
    with pytest.raises(AttributeError, match=r"and no IndexIVFFlat; IndexFlatL2 and IndexFlatIP answer exactly"):
        _ = ours.IndexIVFFlat
    with pytest.raises(AttributeError, match=r"and no Kmeans$"):
        _ = ours.Kmeans


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
