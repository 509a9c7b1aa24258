"""Goals of each query, and the answers of other programs, against numpy."""

from __future__ import annotations

import json
from collections.abc import Iterator

import numpy as np
import pytest
import tritonclient.grpc
import tritonclient.http

from server import Server

DIM = 12
COUNT = 2000
QUERIES = 30
K = 5


@pytest.fixture(scope="module")
def atoms(server: Server) -> Iterator[np.ndarray]:
    """The rows of the collections numbered (ids are row numbers) and named (ids are strings)."""
    rows = np.random.default_rng(3).standard_normal((COUNT, DIM)).astype(np.float32)
    for name, ids in (("numbered", None), ("named", [f"n{i}" for i in range(COUNT)])):
        source = {"vectors": rows.tolist()} | ({"ids": ids} if ids else {})
        body = json.dumps({"source": source}).encode()
        server.send(f"/v1/collections/{name}?metric=ip&wait=true", body, "application/json", "PUT")
    yield rows
    for name in ("numbered", "named"):
        server.send(f"/v1/collections/{name}", method="DELETE")


@pytest.fixture(scope="module")
def queries() -> np.ndarray:
    return np.random.default_rng(4).standard_normal((QUERIES, DIM)).astype(np.float32)


@pytest.fixture(scope="module")
def scores(atoms: np.ndarray, queries: np.ndarray) -> np.ndarray:
    return queries.astype(np.float64) @ atoms.astype(np.float64).T


def best(scores: np.ndarray, k: int) -> list[int]:
    return [int(i) for i in np.argsort(-scores, kind="stable")[:k] if scores[i] > -np.inf]


def test_each_query_gets_what_it_asks_for(
    server: Server, atoms: np.ndarray, queries: np.ndarray, scores: np.ndarray
) -> None:
    """Hard negatives: the best below .95 of the positive's score, without the items seen."""
    goals, want = [], []
    random = np.random.default_rng(5)
    for row in scores:
        order = best(row, 100)
        positive, seen = order[0], [int(i) for i in random.choice(order[1:], 20, replace=False)]
        ceiling = 0.95 * float(row[positive])
        k = int(random.integers(1, 12))
        candidates = [int(i) for i in random.choice(order, 10, replace=False)]
        goals.append({"k": k, "max_score": ceiling, "exclude": [positive, *seen], "candidates": candidates})
        left = row.copy()
        left[[positive, *seen]] = -np.inf
        left[left > ceiling] = -np.inf
        want.append(best(left, k))
    for name in ("numbered", "named"):
        given = goals
        if name == "named":
            given = [g | {key: [f"n{i}" for i in g[key]] for key in ("exclude", "candidates")} for g in goals]
        for method in ("certain", "exact", "auto"):
            body = {"queries": queries.tolist(), "goals": given, "method": method, "delta": 1e-6}
            results = server.ask(f"/v1/collections/{name}/search", body)["results"]
            ids = [[int(str(i).removeprefix("n")) for i in r["ids"]] for r in results]
            assert ids == want, f"{name}, {method}"


def test_recall_and_certify(server: Server, atoms: np.ndarray, queries: np.ndarray, scores: np.ndarray) -> None:
    """Answers with known gaps: the recall is numpy's, and certify gives the best."""
    random = np.random.default_rng(6)
    truth = [best(row, K) for row in scores]
    answers, found = [], 0
    for row, ids in zip(scores, truth, strict=True):
        kept = [i for i in ids if random.random() < 0.8]
        others = [int(i) for i in random.choice(COUNT, K - len(kept), replace=False) if int(i) not in ids]
        found += len(kept)
        given = kept + others
        answers.append({"ids": given, "scores": [float(np.float32(row[i])) for i in given]})
    answers[3]["scores"][0] += 1.0
    body = {"queries": queries.tolist(), "answers": answers, "k": K}
    report = server.ask("/v1/collections/numbered/recall", body)
    assert report["recall"] == pytest.approx(found / (QUERIES * K), abs=1e-12)
    assert report["recall_low"] < report["recall"] < report["recall_high"]
    assert report["scores"]["form"] == "inner products" and report["scores"]["wrong"] == 1
    assert report["scores"]["sample"][0]["query"] == 3
    missed = {m["query"]: m["missed"] for m in report["missed"]}
    for j, ids in enumerate(truth):
        assert missed.get(j, []) == [i for i in ids if i not in answers[j]["ids"]]
    proven = server.ask("/v1/collections/numbered/certify", body)
    assert [r["ids"] for r in proven["results"]] == truth
    assert proven["certified"]["compared"] == QUERIES
    assert proven["certified"]["right"] == sum(1 for j in range(QUERIES) if j not in missed)
    for r in proven["results"]:
        assert r["certificate"]["guarantee"] in ("certain", "exact") and r["certificate"]["candidates"]["given"] > 0


@pytest.mark.parametrize("protocol", ["http", "grpc"])
@pytest.mark.parametrize("name", ["numbered", "named"])
def test_inference_takes_goals(
    server: Server, atoms: np.ndarray, queries: np.ndarray, scores: np.ndarray, protocol: str, name: str
) -> None:
    triton = getattr(tritonclient, protocol)
    ks = np.arange(1, QUERIES + 1, dtype=np.int32) % 7 + 1
    floors = np.where(np.arange(QUERIES) % 3 == 0, np.float32(2), np.float32(-np.inf)).astype(np.float32)
    exclude = np.full((QUERIES, 4), -1, np.int64)
    want = np.full((QUERIES, int(ks.max())), -1, np.int64)
    for j, row in enumerate(scores):
        out = best(row, 8)[::2][: j % 5]
        exclude[j, : len(out)] = out
        left = row.copy()
        left[out] = -np.inf
        left[left < floors[j]] = -np.inf
        ids = best(left, int(ks[j]))
        want[j, : len(ids)] = ids
    lists, kind = exclude, "INT64"
    if name == "named":
        lists, kind = np.array([["" if i < 0 else f"n{i}" for i in row] for row in exclude], object), "BYTES"

    def tensor(called: str, values: np.ndarray, datatype: str) -> object:
        t = triton.InferInput(called, values.shape, datatype)
        t.set_data_from_numpy(values)
        return t

    with triton.InferenceServerClient(server.address if protocol == "http" else server.grpc) as client:
        inputs = {i.name if protocol == "grpc" else i["name"] for i in _inputs(client.get_model_metadata(name))}
        assert inputs >= {"ks", "floors", "ceilings", "exclude", "candidates"}
        sent = [
            tensor("queries", queries, "FP32"),
            tensor("ks", ks, "INT32"),
            tensor("floors", *((floors, "FP32") if protocol == "http" else (floors.astype(np.float64), "FP64"))),
            tensor("exclude", lists, kind),
            tensor("candidates", lists, kind),
        ]
        got = client.infer(name, sent, parameters={"method": "certain"})
        np.testing.assert_array_equal(got.as_numpy("ids"), want)


def _inputs(model: object) -> list:
    return list(model["inputs"] if isinstance(model, dict) else model.inputs)  # type: ignore[attr-defined]
