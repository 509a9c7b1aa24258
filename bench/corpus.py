"""Text found on this machine: records of Debian's packages, and documentation of Go and of
Debian as passages.

A passage is a run of paragraphs of one file, of about 100 words, as is usual for retrieval.
Paragraphs with the same letters are taken once: the module cache holds the same comment in
several versions, and much text repeats."""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

from environment import go, output

WHOLE = 100  # least words of a passage
LEAST = 50  # least words of the rest of a file
FRAGMENT = 5  # least words of a paragraph
MAX_FILE = 1 << 20  # bytes; larger files are tables and logs

WORD = re.compile(r"[A-Za-z]{2,}")
NOT_PROSE = re.compile(
    r"copyright|licen[sc]e|warrant(y|ies)|go:build|\+build|code generated|do not edit|redistribut", re.I
)

# A package's name, purpose, category and dependencies.
FIELDS = ("Package", "Description", "Tag", "Section", "Depends", "Recommends", "Suggests", "Maintainer", "Homepage")

SKIP = re.compile(r"copyright|authors|thanks|install|change", re.I)  # lists of names, change logs


def read(path: Path) -> str:
    """A text file's content, decompressed; "" if it is too large or unreadable."""
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
    """The files under root that keep accepts, in an order independent of the file system."""
    if not root.is_dir():
        return []
    return sorted(p for p in root.rglob("*") if p.is_file() and not p.is_symlink() and keep(p))


def paragraphs(text: str) -> list[str]:
    """Blocks between blank lines."""
    return re.split(r"\n\s*\n", text)


# Each source yields the paragraphs of one file at a time.
Source = Iterator[list[str]]


def go_comments(root: Path) -> Source:
    """Blocks of // comments at the start of lines, like Go's doc comments."""
    for path in files(root, lambda p: p.suffix == ".go" and not p.name.endswith("_test.go")):
        blocks = re.finditer(r"(?:^//(?!go:).*\n)+", read(path), re.M)
        yield [re.sub(r"^// ?", "", block[0], flags=re.M) for block in blocks]


def markdown(root: Path) -> Source:
    for path in files(root, lambda p: p.suffix == ".md"):
        yield paragraphs(read(path))


def debian_doc(root: Path) -> Source:
    """The files below /usr/share/doc except lists of names and change logs, without HTML tags."""
    wanted = {"", ".txt", ".md", ".html", ".rst", ".Debian"}

    def keep(p: Path) -> bool:
        stem = p.with_suffix("") if p.suffix == ".gz" else p
        return stem.suffix in wanted and not SKIP.match(stem.name)

    for path in files(root, keep):
        yield paragraphs(re.sub(r"<[^>]*>", " ", read(path)))


def manuals(root: Path) -> Source:
    """English manual pages, without troff's requests and escapes."""
    request = re.compile(r"^[.'].*$", re.M)
    break_ = re.compile(r"^[.'](?:PP|P|LP|TP|IP|SH|SS|sp|Pp|It|Sh|Ss)\b.*$", re.M)
    escape = re.compile(r"\\(?:f(?:\[\w*\]|\(..|.)|s[-+]?\d|\(..|\[\w+\]|\*(?:\(..|\[\w*\]|.)|.)")
    for section in range(1, 9):
        for path in files(root / f"man{section}", lambda p: True):
            body = re.split(r"^\.S[Hh]", read(path), maxsplit=1, flags=re.M)[-1]  # the preamble defines macros
            yield paragraphs(escape.sub("", request.sub("", break_.sub("\n", body))))


def descriptions(status: Path) -> Source:
    """Descriptions of the installed packages."""
    text = status.read_text(errors="ignore") if status.is_file() else ""
    for entry in re.finditer(r"^Description: (.*(?:\n .*)*)", text, re.M):
        yield [entry[1]]


def passages(source: Source, seen: set[bytes]) -> Iterator[str]:
    """The passages of a source. seen holds the paragraphs met so far."""
    for file in source:
        run: list[str] = []
        length = 0
        for paragraph in file:
            words = WORD.findall(paragraph)
            if len(words) < FRAGMENT or NOT_PROSE.search(paragraph):
                continue
            key = hashlib.blake2b(" ".join(words).lower().encode(), digest_size=16).digest()
            if key in seen:
                continue
            seen.add(key)
            run.append(paragraph)
            length += len(words)
            if length >= WHOLE:
                yield "\n".join(run)
                run, length = [], 0
        if length >= LEAST:
            yield "\n".join(run)


def packages(listing: str) -> list[str]:
    """The values of FIELDS of each package record, those that have any."""
    field = re.compile(rf"^(?:{'|'.join(FIELDS)}):(.*(?:\n .*)*)", re.M)
    records = (field.findall(record) for record in listing.split("\n\n"))
    return [" ".join(values) for values in records if values]


# What follows returns texts, and what the report says of them.


def records() -> tuple[list[str], str]:
    """The package records that apt knows: those of installed packages if it has no lists, none
    without apt."""
    found = packages(output("apt-cache", "dumpavail"))
    return found, f"the package records that apt knows, {len(found):,}: {', '.join(FIELDS)}"


def documents() -> tuple[list[str], str]:
    """All passages found here."""
    goroot, modules = (Path(folder) for folder in go("env", "GOROOT", "GOMODCACHE").splitlines())
    sources = {
        "Go's doc comments": go_comments(goroot / "src"),
        "doc comments of cached modules": go_comments(modules),
        "markdown of Go and of cached modules": chain(markdown(goroot), markdown(modules)),
        "manual pages": manuals(Path("/usr/share/man")),
        "/usr/share/doc": debian_doc(Path("/usr/share/doc")),
        "descriptions of installed packages": descriptions(Path("/var/lib/dpkg/status")),
    }
    kept: list[str] = []
    counts: dict[str, int] = {}
    seen: set[bytes] = set()
    for name, source in sources.items():
        before = len(kept)
        kept.extend(passages(source, seen))
        counts[name] = len(kept) - before
    places = ", ".join(f"{n:,} from {name}" for name, n in counts.items())
    return kept, f"text found on this machine in passages of about 100 words, a sample of these: {places}"
