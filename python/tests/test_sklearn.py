"""thresher.sklearn against scikit-learn, and scikit-learn's own tests of neighbours."""

import os
import pickle
import subprocess
import sys
import warnings
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn")

import sklearn.neighbors as theirs  # noqa: E402
from sklearn.base import clone  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.utils.estimator_checks import parametrize_with_checks  # noqa: E402

import thresher.sklearn as ours  # noqa: E402


@parametrize_with_checks(
    [
        ours.NearestNeighbors(),
        ours.KNeighborsTransformer(),
        ours.KNeighborsClassifier(),
        ours.KNeighborsRegressor(),
        ours.RadiusNeighborsTransformer(),
        ours.RadiusNeighborsClassifier(),
        ours.RadiusNeighborsRegressor(),
        ours.NearestNeighbors(metric="cosine"),
    ]
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "cosine", "minkowski", "l2"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shift", [0, 1000])
def test_neighbours(rng, metric, dtype, shift):
    x = (rng.standard_normal((400, 7)) + shift).astype(dtype)
    q = (rng.standard_normal((50, 7)) + shift).astype(dtype)
    mine = ours.NearestNeighbors(n_neighbors=6, metric=metric).fit(x)
    for given in (q, None):
        distances, found = mine.kneighbors(given)
        pairs = np.asarray(x if given is None else q, np.float64)[:, None] - np.asarray(x, np.float64)
        exact = np.einsum("ijk,ijk->ij", pairs, pairs)
        if metric == "cosine":
            rows, atoms = np.asarray(x if given is None else q, np.float64), np.asarray(x, np.float64)
            exact = 1 - rows @ atoms.T / np.linalg.norm(rows, axis=1)[:, None] / np.linalg.norm(atoms, axis=1)
        elif metric != "sqeuclidean":
            exact = np.sqrt(exact)
        if given is None:
            np.fill_diagonal(exact, np.inf)
        if shift == 0 or metric != "cosine":  # shifted, cosines differ by rounding alone
            np.testing.assert_array_equal(found, np.argsort(exact, axis=1, kind="stable")[:, :6])
        np.testing.assert_allclose(distances, np.sort(exact, axis=1)[:, :6], rtol=1e-6, atol=1e-12)
    assert mine._held.searches == 2


def test_neighbours_that_only_float64_tells_apart():
    x = np.concatenate([[[1.0]], 1 + np.arange(1, 60)[:, None] * 1e-12, [[9.0]]])
    x = np.hstack([x, np.zeros_like(x)])
    order = np.random.default_rng(0).permutation(len(x))
    found = ours.NearestNeighbors(n_neighbors=5).fit(x[order]).kneighbors([[1.0, 0.0]], return_distance=False)
    assert order[found[0]].tolist() == [0, 1, 2, 3, 4]


def test_duplicates():
    x = np.ones((300, 3))
    distances, found = ours.NearestNeighbors(n_neighbors=4).fit(x).kneighbors()
    assert (distances == 0).all() and (found != np.arange(300)[:, None]).all()
    x = np.ones((3, 1))  # of more copies than neighbours the first found is left out, as scikit-learn does
    assert ours.NearestNeighbors(n_neighbors=1).fit(x).kneighbors(return_distance=False).tolist() == [[1], [0], [1]]


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_radius(rng, metric, dtype):
    x, q = rng.standard_normal((400, 7)).astype(dtype), rng.standard_normal((50, 7)).astype(dtype)
    radius = 1.5 if metric == "euclidean" else 0.2
    mine = ours.NearestNeighbors(radius=radius, metric=metric).fit(x)
    other = theirs.NearestNeighbors(radius=radius, metric=metric, algorithm="brute").fit(x)
    for given in (q, None):
        distances, found = mine.radius_neighbors(given, sort_results=True)
        apart, right = other.radius_neighbors(given, sort_results=True)
        assert len(found) == len(right)
        for j in range(len(right)):
            np.testing.assert_array_equal(found[j], right[j])
            np.testing.assert_allclose(distances[j], apart[j], rtol=1e-5, atol=1e-6)
    assert mine._held.searches == 2
    assert mine.radius_neighbors(q, radius=1e-9, return_distance=False)[0].tolist() == []
    for model in (mine, other):  # of a cosine, -1 is answered
        assert not model.radius_neighbors(q, radius=np.nan, return_distance=False)[0].size
        with pytest.raises(ValueError, match="radius == -1") if metric == "euclidean" else nullcontext():
            model.radius_neighbors(q, radius=-1.0)


def test_what_is_left_to_scikit_learn(rng):
    sparse = pytest.importorskip("scipy.sparse")
    x = rng.standard_normal((60, 4))
    for settings, data in (
        ({"metric": "manhattan"}, x),
        ({"algorithm": "kd_tree"}, x),
        ({"p": 3}, x),
        ({}, sparse.csr_matrix(x)),
        ({}, x * 1e30),
    ):
        mine = ours.NearestNeighbors(n_neighbors=3, **settings).fit(data)
        other = theirs.NearestNeighbors(n_neighbors=3, **settings).fit(data)
        np.testing.assert_array_equal(mine.kneighbors(data)[1], other.kneighbors(data)[1])


def test_transformer_and_classifier(rng):
    x, y = rng.standard_normal((300, 6)), rng.integers(0, 3, 300)
    q = rng.standard_normal((40, 6))
    precomputed = theirs.KNeighborsClassifier(n_neighbors=5, metric="precomputed")
    both = make_pipeline(ours.KNeighborsTransformer(n_neighbors=5, mode="distance"), precomputed)
    reference = theirs.KNeighborsClassifier(n_neighbors=5, algorithm="brute").fit(x, y)
    np.testing.assert_array_equal(both.fit(x, y).predict(q), reference.predict(q))
    for weights in ("uniform", "distance"):
        mine = ours.KNeighborsClassifier(weights=weights).fit(x, y)
        reference = theirs.KNeighborsClassifier(weights=weights, algorithm="brute").fit(x, y)
        np.testing.assert_array_equal(mine.predict(q), reference.predict(q))
        np.testing.assert_allclose(mine.predict_proba(q), reference.predict_proba(q))
        assert mine._held.searches == 2
    graph = ours.KNeighborsTransformer(n_neighbors=5).fit_transform(x)
    np.testing.assert_allclose(
        graph.toarray(), theirs.KNeighborsTransformer(n_neighbors=5).fit_transform(x).toarray(), atol=1e-7
    )
    regressor = ours.KNeighborsRegressor().fit(x, y.astype(float))
    np.testing.assert_allclose(regressor.predict(q), theirs.KNeighborsRegressor().fit(x, y.astype(float)).predict(q))


def same(mine, right):
    np.testing.assert_array_equal(mine.indptr, right.indptr)
    np.testing.assert_allclose(mine.toarray(), right.toarray(), atol=1e-7)


@pytest.mark.parametrize("mode", ["connectivity", "distance"])
def test_graphs(rng, mode):
    assert not hasattr(ours.RadiusNeighborsRegressor, "kneighbors")  # as theirs
    assert not hasattr(ours.KNeighborsRegressor, "radius_neighbors")
    x, q = rng.standard_normal((300, 6)), rng.standard_normal((40, 6))
    mine, right = (m.NearestNeighbors(n_neighbors=5, radius=1.5).fit(x) for m in (ours, theirs))
    for given in (q, None):
        same(mine.kneighbors_graph(given, mode=mode), right.kneighbors_graph(given, mode=mode))
        same(mine.radius_neighbors_graph(given, mode=mode), right.radius_neighbors_graph(given, mode=mode))
    sorted_ = mine.radius_neighbors_graph(q, mode="distance", sort_results=True)
    assert all((np.diff(sorted_[j].data) >= 0).all() for j in range(40))
    assert mine._held.searches == 5
    both = [m.RadiusNeighborsTransformer(mode=mode, radius=1.5).fit(x).transform(q) for m in (ours, theirs)]
    same(*both)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_classes_and_values_within_a_radius(rng, metric):
    x, y, q = rng.standard_normal((300, 6)), rng.integers(0, 3, 300), rng.standard_normal((40, 6))
    for weights in ("uniform", "distance"):
        settings = {"radius": {"euclidean": 2.0, "cosine": 0.5}[metric], "weights": weights, "metric": metric}
        mine, right = (m.RadiusNeighborsClassifier(outlier_label=7, **settings).fit(x, y) for m in (ours, theirs))
        far = np.vstack([q, 1e3 * np.ones(6)]) if metric == "euclidean" else q
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of an outlier, at each prediction
            np.testing.assert_array_equal(mine.predict(far), right.predict(far))
            np.testing.assert_allclose(mine.predict_proba(far), right.predict_proba(far))
        assert mine._held.searches == 2
        mine, right = (m.RadiusNeighborsRegressor(**settings).fit(x, y * 1.0) for m in (ours, theirs))
        np.testing.assert_allclose(mine.predict(q), right.predict(q))
        assert mine._held.searches == 1


def test_copies(rng):
    x = rng.standard_normal((100, 4))
    mine = ours.NearestNeighbors(n_neighbors=2, method="exact").fit(x)
    want = mine.kneighbors(x)[1]
    again = pickle.loads(pickle.dumps(mine))
    np.testing.assert_array_equal(again.kneighbors(x)[1], want)
    assert clone(mine).method == "exact"
    mine.fit(x[:50])
    assert mine.kneighbors(x)[1].max() < 50


def test_method_is_checked():
    with pytest.raises(ValueError, match="'method' parameter"):
        ours.NearestNeighbors(method="fast").fit(np.eye(3))


def test_scikit_learns_own_tests(tmp_path):
    """Its tests of neighbours, from the installed package, with our classes in place of its own."""
    tests = Path(theirs.__file__).parent / "tests" / "test_neighbors.py"
    if not tests.exists():
        pytest.skip("scikit-learn is installed without its tests")
    (tmp_path / "replaced.py").write_text(
        "import sklearn.neighbors, thresher.sklearn as ours\n"
        "from thresher._sklearn import Searching\n"
        "for name in ours.__all__:\n"
        "    setattr(sklearn.neighbors, name, getattr(ours, name))\n"
        "def pytest_sessionfinish(session):\n"
        "    print('\\nsearched by thresher:', Searching._total)\n"
    )
    counted = (
        "from thresher._sklearn import Searching\n"
        "Searching._total = 0\n"
        "opened = Searching._opened\n"
        "def counting(self):\n"
        "    Searching._total += 1\n"
        "    return opened(self)\n"
        "Searching._opened = counting\n"
    )
    (tmp_path / "counted.py").write_text(counted)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    others = " and ".join(f"not {name}" for name in OTHERS.split())
    command = [
        sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "counted", "-p", "replaced",
        "--rootdir", str(tmp_path), "-c", os.devnull, "-k", others, str(tests),
        *(f"--deselect=::{name}" for name in DESELECTED),
    ]  # fmt: skip
    done = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=tmp_path)
    print(done.stdout[-3000:])
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert int(done.stdout.split("searched by thresher:")[1].split()[0]) > 100


# Metrics and algorithms that scikit-learn searches by itself.
OTHERS = """kd_tree ball_tree manhattan l1 cityblock chebyshev canberra braycurtis haversine hamming jaccard dice
yule rogerstanimoto russellrao sokalsneath sokalmichener mahalanobis seuclidean correlation nan_euclidean"""


# What the tests of scikit-learn expect that is not so: "auto" builds a tree for few dimensions.
DESELECTED = ["test_auto_algorithm[X3-euclidean-None-kd_tree]"]
