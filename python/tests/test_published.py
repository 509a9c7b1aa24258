"""The options of the published methods: each reaches its method, and a wrong one is an error that names it."""

import numpy as np
import pytest

import thresher

ROWS = np.random.default_rng(1).normal(size=(60, 64)).astype(np.float32)
QUERIES = ROWS[:3] + np.float32(0.1)


@pytest.fixture(scope="module")
def index():
    with thresher.Index(ROWS, metric="ip", basis="raw") as made:
        yield made


@pytest.mark.parametrize(
    ("method", "options", "plan", "guarantee"),
    [
        ("banditmips", {"sigma": np.float32(0.5)}, "sigma 0.5", "probabilistic"),
        ("banditmips", {"sigma": "bernstein", "warm": np.int64(8)}, "sigma bernstein, warm 8", "probabilistic"),
        ("banditmips", {"sampling": "with_replacement"}, "sampling with_replacement", "probabilistic"),
        ("banditmips-alpha", {"sigma": "data"}, "sigma data", "heuristic"),
        ("banditmips-beta", {"sigma": "data"}, "sigma data", "heuristic"),
        ("banditmips-beta", {"beta": 0}, "beta 0", "probabilistic"),
        ("bucket-ae", {"bins": 20, "sampling": "without_replacement"}, "bins 20", "heuristic"),
        ("boundedme", {"union": "published"}, "union published", "heuristic"),
    ],
)
def test_options(index, method, options, plan, guarantee):
    result = index.search(QUERIES, 2, method=method, published=options)
    assert all(plan in name for name in result.certificates["plan"])
    assert all(name == guarantee for name in result.certificates["guarantee"])


def test_sigma_saves(index):
    """A smaller sigma reads less; without options nothing changes."""
    read = [
        index.search(QUERIES, 1, method="banditmips", published=options).certificates["pulls"].sum()
        for options in (None, {}, {"sigma": 0.1}, {"sigma": 0.01})
    ]
    assert read[0] == read[1] > read[2] > read[3]


@pytest.mark.parametrize(
    ("method", "options", "error", "message"),
    [
        ("banditmips", {"sigma": 0}, ValueError, "published.sigma: 0 is not a number above 0"),
        ("banditmips", {"sigma": None}, TypeError, "published.sigma: None, expected a number"),
        ("banditmips", {"sigmas": 1}, ValueError, "published.sigmas: there is no such option; there are sigma, beta"),
        ("banditmips", {"beta": 1}, ValueError, "published.beta: .*banditmips-beta has"),
        ("banditmips", {"sampling": "both"}, ValueError, 'published.sampling: "both" is not'),
        ("banditmips", {"warm": 65}, ValueError, "published.warm: 65 coordinates, there are 64"),
        ("bucket-ae", {"bins": 1.5}, ValueError, "published.bins: 1.5 is not"),
        ("boundedme", {"union": "mine"}, ValueError, 'published.union: "mine" is not'),
        ("auto", {"sigma": 1}, ValueError, "published.sigma: method auto has no such option"),
        ("banditmips", [1], TypeError, r"published: \[1\], expected a dict"),
        ("banditmips", {1: 1}, TypeError, "published: a name: 1, expected a name"),
    ],
)
def test_wrong_options(index, method, options, error, message):
    with pytest.raises(error, match=message):
        index.search(QUERIES, 1, method=method, published=options)


@pytest.mark.filterwarnings("ignore::thresher.MetricWarning")
def test_graph(index):
    """The graph of an index takes them, too."""
    pytest.importorskip("scipy")
    assert thresher.knn_graph(index, 2, method="banditmips", published={"sigma": 3}).shape == (60, 60)
    with pytest.raises(ValueError, match=r"published\.sigma: method certain has no such option"):
        thresher.knn_graph(index, 2, published={"sigma": 3})
