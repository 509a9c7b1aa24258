"""A set of real text that a machine without any can have: the words of Debian's package records
(bench/corpus.py), counted where there are such records and carried as counts, a few MiB; from them latent
semantic analysis (bench/lsa.py) makes vectors there.

  PYTHONPATH=bench python3 bench/gpu/text.py FILE    counts the words of the records that apt knows here"""

from __future__ import annotations

import array
import gzip
import json
import random
import re
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import corpus

if TYPE_CHECKING:
    import numpy as np

FILE = Path(__file__).resolve().parents[2] / "build" / "device" / "records.gz"
WORD = re.compile(r"[a-z][a-z0-9]+")
WORDS = 50000  # most words, the commonest ones; their numbers are 16 bits
QUERIES = 2048  # texts held out
SEED = 1
OVERSAMPLED, POWERS = 20, 2  # of the singular vectors
LEAST = 1000  # fewest texts of a set


class NoText(Exception):
    """There are no counts here."""


@dataclass(frozen=True)
class Counts:
    """How often each text has each word: rows of a sparse matrix, the held-out queries first."""

    queries: int
    words: int  # of the vocabulary
    ends: Any  # [texts] where each text's part of the others ends
    word: Any  # numbers of words, ascending within a text
    count: Any

    def __len__(self) -> int:
        return len(self.ends)


def count(texts: list[str], queries: int) -> Counts:
    """Counts the commonest words of texts, in an order drawn by a fixed seed. The vocabulary is of the atoms'
    words that are in two of them at least."""
    texts = texts.copy()
    random.Random(SEED).shuffle(texts)
    told = [Counter(WORD.findall(t.lower())) for t in texts]
    often, texts_of = Counter[str](), Counter[str]()
    for words in told[queries:]:
        often.update(words)
        texts_of.update(words.keys())
    known = [w for w, _ in sorted(often.items(), key=lambda item: (-item[1], item[0])) if texts_of[w] > 1][:WORDS]
    place = {w: at for at, w in enumerate(known)}
    out = Counts(queries, len(known), array.array("I"), array.array("H"), array.array("B"))
    for words in told:
        for at, n in sorted((place[w], n) for w, n in words.items() if w in place):
            out.word.append(at)
            out.count.append(min(n, 255))
        out.ends.append(len(out.word))
    return out


def write(c: Counts, path: Path) -> None:
    head = {"texts": len(c), "queries": c.queries, "words": c.words, "pairs": len(c.word), "order": sys.byteorder}
    with path.open("wb") as file, gzip.GzipFile(fileobj=file, mode="wb", mtime=0) as packed:
        packed.write(json.dumps(head).encode() + b"\n")
        for column in (c.ends, c.word, c.count):
            packed.write(column.tobytes())


def read(path: Path) -> Counts:
    if not path.exists():
        raise NoText(f"there is no {path.name}: make gpu-binaries writes it where apt has lists of packages")
    with gzip.open(path) as packed:
        head = json.loads(packed.readline())
        columns = [array.array(kind) for kind in "IHB"]
        for column, n in zip(columns, (head["texts"], head["pairs"], head["pairs"]), strict=True):
            column.frombytes(packed.read(n * column.itemsize))
            if head["order"] != sys.byteorder:
                column.byteswap()
    return Counts(head["queries"], head["words"], *columns)


class Sparse:
    """A matrix by rows, of float32, that multiplies dense ones: by torch, or by numpy without it."""

    def __init__(
        self, torch: Any, ends: np.ndarray, columns: np.ndarray, values: np.ndarray, width: int, device: str
    ) -> None:
        import numpy as np

        self.torch, self.ends, self.columns, self.values = torch, ends, columns, values
        self.shape = len(ends), width
        if torch is not None:
            starts = torch.from_numpy(np.concatenate(([0], ends)).astype(np.int64))
            parts = starts, torch.from_numpy(columns.astype(np.int64)), torch.from_numpy(values)
            self.matrix = torch.sparse_csr_tensor(*parts, size=self.shape, check_invariants=False).to(device)

    def __matmul__(self, dense: Any) -> Any:
        if self.torch is not None:
            return self.matrix @ dense
        import numpy as np

        out = np.zeros((len(self.ends), dense.shape[1]), np.float32)
        starts = np.concatenate(([0], self.ends[:-1]))
        for lo in range(0, len(out), 1024):  # in pieces, to limit memory
            rows = np.flatnonzero(starts[lo : lo + 1024] < self.ends[lo : lo + 1024]) + lo
            if len(rows):
                part = slice(starts[rows[0]], self.ends[rows[-1]])
                terms = dense[self.columns[part]] * self.values[part, None]
                out[rows] = np.add.reduceat(terms, starts[rows] - part.start, axis=0)
        return out

    def transposed(self, device: str) -> Sparse:
        import numpy as np

        rows = np.repeat(np.arange(len(self.ends)), np.diff(self.ends, prepend=0))
        order = np.argsort(self.columns, kind="stable")
        ends = np.cumsum(np.bincount(self.columns, minlength=self.shape[1]))
        return Sparse(self.torch, ends, rows[order], self.values[order], len(self.ends), device)


def weights(
    c: Counts, lo: int, hi: int, inverse: np.ndarray | None, torch: Any, device: str
) -> tuple[Sparse, np.ndarray]:
    """The sublinear tf-idf of texts lo to hi-1, rows of norm 1, and the inverse frequencies of words: those
    given, or these texts'."""
    import numpy as np

    ends, word, often = (np.frombuffer(a, np.dtype(a.typecode)) for a in (c.ends, c.word, c.count))
    first = int(ends[lo - 1]) if lo else 0
    part = slice(first, int(ends[hi - 1]))
    ends, word = ends[lo:hi].astype(np.int64) - first, word[part].astype(np.int64)
    if inverse is None:
        inverse = np.log((1 + hi - lo) / (1 + np.bincount(word, minlength=c.words))) + 1
    values = (1 + np.log(often[part])) * inverse[word]
    rows = np.repeat(np.arange(hi - lo), np.diff(ends, prepend=0))
    norms = np.sqrt(np.bincount(rows, values**2, minlength=hi - lo))
    return Sparse(torch, ends, word, (values / norms[rows]).astype(np.float32), c.words, device), inverse


def analyse(c: Counts, atoms: int, queries: int, d: int, torch: Any, device: str) -> tuple[Any, Any]:
    """Vectors of norm 1 of so many texts and held-out ones: their coordinates along the d first right singular
    vectors of the atoms, by a randomised decomposition. Tensors on the device or, without torch, arrays."""
    import numpy as np

    if (
        atoms < max(LEAST, d + OVERSAMPLED)
        or c.queries + atoms > len(c)
        or queries > c.queries
        or d + OVERSAMPLED > c.words
    ):
        raise NoText(
            f"{len(c)} texts of {c.words} words are too few for {atoms} atoms and {queries} queries of {d} coordinates"
        )
    a, inverse = weights(c, c.queries, c.queries + atoms, None, torch, device)
    held, _ = weights(c, 0, queries, inverse, torch, device)
    back, linalg = a.transposed(device), (np if torch is None else torch).linalg
    drawn = np.random.default_rng(SEED).standard_normal((c.words, d + OVERSAMPLED)).astype(np.float32)
    basis = drawn if torch is None else torch.from_numpy(drawn).to(device)
    for _ in range(POWERS + 1):
        basis = linalg.qr(back @ linalg.qr(a @ basis)[0])[0]
    # The right singular vectors of the atoms are those of their coordinates along basis.
    along = a @ basis
    _, turn = linalg.eigh(along.T @ along)  # ascending
    right = basis @ (turn[:, -d:] if torch is None else turn[:, -d:].contiguous())
    right = right[:, ::-1].copy() if torch is None else right.flip(1).contiguous()
    return unit(a @ right), unit(held @ right)


def unit(x: Any) -> Any:
    """Rows of norm 1; a text without a known word stays 0."""
    norms = (x * x).sum(1) ** 0.5
    norms[norms == 0] = 1
    return x / norms[:, None]


def main() -> int:
    if len(sys.argv) != 2:
        sys.exit("text.py: which file?")
    texts, told = corpus.records()
    if len(texts) < QUERIES + LEAST:
        print(f"text.py: no set of real text: {told}")
        return 0
    c = count(texts, QUERIES)
    path = Path(sys.argv[1])
    write(c, path)
    print(f"{path}: {len(c)} texts, {c.words} words, {len(c.word)} counts, {path.stat().st_size / 2**20:.1f} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
