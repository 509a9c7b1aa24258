"""Searches with filters beside FAISS and Qdrant's local mode: 100,000 x 128 normal numbers, 200 queries, k 10.

`qdrant` as an argument adds the latter, which needs qdrant-client and takes minutes.
"""

import sys
import time

import faiss
import numpy as np
import thresher

N, DIM, QUERIES, K = 100_000, 128, 200, 10
FEW = 3  # queries that Qdrant answers, one after the other


def least(call, rounds=7):
    """Return the least time of a call, in ms."""
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        call()
        times.append(time.perf_counter() - begun)
    return 1e3 * min(times)


class Qdrant:
    """Qdrant's local mode, whose filters are by a payload of each vector."""

    def __init__(self, vectors, shares):
        """Take the vectors; shares has a name and a mask for each filter."""
        from qdrant_client import QdrantClient, models

        self.models = models
        self.client = QdrantClient(":memory:")
        config = models.VectorParams(size=vectors.shape[1], distance=models.Distance.DOT)
        self.client.create_collection("c", vectors_config=config)
        fields = [{name: bool(mask[i]) for name, mask in shares.items()} for i in range(len(vectors))]
        step = 5000
        for lo in range(0, len(vectors), step):
            ids = list(range(lo, min(lo + step, len(vectors))))
            batch = models.Batch(ids=ids, vectors=vectors[lo : lo + step].tolist(), payloads=fields[lo : lo + step])
            self.client.upsert("c", batch)

    def search(self, queries, name=None):
        """Return the ids of answers, by the filter of a name."""
        models, chosen = self.models, None
        if name is not None:
            chosen = models.Filter(must=[models.FieldCondition(key=name, match=models.MatchValue(value=True))])
        found = [self.client.query_points("c", query=q, limit=K, query_filter=chosen).points for q in queries]
        return np.array([[p.id for p in points] for points in found])


def time_qdrant(vectors, queries, masks, index):
    """Print the time of a query by Qdrant's local mode for each filter, and check its answers."""
    peer, few = Qdrant(vectors, masks), queries[:FEW]
    for name in (None, *masks):
        found = peer.search(few, name)
        want = index.search(few, K, method="exact", filter=None if name is None else masks[name]).ids
        if (same := (found == want).mean()) < 0.99:  # it computes in float32, so that ties may come in another order
            sys.exit(f"{name}: {same:.0%} of Qdrant's answers are the exact ones")
        took = least(lambda name=name: peer.search(few, name), 2)
        print(f"{name or 'all'}, Qdrant: {took / FEW:.1f} ms a query, {took / FEW * QUERIES:.0f} ms for {QUERIES}")


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
    masks = {}
    for share in (0.01, 0.1, 0.5):
        ids = np.sort(rng.choice(N, int(N * share), replace=False))
        for method in ("exact", "auto"):
            took = least(lambda method=method, ids=ids: index.search(queries, K, method=method, filter=ids))
            print(f"{share:.0%}, {method}: {took:.1f} ms")
        mask = np.zeros(N, bool)
        mask[ids] = True
        masks[f"percent{100 * share:.0f}"] = mask
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
    if sys.argv[1:] == ["qdrant"]:
        time_qdrant(vectors, queries, masks, index)


if __name__ == "__main__":
    main()
