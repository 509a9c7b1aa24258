"""How many threads search: what the process was given, or what the caller says."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import thresher
from thresher import _shares

PROGRAM = """
import os, thresher
from thresher import _scan, _worker
_worker.get()
print(next(d for d in thresher.devices() if d["name"] == "cpu")["threads"], _scan.CORES)
"""


@pytest.mark.skipif(_shares.PROCESSORS < 2, reason="one processor is all there is")
@pytest.mark.parametrize(
    ("given", "threads"),
    [
        ({}, None),
        ({"OMP_NUM_THREADS": "1"}, 1),  # as Ray, Spark and Dask start processes
        ({"OMP_NUM_THREADS": "1,4"}, 1),
        ({"OMP_NUM_THREADS": "9999"}, None),
        ({"OMP_NUM_THREADS": "0"}, None),
        ({"OMP_NUM_THREADS": "many"}, None),
        ({"OMP_NUM_THREADS": "1", "THRESHER_THREADS": "2"}, 2),
    ],
)
def test_threads_of_the_process(monkeypatch, given, threads):
    for name in ("OMP_NUM_THREADS", "THRESHER_THREADS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=600, check=True)
    worker, here = map(int, done.stdout.split())
    if threads is None:
        assert worker > 1 and here == min(_shares.PROCESSORS, 8)
    else:
        assert worker == threads
        assert here == (1 if "THRESHER_THREADS" not in given else min(_shares.PROCESSORS, 8))


def test_answers_are_the_same(vectors, queries):
    with thresher.Index(vectors, metric="cosine", threads=1) as index:
        want = index.search(queries, 5, method="certain")
        for threads in (1, 2, 64):
            found = index.search(queries, 5, method="certain", threads=threads)
            np.testing.assert_array_equal(found.ids, want.ids)
            np.testing.assert_array_equal(found.scores64, want.scores64)
            ranged = index.range_search(queries, want.scores64[:, -1], method="certain", threads=threads)
            np.testing.assert_array_equal(ranged.ids, want.ids.reshape(-1))
        for m in (1, 30):
            scores, ids = thresher.knn(queries[:m], vectors, 5, metric="cosine", method="certain", threads=1)
            np.testing.assert_array_equal(ids, want.ids[:m])
            np.testing.assert_array_equal(scores, want.scores[:m])


def test_wrong_numbers_of_threads(vectors, queries):
    for call in (
        lambda t: thresher.Index(vectors, metric="ip", threads=t),
        lambda t: thresher.Index(vectors, metric="ip").search(queries, 1, threads=t),
        lambda t: thresher.Index(vectors, metric="ip").range_search(queries, 1.0, threads=t),
        lambda t: thresher.knn(queries, vectors, 1, metric="ip", threads=t),
    ):
        with pytest.raises(ValueError, match="threads: 0, at least 1"):
            call(0)
        with pytest.raises(TypeError, match=r"threads: 1\.5"):
            call(1.5)
