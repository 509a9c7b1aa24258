"""schemathesis generates requests from /openapi.yaml and along its links: no answer may be a
5xx or violate its schema, nothing that a schema allows may be refused, and nothing it forbids
be accepted. E2E_EXAMPLES=100 generates more, THRESHER_DRAWS=7 those of another seed, and
THRESHER_DRAWS=fresh those of one that is drawn and printed."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import openai
import pytest

from generators import DIMENSION, npy
from server import BUILD, Server

HERE = Path(__file__).parent
EXAMPLES = int(os.environ.get("E2E_EXAMPLES", "12"))  # of each operation and phase
CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
    "described_is_taken",
    "undescribed_is_refused",
)

# What the generated requests name: existing objects where they read, others where they would
# delete or replace them.
CONFIG = """
[parameters]
"path.name" = "line"
"path.version" = 1
"path.kind" = "malformed-body"
"path.file" = "page.js"

[[operations]]
include-name = ["PUT /v1/collections/{{name}}", "DELETE /v1/collections/{{name}}"]
parameters = {{ "path.name" = "made" }}

[[operations]]
include-name = "GET /v1/collections/{{name}}/rows/{{id}}"
parameters = {{ "path.id" = "3" }}

[[operations]]
include-name = ["GET /v1/files/{{id}}", "GET /v1/files/{{id}}/content"]
parameters = {{ "path.id" = "{file}" }}

[[operations]]
include-name = ["GET /v1/batches/{{id}}", "POST /v1/batches/{{id}}/cancel"]
parameters = {{ "path.id" = "{batch}" }}

[[operations]]
include-name = ["GET /v1/tournaments/{{id}}", "POST /v1/tournaments/{{id}}/next", "POST /v1/tournaments/{{id}}/report", "POST /v1/tournaments/{{id}}/undo"]
parameters = {{ "path.id" = "{tournament}" }}
"""


@pytest.fixture
def victim() -> Iterator[Server]:
    """A server with a collection, a file, a batch and a tournament that tests may change."""
    s = Server("described")
    yield s
    s.stop()


def fill(server: Server) -> str:
    """Creates what the requests name; returns the configuration."""
    server.send("/v1/collections/line?metric=ip&wait=true", npy(50, DIMENSION), "application/x-npy", "PUT")
    client = openai.OpenAI(base_url=server.url + "/v1", api_key="none")
    file = client.files.create(file=("queries.npy", npy(5, DIMENSION)), purpose="batch")
    spec = {"input_file_id": file.id, "endpoint": "/v1/collections/line/search", "search": {"k": 2}}
    batch = server.ask("/v1/batches", spec)["id"]
    arms = {"arms": ["a", "b", "c"], "mode": "online", "horizon": 1000}
    return CONFIG.format(file=file.id, batch=batch, tournament=server.ask("/v1/tournaments", arms)["id"])


def generation(draws: str) -> list[str]:
    """Options of schemathesis for a value of THRESHER_DRAWS. Without one, every run generates the same requests."""
    if not draws:
        return ["--generation-deterministic"]
    seed = random.randrange(1, 2**32) if draws == "fresh" else int(draws)
    print(f"these requests are drawn from a seed, and again with THRESHER_DRAWS={seed}")
    return [f"--seed={seed}"]


def test_generation() -> None:
    assert generation("") == ["--generation-deterministic"]
    assert generation("7") == ["--seed=7"]
    assert generation("fresh") != generation("fresh")
    with pytest.raises(ValueError, match="new"):
        generation("new")


def test_answers_are_as_described(victim: Server) -> None:
    config = BUILD / "schemathesis.toml"
    config.write_text(fill(victim))
    command = [
        str(Path(sys.executable).with_name("st")),
        f"--config-file={config}",
        "run",
        victim.url + "/openapi.yaml",
        "--checks=" + ",".join(CHECKS),
        f"--max-examples={EXAMPLES}",
        "--phases=coverage,fuzzing,stateful",
        *generation(os.environ.get("THRESHER_DRAWS", "")),
        "--workers=1",  # hypothesis is not reliable with threads
        "--request-timeout=600",
        "--suppress-health-check=all",
        "--no-color",
    ]
    log = BUILD / "schemathesis.log"
    with log.open("w") as out:
        env = os.environ | {"SCHEMATHESIS_HOOKS": "generators", "PYTHONPATH": str(HERE)}
        limit = 900 + 60 * EXAMPLES
        done = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, timeout=limit, env=env, cwd=BUILD)
    assert done.returncode == 0, log.read_text()[-8000:]
    assert victim.ask("/healthz")["status"] == "ok"
