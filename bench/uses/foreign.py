"""Answers in other programs' forms, and answers that were tampered with: what recall says of each."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from inputs import Input
from oracle import Scorer, best, found
from processes import Failed, refused, thresher
from results import Log, rounded

K = 10
Arrays = tuple[np.ndarray, np.ndarray]  # ids, scores


def foreign(data: Input, log: Log) -> None:
    """Checks each form and each kind of tampering on answers of recall .9 or so."""
    if log.has(kind="foreign", set=data.name):
        return
    atoms, queries = data.rows()
    scorer = Scorer.of(np.asarray(atoms), data.metric)
    ids, _ = best(scorer, queries, K + 2)
    right = np.stack([scorer.exact(q, row) for q, row in zip(queries, ids[:, :K], strict=True)])
    r = np.random.default_rng(1)
    answers = ids[:, :K].copy()
    short = r.random(len(ids)) < 0.5  # of half of the answers the last two are the next ones
    answers[short, K - 2 :] = ids[short, K:]
    scores = np.stack([scorer.exact(q, row) for q, row in zip(queries, answers, strict=True)])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for form, write in FORMS.items():
            file = write(folder, answers, scores)
            told = thresher("recall", *data.files(), "--answers", file, "-k", K).report
            by_numpy = float(found(scorer, queries, answers, right).mean() / K)
            record: dict[str, Any] = {"kind": "foreign", "set": data.name, "form": form, "recall": told["recall"]}
            record |= {"recall_numpy": by_numpy, "scores_wrong": told.get("scores", {}).get("wrong", 0)}
            record["same"] = abs(told["recall"] - by_numpy) < 1e-12
            log.append(rounded(record))
        for said, change in TAMPERED.items():
            file = folder / "tampered.npz"
            changed, stated = change(answers.copy(), scores.copy(), len(atoms))
            np.savez(file, ids=changed, scores=stated)
            log.append(rounded({"kind": "tampered", "set": data.name, "change": said} | verdict(data, file)))


def verdict(data: Input, file: Path) -> dict[str, Any]:
    """What recall says of a file, or the error with which it ends."""
    arguments = [*data.files(), "--answers", file]
    try:
        told = thresher("recall", *arguments).report
    except Failed:
        code, said = refused("recall", *arguments)
        return {"code": code, "said": said.replace(str(file), "FILE").replace(str(data.folder) + "/", "")}
    wrong, repeated, short = told.get("scores", {}).get("wrong", 0), told["repeated"], told["short"]
    return {"code": 0, "recall": told["recall"], "scores_wrong": wrong, "repeated": repeated, "short": short}


# Forms: what Qdrant, a table and others write


def qdrant(folder: Path, ids: np.ndarray, scores: np.ndarray) -> Path:
    hits = [
        [{"id": int(i), "version": 0, "score": float(s)} for i, s in zip(row, of, strict=True)]
        for row, of in zip(ids, scores, strict=True)
    ]
    file = folder / "qdrant.json"
    file.write_text(json.dumps({"result": hits, "status": "ok", "time": 0.1}))
    return file


def table(folder: Path, ids: np.ndarray, scores: np.ndarray) -> Path:
    rows = [
        f"{j},{i},{s!r}"
        for j, (row, of) in enumerate(zip(ids, scores.tolist(), strict=True))
        for i, s in zip(row, of, strict=True)
    ]
    file = folder / "table.csv"
    file.write_text("query,id,score\n" + "\n".join(rows) + "\n")
    return file


def arrays(folder: Path, ids: np.ndarray, scores: np.ndarray) -> Path:
    file = folder / "faiss.npz"
    np.savez(file, I=ids, D=scores.astype(np.float32))
    return file


def ivecs(folder: Path, ids: np.ndarray, scores: np.ndarray) -> Path:
    file = folder / "answers.ivecs"
    rows = np.concatenate([np.full((len(ids), 1), ids.shape[1]), ids], axis=1).astype("<i4")
    rows.tofile(file)
    return file


FORMS: dict[str, Callable[[Path, np.ndarray, np.ndarray], Path]] = {
    "Qdrant's response to a batch (.json)": qdrant,
    "a table of query, id and score (.csv)": table,
    "FAISS's I and D (.npz)": arrays,
    "ids alone (.ivecs)": ivecs,
}


# Kinds of tampering


def score(ids: np.ndarray, scores: np.ndarray, n: int) -> Arrays:
    scores[3, 2] += 0.01 * abs(scores[3, 2])
    return ids, scores


def swapped(ids: np.ndarray, scores: np.ndarray, n: int) -> Arrays:
    """Two queries' answers change places."""
    for x in (ids, scores):
        x[[0, len(x) // 2]] = x[[len(x) // 2, 0]]
    return ids, scores


def repeated(ids: np.ndarray, scores: np.ndarray, n: int) -> Arrays:
    ids[5, 4], scores[5, 4] = ids[5, 3], scores[5, 3]
    return ids, scores


def beyond(ids: np.ndarray, scores: np.ndarray, n: int) -> Arrays:
    ids[7, 1] = n
    return ids, scores


def nan(ids: np.ndarray, scores: np.ndarray, n: int) -> Arrays:
    scores[2, 0] = np.nan
    return ids, scores


def cut(ids: np.ndarray, scores: np.ndarray, n: int) -> Arrays:
    return ids[:-1], scores[:-1]


TAMPERED: dict[str, Callable[[np.ndarray, np.ndarray, int], Arrays]] = {
    "a score raised by 1%": score,
    "two queries' answers exchanged": swapped,
    "an id twice in an answer": repeated,
    "an id that no atom has": beyond,
    "a score that is not a number": nan,
    "the last answer missing": cut,
}
