"""Searches with filters beside FAISS: 100,000 x 128 normal numbers, 200 queries, k 10."""

import time

import faiss
import numpy as np
import thresher

N, DIM, QUERIES, K = 100_000, 128, 200, 10


def least(call, rounds=3):
    """Return the least time of a call, in ms."""
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        call()
        times.append(time.perf_counter() - begun)
    return 1e3 * min(times)


def main():
    """Print a line for each way to filter."""
    rng = np.random.default_rng(1)
    vectors = rng.standard_normal((N, DIM), dtype=np.float32)
    queries = rng.standard_normal((QUERIES, DIM), dtype=np.float32)
    index, flat = thresher.Index(vectors, metric="ip"), faiss.IndexFlatIP(DIM)
    flat.add(vectors)
    for method in ("exact", "auto"):
        print(f"all, {method}: {least(lambda method=method: index.search(queries, K, method=method)):.1f} ms")
    print(f"all, FAISS: {least(lambda: flat.search(queries, K)):.1f} ms")
    for share in (0.01, 0.1, 0.5):
        ids = np.sort(rng.choice(N, int(N * share), replace=False))
        for method in ("exact", "auto"):
            took = least(lambda method=method, ids=ids: index.search(queries, K, method=method, filter=ids))
            print(f"{share:.0%}, {method}: {took:.1f} ms")
        mask = np.zeros(N, bool)
        mask[ids] = True
        packed = np.packbits(mask, bitorder="little")
        for selector in (faiss.IDSelectorBatch(ids), faiss.IDSelectorBitmap(packed)):
            chosen = faiss.SearchParameters(sel=selector)
            took = least(lambda chosen=chosen: flat.search(queries, K, params=chosen))
            print(f"{share:.0%}, FAISS {type(selector).__name__}: {took:.1f} ms")
    each = [np.sort(rng.choice(N, N // 100, replace=False)) for _ in range(QUERIES)]
    took = least(lambda: index.search(queries, K, method="exact", filter=each))
    print(f"a filter of 1% for each query: {took:.1f} ms")
    took = least(lambda: [index.search(q, K, method="exact", filter=f) for q, f in zip(queries, each, strict=True)])
    print(f"the same, a search each: {took:.1f} ms")


if __name__ == "__main__":
    main()
