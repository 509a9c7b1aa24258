"""Pages about answers: recall with its intervals, the elimination, time, and the neighbours that answers lack."""

from __future__ import annotations

import csv
import html
import io
import json
import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from thresher import _arrays, _binary
from thresher._arguments import DType, Metric, file_name, text, whole
from thresher._arrays import Vectors
from thresher._compare import _given
from thresher._index import Index
from thresher._knn import as_index
from thresher._worker import BadInput, WorkerError

__all__ = ["Report", "report"]


class Report:
    """A page about answers, as a notebook shows it, and its figures.

    Attributes
    ----------
    html : str
        The page, which needs no other file and no network.
    figures : dict
        Its numbers, as ``thresher report --json`` has them.
    """

    def __init__(self, page: str, figures: dict[str, Any]) -> None:
        self.html, self.figures = page, figures

    def __repr__(self) -> str:
        answers = "".join(f", {a['name']} {a['recall']:.4f}" for a in self.figures.get("answers", ()))
        return f"Report({self.figures['sampled']} queries, k {self.figures['k']}{answers})"

    def _repr_html_(self) -> str:
        return (
            f'<iframe title="thresher report" srcdoc="{html.escape(self.html)}" '
            'style="width:100%;height:40rem;border:0" sandbox></iframe>'
        )

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the page to a file, which ends in ``.html``.

        Raises
        ------
        FileExistsError, OSError
            If the file exists, or cannot be written.
        """
        name = file_name(path)
        if not name.endswith(".html"):
            raise ValueError(f"path: {name} does not end in .html")
        if not overwrite and os.path.lexists(name):
            raise FileExistsError(f"path: {name} exists; overwrite=True replaces it")
        with open(name + ".part", "w", encoding="utf-8") as f:
            f.write(self.html)
        os.replace(name + ".part", name)


def report(
    vectors: Vectors,
    queries: Vectors,
    answers: Any = None,
    k: int | None = None,
    *,
    seconds: Mapping[str, float] | float | None = None,
    show: str | Sequence[str] | None = None,
    show_queries: Sequence[str] | None = None,
    pixels: str | None = None,
    metric: Metric | None = None,
    dtype: DType = "float32",
    sample: int = 1000,
    exclude_self: bool = False,
) -> Report:
    """Make a page about answers of any origin, and about the search that they are compared with.

    A notebook shows what is returned; `Report.save` writes it as one HTML file.

    Parameters
    ----------
    vectors : array (n, d), or Index
        What was searched.
    queries : array (m, d)
        What the answers are to.
    answers : answers, or dict of them by name, optional
        In any form that `recall` takes, paths among them. A dict that has a key of a database's response (``hits``,
        ``result``, ``matches`` and the like) is one. Without answers the page is about the search alone.
    k : int, optional
        How many vectors of each query to compare; as many as the longest answer has, if not given.
    seconds : float, or dict by name, optional
        How long the answers took to make, all queries together.
    show : n texts, or the name of a column of the Index, optional
        What stands beside neighbours: titles, or paths of image files.
    show_queries : m texts, optional
        What stands beside queries.
    pixels : str, optional
        ``"28x28"`` or ``"32x32x3"``: the vectors are pictures of this size, and are shown.
    metric, dtype
        As in `Index`; an Index has its own.
    sample : int
        Queries to compare, drawn at random, the same in each call; 0 is all.
    exclude_self : bool
        That query j is row j and does not find itself.

    Returns
    -------
    Report
    """
    named: dict[str, Any] = {} if answers is None else dict(answers) if _is_named(answers) else {"answers": answers}
    rows = _arrays.matrix(queries, "queries", one=True)
    if len(rows) == 0:
        raise ValueError("queries: there are none")
    command = [os.path.abspath(_binary.path()), "report", "--json", "--sample", str(whole(sample, "sample", 0))]
    index, own, column = _shown(vectors, show, show_queries, metric, dtype)
    try:
        with tempfile.TemporaryDirectory(prefix="thresher-") as folder:
            command += _inputs(folder, index, rows, column, show_queries)
            command += _stated(folder, index, named, seconds, len(rows))
            if k is not None:
                command += ["-k", str(whole(k, "k"))]
            if pixels is not None:
                command += ["--pixels", text(pixels, "pixels")]
            if exclude_self:
                command.append("--exclude-self")
            page = os.path.join(folder, "report.html")
            settings = {name: value for name, value in os.environ.items() if name not in _SETTINGS}
            ran = subprocess.run(
                [*command, "--out", page], capture_output=True, text=True, check=False, cwd=folder, env=settings
            )
            if ran.returncode != 0:
                raise _failed(ran.stderr, folder)
            with open(page, encoding="utf-8") as f:
                return Report(f.read(), json.loads(ran.stdout))
    finally:
        if own:
            index.close()


# Settings of the command line that an index has its own of, or that a caller gives.
_SETTINGS = {f"THRESHER_{name}" for name in ("SEED", "METRIC", "METHOD", "BASIS", "K", "DELTA", "CONFIG")}

# Keys of the responses of databases, by which a dict of answers by name is told from one.
_RESPONSES = {
    "_shards", "code", "data", "distances", "documents", "hits", "ids", "matches", "result", "results", "root", "rows",
}  # fmt: skip


def _is_named(answers: Any) -> bool:
    """Tell a dict of answers by name from the response of a database, which is a dict too."""
    return isinstance(answers, Mapping) and not _RESPONSES & set(answers)


def _shown(
    vectors: Vectors, show: Any, queries: Sequence[str] | None, metric: Metric | None, dtype: DType
) -> tuple[Index, bool, str | None]:
    """Return the vectors as an index, whether it is to be closed, and its column of texts."""
    if isinstance(show, str) or (show is None and (queries is None or isinstance(vectors, Index))):
        index, own = as_index(vectors, metric, dtype=dtype)
        if queries is not None and show is None:
            raise TypeError("show_queries: show names the column of the Index that stands beside its vectors")
        return index, own, show
    if isinstance(vectors, Index):
        raise TypeError("show: an Index has columns; give the name of one")
    texts = [None] * len(vectors) if show is None else [_located(str(said)) for said in show]
    return Index(vectors, columns={"text": texts}, metric=metric, dtype=dtype), True, "text"


def _located(said: str) -> str:
    """Return the absolute path of an image file, and other texts as they are."""
    return os.path.abspath(said) if said.endswith(_IMAGES) and os.path.isfile(said) else said


_IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp")


def _inputs(folder: str, index: Index, queries: Any, show: str | None, texts: Sequence[str] | None) -> list[str]:
    """Write vectors and queries, and return the arguments that name them."""
    index.save(os.path.join(folder, "vectors.thresher"))
    arguments = ["--vectors", "vectors.thresher"]
    if show is not None:
        arguments += ["--show", show]
    if texts is None:
        np.save(os.path.join(folder, "queries.npy"), queries)
        return [*arguments, "--queries", "queries.npy"]
    if len(texts) != len(queries):
        raise ValueError(f"show_queries: {len(texts)} for {len(queries)} queries")
    with open(os.path.join(folder, "queries.jsonl"), "w", encoding="utf-8") as f:
        for said, row in zip(texts, queries.tolist(), strict=True):
            f.write(json.dumps({show: _located(str(said)), "vector of it": row}) + "\n")
    return [*arguments, "--queries", "queries.jsonl", "--queries-column", "vector of it"]


def _stated(folder: str, index: Index, named: dict[str, Any], seconds: Any, queries: int) -> list[str]:
    """Write answers by their names, and return the arguments that name them."""
    times = seconds if isinstance(seconds, Mapping) else dict.fromkeys(named, seconds)
    if unknown := [name for name in times if name not in named]:
        raise ValueError(f"seconds: {unknown[0]!r} is none of the answers {', '.join(named) or '(there are none)'}")
    files: list[str] = []
    taken: list[float] = []
    for name, answers in named.items():
        if not isinstance(name, str) or not name or "\n" in name or "\r" in name:
            raise ValueError(f"answers: {name!r} is no name: a text of one line")
        given = _given(index, answers, None, queries)
        order = np.argsort(given["answers"] < 0, axis=1, kind="stable")  # those that stand for none come last
        arrays = {"ids": np.take_along_axis(given["answers"], order, 1)}
        if not (arrays["ids"] >= 0).any():
            raise ValueError(f"answers: {name}: every answer is empty")
        if "scores" in given:
            stated = np.take_along_axis(given["scores"], order, 1)
            arrays["scores"] = np.where(arrays["ids"] < 0, -np.inf, stated).astype(np.float32)
        files.append(f"answers-{len(files)}.npz")
        np.savez(os.path.join(folder, files[-1]), **arrays)  # type: ignore[arg-type]  # of names
        taken.append(_seconds(times.get(name)))
    if not files:
        return []
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(named)
    arguments = ["--answers", ",".join(files), "--seconds", ",".join(map(repr, taken)), "--names", line.getvalue()]
    return [*arguments, "--integers", "rows"] if index._ids is not None else arguments


def _seconds(value: Any) -> float:
    """Return a time in seconds, 0 for none."""
    try:
        seconds = 0.0 if value is None else float(value)
    except (TypeError, ValueError):
        raise TypeError(f"seconds: {value!r}, expected a number") from None
    if not 0 <= seconds < 1e9:
        raise ValueError(f"seconds: {value!r} is not in [0, 1e9)")
    return seconds


def _failed(said: str, folder: str) -> Exception:
    """Return the error of the program, which names no file that callers do not know."""
    last = said.strip().rsplit("\n", 1)[-1].removeprefix("thresher: ").replace(folder + os.sep, "")
    if last.startswith("-k "):
        last = "k: " + last.removeprefix("-k ")
    return BadInput(last, "report") if last else WorkerError("report: thresher ended without a word")
