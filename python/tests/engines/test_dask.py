"""The recipe of docs/scale.md for Dask, as it stands there."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import thresher
from conftest import best

dd = pytest.importorskip("dask.dataframe", reason="Dask is not installed; make test-engines installs it")
pa = pytest.importorskip("pyarrow")

import pyarrow.parquet as pq  # noqa: E402

PAGE = Path(__file__).parents[3] / "docs" / "scale.md"


CLUSTER = """
from dask.distributed import Client, LocalCluster

if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        import job
"""


@pytest.mark.parametrize("script", ["job.py", "cluster.py"])
def test_recipe(tmp_path, script):
    rng = np.random.default_rng(31)
    x, q = (rng.standard_normal((n, 16)).astype(np.float32) for n in (500, 90))
    ids = rng.permutation(5000)[: len(x)]
    with thresher.Index(x, ids=ids, metric="cosine") as index:
        index.save(tmp_path / "items.thresher")
    (tmp_path / "users").mkdir()
    for i, rows in enumerate(np.array_split(np.arange(len(q)), 3)):
        users = {"id": rows, "vector": pa.array(list(q[rows]))}
        pq.write_table(pa.table(users), tmp_path / "users" / f"part-{i}.parquet")
    module, job = re.findall(r"```python\n(.*?)```", PAGE.read_text().split("## On Dask")[1].split("\n## ")[0], re.S)
    for name, code in (("neighbours.py", module), ("job.py", job), ("cluster.py", CLUSTER)):
        (tmp_path / name).write_text(code)
    path = os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(tmp_path)])
    subprocess.run(
        [sys.executable, script], cwd=tmp_path, check=True, timeout=600, env={**os.environ, "PYTHONPATH": path}
    )
    found = dd.read_parquet(tmp_path / "answers").compute(scheduler="sync").sort_values("id", kind="stable")
    rows, scores = best(q, x, 10, "cosine")
    assert found["id"].tolist() == np.repeat(np.arange(len(q)), 10).tolist()
    assert found["neighbor_id"].tolist() == ids[rows].reshape(-1).tolist()
    assert np.allclose(found["score"], scores.reshape(-1), atol=1e-12)
    assert set(found["guarantee"]) <= {"exact", "certain", "probabilistic"}
