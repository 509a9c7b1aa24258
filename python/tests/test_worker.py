"""Calls of a worker, and what goes wrong with them."""

import numpy as np
import pytest

from thresher import _worker


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    return rng.standard_normal((500, 48), np.float32), rng.standard_normal((20, 48), np.float32)


@pytest.fixture
def handle(data):
    worker = _worker.get()
    info, _ = worker.call("build", {"metric": "ip"}, {"vectors": data[0]})
    yield info["handle"]
    worker.release(info["handle"])


def best(data, k):
    return np.argsort(-(data[1].astype(float) @ data[0].T.astype(float)), axis=1, kind="stable")[:, :k]


def test_search_finds_the_best(data, handle):
    reply, found = _worker.get().call("search", {"handle": handle, "k": 7, "method": "certain"}, {"queries": data[1]})
    assert reply["k"] == 7
    assert reply["complete"]
    np.testing.assert_array_equal(found["ids"], best(data, 7))
    assert found["certificates"].shape == (20,)


def test_a_nan_is_named(data, handle):
    queries = data[1].copy()
    queries[3, 5] = np.nan
    with pytest.raises(_worker.BadInput, match="queries: row 3: column 5") as e:
        _worker.get().call("search", {"handle": handle, "k": 7}, {"queries": queries})
    assert (e.value.argument, e.value.row) == ("queries", 3)
