"""Answers over disjoint sets of vectors, merged, are those over all of them."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest

import thresher

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
    """Integers are compared by value, strings by their bytes."""
    for ids, want in (([10, 9, 2**63 + 1], [9, 10, 2**63 + 1]), (["10", "9", "é"], ["10", "9", "é"])):
        found = [
            thresher.Index(np.ones((1, 2), np.float32), metric="ip", ids=[i]).search(np.ones((1, 2)), 3)
            for i in ids[::-1]
        ]
        assert thresher.merge(found).ids[0].tolist() == want


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
    for results, error, says in (
        ([], ValueError, "none to merge"),
        ([first, 7], TypeError, "result 1 is int"),
        ([first, search(10, 20, metric="l2")], ValueError, "metric differs, ip of result 0 and l2 of result 1"),
        ([first, search(10, 20, k=4)], ValueError, "k differs, 3 of result 0 and 4 of result 1"),
        ([first, search(10, 20, m=5)], ValueError, "queries differs, 6 of result 0 and 5 of result 1"),
        ([first, search(10, 20, ids=None)], ValueError, "only one of result 0 and result 1 has ids"),
        ([first, search(10, 20, ids=[f"{i}" for i in range(10)])], TypeError, "ids are int64 in result 0"),
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
