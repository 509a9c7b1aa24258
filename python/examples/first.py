"""The first answer, and what is known of it."""

import numpy as np

import thresher

rng = np.random.default_rng(0)
vectors = rng.standard_normal((20_000, 256), dtype=np.float32) / np.arange(1, 257, dtype=np.float32) ** 0.6
queries = vectors[:100] + 0.1 * rng.standard_normal((100, 256), dtype=np.float32)

scores, ids = thresher.knn(queries, vectors, k=10, metric="cosine")
print(ids[:3, :5])

with thresher.Index(vectors, metric="cosine") as index:
    result = index.search(queries, k=10)
    print(result.summary())
    print(result.certificate(0))
    assert thresher.verify(result, index, queries)
