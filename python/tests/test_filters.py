"""Columns of vectors, and filters over them."""

from __future__ import annotations

import datetime
import pickle
from pathlib import Path

import numpy as np
import pytest

import thresher
from thresher import _worker

VECTORS = np.array([[1, 0], [2, 0], [9, 0], [7, 0], [3, 0]], np.float32)
COLUMNS = {
    "year": [1999, 2005, None, 1998, 2001],
    "lang": ["go", "rust", "go", "go", "it's"],
    "draft": [False, True, False, False, None],
    "score": np.array([0.1, 0.2, np.nan, 0.4, 0.5], np.float32),
    "at": [datetime.date(2024, 5, d) for d in range(1, 6)],
    "tags": [["a"], [], None, ["a", "b"], ["b"]],
}
FOUND = {
    "year >= 1999": [4, 1, 0],
    "lang = 'go' and not draft": [2, 3, 0],
    "year is null or lang = 'it''s'": [2, 4],
    "score = 0.1 or score is null": [2, 0],
    "at between '2024-05-02' and '2024-05-03'": [2, 1],
    "tags has ('a', 'b')": [3, 4, 0],
}
QDRANT = {"must": [{"key": "year", "range": {"gte": 1999}}], "must_not": [{"key": "lang", "match": {"value": "rust"}}]}


def found(index: thresher.Index, filter: object) -> list[object]:
    ids = index.search([1, 0], k=5, filter=filter).ids[0]  # type: ignore[arg-type]
    return [i for i in ids.tolist() if i not in (-1, "")]


@pytest.fixture
def index() -> thresher.Index:
    return thresher.Index(VECTORS, columns=COLUMNS, metric="ip")


def test_expressions(index: thresher.Index) -> None:
    assert index.columns == {
        "year": "int64",
        "lang": "text",
        "draft": "bool",
        "score": "float64",
        "at": "timestamp",
        "tags": "list of texts",
    }
    for filter, want in FOUND.items():
        assert found(index, filter) == want, filter
    assert found(index, QDRANT) == [4, 0]
    assert index.range_search([1, 0], 2.5, filter="year > 0").ids.tolist() == [3, 4]
    answers = index.search([1, 0], k=2, filter="year >= 1999")
    assert thresher.verify(answers, index, [1, 0], filter="year >= 1999")
    assert not thresher.verify(answers, index, [1, 0], filter="lang = 'go'")


def test_saved_and_opened(index: thresher.Index, tmp_path: Path) -> None:
    path = tmp_path / "a.thresher"
    index.save(path)
    with thresher.Index.open(path) as opened:
        assert opened.columns == index.columns
        for filter, want in FOUND.items():
            assert found(opened, filter) == want, filter
    with thresher.Index.open(path, columns="year") as opened, pytest.raises(ValueError, match="the columns are year"):
        found(opened, "lang = 'go'")
    with pytest.raises(FileExistsError, match=r"a\.thresher"):
        index.save(path)
    with pytest.raises(ValueError, match='there is no column "yeer"'):
        thresher.Index.open(path, columns=["yeer"])
    (tmp_path / "a.thresher.columns").write_bytes(b"THRCOLUM")
    with pytest.raises((OSError, ValueError), match=r"a\.thresher\.columns"):
        thresher.Index.open(path)
    thresher.Index(VECTORS, metric="ip").save(path, overwrite=True)
    assert not (tmp_path / "a.thresher.columns").exists()


def test_files(tmp_path: Path) -> None:
    for year in (1999, 2005):
        (tmp_path / f"year={year}").mkdir()
        (tmp_path / f"year={year}" / "a.jsonl").write_text(f'{{"v":[1,{year}],"lang":"go"}}\n')
    with thresher.Index.open(tmp_path, metric="ip", columns="all") as index:
        assert index.columns == {"lang": "text", "year": "int64"}
        assert found(index, "year > 2000 and lang = 'go'") == [1]
    with pytest.raises(OSError, match="yeer"):
        thresher.Index.open(tmp_path, metric="ip", columns="yeer")


def test_changes(index: thresher.Index, tmp_path: Path) -> None:
    path = tmp_path / "a.thresher"
    index.save(path)
    for changed in (index, thresher.Index.open(path), pickle.loads(pickle.dumps(index))):
        with changed:
            changed.remove([0, 2])
            changed.add([[5, 0], [6, 0]], columns={"year": [2010, None], "lang": ["go", "c"]})
            changed.add([[4, 0]])
            assert found(changed, "year is null") == [4, 5]
            assert found(changed, "year > 2000") == [3, 2, 0]
            with pytest.raises(ValueError, match='no column "colour"'):
                changed.add([[1, 1]], columns={"colour": ["red"]})
            with pytest.raises(ValueError, match='column "year"'):
                changed.add([[1, 1]], columns={"year": ["red"]})
            assert len(changed) == 6


def test_after_the_worker_died(index: thresher.Index) -> None:
    import os
    import signal

    os.kill(_worker.get().hello["pid"], signal.SIGKILL)
    assert found(index, "year >= 1999") == [4, 1, 0]


def test_tables() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"year": [1999, 2005, None, 1998, 2001], "at": pandas.date_range("2024-05-01", periods=5)})
    with thresher.Index(VECTORS, columns=frame, metric="ip") as index:
        assert found(index, "year >= 1999 and at < '2024-05-03'") == [1, 0]
        assert found(index, frame.year >= 1999) == [4, 1, 0]
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({"year": [1999, 2005, None, 1998, 2001], "lang": ["a", "b", "c", "d", "e"]})
    with thresher.Index(VECTORS, columns=table, metric="ip") as index:
        assert found(index, "year >= 1999 and lang != 'e'") == [1, 0]
        assert found(index, table["lang"] != "c") == [3, 4, 1, 0]
        with pytest.raises(TypeError, match="to_series"):
            found(index, polars.col("year") > 3)
    arrow = pytest.importorskip("pyarrow")
    with thresher.Index(VECTORS, columns=arrow.table(table.to_dict(as_series=False)), metric="ip") as index:
        assert found(index, "year is null") == [2]


def test_lists_of_tables(tmp_path: Path) -> None:
    """Lists of texts are arrays in columns of pandas, as it reads them from Parquet."""
    pandas, arrow, parquet = (pytest.importorskip(name) for name in ("pandas", "pyarrow", "pyarrow.parquet"))
    parquet.write_table(arrow.table({"tags": COLUMNS["tags"]}), tmp_path / "a.parquet")
    frame = pandas.read_parquet(tmp_path / "a.parquet")
    assert isinstance(frame.tags[3], np.ndarray)
    for table in (frame, {"tags": [np.array(t or [], str) for t in COLUMNS["tags"]]}):  # type: ignore[attr-defined]
        with thresher.Index(VECTORS, columns=table, metric="ip") as index:
            assert index.columns == {"tags": "list of texts"}
            assert found(index, "tags has ('a', 'b')") == [3, 4, 0]
    for one in (np.array([1, 2]), [1, 2], np.array(["a", 1], object)):
        with pytest.raises(TypeError, match=f"'tags', row 1: {type(one).__name__}"):
            thresher.Index(VECTORS[:2], columns={"tags": [["a"], one]}, metric="ip")


FLOATS = [0.1, None, 0.3, float("nan"), 16777216.0]


def float32_columns() -> list[object]:
    arrow, pandas, polars = (pytest.importorskip(name) for name in ("pyarrow", "pandas", "polars"))
    filled = np.array([np.nan if v is None else v for v in FLOATS], np.float32)
    return [
        filled,
        filled.astype(">f4"),
        list(filled),
        [None if v is None else np.float32(v) for v in FLOATS],
        pandas.Series(filled),
        pandas.Series(FLOATS, dtype="Float32"),
        pandas.Series(FLOATS, dtype=pandas.ArrowDtype(arrow.float32())),
        pandas.Series(list(filled), dtype=object),
        polars.Series(FLOATS, dtype=polars.Float32),
        arrow.array(FLOATS, arrow.float32()),
        arrow.chunked_array([arrow.array(FLOATS, arrow.float32())]),
    ]


def test_float32() -> None:
    """A value is the shortest number that stands for it, whoever holds the column."""
    for column in float32_columns():
        with thresher.Index(VECTORS, columns={"score": column}, metric="ip") as index:
            what = f"{type(column)} {getattr(column, 'dtype', '')}"
            assert index.columns == {"score": "float64"}, what
            assert found(index, "score = 0.1") == [0], what
            assert found(index, "score = 0.3 or score = 16777216") == [2, 4], what
            assert found(index, "score is null") == [3, 1], what
    for inf in (np.array([1, np.inf], np.float32), [1.0, np.float32(np.inf)]):
        with pytest.raises(ValueError, match="'score', row 1: inf"):
            thresher.Index(VECTORS[:2], columns={"score": inf}, metric="ip")
    with pytest.raises(TypeError, match="'score', row 0: list"):
        thresher.Index(VECTORS[:2], columns={"score": np.ones((2, 2), np.float32)}, metric="ip")


def test_missing_of_pandas() -> None:
    pandas = pytest.importorskip("pandas")
    for dtype in ("Int64", "Float64", object):
        column = pandas.Series([1, 2, pandas.NA, 4, 5], dtype=dtype)
        with thresher.Index(VECTORS, columns={"year": column}, metric="ip") as index:
            assert found(index, "year is null") == [2]
            assert found(index, "year > 1") == [3, 4, 1]


NANOSECONDS = ["1969-12-31T23:59:59.999999999", "2024-05-01T00:00:00.000001999", "NaT", "2024-05-02", "2024-05-03"]


def nanosecond_columns() -> list[object]:
    pandas, arrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    array = np.array(NANOSECONDS, "datetime64[ns]")
    return [
        array,
        list(array),
        pandas.Series(array),
        pandas.Series(array).dt.tz_localize("UTC").dt.tz_convert("Europe/Paris"),
        pandas.DatetimeIndex(array),
        pandas.Series(array, dtype=pandas.ArrowDtype(arrow.timestamp("ns"))),
        [pandas.Timestamp(t) for t in array],
        arrow.array(array),
    ]


def test_nanoseconds() -> None:
    """Columns of times have microseconds, and what is finer is cut off."""
    for column in nanosecond_columns():
        with thresher.Index(VECTORS, columns={"at": column}, metric="ip") as index:
            what = f"{type(column)} {getattr(column, 'dtype', '')}"
            assert index.columns == {"at": "timestamp"}, what
            assert found(index, "at = '1969-12-31T23:59:59.999999Z'") == [0], what
            assert found(index, "at = '2024-05-01T00:00:00.000001Z'") == [1], what
            assert found(index, "at is null") == [2], what
    pandas = pytest.importorskip("pandas")
    twice = pandas.date_range("2024-10-27T00:30:00.000000001Z", periods=5, freq="30min").tz_convert("Europe/Paris")
    with thresher.Index(VECTORS, columns={"at": twice}, metric="ip") as index:  # 02:30, which there is twice
        assert found(index, "at = '2024-10-27T00:30:00Z' or at = '2024-10-27T01:30:00Z'") == [2, 0]


@pytest.mark.parametrize(
    ("columns", "filter", "error", "message"),
    [
        ({"year": [1, 2]}, "", ValueError, "columns: 2 rows for 5 vectors"),
        ({"year": [1, "a", 2, 3, 4]}, "", ValueError, r'columns.year\[1\]: column "year": a text'),
        ({"year": [1, {}, 2, 3, 4]}, "", TypeError, "'year', row 1: dict"),
        ({"year": [1.0, np.inf, 2, 3, 4]}, "", ValueError, "'year', row 1: inf"),
        ({"a": [1] * 5, "b": [1]}, "", ValueError, 'column "b" has 1 rows, "a" has 5'),
        ({1: [1]}, "", TypeError, "names of columns are strings"),
        ({}, "", ValueError, "columns: no column"),
        ([1, 2], "", TypeError, "columns: list, expected a mapping"),
        (None, "year > 3", ValueError, "the vectors have no columns"),
        (COLUMNS, "year > 'a'", ValueError, 'character 8: column "year" is int64'),
        (COLUMNS, "year >", ValueError, "the expression ends"),
        (COLUMNS, "year > 3000", ValueError, "no vector is allowed"),
        (COLUMNS, {"must": [{"key": "year", "range": {"gte": "x"}}]}, ValueError, r"filter.must\[0\].range.gte"),
        (COLUMNS, {"must": [{"has_id": [1]}]}, ValueError, "has_id"),
    ],
)
def test_refused(columns: object, filter: object, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        index = thresher.Index(VECTORS, columns=columns, metric="ip")
        found(index, filter)


def test_empty() -> None:
    with thresher.Index(np.empty((0, 2), np.float32), metric="ip") as index:
        assert found(index, "year > 3") == []
    with thresher.Index(np.empty((0, 2), np.float32), columns={"year": []}, metric="ip") as index:
        index.add(VECTORS, columns={"year": COLUMNS["year"]})
        assert found(index, "year >= 1999") == [4, 1, 0]


def test_added_to_none(tmp_path: Path) -> None:
    """Columns that the index lacks are refused, however it holds its vectors."""
    path = tmp_path / "a.thresher"
    plain, changed = (thresher.Index(VECTORS, ids=np.arange(5), metric="ip") for _ in range(2))
    plain.save(path)
    changed.upsert([7], [[1, 2]])
    none = thresher.Index(np.empty((0, 2), np.float32), ids=[], metric="ip")
    for index in (plain, changed, thresher.Index.open(path), none):
        with index:
            before = len(index)
            for rows in (1, 0):
                with pytest.raises(ValueError, match="columns: the vectors of the index have none"):
                    index.add(np.ones((rows, 2)), ids=[9][:rows], columns={"year": [1][:rows]})
            assert len(index) == before
            index.add([[1, 1]], ids=[9])
            assert len(index) == before + 1


def test_a_filter_for_each_query(index: thresher.Index) -> None:
    queries = np.tile(np.float32([1, 0]), (6, 1))
    mask = np.array([True, False, False, True, False])
    each = ["year >= 1999", None, QDRANT, mask, "year >= 1999", [0, 1]]
    want = [[4, 1, 0], [2, 3, 4, 1, 0], [4, 0], [3, 0], [4, 1, 0], [1, 0]]

    def rows(result: thresher.Result) -> list[list[int]]:
        return [[i for i in ids if i >= 0] for ids in result.ids.tolist()]

    for method in ("exact", "auto"):
        result = index.search(queries, k=5, filter=each, method=method)
        assert rows(result) == want
    alone = [index.search(q, k=5, filter=f, method="exact") for q, f in zip(queries, each, strict=True)]
    assert np.array_equal(result.scores64, np.concatenate([a.scores64 for a in alone]), equal_nan=True)  # bit for bit
    assert thresher.verify(result, index, queries, filter=each)
    assert not thresher.verify(result, index, queries, filter=each[::-1])
    masks = np.zeros((6, 5), bool)
    for j, ids in enumerate(want):
        masks[j, ids] = True
    masks[1] = False
    nothing = [*want[:1], [], *want[2:]]
    assert rows(index.search(queries, k=5, filter=masks, exclude=[[], [], [], [], [], []])) == nothing
    assert rows(index.search(queries, k=5, filter=nothing)) == nothing
    assert index.range_search(queries[:2], 2.5, filter=["year > 0", None]).ids.tolist() == [3, 4, 2, 3, 4]
    for wrong, says in (
        (each[:2], "2 filters for 6 queries"),
        ([*each[:5], [7]], r"query 5: row 7"),
        ([*each[:5], "colour = 1"], "no column"),
        (np.zeros((6, 4), bool), "shape"),
    ):
        with pytest.raises(ValueError, match=says):
            index.search(queries, k=5, filter=wrong)  # type: ignore[arg-type]


def test_texts_for_each_query_of_an_index_whose_ids_are_texts() -> None:
    """Are expressions if none of them is an id."""
    columns = {"year": [1990, 2000, 2010]}
    queries = np.tile(np.float32([1, 0]), (2, 1))
    with thresher.Index(
        np.float32([[3, 0], [2, 0], [1, 0]]), metric="ip", ids=["a", "b", "c"], columns=columns
    ) as index:
        each = index.search(queries, k=1, filter=["year > 1995", "year > 2005"])
        assert each.ids.tolist() == [["b"], ["c"]]
        assert index.search(queries, k=1, filter=["b", "c"]).ids.tolist() == [["b"], ["b"]]
        with pytest.raises(ValueError, match="filter: 'year > 1995' is no id of the index"):
            index.search(queries, k=1, filter=["year > 1995", "c"])


@pytest.mark.parametrize("ids", [None, "turned", "spread", "texts"])
@pytest.mark.parametrize("m", [2, 3, 5])
def test_filters_as_matrices(ids: str | None, m: int) -> None:
    n = len(VECTORS)
    names: list[object] = {
        None: list(range(n)),
        "turned": [(i + 1) % n for i in range(n)],
        "spread": [1000 + 7 * i for i in range(n)],
        "texts": [f"v{i}" for i in range(n)],
    }[ids]  # type: ignore[assignment]
    allowed = [[0, 3], [2, 4], [1, 3], [0, 2], [3, 4]][:m]
    mask = np.zeros((m, n), bool)
    for j, rows in enumerate(allowed):
        mask[j, rows] = True
    queries = np.tile(np.float32([1, 0]), (m, 1))
    scores = queries @ VECTORS.T
    want = [[names[i] for i in sorted(rows, key=lambda i: -scores[j, i])] for j, rows in enumerate(allowed)]
    csr = pytest.importorskip("scipy.sparse").csr_array(mask)
    forms = {
        "mask": mask,
        "csr": csr,
        "array": np.array([[names[i] for i in rows] for rows in allowed]),
        "lists": [[names[i] for i in rows] for rows in allowed],
        "masks": list(mask),
    }
    with thresher.Index(VECTORS, ids=None if ids is None else names, metric="ip") as index:
        for form, filter in forms.items():
            for method in ("exact", "auto"):
                assert index.search(queries, k=2, filter=filter, method=method).ids.tolist() == want, form


def test_filter_of_a_square_mask() -> None:
    with thresher.Index([[1.0, 0], [2, 0]], metric="ip") as index:
        every = index.search(np.ones((2, 2)), k=2, filter=np.ones((2, 2), bool))
        assert every.ids.tolist() == [[1, 0], [1, 0]]


def test_answers_of_others_with_filters(index: thresher.Index) -> None:
    queries = np.float32([[1, 0], [1, 0]])
    answers = [[4, 1, 0], [2, 4, 1]]  # the second has a vector that may not be returned
    found = thresher.recall(answers, index, queries, filter="year >= 1999")
    assert found.recall == pytest.approx(5 / 6)
    proven = thresher.certify(answers, index, queries, filter="year >= 1999")
    assert proven.result.ids.tolist() == [[4, 1, 0]] * 2
    assert proven.report["unwanted"] == 1
    assert thresher.recall([[2, 3], [3, 4]], index, queries, exclude=[[], [2]]).recall == 1
    each = ["year >= 1999", None]
    assert thresher.recall([[4, 1], [2, 3]], index, queries, filter=each).recall == 1
    assert thresher.certify([[4, 1], [2, 4]], index, queries, filter=each).result.ids.tolist() == [[4, 1], [2, 3]]


def test_a_wrong_filter_names_its_query() -> None:
    rows = np.ones((3, 2), np.float32)
    with thresher.Index(rows, metric="ip", columns={"x": [1, 2, 3]}) as index:
        wrong: list[tuple[object, type[Exception], str]] = [
            ("x >", ValueError, r"filter, character 4"),
            ("y > 1", ValueError, r"filter, character 3: there is no column"),
            ({"must": 3}, ValueError, r"filter\.must: a condition"),
            ({"must": [{"key": "x", "match": {"value": float("nan")}}]}, ValueError, "Out of range float"),
            ({"must": [{"key": "x", "match": {"value": {1, 2}}}]}, TypeError, "Object of type set"),
            (["a"], TypeError, "values are"),
            ([7], ValueError, ""),
            ([True, False], ValueError, ""),
        ]
        for filter, kind, says in wrong:
            with pytest.raises(kind, match=f"^filter: query 2: {says}"):
                index.search(rows, 1, filter=["x > 1", "x > 1", filter])
        for filter, kind, says in wrong[:5]:
            with pytest.raises(kind, match=f"^filter: {says}"):
                index.search(rows, 1, filter=filter)
