"""Matching pursuit: signals as sums of vectors."""

import numpy as np
import pytest

import thresher

VECTORS = np.array([[2, 0, 0], [0, 4, 0], [0, 0, 0.5]], np.float32)
SIGNALS = np.array([[6, 4, 0], [0, 0, 0], [0, -2, 3]], np.float32)


@pytest.fixture(scope="module")
def index():
    with thresher.Index(VECTORS, ids=["x", "y", "z"], metric="cosine", basis="raw") as made:
        yield made


@pytest.mark.parametrize("terms", [2, 50])
def test_sums(index, terms):
    """Terms are those of the sums, padded where there are fewer; more terms than vectors are no error."""
    found = index.pursuit(SIGNALS, terms)
    assert found.ids.tolist()[0] == ["x", "y"]
    assert found.rows.tolist() == [[0, 1], [-1, -1], [2, 1]]
    assert found.coefficients == pytest.approx(np.array([[3, 1], [0, 0], [6, -0.5]]))
    assert found.residuals == pytest.approx(np.array([[4, 0], [0, 0], [2, 0]]))
    assert found.counts.tolist() == [2, 0, 2]
    assert (found.pulls > 0).tolist() == [[True, True], [False, False], [True, True]]
    assert np.einsum("mt,mtd->md", found.coefficients, VECTORS[found.rows]) == pytest.approx(SIGNALS)
    assert found.summary["terms"] == 4
    assert "every step takes the best vector" in found.summary["promise"]


def test_options(index):
    """Positive coefficients only; a published method with its options; one row is a signal."""
    positive = index.pursuit(SIGNALS[2], 3, nonnegative=True)
    assert positive.ids.tolist() == [["z"]]
    assert positive.residuals.tolist() == [[2.0]]
    chance = index.pursuit(SIGNALS, 2, method="banditmips", published={"sigma": 1}, delta=0.1)
    assert chance.summary["method"] == "banditmips"
    assert chance.summary["delta"] == 0.1
    assert chance.rows[0].tolist() == [0, 1]


def test_nothing_left():
    """The residual of a signal without terms is its own length."""
    with thresher.Index([[1.0, 0], [2, 0]], metric="cosine") as flat:
        found = flat.pursuit([[0, 3.0], [5, 0]], 1)
    assert found.counts.tolist() == [0, 1]
    assert found.residuals.tolist() == [[3.0], [0.0]]


@pytest.mark.parametrize(
    ("signals", "terms", "options", "error", "message"),
    [
        ([[1, 2, 3]], 0, {}, ValueError, "terms: 0"),
        ([[1, 2, 3]], 1.5, {}, TypeError, "terms"),
        ([[1, 2]], 1, {}, ValueError, "signals: .*2.*3"),
        ([[1, 2, 3], [1, np.nan, 3]], 1, {}, ValueError, "signals: row 1: coordinate 1 is NaN"),
        ([[1, 2, 3]], 1, {"method": "best"}, ValueError, "method: .*best"),
        ([[1, 2, 3]], 1, {"delta": 1}, ValueError, "delta"),
        ([[1, 2, 3]], 1, {"nonnegative": 1}, (TypeError, ValueError), "nonnegative"),
        ([[1, 2, 3]], 1, {"published": {"warm": 1}}, ValueError, "published.warm: method certain has no such option"),
    ],
)
def test_bad_arguments(index, signals, terms, options, error, message):
    with pytest.raises(error, match=message):
        index.pursuit(signals, terms, **options)


def test_metric():
    with thresher.Index(VECTORS, metric="ip") as made, pytest.raises(ValueError, match=r"metric ip.*cosine"):
        made.pursuit(SIGNALS, 1)


def test_recall_by_a_published_method(index):
    """Recall takes published methods with their options; certify refuses them and says who does."""
    answers = [["x"], ["y"], ["z"]]
    found = thresher.recall(answers, index, VECTORS, method="banditmips", published={"sigma": "bernstein"})
    assert found.recall == 1
    with pytest.raises(ValueError, match=r"method: certify takes no banditmips.*search, recall, graph and pursuit do"):
        thresher.certify(answers, index, VECTORS, method="banditmips")
