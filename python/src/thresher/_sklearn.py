"""The searches of scikit-learn's estimators, by thresher where it can."""

from __future__ import annotations

import copy
import logging
import numbers
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted, validate_data

import thresher
from thresher._index import Index

__all__ = ["Searching", "SearchingNearest", "SearchingRadius"]

log = logging.getLogger("thresher")

# Effective metrics of scikit-learn that thresher computes, and by which of its own.
METRICS: dict[str, Literal["l2", "cosine"]] = {"euclidean": "l2", "l2": "l2", "sqeuclidean": "l2", "cosine": "cosine"}
UNIT = 2.0**-24  # relative rounding error of float32
SPARE = 8  # how many more neighbours than asked for tell whether rounding can matter
CHUNK = 1 << 22  # values that are compared in float64 together


class _Holder:
    """The index of an estimator's rows, built when it is first searched; copies begin without."""

    def __init__(self) -> None:
        self.index: Index | None = None
        self.refused = False  # thresher does not take the rows
        self.searches = 0  # answered by thresher

    def __reduce__(self) -> tuple[type[_Holder], tuple[()]]:
        return _Holder, ()


class Searching:
    """The searches of an estimator of scikit-learn, by thresher where it can."""

    _held: _Holder

    # What scikit-learn's classes have.
    algorithm: str
    metric: Any
    p: Any
    metric_params: Any
    n_samples_fit_: int
    effective_metric_: str
    _fit_X: Any
    _fit_method: Any
    method: str
    device: Any

    def _fit(self, X: Any, y: Any = None) -> Any:
        self._held = _Holder()
        given = self.algorithm
        if given == "auto" and self._ours_by_parameters():
            self.algorithm = "brute"  # no tree is built that nobody asks
        try:
            return super()._fit(X, y)  # type: ignore[misc]
        finally:
            self.algorithm = given

    def _ours_by_parameters(self) -> bool:
        """Report whether metric and algorithm leave the search to thresher."""
        if self.algorithm not in ("auto", "brute") or self.metric_params:
            return False
        return (self.metric == "minkowski" and self.p == 2) or (isinstance(self.metric, str) and self.metric in METRICS)

    def _ours(self, X: Any) -> bool:
        """Report whether thresher can search for X, None for the rows that were fitted."""
        if self._held.refused or not self._ours_by_parameters():
            return False
        fitted = self._fit_X
        return isinstance(fitted, np.ndarray) and fitted.dtype.kind in "fiub" and not hasattr(X, "tocsr")

    def _counting(self, fitted: Any) -> Any:
        """Let a classifier count classes of the neighbours that thresher finds; by brute force it finds its own."""
        if self._fit_method == "brute" and self._ours(None):
            self._fit_method = "thresher"
        return fitted

    def _opened(self) -> Index | None:
        """Return the index of the fitted rows, or None if thresher refuses them."""
        held = self._held
        if held.index is None:
            try:
                held.index = Index(_floats(self._fit_X), metric=METRICS[self.effective_metric_], device=self.device)
            except thresher.BadInput as e:
                log.info("scikit-learn searches itself: %s", e)
                held.refused = True
        return held.index

    def _theirs(self) -> Any:
        """Return the bound methods of scikit-learn's own class."""
        if self._fit_method == "thresher":
            other = copy.copy(self)
            other._fit_method = "brute"
            return super(Searching, other)
        return super()

    def _shown(self, scores: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
        """Return scores of thresher as distances, not squared."""
        wide = scores.astype(np.float64)
        return np.asarray(np.sqrt(wide) if METRICS[self.effective_metric_] == "l2" else 1 - wide)

    def _slack(self, index: Index, queries: Any) -> npt.NDArray[np.float64]:
        """Return for each query by how much rounding to float32 can change a distance.

        Rows and queries are rounded relative to the origin of the index, so that rows far from zero
        that are close together are rounded little.
        """
        if METRICS[self.effective_metric_] == "cosine":
            return np.full(len(queries), 8 * UNIT)
        norms = [_norms(x, index._origin) for x in (queries, self._fit_X)]
        return np.asarray(1.01 * UNIT * (norms[0] + norms[1].max()) + 1e-40)

    def _distances(self, queries: Any, of: npt.NDArray[np.int64], to: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return the distances of rows of queries to fitted rows, pair by pair, in float64."""
        out = np.empty(len(of))
        step = max(1, CHUNK // self._fit_X.shape[1])
        for first in range(0, len(of), step):
            some = slice(first, first + step)
            x = np.asarray(queries[of[some]], np.float64)
            y = np.asarray(self._fit_X[to[some]], np.float64)
            if METRICS[self.effective_metric_] == "l2":
                x -= y
                squares = np.einsum("ij,ij->i", x, x)
                out[some] = squares if self.effective_metric_ == "sqeuclidean" else np.sqrt(squares)
            else:
                norms = np.sqrt(np.einsum("ij,ij->i", x, x) * np.einsum("ij,ij->i", y, y))
                products = np.einsum("ij,ij->i", x, y)
                out[some] = np.clip(1 - np.divide(products, norms, out=np.zeros_like(norms), where=norms > 0), 0, 2)
        return out


class SearchingNearest(Searching):
    """Searches of the nearest neighbours."""

    n_neighbors: Any

    def kneighbors(self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True) -> Any:
        """Find the nearest neighbours of points, as scikit-learn's method of the same name.

        Parameters
        ----------
        X : array (m, d), optional
            The points; without, those that were fitted, none of which is its own neighbour.
        n_neighbors : int, optional
            How many; those of the estimator, if not given.
        return_distance : bool
            Whether distances are returned.

        Returns
        -------
        neigh_dist : ndarray of float64 (m, n_neighbors)
            Only with return_distance.
        neigh_ind : ndarray of int64 (m, n_neighbors)
        """
        check_is_fitted(self)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        most = self.n_samples_fit_ - (X is None)
        valid = isinstance(k, numbers.Integral) and 1 <= int(k) <= most
        if not (valid and self._ours(X)) or (index := self._opened()) is None:
            return self._theirs().kneighbors(X, n_neighbors, return_distance)
        queries = self._fit_X if X is None else validate_data(self, X, reset=False, order="C")
        self._held.searches += 1
        try:
            distances, found = self._nearest(index, queries, int(k) + (X is None))
        except thresher.BadInput as e:
            log.info("scikit-learn searches itself: %s", e)
            return self._theirs().kneighbors(X, n_neighbors, return_distance)
        if X is None:
            own = found == np.arange(len(found))[:, np.newaxis]
            own[~own.any(axis=1), 0] = True  # of more copies than neighbours scikit-learn leaves out the first
            distances, found = (part[~own].reshape(len(found), int(k)) for part in (distances, found))
        return (distances, found) if return_distance else found

    def _nearest(self, index: Index, queries: Any, k: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
        """Return distances and rows of the k nearest by distances in float64.

        The vectors that thresher searches are rounded, by which no distance changes by more than
        slack. If the last of a few neighbours more than k is farther than the k-th by this, no vector
        beyond it can be among the k nearest; if not, still more are asked for.
        """
        m, most = len(queries), len(index)
        if index.metric == "l2" and queries.dtype == np.float32 and self._fit_X.dtype == np.float32:
            result = index.search(queries, k, method=self.method)
            squares = result.scores.astype(np.float64)
            return (squares if self.effective_metric_ == "sqeuclidean" else np.sqrt(squares)), result.ids
        distances, found = np.empty((m, k)), np.empty((m, k), np.int64)
        slack = self._slack(index, queries)
        open_, width = np.arange(m), min(k + SPARE, most)
        while len(open_):
            later = []
            step = max(1, CHUNK // width)
            for first in range(0, len(open_), step):
                part = open_[first : first + step]
                result = index.search(_floats(queries[part]), width, method=self.method)
                exact = self._distances(queries, np.repeat(part, width), result.ids.reshape(-1))
                exact = exact.reshape(len(part), width)
                order = np.lexsort((result.ids, exact), axis=1)[:, :k]
                distances[part] = np.take_along_axis(exact, order, axis=1)
                found[part] = np.take_along_axis(result.ids, order, axis=1)
                if width < most:
                    last = self._shown(result.scores[:, -1])
                    kth = distances[part, -1]
                    kth = np.sqrt(kth) if self.effective_metric_ == "sqeuclidean" else kth
                    later.append(part[~(last * (1 - 4 * UNIT) - slack[part] > kth)])
            open_ = np.concatenate(later) if later else open_[:0]
            width = min(8 * width, most)
        return distances, found


def _floats(rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return rows of floats; integers may be rounded here, for distances are computed of those given."""
    return rows if rows.dtype.kind == "f" else rows.astype(np.float64)


def _norms(rows: npt.NDArray[Any], origin: npt.NDArray[np.float64] | None) -> npt.NDArray[np.float64]:
    """Return the Euclidean norms of rows relative to an origin, a chunk at a time."""
    out = np.empty(len(rows))
    step = max(1, CHUNK // rows.shape[1])
    for first in range(0, len(rows), step):
        x = rows[first : first + step].astype(np.float64)
        if origin is not None:
            x -= origin
        out[first : first + step] = np.sqrt(np.einsum("ij,ij->i", x, x))
    return out


class SearchingRadius(Searching):
    """Searches of all neighbours within a radius."""

    radius: Any

    def radius_neighbors(
        self, X: Any = None, radius: float | None = None, return_distance: bool = True, sort_results: bool = False
    ) -> Any:
        """Find all neighbours within a radius, as scikit-learn's method of the same name.

        Parameters
        ----------
        X : array (m, d), optional
            The points; without, those that were fitted, none of which is its own neighbour.
        radius : float, optional
            That of the estimator, if not given. A point exactly there is a neighbour.
        return_distance, sort_results : bool
            Whether distances are returned, and neighbours are sorted by them; by row otherwise.

        Returns
        -------
        neigh_dist : ndarray (m,) of arrays of float64
            Only with return_distance.
        neigh_ind : ndarray (m,) of arrays of int64
        """
        check_is_fitted(self)
        reach = self.radius if radius is None else radius
        odd = (sort_results and not return_distance) or not reach >= 0  # what scikit-learn refuses, or answers itself
        if odd or not self._ours(X) or (index := self._opened()) is None:
            return self._theirs().radius_neighbors(X, radius, return_distance, sort_results)
        queries = self._fit_X if X is None else validate_data(self, X, reset=False, order="C")
        squared = self.effective_metric_ == "sqeuclidean"
        wide = (np.sqrt(max(reach, 0)) if squared else reach) * (1 + 4 * UNIT) + self._slack(index, queries)
        threshold = wide**2 * (1 + 4 * UNIT) + 1e-40 if index.metric == "l2" else 1 - wide
        self._held.searches += 1
        try:
            lims, _, rows = index.range_search(_floats(queries), threshold, method=self.method, exclude_self=X is None)
        except thresher.BadInput as e:
            log.info("scikit-learn searches itself: %s", e)
            return self._theirs().radius_neighbors(X, radius, return_distance, sort_results)
        of = np.repeat(np.arange(len(queries)), np.diff(lims))
        distances = self._distances(queries, of, rows)
        near = distances <= reach
        of, rows, distances = of[near], rows[near], distances[near]
        order = np.lexsort((rows, distances, of) if sort_results else (rows, of))
        ends = np.cumsum(np.bincount(of, minlength=len(queries)))
        found, apart = (np.empty(len(queries), object) for _ in range(2))
        for j, (start, end) in enumerate(zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)):
            found[j], apart[j] = rows[order[start:end]], distances[order[start:end]]
        return (apart, found) if return_distance else found
