"""docs/benchmarks/gpu/sass.md: what a turn of each hot loop asks of a multiprocessor of sm_90.

A source says of a loop what a warp does in a turn of it:

    // sass ENTRY OPCODE: COUNT UNIT, which loop
    // sass ENTRY OPCODE: COUNT UNIT each, which loop

COUNT for each of these instructions that the turn has, in the second form. Meant are all loops of the entry with that opcode of which none within them has it, and of each the
shortest way round that passes it: the turn in which nothing rare happens.
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

# The unit that carries an instruction out, by the first part of its name, and for how many cycles a warp's
# holds that of one scheduler: CUDA C++ Programming Guide 12.4, throughput of native instructions, at
# compute capability 9.0; tensor cores by the data sheet. A tf32 product of 16x8x8 takes as long as an
# int8 product of 16x8x32. Shared memory is one unit for all four.
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
    """What a source says of loops."""

    entry: str
    opcode: str
    count: int
    unit: str
    each: bool
    which: str


@dataclass(frozen=True)
class Turn:
    mark: Mark
    file: str
    address: int  # of the loop's first instruction
    opcodes: Counter[str]

    @property
    def count(self) -> int:
        """Units of a turn."""
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
        """Passes through shared memory of 128 bytes: as many as the widths ask for.
        Matrices and words side by side lie in different banks (tile.cuh); what all lanes read alike
        may take fewer."""
        return sum(n * _width(op) / 4 for op, n in self.opcodes.items() if _stem(op) in ("LDS", "LDSM", "STS"))

    @property
    def busiest(self) -> tuple[str, float]:
        """What a turn keeps busy the longest, in cycles of one scheduler."""
        cycles = {name: a * self.pipe(name) for name, a, _ in PIPES if name != "shared"}
        cycles |= {"issue": self.slots, "shared": SCHEDULERS * self.wavefronts}
        return max(cycles.items(), key=lambda c: c[1])

    def seconds(self, cycles: float) -> float:
        """For 1e9 pairs, or 1e12 of other units, where nothing but these cycles a turn counts."""
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
    """What a source says, line by line."""
    return [Mark(e, op, int(n), unit, bool(each), which) for e, op, n, unit, each, which in _MARK.findall(text)]


def turns(file: str, said: Iterable[Mark], functions: Mapping[str, sass.Function]) -> list[Turn]:
    found = []
    for mark in said:
        if mark.entry not in functions:
            raise sass.DisassembleError(f"kernels/{file}.cu speaks of {mark.entry}, of which there is no code")

        def of(i: sass.Instruction, opcode: str = mark.opcode) -> bool:
            return i.stem == opcode

        function = functions[mark.entry]
        loops = sass.innermost(function, of)
        if not loops:
            raise sass.DisassembleError(f"no loop of {mark.entry} has {mark.opcode}, as kernels/{file}.cu says")
        for loop in loops:
            opcodes = Counter(i.opcode for i in function.turn(loop, of))
            found.append(Turn(mark, file, function.blocks[loop.head].start * 16, opcodes))
    return found


# A paragraph a line, as in the other pages of docs.
# ruff: noqa: E501
_HEAD = """\
# Turns of the hot loops
What ptxas {ptxas} makes of them for {target}, as nvdisasm {nvdisasm} reads it; written by `make kernels`, compared by `make check-kernels`. **Nothing here was measured, on a GPU or otherwise.** A driver's assembler may do it differently.

A row is a loop of an entry, innermost for the instruction named, and in it the shortest way round: the turn in which no pair passes and no list is written. Sources say what a warp does in a turn (`// sass` lines; a template has a loop an instance, told apart by its products). Columns count a warp's instructions by the unit that carries them out, *moves* are those among them that copy registers or constants, *wavefronts* passes of 128 bytes through shared memory by the widths read, four for 16 bytes a lane; where lanes read the same words, as those of the terms of queries do, it may be fewer.

*Slots* is what a lane issues for a pair of its own: instructions times 32, by pairs (or products, or bytes). *Issue* is the time of 1e9 pairs, or of 1e12 of other units, at one instruction a cycle and scheduler, *busiest* that of the unit kept busy the longest: arithmetic on {processors} multiprocessors of {schedulers} schedulers at {ghz} GHz with rates from NVIDIA's tables, no forecast. Latencies, what memory brings and turns in which something passes come on top.

"""


def markdown(ptxas: str, nvdisasm: str, found: Sequence[Turn]) -> str:
    names = [name for name, _, _ in PIPES]
    rows = [["entry", "loop", "a turn", "instructions", *names, REST, "moves", "wavefronts", "slots", "issue", "busiest"]]
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
    """The page for sources, whose cubins are in a folder, as NAME.cubin."""
    found: list[Turn] = []
    for source in sources:
        if said := marks(source.read_text()):
            found += turns(source.stem, said, sass.functions(root, cubins / f"{source.stem}.cubin"))
    return markdown(ptxas, sass.version(root), found)
