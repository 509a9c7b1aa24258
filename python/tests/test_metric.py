"""No metric is guessed: every call that is given vectors says which, by any of its names."""

import pickle
import warnings

import numpy as np
import pytest

import thresher
from thresher import _worker

CHOICE = r"metric: none is given: ip \(largest inner product\), cosine \(largest cosine\) or l2 \(smallest squared"


@pytest.fixture(scope="module")
def x():
    """500 rows whose norms differ by a factor of about 50."""
    rng = np.random.default_rng(0)
    norms = rng.lognormal(0, 0.7, (500, 1)).astype(np.float32)
    return rng.standard_normal((500, 32)).astype(np.float32) * norms


@pytest.fixture
def path(x, tmp_path):
    np.save(tmp_path / "x.npy", x)
    return tmp_path / "x.npy"


def test_required(x, path):
    """Without a metric vectors are refused, wherever they are given; an index has its own."""
    for call in [
        lambda v, **o: thresher.knn(x[:5], v, 3, **o),
        lambda v, **o: thresher.knn_graph(v, 3, **o),
        lambda v, **o: thresher.pairs(v, 0.95, **o),
        lambda v, **o: thresher.recall([[1]] * 5, v, x[:5], **o),
        lambda v, **o: thresher.certify([[1]] * 5, v, x[:5], **o),
        lambda v, **o: thresher.verify(np.ones((5, 1), int), v, x[:5], **o),
    ]:
        with pytest.raises(ValueError, match=CHOICE):
            call(x)
        with thresher.Index(x, metric="COSINE") as index, warnings.catch_warnings():
            warnings.simplefilter("error")
            call(index)
            call(index, metric="cosine_similarity")
            with pytest.raises(ValueError, match="metric: 'l2' is asked for, and vectors is an index by 'cosine'"):
                call(index, metric="l2")
    with pytest.raises(ValueError, match=CHOICE):
        thresher.Index(x)
    with pytest.raises(ValueError, match=r"metric: no metric is given: ip \(largest inner product\), cosine"):
        thresher.Index.open(path)


def test_saved_index(x, tmp_path):
    """A saved index has its metric, which a given one must agree with."""
    saved = tmp_path / "x.thresher"
    with thresher.Index(x, metric="cosine") as index:
        index.save(saved)
    for metric in (None, "cosine", "COS"):
        with thresher.Index.open(saved, metric=metric) as index:
            assert index.metric == "cosine"
    with pytest.raises(ValueError, match="metric: the collection was built with cosine, not ip"):
        thresher.Index.open(saved, metric="dot")


def test_names(x):
    """The names of libraries and databases are taken; those of other numbers are not."""
    hello = _worker.get().hello
    assert hello["metrics"] == ["ip", "cosine", "l2"]
    assert set(hello["metric_names"].values()) == set(hello["metrics"])
    names = {
        "ip": ["ip", "IP", "inner_product", "InnerProduct", "dot", "dotProduct", "dot_product", "max_inner_product", 0],
        "cosine": ["cosine", "COSINE", "Cosine", "cos", "cosine_similarity", np.str_("cosine")],
        "l2": ["l2", "L2", "euclidean", "Euclid", "l2-squared", "l2sq", "sqeuclidean", "l2_norm", 1, np.int64(1)],
    }
    for metric, called in names.items():
        want = thresher.knn(x[:9], x, 4, metric=metric)[1]
        for name in called:
            with thresher.Index(x, metric=name) as index:
                assert index.metric == metric, name
        np.testing.assert_array_equal(thresher.knn(x[:9], x, 4, called[1])[1], want)
    for name in ("manhattan", "angular", "cosine_distance", "", "l3", 2, 1.0, b"ip", ["ip"]):
        with pytest.raises(ValueError, match=r"metric: .* none of ip \(largest inner product\), cosine"):
            thresher.Index(x, metric=name)
    with pytest.raises(TypeError, match="metric: True"):
        thresher.Index(x, metric=True)


def test_as_others(x):
    """With the metric of what is replaced, answers are those of FAISS and scikit-learn."""
    faiss = pytest.importorskip("faiss")
    neighbors = pytest.importorskip("sklearn.neighbors")
    for metric in (faiss.METRIC_L2, faiss.METRIC_INNER_PRODUCT):
        np.testing.assert_array_equal(thresher.knn(x[:50], x, 3, metric)[1], faiss.knn(x[:50], x, 3, metric)[1])
    ours = thresher.knn_graph(x, 10, metric="euclidean").indices.reshape(-1, 10)
    theirs = neighbors.kneighbors_graph(x, 10).indices.reshape(-1, 10)
    np.testing.assert_array_equal(np.sort(ours), np.sort(theirs))


def test_warning(x):
    """A graph or pairs by inner products of vectors of different norms say so, at the caller's line."""
    for call in (lambda v, m: thresher.knn_graph(v, 3, metric=m), lambda v, m: thresher.pairs(v, 1, metric=m)):
        with pytest.warns(thresher.MetricWarning, match="metric ip compares vectors of different norms") as said:
            call(x, "ip")
        assert [w.filename for w in said] == [__file__]
        unit = x / np.linalg.norm(x, axis=1, keepdims=True)
        unit[7] = 0
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            call(x, "cosine")
            call(unit, "ip")
            call(unit.astype(np.float16), "ip")


def test_pickles_of_before(path):
    """An index that was pickled when inner products were the default is one by inner products."""
    with thresher.Index.open(path, metric="ip") as index:
        make, (settings, *rest) = index.__reduce__()
        copied = pickle.loads(pickle.dumps(index))
    old = {name: value for name, value in settings.items() if name != "metric"}
    for again in (copied, make(old, *rest)):
        with again:
            assert again.metric == "ip"
