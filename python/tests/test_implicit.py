import inspect

import numpy as np
import pytest

pytest.importorskip("implicit")
sparse = pytest.importorskip("scipy.sparse")

import implicit.als  # noqa: E402
from implicit.cpu.topk import topk as theirs  # noqa: E402

import thresher  # noqa: E402
from thresher.implicit import recommend, topk  # noqa: E402


@pytest.fixture(scope="module")
def factors():
    rng = np.random.default_rng(5)
    return rng.standard_normal((800, 32)).astype(np.float32), rng.standard_normal((60, 32)).astype(np.float32)


@pytest.fixture(scope="module")
def seen():
    return sparse.random(60, 800, 0.1, "csr", dtype=np.float32, random_state=6)


def agree(ours, right):
    np.testing.assert_array_equal(ours[0], right[0])
    np.testing.assert_allclose(ours[1], right[1], rtol=1e-4)


def test_as_implicits(factors, seen):
    items, users = factors
    norms = np.linalg.norm(items, axis=1)
    for settings in (
        {},
        {"filter_query_items": seen},
        {"filter_items": [1, 5, 700]},
        {"filter_query_items": seen, "filter_items": np.arange(400)},
        {"item_norms": norms},
    ):
        agree(topk(items, users, 10, method="exact", **settings), theirs(items, users, 10, **settings))
    with thresher.Index(items, metric="ip") as index:
        agree(topk(index, users, 10, method="exact"), theirs(items, users, 10))


def test_fewer_items_than_asked_for(factors):
    items, users = factors
    ids, scores = topk(items, users, 5, filter_items=np.arange(797))
    assert (ids[:, 3:] == -1).all() and (scores[:, 3:] == -np.finfo(np.float32).max).all()
    assert set(ids[0, :3]) == {797, 798, 799}


def test_recommend():
    watched = sparse.random(70, 120, 0.2, "csr", dtype=np.float32, random_state=7)
    model = implicit.als.AlternatingLeastSquares(factors=16, iterations=2, random_state=1)
    model.fit(watched, show_progress=False)
    users = np.array([3, 9, 40])
    agree(recommend(model, users, watched[users], N=6), model.recommend(users, watched[users], N=6))
    agree(recommend(model, 9, watched[9], N=6), model.recommend(9, watched[9], N=6))
    liked = {"filter_already_liked_items": False}
    agree(recommend(model, users, None, N=6, **liked), model.recommend(users, None, N=6, **liked))
    agree(
        recommend(model, users, watched[users], filter_items=[2]),
        model.recommend(users, watched[users], filter_items=[2]),
    )
    again = {"recalculate_user": True}
    agree(recommend(model, users, watched[users], **again), model.recommend(users, watched[users], **again))
    agree(recommend(model, 9, watched[9], **again), model.recommend(9, watched[9], **again))
    few = np.array([90, 4, 17, 60, 33])
    agree(recommend(model, users, None, items=few, **liked), model.recommend(users, None, items=few, **liked))
    ids, scores = recommend(model, users, watched[users], items=few)
    right, theirs = model.recommend(users, watched[users], items=few)
    some = theirs > -1e38  # where nothing is left, implicit names an item, and thresher none
    assert not some.all() and (ids[~some] == -1).all()
    agree((ids[some], scores[some]), (right[some], theirs[some]))
    with pytest.raises(ValueError, match="items: with filter_items"):
        recommend(model, users, watched[users], items=few, filter_items=[1])


def test_arguments_are_those_of_implicit():
    ours = list(inspect.signature(topk).parameters)
    assert ours[:7] == ["items", "query", "k", "item_norms", "filter_query_items", "filter_items", "num_threads"]
    with pytest.raises(ValueError, match="item_norms: with an Index"):
        topk(thresher.Index(np.eye(3), metric="ip"), np.eye(3), 1, item_norms=np.ones(3))
    with pytest.raises(ValueError, match="item_norms: shape"):
        topk(np.eye(3), np.eye(3), 1, item_norms=np.ones(2))
