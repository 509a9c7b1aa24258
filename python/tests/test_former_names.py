"""Former names are taken beside the present ones, with a warning, and not together with them."""

import numpy as np
import pytest

import thresher


def test_limits_of_range_searches(vectors, queries):
    for metric, name, other, limit in (
        ("l2", "max_distance", "min_score", 60.0),
        ("ip", "min_score", "max_distance", 2.0),
    ):
        with thresher.Index(vectors, metric=metric) as index:
            named = index.range_search(queries, **{name: limit})
            np.testing.assert_array_equal(named.rows, index.range_search(queries, limit).rows)
            assert len(named.rows) > 0
            with pytest.warns(DeprecationWarning, match=f"threshold is called {name} by metric '{metric}'") as told:
                before = index.range_search(queries, threshold=limit)
            assert told[0].filename == __file__
            np.testing.assert_array_equal(named.rows, before.rows)
            with pytest.raises(ValueError, match=rf"{other}: the metric is '{metric}', .*: {name} says it"):
                index.range_search(queries, **{other: limit})
            with pytest.raises(ValueError, match=f"threshold: {name} is given, too"):
                index.range_search(queries, threshold=limit, **{name: limit})
            with pytest.raises(ValueError, match=f"{name}: {name} is given, too"):
                index.range_search(queries, limit, **{name: limit})
            with pytest.raises(TypeError, match=f"{name}: says which vectors are wanted"):
                index.range_search(queries)
            with pytest.raises(TypeError, match="2 limits by position"):
                index.range_search(queries, limit, limit)


def test_pairs(vectors):
    named = thresher.pairs(vectors, max_distance=20.0, metric="l2")
    with pytest.warns(DeprecationWarning, match="min_score is called max_distance by metric 'l2'") as told:
        before = thresher.pairs(vectors, 20.0, metric="l2")
    assert told[0].filename == __file__
    np.testing.assert_array_equal(named.a, before.a)
    with pytest.raises(ValueError, match=r"max_distance: the metric is 'cosine', .*: min_score says it"):
        thresher.pairs(vectors, max_distance=0.5, metric="cosine")
    with (
        pytest.raises(ValueError, match="max_pairs: "),
        pytest.warns(DeprecationWarning, match="most is called max_pairs"),
    ):
        thresher.pairs(np.ones((9, 3)), 1, most=2, metric="ip")
    with pytest.raises(ValueError, match="most: max_pairs is given, too"):
        thresher.pairs(np.ones((9, 3)), 1, most=2, max_pairs=3, metric="ip")


def test_graphs(vectors):
    for join, name in (("union", "symmetric"), ("mutual", "mutual")):
        named = thresher.knn_graph(vectors[:200], 3, metric="ip", **{name: True})
        with pytest.warns(DeprecationWarning, match=f"join='{join}' is called {name}=True"):
            before = thresher.knn_graph(vectors[:200], 3, metric="ip", join=join)
        assert (named != before).nnz == 0
        with pytest.raises(ValueError, match=f"join: {name} is given, too"):
            thresher.knn_graph(vectors[:200], 3, metric="ip", join=join, **{name: True})
    with pytest.raises(ValueError, match="mutual: symmetric is given, too"):
        thresher.knn_graph(vectors[:200], 3, metric="ip", symmetric=True, mutual=True)


def test_partial_answers(vectors, queries):
    with thresher.Index(vectors, metric="ip") as index:
        found = thresher.verify(index.search(queries, 2), index, queries)
    with pytest.warns(DeprecationWarning, match="partial is called unfinished"):
        assert found.partial == found.unfinished == 0


def test_guarantees(vectors, queries):
    with thresher.Index(vectors, metric="ip") as index:
        found = index.search(queries, 2)
    with pytest.warns(DeprecationWarning, match="guarantees is called guarantee") as told:
        assert (found.guarantees == found.guarantee).all()
    assert told[0].filename == __file__


def test_verify_compares_scores_in_float64(vectors, queries):
    for metric in ("ip", "cosine", "l2"):
        with thresher.Index(vectors, metric=metric) as index:
            result = index.search(queries, 3)
            assert thresher.verify(result, index, queries)
            result.scores64[7, 1] *= 1 + 1e-11
            found = thresher.verify(result, index, queries)
        assert np.flatnonzero(found.wrong).tolist() == [7] and "in float64" in found.defects[0]["what"]
