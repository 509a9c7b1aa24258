"""The race's environment: Python packages, the child process, facts about the machine.

It imports the standard library only, since it creates the environment that the other modules
need."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import subprocess
import sys
import venv
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
BUILD = HERE / ".build"
RACER = BUILD / "racer"

# Incremented when the contents of the race change. 2: with FAISS's Panorama, and at least three
# rounds of thresher's fast rotation.
RACE = 2

# Processor flags that determine which kernels run.
FLAGS = ("avx2", "fma", "avx_vnni", "avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512_vnni", "amx_int8")


def enter(requirements: str, optional: Sequence[str] = (), env: dict[str, str] | None = None) -> None:
    """Continues in the virtual environment that holds these requirements, and creates it if
    necessary. Each of the optional ones may fail to install. env is the environment of the process
    that continues, by default with one thread. Returns if this already is that environment."""
    if sys.version_info < (3, 11):
        sys.exit(f"the pinned packages need Python 3.11 or newer, this is {platform.python_version()}")
    home = HERE / ".venv"
    python = home / "bin" / "python"
    if not python.exists():
        venv.create(home, with_pip=True)
    install(python, HERE / requirements, needed=True)
    for name in optional:
        install(python, HERE / name, needed=False)
    if Path(sys.prefix).resolve() != home.resolve():
        os.execve(python, [str(python), *sys.argv], env or one_thread())


def install(python: Path, wanted: Path, needed: bool) -> None:
    """Installs pinned packages, once."""
    stamp = python.parent.parent / f"{wanted.stem}-{hashlib.sha256(wanted.read_bytes()).hexdigest()[:12]}"
    if stamp.exists():
        return
    print(f"installing {wanted.relative_to(ROOT)}", flush=True)
    command: list[str | Path] = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", wanted]
    done = subprocess.run(command, check=needed)
    if done.returncode == 0:
        stamp.touch()


def one_thread() -> dict[str, str]:
    """The environment of a process whose libraries use one thread."""
    return os.environ | {n: "1" for n in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "GOMAXPROCS")}


def all_threads() -> dict[str, str]:
    """The environment of a process whose libraries use every core."""
    return os.environ | {n: str(os.cpu_count()) for n in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "GOMAXPROCS")}


CORES: tuple[int, ...] = tuple(sorted(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else ()


def pin(pid: int, threads: int) -> None:
    """Restricts a process to the first cores, if the system can."""
    if CORES:
        os.sched_setaffinity(pid, CORES[:threads])


def go(*arguments: str | Path, folder: Path = ROOT, check: bool = True) -> str:
    """Runs the go command in a folder, on all cores, and returns its output. The root's module has
    the program, the one of bench the tools."""
    done = subprocess.run(
        ["go", *arguments], cwd=folder, env=all_threads(), check=check, stdout=subprocess.PIPE, text=True
    )
    return done.stdout


def build_racer() -> None:
    BUILD.mkdir(exist_ok=True)
    commit()  # of what is built now
    go("build", "-trimpath", "-buildvcs=false", "-o", RACER, "./racer", folder=HERE)


def facts(binary: Path = RACER) -> dict[str, Any]:
    """What the results depend on, with the binary of thresher that is measured. Results with equal
    facts may be combined."""
    import faiss
    import numpy

    return {
        "cpu": processor(),
        "flags": [f for f in FLAGS if f in cpu_flags()],
        "cores": len(CORES) or os.cpu_count(),
        "caches": caches(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "go": go("env", "GOVERSION").strip(),
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "faiss": faiss.__version__,
        "faiss_options": faiss.get_compile_options().split(),
        "hnswlib": installed("hnswlib", "no C++ compiler?"),
        "scann": installed("scann-core", "no wheel?"),
        "race": RACE,
        "racer": hashlib.sha256(binary.read_bytes()).hexdigest()[:16],
    }


def installed(package: str, why_not: str) -> str:
    """An optional package and its version, or why it is missing."""
    try:
        return f"{package} {version(package)}"
    except PackageNotFoundError:
        return f"no {package} ({why_not})"


@functools.cache
def commit() -> str:
    """The commit checked out at the first call, which building the racer makes, with + if files
    differ from it; "" outside git."""
    head = output("git", "rev-parse", "--short", "HEAD")
    changed = output("git", "status", "--porcelain", "--untracked-files=no", "--", "*.go", "*.s", "go.mod", "bench")
    return head + ("+" if changed else "")


def output(*command: str) -> str:
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace")
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def processor() -> str:
    """The processor as named in /proc/cpuinfo, with family and model, which distinguish processors
    that a hypervisor names alike."""
    fields = cpuinfo()
    numbers = "/".join(fields.get(f, "?") for f in ("cpu family", "model", "stepping"))
    return f"{fields.get('model name', platform.processor())} (family/model/stepping {numbers})"


def cpu_flags() -> list[str]:
    return cpuinfo().get("flags", "").split()


def cpuinfo() -> dict[str, str]:
    try:
        first = Path("/proc/cpuinfo").read_text().split("\n\n")[0]
    except OSError:
        return {}
    pairs = (line.split(":", 1) for line in first.splitlines() if ":" in line)
    return {name.strip(): value.strip() for name, value in pairs}


def caches() -> str:
    found = []
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = ((index / f).read_text().strip() for f in ("level", "type", "size"))
        if kind != "Instruction":
            found.append(f"L{level} {size}")
    return ", ".join(found)
