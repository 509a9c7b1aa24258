"""Results of thresher, given back as answers: each is taken by recall, certify, verify and report."""

import numpy as np
import pytest

import thresher


@pytest.fixture(scope="module")
def sets():
    rng = np.random.default_rng(11)
    return rng.standard_normal((300, 16), dtype=np.float32), rng.standard_normal((6, 16), dtype=np.float32)


@pytest.fixture(scope="module", params=["rows", "texts"])
def index(request, sets):
    ids = None if request.param == "rows" else [f"v{i}" for i in range(300)]
    with thresher.Index(sets[0], ids, metric="l2", columns={"even": [i % 2 == 0 for i in range(300)]}) as index:
        yield index


def test_certified(index, sets):
    _, queries = sets
    found = index.search(queries, 5)
    certified = thresher.certify(found, index, queries)
    assert thresher.verify(certified, index, queries)
    assert thresher.recall(certified, index, queries).recall == 1
    assert thresher.certify(certified, index, queries).right == 6
    made = thresher.report(index, queries, {"a": certified, "b": found}, sample=0)
    assert [a["recall"] for a in made.figures["answers"]] == [1, 1]
    certified.result.rows[2, 0] = certified.result.rows[2, 4]  # held to its certificates
    assert thresher.verify(certified, index, queries).wrong.tolist() == [False, False, True, False, False, False]


def test_range_result(index, sets):
    _, queries = sets
    near = np.sort(index.search(queries, 9).scores64, axis=1)[np.arange(6), [2, 8, 4, 0, 3, 1]]
    found = index.range_search(queries, near)
    assert found.counts.tolist() == [3, 9, 5, 1, 4, 2]
    checked = thresher.verify(found, index, queries, max_distance=near)
    assert checked, checked.summary()
    farther = near.copy()
    farther[1] = index.search(queries[1:2], 10).scores64[0, 9] + 1e-3  # the longest answer lacks the tenth
    assert thresher.verify(found, index, queries, max_distance=farther).wrong.tolist() == [False, True] + [False] * 4
    with pytest.raises(ValueError, match="min_score, max_distance: neither is given"):
        thresher.verify(found, index, queries)
    limited = index.range_search(queries, near, limit=3)
    assert limited.limited.tolist() == [True, True, True, False, True, False]  # those that have three
    assert thresher.verify(limited, index, queries, max_distance=near)
    np.testing.assert_allclose(thresher.recall(found, index, queries, 1).per_query, 1)
    certified = thresher.certify(found, index, queries, 9)
    assert certified.missing == 54 - 24
    made = thresher.report(index, queries, found, k=1, sample=0)
    assert made.figures["answers"][0]["recall"] == 1


def test_results_of_files_without_rows(index, sets, tmp_path):
    _, queries = sets
    found = index.search(queries, 4)
    found.save(tmp_path / "found.csv")
    read = thresher.merge([tmp_path / "found.csv"], 4)
    assert thresher.recall(read, index, queries).recall == 1
    assert thresher.verify(read, index, queries)
    read.rows[:] = -1  # as merge leaves rows that it does not know
    if index.ids.dtype.kind == "U":
        assert thresher.recall(read, index, queries).recall == 1
        assert thresher.verify(read, index, queries)


def test_the_answer_to_one_query_is_refused(index, sets):
    _, queries = sets
    with pytest.raises(TypeError, match="answers: an Answer is the one to a single query; give the Result"):
        thresher.verify(index.search(queries, 3)[0], index, queries[:1])


def test_row_numbers_of_an_index_whose_ids_are_texts(sets):
    vectors, queries = sets
    ids = np.array([f"v{i}" for i in range(300)])
    scores, rows = thresher.knn(queries, vectors, 4, metric="l2")
    with thresher.Index(vectors, ids, metric="l2") as index:
        said = "is given as an id, and the ids of the index are texts, such as 'v0'; row numbers are no ids: give index"
        for given in (rows, (scores, rows)):
            with pytest.raises(TypeError, match=f"answers: [0-9]+ {said}"):
                thresher.report(index, queries, given)
        assert thresher.report(index, queries, (scores, index.ids[rows])).figures["answers"][0]["recall"] == 1
    with (
        thresher.Index(vectors, np.arange(7, 307), metric="l2") as index,
        pytest.raises(
            TypeError, match=r"answers: 'v[0-9]+' is given as an id, and the ids of the index are integers, such as 7"
        ),
    ):
        thresher.recall(ids[rows], index, queries)


@pytest.mark.parametrize(
    ("filter", "said"),
    [
        ("even", "allows 150 of the 300 vectors"),
        (np.arange(300) < 40, "allows 40 of the 300 vectors"),
        ([None, "even", "even", None, "even", None], "of each query"),
    ],
)
def test_summaries_say_the_filter(index, sets, filter, said):
    _, queries = sets
    line = f"filter     {said}"
    found = index.search(queries, 3, filter=filter)
    title = f"l2, filter {said}. "
    ranged = index.range_search(queries, 20.0, filter=filter)
    certified = thresher.certify(found, index, queries, filter=filter)
    for result in (found, ranged, certified.result):
        assert result.summary().splitlines()[1] == line
        assert title in repr(result) and title in result._repr_html_()
    for judged in (certified, thresher.recall(found, index, queries, filter=filter),
                   thresher.verify(found, index, queries, filter=filter)):  # fmt: skip
        assert line in judged.summary().splitlines()
    assert "filter" not in index.search(queries, 3).summary() + repr(index.search(queries[:1], 3))


def test_one_query_with_a_list_of_ids(sets):
    vectors, queries = sets
    with thresher.Index(vectors, metric="ip") as index:
        found = index.search(queries[:1], 2, filter=[5, 9, 5, 200])
    assert "filter     allows 3 of the 300 vectors" in found.summary()
