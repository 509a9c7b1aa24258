import subprocess
import sys
import threading

import numpy as np
import pytest

import thresher
from conftest import best


@pytest.mark.parametrize("metric", ["ip", "cosine", "l2"])
@pytest.mark.parametrize("method", ["exact", "certain", "auto", "adaptive"])
def test_best(vectors, queries, metric, method):
    scores, ids = thresher.knn(queries, vectors, 7, metric, method)
    right, want = best(queries, vectors, 7, metric)
    if method in ("exact", "certain"):
        np.testing.assert_array_equal(ids, right)
    assert (ids == right).mean() > 0.98
    assert scores.dtype == np.float32 and ids.dtype == np.int64
    np.testing.assert_allclose(scores, want, rtol=1e-4, atol=1e-4)


def test_faiss_in_one_line(vectors, queries):
    faiss = pytest.importorskip("faiss")
    for metric in (faiss.METRIC_INNER_PRODUCT, faiss.METRIC_L2):
        scores, ids = faiss.knn(queries, vectors, 5, metric=metric)
        ours, rows = thresher.knn(queries, vectors, 5, metric=metric, method="exact")
        np.testing.assert_array_equal(rows, ids)
        np.testing.assert_allclose(ours, scores, rtol=1e-4, atol=1e-3)


def test_more_than_there_are(vectors, queries):
    scores, ids = thresher.knn(queries, vectors[:3], 5, metric="ip")
    assert ids.shape == scores.shape == (30, 5)
    assert (ids[:, 3:] == -1).all() and np.isnan(scores[:, 3:]).all()
    np.testing.assert_array_equal(ids[:, :3], best(queries, vectors[:3], 3)[0])


def test_no_queries(vectors):
    scores, ids = thresher.knn(np.empty((0, 48), np.float32), vectors, 5, metric="ip")
    assert scores.shape == ids.shape == (0, 5)
    assert scores.dtype == np.float32 and ids.dtype == np.int64


def test_one_query(vectors, queries):
    scores, ids = thresher.knn(queries[0], vectors, 4, metric="ip")
    assert scores.shape == ids.shape == (1, 4)
    np.testing.assert_array_equal(ids[0], best(queries[:1], vectors, 4)[0][0])


def test_deadline_that_passes_raises_or_says_so(vectors, queries):
    try:
        thresher.knn(queries, vectors, 4, deadline=1e-6, metric="ip")
    except thresher.DeadlineExceeded as e:
        assert isinstance(e, TimeoutError)


def test_threads(vectors, queries):
    right = best(queries, vectors, 5)[0]
    with thresher.Index(vectors, metric="ip") as index:
        wrong = []

        def work():
            for _ in range(5):
                if not np.array_equal(index.search(queries, 5, method="certain").ids, right):
                    wrong.append(1)

        threads = [threading.Thread(target=work) for _ in range(6)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not wrong


def test_import_starts_nothing_and_is_light():
    code = (
        "import sys, thresher; from thresher import _worker\n"
        "heavy = {'scipy', 'torch', 'sklearn', 'pandas', 'polars', 'pyarrow', 'tqdm'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
