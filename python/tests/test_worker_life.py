"""Processes: forks, spawned children, threads, signals and sudden ends, counted and without pauses.

THRESHER_STRESS is how many times the loops run, 20 unless it is set; make worker-stress runs them
1,000 times.
"""

import gc
import multiprocessing
import os
import select
import signal
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import numpy as np
import pytest

from conftest import memfds
from thresher import _memory, _worker

TIMES = int(os.environ.get("THRESHER_STRESS", "20"))

pytestmark = pytest.mark.skipif(not _memory.LINUX, reason="reads /proc, and waits for processes by pidfd")

VECTORS = np.random.default_rng(3).standard_normal((64, 32)).astype(np.float32)


def built(worker):
    return worker.call("build", {"metric": "ip"}, {"vectors": VECTORS})[0]["handle"]


def right(worker, handle):
    """Search, and tell whether the answers are right."""
    _, found = worker.call("search", {"handle": handle, "k": 1}, {"queries": VECTORS})
    want = (VECTORS.astype(float) @ VECTORS.T.astype(float)).argmax(axis=1)
    return bool((found["rows"][:, 0] == want).all())


def ended(pid, seconds=600):
    """Wait until a process has ended, and tell whether it has."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        poll = select.poll()
        poll.register(fd, select.POLLIN)
        return bool(poll.poll(seconds * 1000))
    finally:
        os.close(fd)


def in_child():
    """Search in a child process, and return the process id of its worker."""
    worker = _worker.get()
    assert worker.pid == os.getpid()
    assert right(worker, built(worker))
    return worker.process


def forked(work):
    """Run work in a forked child, and return the number that it returned."""
    into, out = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(into)
        code = 1
        try:
            os.write(out, str(work()).encode())
            code = 0
        finally:
            os._exit(code)
    os.close(out)
    with open(into, "rb") as f:
        text = f.read()
    _, status = os.waitpid(pid, 0)
    assert status == 0
    return int(text)


def test_forks():
    worker = _worker.get()
    handle = built(worker)
    shared = _worker.empty(VECTORS.shape)
    shared[:] = VECTORS

    def child():
        process = in_child()
        with pytest.raises(_worker.HandleLost):
            worker.call("search", {"handle": handle, "k": 1}, {"queries": VECTORS})
        own = _worker.get()
        info, _ = own.call("build", {"metric": "ip"}, {"vectors": shared})
        assert right(own, info["handle"])
        return process

    before = open_files(), memfds("self"), memfds(worker.process)
    for _ in range(TIMES):
        process = forked(child)
        assert process != worker.process
        assert ended(process)
    assert _worker.get() is worker
    assert right(worker, handle)
    now = open_files(), memfds("self"), memfds(worker.process)
    assert all(a <= b for a, b in zip(now, before, strict=True)), (before, now)


def open_files():
    return len(os.listdir("/proc/self/fd"))


def test_forks_while_threads_call():
    worker = _worker.get()
    handle = built(worker)
    stop, failures = threading.Event(), []

    def work():
        try:
            while not stop.is_set():
                assert right(worker, handle)
        except BaseException as e:
            failures.append(e)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    try:
        for _ in range(TIMES):
            assert ended(forked(in_child))
    finally:
        stop.set()
        for t in threads:
            t.join()
    assert not failures


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(method):
    times = TIMES if method == "fork" else max(2, TIMES // 20)
    context = multiprocessing.get_context(method)
    assert right(_worker.get(), built(_worker.get()))
    with context.Pool(2, maxtasksperchild=2) as pool:
        processes = [pool.apply(in_child) for _ in range(times)]
        pool.close()
        pool.join()
    for process in set(processes):
        assert ended(process)


def test_a_forkserver_that_has_imported_it():
    """Children of a server that imported the package before they were forked."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["thresher", "conftest"])
    processes = []
    for _ in range(max(2, TIMES // 20)):
        with context.Pool(1) as pool:
            processes.append(pool.apply(in_child))
    assert all(ended(process) for process in processes)


def test_threads_come_and_go():
    worker = _worker.get()
    handle = built(worker)
    results = []
    for _ in range(TIMES):
        threads = [threading.Thread(target=lambda: results.append(right(worker, handle))) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    assert results == [True] * (4 * TIMES)


def test_a_worker_that_is_killed():
    """Its end leaves no process, no descriptor and no shared memory."""
    used = []
    for _ in range(max(4, TIMES // 10)):
        gc.collect()
        used.append((open_files(), memfds("self")))
        worker = _worker.get()
        handle = built(worker)
        os.kill(worker.process, signal.SIGKILL)
        with pytest.raises(_worker.WorkerDied, match=r"signal 9.*the next call starts another"):
            while True:
                right(worker, handle)
        other = _worker.get()
        assert other is not worker
        assert right(other, built(other))
        with pytest.raises(_worker.WorkerDied):
            worker.call("info", {"handle": handle})
        with pytest.raises(_worker.HandleLost):
            other.call("info", {"handle": handle})
        worker.release(handle)
        assert ended(worker.process)
    assert all(now <= old for now, old in zip(used[-1], used[2], strict=True)), used


def test_a_worker_that_is_killed_in_mid_search():
    many = np.tile(VECTORS, (1000, 1))
    used = []
    for _ in range(max(4, TIMES // 20)):
        gc.collect()
        used.append((open_files(), memfds("self")))
        worker = _worker.get()
        # the search would take seconds, so that it lasts when its worker is killed, however late
        info, _ = worker.call("build", {"metric": "ip"}, {"vectors": np.tile(VECTORS, (1000, 1))})

        def kill(*_, process=worker.process):
            os.kill(process, signal.SIGKILL)

        with pytest.raises(_worker.WorkerDied, match="signal 9"):
            fields = {"handle": info["handle"], "k": 5, "method": "exact"}
            worker.call("search", fields, {"queries": many}, progress=kill)
        assert ended(worker.process)
        assert right(_worker.get(), built(_worker.get()))
    assert all(now <= old for now, old in zip(used[-1], used[2], strict=True)), used


def test_a_mapped_file_that_shrinks(tmp_path):
    """It ends the worker, as it ends any program that maps it; the exception says so."""
    path = tmp_path / "vectors.npy"
    np.save(path, np.tile(VECTORS, (2000, 1)))
    worker = _worker.get()
    info, _ = worker.call("build", {"metric": "ip"}, {"vectors": np.load(path, mmap_mode="r")})
    os.truncate(path, 4096)
    with pytest.raises(_worker.WorkerDied, match=r"(?s)unexpected fault address.*SIGBUS"):
        worker.call("search", {"handle": info["handle"], "k": 5, "method": "exact"}, {"queries": VECTORS})
    assert right(_worker.get(), built(_worker.get()))


@pytest.mark.parametrize(
    ("program", "text"),
    [
        ("#!/bin/sh\necho the disk is on fire >&2\nexit 3\n", "status 3.*the disk is on fire"),
        ("no program", "cannot be started"),
    ],
    ids=["fails", "is none"],
)
def test_a_worker_that_cannot_start(monkeypatch, tmp_path, program, text):
    path = tmp_path / "thresher"
    path.write_text(program)
    path.chmod(0o755)
    monkeypatch.setenv("THRESHER_BINARY", str(path))
    with pytest.raises(_worker.WorkerDied, match=f"(?s){text}"):
        _worker.Worker()


PRELUDE = """
import os, signal, sys
import numpy as np
from thresher import _worker
vectors = np.random.default_rng(3).standard_normal((64, 32)).astype(np.float32)
worker = _worker.get()
handle = worker.call("build", {"metric": "ip"}, {"vectors": vectors})[0]["handle"]
def say(*what):
    print(*what, flush=True)
"""


def script(text, *arguments, **options):
    source = Path(_worker.__file__).parents[1]
    return subprocess.Popen(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(text), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(source)},
        **options,
    )


def test_interrupt_of_a_terminal():
    """SIGINT of the whole process group, in mid-search: the call ends, the worker stays.

    The search would take many seconds, so that it lasts when the signal comes, however late.
    """
    interrupts = max(3, TIMES // 20)
    with script(
        """
        many = np.tile(vectors, (2000, 1))
        rows = np.random.default_rng(4).standard_normal((200_000, 32)).astype(np.float32)
        big = worker.call("build", {"metric": "ip"}, {"vectors": rows})[0]["handle"]
        for _ in range(int(sys.argv[1])):
            try:
                fields = {"handle": big, "k": 5, "method": "exact"}
                worker.call("search", fields, {"queries": many}, progress=lambda *x: say("searching"))
                say("not interrupted")
            except KeyboardInterrupt:
                say("interrupted")
            reply, found = worker.call("search", {"handle": handle, "k": 1}, {"queries": vectors})
            say("same" if _worker.get() is worker and reply["complete"] else "other")
        """,
        str(interrupts),
        start_new_session=True,
    ) as child:
        for _ in range(interrupts):
            line = child.stdout.readline()
            assert line == "searching\n"
            os.killpg(child.pid, signal.SIGINT)
            while (line := child.stdout.readline()) == "searching\n":
                pass
            assert line == "interrupted\n"
            assert child.stdout.readline() == "same\n"
        child.stdin.close()
        assert child.wait(600) == 0


@pytest.mark.parametrize("_", range(max(1, TIMES // 50)))
def test_a_parent_that_is_killed(_):
    """The worker ends with its parent, even if a process forked without Python's knowledge holds the socket."""
    with script(
        """
        import ctypes
        sibling = ctypes.CDLL(None).fork()
        if sibling == 0:
            os.read(0, 1)
            os._exit(0)
        say(worker.process, sibling)
        many = np.tile(vectors, (20000, 1))
        worker.call("search", {"handle": handle, "k": 1}, {"queries": many}, progress=lambda *x: say("searching"))
        """
    ) as child:
        process, sibling = (int(x) for x in child.stdout.readline().split())
        assert child.stdout.readline() == "searching\n"
        child.kill()
        assert ended(process)
        assert not ended(sibling, 0)
        child.stdin.close()
        assert ended(sibling)


def test_a_parent_whose_thread_ends():
    """The worker outlives the thread that started it."""
    with script(
        """
        import threading
        worker.close()
        def start():
            global worker
            worker = _worker.get()
        t = threading.Thread(target=start)
        t.start()
        t.join()
        handle = worker.call("build", {"metric": "ip"}, {"vectors": vectors})[0]["handle"]
        worker.call("search", {"handle": handle, "k": 1}, {"queries": vectors})
        say("fine", worker.process)
        """
    ) as child:
        word, process = child.stdout.readline().split()
        assert word == "fine"
        child.stdin.close()
        assert child.wait(600) == 0
    assert ended(int(process))


def test_the_end_of_the_interpreter_ends_the_worker():
    for _ in range(max(2, TIMES // 10)):
        with script("say(worker.process)") as child:
            process = int(child.stdout.readline())
            assert child.wait(600) == 0
        assert ended(process)


def memory(pid):
    """Return the bytes of a process that are its own."""
    with open(f"/proc/{pid}/statm") as f:
        fields = f.read().split()
    return (int(fields[1]) - int(fields[2])) * os.sysconf("SC_PAGE_SIZE")


def test_many_calls_take_no_more_memory():
    """THRESHER_CALLS calls (2,000 unless it is set): memory, descriptors and threads stay as they are."""
    calls = int(os.environ.get("THRESHER_CALLS", "2000"))
    worker = _worker.get()
    handle = built(worker)
    queries = np.tile(VECTORS, (8, 1))  # in a segment
    for _ in range(1000):
        worker.call("search", {"handle": handle, "k": 1}, {"queries": queries[:3]})
        worker.call("search", {"handle": handle, "k": 1}, {"queries": queries})
    files, threads = open_files(), threading.active_count()
    grown = []
    for _ in range(5):  # what leaks grows each time; what a collector has not given back yet does not
        before = memory("self"), memory(worker.process)
        for j in range(calls):
            worker.call(
                "search", {"handle": handle, "k": 1}, {"queries": queries if j % 10 == 0 else queries[j % 50 :][:3]}
            )
        now = memory("self"), memory(worker.process)
        grown.append((now[0] - before[0], now[1] - before[1]))
        if grown[-1][0] < 4 << 20 and grown[-1][1] < 24 << 20:
            break
    else:
        raise AssertionError(f"memory grows each time: {grown}")
    assert (open_files(), threading.active_count()) == (files, threads)
