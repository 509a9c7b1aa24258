"""THRESHER_KILLS kills at drawn instants, of whatever a job of Ray runs on, machines too; `make engines-killed`."""

from __future__ import annotations

import logging
import os
import signal
import threading

import numpy as np
import pytest

import thresher

ray = pytest.importorskip("ray", reason="Ray is not installed; make test-engines installs it")
pa = pytest.importorskip("pyarrow")

from ray.cluster_utils import Cluster  # noqa: E402

import thresher.ray  # noqa: E402
from thresher._parts import Folder  # noqa: E402
from thresher._walk import Segments, answers  # noqa: E402

KILLS = int(os.environ.get("THRESHER_KILLS", "0"))
DIM, ROWS, QUERIES, BLOCK = 64, 60_000, 12_000, 200


def below(root):
    """Return the processes below one, with their names."""
    parents, names = {}, {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as f:
                parents[int(pid)] = int(f.read().rsplit(")", 1)[1].split()[1])
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                names[int(pid)] = f.read().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
    found = []
    for pid in names:
        above = pid
        while above in parents and above != root:
            above = parents[above]
        if above == root and pid != root:
            found.append(pid)
    return [(pid, names[pid]) for pid in sorted(found)]


def kind(name):
    """Return what a process is to a job, "" of those that are none of its."""
    if name.startswith("ray::"):
        return "actor" if "SearchSegments" in name else "task" if "Files" in name or "Repartition" in name else ""
    return "child" if " worker --parent" in name else ""


@pytest.mark.skipif(not KILLS, reason="THRESHER_KILLS says how many processes are killed; make engines-killed")
def test_killed_again_and_again(tmp_path):
    ray.shutdown()
    rng = np.random.default_rng(21)
    x, q = (rng.standard_normal((n, DIM), dtype=np.float32) for n in (ROWS, QUERIES))
    for i in range(4):
        own = slice(i * ROWS // 4, (i + 1) * ROWS // 4)
        with thresher.Index(x[own], ids=np.arange(ROWS)[own], metric="cosine") as index:
            index.save(tmp_path / f"{i}.thresher")
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(q.reshape(-1)), DIM)
    table = pa.table({"id": np.arange(QUERIES), "vector": vectors})
    segments = Segments(Folder(tmp_path).paths(), threads=1)
    want = pa.concat_tables(
        answers(segments.search(q[at : at + BLOCK], 10), table["id"].combine_chunks().slice(at, BLOCK), False)
        for at in range(0, QUERIES, BLOCK)
    ).combine_chunks()
    segments.close()

    head = {"num_cpus": 3, "include_dashboard": False}
    cluster = Cluster(initialize_head=True, head_node_args=head, shutdown_at_exit=False)  # hooks need the first thread
    nodes = [cluster.add_node(num_cpus=2)]
    ray.init(address=cluster.address, log_to_driver=False, logging_level=logging.WARNING)
    killed, done = [], threading.Event()

    def kill():
        while len(killed) < KILLS and not done.wait(rng.uniform(0.1, 1.0)):
            if len(killed) % 10 == 5:  # a machine, with all that is on it
                cluster.remove_node(nodes.pop(), allow_graceful=False)
                nodes.append(cluster.add_node(num_cpus=2))
                killed.append("machine")
                continue
            victims = [(pid, what) for pid, name in below(os.getpid()) if (what := kind(name))]
            if victims:
                pid, what = victims[rng.integers(len(victims))]
                try:
                    os.kill(pid, signal.SIGKILL)
                    killed.append(what)
                except ProcessLookupError:
                    pass

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        jobs = 0
        while killer.is_alive() or not jobs:
            queries = ray.data.from_arrow(table).repartition(8)
            found = thresher.ray.knn(queries, tmp_path, 10, block=BLOCK, actors=3)
            got = pa.concat_tables(ray.get(found.to_arrow_refs())).sort_by("query_id").combine_chunks()
            assert got.equals(want), f"job {jobs}, after {killed}"
            jobs += 1
    finally:
        done.set()
        killer.join()
        ray.shutdown()
        cluster.shutdown()
    print(f"{jobs} jobs, killed: {', '.join(f'{killed.count(what)} {what}' for what in sorted(set(killed)))}")
    assert len(killed) == KILLS
    assert {"actor", "child", "machine"} <= set(killed)
