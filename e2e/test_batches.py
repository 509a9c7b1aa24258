"""The openai package from the package index runs offline jobs."""

from __future__ import annotations

import json
import time
from pathlib import Path

import openai
import pytest
from openai.types import Batch

import sample
from server import Server

FINAL = {"completed", "failed", "expired", "cancelled"}
PATIENCE = 900  # seconds for a job, on a busy machine


@pytest.fixture(scope="module")
def client(server: Server) -> openai.OpenAI:
    return openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0)


def finished(client: openai.OpenAI, batch: Batch) -> Batch:
    deadline = time.monotonic() + PATIENCE
    while batch.status not in FINAL:
        assert time.monotonic() < deadline, f"{batch.id} is {batch.status} after {PATIENCE} s"
        time.sleep(0.05)
        batch = client.batches.retrieve(batch.id)
    return batch


def line(number: int, endpoint: str, vector: list[float], **options: object) -> str:
    body = {"queries": [vector], "k": 3, **options}
    return json.dumps({"custom_id": f"q{number}", "method": "POST", "url": endpoint, "body": body})


def lines(client: openai.OpenAI, file: str | None) -> list[dict]:
    if file is None:
        return []
    return [json.loads(text) for text in client.files.content(file).text.splitlines()]


def said(error: openai.APIStatusError) -> str:
    """What the package's user reads, and the problem as sent."""
    assert error.response.headers["Content-Type"] == "application/problem+json"
    problem = error.response.json()
    assert problem["detail"] in str(error)
    return json.dumps(problem)


def test_a_file_comes_back_as_it_was(client: openai.OpenAI, tmp_path: Path) -> None:
    path = tmp_path / "some lines.jsonl"
    path.write_bytes(b'{"a": 1}\n' * 10_000)
    with path.open("rb") as f:
        file = client.files.create(file=f, purpose="batch")
    assert (file.object, file.filename, file.bytes, file.purpose) == ("file", path.name, 90_000, "batch")
    assert client.files.retrieve(file.id) == file
    assert file.id in {f.id for f in client.files.list()}
    assert client.files.content(file.id).read() == path.read_bytes()
    assert client.files.delete(file.id).deleted
    with pytest.raises(openai.NotFoundError) as gone:
        client.files.retrieve(file.id)
    assert file.id in said(gone.value)


def test_a_job_answers_in_order_and_keeps_its_errors_apart(client: openai.OpenAI, server: Server, demo: dict) -> None:
    endpoint = f"/v1/collections/{demo['name']}/search"
    ids, vectors = sample.rows(server, demo, 40)
    text = [line(i, endpoint, v.tolist()) for i, v in enumerate(vectors)]
    wrong = {7: line(7, endpoint, [1.0, 2.0]), 23: line(23, endpoint, vectors[0].tolist(), k=0)}
    text = [wrong.get(i, t) for i, t in enumerate(text)]
    file = client.files.create(file=("in.jsonl", "\n".join(text).encode()), purpose="batch")
    made = client.batches.create(
        input_file_id=file.id,
        endpoint=endpoint,  # type: ignore[arg-type]  # the package lists OpenAI's own
        completion_window="24h",
        metadata={"who": "e2e"},
    )
    assert made.object == "batch" and made.metadata == {"who": "e2e"} and made.input_file_id == file.id
    done = finished(client, made)
    assert done.status == "completed", done.errors
    assert done.request_counts is not None
    assert (done.request_counts.total, done.request_counts.completed, done.request_counts.failed) == (40, 38, 2)
    answers = lines(client, done.output_file_id)
    assert [a["custom_id"] for a in answers] == [f"q{i}" for i in range(40) if i not in wrong]
    for a in answers:
        row = int(a["custom_id"][1:])
        assert a["error"] is None and a["response"]["status_code"] == 200
        assert a["response"]["body"]["results"][0]["ids"][0] == ids[row]
    errors = lines(client, done.error_file_id)
    assert [e["custom_id"] for e in errors] == ["q7", "q23"]
    assert "queries" in json.dumps(errors[0]) and "dimension" in json.dumps(errors[0])
    assert done.id in {b.id for b in client.batches.list(limit=5)}


def test_a_file_in_use_stays_until_its_job_ends(client: openai.OpenAI, demo: dict) -> None:
    endpoint = f"/v1/collections/{demo['name']}/search"
    vector = [1.0] * demo["dim"]
    text = "\n".join(line(i, endpoint, vector, method="exact") for i in range(3000))
    file = client.files.create(file=("long.jsonl", text.encode()), purpose="batch")
    made = client.batches.create(input_file_id=file.id, endpoint=endpoint, completion_window="24h")  # type: ignore[arg-type]
    with pytest.raises(openai.ConflictError):
        client.files.delete(file.id)
    stopped = finished(client, client.batches.cancel(made.id))
    assert stopped.status in ("cancelled", "completed")
    assert client.files.delete(file.id).deleted


def test_what_is_wrong_with_a_job_is_said(client: openai.OpenAI, demo: dict) -> None:
    endpoint = f"/v1/collections/{demo['name']}/search"
    with pytest.raises(openai.NotFoundError):
        client.batches.retrieve("batch_none")
    with pytest.raises(openai.APIStatusError) as no_file:
        client.batches.create(input_file_id="file-none", endpoint=endpoint, completion_window="24h")  # type: ignore[arg-type]
    assert no_file.value.status_code in (400, 404) and "file-none" in said(no_file.value)
    file = client.files.create(file=("in.jsonl", b"this is no JSON\n"), purpose="batch")
    with pytest.raises(openai.APIStatusError) as elsewhere:
        client.batches.create(input_file_id=file.id, endpoint="/v1/embeddings", completion_window="24h")
    assert elsewhere.value.status_code in (400, 404) and "endpoint" in said(elsewhere.value)
    made = client.batches.create(input_file_id=file.id, endpoint=endpoint, completion_window="24h")  # type: ignore[arg-type]
    done = finished(client, made)
    assert done.status == "completed" and done.output_file_id is None
    (error,) = lines(client, done.error_file_id)
    assert error["line"] == 1 and error["error"]["code"] == "malformed-body"


def test_a_job_survives_kill_9() -> None:
    server = Server("killed", "--demo")
    try:
        client = openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0)
        demo = server.ask("/v1/collections")["data"][0]
        endpoint = f"/v1/collections/{demo['name']}/search"
        _, vectors = sample.rows(server, demo, 50)
        short = [[round(float(x), 4) for x in v] for v in vectors]
        count = 6000
        text = "\n".join(line(i, endpoint, short[i % 50], method="exact") for i in range(count))
        file = client.files.create(file=("long.jsonl", text.encode()), purpose="batch")
        made = client.batches.create(input_file_id=file.id, endpoint=endpoint, completion_window="24h")  # type: ignore[arg-type]
        deadline = time.monotonic() + PATIENCE
        while (state := client.batches.retrieve(made.id)).status not in FINAL:
            assert time.monotonic() < deadline
            if state.request_counts and 0 < state.request_counts.completed < count:
                break
            time.sleep(0.01)
        server.kill()
        server.start()
        client = openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0)
        done = finished(client, client.batches.retrieve(made.id))
        assert done.status == "completed" and done.request_counts and done.request_counts.completed == count
        assert [a["custom_id"] for a in lines(client, done.output_file_id)] == [f"q{i}" for i in range(count)]
    finally:
        server.stop()
