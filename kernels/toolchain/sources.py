"""The sources in kernels/: the headers that a kernel file includes, one digest of all, and the parameters of its
entries."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

# A name without a folder: deeper files (emu/) belong to the emulator and are not
# passed to the compiler.
_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"/]+)"', re.MULTILINE)
_ENTRY = re.compile(rb'extern "C" __global__ void\s+(?:__launch_bounds__\([^)]*\)\s*)?(\w+)\(([^)]*)\)')
_PARAM = re.compile(r"(.*[\s*])(\w+)")
_STACK = re.compile(rb"^// stack (\w+) (\d+): \S", re.MULTILINE)


class SignatureError(Exception):
    """An entry whose parameters cannot be read."""


def closure(source: Path) -> list[Path]:
    """The source, followed by every header of its folder that it includes, directly or
    indirectly, sorted by name. All includes count, inside any #if."""
    found, todo = set(), [source]
    while todo:
        for name in _INCLUDE.findall(todo.pop().read_bytes()):
            header = source.parent / name.decode()
            if header not in found and header.is_file():
                found.add(header)
                todo.append(header)
    return [source, *sorted(found)]


def digest(files: Iterable[Path]) -> str:
    """SHA-256 of the output of `sha256sum` for these files, run in their folder."""
    lines = (f"{hashlib.sha256(f.read_bytes()).hexdigest()}  {f.name}\n" for f in files)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def parameters(source: Path) -> dict[str, list[dict[str, str]]]:
    """The name and the type, such as `const float*`, of each parameter of every entry that a source defines."""
    found = {}
    for entry, params in _ENTRY.findall(source.read_bytes()):
        listed = []
        for param in (" ".join(p.split()) for p in params.decode().split(",") if p.strip()):
            if not (of := _PARAM.fullmatch(param)):
                raise SignatureError(f"kernels/{source.name}: {entry.decode()}: no parameter of a known form: {param}")
            listed.append({"name": of.group(2), "type": of.group(1).rstrip()})
        found[entry.decode()] = listed
    return found


def stack_allowed(source: Path) -> dict[str, int]:
    """The bytes of stack that functions may use a thread, from lines of the form
    `// stack NAME BYTES: why` in the source."""
    return {name.decode(): int(size) for name, size in _STACK.findall(source.read_bytes())}
