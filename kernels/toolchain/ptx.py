"""Declarations of a PTX text: version, target, entries and their parameters."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod

_ENTRY = re.compile(r"\.entry\s+(\w+)\s*\(([^)]*)\)\s*((?:\.\w+[^\n{]*\n)*)")
_WIDTHS = {"8": 1, "16": 2, "32": 4, "64": 8}


@dataclass(frozen=True)
class Entry:
    name: str
    params: int
    threads: int  # of a block, by __launch_bounds__; 0 without it


class UnfitError(Exception):
    """PTX that the launcher cannot launch or the tool cannot read."""


def version(ptx: str) -> str:
    found = re.search(r"^\.version (\S+)$", ptx, re.MULTILINE)
    if not found:
        raise UnfitError("the PTX has no .version")
    return found.group(1)


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
