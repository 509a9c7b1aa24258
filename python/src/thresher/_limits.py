"""The least and the greatest score that queries want, by the names that a metric has for them."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from thresher import _arrays
from thresher._devices import depth

__all__ = ["Limits", "limits"]


class Limits(NamedTuple):
    """What scores queries want.

    Attributes
    ----------
    arrays : dict of str to float64 (m,)
        ``floors`` and ``ceilings`` of a search by the worker.
    names : dict of str to str
        What the caller calls them.
    """

    arrays: dict[str, npt.NDArray[np.float64]]
    names: dict[str, str]


# Of the least and of the greatest score: what the worker calls it, of all queries and of each.
_WORKER = (("min_score", "floors"), ("max_score", "ceilings"))

# What callers call them, of metrics whose scores are distances and of others, and both were called once.
_DISTANCES, _SCORES, _BEFORE = ("max_distance", "min_distance"), ("min_score", "max_score"), ("floor", "below")


_NONE = Limits({}, {})


def limits(metric: str, count: int, **given: Any) -> Limits:
    """Return the limits among the arguments given of a search of count queries; None is none.

    Raises
    ------
    ValueError
        If one is of another metric, or given by two names.
    """
    if all(value is None for value in given.values()):
        return _NONE
    right, wrong = (_DISTANCES, _SCORES) if metric == "l2" else (_SCORES, _DISTANCES)
    found = Limits({}, {})
    for i, (of_all, of_each) in enumerate(_WORKER):
        # The best of scores are the greatest, and of distances the least.
        name, before = right[i], _BEFORE[i]
        if given.get(wrong[i]) is not None:
            kind = "squared distances" if metric == "l2" else "scores, the greatest of which are best"
            raise ValueError(f"{wrong[i]}: the metric is {metric!r}, which has {kind}: {name} says it")
        value, called = given.get(name), name
        if given.get(before) is not None:
            if value is not None:
                raise ValueError(f"{before}: {name} is given, too, which is its new name")
            warnings.warn(f"{before} is called {name} by metric {metric!r}", DeprecationWarning, stacklevel=depth())
            value, called = given[before], before
        found.names.update({of_all: called, of_each: called})
        if value is not None:
            found.arrays[of_each] = _arrays.column(value, called, count)
    return found
