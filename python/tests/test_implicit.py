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


def test_arguments_are_those_of_implicit():
    ours = list(inspect.signature(topk).parameters)
    assert ours[:7] == ["items", "query", "k", "item_norms", "filter_query_items", "filter_items", "num_threads"]
    with pytest.raises(ValueError, match="item_norms: with an Index"):
        topk(thresher.Index(np.eye(3), metric="ip"), np.eye(3), 1, item_norms=np.ones(3))
    with pytest.raises(ValueError, match="item_norms: shape"):
        topk(np.eye(3), np.eye(3), 1, item_norms=np.ones(2))


def test_matrices_of_other_widths(factors, seen):
    """Of before items were added, and of an item more that nobody has seen."""
    items, users = factors
    for width in (700, 900):
        other = seen.copy()
        other.resize(60, width)
        settings = {"filter_query_items": other}
        agree(topk(items, users, 10, method="exact", **settings), theirs(items, users, 10, **settings))
    with pytest.raises(IndexError, match="filter_query_items: row 2: item 850 is not among the 800 items"):
        topk(items, users, 10, filter_query_items=sparse.csr_matrix(([1.0], [850], [0, 0, 0] + [1] * 58), (60, 900)))


@pytest.fixture(scope="module")
def model():
    watched = sparse.random(70, 120, 0.2, "csr", dtype=np.float32, random_state=7)
    model = implicit.als.AlternatingLeastSquares(factors=16, iterations=2, random_state=1)
    model.fit(watched, show_progress=False)
    return model, watched


def test_recommend_among_items_and_for_new_users(model):
    model, watched = model
    users, some = np.array([3, 9, 40]), [100, 3, 17, 5, 60, 61, 62, 99, 119, 0]
    new = sparse.random(3, 120, 0.3, "csr", dtype=np.float32, random_state=9)
    for settings in (
        {"items": some, "filter_already_liked_items": False},
        {"items": some, "N": 3},
        {"recalculate_user": True},
        {"recalculate_user": True, "items": some, "N": 2},
    ):
        given = {"N": 6, **settings}
        agree(recommend(model, users, new, method="exact", **given), model.recommend(users, new, **given))
        agree(recommend(model, 9, new[1], method="exact", **given), model.recommend(9, new[1], **given))
    with thresher.Index(model.item_factors, metric="ip") as index:
        agree(
            recommend(model, users, watched[users], 4, items=np.array(some), index=index, method="exact"),
            model.recommend(users, watched[users], 4, items=np.array(some)),
        )
    all_but_one = sparse.csr_matrix(np.isin(np.arange(120), some[1:])[None, :] * 1.0)
    agree(recommend(model, 3, all_but_one, items=some), model.recommend(3, all_but_one, items=some))


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_items_that_users_have_seen_where_others_are_too_few(count):
    """Which of them implicit shows, and in which order."""
    watched = sparse.random(60, 40, 0.4, "csr", dtype=np.float32, random_state=1)
    model = implicit.als.AlternatingLeastSquares(factors=16, iterations=3, random_state=0)
    model.fit(watched, show_progress=False)
    users, some = np.arange(60), [13, 3, 1, 8, 5]
    agree(
        recommend(model, users, watched, count, items=some, method="exact"),
        model.recommend(users, watched, count, items=some),
    )


def test_recommend_says_what_is_wrong(model):
    model, watched = model
    for given, settings, error, text in (
        ((3, watched[3]), {"items": [1], "filter_items": [2]}, ValueError, "filter_items: items is given, too"),
        ((3, watched[3]), {"items": [1, 120]}, IndexError, "items: 120 is not in the model, which has 120 items"),
        ((3, watched[3]), {"items": [-1]}, IndexError, "items: -1 is not in the model"),
        ((3, watched[3]), {"filter_items": [2, -1]}, ValueError, "filter_items: id -1"),  # of implicit the last item
        ((3, watched[3]), {"items": []}, ValueError, "items: .* one or more item numbers"),
        ((3, watched[:2]), {}, ValueError, "user_items: 2 rows for 1 users"),
        (([3, 4], watched[3]), {"recalculate_user": True}, ValueError, "user_items: 1 rows for 2 users"),
        ((3, None), {}, ValueError, "user_items: a CSR matrix"),
    ):
        with pytest.raises(error, match=text):
            recommend(model, *given, **settings)
