"""Every wrong argument is an error that names it; every conversion is the documented one."""

import pickle
import re
from datetime import timedelta

import numpy as np
import pytest

import thresher
from conftest import best

X = np.arange(12, dtype=np.float32).reshape(4, 3)


def broken(value, row=1, column=2):
    x = X.astype(np.float64)
    x[row, column] = value
    return x


class Refusing:
    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("it refuses")


class Elsewhere:
    """An array of another device."""

    def __dlpack__(self, **_):
        raise AssertionError("asked for its memory")

    def __dlpack_device__(self):
        return 2, 0


def named():
    return thresher.Index(X, ids=list("abcd"), metric="ip")


def closed():
    index = thresher.Index(X, metric="ip")
    index.close()
    return index


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (ValueError, "vectors: .*row 1.*(NaN|nan)", lambda: thresher.knn(X, broken(np.nan), 1, metric="ip")),
        (ValueError, "queries: .*row 1.*(NaN|nan)", lambda: thresher.knn(broken(np.nan), X, 1, metric="ip")),
        (ValueError, "queries: .*row 2.*[Ii]nf", lambda: thresher.knn(broken(np.inf, row=2), X, 1, metric="ip")),
        (
            ValueError,
            "vectors: row 1, column 2 is 1e\\+300, beyond",
            lambda: thresher.knn(X, broken(1e300), 1, metric="ip"),
        ),
        (
            ValueError,
            "queries: rows of 2 values, the vectors have 3",
            lambda: thresher.knn(X[:, :2], X, 1, metric="ip"),
        ),
        (ValueError, "vectors: 1 dimensions", lambda: thresher.knn(X, X[0], 1, metric="ip")),
        (ValueError, "queries: 3 dimensions", lambda: thresher.knn(X[None], X, 1, metric="ip")),
        (ValueError, "vectors: no rows", lambda: thresher.recall([[0]], X[:0], X[:1], metric="ip")),
        (ValueError, "vectors: rows of no values", lambda: thresher.knn(X, X[:, :0], 1, metric="ip")),
        (TypeError, "vectors: values are <U1", lambda: thresher.knn(X, [["a", "b", "c"]], 1, metric="ip")),
        (TypeError, "vectors: values are complex64", lambda: thresher.knn(X, X.astype(np.complex64), 1, metric="ip")),
        (
            (ValueError, TypeError),
            "vectors: .*(inhomogeneous|different lengths)",
            lambda: thresher.knn(X, [[1, 2], [3]], 1, metric="ip"),
        ),
        (
            TypeError,
            "vectors: values are Python objects, number 0 of them a int; an array of numbers is expected",
            lambda: thresher.knn(X, np.array([[1], [2]], object), 1, metric="ip"),
        ),
        (TypeError, "vectors: a path", lambda: thresher.knn(X, "vectors.npy", 1, metric="ip")),
        (ValueError, "vectors: a masked array", lambda: thresher.knn(X, np.ma.masked_equal(X, 3), 1, metric="ip")),
        (ValueError, "k: 0, at least 1", lambda: thresher.knn(X, X, 0, metric="ip")),
        (TypeError, "k: 1.5, expected an integer", lambda: thresher.knn(X, X, 1.5, metric="ip")),
        (ValueError, "k: shape \\(2,\\)", lambda: thresher.Index(X, metric="ip").search(X, [1, 2])),
        (ValueError, "k: query 1 asks for 0", lambda: thresher.Index(X, metric="ip").search(X, [1, 0, 1, 1])),
        (ValueError, "metric: 'manhattan' is none of", lambda: thresher.knn(X, X, 1, "manhattan")),
        (ValueError, "method: .*fast", lambda: thresher.knn(X, X, 1, method="fast", metric="ip")),
        (ValueError, "delta: .*2", lambda: thresher.knn(X, X, 1, method="adaptive", delta=2, metric="ip")),
        (ValueError, "basis: .*round", lambda: thresher.Index(X, basis="round", metric="ip")),
        (ValueError, "device: .*tpu", lambda: thresher.Index(X, device="tpu", metric="ip")),
        (ValueError, "seed: -1, at least 0", lambda: thresher.Index(X, seed=-1, metric="ip")),
        (ValueError, "deadline: 0 seconds", lambda: thresher.knn(X, X, 1, deadline=0, metric="ip")),
        (ValueError, "ids: shape \\(2,\\)", lambda: thresher.Index(X, ids=[1, 2], metric="ip")),
        (ValueError, "ids: 1 is there twice", lambda: thresher.Index(X, ids=[1, 2, 1, 3], metric="ip")),
        (TypeError, "ids: values are float64", lambda: thresher.Index(X, ids=[1.0, 2, 3, 4], metric="ip")),
        (
            ValueError,
            "ids: id -1, which can be ids, or none",
            lambda: thresher.Index(X, ids=[-1, 2, 3, 4], metric="ip"),
        ),
        (
            ValueError,
            "max_score: shape \\(3,\\)",
            lambda: thresher.Index(X, metric="ip").search(X, max_score=[1, 2, 3]),
        ),
        (TypeError, "min_score: values are <U4", lambda: thresher.Index(X, metric="ip").search(X, min_score="high")),
        (ValueError, "max_score: ", lambda: thresher.Index(X, metric="ip").search(X, max_score=np.inf)),
        (
            ValueError,
            "exclude: row 9; the vectors are 0 to 3",
            lambda: thresher.Index(X, metric="ip").search(X, exclude=[[9]] * 4),
        ),
        (ValueError, "exclude: 1 lists for 4 queries", lambda: thresher.Index(X, metric="ip").search(X, exclude=[[1]])),
        (TypeError, "exclude: float", lambda: thresher.Index(X, metric="ip").search(X, exclude=1.0)),
        (
            TypeError,
            "exclude: values are float64",
            lambda: thresher.Index(X, metric="ip").search(X, exclude=[[0.5]] * 4),
        ),
        (
            ValueError,
            "exclude: indptr",
            lambda: thresher.Index(X, metric="ip").search(X, exclude=(np.arange(3), np.arange(2))),
        ),
        (
            ValueError,
            "candidates: id -7, which can be ids, or none",
            lambda: thresher.Index(X, metric="ip").search(X, candidates=[[-7]] * 4),
        ),
        (
            ValueError,
            "filter: shape \\(3,\\)",
            lambda: thresher.Index(X, metric="ip").search(X, filter=[True, False, True]),
        ),
        (
            ValueError,
            "filter: a masked array",
            lambda: thresher.Index(X, metric="ip").search(X, filter=np.ma.array([1, 2], mask=[False, True])),
        ),
        (
            ValueError,
            "ids: a masked array",
            lambda: thresher.Index(X, metric="ip", ids=np.ma.array([5, 6, 7, 8], mask=[False, True, False, False])),
        ),
        (
            ValueError,
            "answers: a masked array",
            lambda: thresher.recall(np.ma.array([[1]] * 4, mask=True), X, X, metric="ip"),
        ),
        (ValueError, "filter: row 4", lambda: thresher.Index(X, metric="ip").search(X, filter=[4])),
        (ValueError, "plan: .*zigzag", lambda: thresher.Index(X, metric="ip").search(X, plan="zigzag")),
        (ValueError, "min_score: query 0 has none", lambda: thresher.Index(X, metric="ip").range_search(X, np.nan)),
        (ValueError, "limit: 0", lambda: thresher.Index(X, metric="ip").range_search(X, 1, limit=0)),
        (ValueError, "answers: 1 for 4 queries", lambda: thresher.recall([[1]], X, X, metric="ip")),
        (ValueError, "answers: .*9", lambda: thresher.recall([[9]] * 4, X, X, metric="ip")),
        (
            ValueError,
            "scores: shape \\(4, 2\\)",
            lambda: thresher.recall([[1]] * 4, X, X, scores=np.ones((4, 2)), metric="ip"),
        ),
        (ValueError, "k: .*3", lambda: thresher.recall([[1]] * 4, X, X, 3, metric="ip")),
        (ValueError, "min_score: nan", lambda: thresher.pairs(X, np.nan, metric="ip")),
        (ValueError, "others: rows of 2 values", lambda: thresher.pairs(X, 1, X[:, :2], metric="ip")),
        (ValueError, "max_pairs: ", lambda: thresher.pairs(np.ones((9, 3)), 1, max_pairs=2, metric="ip")),
        (ValueError, "join: 'both'", lambda: thresher.knn_graph(X, 1, join="both", metric="ip")),
        (ValueError, "vectors: one row", lambda: thresher.knn_graph(X[:1], 1, metric="ip")),
        (ValueError, "distances: inner products", lambda: thresher.knn_graph(X, 1, distances=True, metric="ip")),
        (TypeError, "vectors: ", lambda: thresher.Index(None, metric="ip")),
        (ValueError, "vectors: 0 dimensions", lambda: thresher.Index(3.0, metric="ip")),
        (ValueError, "vectors: 3 dimensions", lambda: thresher.Index(X[None], metric="ip")),
        (TypeError, "vectors: ", lambda: thresher.Index({"a": 1}, metric="ip")),
        (TypeError, "vectors: ", lambda: thresher.Index((row for row in X), metric="ip")),
        (TypeError, "vectors: a path", lambda: thresher.Index(b"vectors.npy", metric="ip")),
        (TypeError, "vectors: values are datetime64", lambda: thresher.Index(np.zeros((3, 3), "M8[s]"), metric="ip")),
        (TypeError, "vectors: values are .*'a'", lambda: thresher.Index(np.zeros((3, 3), [("a", "f4")]), metric="ip")),
        (
            TypeError,
            "vectors: .*number 1 of them a None",
            lambda: thresher.Index([[1.0, None], [2.0, 3.0]], metric="ip"),
        ),
        (TypeError, "vectors: .*number 0 of them a int", lambda: thresher.Index([[10**400, 1], [1, 2]], metric="ip")),
        (
            ValueError,
            "vectors: a masked array",
            lambda: thresher.Index([np.ma.masked_equal(row, 4) for row in X], metric="ip"),
        ),
        (ValueError, "vectors: it refuses", lambda: thresher.Index(Refusing(), metric="ip")),
        (ValueError, "vectors: not in the memory of the CPU", lambda: thresher.Index(Elsewhere(), metric="ip")),
        (
            ValueError,
            "queries: not in the memory of the CPU",
            lambda: thresher.Index(X, metric="ip").search(Elsewhere()),
        ),
        (
            ValueError,
            "queries: row 0.*",
            lambda: thresher.Index(X, metric="ip").search(np.float32(3e38) * np.ones((1, 3))),
        ),
        (ValueError, "queries: ", lambda: thresher.Index(X, metric="ip").search([])),
        (TypeError, "k: '3', expected an integer", lambda: thresher.Index(X, metric="ip").search(X, "3")),
        (TypeError, "k: None, expected an integer", lambda: thresher.Index(X, metric="ip").search(X, None)),
        (TypeError, "k: values are bool", lambda: thresher.Index(X, metric="ip").search(X[:2], [True, False])),
        (
            MemoryError,
            "k: 1000000000000 columns for 4 queries",
            lambda: thresher.Index(X, metric="ip").search(X, 10**12),
        ),
        (ValueError, "k: ", lambda: thresher.Index(X, metric="ip").search(X, 2**63)),
        (TypeError, "method: None, expected a name", lambda: thresher.knn(X, X, 1, method=None, metric="ip")),
        (TypeError, "method: b'exact', expected a name", lambda: thresher.knn(X, X, 1, method=b"exact", metric="ip")),
        (ValueError, "delta: 0 is not within 0 and 1", lambda: thresher.knn(X, X, 1, delta=0, metric="ip")),
        (
            ValueError,
            "delta: 0 is not within 0 and 1",
            lambda: thresher.pairs(X, 1, method="adaptive", delta=0, metric="ip"),
        ),
        (
            ValueError,
            "delta: nan is not within 0 and 1",
            lambda: thresher.recall([[1]] * 4, X, X, delta=np.nan, metric="ip"),
        ),
        (TypeError, "delta: 'a', expected a number", lambda: thresher.knn_graph(X, 1, delta="a", metric="ip")),
        (ValueError, "epsilon: ", lambda: thresher.Index(X, metric="ip").search(X, epsilon=-1)),
        (TypeError, "epsilon: 'x', expected a number", lambda: thresher.Index(X, metric="ip").search(X, epsilon="x")),
        (
            ValueError,
            "metric: none is given: ip \\(largest inner product\\), cosine",
            lambda: thresher.Index(X, metric=None),
        ),
        (ValueError, "metric: array", lambda: thresher.Index(X, metric=X)),
        (TypeError, "basis: None, expected a name", lambda: thresher.Index(X, basis=None, metric="ip")),
        (TypeError, "device: None, expected a name", lambda: thresher.Index(X, device=None, metric="ip")),
        (ValueError, "seed: ", lambda: thresher.Index(X, seed=2**64, metric="ip")),
        (TypeError, "deadline: '1s', expected a number", lambda: thresher.knn(X, X, 1, deadline="1s", metric="ip")),
        (ValueError, "deadline: nan seconds", lambda: thresher.knn(X, X, 1, deadline=np.nan, metric="ip")),
        (TypeError, "progress: 'yes', expected True", lambda: thresher.knn(X, X, 1, progress="yes", metric="ip")),
        (TypeError, "ids: values are object", lambda: thresher.Index(X, ids=[None] * 4, metric="ip")),
        (
            TypeError,
            "ids: values are object",
            lambda: thresher.Index(X, ids=np.array([1, "a", 2, 3], object), metric="ip"),
        ),
        (TypeError, "ids: values are bool", lambda: thresher.Index(X[:2], ids=[True, False], metric="ip")),
        (TypeError, "ids: ", lambda: thresher.Index(X[:2], ids=[2**70, 1], metric="ip")),
        (
            ValueError,
            "ids: shape \\(1, 1\\)",
            lambda: thresher.Index(X, ids=list("abcd"), metric="ip").add(X[:1], ids=[["e"]]),
        ),
        (
            (ValueError, TypeError),
            "max_score: ",
            lambda: thresher.Index(X, metric="ip").search(X, max_score=[[1], [1, 2]]),
        ),
        (
            ValueError,
            "max_score: row 0: 1, but min_score is 2",
            lambda: thresher.Index(X, metric="ip").search(X, min_score=2, max_score=1),
        ),
        (
            TypeError,
            "exclude: query 0 has 1, expected a list",
            lambda: thresher.Index(X, metric="ip").search(X[:2], exclude=[1, 2]),
        ),
        (TypeError, "exclude: query 0 has .*, expected a list", lambda: named().search(X[:2], exclude=["ab", "c"])),
        (
            TypeError,
            "exclude: query 0 has ",
            lambda: thresher.Index(X, metric="ip").search(X[:1], exclude=np.ones((1, 1, 1), int)),
        ),
        (TypeError, "exclude: int, expected", lambda: named().search(X[:1], exclude=3)),
        (TypeError, "exclude: dict, expected", lambda: thresher.Index(X, metric="ip").search(X[:1], exclude={"a": 1})),
        (ValueError, "exclude: 'e' is no id", lambda: named().search(X[:1], exclude=[["e"]])),
        (
            ValueError,
            "exclude_self: .*rows 0 to 7",
            lambda: thresher.Index(X, metric="ip").search(np.tile(X, (2, 1)), exclude_self=True),
        ),
        (
            TypeError,
            "candidates: values are float64",
            lambda: thresher.Index(X, metric="ip").search(X, candidates=X.astype(float)),
        ),
        (TypeError, "filter: values are float64", lambda: thresher.Index(X, metric="ip").search(X, filter=[0.5])),
        ((ValueError, TypeError), "filter: ", lambda: thresher.Index(X, metric="ip").search(X, filter=[[1], [2, 3]])),
        (
            ValueError,
            "min_score: int64 beyond 2",
            lambda: thresher.Index(X, metric="ip").search(X, min_score=[2**53 + 1] * 4),
        ),
        (TypeError, "plan: 3, expected a name", lambda: thresher.Index(X, metric="ip").search(X, plan=3)),
        (TypeError, "min_score: values are <U1", lambda: thresher.Index(X, metric="ip").range_search(X, "a")),
        ((ValueError, TypeError), "answers: ", lambda: thresher.recall([[1], [2, [3]]] * 2, X, X, metric="ip")),
        (TypeError, "answers: values are float64", lambda: thresher.recall([[1.5]] * 4, X, X, metric="ip")),
        (TypeError, "min_score: says which vectors are wanted", lambda: thresher.pairs(X, None, metric="ip")),
        (TypeError, "min_score: 'a', expected a number", lambda: thresher.pairs(X, "a", metric="ip")),
        (ValueError, "others: no rows", lambda: thresher.pairs(X, 1, X[:0], metric="ip")),
        (ValueError, "vectors: row 1: ", lambda: thresher.Index(X, metric="ip").add(broken(np.nan))),
        (TypeError, "ids: values are float64", lambda: thresher.Index(X, metric="ip").remove([0.5])),
        (ValueError, "ids: all 4 vectors", lambda: thresher.Index(X, metric="ip").remove(range(4))),
        (TypeError, "path: 3, expected the path", lambda: thresher.Index(X, metric="ip").save(3)),
        (TypeError, "path: 3, expected the path", lambda: thresher.Index.open(3)),
        (TypeError, "shape: .*, expected integers", lambda: thresher.empty("a")),
        (ValueError, "index: closed", lambda: closed().search(X)),
        (ValueError, "index: closed", lambda: closed().add(X)),
        (ValueError, "index: closed", lambda: closed().save("x.thresher")),
        (ValueError, "index: closed", lambda: pickle.dumps(closed())),
        (ValueError, "index: closed", lambda: closed().__enter__()),
        (ValueError, "index: closed", lambda: thresher.recall([[1]] * 4, closed(), X, metric="ip")),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_wrong(error, message, call):
    with pytest.raises(error) as caught:
        call()
    assert re.search(message, str(caught.value)), caught.value


@pytest.mark.parametrize(
    "convert",
    [
        lambda x: x.astype(np.float64),
        lambda x: x.astype(np.float16).astype(np.float32),
        lambda x: x.astype(">f4"),
        lambda x: np.asfortranarray(x),
        lambda x: np.repeat(x, 2, axis=0)[::2],
        lambda x: np.repeat(x, 2, axis=1)[:, ::2],
        lambda x: x[::-1][::-1],
        lambda x: x.tolist(),
        lambda x: [row for row in x],
        lambda x: x.astype(np.longdouble),
    ],
    ids=[
        "float64",
        "float16",
        "big-endian",
        "Fortran",
        "rows",
        "columns",
        "reversed",
        "lists",
        "list of arrays",
        "longdouble",
    ],
)
def test_conversions(convert, queries, vectors):
    x, q = convert(vectors), convert(queries)
    right = best(np.asarray(q, np.float32), np.asarray(x, np.float32), 5)[0]
    np.testing.assert_array_equal(thresher.knn(q, x, 5, method="certain", metric="ip")[1], right)


@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.uint8, np.int64, np.bool_])
def test_dtypes(dtype):
    x = (np.arange(60).reshape(20, 3) % 7).astype(dtype)
    right = best(x.astype(np.float32), x.astype(np.float32), 4, "l2")[0]
    np.testing.assert_array_equal(thresher.knn(x, x, 4, "l2", "exact")[1], right)


@pytest.mark.parametrize("ids", [[7, 5, 3, 1], ["d", "c", "b", "a"]])
def test_ids_as_objects(ids):
    """As columns of pandas hold them."""
    index = thresher.Index(X, ids=np.array(ids, object), metric="ip")
    assert index.search(X[3], 1).ids[0, 0] == ids[3]
    index.remove(np.array(ids[:1], object))
    assert index.ids.tolist() == ids[1:]


def test_arguments_are_left_as_they_are(vectors, queries):
    x, q = vectors.copy(), queries.copy()
    x.flags.writeable = q.flags.writeable = False
    thresher.knn(q, x, 5, metric="ip")
    np.testing.assert_array_equal(x, vectors)
    np.testing.assert_array_equal(q, queries)


def test_results_are_writable(vectors, queries):
    scores, ids = thresher.knn(queries, vectors, 5, metric="ip")
    scores += 1
    ids[:] = 0


def test_deadline_as_timedelta(vectors, queries):
    scores, _ = thresher.knn(queries, vectors, 5, deadline=timedelta(minutes=1), metric="ip")
    assert len(scores) == 30


def test_bad_input_says_where():
    with pytest.raises(thresher.BadInput) as caught:
        thresher.knn(X, broken(np.nan), 1, metric="ip")
    assert caught.value.argument == "vectors" and caught.value.row == 1
