"""What a call of thresher's worker takes beside its search: the time of the whole call less the engine's.

    THRESHER_BINARY=build/thresher PYTHONPATH=python/src python3 bench/worker_overhead.py

Needs numpy. Medians of 300 calls in milliseconds, of which cases take turns.
"""

import statistics
import time

import numpy as np
from thresher import _worker

CASES = ((1_000, 1, 64), (1_000, 256, 768), (10_000, 256, 768))
CALLS = 300


def main() -> None:
    """Measure, and print a table."""
    worker = _worker.get()
    rng = np.random.default_rng(0)
    cases = []
    for n, m, d in CASES:
        info, _ = worker.call("build", {"metric": "ip"}, {"vectors": rng.standard_normal((n, d), np.float32)})
        queries = rng.standard_normal((m, d), np.float32)
        shared = _worker.empty((m, d))
        shared[:] = queries
        cases += [
            (n, m, d, "numpy", info["handle"], queries, []),
            (n, m, d, "thresher.empty", info["handle"], shared, []),
        ]
    for case in cases * (CALLS + 20):
        *_, handle, queries, times = case
        begun = time.perf_counter()
        reply, _ = worker.call("search", {"handle": handle, "k": 10}, {"queries": queries})
        whole = 1e3 * (time.perf_counter() - begun)
        times.append((whole, whole - reply["took_ms"]))
    print("vectors  queries  dim  from            call ms  beside the search ms")
    for n, m, d, where, _, _, times in cases:
        whole, beside = (statistics.median(x) for x in zip(*times[20:], strict=True))
        print(f"{n:7}  {m:7}  {d:3}  {where:14}  {whole:7.3f}  {beside:.3f}")


if __name__ == "__main__":
    main()
