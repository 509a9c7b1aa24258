"""thresher.sentence_transformers against sentence-transformers, on made-up embeddings."""

import hashlib
import inspect
import logging
import random

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("sentence_transformers")

import sentence_transformers.util as theirs
import torch

import thresher
import thresher.sentence_transformers as ours


@pytest.fixture(scope="module")
def embeddings():
    rng = np.random.default_rng(4)
    corpus = torch.from_numpy(rng.standard_normal((700, 40)).astype(np.float32))
    return corpus[:50] + 0.5 * torch.randn(50, 40, generator=torch.Generator().manual_seed(1)), corpus


def agree(mine, right):
    assert len(mine) == len(right)
    for a, b in zip(mine, right, strict=True):
        assert [hit["corpus_id"] for hit in a] == [hit["corpus_id"] for hit in b]
        np.testing.assert_allclose([h["score"] for h in a], [h["score"] for h in b], rtol=1e-4, atol=1e-5)
        assert all(type(h["corpus_id"]) is int and type(h["score"]) is float for h in a)


def test_signatures():
    for name in ours.__all__:
        assert list(inspect.signature(getattr(ours, name)).parameters) == list(
            inspect.signature(getattr(theirs, name)).parameters
        )


@pytest.mark.parametrize("score", [theirs.cos_sim, theirs.dot_score, theirs.euclidean_sim, theirs.manhattan_sim])
def test_semantic_search(embeddings, score):
    queries, corpus = embeddings
    right = theirs.semantic_search(queries, corpus, top_k=7, score_function=score)
    agree(ours.semantic_search(queries, corpus, top_k=7, score_function=score), right)


def test_semantic_search_of_other_forms(embeddings):
    queries, corpus = embeddings
    right = theirs.semantic_search(queries, corpus)
    agree(ours.semantic_search(queries.numpy(), corpus.numpy()), right)
    agree(ours.semantic_search(list(queries), list(corpus)), right)
    agree(ours.semantic_search(queries[0], corpus), right[:1])
    agree(ours.semantic_search(queries, corpus[:3], top_k=9), theirs.semantic_search(queries, corpus[:3], top_k=9))
    with thresher.Index(corpus, metric="cosine") as index:
        agree(ours.semantic_search(queries, index), right)


def test_semantic_search_of_nothing(embeddings):
    queries, corpus = embeddings
    assert ours.semantic_search(queries[:0], corpus) == theirs.semantic_search(queries[:0], corpus) == []
    assert ours.semantic_search(queries[:2], corpus[:0]) == theirs.semantic_search(queries[:2], corpus[:0]) == [[], []]


def test_semantic_search_is_never_wrong():
    """Of rows on which an answer with a chance to fail would be looked for by another method."""
    rng = np.random.default_rng(11)
    corpus, queries = (torch.from_numpy(rng.standard_normal((n, 512)).astype(np.float32)) for n in (6000, 40))
    agree(ours.semantic_search(queries, corpus), theirs.semantic_search(queries, corpus))
    with thresher.Index(corpus, metric="cosine") as index:
        asked = []
        index.search = lambda *a, **k: asked.append(k["method"]) or thresher.Index.search(index, *a, **k)
        agree(ours.semantic_search(queries, index), theirs.semantic_search(queries, corpus))
        assert asked == ["certain"]


@pytest.mark.parametrize("settings", [{}, {"top_k": 5}, {"max_pairs": 100}, {"score_function": theirs.dot_score}])
def test_paraphrase_mining(embeddings, settings):
    _, corpus = embeddings
    right = theirs.paraphrase_mining_embeddings(corpus, **settings)
    mine = ours.paraphrase_mining_embeddings(corpus, **settings)
    assert len(mine) == len(right)
    np.testing.assert_allclose([p[0] for p in mine], [p[0] for p in right], rtol=1e-4, atol=1e-5)
    last = right[-1][0] + 1e-4
    assert {(i, j) for s, i, j in mine if s > last} == {(i, j) for s, i, j in right if s > last}


class Encoder:
    """Stands for a model: an embedding is drawn from a text's hash, near that of its first word."""

    device = torch.device("cpu")
    similarity = staticmethod(theirs.cos_sim)
    similarity_pairwise = staticmethod(theirs.pairwise_cos_sim)

    def _one(self, text):
        seeds = [int.from_bytes(hashlib.sha256(t.encode()).digest()[:4], "big") for t in (text.split()[0], text)]
        first, own = (np.random.default_rng(s).standard_normal(32) for s in seeds)
        vector = first + 0.5 * own
        return (vector / np.linalg.norm(vector)).astype(np.float32)

    def encode(self, texts, convert_to_tensor=False, **_):
        rows = np.array([self._one(t) for t in texts])
        return torch.from_numpy(rows) if convert_to_tensor else rows

    def encode_query(self, texts, **_):
        return self.encode(texts)

    encode_document = encode_query

    def get_embedding_dimension(self):
        return 32

    get_sentence_embedding_dimension = get_embedding_dimension


def test_paraphrase_mining_of_texts():
    texts = [f"topic{i % 7} text {i}" for i in range(60)]
    mine, right = (m.paraphrase_mining(Encoder(), texts, top_k=10) for m in (ours, theirs))
    np.testing.assert_allclose([p[0] for p in mine], [p[0] for p in right], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"relative_margin": 0.05, "num_negatives": 2, "range_min": 1},
        {"max_score": 0.8, "output_format": "n-tuple", "output_scores": True},
        {"sampling_strategy": "random", "range_max": 20},
        {"use_faiss": False, "output_format": "labeled-pair"},
    ],
    ids=str,
)
def test_mine_hard_negatives(settings):
    datasets = pytest.importorskip("datasets")
    logging.getLogger("datasets").setLevel(logging.ERROR)
    pairs = {
        "query": [f"topic{i % 9} question {i}" for i in range(80)],
        "answer": [f"topic{i % 9} answer {i}" for i in range(80)],
    }
    mined = []
    for module in (ours, theirs):
        random.seed(1)
        mined.append(
            module.mine_hard_negatives(datasets.Dataset.from_dict(pairs), Encoder(), verbose=False, **settings)
        )
    assert mined[0].column_names == mined[1].column_names and len(mined[0]) == len(mined[1]) > 0
    for mine, right in zip(mined[0], mined[1], strict=True):
        for name in mine:
            if name in ("scores", "score"):
                np.testing.assert_allclose(mine[name], right[name], rtol=1e-4)
            else:
                assert mine[name] == right[name]
    import builtins
    import sys

    assert builtins.__import__("json") is sys.modules["json"]  # nothing outside was changed
