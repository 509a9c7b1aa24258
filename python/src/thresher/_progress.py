"""Progress of long calls: bars of tqdm where it is installed, or a function of the caller."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

Progress: TypeAlias = bool | Callable[[str, int, int], None] | None
"""True for bars of tqdm (none if it is not installed), or a function of (step, done, total)."""


@contextmanager
def reporting(progress: Progress) -> Iterator[Callable[[str, int, int], None] | None]:
    """Yield the function that is called with (step, done, total), or None; close bars at the end."""
    if callable(progress):
        yield progress
        return
    if progress not in (None, True, False):
        raise TypeError(f"progress: {progress!r}, expected True or a function of (step, done, total)")
    if not progress:
        yield None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        yield None
        return
    bars: dict[str, Any] = {}

    def update(step: str, done: int, total: int) -> None:
        bar = bars.get(step)
        if bar is None:
            for other in bars.values():
                other.close()
            bar = bars[step] = tqdm(total=total, desc=step, leave=False)
        bar.total = total
        bar.update(done - bar.n)

    try:
        yield update
    finally:
        for bar in bars.values():
            bar.close()
