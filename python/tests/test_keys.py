"""What the command and this package say of answers has the same keys."""

import json
import subprocess

import numpy as np
import pytest

import thresher
from thresher import _binary


@pytest.fixture(scope="module")
def files(tmp_path_factory, vectors, queries):
    folder = tmp_path_factory.mktemp("keys")
    np.save(folder / "v.npy", vectors.astype(np.float32))
    np.save(folder / "q.npy", queries.astype(np.float32))
    return folder


def said(folder, verb, *arguments):
    """The JSON object that a command prints."""
    command = [_binary.path(), verb, "--vectors", "v.npy", "--queries", "q.npy", "--metric", "ip", "--json", *arguments]
    return json.loads(subprocess.run(command, cwd=folder, check=True, capture_output=True).stdout)


def test_certify_recall_and_verify(files, vectors, queries):
    with thresher.Index(vectors, metric="ip") as index:
        found = index.search(queries, 5, method="exact")
        answers, scores = found.rows.copy(), found.scores.copy()
        answers[3, 4] = next(i for i in range(len(vectors)) if i not in answers[3])
        np.savez(files / "theirs.npz", I=answers, D=scores)
        certified = thresher.certify(answers, index, queries, scores=scores)
        recall = thresher.recall(answers, index, queries, scores=scores)
        verified = thresher.verify(answers, index, queries, scores=scores)
    ours = said(files, "certify", "--answers", "theirs.npz", "--out", "proven.npz")["certified"]
    assert ours.keys() == certified.report.keys()
    assert {k: v for k, v in ours.items() if k != "scores"} == {
        k: v for k, v in certified.report.items() if k != "scores"
    }
    # Of the file, columns and devices a command alone says something.
    of_files = {"answers", "gpu_unused", "vector_columns", "query_columns"}
    ours = said(files, "recall", "--answers", "theirs.npz")
    assert ours.keys() - of_files == recall.report.keys() - of_files
    command = [_binary.path(), "verify", "--vectors", "v.npy", "--queries", "q.npy", "--metric", "ip", "--json"]
    done = subprocess.run([*command, "--answers", "theirs.npz"], cwd=files, capture_output=True)
    ours = json.loads(done.stdout)
    assert ours.keys() - of_files - {"queries"} == verified.report.keys() - of_files
