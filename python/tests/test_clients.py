"""Answers as clients of other programs return them."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import thresher
from thresher import _clients


@pytest.fixture(scope="module")
def found(vectors, queries):
    scores, ids = thresher.knn(queries, vectors, 5, metric="ip")
    return scores, ids


def forms(scores, ids):
    rows = [list(zip(a.tolist(), b.tolist(), strict=True)) for a, b in zip(ids, scores, strict=True)]
    return {
        "scores and ids": (scores, ids),
        "ids and scores": (ids.astype(np.uint64), scores),
        "Chroma": {"ids": ids.tolist(), "distances": scores.tolist(), "documents": None},
        "usearch": SimpleNamespace(keys=ids, distances=scores, counts=np.full(len(ids), ids.shape[1])),
        "semantic_search": [[{"corpus_id": a, "score": b} for a, b in row] for row in rows],
        "pymilvus": [[{"id": a, "distance": b, "entity": {}} for a, b in row] for row in rows],
        "Qdrant": [SimpleNamespace(points=[SimpleNamespace(id=a, score=b, payload=None) for a, b in r]) for r in rows],
    }


def test_every_form(vectors, queries, found):
    for name, answers in forms(*found).items():
        r = thresher.recall(answers, vectors, queries, metric="ip")
        assert r.recall == 1, name
        assert r.report["scores"]["form"] == "inner products", name
        assert r.report["scores"]["wrong"] == 0, name
        assert thresher.certify(answers, vectors, queries, metric="ip").right == len(queries), name


SHAPES = Path(__file__).parents[2] / "internal" / "shapes"
needs_shapes = pytest.mark.skipif(not SHAPES.exists(), reason="the table of shapes is not beside the package")


def shapes():
    return json.loads((SHAPES / "shapes.json").read_text()) if SHAPES.exists() else []


def as_returned(path):
    """Return what a file holds as its client returned it."""
    if path.suffix == ".json":
        text, documents = path.read_text().strip(), []
        while text:
            document, end = json.JSONDecoder().raw_decode(text)
            documents.append(document)
            text = text[end:].lstrip()
        return documents[0] if len(documents) == 1 else documents
    if path.suffix == ".npy":
        return np.load(path)
    arrays = dict(np.load(path))
    if "keys" in arrays:
        return SimpleNamespace(**arrays)
    ids = next(arrays[name] for name in ("I", "labels", "indices", "neighbors") if name in arrays)
    return next(arrays[name] for name in ("D", "distances") if name in arrays), ids


@needs_shapes
@pytest.mark.parametrize("shape", shapes(), ids=lambda shape: shape["file"])
def test_every_shape(shape):
    vectors = np.eye(5, 8, dtype=np.float32)
    asked = np.array([[0, 1, 0.25, 2.5, 0, 0, 0, 0], [-1, 0, 0, 0, 7, 0, 0, 0]], np.float32)
    path = SHAPES / "testdata" / shape["file"]
    ids = ["e", "a", "b\u00e9", "c", "d"] if shape["ids"] == "texts" else None
    with thresher.Index(vectors, ids=ids, metric=shape["metric"]) as index:
        if shape.get("queries"):  # whose ids no array has
            with pytest.raises(OSError, match="is no row number, and the queries have no ids"):
                thresher.recall(path, index, asked)
            return
        for answers in [path, str(path)] + ([as_returned(path)] if shape.get("object") else []):
            r = thresher.recall(answers, index, asked)
            lacks = shape.get("lacks", 0)
            assert r.recall == pytest.approx(1 - lacks / 6)
            assert r.k == 3
            scores = r.report.get("scores")
            assert (scores["form"] if scores else "") == shape["scores"]
            assert not scores or scores["wrong"] == 0
            assert thresher.certify(answers, index, asked).missing == lacks


def test_fewer_matches(vectors, queries, found):
    scores, ids = found
    matches = SimpleNamespace(keys=ids, distances=scores, counts=np.array([3] + [5] * (len(ids) - 1)))
    assert thresher.recall(matches, vectors, queries, metric="ip").per_query[0] == 0.6


def test_without_scores(vectors, queries, found):
    r = thresher.recall([[{"id": i} for i in row] for row in found[1].tolist()], vectors, queries, metric="ip")
    assert r.recall == 1
    assert not r.report.get("scores")


def test_faiss(vectors, queries):
    faiss = pytest.importorskip("faiss")
    r = thresher.recall(faiss.knn(queries, vectors, 5, faiss.METRIC_INNER_PRODUCT), vectors, queries, metric="ip")
    assert r.report["scores"]["wrong"] == 0


def test_hits_without_ids(vectors, queries):
    with pytest.raises(TypeError, match="answers: query 0, hit 1 has none of id, _id"):
        _clients.apart([[{"id": 1}, {"pk": 1}]], "answers")
    with pytest.raises(ValueError, match="answers: query 1 has 1 scores for 2 hits"):
        _clients.apart([[{"id": 1, "score": 1.0}], [{"id": 1, "score": 1.0}, {"id": 2}]], "answers")
    for odd in ({"match": []}, [{"match": []}]):
        with pytest.raises(
            TypeError, match=r"answers: no response that is read: row 0 .0-based.: line 1: a result has"
        ):
            thresher.recall(odd, vectors, queries, metric="ip")


@pytest.mark.parametrize("call", [thresher.recall, thresher.certify, thresher.verify])
def test_files_that_are_no_answers_are_named(call, tmp_path, vectors, queries):
    np.save(tmp_path / "floats.npy", queries)
    (tmp_path / "half.json").write_text('{"a":')
    for name, says in (("floats.npy", 'dtype "<f4"'), ("half.json", "row 0 .*text ends")):
        with pytest.raises(OSError, match=f"^answers: {re.escape(str(tmp_path / name))}: .*{says}"):
            call(tmp_path / name, vectors, queries, metric="ip")
    with pytest.raises(FileNotFoundError, match=r"answers: there is no such file: .*none\.npy"):
        call(str(tmp_path / "none.npy"), vectors, queries, metric="ip")


@pytest.mark.parametrize("call", [thresher.recall, thresher.certify, thresher.verify])
def test_texts_of_many_digits(call, vectors, queries):
    for digits in ("9" * 19, "1" * 30, "1" * 5000):
        given = [["1", "2"]] * len(queries)
        given[3] = ["0", digits]
        with pytest.raises(ValueError, match=r"answers: query 3: [19]+ is no row number$"):
            call(given, vectors, queries, metric="ip")
    zeros = [["0" * 30, "1"]] * len(queries)
    assert len(call(zeros, vectors, queries, metric="ip").report) > 0


def test_others_stay(found):
    for answers in (found[1], found[1].tolist(), ((1, 2), (3, 4)), [["a", "b"], ["c"]], []):
        assert _clients.apart(answers, "answers") == (answers, None) or answers is found[1]
