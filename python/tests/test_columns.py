"""Tensors of torch, columns of pandas, polars and pyarrow."""

import numpy as np
import pytest

import thresher
from conftest import best


@pytest.fixture(scope="module")
def right(vectors, queries):
    return best(queries, vectors, 5)[0]


def found(queries, vectors):
    return thresher.knn(queries, vectors, 5, method="certain", metric="ip")[1]


def test_torch(vectors, queries, right):
    torch = pytest.importorskip("torch")
    x, q = torch.from_numpy(vectors), torch.from_numpy(queries)
    np.testing.assert_array_equal(found(q, x), right)
    np.testing.assert_array_equal(found(q.double(), x.T.contiguous().T), right)
    np.testing.assert_array_equal(found(q, x.clone().requires_grad_()), right)
    half = x.bfloat16()
    np.testing.assert_array_equal(found(q, half), best(queries, half.float().numpy(), 5)[0])
    with pytest.raises(ValueError, match="queries: a tensor on meta"):
        found(q.to("meta"), x)
    with pytest.raises(TypeError, match="vectors: a sparse tensor"):
        found(q, x.to_sparse())


def test_torch_shares_memory():
    torch = pytest.importorskip("torch")
    from thresher import _arrays

    x = torch.zeros(5, 3)
    assert np.shares_memory(_arrays.matrix(x, "x"), x.numpy())


def test_pyarrow(vectors, queries, right):
    pa = pytest.importorskip("pyarrow")
    flat = pa.array(vectors.ravel())
    fixed = pa.FixedSizeListArray.from_arrays(flat, 48)
    ragged = pa.ListArray.from_arrays(np.arange(0, 48 * 1500 + 1, 48, dtype=np.int32), flat)
    table = pa.table({"v": pa.chunked_array([fixed[:700], fixed[700:]])})
    tensors = pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(pa.float32(), [48]), fixed)
    for column in (fixed, ragged, table["v"], tensors, fixed[3:]):
        x = vectors[3:] if column is not table["v"] and len(column) == 1497 else vectors
        np.testing.assert_array_equal(found(queries, column), best(queries, x, 5)[0])
    with pytest.raises(ValueError, match="vectors: row 1 is null"):
        found(queries, pa.array([[1.0], None], pa.list_(pa.float32(), 1)))
    with pytest.raises(ValueError, match="vectors: row 1 has 1 values, row 0 has 2"):
        found(queries, pa.array([[1.0, 2.0], [3.0]]))
    with pytest.raises(ValueError, match="vectors: row 1 has nulls"):
        found(queries, pa.array([[1.0, 2.0], [3.0, None]]))
    with pytest.raises(TypeError, match="vectors: string of pyarrow"):
        found(queries, pa.array(["a"]))


def test_a_null_in_a_frame_of_polars():
    pl = pytest.importorskip("polars")
    with pytest.raises(ValueError, match="vectors: row 1, column 'd1' is null"):
        thresher.Index(pl.DataFrame({"d0": [1.0, 2.0], "d1": [3.0, None]}), metric="ip")


def test_polars(vectors, queries, right):
    pl = pytest.importorskip("polars")
    array = pl.Series("v", vectors, dtype=pl.Array(pl.Float32, 48))
    for column in (array, array.cast(pl.List(pl.Float32)), pl.DataFrame({"v": array}), pl.DataFrame(vectors)):
        np.testing.assert_array_equal(found(queries, column), right)
    with pytest.raises(ValueError, match="vectors: row 1 is null"):
        found(queries, pl.Series([[1.0, 2.0], None]))
    with pytest.raises(ValueError, match="vectors: row 2 has 1 values, row 0 has 2"):
        found(queries, pl.Series([[1.0, 2.0], [1.0, 2.0], [3.0]]))
    with pytest.raises(ValueError, match="vectors: nulls within rows"):
        found(queries, pl.Series([[1.0, None]], dtype=pl.Array(pl.Float32, 2)))


def test_pandas(vectors, queries, right):
    pd = pytest.importorskip("pandas")
    np.testing.assert_array_equal(found(pd.DataFrame(queries), pd.DataFrame(vectors)), right)
    twice = pd.DataFrame(vectors, columns=["x"] * vectors.shape[1])
    named = pd.DataFrame(queries, columns=[f"x{i}" for i in range(queries.shape[1])])
    for q, x, name in ((named, twice, "vectors"), (twice[:3], named, "queries")):
        with pytest.raises(ValueError, match=f"{name}: {vectors.shape[1]} columns are called 'x'"):
            found(q, x)


def test_numbers_that_pandas_may_miss(vectors, queries, right):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    x, q = (pd.DataFrame(rows, columns=[f"d{i}" for i in range(48)]) for rows in (vectors, queries))
    for kind in ("Float32", "Float64", "float[pyarrow]"):
        np.testing.assert_array_equal(found(q.astype(kind), x.astype(kind)), right)
        broken = x.astype(kind)
        broken.iloc[4, 3] = pd.NA
        with pytest.raises(ValueError, match="vectors: row 4, column 'd3' is missing"):
            found(q, broken)
    small = pd.DataFrame({"d0": [3, 1], "d1": [0, 1]}, dtype="Int64")
    np.testing.assert_array_equal(thresher.knn(small, small, 1, metric="l2")[1], [[0], [1]])


def test_tables_of_pyarrow(vectors, queries, right):
    pa = pytest.importorskip("pyarrow")
    names = [f"d{i}" for i in range(48)]
    wide = pa.table({name: vectors[:, i] for i, name in enumerate(names)})
    asked = pa.table({name: queries[:, i] for i, name in enumerate(names)})
    np.testing.assert_array_equal(found(asked, wide), right)
    np.testing.assert_array_equal(found(asked.select(names[::-1]), wide), right)  # matched by name
    np.testing.assert_array_equal(found(queries, wide.combine_chunks().to_batches()[0]), right)
    np.testing.assert_array_equal(found(queries, pa.table({"v": pa.array(vectors.tolist())})), right)
    np.testing.assert_array_equal(found(queries, pa.Tensor.from_numpy(vectors)), right)
    with pytest.raises(ValueError, match="vectors: column 'movie_id' beside 'd0'"):
        found(queries, wide.append_column("movie_id", pa.array(range(len(vectors)))))
    with pytest.raises(ValueError, match="vectors: row 1, column 'b' is null"):
        found(queries, pa.table({"a": [1.0, 2.0], "b": [1.0, None]}))
    with pytest.raises(TypeError, match="vectors: column 'a' is string of pyarrow, not real numbers"):
        found(queries, pa.table({"a": ["x"], "b": ["y"]}))


def column_of(rows):
    """Return an array of objects, each a row."""
    out = np.empty(len(rows), object)
    out[:] = list(rows)
    return out


def test_objects(vectors, queries, right):
    for kind in (list, np.asarray):
        x, q = column_of([kind(row) for row in vectors]), column_of([kind(row) for row in queries])
        np.testing.assert_array_equal(found(q, x), right)
        np.testing.assert_array_equal(found(q[:, np.newaxis], x[:, np.newaxis]), right)
        np.testing.assert_array_equal(found(q[:1], x), right[:1])


def test_arrays_in_pandas(vectors, queries, right):
    pd = pytest.importorskip("pandas")
    x, q = pd.Series(list(vectors)), pd.Series(list(queries), index=range(7, 7 + len(queries)))
    np.testing.assert_array_equal(found(q, x), right)
    np.testing.assert_array_equal(found(q.to_frame(), x.to_frame("embedding")), right)
    with thresher.Index(x, metric="ip") as index:
        np.testing.assert_array_equal(index.search(q, 5, method="certain").ids, right)
    with pytest.raises(ValueError, match=r"vectors: row 2 has 3 values, row 0 has 48"):
        found(q, pd.Series([vectors[0], vectors[1], vectors[2][:3]]))
    with pytest.raises(TypeError, match=r"vectors: row 1 is None, row 0 has 48 values"):
        found(q, pd.Series([vectors[0], None]))
    with pytest.raises(TypeError, match=r"vectors: row 1: values are <U1, not real numbers"):
        found(q, pd.Series([vectors[0], ["a"] * 48]))
    with pytest.raises(ValueError, match=r"vectors: a table of 2 columns, of which 'a' and 'b' hold a list"):
        found(q, pd.DataFrame({"a": list(vectors), "b": list(vectors)}))
    with pytest.raises(TypeError, match=r"vectors: values are Python objects, number 0 of them a Decimal"):
        found(q, pd.Series([__import__("decimal").Decimal(1)]))
    with pytest.raises(ValueError, match=r"vectors: row 0, column 0 is the integer 33554433"):
        found(q, pd.Series([np.full(48, 2**25 + 1)]))


def test_table_with_a_column_of_vectors(vectors):
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    rows = pa.array(vectors[:40].tolist(), pa.list_(pa.float32()))
    table = pa.table({"id": list(range(40)), "title": ["a"] * 40, "embedding": rows})
    named = table.to_pandas()
    missing = named.assign(embedding=[None, *named.embedding[1:]])
    kept = named.assign(embedding=named.embedding.astype(pd.ArrowDtype(rows.type)))
    for frame in (table, named, missing, kept, pl.from_arrow(table)):
        for refused in (
            lambda frame=frame: thresher.Index(frame, metric="ip"),
            lambda frame=frame: thresher.knn(frame, vectors[:40], 3, metric="ip"),
            lambda frame=frame: thresher.pairs(frame, 0.9, metric="cosine"),
        ):
            with pytest.raises(ValueError, match=r"3 columns, of which 'embedding' holds a list.*frame\['embedding'\]"):
                refused()
    with thresher.Index(named["embedding"], metric="ip", ids=named["id"], columns=named[["title"]]) as index:
        assert index.search(vectors[:1], 1, filter="title = 'a'").ids.shape == (1, 1)
