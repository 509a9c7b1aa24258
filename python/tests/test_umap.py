import pickle

import numpy as np
import pytest

from conftest import best

umap = pytest.importorskip("umap")

import thresher.umap  # noqa: E402


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_precomputed_knn(vectors, metric):
    indices, distances, search = thresher.umap.precomputed_knn(vectors, 10, metric)
    assert indices.shape == distances.shape == (1500, 10) and indices.dtype == np.int32
    np.testing.assert_array_equal(indices[:, 0], np.arange(1500))
    assert (distances[:, 0] == 0).all() and (np.diff(distances, axis=1) >= 0).all()
    order, scores = best(vectors, vectors, 10, "l2" if metric == "euclidean" else "cosine")
    np.testing.assert_array_equal(indices[:, 1:], order[:, 1:])
    right = np.sqrt(scores) if metric == "euclidean" else 1 - scores
    np.testing.assert_allclose(distances, right, atol=1e-5)
    again = search.neighbor_graph
    np.testing.assert_array_equal(again[0], indices)
    np.testing.assert_array_equal(again[1], distances)
    with pytest.raises(ValueError, match="k: 1501 of 1500 rows"):
        search.query(vectors[:2], 1501)


@pytest.mark.filterwarnings("ignore")
def test_umap_takes_it(vectors):
    x = vectors[:400]
    neighbours = thresher.umap.precomputed_knn(x, 12)
    settings = {"n_neighbors": 12, "n_epochs": 5, "random_state": 1, "init": "random"}
    ours = umap.UMAP(precomputed_knn=neighbours, force_approximation_algorithm=True, **settings).fit(x)
    theirs = umap.UMAP(**settings).fit(x)  # exact, for so few rows
    np.testing.assert_array_equal(ours.graph_.indices, theirs.graph_.indices)
    np.testing.assert_allclose(ours.graph_.data, theirs.graph_.data, atol=1e-3)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_transform_of_new_rows(vectors, metric):
    x, new = vectors[:400], vectors[400:450]
    settings = {"n_neighbors": 12, "metric": metric, "n_epochs": 5, "random_state": 1, "init": "random"}
    settings["transform_mode"] = "graph"
    ours = umap.UMAP(precomputed_knn=thresher.umap.precomputed_knn(x, 12, metric), **settings).fit(x)
    theirs = umap.UMAP(**settings).fit(x)  # exact, for so few rows
    for model in (ours, pickle.loads(pickle.dumps(ours))):
        mine, right = (m.transform(new).tocsr() for m in (model, theirs))
        mine.sort_indices()
        right.sort_indices()
        np.testing.assert_array_equal(mine.indices, right.indices)
        np.testing.assert_allclose(mine.data, right.data, atol=1e-3)


@pytest.mark.filterwarnings("ignore")
def test_transform_and_update(vectors):
    x, new = vectors[:300], vectors[300:340]
    settings = {"n_neighbors": 10, "n_epochs": 5, "random_state": 1, "init": "random"}
    model = umap.UMAP(precomputed_knn=thresher.umap.precomputed_knn(x, 10), **settings).fit(x)
    placed = model.transform(new)
    assert placed.shape == (40, 2) and np.isfinite(placed).all()
    model.update(new)
    order, _ = best(vectors[:340], vectors[:340], 10, "l2")
    np.testing.assert_array_equal(model._knn_indices, order)
    assert model.embedding_.shape == (340, 2) and model.transform(vectors[400:403]).shape == (3, 2)
    without = umap.UMAP(precomputed_knn=thresher.umap.precomputed_knn(x, 10)[:2], **settings).fit(x)
    with pytest.raises(NotImplementedError, match="No search index"):
        without.transform(new)


def test_wrong():
    with pytest.raises(ValueError, match="metric: 'manhattan'"):
        thresher.umap.precomputed_knn(np.eye(5), 3, "manhattan")
    with pytest.raises(ValueError, match="n_neighbors: 1, at least 2"):
        thresher.umap.precomputed_knn(np.eye(5), 1)
    with pytest.raises(ValueError, match="n_neighbors: 6 of 5 rows"):
        thresher.umap.precomputed_knn(np.eye(5), 6)
