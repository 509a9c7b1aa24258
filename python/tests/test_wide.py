"""Rows of more dimensions than the products of a first look fit int32, up to the greatest."""

import numpy as np
import pytest

import thresher
from conftest import best


@pytest.mark.parametrize("width", [70_016, 140_000])
def test_wide_rows(rng, width):
    vectors = rng.standard_normal((30, width), dtype=np.float32)
    queries = vectors[[3, 11]] + rng.standard_normal((2, width), dtype=np.float32)
    with thresher.Index(vectors, metric="ip") as index:
        for method in ("exact", "auto", "certain", "adaptive"):
            right, want = best(queries, vectors, 2)
            found = index.search(queries, 2, method=method)
            np.testing.assert_array_equal(found.ids, right, err_msg=method)
            np.testing.assert_allclose(found.scores, want, rtol=1e-5, err_msg=method)


def test_too_wide():
    most = 2**21
    vectors = np.zeros((1, most + 1), np.float32)
    with pytest.raises(ValueError, match=f"{most + 1} columns, at least 1 and at most {most}"):
        thresher.Index(vectors, metric="ip")
    vectors[0, most - 1] = 2
    scores, ids = thresher.knn(vectors[:, :most], vectors[:, :most], 1, metric="ip")
    assert ids.item() == 0 and scores.item() == 4
