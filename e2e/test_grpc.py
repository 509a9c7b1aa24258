"""tritonclient's gRPC, which is gRPC's C core, requests inference."""

from __future__ import annotations

import queue
from collections.abc import Iterator

import grpc
import numpy as np
import pytest
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

import sample
from server import ANSWER, Server

QUERIES = 20
K = 5


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[triton.InferenceServerClient]:
    with triton.InferenceServerClient(server.grpc) as c:
        yield c


@pytest.fixture(scope="module")
def queries(server: Server, demo: dict) -> np.ndarray:
    return sample.rows(server, demo, QUERIES)[1]


def tensor(name: str, values: np.ndarray, kind: str) -> triton.InferInput:
    t = triton.InferInput(name, values.shape, kind)
    t.set_data_from_numpy(values)
    return t


def test_server_and_model_describe_themselves(client: triton.InferenceServerClient, demo: dict) -> None:
    assert client.is_server_live() and client.is_server_ready()
    assert client.get_server_metadata().name == "thresher"
    assert client.is_model_ready(demo["name"]) and client.is_model_ready(demo["name"], str(demo["version"]))
    assert not client.is_model_ready("nobody")
    model = client.get_model_metadata(demo["name"])
    assert [i.name for i in model.inputs][:3] == ["queries", "k", "delta"] and str(demo["version"]) in model.versions
    config = client.get_model_config(demo["name"], as_json=True)["config"]
    assert config["input"][0]["data_type"] == "TYPE_FP32" and config["input"][1]["optional"] is True
    index = client.get_model_repository_index(as_json=True)["models"]
    assert {"name": demo["name"], "version": str(demo["version"]), "state": "READY"} in index


@pytest.mark.parametrize("algorithm", [None, "gzip", "deflate"])
def test_answers_are_those_of_a_dense_scan(
    client: triton.InferenceServerClient, server: Server, demo: dict, queries: np.ndarray, algorithm: str | None
) -> None:
    def counted() -> int:
        (model,) = client.get_inference_statistics(demo["name"]).model_stats
        return int(model.inference_count)

    before = counted()
    inputs = [
        tensor("queries", queries, "FP32"),
        tensor("k", np.array([K], np.int32), "INT32"),
        tensor("delta", np.array([sample.DELTA], np.float32), "FP32"),
    ]
    result = client.infer(
        demo["name"], inputs, request_id="e2e-1", compression_algorithm=algorithm, client_timeout=ANSWER
    )
    assert result.get_response().id == "e2e-1" and result.get_response().model_version == str(demo["version"])
    _, scores = sample.exact(server, demo, queries, K)
    assert result.as_numpy("ids").shape == (QUERIES, K) and result.as_numpy("ids").dtype == np.int64
    np.testing.assert_allclose(result.as_numpy("scores"), scores, rtol=1e-5)
    assert result.as_numpy("exact").dtype == bool
    assert counted() >= before + QUERIES


def test_parameters_do_as_tensors_do(client: triton.InferenceServerClient, demo: dict, queries: np.ndarray) -> None:
    inputs = [tensor("queries", queries, "FP32")]
    result = client.infer(demo["name"], inputs, parameters={"k": 3, "method": "exact"}, priority=1, timeout=600_000_000)
    assert result.as_numpy("ids").shape == (QUERIES, 3) and result.as_numpy("exact").all()
    outputs = [triton.InferRequestedOutput("scores")]
    only = client.infer(demo["name"], inputs, outputs=outputs, parameters={"k": 3})
    assert only.as_numpy("ids") is None and only.as_numpy("scores").shape == (QUERIES, 3)


def test_a_stream_answers_each_in_turn(
    client: triton.InferenceServerClient, server: Server, demo: dict, queries: np.ndarray
) -> None:
    _, scores = sample.exact(server, demo, queries, K)
    answers: queue.Queue = queue.Queue()
    client.start_stream(lambda result, error: answers.put((result, error)))
    try:
        k = tensor("k", np.array([K], np.int32), "INT32")
        delta = tensor("delta", np.array([sample.DELTA], np.float32), "FP32")
        for i, q in enumerate(queries):
            inputs = [tensor("queries", q[None], "FP32"), k, delta]
            client.async_stream_infer(demo["name"], inputs, request_id=str(i))
        client.async_stream_infer("nobody", [tensor("queries", queries[:1], "FP32")])
        for i in range(QUERIES):
            result, error = answers.get(timeout=ANSWER)
            assert error is None and result.get_response().id == str(i)
            np.testing.assert_allclose(result.as_numpy("scores")[0], scores[i], rtol=1e-5)
        _, error = answers.get(timeout=ANSWER)
        assert "nobody" in error.message()
    finally:
        client.stop_stream()


@pytest.mark.parametrize(
    ("values", "kind", "model", "code", "says"),
    [
        (np.zeros((2, 3), np.float32), "FP32", "", "INVALID_ARGUMENT", ["query 0", "3", "dimension"]),
        (np.zeros((2, 3), np.float64), "FP64", "", "INVALID_ARGUMENT", ["queries", "FP64"]),
        (np.zeros((1, 3), np.float32), "FP32", "nobody", "NOT_FOUND", ["nobody"]),
    ],
    ids=["dimension", "datatype", "unknown model"],
)
def test_errors_name_what_is_wrong(
    client: triton.InferenceServerClient,
    demo: dict,
    values: np.ndarray,
    kind: str,
    model: str,
    code: str,
    says: list[str],
) -> None:
    with pytest.raises(InferenceServerException) as refused:
        client.infer(model or demo["name"], [tensor("queries", values, kind)])
    assert refused.value.status() == f"StatusCode.{code}"
    for part in says:
        assert part in refused.value.message()


def test_a_message_too_large_is_refused(client: triton.InferenceServerClient, demo: dict) -> None:
    huge = np.zeros((17 << 20) // demo["dim"] * demo["dim"], np.float32).reshape(-1, demo["dim"])
    with pytest.raises(InferenceServerException) as refused:
        client.infer(demo["name"], [tensor("queries", huge, "FP32")])
    assert refused.value.status() == "StatusCode.RESOURCE_EXHAUSTED"


def test_tokens_and_health() -> None:
    guarded = Server(
        "guarded-grpc",
        "--tokens",
        "reader:read:f70b45721aa3c282fbc537b643b6b1824a22aadfe2f0e8accccdbc20167a50e1",
    )
    try:
        with triton.InferenceServerClient(guarded.grpc) as c:
            assert c.is_server_live()
            with pytest.raises(InferenceServerException) as refused:
                c.get_server_metadata()
            assert refused.value.status() == "StatusCode.UNAUTHENTICATED" and "Bearer" in refused.value.message()
        with grpc.insecure_channel(guarded.grpc) as channel:
            check = channel.unary_unary("/grpc.health.v1.Health/Check")
            assert check(b"", timeout=ANSWER) == b"\x08\x01"  # SERVING
    finally:
        guarded.stop()
