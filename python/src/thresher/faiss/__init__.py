"""FAISS's flat indexes, answered by thresher: ``import thresher.faiss as faiss``.

>>> import numpy as np
>>> import thresher.faiss as faiss
>>> index = faiss.IndexFlatL2(4)
>>> index.add(np.eye(4))
>>> distances, labels = index.search(np.ones((1, 4)), 2)
>>> distances.tolist(), labels.tolist()
([[3.0, 3.0]], [[0, 1]])

Names, arguments, types, padding and files are FAISS's; docs/faiss.md has what is here and what differs. Answers by
``METRIC_L2`` and ``METRIC_INNER_PRODUCT`` are exact, and `IndexFlat.thresher` proves them.
"""

from __future__ import annotations

from thresher.faiss._files import deserialize_index, read_index, serialize_index, write_index
from thresher.faiss._flat import Index, IndexFlat, IndexFlatIP, IndexFlatL2
from thresher.faiss._functions import (
    ResultHeap,
    clone_index,
    downcast_index,
    eval_intersection,
    index_factory,
    kmax,
    kmin,
    knn,
    merge_knn_results,
    normalize_L2,
)
from thresher.faiss._idmap import IndexIDMap, IndexIDMap2
from thresher.faiss._metrics import (
    METRIC_GOWER,
    METRIC_INNER_PRODUCT,
    METRIC_L1,
    METRIC_L2,
    METRIC_BrayCurtis,
    METRIC_Canberra,
    METRIC_Jaccard,
    METRIC_JensenShannon,
    METRIC_Linf,
    METRIC_Lp,
    METRIC_NaNEuclidean,
    is_similarity_metric,
    pairwise_distances,
)
from thresher.faiss._pointers import (
    copy_array_to_vector,
    rev_swig_ptr,
    swig_ptr,
    vector_float_to_array,
    vector_to_array,
)
from thresher.faiss._selectors import (
    IDSelector,
    IDSelectorAll,
    IDSelectorAnd,
    IDSelectorArray,
    IDSelectorBatch,
    IDSelectorBitmap,
    IDSelectorNot,
    IDSelectorOr,
    IDSelectorRange,
    IDSelectorTranslated,
    IDSelectorXOr,
    PyCallbackIDSelector,
    SearchParameters,
)
from thresher.faiss._streams import (
    BufferedIOReader,
    BufferedIOWriter,
    FileIOReader,
    FileIOWriter,
    IOReader,
    IOWriter,
    PyCallbackIOReader,
    PyCallbackIOWriter,
    VectorIOReader,
    VectorIOWriter,
)
from thresher.faiss._threads import omp_get_max_threads, omp_set_num_threads

# Flags of `read_index` and `write_index`, which have no meaning for flat indexes.
IO_FLAG_SKIP_STORAGE, IO_FLAG_READ_ONLY, IO_FLAG_MMAP, IO_FLAG_MMAP_IFC = 1, 2, 1684996104, 512

__all__ = [
    "IO_FLAG_MMAP",
    "IO_FLAG_MMAP_IFC",
    "IO_FLAG_READ_ONLY",
    "IO_FLAG_SKIP_STORAGE",
    "METRIC_GOWER",
    "METRIC_INNER_PRODUCT",
    "METRIC_L1",
    "METRIC_L2",
    "BufferedIOReader",
    "BufferedIOWriter",
    "FileIOReader",
    "FileIOWriter",
    "IDSelector",
    "IDSelectorAll",
    "IDSelectorAnd",
    "IDSelectorArray",
    "IDSelectorBatch",
    "IDSelectorBitmap",
    "IDSelectorNot",
    "IDSelectorOr",
    "IDSelectorRange",
    "IDSelectorTranslated",
    "IDSelectorXOr",
    "IOReader",
    "IOWriter",
    "Index",
    "IndexFlat",
    "IndexFlatIP",
    "IndexFlatL2",
    "IndexIDMap",
    "IndexIDMap2",
    "METRIC_BrayCurtis",
    "METRIC_Canberra",
    "METRIC_Jaccard",
    "METRIC_JensenShannon",
    "METRIC_Linf",
    "METRIC_Lp",
    "METRIC_NaNEuclidean",
    "PyCallbackIDSelector",
    "PyCallbackIOReader",
    "PyCallbackIOWriter",
    "ResultHeap",
    "SearchParameters",
    "VectorIOReader",
    "VectorIOWriter",
    "clone_index",
    "copy_array_to_vector",
    "deserialize_index",
    "downcast_index",
    "eval_intersection",
    "index_factory",
    "is_similarity_metric",
    "kmax",
    "kmin",
    "knn",
    "merge_knn_results",
    "normalize_L2",
    "omp_get_max_threads",
    "omp_set_num_threads",
    "pairwise_distances",
    "read_index",
    "rev_swig_ptr",
    "serialize_index",
    "swig_ptr",
    "vector_float_to_array",
    "vector_to_array",
    "write_index",
]


def __getattr__(name: str) -> None:
    """Say of what FAISS has and this module does not that it is FAISS's."""
    instead = "; IndexFlatL2 and IndexFlatIP answer exactly, without training" if name.startswith("Index") else ""
    raise AttributeError(f"thresher.faiss has flat indexes and what belongs to them, and no {name}{instead}")
