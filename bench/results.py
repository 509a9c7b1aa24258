"""Results as they are made: one file of JSON lines a task, appended to, so that an interrupted
run continues where it stopped.

The first line says where and with what the others were measured. Results of another
machine, library or build of thresher are not continued: they are dropped when their task
runs again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Record = dict[str, Any]


def load(path: Path) -> list[Record]:
    """The records of a file, without a last line truncated by an interruption."""
    if not path.exists():
        return []
    records = []
    for line in path.read_text().splitlines():
        try:
            records.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return records


class Log:
    """The results of one task."""

    def __init__(self, folder: Path, task: str, facts: Record, commit: str, command: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.task = task
        self.path = folder / f"{task}.jsonl"
        self.records = load(self.path)
        if not self.records or self.records[0].get("facts") != facts:
            self.records = []
        self._write("w")
        if not self.records:
            self.append({"kind": "run", "facts": facts, "commit": commit, "command": command})

    def _write(self, mode: str) -> None:
        with self.path.open(mode) as f:
            f.writelines(json.dumps(r) + "\n" for r in self.records)

    def append(self, record: Record) -> None:
        self.records.append(record)
        with self.path.open("a") as f:
            f.write(json.dumps(record) + "\n")

    def has(self, **key: Any) -> bool:
        """Whether there is a record with these fields."""
        return any(all(r.get(f) == v for f, v in key.items()) for r in self.records)


def rounded(x: Any) -> Any:
    """x with its floats rounded to six digits, more than the precision of a timing."""
    if isinstance(x, float):
        return float(f"{x:.6g}")
    if isinstance(x, dict):
        return {k: rounded(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [rounded(v) for v in x]
    return x
