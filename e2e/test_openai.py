"""OpenAI's clients for Python, Node and Go, from their package indexes, run the same offline
job."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import sample
from server import Server

HERE = Path(__file__).resolve().parent / "offline"
COMMANDS = {
    "python": [sys.executable, str(HERE / "python.py")],
    "node": ["node", str(Path(os.environ.get("E2E_NODE", "")) / "jobs.js")],
    "go": [os.environ.get("E2E_OFFLINE", "")],
}
PATIENCE = 1200  # seconds for a whole client run, on a busy machine


@pytest.fixture(scope="module")
def lone() -> Iterator[Server]:
    """A server whose files and batches belong to these tests alone."""
    s = Server("openai", "--demo")
    yield s
    s.stop()


def lines(endpoint: str, vectors: np.ndarray, count: int, **options: object) -> str:
    short = [[round(float(x), 4) for x in v] for v in vectors]
    return "".join(
        json.dumps(
            {
                "custom_id": f"q{i}",
                "method": "POST",
                "url": endpoint,
                "body": {"queries": [short[i % len(short)]], "k": 3} | options,
            }
        )
        + "\n"
        for i in range(count)
    )


@pytest.mark.parametrize("language", COMMANDS)
def test_a_job_from_upload_to_answers(lone: Server, tmp_path: Path, language: str) -> None:
    demo = lone.ask("/v1/collections")["data"][0]
    endpoint = f"/v1/collections/{demo['name']}/search"
    rows, vectors = sample.rows(lone, demo, 12)
    text, long = tmp_path / "questions.jsonl", tmp_path / "long.jsonl"
    text.write_text(lines(endpoint, vectors, 12))
    long.write_text(lines(endpoint, vectors, 2000, method="exact"))

    if language == "node" and not os.environ.get("E2E_NODE"):
        pytest.skip("E2E_NODE=0")
    command = [*COMMANDS[language], lone.url + "/v1", endpoint, str(text), str(long)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)

    size = text.stat().st_size
    assert found["file"] == found["file"] | {"filename": text.name, "bytes": size, "purpose": "batch"}
    assert found["status"] == "completed"
    assert found["counts"] == {"total": 12, "completed": 12, "failed": 0}
    answers = [json.loads(line) for line in found["output"].splitlines()]
    assert [a["custom_id"] for a in answers] == [f"q{i}" for i in range(12)]
    assert [a["response"]["body"]["results"][0]["ids"][0] for a in answers] == rows
    # Every page has one item: newest first, each once.
    assert len(set(found["files"])) == len(found["files"]) and {found["file"]["id"], found["slow"]} <= set(found["files"])
    assert found["batches"][:2] == found["made"][::-1] and len(set(found["batches"])) == len(found["batches"])
    assert found["cancelled"] in ("cancelled", "completed") and found["deleted"] is True
    for refused, field in ((found["unknown"], "file_id"), (found["refused"], "file_id")):
        assert refused["status"] == 404 and refused["code"] == "unknown-file"
        assert refused["type"] == "invalid_request_error" and refused["param"] == field
        assert 'there is no file "file-none"' in refused["text"].replace("\\", "")
