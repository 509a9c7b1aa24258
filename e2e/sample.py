"""Rows of a collection, read through the API alone."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import numpy as np

from server import Server

# DELTA is allowed of requests whose answers are compared with a dense scan's. The demo's rotation is
# drawn anew for each server; at the default of 0.01 about one answer in 10,000 is wrong.
DELTA = 1e-6


def rows(server: Server, info: dict, count: int) -> tuple[list[Any], np.ndarray]:
    """Ids and vectors of some rows, those nearest to a random direction."""
    query = np.random.default_rng(1).standard_normal(info["dim"])
    path = f"/v1/collections/{info['name']}"
    ids = server.ask(f"{path}/search", {"queries": [query.tolist()], "k": count})["results"][0]["ids"]
    vectors = [server.ask(f"{path}/rows/{quote(str(i), safe='')}")["vector"] for i in ids]
    return ids, np.array(vectors, dtype=np.float32)


def exact(server: Server, info: dict, queries: np.ndarray, k: int) -> tuple[list[list[Any]], np.ndarray]:
    """The answer of a dense scan."""
    body = {"queries": queries.tolist(), "k": k, "method": "exact"}
    results = server.ask(f"/v1/collections/{info['name']}/search", body)["results"]
    return [r["ids"] for r in results], np.array([r["scores"] for r in results], dtype=np.float32)
