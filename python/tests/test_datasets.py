"""datasets' nearest examples, found by thresher: `add_faiss_index(custom_index=)` with an object that searches."""

from __future__ import annotations

import numpy as np
import pytest

datasets = pytest.importorskip("datasets")
pytest.importorskip("faiss")

from conftest import best  # noqa: E402


def test_nearest_examples(vectors, queries):
    faiss = pytest.importorskip("thresher.faiss")
    data = datasets.Dataset.from_dict({"name": [f"n{j}" for j in range(1500)], "v": vectors.tolist()})
    data.add_faiss_index("v", custom_index=faiss.IndexFlatIP(48))
    scores, examples = data.get_nearest_examples("v", queries[0], k=5)
    rows, right = best(queries[:1], vectors, 5)
    assert examples["name"] == [f"n{j}" for j in rows[0]]
    np.testing.assert_allclose(scores, right[0], rtol=1e-5)
    all_scores, found = data.get_index("v").search_batch(queries, 5)
    rows, right = best(queries, vectors, 5)
    np.testing.assert_array_equal(found, rows)
    np.testing.assert_allclose(all_scores, right, rtol=1e-5)
