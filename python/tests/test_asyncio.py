"""Searches that tasks of asyncio await: their answers, their end, and the threads that they leave."""

from __future__ import annotations

import asyncio
import inspect
import os
import queue
import signal
import threading

import numpy as np
import pytest

import thresher
from conftest import best
from thresher import _worker

LIMIT = 600  # seconds; what takes longer hangs


def run(coroutine):
    """Run a coroutine, and fail if it leaves a thread."""
    _worker.get()
    before = set(threading.enumerate())
    result = asyncio.run(asyncio.wait_for(coroutine, LIMIT))
    assert set(threading.enumerate()) <= before
    return result


@pytest.fixture(scope="module")
def index(vectors):
    with thresher.Index(vectors, metric="l2") as index:
        yield index


@pytest.fixture(scope="module")
def large():
    """An index whose search for many queries takes minutes, so that it lasts when it is cancelled, however late."""
    rows = np.random.default_rng(4).standard_normal((100_000, 48), dtype=np.float32)
    with thresher.Index(rows, metric="l2") as index:
        yield index


@pytest.fixture(scope="module")
def many(queries):
    """Queries that take a worker seconds."""
    return np.tile(queries, (20_000, 1))


@pytest.fixture
def dropped(monkeypatch):
    """The answers of the worker that nobody waited for, as they come."""
    worker, come = _worker.get(), queue.SimpleQueue()
    drop = worker._drop
    monkeypatch.setattr(worker, "_drop", lambda header, fds: (drop(header, fds), come.put(header)))
    return come


def cancelled(dropped):
    """Wait for the answer to a search that was cancelled; its progress and answers to its cancellation come, too."""
    while "found" in (header := dropped.get(timeout=LIMIT)).get("reply", ()) or "progress" in header:
        pass
    return header["error"]["kind"] == "cancelled"


def test_answers_are_those_of_search(index, queries):
    async def ask():
        asked = index.asearch(queries, 5, method="exact", query_ids=np.arange(30), deadline=LIMIT)
        return await asked, await index.arange_search(queries, 40.0, method="exact"), await index.asearch(queries[:0])

    found, ranged, none = run(ask())
    want, all_ = index.search(queries, 5, method="exact"), index.range_search(queries, 40.0, method="exact")
    np.testing.assert_array_equal(found.scores64, want.scores64)
    np.testing.assert_array_equal(found.ids, best(queries, index._rows, 5, "l2")[0])
    assert found.query_ids.tolist() == list(range(30)) and found.covers == want.covers
    np.testing.assert_array_equal(ranged.lims, all_.lims)
    np.testing.assert_array_equal(ranged.ids, all_.ids)
    assert none.ids.shape == (0, 10)


def test_many_at_once(index, queries):
    async def ask():
        return await asyncio.gather(*(index.asearch(queries[j % 30], 3, method="exact") for j in range(500)))

    right, _ = best(queries, index._rows, 3, "l2")
    for j, found in enumerate(run(ask())):
        assert found.ids.tolist() == [right[j % 30].tolist()]


def test_two_loops_in_two_threads(index, queries):
    found = queue.SimpleQueue()

    def ask():
        async def each():
            return await asyncio.gather(*(index.asearch(queries, 2, method="exact") for _ in range(20)))

        found.put(asyncio.run(each()))

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT)
    right, _ = best(queries, index._rows, 2, "l2")
    for _ in threads:
        for result in found.get(timeout=LIMIT):
            np.testing.assert_array_equal(result.ids, right)


def test_errors_are_those_of_search(index, queries):
    async def ask(*given, **options):
        return await index.asearch(*given, **options)

    for given, options, error, text in (
        ((queries[:, :3],), {}, ValueError, "queries: rows of 3 values"),
        ((np.full((1, 48), np.nan),), {}, thresher.BadInput, "queries: "),
        ((queries,), {"method": "quick"}, thresher.BadInput, "method: "),
        ((queries,), {"max_distance": 1.0, "min_distance": 2.0}, ValueError, "min_distance: row 0"),
        ((queries,), {"deadline": "soon"}, TypeError, "deadline: "),
        ((queries,), {"progress": "yes"}, TypeError, "progress: "),
    ):
        with pytest.raises(error, match=text) as right:
            index.search(*given, **options)
        with pytest.raises(error, match=text) as mine:
            run(ask(*given, **options))
        assert str(mine.value) == str(right.value)
    with pytest.raises(TypeError, match=r"Index\.asearch\(\) got an unexpected keyword argument 'limit'"):
        run(index.asearch(queries, limit=3))
    with pytest.raises(TypeError, match=r"Index\.arange_search\(\) missing 1 required positional argument: 'queries'"):
        run(index.arange_search(max_distance=3.0))


def test_cancelling_a_task_cancels_the_search(large, many, dropped):
    async def ask():
        begun = asyncio.Event()
        task = asyncio.create_task(large.asearch(many, 5, method="exact", progress=lambda *_: begun.set()))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await large.asearch(many[:3], 1)  # the worker goes on

    assert len(run(ask())) == 3
    assert cancelled(dropped)
    assert not _worker.get()._pending


def test_a_task_cancelled_before_its_search_begins(index, many, dropped, monkeypatch):
    """The thread that sends is held up until the task is cancelled: the search is cancelled once it is sent."""
    held, go = threading.Event(), threading.Event()
    live = type(index)._live

    def waiting(self):
        held.set()
        assert go.wait(LIMIT)
        return live(self)

    monkeypatch.setattr(type(index), "_live", waiting)

    async def ask():
        task = asyncio.create_task(index.asearch(many, 5, method="exact"))
        await asyncio.to_thread(held.wait, LIMIT)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go.set()

    run(ask())
    assert cancelled(dropped)


def test_an_exception_of_progress_cancels_the_search(large, many, dropped):
    def stop(*_):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(large.asearch(many, 5, method="exact", progress=stop))
    assert cancelled(dropped)


def test_a_loop_that_ends_with_a_search(large, many, dropped):
    async def leave():
        begun = asyncio.Event()
        task = asyncio.create_task(large.asearch(many, 5, method="exact", progress=lambda *_: begun.set()))
        await begun.wait()
        return task  # asyncio.run cancels it

    assert run(leave()).cancelled()
    assert cancelled(dropped)
    loop = asyncio.new_event_loop()
    begun = asyncio.Event()
    task = loop.create_task(large.asearch(many, 5, method="exact", progress=lambda *_: begun.set()))
    loop.run_until_complete(begun.wait())
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()  # without cancelling anything: the next message of the search finds it so
    task._log_destroy_pending = False
    assert cancelled(dropped)


def test_a_deadline_returns_the_best_so_far(index, many):
    found = run(index.asearch(many[:12_000], 3, method="exact", deadline=1e-6))
    assert not found.complete.all() and len(found) == 12_000


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_worker_that_dies_is_started_again(index, many, queries):
    killed = []

    def kill(*_):
        if not killed:
            killed.append(_worker.get().process)
            os.kill(killed[0], signal.SIGKILL)

    async def ask():
        return await index.asearch(many[:60_000], 2, method="exact", progress=kill)

    _worker.get()
    found = asyncio.run(asyncio.wait_for(ask(), LIMIT))
    assert killed and _worker.get().process != killed[0]
    np.testing.assert_array_equal(found.ids[:30], best(queries, index._rows, 2, "l2")[0])


def test_signatures_are_those_of_search():
    for name in ("search", "range_search"):
        mine, right = getattr(thresher.Index, "a" + name), getattr(thresher.Index, name)
        assert inspect.signature(mine) == inspect.signature(right) and inspect.iscoroutinefunction(mine)
