"""Latent semantic analysis: texts as vectors."""

from __future__ import annotations

import random

import numpy as np

WORDS = 50000  # most words, the commonest ones
COORDINATES = 1536


def analyse(
    texts: list[str], most: int, queries: int, seed: int, coordinates: int = COORDINATES
) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates of at most `most` atoms and of held-out queries, both drawn from the texts at
    random, float32, largest singular value first.

    Weights are sublinear tf-idf of the commonest words, fitted to the atoms alone; queries are
    projected on the atoms' right singular vectors. There must be more texts than queries and
    coordinates together."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.utils.extmath import randomized_svd

    texts = texts.copy()
    random.Random(seed).shuffle(texts)
    held, texts = texts[:queries], texts[queries : queries + most]
    words = TfidfVectorizer(
        max_features=WORDS, min_df=2, sublinear_tf=True, token_pattern=r"[A-Za-z][A-Za-z0-9]+", dtype=np.float32
    )
    weights = words.fit_transform(texts)
    left, values, right = randomized_svd(weights, coordinates, n_oversamples=20, n_iter=2, random_state=0)
    return (left * values).astype(np.float32), (words.transform(held) @ right.T).astype(np.float32)
