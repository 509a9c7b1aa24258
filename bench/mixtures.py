"""Mixtures of many centres, the kind of set that an index of inverted lists is made for."""

from __future__ import annotations

import numpy as np

POPULAR = -0.8  # the size of a centre's part falls as its rank to this power
BETWEEN, LOW, COMMON = 0.45, 0.35, 0.35  # shares of a vector's variance, and of the direction common to all
DIRECTIONS = 24  # of a centre
KEPT = 400  # dimensions up to which the directions of all centres are kept in memory


def unit(x: np.ndarray) -> np.ndarray:
    found: np.ndarray = x / np.linalg.norm(x, axis=-1, keepdims=True)
    return found


def mixture(n: int, d: int, queries: int, centres: int) -> tuple[np.ndarray, np.ndarray, dict[str, str]]:
    """Vectors around centres of Zipf-distributed sizes, each of which spreads in directions of its own;
    the rest is Gaussian of a falling spectrum, and all share a direction. Within a centre the first
    part's deviation is spread log-normally by 25%, norms by 10%. Queries are further vectors of the
    same distribution. The seed is n + d."""
    seed = n + d
    r = np.random.default_rng(seed)

    def normal(*shape: int) -> np.ndarray:
        return r.standard_normal(shape, dtype=np.float32)

    spectrum = (np.arange(1, d + 1) ** -0.5).astype(np.float32)
    spectrum /= np.linalg.norm(spectrum)
    turn = np.linalg.qr(normal(d, d))[0]
    common = unit(normal(d))
    middle = unit(normal(centres, d) * spectrum)
    popular = np.arange(1, centres + 1) ** POPULAR
    popular /= popular.sum()
    few = min(DIRECTIONS, d // 4)
    kept = normal(centres, d, few) / np.sqrt(d) if d <= KEPT else None
    weights = (np.arange(1, few + 1) ** -0.5).astype(np.float32)
    weights /= np.linalg.norm(weights)

    def directions(c: int) -> np.ndarray:
        if kept is not None:
            return kept[c]
        own = np.random.default_rng(seed * 100003 + c).standard_normal((d, few), dtype=np.float32)
        return own / np.float32(np.sqrt(d))

    def draw(rows: int, r: np.random.Generator) -> np.ndarray:
        of = r.choice(centres, rows, p=popular)
        x = np.empty((rows, d), np.float32)
        order = np.argsort(of, kind="stable")
        cut = np.searchsorted(of[order], np.arange(centres + 1))
        for c in range(centres):
            mine = order[cut[c] : cut[c + 1]]
            if not len(mine):
                continue
            inner = r.standard_normal((len(mine), few), dtype=np.float32) * weights
            scale = np.exp(0.25 * r.standard_normal((len(mine), 1))).astype(np.float32)
            rest = r.standard_normal((len(mine), d), dtype=np.float32) * spectrum
            own = np.sqrt(LOW) * inner @ directions(c).T + np.sqrt(1 - BETWEEN - LOW) * rest
            x[mine] = np.sqrt(BETWEEN) * middle[c] + scale * own
        norms = np.exp(0.1 * r.standard_normal((rows, 1))).astype(np.float32)
        found: np.ndarray = (x + np.float32(np.sqrt(COMMON)) * common) @ turn * norms
        return found

    said = f"a mixture of {centres:,} centres of Zipf-distributed sizes, each with {few} directions of its own, seed {seed}"
    return draw(n, np.random.default_rng(seed + 1)), draw(queries, np.random.default_rng(seed + 2)), {"from": said}


WORDS = 2.0  # words of a text besides the first, on average


def counts(n: int, d: int, queries: int, seed: int) -> tuple[np.ndarray, np.ndarray, dict[str, str]]:
    """Counts of d words in n short texts: whole numbers, nearly all of them 0. Words are drawn with
    probability proportional to (rank + 20)^-.6, and a text has one and a Poisson number of others. So
    most scores are 0 and the others equal to many. Queries are further texts."""
    r = np.random.default_rng(seed)
    popular = (np.arange(d) + 20.0) ** -0.6
    lengths = 1 + r.poisson(WORDS, n + queries)
    words = r.choice(d, lengths.sum(), p=popular / popular.sum())
    x = np.zeros((n + queries, d), np.float32)
    np.add.at(x, (np.repeat(np.arange(n + queries), lengths), words), 1)
    said = f"counts of {d:,} words in texts of {1 + WORDS:g} words on average, seed {seed}"
    return x[:n], x[n:], {"from": said}
