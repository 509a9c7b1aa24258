"""Neighbours for scikit-learn: its estimators, answered by thresher.

`NearestNeighbors`, `KNeighborsTransformer`, `KNeighborsClassifier`, `KNeighborsRegressor`,
`RadiusNeighborsTransformer`, `RadiusNeighborsClassifier` and `RadiusNeighborsRegressor` are those of
scikit-learn, with the same parameters and answers. Searches of dense rows by Euclidean
distance or cosine are answered by thresher, with ``algorithm`` "auto" or "brute"; all others
(other metrics, sparse or precomputed data, trees asked for by name) by scikit-learn.

Two parameters are new: ``method`` is how thresher searches, by default ``certain``, which is never
wrong; ``device`` is where. The distances returned are computed in float64 from the data as given,
and the neighbours are the nearest by them, although thresher searches float32.

Examples
--------
>>> from sklearn.pipeline import make_pipeline
>>> from sklearn.neighbors import KNeighborsClassifier
>>> from thresher.sklearn import KNeighborsTransformer
>>> model = make_pipeline(
...     KNeighborsTransformer(n_neighbors=5, mode="distance"), KNeighborsClassifier(n_neighbors=5, metric="precomputed")
... )
"""

from __future__ import annotations

from typing import Any, ClassVar

import sklearn.neighbors
from sklearn.utils._param_validation import StrOptions

from thresher._sklearn import SearchingNearest, SearchingRadius

__all__ = [
    "KNeighborsClassifier",
    "KNeighborsRegressor",
    "KNeighborsTransformer",
    "NearestNeighbors",
    "RadiusNeighborsClassifier",
    "RadiusNeighborsRegressor",
    "RadiusNeighborsTransformer",
]

OURS: dict[str, list[Any]] = {
    "method": [StrOptions({"auto", "exact", "certain", "adaptive"})],
    "device": [StrOptions({"auto", "cpu", "cuda"})],
}


class NearestNeighbors(SearchingNearest, SearchingRadius, sklearn.neighbors.NearestNeighbors):
    """scikit-learn's ``NearestNeighbors``, answered by thresher.

    Parameters
    ----------
    n_neighbors, radius, algorithm, leaf_size, metric, p, metric_params, n_jobs
        As in scikit-learn. thresher uses all cores, whatever n_jobs is.
    method : {"certain", "exact", "adaptive", "auto"}
        How thresher searches; ``certain`` and ``exact`` are never wrong, the others each with
        probability at most .01.
    device : {"auto", "cpu", "cuda"}
        Where it searches.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **sklearn.neighbors.NearestNeighbors._parameter_constraints,
        **OURS,
    }

    def __init__(
        self,
        *,
        n_neighbors: int = 5,
        radius: float = 1.0,
        algorithm: str = "auto",
        leaf_size: int = 30,
        metric: Any = "minkowski",
        p: float = 2,
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        method: str = "certain",
        device: str = "auto",
    ) -> None:
        super().__init__(
            n_neighbors=n_neighbors,
            radius=radius,
            algorithm=algorithm,
            leaf_size=leaf_size,
            metric=metric,
            p=p,
            metric_params=metric_params,
            n_jobs=n_jobs,
        )
        self.method = method
        self.device = device


class KNeighborsTransformer(SearchingNearest, sklearn.neighbors.KNeighborsTransformer):
    """scikit-learn's ``KNeighborsTransformer``, answered by thresher.

    Parameters
    ----------
    mode, n_neighbors, algorithm, leaf_size, metric, p, metric_params, n_jobs
        As in scikit-learn.
    method, device
        As in `NearestNeighbors`.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **sklearn.neighbors.KNeighborsTransformer._parameter_constraints,
        **OURS,
    }

    def __init__(
        self,
        *,
        mode: str = "distance",
        n_neighbors: int = 5,
        algorithm: str = "auto",
        leaf_size: int = 30,
        metric: Any = "minkowski",
        p: float = 2,
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        method: str = "certain",
        device: str = "auto",
    ) -> None:
        super().__init__(
            mode=mode,
            n_neighbors=n_neighbors,
            algorithm=algorithm,
            leaf_size=leaf_size,
            metric=metric,
            p=p,
            metric_params=metric_params,
            n_jobs=n_jobs,
        )
        self.method = method
        self.device = device


class KNeighborsClassifier(SearchingNearest, sklearn.neighbors.KNeighborsClassifier):
    """scikit-learn's ``KNeighborsClassifier``, answered by thresher.

    Parameters
    ----------
    n_neighbors, weights, algorithm, leaf_size, p, metric, metric_params, n_jobs
        As in scikit-learn.
    method, device
        As in `NearestNeighbors`.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **sklearn.neighbors.KNeighborsClassifier._parameter_constraints,
        **OURS,
    }

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: Any = "uniform",
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: float = 2,
        metric: Any = "minkowski",
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        method: str = "certain",
        device: str = "auto",
    ) -> None:
        super().__init__(
            n_neighbors=n_neighbors,
            weights=weights,
            algorithm=algorithm,
            leaf_size=leaf_size,
            p=p,
            metric=metric,
            metric_params=metric_params,
            n_jobs=n_jobs,
        )
        self.method = method
        self.device = device

    def _fit(self, X: Any, y: Any = None) -> Any:
        return self._counting(super()._fit(X, y))


class KNeighborsRegressor(SearchingNearest, sklearn.neighbors.KNeighborsRegressor):
    """scikit-learn's ``KNeighborsRegressor``, answered by thresher.

    Parameters
    ----------
    n_neighbors, weights, algorithm, leaf_size, p, metric, metric_params, n_jobs
        As in scikit-learn.
    method, device
        As in `NearestNeighbors`.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **sklearn.neighbors.KNeighborsRegressor._parameter_constraints,
        **OURS,
    }

    def __init__(
        self,
        n_neighbors: int = 5,
        *,
        weights: Any = "uniform",
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: float = 2,
        metric: Any = "minkowski",
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        method: str = "certain",
        device: str = "auto",
    ) -> None:
        super().__init__(
            n_neighbors=n_neighbors,
            weights=weights,
            algorithm=algorithm,
            leaf_size=leaf_size,
            p=p,
            metric=metric,
            metric_params=metric_params,
            n_jobs=n_jobs,
        )
        self.method = method
        self.device = device


class RadiusNeighborsTransformer(SearchingRadius, sklearn.neighbors.RadiusNeighborsTransformer):
    """scikit-learn's ``RadiusNeighborsTransformer``, answered by thresher.

    Parameters
    ----------
    mode, radius, algorithm, leaf_size, metric, p, metric_params, n_jobs
        As in scikit-learn.
    method, device
        As in `NearestNeighbors`.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **sklearn.neighbors.RadiusNeighborsTransformer._parameter_constraints,
        **OURS,
    }

    def __init__(
        self,
        *,
        mode: str = "distance",
        radius: float = 1.0,
        algorithm: str = "auto",
        leaf_size: int = 30,
        metric: Any = "minkowski",
        p: float = 2,
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        method: str = "certain",
        device: str = "auto",
    ) -> None:
        super().__init__(
            mode=mode,
            radius=radius,
            algorithm=algorithm,
            leaf_size=leaf_size,
            metric=metric,
            p=p,
            metric_params=metric_params,
            n_jobs=n_jobs,
        )
        self.method = method
        self.device = device


class RadiusNeighborsClassifier(SearchingRadius, sklearn.neighbors.RadiusNeighborsClassifier):
    """scikit-learn's ``RadiusNeighborsClassifier``, answered by thresher.

    Parameters
    ----------
    radius, weights, algorithm, leaf_size, p, metric, outlier_label, metric_params, n_jobs
        As in scikit-learn.
    method, device
        As in `NearestNeighbors`.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **sklearn.neighbors.RadiusNeighborsClassifier._parameter_constraints,
        **OURS,
    }

    def __init__(
        self,
        radius: float = 1.0,
        *,
        weights: Any = "uniform",
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: float = 2,
        metric: Any = "minkowski",
        outlier_label: Any = None,
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        method: str = "certain",
        device: str = "auto",
    ) -> None:
        super().__init__(
            radius=radius,
            weights=weights,
            algorithm=algorithm,
            leaf_size=leaf_size,
            p=p,
            metric=metric,
            outlier_label=outlier_label,
            metric_params=metric_params,
            n_jobs=n_jobs,
        )
        self.method = method
        self.device = device

    def _fit(self, X: Any, y: Any = None) -> Any:
        return self._counting(super()._fit(X, y))


class RadiusNeighborsRegressor(SearchingRadius, sklearn.neighbors.RadiusNeighborsRegressor):
    """scikit-learn's ``RadiusNeighborsRegressor``, answered by thresher.

    Parameters
    ----------
    radius, weights, algorithm, leaf_size, p, metric, metric_params, n_jobs
        As in scikit-learn.
    method, device
        As in `NearestNeighbors`.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **sklearn.neighbors.RadiusNeighborsRegressor._parameter_constraints,
        **OURS,
    }

    def __init__(
        self,
        radius: float = 1.0,
        *,
        weights: Any = "uniform",
        algorithm: str = "auto",
        leaf_size: int = 30,
        p: float = 2,
        metric: Any = "minkowski",
        metric_params: dict[str, Any] | None = None,
        n_jobs: int | None = None,
        method: str = "certain",
        device: str = "auto",
    ) -> None:
        super().__init__(
            radius=radius,
            weights=weights,
            algorithm=algorithm,
            leaf_size=leaf_size,
            p=p,
            metric=metric,
            metric_params=metric_params,
            n_jobs=n_jobs,
        )
        self.method = method
        self.device = device
