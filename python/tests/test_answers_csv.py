"""Answers as CSV: written by a Result, read by merge, recall and other programs; and filters of graphs and pairs."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import thresher

X = np.random.default_rng(1).standard_normal((60, 4)).astype(np.float32)


@pytest.mark.parametrize("ids", [None, "integers", "texts"])
def test_saved_as_csv(ids: str | None, tmp_path: Path) -> None:
    names = {None: None, "integers": np.arange(60) + 1000, "texts": [f'v,"{i}' for i in range(60)]}[ids]
    with thresher.Index(X, metric="ip", ids=names) as index:
        found = index.search(X[:3], 5, query_ids=["a", "b", "c"], min_score=[-9, 99, -9])
        path = tmp_path / "a.csv"
        found.save(path)
        with pytest.raises(FileExistsError):
            found.save(path)
        with open(path, encoding="utf-8", newline="") as f:
            lines = list(csv.DictReader(f))
        assert [line["query"] for line in lines] == ["0"] * 5 + ["1"] + ["2"] * 5
        assert lines[5]["count"] == "0" and lines[5]["id"] == "" and lines[5]["query_id"] == "b"
        assert [line["id"] for line in lines[:5]] == [str(i) for i in found.ids[0]]
        assert [float(line["score64"]) for line in lines[:5]] == found.scores64[0].tolist()
        assert [line["rank"] for line in lines[:5]] == ["1", "2", "3", "4", "5"]
        again = thresher.merge([path], 5, offsets=None if ids else [0])
        np.testing.assert_array_equal(again.scores64, found.scores64)
        np.testing.assert_array_equal(again.ids[0], found.ids[0])
        assert again.guarantee.tolist() == found.guarantee.tolist()


def test_refused_ending(tmp_path: Path) -> None:
    with thresher.Index(X, metric="ip") as index, pytest.raises(ValueError, match=r"none of .npz, .parquet, .csv"):
        index.search(X[:1], 1).save(tmp_path / "a.txt")


def test_filtered_graph_and_pairs() -> None:
    pytest.importorskip("scipy")
    mask = np.arange(60) % 3 != 1
    rows = np.flatnonzero(mask)
    alone = thresher.knn_graph(X[mask], 4, metric="l2")
    with thresher.Index(X, metric="l2", columns={"n": np.arange(60) % 3}) as index:
        for given in (mask, rows, rows[::-1], "n != 1", {"must_not": [{"key": "n", "match": {"value": 1}}]}):
            graph = thresher.knn_graph(index, 4, filter=given)
            assert graph.shape == (60, 60) and graph[~mask].nnz == 0
            np.testing.assert_array_equal(graph[mask][:, mask].toarray(), alone.toarray())
            found = thresher.pairs(index, max_distance=1.5, filter=given)
            want = thresher.pairs(X[mask], max_distance=1.5, metric="l2")
            np.testing.assert_array_equal(found.a, rows[want.a])
            np.testing.assert_array_equal(found.b, rows[want.b])
            assert len(found) > 0 and found.shape == (60, 60)
        with pytest.raises(ValueError, match="filter: no vector is allowed"):
            thresher.knn_graph(index, 4, filter="n > 9")
    with pytest.raises(ValueError, match="filter: allows 0 of the vectors"):
        thresher.pairs(X, 0.5, metric="ip", filter=np.zeros(60, bool))


def test_filtered_graph_after_a_change() -> None:
    pytest.importorskip("scipy")
    ids = np.arange(60) + 100
    with thresher.Index(X, metric="l2", ids=ids) as index:
        index.remove([100, 130])
        left = np.setdiff1d(np.arange(60), [0, 30])
        some = left[left % 2 == 0]
        graph = thresher.knn_graph(index, 3, filter=ids[some])
        alone = thresher.knn_graph(X[some], 3, metric="l2")
        at = np.flatnonzero(np.isin(left, some))
        np.testing.assert_array_equal(graph[at][:, at].toarray(), alone.toarray())
