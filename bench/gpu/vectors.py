"""The sets of the race: synthetic vectors and real text, made on the device with torch, else by numpy. The
distributions are those of bench/data.py; seeds are fixed."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import data
import text

QUERIES = 4096  # the first quarter chooses plans, the rest is raced and checked
SEED = 20240614


LARGE = 1 << 22  # atoms of a set that there may be too little room for, and of which torch has one copy


@dataclass(frozen=True)
class Recipe:
    """decay is the exponent of the deviations' power law, None for iid Gaussian and for real text."""

    name: str
    n: int
    d: int
    decay: float | None
    queries: int = QUERIES
    text: bool = False

    @property
    def bytes(self) -> int:
        return 4 * self.n * self.d

    @property
    def large(self) -> bool:
        return self.n > LARGE

    @property
    def setup(self) -> float:
        """Most seconds until it is made and loaded. A byte is written to the host's memory (2 GB/s at least),
        read and coded by all cores (.35 to .7 GB/s each by docs/benchmarks/cpu.md), copied to the device, and,
        if there are mixed codes, read by half of the cores (.5 GB/s each by docs/gpu.md)."""
        return 20 + 1.4e-9 * self.bytes


FULL = (
    Recipe("power768", 1 << 20, 768, 0.6),
    Recipe("power4096", 1 << 18, 4096, 0.6),
    Recipe("iid768", 1 << 20, 768, None),
    Recipe("records768", 60000, 768, None, text.QUERIES, text=True),
    Recipe("power8m", 1 << 23, 768, 0.6),
)
# Used if torch has no GPU: sizes that a CPU generates and checks in time. No target is judged by them.
LESS = (
    Recipe("power768", 1 << 17, 768, 0.6),
    Recipe("power4096", 1 << 14, 4096, 0.6),
    Recipe("iid768", 1 << 17, 768, None),
    Recipe("records768", 8000, 768, None, text.QUERIES, text=True),
    Recipe("power8m", 1 << 18, 768, 0.6),
)
# The same names, so that the report can be rehearsed.
SMALL = (
    Recipe("power768", 4000, 768, 0.6, 128),
    Recipe("power4096", 800, 256, 0.6, 128),
    Recipe("iid768", 1000, 64, None, 128),
    Recipe("records768", 1000, 64, None, 128, text=True),
    Recipe("power8m", 3000, 128, 0.6, 128),
)
WIDTHS = (768, 512, 384, 256, 128)  # coordinates of a large set, by what there is room for


def recipes(small: bool, torch: Any = None) -> tuple[Recipe, ...]:
    if small:
        return SMALL
    return FULL if torch is not None and torch.cuda.is_available() else LESS


@dataclass(frozen=True)
class Room:
    """Bytes that are free: on the device, of the host's memory, in the folder of the files, which may be in
    that memory."""

    device: int
    host: int
    folder: int

    @staticmethod
    def here(torch: Any, folder: Path) -> Room:
        on_device = torch.cuda.mem_get_info()[0] if torch is not None and torch.cuda.is_available() else 1 << 62
        return Room(on_device, host_memory(), shutil.disk_usage(folder).free)

    def has(self, r: Recipe) -> bool:
        """Whether a set fits three times: as a file, as torch's on the device, with 3 GB of scores beside them,
        and as a collection: rows, codes, and some 600 bytes an atom of slab, mixed codes and terms. Of the
        device's memory that torch leaves, a fifth is kept for searches; the host holds file, codes and
        programs."""
        searched = self.device - r.bytes - (3 << 30)
        loaded = r.n * (5 * r.d + 600)
        host = r.bytes + r.n * (r.d + 600) + (8 << 30)
        return loaded <= 0.8 * searched and host <= self.host and r.bytes + r.bytes // 50 <= self.folder


def host_memory() -> int:
    """Bytes that may still be used: of the machine, or of the limit of a container."""
    free = 1 << 62
    try:
        told = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines() if ":" in line)
        free = 1024 * int(told["MemAvailable"].split()[0])
        limit, used = (Path("/sys/fs/cgroup", f"memory.{name}").read_text().strip() for name in ("max", "current"))
        if limit != "max":
            free = min(free, int(limit) - int(used))
    except (OSError, KeyError, ValueError):  # another system: what is known so far
        pass
    return free


def fitted(recipe: Recipe, room: Room) -> Recipe:
    """The recipe of a large set with as many coordinates as there is room for; others as they are."""
    if not recipe.large:
        return recipe
    those = [replace(recipe, d=d) for d in WIDTHS if d <= recipe.d]
    return next((r for r in those if room.has(r)), those[-1])


@dataclass
class Vectors:
    """A set on the host and, with torch, on the device as tensors."""

    recipe: Recipe
    atoms: np.ndarray  # [n, d] float32
    queries: np.ndarray  # [queries, d] float32
    on_device: tuple[Any, Any] | None = None

    @staticmethod
    def paths(recipe: Recipe, folder: Path) -> tuple[Path, Path]:
        return folder / f"{recipe.name}.atoms", folder / f"{recipe.name}.queries"

    def save(self, folder: Path) -> tuple[Path, Path]:
        """Writes both as plain float32, unless make did; returns the paths."""
        paths = self.paths(self.recipe, folder)
        for array, path in zip((self.atoms, self.queries), paths, strict=True):
            if not isinstance(array, np.memmap) or Path(str(array.filename)) != path.resolve():
                array.tofile(path)
        return paths


def make(recipe: Recipe, torch: Any = None, folder: Path | None = None) -> Vectors:
    """A set. A large one of torch's is in its files in folder already, so that the host holds it once. Raises
    text.NoText."""
    if recipe.text:
        return of_text(recipe, torch)
    if torch is None:
        n, d, m = recipe.n, recipe.d, recipe.queries
        made = data.gaussian(n, d, m) if recipe.decay is None else data.embeddings(n, d, recipe.decay, m)
        atoms, queries, _ = made
        return Vectors(recipe, np.ascontiguousarray(atoms), np.ascontiguousarray(queries))
    torch.set_float32_matmul_precision("highest")
    x = normal(torch, recipe) if recipe.decay is None else embeddings(torch, recipe)
    atoms, queries = x[: recipe.n], x[recipe.n :]
    if recipe.large and folder is not None:
        path = Vectors.paths(recipe, folder)[0].resolve()
        return Vectors(recipe, mapped(torch, atoms, path), queries.cpu().numpy(), (atoms, queries))
    return Vectors(recipe, atoms.cpu().numpy(), queries.cpu().numpy(), (atoms, queries))


def mapped(torch: Any, x: Any, path: Path) -> np.ndarray:
    """A copy of x on the host, in a file."""
    out = np.memmap(path, np.float32, "w+", shape=tuple(x.shape))
    for lo in range(0, len(x), 1 << 17):
        torch.from_numpy(out[lo : lo + (1 << 17)]).copy_(x[lo : lo + (1 << 17)])
    return out


def of_text(recipe: Recipe, torch: Any) -> Vectors:
    device = "cpu" if torch is None else device_of(torch)
    if torch is not None:
        torch.set_float32_matmul_precision("highest")
    counts = text.read(text.FILE)
    atoms, queries = text.analyse(counts, recipe.n, recipe.queries, recipe.d, torch, device)
    if torch is None:
        return Vectors(recipe, np.ascontiguousarray(atoms, np.float32), np.ascontiguousarray(queries, np.float32))
    return Vectors(recipe, atoms.cpu().numpy(), queries.cpu().numpy(), (atoms, queries))


def device_of(torch: Any) -> str:
    return "cuda" if torch.cuda.is_available() else "cpu"


def generator(torch: Any) -> Any:
    return torch.Generator(device_of(torch)).manual_seed(SEED)


def normal(torch: Any, recipe: Recipe) -> Any:
    shape = recipe.n + recipe.queries, recipe.d
    return torch.randn(shape, generator=generator(torch), device=device_of(torch))


def embeddings(torch: Any, recipe: Recipe) -> Any:
    """data.embeddings, by torch: atoms, then queries."""
    g, device, d = generator(torch), device_of(torch), recipe.d
    rows = recipe.n + recipe.queries
    topics = int(np.clip(recipe.n // 100, 8, 1000))
    deviation = torch.arange(1, d + 1, device=device, dtype=torch.float64) ** -float(recipe.decay or 0)
    deviation = (deviation / deviation.norm()).float()

    def gaussian(count: int, share: float) -> Any:
        return torch.randn((count, d), generator=g, device=device) * (deviation * share**0.5)

    popular = (torch.arange(topics, device=device) + 10.0) ** -0.8
    topic = torch.multinomial(popular, rows, replacement=True, generator=g)
    subtopic = topic * 20 + torch.randint(20, (rows,), generator=g, device=device)
    common = gaussian(1, 1)
    common *= 0.4 / common.norm()
    of_topic, of_subtopic = gaussian(topics, 0.3 * 0.84), gaussian(topics * 20, 0.3 * 0.84)
    basis, upper = torch.linalg.qr(torch.randn((d, d), generator=g, device=device, dtype=torch.float64))
    basis = (basis * upper.diagonal().sign()).float()
    x = torch.empty((rows, d), device=device)
    for lo in range(0, rows, 1 << 17):  # in pieces, to limit memory
        part = slice(lo, lo + (1 << 17))
        y = gaussian(len(topic[part]), 0.4 * 0.84) + common + of_topic[topic[part]] + of_subtopic[subtopic[part]]
        spread = torch.exp(0.06 * torch.randn((len(y), 1), generator=g, device=device))
        x[part] = (y * (spread / y.norm(dim=1, keepdim=True))) @ basis
    return x
