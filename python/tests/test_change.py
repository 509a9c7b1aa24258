"""Vectors are written and removed by their ids, without a new build."""

import os
import pickle

import numpy as np
import pytest

import thresher
from thresher import _worker

D = 24


@pytest.fixture
def rng():
    return np.random.default_rng(5)


class Model:
    """What an index should hold: ids in the order of their rows, with their vectors."""

    def __init__(self, ids, vectors):
        self.rows = dict(zip(ids, vectors, strict=True))

    def upsert(self, ids, vectors):
        replaced = sum(i in self.rows for i in ids)
        self.rows.update(zip(ids, vectors, strict=True))
        return replaced

    def remove(self, ids):
        for i in ids:
            del self.rows[i]

    def vectors(self):
        return np.array(list(self.rows.values()))


def check(index, model, queries, metric):
    """Compare an index with one that is built of what it should hold."""
    ids = list(model.rows)
    assert len(index) == len(ids) and index.ids.tolist() == ids
    with thresher.Index(model.vectors(), ids=ids, metric=metric) as fresh:
        for method in ("exact", "certain"):
            got, want = index.search(queries, 7, method=method), fresh.search(queries, 7, method=method)
            assert got.ids.tolist() == want.ids.tolist()
            assert got.rows.tolist() == want.rows.tolist()
            np.testing.assert_allclose(got.scores64, want.scores64, rtol=1e-6, atol=1e-6)
        chosen = ids[1:9:2]
        asked = {"filter": chosen, "exclude": [[chosen[0]]] * len(queries)}
        assert index.search(queries, 3, **asked).ids.tolist() == fresh.search(queries, 3, **asked).ids.tolist()
        mask = np.zeros(len(ids), bool)
        mask[::2] = True
        assert index.search(queries, 3, filter=mask).ids.tolist() == fresh.search(queries, 3, filter=mask).ids.tolist()
        found = index.search(queries, 5, method="exact")
        assert thresher.recall(found, index, queries).recall == 1
        assert thresher.verify(found, index, queries)
        assert (thresher.knn_graph(index, 2) != thresher.knn_graph(fresh, 2)).nnz == 0


@pytest.mark.filterwarnings("ignore::thresher.MetricWarning")
@pytest.mark.parametrize("metric", ["ip", "cosine", "l2"])
@pytest.mark.parametrize("texts", [False, True])
def test_changes(rng, metric, texts, tmp_path):
    def name(i):
        return f"v{i}" if texts else int(i)

    wide = metric == "l2"

    def draw(n):
        return rng.standard_normal((n, D)) / 3 + 1e6 if wide else rng.standard_normal((n, D)).astype(np.float32)

    ids, first, queries = [name(i) for i in rng.permutation(80)], draw(80), draw(4)
    model = Model(ids, first)
    with thresher.Index(first, ids=ids, metric=metric) as index:
        for _ in range(4):
            new = [name(i) for i in rng.choice(110, 12, replace=False)]
            vectors = draw(12)
            assert index.upsert(new, vectors) == model.upsert(new, vectors)
            gone = [i for i in (name(j) for j in rng.choice(110, 6, replace=False)) if i in model.rows]
            index.remove(gone)
            model.remove(gone)
            check(index, model, queries, metric)
        again = pickle.loads(pickle.dumps(index))
        check(again, model, queries, metric)
        again.close()
        index.save(tmp_path / "x.thresher")
        vectors = draw(2)
        index.add(vectors, ids=[name(500), name(501)])
        model.upsert([name(500), name(501)], vectors)
        check(index, model, queries, metric)
    with thresher.Index.open(tmp_path / "x.thresher") as opened:
        assert len(opened) == len(model.rows) - 2
        opened.upsert([name(500), name(501)], vectors)
        check(opened, model, queries, metric)
        for _ in range(2):  # a worker that dies is replaced, and knows the changes
            os.kill(_worker.get().process, 9)
            check(opened, model, queries, metric)


def test_row_numbers(rng):
    vectors, more = rng.standard_normal((10, D)), rng.standard_normal((3, D))
    with thresher.Index(vectors, metric="ip") as index:
        assert index.upsert([11, 4, 10], more) == 1
        assert index.ids.tolist() == list(range(12))
        assert index.search(more, 1, method="exact").ids[:, 0].tolist() != [0, 0, 0]
        now = np.concatenate([vectors, more[[2, 0]]])
        now[4] = more[1]
        index.remove([0, 11])
        with thresher.Index(now[1:11], metric="ip") as fresh:
            got, want = index.search(more, 5, method="exact"), fresh.search(more, 5, method="exact")
            assert got.ids.tolist() == want.ids.tolist()
        with pytest.raises(ValueError, match="ids: row 1: 12; the vectors have no ids but their row numbers, 0 to 9"):
            index.upsert([10, 12], more[:2])
        assert len(index) == 10


def test_no_vectors_yet(rng):
    with thresher.Index(np.empty((0, D)), ids=[], metric="ip") as index:
        assert index.upsert([7, 3], rng.standard_normal((2, D))) == 0
        assert index.ids.tolist() == [7, 3]
        assert index.upsert([], np.empty((0, D))) == 0


def test_refused(rng):
    vectors = rng.standard_normal((3, D))
    broken = vectors.copy()
    broken[1, 2] = np.nan
    with thresher.Index(vectors, ids=["a", "b", "c"], metric="ip") as index:
        for error, text, call in (
            (
                ValueError,
                "vectors: row 1, id 'y': a value that is not finite",
                lambda: index.upsert(list("xyz"), broken),
            ),
            (ValueError, "ids: 'x' is there twice", lambda: index.upsert(list("xyx"), vectors)),
            (ValueError, r"ids: shape \(2,\), expected \(3,\)", lambda: index.upsert(list("xy"), vectors)),
            (TypeError, "ids: values are int64, those of the index <U1", lambda: index.upsert([1, 2, 3], vectors)),
            (TypeError, "ids: None", lambda: index.upsert(None, vectors)),
            (ValueError, f"vectors: .*{D}", lambda: index.upsert(list("xyz"), vectors[:, 1:])),
            (ValueError, "ids: 'x' is no id of the index", lambda: index.remove(["a", "x"])),
            (ValueError, "ids: all 3 vectors", lambda: index.remove(list("abc"))),
        ):
            with pytest.raises(error, match=text):
                call()
        assert index.ids.tolist() == ["a", "b", "c"]
        np.testing.assert_array_equal(index.search(vectors, 1, method="exact").rows.shape, (3, 1))
    with pytest.raises(ValueError, match="index: closed"):
        index.upsert(["a"], vectors[:1])


def test_many_writes_are_merged(rng):
    vectors = rng.standard_normal((400, D)).astype(np.float32)
    with thresher.Index(vectors[:100], metric="ip") as index:
        for lo in range(100, 400, 3):
            index.upsert(np.arange(lo, lo + 3), vectors[lo : lo + 3])
        with thresher.Index(vectors, metric="ip") as fresh:
            queries = rng.standard_normal((20, D))
            assert index.search(queries, 9, method="certain").ids.tolist() == fresh.search(queries, 9).ids.tolist()
