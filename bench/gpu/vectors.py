"""The sets of the race: synthetic vectors, made on the device with torch, else by numpy. The
distribution is that of bench/data.py; seeds are fixed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import data

QUERIES = 4096  # the first quarter chooses plans, the rest is raced and checked
SEED = 20240614


@dataclass(frozen=True)
class Recipe:
    """decay is the exponent of the deviations' power law, None for iid Gaussian."""

    name: str
    n: int
    d: int
    decay: float | None
    queries: int = QUERIES


FULL = (
    Recipe("power768", 1 << 20, 768, 0.6),
    Recipe("power4096", 1 << 18, 4096, 0.6),
    Recipe("iid768", 1 << 20, 768, None),
)
# Used if torch has no GPU: sizes that a CPU generates and checks in time. No target is judged by them.
LESS = (
    Recipe("power768", 1 << 17, 768, 0.6),
    Recipe("power4096", 1 << 14, 4096, 0.6),
    Recipe("iid768", 1 << 17, 768, None),
)
# The same names, so that the report can be rehearsed.
SMALL = (
    Recipe("power768", 4000, 768, 0.6, 128),
    Recipe("power4096", 800, 256, 0.6, 128),
    Recipe("iid768", 1000, 64, None, 128),
)


def recipes(small: bool, torch: Any = None) -> tuple[Recipe, ...]:
    if small:
        return SMALL
    return FULL if torch is not None and torch.cuda.is_available() else LESS


@dataclass
class Vectors:
    """A set on the host and, with torch, on the device as tensors."""

    recipe: Recipe
    atoms: np.ndarray  # [n, d] float32
    queries: np.ndarray  # [queries, d] float32
    on_device: tuple[Any, Any] | None = None

    def save(self, folder: Path) -> tuple[Path, Path]:
        """Writes both as plain float32; returns the paths."""
        paths = folder / f"{self.recipe.name}.atoms", folder / f"{self.recipe.name}.queries"
        self.atoms.tofile(paths[0])
        self.queries.tofile(paths[1])
        return paths


def make(recipe: Recipe, torch: Any = None) -> Vectors:
    if torch is None:
        n, d, m = recipe.n, recipe.d, recipe.queries
        made = data.gaussian(n, d, m) if recipe.decay is None else data.embeddings(n, d, recipe.decay, m)
        atoms, queries, _ = made
        return Vectors(recipe, np.ascontiguousarray(atoms), np.ascontiguousarray(queries))
    torch.set_float32_matmul_precision("highest")
    x = normal(torch, recipe) if recipe.decay is None else embeddings(torch, recipe)
    atoms, queries = x[: recipe.n], x[recipe.n :]
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
