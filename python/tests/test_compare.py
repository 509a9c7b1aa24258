"""recall, certify, verify."""

import numpy as np
import pytest

import thresher
from conftest import best


@pytest.fixture(scope="module")
def right(vectors, queries):
    return best(queries, vectors, 5)[0]


@pytest.fixture(scope="module")
def poor(right, vectors, queries):
    """Answers of which every third lacks its best vector."""
    ids = right.copy()
    ids[::3, 0] = best(queries, vectors, 6)[0][::3, 5]
    return ids


def test_recall(right, poor, vectors, queries):
    full = thresher.recall(right, vectors, queries, metric="ip")
    assert full.recall == float(full) == 1 and full.complete == 30 and full.k == 5
    less = thresher.recall(poor, vectors, queries, metric="ip")
    assert less.recall == pytest.approx(1 - 10 / 150) and less.complete == 20
    assert less.low <= less.recall <= less.high
    np.testing.assert_allclose(less.per_query, np.where(np.arange(30) % 3, 1, 0.8))
    assert less.missed(0).tolist() == [right[0, 0]] and less.missed(1).tolist() == []
    assert "recall     0.9333" in less.summary()
    assert thresher.recall(poor[:, 1:], vectors, queries, 4, metric="ip").k == 4


def test_recall_says_why(right, poor, vectors, queries):
    assert thresher.recall(right, vectors, queries, metric="ip").reasons is None
    less = thresher.recall(poor, vectors, queries, metric="ip")
    assert less.reasons == [] and "why        not known" in less.summary()
    moved = thresher.recall(np.minimum(right, 1498) + 1, vectors, queries, metric="ip")
    (why,) = moved.reasons
    assert why["kind"] == "shifted" and why["queries"] == why["of"] == 30 and why["recall"] > 0.99
    assert "why        each vector is 1 row after the right one: the ids seem to count from 1 (expl" in moved.summary()
    (why,) = thresher.recall(right, vectors, queries, metric="l2").reasons
    assert why["kind"] == "metric" and "the best by inner product" in why["text"]
    with pytest.raises(ValueError, match="the vectors are 0 to 1499; each vector is 1500 rows after the right one"):
        thresher.recall(right + 1500, vectors, queries, metric="ip")
    with pytest.raises(ValueError, match="the vectors are 0 to 1499; each vector is 1500 rows after the right one"):
        thresher.certify(right + 1500, vectors, queries, metric="ip")


def test_answers_with_texts_of_vectors_without_ids(vectors, queries):
    hits = [[{"id": "c0ffee", "score": 1.0}]] * len(queries)
    with pytest.raises(TypeError, match=r"answers: values are <U6, such as 'c0ffee', .*ids=\.\."):
        thresher.recall(hits, vectors, queries, metric="ip")


def test_what_judges_is_shown_in_a_line(right, vectors, queries):
    said = repr(thresher.recall(right, vectors, queries, metric="ip"))
    assert said.startswith("<thresher.Recall 1.0000, 95% ") and said.endswith(f"{len(queries)} answers lack nothing>")
    poor = right.copy()
    poor[3, 0] = poor[3, 1]
    made = thresher.certify(poor, vectors, queries, metric="ip")
    said = repr(made)
    assert said.startswith("<thresher.Certified: 29 of 30 answers given were right, recall 0.99") and "\n" not in said
    assert said.endswith(f"; {made.result!r}>")
    assert (
        repr(thresher.verify(made.result, vectors, queries, metric="ip"))
        == "<thresher.Verification of 30 answers: 0 wrong>"
    )


def test_recall_checks_scores(right, vectors, queries):
    _, scores = best(queries, vectors, 5)
    stated = scores.astype(np.float32)
    stated[4, 2] += 1
    report = thresher.recall(right, vectors, queries, scores=stated, metric="ip").report
    assert report["scores"]["wrong"] == 1 and report["scores"]["stated"] == 150


def test_recall_of_a_result_and_padding(vectors, queries, right):
    with thresher.Index(vectors, ids=np.arange(1500) + 100, metric="ip") as index:
        assert thresher.recall(index.search(queries, 5, method="certain"), index, queries).recall == 1
        padded = np.where(np.arange(5) < 3, right + 100, -1)
        found = thresher.recall(padded, index, queries)
        assert found.recall == pytest.approx(0.6)
        assert found.missed(2).tolist() == (right[2, 3:] + 100).tolist()


def test_recall_as_faiss_counts(vectors, queries):
    faiss = pytest.importorskip("faiss")
    ivf = faiss.index_factory(48, "IVF16,Flat", faiss.METRIC_INNER_PRODUCT)
    ivf.train(vectors)
    ivf.add(vectors)
    scores, ids = ivf.search(queries, 5)
    truth = faiss.knn(queries, vectors, 5, metric=faiss.METRIC_INNER_PRODUCT)[1]
    same = np.mean([len(set(a) & set(b)) / 5 for a, b in zip(ids, truth, strict=True)])
    assert thresher.recall(ids, vectors, queries, scores=scores, metric="ip").recall == pytest.approx(same)


def test_certify(right, poor, vectors, queries):
    proven = thresher.certify(poor, vectors, queries, metric="ip")
    np.testing.assert_array_equal(proven.result.ids, right)
    assert proven.recall == pytest.approx(1 - 10 / 150) and proven.right == 20 and proven.missing == 10
    assert set(proven.result.certificates["guarantee"]) <= {"certain", "exact"}
    assert proven.missed(0).tolist() == [right[0, 0]]
    text = proven.summary()
    assert "20 of 30 answers were right" in text and "10 answers, which lacked 10" in text


def test_the_query_itself_is_not_wanted(vectors):
    with thresher.Index(vectors, metric="l2") as index:
        own = index.search(vectors[:30], 6, method="certain").ids
        assert (own[:, 0] == np.arange(30)).all()
        found = thresher.recall(own, index, vectors[:30], 5, exclude_self=True)
        assert found.recall == 1 and found.complete == 30
        proven = thresher.certify(own, index, vectors[:30], 5, exclude_self=True)
        np.testing.assert_array_equal(proven.result.ids, own[:, 1:])
        assert proven.recall == 1 and proven.right == 0 and proven.report["unwanted"] == 30
        assert "30 answers, which lacked 0 vectors and held 30 that may not be returned" in proven.summary()
        lacking = thresher.recall(own[:, :5], index, vectors[:30], exclude_self=True)
        assert lacking.recall == pytest.approx(0.8) and lacking.missed(3).tolist() == [own[3, 5]]


def test_names_of_the_reports(right, poor, vectors, queries):
    report = thresher.recall(poor, vectors, queries, metric="ip").report
    assert {"metric", "method", "plan", "took_ms", "queries", "recall", "recall_low", "ranks"} <= set(report)
    counts = {"compared": 30, "right": 20, "missed": 10, "unwanted": 0}
    assert counts.items() <= thresher.certify(poor, vectors, queries, metric="ip").report.items()
    checked = thresher.verify(poor, vectors, queries, metric="ip")
    assert checked.report["wrong"] == 10 and checked.report["checked"] == 30 and checked.report["k"] == 5
    assert checked.report["metric"] == "ip" and len(checked.defects) == 10
    assert checked.defects[0]["query"] == 0 and f"lacks vector {right[0, 0]}, better by" in checked.defects[0]["what"]


def test_verify(right, poor, vectors, queries):
    with thresher.Index(vectors, metric="ip") as index:
        result = index.search(queries, 5, method="certain")
        good = thresher.verify(result, index, queries)
        assert good and not good.wrong.any() and "wrong      0" in good.summary()
        bad = thresher.verify(poor, index, queries)
        assert not bad
        np.testing.assert_array_equal(bad.wrong, np.arange(30) % 3 == 0)
        assert (bad.gaps[::3] > 0).all()
        twice = right.copy()
        twice[7] = twice[7, 0]
        malformed = thresher.verify(twice, index, queries)
        assert malformed.wrong.sum() == 1 and malformed.defects[0]["query"] == 7
        assert "query 7" in malformed.summary()


def test_verify_what_was_asked_for(vectors, queries):
    with thresher.Index(vectors, metric="cosine") as index:
        wanted = {
            "k": np.arange(30) % 3 + 1,
            "max_score": 0.95,
            "min_score": 0.1,
            "exclude": [[j, j + 1] for j in range(30)],
            "filter": np.arange(1500) % 5 > 0,
        }
        result = index.search(queries, method="certain", **wanted)
        assert thresher.verify(result, index, queries, **wanted)
        assert not thresher.verify(result, index, queries, k=wanted["k"])


def test_verify_finds_partial_answers_honest(vectors, queries):
    with thresher.Index(vectors, metric="ip") as index:
        many = np.repeat(queries, 50, axis=0)
        result = index.search(many, 5, deadline=1e-9)
        assert not result.complete.any() and set(result.guarantee) == {"bound"}
        assert set(result.certificates["stopped_by"]) == {"deadline"} and "partial" in result.summary()
        assert "none wrong" not in result.summary()
        found = thresher.verify(result, index, many)
        assert not found and not found.wrong.any() and found.unfinished == len(many)
        assert f"unfinished {len(many)}" in found.summary()


def test_lists_of_different_lengths(vectors, queries, right):
    names = [f"v{i}" for i in range(len(vectors))]
    padded = right.copy()
    padded[::3, 4], padded[1, :] = -1, -1
    lists = [row[row >= 0].tolist() for row in padded]
    scores = [(vectors[row] @ queries[j]).tolist() for j, row in enumerate(lists)]
    by_name = [[names[row] for row in found] for found in lists]
    objects = np.empty(len(lists), object)
    objects[:] = [np.array(found, int) for found in lists]
    wanted = thresher.recall(padded, vectors, queries, metric="ip")
    with thresher.Index(vectors, names, metric="ip") as index:
        for given in (lists, tuple(lists), [np.array(found, int) for found in lists], objects):
            for stated in (None, scores):
                found = thresher.recall(given, vectors, queries, scores=stated, metric="ip")
                np.testing.assert_array_equal(found.per_query, wanted.per_query)
                assert stated is None or found.report["scores"]["wrong"] == 0
                checked = thresher.verify(given, vectors, queries, scores=stated, metric="ip")
                np.testing.assert_array_equal(checked.wrong, (padded < 0).any(axis=1))
        np.testing.assert_array_equal(thresher.recall(by_name, index, queries).per_query, wanted.per_query)
        np.testing.assert_array_equal(thresher.certify(by_name, index, queries).result.rows, right)
    with pytest.raises(ValueError, match=r"scores: query 2 has 4, and 5 answers"):
        thresher.recall(lists, vectors, queries, scores=[*scores[:2], scores[2][:4], *scores[3:]], metric="ip")
    with pytest.raises(TypeError, match=r"answers: query 1 has 7, expected a list"):
        thresher.recall([lists[0], 7], vectors, queries[:2], metric="ip")
    with pytest.raises(ValueError, match=r"answers: id -7"):
        thresher.recall([[1, -7], [2]], vectors, queries[:2], metric="ip")
    with pytest.raises(TypeError, match=r"answers: values are object"):
        thresher.recall([[1.5, 2], [2]], vectors, queries[:2], metric="ip")
    for odd in ("0.5", True):
        with pytest.raises(TypeError, match=rf"scores: {odd!r}, expected a number"):
            thresher.recall([[1, 2], [2]], vectors, queries[:2], scores=[[0.5, 1], [odd]], metric="ip")
