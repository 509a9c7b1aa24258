"""Vectors that arguments name: by ids or rows, in lists, and by filters."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from thresher import _arrays, _forms, _ids, _worker
from thresher._arguments import Filter
from thresher._arrays import Lists
from thresher._collection import Collection

__all__ = ["Selection"]


class Selection(Collection):
    """Vectors of which arguments of searches name some."""

    def _lists(self, value: Lists, name: str, m: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        """Return lists of rows in compressed form. Matrices and pairs hold rows, other lists ids."""
        if self._ids is None or hasattr(value, "tocsr") or isinstance(value, tuple):
            return _arrays.lists(value, name, m, len(self))
        if _arrays.mask_of(value, name, (m, len(self))) is not None:
            return _arrays.lists(value, name, m, len(self))
        if isinstance(value, np.ndarray) and value.ndim == 2:
            table, none = _ids.given_ids(value, name)
            for row in table:
                _forms.refuse_mask(row, name, len(self))
            value = [row[~gone] for row, gone in zip(table, none, strict=True)]
        parts = [self._rows_of(part, name) for part in _arrays.parts_of(value, name)]
        indptr = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
        if len(parts) != m:
            raise ValueError(f"{name}: {len(parts)} lists for {m} queries")
        return indptr, np.concatenate([*parts, np.empty(0, np.int64)])

    def _rows_of_answers(self, table: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Return the rows of answers (m, w), -1 for what stands for none."""
        table, none = _ids.given_ids(table, "answers")
        rows = np.full(table.shape, -1, np.int64)
        if self._ids is not None:
            rows[~none] = self._rows_of(table[~none], "answers", masks=False)
        elif table.dtype.kind in "OU" and all(isinstance(x, str) and x.isdecimal() for x in table[~none].flat):
            for at in np.flatnonzero(~none):
                if len(table.flat[at].lstrip("0")) > 18:  # beyond int64, and every vector
                    raise ValueError(
                        f"answers: query {at // max(table.shape[-1], 1)}: {table.flat[at]:.80} is no row number"
                    )
            rows[~none] = [int(x) for x in table[~none].flat]  # as databases write them
        elif table.dtype.kind != "i":
            first = str(next(iter(table[~none].flat), ""))
            raise TypeError(
                f"answers: values are {table.dtype}, such as {first!r:.60}, not row numbers; the vectors have no ids: "
                "give them those that the answers name (thresher.Index(vectors, ids=..))"
            )
        else:
            rows[~none] = table[~none]
        return rows

    def _rows_of(self, ids: Any, name: str, *, masks: bool = True) -> npt.NDArray[np.int64]:
        """Return the rows of ids; masks says that a mask could stand in their place."""
        wanted = _ids.as_ids(ids, name)
        if masks:
            _forms.refuse_mask(wanted, name, len(self))
        if self._ids is not None:
            return _ids.rows_of_ids(self._ids, wanted, name, self._sorted)
        rows = wanted.reshape(-1)
        if rows.dtype.kind != "i" and rows.size:
            raise TypeError(f"{name}: values are {rows.dtype}, not row numbers")
        return _arrays._inside(rows.astype(np.int64, copy=False), name, len(self))

    def _sorted(self) -> npt.NDArray[np.int64]:
        """Return the rows in the order of their ids."""
        if self._sorter is None:
            self._sorter = np.argsort(self.ids, kind="stable")
        return self._sorter

    def _named(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
        """Return the ids of rows, and those that stand for none where a row is negative."""
        return rows if self._ids is None else _ids.named(self._ids, rows)

    # Filters

    def _filtered(self, filter: Filter, m: int) -> dict[str, npt.NDArray[Any]]:
        """Return the filter of all queries, or of each, as arrays of a search."""
        if (each := self._filter_each(filter, m)) is not None:
            lims, rows, of = each
            return {"filter_lims": lims, "filter": rows, "filter_of": of}
        if isinstance(filter, (str, dict)):
            return {"filter": self._selected(filter)}
        _refuse_frameless(filter)
        if (mask := _arrays.mask_of(filter, "filter", (len(self),))) is not None:
            return {"mask": np.ascontiguousarray(mask)}
        return {"filter": self._rows_of(filter, "filter")}

    def _filter_each(self, filter: Any, m: int) -> tuple[npt.NDArray[Any], ...] | None:
        """Return lists as CSR and which of them each query has, -1 for none; None of one filter for all queries."""
        parts: list[Any] = []
        if isinstance(filter, (list, tuple)):
            parts = list(filter)
            texts = self._ids is not None and self._ids.dtype.kind not in "iu"  # then texts are ids, if one of them is
            if texts and len(parts) == m and self.columns and all(isinstance(part, str) for part in parts):
                texts = bool(np.isin(np.array(parts), np.asarray(self._ids)).any())
            own = any(
                part is None
                or isinstance(part, (dict, list, tuple))
                or getattr(part, "ndim", 0) > 0
                or (isinstance(part, str) and not texts)
                for part in parts
            )
        else:
            own = hasattr(filter, "tocsr") or getattr(filter, "ndim", 1) > 1
        if not own:
            return None
        listed = bool(parts)
        if not listed:  # a matrix, whose lists are rows already
            if getattr(filter, "ndim", 0) == 2 and filter.shape[1] == 1 and filter.dtype != np.bool_:
                raise _forms.ambiguous("lists of a filter", "filter", "an array of one column")
            lims, rows = self._lists(filter, "filter", m)
            parts = [rows[lims[j] : lims[j + 1]].astype(np.int64, copy=False) for j in range(m)]
        elif len(parts) != m:
            raise ValueError(f"filter: {len(parts)} filters for {m} queries; a list has one for each query")
        numbers: dict[object, int] = {}
        lists: list[npt.NDArray[np.int64]] = []
        of = np.full(m, -1, np.int64)
        for j, part in enumerate(parts):
            if part is None:
                continue
            with _of_query(j):
                key: object = _as_json(part) if isinstance(part, dict) else part
                if not isinstance(key, str):
                    if listed:
                        part = self._filter_of(part)
                    key = part.tobytes()
                if key not in numbers:
                    numbers[key] = len(lists)
                    lists.append(self._selected(part) if isinstance(part, (str, dict)) else part)
            of[j] = numbers[key]
        lims = np.zeros(len(lists) + 1, np.int64)
        np.cumsum([len(rows) for rows in lists], out=lims[1:])
        return lims, np.concatenate(lists) if lists else np.empty(0, np.int64), of

    def _taking_part(self, filter: Filter | None) -> dict[str, npt.NDArray[np.int64]]:
        """Return the rows that a filter allows, ascending, as an array of a call; nothing without a filter."""
        if filter is None:
            return {}
        _refuse_frameless(filter)
        rows = self._selected(filter) if isinstance(filter, (str, dict)) else self._filter_of(filter)
        return {"filter": np.unique(rows)}

    def _filter_of(self, part: Any) -> npt.NDArray[np.int64]:
        """Return the rows of a mask or of ids, the filter of one query."""
        if (mask := _arrays.mask_of(part, "filter", (len(self),))) is not None:
            return np.flatnonzero(mask).astype(np.int64, copy=False)
        return np.ascontiguousarray(self._rows_of(part, "filter"), np.int64)

    def _selected(self, filter: str | dict[str, Any]) -> npt.NDArray[np.int64]:
        """Return the rows for which an expression, or a filter in Qdrant's form, is true."""
        if len(self) == 0:
            return np.empty(0, np.int64)
        fields: dict[str, Any] = {"filter": filter}
        if isinstance(filter, dict):
            fields = {"filter": _as_json(filter), "json": True}
        _, out = self._call("filter", fields)
        return out["rows"]


def _refuse_frameless(filter: Any) -> None:
    """Refuse an expression of polars, which needs a frame."""
    if type(filter).__module__.startswith("polars") and type(filter).__name__ == "Expr":
        raise TypeError(
            "filter: an expression of polars says nothing without its frame; frame.select(expression).to_series() "
            "is a mask"
        )


@contextmanager
def _of_query(query: int) -> Iterator[None]:
    """Say of which query a filter is wrong."""
    try:
        yield
    except (TypeError, ValueError) as e:
        said = f"filter: query {query}: {str(e).removeprefix('filter: ')}"
        if isinstance(e, _worker.BadInput):
            raise _worker.BadInput(said, e.argument, query) from None
        raise type(e)(said) from None


def _as_json(filter: dict[str, Any]) -> str:
    """Return a filter in Qdrant's form as text."""
    try:
        return json.dumps(filter, allow_nan=False)
    except (TypeError, ValueError) as e:
        raise type(e)(f"filter: {e}") from None
