"""thresher.spark: the answers of one process, whatever dies; `make test-engines` has Spark, other runs skip this."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import threading
import urllib.request

import numpy as np
import pytest

import thresher
from conftest import best

pytest.importorskip("pyspark", reason="Spark is not installed; make test-engines installs it")
pa = pytest.importorskip("pyarrow")
JAVA = shutil.which(os.path.join(os.environ["JAVA_HOME"], "bin", "java") if "JAVA_HOME" in os.environ else "java")
if JAVA is None or subprocess.run([JAVA, "-version"], capture_output=True).returncode:
    pytest.skip("Spark needs Java, which is not installed", allow_module_level=True)

from pyspark import cloudpickle  # noqa: E402
from pyspark.sql import SparkSession, types  # noqa: E402
from pyspark.sql import functions as sf  # noqa: E402

import thresher.spark  # noqa: E402
from thresher._parts import Folder  # noqa: E402
from thresher._staged import Staged  # noqa: E402

DIM, ROWS, QUERIES = 24, 2400, 240
KILLS = int(os.environ.get("THRESHER_KILLS", "6"))

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # Python workers cannot import it


@pytest.fixture(scope="session")
def spark():
    """Return Spark with two tasks at a time, each tried three times, and small batches."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.ui.port": "0",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.network.timeout": "900s",  # of a busy machine
        "spark.executor.heartbeatInterval": "300s",
        "spark.python.authenticate.socketTimeout": "300s",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "50",
    }
    builder = SparkSession.builder.master("local[2,3]").appName("thresher")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def x():
    rng = np.random.default_rng(21)
    centres = rng.standard_normal((40, DIM))
    rows = (centres[rng.integers(40, size=ROWS)] + 0.4 * rng.standard_normal((ROWS, DIM))).astype(np.float32)
    rows[ROWS - 100 :] = rows[:100]  # equal scores, in the first and in the last segment
    return rows


@pytest.fixture(scope="session")
def q(x):
    rng = np.random.default_rng(22)
    rows = x[rng.integers(ROWS, size=QUERIES)]
    return (rows + 0.3 * rng.standard_normal(rows.shape)).astype(np.float32)


def frame(spark, columns, schema, partitions):
    """Return a frame of columns, cut into partitions in their order."""
    columns = [c.tolist() if isinstance(c, np.ndarray) else c for c in columns]
    rows = list(zip(*columns, strict=True))
    return spark.createDataFrame(spark.sparkContext.parallelize(rows, partitions), schema)


IDS = np.arange(ROWS) * 2 + 1
YEARS = np.arange(ROWS) % 7 + 2000


@pytest.fixture(scope="session")
def items(spark, x):
    return frame(spark, [IDS, x, YEARS], "id long, vector array<float>, year int", 3)


@pytest.fixture(scope="session")
def users(spark, q):
    names = [f"u{j}" for j in range(QUERIES)]
    seen = [IDS[j : j + 30].tolist() for j in range(QUERIES)]
    schema = "id int, name string, `a.b` double, vector array<float>, seen array<bigint>"
    return frame(spark, [np.arange(QUERIES), names, np.arange(QUERIES) / 2, q, seen], schema, 4)


@pytest.fixture(scope="session")
def segments(tmp_path_factory, items):
    out = tmp_path_factory.mktemp("spark") / "segments"
    names = [f"segment-{i:05d}.thresher" for i in range(3)]
    with pytest.warns(UserWarning, match=r"3 segments of 800 vectors .* df.coalesce\(1\)"):
        assert thresher.spark.build(items, out, metric="cosine", columns="year") == names
    beside = [name + end for name in names for end in ("", ".columns", ".ids.npz")]
    assert sorted(os.listdir(out)) == sorted(beside)
    return out


@pytest.fixture
def no_jobs(spark):
    """Fail if a job runs."""
    tracker = spark.sparkContext.statusTracker()
    before = list(tracker.getJobIdsForGroup(None))
    yield
    assert list(tracker.getJobIdsForGroup(None)) == before


def table(df):
    """Return the rows of answers in the order of their queries."""
    rank = df.columns.index("rank")
    return sorted((tuple(row) for row in df.collect()), key=lambda row: (row[0], row[rank] or 0))


def rows_of(result, before=lambda j: (j,)):
    """Return what `table` has for a result of one process."""
    return [
        (*before(j), rank + 1, result.ids[j, rank].item(), result.scores64[j, rank].item(),
         str(result.guarantee[j]), float(result.delta[j]))
        for j in range(len(result))
        for rank in range(result.counts[j])
    ]  # fmt: skip


def test_one_process(users, segments, x, q):
    found = thresher.spark.knn(users, segments, 7, method="certain", keep=["id", "name", "a.b"])
    assert [(f.name, f.dataType) for f in found.schema] == [
        ("id", types.IntegerType()),
        ("name", types.StringType()),
        ("a.b", types.DoubleType()),
        ("rank", types.IntegerType()),
        ("neighbor_id", types.LongType()),
        ("score", types.DoubleType()),
        ("guarantee", types.StringType()),
        ("delta", types.DoubleType()),
    ]
    got = table(found)
    with thresher.Index(x, ids=IDS, metric="cosine") as index:
        want = index.search(q, 7, method="certain")
    assert got == rows_of(want, lambda j: (j, f"u{j}", j / 2))
    _, scores = best(q, x, 7, "cosine")
    assert np.allclose([row[5] for row in got], scores.reshape(-1), atol=1e-12)
    plan = found._jdf.queryExecution().executedPlan().toString()
    assert "search_segments" in plan
    assert "Exchange" not in plan


def test_names_in_the_pages(spark, users, segments):
    """By the REST API that Spark's pages are made of, when it has been told of all jobs."""
    context = spark.sparkContext
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def asked(what):
        context._jsc.sc().listenerBus().waitUntilEmpty(120_000)
        with direct.open(f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/{what}") as answer:
            return json.load(answer)

    assert f"thresher.spark.build {segments}" in [job.get("description") for job in asked("jobs")]
    found = thresher.spark.knn(users.limit(1), segments, 1)
    context.setJobDescription("users of today")
    try:
        found.collect()
    finally:
        context.setJobDescription(None)
    [query] = [q for q in asked("sql?planDescription=true&length=1000") if q["description"] == "users of today"]
    assert f"search_segments {segments}" in query["planDescription"]


def test_options_are_those_of_a_search(users, segments, x, q):
    options = {"method": "exact", "filter": "year >= 2003", "min_score": 0.6}
    found = thresher.spark.knn(users, segments, 40, exclude="seen", keep="id", **options)
    with thresher.Index(x, ids=IDS, metric="cosine", columns={"year": YEARS}) as index:
        lists = [IDS[j : j + 30].tolist() for j in range(QUERIES)]
        want = index.search(q, 40, exclude=lists, **options)
    assert 0 < want.counts.min() < want.counts.max() <= 40
    assert table(found) == rows_of(want)


def test_texts_doubles_and_selves(spark, tmp_path, x):
    """Ids that are strings, arrays of double, l2, and no vector that finds itself; repartitioned, so in any order."""
    few = x[:600].astype(np.float64) + 100
    names = np.array([f"n{i:03}" for i in range(len(few))])
    df = frame(spark, [names, few], "id string, vector array<double>", 2).repartition(3)
    thresher.spark.build(df.coalesce(1), tmp_path / "out", metric="l2", dtype="float64")
    found = thresher.spark.knn(df, tmp_path / "out", 3, method="exact", exclude_self=True)
    assert found.schema["neighbor_id"].dataType == types.StringType()
    _, scores = best(few, few, 4, "l2")
    got = table(found)
    assert [row[0] for row in got] == np.repeat(names, 3).tolist()
    assert all(row[0] != row[2] for row in got)
    assert np.allclose([row[3] for row in got], np.sort(scores, axis=1)[:, 1:].reshape(-1), rtol=1e-9)


def test_queries_without_answers(spark, segments, q):
    """Those whose vector is null, and those that nothing reaches, have no row, or by leftouter one with nulls."""
    rows = [(0, q[0].tolist()), (1, None), (2, (-q[2] * 0 + 1e-3 * np.eye(DIM)[0]).tolist()), (3, q[3].tolist())]
    df = spark.createDataFrame(rows, "id int, vector array<float>").coalesce(1)
    inner = thresher.spark.knn(df, segments, 2, method="exact", nulls="drop", min_score=0.7)
    assert [row[:2] for row in table(inner)] == [(0, 1), (0, 2), (3, 1), (3, 2)]
    outer = thresher.spark.knn(df, segments, 2, method="exact", nulls="drop", min_score=0.7, joinType="leftouter")
    got = table(outer)
    assert got[:2] + got[4:] == table(inner)
    assert got[2:4] == [(1, None, None, None, None, None), (2, None, None, None, None, None)]
    none = thresher.spark.knn(df.where("id = 1"), segments, 2, nulls="drop", joinType="leftouter", keep=["id"])
    assert table(none) == [(1, None, None, None, None, None)]
    assert table(thresher.spark.knn(df.where("id > 7"), segments, 2)) == []
    with pytest.raises(
        Exception, match="vector: the query of id 1 has none \\(null\\) in column 'vector'; nulls='drop'"
    ) as e:
        thresher.spark.knn(df, segments, 2).collect()
    assert "_rows_of" not in str(e.value)  # the way through this package


def test_what_a_driver_refuses(spark, users, items, segments, tmp_path, no_jobs):
    knn, build = thresher.spark.knn, thresher.spark.build
    (tmp_path / "none").mkdir()
    (tmp_path / "file").write_text("")
    twice = users.select("*", sf.col("id"))
    for call, kind, *said in [
        (lambda: knn(users, ""), ValueError, "vectors: an empty path"),
        (lambda: knn(users, tmp_path / "where"), FileNotFoundError, "vectors: there is no such", "where"),
        (lambda: knn(users, tmp_path / "none"), FileNotFoundError, "the folder has no files .thresher", "none"),
        (lambda: knn(users, segments, vector="vektor"), ValueError, "vector: queries have no column 'vektor'", "seen"),
        (lambda: knn(users, segments, id="key"), ValueError, "id: queries have no column 'key'", "id=None"),
        (lambda: knn(users, segments, exclude="bought"), ValueError, "exclude: queries have no column 'bought'"),
        (lambda: knn(users, segments, vector="name"), TypeError, "vector: column 'name' is string"),
        (lambda: knn(users, segments, exclude="name"), TypeError, "exclude: column 'name' is string"),
        (lambda: knn(users, segments, id="a.b"), TypeError, "id: column 'a.b' is double"),
        (lambda: knn(users, segments, keep=["nme"]), ValueError, "keep: queries have no column 'nme'"),
        (lambda: knn(twice, segments), ValueError, "id: 2 columns of queries are called 'id'"),
        (lambda: knn(users.withColumnRenamed("name", "Score"), segments), ValueError, "keep:", "'Score'", "rename it"),
        (lambda: knn(users, segments, filter="yeer > 1"), ValueError, "yeer", "the columns are year"),
        (lambda: knn(users, segments, 0), ValueError, "k: 0"),
        (lambda: knn(users, segments, method="best"), ValueError, "best"),
        (lambda: knn(users, segments, nulls="keep"), ValueError, "nulls: 'keep', expected 'refuse' or 'drop'"),
        (lambda: knn(users, segments, joinType="cross"), ValueError, "joinType: 'cross'"),
        (lambda: knn(users, segments, id=None, exclude_self=True), ValueError, "exclude_self", "id is None"),
        (lambda: knn(np.eye(3), segments), TypeError, "queries: numpy.ndarray, expected a DataFrame of Spark"),
        (lambda: build(items, segments, metric="cosine"), FileExistsError, "overwrite=True", str(segments)),
        (lambda: build(items, tmp_path / "file", metric="cosine"), FileExistsError, "it is a file", "file"),
        (lambda: build(items, tmp_path / "out", metric="cosin"), ValueError, "metric: 'cosin'"),
        (lambda: build(items, tmp_path / "out", metric="ip", columns="yr"), ValueError, "df has no column 'yr'"),
        (lambda: build(items, tmp_path / "out", metric="ip", vector="year"), TypeError, "vector: column 'year' is int"),
    ]:  # fmt: skip
        with pytest.raises(kind) as e:
            call()
        assert all(part in str(e.value) for part in said), str(e.value)
    assert sorted(os.listdir(tmp_path)) == ["file", "none"]


def test_what_tasks_refuse():
    """Rows are named by their ids."""

    def refused(values, *said, id="id", dim=None, ids=(5, 6, 7)):
        block = pa.table({"id": list(ids)[: len(values)], "v": pa.array(values, pa.list_(pa.float32()))})
        with pytest.raises(ValueError) as e:
            thresher.spark._rows_of(block, "v", id, "query", False, dim, "the vectors have")
        assert all(part in str(e.value) for part in said), str(e.value)

    refused([[1, 2], None, [1, 2]], "the query of id 6 has none (null) in column 'v'")
    refused([[1, 2], [1, 2], [1]], "the query of id 7 has 1 values", "the query of id 5 has 2")
    refused([[1, 2], [1, 2], [1, 2]], "the query of id 'b' has 2 values", "the vectors have 3", dim=3, ids="bcd")
    refused([[1, 2], [1, None]], "the query of id 6 has a null among its values")
    refused([[], []], "the query of id 5 has no values")
    refused([[1, 2], None], "query 1 of a block has none", id=None)


def test_builds_that_fail_leave_the_folder(spark, items, segments, tmp_path, x):
    out = tmp_path / "segments"
    shutil.copytree(segments, out)
    before = {name: os.stat(out / name).st_mtime_ns for name in os.listdir(out)}
    wrong = [
        ([1, 2, 3], [[1.0, 2.0], [1.0, 2.0], [1.0]], 3, "dimension differs, 2 in partition 0 of column 'vector' and 1"),
        ([1, 2], [[1.0, 2.0], [2.0, float("nan")]], 1, "partition 0.*row 1"),
        ([], [], 1, "df: no rows"),
    ]
    for ids, vectors, partitions, said in wrong:
        df = frame(spark, [ids, vectors], "id long, vector array<double>", partitions)
        with pytest.raises(ValueError, match=said):
            thresher.spark.build(df, out, metric="cosine", overwrite=True)
        assert {name: os.stat(out / name).st_mtime_ns for name in os.listdir(out)} == before
    df = frame(spark, [[1, 2, 3], [[1.0, 2.0], None, [0.0, 1.0]]], "id long, vector array<double>", 1)
    assert thresher.spark.build(df, out, metric="ip", nulls="drop", overwrite=True) == ["segment-00000.thresher"]
    with thresher.Index.open(out / "segment-00000.thresher") as index:
        assert index.ids.tolist() == [1, 3]
    assert sorted(os.listdir(out)) == ["segment-00000.thresher", "segment-00000.thresher.ids.npz"]


def test_a_driver_that_dies_while_it_moves_segments(tmp_path, x):
    """What it leaves is no folder of segments, and the next build replaces it."""
    out = tmp_path / "out"

    def written(count):
        staged = Staged(out)
        with thresher.Index(x[:50], metric="ip", ids=IDS[:50]) as index:
            return staged, [staged.write(index, f"{i}-1") for i in range(count)]

    staged, made = written(3)
    os.remove(made[1])
    with pytest.raises(OSError):
        staged.commit(made)
    with pytest.raises(ValueError, match="has not ended: 1 of 3 segments are there"):
        Folder(out)
    staged, made = written(2)
    assert staged.commit(made) == ["segment-00000.thresher", "segment-00001.thresher"]
    assert len(Folder(out)) == 2
    with pytest.raises(FileExistsError, match="overwrite=True"):
        Staged(out)


def test_replaced_segments_are_not_mixed(spark, users, tmp_path, x, q):
    """An index that Python processes keep open is not taken for the one that has replaced it."""
    out, df = tmp_path / "out", users.where("id < 20")
    both = [
        frame(spark, [IDS[:500] + 1000 * i, x[500 * i : 500 * i + 500]], "id long, vector array<float>", 1)
        for i in range(2)
    ]
    thresher.spark.build(both[0], out, metric="cosine")
    stale = thresher.spark.knn(df, out, 2, method="exact", keep="id")
    first = table(stale)
    thresher.spark.build(both[1], out, metric="cosine", overwrite=True)
    with pytest.raises(Exception, match=r"segment-00000.thresher was replaced since the folder was opened"):
        stale.collect()
    second = table(thresher.spark.knn(df, out, 2, method="exact", keep="id"))
    for i, got in enumerate((first, second)):
        rows, _ = best(q[:20], x[500 * i : 500 * i + 500], 2, "cosine")
        assert [row[2] for row in got] == (IDS[rows] + 1000 * i).reshape(-1).tolist()


def test_segments_stay_open(spark, users, segments, tmp_path, monkeypatch):
    """Python processes, which Spark keeps between tasks, open a folder once."""

    class Join(thresher.spark._Join):
        def answered(self, segments, block):
            once(tmp_path, f"{os.getpid()}-{id(segments)}-block-{len(os.listdir(tmp_path))}-{block['id'][0]}")
            return super().answered(segments, block)

    monkeypatch.setattr(thresher.spark, "_Join", Join)
    for _ in range(3):
        assert len(table(thresher.spark.knn(users, segments, 2))) == 2 * QUERIES
    seen = [name.split("-block-")[0] for name in os.listdir(tmp_path)]
    assert len(seen) >= 12
    assert len(set(seen)) == len({name.split("-")[0] for name in seen}) < len(seen)


def once(folder, name):
    """Return whether nobody has asked for this name before, in whichever process."""
    try:
        os.close(os.open(f"{folder}/{name}", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def waiting(folder):
    """Return what says its processes in the pipe `begun` and waits for ever, in the middle of a job."""

    class Join(thresher.spark._Join):
        def answered(self, segments, block):
            from thresher import _worker

            with open(folder / "begun", "w") as begun:
                begun.write(f"{os.getpid()} {_worker.get().process}\n")
            signal.pause()

    return Join


def test_cancelled(spark, users, segments, tmp_path, monkeypatch):
    """A job that is cancelled ends, its processes end with it, and the next job answers."""
    os.mkfifo(tmp_path / "begun")
    want = table(thresher.spark.knn(users, segments, 2, keep="id"))
    found = []

    def cancel():
        with open(tmp_path / "begun") as begun:
            found.extend(os.pidfd_open(int(pid)) for pid in begun.readline().split())
        spark.sparkContext.cancelAllJobs()

    with monkeypatch.context() as patch:
        patch.setattr(thresher.spark, "_Join", waiting(tmp_path))
        job = thresher.spark.knn(users.coalesce(1), segments, 2)
        other = threading.Thread(target=cancel)
        other.start()
        with pytest.raises(Exception, match="cancelled"):
            job.collect()
        other.join()
    assert len(found) == 2
    for process in found:
        assert select.select([process], [], [], 300)[0], "it goes on"
        os.close(process)
    assert table(thresher.spark.knn(users, segments, 2, keep="id")) == want


def killing(folder, victims):
    """Return what kills in the middle of a block, between two segments: blocks by their first query."""

    class Join(thresher.spark._Join):
        def answered(self, segments, block):
            from thresher import _worker

            index, first = segments.indexes[1], block["id"][0].as_py()
            search = index.search

            def fatal(*args, **named):
                once(folder, f"block-{first}-{os.getpid()}-{len(os.listdir(folder))}")
                if first in victims and once(folder, f"{victims[first]}-{first}"):
                    os.kill(os.getpid() if victims[first] == "python" else _worker.get().process, signal.SIGKILL)
                return search(*args, **named)

            index.search = fatal
            try:
                yield from list(super().answered(segments, block))
            finally:
                del index.search

    return Join


def test_killed(spark, segments, q, tmp_path, monkeypatch):
    """kill -9 of Python workers and of the children that search: the same table, and a kill costs a block."""
    partitions = 2 * KILLS
    step = QUERIES // 12
    ids = np.arange(partitions * step)
    df = frame(spark, [ids, q[ids % QUERIES]], "id int, vector array<float>", partitions)
    want = table(thresher.spark.knn(df, segments, 10, method="certain"))
    kinds = ["python", "child"]
    victims = {int(2 * i * step): kinds[i % 2] for i in range(KILLS)}
    monkeypatch.setattr(thresher.spark, "_Join", killing(tmp_path, victims))
    assert table(thresher.spark.knn(df, segments, 10, method="certain")) == want
    seen = os.listdir(tmp_path)
    assert sorted(name for name in seen if name[0] != "b") == sorted(
        f"{kind}-{first}" for first, kind in victims.items()
    )
    assert sum(name[0] == "b" for name in seen) <= partitions + KILLS
