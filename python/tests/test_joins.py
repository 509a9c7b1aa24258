"""Graphs and pairs."""

import numpy as np
import pytest

import thresher
from conftest import best

sparse = pytest.importorskip("scipy.sparse")


@pytest.mark.parametrize("metric", ["ip", "cosine", "l2"])
def test_knn_graph(vectors, metric):
    graph = thresher.knn_graph(vectors, 4, metric=metric)
    assert graph.shape == (1500, 1500) and graph.format == "csr" and graph.dtype == np.float32
    order, scores = best(vectors, vectors, 6, metric)
    for i in range(0, 1500, 100):
        row = [(j, s) for j, s in zip(order[i], scores[i], strict=True) if j != i][:4]
        part = slice(graph.indptr[i], graph.indptr[i + 1])
        assert graph.indices[part].tolist() == [j for j, _ in row]
        np.testing.assert_allclose(graph.data[part], [s for _, s in row], rtol=1e-4, atol=1e-4)


def test_symmetric_graphs(vectors):
    graph = thresher.knn_graph(vectors, 4, metric="cosine")
    near = graph.toarray() != 0
    union = thresher.knn_graph(vectors, 4, metric="cosine", symmetric=True).toarray() != 0
    mutual = thresher.knn_graph(vectors, 4, metric="cosine", mutual=True).toarray() != 0
    np.testing.assert_array_equal(union, near | near.T)
    np.testing.assert_array_equal(mutual, near & near.T)


def test_distances(vectors):
    squares = thresher.knn_graph(vectors, 3, metric="l2")
    np.testing.assert_allclose(thresher.knn_graph(vectors, 3, metric="l2", distances=True).data, np.sqrt(squares.data))
    cosines = thresher.knn_graph(vectors, 3, metric="cosine")
    distances = thresher.knn_graph(vectors, 3, metric="cosine", distances=True)
    np.testing.assert_allclose(distances.data, 1 - cosines.data, atol=1e-6)


def test_duplicates_are_neighbours():
    x = np.repeat(np.eye(6, dtype=np.float32), 2, axis=0)
    graph = thresher.knn_graph(x, 1, metric="l2", distances=True)
    assert graph.nnz == 12 and (graph.data == 0).all()  # zeros are stored
    np.testing.assert_array_equal(graph.indices, np.arange(12) ^ 1)


def test_dbscan_takes_the_graph(vectors):
    cluster = pytest.importorskip("sklearn.cluster")
    graph = thresher.knn_graph(vectors, 10, metric="l2", distances=True)
    graph.sort_indices()
    labels = cluster.DBSCAN(eps=4, metric="precomputed", min_samples=3).fit(graph).labels_
    assert len(labels) == 1500


@pytest.mark.parametrize("metric", ["ip", "cosine", "l2"])
def test_pairs(vectors, metric):
    order, scores = best(vectors, vectors, 1500, metric)
    bar = float(np.quantile(scores[:, 1], 0.5))
    found = thresher.pairs(vectors, **{"max_distance" if metric == "l2" else "min_score": bar}, metric=metric)
    reach = np.zeros((1500, 1500), bool)
    np.put_along_axis(reach, order, scores <= bar if metric == "l2" else scores >= bar, axis=1)
    a, b = np.nonzero(np.triu(reach, 1))
    np.testing.assert_array_equal(found.a, a)
    np.testing.assert_array_equal(found.b, b)
    assert len(found) == len(a) and found.work["rows"] == 1500
    matrix = found.matrix()
    assert matrix.shape == (1500, 1500) and matrix.nnz == len(a)
    first, second, values = found
    assert first is found.a and second is found.b and values is found.scores


@pytest.mark.parametrize("package", ["pandas", "polars", "arrow"])
def test_table_of_pairs(vectors, package):
    pytest.importorskip({"arrow": "pyarrow"}.get(package, package))
    found = thresher.pairs(vectors, 0.5, vectors[:20], metric="cosine")
    table = getattr(found, f"to_{package}")()
    names = table.column_names if package == "arrow" else list(table.columns)
    assert names == ["a", "b", "score", "score64"] and len(found) >= 20
    for name, values in zip(names, [found.a, found.b, found.scores, found.scores64], strict=True):
        column = table[name].to_numpy()
        assert column.dtype == values.dtype
        np.testing.assert_array_equal(column, values)


@pytest.mark.parametrize(
    ("metric", "name", "score", "says"),
    [
        ("cosine", "min_score", 1.5, "1.5: cosines are at most 1"),
        ("l2", "max_distance", -1.5, "-1.5: squared distances are at least 0"),
    ],
)
def test_pairs_out_of_reach(vectors, queries, metric, name, score, says):
    for others in (None, queries):
        with pytest.raises(ValueError, match=f"^{name}: {says}$"):
            thresher.pairs(vectors, others=others, metric=metric, **{name: score})


@pytest.mark.parametrize("metric", ["ip", "cosine", "l2"])
def test_a_score_given_back_finds_its_pair(vectors, metric):
    limit = "max_distance" if metric == "l2" else "min_score"
    graph = thresher.knn_graph(vectors, 1, metric=metric, scores64=True)
    assert graph.dtype == np.float64
    np.testing.assert_array_equal(graph.data.astype(np.float32), thresher.knn_graph(vectors, 1, metric=metric).data)
    index = thresher.Index(vectors, metric=metric)
    for row in range(0, 1500, 250):
        query = vectors[row : row + 1]
        found = index.search(query, 2, **{limit: graph.data[row]}, exclude=[[row]], method="exact")
        assert found.ids[found.ids >= 0].tolist() == [graph.indices[row]]
    pairs = thresher.pairs(vectors, **{limit: float(np.median(graph.data))}, metric=metric)
    np.testing.assert_array_equal(pairs.scores64.astype(np.float32), pairs.scores)
    for at in range(0, len(pairs), len(pairs) // 4):
        again = thresher.pairs(vectors, **{limit: pairs.scores64[at]}, metric=metric)
        assert ((again.a == pairs.a[at]) & (again.b == pairs.b[at])).sum() == 1


def test_components(vectors):
    found = thresher.pairs(vectors, 0.9, metric="cosine")
    count, labels = sparse.csgraph.connected_components(found.matrix(), directed=False)
    ours = found.components()
    assert len(np.unique(ours)) == count == found.keep().sum()
    assert len(np.unique(np.stack([ours, labels]), axis=1).T) == count
    assert (ours <= np.arange(1500)).all()


@pytest.mark.parametrize(("metric", "limit"), [("cosine", {"min_score": 0.9}), ("l2", {"max_distance": 2.5})])
def test_pairs_are_shown_in_a_line(vectors, metric, limit):
    name, value = next(iter(limit.items()))
    said = repr(thresher.pairs(vectors[:50], metric=metric, **limit))
    assert said.endswith(f"of 50 x 50 rows, {metric}, {name} {value:g}; exact: no pair is missing>")


def test_pairs_of_two_tables(vectors, queries):
    found = thresher.pairs(vectors, 0.9, queries, metric="cosine")
    _, scores = best(queries, vectors, 1500, "cosine")
    assert len(found) == (scores >= 0.9).sum() and found.shape == (1500, 30)
    assert found.b.max() < 30
    with pytest.raises(ValueError, match="two tables"):
        found.components()


def test_the_order_of_a_graph(vectors):
    pytest.importorskip("scipy")
    by_score = thresher.knn_graph(vectors, 5, metric="l2", distances=True)
    by_column = thresher.knn_graph(vectors, 5, metric="l2", distances=True, sort="column")
    assert (np.diff(by_score.data.reshape(-1, 5)) >= 0).all() and not by_score.has_sorted_indices
    assert (np.diff(by_column.indices.reshape(-1, 5)) > 0).all() and by_column.has_sorted_indices
    assert (by_score != by_column).nnz == 0
    with pytest.raises(ValueError, match="sort: 'row' is none of 'score', 'column'"):
        thresher.knn_graph(vectors, 5, metric="l2", sort="row")
