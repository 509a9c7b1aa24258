"""The least and the greatest score that queries want, by the names that a metric has for them."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from thresher import _arrays
from thresher._devices import depth

__all__ = ["Limits", "former", "limits", "reach", "renamed"]


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


def _of_another(wrong: str, metric: str, right: str) -> str:
    kind = "squared distances" if metric == "l2" else "scores, the greatest of which are best"
    return f"{wrong}: the metric is {metric!r}, which has {kind}: {right} says it"


def former(before: str, name: str) -> None:
    """Warn the first caller outside of this package that a name is a former one."""
    warnings.warn(f"{before} is called {name}", DeprecationWarning, stacklevel=depth())


def renamed(before: str, given: Any, name: str, value: Any) -> Any:
    """Return what an argument is, by its name or, with a warning, by its former one; None if by neither.

    Raises
    ------
    ValueError
        If it is given by both.
    """
    if given is None:
        return value
    if value is not None:
        raise ValueError(f"{before}: {name} is given, too, which is its new name")
    former(before, name)
    return given


def reach(
    metric: str, min_score: Any, max_distance: Any, threshold: Any = None, *, by_position: tuple[Any, ...] | None = None
) -> tuple[Any, str]:
    """Return the limit that vectors have to reach, and what the caller calls it.

    For ``l2`` it is max_distance. Without by_position the caller's own min_score can be given by position, also for
    ``l2`` as before, which is told like the former name threshold; with it that is one of another metric.

    Raises
    ------
    ValueError
        If there is more than one, or one of another metric.
    TypeError
        If there is none, or there are several by position.
    """
    right = "max_distance" if metric == "l2" else "min_score"
    given = [
        (name, value)
        for name, value in (("min_score", min_score), ("max_distance", max_distance), ("threshold", threshold))
        if value is not None
    ]
    if by_position is not None and len(by_position) > 1:
        raise TypeError(f"{right}: {len(by_position)} limits by position; one says which vectors are wanted")
    if by_position:
        given.insert(0, (right, by_position[0]))
    if not given:
        raise TypeError(f"{right}: says which vectors are wanted, and is not given")
    name, value = given[0]
    if len(given) > 1:
        raise ValueError(f"{given[1][0]}: {name} is given, too; {right} is the one to give")
    if name in (_DISTANCES[0], _SCORES[0]) and name != right and (by_position is not None or name == _DISTANCES[0]):
        raise ValueError(_of_another(name, metric, right))
    if name != right:
        former(name, f"{right} by metric {metric!r}")
    return value, name


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
            raise ValueError(_of_another(wrong[i], metric, name))
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
