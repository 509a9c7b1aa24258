"""Calls of a worker: where arrays lie, and what goes wrong with arguments."""

import gc
import os
import signal
import threading
import time

import numpy as np
import pytest

from conftest import memfds
from thresher import _links, _memory, _worker

N, DIM, M, K = 500, 48, 20, 7


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    return rng.standard_normal((N, DIM), np.float32), rng.standard_normal((M, DIM), np.float32)


@pytest.fixture
def worker():
    return _worker.get()


@pytest.fixture
def handle(worker, data):
    info, _ = worker.call("build", {"metric": "ip"}, {"vectors": data[0]})
    yield info["handle"]
    worker.release(info["handle"])


def best(vectors, queries, k=K):
    scores = queries.astype(float) @ np.asarray(vectors).T.astype(float)
    return np.argsort(-scores, axis=1, kind="stable")[:, :k]


def search(worker, handle, queries, **fields):
    fields = {"handle": handle, "k": K, "method": "certain", **fields}
    return worker.call("search", fields, {"queries": queries})


def test_search_finds_the_best(worker, data, handle):
    reply, found = search(worker, handle, data[1])
    assert reply["k"] == K
    assert reply["complete"]
    np.testing.assert_array_equal(found["rows"], best(*data))
    certificates = found["certificates"]
    assert certificates.shape == (M,)
    assert {worker.hello["guarantees"][i] for i in certificates["guarantee"]} <= {"certain", "exact"}
    found["rows"][0] = 0  # writable


def test_large_answers_come_in_shared_memory(worker, data, handle):
    queries = np.tile(data[1], (200, 1))
    _, found = search(worker, handle, queries)
    np.testing.assert_array_equal(found["rows"], np.tile(best(*data), (200, 1)))
    found["scores64"][:] = 0  # writable


@pytest.mark.skipif(not _memory.LINUX, reason="reads /proc")
def test_results_that_are_kept_take_no_descriptors(worker, data, handle):
    queries = np.tile(data[1], (50, 1))
    search(worker, handle, queries)
    before = len(os.listdir("/proc/self/fd"))
    kept = [search(worker, handle, queries)[1] for _ in range(20)]
    assert kept[0]["rows"].nbytes > 50_000
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize(
    "change",
    [
        lambda q: q[::-1],
        lambda q: np.asfortranarray(q),
        lambda q: q.astype(">f4"),
        lambda q: np.repeat(q, 2, axis=1)[:, ::2],
        lambda q: np.frombuffer(b"\0" + q.tobytes(), np.uint8)[1:].view(np.float32).reshape(q.shape),
        lambda q: np.tile(q, (10, 1))[::10],
    ],
    ids=["reversed", "fortran", "big endian", "strided", "unaligned", "every tenth"],
)
@pytest.mark.parametrize(
    ("times", "pooled"), [(1, 0), (30, 1 << 20), (30, 0)], ids=["in the frame", "in a pool", "in a file"]
)
def test_any_strides(worker, data, handle, change, times, pooled, monkeypatch):
    monkeypatch.setattr(_worker, "_POOLED", pooled)
    queries = change(np.tile(data[1], (times, 1)))
    _, found = search(worker, handle, queries)
    np.testing.assert_array_equal(found["rows"], best(data[0], np.asarray(queries)))


@pytest.mark.parametrize(
    ("queries", "text"),
    [
        (np.zeros((2, DIM)), "dtype <f8; <f4 is wanted"),
        (np.zeros((2, DIM), np.float16), "dtype <f2; <f4 is wanted"),
        (np.zeros((2, DIM), complex), "complex"),
        (np.zeros((2, DIM), object), "object"),
        (np.zeros((2, DIM), "U3"), "U3"),
        (np.zeros((2, DIM + 1), np.float32), "49 columns"),
        (np.zeros((2, 2, DIM), np.float32), "3 dimensions"),
        (np.float32(3), "0 dimensions"),
        (np.zeros(DIM, np.float32), "matrix"),
        (np.full((2, DIM), np.nan, np.float32), "row 0"),
        (np.full((2, DIM), np.inf, np.float32), "row 0"),
        (np.zeros((0, DIM), np.float32), "none given"),
    ],
    ids=lambda x: "" if isinstance(x, str) else f"{x.dtype}{x.shape}",
)
def test_bad_queries_are_named(worker, data, handle, queries, text):
    with pytest.raises(_worker.BadInput, match=text) as e:
        search(worker, handle, queries)
    assert e.value.argument == "queries"
    search(worker, handle, data[1])


def test_a_nan_is_named(worker, data, handle):
    queries = data[1].copy()
    queries[3, 5] = np.nan
    with pytest.raises(_worker.BadInput, match="queries: row 3: column 5") as e:
        search(worker, handle, queries)
    assert (e.value.argument, e.value.row) == ("queries", 3)


@pytest.mark.parametrize(
    ("fields", "argument"),
    [
        ({"k": -1}, "k"),
        ({"k": 2.5}, "k"),
        ({"delta": float("nan")}, "delta"),
        ({"min_score": float("inf")}, "min_score"),
        ({"method": object()}, "method"),
        ({"method": "guess"}, "method"),
        ({"colour": 1}, "colour"),
    ],
)
def test_bad_fields_are_named(worker, data, handle, fields, argument):
    with pytest.raises(_worker.BadInput) as e:
        search(worker, handle, data[1], **fields)
    assert e.value.argument == argument


def test_numpy_scalars_are_fields(worker, data, handle):
    search(worker, np.int64(handle), data[1], k=np.int32(3), delta=np.float64(0.1), relative=np.bool_(True))


def test_other_errors(worker, data, handle, tmp_path):
    with pytest.raises(_worker.HandleLost):
        search(worker, 10**6, data[1])
    with pytest.raises(_worker.DeviceMissing, match="CUDA"):
        if any("missing" in d for d in worker.hello["devices"]):
            worker.call("build", {"metric": "ip", "device": "cuda"}, {"vectors": data[0]})
        else:
            raise _worker.DeviceMissing("CUDA is there")
    with pytest.raises(OSError, match="no such file"):
        worker.call("open", {"path": str(tmp_path / "none.npy")})
    with pytest.raises(_worker.DeadlineExceeded):
        worker.call("build", {"metric": "ip"}, {"vectors": data[0]}, deadline=0)
    with pytest.raises(_worker.DeadlineExceeded):
        worker.call("build", {"metric": "ip"}, {"vectors": np.tile(data[0], (40, 1))}, deadline=1e-6)
    with pytest.raises(_worker.BadInput):
        worker.call("build", {"metric": "ip"}, {"vectors": data[0]}, deadline=float("nan"))


def test_deadline_of_a_search_returns_the_best_so_far(worker, data, handle):
    reply, found = worker.call(
        "search", {"handle": handle, "k": K}, {"queries": np.tile(data[1], (500, 1))}, deadline=1e-6
    )
    assert not reply["complete"]
    assert worker.hello["stops"][found["certificates"]["stopped_by"][-1]] == "deadline"


def test_progress(worker, data):
    steps = []
    info, _ = worker.call(
        "build", {"metric": "ip"}, {"vectors": np.tile(data[0], (20, 1))}, progress=lambda *step: steps.append(step)
    )
    worker.release(info["handle"])
    assert steps
    assert all(step == "building" and 0 <= done <= total for step, done, total in steps)


def test_an_exception_of_progress_cancels_the_call(worker, data):
    def stop(*_):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        worker.call("build", {"metric": "ip"}, {"vectors": np.tile(data[0], (20, 1))}, progress=stop)
    assert search_of_new(worker, data)


def search_of_new(worker, data):
    info, _ = worker.call("build", {"metric": "ip"}, {"vectors": data[0]})
    try:
        return search(worker, info["handle"], data[1])
    finally:
        worker.release(info["handle"])


# Memory


def test_arrays_of_empty_are_passed_where_they_lie(worker, data):
    vectors = _worker.empty((N + 3, DIM))
    assert not vectors.any()
    part = vectors[3:]
    part[:] = data[0]
    assert _worker.shared(vectors)
    assert _worker.shared(part)
    assert _worker.shared(part[10:20].reshape(-1))
    assert not _worker.shared(part[:, 1:])
    assert not _worker.shared(data[0])
    info, _ = worker.call("build", {"metric": "ip"}, {"vectors": part})
    queries = _worker.empty((M, DIM))
    queries[:] = data[1]
    _, found = search(worker, info["handle"], queries)
    np.testing.assert_array_equal(found["rows"], best(*data))
    del vectors, part
    gc.collect()
    _, found = search(worker, info["handle"], queries)  # the collection keeps the memory
    np.testing.assert_array_equal(found["rows"], best(*data))
    worker.release(info["handle"])


@pytest.mark.parametrize("shape", [(0, 4), 0, (3,), 5, (2, 0)])
def test_shapes_of_empty(shape):
    assert _worker.empty(shape).shape == np.empty(shape).shape


def test_empty_refuses_what_cannot_be_shared():
    with pytest.raises(ValueError, match="objects"):
        _worker.empty(3, object)
    with pytest.raises(ValueError, match="negative"):
        _worker.empty((-1, 2))


@pytest.mark.parametrize("mode", ["r", "r+"])
def test_mapped_files_are_passed_where_they_lie(worker, data, tmp_path, mode):
    vectors = np.tile(data[0], (20, 1))
    path = tmp_path / "vectors.npy"
    np.save(path, vectors)
    mapped = np.load(path, mmap_mode=mode)
    assert _worker.shared(mapped)
    assert _worker.shared(np.asarray(mapped)[100:])
    info, _ = worker.call("build", {"metric": "ip"}, {"vectors": mapped[100:]})
    _, found = search(worker, info["handle"], data[1])
    want = np.sort(
        np.take_along_axis(data[1].astype(float) @ vectors[100:].T.astype(float), best(vectors[100:], data[1]), 1)
    )
    np.testing.assert_allclose(np.sort(found["scores64"]), want, rtol=1e-5)
    worker.release(info["handle"])


@pytest.mark.parametrize("how", ["replaced", "removed", "copied on write"])
def test_mapped_files_that_are_others_by_now_are_copied(worker, data, tmp_path, how):
    vectors = np.tile(data[0], (20, 1))
    path = tmp_path / "vectors.npy"
    np.save(path, vectors)
    mapped = np.load(path, mmap_mode="c" if how == "copied on write" else "r")
    if how == "copied on write":
        mapped[0] *= 2
    elif how == "replaced":
        np.save(tmp_path / "other.npy", vectors * 2)
        os.replace(tmp_path / "other.npy", path)
    else:
        path.unlink()
    assert not _worker.shared(mapped)
    info, _ = worker.call("build", {"metric": "ip"}, {"vectors": mapped})
    _, found = search(worker, info["handle"], data[1])
    scores = np.take_along_axis(data[1].astype(float) @ np.asarray(mapped).T.astype(float), found["rows"], 1)
    np.testing.assert_allclose(found["scores64"], scores, rtol=1e-4, atol=1e-5)
    worker.release(info["handle"])


def test_files_never_enter_python(worker, data, tmp_path):
    path = tmp_path / "vectors.npy"
    np.save(path, data[0])
    opened, _ = worker.call("open", {"path": path, "metric": "cosine"})
    worker.call("save", {"handle": opened["handle"], "path": tmp_path / "x.thresher"})
    again, _ = worker.call("open", {"path": tmp_path / "x.thresher"})
    assert (again["n"], again["metric"]) == (N, "cosine")
    _, one = search(worker, opened["handle"], data[1])
    _, two = search(worker, again["handle"], data[1])
    np.testing.assert_array_equal(one["rows"], two["rows"])
    with pytest.raises(OSError, match="exist"):
        worker.call("save", {"handle": opened["handle"], "path": tmp_path / "x.thresher"})
    for info in (opened, again):
        worker.release(info["handle"])


def test_released_collections_are_gone(worker, data):
    info, _ = worker.call("build", {"metric": "ip"}, {"vectors": data[0]})
    worker.release(info["handle"])
    until(lambda: lost(worker, info["handle"], data[1]))


def lost(worker, handle, queries):
    try:
        search(worker, handle, queries)
    except _worker.HandleLost:
        return True
    return False


PATIENCE = 600  # seconds for what must come true, on a busy machine


def until(condition):
    """Wait, by calls of the worker, until a condition that the worker or a thread makes true."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if condition():
            return
        _worker.get().call("hello", {"protocol": _worker.PROTOCOL})
    raise AssertionError("it did not become true")


@pytest.mark.skipif(not _memory.LINUX, reason="reads /proc")
def test_shared_memory_does_not_leak(worker, data):
    def used():
        gc.collect()
        return memfds("self"), memfds(worker.process)

    def files():  # the named semaphores there are of other programs: the worker makes none
        return {name for name in os.listdir("/dev/shm") if not name.startswith("sem.")}

    shm = files()
    before = used()
    for i in range(30):
        vectors = _worker.empty((N, DIM))
        vectors[:] = data[0]
        info, _ = worker.call("build", {"metric": "ip"}, {"vectors": vectors})
        _, found = search(worker, info["handle"], np.tile(data[1], (100 + i, 1)))
        worker.release(info["handle"])
        if i % 5 == 0:
            kept = found
        del vectors, found, info
    del kept
    pooled = 2 * 8  # segments of the pool, which are mapped and have a descriptor
    until(lambda: all(now <= old + pooled + 8 for now, old in zip(used(), before, strict=True)))
    until(lambda: files() <= shm)  # other programs may make and remove theirs meanwhile


# Interrupts


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
def test_interrupts_at_any_time_leave_the_worker_usable(worker, data, handle):
    rng = np.random.default_rng(2)
    queries = np.tile(data[1], (20, 1))

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    interrupted = 0
    try:
        for after in rng.uniform(1e-5, 3e-3, int(os.environ.get("THRESHER_STRESS", "200"))):
            try:
                signal.setitimer(signal.ITIMER_REAL, after)
                while True:
                    _, found = search(worker, handle, queries)
            except KeyboardInterrupt:
                interrupted += 1
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            _, found = search(worker, handle, data[1])
            np.testing.assert_array_equal(found["rows"], best(*data))
    finally:
        signal.signal(signal.SIGALRM, before)
    assert interrupted > 0
    assert _worker.get() is worker
    until(lambda: len(worker._pending) <= 1)


def test_threads_call_at_once(worker, data, handle):
    want = best(*data)
    failures = []

    def work():
        try:
            for j in range(50):
                rows = slice(j % M, j % M + 1)
                _, found = search(worker, handle, data[1][rows])
                np.testing.assert_array_equal(found["rows"], want[rows])
        except BaseException as e:
            failures.append(e)

    threads = [threading.Thread(target=work) for _ in range(16)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures


def nobody_reads(worker):
    """Wait until all calls are answered, who read the last answer has resigned, and nobody is told to read."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if not worker._pending and (worker._reader is None or worker._reader.abandoned) and worker._told.empty():
            return
        os.sched_yield()
    raise AssertionError(f"{worker._pending} {worker._reader}")


@pytest.mark.skipif(not _memory.LINUX, reason="without sockets another thread reads")
def test_a_caller_reads_its_own_answer(worker, data, handle, monkeypatch):
    """No other thread of this process delivers it."""
    nobody_reads(worker)
    monkeypatch.setattr(worker, "_deliver", None)  # which other threads call for whatever they read
    for queries in (data[1][:1], data[1], np.tile(data[1], (10, 1))):  # the last in several pieces
        _, found = search(worker, handle, queries)
        np.testing.assert_array_equal(found["rows"], best(data[0], queries))


@pytest.mark.skipif(not _memory.LINUX, reason="without sockets another thread reads")
@pytest.mark.parametrize("at", ["before it waits", "when it has received", "when it has finished"])
def test_an_interrupt_while_a_caller_reads(worker, data, handle, monkeypatch, at):
    """What it received is neither lost to another caller nor taken for the next answer."""
    link = worker._link
    with monkeypatch.context() as patch:
        if at == "when it has finished":
            finish = worker._finish

            def interrupted(call):
                finish(call)
                if threading.current_thread() is threading.main_thread():
                    raise KeyboardInterrupt

            patch.setattr(worker, "_finish", interrupted)
        else:
            leave = link.leave

            def interrupted():
                if at == "when it has received":
                    leave()
                raise KeyboardInterrupt

            patch.setattr(link, "leave", interrupted)
        for _ in range(3):
            nobody_reads(worker)
            with pytest.raises(KeyboardInterrupt):
                search(worker, handle, data[1])
    for j in range(20):
        _, found = search(worker, handle, data[1][j : j + 1])
        np.testing.assert_array_equal(found["rows"], best(data[0], data[1][j : j + 1]))
    nobody_reads(worker)
    assert link.clean()


@pytest.mark.skipif(not _memory.LINUX, reason="without sockets another thread reads")
def test_answers_of_others_reach_them_while_a_caller_reads(worker, data, handle, monkeypatch):
    """A caller that receives the answer to another call leaves it, and gets its own nevertheless."""
    link, leave, other, results, called = worker._link, worker._link.leave, [], [], 0

    def late():
        if not other:  # another call whose answer comes before this one's or after it, and has no compact header
            other.append(threading.Thread(target=lambda: results.append(worker.call("info", {"handle": handle})[0])))
            other[0].start()
        return leave()

    monkeypatch.setattr(link, "leave", late)
    for _ in range(50):
        _, found = search(worker, handle, np.tile(data[1], (10, 1)))
        np.testing.assert_array_equal(found["rows"], best(data[0], np.tile(data[1], (10, 1))))
        called += len(other)  # none if the receiving thread, which had not resigned yet, received the answer
        while other:
            other.pop().join()
    assert called > 0
    assert [info["n"] for info in results] == [N] * called
    nobody_reads(worker)


@pytest.mark.skipif(not _memory.LINUX, reason="without sockets another thread reads")
def test_one_read_of_a_caller_receives_the_longest_frame_without_a_file():
    ours, theirs = _links.socket_pair()
    with ours, theirs:
        frame = bytes(16 + 1024 + (96 << 10))  # prefix, compact header, arrays
        theirs.sendall(frame)
        assert _links.SocketLink(ours).leave()[0] == frame


@pytest.mark.skipif(not _memory.LINUX, reason="without sockets another thread reads")
def test_an_answer_that_another_thread_has_received(worker, data, handle, monkeypatch):
    claim = worker._claim

    def late(call):
        if threading.current_thread() is threading.main_thread():
            worker.receive()
            nobody_reads(worker)
        return claim(call)

    monkeypatch.setattr(worker, "_claim", late)
    for j in range(20):
        _, found = search(worker, handle, data[1][j : j + 1])
        np.testing.assert_array_equal(found["rows"], best(data[0], data[1][j : j + 1]))


@pytest.mark.parametrize(
    ("fields", "compact"),
    [
        ({}, True),
        ({"delta": 0.2, "epsilon": 0.5}, True),
        ({"k": np.int64(3)}, False),
        ({"delta": np.float64(0.2)}, False),
        ({"max_score": 1.0}, False),
        ({"looks": True}, False),
        ({"method": "guess"}, False),
        ({"method": []}, False),
        ({"k": 1 << 63}, False),
        ({"k": True}, False),
        ({"epsilon": float("nan")}, False),
    ],
)
def test_which_searches_have_compact_headers(worker, fields, compact):
    header = {"id": 1, "op": "search", "deadline_ms": 0.0}
    fields = {"handle": 1, "k": 3, **fields}
    assert bool(worker._compact.encode(header, fields)) == compact
    assert not worker._compact.encode({**header, "op": "range"}, fields)


def test_compact_headers_say_the_same(worker, data, handle, monkeypatch):
    fields = {"handle": handle, "k": K, "method": "certain", "epsilon": 0.5}
    lims = np.arange(0, M + 1) * 2
    arrays = {"queries": data[1], "exclude": np.arange(2 * M), "exclude_lims": lims, "ks": np.full(M, K)}
    one, found = worker.call("search", fields, arrays)
    monkeypatch.setattr(worker._compact, "encode", lambda *_: b"")
    other, expected = worker.call("search", fields, arrays)
    assert {**one, "took_ms": 0} == {**other, "took_ms": 0}
    assert {name: values.tobytes() for name, values in found.items()} == {
        name: values.tobytes() for name, values in expected.items()
    }
    _, partial = worker.call("search", fields, {"queries": np.tile(data[1], (500, 1))}, deadline=1e-6)
    assert set(partial) == set(expected)


# Pipes, as where there are no socket pairs


def test_pipes(monkeypatch, data, tmp_path):
    monkeypatch.setenv("THRESHER_WORKER_PIPES", "1")
    worker = _worker.Worker()
    try:
        assert not worker._link.passes
        info, _ = worker.call("build", {"metric": "ip"}, {"vectors": np.asfortranarray(np.tile(data[0], (20, 1)))})
        _, found = search(worker, info["handle"], np.tile(data[1], (100, 1)), k=100)
        assert found["rows"].shape == (100 * M, 100)
        path = tmp_path / "vectors.npy"
        np.save(path, np.tile(data[0], (20, 1)))
        info, _ = worker.call("build", {"metric": "ip"}, {"vectors": np.load(path, mmap_mode="r")})
        _, again = search(worker, info["handle"], np.tile(data[1], (100, 1)), k=100)
        np.testing.assert_array_equal(found["rows"], again["rows"])
    finally:
        worker.close()
    assert worker.dead
