"""What a new user does in an hour: a folder of files becomes vectors with columns, which are filtered, written, killed
at work, opened again, and copied; by command line and over HTTP, each answer compared with numpy."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from server import ANSWER, Server

DIM = 8
PARTS, PART = 4, 250
LANGS = ("en", "de", "go")
FILTER = "year >= 1999 and lang in ('go','de')"


class Films:
    """Rows with ids, years and languages, of which those are kept that were written last."""

    def __init__(self) -> None:
        self.drawn = np.random.default_rng(7)
        self.rows: dict[str, np.ndarray] = {}

    def write(self, path: Path, first: int, count: int) -> Path:
        """A file of films, which replace those of the same ids."""
        lines = ["id,year,lang," + ",".join(f"d{j}" for j in range(DIM))]
        for number in range(first, first + count):
            row = self.drawn.standard_normal(DIM).astype(np.float32)
            self.rows[f"f{number}"] = row
            lines.append(",".join([f"f{number}", str(year(number)), lang(number), *map(str, row.tolist())]))
        path.write_text("\n".join(lines) + "\n")
        return path

    def best(self, query: np.ndarray, k: int, filtered: bool) -> list[str]:
        def allowed(name: str) -> bool:
            number = int(name[1:])
            return not filtered or (year(number) >= 1999 and lang(number) in ("go", "de"))

        names = [name for name in self.rows if allowed(name)]
        rows = np.array([self.rows[name] for name in names], np.float64)
        scores = rows @ query / np.linalg.norm(rows, axis=1)
        return [names[i] for i in np.argsort(-scores)[:k]]


def year(number: int) -> int:
    return 1950 + number % 70


def lang(number: int) -> str:
    return LANGS[number % len(LANGS)]


@pytest.fixture
def films(tmp_path: Path) -> Iterator[Films]:
    made = Films()
    (tmp_path / "films").mkdir()
    for part in range(PARTS):
        made.write(tmp_path / "films" / f"part-{part}.csv", PART * part, PART)
    yield made


def test_by_command_line(films: Films, tmp_path: Path) -> None:
    def run(*words: str) -> None:
        command = [os.environ["E2E_THRESHER"], *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=ANSWER)
        assert done.returncode == 0, done.stderr

    queries = films.drawn.standard_normal((3, DIM)).astype(np.float32)
    np.save(tmp_path / "q.npy", queries)

    def found(folder: str, *words: str) -> list[list[str]]:
        run("search", "--vectors", folder, "--queries", "q.npy", "-k", "5", "--overwrite", "--out", "a.jsonl", *words)
        run("verify", "--vectors", folder, "--queries", "q.npy", "--answers", "a.jsonl", *words)
        return [json.loads(line)["ids"] for line in (tmp_path / "a.jsonl").read_text().splitlines()]

    def want(filtered: bool) -> list[list[str]]:
        return [films.best(query, 5, filtered) for query in queries]

    run("build", "--vectors", "films/", "--columns", "year,lang", "--metric", "cosine", "--out", "f/")
    assert found("f/", "--filter", FILTER) == want(True)
    films.write(tmp_path / "more.csv", PART * PARTS - 10, 20)
    run("rows", "put", "--collection", "f/", "--vectors", "more.csv")
    assert found("f/") == want(False)
    run("rows", "snapshot", "--collection", "f/", "--out", "monday")

    films.write(tmp_path / "last.csv", 0, 500)
    putting = [os.environ["E2E_THRESHER"], "rows", "put", "--collection", "f/", "--vectors", "last.csv"]
    killed = subprocess.Popen(putting, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    killed.kill()
    killed.wait()
    run("rows", "put", "--collection", "f/", "--vectors", "last.csv")
    assert found("f/") == want(False)
    now = found("f/", "--filter", FILTER)

    run("rows", "delete", "--collection", "f/", "--filter", "year < 2100")
    run("rows", "snapshot", "--collection", "monday", "--out", "again")  # what is restored is a copy of the copy
    run("rows", "put", "--collection", "again/", "--vectors", "last.csv")
    assert found("again/", "--filter", FILTER) == now == want(True)


def test_over_http(films: Films, tmp_path: Path) -> None:
    server = Server("new_user", "--backup-folder", str(tmp_path / "backups"))
    queries = films.drawn.standard_normal((3, DIM)).astype(np.float32)

    def send(method: str, path: str, file: Path, key: str = "") -> Any:
        headers = {"Content-Type": "text/csv"} | ({"Idempotency-Key": key} if key else {})
        request = urllib.request.Request(server.url + path, file.read_bytes(), headers, method=method)
        with urllib.request.urlopen(request, timeout=ANSWER) as answer:
            return json.loads(answer.read())

    def check() -> None:
        for where in ({}, {"filter": FILTER}):
            answer = server.ask("/v1/collections/films/search", {"queries": queries.tolist(), "k": 5} | where)
            assert [r["ids"] for r in answer["results"]] == [films.best(q, 5, bool(where)) for q in queries]

    parts = [tmp_path / "films" / f"part-{part}.csv" for part in range(PARTS)]
    send("PUT", "/v1/collections/films?metric=cosine&columns=year,lang&wait=true", parts[0])
    for part in parts[1:-1]:
        send("POST", "/v1/collections/films/rows", part)
    first = send("POST", "/v1/collections/films/rows", parts[-1], "the last part")
    check()
    server.kill()
    server.start()
    assert send("POST", "/v1/collections/films/rows", parts[-1], "the last part") == first
    check()
    films.write(tmp_path / "more.csv", PART * PARTS - 10, 20)
    send("PUT", "/v1/collections/films/rows", tmp_path / "more.csv")
    check()
    server.send("/v1/backup", b"", method="POST")
    deadline = time.monotonic() + ANSWER
    while server.ask("/v1/backup")["running"] is not None and time.monotonic() < deadline:
        time.sleep(0.02)
    made = tmp_path / "backups" / server.ask("/v1/backup")["complete"][0]["name"]
    server.kill()
    shutil.rmtree(server.folder.name)
    command = [os.environ["E2E_THRESHER"], "data", "restore", "--from", str(made), "--to", server.folder.name]
    done = subprocess.run(command, capture_output=True, text=True, timeout=ANSWER)
    assert done.returncode == 0, done.stderr
    server.start()
    check()
    assert send("POST", "/v1/collections/films/rows", parts[-1], "the last part") == first
    server.stop()
