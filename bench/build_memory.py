"""What building a collection costs when it is larger than the memory it may take.

    python3 bench/build_memory.py THRESHER [--vectors N] [--dim D] [--limit MIB] [--turns T] [--folder DIR]

For each form of the same vectors (npy, one Parquet file, 64 of them, a pipe) `thresher build` runs in turns without a
limit and with GOMEMLIMIT; the vectors are not in memory when it begins. Printed are, of each: seconds of the wall
clock, of the processor (user and system), faults that read from the disk, and bytes that it reads or writes, at their
least of all turns, with ratios; and the most memory while it ran: private pages that are no file's (RssAnon), and of
the file that is written what was resident (mincore) and dirty in its mappings (smaps), both also in segments, a
sixteenth of the memory that it takes. Builds under a limit must write the
same bytes as those without.
"""

import argparse
import ctypes
import hashlib
import mmap
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

SAMPLE_SECONDS = 0.05


def write_forms(folder: Path, n: int, dim: int, forms: list[str]) -> None:
    """Write the vectors in npy and in those of the forms that are of Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(1)
    npy, one, many = folder / "v.npy", folder / "v.parquet", folder / "parts"
    rows = np.lib.format.open_memmap(npy, "w+", np.float32, (n, dim))
    scale = (1 / np.sqrt(1 + np.arange(dim))).astype(np.float32)
    block = 1 << 16
    drawn = rng.standard_normal((min(n, block), dim), np.float32) * scale
    for lo in range(0, n, block):  # the same rows, reflected: drawing all would take minutes
        hi = min(n, lo + block)
        np.multiply(drawn[: hi - lo], rng.choice(np.float32([-1, 1]), dim), out=rows[lo:hi])
    rows.flush()

    def table(lo: int, hi: int) -> "pa.Table":
        values = pa.array(np.asarray(rows[lo:hi]).reshape(-1))
        return pa.table({"vector": pa.FixedSizeListArray.from_arrays(values, dim)})

    plain = {"use_dictionary": False, "compression": "none"}
    if "Parquet" in forms:
        with pq.ParquetWriter(one, table(0, 1).schema, **plain) as w:
            for lo in range(0, n, 8192):
                w.write_table(table(lo, min(n, lo + 8192)))
    many.mkdir()
    for i in range(64 if "64 Parquet" in forms else 0):
        pq.write_table(table(n * i // 64, n * (i + 1) // 64), many / f"{i:02}.parquet", row_group_size=8192, **plain)


class Watch(threading.Thread):
    """Looks at a process and the file that it writes, until told to end."""

    def __init__(self, pid: int, folder: Path):
        super().__init__(daemon=True)
        self.pid, self.folder, self.ended = pid, folder, threading.Event()
        self.private = self.resident = self.dirty = 0

    def run(self) -> None:
        while not self.ended.wait(SAMPLE_SECONDS):
            try:
                self.look()
            except (OSError, ValueError):  # it has ended, or the file has no byte yet
                continue

    def look(self) -> None:
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("RssAnon:"):
                self.private = max(self.private, int(line.split()[1]) << 10)
        dirty, ours = 0, False
        for line in Path(f"/proc/{self.pid}/smaps").read_text().splitlines():
            if "-" in line.split(" ", 1)[0]:
                ours = str(self.folder) in line
            elif ours and line.startswith(("Shared_Dirty:", "Private_Dirty:")):
                dirty += int(line.split()[1]) << 10
        self.dirty = max(self.dirty, dirty)
        self.resident = max(self.resident, sum(resident(p) for p in self.folder.iterdir()))


def resident(path: Path) -> int:
    """Return how many bytes of a file are in memory."""
    size = path.stat().st_size
    libc = ctypes.CDLL(None, use_errno=True)
    with path.open("rb") as f, mmap.mmap(f.fileno(), size, mmap.MAP_SHARED, mmap.PROT_READ) as m:
        pages = (ctypes.c_ubyte * ((size + mmap.PAGESIZE - 1) // mmap.PAGESIZE))()
        at = np.frombuffer(memoryview(m), np.uint8)
        failed = libc.mincore(ctypes.c_void_p(at.ctypes.data), ctypes.c_size_t(size), pages)
        del at
        if failed:
            raise OSError(ctypes.get_errno(), "mincore")
        return int(np.count_nonzero(np.frombuffer(bytes(pages), np.uint8) & 1)) * mmap.PAGESIZE


def forget(source: Path) -> None:
    """Drop what is in memory of the files of the vectors."""
    for path in source.iterdir() if source.is_dir() else [source]:
        with path.open("rb") as f:
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def build(binary: str, args: list[str], npy: Path, folder: Path, limit: int, data: int) -> dict[str, float]:
    """Build once, and return what it took; data limits RLIMIT_DATA, in bytes, if it is not 0."""
    for name in folder.iterdir():
        name.unlink()
    os.sync()
    forget(npy if args[-1] == "-" else Path(args[-1]))
    out = folder / "c.thresher"
    env = {**os.environ, "GOMEMLIMIT": f"{limit}MiB" if limit else ""}
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    source = npy.open("rb") if args[-1] == "-" else subprocess.DEVNULL
    cat = subprocess.Popen(["cat"], stdin=source, stdout=subprocess.PIPE) if args[-1] == "-" else None
    command = [binary, "build", *args, "--metric", "ip", "--out", str(out)]
    if limit and data:
        command = ["bash", "-c", f'ulimit -d {data >> 10}; exec "$@"', "build", *command]
    child = subprocess.Popen(command, stdin=cat.stdout if cat else source, stderr=subprocess.DEVNULL, env=env)
    watch = Watch(child.pid, folder)
    watch.start()
    code = child.wait()
    took = time.monotonic() - begun
    watch.ended.set()
    watch.join()
    if cat and cat.stdout:
        cat.stdout.close()
        cat.wait()
    if code:
        sys.exit(f"{' '.join(command)} ended with code {code}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{args[-1]}, limit {limit} MiB: {took:.2f} s", file=sys.stderr, flush=True)
    return {
        "wall": took,
        "processor": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
        "faults": after.ru_majflt - before.ru_majflt,
        "disk": 512 * (after.ru_inblock + after.ru_oublock - before.ru_inblock - before.ru_oublock),
        "private": watch.private,
        "resident": watch.resident,
        "dirty": watch.dirty,
    }


def digest(path: Path, headers: bool) -> str:
    """Return a digest of a file, or of its header, which holds the checksums of all sections."""
    with path.open("rb") as f:
        if headers:
            return hashlib.blake2b(f.read(1 << 14)).hexdigest()
        return hashlib.file_digest(f, "blake2b").hexdigest()


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("binary")
    p.add_argument("--vectors", type=int, default=500_000)
    p.add_argument("--dim", type=int, default=256)
    p.add_argument("--limit", type=int, default=128, help="MiB")
    p.add_argument("--turns", type=int, default=2)
    p.add_argument("--folder", type=Path, help="of the vectors, made if it is not there and then kept")
    p.add_argument("--forms", default="npy,Parquet,64 Parquet,pipe")
    p.add_argument("--rlimit", action="store_true", help="limit RLIMIT_DATA to as much, too")
    p.add_argument("--headers", action="store_true", help="compare headers, which hold checksums of all sections")
    o = p.parse_args()
    with tempfile.TemporaryDirectory(dir=o.folder.parent if o.folder else None) as scratch:
        data, out = o.folder or Path(scratch) / "data", Path(scratch) / "out"
        out.mkdir()
        forms = {"npy": "v.npy", "Parquet": "v.parquet", "64 Parquet": "parts", "pipe": "-"}
        if not data.exists():
            data.mkdir()
            write_forms(data, o.vectors, o.dim, o.forms.split(","))
        args = {form: ["--vectors", name if name == "-" else str(data / name)] for form, name in forms.items()}
        if o.turns == 0:
            return
        print(f"{(data / 'v.npy').stat().st_size / 1e6:.0f} MB of npy, limit {o.limit} MiB, least of {o.turns} turns")
        print(
            "| from | wall, s: without, with | ratio | processor, s | ratio | faults from disk | disk, MB | ratio "
            "| private MB | resident MB, segments | dirty MB, segments |"
        )
        print("|---|---|---|---|---|---|---|---|---|---|---|")
        sums = set()
        for form in o.forms.split(","):
            runs: dict[int, list[dict[str, float]]] = {0: [], o.limit: []}
            for _ in range(o.turns):
                for limit, of in runs.items():
                    of.append(build(o.binary, args[form], data / "v.npy", out, limit, o.limit << 20 if o.rlimit else 0))
                    sums.add(digest(out / "c.thresher", o.headers))
            least = ("wall", "processor", "faults", "disk")
            a, b = ({key: min(x[key] for x in of) for key in least} for of in runs.values())
            most = {key: max(x[key] for x in runs[o.limit]) / 1e6 for key in ("private", "resident", "dirty")}
            segment = o.limit * 1.048576 * 0.75 / 16  # of three quarters of what is free
            wall, processor = b["wall"] / a["wall"], b["processor"] / a["processor"]
            print(
                f"| {form} | {a['wall']:.2f}, {b['wall']:.2f} | {wall:.2f} "
                f"| {a['processor']:.2f}, {b['processor']:.2f} | {processor:.2f} "
                f"| {a['faults']:.0f}, {b['faults']:.0f} "
                f"| {a['disk'] / 1e6:.0f}, {b['disk'] / 1e6:.0f} | {b['disk'] / max(a['disk'], 1):.2f} "
                f"| {most['private']:.0f} "
                f"| {most['resident']:.0f}, {most['resident'] / segment:.1f} "
                f"| {most['dirty']:.1f}, {most['dirty'] / segment:.1f} |",
                flush=True,
            )
        if len(sums) > 1:
            sys.exit("builds wrote different bytes")


if __name__ == "__main__":
    main()
