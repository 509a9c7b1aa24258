"""docs/benchmarks/gpu/sass.md: what one iteration of each hot loop asks of an sm_90 multiprocessor.

A source states what a warp does in one iteration of a loop:

    // sass ENTRY OPCODE: COUNT UNIT, which loop
    // sass ENTRY OPCODE: COUNT UNIT each, which loop

In the second form COUNT is for each such instruction of the iteration. This refers to every loop of the entry that contains the opcode
while no loop nested in it does, and to the shortest path around it through the opcode: an iteration without rare branches.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import sass

_MARK = re.compile(r"^[ \t]*// sass (\w+) (\w+): (\d+) (\w+)( each)?(?:, (\S.*))?$", re.MULTILINE)

TARGET = "sm_90"
# H200: multiprocessors, and schedulers of each, of which one issues an instruction a cycle. The clock is
# the one at which the data sheet's figures hold (1,979 TOPS of int8: 132 x 4 x 1,024 x 2 x 1.83 GHz).
PROCESSORS, SCHEDULERS, GHZ = 132, 4, 1.83

# The unit that executes an instruction, by the first part of its name, and for how many cycles a warp's
# instruction occupies that of one scheduler: CUDA C++ Programming Guide 12.4, throughput of native instructions, at
# compute capability 9.0; tensor cores by the data sheet. A tf32 product of 16x8x8 takes as long as an
# int8 product of 16x8x32. Shared memory is one unit for all four schedulers.
PIPES: tuple[tuple[str, float, frozenset[str]], ...] = (
    ("tensor", 4, frozenset({"IMMA", "HMMA"})),
    ("fma", 1, frozenset({"FFMA", "FMUL", "FADD"})),
    ("int mul", 2, frozenset({"IMAD", "IDP"})),
    ("alu", 2, frozenset({"LOP3", "IADD3", "VIADD", "ISETP", "FSETP", "SEL", "FSEL", "PRMT", "SHF", "LEA", "MOV"}
                         | {"IMNMX", "VIMNMX", "FMNMX", "VIADDMNMX", "I2FP", "IABS", "PLOP3", "P2R", "R2P", "SGXT", "BMSK"})),
    ("fp64", 2, frozenset({"DFMA", "DADD", "DMUL", "DSETP"})),
    ("xu", 8, frozenset({"MUFU", "POPC", "FLO", "BREV", "I2F", "F2I", "F2F"})),
    ("shared", 4, frozenset({"LDS", "LDSM", "STS", "ATOMS"})),
    ("global", 4, frozenset({"LDG", "LDGSTS", "STG", "ATOMG", "REDG", "LD", "ST"})),
    ("vote", 2, frozenset({"VOTE", "VOTEU", "SHFL", "MATCH", "REDUX"})),
)  # fmt: skip
REST = "other"  # branches, barriers, constants, uniform registers: a slot each


@dataclass(frozen=True)
class Mark:
    """A `// sass` line of a source."""

    entry: str
    opcode: str
    count: int
    unit: str
    each: bool
    which: str


@dataclass(frozen=True)
class Iteration:
    mark: Mark
    file: str
    address: int  # of the loop's first instruction
    opcodes: Counter[str]

    @property
    def count(self) -> int:
        """Units of an iteration."""
        each = sum(n for op, n in self.opcodes.items() if _stem(op) == self.mark.opcode) if self.mark.each else 1
        return self.mark.count * each

    @property
    def slots(self) -> int:
        return self.opcodes.total()

    def pipe(self, name: str) -> int:
        named = {n: ops for n, _, ops in PIPES}
        if name in named:
            return sum(n for op, n in self.opcodes.items() if _stem(op) in named[name])
        return self.slots - sum(self.pipe(n) for n in named)

    @property
    def moves(self) -> int:
        """Copies of registers and constants."""
        return sum(n for op, n in self.opcodes.items() if op in ("MOV", "IMAD.MOV.U32", "IMAD.MOV", "HFMA2.MMA", "CS2R"))

    @property
    def wavefronts(self) -> float:
        """Accesses of 128 bytes to shared memory, by the widths of the instructions.
        Matrices and adjacent words are in different banks (tile.cuh); lanes that read the same words
        may need fewer."""
        return sum(n * _width(op) / 4 for op, n in self.opcodes.items() if _stem(op) in ("LDS", "LDSM", "STS"))

    @property
    def busiest(self) -> tuple[str, float]:
        """The unit that an iteration occupies longest, in cycles of one scheduler."""
        cycles = {name: a * self.pipe(name) for name, a, _ in PIPES if name != "shared"}
        cycles |= {"issue": self.slots, "shared": SCHEDULERS * self.wavefronts}
        return max(cycles.items(), key=lambda c: c[1])

    def seconds(self, cycles: float) -> float:
        """The time of 1e9 pairs, or 1e12 of other units, at so many cycles an iteration."""
        count = 1e9 if self.mark.unit == "pairs" else 1e12
        return count / self.count * cycles / (PROCESSORS * SCHEDULERS * GHZ * 1e9)


def _stem(opcode: str) -> str:
    return opcode.split(".")[0]


def _width(opcode: str) -> int:
    """Bytes a lane."""
    if _stem(opcode) == "LDSM":
        return 4 * int(opcode.split(".")[-1])
    parts = opcode.split(".")
    return 16 if "128" in parts else 8 if "64" in parts else 4


def marks(text: str) -> list[Mark]:
    """The `// sass` lines of a source."""
    return [Mark(e, op, int(n), unit, bool(each), which) for e, op, n, unit, each, which in _MARK.findall(text)]


def iterations(file: str, listed: Iterable[Mark], functions: Mapping[str, sass.Function]) -> list[Iteration]:
    found = []
    for mark in listed:
        if mark.entry not in functions:
            raise sass.DisassembleError(f"kernels/{file}.cu names {mark.entry}, which has no code")

        def of(i: sass.Instruction, opcode: str = mark.opcode) -> bool:
            return i.stem == opcode

        function = functions[mark.entry]
        loops = sass.innermost(function, of)
        if not loops:
            raise sass.DisassembleError(f"no loop of {mark.entry} has {mark.opcode}, which kernels/{file}.cu names")
        for loop in loops:
            opcodes = Counter(i.opcode for i in function.iteration(loop, of))
            found.append(Iteration(mark, file, function.blocks[loop.head].start * 16, opcodes))
    return found


# A paragraph a line, as in the other pages of docs.
# ruff: noqa: E501
_HEAD = """\
# Iterations of the hot loops
Their code by ptxas {ptxas} for {target}, as nvdisasm {nvdisasm} disassembles it; written by `make kernels`, compared by `make check-kernels`. **Nothing here was measured, on a GPU or otherwise.** A driver's assembler may give different code.

A row is a loop of an entry, the innermost that contains the instruction named, and the shortest path around it: an iteration in which no pair passes and no list is written. Sources state what a warp does in an iteration (`// sass` lines; each instance of a template has a loop of its own, recognisable by its products). Columns count a warp's instructions by the unit that executes them. *Moves* are those that copy registers or constants; *wavefronts* are accesses of 128 bytes to shared memory by the widths read, four for 16 bytes a lane; where lanes read the same words, as with the terms of queries, there may be fewer.

*Slots* is the number of instructions that a lane issues for one pair: instructions times 32, divided by pairs (or products, or bytes). *Issue* is the time of 1e9 pairs, or of 1e12 of other units, at one instruction a cycle and scheduler; *busiest* is the unit occupied longest, with its time. Both are arithmetic for {processors} multiprocessors of {schedulers} schedulers at {ghz} GHz with rates from NVIDIA's tables, not forecasts: latencies, memory bandwidth, and iterations in which a pair passes come on top.

"""


def markdown(ptxas: str, nvdisasm: str, found: Sequence[Iteration]) -> str:
    names = [name for name, _, _ in PIPES]
    rows = [["entry", "loop", "an iteration", "instructions", *names, REST, "moves", "wavefronts", "slots", "issue", "busiest"]]
    rows.append(["---"] * 3 + ["---:"] * (len(rows[0]) - 3))
    for t in found:
        name, cycles = t.busiest
        rows.append(
            [
                f"`{t.mark.entry}`",
                f"`{t.mark.opcode}` at {t.address:#x}" + (f", {t.mark.which}" if t.mark.which else ""),
                f"{t.count} {t.mark.unit}",
                str(t.slots),
                *(str(t.pipe(n) or "") for n in names),
                str(t.pipe(REST) or ""),
                str(t.moves or ""),
                f"{t.wavefronts:g}" if t.wavefronts else "",
                f"{t.slots * 32 / t.count:.2f}",
                _time(t.seconds(t.slots)),
                f"{name} {_time(t.seconds(cycles))}",
            ]
        )
    machine = {"processors": PROCESSORS, "schedulers": SCHEDULERS, "ghz": GHZ}
    head = _HEAD.format(ptxas=ptxas, nvdisasm=nvdisasm, target=TARGET, **machine)
    return head + "".join("| " + " | ".join(r) + " |\n" for r in rows)


def _time(seconds: float) -> str:
    return f"{seconds * 1e3:.3g} ms"


def page(root: Path, sources: Iterable[Path], cubins: Path, ptxas: str) -> str:
    """The page for sources; their cubins are NAME.cubin in a folder."""
    found: list[Iteration] = []
    for source in sources:
        if listed := marks(source.read_text()):
            found += iterations(source.stem, listed, sass.functions(root, cubins / f"{source.stem}.cubin"))
    return markdown(ptxas, sass.version(root), found)
