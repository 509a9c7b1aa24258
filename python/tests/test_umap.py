import numpy as np
import pytest

from conftest import best

umap = pytest.importorskip("umap")

import thresher.umap  # noqa: E402


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_precomputed_knn(vectors, metric):
    indices, distances = thresher.umap.precomputed_knn(vectors, 10, metric)
    assert indices.shape == distances.shape == (1500, 10) and indices.dtype == np.int32
    np.testing.assert_array_equal(indices[:, 0], np.arange(1500))
    assert (distances[:, 0] == 0).all() and (np.diff(distances, axis=1) >= 0).all()
    order, scores = best(vectors, vectors, 10, "l2" if metric == "euclidean" else "cosine")
    np.testing.assert_array_equal(indices[:, 1:], order[:, 1:])
    right = np.sqrt(scores) if metric == "euclidean" else 1 - scores
    np.testing.assert_allclose(distances, right, atol=1e-5)


@pytest.mark.filterwarnings("ignore")
def test_umap_takes_it(vectors):
    x = vectors[:400]
    neighbours = thresher.umap.precomputed_knn(x, 12)
    settings = {"n_neighbors": 12, "n_epochs": 5, "random_state": 1, "init": "random"}
    ours = umap.UMAP(precomputed_knn=neighbours, force_approximation_algorithm=True, **settings).fit(x)
    theirs = umap.UMAP(**settings).fit(x)  # exact, for so few rows
    np.testing.assert_array_equal(ours.graph_.indices, theirs.graph_.indices)
    np.testing.assert_allclose(ours.graph_.data, theirs.graph_.data, atol=1e-3)


def test_wrong():
    with pytest.raises(ValueError, match="metric: 'manhattan'"):
        thresher.umap.precomputed_knn(np.eye(5), 3, "manhattan")
    with pytest.raises(ValueError, match="n_neighbors: 1, at least 2"):
        thresher.umap.precomputed_knn(np.eye(5), 1)
    with pytest.raises(ValueError, match="n_neighbors: 6 of 5 rows"):
        thresher.umap.precomputed_knn(np.eye(5), 6)
