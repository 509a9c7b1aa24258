"""Pages about answers."""

import numpy as np
import pytest

import thresher


@pytest.fixture(scope="module")
def sets():
    rng = np.random.default_rng(7)
    return rng.standard_normal((500, 16), dtype=np.float32), rng.standard_normal((40, 16), dtype=np.float32)


def test_the_figures_are_those_of_recall(sets, tmp_path):
    vectors, queries = sets
    scores, ids = thresher.knn(queries, vectors, 5, metric="l2")
    worse = ids.copy()
    worse[::4, 0] = -1
    made = thresher.report(
        vectors, queries, {"mine": (scores, ids), "worse": worse}, metric="l2", seconds={"worse": 0.04},
        show=[f"vector {i}" for i in range(500)], show_queries=[f"query {j}" for j in range(40)], sample=0,
    )  # fmt: skip
    mine, other = made.figures["answers"]
    assert (mine["name"], mine["recall"], other["name"]) == ("mine.npz", 1.0, "worse.npz")
    wanted = thresher.recall(worse, vectors, queries, metric="l2")
    assert (other["recall"], other["recall_low"], other["recall_high"]) == (wanted.recall, wanted.low, wanted.high)
    assert other["seconds_per_query"] == 0.001 and "seconds_per_query" not in mine
    missed = other["missed"][0]
    assert missed["shown"]["text"] == f"query {missed['query']}"
    assert missed["lacked"][0]["shown"]["text"] == f"vector {ids[missed['query'], 0]}"
    assert "worse.npz" in made.html and "<svg" in made.html and "worse" in repr(made)
    assert made._repr_html_().startswith("<iframe") and "&lt;svg" in made._repr_html_()
    path = tmp_path / "r.html"
    made.save(path)
    assert path.read_text(encoding="utf-8") == made.html
    with pytest.raises(FileExistsError, match="exists"):
        made.save(path)
    with pytest.raises(ValueError, match=r"does not end in \.html"):
        made.save(tmp_path / "r.txt")


def test_an_index_with_ids(sets):
    vectors, queries = sets
    names = np.array([f"v{i}" for i in range(500)])
    with thresher.Index(vectors, names, metric="ip", columns={"title": [f"t{i}" for i in range(500)]}) as index:
        found = index.search(queries, 3)
        made = thresher.report(index, queries, found.ids, show="title")
        assert made.figures["answers"][0]["recall"] == 1.0
        wrong = np.roll(found.ids, 1, axis=0)
        missed = thresher.report(index, queries, wrong, show="title").figures["answers"][0]["missed"][0]
        assert missed["lacked"][0]["shown"]["text"] == "t" + missed["lacked"][0]["id"][1:]
        with pytest.raises(TypeError, match="show: an Index has columns"):
            thresher.report(index, queries, found.ids, show=["a"] * 500)


def test_bad_arguments(sets):
    vectors, queries = sets
    ids = np.zeros((40, 2), np.int64)
    for error, says, given in [
        (ValueError, "answers: 'a/b' is no name", {"answers": {"a/b": ids}}),
        (ValueError, "seconds: 'b' is none of the answers a", {"answers": {"a": ids}, "seconds": {"b": 1.0}}),
        (ValueError, "show_queries: 1 for 40 queries", {"answers": ids, "show_queries": ["x"]}),
        (ValueError, "--pixels 3x3: 9 values", {"answers": ids, "pixels": "3x3"}),
        (ValueError, "answers: 39 for 40 queries", {"answers": ids[1:]}),
    ]:
        with pytest.raises(error, match=says):
            thresher.report(vectors, queries, metric="ip", **given)
