"""Each use side by side: thresher's command and what others do for the same end, checked against
float64 sums. A contestant that is not installed is recorded as absent; a verb that this build of
thresher does not have is an error."""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.csgraph

from inputs import Input
from oracle import BLOCK, Scorer, best, different, found, pairs_above
from processes import Failed, Run, rival, thresher
from results import Log, rounded

# A contestant runs again, up to ROUNDS times, while its runs take less than this together.
SECONDS = 15.0
SLOW_TO_LOAD = ("pynndescent", "sentence_transformers", "implicit")
ROUNDS = 3
GRAPH_K = 15
TRUTH_KS = (100, 1000)
NEGATIVES = 50
SHARE = 0.95  # of the positive's score: the ceiling
SPARE = 50  # atoms that may be next to a ceiling
USERS = 1000
CLUSTERS = 1000  # of semantic deduplication: NeMo Curator's default

Arrays = dict[str, np.ndarray]
Judge = Callable[[Arrays], dict[str, Any]]


@dataclass(frozen=True)
class Contestant:
    """One way to do the work. package is what it needs; start runs it and returns what it found;
    steps is what its user does."""

    name: str
    package: str
    start: Callable[[], tuple[Run, Arrays]]
    steps: str


def side_by_side(log: Log, key: dict[str, Any], contestants: list[Contestant], judge: Judge, quick: bool) -> None:
    """Runs every contestant in turns and judges what each found first; quick runs each once, and none
    whose packages take seconds to load."""
    runs: dict[str, list[Run]] = {c.name: [] for c in contestants}
    judged: dict[str, dict[str, Any]] = {}
    for number in range(1 if quick else ROUNDS):
        for c in contestants:
            if importlib.util.find_spec(c.package) is None or (quick and c.package in SLOW_TO_LOAD):
                judged[c.name] = {"absent": c.package}
                continue
            if number and sum(r.wall for r in runs[c.name]) * (number + 1) / number > SECONDS:
                continue
            if "failed" in judged.get(c.name, {}):
                continue
            try:
                run, arrays = c.start()
            except Failed as e:
                if c.name.startswith("thresher"):
                    raise
                judged[c.name] = {"failed": str(e).strip().splitlines()[-1]}
                continue
            runs[c.name].append(run)
            if not number:
                judged[c.name] = judge(arrays)
    for c in contestants:
        record = {"kind": "side", **key, "contestant": c.name, "package": c.package, "steps": c.steps, **judged[c.name]}
        if runs[c.name]:
            of = runs[c.name]
            record |= {
                "seconds": median(map(seconds, of)),
                "wall": median(r.wall for r in of),
                "peak": max(r.peak for r in of),
                "rounds": len(of),
            }
        log.append(rounded(record))
        told = {f: record[f] for f in ("contestant", "seconds", "wall", "peak", *judged[c.name]) if f in record}
        print({"use": key["use"], "set": key["set"], "k": key.get("k"), **told}, flush=True)


def seconds(run: Run) -> float:
    """The work itself: without reading the rows, without writing answers; with what is built first."""
    if "seconds" in run.report:
        return float(run.report["seconds"])
    return float(sum(run.report[f] for f in run.report if f in ("build_seconds", "search_seconds", "join_seconds")))


def ours(name: str, steps: str, verb: str, arguments: list[Any], read: Callable[[], Arrays]) -> Contestant:
    return Contestant(name, "numpy", lambda: (thresher(verb, *arguments), read()), steps)


def theirs(name: str, package: str, function: str, folder: Path, steps: str, **arguments: Any) -> Contestant:
    return Contestant(name, package, lambda: rival(function, folder, **arguments), steps)


def graph(data: Input, log: Log, quick: bool = False) -> None:
    """The graph of the k nearest others of every atom."""
    if log.has(kind="side", set=data.name):
        return
    atoms = np.asarray(data.rows()[0])
    scorer = Scorer.of(atoms, data.metric)
    right = others(scorer, GRAPH_K)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        out, answers = folder / "graph.npz", folder / "answers.npz"
        same: dict[str, Any] = {"atoms": str(data.atoms), "metric": data.metric, "k": GRAPH_K}
        files = ["--atoms", data.atoms, "--metric", data.metric, "-k", GRAPH_K, "--force"]

        def of_graph() -> Arrays:
            return {"ids": scipy.sparse.load_npz(out).tocsr().indices.reshape(len(atoms), GRAPH_K)}

        def of_search() -> Arrays:
            with np.load(answers) as arrays:
                return {"ids": arrays["ids"]}

        searching = [*files, "--queries", data.atoms, "--exclude-self", "--method", "certain", "--out", answers]
        side_by_side(
            log,
            {"use": "graph", "k": GRAPH_K} | data.shape(),
            [
                ours("thresher graph", "1 command", "graph", [*files, "--out", out], of_graph),
                ours("thresher search --exclude-self", "1 command", "search", searching, of_search),
                theirs("FAISS flat, self removed", "faiss", "graph_faiss", folder, "6 lines", **same),
                theirs("numpy in tiles", "numpy", "graph_numpy", folder, "12 lines", **same),
                theirs("scikit-learn, brute force", "sklearn", "graph_sklearn", folder, "2 lines", **same),
                theirs("pynndescent", "pynndescent", "graph_pynndescent", folder, "3 lines", **same),
            ],
            lambda arrays: {
                "recall": float(found(scorer, atoms, arrays["ids"], right).mean() / GRAPH_K),
                "different": different(scorer, atoms, arrays["ids"], right),
            },
            quick,
        )


def others(scorer: Scorer, k: int) -> np.ndarray:
    """Scores of the k best others of every atom."""
    ids, scores = best(scorer, scorer.atoms, k + 1)
    keep = ids != np.arange(len(ids))[:, None]
    keep[keep.all(axis=1), -1] = False
    return scores[keep].reshape(len(ids), k)


def pairs(data: Input, log: Log, wanted: int, quick: bool = False) -> None:
    """All pairs of atoms above the score that about so many reach."""
    if log.has(kind="side", set=data.name):
        return
    atoms = np.asarray(data.rows()[0])
    n = len(atoms)
    scorer = Scorer.of(atoms, "ip")
    least = limit(atoms, wanted)
    right = keys(pairs_above(scorer, least), n)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        out, groups = folder / "pairs.npz", folder / "groups.npy"
        same: dict[str, Any] = {"atoms": str(data.atoms), "least": least}
        files = ["--atoms", data.atoms, "--metric", "ip", "--min-score", repr(least), "--force", "--out", out]

        def of_pairs() -> Arrays:
            m = scipy.sparse.load_npz(out).tocoo()
            return {"pairs": np.stack([m.row, m.col], axis=1)}

        def of_components() -> Arrays:
            return of_pairs() | {"components": np.load(groups)}

        def judge(arrays: Arrays) -> dict[str, Any]:
            if "labels" in arrays:
                return {"groups": int(arrays["labels"].max() + 1)} | joined(arrays["labels"], right, n)
            got = keys(arrays["pairs"].astype(np.int64), n)
            judged = {
                "pairs": len(got),
                "missed": len(np.setdiff1d(right, got)),
                "extra": len(np.setdiff1d(got, right)),
            }
            if "components" in arrays:
                judged["different"] = int(np.sum(arrays["components"] != components(right, n)))
            return judged

        with_groups = [*files, "--components", groups]
        clusters = min(CLUSTERS, n // 50)
        communities = "community_detection (groups, no pairs)"
        side_by_side(
            log,
            {"use": "pairs", "least": least, "wanted": len(right)} | data.shape(),
            [
                ours("thresher pairs", "1 command", "pairs", files, of_pairs),
                ours("thresher pairs --components", "1 command", "pairs", with_groups, of_components),
                theirs("FAISS range_search by blocks", "faiss", "pairs_faiss", folder, "8 lines", **same),
                theirs("numpy in tiles", "numpy", "pairs_numpy", folder, "5 lines", **same),
                theirs("paraphrase_mining", "sentence_transformers", "pairs_paraphrases", folder, "2 lines", **same),
                theirs(communities, "sentence_transformers", "groups_communities", folder, "1 line", **same),
                theirs(
                    f"k-means ({clusters}), then pairs within clusters",
                    "faiss",
                    "pairs_clusters",
                    folder,
                    "9 lines",
                    **same,
                    clusters=clusters,
                ),
            ],
            judge,
            quick,
        )


def limit(atoms: np.ndarray, wanted: int) -> float:
    """A score that about so many pairs reach, from a sample of the rows, in three digits."""
    sample = atoms[np.random.default_rng(1).choice(len(atoms), min(len(atoms), 1000), replace=False)]
    scores = np.sort((sample @ atoms.T).ravel())[::-1][len(sample) :]  # less self
    return float(f"{scores[min(len(scores) - 1, 2 * wanted * len(sample) // len(atoms))]:.3f}")


def keys(pairs: np.ndarray, n: int) -> np.ndarray:
    """Unordered pairs as sorted numbers."""
    low, high = pairs.min(axis=1, initial=n), pairs.max(axis=1, initial=-1)
    return np.unique(low * n + high)


def components(right: np.ndarray, n: int) -> np.ndarray:
    """The connected component of every row."""
    m = scipy.sparse.coo_matrix((np.ones(len(right), bool), (right // n, right % n)), shape=(n, n))
    labels: np.ndarray = scipy.sparse.csgraph.connected_components(m, directed=False)[1]
    return labels


def joined(labels: np.ndarray, right: np.ndarray, n: int) -> dict[str, Any]:
    """How many of the right pairs have both atoms in one group."""
    i, j = right // n, right % n
    together = (labels[i] == labels[j]) & (labels[i] >= 0)
    return {"missed": int(np.sum(~together))}


def truth(data: Input, log: Log, quick: bool = False) -> None:
    """Ground truth in the form of the big-ann-benchmarks."""
    atoms, queries = data.rows()
    scorer = Scorer.of(np.asarray(atoms), data.metric)
    for k in (k for k in TRUTH_KS if k <= len(atoms) // 4):
        if log.has(kind="side", set=data.name, k=k):
            continue
        _, right = best(scorer, queries, k)
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            out = folder / "truth.ibin"
            same: dict[str, Any] = {
                "atoms": str(data.atoms),
                "queries": str(data.queries),
                "metric": data.metric,
                "k": k,
            }

            def read(out: Path = out) -> Arrays:
                rows, columns = np.fromfile(out, "<u4", 2)
                return {
                    "ids": np.fromfile(out, "<i4", rows * columns, offset=8).reshape(rows, columns).astype(np.int64)
                }

            def judge(arrays: Arrays, right: np.ndarray = right) -> dict[str, Any]:
                return {"different": different(scorer, queries, arrays["ids"], right)}

            files = [*data.files(), "-k", k, "--out", out, "--force"]
            side_by_side(
                log,
                {"use": "truth", "k": k} | data.shape(),
                [
                    ours("thresher truth", "1 command", "truth", files, read),
                    theirs("FAISS flat", "faiss", "faiss_flat", folder, "3 lines", **same),
                    theirs("numpy in tiles, argpartition", "numpy", "numpy_tiles", folder, "7 lines", **same),
                ],
                judge,
                quick,
            )


def negatives(data: Input, log: Log, quick: bool = False) -> None:
    """The k best atoms of each query below a share of its positive's score. The positive is the query's
    third best atom, so that some score more."""
    if log.has(kind="side", set=data.name):
        return
    atoms, queries = (np.asarray(x) for x in data.rows())
    scorer = Scorer.of(atoms, "ip")
    positive = best(scorer, queries, 3)[0][:, 2]
    ceilings = SHARE * np.array([scorer.exact(q, p[None])[0] for q, p in zip(queries, positive, strict=True)])
    right = below(scorer, queries, positive, ceilings, NEGATIVES)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with_ceilings, positives, out = folder / "queries.npz", folder / "positives.npy", folder / "negatives.npz"
        np.savez(with_ceilings, vectors=queries, ceiling=ceilings)
        np.save(positives, positive)
        same: dict[str, Any] = {
            "atoms": str(data.atoms),
            "queries": str(data.queries),
            "positives": str(positives),
            "k": NEGATIVES,
            "share": SHARE,
        }

        def read() -> Arrays:
            with np.load(out) as arrays:
                return {"ids": arrays["ids"]}

        def judge(arrays: Arrays) -> dict[str, Any]:
            ids = arrays["ids"]
            unfilled = int(np.sum((ids < 0) & np.isfinite(right)))
            wrong = sum(
                not close(scorer, q, row[row >= 0], of[np.isfinite(of)])
                for q, row, of in zip(queries, ids, right, strict=True)
            )
            return {"unfilled": unfilled, "different": int(wrong)}

        files = ["--atoms", data.atoms, "--queries", with_ceilings, "--queries-column", "vectors", "--metric", "ip"]
        files += ["--ceiling-column", "ceiling", "--method", "certain", "-k", NEGATIVES, "--out", out, "--force"]
        mining = "mine_hard_negatives, defaults"
        side_by_side(
            log,
            {"use": "negatives", "k": NEGATIVES} | data.shape(),
            [
                ours("thresher search --ceiling-column", "1 command", "search", files, read),
                theirs(
                    "FAISS flat, fetching more until filled", "faiss", "negatives_faiss", folder, "12 lines", **same
                ),
                theirs(mining, "sentence_transformers", "negatives_sentence", folder, "1 call", **same),
            ],
            judge,
            quick,
        )


def below(scorer: Scorer, queries: np.ndarray, positive: np.ndarray, ceilings: np.ndarray, k: int) -> np.ndarray:
    """Scores of the k best atoms at most at the ceiling, without the positive; -inf where there are none."""
    scores = np.full((len(queries), k), -np.inf)
    most = min(len(scorer.atoms), k + SPARE)
    for lo in range(0, len(queries), BLOCK):
        about, bound = scorer.about(queries[lo : lo + BLOCK])
        about[np.arange(len(about)), positive[lo : lo + BLOCK]] = -np.inf
        about[about > (ceilings[lo : lo + BLOCK] + bound)[:, None]] = -np.inf
        near = np.argpartition(about, about.shape[1] - most, axis=1)[:, about.shape[1] - most :]
        for j, ids in enumerate(near, lo):
            exact = scorer.exact(queries[j], ids[np.isfinite(about[j - lo, ids])])
            if np.sum(exact > ceilings[j]) > SPARE:
                raise AssertionError(f"query {j}: more than {SPARE} atoms are next to the ceiling")
            exact = -np.sort(-exact[exact <= ceilings[j]])[:k]
            scores[j, : len(exact)] = exact
    return scores


def close(scorer: Scorer, q: np.ndarray, ids: np.ndarray, right: np.ndarray) -> bool:
    """Whether these are different atoms whose scores are the right ones, to within the rounding of
    float32 sums: a score next to its ceiling may be on either side of it."""
    if len(np.unique(ids)) != len(ids) or len(ids) != len(right):
        return False
    return bool(np.all(np.abs(-np.sort(-scorer.exact(q, ids)) - right) <= 1e-6))


def seen(data: Input, log: Log, quick: bool = False) -> None:
    """The k best items of each user but those that the user has seen: 100 to 1,000, of which up to 100
    are among the user's 200 best."""
    if log.has(kind="side", set=data.name):
        return
    k = 10
    atoms, queries = (np.asarray(x) for x in data.rows())
    queries = queries[:USERS]
    scorer = Scorer.of(atoms, "ip")
    near, scores = best(scorer, queries, min(200, len(atoms) // 4))
    known = history(near, len(atoms))
    right = np.stack(
        [
            of[~np.isin(ids, known.indices[known.indptr[j] : known.indptr[j + 1]])][:k]
            for j, (ids, of) in enumerate(zip(near, scores, strict=True))
        ]
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        users, matrix, out = folder / "users.npy", folder / "seen.npz", folder / "answers.npz"
        np.save(users, queries)
        scipy.sparse.save_npz(matrix, known)
        same: dict[str, Any] = {"atoms": str(data.atoms), "queries": str(users), "seen": str(matrix), "k": k}

        def read() -> Arrays:
            with np.load(out) as arrays:
                return {"ids": arrays["ids"]}

        files = ["--atoms", data.atoms, "--queries", users, "--metric", "ip", "--exclude", matrix]
        files += ["--method", "certain", "-k", k, "--out", out, "--force"]
        side_by_side(
            log,
            {"use": "seen", "k": k, "users": len(queries)} | data.shape(),
            [
                ours("thresher search --exclude", "1 command", "search", files, read),
                theirs("implicit's recommend", "implicit", "seen_implicit", folder, "1 call", **same),
                theirs("FAISS flat, k and the most seen", "faiss", "seen_more", folder, "6 lines", **same),
                theirs("FAISS flat, a selector a user", "faiss", "seen_selector", folder, "5 lines", **same),
            ],
            lambda arrays: {"different": different(scorer, queries, arrays["ids"].astype(np.int64), right)},
            quick,
        )


def history(near: np.ndarray, atoms: int) -> scipy.sparse.csr_matrix:
    """What each user has seen, a CSR matrix: some of the user's best items and others."""
    r = np.random.default_rng(1)
    rows = []
    for ids in near:
        liked = r.choice(ids, r.integers(10, len(ids) // 2), replace=False)
        rows.append(np.union1d(liked, r.choice(atoms, r.integers(min(100, atoms // 8), min(900, atoms // 4)))))
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    indices = np.concatenate(rows).astype(np.int32)
    return scipy.sparse.csr_matrix((np.ones(len(indices), np.float32), indices, indptr), shape=(len(near), atoms))
