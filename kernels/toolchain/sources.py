"""The sources in kernels/: what a kernel file includes, and one digest of it all."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

# A name without a folder: what lies deeper (emu/) belongs to the emulator and is
# not handed to the compiler.
_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"/]+)"', re.MULTILINE)
_STACK = re.compile(rb"^// stack (\w+) (\d+): \S", re.MULTILINE)


def closure(source: Path) -> list[Path]:
    """The source, then every header of its folder that it includes, directly or
    not, by name. All includes count, whatever #if they stand in."""
    found, todo = set(), [source]
    while todo:
        for name in _INCLUDE.findall(todo.pop().read_bytes()):
            header = source.parent / name.decode()
            if header not in found and header.is_file():
                found.add(header)
                todo.append(header)
    return [source, *sorted(found)]


def digest(files: Iterable[Path]) -> str:
    """SHA-256 of what `sha256sum` prints for these files in their folder."""
    lines = (f"{hashlib.sha256(f.read_bytes()).hexdigest()}  {f.name}\n" for f in files)
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def stack_allowed(source: Path) -> dict[str, int]:
    """Bytes of stack a thread that functions may use, by lines of the form
    `// stack NAME BYTES: why` in the source."""
    return {name.decode(): int(size) for name, size in _STACK.findall(source.read_bytes())}
