"""Progress of long calls: bars of tqdm where it is installed, else plain lines, or a function of the caller."""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, TypeAlias

Progress: TypeAlias = bool | Callable[[str, int, int], None] | None
"""True for bars of tqdm, or lines on stderr if it is not installed; or a function of (step, done, total)."""


def check_progress(progress: Progress) -> None:
    """Refuse what is neither a bool nor a function."""
    if not callable(progress) and progress not in (None, True, False):
        raise TypeError(f"progress: {progress!r}, expected True or a function of (step, done, total)")


@contextmanager
def reporting(progress: Progress) -> Iterator[Callable[[str, int, int], None] | None]:
    """Yield the function that is called with (step, done, total), or None; close bars at the end."""
    check_progress(progress)
    if callable(progress):
        yield progress
        return
    if not progress:
        yield None
        return
    try:
        with warnings.catch_warnings():  # of a notebook without widgets, which gets plain bars
            warnings.simplefilter("ignore")
            from tqdm.auto import tqdm
    except ImportError:
        if sys.stderr is None:  # of a program without a console
            yield None
            return
        lines = _Lines(sys.stderr)
        try:
            yield lines.update
        finally:
            lines.end()
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


class _Lines:
    """Progress as text: a line that is written over on a terminal, and else at most five lines for each step."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._terminal = stream.isatty()
        self._shown = ""  # what stands in the terminal's line
        self._step: str | None = None
        self._quarter = -1  # the last quarter of the step that a line was written for

    def update(self, step: str, done: int, total: int) -> None:
        share = min(done / total, 1.0) if total > 0 else 0.0
        text = f"{step}: {100 * share:3.0f}%, {done:,} of {total:,}" if total > 0 else f"{step}: {done:,}"
        if self._terminal:
            self._write("\r" + text.ljust(len(self._shown)))
            self._shown = text
            return
        if step != self._step:
            self._step, self._quarter = step, -1
        if (quarter := int(4 * share)) > self._quarter:
            self._quarter = quarter
            self._write(text + "\n")

    def end(self) -> None:
        """Clear the terminal's line."""
        if self._shown:
            self._write("\r" + " " * len(self._shown) + "\r")

    def _write(self, text: str) -> None:
        with contextlib.suppress(OSError, ValueError):  # a closed terminal must not end the work
            self._stream.write(text)
            self._stream.flush()
