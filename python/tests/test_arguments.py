"""Every wrong argument is an error that names it; every conversion is the documented one."""

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


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (ValueError, "vectors: .*row 1.*(NaN|nan)", lambda: thresher.knn(X, broken(np.nan), 1)),
        (ValueError, "queries: .*row 1.*(NaN|nan)", lambda: thresher.knn(broken(np.nan), X, 1)),
        (ValueError, "queries: .*row 2.*[Ii]nf", lambda: thresher.knn(broken(np.inf, row=2), X, 1)),
        (ValueError, "vectors: row 1, column 2 is 1e\\+300, beyond", lambda: thresher.knn(X, broken(1e300), 1)),
        (ValueError, "queries: rows of 2 values, the vectors have 3", lambda: thresher.knn(X[:, :2], X, 1)),
        (ValueError, "vectors: 1 dimensions", lambda: thresher.knn(X, X[0], 1)),
        (ValueError, "queries: 3 dimensions", lambda: thresher.knn(X[None], X, 1)),
        (ValueError, "vectors: no rows", lambda: thresher.knn(X, X[:0], 1)),
        (ValueError, "vectors: rows of no values", lambda: thresher.knn(X, X[:, :0], 1)),
        (TypeError, "vectors: values are <U1", lambda: thresher.knn(X, [["a", "b", "c"]], 1)),
        (TypeError, "vectors: values are complex64", lambda: thresher.knn(X, X.astype(np.complex64), 1)),
        (ValueError, "vectors: .*inhomogeneous", lambda: thresher.knn(X, [[1, 2], [3]], 1)),
        (TypeError, "vectors: rows of different lengths", lambda: thresher.knn(X, np.array([[1], [2]], object), 1)),
        (TypeError, "vectors: a path", lambda: thresher.knn(X, "vectors.npy", 1)),
        (ValueError, "vectors: a masked array", lambda: thresher.knn(X, np.ma.masked_equal(X, 3), 1)),
        (ValueError, "k: 0, at least 1", lambda: thresher.knn(X, X, 0)),
        (TypeError, "k: 1.5, expected an integer", lambda: thresher.knn(X, X, 1.5)),
        (ValueError, "k: shape \\(2,\\)", lambda: thresher.Index(X).search(X, [1, 2])),
        (ValueError, "k: query 1 asks for 0", lambda: thresher.Index(X).search(X, [1, 0, 1, 1])),
        (ValueError, "metric: 'manhattan' is none of", lambda: thresher.knn(X, X, 1, "manhattan")),
        (ValueError, "metric: 'euclidean' .*squared distances are 'l2'", lambda: thresher.knn(X, X, 1, "euclidean")),
        (ValueError, "method: .*fast", lambda: thresher.knn(X, X, 1, method="fast")),
        (ValueError, "delta: .*2", lambda: thresher.knn(X, X, 1, method="adaptive", delta=2)),
        (ValueError, "basis: .*round", lambda: thresher.Index(X, basis="round")),
        (ValueError, "device: .*tpu", lambda: thresher.Index(X, device="tpu")),
        (ValueError, "seed: -1, at least 0", lambda: thresher.Index(X, seed=-1)),
        (ValueError, "deadline: 0 seconds", lambda: thresher.knn(X, X, 1, deadline=0)),
        (ValueError, "ids: shape \\(2,\\)", lambda: thresher.Index(X, ids=[1, 2])),
        (ValueError, "ids: 1 is there twice", lambda: thresher.Index(X, ids=[1, 2, 1, 3])),
        (TypeError, "ids: values are float64", lambda: thresher.Index(X, ids=[1.0, 2, 3, 4])),
        (ValueError, "ids: negative numbers", lambda: thresher.Index(X, ids=[-1, 2, 3, 4])),
        (ValueError, "below: shape \\(3,\\)", lambda: thresher.Index(X).search(X, below=[1, 2, 3])),
        (TypeError, "floor: values are <U4", lambda: thresher.Index(X).search(X, floor="high")),
        (ValueError, "below: ", lambda: thresher.Index(X).search(X, below=np.inf)),
        (ValueError, "exclude: row 9; the vectors are 0 to 3", lambda: thresher.Index(X).search(X, exclude=[[9]] * 4)),
        (ValueError, "exclude: 1 lists for 4 queries", lambda: thresher.Index(X).search(X, exclude=[[1]])),
        (TypeError, "exclude: float", lambda: thresher.Index(X).search(X, exclude=1.0)),
        (TypeError, "exclude: values are float64", lambda: thresher.Index(X).search(X, exclude=[[0.5]] * 4)),
        (ValueError, "exclude: indptr", lambda: thresher.Index(X).search(X, exclude=(np.arange(3), np.arange(2)))),
        (ValueError, "candidates: row -7", lambda: thresher.Index(X).search(X, candidates=[[-7]] * 4)),
        (ValueError, "filter: shape \\(3,\\)", lambda: thresher.Index(X).search(X, filter=[True, False, True])),
        (ValueError, "filter: row 4", lambda: thresher.Index(X).search(X, filter=[4])),
        (ValueError, "plan: .*zigzag", lambda: thresher.Index(X).search(X, plan="zigzag")),
        (ValueError, "threshold: query 0 has none", lambda: thresher.Index(X).range_search(X, np.nan)),
        (ValueError, "limit: 0", lambda: thresher.Index(X).range_search(X, 1, limit=0)),
        (ValueError, "answers: 1 for 4 queries", lambda: thresher.recall([[1]], X, X)),
        (ValueError, "answers: .*9", lambda: thresher.recall([[9]] * 4, X, X)),
        (ValueError, "scores: shape \\(4, 2\\)", lambda: thresher.recall([[1]] * 4, X, X, scores=np.ones((4, 2)))),
        (ValueError, "k: .*3", lambda: thresher.recall([[1]] * 4, X, X, 3)),
        (ValueError, "min_score: nan", lambda: thresher.pairs(X, np.nan)),
        (ValueError, "others: rows of 2 values", lambda: thresher.pairs(X, 1, X[:, :2])),
        (ValueError, "most: ", lambda: thresher.pairs(np.ones((9, 3)), 1, most=2)),
        (ValueError, "join: 'both'", lambda: thresher.knn_graph(X, 1, join="both")),
        (ValueError, "vectors: one row", lambda: thresher.knn_graph(X[:1], 1)),
        (ValueError, "distances: inner products", lambda: thresher.knn_graph(X, 1, distances=True)),
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
    np.testing.assert_array_equal(thresher.knn(q, x, 5, method="certain")[1], right)


@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.uint8, np.int64, np.bool_])
def test_dtypes(dtype):
    x = (np.arange(60).reshape(20, 3) % 7).astype(dtype)
    right = best(x.astype(np.float32), x.astype(np.float32), 4, "l2")[0]
    np.testing.assert_array_equal(thresher.knn(x, x, 4, "l2", "exact")[1], right)


def test_arguments_are_left_as_they_are(vectors, queries):
    x, q = vectors.copy(), queries.copy()
    x.flags.writeable = q.flags.writeable = False
    thresher.knn(q, x, 5)
    np.testing.assert_array_equal(x, vectors)
    np.testing.assert_array_equal(q, queries)


def test_results_are_writable(vectors, queries):
    scores, ids = thresher.knn(queries, vectors, 5)
    scores += 1
    ids[:] = 0


def test_deadline_as_timedelta(vectors, queries):
    scores, _ = thresher.knn(queries, vectors, 5, deadline=timedelta(minutes=1))
    assert len(scores) == 30


def test_bad_input_says_where():
    with pytest.raises(thresher.BadInput) as caught:
        thresher.knn(X, broken(np.nan), 1)
    assert caught.value.argument == "vectors" and caught.value.row == 1
