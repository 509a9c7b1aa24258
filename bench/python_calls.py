#!/usr/bin/env python3
"""Whole calls from Python: thresher.knn and Index.search against faiss.knn, hnswlib and numpy.

python3 bench/python_calls.py            100,000 x 768 at m = 1, 256 and 4,096, a few minutes
python3 bench/python_calls.py --small    tiny; checks answers, writes below bench/.build
python3 bench/python_calls.py --loops    only loops of 1,000 single queries, prints and keeps nothing
python3 bench/python_calls.py --prepare  installs, builds and makes the data, so that a run only measures
python3 bench/python_calls.py --report   only the page, from its results

It runs in bench/.venv with the package of this checkout on all cores, writes its results to
docs/benchmarks/python and the page docs/benchmarks/python.md."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import environment
from markdown import digits, section, table

DOCS = environment.ROOT / "docs" / "benchmarks"
PROGRAM = environment.BUILD / "thresher"
K = 10
QUERIES = (1, 256, 4096)
BAR = (256, 1.15)  # queries, and the most that a call may take of the library's time
LIBRARY = "library"  # thresher's own time within Index.search
LOOP = 1000  # queries that a loop asks one after the other
LOOPS = ((1000, 64), (10_000, 128), (100_000, 768))  # atoms and dimension
LOOP_SECONDS = 0.5  # that a peer's turn may take: it is asked fewer queries if they take longer
LOOP_BAR = 60  # the most that a call may take beside its search, us


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="whole calls from Python against faiss.knn, hnswlib and numpy")
    parser.add_argument("--small", action="store_true", help="2,000 x 64; exit code 1 for wrong answers")
    parser.add_argument("--report", action="store_true", help="only write the page from the results")
    parser.add_argument("--rounds", type=int, default=5, help="turns of each contestant (default 5)")
    parser.add_argument("--queries", default="", metavar="M,M", help="only these numbers of queries")
    parser.add_argument("--prepare", action="store_true", help="only install, build and make the data")
    parser.add_argument("--loops", action="store_true", help="only loops of single queries; prints, keeps nothing")
    return parser.parse_args()


def main() -> int:
    args = arguments()
    if args.report:
        write_page(DOCS)
        return 0
    os.environ["PYTHONPATH"] = os.pathsep.join([str(environment.ROOT / "python" / "src"), str(environment.HERE)])
    environment.enter("requirements.txt", optional=("requirements-compiled.txt",), env=environment.all_threads())
    environment.BUILD.mkdir(exist_ok=True)
    if "THRESHER_BINARY" not in os.environ:
        environment.go("build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", PROGRAM, "./cmd/thresher")
        os.environ["THRESHER_BINARY"] = str(PROGRAM)
    atoms, queries = rows(args.small)
    if args.prepare:
        for n, d in LOOPS:
            loop_rows(n, d)
        return 0
    rounds = 2 if args.small else args.rounds
    if args.loops:
        found, right = loops(args.small, rounds)
        if found:
            print(looped(found))
        return 0 if right else 1
    out = environment.BUILD / "small" / "python" if args.small else DOCS / "python"
    wanted = [int(m) for m in args.queries.split(",") if m] or [m for m in QUERIES if m <= len(queries)]
    right = True
    records: list[dict[str, Any]] = [about(atoms)]
    for m in wanted:
        measured, fine = measure(atoms, queries[:m], rounds)
        records += measured
        right = right and fine
        for r in measured:
            print(json.dumps(r), flush=True)
    found, fine = loops(args.small, rounds)
    records += found
    right = right and fine
    out.mkdir(parents=True, exist_ok=True)
    (out / "calls.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    if not args.small:
        write_page(DOCS)
    return 0 if right else 1


def rows(small: bool) -> tuple[Any, Any]:
    """Returns float32 atoms and queries: synthetic embeddings as of the set power768, or few random ones."""
    import numpy as np

    if small:
        rng = np.random.default_rng(1)
        return rng.standard_normal((2000, 64), np.float32), rng.standard_normal((256, 64), np.float32)
    kept = environment.BUILD / "python-calls.npz"
    if not kept.exists():
        import data

        atoms, queries, _ = data.embeddings(100_000, 768, 0.6, queries=max(QUERIES))
        np.savez(kept, atoms=atoms, queries=queries)
    with np.load(kept) as saved:
        return saved["atoms"], saved["queries"]


def about(atoms: Any) -> dict[str, Any]:
    import faiss
    import numpy
    import thresher
    from thresher import _worker

    return {
        "what": "machine",
        "cpu": environment.processor(),
        "cores": len(environment.CORES) or os.cpu_count(),
        "python": sys.version.split()[0],
        "numpy": numpy.__version__,
        "faiss": faiss.__version__,
        "hnswlib": environment.installed("hnswlib", "no C++ compiler?"),
        "thresher": str(_worker.get().hello["version"]),
        "kernels": str(thresher.devices()[0].get("device", "")),
        "atoms": list(atoms.shape),
        "k": K,
    }


def measure(atoms: Any, queries: Any, rounds: int) -> tuple[list[dict[str, Any]], bool]:
    """Returns the times of all contestants for these queries, in turns, and whether answers are right."""
    import faiss
    import numpy as np
    import thresher

    index = thresher.Index(atoms, metric="ip")
    library: list[float] = []

    def search(method: str) -> Callable[[], Any]:
        def call() -> Any:
            result = index.search(queries, K, method=method)
            if method == "auto":
                library.append(result.took)
            return result.ids

        return call

    def numpys() -> Any:
        found = []
        for part in range(0, len(queries), 256):
            scores = queries[part : part + 256] @ atoms.T
            some = np.argpartition(-scores, K, axis=1)[:, :K]
            order = np.argsort(-np.take_along_axis(scores, some, axis=1), axis=1)
            found.append(np.take_along_axis(some, order, axis=1))
        return np.concatenate(found)

    flat = faiss.IndexFlatIP(atoms.shape[1])
    flat.add(atoms)
    contestants: dict[str, Callable[[], Any]] = {
        "thresher.knn": lambda: thresher.knn(queries, atoms, K, metric="ip")[1],
        "thresher.knn certain": lambda: thresher.knn(queries, atoms, K, method="certain", metric="ip")[1],
        "Index.search": search("auto"),
        "Index.search certain": search("certain"),
        "faiss.knn": lambda: faiss.knn(queries, atoms, K, metric=faiss.METRIC_INNER_PRODUCT)[1],
        "IndexFlatIP.search": lambda: flat.search(queries, K)[1],
        "numpy": numpys,
    }
    built = {"Index.search": clock(lambda: thresher.Index(atoms, metric="ip").close())[0]}
    graph = hnsw(atoms)
    if graph is not None:
        contestants["hnswlib ef 100"], built["hnswlib ef 100"] = graph(queries)
    truth = contestants["Index.search certain"]()  # none is wrong
    times: dict[str, list[float]] = {name: [] for name in contestants}
    answers: dict[str, Any] = {}
    names = list(contestants)
    for turn in range(rounds + 1):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            took, answers[name] = clock(contestants[name])
            if turn > 0:  # the first turn warms
                times[name].append(took)
    records, fine = [], True
    for name in names:
        recall = float(np.mean([len(set(a) & set(b)) / K for a, b in zip(answers[name], truth, strict=True)]))
        records.append(
            {"what": "call", "m": len(queries), "name": name, "seconds": times[name], "recall": recall}
            | ({"built": built[name]} if name in built else {})
        )
        if name.startswith(("thresher", "Index.search")):
            fine = fine and recall >= (1 if "certain" in name else 0.99)
    records.append({"what": "call", "m": len(queries), "name": LIBRARY, "seconds": library[-rounds:], "recall": 1.0})
    index.close()
    return records, fine


def loop_rows(n: int, d: int) -> tuple[Any, Any]:
    """Returns float32 atoms and LOOP queries: synthetic embeddings."""
    import numpy as np

    import data

    kept = environment.BUILD / f"python-loop-{n}x{d}.npz"
    if not kept.exists():
        atoms, queries, _ = data.embeddings(n, d, 0.6, queries=LOOP)
        np.savez(kept, atoms=atoms, queries=queries)
    with np.load(kept) as saved:
        return saved["atoms"], saved["queries"]


def loops(small: bool, rounds: int) -> tuple[list[dict[str, Any]], bool]:
    """Returns the times of loops of single queries, and whether answers are right."""
    records, right = [], True
    for n, d in LOOPS[:1] if small else LOOPS:
        found, fine = loop(*loop_rows(n, d), rounds)
        records += found
        right = right and fine
    return records, right


def loop(atoms: Any, queries: Any, rounds: int) -> tuple[list[dict[str, Any]], bool]:
    """Returns us a query of each contestant, turn by turn, over one set. A turn asks one query after the
    other, a part of LOOP. Whether the answers are right is by those of certain."""
    import faiss
    import numpy as np
    import thresher

    flat = faiss.IndexFlatIP(atoms.shape[1])
    flat.add(atoms)
    single = [queries[i : i + 1] for i in range(len(queries))]
    inner: list[float] = []

    def numpys(q: Any) -> Any:
        scores = atoms @ q[0]
        some = np.argpartition(scores, len(scores) - K)[-K:]
        return some[np.argsort(-scores[some])][np.newaxis]

    with thresher.Index(atoms, metric="ip") as index:

        def searches(q: Any) -> Any:
            result = index.search(q, K)
            inner.append(result.took)
            return result.ids

        asked: dict[str, Callable[[Any], Any]] = {
            "Index.search": searches,
            "IndexFlatIP.search": lambda q: flat.search(q, K)[1],
            "numpy": numpys,
        }
        truth = index.search(queries, K, method="certain").ids
        us: dict[str, list[float]] = {name: [] for name in asked}
        beside: list[float] = []
        fine = True
        for turn in range(rounds + 1):
            for name in sorted(asked, reverse=bool(turn % 2)):
                ask = asked[name]
                once, _ = clock(lambda ask=ask: ask(single[0]))
                count = max(1, min(LOOP // rounds, int(LOOP_SECONDS / once)))
                first = max(0, turn - 1) * (LOOP // rounds)
                inner.clear()
                took, ids = clock(lambda: [ask(q) for q in single[first : first + count]])
                if turn > 0:  # the first turn warms
                    us[name].append(1e6 * took / count)
                    if name == "Index.search":
                        beside.append(1e6 * (took - sum(inner)) / count)
                        pairs = zip(ids, truth[first : first + count], strict=True)
                        fine = fine and np.mean([len(set(a[0]) & set(b)) / K for a, b in pairs]) >= 0.99
    shape = {"what": "loop", "atoms": list(atoms.shape)}
    records = [shape | {"name": name, "us": ts} for name, ts in us.items()]
    records[0]["beside"] = beside
    return records, bool(fine)


GRAPHS: dict[str, Any] = {}


def hnsw(atoms: Any) -> Callable[[Any], tuple[Callable[[], Any], float]] | None:
    """Returns what makes a contestant of hnswlib's index, which is built once and kept in bench/.build; None
    without hnswlib."""
    try:
        import hnswlib
    except ImportError:
        return None

    kept = environment.BUILD / f"python-hnsw-{len(atoms)}.bin"
    took = kept.with_suffix(".txt")
    if not GRAPHS:
        graph = hnswlib.Index("ip", atoms.shape[1])
        if took.exists():
            graph.load_index(str(kept), len(atoms))
            GRAPHS["built"] = float(took.read_text())
        else:
            graph.init_index(len(atoms), ef_construction=200, M=16)
            GRAPHS["built"], _ = clock(lambda: graph.add_items(atoms))
            graph.save_index(str(kept))
            took.write_text(str(GRAPHS["built"]))
        graph.set_ef(100)
        GRAPHS["graph"] = graph
    return lambda queries: (lambda: GRAPHS["graph"].knn_query(queries, K)[0], GRAPHS["built"])


def clock(call: Callable[[], Any]) -> tuple[float, Any]:
    begun = time.perf_counter()
    result = call()
    return time.perf_counter() - begun, result


def looped(records: list[dict[str, Any]]) -> str:
    """The section about loops of single queries."""
    rows, worst = [], 0.0
    for shape in dict.fromkeys(tuple(r["atoms"]) for r in records):
        us = {r["name"]: statistics.median(r["us"]) for r in records if tuple(r["atoms"]) == shape}
        ours = next(r for r in records if tuple(r["atoms"]) == shape and "beside" in r)
        beside = statistics.median(ours["beside"])
        worst = max(worst, beside)
        theirs = min(t for name, t in us.items() if name != ours["name"])
        rows.append(
            [
                *(f"{shape[0]:,} x {shape[1]}", digits(us["Index.search"]), digits(beside)),
                *(digits(us["IndexFlatIP.search"]), digits(us["numpy"]), digits(theirs / us["Index.search"])),
            ]
        )
    header = [
        "atoms",
        "`Index.search`, us",
        "beside its search, us",
        "`IndexFlatIP.search`, us",
        "numpy, us",
        "times as fast",
    ]
    reached = "reached" if worst <= LOOP_BAR else "missed"
    return section(
        "A loop of single queries",
        f"{LOOP:,} queries one after the other, k = {K}: a query's time, and what the call takes beside the time that "
        "the library itself reports. The last column is beside the better of FAISS and numpy.",
        table(header, rows),
        f"Wanted: at most {LOOP_BAR} us beside the search; {reached}.",
    )


def write_page(docs: Path) -> None:
    path = docs / "python" / "calls.jsonl"
    if not path.exists():
        text = "# Whole calls from Python\n\nNot measured yet: `python3 bench/python_calls.py`.\n"
    else:
        text = page([json.loads(line) for line in path.read_text().splitlines()])
    (docs / "python.md").write_text(text)


def page(records: list[dict[str, Any]]) -> str:
    machine = next(r for r in records if r["what"] == "machine")
    calls = [r for r in records if r["what"] == "call"]
    sizes = sorted({r["m"] for r in calls})
    n, d = machine["atoms"]
    names = [r["name"] for r in calls if r["m"] == sizes[0] and r["name"] != LIBRARY]

    def cell(name: str, m: int) -> dict[str, Any] | None:
        return next((r for r in calls if r["name"] == name and r["m"] == m), None)

    def milliseconds(r: dict[str, Any] | None) -> str:
        if r is None:
            return ""
        ms = [1e3 * s for s in r["seconds"]]
        return f"{digits(statistics.median(ms))} ({digits(min(ms))} to {digits(max(ms))})"

    lines = []
    for name in names:
        first = next(r for m in sizes if (r := cell(name, m)) is not None)
        recall = min(r["recall"] for m in sizes if (r := cell(name, m)) is not None)
        built = f"{digits(first['built'])} s" if "built" in first else ""
        lines.append([f"`{name}`", *(milliseconds(cell(name, m)) for m in sizes), f"{recall:.4g}", built])
    ratios, bar = [], ""
    for m in sizes:
        whole, inner = cell("Index.search", m), cell(LIBRARY, m)
        if whole and inner:
            pairs = list(zip(whole["seconds"], inner["seconds"], strict=False))
            over = statistics.median(w - i for w, i in pairs)
            ratio = statistics.median(w / i for w, i in pairs)
            theirs = [r for x in ("faiss.knn", "IndexFlatIP.search") if (r := cell(x, m)) is not None]
            times_as_fast = min(statistics.median(r["seconds"]) for r in theirs) / statistics.median(whole["seconds"])
            ratios.append([f"{m:,}", digits(1e3 * over), f"{ratio:.3f}", digits(times_as_fast)])
            if m == BAR[0]:
                reached = "reached" if ratio <= BAR[1] else "missed"
                bar = f"Wanted for {m} queries: at most {BAR[1]} of the library's time; {reached}."
    singles = [r for r in records if r["what"] == "loop"]
    return "\n\n".join([
        "# Whole calls from Python",
        f"`python3 bench/python_calls.py` on {machine['cpu']}, {machine['cores']} cores, all used by everybody: "
        f"synthetic embeddings, {n:,} x {d}, k = {machine['k']}, inner product. Python {machine['python']}, "
        f"numpy {machine['numpy']}, FAISS {machine['faiss']}, {machine['hnswlib']}. Contestants take turns; "
        "each entry is the median with the least and the greatest, in ms for the whole call. `thresher.knn` and "
        "`faiss.knn` include all that precedes a search, of thresher the building and the copy into shared memory; "
        "the others search what was built before. Delta is .01.",
        table(["call", *(f"m = {m:,}, ms" for m in sizes), "recall", "built in"], lines),
        section(
            "What the call costs",
            "`Index.search` beside the time that the library itself reports for the same search, and how many times "
            "faster it is than the better of FAISS's two calls.",
            table(["queries", "more than the library, ms", "of the library's time", "times as fast as FAISS"], ratios),
            bar,
        ),
        *([looped(singles)] if singles else []),
    ]) + "\n"  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
