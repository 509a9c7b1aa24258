"""Sets like those of recommenders: factors of items, asked for with factors of users."""

from __future__ import annotations

import numpy as np

SEED = 20240614


def factors(n: int, d: int, skewed: bool, queries: int) -> tuple[np.ndarray, np.ndarray, dict[str, str]]:
    """Items and users of a factorisation by d coordinates, coordinate j of standard deviation j^-.3.
    All share a direction, .5 of a user's norm and .2 of an item's. Items have norms that spread
    log-normally by 10%, or, skewed by popularity, by 80%, and then popular items are also nearer
    to the shared direction."""
    r = np.random.default_rng(SEED)
    deviation = (np.arange(1, d + 1) ** -0.3).astype(np.float32)
    deviation /= np.linalg.norm(deviation)
    shared = deviation * r.standard_normal(d, dtype=np.float32)
    shared /= np.linalg.norm(shared)

    def around(rows: int, share: np.ndarray | float) -> np.ndarray:
        own = deviation * r.standard_normal((rows, d), dtype=np.float32)
        own *= np.sqrt(1 - np.square(share))
        return own + shared * np.asarray(share, dtype=np.float32)

    popularity = r.standard_normal((n, 1), dtype=np.float32)
    share = np.clip(0.2 + 0.15 * popularity, -0.5, 0.8) if skewed else 0.2
    items = around(n, share) * np.exp((0.8 if skewed else 0.1) * popularity)
    said = f"factors of a recommender, coordinate j of deviation j^-.3, norms of items {'skewed' if skewed else 'even'}"
    return items, around(queries, 0.5), {"from": f"{said}, seed {SEED}"}


def factorised(rated: np.ndarray, d: int, queries: int) -> tuple[np.ndarray, np.ndarray, dict[str, str]]:
    """The best factors of a filled matrix of ratings, items by users: all items, and some users. What
    is factorised is the difference to each item's mean, which is a factor of its own."""
    mean = rated.mean(axis=1, keepdims=True)
    centred = (rated - mean).astype(np.float64)
    values, vectors = np.linalg.eigh(centred @ centred.T)
    best = np.argsort(values)[::-1][: d - 1]
    scale = np.maximum(values[best], 0) ** 0.25
    items = np.hstack([vectors[:, best] * scale, mean])
    users = np.hstack([centred.T @ vectors[:, best] / np.maximum(scale, 1e-9), np.ones((rated.shape[1], 1))])
    some = np.random.default_rng(SEED).permutation(len(users))[:queries]
    return items.astype(np.float32), users[some].astype(np.float32), {"from": f"MovieLens 1M, {d} factors by SVD"}
