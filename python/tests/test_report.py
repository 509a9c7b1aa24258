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
    assert (mine["name"], mine["recall"], other["name"]) == ("mine", 1.0, "worse")
    wanted = thresher.recall(worse, vectors, queries, metric="l2")
    assert (other["recall"], other["recall_low"], other["recall_high"]) == (wanted.recall, wanted.low, wanted.high)
    assert other["seconds_per_query"] == 0.001 and "seconds_per_query" not in mine
    missed = other["missed"][0]
    assert missed["shown"]["text"] == f"query {missed['query']}"
    assert missed["lacked"][0]["shown"]["text"] == f"vector {ids[missed['query'], 0]}"
    assert "<svg" in made.html and "worse" in repr(made)
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
        (ValueError, r"answers: 'a\\nb' is no name", {"answers": {"a\nb": ids}}),
        (ValueError, "answers: a: every answer is empty", {"answers": {"a": ids - 1}}),
        (ValueError, "seconds: -1 is not in", {"answers": ids, "seconds": -1}),
        (TypeError, "seconds: 'x', expected a number", {"answers": ids, "seconds": "x"}),
        (ValueError, "k: 20: the longest answer", {"answers": ids, "k": 20}),
        (ValueError, "seconds: 'b' is none of the answers a", {"answers": {"a": ids}, "seconds": {"b": 1.0}}),
        (ValueError, "show_queries: 1 for 40 queries", {"answers": ids, "show_queries": ["x"]}),
        (ValueError, "--pixels 3x3: 9 values", {"answers": ids, "pixels": "3x3"}),
        (ValueError, "answers: 39 for 40 queries", {"answers": ids[1:]}),
    ]:
        with pytest.raises(error, match=says):
            thresher.report(vectors, queries, metric="ip", **given)


def test_files_responses_and_images(sets, tmp_path, monkeypatch):
    vectors, queries = sets
    found = thresher.Index(vectors, metric="l2").search(queries, 3)
    found.save(tmp_path / "a.csv")
    response = {
        "result": [
            [{"id": int(i), "score": float(s)} for i, s in zip(*r, strict=True)]
            for r in zip(found.ids, found.scores, strict=True)
        ]
    }
    monkeypatch.chdir(tmp_path)
    (tmp_path / "i.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\1\0\0\0\1\x08\0\0\0\0:~\x9bU")
    named = {'a, "b"': str(tmp_path / "a.csv"), "database": response, "shifted": (found.ids + 1) % 500}
    made = thresher.report(vectors, queries, named, metric="l2", show=["i.png"] * 500)
    assert [(a["name"], a["recall"]) for a in made.figures["answers"][:2]] == [('a, "b"', 1.0), ("database", 1.0)]
    assert "data:image/png" in made.html
    only = thresher.report(vectors, queries, response, metric="l2", show_queries=["asked"] * 40)
    assert [a["name"] for a in only.figures["answers"]] == ["answers"]
