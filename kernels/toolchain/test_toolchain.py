"""Tests of the tool chain's parsers and comparisons; check-kernels runs them first."""

from __future__ import annotations

import hashlib
import json
import tempfile
import unittest
import zipfile
from pathlib import Path
from unittest.mock import patch

import cubins
import hotloops
import kernels as tool
import ptx
import ptxas
import sass
import sources

LOG = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'small' for 'sm_90'
ptxas info    : Function properties for small
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 14 registers, used 0 barriers
ptxas info    : Compile time = 3.021 ms
ptxas info    : Compiling entry function 'large' for 'sm_90'
ptxas info    : Function properties for large
    96 bytes stack frame, 20 bytes spill stores, 24 bytes spill loads
ptxas info    : Used 255 registers, used 1 barriers, 96 bytes cumulative stack size, 25344 bytes smem, 4 bytes cmem[2]
ptxas info    : Function properties for _Z6helperi
    8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
"""

PTX = """\
.version 8.4
.target sm_80
.address_size 64
.visible .entry wide(
\t.param .u64 wide_param_0,
\t.param .f32 wide_param_1,
\t.param .align 4 .b8 wide_param_2[8]
)
.maxntid 32, 4, 1
.minnctapersm 2
{
\tret;
}
.visible .entry none()
{
\tret;
}
"""


class Folder(unittest.TestCase):
    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = Path(temporary.name)

    def write(self, name: str, text: str) -> Path:
        file = self.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file


class Sources(Folder):
    def test_closure_is_transitive_and_ends(self) -> None:
        a = self.write("a.cu", '#include "z.cuh"\n  # include "b.cuh"\n#include <math.h>\n')
        b = self.write("b.cuh", '#include "c.cuh"\n')
        c = self.write("c.cuh", '#include "b.cuh"\n#include "emu/emu.h"\n#include "missing.cuh"\n')
        z = self.write("z.cuh", "")
        self.write("emu/emu.h", "")
        self.assertEqual(sources.closure(a), [a, b, c, z])

    def test_digest_is_sha256sum_of_sha256sum(self) -> None:
        files = [self.write("a.cu", "one\n"), self.write("b.cuh", "two\n")]
        lines = "".join(f"{hashlib.sha256(t).hexdigest()}  {n}\n" for t, n in ((b"one\n", "a.cu"), (b"two\n", "b.cuh")))
        self.assertEqual(sources.digest(files), hashlib.sha256(lines.encode()).hexdigest())

    def test_parameters(self) -> None:
        a = self.write("a.cu", 'extern "C" __global__ void __launch_bounds__(256, 2)\nk(const float* x,\n  long long n) {}\nextern "C" __global__ void none() {}')
        self.assertEqual(sources.parameters(a), {"k": [{"name": "x", "type": "const float*"}, {"name": "n", "type": "long long"}], "none": []})
        with self.assertRaisesRegex(sources.SignatureError, "kernels/b.cu: k: no parameter of a known form: int"):
            sources.parameters(self.write("b.cu", 'extern "C" __global__ void k(int) {}'))

    def test_stack_needs_a_reason(self) -> None:
        a = self.write("a.cu", "// stack pick 64: indexed by rank\n// stack other 8:\n")
        self.assertEqual(sources.stack_allowed(a), {"pick": 64})


class Ptx(unittest.TestCase):
    def test_entries(self) -> None:
        self.assertEqual(ptx.entries(PTX), [ptx.Entry("wide", 3, 128), ptx.Entry("none", 0, 0)])
        self.assertEqual(ptx.version(PTX), "8.4")

    def test_lowered(self) -> None:
        hint = '\t.pragma "used_bytes_mask 4095";\n'
        kept = '\t.pragma "nounroll";\n\t// used_bytes_mask\n'
        self.assertEqual(ptx.lowered(PTX + hint + kept + hint), PTX.replace("8.4", "8.0") + kept)
        self.assertEqual(ptx.lowered(PTX.replace("8.4", "8.0")), PTX.replace("8.4", "8.0"))
        with self.assertRaisesRegex(ptx.UnfitError, "PTX 7.8, older than 8.0"):
            ptx.lowered(PTX.replace("8.4", "7.8"))
        with self.assertRaisesRegex(ptx.UnfitError, "no .version"):
            ptx.lowered("")

    def test_wide_parameter(self) -> None:
        with self.assertRaisesRegex(ptx.UnfitError, "parameter 2 of wide takes 12 bytes, which are no whole words"):
            ptx.entries(PTX.replace("wide_param_2[8]", "wide_param_2[12]"))


class Ptxas(unittest.TestCase):
    def test_parse(self) -> None:
        functions, entries = ptxas.parse(LOG)
        self.assertEqual(
            functions,
            [ptxas.Function("small", 0, 0), ptxas.Function("large", 96, 44), ptxas.Function("_Z6helperi", 8, 0)],
        )
        self.assertEqual(entries, {"small": ptxas.Use(14, 0), "large": ptxas.Use(255, 25344)})

    def test_warps(self) -> None:
        # by hand from the table of compute capabilities
        for registers, shared, threads, warps in (
            (14, 0, 256, 64),  # threads
            (14, 0, 32, 32),  # blocks
            (40, 25344, 256, 48),  # registers: 1280 a warp, 12 in each of four parts
            (33, 0, 1024, 32),  # 1280 a warp, 48 warps, but a block is 32
            (32, 100 * 1024, 256, 16),  # shared memory: two blocks of 101 KB
            (255, 0, 256, 8),
        ):
            with self.subTest(registers=registers, shared=shared, threads=threads):
                self.assertEqual(ptxas.warps_sm90(ptxas.Use(registers, shared), threads), warps)


def listing(*lines: str) -> str:
    """nvdisasm's output for a function `f`; a line is [@predicate] opcode [operands]."""
    code = []
    for line in lines:
        words = line.split()
        predicate = {"predicate": words.pop(0)} if words[0].startswith("@") else {}
        code.append({"opcode": words[0], "operands": "".join(words[1:]), **predicate})
    return json.dumps([{"SM": {}}, [{"function-name": "f", "sass-instructions": code}]])


# A loop with a rare branch that contains another loop, and an out-of-line part that jumps back.
LOOP = listing(
    "MOV R0,RZ",
    "IMMA.16832.S8.S8 R0,R4,R8,R0",  # 0x10, the head
    "LDSM.16.M88.4 R0,[R1]",
    "VOTE.ANY P0,P0",
    "@!P0 BRA 0x80",
    "BSSY B0,0x80",
    "FFMA R0,R0,R1,R2",  # 0x60, the nested loop
    "@P2 BRA 0x60",
    "@P1 BRA 0xc0",  # 0x80
    "FADD R0,R0,R1",
    "BRA.U UP0,0x10",
    "EXIT",
    "LDS.128 R0,[R1]",  # 0xc0, out of line
    "BRA 0xa0",
)


class Sass(unittest.TestCase):
    def setUp(self) -> None:
        self.function = sass.parse(LOOP)["f"]

    def iteration(self, stem: str) -> list[str]:
        def of(i: sass.Instruction) -> bool:
            return i.stem == stem

        (loop,) = sass.innermost(self.function, of)
        return [i.stem for i in self.function.iteration(loop, of)]

    def test_loops_are_those_whose_head_dominates(self) -> None:
        heads = [self.function.blocks[loop.head].start for loop in self.function.loops]
        self.assertEqual(heads, [1, 6])  # 0xa0, the target of the jump at 0xd0, heads no loop

    def test_an_iteration_is_the_shortest_path(self) -> None:
        self.assertEqual(self.iteration("IMMA"), ["IMMA", "LDSM", "VOTE", "BRA", "BRA", "FADD", "BRA"])

    def test_an_iteration_contains_the_opcode(self) -> None:
        self.assertEqual(self.iteration("LDS"), ["IMMA", "LDSM", "VOTE", "BRA", "BRA", "LDS", "BRA", "BRA"])

    def test_a_nested_loop(self) -> None:
        self.assertEqual(self.iteration("FFMA"), ["FFMA", "BRA"])

    def test_malformed_output_is_refused(self) -> None:
        for text in ("", "[]", '[{}, [{"opcode": "MOV"}]]'):
            with self.subTest(text), self.assertRaisesRegex(sass.DisassembleError, "something other"):
                sass.parse(text)


class HotLoops(unittest.TestCase):
    def test_marks(self) -> None:
        text = "  // sass f IMMA: 256 pairs\n// sass f LDS: 128 pairs each, out of line\n// sass f:\n"
        self.assertEqual(
            hotloops.marks(text),
            [
                hotloops.Mark("f", "IMMA", 256, "pairs", False, ""),
                hotloops.Mark("f", "LDS", 128, "pairs", True, "out of line"),
            ],
        )

    def test_iterations_are_counted_by_units(self) -> None:
        (found,) = hotloops.iterations("a", hotloops.marks("// sass f IMMA: 128 pairs each"), sass.parse(LOOP))
        self.assertEqual((found.address, found.slots, found.count), (0x10, 7, 128))
        self.assertEqual([found.pipe(n) for n in ("tensor", "fma", "shared", "vote", hotloops.REST)], [1, 1, 1, 1, 3])
        # 32 lanes of 16 bytes are 4 wavefronts of 128, on a unit that four schedulers share
        self.assertEqual((found.wavefronts, found.busiest), (4, ("shared", 16)))
        self.assertAlmostEqual(found.seconds(found.slots), 1e9 / 128 * 7 / (132 * 4 * 1.83e9))

    def test_marks_without_a_loop_are_refused(self) -> None:
        for mark, why in (("g IMMA", "names g"), ("f DFMA", "no loop of f has DFMA")):
            with self.subTest(mark), self.assertRaisesRegex(sass.DisassembleError, why):
                hotloops.iterations("a", hotloops.marks(f"// sass {mark}: 1 pairs"), sass.parse(LOOP))


class Memory(Folder):
    def test_functions_are_named_with_their_targets(self) -> None:
        source = self.write("a.cu", "// stack table 64: looked up at run time\n")
        functions = [
            ptxas.Function("clean", 0, 0),
            ptxas.Function("table", 64, 0),
            ptxas.Function("frame", 72, 0),
            ptxas.Function("spill", 16, 8),
        ]
        made = [ptxas.Assembly(source, target, functions, {}) for target in ("sm_80", "sm_90")]
        with patch.object(tool, "KERNELS", self.root):
            found = tool.memory_used(made)
        self.assertEqual(
            found,
            [
                "kernels/a.cu: spill spills registers: 8 bytes on sm_80, 8 bytes on sm_90",
                "kernels/a.cu: frame takes stack a thread: 72 bytes on sm_80, 72 bytes on sm_90"
                " (docs/kernels.md says how to allow it)",
            ],
        )


class Drift(Folder):
    PAGE = Path("docs/page.md")

    def tree(self) -> tuple[Path, Path, Path, list[Path]]:
        for folder in ("fresh", "kernels/ptx"):
            self.write(f"{folder}/a.ptx", "a")
            self.write(f"{folder}/manifest.json", "{}")
            cubins.write(self.root / folder / "cubins/sm_90.zip", {"a": b"a", "b": b"b"})
        self.write("fresh/page.md", "page")
        self.write("docs/page.md", "page")
        return self.root / "fresh", self.root / "kernels/ptx", self.root, [self.PAGE]

    def test_same(self) -> None:
        self.assertEqual(tool.differing(*self.tree()), [])

    def test_each_kind_is_named(self) -> None:
        tree = self.tree()
        self.write("kernels/ptx/a.ptx", "b")
        self.write("kernels/ptx/gone.ptx", "no source")
        cubins.write(self.root / "kernels/ptx/cubins/sm_90.zip", {"a": b"of an older assembler", "b": b"b"})
        cubins.write(self.root / "fresh/cubins/sm_80.zip", {"a": b"a"})
        self.write("kernels/ptx/cubins/sm_86.zip", "no archive")
        self.write("fresh/new.ptx", "not committed")
        self.write("docs/page.md", "older")
        (self.root / "kernels/ptx/manifest.json").unlink()
        self.assertEqual(
            tool.differing(*tree),
            ["kernels/ptx/a.ptx", "kernels/ptx/gone.ptx", "kernels/ptx/manifest.json", "kernels/ptx/new.ptx", "docs/page.md",
             "kernels/ptx/cubins/sm_80.zip (a)", "kernels/ptx/cubins/sm_86.zip", "kernels/ptx/cubins/sm_90.zip (a)"],
        )  # fmt: skip

    def test_archives_are_compared_by_what_they_hold(self) -> None:
        tree = self.tree()
        with zipfile.ZipFile(self.root / "kernels/ptx/cubins/sm_90.zip", "w") as stored:  # not compressed, of today
            stored.writestr("b.cubin", b"b")
            stored.writestr("a.cubin", b"a")
        self.assertEqual(tool.differing(*tree), [])


class Cubins(Folder):
    def test_an_archive_holds_what_was_written(self) -> None:
        file = cubins.archive(self.root, "sm_90")
        self.assertEqual(cubins.content(file), {})
        cubins.write(file, {"b": b"2", "a": b"1" * 1000})
        first = file.read_bytes()
        self.assertEqual(cubins.content(file), {"a": b"1" * 1000, "b": b"2"})
        cubins.write(file, {"a": b"1" * 1000})
        self.assertEqual(cubins.content(file), {"a": b"1" * 1000})
        cubins.write(file, {"a": b"1" * 1000, "b": b"2"})  # the same bytes, in whatever order and when
        self.assertEqual(file.read_bytes(), first)

    def test_the_same_code_is_not_written_again(self) -> None:
        file = self.root / "sm_90.zip"
        with zipfile.ZipFile(file, "w") as stored:
            stored.writestr("a.cubin", b"a")
        before = file.read_bytes()
        cubins.write(file, {"a": b"a"})
        self.assertEqual(file.read_bytes(), before)
        file.write_bytes(before[:20])
        cubins.write(file, {"a": b"a"})
        self.assertEqual(cubins.content(file), {"a": b"a"})


class Modules(unittest.TestCase):
    def test_an_entry_has_one_file(self) -> None:
        kept = [{"name": n, "entries": [{"name": "scan", "params": []}]} for n in ("a", "b")]
        code = {n: {"sm_90": b"code"} for n in ("a", "b")}
        with self.assertRaisesRegex(tool.Unfit, "entry scan is in kernels/a.cu and in kernels/b.cu"):
            tool.modules({}, kept, code)
        hashes = {"sm_90": hashlib.sha256(b"code").hexdigest()}
        self.assertEqual(tool.modules({}, kept[:1], code), [kept[0] | {"cubins_sha256": hashes}])


if __name__ == "__main__":
    unittest.main()
