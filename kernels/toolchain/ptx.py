"""Declarations of a PTX text: version, target, entries and their parameters."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod

_ENTRY = re.compile(r"\.entry\s+(\w+)\s*\(([^)]*)\)\s*((?:\.\w+[^\n{]*\n)*)")
# The version of PTX that CUDA 12.0 brought, and drivers of branch 525.
VERSION = "8.0"
# A hint about the load that follows it, of PTX 8.3: which of the bytes are used. Older assemblers refuse it.
_HINT = re.compile(r'^\t\.pragma "used_bytes_mask \d+";\n', re.MULTILINE)
_VERSION = re.compile(r"^\.version (\d+)\.(\d+)$", re.MULTILINE)
_WIDTHS = {"8": 1, "16": 2, "32": 4, "64": 8}


@dataclass(frozen=True)
class Entry:
    name: str
    params: int
    threads: int  # of a block, by __launch_bounds__; 0 without it


class UnfitError(Exception):
    """PTX that the launcher cannot launch or the tool cannot read."""


def version(ptx: str) -> str:
    found = _VERSION.search(ptx)
    if not found:
        raise UnfitError("the PTX has no .version")
    return f"{found[1]}.{found[2]}"


def lowered(ptx: str) -> str:
    """The text as PTX of VERSION, for drivers older than the compiler: it names that version, and hints of later ones
    are left out. An assembler refuses everything else that the version named does not have."""
    if _number(version(ptx)) < _number(VERSION):
        raise UnfitError(f"the compiler wrote PTX {version(ptx)}, older than {VERSION}")
    return _VERSION.sub(f".version {VERSION}", _HINT.sub("", ptx), count=1)


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def entries(ptx: str) -> list[Entry]:
    """The entries in the order of the file. A launch passes each parameter in words of
    8 bytes, so wider parameters of other sizes are refused."""
    found = []
    for name, params, directives in _ENTRY.findall(ptx):
        params = [p for p in (p.strip() for p in params.split(",")) if p]
        for at, param in enumerate(params):
            if (size := _size(param)) > 8 and size % 8:
                raise UnfitError(f"parameter {at} of {name} takes {size} bytes, which are no whole words of 8")
        bounds = re.search(r"\.maxntid ([\d, ]+)", directives)
        threads = prod(int(n) for n in bounds.group(1).split(",")) if bounds else 0
        found.append(Entry(name, len(params), threads))
    return found


def _size(param: str) -> int:
    """The size in bytes of `.param .u64 k_param_0` or `.param .align 4 .b8 k_param_0[12]`."""
    found = re.fullmatch(r"\.param\s(?:.*\s)?\.[a-z]+(8|16|32|64)\s+\w+(?:\[(\d+)\])?", param)
    if not found:
        raise UnfitError(f"no parameter of a known form: {param}")
    return _WIDTHS[found.group(1)] * int(found.group(2) or 1)
