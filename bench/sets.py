"""The names of the race's sets, and what some of them need. It does not use numpy, since the
report is written without it."""

from __future__ import annotations

# The most informative first: a run may be cut short.
MAIN = (
    "records768",
    "power768",
    "power4096",
    "records1536",
    "iid768",
    "lsa768",
    "flat1536",
    "lsa1536",
    "mnist",
    "ml1m",
)
TINY = tuple((n, d) for d in (128, 768) for n in (100, 500, 1000))
SWEEP_DIMS = (64, 128, 256, 512, 1024, 2048, 4096)
SMALL = ("small-power", "small-iid")

LISTS = "the package lists of Debian's apt"
DOCUMENTS = "10,000 passages of documentation"
# Sources of sets that some machines lack.
NEEDS = {
    "records768": LISTS,
    "records1536": LISTS,
    "lsa768": DOCUMENTS,
    "lsa1536": DOCUMENTS,
    "mnist": "../shared/data/mnist-t10k",
    "ml1m": "../shared/data/ml-1m",
}
