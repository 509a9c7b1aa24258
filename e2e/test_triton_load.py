"""Load like perf_analyzer's: a number of requests in flight for a while, over either
protocol, and the server's own statistics of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np
import pytest
import tritonclient.grpc
import tritonclient.http

import sample
from server import ANSWER, Server

SECONDS = 2.0
IN_FLIGHT = 8
K = 5


def over_http(server: Server, model: str, queries: np.ndarray, check: Callable[[int, object], None]) -> int:
    triton = tritonclient.http
    with triton.InferenceServerClient(server.address, concurrency=IN_FLIGHT) as client:
        asked: list = []
        done, deadline = 0, time.monotonic() + SECONDS
        while time.monotonic() < deadline or asked or done < IN_FLIGHT:
            while len(asked) < IN_FLIGHT and (time.monotonic() < deadline or done + len(asked) < IN_FLIGHT):
                i = (done + len(asked)) % len(queries)
                asked.append((i, client.async_infer(model, inputs(triton, queries[i], binary_data=True))))
            i, first = asked.pop(0)
            check(i, first.get_result())
            done += 1
    return done


def over_grpc(server: Server, model: str, queries: np.ndarray, check: Callable[[int, object], None]) -> int:
    triton = tritonclient.grpc
    room, wrong, done = threading.Semaphore(IN_FLIGHT), [], []
    with triton.InferenceServerClient(server.grpc) as client:

        def answered(i: int) -> Callable:
            def called(result: object, error: Exception | None) -> None:
                try:
                    if error is not None:
                        raise error
                    check(i, result)
                    done.append(i)
                except BaseException as e:  # noqa: BLE001 (the thread is the client's)
                    wrong.append(e)
                finally:
                    room.release()

            return called

        deadline, sent = time.monotonic() + SECONDS, 0
        while time.monotonic() < deadline or sent < IN_FLIGHT:
            assert room.acquire(timeout=ANSWER)
            i = sent % len(queries)
            client.async_infer(model, inputs(triton, queries[i]), answered(i))
            sent += 1
        for _ in range(IN_FLIGHT):
            assert room.acquire(timeout=ANSWER)
    assert not wrong, wrong[0]
    return len(done)


def inputs(triton: object, query: np.ndarray, **how: bool) -> list:
    made = []
    for name, values, kind in (
        ("queries", query[None], "FP32"),
        ("k", np.array([K], np.int32), "INT32"),
        ("delta", np.array([sample.DELTA], np.float32), "FP32"),
    ):
        t = triton.InferInput(name, values.shape, kind)  # type: ignore[attr-defined]
        t.set_data_from_numpy(values, **how)
        made.append(t)
    return made


@pytest.mark.parametrize("drive", [over_http, over_grpc], ids=["http", "grpc"])
def test_load(server: Server, demo: dict, drive: Callable) -> None:
    _, queries = sample.rows(server, demo, 40)
    _, scores = sample.exact(server, demo, queries, K)

    def check(i: int, result: object) -> None:
        np.testing.assert_allclose(result.as_numpy("scores")[0], scores[i], rtol=1e-5)  # type: ignore[attr-defined]

    def stats() -> dict:
        return server.ask(f"/v2/models/{demo['name']}/stats")["model_stats"][0]

    before = stats()
    done = drive(server, demo["name"], queries, check)
    after = stats()
    print(f"{drive.__name__}: {done / SECONDS:.0f} requests a second, {IN_FLIGHT} in flight")
    assert done >= IN_FLIGHT
    assert after["inference_count"] - before["inference_count"] == done
    assert 0 < after["execution_count"] - before["execution_count"] <= done
    assert after["inference_stats"]["fail"] == before["inference_stats"]["fail"]
