"""What can be read in two ways is refused, by every function that takes it: the table, walked."""

import numpy as np
import pytest

import thresher
from thresher._forms import FORMS

N, D, M = 12, 6, 4
RNG = np.random.default_rng(7)
X = RNG.standard_normal((N, D)).astype(np.float32)
Q = X[:M] + RNG.standard_normal((M, D)).astype(np.float32) / 8
MASK = np.arange(N) % 3 == 0
IDS = np.arange(N) * 7 + 2**60  # neighbours of each other as float64


def index(ids=None):
    return thresher.Index(X, ids, metric="ip")


def frames(columns, rows=X):
    pd = pytest.importorskip("pandas")
    return pd.DataFrame(rows[:, : len(columns)], columns=columns)


# The functions that take each argument, called with a value of it.
SEARCHES = {
    "search": lambda **given: index().search(Q, 3, **given),
    "range_search": lambda **given: index().range_search(Q, 1.0, **given),
    "verify": lambda **given: thresher.verify(np.zeros((M, 1), int), index(), Q, **given),
}
WITH_IDS = {"search by ids": lambda **given: index(IDS).search(Q, 3, **given)}
ANSWERS = {
    "recall": lambda answers: thresher.recall(answers, index(IDS), Q),
    "certify": lambda answers: thresher.certify(answers, index(IDS), Q),
    "verify": lambda answers: thresher.verify(answers, index(IDS), Q),
}
VECTORS = {
    "Index": lambda x: thresher.Index(x, metric="ip"),
    "knn": lambda x: thresher.knn(Q, x, 1, metric="ip"),
    "knn_graph": lambda x: thresher.knn_graph(x, 1, metric="ip"),
    "pairs": lambda x: thresher.pairs(x, 1.0, metric="ip"),
    "pairs, others": lambda x: thresher.pairs(X, 1.0, x, metric="ip"),
    "recall": lambda x: thresher.recall(np.zeros((M, 1), int), x, Q, metric="ip"),
    "certify": lambda x: thresher.certify(np.zeros((M, 1), int), x, Q, metric="ip"),
    "verify": lambda x: thresher.verify(np.zeros((M, 1), int), x, Q, metric="ip"),
    "add": lambda x: index().add(x),
}
QUERIES = {
    "search": lambda x, q: thresher.Index(x, metric="ip").search(q, 1),
    "range_search": lambda x, q: thresher.Index(x, metric="ip").range_search(q, 1.0),
    "knn": lambda x, q: thresher.knn(q, x, 1, metric="ip"),
    "knn, of an index": lambda x, q: thresher.knn(q, thresher.Index(x, metric="ip"), 1, metric="ip"),
    "pairs, others": lambda x, q: thresher.pairs(x, 1.0, q, metric="ip"),
    "recall": lambda x, q: thresher.recall(np.zeros((len(q), 1), int), x, q, metric="ip"),
    "certify": lambda x, q: thresher.certify(np.zeros((len(q), 1), int), x, q, metric="ip"),
    "verify": lambda x, q: thresher.verify(np.zeros((len(q), 1), int), x, q, metric="ip"),
}


def sparse(rows, zeros=0):
    scipy = pytest.importorskip("scipy.sparse")
    csr = scipy.csr_matrix((np.ones(M), (np.arange(M), np.arange(M))), shape=(M, N))
    csr.data[:zeros] = 0
    return csr


def masks():
    whole = np.tile(MASK, (M, 1)).astype(int)
    for call in (*SEARCHES.values(), *WITH_IDS.values()):
        for kind in (np.int64, np.uint8, int):
            yield lambda call=call, kind=kind: call(filter=MASK.astype(kind))
        yield lambda call=call: call(filter=MASK.astype(int).tolist())
        yield lambda call=call: call(exclude=whole)
        yield lambda call=call: call(exclude=whole.tolist())
        yield lambda call=call: call(exclude=[[]] * (M - 1) + [MASK.astype(int).tolist()])
    yield lambda: SEARCHES["search"](candidates=whole)
    yield lambda: index().remove(MASK.astype(int))
    implicit = pytest.importorskip("thresher.implicit")
    yield lambda: implicit.topk(X, Q, 2, filter_items=MASK.astype(int))


def pairs_of_arrays():
    two = (np.array([0, 2, 5]), np.array([1, 4, 2, 6, 7]))
    for name in ("exclude", "candidates"):
        yield lambda name=name: index().search(Q[:2], 3, **{name: two})
    yield lambda: thresher.verify(np.zeros((2, 1), int), index(), Q[:2], exclude=two)


def floats():
    for call in (*SEARCHES.values(), *WITH_IDS.values()):
        yield lambda call=call: call(filter=IDS.astype(float))
        yield lambda call=call: call(filter=[1.0, 2.0])
        yield lambda call=call: call(exclude=[[1.0]] * M)
        yield lambda call=call: call(exclude=np.ones((M, 2)))
    for call in ANSWERS.values():
        yield lambda call=call: call(np.tile(IDS[:2].astype(float), (M, 1)))
    yield lambda: thresher.Index(X, IDS.astype(float), metric="ip")
    yield lambda: thresher.Index(X, [*range(N - 1), 0.5], metric="ip")
    yield lambda: index(IDS).remove(IDS[:1].astype(float))
    yield lambda: index(IDS).add(X[:1], [1.0])


def filters():
    for call in SEARCHES.values():
        yield lambda call=call: call(filter=np.argwhere(MASK))
    implicit = pytest.importorskip("thresher.implicit")
    yield lambda: implicit.topk(X, Q, 2, filter_items=[[1, 2], [3, 4]])


def negatives():
    for call in (*SEARCHES.values(), *WITH_IDS.values()):
        yield lambda call=call: call(filter=[-1, 2])
        yield lambda call=call: call(exclude=[[-1]] * M)
        yield lambda call=call: call(exclude=np.full((M, 2), -2))
    for call in ANSWERS.values():
        yield lambda call=call: call(np.full((M, 2), -2))
    yield lambda: thresher.Index(X, np.arange(N) - 1, metric="ip")
    yield lambda: index(IDS).add(X[:1], [-5])
    yield lambda: index(IDS).remove([-5])


def truths():
    yield lambda: index().search(Q, True)
    yield lambda: index().search(Q, [True] * M)
    for name in ("delta", "epsilon", "min_score", "max_score", "deadline"):
        yield lambda name=name: index().search(Q, 1, **{name: True})
    yield lambda: index().search(Q, 1, min_score=np.ones(M, bool))
    yield lambda: index().range_search(Q, True)
    yield lambda: index().range_search(Q, 1.0, limit=True)
    yield lambda: thresher.pairs(X, True, metric="ip")
    yield lambda: thresher.pairs(X, 1.0, max_pairs=True, metric="ip")
    yield lambda: thresher.knn(Q, X, True, metric="ip")
    yield lambda: thresher.knn(Q, X, 1, metric=True)
    yield lambda: thresher.Index(X, metric="ip", seed=True)


def numbers():
    for call in (*SEARCHES.values(), *WITH_IDS.values()):
        yield lambda call=call: call(exclude_self=[0, 1, 2, 3])
        yield lambda call=call: call(exclude_self=1)
    for verb in (thresher.recall, thresher.certify):
        yield lambda verb=verb: verb(np.zeros((M, 1), int), X, Q, metric="ip", exclude_self=0)
    yield lambda: thresher.knn_graph(X, 1, metric="l2", distances=1)


def rows():
    for call in VECTORS.values():
        yield lambda call=call: call(X[0])
        yield lambda call=call: call(X[0].tolist())
    implicit = pytest.importorskip("thresher.implicit")
    yield lambda: implicit.topk(X[0], Q, 1)


def other_columns():
    for call in QUERIES.values():
        yield lambda call=call: call(frames(list("xyz")), frames(list("xyw")))
        yield lambda call=call: call(frames(["d0", "d1", "d2"]), frames(["e0", "e1", "e2"]))
    polars = pytest.importorskip("polars")
    yield lambda: QUERIES["knn"](frames(list("xyz")), polars.DataFrame(X[:, :3], schema=list("xyw")))


def columns_beside():
    for names in (
        ["movie_id", "d0", "d1"],
        ["d0", "d1", "label"],
        ["x", "y", "id"],
        ["Unnamed: 0", "x", "y"],
        ["x1", "x2", "y1", "y2"],
    ):
        for call in VECTORS.values():
            yield lambda call=call, names=names: call(frames(names))
        yield lambda names=names: QUERIES["knn"](X[:, : len(names)], frames(names))


def zeros():
    for call in (*SEARCHES.values(), *WITH_IDS.values()):
        yield lambda call=call: call(exclude=sparse(M, 2))
    yield lambda: SEARCHES["search"](candidates=sparse(M, 1))


AMBIGUOUS = {
    "mask of integers": masks,
    "pair of arrays": pairs_of_arrays,
    "stored zeros": zeros,
    "floats as ids": floats,
    "lists of a filter": filters,
    "negative ids": negatives,
    "truth as number": truths,
    "number as truth": numbers,
    "single row": rows,
    "columns of other names": other_columns,
    "columns beside the vector": columns_beside,
}


@pytest.mark.parametrize("name", FORMS)
def test_two_readings_are_refused(name):
    form = FORMS[name]
    calls = list(AMBIGUOUS[name]())
    assert calls
    for call in calls:
        with pytest.raises(form.kind) as refused:
            call()
        said = str(refused.value)
        for words in (*form.readings, form.decides):
            assert words in said, said
        assert said.partition(":")[0].replace("add", "").isidentifier(), said


def test_scikit_learn_refuses_too():
    neighbours = pytest.importorskip("thresher.sklearn").NearestNeighbors(n_neighbors=1)
    with pytest.raises(ValueError, match="1D array"):
        neighbours.fit(X[0])
    fitted = neighbours.fit(frames(list("xyz")))
    with pytest.raises(ValueError, match="feature names"):
        fitted.kneighbors(frames(list("zyx")))


def test_what_decides():
    """Each ambiguous value, written as its error says, is taken."""
    right = index().search(Q, 3, filter=np.flatnonzero(MASK)).ids
    for taken in (MASK, MASK.astype(int).astype(bool), np.flatnonzero(MASK), MASK.tolist()):
        np.testing.assert_array_equal(index().search(Q, 3, filter=taken).ids, right)
    lists = [np.flatnonzero(MASK)[:2], np.flatnonzero(MASK)[2:]]
    np.testing.assert_array_equal(index().search(Q, 3, filter=np.concatenate(lists)).ids, right)
    kept = index().search(Q, 3, filter=~MASK).ids
    for taken in (np.tile(MASK, (M, 1)), [MASK.tolist()] * M, [np.flatnonzero(MASK)] * M):
        np.testing.assert_array_equal(index().search(Q, 3, exclude=taken).ids, kept)
    np.testing.assert_array_equal(index(IDS).search(Q, 3, exclude=np.tile(MASK, (M, 1))).rows, kept)
    indptr, indices = np.array([0, 2, 5]), np.array([1, 4, 2, 6, 7])
    lists = index().search(Q[:2], 3, exclude=[indptr, indices]).ids
    np.testing.assert_array_equal(lists, index().search(Q[:2], 3, exclude=[[0, 2, 5], [1, 4, 2, 6, 7]]).ids)
    csr = sparse(M, 1)
    csr.eliminate_zeros()
    assert index().search(Q, 3, exclude=csr).ids.shape == (M, 3)


def test_columns_go_by_name():
    names = list("xyz")
    right = thresher.knn(Q[:, :3], X[:, :3], 2, metric="ip")[1]
    polars = pytest.importorskip("polars")
    turned = [frames(list("zyx"), Q[:, 2::-1]), polars.DataFrame(Q[:, 2::-1], schema=list("zyx"))]
    for queries in (frames(names, Q), *turned, Q[:, :3]):
        np.testing.assert_array_equal(thresher.knn(queries, frames(names), 2, metric="ip")[1], right)
        with thresher.Index(frames(names), metric="ip") as named:
            np.testing.assert_array_equal(named.search(queries, 2).ids, right)
    counted = polars.DataFrame(Q[:, :3])  # column_0 ..: nobody has named them
    np.testing.assert_array_equal(thresher.knn(counted, frames(names), 2, metric="ip")[1], right)


def test_wide_ids(tmp_path):
    """Ids from 2**63 on are uint64 in every form; -1 has no place among them, 2**64 - 1 stands for none."""
    ids = [2**63 + 3 * i for i in range(N)]
    order = thresher.knn(Q, X, N, metric="ip")[1]
    for given in (ids, np.array(ids, np.uint64), np.array(ids, object)):
        with index(given) as named:
            result = named.search(Q, N + 1)
            assert result.ids.dtype == np.uint64
            assert result.ids[:, :N].tolist() == [[ids[row] for row in rows] for rows in order]
            assert (result.counts == N).all() and (result.ids[:, N] == 2**64 - 1).all()
            np.testing.assert_array_equal(named.search(Q, 2, filter=ids[:2]).rows < 2, True)
            np.testing.assert_array_equal(named.search(Q, 1, exclude=result.ids[:, :1]).rows[:, 0], order[:, 1])
            assert thresher.recall(result.ids[:, :3], named, Q, metric="ip").recall == 1
            assert thresher.certify(result.ids[:, :3], named, Q, metric="ip").right == M
            assert thresher.verify(result.ids[:, :3], named, Q, metric="ip")
            named.save(tmp_path / "wide.thresher", overwrite=True)
        with thresher.Index.open(tmp_path / "wide.thresher") as opened:
            assert opened.ids.tolist() == ids
            with pytest.raises(ValueError, match="is no id"):
                opened.search(Q, 1, filter=[2**63 + 1])
    with index([1, *ids[1:]]) as mixed:
        assert mixed.ids.dtype == np.uint64 and mixed.ids[0] == 1
        mixed.remove([1])
        mixed.add(X[:1], [5])
        assert mixed.ids.tolist() == [*ids[1:], 5]
    with index(range(N)) as narrow:
        narrow.add(X[:1], [2**63])
        assert narrow.ids.dtype == np.uint64
    with index(np.arange(N, dtype=np.uint64)) as narrow:
        assert narrow.ids.dtype == np.int64
    with pytest.raises(ValueError, match="stands for no vector"):
        index([*ids[1:], 2**64 - 1])
    with pytest.raises(TypeError, match="values are object"):
        index([*ids[1:], 2**64])


def files_with(ids, folder):
    """Yield files of the vectors with a column key of these ids, in each format that has columns."""
    import json

    import pandas as pd

    names = [f"d{i}" for i in range(D)]
    pd.DataFrame({"key": ids, **{name: X[:, i] for i, name in enumerate(names)}}).to_csv(folder / "x.csv", index=False)
    lines = [json.dumps({"key": i.item(), "vector": row.tolist()}) + "\n" for i, row in zip(ids, X, strict=True)]
    (folder / "x.jsonl").write_text("".join(lines))
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"key": pa.array(ids), "vector": pa.array(X.tolist(), pa.list_(pa.float32()))})
    pytest.importorskip("pyarrow.parquet").write_table(table, folder / "x.parquet")
    with pa.ipc.new_file(folder / "x.arrow", table.schema) as out:
        out.write_table(table)
    np.savez(folder / "x.npz", vectors=X, key=ids)
    return [folder / f"x.{kind}" for kind in ("csv", "jsonl", "parquet", "arrow", "npz")]


def test_ids_of_files(tmp_path):
    pytest.importorskip("pandas")
    wide = np.array([2**63 + 3 * i for i in range(N)], np.uint64)
    for ids, dtype in ((wide, np.uint64), (IDS, np.int64)):
        for path in files_with(ids, tmp_path):
            with thresher.Index.open(
                path, ids="key", metric="ip", column="vectors" if path.suffix == ".npz" else None
            ) as index:
                assert index.ids.dtype == dtype and index.ids.tolist() == ids.tolist(), path
                assert index.search(Q, 1, filter=ids[:1]).rows[:, 0].tolist() == [0] * M
    for path in files_with(np.arange(N) - 3, tmp_path):
        with pytest.raises((ValueError, OSError), match="negative"):
            thresher.Index.open(path, ids="key", metric="ip", column="vectors" if path.suffix == ".npz" else None)
    for path in files_with(np.arange(N) / 4, tmp_path):
        with pytest.raises((ValueError, OSError), match=r"ids are integers|key|an integer, is wanted"):
            thresher.Index.open(path, ids="key", metric="ip", column="vectors" if path.suffix == ".npz" else None)
