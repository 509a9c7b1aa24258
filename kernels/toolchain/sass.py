"""SASS, what ptxas makes of PTX for one GPU: instructions, basic blocks, loops and their iterations."""

from __future__ import annotations

import heapq
import json
import re
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

_STEP = 16  # bytes an instruction
_JUMPS = ("BRA", "BSYNC", "EXIT", "RET", "BRX", "JMP")


class DisassembleError(Exception):
    """nvdisasm failed, or its output was not understood."""


@dataclass(frozen=True)
class Instruction:
    opcode: str
    operands: str
    predicate: str  # "" if it always executes

    @property
    def stem(self) -> str:
        return self.opcode.split(".")[0]


@dataclass(frozen=True)
class Loop:
    """A natural loop; blocks are given by their number."""

    head: int
    body: frozenset[int]


class Function:
    """An entry's instructions and their basic blocks."""

    def __init__(self, name: str, code: Sequence[Instruction]) -> None:
        self.name, self.code = name, code
        heads = {0}
        for at, i in enumerate(code):
            if i.stem in _JUMPS:
                heads |= {at + 1, *_targets(i)}
        cuts = sorted(h for h in heads if h < len(code))
        self.blocks = [range(a, b) for a, b in zip(cuts, [*cuts[1:], len(code)], strict=True)]
        number = {b.start: k for k, b in enumerate(self.blocks)}
        self.next = [tuple(number[at] for at in self._after(b.stop - 1) if at in number) for b in self.blocks]

    def _after(self, at: int) -> Iterable[int]:
        """Where threads continue after an instruction. BSYNC continues with the next
        instruction: there ptxas joins the threads it waits for. BRA.DIV is taken by
        divergent warps only, whose code is no part of an iteration."""
        i = self.code[at]
        if i.stem not in _JUMPS or i.opcode == "BRA.DIV" or i.stem == "BSYNC":
            return (at + 1,)
        jumps = _targets(i)
        # `BRA P1, 0x40` and `BRA.U UP0, 0x40` are conditional too
        return (*jumps, at + 1) if i.predicate or "P" in i.operands else jumps

    def block(self, k: int) -> Sequence[Instruction]:
        at = self.blocks[k]
        return self.code[at.start : at.stop]

    @cached_property
    def loops(self) -> list[Loop]:
        """The natural loops, one for each head, in the order of heads."""
        above = self._dominators()
        before: list[list[int]] = [[] for _ in self.blocks]
        for k, after in enumerate(self.next):
            for n in after:
                before[n].append(k)
        bodies: dict[int, set[int]] = {}
        for tail, after in enumerate(self.next):
            for head in after:
                if head in above[tail]:
                    body, todo = bodies.setdefault(head, {head}), [tail]
                    while todo:
                        if (k := todo.pop()) not in body:
                            body.add(k)
                            todo += before[k]
        return [Loop(head, frozenset(body)) for head, body in sorted(bodies.items())]

    def _dominators(self) -> list[set[int]]:
        """The dominators of each block, including itself; none for unreachable blocks."""
        order, seen, todo = [], {0}, [0]
        while todo:
            order.append(k := todo.pop())
            new = [n for n in self.next[k] if n not in seen]
            seen.update(new)
            todo += new
        above = [set(order) if k in seen else set() for k in range(len(self.blocks))]
        above[0], changed = {0}, True
        before = {k: [b for b in order if k in self.next[b]] for k in order}
        while changed:
            changed = False
            for k in order[1:]:
                new = set.intersection(*(above[b] for b in before[k])) | {k}
                if new != above[k]:
                    above[k], changed = new, True
        return above

    def iteration(self, loop: Loop, through: Callable[[Instruction], bool]) -> list[Instruction]:
        """The instructions of the shortest path around a loop through the block with the
        most instructions of a kind: an iteration without rare branches."""
        most = max(sorted(loop.body), key=lambda k: sum(map(through, self.block(k))))
        there = self._path(loop, loop.head, most) if most != loop.head else [loop.head]
        back = self._path(loop, most, loop.head)
        return [i for k in there[:-1] + back[:-1] for i in self.block(k)]

    def _path(self, loop: Loop, start: int, end: int) -> list[int]:
        """The path with the fewest instructions within a loop, of at least one block."""
        heap: list[tuple[int, list[int]]] = [(0, [start])]
        done: set[int] = set()
        while heap:
            length, path = heapq.heappop(heap)
            if path[-1] == end and len(path) > 1:
                return path
            if path[-1] in done:
                continue
            done.add(path[-1])
            for n in self.next[path[-1]]:
                if n in loop.body:
                    heapq.heappush(heap, (length + len(self.blocks[path[-1]]), [*path, n]))
        raise DisassembleError(f"{self.name}: no path from block {start} to {end}")


def innermost(function: Function, of: Callable[[Instruction], bool]) -> list[Loop]:
    """The loops with instructions of a kind, if no loop nested in them has any."""
    holding = [loop for loop in function.loops if any(of(i) for k in loop.body for i in function.block(k))]
    return [loop for loop in holding if not any(other.body < loop.body for other in holding)]


def _targets(i: Instruction) -> tuple[int, ...]:
    if i.stem not in ("BRA", "JMP"):
        return ()
    found = re.search(r"0x([0-9a-f]+)$", i.operands)
    return (int(found.group(1), 16) // _STEP,) if found else ()


def version(root: Path) -> str:
    run = subprocess.run([_program(root), "--version"], capture_output=True, text=True, check=True)
    found = re.search(r"release \S+, V(\S+)", run.stdout)
    return found.group(1) if found else "?"


def functions(root: Path, cubin: Path) -> dict[str, Function]:
    """The entries of a cubin by name."""
    run = subprocess.run([_program(root), "-json", str(cubin)], capture_output=True, text=True)
    if run.returncode:
        raise DisassembleError(f"{cubin}: {run.stderr}".strip())
    return parse(run.stdout)


def parse(text: str) -> dict[str, Function]:
    """Parses the output of `nvdisasm -json`: a list of metadata and functions."""
    try:
        listed = json.loads(text)[1]
        return {f["function-name"]: Function(f["function-name"], _code(f["sass-instructions"])) for f in listed}
    except (ValueError, LookupError, TypeError) as e:
        raise DisassembleError(f"nvdisasm printed something other than a list of functions: {e!r}") from e


def _code(listed: Iterable[Mapping[str, str]]) -> list[Instruction]:
    return [Instruction(i["opcode"], i.get("operands", ""), i.get("predicate", "")) for i in listed]


def _program(root: Path) -> str:
    return str(root / "nvidia" / "cu13" / "bin" / "nvdisasm")
