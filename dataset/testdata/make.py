"""Writes the fixtures of this folder. Needs numpy, scipy, pyarrow and safetensors.

Matrix m is 5 x 3 and exact in float16 and int8; every fixture of vectors holds
it, or a uint8 version p of it. Results are those of 2 queries with k = 3.
"""
import numpy as np
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import scipy.sparse as sparse
from safetensors.numpy import save_file

m = (np.arange(15).reshape(5, 3) * 3 - 20).astype(np.float32)  # -20 .. 22
p = (np.arange(15).reshape(5, 3) * 17).astype(np.uint8)  # 0 .. 238
ids = ["a", "b\u00e9", "c", "d", "e"]

np.save("f4.npy", m)
np.save("f2.npy", m.astype("<f2"))
np.save("f8.npy", m.astype("<f8"))
np.save("i1.npy", m.astype("i1"))
np.save("u1.npy", p)
np.save("big.npy", m.astype(">f4"))
np.save("bigf8.npy", m.astype(">f8"))
np.save("fortran.npy", np.asfortranarray(m))
np.save("fortranbig.npy", np.asfortranarray(m.astype(">f2")))
np.save("row.npy", m[1])
np.save("cube.npy", m.reshape(5, 3, 1))
np.save("scalar.npy", np.float32(3))
np.save("complex.npy", m.astype(np.complex64))
np.save("struct.npy", np.zeros(2, dtype=[("a", "<f4"), ("b", "<i4")]))
np.savez("stored.npz", vectors=m, labels=np.arange(5))
np.savez("storedfortran.npz", vectors=np.asfortranarray(m))
np.savez_compressed("deflated.npz", vectors=m)
np.savez_compressed("deflatedfortran.npz", vectors=np.asfortranarray(m))
np.savez("two.npz", a=m, b=m)

save_file({"emb": m.astype("<f2"), "labels": np.arange(5)}, "f2.safetensors")
save_file({"a": m, "b": m.astype("f8")}, "two.safetensors")


tables = {
    "list": pa.table({"id": ids, "vec": pa.array(m.tolist(), pa.list_(pa.float32()))}),
    "large": pa.table({"id": pa.array(range(7, 12), pa.int64()), "vec": pa.array(m.tolist(), pa.large_list(pa.float64()))}),
    "fixed": pa.table({"vec": pa.array([[np.float16(x) for x in r] for r in m], pa.list_(pa.float16(), 3))}),
    "int8": pa.table({"vec": pa.array(m.astype(int).tolist(), pa.list_(pa.int8()))}),
    "uint8": pa.table({"vec": pa.array(p.astype(int).tolist(), pa.list_(pa.uint8(), 3))}),
    "dict": pa.table({"id": pa.array(ids).dictionary_encode(), "vec": pa.array(m.tolist(), pa.list_(pa.float32()))}),
    "two": pa.table({"a": pa.array(m.tolist()), "b": pa.array(m.tolist())}),
}
for name, t in tables.items():
    pq.write_table(t, name + ".parquet", compression="snappy", store_schema=False)
    with ipc.new_file(name + ".arrow", t.schema) as w:
        w.write_table(t, max_chunksize=2)
t = tables["list"]
pq.write_table(t, "zstdv2.parquet", compression="zstd", data_page_version="2.0", row_group_size=2)
pq.write_table(t, "gzipplain.parquet", compression="gzip", use_dictionary=False)
pq.write_table(t, "none.parquet", compression="none", use_dictionary=False, column_encoding={"vec.list.element": "BYTE_STREAM_SPLIT"})
pq.write_table(t, "lz4.parquet", compression="lz4")
view = pa.table({"id": pa.array(["a string beyond twelve bytes"] + ids[1:], pa.string_view()), "vec": t["vec"]})
with ipc.new_stream("view.arrows", view.schema) as w:
    w.write_table(view)
with ipc.new_stream("list.arrows", t.schema) as w:
    w.write_table(t, max_chunksize=2)
for codec in ("zstd", "lz4"):
    with ipc.new_file(codec + ".arrow", t.schema, options=ipc.IpcWriteOptions(compression=codec)) as w:
        w.write_table(t)
tensor = pa.FixedShapeTensorArray.from_numpy_ndarray(m)
with ipc.new_stream("tensor.arrows", pa.schema({"vec": tensor.type})) as w:
    w.write_table(pa.table({"vec": tensor}))

rid = np.array([[3, 1, 2], [4, 0, -1]])
score = np.array([[2.5, 1, 0.25], [7, -1, -np.inf]], np.float32)
np.savez("results.npz", ids=rid, scores=score, pulls=np.array([77, 9]), exact=np.array([False, True]))
pq.write_table(
    pa.table({
        "query": [0, 1], "ids": [[3, 1, 2], [4, 0]],
        "scores": pa.array([[2.5, 1, 0.25], [7, -1]], pa.list_(pa.float32())),
        "pulls": [77, 9], "exact": [False, True],
    }),
    "results.parquet", store_schema=False)

# Ground truth of the big-ann-benchmarks: the same results, written as its tools write them.
def header(f, *sizes):
    np.array(sizes, "<u4").tofile(f)


with open("scored.ibin", "wb") as f:
    header(f, *rid.shape)
    rid.astype("<i4").tofile(f)
    score.astype("<f4").tofile(f)
with open("ids.neighbors.ibin", "wb") as f:
    header(f, *rid.shape)
    rid.astype("<i4").tofile(f)
with open("ranged.ibin", "wb") as f:
    counts = (rid >= 0).sum(1)
    header(f, len(rid), counts.sum())
    counts.astype("<i4").tofile(f)
    rid[rid >= 0].astype("<i4").tofile(f)
    score[rid >= 0].astype("<f4").tofile(f)

# Answers as FAISS, hnswlib and others' users save them.
np.save("ids8.npy", rid)
np.save("ids4.npy", rid.astype(">i4"))
np.save("idsu4.npy", rid.astype("<u4"))
np.save("idsu8.npy", rid.astype("<u8"))
np.savez("faiss.npz", D=score.astype("<f8"), I=rid)
np.savez_compressed("hnswlib.npz", labels=rid.astype("<u8"), distances=score)
np.savez("cuvs.npz", neighbors=rid.astype("<u4"))
np.savez("sklearn.npz", distances=score, indices=rid)

# The same answers with a row for each query and atom.
rows = {
    "query_index": pa.array([0, 0, 0, 1, 1], pa.int32()),
    "_distance": pa.array([-2.5, -0.25, -1, -7, 1], pa.float32()),
    "id": pa.array([3, 2, 1, 4, 0], pa.uint64()),
}
pq.write_table(pa.table(rows), "rows.parquet", store_schema=False, row_group_size=3)
named = {
    "query": [0, 0, 0, 1, 1], "rank": [1, 3, 2, 1, 2],
    "id": ["c", "b\u00e9", "a", "d", "e"], "score": [2.5, 0.25, 1, 7, -1],
}
pq.write_table(pa.table(named), "named.parquet", compression="zstd")

# Lists of ids: [7, 5, 9], [], [0].
lists = sparse.csr_matrix((np.ones(4, np.float32), [7, 5, 9, 0], [0, 3, 3, 4]), shape=(3, 10))
sparse.save_npz("lists.npz", lists)
sparse.save_npz("storedlists.npz", sparse.csr_array(lists), compressed=False)
sparse.save_npz("csc.npz", lists.tocsc())
np.savez("ownlists.npz", indptr=np.array([0, 3, 3, 4], ">i8"), ids=np.array([7, 5, 9, 0], "<u8"))

# A graph of five rows as scipy saves sparse matrices.
graph = sparse.csr_matrix(
    (np.float32([2.5, 0.25, 0, 1, -7]), np.int32([3, 2, 1, 0, 4]), np.int32([0, 2, 3, 3, 5, 5])), shape=(5, 5))
sparse.save_npz("graph.npz", graph, compressed=False)

# Pairs of rows of a table of 4 rows and one of 5, and the components of the graph of 4 nodes
# whose only edge joins 0 and 2.
pairs = sparse.coo_matrix((np.array([.5, 1, -.25, 0], np.float32), (np.array([0, 0, 2, 3]), np.array([3, 4, 3, 4]))), shape=(4, 5))
sparse.save_npz("pairs.npz", pairs)
import scipy.sparse.csgraph as csgraph

edge = sparse.coo_matrix(([1.0], ([0], [2])), shape=(4, 4))
np.save("labels.npy", csgraph.connected_components(edge, directed=False)[1])
