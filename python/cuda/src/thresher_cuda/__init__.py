"""The program of thresher with its CUDA backend, which the package thresher uses if this one is installed."""

from pathlib import Path

__all__ = ["PROGRAM"]

PROGRAM = Path(__file__).parent / "_bin" / "thresher"
