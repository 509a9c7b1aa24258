"""Run UMAP's own tests with neighbours of thresher in the place of its own: docs/python.md.

    git clone https://github.com/lmcinnes/umap
    python tests/umap_suite.py umap

The tests are run with UMAP as it is there; what it imports, and umap-learn for its version, has to be installed.

Every `fit` to rows by a metric of thresher.umap takes `precomputed_knn` of these rows. How many did is printed last.
"""

from __future__ import annotations

import argparse
import collections
import functools
import sys
from pathlib import Path

import pytest
import scipy.sparse

COUNTS: collections.Counter[str] = collections.Counter()


def given(model, X):
    """Return the neighbours that a model is given: of thresher unless the test gives some or the metric is another."""
    own = model.precomputed_knn
    if own is not None and own[0] is not None and not getattr(model, "_of_thresher", False):
        return own
    dense = not scipy.sparse.issparse(X) and getattr(X, "ndim", 0) == 2
    by = model.metric if isinstance(model.metric, str) and not model.metric_kwds else None
    from thresher.umap import METRICS, precomputed_knn

    if not dense or by not in METRICS or model.unique or not 1 < model.n_neighbors <= len(X):
        return (None, None, None)
    return precomputed_knn(X, model.n_neighbors, by)


def with_neighbours(fit):
    """Return UMAP's fit, which is given neighbours first."""

    @functools.wraps(fit)
    def fitted(self, X, *arguments, **named):
        self.precomputed_knn = given(self, X)
        self._of_thresher = hasattr(self.precomputed_knn[-1], "index")
        COUNTS["thresher" if self._of_thresher else "others"] += 1
        return fit(self, X, *arguments, **named)

    return fitted


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sources", type=Path, help="the folder of UMAP's sources")
    args, more = parser.parse_known_args()
    sys.path.insert(0, str(args.sources))
    import umap

    umap.UMAP.fit = with_neighbours(umap.UMAP.fit)
    code = pytest.main(["-q", "-p", "no:cacheprovider", str(args.sources / "umap" / "tests"), *more])
    print(f"fits with neighbours of thresher: {COUNTS['thresher']}, with others: {COUNTS['others']}")
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
