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
# Of the race with all exact peers: synthetic embeddings, with the best atoms of each query that
# are computed, independent normal vectors, and items of a recommender.
POWER = (
    *((n, d, 1000) for n, d in ((10_000, 128), (10_000, 384), (10_000, 768), (10_000, 1536))),
    *((n, d, 1000) for n in (60_000, 200_000) for d in (128, 384)),
    (200_000, 768, 1000),
    *((1_000_000, d, 100) for d in (256, 768)),
)
IID = ((60_000, 128), (10_000, 768))
ITEMS = (64, 128)
# Mixtures, with their centres, and counts of words.
MIXTURES = tuple((n, d, 100 if n == 1000 else 1000) for n in (1000, 10_000, 100_000) for d in (64, 384, 768, 1536))
COUNTS = ((10_000, 128), (10_000, 2000), (60_000, 512), (60_000, 2000))
SMALL = ("small-power", "small-iid")

LISTS = "the package lists of Debian's apt"
DOCUMENTS = "10,000 passages of documentation"
BERT, MPNET = "bert-mpnet-movies/bert_embeddings.npy", "bert-mpnet-movies/mpnet_embeddings.npy"
SP500 = "sp500-embeddings/embeddings.npy"
# Sources of sets that some machines lack.
NEEDS = {
    "records768": LISTS,
    "records1536": LISTS,
    "lsa768": DOCUMENTS,
    "lsa1536": DOCUMENTS,
    "mnist": "../shared/data/mnist-t10k",
    "ml1m": "../shared/data/ml-1m",
    "ml1m-64": "../shared/data/ml-1m",
    "lsa768-10000": DOCUMENTS,
    "bert-590x768": f"../shared/data/{BERT}",
    "mpnet-590x768": f"../shared/data/{MPNET}",
    "sp500-439x1536": f"../shared/data/{SP500}",
}
