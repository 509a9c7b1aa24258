"""A worker that dies during a call: the call is repeated once. And what a script leaves on the screen."""

import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import thresher
from conftest import best
from thresher import _memory, _worker

pytestmark = pytest.mark.skipif(not _memory.LINUX, reason="kills processes by signal 9")


def killing(times):
    """Return a progress function that kills the worker of the first calls, and what it killed."""
    killed = []

    def progress(*_):
        process = _worker.get().process
        if len(killed) < times and process not in killed:
            os.kill(process, signal.SIGKILL)
            killed.append(process)

    return progress, killed


@pytest.fixture(scope="module")
def many(queries):
    return np.tile(queries, (400, 1))


def test_a_search_is_repeated_once(vectors, queries, many, caplog):
    index = thresher.Index(vectors, metric="ip")
    want, _ = best(queries, vectors, 3)
    for _ in range(100):  # a worker may have answered before it is killed
        progress, killed = killing(1)
        found = index.search(many, 3, method="exact", progress=progress)
        assert len(killed) == 1
        np.testing.assert_array_equal(found.ids, np.tile(want, (400, 1)))
        if any("search is repeated" in r.getMessage() for r in caplog.records):
            return
    pytest.fail("no search was repeated")


def test_knn_is_repeated_once(vectors, queries, monkeypatch):
    call, killed = _worker.Worker.call, []

    def dying(self, op, *args, **kwargs):
        if op == "knn" and not killed:
            killed.append(self.process)
            os.kill(self.process, signal.SIGKILL)
        return call(self, op, *args, **kwargs)

    monkeypatch.setattr(_worker.Worker, "call", dying)
    _, ids = thresher.knn(queries, vectors, 3, metric="ip", seed=1)
    np.testing.assert_array_equal(ids, best(queries, vectors, 3)[0])
    assert len(killed) == 1


def dying_of(op, times, monkeypatch):
    """Kill the worker before the first calls of an operation, and return whom."""
    call, killed = _worker.Worker.call, []

    def dying(self, named, *args, **kwargs):
        if named == op and len(killed) < times:
            killed.append(self.process)
            os.kill(self.process, signal.SIGKILL)
        return call(self, named, *args, **kwargs)

    monkeypatch.setattr(_worker.Worker, "call", dying)
    return killed


@pytest.mark.parametrize("op", ["build", "open", "save", "range", "recall", "verify", "graph", "pairs", "add"])
def test_every_call_is_repeated_once(op, vectors, queries, monkeypatch, tmp_path):
    path = tmp_path / "x.thresher"
    thresher.Index(vectors, metric="cosine").save(path)
    killed = dying_of(op, 1, monkeypatch)
    index = thresher.Index.open(path)
    if op == "add":
        index.add(vectors[:1])
        assert len(index) == len(vectors) + 1
    else:
        index = thresher.Index(vectors, metric="cosine")
    index.save(tmp_path / "y.thresher")
    found = index.search(queries, 3, method="certain")
    if op != "add":
        np.testing.assert_array_equal(found.ids, best(queries, vectors, 3, "cosine")[0])
    assert len(index.range_search(queries, 0.9).lims) == 31
    assert thresher.recall(found, index, queries).recall == 1
    assert thresher.verify(found, index, queries)
    thresher.pairs(index, 0.99)
    assert op != "graph" or thresher.knn_graph(index, 2).shape == (1500, 1500)
    assert len(killed) == 1


@pytest.mark.parametrize("op", ["build", "search", "knn"])
def test_a_second_death_of_any_call_is_told(op, vectors, queries, monkeypatch):
    killed = dying_of(op, 2, monkeypatch)
    with pytest.raises(thresher.WorkerDied, match="signal 9"):
        thresher.Index(vectors, metric="ip").search(queries, 3)
        thresher.knn(queries, vectors, 3, metric="ip", seed=1)
    assert len(killed) == 2


def test_a_file_that_a_dead_worker_has_written_is_saved(vectors, monkeypatch, tmp_path):
    """The worker may die after it wrote the file and before it said so."""
    index, call, killed = thresher.Index(vectors, metric="ip"), _worker.Worker.call, []

    def dying(self, op, *args, **kwargs):
        reply = call(self, op, *args, **kwargs)
        if op == "save" and not killed:
            killed.append(self.process)
            self.close()
            raise thresher.WorkerDied("after it has written")
        return reply

    monkeypatch.setattr(_worker.Worker, "call", dying)
    index.save(tmp_path / "x.thresher")
    assert len(killed) == 1 and len(thresher.Index.open(tmp_path / "x.thresher")) == len(vectors)
    with pytest.raises(FileExistsError):
        index.save(tmp_path / "x.thresher")


@pytest.fixture(scope="module")
def large(vectors):
    """Vectors that are searched for seconds, so that a worker is killed in mid-search, however late."""
    return np.tile(vectors, (60, 1))


def test_a_second_death_is_told(vectors, large, many):
    index = thresher.Index(large, metric="ip")
    progress, killed = killing(2)
    with pytest.raises(thresher.WorkerDied, match="signal 9"):
        index.search(many, 3, method="exact", progress=progress)
    assert len(killed) == 2
    assert index.search(vectors[:1], 1).ids.shape == (1, 1)  # the next call starts another


def test_an_index_that_has_no_rows_left_tells_of_the_death(large, many):
    index = thresher.Index(large, metric="ip")
    index._rows = None  # as that of an index whose vectors only the worker has
    progress, killed = killing(1)
    with pytest.raises(thresher.WorkerDied, match="signal 9"):
        index.search(many, 3, method="exact", progress=progress)
    assert len(killed) == 1


@pytest.mark.parametrize(
    "text",
    [
        "thresher.knn(x[:300], x, 10, metric='ip')",
        "thresher.Index(x, metric='ip').search(x[:300], 10)",
        "with thresher.Index(x, metric='ip') as index: index.search(x[:300], 10)",
    ],
)
def test_a_script_that_ends_writes_nothing(text):
    program = textwrap.dedent("""
        import numpy as np, thresher
        x = np.random.default_rng(0).standard_normal((20_000, 32), dtype=np.float32)
    """)
    for _ in range(5):
        done = subprocess.run([sys.executable, "-c", program + text], capture_output=True, text=True, timeout=600)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_worker_s_errors_are_for_programs_that_log():
    """Python shows what nobody handles on the screen, unless the library has a handler that shows nothing."""
    program = """
import logging, thresher
logging.getLogger("thresher.worker").error("of the worker")
logging.basicConfig()
logging.getLogger("thresher.worker").error("logged")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600)
    assert "of the worker" not in done.stderr
    assert "logged" in done.stderr
