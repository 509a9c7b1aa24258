#!/usr/bin/env python3
"""How soon a written row is durable and found: thresher serve beside local databases, in turns.

python3 bench/row_writes.py --thresher build/thresher --data DIR --prepare   loads 100,000 x 256 into each, minutes
python3 bench/row_writes.py --thresher build/thresher --data DIR             writes to them in turns, half a minute
python3 bench/row_writes.py --thresher build/thresher --data DIR --rows 500 --turns 2    to see that it runs

Beside thresher are those of qdrant-client's local mode, Chroma, LanceDB and sqlite-vec that can be imported; the others
are named. Each turn replaces a row, or adds and replaces 1,000, and then searches for the last of them until it is the
nearest. The table in Markdown has the median and the greatest ms until the write is acknowledged and until the row is
found, and how many bytes were written to the disk, as a multiple of the rows'. thresher is asked over HTTP by one
connection, rows as npz; the others are called in this process. Bytes are those of /proc/PID/io, Linux only."""

from __future__ import annotations

import argparse
import http.client
import importlib
import importlib.metadata
import io
import json
import os
import shutil
import socket
import statistics
import subprocess
import time
from pathlib import Path
from typing import Any, Protocol

import numpy as np

DIM, BLOCK = 256, 1_000


class Store(Protocol):
    """One contestant: vectors under ids that are integers, by cosine."""

    def put(self, ids: np.ndarray, rows: np.ndarray) -> None: ...
    def nearest(self, row: np.ndarray) -> int: ...
    def close(self) -> None: ...


class Thresher:
    def __init__(self, folder: Path, program: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [program, "serve", "--listen", f"127.0.0.1:{port}", "--data", str(folder), "--log-level", "error"]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        self.pid = self.process.pid
        self.http = http.client.HTTPConnection("127.0.0.1", port)
        end = time.monotonic() + 60
        while self.ask("GET", "/readyz")[0] != 200:
            if time.monotonic() > end or self.process.poll() is not None:
                raise RuntimeError("thresher serve is not ready")
            time.sleep(0.01)

    def ask(self, method: str, path: str, body: Any = None, kind: str = "application/json") -> tuple[int, bytes]:
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        try:
            self.http.request(method, path, data, {"Content-Type": kind} if data else {})
            answer = self.http.getresponse()
            return answer.status, answer.read()
        except OSError:
            self.http.close()
            return 0, b""

    def must(self, *request: Any) -> bytes:
        status, answer = self.ask(*request)
        if status not in (200, 201):
            raise RuntimeError(f"{request[:2]}: {status}, {answer[:300]!r}")
        return answer

    def load(self, rows: np.ndarray) -> None:
        body = io.BytesIO()
        np.save(body, rows)
        self.must("PUT", "/v1/collections/a?metric=cosine&wait=true", body.getvalue(), "application/x-npy")
        self.put(np.arange(1), rows[:1])  # from now on it changes by rows

    def put(self, ids: np.ndarray, rows: np.ndarray) -> None:
        body = io.BytesIO()
        np.savez(body, vectors=rows, ids=ids)
        self.must("PUT", "/v1/collections/a/rows", body.getvalue(), "application/x-npz")

    def nearest(self, row: np.ndarray) -> int:
        answer = json.loads(self.must("POST", "/v1/collections/a/search", {"queries": [row.tolist()], "k": 1}))
        return int(answer["results"][0]["ids"][0])

    def close(self) -> None:
        self.process.terminate()
        self.process.wait()


class Qdrant:
    def __init__(self, folder: Path) -> None:
        from qdrant_client import QdrantClient, models

        self.models, self.client = models, QdrantClient(path=str(folder))
        self.pid = os.getpid()

    def load(self, rows: np.ndarray) -> None:
        vectors = self.models.VectorParams(size=DIM, distance=self.models.Distance.COSINE)
        self.client.create_collection("a", vectors_config=vectors)
        # A flush for each row would take an hour; the next client flushes again.
        self.client._client.collections["a"].storage.storage.execute("PRAGMA synchronous=OFF")
        for at in range(0, len(rows), BLOCK):
            self.put(np.arange(at, min(at + BLOCK, len(rows))), rows[at : at + BLOCK])

    def put(self, ids: np.ndarray, rows: np.ndarray) -> None:
        self.client.upsert("a", self.models.Batch(ids=ids.tolist(), vectors=rows.tolist()), wait=True)

    def nearest(self, row: np.ndarray) -> int:
        return int(self.client.query_points("a", query=row.tolist(), limit=1).points[0].id)

    def close(self) -> None:
        self.client.close()


class Chroma:
    def __init__(self, folder: Path) -> None:
        import chromadb

        settings = chromadb.config.Settings(anonymized_telemetry=False)
        self.client = chromadb.PersistentClient(path=str(folder), settings=settings)
        self.table = self.client.get_or_create_collection(
            "rows", metadata={"hnsw:space": "cosine"}, embedding_function=None
        )
        self.pid = os.getpid()

    def load(self, rows: np.ndarray) -> None:
        for at in range(0, len(rows), BLOCK):
            self.put(np.arange(at, min(at + BLOCK, len(rows))), rows[at : at + BLOCK])

    def put(self, ids: np.ndarray, rows: np.ndarray) -> None:
        self.table.upsert(ids=[str(i) for i in ids], embeddings=rows)

    def nearest(self, row: np.ndarray) -> int:
        return int(self.table.query(query_embeddings=row[None], n_results=1, include=[])["ids"][0][0])

    def close(self) -> None:
        pass


class Lance:
    def __init__(self, folder: Path) -> None:
        import lancedb
        import pyarrow

        self.arrow, self.db = pyarrow, lancedb.connect(str(folder))
        self.table = self.db.open_table("a") if (folder / "a.lance").exists() else None
        self.pid = os.getpid()

    def batch(self, ids: np.ndarray, rows: np.ndarray) -> Any:
        vectors = self.arrow.FixedSizeListArray.from_arrays(self.arrow.array(rows.ravel()), DIM)
        return self.arrow.table({"id": self.arrow.array(ids, self.arrow.int64()), "vector": vectors})

    def load(self, rows: np.ndarray) -> None:
        self.table = self.db.create_table("a", self.batch(np.arange(len(rows)), rows))

    def put(self, ids: np.ndarray, rows: np.ndarray) -> None:
        merge = self.table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        merge.execute(self.batch(ids, rows))

    def nearest(self, row: np.ndarray) -> int:
        return int(
            self.table.search(row).distance_type("cosine").select(["id", "_distance"]).limit(1).to_list()[0]["id"]
        )

    def close(self) -> None:
        pass


class SqliteVec:
    def __init__(self, folder: Path) -> None:
        import sqlite_vec

        try:  # where Python's own loads no extensions
            import pysqlite3 as sqlite3
        except ImportError:
            import sqlite3
        folder.mkdir(parents=True, exist_ok=True)
        self.db = sqlite3.connect(folder / "a.db", isolation_level=None)
        self.db.enable_load_extension(True)
        sqlite_vec.load(self.db)
        self.db.execute("PRAGMA journal_mode=WAL")
        self.db.execute("PRAGMA synchronous=FULL")
        self.db.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS a USING vec0(vector float[{DIM}] distance_metric=cosine)")
        self.pid = os.getpid()

    def load(self, rows: np.ndarray) -> None:
        self.put(np.arange(len(rows)), rows)

    def put(self, ids: np.ndarray, rows: np.ndarray) -> None:
        self.db.execute("BEGIN")
        self.db.executemany("DELETE FROM a WHERE rowid = ?", [(int(i),) for i in ids])
        pairs = [(int(i), row.tobytes()) for i, row in zip(ids, rows, strict=True)]
        self.db.executemany("INSERT INTO a(rowid, vector) VALUES (?, ?)", pairs)
        self.db.execute("COMMIT")

    def nearest(self, row: np.ndarray) -> int:
        found = self.db.execute("SELECT rowid FROM a WHERE vector MATCH ? AND k = 1", [row.tobytes()])
        return int(found.fetchone()[0])

    def close(self) -> None:
        self.db.close()


PEERS = {
    "sqlite-vec": ("sqlite_vec", SqliteVec),
    "lancedb": ("lancedb", Lance),
    "chromadb": ("chromadb", Chroma),
    "qdrant-client": ("qdrant_client", Qdrant),
}


def opened(name: str, options: argparse.Namespace) -> Any:
    folder = Path(options.data) / name
    return Thresher(folder, options.thresher) if name == "thresher" else PEERS[name][1](folder)


def written(store: Any) -> int:
    """Bytes that a contestant's process has caused to be written to the disk."""
    fields = dict(line.split(": ") for line in Path(f"/proc/{store.pid}/io").read_text().splitlines())
    return int(fields["write_bytes"])


def flushed(file: Any, size: int) -> float:
    """Seconds to append so many bytes to a file and flush it."""
    began = time.perf_counter()
    file.write(os.urandom(size))
    file.flush()
    os.fsync(file.fileno())
    return time.perf_counter() - began


def turn(store: Any, ids: np.ndarray, rows: np.ndarray) -> tuple[float, float, int]:
    """Writes rows; seconds until that is acknowledged and until the last is found, and bytes written meanwhile."""
    before, began = written(store), time.perf_counter()
    store.put(ids, rows)
    acknowledged = time.perf_counter() - began
    for _ in range(1_000):
        if store.nearest(rows[-1]) == int(ids[-1]):
            break
    else:
        raise RuntimeError(f"{type(store).__name__} does not find what it acknowledged")
    return acknowledged, time.perf_counter() - began, written(store) - before


def measure(stores: dict[str, Any], options: argparse.Namespace) -> None:
    drawn = np.random.default_rng(11)
    plain = (Path(options.data) / "plain").open("wb")
    print("| rows | | ms until acknowledged: median | at most | until found: median | at most | bytes, of the rows' |")
    print("|---|---|---|---|---|---|---|")
    for size, turns in ((1, 4 * options.turns), (BLOCK, options.turns)):
        took: dict[str, list[tuple[float, float, int]]] = {name: [] for name in stores}
        file = []
        for _ in range(turns):
            ids = drawn.permutation(options.rows + options.rows // 10)[:size]
            rows = drawn.standard_normal((size, DIM), np.float32)
            file.append(flushed(plain, rows.nbytes))
            for name, store in stores.items():
                took[name].append(turn(store, ids, rows))
        print(f"| {size:,} | a file, flushed | {cells(file)} | | | 1 |")
        for name, each in took.items():
            wrote = sum(one[2] for one in each) / (turns * size * DIM * 4)
            acknowledged, found = cells([e[0] for e in each]), cells([e[1] for e in each])
            print(f"| {size:,} | {name} | {acknowledged} | {found} | {wrote:.1f} |", flush=True)


def cells(seconds: list[float]) -> str:
    return f"{1e3 * statistics.median(seconds):.2f} | {1e3 * max(seconds):.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description="how soon a written row is durable and found")
    parser.add_argument("--thresher", required=True, help="the program")
    parser.add_argument("--data", required=True, metavar="DIR", help="where the contestants keep the vectors")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument(
        "--turns", type=int, default=10, help="with 1,000 rows; four times as many with one (default 10)"
    )
    parser.add_argument("--peers", default=",".join(PEERS), help="beside thresher (default: all that can be imported)")
    parser.add_argument("--prepare", action="store_true", help="only load the vectors, unless they are there")
    options = parser.parse_args()
    names = ["thresher"]
    for name in options.peers.split(","):
        module, _ = PEERS[name]
        try:
            importlib.import_module(module)
            names.append(name)
            print(f"{name} {importlib.metadata.version(name)}")
        except ImportError as err:
            print(f"{name} is left out: {err}")
    rows = np.random.default_rng(1).standard_normal((options.rows, DIM), np.float32)
    stores: dict[str, Any] = {}
    try:
        for name in names:
            done = Path(options.data) / f"{name}.{options.rows}"
            if not done.exists():
                shutil.rmtree(Path(options.data) / name, ignore_errors=True)
                Path(options.data).mkdir(parents=True, exist_ok=True)
                store = opened(name, options)
                began = time.monotonic()
                store.load(rows)
                store.close()
                print(f"{name} is loaded in {time.monotonic() - began:.0f} s", flush=True)
                done.touch()
        if options.prepare:
            return
        for name in names:
            stores[name] = opened(name, options)
            stores[name].nearest(rows[0])
        measure(stores, options)
    finally:
        for store in stores.values():
            store.close()


if __name__ == "__main__":
    main()
