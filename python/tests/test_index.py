import logging
import multiprocessing
import pickle
import threading

import numpy as np
import pytest

import thresher
from conftest import best
from thresher import _worker


@pytest.fixture
def index(vectors):
    with thresher.Index(vectors, metric="ip") as index:
        yield index


def test_describes_itself(index):
    assert len(index) == 1500 and index.dim == 48 and index.metric == "ip"
    assert "1500 x 48, ip" in repr(index)
    assert index.info["bytes"] > 0
    np.testing.assert_array_equal(index.ids, np.arange(1500))


def test_result(index, queries, vectors):
    result = index.search(queries, 5, method="exact")
    scores, ids = result
    assert scores is result.scores and ids is result.ids and len(result) == 30
    assert result.complete.all() and result.warnings == () and result.took > 0
    np.testing.assert_array_equal(result.counts, 5)
    c = result.certificates
    assert set(c["guarantee"]) == {"exact"} and set(c["stopped_by"]) == {"done"} and set(c["method"]) == {"exact"}
    one = result.certificate(3)
    assert one["guarantee"] == "exact" and one["pulls"] == c["pulls"][3] and type(one["pulls"]) is int
    assert "law" not in one and "open_bound" not in one and "candidates_given" not in one
    assert (c["pulls"] > 0).all() and (c["law"] == "").all() and c["exact"].all()
    text = result.summary()
    assert "30, 5 best each" in text and "exact: none wrong" in text


def test_certificates_of_probabilistic_answers():
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((20000, 256)).astype(np.float32) * np.arange(1, 257) ** -1.0
    index = thresher.Index(vectors, metric="ip")
    result = index.search(vectors[:20], 3, method="adaptive", delta=0.02)
    c = result.certificates
    some = c[c["guarantee"] == "probabilistic"]
    assert len(some) and (some["delta"] == 0.02).all() and set(some["law"]) <= {"haar", "calibrated"}
    assert "each wrong with probability at most 0.02" in result.summary()
    assert result.saving > 1
    read = 100 / result.saving
    assert read < 10 and f"\nread       {read:.2g}% of the data\n" in result.summary()
    assert thresher.verify(result, index, vectors[:20])
    reaching = index.range_search(vectors[:20], np.maximum(0.1, result.scores[:, 2]), method="adaptive", delta=0.02)
    assert "probabilistic" in reaching.certificates["guarantee"]
    assert "each vector that reaches the least score is missed with probability at most 0.02" in reaching.summary()


def test_ids_of_ones_own(vectors, queries):
    names = np.array([f"v{i}" for i in range(1500)])
    right, _ = best(queries, vectors, 4)
    with thresher.Index(vectors, ids=names, metric="ip") as index:
        result = index.search(queries, 4)
        assert result.ids.dtype.kind == "U"
        np.testing.assert_array_equal(result.rows, right)
        np.testing.assert_array_equal(result.ids, names[right])
        some = index.search(queries[:2], 3, filter=["v7", "v9"])
        assert set(some.ids[:, :2].ravel()) == {"v7", "v9"} and (some.ids[:, 2] == "").all()
        out = index.search(queries[:1], 4, exclude=[[names[right[0, 0]]]])
        np.testing.assert_array_equal(out.ids[0, :3], names[right[0, 1:]])
    with thresher.Index(vectors, ids=np.arange(1500) * 10, metric="ip") as index:
        np.testing.assert_array_equal(index.search(queries, 4).ids, right * 10)


def test_exclude(index, queries, vectors):
    sparse = pytest.importorskip("scipy.sparse")
    right, _ = best(queries, vectors, 8)
    table = right[:, :3]
    csr = sparse.csr_matrix((np.ones(90), (np.repeat(np.arange(30), 3), table.ravel())), shape=(30, 1500))
    pair = (np.arange(0, 91, 3), table.ravel())
    padded = np.pad(table, ((0, 0), (0, 2)), constant_values=-1)
    for given in (csr, sparse.csr_array(csr), csr.tocoo(), pair, table, padded, table.tolist()):
        np.testing.assert_array_equal(index.search(queries, 5, exclude=given, method="certain").ids, right[:, 3:])


def test_limits_of_scores(index, queries, vectors):
    right, scores = best(queries, vectors, 1500)
    ceiling = scores[:, 4] - 1e-6
    np.testing.assert_array_equal(index.search(queries, 3, max_score=ceiling, method="certain").ids, right[:, 5:8])
    floor = scores[:, 2] - 1e-6
    found = index.search(queries, 5, min_score=floor, method="certain")
    np.testing.assert_array_equal(found.counts, 3)
    np.testing.assert_array_equal(found.ids[:, :3], right[:, :3])
    assert (index.search(queries, 3, max_score=np.full(30, np.nan), method="certain").ids == right[:, :3]).all()
    assert (index.search(queries, 2, min_score=1e9).ids == -1).all()


def test_limits_of_distances(queries, vectors):
    right, squares = best(queries, vectors, 1500, "l2")
    with thresher.Index(vectors, metric="l2") as index:
        found = index.search(queries, 5, max_distance=squares[:, 2] + 1e-3, method="certain")
        np.testing.assert_array_equal(found.ids[:, :3], right[:, :3])
        assert (found.counts == 3).all()
        farther = index.search(queries, 3, min_distance=squares[:, 1] + 1e-3, method="certain")
        np.testing.assert_array_equal(farther.ids, right[:, 2:5])


def test_candidates_change_nothing(index, queries, vectors):
    right, _ = best(queries, vectors, 5)
    for candidates in (right, right[:, ::-1], np.full((30, 3), 7), [[1, 2]] * 30):
        result = index.search(queries, 5, candidates=candidates, method="certain")
        np.testing.assert_array_equal(result.ids, right)
    assert (index.search(queries, 5, candidates=right).certificates["candidates_right"] == 5).all()


def test_filter(index, queries, vectors):
    allowed = np.arange(1500) % 3 == 1
    right = np.flatnonzero(allowed)[best(queries, vectors[allowed], 5)[0]]
    for given in (allowed, np.flatnonzero(allowed), np.flatnonzero(allowed).tolist()):
        np.testing.assert_array_equal(index.search(queries, 5, filter=given, method="certain").ids, right)


def test_k_of_each_query(index, queries, vectors):
    k = np.arange(30) % 4 + 1
    result = index.search(queries, k, method="certain")
    assert result.ids.shape == (30, 4)
    np.testing.assert_array_equal(result.counts, k)
    right, _ = best(queries, vectors, 4)
    for j in range(30):
        np.testing.assert_array_equal(result.ids[j, : k[j]], right[j, : k[j]])


def test_exclude_self(index, vectors):
    ids = index.search(vectors[:100], 3, exclude_self=True).ids
    assert (ids != np.arange(100)[:, None]).all()


@pytest.mark.parametrize("metric", ["ip", "cosine", "l2"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_exclude_self_is_of_the_rows(vectors, metric, dtype, tmp_path):
    rows = vectors[:60].astype(dtype) + (1000 + np.pi if dtype == "f8" else 0)
    other = rows[:5].copy()
    other[3, -1] += 1
    refused = pytest.raises(ValueError, match=r"^exclude_self: row 3: query 3 is not row 3 of the vectors; exclude ")
    np.save(tmp_path / "rows.npy", rows)
    opened = thresher.Index.open(tmp_path / "rows.npy", metric=metric)
    with thresher.Index(rows, metric=metric) as built, opened:
        for index in (built, opened):
            found = index.search(rows[:5], 3, exclude_self=True)
            assert (found.ids != np.arange(5)[:, None]).all()
            assert thresher.verify(found, index, rows[:5], exclude_self=True)
            with refused:
                index.search(other, 3, exclude_self=True)
            with refused:
                index.range_search(other, 3, exclude_self=True)
            for call in (thresher.recall, thresher.certify, thresher.verify):
                with refused:
                    call(found.ids, index, other, exclude_self=True)


@pytest.mark.parametrize("metric", ["ip", "cosine", "l2"])
def test_range_search(queries, vectors, metric):
    right, scores = best(queries, vectors, 1500, metric)
    threshold = float(np.median(scores[:, 10]))
    reach = scores <= threshold if metric == "l2" else scores >= threshold
    with thresher.Index(vectors, metric=metric) as index:
        result = index.range_search(queries, threshold, method="certain")
        lims, values, ids = result
        assert len(result) == 30 and "30, " in result.summary()
        np.testing.assert_array_equal(np.diff(lims), reach.sum(axis=1))
        np.testing.assert_array_equal(ids, right[reach])
        np.testing.assert_allclose(values, scores[reach], rtol=1e-4, atol=1e-4)
        few = index.range_search(queries, threshold, limit=2, method="certain")
        assert (np.diff(few.lims) == np.minimum(reach.sum(axis=1), 2)).all()
        assert (few.limited == (reach.sum(axis=1) > 2)).any()
        none = index.range_search(np.empty((0, 48)), threshold)
        assert none.lims.tolist() == [0] and len(none.ids) == 0


def test_range_search_as_faiss(queries, vectors):
    faiss = pytest.importorskip("faiss")
    theirs = faiss.IndexFlatL2(48)
    theirs.add(vectors)
    lims, _, ids = theirs.range_search(queries, 20.0)
    with thresher.Index(vectors, metric="l2") as index:
        ours = index.range_search(queries, 20.0, method="exact")
    np.testing.assert_array_equal(ours.lims, lims.astype(np.int64))
    for j in range(30):
        part = slice(int(lims[j]), int(lims[j + 1]))
        assert set(ours.ids[part]) == set(ids[part])


def test_add_and_remove(vectors, queries):
    index = thresher.Index(vectors[:1000], metric="ip")
    index.add(vectors[1000:])
    assert len(index) == 1500
    np.testing.assert_array_equal(index.search(queries, 5, method="certain").ids, best(queries, vectors, 5)[0])
    gone = np.arange(0, 1500, 2)
    index.remove(gone)
    kept = np.delete(vectors, gone, axis=0)
    np.testing.assert_array_equal(index.search(queries, 5, method="certain").ids, best(queries, kept, 5)[0])
    index.add(np.empty((0, 48)))
    index.remove([])
    assert len(index) == 750
    with pytest.raises(ValueError, match="ids: row 750; the vectors are 0 to 749"):
        index.remove([750])
    with pytest.raises(ValueError, match="ids: all 750 vectors"):
        index.remove(np.arange(750))
    with pytest.raises(ValueError, match="vectors: row 1"):
        index.add(np.array([np.zeros(48), np.full(48, np.nan)]))
    assert len(index) == 750  # as before
    with pytest.raises(ValueError, match="ids: the vectors of the index have none"):
        index.add(vectors[:1], ids=[3])


def test_added_ids_are_of_the_kind_of_the_others(vectors):
    for ids, others in (([5, 6], ["x"]), (["x", "y"], [5])):
        with thresher.Index(vectors[:2], ids=ids, metric="ip") as index:
            with pytest.raises(TypeError, match="ids: values are"):
                index.add(vectors[:1], ids=others)
            assert index.ids.tolist() == ids


def test_nothing_to_open(tmp_path):
    for name in ("a.thresher", "a.npy"):
        with pytest.raises(FileNotFoundError, match=name):
            thresher.Index.open(tmp_path / name)


def test_add_and_remove_with_ids(vectors, queries):
    index = thresher.Index(vectors[:1000], ids=np.arange(1000) + 5000, metric="ip")
    index.add(vectors[1000:], ids=np.arange(1000, 1500) + 5000)
    index.remove([5000, 6400])
    kept = np.delete(np.arange(1500), [0, 1400])
    right = kept[best(queries, vectors[kept], 5)[0]] + 5000
    np.testing.assert_array_equal(index.search(queries, 5, method="certain").ids, right)
    with pytest.raises(ValueError, match="ids: the index has ids"):
        index.add(vectors[:1])
    with pytest.raises(ValueError, match="ids: 5001 is there twice"):
        index.add(vectors[:1], ids=[5001])
    with pytest.raises(ValueError, match="ids: 5000 is no id of the index"):
        index.remove([5000])


@pytest.mark.parametrize("ids", [None, [f"n{i}" for i in range(1500)]])
def test_save_and_open(tmp_path, vectors, queries, ids):
    path = tmp_path / "x.thresher"
    with thresher.Index(vectors, ids=ids, metric="cosine") as index:
        want = index.search(queries, 5)
        index.save(path)
        with pytest.raises(FileExistsError, match=r"path: .*overwrite=True"):
            index.save(path)
        index.save(path, overwrite=True)
        with pytest.raises(ValueError, match=r"path: .* does not end in .thresher"):
            index.save(tmp_path / "x.npy")
    with thresher.Index.open(path) as again:
        assert again.metric == "cosine" and len(again) == 1500
        got = again.search(queries, 5)
        np.testing.assert_array_equal(got.ids, want.ids)
        np.testing.assert_array_equal(got.scores, want.scores)
        again.add(vectors[:3], ids=None if ids is None else ["a", "b", "c"])
        assert len(again) == 1503
        again.remove(again.ids[-3:])
        np.testing.assert_array_equal(again.search(queries, 5).ids, want.ids)


def test_ids_of_another_index_are_refused(tmp_path, vectors):
    for name, count in (("a", 100), ("b", 100)):
        with thresher.Index(vectors[: count + (name == "b")][-count:], ids=np.arange(count), metric="ip") as index:
            index.save(tmp_path / f"{name}.thresher")
    (tmp_path / "a.thresher.ids.npz").replace(tmp_path / "b.thresher.ids.npz")
    with pytest.raises(ValueError, match=r"path: .*b.thresher.ids.npz has the ids of another index"):
        thresher.Index.open(tmp_path / "b.thresher")
    assert len(thresher.Index.open(tmp_path / "a.thresher")) == 100  # without ids


def test_threads_after_a_worker_died(vectors, queries):
    with thresher.Index(vectors, metric="ip") as index:
        right = index.search(queries, 3, method="certain").ids
        _worker.get().close()
        answers = []
        threads = [
            threading.Thread(target=lambda: answers.append(index.search(queries, 3, method="certain").ids))
            for _ in range(4)
        ]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert len(answers) == 4 and all(np.array_equal(a, right) for a in answers)


def test_open_vectors(tmp_path, vectors, queries):
    path = tmp_path / "x.npy"
    np.save(path, vectors)
    with thresher.Index.open(path, metric="l2") as index:
        np.testing.assert_array_equal(
            index.search(queries, 5, method="certain").ids, best(queries, vectors, 5, "l2")[0]
        )
    with pytest.raises(OSError, match="nothing"):
        thresher.Index.open(tmp_path / "nothing.npy")


@pytest.mark.parametrize("dtype", ["float16", "int8", "uint8"])
def test_open_keeps_the_type(tmp_path, dtype):
    whole = np.random.default_rng(5).integers(0, 100, (400, 40))
    np.save(tmp_path / "typed.npy", whole.astype(dtype))
    np.save(tmp_path / "float32.npy", whole.astype(np.float32))
    queries = whole[:30].astype(np.float32) + np.float32(0.25)
    with (
        thresher.Index.open(tmp_path / "typed.npy", metric="l2") as typed,
        thresher.Index.open(tmp_path / "float32.npy", metric="l2") as wide,
    ):
        assert (typed.dtype, wide.dtype) == (dtype, "float32")
        for method in ("exact", "certain"):
            got, want = typed.search(queries, 4, method=method), wide.search(queries, 4, method=method)
            np.testing.assert_array_equal(got.ids, want.ids)
            np.testing.assert_array_equal(got.scores64, want.scores64)
        typed.save(tmp_path / "typed.thresher")
        with thresher.Index.open(tmp_path / "typed.thresher") as again:
            assert again.dtype == dtype
        if dtype != "float16":
            with pytest.raises(ValueError, match=rf"vectors: row 0, column 0 is \d+.25, which {dtype}"):
                typed.add(queries[:2])
        typed.add(whole[:2] + 20.0)
        assert typed.dtype == dtype and len(typed) == 402
        np.testing.assert_array_equal(typed.search(whole[:2] + 20.0, 1).ids[:, 0], [400, 401])


def kinds():
    """Return the types in which vectors are kept, and bfloat16 as ml_dtypes has it."""
    return ["float16", "int8", "uint8", pytest.param("bfloat16", id="bfloat16")]


def as_kind(rows, kind):
    return rows.astype(pytest.importorskip("ml_dtypes").bfloat16 if kind == "bfloat16" else kind)


@pytest.mark.parametrize("kind", kinds())
def test_arrays_keep_their_type(kind):
    """Through changes, pickles and strides; answers are those of float32."""
    whole = np.random.default_rng(6).integers(0, 100, (400, 40))
    queries = whole[:30].astype(np.float32) + np.float32(0.25)
    rows = as_kind(whole, kind)
    with thresher.Index(whole.astype(np.float32), metric="l2") as wide:
        want = wide.search(queries, 4, method="certain")
        for given in (rows, np.repeat(rows, 2, axis=0)[::2], np.asfortranarray(rows)):
            with thresher.Index(given, metric="l2") as index:
                assert (index.dtype, index.info["dtype"]) == (kind, kind)
                got = index.search(queries, 4, method="certain")
                np.testing.assert_array_equal(got.ids, want.ids)
                np.testing.assert_array_equal(got.scores64, want.scores64)
                assert index.info["bytes"] < wide.info["bytes"]
        np.testing.assert_array_equal(thresher.knn(queries, rows, 4, "l2", "exact")[1], want.ids)
        np.testing.assert_array_equal(thresher.knn(rows[:9], rows, 1, "l2", "exact")[1][:, 0], np.arange(9))
    with thresher.Index(rows[:0], metric="l2") as index:
        index.add(rows[:300])
        index.add(whole[300:].astype(float))
        index.remove([0, 1])
        assert (index.dtype, len(index)) == (kind, 398)
        again = pickle.loads(pickle.dumps(index))
        assert again.dtype == kind
        for x in (index, again):
            np.testing.assert_array_equal(x.search(whole[2:9], 1).ids[:, 0], np.arange(7))
        with pytest.raises(ValueError, match=f"vectors: row 1, column 3 is .*, which {kind}, the type"):
            index.add(whole[:2] + np.eye(1, 80, 43).reshape(2, 40) / 3)
        assert len(index) == 398
    if kind in ("float16", "bfloat16"):
        broken = rows.copy()
        broken[5, 7] = np.nan
        with pytest.raises(ValueError, match="row 5"):
            thresher.Index(broken, metric="l2")


def test_torch_keeps_bfloat16(vectors, queries):
    torch = pytest.importorskip("torch")
    half = torch.from_numpy(vectors).bfloat16()
    with thresher.Index(half, metric="ip") as index:
        assert index.dtype == "bfloat16"
        np.testing.assert_array_equal(
            index.search(queries, 5, method="certain").ids, best(queries, half.float().numpy(), 5)[0]
        )


def test_open_several_files(tmp_path, monkeypatch, vectors, queries):
    folder = tmp_path / "many"
    folder.mkdir()
    names = [folder / name for name in ("p-1.npy", "p-2.npy", "p-10.npy")]
    for path, part in zip(names, np.split(vectors, [400, 900]), strict=True):
        np.save(path, part)
    right = best(queries, vectors, 5)[0]
    listed = ",".join(map(str, names))
    for path in (folder, str(folder / "p-*.npy"), names, listed):
        with thresher.Index.open(path, metric="ip") as index:
            assert len(index) == 1500
            np.testing.assert_array_equal(index.search(queries, 5, method="certain").ids, right)
            _worker.get().close()  # it is opened again
            np.testing.assert_array_equal(index.search(queries, 5, method="certain").ids, right)
    np.save(folder / "p-11.npy", vectors[:3].astype(np.float64))
    with pytest.raises(OSError, match=r"path: .*p-11.npy: holds float64, .*p-1.npy holds float32"):
        thresher.Index.open(folder, metric="ip")
    with pytest.raises(FileNotFoundError, match=r"p-3.npy"):
        thresher.Index.open([names[0], folder / "p-3.npy"], metric="ip")
    with pytest.raises(ValueError, match="path: an empty list"):
        thresher.Index.open([], metric="ip")
    monkeypatch.chdir(folder)
    for empty in ("", [""]):
        with pytest.raises(ValueError, match="path: an empty path"):
            thresher.Index.open(empty, metric="ip")
    (tmp_path / "a,b.npy").write_bytes(names[0].read_bytes())
    assert len(thresher.Index.open(tmp_path / "a,b.npy", metric="ip")) == 400
    with pytest.raises(ValueError, match=r"a,b.npy has a comma"):
        thresher.Index.open([names[0], tmp_path / "a,b.npy"], metric="ip")


def test_memory_mapped(tmp_path, vectors, queries):
    path = tmp_path / "x.npy"
    vectors = np.concatenate([vectors, np.zeros((8000, 48), np.float32)])  # small files are copied
    np.save(path, vectors)
    mapped = np.load(path, mmap_mode="r")
    with thresher.Index(mapped, metric="ip") as index:
        assert index._rows is mapped  # no copy
        np.testing.assert_array_equal(index.search(queries, 5, method="certain").ids, best(queries, vectors, 5)[0])


def test_shared_memory_is_not_copied(vectors, queries):
    mine = thresher.empty(vectors.shape, np.float32)
    mine[:] = vectors
    with thresher.Index(mine, metric="ip") as index:
        assert np.shares_memory(index._rows, mine)
        np.testing.assert_array_equal(index.search(queries, 5, method="certain").ids, best(queries, vectors, 5)[0])


def test_what_was_given_may_change(vectors, queries):
    given = vectors.copy()
    with thresher.Index(given, metric="ip") as index:
        given[:] = 0
        np.testing.assert_array_equal(index.search(queries, 5, method="certain").ids, best(queries, vectors, 5)[0])


def test_closed(vectors, queries):
    index = thresher.Index(vectors, metric="ip")
    index.close()
    index.close()
    assert "closed" in repr(index)
    with pytest.raises(ValueError, match="index: closed"):
        index.search(queries)


def test_pickled(vectors, queries):
    with thresher.Index(vectors, ids=np.arange(1500) + 7, metric="l2") as index:
        again = pickle.loads(pickle.dumps(index))
        np.testing.assert_array_equal(again.search(queries, 5).ids, index.search(queries, 5).ids)


def _in_child(index, queries, results):
    results.put(index.search(queries, 5, method="certain").ids)


@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_other_processes(vectors, queries, way):
    if way not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {way} here")
    context = multiprocessing.get_context(way)
    with thresher.Index(vectors, metric="ip") as index:
        right = index.search(queries, 5, method="certain").ids
        results = context.Queue()
        child = context.Process(target=_in_child, args=(index, queries, results))
        child.start()
        np.testing.assert_array_equal(results.get(timeout=600), right)
        child.join(600)
        assert child.exitcode == 0
        np.testing.assert_array_equal(index.search(queries, 5, method="certain").ids, right)


def test_progress(vectors, queries):
    steps = []
    with thresher.Index(vectors, progress=lambda *step: steps.append(step), metric="ip") as index:
        index.search(queries, 5, progress=lambda *step: steps.append(step))
        index.search(queries, 5, progress=True)
    assert all(isinstance(name, str) and 0 <= done <= total for name, done, total in steps)


def test_logging(vectors, caplog):
    with caplog.at_level(logging.DEBUG, logger="thresher"):
        thresher.Index(vectors, metric="ip").close()
    assert any("built" in r.getMessage() for r in caplog.records)
