"""Shared memory where Python or the system lacks something, and how many descriptors it takes."""

import ctypes
import errno
import gc
import os
import platform
import subprocess
import sys
import tempfile

import numpy as np
import pytest

import thresher
from thresher import _links, _memory, _segments, _worker

pytestmark = pytest.mark.skipif(not _memory.LINUX, reason="the ways are those of Linux")

SIZE = 100_000


@pytest.fixture(autouse=True)
def choice(monkeypatch, tmp_path):
    """Let each test choose a way anew, and find its temporary files in a folder of its own."""
    monkeypatch.setattr(_memory, "_chosen", None)
    _memory._libc.cache_clear()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


class Libc:
    """A C library whose system calls fail, as a sandbox lets them."""

    def syscall(self, *_):
        ctypes.set_errno(errno.EPERM)
        return -1


def without_python(monkeypatch):
    monkeypatch.delattr(os, "memfd_create", raising=False)


def refused_to_python(monkeypatch):
    def refuse(*_):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "memfd_create", refuse, raising=False)


def without_syscall(monkeypatch):
    without_python(monkeypatch)
    monkeypatch.setattr(_memory, "_libc", lambda: (ctypes, Libc()))


def closed(monkeypatch, *folders):
    """Let no file be made in folders."""
    there = os.open

    def refuse(path, flags, *args, **kwargs):
        if flags & os.O_CREAT and str(path).startswith(folders):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return there(path, flags, *args, **kwargs)

    monkeypatch.setattr(os, "open", refuse)


def without_shm(monkeypatch):
    without_syscall(monkeypatch)
    closed(monkeypatch, "/dev/shm")


def without_any(monkeypatch):
    without_syscall(monkeypatch)
    closed(monkeypatch, "/dev/shm", tempfile.gettempdir())


def searched():
    """Search a new index by a new worker, with answers that are too large for the frame; return the worker."""
    rng = np.random.default_rng(1)
    vectors = rng.standard_normal((600, 24), np.float32)
    worker = _worker.Worker()
    try:
        held = _segments.empty(vectors.shape)
        held[:] = vectors
        info, _ = worker.call("build", {"metric": "ip"}, {"vectors": held})
        fields = {"handle": info["handle"], "k": 50, "method": "certain"}
        _, found = worker.call("search", fields, {"queries": vectors})
        scores = vectors.astype(float) @ vectors.T.astype(float)
        assert found["rows"].nbytes > 64 << 10
        np.testing.assert_array_equal(found["rows"], np.argsort(-scores, axis=1, kind="stable")[:, :50])
    finally:
        worker.close()
    return worker


@pytest.mark.parametrize(
    ("take_away", "way", "where"),
    [
        (lambda _: None, "os.memfd_create", "/memfd:thresher"),
        (without_python, "the system call memfd_create", "/memfd:thresher"),
        (refused_to_python, "the system call memfd_create", "/memfd:thresher"),
        (without_syscall, "a file in /dev/shm", "/dev/shm/thresher-"),
        (without_shm, "a file in the folder for temporary files", "{tmp}/thresher-"),
    ],
    ids=["all", "no os.memfd_create", "os.memfd_create refused", "no system call", "no /dev/shm"],
)
def test_the_next_way_is_taken(monkeypatch, tmp_path, take_away, way, where):
    take_away(monkeypatch)
    fd = _memory.new_file(SIZE)
    try:
        assert os.readlink(f"/proc/self/fd/{fd}").startswith(where.format(tmp=tmp_path))
        assert os.fstat(fd).st_size == SIZE
        assert os.fstat(fd).st_nlink == 0
        assert os.pread(fd, SIZE, 0) == bytes(SIZE)
    finally:
        os.close(fd)
    assert _memory._chosen[0].name == way
    assert searched()._link.passes
    assert os.listdir(tmp_path) == []


def test_pipes_are_the_last_way(monkeypatch, caplog):
    without_any(monkeypatch)
    assert not _memory.available()
    assert not searched()._link.passes
    for name in ("os.memfd_create", "system call", "/dev/shm", "temporary files"):
        assert name in caplog.text
    with pytest.raises(OSError, match="1000 bytes"):
        _memory.new_file(1000)


def test_no_system_call_without_ctypes(monkeypatch):
    without_python(monkeypatch)
    monkeypatch.setitem(sys.modules, "ctypes", None)
    os.close(_memory.new_file(SIZE))
    assert _memory._chosen[0].name == "a file in /dev/shm"
    assert searched()._link.passes


def test_an_unknown_machine_has_no_system_call(monkeypatch):
    without_python(monkeypatch)
    monkeypatch.setattr(platform, "machine", lambda: "vax")
    os.close(_memory.new_file(SIZE))
    assert _memory._chosen[0].name == "a file in /dev/shm"


def test_a_full_folder_leaves_a_file_to_the_next_one(monkeypatch, tmp_path):
    without_syscall(monkeypatch)
    there = os.posix_fallocate

    def full(fd, offset, size):
        if size > 1 << 20 and os.readlink(f"/proc/self/fd/{fd}").startswith("/dev/shm"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        there(fd, offset, size)

    monkeypatch.setattr(os, "posix_fallocate", full)
    fds = [_memory.new_file(size) for size in (1 << 20, 2 << 20, 1 << 20)]
    try:
        folders = [os.path.dirname(os.readlink(f"/proc/self/fd/{fd}")) for fd in fds]
        assert folders == ["/dev/shm", str(tmp_path), "/dev/shm"]
    finally:
        for fd in fds:
            os.close(fd)


def test_space_is_reserved_without_posix_fallocate(monkeypatch):
    without_syscall(monkeypatch)
    monkeypatch.delattr(os, "posix_fallocate")
    fd = _memory.new_file(5 << 20)
    try:
        assert os.fstat(fd).st_size == 5 << 20
        assert os.fstat(fd).st_blocks * 512 >= 5 << 20
    finally:
        os.close(fd)


def test_a_lack_of_descriptors_chooses_nothing(monkeypatch):
    def none(*_):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as patch:
        patch.setattr(os, "memfd_create", none)
        with pytest.raises(OSError, match=os.strerror(errno.EMFILE)):
            _memory.available()
    assert _memory.available()
    assert _memory._chosen[0].name == "os.memfd_create"


def test_pipes_without_socket_pairs(monkeypatch, caplog):
    def refuse(*_):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(_links.socket, "socketpair", refuse)
    assert not searched()._link.passes
    assert "socketpair" in caplog.text


def test_pipes_without_signal_masks(monkeypatch):
    monkeypatch.setattr(_links, "sigmask", None)
    assert not searched()._link.passes


def test_mappings_hold_no_descriptor():
    fd = _memory.new_file(SIZE)
    open_before = len(os.listdir("/proc/self/fd"))
    memory = _memory.mapped(fd, SIZE)
    assert len(os.listdir("/proc/self/fd")) == open_before
    assert len(memory) == SIZE
    memory[SIZE - 1] = 7
    assert os.pread(fd, 1, SIZE - 1) == b"\x07"
    os.close(fd)
    memory.close()


def test_a_segment_of_a_dead_worker_is_copied_for_the_next():
    vectors = _segments.empty((300, 16))
    vectors[:] = np.random.default_rng(3).standard_normal(vectors.shape)
    answers = []
    for _ in range(2):
        worker = _worker.Worker()
        try:
            info, _ = worker.call("build", {"metric": "ip"}, {"vectors": vectors})
            assert _segments.segment_of(vectors)[0].file.fd == -1
            fields = {"handle": info["handle"], "k": 5, "method": "certain"}
            answers.append(worker.call("search", fields, {"queries": vectors})[1]["rows"])
        finally:
            worker.close()
    np.testing.assert_array_equal(*answers)


def test_large_segments_keep_their_descriptor(monkeypatch):
    monkeypatch.setattr(_segments, "_COPIED", 1 << 10)
    vectors = _segments.empty((300, 16))
    vectors[:] = 1
    for _ in range(2):
        worker = _worker.Worker()
        try:
            worker.call("build", {"metric": "ip"}, {"vectors": vectors})
            assert worker._known == {_segments.segment_of(vectors)[0].number}
        finally:
            worker.close()


def test_a_mapped_file_is_copied_without_proc(monkeypatch, tmp_path):
    path = tmp_path / "vectors.npy"
    np.save(path, np.ones((1 << 15, 16), np.float32))
    vectors = np.load(path, mmap_mode="r")
    assert _segments.shared(vectors)
    there = open

    def no_proc(path, *args, **kwargs):
        if str(path).startswith("/proc"):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return there(path, *args, **kwargs)

    monkeypatch.setattr("builtins.open", no_proc)
    assert not _segments.shared(vectors)


def run(program, *args):
    """Run a program in a process of its own, and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", program, *args], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


MANY = """
import os, resource, sys
import numpy as np, thresher
from thresher import _segments
limit, count, _segments._COPIED = map(int, sys.argv[1:])
resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
x = np.random.default_rng(0).standard_normal((20, 8)).astype("f")
held = [thresher.Index(x, metric="ip") for _ in range(count)]
assert all((index.search(x[:1], 1).ids == held[0].search(x[:1], 1).ids).all() for index in held[::50])
print(len(held), len(os.listdir("/proc/self/fd")))
"""


@pytest.mark.parametrize(("limit", "count"), [(256, 300), (512, 600)])
@pytest.mark.parametrize(("copied", "held"), [(_segments._COPIED, 0), (0, _segments._KEPT)], ids=["small", "large"])
def test_hundreds_of_indices_live_at_once(limit, count, copied, held):
    built, descriptors = map(int, run(MANY, str(limit), str(count), str(copied)).split())
    assert built == count
    assert held <= descriptors < held + 30


@pytest.mark.parametrize(("mebibytes", "held"), [(63, 0), (65, 1)])
def test_descriptors_of_one_large_index(mebibytes, held):
    _worker.get()
    vectors = np.zeros((mebibytes << 4, 1 << 14), np.float32)
    vectors[:, 0] = np.arange(len(vectors))

    def count():
        return [len(os.listdir(f"/proc/{process}/fd")) for process in ("self", _worker.get().process)]

    with thresher.Index(vectors[:2], metric="ip"):
        before = count()
    with thresher.Index(vectors, metric="ip") as index:
        assert index.search(vectors[-1:], 1).ids.tolist() == [[len(vectors) - 1]]
        assert count() == [before[0] + held, before[1]]
    assert count() == before


def test_the_largest_segments_keep_their_descriptors(monkeypatch):
    monkeypatch.setattr(_segments, "_COPIED", 1 << 10)
    monkeypatch.setattr(_segments, "_KEPT", 3)
    monkeypatch.setattr(_segments, "_keeping", {})
    sizes = [500, 900, 300, 700, 800, 300, 600]
    arrays = [_segments.empty((n, 16)) for n in sizes]

    def keeping():
        return [a.shape[0] for a in arrays if _segments.segment_of(a)[0].file.fd >= 0]

    answers = []
    for _ in range(2):  # the second worker has copies
        worker = _worker.Worker()
        try:
            for i, array in enumerate(arrays):
                array[:] = np.random.default_rng(i).standard_normal(array.shape)
                info, _ = worker.call("build", {"metric": "ip"}, {"vectors": array})
                fields = {"handle": info["handle"], "k": 5, "method": "certain"}
                answers.append(worker.call("search", fields, {"queries": array[:3]})[1]["rows"])
        finally:
            worker.close()
        assert keeping() == [900, 700, 800]
    np.testing.assert_array_equal(answers[: len(sizes)], answers[len(sizes) :])
    del array, arrays[1]
    gc.collect()
    assert sorted(f.size for f in _segments._keeping.values()) == [700 * 64, 800 * 64]


# A filter by which memfd_create is refused to this process and to those that it starts.
SECCOMP = """
import ctypes, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
steps = [(0x20, 0, 0, 0), (0x15, 0, 1, int(sys.argv[1])), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
class Filter(ctypes.Structure):
    _fields_ = [("len", ctypes.c_ushort), ("code", ctypes.c_void_p)]
filter = Filter(len(steps), ctypes.addressof(code))
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(filter), 0, 0) == 0
import numpy as np, thresher
from thresher import _memory
x = np.random.default_rng(0).standard_normal((2000, 16)).astype("f")
_, ids = thresher.knn(x, x, 20, metric="l2")
assert ids.nbytes > 64 << 10
print((ids[:, 0] == np.arange(2000)).all(), _memory._chosen[0].name)
"""


@pytest.mark.skipif(platform.machine() not in _memory._MEMFD_CREATE, reason="the number of memfd_create is not known")
def test_a_sandbox_without_memfd_create():
    number = _memory._MEMFD_CREATE[platform.machine()]
    assert run(SECCOMP, str(number)).strip() == "True a file in /dev/shm"


def test_opening_a_file_takes_little_memory(tmp_path):
    """The worker streams vectors of a file into a file of its own, and maps it."""
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    n, d = 150_000, 128
    rows = np.random.default_rng(1).standard_normal((n, d), dtype=np.float32)
    column = pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), d)
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({"vector": column, "key": pa.array(np.arange(n) + 7)}), path, row_group_size=10_000)
    code = (
        "import sys, thresher\n"
        "index = thresher.Index.open(sys.argv[1], metric='ip', ids='key')\n"
        "for name in ('self', index._worker.process):\n"
        "    lines = dict(line.split(':', 1) for line in open(f'/proc/{name}/status'))\n"
        "    print(lines['RssAnon'].split()[0], lines['VmHWM'].split()[0], index.ids[0])\n"
    )
    out = subprocess.run([sys.executable, "-c", code, str(path)], check=True, capture_output=True, text=True).stdout
    (own, _, first), (worker, _, _) = (line.split() for line in out.splitlines())
    assert first == "7"
    # Rows are 77 MB, and with their codes some 190.
    assert int(own) << 10 < rows.nbytes
    assert int(worker) << 10 < rows.nbytes
