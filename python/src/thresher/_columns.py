"""Names of the columns of data frames: they are compared before they are dropped."""

from __future__ import annotations

import re
from typing import Any, TypeAlias

from thresher._forms import ambiguous

__all__ = ["Names", "by_name", "names_of"]

Names: TypeAlias = tuple[str, ...] | None
"""The names of the columns of rows, None where they have none."""

_DIGITS = re.compile(r"\d+")
_OTHER_USE = re.compile(r"(.*[_ ])?(id|ids|uuid|key|index|label|labels|class|target)|unnamed: 0", re.IGNORECASE)


def names_of(value: Any, name: str) -> Names:
    """Return the names of the columns of a data frame of pandas or polars, or a table of pyarrow; else None.

    Counted columns, as both packages call those that nobody has named, are called by their
    numbers. Columns that look as if they were no part of the vector are refused, and so are columns
    beside one of lists.
    """
    labels = _labels(value)
    if labels is None or len(labels) < 2:
        return None
    if labels == tuple(f"column_{i}" for i in range(len(labels))):
        return tuple(map(str, range(len(labels))))
    if len(set(labels)) < len(labels):
        label = next(label for label in labels if labels.count(label) > 1)
        raise ValueError(f"{name}: {labels.count(label)} columns are called {label!r}; give each a name of its own")
    lists = [label for i, label in enumerate(labels) if _holds_lists(value, i)]
    if lists:
        which = f"{lists[0]!r} holds" if len(lists) == 1 else f"{lists[0]!r} and {lists[1]!r} hold"
        raise ValueError(
            f"{name}: a table of {len(labels)} columns, of which {which} a list in each row; give that of the vectors "
            f"alone, such as frame[{lists[0]!r}], and ids and columns to filter by as arguments of their own"
        )
    _refuse_mixture(labels, name)
    return labels


def _labels(value: Any) -> Names:
    module, kind = type(value).__module__.partition(".")[0], type(value).__name__
    if module == "pyarrow" and kind in ("Table", "RecordBatch"):
        return tuple(value.schema.names)
    if module not in ("pandas", "polars", "geopandas") or kind != "DataFrame":
        return None
    return tuple(str(label) for label in value.columns)


def _holds_lists(value: Any, i: int) -> bool:
    """Report whether column i of a frame or table has a list or an array in each row."""
    module = type(value).__module__.partition(".")[0]
    if module == "pyarrow":
        return "list<" in str(value.schema.types[i]) or "list_view<" in str(value.schema.types[i])
    if module == "polars":
        return str(value.dtypes[i]).startswith(("List(", "Array("))
    column = value.iloc[:, i]
    if column.dtype != object:
        return "list<" in str(column.dtype)
    first = next((row for row in column if row is not None), None)
    return isinstance(first, (list, tuple)) or getattr(first, "ndim", 0) == 1


def _refuse_mixture(labels: tuple[str, ...], name: str) -> None:
    """Refuse a column that is called like an id or a label, or that stands beside numbered ones."""
    families = [_DIGITS.sub("#", label) for label in labels]
    family = max((f for f in families if "#" in f), key=families.count, default="")
    if families.count(family) < 2:
        odd = [label for label in labels if _OTHER_USE.fullmatch(label)]
    else:
        odd = [label for label, f in zip(labels, families, strict=True) if f != family]
    if odd:
        beside = next(label for label in labels if label not in odd) if len(odd) < len(labels) else odd[0]
        raise ambiguous(
            "columns beside the vector", name, f"column {odd[0]!r} beside {beside!r} ({len(labels)} columns in all)"
        )


def by_name(value: Any, name: str, columns: Names) -> Any:
    """Return a data frame with its columns in the order of columns, those of the vectors.

    Anything else, and a frame whose columns or those of the vectors are only counted, is returned
    as it is: it is read by place.
    """
    own = names_of(value, name)
    if own is None or columns is None or own == columns:
        return value
    if set(own) == set(columns):
        at = {label: i for i, label in enumerate(own)}
        order = [at[label] for label in columns]
        if type(value).__module__.startswith("pyarrow"):
            return value.select(order)
        return value[:, order] if type(value).__module__.startswith("polars") else value.iloc[:, order]
    if len(own) != len(columns) or _counted(own) or _counted(columns):
        return value  # by place, or refused for its width
    missing = next(label for label in columns if label not in own)
    other = next(label for label in own if label not in columns)
    raise ambiguous(
        "columns of other names",
        name,
        f"a frame with column {other!r} and without {missing!r} of the vectors",
    )


def _counted(names: tuple[str, ...]) -> bool:
    """Report whether names count from 0 or 1."""
    return names in (tuple(map(str, range(len(names)))), tuple(map(str, range(1, len(names) + 1))))
