"""Files as pandas, scipy and pyarrow write them are read as they are meant, or refused with both readings."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import thresher

pd = pytest.importorskip("pandas")
sparse = pytest.importorskip("scipy.sparse")

X = np.random.default_rng(0).standard_normal((30, 16)).astype("f4")


def frame() -> pd.DataFrame:
    return pd.DataFrame(X, columns=[f"d{i}" for i in range(16)])


def same(index: thresher.Index, rows: np.ndarray) -> None:
    """The index has these rows: each is its own best, and scores as it does."""
    found = index.search(rows, 1)
    assert (found.ids[:, 0] == np.arange(len(rows))).all()
    assert np.allclose(found.scores[:, 0], 1)


def test_frame_without_names(tmp_path: Path) -> None:
    pd.DataFrame(X).to_csv(tmp_path / "x.csv", index=False)  # its header counts: 0,1,..,15
    with thresher.Index.open(tmp_path / "x.csv", metric="cosine") as index:
        assert len(index) == 30 and index.vector_columns == "0..15"
        same(index, X)
    with thresher.Index.open(tmp_path / "x.csv", metric="ip", header="no") as index:
        assert len(index) == 31
    pd.DataFrame(X).to_csv(tmp_path / "x.csv")  # with the index
    with thresher.Index.open(tmp_path / "x.csv", metric="cosine") as index:
        same(index, X)


@pytest.mark.parametrize("name", ["movie_id", "ID", "_id", "label", "Unnamed: 0", "doc_id", "id"])
def test_column_beside_numbered_ones(tmp_path: Path, name: str) -> None:
    f = frame()
    f.insert(0, name, range(1, 31))
    f.to_csv(tmp_path / "x.csv", index=False)
    with pytest.raises(OSError, match=re.escape(name) + r".*d0\.\.d15.*column"):
        thresher.Index.open(tmp_path / "x.csv", metric="cosine")
    with thresher.Index.open(tmp_path / "x.csv", metric="cosine", column="d[0-9]*") as index:
        assert index.vector_columns == "d0..d15"
        same(index, X)


def test_gap_in_first_row(tmp_path: Path) -> None:
    f = frame()
    f.loc[0, "d3"] = np.nan
    f.to_csv(tmp_path / "x.csv", index=False)
    with pytest.raises(OSError, match=r"row 0.*d3.*empty"):
        thresher.Index.open(tmp_path / "x.csv", metric="ip")


def test_decimal_commas(tmp_path: Path) -> None:
    frame().to_csv(tmp_path / "x.csv", index=False, sep=";", decimal=",")
    with pytest.raises(OSError, match="decimal comma"):
        thresher.Index.open(tmp_path / "x.csv", metric="ip")


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_sparse_matrix(tmp_path: Path, form: str) -> None:
    x = sparse.random(200, 1000, 0.05, format="csr", random_state=0, dtype=np.float32)
    sparse.save_npz(tmp_path / "x.npz", x.asformat(form))
    if form != "csr":
        with pytest.raises(OSError, match=f"sparse.*{form}.*tocsr"):
            thresher.Index.open(tmp_path / "x.npz", metric="ip")
        return
    with thresher.Index.open(tmp_path / "x.npz", metric="cosine") as index:
        assert len(index) == 200 and "sparse" in index.vector_columns
        same(index, x.toarray())


def test_one_dimension(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X[0])
    with pytest.raises(OSError, match="one vector of 16 coordinates or 16 vectors of one"):
        thresher.Index.open(tmp_path / "x.npy", metric="ip")


def test_parquet_that_holds_no_vectors(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    pairs = pa.table({"indices": [[1, 2]] * 3, "values": [[0.5, 1.0]] * 3})
    weights = pa.table({"w": pa.array([[("a", 1.0)]] * 3, pa.map_(pa.string(), pa.float32()))})
    for table, words in ((pairs, "values.*indices.*column"), (weights, "w .a map")):
        pq.write_table(table, tmp_path / "x.parquet")
        with pytest.raises(OSError, match=words):
            thresher.Index.open(tmp_path / "x.parquet", metric="ip")


def test_npy_of_another_length_than_announced(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", X)
    whole = (tmp_path / "x.npy").read_bytes()
    for name, data, message in (
        ("long.npy", whole + whole, "bytes follow the 30 rows"),
        ("short.npy", whole[:-3], "data is truncated"),
    ):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(OSError, match=message):
            thresher.Index.open(tmp_path / name, metric="ip")


def test_folder_of_vectors_that_change(tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "manifest.json").write_text("{}")
    (folder / "3.log").write_bytes(b"")
    with pytest.raises(
        OSError, match=r"shop: is a folder of vectors that change.*thresher build --vectors .*shop --metric"
    ):
        thresher.Index.open(folder, metric="cosine")
