"""Writes the files of this folder that need no client, and those of duckdb and sqlite-vec.

The vectors are the rows of the identity of 8 columns, five of them, called e, a, bé, c, d; the queries are (0, 1, .25, 2.5,
0, ..) and (-1, 0, 0, 0, 7, 0, ..), called first and second. ../shapes.json says how the other files were made.
"""
import json
import os

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pysqlite3 as sqlite3  # one that loads extensions
import sqlite_vec

os.chdir(os.path.dirname(os.path.abspath(__file__)))
x = np.eye(5, 8, dtype=np.float32)
q = np.array([[0, 1, 0.25, 2.5, 0, 0, 0, 0], [-1, 0, 0, 0, 7, 0, 0, 0]], np.float32)
names, asked = ["e", "a", "b\u00e9", "c", "d"], ["first", "second"]
ip = q @ x.T
best = np.argsort(-ip, axis=1, kind="stable")[:, :3]  # 3 1 2; 4 1 2
ip = np.take_along_axis(ip, best, 1).astype(float)
cosine = ip / np.linalg.norm(q, axis=1)[:, None]
l2 = np.sqrt(np.linalg.norm(q, axis=1)[:, None] ** 2 + 1 - 2 * ip)


def single(a):
    return a.astype(np.float32).tolist()


def hits(scores, id, score, name=str, more=lambda i: {}):
    return [[{id: name(i), score: s, **more(i)} for i, s in zip(*row)] for row in zip(best.tolist(), single(scores))]


def write(file, *documents):
    with open(file, "w") as f:
        f.write("\n".join(json.dumps(d) for d in documents) + "\n")


called = names.__getitem__
lucene = hits(ip + 1, "_id", "_score", called, lambda i: {"_index": "items", "_source": {"n": i}})
write("msearch.json", {"took": 3, "responses": [{"took": 1, "timed_out": False, "hits": {"total": {"value": 3, "relation": "eq"}, "max_score": h[0]["_score"], "hits": h}, "status": 200} for h in lucene]})
write("search.json", *({"took": 3, "timed_out": False, "hits": {"total": {"value": 3, "relation": "eq"}, "hits": h}} for h in hits((1 + cosine) / 2, "_id", "_score")))
milvus = hits(ip, "id", "distance", int)
write("milvus.json", {"code": 0, "cost": 0, "data": sum(milvus, []), "topks": [3, 3]})
write("pymilvus.json", hits(ip, "id", "distance", int, lambda i: {"entity": {"n": i}}))
write("weaviate.json", *({"data": {"Get": {"Item": [{"_additional": h, "n": 1} for h in part]}}} for part in hits(-ip, "id", "distance", called)))
write("pinecone.json", *({"matches": h, "namespace": "", "usage": {"readUnits": 5}} for h in hits(ip, "id", "score", called, lambda i: {"values": []})))
write("pineconemodel.json", *({"result": {"hits": h}, "usage": {"read_units": 1}} for h in hits(ip, "_id", "_score", called, lambda i: {"fields": {}})))
write("turbopuffer.json", *({"rows": h, "billing": {}} for h in hits(1 - cosine, "id", "$dist", int)))
write("vespa.json", *({"root": {"id": "toplevel", "relevance": 1.0, "children": h}} for h in hits(1 / (1 + l2), "id", "relevance", lambda i: f"id:items:item::{names[i]}", lambda i: {"source": "items"})))
write("semanticsearch.json", hits(ip, "corpus_id", "score", int))
write("lists.json", best.tolist())
np.save("ids.npy", best.astype(np.int64))
np.savez("sklearn.npz", indices=best.astype(np.int64), distances=l2)
np.savez("cuvs.npz", neighbors=best.astype(np.uint32), distances=(l2**2).astype(np.float32))
with open("texmex.ivecs", "wb") as f:
    for row in best.astype("<i4"):
        f.write(np.int32(3).tobytes() + row.tobytes())
with open("bigann.ibin", "wb") as f:
    f.write(np.array([2, 3], "<u4").tobytes() + best.astype("<u4").tobytes() + (l2**2).astype("<f4").tobytes())

rows = [(asked[j], names[i], float(s)) for j in (1, 0) for i, s in list(zip(best[j], 0 - ip[j]))[::-1]]
with open("pgvector.csv", "w") as f:
    f.writelines(["query_id,id,distance\n"] + [f"{a},{b},{c:g}\n" for a, b, c in rows])
for name, line in {
    "run.trec": lambda a, b, s, r: f"{a} Q0 {b} {r} {s:g} ours\n",
    "judged.qrels": lambda a, b, s, r: f"{a} 0 {b} {4 - r}\n",
}.items():
    with open(name, "w") as f:
        f.writelines(line(asked[j], names[i], ip[j, r], r + 1) for j in range(2) for r, i in enumerate(best[j]))
with open("beir.tsv", "w") as f:
    f.writelines(["query-id\tcorpus-id\tscore\n"] + [f"{asked[j]}\t{names[i]}\t{3 - r}\n" for j in range(2) for r, i in enumerate(best[j])])
pq.write_table(pa.table({"id": [0, 1], "neighbors_id": best.tolist()}), "vectordbbench.parquet")

db = duckdb.connect()
db.execute("create table v (id integer, e float[8]); create table q (query integer, e float[8])")
db.executemany("insert into v values (?, ?)", [(i, r.tolist()) for i, r in enumerate(x)])
db.executemany("insert into q values (?, ?)", [(i, r.tolist()) for i, r in enumerate(q)])
db.execute("""copy (select query, id, array_inner_product(v.e, q.e) as score from q, v
    qualify row_number() over (partition by query order by score desc, id) <= 3 order by score) to 'duckdb.parquet' (format parquet)""")

lite = sqlite3.connect(":memory:")
lite.enable_load_extension(True)
sqlite_vec.load(lite)
lite.execute("create virtual table v using vec0(e float[8])")
for i, r in enumerate(x):
    lite.execute("insert into v(rowid, e) values (?, ?)", (i, r.tobytes()))
with open("sqlitevec.csv", "w") as f:
    f.write("query,id,distance\n")
    for j, r in enumerate(q):
        for row in lite.execute("select rowid, distance from v where e match ? and k = 3 order by distance", (r.tobytes(),)):
            f.write(f"{j},{row[0]},{row[1]!r}\n")
