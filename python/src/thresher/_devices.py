"""What can search, and what is said of GPUs that are there and do not."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from thresher import _worker

__all__ = ["DeviceUnused", "depth", "devices", "warn_unused"]

_HERE = str(Path(__file__).parent)


class DeviceUnused(RuntimeWarning):
    """A GPU that is there does not search; the message says why, and what to do about it."""


def devices() -> list[dict[str, Any]]:
    """Return what can search, after trying it.

    Returns
    -------
    list of dict
        ``{"name": "cpu", "device": .., "threads": ..}``, and of the GPUs ``{"name": "cuda", "device": ..}``
        with those that can be used. If none can, ``missing`` is the reason. ``gpu_unused`` has, for each GPU
        that is there and cannot be used (an old driver or card, one that is full or another
        process's), a sentence that says why, and what to do about it.
    """
    reply, _ = _worker.get().call("devices", {})
    return list(reply["devices"])


def warn_unused(worker: _worker.Worker, sentences: Sequence[str]) -> None:
    """Warn of each GPU that does not search, once in the life of a worker, at the line that called this package."""
    for sentence in sentences:
        if sentence not in worker.told:
            worker.told.add(sentence)
            warnings.warn(
                f'a GPU is not used: {sentence} (with device="cpu" none is looked for)',
                DeviceUnused,
                stacklevel=depth(),
            )


def depth() -> int:
    """Return the stacklevel at which its caller warns of the first caller outside of this package."""
    depth, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        depth, frame = depth + 1, frame.f_back
    return depth
