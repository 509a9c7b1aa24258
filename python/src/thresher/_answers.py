"""Files of answers: reading those of any door, and writing results."""

from __future__ import annotations

import json
import os
import tempfile
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from thresher import _ids, _worker
from thresher._arguments import explained, present_file, renamed
from thresher._range_result import RangeResult
from thresher._result import Result

if TYPE_CHECKING:
    from thresher._worker import Worker

__all__ = ["read_answers", "read_others", "read_response", "spread"]


def read_answers(path: str | PathLike[str], metric: str | None = None, argument: str = "path") -> Result | RangeResult:
    """Return the answers in a file, of whatever format that the command reads; all that reach a score as a RangeResult.

    metric is that of a file that does not state its own; argument is what errors call the path.
    """
    name = present_file(path, argument)
    with explained(), renamed(path=argument):
        worker = _worker.get()
        reply, out = worker.call("answers", {"path": name})
    covers = reply.get("covers")
    own = metric if covers is None else covers["metric"]
    if own is None:
        raise ValueError(f"metric: {name} does not state that of its answers")
    lims, found = out["lims"], out["scores64"]
    rows = out.get("rows", np.full(len(found), -1, np.int64))
    ids = _names_of(out, "")
    called = rows if ids is None else ids
    records = out["certificates"]
    dense, pulls = int(records["dense_pulls"].sum()), int(records["pulls"].sum())
    summary: dict[str, Any] = {
        "query_ids": _names_of(out, "query_"),
        "metric": own,
        "took": 0.0,
        "saving": dense / pulls if pulls and dense else 1.0,
        "warnings": (),
        "_records": records,
        "_names": _known(worker, reply),
        "_promise": "",
        "_own_ids": ids is not None,
        "_covers": covers,
        "_rounded": reply["rounded"],
    }
    if covers is not None and covers["k"] == 0:
        none = np.zeros(len(lims) - 1, bool)  # files do not state which are limited
        return RangeResult(lims, called, limited=none, rows=rows, scores64=found, **summary)
    return Result(
        spread(called, lims, {"i": -1, "u": _ids.NONE}.get(called.dtype.kind, "")),
        rows=spread(rows, lims, -1),
        scores64=spread(found, lims, np.nan),
        **summary,
    )


def read_others(path: str | PathLike[str], argument: str) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64] | None]:
    """Return the ids in a file of answers of another program, or its row numbers, and the scores if it states some.

    They are tables (m, w) of as many columns as the longest answer has, padded with -1 or what stands for no id.
    """
    name = present_file(path, argument)
    with explained(), renamed(path=argument):
        _, out = _worker.get().call("answers", {"path": name, "unchecked": True})
    lims, found = out["lims"], out["scores64"]
    called = _names_of(out, "")
    if called is None:
        called = out.get("rows", np.full(len(found), -1, np.int64))
    ids = spread(called, lims, {"i": -1, "u": _ids.NONE}.get(called.dtype.kind, ""))
    return ids, None if len(found) == 0 or np.isnan(found).all() else spread(found, lims, np.nan)


def read_response(response: Any, argument: str) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64] | None]:
    """Return the ids and scores of a response of a database, or of a list of them, as `read_others` those of a file."""
    documents = response if isinstance(response, (list, tuple)) else [response]
    with tempfile.TemporaryDirectory(prefix="thresher-") as folder:
        path = os.path.join(folder, "response.json")
        with open(path, "w", encoding="utf-8") as file:
            for one in documents:
                json.dump(one, file, default=_plain)
                file.write("\n")
        try:
            return read_others(path, argument)
        except (OSError, ValueError) as e:
            said = str(e).removeprefix(f"{argument}: ").removeprefix(f"{path}: ")  # a file that callers do not know
            raise TypeError(f"{argument}: no response that is read: {said}") from None


def _plain(value: Any) -> Any:
    """Return a value of a client as JSON has it."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return str(value)


def spread(values: npt.NDArray[Any], lims: npt.NDArray[Any], none: Any, width: int | None = None) -> npt.NDArray[Any]:
    """Return values as a table, row j those at lims[j]:lims[j+1], padded with none.

    Without width it has as many columns as the longest row, and at least one.
    """
    counts = np.diff(lims)
    columns = int(counts.max(initial=1)) if width is None else width
    there = np.arange(columns) < counts[:, np.newaxis]
    table = np.full(there.shape, none, values.dtype)
    table[there] = values
    return table


def _names_of(out: dict[str, npt.NDArray[Any]], prefix: str) -> npt.NDArray[Any] | None:
    """Return ids of a reply, numbers or texts; None if there are none."""
    if f"{prefix}ids" in out:
        return out[f"{prefix}ids"]
    if f"{prefix}id_text" not in out:
        return None
    return _ids.split_texts(out[f"{prefix}id_text"], out[f"{prefix}id_ends"])


def _known(worker: Worker, reply: dict[str, Any]) -> dict[str, list[str]]:
    from thresher._searches import names_in  # which imports results

    return names_in(worker, reply)
