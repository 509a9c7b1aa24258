"""thresher.ray: the answers of one process, whatever dies; `make test-engines` has Ray, other runs skip this."""

from __future__ import annotations

import os
import signal
import sys
import traceback

import numpy as np
import pytest

import thresher
from conftest import best

ray = pytest.importorskip("ray", reason="Ray is not installed; make test-engines installs it")
pa = pytest.importorskip("pyarrow")

import pyarrow.parquet as pq  # noqa: E402
from pyarrow import fs  # noqa: E402

import thresher.ray  # noqa: E402
from thresher._parts import Folder  # noqa: E402
from thresher._walk import Segments, answers  # noqa: E402

ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import this file

DIM, ROWS, FILES = 24, 3000, 6
QUERIES = 700


@pytest.fixture(scope="session")
def engine():
    """Return Ray on three processors, of which two can search."""
    for left in (3, 2, 1, 0):
        try:
            ray.init(address="local", num_cpus=3, include_dashboard=False, log_to_driver=False, configure_logging=False)
            break
        except Exception:  # a raylet that ended: its agents took more than 45 s, for which there is no setting
            if not left:
                raise
            ray.shutdown()
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield ray
    ray.shutdown()


@pytest.fixture
def no_tasks(monkeypatch):
    """Fail if a call gets as far as Ray."""

    def connect():
        pytest.fail("Ray was asked before the arguments were refused")

    monkeypatch.setattr(thresher.ray, "_connect", connect)


def knn(*given, **named):
    """Call thresher.ray.knn with one actor: what starts one is most of what these jobs take."""
    return thresher.ray.knn(*given, **{"actors": 1, **named})


@pytest.fixture(scope="session")
def x():
    rng = np.random.default_rng(11)
    centres = rng.standard_normal((40, DIM))
    rows = (centres[rng.integers(40, size=ROWS)] + 0.4 * rng.standard_normal((ROWS, DIM))).astype(np.float32)
    rows[ROWS - 200 :: 2] = rows[:100]  # equal scores, in the first and in the last segment
    return rows


@pytest.fixture(scope="session")
def q(x):
    rng = np.random.default_rng(12)
    rows = x[rng.integers(ROWS, size=QUERIES)]
    return (rows + 0.3 * rng.standard_normal(rows.shape)).astype(np.float32)


def fixed(rows):
    return pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), rows.shape[1])


def write(folder, rows, ids, files, **more):
    """Write rows as Parquet files, named so that texts sort otherwise than numbers."""
    os.makedirs(folder, exist_ok=True)
    for i, some in enumerate(np.array_split(np.arange(len(rows)), files)):
        columns = {"id": pa.array(np.array(ids)[some]), "vector": fixed(rows[some])}
        columns |= {name: pa.array([values[j] for j in some]) for name, values in more.items()}
        pq.write_table(pa.table(columns), f"{folder}/part-{i + 5}.parquet")
    return str(folder)


@pytest.fixture(scope="session")
def data(tmp_path_factory, engine, x, q):
    """Return a folder with vectors, queries and segments of them."""
    home = tmp_path_factory.mktemp("ray")
    ids = np.arange(ROWS) * 2 + 1
    write(home / "vectors", x, ids, FILES)
    write(home / "queries", q, np.arange(QUERIES), 3, seen=[ids[j : j + 3].tolist() for j in range(QUERIES)])
    names = thresher.ray.build(home / "vectors", home / "segments", metric="cosine", rows=1000)
    assert names == ["segment-00000.thresher", "segment-00001.thresher", "segment-00002.thresher"]
    return home


def loaded(folder):
    """Return Parquet files as a Dataset in memory, which no process has to be started to read."""
    return ray.data.from_arrow(pq.read_table(folder).sort_by("id").combine_chunks())


@pytest.fixture(scope="session")
def asking(data):
    """Return the queries."""
    return loaded(data / "queries")


def whole(dataset, by="query_id"):
    """Return the rows of a dataset in the order of a column."""
    table = pa.concat_tables(ray.get(dataset.to_arrow_refs()), promote_options="none")
    keys = [by] if isinstance(by, str) else by
    return table.combine_chunks().sort_by([(key, "ascending") for key in keys])


def lists(table, name):
    return np.array(table[name].to_pylist())


@pytest.fixture(scope="session")
def one(data, x):
    """Return one index of all vectors."""
    with thresher.Index.open(f"{data}/vectors", metric="cosine", column="vector", ids="id") as index:
        yield index


def walked(data, q, block=100, **options):
    """Return what one process answers that walks the same segments, as a table."""
    segments = Segments(Folder(data / "segments").paths(), threads=1)
    try:
        tables = [
            answers(segments.search(q[at : at + block], **options), pa.array(range(len(q))[at : at + block]), False)
            for at in range(0, len(q), block)
        ]
    finally:
        segments.close()
    return pa.concat_tables(tables).combine_chunks()


def test_the_bytes_of_one_process(data, q):
    """A block of queries is a task, and each actor of two opens all segments."""
    found = thresher.ray.knn(f"{data}/queries", f"{data}/segments", 10, block=64).materialize()
    assert whole(found).equals(walked(data, q, 64, k=10))
    blocks = [len(block) for block in ray.get(found.to_arrow_refs())]
    assert sum(blocks) == QUERIES and max(blocks) <= 64 and len(blocks) >= QUERIES / 64


def test_the_answers_of_one_index(data, asking, x, q, one):
    got = whole(knn(asking, f"{data}/segments", 12, method="exact"))
    want = one.search(q, 12, method="exact")
    assert got["query_id"].to_pylist() == list(range(QUERIES))
    assert np.array_equal(lists(got, "ids"), want.ids)
    assert np.array_equal(lists(got, "rows"), want.rows)
    assert np.array_equal(lists(got, "scores64"), want.scores64)
    assert set(got["guarantee"].to_pylist()) <= {"exact", "certain"}
    _, scores = best(q, x, 12, "cosine")
    assert np.allclose(lists(got, "scores64"), scores, atol=1e-6)


def test_exclude_and_limits(data, asking, q, one):
    folder, seen = f"{data}/segments", [(np.arange(j, j + 3) * 2 + 1).tolist() for j in range(QUERIES)]
    got = whole(knn(asking, folder, 5, exclude="seen", min_score=0.9, max_score=0.97))
    want = one.search(
        q, 5, method="certain", exclude=[[i for i in e if i < 2 * ROWS] for e in seen], min_score=0.9, max_score=0.97
    )
    assert [list(r) for r in got["ids"].to_pylist()] == [
        r[:n].tolist() for r, n in zip(want.ids, want.counts, strict=True)
    ]
    assert min(want.counts) < 5  # the limits mattered


def test_graph(data, x, one):
    ids = np.arange(ROWS) * 2 + 1
    found = thresher.ray.graph(loaded(data / "vectors"), f"{data}/segments", 4, actors=1)
    got = whole(found)
    want = one.search(x, 4, method="certain", exclude_self=True)
    assert got["query_id"].to_pylist() == ids.tolist()
    assert np.array_equal(lists(got, "ids"), want.ids)
    assert found.name == "thresher.ray.graph"


def test_pairs(data, asking, x, q):
    got = whole(thresher.ray.pairs(loaded(data / "vectors"), f"{data}/segments", 0.95, actors=1), ["a_id", "b_id"])
    want = thresher.pairs(x, 0.95, metric="cosine")
    assert len(want) > 100
    assert got["a_id"].to_pylist() == (want.a * 2 + 1).tolist()
    assert got["b_id"].to_pylist() == (want.b * 2 + 1).tolist()
    assert np.allclose(got["score64"], want.scores64, atol=1e-12)
    others = thresher.ray.pairs(asking, f"{data}/segments", 0.95, others=True, actors=1)
    got = whole(others, ["a_id", "b_id"])
    want = thresher.pairs(q, 0.95, x, metric="cosine")
    assert got.num_rows == len(want) > 100
    assert got["a_id"].to_pylist() == want.a.tolist() and got["b_id"].to_pylist() == (want.b * 2 + 1).tolist()
    assert [others.name, others.map_batches(len).name] == ["thresher.ray.pairs"] * 2


def test_datasets_of_other_kinds(tmp_path, x, q, data, asking):
    """Ids as texts and wide integers, none at all, tensors of Ray, l2, no rows in a block."""
    for name, ids in (("texts", [f"v{i}" for i in range(ROWS)]), ("wide", [2**63 + i for i in range(ROWS)])):
        source = write(tmp_path / name, x, ids, 3)
        thresher.ray.build(source, tmp_path / f"{name}-segments", metric="l2", rows=1)
        queries = ray.data.from_numpy(q[:50]).map_batches(
            lambda b: {"v": b["data"], "name": np.array([f"q{i}" for i in range(len(b["data"]))])}, batch_size=None
        )
        got = whole(
            knn(queries, tmp_path / f"{name}-segments", 3, vector="v", id="name", method="certain"),
        ).to_pylist()
        rows, scores = best(q[:50], x, 3, "l2")
        by_name = {r["query_id"]: r for r in got}
        for j in range(50):
            assert by_name[f"q{j}"]["ids"] == [ids[i] for i in rows[j]]
            assert np.allclose(by_name[f"q{j}"]["scores64"], scores[j], rtol=1e-5)
    thresher.ray.build(data / "vectors", tmp_path / "rows", metric="ip", id=None, rows=1)
    got = whole(knn(asking, tmp_path / "rows", 3, method="certain"))
    assert np.array_equal(lists(got, "ids"), best(q, x, 3)[0])
    none = asking.filter(lambda row: row["id"] < 0)
    assert knn(none, tmp_path / "rows", 3).count() == 0


def test_from_another_file_system(tmp_path, data, asking, q):
    """Segments that are not mounted are copied once to the machine, and are answered from there."""
    system = fs.SubTreeFileSystem(str(data), fs.LocalFileSystem())
    source = fs.SubTreeFileSystem(str(data), fs.LocalFileSystem())
    thresher.ray.build("vectors", "far", metric="cosine", rows=1000, filesystem=source)
    assert sorted(os.listdir(data / "far")) == sorted(os.listdir(data / "segments"))
    cache = str(tmp_path / "cache")
    got = whole(knn(asking, "far", 10, block=100, filesystem=system, cache=cache))
    assert got.equals(walked(data, q, k=10))
    copies = sorted(f for _, _, files in os.walk(cache) for f in files)
    assert [f for f in copies if f.endswith(".thresher")] == [f"segment-{i:05d}.thresher" for i in range(3)]


def failure(dataset):
    """Return what a dataset says that cannot be computed, with its causes."""
    with pytest.raises(Exception) as e:
        dataset.materialize()
    return "".join(traceback.format_exception(e.value))


def refused(call, error, *words):
    with pytest.raises(error) as e:
        call()
    for word in words:
        assert str(word) in str(e.value)


def test_what_is_wrong_is_said_before_tasks(tmp_path, data, x, no_tasks):
    segments, queries = data / "segments", f"{data}/queries"

    def job(*given, **named):
        return lambda: knn(*given, **named)

    (tmp_path / "empty").mkdir()
    refused(job(queries, ""), ValueError, "vectors", "an empty path")
    refused(job(queries, tmp_path / "nowhere"), FileNotFoundError, "vectors", "nowhere")
    refused(job(queries, tmp_path / "empty"), FileNotFoundError, "vectors", "no files .thresher", "empty")
    refused(job(queries, data / "vectors"), FileNotFoundError, "no files .thresher", "vectors")
    refused(job(queries, segments, 0), ValueError, "k", "at least 1")
    refused(job(queries, segments, method="quick"), ValueError, "method", "quick")
    refused(job(queries, segments, max_distance=1.0), ValueError, "max_distance")
    refused(job(queries, segments, filter="year > 3"), ValueError, "filter", "no columns")
    refused(job(queries, segments, num_cpus=0), ValueError, "num_cpus", "more than 0")
    refused(lambda: thresher.ray.pairs(queries, segments), ValueError, "min_score")
    thresher.Index(x, ids=np.arange(ROWS), metric="l2").save(tmp_path / "other.thresher")
    refused(job(queries, [segments, tmp_path / "other.thresher"]), ValueError, "metric differs", "cosine", "other.thr")
    thresher.Index(x[:, :9], ids=np.arange(ROWS), metric="cosine").save(tmp_path / "short.thresher")
    refused(job(queries, [segments, tmp_path / "short.thresher"]), ValueError, "dimension differs", "24", "9", "short")


def test_builds_are_checked_before_tasks(tmp_path, data, x, no_tasks):
    def build(source, out=tmp_path / "out", **named):
        return lambda: thresher.ray.build(source, out, **{"metric": "cosine", **named})

    refused(build(""), ValueError, "source", "an empty path")
    refused(build(data / "vectors", out=""), ValueError, "out", "an empty path")
    refused(
        build(data / "vectors" / "part-[5].parquet", out=data / "vectors" / "part-5.parquet"), OSError, "out", "file"
    )
    refused(build(data / "vectors" / "part-[xy].parquet"), FileNotFoundError, "source", "[xy]")
    refused(build(data / "vectors", metric="near"), ValueError, "metric", "near")
    refused(build(data / "nowhere"), FileNotFoundError, "source", "nowhere")
    refused(build(data / "segments"), FileNotFoundError, "source", "no files .parquet")
    refused(build(data / "vectors", vector="v"), ValueError, "vector", "part-5.parquet", "'v'", "id, vector")
    refused(build(data / "vectors", id="name"), ValueError, "id", "part-5.parquet", "'name'")
    refused(build(data / "vectors", vector="id"), ValueError, "part-5.parquet", "int64", "lists")
    refused(build(data / "vectors", out=data / "segments"), FileExistsError, "out", "overwrite")
    write(tmp_path / "mixed", x, np.arange(ROWS), 1)
    write(tmp_path / "mixed" / "more", x[:, :5], np.arange(ROWS), 1)
    refused(build(tmp_path / "mixed"), ValueError, "dimension of 'vector' differs", "24", "5", "more/part-5.parquet")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "a.parquet").write_bytes(b"no parquet at all")
    refused(build(tmp_path / "bad"), OSError, "source", "a.parquet")
    pq.write_table(pa.table({"id": pa.array([], pa.int64()), "vector": fixed(x)[:0]}), tmp_path / "none.parquet")
    refused(build(tmp_path / "none.parquet"), ValueError, "none.parquet", "no rows")
    assert not (tmp_path / "out").exists()


def test_what_ray_has_is_checked(data):
    queries, segments = f"{data}/queries", data / "segments"
    refused(lambda: thresher.ray.knn(queries, segments, actors=3), ValueError, "actors: 3", "leave 0 of 3")
    refused(lambda: thresher.ray.knn(queries, segments, actors=(3, 9)), ValueError, "actors: 3", "leave 0 of 3")
    refused(lambda: thresher.ray.knn(queries, segments, actors=(2, 1)), ValueError, "actors", "2, is above", "1")
    refused(lambda: thresher.ray.knn(queries, segments, actors=(1, 2, 3)), ValueError, "actors: 3 numbers")
    refused(lambda: thresher.ray.knn(queries, segments, num_cpus=8), ValueError, "num_cpus: 8", "than the 3")
    refused(lambda: thresher.ray.knn(queries, segments, vector="v"), ValueError, "vector", "'v'", "id, vector, seen")
    refused(lambda: thresher.ray.knn(queries, segments, exclude="not"), ValueError, "exclude", "'not'", "seen")
    refused(lambda: thresher.ray.knn(np.ones((2, DIM)), segments), TypeError, "queries: ndarray", "Dataset")
    wrong = ray.data.from_arrow(pa.table({"id": [1], "vector": fixed(np.ones((1, 7), np.float32))}))
    refused(lambda: thresher.ray.knn(wrong, segments), ValueError, "vectors of 7 values", "24")
    hidden = ray.data.range(5).map(lambda row: {"id": row["id"], "v": [1.0] * DIM})  # its columns are not known before
    assert "queries have no column 'vector', but id, v" in failure(knn(hidden, segments))


def test_what_tasks_refuse(tmp_path, x, q):
    """Queries are named by their ids, rows by their files, without the way through this package."""
    thresher.Index(x, ids=np.arange(ROWS), metric="cosine").save(tmp_path / "a.thresher")
    folder, columns = Folder(tmp_path / "a.thresher"), thresher.ray._Columns("vector", "id", None, False)
    wrong = q[:9].copy()
    wrong[7, 2] = np.nan
    queries = pa.table({"id": np.arange(9) + 100, "vector": fixed(wrong)})
    uneven = pa.table({"id": np.arange(3) + 100, "vector": [[1.0] * DIM, [1.0] * (DIM - 1), [1.0] * DIM]})
    for kind, asked in ((thresher.ray.SearchSegments, {"k": 3}), (thresher.ray.FindPairs, {"min_score": 0.5})):
        task = kind(folder, columns, asked, 1)
        for block, said in (
            (queries, "vector: the query of id 107: column 2: value NaN"),
            (uneven, f"vector: the query of id 101 has {DIM - 1} values, the query of id 100 has {DIM}"),
        ):
            with pytest.raises(ValueError) as e:
                task(block)
            assert str(e.value) == said
            assert [f.name for f in traceback.extract_tb(e.value.__traceback__)][1:] == ["__call__"]
        task.segments.close()
    thresher.Index(x[:60], ids=np.arange(60), metric="cosine").save(tmp_path / "a.thresher", overwrite=True)
    said = f"vectors: {tmp_path}/a.thresher was replaced since the folder was opened"
    refused(lambda: thresher.ray.SearchSegments(folder, columns, {"k": 3}, 1), ValueError, said)
    rows = x[:60].copy()
    rows[31, 2] = np.nan
    source = write(tmp_path / "vectors", rows, np.arange(60), 3)
    for system, name in ((None, source), (fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()), "vectors")):
        build = thresher._parts.Build(
            name, f"{name}-out{system is None}", metric="l2", vector="vector", id="id", columns=None, dtype=None,
            seed=None, rows=1000, overwrite=False, filesystem=system,
        )  # fmt: skip
        refused(lambda build=build: build.segment(0, 1), ValueError, f"source: {name}/part-6.parquet: row 11, column 2")


def test_far_segments_are_checked_before_tasks(tmp_path, data, x, no_tasks):
    """Headers alone are read, before anything is copied."""
    system = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    thresher.Index(x, ids=np.arange(ROWS), metric="cosine").save(tmp_path / "a.thresher")
    thresher.Index(x, ids=np.arange(ROWS), metric="l2").save(tmp_path / "b.thresher")
    thresher.Index(x[:, :9], ids=np.arange(ROWS), metric="cosine").save(tmp_path / "c.thresher")
    thresher.Index(x.astype(np.float16), ids=np.arange(ROWS), metric="cosine").save(tmp_path / "d.thresher")
    (tmp_path / "e.thresher").write_bytes(b"no segment at all")
    (tmp_path / "f.thresher").write_bytes((tmp_path / "a.thresher").read_bytes()[:20_000])
    (tmp_path / "g.thresher").write_bytes((tmp_path / "a.thresher").read_bytes()[:100])
    for other, error, said in (
        ("b", ValueError, "metric differs, cosine of a.thresher and l2 of b.thresher"),
        ("c", ValueError, f"dimension differs, {DIM} of a.thresher and 9 of c.thresher"),
        ("d", ValueError, "type differs, float32 of a.thresher and float16 of d.thresher"),
        ("e", OSError, "vectors: e.thresher: not a collection file"),
        ("f", OSError, "vectors: f.thresher: collection file is truncated: 20000 of"),
        ("g", OSError, "vectors: g.thresher: collection file is damaged: in its header"),
    ):
        both = ["a.thresher", f"{other}.thresher"]
        cache = str(tmp_path / "cache")
        refused(
            lambda both=both, cache=cache: thresher.ray.knn(f"{data}/queries", both, filesystem=system, cache=cache),
            error, said,
        )  # fmt: skip
    assert not (tmp_path / "cache").exists()


def test_types_are_checked_before_tasks(data):
    segments, vectors = data / "segments", fixed(np.ones((1, DIM), np.float32))
    wrong = ray.data.from_arrow(pa.table({"id": ["a"], "vector": vectors}))
    refused(lambda: thresher.ray.graph(wrong, segments), TypeError, "id: column 'id' is string", "are integers")
    refused(lambda: thresher.ray.pairs(wrong, segments, 0.5), TypeError, "id: column 'id' is string", "are integers")
    wrong = ray.data.from_arrow(pa.table({"id": [1], "vector": ["a"]}))
    refused(lambda: thresher.ray.knn(wrong, segments), TypeError, "vector: column 'vector' is string", "lists")


def test_no_queries_have_answers_columns(tmp_path, data, asking):
    table = pa.table({"id": pa.array([], pa.int64()), "vector": pa.array([], pa.list_(pa.float32()))})
    pq.write_table(table, tmp_path / "none.parquet")
    folder = data / "segments"
    want = knn(asking, folder, 3).schema().names
    for none in (ray.data.from_arrow(table), tmp_path / "none.parquet"):
        got = knn(none, folder, 3)
        assert got.count() == 0 and got.schema().names == want
        pairs = thresher.ray.pairs(none, folder, 0.5, actors=1)
        assert pairs.schema().names == ["a_id", "b_id", "score", "score64"]


def test_an_id_in_two_segments_is_said(tmp_path, x, engine):
    """And while Python keeps the error, the processors of the actors are free for another job."""
    for i in range(2):
        thresher.Index(x[i * 9 : i * 9 + 9], ids=range(i * 8, i * 8 + 9), metric="ip").save(tmp_path / f"{i}.thresher")
    queries = ray.data.from_arrow(pa.table({"id": [1], "vector": fixed(x[:1])}))
    found = thresher.ray.knn(queries, tmp_path, 18, actors=2)
    assert found.name == "thresher.ray.knn"
    with pytest.raises(Exception) as e:
        found.materialize()
    said = "".join(traceback.format_exception(e.value))
    assert f"id 8 is there twice, in {tmp_path}/0.thresher and {tmp_path}/1.thresher" in said
    assert ray.get(ray.remote(num_cpus=3)(lambda: True).remote(), timeout=1800)


def test_a_build_goes_on(tmp_path, data):
    """A build that died is none to search, and the same call builds what is missing alone."""
    out = tmp_path / "out"

    def build(**named):
        return thresher.ray.build(data / "vectors", out, metric="cosine", rows=1000, **named)

    names = build()
    plan = thresher._parts.Build(
        data / "vectors", tmp_path / "other", metric="cosine", vector="vector", id="id", columns=None, dtype=None,
        seed=None, rows=1000, overwrite=False, filesystem=None,
    )  # fmt: skip
    os.rename(tmp_path / "other" / "building.json", out / "building.json")  # as while it was under way
    os.remove(out / names[1])
    (out / ".building-killed").mkdir()
    assert plan.left == [0, 1, 2]
    refused(lambda: thresher.ray.knn(f"{data}/queries", out), ValueError, "has not ended", "2 of 3 segments")
    refused(lambda: thresher.ray.build(data / "queries", out, metric="cosine"), FileExistsError, "not ended")
    before = {name: os.stat(out / name).st_mtime_ns for name in names if name != names[1]}
    assert build() == names
    assert {name: os.stat(out / name).st_mtime_ns for name in before} == before
    assert sorted(os.listdir(out)) == sorted([*names, *(n + ".ids.npz" for n in names)])
    assert build(overwrite=True) == names
    assert {name: os.stat(out / name).st_mtime_ns for name in before} != before


def once(folder, name):
    """Return whether nobody has asked for this name before, in whichever process."""
    try:
        os.close(os.open(f"{folder}/{name}", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def killing(folder, victims):
    """Return an actor that kills in the middle of a block, at its second segment: blocks by their first query."""
    os.makedirs(folder, exist_ok=True)

    class SearchSegments(thresher.ray.SearchSegments):
        def walked(self, block):
            index, first = self.segments.indexes[1], block["id"][0].as_py()
            live = index._live

            def fatal():
                worker, handle = live()
                for what in victims.get(first, ()):
                    if once(folder, f"{first}-{what}"):
                        os.kill(os.getpid() if what == "actor" else worker.process, signal.SIGKILL)
                        break
                return worker, handle

            index._live = fatal
            try:
                return super().walked(block)
            finally:
                del index._live

    return SearchSegments


def test_kills_change_nothing(tmp_path, data, q, monkeypatch):
    """kill -9 of actors, of the children that search, of those that follow one, and of a reading worker."""
    rng = np.random.default_rng(5)
    firsts = rng.permutation(np.arange(0, QUERIES, 50))[:6].tolist()
    victims = {first: ["actor"] for first in firsts[:3]} | {first: ["child"] for first in firsts[3:5]}
    victims[firsts[5]] = ["child", "child2", "child3", "actor"]
    folder = tmp_path / "kills"
    monkeypatch.setattr(thresher.ray, "SearchSegments", killing(folder, victims))

    def read(block):
        if once(folder, "reader"):
            os.kill(os.getpid(), signal.SIGKILL)
        return block

    queries = ray.data.from_arrow(pa.table({"id": pa.array(range(QUERIES)), "vector": fixed(q)}))
    queries = queries.map_batches(read, batch_format="pyarrow", batch_size=None)
    got = whole(thresher.ray.knn(queries, data / "segments", 10, block=50))
    died = sorted(os.listdir(folder))
    assert died == sorted(["reader", *(f"{first}-{what}" for first, kinds in victims.items() for what in kinds)])
    assert got.equals(walked(data, q, k=10, block=50))


def test_a_worker_that_always_dies_is_an_error(tmp_path, data, q, monkeypatch):
    many = {0: [f"child{i}" for i in range(100)]}
    monkeypatch.setattr(thresher.ray, "SearchSegments", killing(tmp_path / "kills", many))
    queries = ray.data.from_arrow(pa.table({"id": pa.array(range(QUERIES)), "vector": fixed(q)}))
    assert "WorkerDied" in failure(knn(queries, data / "segments", 10))
    assert len(os.listdir(tmp_path / "kills")) == 6  # three times a search and its repetition
