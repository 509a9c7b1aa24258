"""docs/benchmarks/gpu/ptxas.md: registers and shared memory of every entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import ptx
from ptxas import TARGETS, Assembly, Use, warps_sm90

# A paragraph a line, as in the other pages of docs.
# ruff: noqa: E501
_HEAD = """\
# Registers and shared memory of the kernels
What ptxas {version} allocates for the committed PTX on each GPU; written by `make kernels`, compared by `make check-kernels`. Nothing here was measured on a GPU. No function spills a register.

Shared memory is what a block declares, in bytes, without the dynamic part that a launch adds. *Warps* is how many, of at most 64, an sm_90 multiprocessor can hold, given registers, that shared memory and the size of a block. *Stack* is in bytes a thread, where a source allows it.

"""


def markdown(version: str, entries: Mapping[str, Sequence[ptx.Entry]], made: Sequence[Assembly]) -> str:
    """The page. entries are keyed by file name, in the order of each file."""
    rows = [["file", "entry", "threads", *(f"registers {t}" if t == TARGETS[0] else t for t in TARGETS)]]
    rows[0] += ["shared", "stack", "warps sm_90"]
    by_file = {(a.file.stem, a.target): a for a in made}
    for file, listed in entries.items():
        for entry in listed:
            uses = {t: by_file[file, t].entries[entry.name] for t in TARGETS}
            stacks = {f.stack for t in TARGETS for f in by_file[file, t].functions if f.name == entry.name}
            rows.append(
                [
                    f"`{file}`",
                    f"`{entry.name}`",
                    str(entry.threads or "any"),
                    *(str(uses[t].registers) for t in TARGETS),
                    _span(u.shared for u in uses.values()),
                    _span(stacks),
                    _warps(uses["sm_90"], entry.threads),
                ]
            )
    rows.insert(1, ["---"] * 3 + ["---:"] * (len(rows[0]) - 3))
    return _HEAD.format(version=version) + "".join("| " + " | ".join(r) + " |\n" for r in rows)


def _span(values) -> str:
    """One figure if the targets agree, otherwise the least and the greatest."""
    low, high = min(values := list(values)), max(values)
    return str(low) if low == high else f"{low} to {high}"


def _warps(use: Use, threads: int) -> str:
    return str(warps_sm90(use, threads)) if threads else "-"
