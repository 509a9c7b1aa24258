"""Runs an offline job with the package openai for Python, from the upload to the answers, and
prints its results and what its user reads of an error as one line of JSON.

    python.py BASE_URL ENDPOINT INPUT LONG_INPUT"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openai
from openai.types import Batch

FINAL = {"completed", "failed", "expired", "cancelled"}


def main(base_url: str, endpoint: str, text: str, long: str) -> None:
    client = openai.OpenAI(base_url=base_url, api_key="none", max_retries=0)

    def submit(file: str) -> Batch:
        return client.batches.create(input_file_id=file, endpoint=endpoint, completion_window="24h")  # type: ignore[arg-type]

    def finished(batch: Batch) -> Batch:
        while batch.status not in FINAL:
            time.sleep(0.02)
            batch = client.batches.retrieve(batch.id)
        return batch

    def refused(ask: Callable[[], object]) -> dict[str, Any] | None:
        try:
            ask()
        except openai.APIStatusError as e:
            return {"status": e.status_code, "code": e.code, "type": e.type, "param": e.param, "text": e.message}
        return None

    file = client.files.create(file=Path(text), purpose="batch")
    batch = finished(submit(file.id))
    assert batch.output_file_id and batch.request_counts
    slow = client.files.create(file=Path(long), purpose="batch")
    begun = submit(slow.id)
    client.batches.cancel(begun.id)
    found = {
        "file": {"id": file.id, "filename": file.filename, "bytes": file.bytes, "purpose": file.purpose},
        "slow": slow.id,
        "status": batch.status,
        "counts": batch.request_counts.model_dump(include={"total", "completed", "failed"}),
        "output": client.files.content(batch.output_file_id).text,
        "cancelled": finished(begun).status,
        "files": [f.id for f in client.files.list(limit=1)],
        "batches": [b.id for b in client.batches.list(limit=1)],
        "made": [batch.id, begun.id],
        "unknown": refused(lambda: client.files.retrieve("file-none")),
        "refused": refused(lambda: submit("file-none")),
        "deleted": client.files.delete(slow.id).deleted,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
