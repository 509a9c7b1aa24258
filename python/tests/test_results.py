"""What results hold: ids, rows and scores in float64, which are limits that let their vectors through; as tables."""

from __future__ import annotations

import json
import subprocess
import warnings

import numpy as np
import pytest

import thresher
from conftest import best
from thresher import _binary

METRICS = ("ip", "cosine", "l2")
LEAST = {"ip": "min_score", "cosine": "min_score", "l2": "max_distance"}
GREATEST = {"ip": "max_score", "cosine": "max_score", "l2": "min_distance"}


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("method", ["auto", "certain", "exact"])
def test_scores_in_float64(vectors, queries, metric, method):
    with thresher.Index(vectors, metric=metric) as index:
        found = index.search(queries, 7, method=method)
        ranged = index.range_search(queries[:3], found.scores64[:3, 4], method=method)
    rows, scores = best(queries, vectors, 7, metric)
    np.testing.assert_array_equal(found.rows, rows)
    assert found.scores64.dtype == np.float64 and found.metric == metric
    np.testing.assert_allclose(found.scores64, scores, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(found.scores64.astype(np.float32), found.scores)
    np.testing.assert_array_equal(ranged.lims, [0, 5, 10, 15])
    np.testing.assert_array_equal(ranged.scores64.reshape(3, 5), found.scores64[:3, :5])
    np.testing.assert_array_equal(ranged.rows.reshape(3, 5), rows[:3, :5])


def drawn(rng):
    """Return vectors and queries of one of several kinds: normal, counts with ties, copies, far from zero."""
    n, dim, m = int(rng.integers(1, 300)), int(rng.integers(1, 40)), int(rng.integers(1, 4))
    kind = rng.integers(4)
    if kind == 1:
        return rng.integers(0, 3, (n, dim)).astype(np.float32), rng.integers(0, 3, (m, dim)).astype(np.float32)
    vectors, queries = rng.standard_normal((n, dim)), rng.standard_normal((m, dim))
    if kind == 2:
        vectors = vectors[rng.integers(0, n, n)] * (1 + rng.integers(0, 2, (n, 1)) * 1e-7)
    shift = 1000 * (kind == 3)
    return (vectors + shift).astype(np.float32), (queries + shift).astype(np.float32)


@pytest.mark.parametrize("metric", METRICS)
def test_a_score_given_back_lets_its_vector_through(metric):
    rng = np.random.default_rng(37)
    for draw in range(70):
        vectors, queries = drawn(rng)
        k = int(rng.integers(1, len(vectors) + 1))
        method = ("exact", "certain")[draw % 2]
        with thresher.Index(vectors, metric=metric) as index:
            first = index.search(queries, k, method=method)
            last, top = first.scores64[:, -1], first.scores64[:, 0]
            again = index.search(queries, k, method=method, **{LEAST[metric]: last})
            np.testing.assert_array_equal(again.rows, first.rows, err_msg=f"draw {draw}")
            np.testing.assert_array_equal(again.scores64, first.scores64)
            below = index.search(queries, 1, method=method, **{GREATEST[metric]: top})
            np.testing.assert_array_equal(below.rows[:, 0], first.rows[:, 0], err_msg=f"draw {draw}")
            # The next float64 beyond the best score, and nothing is left, unless it is a score as shown.
            beyond = np.nextafter(top, -np.inf if metric == "l2" else np.inf)
            if (beyond.astype(np.float32) != beyond).all() and (metric != "l2" or top.min() > 0):
                none = index.search(queries, 1, method=method, **{LEAST[metric]: beyond})
                assert (none.rows == -1).all(), f"draw {draw}"


def test_certified_answers_have_scores_in_float64(vectors, queries):
    right, _ = best(queries, vectors, 4, "l2")
    proven = thresher.certify(right[:, ::-1], vectors, queries, metric="l2").result
    with thresher.Index(vectors, metric="l2") as index:
        want = index.search(queries, 4, method="certain")
        np.testing.assert_array_equal(proven.scores64, want.scores64)
        late = thresher.certify(np.tile(right, (300, 1)), index, np.tile(queries, (300, 1)), deadline=1e-4).result
    kept = ~late.complete  # in the order given, which is that of the scores
    np.testing.assert_array_equal(late.scores64[kept], np.tile(want.scores64, (300, 1))[kept])


def test_limits_have_the_names_of_the_metric(vectors, queries):
    with thresher.Index(vectors, metric="l2") as index:
        for wrong, right in (("min_score", "max_distance"), ("max_score", "min_distance")):
            with pytest.raises(ValueError, match=f"{wrong}: .*'l2'.*{right}"):
                index.search(queries, 1, **{wrong: 1.0})
        with pytest.raises(ValueError, match=r"min_distance: row 0: 3, but max_distance is 2"):
            index.search(queries, 1, min_distance=3, max_distance=2)
        with pytest.warns(DeprecationWarning, match="floor is called max_distance") as told:
            old = index.search(queries, 3, floor=50.0)
        assert told[0].filename == __file__
        np.testing.assert_array_equal(old.rows, index.search(queries, 3, max_distance=50.0).rows)
        with pytest.raises(ValueError, match="floor: max_distance is given, too"):
            index.search(queries, 1, floor=1.0, max_distance=1.0)
        with pytest.raises(ValueError, match=r"max_score: .*min_distance"):
            index.range_search(queries, 1.0, max_score=1.0)
    with thresher.Index(vectors, metric="cosine") as index:
        with pytest.raises(ValueError, match=r"max_distance: .*'cosine'.*min_score"):
            thresher.verify(np.zeros((30, 1), int), index, queries, max_distance=1.0)
        with pytest.warns(DeprecationWarning, match="below is called max_score"):
            index.range_search(queries, 0.5, below=0.9)


def test_ids_of_queries(vectors, queries):
    with thresher.Index(vectors, metric="ip") as index:
        assert index.search(queries, 2).query_ids is None
        for ids in (np.arange(30) + 7, ["a"] * 30, [2**63 + j for j in range(30)]):
            found = index.search(queries, 2, query_ids=ids)
            assert found.query_ids.tolist() == list(ids)
            assert index.range_search(queries, 1e9, query_ids=ids).query_ids.tolist() == list(ids)
        for wrong, text in (([-1] * 30, "id -1"), (np.ones(30), "float64"), ([1, 2], "shape")):
            with pytest.raises((TypeError, ValueError), match=f"query_ids: .*{text}"):
                index.search(queries, 2, query_ids=wrong)


def test_promises_by_the_names_of_files():
    rng = np.random.default_rng(5)
    vectors = rng.standard_normal((3000, 256)).astype(np.float32)
    with thresher.Index(vectors, metric="ip") as index:
        found = index.search(vectors[:5], 2, method="adaptive", delta=0.03, plan="64,rescore")
    np.testing.assert_array_equal(found.guarantee, found.certificates["guarantee"])
    np.testing.assert_array_equal(found.delta, found.certificates["delta"])
    assert found.delta.max() == 0.03


@pytest.mark.parametrize(
    "ids",
    [
        None,
        np.arange(1500) + 5,
        np.arange(2**64 - 1502, 2**64 - 2, dtype=np.uint64),
        [f"n{j}" for j in range(1500)],
    ],
)
def test_saved_ids_come_back(tmp_path, vectors, queries, ids):
    with thresher.Index(vectors, ids, metric="cosine") as index:
        want = index.search(queries, 3, method="certain")
        index.save(tmp_path / "x.thresher")
    with thresher.Index.open(tmp_path / "x.thresher") as index:
        found = index.search(queries, 3, method="certain")
        np.testing.assert_array_equal(found.ids, want.ids)
        assert found.ids.dtype == want.ids.dtype
        np.testing.assert_array_equal(found.ids, index.ids[found.rows])
        np.testing.assert_array_equal(found.scores64, want.scores64)


def test_to_arrow(vectors, queries):
    pa = pytest.importorskip("pyarrow")
    names = [f"n{j}" for j in range(1500)]
    with thresher.Index(vectors, names, metric="l2") as index:
        found = index.search(queries, [1, 2, 3] * 10, query_ids=np.arange(30) + 100)
        table = found.to_arrow()
        ranged = index.range_search(queries, found.scores64[:, 0])
    assert table.column_names == [
        *("query", "query_id", "ids", "rows", "scores", "scores64", "pulls"),
        *("exact", "complete", "guarantee", "delta", "epsilon", "open_bound"),
    ]
    stated = dict(table.schema.metadata)
    assert json.loads(stated.pop(b"covers")) == found.covers
    assert stated == {b"answers_version": b"2", b"metric": b"l2"}
    assert table.schema.field("scores").type.value_type == pa.float32()
    assert table.schema.field("scores64").type.value_type == pa.float64()
    for j, row in enumerate(table.to_pylist()):
        k = j % 3 + 1
        assert (row["query"], row["query_id"], row["complete"], row["open_bound"]) == (j, 100 + j, True, None)
        for name in ("ids", "rows", "scores", "scores64"):
            assert row[name] == getattr(found, name)[j, :k].tolist()
        assert row["pulls"] == found.certificates["pulls"][j] and row["guarantee"] == found.guarantee[j]
    other = ranged.to_arrow()
    assert other["ids"].to_pylist() == [
        ranged.ids[a:b].tolist() for a, b in zip(ranged.lims[:-1], ranged.lims[1:], strict=True)
    ]
    with thresher.Index(vectors, metric="ip") as index:
        assert index.search(queries[:0], 3).to_arrow().num_rows == 0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            late = index.search(np.tile(queries, (400, 1)), 3, method="exact", deadline=1e-9)
    table = late.to_arrow()
    assert table.schema.metadata[b"id_kind"] == b"row" and "query_id" not in table.column_names
    assert table["ids"].to_pylist() == table["rows"].to_pylist()
    assert table["complete"].to_pylist() == late.complete.tolist()
    assert [b is None for b in table["open_bound"].to_pylist()] == late.complete.tolist()


@pytest.mark.parametrize("ids", [None, np.arange(2**63, 2**63 + 1500, dtype=np.uint64), [f"n{j}" for j in range(1500)]])
def test_tables_are_files_of_answers(tmp_path, vectors, queries, ids):
    """The command reads them, and writes the same columns of the same search."""
    parquet = pytest.importorskip("pyarrow.parquet")
    np.savez(tmp_path / "x.npz", vectors=vectors, **({} if ids is None else {"ids": np.asarray(ids)}))
    np.save(tmp_path / "q.npy", queries)
    with thresher.Index(vectors, ids, metric="cosine") as index:
        table = index.search(queries, 3, method="exact").to_arrow()
    parquet.write_table(table, tmp_path / "ours.parquet")
    files = ["--vectors", tmp_path / "x.npz", "--queries", tmp_path / "q.npy", "--metric", "cosine"]
    if ids is not None:
        files += ["--ids", "ids"]

    def run(*arguments):
        return subprocess.run([_binary.path(), *arguments, *files], capture_output=True, text=True, check=True)

    checked = run("verify", "--answers", tmp_path / "ours.parquet", "--json")
    assert json.loads(checked.stdout)["checked"] == 30
    run("search", "--k", "3", "--method", "exact", "--out", tmp_path / "theirs.parquet")
    theirs = parquet.read_table(tmp_path / "theirs.parquet")
    shared = [name for name in table.column_names if name != "open_bound"]
    assert theirs.column_names == shared
    for name in ("query", "ids", "rows", "scores", "scores64", "complete", "guarantee", "delta", "epsilon", "exact"):
        assert theirs[name].to_pylist() == table[name].to_pylist(), name
        if name == "ids":
            assert theirs.schema.field(name).type.value_type == table.schema.field(name).type.value_type
    assert theirs.schema.metadata.get(b"id_kind") == table.schema.metadata.get(b"id_kind")


# Searches of no vectors


@pytest.mark.parametrize("metric", METRICS)
def test_no_vectors(vectors, queries, metric):
    with thresher.Index(vectors[:0], metric=metric) as index:
        assert len(index) == 0 and index.dim == 48 and index.metric == metric
        found = index.search(queries, 3, exclude=np.full((30, 2), -1), query_ids=np.arange(30))
        assert (found.ids == -1).all() and np.isnan(found.scores).all() and np.isnan(found.scores64).all()
        assert found.complete.all() and (found.guarantee == "exact").all() and (found.counts == 0).all()
        assert found.ids.shape == (30, 3) and "no vectors" in found.summary() and found.certificate(3)["pulls"] == 0
        ranged = index.range_search(queries, 0.0)
        assert ranged.lims.tolist() == [0] * 31 and len(ranged.ids) == 0 and ranged.complete.all()
        assert index.search(queries[:0], 3).ids.shape == (0, 3)
        with pytest.raises(ValueError, match="queries: row 1: "):
            index.search(np.array([[0.0] * 48, [np.nan] * 48]), 1)
        with pytest.raises(ValueError, match="queries: rows of 3 values"):
            index.search(np.ones((1, 3)), 1)
        with pytest.raises(ValueError, match="vectors: no rows"):
            thresher.recall(np.zeros((30, 1), int), index, queries)
        index.add(vectors[:9])
        right, _ = best(queries, vectors[:9], 2, metric)
        np.testing.assert_array_equal(index.search(queries, 2, method="exact").ids, right)
    scores, ids = thresher.knn(queries, vectors[:0], 2, metric=metric)
    assert (ids == -1).all() and np.isnan(scores).all() and ids.shape == (30, 2)


def test_an_empty_part_with_ids(vectors, queries):
    with thresher.Index(vectors[:0], [], metric="ip") as index:
        index.add(vectors[:2], ["a", "b"])
        assert sorted(index.search(queries[:1], 3).ids[0]) == ["", "a", "b"]


def test_files_without_rows(tmp_path, vectors, queries):
    np.save(tmp_path / "x.npy", vectors[:0])
    with thresher.Index.open(tmp_path / "x.npy", metric="cosine") as index:
        assert len(index) == 0 and (index.search(queries, 2).ids == -1).all()
        index.add(vectors[:5])
        np.testing.assert_array_equal(index.search(vectors[:5], 1, method="exact").ids[:, 0], np.arange(5))
