"""Answers that take more memory than is free are refused before any of it is taken."""

import sys

import numpy as np
import pytest

import thresher
from thresher import _capacity, _worker

GIB = 1 << 30


@pytest.fixture
def rows():
    return np.random.default_rng(0).standard_normal((50, 8)).astype("f4")


@pytest.fixture
def free(monkeypatch):
    monkeypatch.setattr(_capacity, "free_bytes", lambda: GIB)


@pytest.fixture
def no_calls(monkeypatch):
    """Let nothing reach the worker."""

    def refuse(*_, **__):
        raise AssertionError("the search began")

    monkeypatch.setattr(_worker.Worker, "call", refuse)


TAKEN = (
    r"k: 2147483648 columns for 3 queries take 7730\d{7} bytes, and 1073741824 are available "
    r"\(three quarters of what is free\); there are 50 vectors; "
)


def test_an_absurd_k_is_refused_before_the_search(rows, free, request):
    with thresher.Index(rows, metric="ip") as index:
        request.getfixturevalue("no_calls")
        with pytest.raises(MemoryError, match=TAKEN):
            index.search(rows[:3], k=2**31)
        with pytest.raises(MemoryError, match=TAKEN):
            index.search(rows[:3], k=[1, 2**31, 2])
        with pytest.raises(MemoryError, match=TAKEN):
            thresher.knn(rows[:3], rows, 2**31, metric="ip")
        with pytest.raises(MemoryError, match=TAKEN):
            thresher.knn(rows[:3], index, 2**31)
        request.getfixturevalue("monkeypatch").undo()


def test_ids_of_answers_count(rows, free):
    with thresher.Index(rows, ids=[f"{i:0100d}" for i in range(50)], metric="ip") as index:
        k = 2 * GIB // (3 * 400)
        with pytest.raises(MemoryError, match=f"k: {k} columns for 3 queries"):
            index.search(rows[:3], k=k)


def test_what_fits_is_not_refused(rows, free):
    with thresher.Index(rows, metric="ip") as index:
        found = index.search(rows[:3], k=100)
    assert found.ids.shape == (3, 100)
    assert (found.ids[:, 50:] == -1).all() and np.isnan(found.scores[:, 50:]).all()
    _capacity.check_answers(GIB // 80, 3, 10**9)
    with pytest.raises(MemoryError, match=r"there are 1000000000 vectors$"):
        _capacity.check_answers(GIB // 80, 4, 10**9)


def test_nothing_is_refused_where_nothing_is_known(rows, monkeypatch):
    monkeypatch.setattr(_capacity, "free_bytes", lambda: None)
    _capacity.check_answers(10**15, 10, 10)


def test_what_is_free_is_what_the_worker_says(monkeypatch):
    asked = []

    def answer(self, op, fields, *_, **__):
        asked.append((op, fields))
        return {"available": 7 * GIB}, {}

    _worker.get()
    monkeypatch.setattr(_worker.Worker, "call", answer)
    assert _capacity.free_bytes() == 7 * GIB
    assert asked == [("memory", {})]
    monkeypatch.setattr(_worker.Worker, "call", lambda *_, **__: ({}, {}))
    assert _capacity.free_bytes() is None

    def die(*_, **__):
        raise _worker.WorkerDied("thresher's worker died")

    monkeypatch.setattr(_worker.Worker, "call", die)
    assert _capacity.free_bytes() is None


def test_the_worker_says_what_is_free():
    free = _capacity.free_bytes()
    assert free is None or 1 << 20 < free < 1 << 50
    if sys.platform == "linux":
        with open("/proc/meminfo") as f:
            total = int(f.readline().split()[1]) << 10
        assert free is not None and free < total


def test_what_is_asked_is_asked_of_the_worker_for_large_answers_only(rows, monkeypatch):
    calls = []
    call = _worker.Worker.call

    def listen(self, op, *args, **settings):
        calls.append(op)
        return call(self, op, *args, **settings)

    with thresher.Index(rows, metric="ip") as index:
        monkeypatch.setattr(_worker.Worker, "call", listen)
        index.search(rows[:3], k=100)
        assert calls == ["search"]
        index.search(rows[:3], k=2 * 10**6)
    assert calls == ["search", "memory", "search"]
