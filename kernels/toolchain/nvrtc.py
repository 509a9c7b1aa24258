"""NVRTC, the compiler from CUDA C++ to PTX, through its C interface.

Reference: https://docs.nvidia.com/cuda/archive/12.4.1/nvrtc/
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from pathlib import Path


class CompileError(Exception):
    """The compiler rejected a source, or warned; the text is its log."""


class Compiler:
    """libnvrtc from the packages below root."""

    def __init__(self, root: Path) -> None:
        folder = root / "nvidia" / "cuda_nvrtc" / "lib"
        # libnvrtc opens it by file name, which finds a library that is already loaded
        ctypes.CDLL(str(folder / "libnvrtc-builtins.so.12.4"), ctypes.RTLD_GLOBAL)
        self._lib = ctypes.CDLL(str(folder / "libnvrtc.so.12"))
        self._lib.nvrtcGetErrorString.restype = ctypes.c_char_p

    def compile(self, name: str, source: bytes, headers: Mapping[str, bytes], flags: Sequence[str]) -> bytes:
        """The PTX of a source, which can include these headers and nothing else. Headers
        are passed in memory and no folder is searched, so the PTX does not depend on
        paths."""
        program = ctypes.c_void_p()
        self._ok(
            self._lib.nvrtcCreateProgram(
                ctypes.byref(program),
                source,
                name.encode(),
                len(headers),
                _strings(headers.values()),
                _strings(h.encode() for h in headers),
            )
        )
        try:
            failed = self._lib.nvrtcCompileProgram(program, len(flags), _strings(f.encode() for f in flags))
            log = self._text(program, "ProgramLog").decode().strip()
            if failed or log:  # warnings are errors
                raise CompileError(log or self._lib.nvrtcGetErrorString(failed).decode())
            return self._text(program, "PTX")
        finally:
            self._lib.nvrtcDestroyProgram(ctypes.byref(program))

    def _text(self, program: ctypes.c_void_p, what: str) -> bytes:
        size = ctypes.c_size_t()
        self._ok(getattr(self._lib, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
        text = ctypes.create_string_buffer(size.value)
        self._ok(getattr(self._lib, f"nvrtcGet{what}")(program, text))
        return text.value

    def _ok(self, result: int) -> None:
        if result:
            raise CompileError(self._lib.nvrtcGetErrorString(result).decode())


def _strings(values) -> ctypes.Array:
    values = list(values)
    return (ctypes.c_char_p * len(values))(*values)
