"""Index.open of URLs, by fsspec."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

import thresher

fsspec = pytest.importorskip("fsspec")

ROWS = np.random.default_rng(3).standard_normal((40, 8)).astype(np.float32)


@pytest.fixture
def memory(tmp_path, monkeypatch):
    """A file system in memory, and a cache of its own."""
    monkeypatch.setenv("THRESHER_CACHE", str(tmp_path / "cache"))
    system = fsspec.filesystem("memory")
    yield system
    for name in system.find("/"):
        system.rm(name)


def put(system, name, rows):
    with system.open(name, "wb") as f:
        np.save(f, rows)


def wanted(rows, query):
    return np.argsort(-(rows.astype(np.float64) @ query), kind="stable")[:5].tolist()


def test_one_file_is_fetched_once_and_anew_when_it_changed(memory, monkeypatch):
    put(memory, "/bucket/x.npy", ROWS)
    query = ROWS[7].astype(np.float64)
    gets = []
    get_file = type(memory).get_file
    monkeypatch.setattr(type(memory), "get_file", lambda self, *a, **k: (gets.append(a[0]), get_file(self, *a, **k))[1])
    for _ in range(2):
        with thresher.Index.open("memory://bucket/x.npy", metric="ip") as index:
            assert index.search(ROWS[7:8], 5, method="exact").ids[0].tolist() == wanted(ROWS, query)
    assert len(gets) == 1
    put(memory, "/bucket/x.npy", -ROWS)
    with thresher.Index.open("memory://bucket/x.npy", metric="ip") as index:
        assert index.search(ROWS[7:8], 5, method="exact").ids[0].tolist() == wanted(-ROWS, query)
    assert len(gets) == 2


def test_folders_patterns_and_lists(memory):
    put(memory, "/bucket/t/part-2.npy", ROWS[:10])
    put(memory, "/bucket/t/part-10.npy", ROWS[10:30])
    put(memory, "/bucket/last.npy", ROWS[30:])
    for path, rows in [
        ("memory://bucket/t", ROWS[:30]),
        ("memory://bucket/t/part-*.npy", ROWS[:30]),
        ("memory://bucket/t/part-2.npy,memory://bucket/last.npy", np.concatenate([ROWS[:10], ROWS[30:]])),
        (["memory://bucket/last.npy", "memory://bucket/t/part-2.npy"], np.concatenate([ROWS[30:], ROWS[:10]])),
    ]:
        with thresher.Index.open(path, metric="ip") as index:
            assert len(index) == len(rows)
            assert index.search(ROWS[7:8], 5, method="exact").ids[0].tolist() == wanted(
                rows, ROWS[7].astype(np.float64)
            )


def test_a_collection_brings_its_ids(memory, tmp_path):
    names = [f"row-{i}" for i in range(len(ROWS))]
    with thresher.Index(ROWS, metric="ip", ids=names) as index:
        index.save(tmp_path / "a.thresher")
    for path in tmp_path.glob("a.thresher*"):
        memory.put_file(str(path), "/bucket/" + path.name)
    with thresher.Index.open("memory://bucket/a.thresher") as index:
        assert index.search(ROWS[7:8], 1, method="exact").ids[0].tolist() == [names[wanted(ROWS, ROWS[7])[0]]]


def test_errors_name_the_url(memory, monkeypatch):
    for path, said in [("memory://bucket/none.npy", "no such file"), ("memory://bucket/none-*.npy", "no file matches")]:
        with pytest.raises(FileNotFoundError, match=said) as failed:
            thresher.Index.open(path, metric="ip")
        assert path in str(failed.value)
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(ImportError, match=r"s3://bucket/x\.npy is read through fsspec, which is not installed"):
        thresher.Index.open("s3://bucket/x.npy", metric="ip")


@pytest.mark.parametrize("name", ["x.thresher", "x.npy"])
def test_errors_in_what_was_fetched_name_the_url(memory, name):
    with memory.open("/junk/" + name, "wb") as f:
        f.write(b"junk" * 100)
    with pytest.raises(OSError, match="junkju") as failed:
        thresher.Index.open("memory://junk/" + name, metric=None if name == "x.thresher" else "ip")
    assert str(failed.value).startswith(f"path: memory://junk/{name}: ")


def test_errors_in_folders_and_beside_collections_name_the_url(memory, tmp_path):
    with thresher.Index(ROWS, metric="ip") as index:
        index.save(tmp_path / "a.thresher")
    for name in ("a.thresher", "b.thresher"):
        memory.put_file(str(tmp_path / "a.thresher"), "/bucket/built/" + name)
    with pytest.raises(OSError, match="is a prepared collection") as failed:
        thresher.Index.open("memory://bucket/built", metric="ip")
    assert str(failed.value).startswith("path: memory://bucket/built/a.thresher: ")
    assert "memory://bucket/built/*.parquet" in str(failed.value)
    assert "cache" not in str(failed.value)
    with memory.open("/bucket/built/a.thresher.columns", "wb") as f:
        f.write(b"junk" * 100)
    with pytest.raises(OSError, match="not a file of columns") as failed:
        thresher.Index.open("memory://bucket/built/a.thresher")
    assert str(failed.value).startswith("path: memory://bucket/built/a.thresher.columns: ")


def test_a_missing_package_is_named(memory, monkeypatch):
    def lacking(url):
        raise ImportError("Install s3fs to access S3")

    for url, package in [("s3://bucket/x.npy", "s3fs"), ("https://host/x.npy?key=secret", "aiohttp requests")]:
        with monkeypatch.context() as patch:
            patch.setattr("fsspec.core.url_to_fs", lacking)
            with pytest.raises(ImportError) as failed:
                thresher.Index.open(url, metric="ip")
        assert str(failed.value).startswith(f"path: {url.split('?')[0]}: ")
        assert str(failed.value).endswith(f"pip install {package}")
    with pytest.raises(ValueError, match=r"^path: zz://a/x\.npy: fsspec knows no protocol 'zz': .* package"):
        thresher.Index.open("zz://a/x.npy", metric="ip")


def saved(tmp_path, system, name, rows):
    with thresher.Index(rows, metric="ip") as index:
        index.save(tmp_path / name)
    system.put_file(str(tmp_path / name), "/bucket/" + name)


def cached(tmp_path, name):
    return list((tmp_path / "cache" / "python").glob("*/" + name))


def best(url, **settings):
    with thresher.Index.open(url, **settings) as index:
        return index.search(ROWS[7:8], 5, method="exact").ids[0].tolist()


@pytest.mark.parametrize("noticed", [True, False])
def test_a_damaged_copy_is_fetched_again(memory, tmp_path, noticed):
    saved(tmp_path, memory, "a.thresher", ROWS)
    url, want = "memory://bucket/a.thresher", wanted(ROWS, ROWS[7].astype(np.float64))
    assert best(url) == want
    (copy,) = cached(tmp_path, "a.thresher")
    status = copy.stat()
    damaged = bytearray(copy.read_bytes())
    damaged[-1] ^= 255  # of the last section
    copy.write_bytes(damaged)
    if not noticed:  # a disk that lost bits tells nobody: the checksums of the file do
        os.utime(copy, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert best(url) == want
    assert copy.read_bytes() == (tmp_path / "a.thresher").read_bytes()


def test_a_file_that_is_damaged_where_it_came_from_is_fetched_once(memory, tmp_path, monkeypatch):
    memory.pipe_file("/bucket/a.thresher", b"junk" * 100)
    gets = []
    get_file = type(memory).get_file
    monkeypatch.setattr(type(memory), "get_file", lambda self, *a, **k: (gets.append(a[0]), get_file(self, *a, **k))[1])
    with pytest.raises(OSError, match=r"memory://bucket/a\.thresher"):
        thresher.Index.open("memory://bucket/a.thresher")
    assert len(gets) == 1


def test_the_cache_is_brought_to_its_limit(memory, tmp_path, monkeypatch):
    for name in ("a.npy", "b.npy", "c.npy"):
        put(memory, "/bucket/" + name, ROWS)
    fetch = (
        "import fsspec, sys, thresher\n"
        "fsspec.filesystem('memory').pipe_file(sys.argv[1], open(sys.argv[2], 'rb').read())\n"
        "from thresher import _fetch; _fetch.fetched('memory:/' + sys.argv[1])\n"
        "print('held', flush=True); sys.stdin.read()\n"
    )
    np.save(tmp_path / "x.npy", ROWS)
    command = [sys.executable, "-c", fetch]
    # One process has ended, another uses what it fetched.
    subprocess.run([*command, "/p/ended.npy", str(tmp_path / "x.npy")], input=b"", check=True, capture_output=True)
    with subprocess.Popen(
        [*command, "/p/used.npy", str(tmp_path / "x.npy")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as user:
        assert user.stdout.readline() == b"held\n"
        monkeypatch.setenv("THRESHER_CACHE_LIMIT", "1kB")
        assert best("memory://bucket/a.npy", metric="ip") == wanted(ROWS, ROWS[7].astype(np.float64))
        assert len(cached(tmp_path, "a.npy")) == len(cached(tmp_path, "used.npy")) == 1
        assert not cached(tmp_path, "ended.npy")
        user.stdin.close()
        user.wait()
    best("memory://bucket/b.npy", metric="ip")
    assert not cached(tmp_path, "used.npy")
    assert len(cached(tmp_path, "a.npy")) == 1  # this process may use it again
    monkeypatch.setenv("THRESHER_CACHE_LIMIT", "much")
    with pytest.raises(ValueError, match="THRESHER_CACHE_LIMIT: 'much' is no size"):
        thresher.Index.open("memory://bucket/c.npy", metric="ip")
