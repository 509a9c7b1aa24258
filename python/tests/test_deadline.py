"""What a deadline leaves: every answer says whether it is complete, and nothing claims more of it."""

import numpy as np
import pytest

import thresher

K = 5


@pytest.fixture(scope="module")
def many(queries):
    """Return queries whose search takes longer than a millisecond on any machine."""
    return np.tile(queries, (700, 1))


@pytest.fixture(scope="module")
def index(vectors):
    with thresher.Index(vectors, metric="ip") as made:
        yield made


def test_knn_raises_with_what_it_found(index, many):
    with pytest.raises(thresher.DeadlineExceeded, match=f"of {len(many)} answers") as raised:
        thresher.knn(many, index, K, metric="ip", method="exact", deadline=1e-9)
    result = raised.value.result
    assert isinstance(result, thresher.Result) and len(result) == len(many)
    assert not result.complete.all()
    assert set(result.guarantee[~result.complete]) == {"bound"}
    assert set(result.guarantee[result.complete]) <= {"exact"}


def test_knn_raises_before_there_is_a_result(many, vectors):
    with pytest.raises(thresher.DeadlineExceeded) as raised:
        thresher.knn(many, np.tile(vectors, (20, 1)), K, metric="ip", deadline=1e-9)
    assert raised.value.result is None


@pytest.mark.parametrize("method", ["exact", "certain", "adaptive", "auto"])
def test_stopped_answers_are_not_called_right(index, many, method):
    result = index.search(many, K, method=method, deadline=1e-9)
    assert not result.complete.any() and set(result.guarantee) == {"bound"}
    assert set(result.certificates["guarantee"]) == {"bound"}
    assert np.isfinite(result.certificates["open_bound"]).all()
    assert "bound" in result.summary() and "none wrong" not in result.summary()
    ranged = index.range_search(many, 10.0, method=method, deadline=1e-9)
    assert not ranged.complete.any() and set(ranged.guarantee) == {"bound"}


def test_unpacking_warns(index, queries):
    with pytest.warns(RuntimeWarning, match=f"stopped {len(queries)} of {len(queries)} answers"):
        _, _ = index.search(queries, K, deadline=1e-9)
    with pytest.warns(RuntimeWarning, match="stopped"):
        _, _, _ = index.range_search(queries, 1.0, deadline=1e-9)


def test_complete_answers_say_so(index, queries):
    result = index.search(queries, K, method="certain")
    assert result.complete.all() and set(result.guarantee) <= {"exact", "certain"}
    assert thresher.verify(result, index, queries)


def test_certify_keeps_what_it_did_not_finish(index, vectors, many):
    right = index.search(many, K, method="exact")
    done = thresher.certify(right, index, many, deadline=1e-9)
    kept = ~done.result.complete
    np.testing.assert_array_equal(done.result.ids, right.ids)
    np.testing.assert_array_equal(done.result.scores, right.scores)
    assert kept.any() and done.report["kept"] == kept.sum()
    assert set(done.result.guarantee[kept]) == {"bound"}
    assert np.isnan(done.per_query[kept]).all() and not np.isnan(done.per_query[~kept]).any()
    assert "none wrong" not in done.summary() and f"unproven   {kept.sum()} answers are kept" in done.summary()
    wrong = np.tile(np.arange(K), (len(many), 1))
    poor = thresher.certify(wrong, index, many, deadline=1e-9)
    np.testing.assert_array_equal(poor.result.ids[~poor.result.complete], wrong[~poor.result.complete])


def test_verify_counts_partial_answers(index, many):
    result = index.search(many, K, method="exact", deadline=1e-9)
    found = thresher.verify(result, index, many)
    assert not found.wrong.any() and found.unfinished == len(many) and not found
    assert f"unfinished {len(many)} were stopped early" in found.summary()
