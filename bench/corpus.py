"""Text found on this machine: documentation of Go and of Debian, as documents.

A document is one paragraph of documentation (or one package's description) of
at least MIN_WORDS words. Documents whose letters agree are one: the module cache
holds the same comment in several versions, and licences repeat everywhere.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

MIN_WORDS = 24
MAX_WORDS = 400
MAX_FILE = 1 << 20  # bytes; larger files are tables and logs

WORD = re.compile(r"[A-Za-z]{2,}")
NOT_PROSE = re.compile(
    r"copyright|licen[sc]e|warrant(y|ies)|go:build|\+build|code generated|do not edit|redistribut", re.I
)

SKIP = re.compile(r"copyright|authors|thanks|install|change", re.I)  # lists of names, logs of changes


def go_env(name: str) -> Path:
    """A folder named by `go env`."""
    return Path(subprocess.run(["go", "env", name], check=True, capture_output=True, text=True).stdout.strip())


def read(path: Path) -> str:
    """A text file's content, unpacked; "" if it is too large or cannot be read."""
    try:
        data = path.read_bytes()
        if path.suffix == ".gz":
            data = gzip.decompress(data)
    except (OSError, EOFError, gzip.BadGzipFile):
        return ""
    if len(data) > MAX_FILE or b"\0" in data:
        return ""
    return data.decode("utf-8", errors="ignore")


def files(root: Path, keep: Callable[[Path], bool]) -> list[Path]:
    """Files under root that keep accepts, in an order that does not depend on
    the file system."""
    if not root.is_dir():
        return []
    return sorted(p for p in root.rglob("*") if p.is_file() and not p.is_symlink() and keep(p))


def paragraphs(text: str) -> Iterator[str]:
    """Blocks between blank lines."""
    yield from re.split(r"\n\s*\n", text)


def go_comments(root: Path) -> Iterator[str]:
    """Blocks of // comments at the start of lines, which is where Go's doc
    comments stand."""
    for path in files(root, lambda p: p.suffix == ".go" and not p.name.endswith("_test.go")):
        for block in re.finditer(r"(?:^//(?!go:).*\n)+", read(path), re.M):
            yield re.sub(r"^// ?", "", block[0], flags=re.M)


def markdown(root: Path) -> Iterator[str]:
    for path in files(root, lambda p: p.suffix == ".md"):
        yield from paragraphs(read(path))


def debian_doc(root: Path) -> Iterator[str]:
    """Paragraphs below /usr/share/doc but for copyright files; tags of HTML are
    removed."""
    wanted = {"", ".txt", ".md", ".html", ".rst", ".Debian"}

    def keep(p: Path) -> bool:
        stem = p.with_suffix("") if p.suffix == ".gz" else p
        return stem.suffix in wanted and not SKIP.match(stem.name)

    for path in files(root, keep):
        yield from paragraphs(re.sub(r"<[^>]*>", " ", read(path)))


def manuals(root: Path) -> Iterator[str]:
    """Paragraphs of English manual pages, without troff's requests and escapes."""
    request = re.compile(r"^[.'].*$", re.M)
    break_ = re.compile(r"^[.'](?:PP|P|LP|TP|IP|SH|SS|sp|Pp|It|Sh|Ss)\b.*$", re.M)
    escape = re.compile(r"\\(?:f(?:\[\w*\]|\(..|.)|s[-+]?\d|\(..|\[\w+\]|\*(?:\(..|\[\w*\]|.)|.)")
    for section in range(1, 9):
        for path in files(root / f"man{section}", lambda p: True):
            body = re.split(r"^\.S[Hh]", read(path), maxsplit=1, flags=re.M)[-1]  # the preamble defines macros
            yield from paragraphs(escape.sub("", request.sub("", break_.sub("\n", body))))


def descriptions(status: Path) -> Iterator[str]:
    """Descriptions of the packages dpkg knows."""
    for entry in re.finditer(r"^Description: (.*(?:\n .*)*)", read_whole(status), re.M):
        yield entry[1]


def read_whole(path: Path) -> str:
    return path.read_text(errors="ignore") if path.is_file() else ""


def documents() -> tuple[list[str], dict[str, int]]:
    """All documents found here, without repetition, and how many came from
    where."""
    goroot, modules = go_env("GOROOT"), go_env("GOMODCACHE")
    sources: dict[str, Iterator[str]] = {
        "Go's doc comments": go_comments(goroot / "src"),
        "doc comments of cached modules": go_comments(modules),
        "markdown of Go and of cached modules": (t for r in (goroot, modules) for t in markdown(r)),
        "manual pages": manuals(Path("/usr/share/man")),
        "/usr/share/doc": debian_doc(Path("/usr/share/doc")),
        "package descriptions": descriptions(Path("/var/lib/dpkg/status")),
    }
    kept: list[str] = []
    counts: dict[str, int] = {}
    seen: set[bytes] = set()
    for name, source in sources.items():
        before = len(kept)
        for text in source:
            words = WORD.findall(text)
            if not MIN_WORDS <= len(words) <= MAX_WORDS or NOT_PROSE.search(text):
                continue
            key = hashlib.blake2b(" ".join(words).lower().encode(), digest_size=16).digest()
            if key not in seen:
                seen.add(key)
                kept.append(text)
        counts[name] = len(kept) - before
    return kept, counts
