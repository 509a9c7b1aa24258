"""Answers of the API in states that a demo is rarely in."""

from __future__ import annotations

from typing import Any


def rounds(looks: int) -> list[dict[str, Any]]:
    seen = [max(1, 5473 * 3**i // 4**i) for i in range(looks + 1)]
    how = {"reads": "panels", "rule": "student", "alpha": 1e-3}
    return [how | {"width": 64 * (i + 1), "seen": seen[i], "survivors": seen[i + 1]} for i in range(looks)]


def certificate() -> dict[str, Any]:
    return {
        "method": "adaptive",
        "guarantee": "probabilistic",
        "law": "calibrated",
        "delta": 0.01,
        "epsilon": 0,
        "exact": False,
        "stopped_by": "done",
        "pulls": 1824160,
        "dense_pulls": 22417408,
        "bytes": 2026612,
        "rows_scored": 11,
        "threshold": 0.58,
        "open_bound": None,
        "plan": "192,whole,rescore",
        "predicted_survivors": 0.05,
        "backend": "cpu",
    }


def answer(ids: list[Any], looks: int = 2) -> dict[str, Any]:
    scores = [1 - i / 16 for i in range(len(ids))]
    result = {
        "ids": ids,
        "scores": scores,
        "complete": True,
        "guarantee": "probabilistic",
        "delta": 0.01,
        "certificate": certificate(),
        "rounds": rounds(looks),
    }
    return {"answers_version": 2, "version": 1, "took_ms": 0.84, "results": [result]}


def incomplete() -> dict[str, Any]:
    a = answer(["a", "b"])
    a["results"][0] |= {"complete": False, "guarantee": "bound"}
    a["results"][0]["certificate"] |= {"guarantee": "bound", "stopped_by": "deadline", "open_bound": 0.71}
    return a


def collections() -> dict[str, Any]:
    ready = {
        "state": "ready",
        "metric": "cosine",
        "basis": "rotated",
        "ids": "row",
        "bytes": 92e6,
        "count": 5473,
        "dimension": 256,
    }
    building = {"name": "films", "version": 4, "next_version": 5, "progress": 0.42}
    failed = {"name": "broken", "version": 1, "state": "failed", "error": "row 17, column 3: NaN"}
    return {"data": [{"name": "demo", "version": 1} | ready, ready | building, ready | failed]}


def jobs(done: int) -> dict[str, Any]:
    running = {
        "id": "batch_1",
        "status": "in_progress" if done < 9999 else "completed",
        "collections": [{"name": "demo", "version": 1}],
        "request_counts": {"total": 10_000, "completed": done, "failed": 1},
        "progress": {"position": 0, "queries_per_second": 17288.3, "saving": 10.31, "seconds_left": 65.2},
    }
    none = {"total": 0, "completed": 0, "failed": 0}
    waiting = {
        "id": "batch_2",
        "status": "validating",
        "request_counts": none,
        "progress": {"position": 1},
        "collections": [],
    }
    failed = {
        "id": "batch_3",
        "status": "failed",
        "request_counts": {"total": 3, "completed": 0, "failed": 3},
        "errors": {"data": [{"message": "line 3 is no JSON"}]},
        "collections": [],
        "progress": {"saving": 1},
    }
    rest = {"endpoint": "/v1/collections/demo/search", "errors": None}
    return {"object": "list", "has_more": False, "data": [rest | running, rest | waiting, rest | failed]}
