"""Writes the files of this folder, each of which has two
readings. Needs numpy, scipy and pyarrow. The graph is
written by thresher, as the last line says."""
import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import scipy.sparse as sparse

m = (np.arange(12).reshape(4, 3) * 2 - 7).astype(np.float32)
ids = np.arange(8).reshape(4, 2)
s = sparse.csr_array(np.where(m > 0, m, 0))

np.save("row.npy", m[0])
np.savez("row.npz", x=m[0])
np.savez("answers.npz", ids=ids, scores=m[:, :2])
np.savez("labels.npz", labels=ids)
np.savez("padded.npz", indices=ids, values=m[:, :2])
sparse.save_npz("sparse.npz", s)
sparse.save_npz("csc.npz", s.tocsc())

lists = lambda t, rows: pa.array([list(r) for r in rows], pa.list_(t))
tables = {
    "answers": {"query": pa.array(range(4)), "ids": lists(pa.int64(), ids), "scores": lists(pa.float32(), m)},
    "sparse": {"indices": lists(pa.int32(), ids), "values": lists(pa.float32(), m[:, :2])},
    "map": {"id": pa.array(range(4)), "weights": pa.array([[("a", 1.0), ("b", 2.0)]] * 4, pa.map_(pa.string(), pa.float32()))},
    "structs": {"v": pa.array([[{"at": 1, "x": 2.0}]] * 4, pa.list_(pa.struct([("at", pa.int32()), ("x", pa.float32())])))},
    "nested": {"v": pa.array([{"indices": [1, 2], "values": [0.5, 1.0]}] * 4, pa.struct([("indices", pa.list_(pa.int32())), ("values", pa.list_(pa.float32()))]))},
    "two": {"a": lists(pa.float32(), m), "b": lists(pa.float32(), m)},
}
d = lambda t, j: pa.array([row[j] for row in m.tolist()], t)
wide = {f"d{j}": d(pa.float32(), j) for j in range(3)}
tables |= {
    "wideid": {"movie_id": pa.array(range(4))} | wide | {"tags": pa.array([["a"]] * 4)},
    "widelabel": {"label": pa.array(["a"] * 4), "x0": d(pa.float32(), 0), "y0": d(pa.float32(), 1), "y1": d(pa.float32(), 2)},
    "widewords": {"x": d(pa.float64(), 0), "y": d(pa.int64(), 1), "z": d(pa.float32(), 2), "name": pa.array(["a"] * 4)},
    "wideindex": wide | {"__index_level_0__": pa.array(range(4))},
    "widegap": wide | {"d1": pa.array([1.5, None, 2.5, 3.5])},
    "widenull": {"x": d(pa.float64(), 0), "y": pa.nulls(4), "z": d(pa.float64(), 1)},
    "widedecimal": wide | {"d1": d(pa.float64(), 1).cast(pa.decimal128(9, 2))},
    "widelist": wide | {"v": lists(pa.float32(), m[:, :2])},
    "widemap": wide | {"weights": tables["map"]["weights"]},
}
for name, columns in tables.items():
    t = pa.table(columns)
    pq.write_table(t, name + ".parquet")
    with ipc.new_file(name + ".arrow", t.schema) as w:
        w.write_table(t)

# thresher graph --atoms dataset/testdata/f4.npy --metric ip -k 2 --out graph.npz
