"""Searches with filters beside FAISS and Qdrant's local mode: 100,000 x 128 normal numbers, k 10, one thread each.

All calls are timed in turns. `qdrant` as an argument times Qdrant's local mode alone, which needs qdrant-client and
takes a minute or more.
"""

import statistics
import sys
import time

import faiss
import numpy as np
import thresher

N, DIM, QUERIES, K = 100_000, 128, 200, 10
SHARES = (0.01, 0.1, 0.5)
ROUNDS = 5
AGAIN = 20  # times that a search of one query is repeated within a round
FEW = 3  # queries that Qdrant answers, one after the other


def timed(calls):
    """Return the times of calls in ms, by their keys, each of ROUNDS rounds: a key ends with what is searched."""
    took = {key: [] for key in calls}
    for _ in range(ROUNDS):
        for key, call in calls.items():
            times = AGAIN if key[-1].endswith("one") else 1
            begun = time.perf_counter()
            for at in range(times):
                call(at)
            took[key].append(1e3 * (time.perf_counter() - begun) / times)
    return took


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
    """Print the time of a query by Qdrant's local mode for each filter beside thresher's, and check its answers."""
    peer, few = Qdrant(vectors, masks), queries[:FEW]
    for name in (None, *masks):
        chosen = None if name is None else masks[name]
        begun = time.perf_counter()
        found = peer.search(few, name)
        took = 1e3 * (time.perf_counter() - begun) / FEW
        begun = time.perf_counter()
        want = np.concatenate([index.search(q, K, method="exact", filter=chosen).ids for q in few]).reshape(FEW, K)
        own = 1e3 * (time.perf_counter() - begun) / FEW
        if (same := (found == want).mean()) < 0.99:  # it computes in float32, so that ties may come in another order
            sys.exit(f"{name}: {same:.0%} of Qdrant's answers are the exact ones")
        print(f"{name or 'all'}: Qdrant {took:.1f} ms a query, thresher by exact {own:.2f}")


def calls_of(index, flat, queries, filters):
    """Return the calls to time, by the vectors allowed, the form of the filter, and what is searched."""
    calls = {}
    for share, (ids, mask) in filters.items():
        own, peers = {"": None}, {"": None}
        if ids is not None:
            packed = np.packbits(mask, bitorder="little")
            own = {"ids": ids, "mask": mask}
            peers = {"ids": faiss.IDSelectorBatch(ids), "mask": faiss.IDSelectorBitmap(packed)}
        for form, chosen in own.items():
            for method in ("exact", "auto"):
                calls[share, form, method] = lambda _, m=method, f=chosen: index.search(queries, K, method=m, filter=f)
            calls[share, form, "auto, one"] = lambda at, f=chosen: index.search(queries[at], K, filter=f)
        for form, kept in peers.items():
            chosen = None if kept is None else faiss.SearchParameters(sel=kept)
            calls[share, form, "FAISS"] = lambda _, p=chosen, kept=kept: flat.search(queries, K, params=p)
            calls[share, form, "FAISS, one"] = lambda at, p=chosen: flat.search(queries[at : at + 1], K, params=p)
    return calls


def main():
    """Print a line for each way to filter: the least time, the median, and the latter as a share of that of all."""
    rng = np.random.default_rng(1)
    vectors = rng.standard_normal((N, DIM), dtype=np.float32)
    queries = rng.standard_normal((QUERIES, DIM), dtype=np.float32)
    index = thresher.Index(vectors, metric="ip", threads=1)
    filters = {"all": (None, None)}
    for share in SHARES:
        ids = np.sort(rng.choice(N, int(N * share), replace=False))
        mask = np.zeros(N, bool)
        mask[ids] = True
        filters[f"{share:.0%}"] = (ids, mask)
    index.search(queries, K)  # builds it
    if sys.argv[1:] == ["qdrant"]:
        masks = {f"percent{name[:-1]}": mask for name, (_, mask) in filters.items() if mask is not None}
        time_qdrant(vectors, queries, masks, index)
        return
    faiss.omp_set_num_threads(1)
    flat = faiss.IndexFlatIP(DIM)
    flat.add(vectors)
    calls = calls_of(index, flat, queries, filters)
    each = [np.sort(rng.choice(N, N // 100, replace=False)) for _ in range(QUERIES)]
    calls["1%", "each", "exact"] = lambda _: index.search(queries, K, method="exact", filter=each)
    pairs = list(zip(queries, each, strict=True))
    calls["1%", "loop", "exact"] = lambda _: [index.search(q, K, method="exact", filter=f) for q, f in pairs]
    took = timed(calls)
    for (share, form, what), times in took.items():
        of_all = statistics.median(t / a for t, a in zip(times, took["all", "", what], strict=True))
        middle = statistics.median(times)
        print(f"{share:4} {form:4} {what:10} least {min(times):8.3f} ms  median {middle:8.3f}  {of_all:6.1%} of all")


if __name__ == "__main__":
    main()
