"""The k best vectors of many queries, exactly, with a certificate for every answer.

>>> import numpy as np, thresher
>>> rng = np.random.default_rng(0)
>>> vectors = rng.standard_normal((2000, 64), dtype=np.float32)
>>> scores, ids = thresher.knn(vectors[:3], vectors, k=2, metric="cosine")
>>> ids[:, 0].tolist()
[0, 1, 2]

`knn` replaces ``faiss.knn``; `Index` holds vectors for many searches; `recall`, `certify` and
`verify` compare answers of any origin; `knn_graph` and `pairs` compare vectors with each other; `join` joins tables;
`report` makes a page about answers.
`thresher.sklearn`, `thresher.sentence_transformers`, `thresher.umap` and `thresher.implicit` serve
the packages of these names; `thresher.ray` and `thresher.spark` run on many machines.

The work is done by the program ``thresher``, which this package brings along and starts as a child
process at the first call. Messages go to the logger ``thresher``.
"""

from __future__ import annotations

import logging as _logging
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as _version

from thresher._answer import Answer
from thresher._compare import Certified, Recall, Verification, certify, recall, verify
from thresher._devices import DeviceUnused, devices
from thresher._index import Index
from thresher._joins import MetricWarning, Pairs, knn_graph, pairs
from thresher._knn import knn
from thresher._merge import merge
from thresher._pursuit import Pursuit
from thresher._range_result import RangeResult
from thresher._report import Report, report
from thresher._result import Result
from thresher._tables import join
from thresher._worker import (
    BadInput,
    Cancelled,
    DeadlineExceeded,
    DeviceMissing,
    HandleLost,
    WorkerDied,
    WorkerError,
    empty,
)

# A program that configures no logging sees nothing of this package's.
_logging.getLogger("thresher").addHandler(_logging.NullHandler())

__all__ = [
    "Answer",
    "BadInput",
    "Cancelled",
    "Certified",
    "DeadlineExceeded",
    "DeviceMissing",
    "DeviceUnused",
    "HandleLost",
    "Index",
    "MetricWarning",
    "Pairs",
    "Pursuit",
    "RangeResult",
    "Recall",
    "Report",
    "Result",
    "Verification",
    "WorkerDied",
    "WorkerError",
    "certify",
    "devices",
    "empty",
    "join",
    "knn",
    "knn_graph",
    "merge",
    "pairs",
    "recall",
    "report",
    "verify",
]

try:
    __version__ = _version("thresher")
except PackageNotFoundError:  # run from its sources
    __version__ = "0+unknown"
