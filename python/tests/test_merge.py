"""Answers over disjoint sets of vectors, merged, are those over all of them."""

from __future__ import annotations

import dataclasses
import itertools
import json
import pickle
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thresher
from thresher import _binary, _coverage, _worker

METRICS = ("ip", "cosine", "l2")
CUTS = (0, 3, 40, 90)
NUMBERS = ("threshold", "open_bound", "predicted_survivors", "predicted_ns")


def parts_of(vectors: Any, ids: Any, metric: str, queries: Any, k: int, **options: Any) -> list[thresher.Result]:
    found = []
    for lo, hi in itertools.pairwise(CUTS):
        own = None if ids is None else ids[lo:hi]
        with thresher.Index(vectors[lo:hi], metric=metric, ids=own) as index:
            found.append(index.search(queries, k, **options))
    return found


@pytest.fixture
def tied() -> Any:
    """Vectors of small whole numbers, among whose scores there are many ties."""
    rng = np.random.default_rng(5)
    return rng.integers(-2, 3, (CUTS[-1], 4)).astype(np.float32), rng.integers(-2, 3, (6, 4)).astype(np.float32)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("method", ["exact", "certain"])
@pytest.mark.parametrize("ids", [None, "numbers", "wide", "texts"])
def test_whole(tied: Any, metric: str, method: str, ids: str | None) -> None:
    vectors, queries = tied
    own = {
        None: None,
        "numbers": np.arange(100, 100 + len(vectors)),
        "wide": np.arange(len(vectors), dtype=np.uint64) + np.uint64(2**63 - 30),
        "texts": np.array([f"n{i:03}" for i in range(len(vectors))]),
    }[ids]
    with thresher.Index(vectors, metric=metric, ids=own) as index:
        want = index.search(queries, 5, method=method)
    found = parts_of(vectors, own, metric, queries, 5, method=method)
    merged = thresher.merge(found, offsets=CUTS[:-1])
    assert np.array_equal(merged.rows, want.rows)
    assert np.array_equal(merged.ids, want.ids)
    assert merged.ids.dtype.kind == want.ids.dtype.kind
    assert np.array_equal(merged.scores64, want.scores64)
    assert np.array_equal(merged.scores, want.scores)
    assert np.array_equal(merged.counts, want.counts)
    assert set(merged.guarantee) <= {"exact", "certain"}
    assert merged.complete.all()
    if own is None:
        return
    by_ids = thresher.merge(found[::-1])
    assert np.array_equal(by_ids.ids, want.ids)
    assert (by_ids.rows == -1).all()
    assert np.array_equal(by_ids.counts, want.counts)
    steps = thresher.merge([found[1], thresher.merge([found[2], found[0]])])
    assert np.array_equal(steps.ids, by_ids.ids)
    for name in steps.certificates.dtype.names or ():
        assert np.array_equal(steps.certificates[name], by_ids.certificates[name], equal_nan=name in NUMBERS), name
    assert np.array_equal(thresher.merge(found, k=2).ids, want.ids[:, :2])


def test_ties_of_ids() -> None:
    """Whole numbers are compared by value, before texts by their bytes, as the command does."""
    wide = str(2**64)  # no whole number of ids
    for ids, want in (
        ([10, 9, 2**63 + 1], [9, 10, 2**63 + 1]),
        (["10", "9", "é"], ["9", "10", "é"]),
        (["b", 10, "9", wide, "\u0663", "007", 0], ["0", "9", "10", "007", wide, "b", "\u0663"]),
    ):
        found = [
            thresher.Index(np.full((1, 2), 1, np.float32), metric="ip", ids=[i]).search(np.ones((1, 2)), len(ids))
            for i in ids[::-1]
        ]
        found = [dataclasses.replace(r, _covers=None) for r in found]  # which is the same of vectors that are
        assert thresher.merge(found, unchecked=True).ids[0].tolist() == want


def test_numbers_of_many_digits() -> None:
    """Texts of more digits than Python makes a number of are ids like others."""
    long = "1" * 5000
    found = [
        thresher.Index(np.ones((1, 2), np.float32), metric="ip", ids=[i]).search(np.ones((1, 2)), 3)
        for i in (long, "9", str(2**64 - 1))
    ]
    found = [dataclasses.replace(r, _covers=None) for r in found]
    assert thresher.merge(found, unchecked=True).ids[0].tolist() == ["9", str(2**64 - 1), long]


def test_ids_below_zero() -> None:
    """Of numbers below zero uint64 makes other ids."""
    found = [
        dataclasses.replace(
            thresher.Index(np.ones((2, 2), np.float32), metric="ip", ids=ids).search(np.ones((1, 2)), 2), _covers=None
        )
        for ids in ([1, 2], [2**63, 2**63 + 1])
    ]
    assert thresher.merge(found, 2, unchecked=True).ids[0].tolist() == [1, 2]
    for ids in ([[-2, 1]], [[1, -(2**63)]]):
        found[0] = dataclasses.replace(found[0], ids=np.array(ids, np.int64))
        with pytest.raises(ValueError, match=f"results: id {min(ids[0])}, which can be ids"):
            thresher.merge(found, unchecked=True)


@pytest.mark.parametrize("ids", [None, "numbers"])
def test_offsets_beyond_int64(tied: Any, ids: str | None) -> None:
    vectors, queries = tied
    parts = parts_of(vectors, None if ids is None else np.arange(len(vectors)), "ip", queries, 3)
    last = int(parts[2].rows.max())
    merged = thresher.merge(parts[2:], offsets=[2**63 - 1 - last])
    assert np.array_equal(merged.rows, parts[2].rows + (2**63 - 1 - last))
    for at in (2**63 - last, 2**63 - 1, 2**63, 10**30):
        says = f"offsets: row {last} of result 2 and offset {at} exceed the numbers of rows"
        with pytest.raises(ValueError, match=says):
            thresher.merge(parts, offsets=[0, 3, at])


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("ids", [None, "numbers", "mixed"])
def test_all_that_reach_a_score(tied: Any, tmp_path: Path, metric: str, ids: str | None) -> None:
    """Range results, and files of them, merge to those of one search; with k to the k best of these."""
    pq = pytest.importorskip("pyarrow.parquet")
    vectors, queries = tied
    own: dict[str | None, Any] = {
        None: None,
        "numbers": np.arange(100, 100 + len(vectors)),
        "mixed": np.array([str(i) if i < CUTS[2] else f"n{i}" for i in range(len(vectors))]),
    }
    names, reached = own[ids], {"max_distance": 6.0} if metric == "l2" else {"min_score": 0.5}
    with thresher.Index(vectors, metric=metric, ids=names) as index:
        want = index.range_search(queries, **reached, method="exact")
    found = []
    for lo, hi in itertools.pairwise(CUTS):
        part = None if names is None else names[lo:hi]
        if ids == "mixed" and hi <= CUTS[2]:
            part = part.astype(np.int64)
        with thresher.Index(vectors[lo:hi], metric=metric, ids=part) as index:
            found.append(index.range_search(queries, **reached, method="exact"))
    paths = [tmp_path / f"{i}.parquet" for i in range(len(found))]
    for r, path in zip(found, paths, strict=True):
        pq.write_table(r.to_arrow(), path)
    command("merge", *map(str, paths), "--out", f"{tmp_path}/m.parquet", "--offsets", ",".join(map(str, CUTS[:-1])))
    for merged in (
        thresher.merge(found, offsets=CUTS[:-1]),
        thresher.merge(list(paths), offsets=CUTS[:-1]),
        thresher.merge([tmp_path / "m.parquet"]),
    ):
        assert isinstance(merged, thresher.RangeResult)
        assert merged.lims.tolist() == want.lims.tolist()
        assert merged.ids.tolist() == want.ids.tolist()
        assert merged.rows.tolist() == want.rows.tolist()
        assert merged.scores64.tolist() == want.scores64.tolist()
        assert merged.guarantee.tolist() == want.guarantee.tolist()
        assert merged.covers is not None
        assert merged.covers["k"] == 0
        assert merged.to_arrow().column("ids").to_pylist() == want.to_arrow().column("ids").to_pylist()
    best = thresher.merge(found, 2, offsets=CUTS[:-1])
    assert isinstance(best, thresher.Result)
    for j in range(len(queries)):
        expected = want.ids[want.lims[j] : want.lims[j + 1]][:2].tolist()
        assert best.ids[j, : len(expected)].tolist() == expected
        assert best.counts[j] == len(expected)
    if ids is None:
        return
    without = thresher.merge(found)
    assert sorted(without.ids.tolist()) == sorted(want.ids.tolist())
    assert "rows" not in without.to_arrow().column_names  # they are not known


def test_few_and_none(tied: Any) -> None:
    """Sets with fewer vectors than k, and without any."""
    vectors, queries = tied
    none = thresher.Index(vectors[:0], metric="ip", ids=np.arange(0)).search(queries, 4)
    one = thresher.Index(vectors[:1], metric="ip", ids=[7]).search(queries, 4)
    merged = thresher.merge([none, one, none])
    assert merged.ids.tolist() == [[7, -1, -1, -1]] * len(queries)
    assert np.isnan(merged.scores64[:, 1:]).all()
    assert merged.counts.tolist() == [1] * len(queries)
    assert len(thresher.merge([one])) == len(queries)


def said(result: thresher.Result, method: str, guarantee: str, delta: float, **fields: float) -> thresher.Result:
    """Return a result whose certificates say something else."""
    records, names = result._records.copy(), {name: list(known) for name, known in result._names.items()}
    for name, word in (("method", method), ("guarantee", guarantee)):
        records[name] = names[name].index(word)
    records["delta"] = delta
    for name, value in fields.items():
        records[name] = value
    return dataclasses.replace(result, _records=records, _names=names)


def test_promises(tied: Any) -> None:
    """The greatest delta by elimination; the sum by published methods; none by boundedme."""
    vectors, queries = tied
    a, b, _ = parts_of(vectors, np.arange(len(vectors)), "ip", queries[:2], 2)
    for first, second, guarantee, delta in (
        (("adaptive", "probabilistic", 0.125), ("adaptive", "probabilistic", 0.25), "probabilistic", 0.25),
        (("strict", "probabilistic", 0.125), ("exact", "exact", 0), "probabilistic", 0.125),
        (("banditmips", "probabilistic", 0.125), ("bucket-ae", "probabilistic", 0.25), "probabilistic", 0.375),
        (("banditmips", "probabilistic", 0.5), ("banditmips", "probabilistic", 0.5), "heuristic", 0),
        (("boundedme", "probabilistic", 0.125), ("exact", "exact", 0), "heuristic", 0),
        (("banditmips-alpha", "heuristic", 0), ("certain", "bound", 0), "heuristic", 0),
        (("exact", "exact", 0), ("certain", "certain", 0), "certain", 0),
    ):
        for pair in ((said(a, *first), said(b, *second)), (said(b, *second), said(a, *first))):
            merged = thresher.merge(pair)
            assert merged.guarantee.tolist() == [guarantee] * 2
            assert merged.delta.tolist() == [delta] * 2
            assert guarantee in merged.summary()
            assert merged.certificates["pulls"].tolist() == sum(r.certificates["pulls"] for r in pair).tolist()
    with pytest.raises(ValueError, match="does not combine"):
        thresher.merge([said(a, "adaptive", "probabilistic", 0.1), said(b, "banditmips", "probabilistic", 0.1)])


def test_stopped(tied: Any) -> None:
    """The greatest open bound counts, and that of a short answer is at least its last score."""
    vectors, queries = tied
    a, b, _ = parts_of(vectors, np.arange(len(vectors)), "l2", queries[:2], 4)
    stop = a._names["stopped_by"].index("deadline")
    a, b = (
        said(r, "certain", "bound", 0, stopped_by=stop, open_bound=bound) for r, bound in ((a, -1000.0), (b, -2000.0))
    )
    merged = thresher.merge([b, a])
    assert not merged.complete.any()
    assert merged.certificates["open_bound"].tolist() == [-last / 2 for last in a.scores64[:, 2].tolist()]
    assert merged.guarantee.tolist() == ["bound"] * 2


def test_refused(tied: Any) -> None:
    vectors, queries = tied

    def search(lo: int, hi: int, metric: str = "ip", k: int = 3, m: int = 6, ids: Any = True) -> thresher.Result:
        own = np.arange(lo, hi) if ids is True else ids
        return thresher.Index(vectors[lo:hi], metric=metric, ids=own).search(queries[:m], k)

    first = search(0, 10)
    reaching = thresher.Index(vectors[10:20], metric="ip", ids=np.arange(10, 20)).range_search(queries, min_score=1.0)
    for results, error, says in (
        ([], ValueError, "none to merge"),
        ([first, 7], TypeError, "result 1 is int"),
        ([first, search(10, 20, metric="l2")], ValueError, "metric differs, ip of result 0 and l2 of result 1"),
        ([first, search(10, 20, k=4)], ValueError, "k differs, 3 of result 0 and 4 of result 1"),
        ([first, search(10, 20, m=5)], ValueError, "queries differs, 6 of result 0 and 5 of result 1"),
        ([first, search(10, 20, ids=None)], ValueError, "only one of result 0 and result 1 has ids"),
        ([first, search(10, 20, ids=[f"{i}" for i in range(10)])], ValueError, "vector '4' is twice"),
        ([first, reaching], ValueError, "result 1 has all vectors that reach a score, and result 0 no more than k"),
        ([first, first], ValueError, "the sets overlap"),
        ([search(0, 10, ids=None), search(10, 20, ids=None)], ValueError, "offsets says where each begins"),
    ):
        with pytest.raises(error, match=says):
            thresher.merge(results)  # type: ignore[arg-type]
    second = search(10, 20)
    for options, says in (
        ({"k": 4}, "k: 4, expected 1 to 3"),
        ({"k": 0}, "k: 0"),
        ({"offsets": [0]}, "offsets: 1 for 2 results"),
        ({"offsets": [0, -1]}, "offsets: -1, at least 0"),
    ):
        with pytest.raises(ValueError, match=says):
            thresher.merge([first, second], **options)  # type: ignore[arg-type]


def command(*args: str) -> None:
    ran = subprocess.run([_binary.path(), *args], check=False, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stderr


def covered(path: Path) -> Any:
    with np.load(path) as answers:
        return json.loads(answers["covers"].item())


WIDE = np.random.default_rng(9).standard_normal((300, 5)) + 1e4  # float32 holds none of them


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("form", ["float32", "float64", "mixed", "zeros"])
def test_covers_of_command(tmp_path: Path, metric: str, form: str) -> None:
    """The package and the command state the same, whatever the type of the numbers and the metric."""
    vectors = WIDE.astype(np.float32)
    queries = WIDE[:7].copy()
    if form == "float32":
        queries = queries.astype(np.float32)
    elif form == "mixed":
        queries[::2] = np.round(queries[::2])
    elif form == "zeros":
        queries = np.array([[0.0, -0.0, 1, 2, 3]] * 7, np.float32)
    np.save(tmp_path / "a.npy", vectors)
    np.save(tmp_path / "q.npy", queries)
    limit = {"max_distance": 40.5} if metric == "l2" else {"min_score": 0.25}
    option = "--max-distance=40.5" if metric == "l2" else "--min-score=0.25"
    index = thresher.Index(vectors, metric=metric)
    for name, options, given in (("plain", [], {}), ("limited", [option], limit)):
        out = tmp_path / f"{name}.npz"
        where = ["--vectors", f"{tmp_path}/a.npy", "--queries", f"{tmp_path}/q.npy", "--out", str(out)]
        command("search", *where, "--metric", metric, "-k", "3", "--method", "certain", *options)
        result = index.search(queries, 3, method="certain", **given)
        assert result.covers == covered(out), name
        assert thresher.merge([str(out)], 2, offsets=[0]).covers == {**covered(out), "k": 2}


def test_covers_of_ids_and_parts() -> None:
    """Ids, filters and queries tell answers apart; what the caller does with the queries afterwards does not."""
    vectors, many = WIDE.astype(np.float32), np.repeat(WIDE, 4, axis=0)
    ids = [f"n{i}" for i in range(300)]
    index = thresher.Index(vectors, metric="ip", ids=ids)
    for queries in (WIDE[:3].copy(), many):
        before = index.search(queries, 3)
        again = index.search(queries.copy(), 3)
        queries += 1
        other = index.search(queries, 3)
        assert before.covers == again.covers
        assert other.covers is not None
        assert before.covers is not None
        assert other.covers["queries"] != before.covers["queries"]
        assert pickle.loads(pickle.dumps(again)).covers == before.covers
    assert before.covers["shards"][0]["rows"] == 300
    shards = {index.search(WIDE, 3).covers["shards"][0]["digest"]}  # type: ignore[index]
    for some, rows in (({"filter": ids[:9]}, 9), ({"filter": np.arange(300) < 9}, 9), ({"filter": ids}, 300)):
        shard = index.search(WIDE, 3, **some).covers["shards"][0]  # type: ignore[arg-type,index]
        assert shard["rows"] == rows
        shards.add(shard["digest"])
    shards.add(thresher.Index(vectors, metric="ip").search(WIDE, 3).covers["shards"][0]["digest"])  # type: ignore[index]
    assert len(shards) == 3
    reached = index.range_search(WIDE, 1.0).covers
    assert reached is not None
    assert (reached["k"], reached["reaching"]) == (0, True)
    index.add(vectors[:1], ids=["new"])
    assert index.search(WIDE, 3).covers["shards"][0]["rows"] == 301  # type: ignore[index]


def test_vectors_are_described_when_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Results over arrays state their vectors without a call of the worker, as it would, also of a closed index."""
    calls = []
    call = _worker.Worker.call

    def listen(self: _worker.Worker, op: str, *given: Any, **settings: Any) -> Any:
        calls.append(op)
        return call(self, op, *given, **settings)

    vectors = np.vstack([WIDE, WIDE + 1e6, np.zeros((1, WIDE.shape[1]))])  # l2 places them about their mean
    vectors[-1, ::2] = -0.0
    texts = [f"\u00e9{i}" for i in range(len(vectors))]
    for metric, ids in (
        ("ip", None),
        ("l2", None),
        ("l2", np.arange(len(vectors), dtype=np.uint64) + np.uint64(2**63)),
        ("cosine", texts),
    ):
        of_worker = [] if ids is None else [str(i) for i in np.asarray(ids)[_coverage.sampled(len(vectors))].tolist()]
        with thresher.Index(vectors, metric=metric, ids=ids) as index:
            said, _ = index._call("shard", {"ids": of_worker} if of_worker else {})
            with monkeypatch.context() as patched:
                patched.setattr(_worker.Worker, "call", listen)
                result = index.search(WIDE[:2], k=2)
                index.search(WIDE[:2], k=3, filter=index.ids[:5])
        assert calls == ["search", "search"]
        assert result.covers is not None
        assert result.covers["shards"] == [said]
        assert calls == ["search", "search"]
        calls.clear()
        index = thresher.Index(vectors, metric=metric)
    index.save(tmp_path / "i.thresher")  # here the worker alone has them
    opened = thresher.Index.open(tmp_path / "i.thresher")
    monkeypatch.setattr(_worker.Worker, "call", listen)
    found = [i.search(WIDE[:2], k=2).covers for i in (opened, opened, index)]
    assert calls == ["shard", "search", "search", "search"]
    assert found[0] == found[1] == found[2]


def test_not_together() -> None:
    """Answers to other queries, with other limits, over the same vectors, or that say nothing, are refused."""
    vectors = WIDE.astype(np.float32)
    a, b = (thresher.Index(vectors[lo:hi], metric="ip", ids=np.arange(lo, hi)) for lo, hi in ((0, 100), (100, 300)))
    first = a.search(WIDE[:4], 3)
    raw = thresher.Index(vectors[100:], metric="ip", ids=np.arange(100, 300), basis="raw")
    silent = dataclasses.replace(b.search(WIDE[:4], 3), _covers=None)
    for second, says in (
        (b.search(WIDE[1:5], 3), "digest of the queries differs"),
        (b.search(WIDE[:4], 3, max_score=1.0), "least or greatest scores of result 0 and result 1 differ"),
        (b.search(WIDE[:4], [3, 3, 3, 2]), "k differs, since queries of one of"),
        (a.search(WIDE[:4], 3, method="exact"), "result 0 and result 1 have answers over the same 100 vectors"),
        (raw.search(WIDE[:4], 3, method="banditmips"), "does not combine"),
        (silent, "result 1 does not state which queries"),
    ):
        with pytest.raises(ValueError, match=says):
            thresher.merge([first, second])
    own = [index.search(WIDE[:4], [3, 3, 3, 2]) for index in (a, b)]
    with pytest.raises(ValueError, match="have a k of their own"):
        thresher.merge(own)
    merged = thresher.merge([first, silent], unchecked=True)
    assert merged.covers is None
    assert len(merged) == 4
    alike = [index.search(WIDE[:4], 3, min_score=[0, 1, 2, np.nan]) for index in (a, b)]
    assert thresher.merge(alike).covers["shards"][1]["rows"] + 100 in (300, 200)  # type: ignore[index]


def body_of(lines: Path) -> str:
    """Return what the service would answer in place of lines of JSON."""
    results = [json.loads(line) for line in lines.read_text().splitlines()]
    covers = results[0].pop("covers")
    return json.dumps(
        {"answers_version": 2, "version": 1, "took_ms": 1.0, "covers": covers, "results": results}, indent=1
    )


def test_files(tmp_path: Path) -> None:
    """Files of every door, and results in memory, are merged into the answers of one search."""
    pytest.importorskip("pyarrow")
    vectors, ids = (WIDE - 1e4).astype(np.float32), [f"n{i:03}" for i in range(300)]
    queries = vectors[:5] + np.float32(0.5)
    cuts = (0, 60, 120, 180, 240, 300)
    paths = [tmp_path / name for name in ("a.npz", "b.parquet", "c.jsonl", "d.json")]
    indexes = [thresher.Index(vectors[lo:hi], metric="l2", ids=ids[lo:hi]) for lo, hi in itertools.pairwise(cuts)]
    found = [index.search(queries, 4, method="exact", query_ids=[9, 8, 7, 6, 5]) for index in indexes]
    want = thresher.Index(vectors, metric="l2", ids=ids).search(queries, 4, method="exact")
    np.save(tmp_path / "q.npy", queries)
    for i, path in enumerate(paths):
        if i < 2:
            found[i].save(path)
            with pytest.raises(FileExistsError, match="overwrite=True"):
                found[i].save(path)
            continue
        lines = "".join(
            json.dumps({"id": ids[j], "vector": vectors[j].tolist()}) + "\n" for j in range(cuts[i], cuts[i + 1])
        )
        (tmp_path / "v.jsonl").write_text(lines)
        out = str(tmp_path / "lines.jsonl" if i == 3 else path)
        where = ["--vectors", f"{tmp_path}/v.jsonl", "--queries", f"{tmp_path}/q.npy", "--out", out]
        command(
            "search",
            *where,
            "--metric",
            "l2",
            "-k",
            "4",
            "--method",
            "exact",
            "--certificates",
            f"{tmp_path}/{i}.jsonl",
        )
        if i == 3:
            path.write_text(body_of(tmp_path / "lines.jsonl"))
    merged = thresher.merge([paths[3], found[4], str(paths[1]), paths[0], paths[2]])
    assert merged.ids.tolist() == want.ids.tolist()
    assert np.array_equal(merged.scores64, want.scores64)
    assert merged.guarantee.tolist() == want.guarantee.tolist()
    assert merged.query_ids is not None
    assert merged.query_ids.tolist() == [9, 8, 7, 6, 5]
    assert merged.covers is not None
    assert [shard["rows"] for shard in merged.covers["shards"]] == [60] * 5
    merged.save(tmp_path / "all.npz")
    command("merge", str(tmp_path / "all.npz"), "--out", str(tmp_path / "again.npz"))
    assert covered(tmp_path / "again.npz") == merged.covers
    part = tmp_path / "part.json"
    for text, says in (
        (paths[3].read_text()[:-40], "part.json.*truncated"),
        ('{"title": "Not Found", "status": 404, "detail": "there is none"}', "part.json.*404 Not Found: there is none"),
        (paths[3].read_text().replace('"answers_version": 2', '"answers_version": 1', 1), "part.json.*former one"),
    ):
        part.write_text(text)
        with pytest.raises(OSError, match=says):
            thresher.merge([found[4], part])
