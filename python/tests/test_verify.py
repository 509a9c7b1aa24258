"""verify holds answers to their promise; scores on any scale are compared or left alone."""

import numpy as np
import pytest

import thresher


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).standard_normal((300, 32)).astype("f4")


LUCENE = {
    "cosine": lambda s: (1 + s) / 2,
    "l2": lambda s: 1 / (1 + s),
    "ip": lambda s: np.where(s < 0, 1 / (1 - s), s + 1),
}


def halved(scores):
    return scores.astype(np.float16).astype("f4")


def to_digits(scores):
    return np.round(scores, 4)


@pytest.mark.parametrize("metric", LUCENE)
@pytest.mark.parametrize("short", [np.asarray, halved, to_digits])
def test_scores_of_lucene_are_not_wrong(metric, short, rows):
    queries = rows[:7]
    scores, ids = thresher.knn(queries, rows, 5, metric=metric)
    for of in (LUCENE[metric], lambda s: s):
        stated = short(np.asarray(of(scores), "f4"))
        for found in (
            thresher.recall(ids, rows, queries, scores=stated, metric=metric),
            thresher.certify(ids, rows, queries, scores=stated, metric=metric),
        ):
            assert found.recall == 1
            assert found.report["scores"]["wrong"] == 0
            assert found.report["scores"]["form"] != "on a scale that is not known"
        checked = thresher.verify(ids, rows, queries, scores=stated, metric=metric)
        assert checked
        assert checked.report["scores"]["wrong"] == 0


def test_a_scale_that_is_not_known_is_not_wrong(rows):
    queries = rows[:7]
    scores, ids = thresher.knn(queries, rows, 5, metric="ip")
    strange = np.exp(scores / 10) + 3
    found = thresher.recall(ids, rows, queries, scores=strange, metric="ip")
    assert found.report["scores"] == {"form": "on a scale that is not known", "stated": 35, "wrong": 0}
    assert "on a scale that is not known; none is called wrong" in found.summary()
    assert thresher.verify(ids, rows, queries, scores=strange, metric="ip")
    shifted = thresher.recall(ids[:, ::-1], rows, queries, scores=scores, metric="ip")
    assert "another order" in shifted.report["scores"]["hint"]
    assert "another order" in shifted.summary()
    later = np.minimum(ids + 1, 299)
    assert "count from 1" in thresher.recall(later, rows, queries, scores=scores, metric="ip").report["scores"]["hint"]


def test_one_wrong_score_is_found(rows):
    queries = rows[:7]
    scores, ids = thresher.knn(queries, rows, 5, metric="l2")
    stated = np.sqrt(scores)
    stated[4, 2] *= 1.01
    checked = thresher.verify(ids, rows, queries, scores=stated, metric="l2")
    assert checked.wrong.tolist() == [j == 4 for j in range(7)]
    assert checked.report["scores"]["form"] == "distances"
    assert checked.report["malformed"] == 1


def test_ties_do_not_stand_for_better_vectors():
    vectors = np.array([[2], [3], [2], [2]], "f4")
    queries = np.ones((2, 1), "f4")
    checked = thresher.verify(np.array([[1, 3], [0, 2]]), vectors, queries, metric="ip")
    assert checked.wrong.tolist() == [False, True]
    assert checked.gaps.tolist() == [0, 1]
    copies = np.concatenate([np.full((25, 2), 0.5), np.full((20, 2), 0.66)]).astype("f4")
    assert not thresher.verify(np.arange(25)[None], copies, np.ones((1, 2), "f4"), metric="ip")
    assert thresher.recall(np.arange(25)[None], copies, np.ones((1, 2), "f4"), metric="ip").recall == 0.2


def test_what_certificates_grant_is_said_and_lowered(rows):
    queries = rows[:9]
    with thresher.Index(rows, metric="ip") as index:
        result = index.search(queries, 4, method="certain", epsilon=2.0)
        checked = thresher.verify(result, index, queries)
        assert checked
        assert checked.report["granted"] == {"epsilon": 2, "with_epsilon": 9, "delta": 0, "with_delta": 0}
        assert "epsilon up to 2 (9 answers)" in checked.summary()
        assert thresher.verify(result, index, queries, epsilon=2.0, require="certain")
        for limits in ({"epsilon": 1.9}, {"epsilon": 0}, {"require": "exact"}):
            lower = thresher.verify(result, index, queries, **limits)
            assert lower.wrong.all()
            assert lower.report["exceeding"] == 9
        with pytest.raises(ValueError, match="guarantee"):
            thresher.verify(result, index, queries, guarantee="exact")
        for bad in ({"require": "heuristic"}, {"delta": 1.5}, {"epsilon": -1}):
            with pytest.raises(ValueError, match=next(iter(bad))):
                thresher.verify(result, index, queries, **bad)


def test_ids_alone_are_held_to_what_is_said_of_them(rows):
    queries = rows[:9]
    scores, ids = thresher.knn(queries, rows, 5, metric="ip")
    worse = ids[:, 1:]
    assert thresher.verify(worse, rows, queries, metric="ip").wrong.all()
    gap = float((scores[:, 0] - scores[:, 4]).max()) + 1e-3
    assert thresher.verify(worse, rows, queries, metric="ip", epsilon=gap)
    assert thresher.verify(worse, rows, queries, metric="ip", guarantee="probabilistic").report["failures"] == 9
    with pytest.raises(ValueError, match="guarantee"):
        thresher.verify(worse, rows, queries, metric="ip", guarantee="maybe")


def test_columns_beyond_what_was_asked_for_are_malformed(rows):
    vectors, queries = rows[:8], rows[20:24]
    full = np.argsort(((queries[:, None] - vectors) ** 2).sum(-1), axis=1)
    none = np.full((len(queries), 1), -1)
    assert thresher.verify(full, vectors, queries, metric="l2")
    assert thresher.verify(np.hstack([full, none, none]), vectors, queries, metric="l2")
    for more in (999, 3):
        wide = np.hstack([full, none + 1 + more])
        assert thresher.verify(wide, vectors, queries, metric="l2").wrong.all()
        assert thresher.verify(wide, vectors, queries, k=20, metric="l2").wrong.all()
    assert thresher.verify(np.hstack([full[:, :3], none]), vectors, queries, k=3, metric="l2")
    assert thresher.verify(full[:, :4], vectors, queries, k=3, metric="l2").wrong.all()
    each = thresher.verify(full[:, :4], vectors, queries, k=[3, 4, 4, 3], metric="l2")
    assert each.wrong.tolist() == [True, False, False, True]
    assert each.defects[0]["what"] == "4 vectors where 3 were asked for"


def test_a_score_that_is_nan_is_malformed(rows):
    queries = rows[:4]
    scores, ids = thresher.knn(queries, rows, 5, metric="l2")
    assert thresher.verify(ids, rows, queries, scores=scores, metric="l2")
    assert thresher.verify(ids, rows, queries, scores=scores * np.nan, metric="l2").wrong.all()
    scores[2, 1] = np.nan
    checked = thresher.verify(ids, rows, queries, scores=scores, metric="l2")
    assert checked.wrong.tolist() == [False, False, True, False]
    assert checked.defects[0]["what"].endswith("at rank 2 has the score NaN")
    padded = [np.hstack([table, np.full((4, 1), none)]) for table, none in ((ids, -1), (scores, np.nan))]
    assert thresher.verify(padded[0], rows, queries, k=5, scores=padded[1], metric="l2").wrong.tolist() == [0, 0, 1, 0]
