"""Flat indexes of FAISS and of thresher.faiss, and how their answers are compared."""

from __future__ import annotations

import numpy as np
import pytest

try:
    import faiss as theirs
except ImportError:
    theirs = None

needs_faiss = pytest.mark.skipif(theirs is None, reason="faiss is not installed")

FARTHEST = np.finfo(np.float32).max
SQUARED = np.array([[0, 0], [3, 4], [6, 8], [0, 1]], np.float32)


def filled(module, vectors, metric):
    index = module.IndexFlat(vectors.shape[1], metric)
    index.add(vectors)
    return index


def same(found, wanted):
    """Compare answers, of which FAISS's distances are sums in float32."""
    np.testing.assert_array_equal(found[-1], wanted[-1])
    np.testing.assert_array_equal(found[:-2], wanted[:-2])
    np.testing.assert_allclose(found[-2], wanted[-2], rtol=1e-4, atol=1e-3)
    for one, other in zip(found, wanted, strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape
