"""Search of embeddings for sentence-transformers: functions of its ``util``, with its signatures.

Replace ``from sentence_transformers.util import semantic_search`` by
``from thresher.sentence_transformers import semantic_search``. Chunk sizes are accepted and have
no effect. Scores of functions that thresher does not compute (all but ``cos_sim``, ``dot_score``
and ``euclidean_sim``) are left to sentence-transformers.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import sentence_transformers.util as theirs

from thresher._index import Index
from thresher._joins import neighbours
from thresher._knn import once

__all__ = ["mine_hard_negatives", "paraphrase_mining", "paraphrase_mining_embeddings", "semantic_search"]

ScoreFunction = Callable[[Any, Any], Any]

METRICS: dict[Any, str] = {theirs.cos_sim: "cosine", theirs.dot_score: "ip"}
for _name, _metric in (("pytorch_cos_sim", "cosine"), ("euclidean_sim", "l2")):
    if hasattr(theirs, _name):
        METRICS[getattr(theirs, _name)] = _metric


def _rows(embeddings: Any) -> Any:
    """Return embeddings as rows in the memory of the CPU: tensors of any device, arrays, lists of either."""
    if isinstance(embeddings, (list, tuple)) and len(embeddings) and hasattr(embeddings[0], "detach"):
        import torch

        embeddings = torch.stack([e.reshape(-1) for e in embeddings])
    if hasattr(embeddings, "detach"):
        embeddings = embeddings.detach().cpu()
        if embeddings.is_sparse:
            embeddings = embeddings.to_dense()
    return embeddings


def _scores(scores: npt.NDArray[np.float32], metric: str) -> npt.NDArray[np.float32]:
    return -np.sqrt(scores) if metric == "l2" else scores


def semantic_search(
    query_embeddings: Any,
    corpus_embeddings: Any,
    query_chunk_size: int = 100,
    corpus_chunk_size: int = 500000,
    top_k: int = 10,
    score_function: ScoreFunction = theirs.cos_sim,
) -> list[list[dict[str, int | float]]]:
    """Return the most similar entries of a corpus for each query.

    Parameters
    ----------
    query_embeddings : tensor or array (m, d) or (d,)
    corpus_embeddings : tensor or array (n, d), or thresher.Index
        An Index, whose metric is then used, saves building for each call.
    query_chunk_size, corpus_chunk_size : int
        Without effect.
    top_k : int
        How many entries; fewer if the corpus is smaller.
    score_function
        ``cos_sim`` (the default), ``dot_score`` or ``euclidean_sim``; others are left to
        sentence-transformers.

    Returns
    -------
    list of list of dict
        For each query ``{"corpus_id": .., "score": ..}``, best first.

    Notes
    -----
    No answer is wrong (method ``certain``). `thresher.Index.search` takes other methods.
    """
    index = corpus_embeddings if isinstance(corpus_embeddings, Index) else None
    metric = index.metric if index else METRICS.get(score_function)
    if metric is None:
        answers: list[list[dict[str, int | float]]] = theirs.semantic_search(
            query_embeddings, corpus_embeddings, query_chunk_size, corpus_chunk_size, top_k, score_function
        )
        return answers
    if index is not None:
        return _hits(index, query_embeddings, top_k)
    wanted = once(query_embeddings, top_k, "certain")
    with Index(_rows(corpus_embeddings), metric=metric, _once=wanted) as index:
        return _hits(index, query_embeddings, top_k)


def _hits(index: Index, query_embeddings: Any, top_k: int) -> list[list[dict[str, int | float]]]:
    result = index.search(_rows(query_embeddings), max(1, min(top_k, len(index))), method="certain")
    table = zip(result.ids.tolist(), _scores(result.scores, index.metric).tolist(), result.counts.tolist(), strict=True)
    return [
        [{"corpus_id": i, "score": s} for i, s in zip(ids[:count], scores[:count], strict=True)]
        for ids, scores, count in table
    ]


def paraphrase_mining_embeddings(
    embeddings: Any,
    query_chunk_size: int = 5000,
    corpus_chunk_size: int = 100000,
    max_pairs: int = 500000,
    top_k: int = 100,
    score_function: ScoreFunction = theirs.cos_sim,
) -> list[list[float | int]]:
    """Return the pairs of embeddings that are most similar.

    Parameters
    ----------
    embeddings : tensor or array (n, d)
    query_chunk_size, corpus_chunk_size : int
        Without effect.
    max_pairs : int
        How many pairs at most, the best.
    top_k : int
        How many others each embedding is paired with.
    score_function
        As of `semantic_search`.

    Returns
    -------
    list of [score, i, j]
        i < j, best first. None is missing (method ``certain``).
    """
    metric = METRICS.get(score_function)
    if metric is None:
        mined: list[list[float | int]] = theirs.paraphrase_mining_embeddings(
            embeddings, query_chunk_size, corpus_chunk_size, max_pairs, top_k, score_function
        )
        return mined
    rows = _rows(embeddings)
    if len(rows) < 2:
        return []
    lims, ids, scores, _, _ = neighbours(rows, top_k, metric=metric)
    of = np.repeat(np.arange(len(lims) - 1), np.diff(lims))
    low, high = np.minimum(of, ids), np.maximum(of, ids)
    _, first = np.unique(low * (len(lims) - 1) + high, return_index=True)
    low, high, scores = low[first], high[first], _scores(scores[first], metric)
    best = np.argsort(-scores, kind="stable")[:max_pairs]
    return [[s, i, j] for s, i, j in zip(scores[best].tolist(), low[best].tolist(), high[best].tolist(), strict=True)]


def paraphrase_mining(
    model: Any,
    sentences: list[str],
    show_progress_bar: bool = False,
    batch_size: int = 32,
    query_chunk_size: int = 5000,
    corpus_chunk_size: int = 100000,
    max_pairs: int = 500000,
    top_k: int = 100,
    score_function: ScoreFunction = theirs.cos_sim,
    truncate_dim: int | None = None,
    prompt_name: str | None = None,
    prompt: str | None = None,
) -> list[list[float | int]]:
    """Return the pairs of sentences whose embeddings are most similar.

    Parameters
    ----------
    model : SentenceTransformer
        What encodes the sentences.
    sentences : list of str
    show_progress_bar, batch_size, truncate_dim, prompt_name, prompt
        Of ``model.encode``.
    query_chunk_size, corpus_chunk_size, max_pairs, top_k, score_function
        As of `paraphrase_mining_embeddings`.

    Returns
    -------
    list of [score, i, j]
    """
    given = {"truncate_dim": truncate_dim, "prompt_name": prompt_name, "prompt": prompt}
    embeddings = model.encode(
        sentences,
        show_progress_bar=show_progress_bar,
        batch_size=batch_size,
        convert_to_tensor=True,
        **{key: value for key, value in given.items() if value is not None},
    )
    return paraphrase_mining_embeddings(
        embeddings, query_chunk_size, corpus_chunk_size, max_pairs, top_k, score_function
    )


class _FlatIndex:
    """The part of an index of FAISS that mining asks for."""

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self.index: Index | None = None

    def add(self, embeddings: npt.NDArray[np.float32]) -> None:
        self.index = Index(embeddings, metric="ip")

    def search(self, queries: npt.NDArray[np.float32], k: int) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
        assert self.index is not None
        result = self.index.search(queries, k, method="certain")
        return np.where(result.rows < 0, np.float32(-np.inf), result.scores), result.rows


@functools.cache
def _mining() -> Callable[..., Any]:
    """Return sentence-transformers' function with an index of ours where it imports FAISS.

    The import is replaced for this one copy of the function; nothing outside it changes.
    """
    faiss = types.SimpleNamespace(IndexFlatIP=_FlatIndex)

    def import_(name: str, *args: Any, **kwargs: Any) -> Any:
        return faiss if name == "faiss" else builtins.__import__(name, *args, **kwargs)

    function = inspect.unwrap(theirs.mine_hard_negatives)
    scope = {**function.__globals__, "__builtins__": {**vars(builtins), "__import__": import_}}
    ours = types.FunctionType(function.__code__, scope, function.__name__, function.__defaults__, function.__closure__)
    ours.__kwdefaults__ = function.__kwdefaults__
    return ours


@functools.wraps(theirs.mine_hard_negatives)
def mine_hard_negatives(*args: Any, **kwargs: Any) -> Any:
    """Add hard negatives to a dataset of (anchor, positive) pairs, as sentence-transformers does.

    Parameters and results are those of ``sentence_transformers.util.mine_hard_negatives``. The
    nearest texts of each anchor are found by thresher in place of FAISS or PyTorch, whatever
    ``use_faiss`` is.
    """
    given = inspect.signature(theirs.mine_hard_negatives).bind(*args, **kwargs)
    given.arguments["use_faiss"] = True
    return _mining()(*given.args, **given.kwargs)


mine_hard_negatives.__doc__ = (
    "Add hard negatives to a dataset, found by thresher whatever ``use_faiss`` is.\n\n"
    "What follows is sentence-transformers' description.\n\n" + (inspect.getdoc(theirs.mine_hard_negatives) or "")
)
