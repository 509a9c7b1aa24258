"""Tables joined by their vectors, in the packages whose tables these are."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import thresher

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pa = pytest.importorskip("pyarrow")

Make = Callable[[dict[str, list[Any]]], Any]


def of_pandas(columns: dict[str, list[Any]]) -> Any:
    return pd.DataFrame({name: pd.Series(values, dtype=None) for name, values in columns.items()})


def rows_of(table: Any) -> list[dict[str, Any]]:
    """Return the rows as Python has them; missing values as None."""
    if isinstance(table, pd.DataFrame):
        return [{k: None if v is pd.NA or v != v else v for k, v in row.items()} for row in table.to_dict("records")]
    return list(table.to_dicts() if isinstance(table, pl.DataFrame) else table.to_pylist())


MAKERS = pytest.mark.parametrize("make", [of_pandas, pl.DataFrame, pa.table], ids=["pandas", "polars", "pyarrow"])


def drawn(seed: int, n: int, groups: int) -> dict[str, list[Any]]:
    rng = np.random.default_rng(seed)
    return {
        "id": list(range(n)),
        "lang": [None if x < 0.1 else f"l{int(x * groups)}" for x in rng.random(n)],
        "year": rng.integers(2000, 2003, n).tolist(),
        "own": [f"{seed}-{i}" for i in range(n)],
        "v": rng.standard_normal((n, 16)).astype(np.float32).tolist(),
    }


def expected(left: Any, right: Any, keys: list[str], k: int, how: str) -> list[tuple[int, int | None, int | None]]:
    """Return left id, right id and rank of the rows, by inner products in float64."""
    found: list[tuple[int, int | None, int | None]] = []
    for i, v in enumerate(left["v"]):
        key = [left[name][i] for name in keys]
        ids = [j for j in range(len(right["v"])) if None not in key and [right[name][j] for name in keys] == key]
        ids.sort(key=lambda j: (-float(np.dot(np.float64(v), right["v"][j])), j))
        found += [(i, j, rank + 1) for rank, j in enumerate(ids[:k])]
        if not ids and how == "left":
            found.append((i, None, None))
    return found


@MAKERS
@pytest.mark.parametrize("keys", [[], ["lang"], ["lang", "year"]], ids=["none", "one", "two"])
@pytest.mark.parametrize("how", ["inner", "left"])
def test_join(make: Make, keys: list[str], how: Any) -> None:
    left, right = drawn(1, 60, 7), drawn(2, 90, 6)
    made = thresher.join(make(left), make(right), on="v", k=4, metric="ip", by=keys or None, how=how)
    assert type(made) is type(make(left))
    rows = rows_of(made)
    others = [name + "_right" for name in ("id", "lang", "year", "own") if name not in keys]
    assert list(rows[0]) == ["id", "lang", "year", "own", *others, "rank", "score"]
    assert [(r["id"], r["id_right"], r["rank"]) for r in rows] == expected(left, right, keys, 4, how)
    for r in rows:
        assert r["own"] == f"1-{r['id']}"
        if r["id_right"] is None:
            assert r["own_right"] is None and r["score"] is None
        else:
            assert r["own_right"] == f"2-{int(r['id_right'])}"
            exact = np.dot(np.float64(left["v"][r["id"]]), right["v"][int(r["id_right"])])
            assert abs(r["score"] - exact) < 1e-12


@MAKERS
def test_types_of_keys(make: Make) -> None:
    day, other = datetime.datetime(2024, 1, 2), datetime.datetime(2024, 1, 3, 4)
    keys = {"text": ["a", "", "b"], "int": [-1, 2**62, 7], "yes": [True, False, True], "at": [day, other, day]}
    for name, values in keys.items():
        left = make({"n": [0, 1, 2], name: values, "v": [[1.0, 0.0]] * 3})
        right = make({"m": [0, 1, 2], name: [values[1], None, values[0]], "v": [[1.0, 0.5]] * 3})
        if name == "int" and make is of_pandas:
            right[name] = right[name].astype("object").where(right[name].notna(), None)
            right.loc[0, name], right.loc[2, name] = values[1], values[0]
        rows = rows_of(thresher.join(left, right, on="v", metric="ip", by=name))
        want = [(i, m) for i, v in enumerate(values) for m, w in enumerate([values[1], None, values[0]]) if v == w]
        assert [(r["n"], r["m"]) for r in rows] == want, name


def matched(left: Any, right: Any, key: str, how: Any = "inner") -> list[tuple[int, int | None]]:
    """Return the columns n and m of a join of tables with equal vectors by a key."""
    rows = rows_of(thresher.join(left, right, on="v", metric="ip", by=key, how=how))
    return [(r["n"], r["m"]) for r in rows]


def integers_of_pandas(values: list[int], dtype: str) -> Any:
    if dtype == "category":
        return pd.Series(pd.Categorical.from_codes([0, 1, -1], values))
    if dtype in ("object", "Int64", "UInt64") or "pyarrow" in dtype:
        return pd.Series([*values, None], dtype=dtype)
    return pd.Series([*values, 0], dtype=dtype)


@pytest.mark.parametrize("beyond", [2**53, 2**63 - 1], ids=["beyond float64", "beyond int64"])
def test_integers_of_all_types_are_compared_exactly(beyond: int) -> None:
    types = ["int64", "uint64", "Int64", "UInt64", "int64[pyarrow]", "uint64[pyarrow]", "object", "category"]
    if beyond > 2**53:
        types = [name for name in types if "uint" in name.lower() or name in ("object", "category")]
    values = [beyond, beyond + 1]
    frames = {t: pd.DataFrame({"n": [0, 1, 2], "key": integers_of_pandas(values, t), "v": [[1.0]] * 3}) for t in types}
    for x, left in frames.items():
        for y, right in frames.items():
            rows = matched(left, right.rename(columns={"n": "m"}), "key")
            assert [row for row in rows if row[0] < 2] == [(0, 0), (1, 1)], (x, y)
    for x in (pa.int64(), pa.uint64())[beyond > 2**53 :]:
        left = pa.table({"n": [0, 1], "key": pa.array(values, x), "v": [[1.0]] * 2})
        right = pa.table({"m": [0, 1], "key": pa.array(values, pa.uint64()), "v": [[1.0]] * 2})
        for make in (pl.from_arrow, lambda table: table):
            assert matched(make(left), make(right), "key") == [(0, 0), (1, 1)], x


@pytest.mark.parametrize("far", [0, 10**6, 2**62])
def test_integers_near_and_far_with_nulls(far: int) -> None:
    """Keys that lie close together are numbered by their distance, others by rank; a missing value equals none."""
    left = {"key": [5, None, far, 7, None, 9], "v": [[1.0]] * 6}
    right = {"key": [far, 9, None, 5, 6], "n": range(5), "v": [[1.0]] * 5}
    types = {"key": pa.int64()}
    tables = [pa.table({k: pa.array(x, types.get(k)) for k, x in side.items()}) for side in (left, right)]
    frames = [table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get) for table in tables]
    for a, b in (tables, frames, [pl.from_arrow(table) for table in tables]):
        made = thresher.join(a, b, on="v", metric="ip", by="key")
        assert [(int(row["key"]), int(row["n"])) for row in rows_of(made)] == [(5, 3), (far, 0), (9, 1)]


def test_rows_of_several_types_in_a_column() -> None:
    """Arrays of one type and length are joined at once; others are converted, or refused by row."""
    right = pd.DataFrame({"n": [0], "v": [np.array([1.0, 1.0])]})
    wide, narrow = np.array([1.0, 2.0]), np.array([3, 4], np.float32)
    for rows in ([wide, narrow], [narrow, wide], [narrow, [3.0, 4.0]], [narrow, narrow.astype(">f4")]):
        made = thresher.join(pd.DataFrame({"v": pd.Series(rows, dtype=object)}), right, on="v", metric="ip")
        assert list(made["score"]) == [sum(row) for row in rows]
    for odd in (np.array([1.0]), np.array(1.0), np.array([[1.0, 2.0]])):
        with pytest.raises((TypeError, ValueError), match="row 1"):
            thresher.join(pd.DataFrame({"v": pd.Series([wide, odd], dtype=object)}), right, on="v", metric="ip")


def test_integers_of_different_signs_are_different() -> None:
    left = pd.DataFrame({"n": [0, 1], "key": np.array([-1, 5], np.int64), "v": [[1.0]] * 2})
    right = pd.DataFrame({"m": [0, 1], "key": np.array([2**64 - 1, 5], np.uint64), "v": [[1.0]] * 2})
    assert matched(left, right, "key") == [(1, 1)]


def test_categories_of_pandas_with_missing_values() -> None:
    day = pd.Timestamp(2024, 1, 2)
    for values in ([2**53 + 1, 3], [True, False], ["a", "b"], [day, pd.Timestamp(2024, 1, 3)]):
        left = pd.DataFrame({"n": [0, 1, 2], "key": pd.Categorical.from_codes([1, -1, 0], values), "v": [[1.0]] * 3})
        right = pd.DataFrame({"m": [0, 1, 2], "key": pd.Series(values[::-1] * 2)[:3], "v": [[1.0]] * 3})
        assert matched(left, right, "key") == [(0, 0), (0, 2), (2, 1)], values
        assert matched(left, left.rename(columns={"n": "m"}), "key") == [(0, 0), (2, 2)], values


UNITS = ["s", "ms", "us", "ns"]


@pytest.mark.parametrize("package", ["pandas", "pandas of arrow", "polars", "pyarrow"])
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_times_beyond_the_range_of_nanoseconds(package: str, zone: str | None) -> None:
    """9999-12-31 as an open end, in one table or both, in any units, and what nanoseconds tell apart."""
    near = np.datetime64("2024-01-02T03:04:05", "ns")
    for x in UNITS:
        for y in UNITS:
            tables = []
            for unit, name in ((x, "n"), (y, "m")):
                far = "9999-12-31" if unit != "ns" else "2262-01-01"
                at = np.array([far, near, "NaT", "1969-12-31T23:59:59"], f"datetime64[{unit}]")
                arrow = pa.array(at).cast(pa.timestamp(unit, zone))
                if package == "polars" and unit == "s":  # which it has not
                    arrow = arrow.cast(pa.timestamp("ms", zone))
                table = pa.table({name: [0, 1, 2, 3], "at": arrow, "v": [[1.0]] * 4})
                if package.startswith("pandas"):
                    table = table.to_pandas()
                    if package == "pandas of arrow":
                        table["at"] = pd.array(arrow, pd.ArrowDtype(arrow.type))
                tables.append(pl.from_arrow(table) if package == "polars" else table)
            far_too = [(0, 0)] if (x == "ns") == (y == "ns") else []
            assert matched(*tables, "at") == [*far_too, (1, 1), (3, 3)], (x, y)
    fine = pa.table({"n": [0, 1], "at": pa.array([1, 2], pa.timestamp("ns", zone)), "v": [[1.0]] * 2})
    whole = pa.table({"m": [0, 1], "at": pa.array([0, 1], pa.timestamp("us", zone)), "v": [[1.0]] * 2})
    make = {"polars": pl.from_arrow, "pyarrow": lambda table: table}.get(package, lambda table: table.to_pandas())
    assert matched(make(fine), make(fine.rename_columns(["m", "at", "v"])), "at") == [(0, 0), (1, 1)]
    assert matched(make(fine), make(whole), "at") == []


def test_objects_of_datetime_and_their_arrays() -> None:
    far, near = datetime.datetime(9999, 12, 31), datetime.datetime(2024, 1, 2)
    objects = pd.DataFrame({"n": [0, 1, 2], "at": pd.Series([far, near, None], dtype=object), "v": [[1.0]] * 3})
    arrays = pd.DataFrame({"m": [0, 1], "at": pd.Series([near, near]).astype("datetime64[ns]"), "v": [[1.0]] * 2})
    assert matched(objects, arrays, "at") == [(1, 0), (1, 1)]
    assert matched(objects, objects.rename(columns={"n": "m"}), "at") == [(0, 0), (1, 1)]


def test_what_a_package_refuses_names_the_column() -> None:
    left = pa.table({"n": [0], "day": pa.array([86_400_001], pa.date64()), "v": [[1.0]]})
    right = pa.table({"m": [0], "day": pa.array([1], pa.date32()), "v": [[1.0]]})
    with pytest.raises(ValueError, match="by: values of column 'day' cannot be compared as date: "):
        thresher.join(left, right, on="v", metric="ip", by="day")


def test_types_of_pandas_stay_where_rows_are_alone() -> None:
    big = 2**53 + 1
    left = pd.DataFrame({"n": [0, 1], "key": ["a", "b"], "v": [[1.0]] * 2})
    right = pd.DataFrame({"big": [big], "small": np.array([7], np.uint8), "yes": [True], "x": [0.5], "key": ["b"]})
    made = thresher.join(left, right.assign(v=[[1.0]]), on="v", metric="ip", by="key", how="left")
    assert made.dtypes[["big", "small", "yes", "x", "rank"]].astype(str).tolist() == [
        "Int64",
        "UInt8",
        "boolean",
        "float64",
        "Int64",
    ]
    assert rows_of(made[["big", "small", "yes", "x"]]) == [
        {"big": None, "small": None, "yes": None, "x": None},
        {"big": big, "small": 7, "yes": True, "x": 0.5},
    ]
    inner = thresher.join(left, right.assign(v=[[1.0]]), on="v", metric="ip", by="key")
    assert inner.dtypes[["big", "yes"]].astype(str).tolist() == ["int64", "bool"]


@MAKERS
def test_an_error_names_the_row_of_the_table(make: Make) -> None:
    left = make({"key": [1], "v": [[1.0, 2.0]]})
    right = make({"key": [3, 1, 2], "v": [[1.0, 2.0], [3.0, 4.0], [float("nan"), 1.0]]})  # by key it is row 1
    with pytest.raises(ValueError, match=r"right: column 'v'.*row 2"):
        thresher.join(left, right, on="v", metric="ip", by="key")


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.uint8, np.float64])
def test_arrays_in_columns_of_pandas(kind: type) -> None:
    """Whose rows are put together in shared memory if their type is taken as it is."""
    rng = np.random.default_rng(3)
    x, y = (rng.integers(0, 50, (n, 5)).astype(kind) for n in (40, 60))
    a, b = rng.integers(0, 7, 40), rng.integers(0, 7, 60)
    left = pd.DataFrame({"n": np.arange(40), "key": a, "v": list(x)})
    right = pd.DataFrame({"m": np.arange(60), "key": b, "v": list(y)})
    made = thresher.join(left, right, on="v", k=3, metric="ip", by="key")
    want = []
    for j in range(40):
        rows = np.flatnonzero(b == a[j])
        scores = y[rows].astype(float) @ x[j].astype(float)
        want += [(j, m) for m in rows[np.lexsort((rows, -scores))[:3]]]
    assert list(zip(made["n"], made["m"], strict=True)) == want
    right.loc[7, "v"] = np.zeros(5, np.int16)  # another type than the others
    assert len(thresher.join(left, right, on="v", k=3, metric="ip", by="key")) == len(want)


@MAKERS
def test_coordinates_in_columns_by_a_pattern(make: Make) -> None:
    left = make({"n": [0, 1], "d0": [1.0, 0.0], "d1": [0.0, 1.0]})
    right = make({"d1": [1.0, 0.0], "m": [7, 8], "d0": [0.0, 1.0]})  # of each table in its own order, as by name
    made = thresher.join(left, right, left_on="d[0-9]*", right_on=["d0", "d1"], k=1, metric="ip")
    assert [(row["n"], row["m"]) for row in rows_of(made)] == [(0, 8), (1, 7)]
    with pytest.raises(ValueError, match="on: the left table has no column 'e\\*'"):
        thresher.join(left, right, on="e*", metric="ip")


def test_a_key_of_integers_with_missing_values() -> None:
    left = pd.DataFrame({"key": [1, None, 2], "v": [[1.0]] * 3})
    right = pd.DataFrame({"key": [1, 2], "v": [[1.0]] * 2})
    says = r"by: column 'key' is float64, as pandas holds integers of which some are missing .*astype\('Int64'\)"
    with pytest.raises(TypeError, match=says):
        thresher.join(left, right, on="v", metric="ip", by="key")
    made = thresher.join(left.assign(key=left["key"].astype("Int64")), right, on="v", metric="ip", by="key")
    assert made["key"].tolist() == [1, 2]


@MAKERS
def test_refusals(make: Make) -> None:
    left = make({"lang": ["a"], "n": [1], "x": [0.5], "v": [[1.0, 2.0]]})
    right = make({"lang": ["a"], "n": ["1"], "x": [0.5], "v": [[1.0, 2.0]]})
    for says, arguments in {
        "by: column 'n' is integer in the left table and text in the right": {"by": "n"},
        "by: column 'x' is ": {"by": "x"},
        "by: the left table has no column 'z'; its columns are lang, n, x, v": {"by": "z"},
        "by: column 'lang' is named twice": {"by": ["lang", "lang"]},
        "on: the left table has no column 'w'": {"on": "w"},
        "how: 'outer' is neither": {"how": "outer"},
        "min_distance: the metric is 'ip'": {"min_distance": 1},
        "method": {"method": "boundedme"},
        "metric: none is given": {"metric": None},
        "k: 0, at least 1": {"k": 0},
    }.items():
        with pytest.raises((ValueError, TypeError), match=re.escape(says)):
            thresher.join(left, right, **{"on": "v", "metric": "ip", **arguments})
    with pytest.raises(TypeError, match="left_on: names the column"):
        thresher.join(left, right, metric="ip")
    with pytest.raises(ValueError, match="on: left_on or right_on is given, too"):
        thresher.join(left, right, on="v", left_on="v", metric="ip")
    bad = make({"lang": ["a", "a"], "v": [[1.0, 2.0], [float("nan"), 1.0]]})
    with pytest.raises(ValueError, match=r"left: column 'v'.*row 1"):
        thresher.join(bad, right, on="v", metric="ip", by="lang")
    with pytest.raises(ValueError, match=r"right: column 'v'.*row 1"):
        thresher.join(right, bad, on="v", metric="ip", by="lang")
    with pytest.raises(ValueError, match=r"left: column 'v'.*3 values"):
        thresher.join(make({"v": [[1.0, 2.0, 3.0]]}), right, on="v", metric="ip")


def test_other_tables_are_refused() -> None:
    frame = of_pandas({"v": [[1.0]]})
    with pytest.raises(TypeError, match=r"left: numpy\.ndarray; a DataFrame"):
        thresher.join(np.ones((1, 1)), frame, on="v", metric="ip")
    with pytest.raises(TypeError, match="right: a table of polars, and left is one of pandas"):
        thresher.join(frame, pl.DataFrame({"v": [[1.0]]}), on="v", metric="ip")


@MAKERS
def test_names_that_clash(make: Make) -> None:
    left = make({"rank": [1], "score": [2.0], "a": [3], "v": [[1.0]]})
    right = make({"score": [4.0], "a": [5], "b": [6], "w": [[1.0]]})
    made = thresher.join(left, right, left_on="v", right_on="w", metric="ip")
    assert rows_of(made) == [
        {"rank_left": 1, "score_left": 2.0, "a": 3, "score_right": 4.0, "a_right": 5, "b": 6, "rank": 1, "score": 1.0}
    ]
    with pytest.raises(ValueError, match="two columns of the result are called 'a_right'"):
        thresher.join(make({"a": [1], "a_right": [2], "v": [[1.0]]}), right, left_on="v", right_on="w", metric="ip")
    with pytest.raises(ValueError, match="two columns of the result are called 'rank_left'"):
        thresher.join(
            make({"rank_left": [1], "rank": [2], "v": [[1.0]]}), right, left_on="v", right_on="w", metric="ip"
        )


def summary_of(table: Any) -> dict[str, Any]:
    if isinstance(table, pd.DataFrame):
        return dict(table.attrs["thresher_join"])
    return dict(json.loads(table.schema.metadata[b"thresher_join"]))


@MAKERS
def test_empty_tables(make: Make) -> None:
    full, none = make({"n": [1], "v": [[1.0]]}), make({"n": [1], "v": [[1.0]]})[:0]
    if make is pa.table:
        none = full.slice(0, 0)
    assert len(thresher.join(none, full, on="v", metric="ip")) == 0
    assert len(thresher.join(full, none, on="v", metric="ip")) == 0
    assert rows_of(thresher.join(full, none, on="v", metric="ip", how="left")) == [
        {"n": 1, "n_right": None, "rank": None, "score": None}
    ]
    if make is pl.DataFrame:  # which has no place for what is guaranteed
        return
    other = make({"n": [1], "m": [2], "v": [[1.0]]})
    alone = make({"n": [2], "m": [3], "v": [[1.0]]})
    want = summary_of(thresher.join(other, alone, on="v", metric="ip", by="n", k=3, delta=0.1))
    for x, y, rows in ((none, full, 0), (full, none, 1), (none, none, 0)):
        says = summary_of(thresher.join(x, y, on="v", metric="ip", by="n", k=3, delta=0.1))
        assert set(says) == set(want)
        own = {"rows": rows, "groups": 0, "search_seconds": 0}
        assert says == {**want, **own}


def test_groups_are_keys_of_both() -> None:
    """The same numbers as by the command, in TestJoinGroups."""
    left = pa.table({"key": ["a", "b", "b", None, "x"], "v": [[1.0]] * 5})
    right = pa.table({"key": ["b", "c", "c", "d", "a", None], "v": [[2.0]] * 6})
    for rows, want in ((5, 2), (3, 2), (1, 1), (0, 0)):
        says = summary_of(thresher.join(left[:rows], right, on="v", metric="ip", by="key"))
        assert says["groups"] == want
    says = summary_of(thresher.join(left[3:], right, on="v", metric="ip", by="key"))
    assert (says["groups"], says["pairs"]) == (0, 0)


def test_limits_and_promises() -> None:
    left = pa.table({"n": [0, 1], "x": [0.0, 3.0], "y": [0.0, 4.0]})
    right = pa.table({"m": [0, 1, 2], "x": [0.0, 3.0, 6.0], "y": [1.0, 4.0, 8.0]})
    near = thresher.join(left, right, on=["x", "y"], metric="l2", max_distance=25)
    assert near.select(["n", "m", "rank", "score"]).to_pylist() == [
        {"n": 0, "m": 0, "rank": 1, "score": 1.0},
        {"n": 0, "m": 1, "rank": 2, "score": 25.0},
        {"n": 1, "m": 1, "rank": 1, "score": 0.0},
        {"n": 1, "m": 0, "rank": 2, "score": 18.0},
        {"n": 1, "m": 2, "rank": 3, "score": 25.0},
    ]
    says = json.loads(near.schema.metadata[b"thresher_join"])
    assert (says["rows"], says["matched"], says["pairs"], says["guarantee"]) == (2, 2, 5, "exact")
    assert says["promise"] == "exact: none wrong"
    hard = thresher.join(left, right, on=["x", "y"], metric="l2", k=1, min_distance=2)
    assert hard.column("score").to_pylist() == [25.0, 18.0]


def test_float64_with_an_offset() -> None:
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((300, 8)) + 1e6
    frame = pd.DataFrame({"n": range(300), "v": list(rows)})
    made = thresher.join(frame[:50], frame, on="v", metric="l2", k=1)
    assert made["n_right"].tolist() == list(range(50))
    assert made.attrs["thresher_join"]["rounded"] > 0


def test_calls_report_and_end() -> None:
    frame = pl.DataFrame({"n": range(50), "v": np.random.default_rng(1).standard_normal((50, 4))})
    steps: list[tuple[str, int, int]] = []
    thresher.join(frame, frame, on="v", metric="cosine", k=1, progress=lambda *step: steps.append(step))
    assert ("joining", 50, 50) in steps


def test_tables_of_duckdb() -> None:
    """The lines of docs/join.md; the same rows as by DuckDB's own join."""
    duckdb = pytest.importorskip("duckdb")
    con = duckdb.connect()
    con.sql("select setseed(0.5)")
    for name, n in (("users", 40), ("items", 60)):
        con.sql(
            f"create table {name} as select i::int as id, (i % 3)::varchar as country, "
            f"[random(), random(), random(), random()]::float[4] as embedding from range({n}) t(i)"
        )
    left, right = (con.sql(f"from {name}").to_arrow_table() for name in ("users", "items"))
    joined = thresher.join(left, right, on="embedding", k=10, metric="cosine", by="country")
    assert len(joined) == 400  # and DuckDB finds it by its name
    con.sql("create table joined as from joined")
    theirs = con.sql(
        "select u.id, i.id, i.rank from users u, lateral (select i.id, row_number() over (order by "
        "array_cosine_similarity(u.embedding, i.embedding) desc, i.id) as rank from items i "
        "where i.country = u.country qualify rank <= 10) i order by u.id, i.rank"
    ).fetchall()
    assert len(theirs) == 400
    assert con.sql("select id, id_right, rank from joined order by id, rank").fetchall() == theirs


@pytest.mark.parametrize("name", ["min_score", "max_score"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_limits_are_finite(name: str, value: float) -> None:
    table = pd.DataFrame({"v": [[1.0], [2.0]]})
    with pytest.raises(ValueError, match=f"{name}: .* is not finite"):
        thresher.join(table, table, on="v", metric="ip", **{name: value})
    with pytest.raises(ValueError, match="max_distance: nan is not finite"):
        thresher.join(table, table, on="v", metric="l2", max_distance=np.nan)
