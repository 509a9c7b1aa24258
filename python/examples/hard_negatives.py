"""Hard negatives: the best vectors that are no positives and score at most .95 of the positive."""

import numpy as np
import numpy.typing as npt

import thresher


def hard_negatives(
    anchors: npt.NDArray[np.float32], corpus: npt.NDArray[np.float32], positives: npt.NDArray[np.int64], count: int
) -> thresher.Result:
    positive_scores = np.einsum("ij,ij->i", anchors, corpus[positives])
    with thresher.Index(corpus, metric="ip") as index:
        return index.search(anchors, count, exclude=positives[:, np.newaxis], max_score=0.95 * positive_scores)


rng = np.random.default_rng(1)
corpus = rng.standard_normal((5_000, 128), dtype=np.float32)
corpus /= np.linalg.norm(corpus, axis=1, keepdims=True)
positives = np.arange(200)
anchors = corpus[positives] + 0.05 * rng.standard_normal((200, 128), dtype=np.float32)
mined = hard_negatives(anchors, corpus, positives, 5)
assert not (mined.ids == positives[:, np.newaxis]).any()
print(mined.summary())
