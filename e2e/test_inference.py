"""tritonclient from the package index requests inference."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import tritonclient.http as triton
from tritonclient.utils import InferenceServerException

import sample
from server import Server

QUERIES = 20
K = 5


@pytest.fixture(scope="module")
def client(server: Server) -> Iterator[triton.InferenceServerClient]:
    with triton.InferenceServerClient(server.address) as c:
        yield c


@pytest.fixture(scope="module")
def queries(server: Server, demo: dict) -> np.ndarray:
    return sample.rows(server, demo, QUERIES)[1]


def tensor(name: str, values: np.ndarray, kind: str, binary: bool) -> triton.InferInput:
    t = triton.InferInput(name, values.shape, kind)
    t.set_data_from_numpy(values, binary_data=binary)
    return t


def wanted(binary: bool) -> list[triton.InferRequestedOutput]:
    return [triton.InferRequestedOutput(name, binary_data=binary) for name in ("ids", "scores", "exact", "pulls")]


def test_server_and_model_describe_themselves(client: triton.InferenceServerClient, demo: dict) -> None:
    assert client.is_server_live() and client.is_server_ready()
    about = client.get_server_metadata()
    assert about["name"] == "thresher" and "binary_tensor_data" in about["extensions"]
    assert client.is_model_ready(demo["name"]) and client.is_model_ready(demo["name"], str(demo["version"]))
    assert not client.is_model_ready("nobody")
    model = client.get_model_metadata(demo["name"])
    assert model["name"] == demo["name"] and str(demo["version"]) in model["versions"]
    inputs = {i["name"]: i for i in model["inputs"]}
    outputs = {o["name"]: o for o in model["outputs"]}
    assert inputs["queries"]["datatype"] == "FP32" and inputs["queries"]["shape"][1] in (demo["dim"], -1)
    kinds = {"ids": "INT64", "scores": "FP32", "exact": "BOOL", "pulls": "INT64"}
    assert {n: outputs[n]["datatype"] for n in kinds} == kinds


@pytest.mark.parametrize("sent", [True, False], ids=["binary in", "JSON in"])
@pytest.mark.parametrize("returned", [True, False], ids=["binary out", "JSON out"])
def test_answers_are_those_of_a_dense_scan(
    client: triton.InferenceServerClient, server: Server, demo: dict, queries: np.ndarray, sent: bool, returned: bool
) -> None:
    inputs = [
        tensor("queries", queries, "FP32", sent),
        tensor("k", np.array([K], np.int32), "INT32", sent),
        tensor("delta", np.array([sample.DELTA], np.float32), "FP32", sent),
    ]
    result = client.infer(demo["name"], inputs, outputs=wanted(returned), request_id="e2e-1")
    assert result.get_response()["id"] == "e2e-1" and result.get_response()["model_name"] == demo["name"]
    _, scores = sample.exact(server, demo, queries, K)
    assert result.as_numpy("ids").shape == (QUERIES, K) and result.as_numpy("ids").dtype == np.int64
    np.testing.assert_allclose(result.as_numpy("scores"), scores, rtol=1e-5)
    assert result.as_numpy("exact").dtype == bool and result.as_numpy("exact").shape == (QUERIES,)
    pulls = result.as_numpy("pulls")
    assert (pulls > 0).all() and (pulls <= demo["count"] * (demo["dim"] + 32)).all()


def test_parameters_do_as_tensors_do(client: triton.InferenceServerClient, demo: dict, queries: np.ndarray) -> None:
    inputs = [tensor("queries", queries, "FP32", True)]
    result = client.infer(demo["name"], inputs, parameters={"k": 3, "delta": 0.5, "method": "exact"})
    assert result.as_numpy("ids").shape == (QUERIES, 3)
    assert result.as_numpy("exact").all()


def test_a_version_is_asked_for_by_name(client: triton.InferenceServerClient, demo: dict, queries: np.ndarray) -> None:
    inputs = [tensor("queries", queries, "FP32", True)]
    result = client.infer(demo["name"], inputs, model_version=str(demo["version"]))
    assert result.get_response()["model_version"] == str(demo["version"])
    with pytest.raises(InferenceServerException, match="999"):
        client.infer(demo["name"], inputs, model_version="999")


def test_requests_in_flight_together(
    client: triton.InferenceServerClient, server: Server, demo: dict, queries: np.ndarray
) -> None:
    _, scores = sample.exact(server, demo, queries, K)
    with triton.InferenceServerClient(server.address, concurrency=8) as many:
        k = tensor("k", np.array([K], np.int32), "INT32", True)
        delta = tensor("delta", np.array([sample.DELTA], np.float32), "FP32", True)
        asked = [many.async_infer(demo["name"], [tensor("queries", q[None], "FP32", True), k, delta]) for q in queries]
        for i, a in enumerate(asked):
            np.testing.assert_allclose(a.get_result().as_numpy("scores")[0], scores[i], rtol=1e-5)


NAN = float("nan")


@pytest.mark.parametrize(
    ("inputs", "model", "says"),
    [
        ([("queries", np.zeros((2, 3), np.float32), "FP32")], "", ["query 0", "3", "dimension"]),
        ([("queries", np.zeros((2, 3), np.float64), "FP64")], "", ["queries", "FP64"]),
        ([("quarries", np.zeros((2, 3), np.float32), "FP32")], "", ["quarries"]),
        ([("queries", np.zeros((1, 3), np.float32), "FP32")], "nobody", ["nobody"]),
        ([("queries", None, "FP32"), ("k", np.array([0], np.int32), "INT32")], "", ["k", "0"]),
        ([("queries", None, "FP32"), ("delta", np.array([2], np.float32), "FP32")], "", ["delta", "2"]),
        ([("queries", NAN, "FP32")], "", ["query 0", "NaN"]),
    ],
    ids=["dimension", "dtype", "unknown input", "unknown model", "k", "delta", "NaN"],
)
@pytest.mark.parametrize("binary", [True, False], ids=["binary", "JSON"])
def test_errors_name_what_is_wrong(
    client: triton.InferenceServerClient,
    demo: dict,
    queries: np.ndarray,
    inputs: list,
    model: str,
    says: list[str],
    binary: bool,
) -> None:
    tensors = []
    for name, values, kind in inputs:
        if values is None:
            values = queries[:1]
        elif values is NAN:
            values = np.full((1, demo["dim"]), NAN, np.float32)
        tensors.append(tensor(name, values, kind, binary))
    with pytest.raises(InferenceServerException) as refused:
        client.infer(model or demo["name"], tensors)
    message, status = refused.value.message(), refused.value.status()
    assert status in ("400", "404"), (status, message)
    for part in says:
        assert part in message, (part, message)


@pytest.mark.parametrize("binary", [True, False], ids=["binary", "JSON"])
@pytest.mark.parametrize("algorithm", ["gzip", "deflate"])
def test_compressed_requests_are_answered(
    client: triton.InferenceServerClient,
    server: Server,
    demo: dict,
    queries: np.ndarray,
    algorithm: str,
    binary: bool,
) -> None:
    inputs = [
        tensor("queries", queries, "FP32", binary),
        tensor("k", np.array([K], np.int32), "INT32", binary),
        tensor("delta", np.array([sample.DELTA], np.float32), "FP32", binary),
    ]
    result = client.infer(
        demo["name"],
        inputs,
        outputs=wanted(binary),
        request_compression_algorithm=algorithm,
        response_compression_algorithm=algorithm,
    )
    _, scores = sample.exact(server, demo, queries, K)
    np.testing.assert_allclose(result.as_numpy("scores"), scores, rtol=1e-5)


def test_configuration_statistics_and_index(
    client: triton.InferenceServerClient, demo: dict, queries: np.ndarray
) -> None:
    config = client.get_model_config(demo["name"])
    inputs = {i["name"]: i for i in config["input"]}
    assert config["name"] == demo["name"] and config["max_batch_size"] == 0
    assert inputs["queries"]["data_type"] == "TYPE_FP32" and inputs["queries"]["dims"] == [-1, demo["dim"]]
    assert inputs["k"]["optional"] and {o["name"] for o in config["output"]} >= {"ids", "scores"}

    def counted() -> dict:
        (model,) = client.get_inference_statistics(demo["name"])["model_stats"]
        assert model["version"] == str(demo["version"])
        return model

    before = counted()
    client.infer(demo["name"], [tensor("queries", queries, "FP32", True)])
    after = counted()
    assert after["inference_count"] == before["inference_count"] + QUERIES
    assert after["inference_stats"]["success"]["count"] == before["inference_stats"]["success"]["count"] + 1
    assert demo["name"] in {m["name"] for m in client.get_inference_statistics()["model_stats"]}
    index = {m["name"]: m for m in client.get_model_repository_index()}
    assert index[demo["name"]]["state"] == "READY" and index[demo["name"]]["version"] == str(demo["version"])
