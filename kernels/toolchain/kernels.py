#!/usr/bin/env python3
"""Compiles kernels/*.cu and checks that the committed PTX and cubins are what they compile to.

    python3 kernels/toolchain/kernels.py build [NAME...]   write PTX and cubins of all or of NAMEs, the manifest and PAGES
    python3 kernels/toolchain/kernels.py build --lines     the same, with source lines for a profiler; not to be committed
    python3 kernels/toolchain/kernels.py check             do the same in build/kernels and compare with the committed files

Both assemble the PTX for every GPU of ptxas.TARGETS and fail on a spilled register
or on stack memory that no source allows. They need the packages that
kernels/toolchain/install.sh installs, but neither a GPU nor a driver.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import cubins
import hotloops
import manifest
import ptx
import ptxas
import report
import sass
import sources
from nvrtc import CompileError, Compiler

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "kernels"
COMMITTED = KERNELS / "ptx"  # PTX, cubins and the manifest
TOOLS = ROOT / "build" / "cuda"
FRESH = ROOT / "build" / "kernels"
REGISTERS, LOOPS = PAGES = Path("docs/benchmarks/gpu/ptxas.md"), Path("docs/benchmarks/gpu/sass.md")

_LINES = 24  # shown of a compiler's log; one mistake can give hundreds


class Unfit(Exception):
    """Why the kernels cannot be committed, one line for each reason."""


def compile_files(files: list[Path], flags: tuple[str, ...]) -> dict[Path, bytes]:
    compiler, made, wrong = Compiler(TOOLS), {}, []
    for source in files:
        headers = {h.name: h.read_bytes() for h in sources.closure(source)[1:]}
        try:
            text = ptx.lowered(compiler.compile(source.name, source.read_bytes(), headers, flags).decode())
            ptx.entries(text)
            made[source] = text.encode()
        except (CompileError, ptx.UnfitError) as e:
            first = str(e).splitlines()[:_LINES]
            wrong.append("\n".join([f"kernels/{source.name}:", *first]))
    if wrong:
        raise Unfit("\n".join(wrong))
    return made


def modules(made: dict[Path, bytes], kept: list[dict], code: Mapping[str, Mapping[str, bytes]]) -> list[dict]:
    """The modules of the manifest, with the hashes of their code by module and target; names of entries must be
    unique among them."""
    all_of_them = [module | {"cubins_sha256": manifest.digests(code[module["name"]])} for module in kept]
    all_of_them += [manifest.module(source, text, code[source.stem]) for source, text in made.items()]
    owner: dict[str, str] = {}
    for module in all_of_them:
        for entry in module["entries"]:
            other = owner.setdefault(entry["name"], module["name"])
            if other != module["name"]:
                raise Unfit(f"entry {entry['name']} is in kernels/{other}.cu and in kernels/{module['name']}.cu")
    return all_of_them


def assemble(folder: Path, flags: tuple[str, ...]) -> tuple[dict[Path, str], list[str]]:
    """Assembles the PTX in a folder and archives the code. Returns the pages and the defects."""
    files = sorted(folder.glob("*.ptx"))
    entries = {f.stem: ptx.entries(f.read_text()) for f in files}
    options = ["-lineinfo"] if manifest.LINES in flags else []
    made = list(ptxas.assemble_all(TOOLS, files, {target: FRESH / target for target in cubins.TARGETS}, options))
    for target in cubins.TARGETS:
        code = {f.stem: (FRESH / target / f"{f.stem}.cubin").read_bytes() for f in files}
        cubins.write(cubins.archive(folder, target), code)
    for assembly in made:
        reported = {f.name for f in assembly.functions} & set(assembly.entries)
        if missing := [e.name for e in entries[assembly.file.stem] if e.name not in reported]:
            raise Unfit(f"the output of ptxas for {assembly.file} and {assembly.target} lacks {missing}")
    assembler = manifest.version(TOOLS, "nvidia-cuda-nvcc-cu12")
    pages = {
        REGISTERS: report.markdown(assembler, entries, made),
        LOOPS: hotloops.page(TOOLS, [KERNELS / f"{f.stem}.cu" for f in files], FRESH / hotloops.TARGET, assembler),
    }
    return pages, memory_used(made)


def memory_used(made: list[ptxas.Assembly]) -> list[str]:
    """Functions that spill registers or use stack memory, one line for each."""
    spills: dict[str, list[str]] = {}
    stacks: dict[str, list[str]] = {}
    for assembly in made:
        source = KERNELS / f"{assembly.file.stem}.cu"
        allowed = sources.stack_allowed(source)
        for function in assembly.functions:
            where = f"kernels/{source.name}: {function.name}"
            if function.spilled:
                spills.setdefault(where, []).append(f"{function.spilled} bytes on {assembly.target}")
            elif function.stack > allowed.get(function.name, 0):
                stacks.setdefault(where, []).append(f"{function.stack} bytes on {assembly.target}")
    return [f"{where} spills registers: {', '.join(on)}" for where, on in spills.items()] + [
        f"{where} takes stack a thread: {', '.join(on)} (docs/kernels.md says how to allow it)"
        for where, on in stacks.items()
    ]


def write(made: dict[Path, bytes], folder: Path) -> None:
    """Writes PTX, and deletes PTX whose source no longer exists."""
    folder.mkdir(parents=True, exist_ok=True)
    sources_left = {f.stem for f in KERNELS.glob("*.cu")}
    for stale in folder.glob("*.ptx"):
        if stale.stem not in sources_left:
            stale.unlink()
    for source, text in made.items():
        (folder / f"{source.stem}.ptx").write_bytes(text)


def complete(made: dict[Path, bytes], kept: list[dict], folder: Path, flags: tuple[str, ...]) -> tuple[dict[Path, str], list[str]]:
    """Assembles the PTX of a folder, and writes archives and manifest. Returns the pages and the defects."""
    pages, wrong = assemble(folder, flags)
    held = {target: cubins.content(cubins.archive(folder, target)) for target in cubins.TARGETS}
    code = {f.stem: {target: held[target][f.stem] for target in cubins.TARGETS} for f in folder.glob("*.ptx")}
    (folder / manifest.NAME).write_text(manifest.text(TOOLS, flags, modules(made, kept, code)))
    return pages, wrong


def build(names: list[str], lines: bool) -> None:
    flags = manifest.FLAGS + (manifest.LINES,) * lines
    files = [KERNELS / f"{name}.cu" for name in names] or sorted(KERNELS.glob("*.cu"))
    kept = []
    if names:
        there = {f.stem for f in KERNELS.glob("*.cu")} - set(names)
        kept = [m for m in manifest.read(COMMITTED / manifest.NAME) if m["name"] in there]
    made = compile_files(files, flags)
    write(made, COMMITTED)
    pages, wrong = complete(made, kept, COMMITTED, flags)
    for page, text in pages.items():
        (ROOT / page).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / page).write_text(text)
        print(text)
    if wrong:
        raise Unfit("\n".join(wrong))


def check() -> None:
    made = compile_files(sorted(KERNELS.glob("*.cu")), manifest.FLAGS)
    write(made, FRESH)
    pages, wrong = complete(made, [], FRESH, manifest.FLAGS)
    for page, text in pages.items():
        (FRESH / page.name).write_text(text)
        print(text)
    drifted = differing(FRESH, COMMITTED, ROOT, PAGES)
    wrong += [f"{name} differs from what the sources give" for name in drifted]
    if drifted:
        wrong.append("run `make kernels` and commit what it writes")
    if wrong:
        raise Unfit("\n".join(wrong))


def differing(fresh: Path, committed: Path, root: Path, pages: Iterable[Path]) -> list[str]:
    """Files, relative to the root, that differ from the fresh ones or exist on one side only."""
    names = {f.name for d in (fresh, committed) for f in d.glob("*.ptx")} | {manifest.NAME}
    pairs = [(fresh / n, committed / n) for n in sorted(names)] + [(fresh / p.name, root / p) for p in pages]
    found = [str(theirs.relative_to(root)) for mine, theirs in pairs if _bytes(mine) != _bytes(theirs)]
    archives = {f.name for d in (fresh, committed) for f in (d / cubins.FOLDER).glob("*")}
    for file in (Path(cubins.FOLDER) / name for name in sorted(archives)):
        mine, theirs = cubins.content(fresh / file), cubins.content(committed / file)
        changed = sorted(n for n in {*mine, *theirs} if mine.get(n) != theirs.get(n))
        if changed or not mine:
            found.append(f"{(committed / file).relative_to(root)}" + f" ({', '.join(changed)})" * bool(changed))
    return found


def _bytes(file: Path) -> bytes | None:
    return file.read_bytes() if file.exists() else None


def main() -> int:
    parser = argparse.ArgumentParser(prog="kernels.py", description="PTX from kernels/*.cu")
    verbs = parser.add_subparsers(dest="verb", required=True)
    builds = verbs.add_parser("build", help="write PTX, cubins, manifest and pages")
    builds.add_argument("names", nargs="*", metavar="NAME")
    builds.add_argument("--lines", action="store_true", help="with source lines for a profiler; not to be committed")
    verbs.add_parser("check", help="fail if a committed file differs from what the sources give")
    args = parser.parse_args()
    if not TOOLS.exists():
        print("kernels.py: there is no build/cuda: run kernels/toolchain/install.sh", file=sys.stderr)
        return 1
    try:
        if args.verb == "build":
            build(args.names, args.lines)
        else:
            check()
    except (Unfit, ptx.UnfitError, sources.SignatureError, ptxas.AssembleError, sass.DisassembleError, OSError) as e:
        print(f"kernels.py: {e}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
