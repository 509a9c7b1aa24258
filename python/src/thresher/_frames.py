"""Tables of pandas, polars and pyarrow: their columns, keys in them, and tables made of their rows."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["RANK", "SCORE", "Columns", "Table", "table"]

Rows = npt.NDArray[np.int64]

RANK, SCORE = "rank", "score"
"""The columns that a join adds."""


class Columns(NamedTuple):
    """Names of the columns of each table that are kept, with those that they get."""

    left: dict[str, str]
    right: dict[str, str]


class _Pandas:
    """Tables of pandas."""

    name = "pandas"

    @staticmethod
    def names(frame: Any) -> list[Any]:
        return list(frame.columns)

    @staticmethod
    def select(frame: Any, names: list[str]) -> Any:
        return frame[names[0]] if len(names) == 1 else frame[names]

    @staticmethod
    def type_of(frame: Any, name: str) -> str | None:
        import pandas as pd

        column = frame[name]
        kind = str(column.dtype)
        if kind == "category":
            column = column.cat.categories.to_series()
        inferred = pd.api.types.infer_dtype(column, skipna=True)
        if inferred in ("datetime64", "datetime"):
            own = getattr(column.dtype, "pyarrow_dtype", column.dtype)
            zone = getattr(own, "tz", None) if inferred == "datetime64" else None
            return "timestamp" if zone is None else "timestamp with a zone"
        if kind in ("float16", "float32", "float64") and (column.dropna() % 1 == 0).all():
            own = f"frame[{name!r}].astype('Int64')"
            return f"!{kind}, as pandas holds integers of which some are missing ({own} makes integers of it),"
        known = {"string": "text", "integer": "integer", "boolean": "bool", "date": "date", "empty": None}
        return known.get(inferred, f"!{inferred if kind == 'object' else kind}")

    @staticmethod
    def codes(a: Any, b: Any, name: str, kind: str) -> Rows:
        import pandas as pd

        parts = [_plain(frame[name]) for frame in (a, b)]
        if all(part.dtype.kind in "iuM" for part in parts):
            return _numbered([_integers(part) if kind == "integer" else _times(part) for part in parts])
        if kind not in ("text", "date"):  # values of Python, which have no common type
            parts = [part.astype(object) for part in parts]
        codes, _ = pd.factorize(pd.concat(parts, ignore_index=True))
        return np.asarray(codes, np.int64)

    @staticmethod
    def joined(
        a: Table, b: Table, columns: Columns, x: Rows, y: Rows, rank: Rows, scores: Any, alone: Any, summary: Any
    ) -> Any:
        import pandas as pd

        left = a.frame[list(columns.left)].take(x).rename(columns=columns.left).reset_index(drop=True)
        right = b.frame[list(columns.right)]
        if alone.any():
            right = right.astype({column: _nullable(right[column].dtype) for column in right})
            right = right.reset_index(drop=True).reindex(y)
        else:
            right = right.take(y)
        right = right.rename(columns=columns.right).reset_index(drop=True)
        added = pd.DataFrame({RANK: rank, SCORE: scores})
        if alone.any():
            added = pd.DataFrame({RANK: pd.array(rank, "Int64"), SCORE: scores})
            added.loc[alone, RANK] = pd.NA
            added.loc[alone, SCORE] = np.nan
        made = pd.concat([left, right, added], axis=1)
        made.attrs = {"thresher_join": summary}
        return made


def _plain(column: Any) -> Any:
    """Return a column of categories of pandas as one of their values."""
    if str(column.dtype) != "category":
        return column
    values = column.cat.categories.to_series(index=range(len(column.cat.categories)))
    return values.astype(_nullable(values.dtype)).reindex(column.cat.codes)


def _nullable(dtype: Any) -> Any:
    """Return the type of pandas that has missing values beside those of one of numpy, if it is of integers or bools."""
    name = str(getattr(dtype, "name", dtype))
    if not isinstance(dtype, np.dtype) or dtype.kind not in "iub":
        return dtype
    return {"b": "boolean", "i": name.capitalize(), "u": name.replace("uint", "UInt")}[dtype.kind]


_Numbers = tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.bool_]]
"""Values that are two integers each, and which are missing."""

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def _integers(column: Any) -> _Numbers:
    """Return a column of integers of pandas as their lowest 64 bits, and 1 for those beyond int64."""
    unsigned = column.dtype.kind == "u"
    bits = column.fillna(0).to_numpy(np.uint64 if unsigned else np.int64).view(np.int64)
    return bits, (unsigned & (bits < 0)).astype(np.int64), column.isna().to_numpy(bool)


def _times(column: Any) -> _Numbers:
    """Return a column of timestamps of pandas, as `_seconds`."""
    own = getattr(column.dtype, "pyarrow_dtype", column.dtype)
    if getattr(own, "tz", None) is not None:
        column = column.dt.tz_convert(None)
    unit = getattr(own, "unit", None) or np.datetime_data(own)[0]
    values = column.to_numpy(f"datetime64[{unit}]")
    return _seconds(values.view(np.int64), unit, np.isnat(values))


def _seconds(values: npt.NDArray[np.int64], unit: str, missing: npt.NDArray[np.bool_]) -> _Numbers:
    """Return times in a unit as seconds, which never overflow, and nanoseconds."""
    per = _PER_SECOND[unit]
    seconds, rest = np.divmod(values, per)
    return seconds, rest * (10**9 // per), missing


def _numbered(parts: list[_Numbers]) -> Rows:
    """Return numbers of the values of some columns: one for equal values, -1 for missing ones."""
    first, second, missing = (np.concatenate(each) for each in zip(*parts, strict=True))
    known = first[~missing]
    first[missing], second[missing] = known[0] if len(known) else 0, 0
    codes = _placed(first)
    if second.any():
        finer, of = np.unique(second, return_inverse=True)
        codes = np.unique(codes * len(finer) + of, return_inverse=True)[1]
    return np.where(missing, -1, codes).astype(np.int64)


def _placed(values: Rows) -> Rows:
    """Return numbers of values: if none is far from the least, how far it is, which needs no sorting; else ranks."""
    least, greatest = (int(values.min()), int(values.max())) if len(values) else (0, 0)
    if greatest - least < 2 * len(values):
        return values - least
    return np.unique(values, return_inverse=True)[1]


class _Polars:
    """Tables of polars."""

    name = "polars"

    @staticmethod
    def names(frame: Any) -> list[str]:
        return list(frame.columns)

    @staticmethod
    def select(frame: Any, names: list[str]) -> Any:
        return frame[names[0]] if len(names) == 1 else frame[names]

    @staticmethod
    def type_of(frame: Any, name: str) -> str | None:
        import polars as pl

        kind = frame.schema[name]
        if kind == pl.Null or frame[name].null_count() == len(frame):
            return None
        if kind.is_integer():
            return "integer"
        if kind in (pl.String, pl.Categorical, pl.Enum):
            return "text"
        if kind == pl.Datetime:
            return "timestamp" if kind.time_zone is None else "timestamp with a zone"
        return {pl.Boolean: "bool", pl.Date: "date"}.get(kind, f"!{kind}")

    @staticmethod
    def codes(a: Any, b: Any, name: str, kind: str) -> Rows:
        import polars as pl

        to = {"text": pl.String, "integer": pl.Int128, "bool": pl.Int64, "date": pl.Date}.get(kind)
        parts = [frame[name] for frame in (a, b)]
        if to is None:  # timestamps, which are since 1970 in UTC
            return _numbered(
                [
                    _seconds(
                        part.to_physical().fill_null(0).to_numpy(), part.dtype.time_unit, part.is_null().to_numpy()
                    )
                    for part in parts
                ]
            )
        codes = pl.concat([part.cast(to) for part in parts]).rank("dense")
        return np.asarray(codes.cast(pl.Int64).fill_null(0).to_numpy() - 1, np.int64)

    @staticmethod
    def joined(
        a: Table, b: Table, columns: Columns, x: Rows, y: Rows, rank: Rows, scores: Any, alone: Any, summary: Any
    ) -> Any:
        import polars as pl

        left = a.frame.select([pl.col(old).alias(new) for old, new in columns.left.items()])[x]
        at = pl.Series(y).set(pl.Series(alone), None) if alone.any() else pl.Series(y)
        right = b.frame.select([pl.col(old).gather(at).alias(new) for old, new in columns.right.items()])
        added = pl.DataFrame({RANK: rank, SCORE: scores})
        if alone.any():
            added = added.with_columns(pl.when(pl.Series(alone)).then(None).otherwise(pl.all()).name.keep())
        return pl.concat([part for part in (left, right, added) if part.width], how="horizontal")


class _Arrow:
    """Tables of pyarrow."""

    name = "pyarrow"

    @staticmethod
    def names(frame: Any) -> list[str]:
        return list(frame.column_names)

    @staticmethod
    def select(frame: Any, names: list[str]) -> Any:
        return frame.column(names[0]) if len(names) == 1 else frame.select(names)

    @staticmethod
    def type_of(frame: Any, name: str) -> str | None:
        import pyarrow.types as t

        column = frame.column(name)
        kind = column.type.value_type if t.is_dictionary(column.type) else column.type
        if t.is_null(kind) or column.null_count == len(column):
            return None
        if t.is_timestamp(kind):
            return "timestamp" if kind.tz is None else "timestamp with a zone"
        tests = (
            ("integer", t.is_integer),
            ("text", t.is_string),
            ("text", t.is_large_string),
            ("text", t.is_string_view),
            ("bool", t.is_boolean),
            ("date", t.is_date),
        )
        return next((called for called, test in tests if test(kind)), f"!{kind}")

    @staticmethod
    def codes(a: Any, b: Any, name: str, kind: str) -> Rows:
        import pyarrow as pa
        import pyarrow.compute as pc

        to = {"text": pa.large_string(), "date": pa.date32(), "bool": pa.bool_()}
        chunks, numbers = [], []
        for frame in (a, b):
            column = frame.column(name)
            if pa.types.is_dictionary(column.type):
                column = column.cast(column.type.value_type)
            if kind == "timestamp" or kind.startswith("timestamp "):  # since 1970 in UTC
                since = column.cast(pa.int64()).fill_null(0).to_numpy()
                numbers.append(_seconds(since, column.type.unit, column.is_null().to_numpy()))
                continue
            if kind == "integer":
                bits = column.fill_null(0).cast(pa.uint64() if column.type == pa.uint64() else pa.int64()).to_numpy()
                beyond = bits.view(np.int64) < 0 if bits.dtype.kind == "u" else np.zeros(len(bits), np.bool_)
                numbers.append((bits.view(np.int64), beyond.astype(np.int64), column.is_null().to_numpy()))
                continue
            chunks += column.cast(to[kind]).chunks
        if numbers:
            return _numbered(numbers)
        codes = pc.dictionary_encode(pa.chunked_array(chunks)).combine_chunks()
        codes = codes.combine_chunks() if isinstance(codes, pa.ChunkedArray) else codes
        return np.asarray(codes.indices.fill_null(-1).to_numpy(zero_copy_only=False), np.int64)

    @staticmethod
    def joined(
        a: Table, b: Table, columns: Columns, x: Rows, y: Rows, rank: Rows, scores: Any, alone: Any, summary: Any
    ) -> Any:
        import pyarrow as pa

        left = a.frame.select(list(columns.left)).take(pa.array(x))
        right = b.frame.select(list(columns.right)).take(pa.array(y, mask=alone))
        arrays = [*left.columns, *right.columns, pa.array(rank, mask=alone), pa.array(scores, mask=alone)]
        made = pa.table(arrays, names=[*columns.left.values(), *columns.right.values(), RANK, SCORE])
        return made.replace_schema_metadata({"thresher_join": json.dumps(summary)})


_Kind = type[_Pandas] | type[_Polars] | type[_Arrow]


class Table:
    """A table, and the columns of its vectors."""

    def __init__(self, frame: Any, kind: _Kind, side: str) -> None:
        self.frame, self.kind, self.side = frame, kind, side
        self.count, self.vectors = len(frame), list[str]()
        self.names = kind.names(frame)
        if odd := [name for name in self.names if not isinstance(name, str)]:
            raise TypeError(f"{side}: a column is called {odd[0]!r}; names of columns are strings")
        if len(set(self.names)) < len(self.names):
            twice = next(name for name in self.names if self.names.count(name) > 1)
            raise ValueError(f"{side}: two columns are called {twice!r}")

    @property
    def called(self) -> str:
        """What errors call the vectors."""
        return f"{self.side}: column {self.vectors[0]!r}" if len(self.vectors) == 1 else f"{self.side}: columns"

    def named(self, given: str | Sequence[str] | None, argument: str, empty: bool = False) -> list[str]:
        """Return columns that an argument names."""
        if given is None:
            raise TypeError(f"{argument}: names the column of the vectors of the {self.side} table, and is not given")
        names = self._matched([given] if isinstance(given, str) else list(given))
        for i, name in enumerate(names):
            if not isinstance(name, str):
                raise TypeError(f"{argument}: {name!r}, expected the name of a column")
            if name not in self.names:
                have = ", ".join(self.names[:20]) + (f", .. ({len(self.names)})" if len(self.names) > 20 else "")
                raise ValueError(f"{argument}: the {self.side} table has no column {name!r}; its columns are {have}")
            if name in names[:i]:
                raise ValueError(f"{argument}: column {name!r} is named twice")
        if not names and not empty:
            raise ValueError(f"{argument}: no column")
        return names

    def _matched(self, names: list[Any]) -> list[Any]:
        """Return names, and in place of patterns such as ``d[0-9]*`` the columns that match, in their order."""
        all_: list[Any] = []
        for name in names:
            pattern = isinstance(name, str) and name not in self.names and any(c in name for c in "*?[")
            found = [own for own in self.names if fnmatch.fnmatchcase(own, name)] if pattern else []
            all_ += found or [name]
        return all_

    def values(self) -> Any:
        """Return the vectors."""
        return self.kind.select(self.frame, self.vectors)

    def type_of(self, name: str) -> str | None:
        """Return the type of a key; None of a column without values, and what begins with ! is none."""
        return self.kind.type_of(self.frame, name)


def table(value: Any, side: str) -> Table:
    module, kind = type(value).__module__.partition(".")[0], type(value).__name__
    if module in ("pandas", "geopandas") and kind in ("DataFrame", "GeoDataFrame"):
        return Table(value, _Pandas, side)
    if module == "polars" and kind == "DataFrame":
        return Table(value, _Polars, side)
    if module == "pyarrow" and kind in ("Table", "RecordBatch"):
        if kind == "RecordBatch":
            import pyarrow as pa

            value = pa.Table.from_batches([value])
        return Table(value, _Arrow, side)
    raise TypeError(
        f"{side}: {type(value).__module__}.{kind}; a DataFrame of pandas or polars, or a Table of pyarrow is expected"
    )
