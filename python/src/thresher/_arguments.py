"""Settings as callers give them, and errors in the words that callers know."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from numbers import Integral
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from thresher import _fetch, _worker
from thresher._forms import ambiguous, refuse_truth

__all__ = [
    "DType",
    "Deadline",
    "Device",
    "Filter",
    "Method",
    "Metric",
    "Published",
    "dtype_name",
    "explained",
    "file_name",
    "flag",
    "in_callers_words",
    "metric_name",
    "number",
    "present_file",
    "probability",
    "published_options",
    "renamed",
    "seconds",
    "text",
    "vector_files",
    "whole",
]

Metric: TypeAlias = str | int
"""``ip``, the largest inner product; ``cosine``, the largest cosine; ``l2``, the smallest squared
Euclidean distance; the names by which libraries and databases call them, such as
``inner_product``, ``COSINE`` and ``euclidean``; or faiss.METRIC_INNER_PRODUCT, METRIC_L2."""

Method: TypeAlias = str
"""``auto``, ``exact``, ``certain``, ``adaptive``, ``strict`` or a published one; docs/guarantee.md."""

Published: TypeAlias = Mapping[str, float | str]
"""Options of a published method: ``sigma`` (a number, ``"range"``, ``"data"`` or ``"bernstein"``), ``beta``,
``sampling`` (``"with_replacement"`` or ``"without_replacement"``), ``bins``, ``union`` (``"published"`` or
``"corrected"``), ``warm``; docs/guarantee.md says which method has which, and what is then guaranteed."""

Filter: TypeAlias = str | dict[str, Any] | npt.ArrayLike | Sequence[Any]
"""Which vectors may be returned: an expression over their columns or a filter in Qdrant's form (docs/filters.md), a
mask, or ids; or a list with one of these for each query, None for all vectors."""

Device: TypeAlias = Literal["auto", "cpu", "cuda"]

DType: TypeAlias = Any
"""``float32`` or ``float64``, by name or as numpy has them."""

Deadline: TypeAlias = float | timedelta | None
"""Seconds from the call on, or a timedelta; None for no deadline."""

FAISS = {0: "ip", 1: "l2"}  # faiss.METRIC_INNER_PRODUCT, METRIC_L2


def metric_name(metric: Any) -> str:
    """Return the name of a metric, by which the worker knows it."""
    hello = _worker.get().hello
    if metric is None:
        raise ValueError(f"metric: none is given: {hello['metric_choice']}")
    refuse_truth(metric, "metric")
    if isinstance(metric, str):
        name = hello["metric_names"].get(metric.lower().translate(_PLAIN), metric)
        if name not in hello["metrics"]:
            raise ValueError(f"metric: {metric!r} is none of {hello['metric_choice']}")
        return str(name)
    if isinstance(metric, Integral) and int(metric) in FAISS:
        return FAISS[int(metric)]
    raise ValueError(f"metric: {metric!r} is none of {hello['metric_choice']}")


def dtype_name(dtype: DType) -> str:
    """Return the name of the type in which vectors of float64 are kept."""
    try:
        name = np.dtype(dtype).name
    except TypeError:
        name = ""
    if dtype is None or name not in ("float32", "float64"):
        raise ValueError(f"dtype: {dtype!r} is none of 'float32', 'float64'")
    return name


_PLAIN = str.maketrans("", "", "-_ ")  # what names of metrics may have or lack


def seconds(deadline: Deadline) -> float | None:
    """Return a deadline in seconds."""
    if deadline is None:
        return None
    value = deadline.total_seconds() if isinstance(deadline, timedelta) else number(deadline, "deadline")
    if not 0 < value < float("inf"):
        raise ValueError(f"deadline: {value:g} seconds, more than 0")
    return value


def whole(value: Any, name: str, least: int = 1) -> int:
    """Return an integer argument."""
    refuse_truth(value, name)
    try:
        number = int(value.__index__())
    except (AttributeError, TypeError):
        raise TypeError(f"{name}: {value!r}, expected an integer") from None
    if number < least:
        raise ValueError(f"{name}: {number}, at least {least}")
    return number


def number(value: Any, name: str) -> float:
    """Return an argument that is a real number."""
    if isinstance(value, (str, bytes)):
        raise TypeError(f"{name}: {value!r}, expected a number")
    refuse_truth(value, name)
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name}: {value!r}, expected a number") from None


def probability(value: Any, name: str) -> float:
    """Return a failure probability, which the worker would take for its default if it were 0."""
    share = number(value, name)
    if not 0 < share < 1:
        raise ValueError(f"{name}: {share:g} is not within 0 and 1; methods 'certain' and 'exact' never fail")
    return share


def published_options(value: Any) -> dict[str, float | str]:
    """Return the options of a published method as JSON has them; which there are, the worker knows."""
    if not isinstance(value, Mapping):
        raise TypeError(f"published: {value!r}, expected a dict of options, such as {{'sigma': 1}}")
    options: dict[str, float | str] = {}
    for name, of in value.items():
        called = text(name, "published: a name")
        if isinstance(of, Integral) and not isinstance(of, bool):
            options[called] = int(of)
        else:
            options[called] = of if isinstance(of, str) else number(of, f"published.{called}")
    return options


def flag(value: Any, name: str) -> bool:
    """Return an argument that is True or False."""
    if value is True or value is False or type(value).__name__ in ("bool", "bool_"):
        return bool(value)
    raise ambiguous("number as truth", name, f"{value!r:.80}")


def text(value: Any, name: str) -> str:
    """Return an argument that is a name; the worker would take None for its default."""
    if not isinstance(value, str) or not value:
        raise TypeError(f"{name}: {value!r}, expected a name")
    return value


def file_name(path: Any, argument: str = "path") -> str:
    """Return the absolute path of a file."""
    try:
        name = os.fsdecode(path)
    except TypeError:
        raise TypeError(f"{argument}: {path!r}, expected the path of a file") from None
    if not name:  # which would be the current folder
        raise ValueError(f"{argument}: an empty path, expected that of a file")
    return os.path.abspath(name)


def present_file(path: Any, argument: str) -> str:
    """Return the absolute path of a file that is there."""
    name = file_name(path, argument)
    if not os.path.exists(name):
        raise FileNotFoundError(errno.ENOENT, f"{argument}: there is no such file", name)
    return name


def local_name(path: Any) -> str:
    """Return the absolute path of a file, which is fetched if it is at a URL."""
    return _fetch.fetched(path) if _fetch.is_url(path) else file_name(path)


def vector_files(path: Any) -> str:
    """Return the absolute paths of files of vectors, of a folder or of a pattern, separated by commas."""
    if isinstance(path, (list, tuple)):
        names = [local_name(part) for part in path]
        if not names:
            raise ValueError("path: an empty list, expected the paths of files")
        if comma := next((name for name in names if "," in name and len(names) > 1), None):
            raise ValueError(f"path: {comma} has a comma, and is one of several files; rename it, or name its folder")
        several = True
    else:
        whole_name = "" if _fetch.is_url(path) else file_name(path)
        several = "," in (whole_name or path) and not os.path.exists(whole_name or path)
        names = (
            [local_name(part) for part in os.fsdecode(path).split(",")]
            if several
            else [whole_name or _fetch.fetched(path)]
        )
    for name in names:
        if not os.path.exists(name) and not any(mark in name for mark in "*?["):
            raise FileNotFoundError(errno.ENOENT, "path: there is no such file", name)
    return ",".join(names)


# What the worker calls arguments, and what callers call them.
RENAMED = {
    "min_score": "min_score",
    "floors": "min_score",
    "max_score": "max_score",
    "ceilings": "max_score",
    "ks": "k",
    "exclude_lims": "exclude",
    "candidates_lims": "candidates",
    "filter": "filter",
    "filter_lims": "filter",
    "filter_of": "filter",
    "mask": "filter",
    "self_first": "exclude_self",
}
_RENAMED = re.compile(r"\b(" + "|".join(RENAMED) + r")\b")


@contextmanager
def explained() -> Iterator[None]:
    """Say how to get the GPU code that a program lacks."""
    try:
        yield
    except _worker.DeviceMissing as e:
        if "without CUDA" not in str(e):
            raise
        raise _worker.DeviceMissing(f"{e}; in Python: pip install thresher[cuda]") from None


@contextmanager
def renamed(**names: str) -> Iterator[None]:
    """Give errors in arguments the names that the caller knows."""
    try:
        yield
    except _worker.BadInput as e:
        raise in_callers_words(e, names) from None
    except OSError as e:
        if type(e) is OSError and "path" in names and str(e).startswith("path: "):
            raise OSError(f"{names['path']}: {str(e).removeprefix('path: ')}") from None
        raise


def in_callers_words(e: _worker.BadInput, names: Mapping[str, str]) -> _worker.BadInput:
    """Return the error with the names that the caller knows."""
    name = names.get(e.argument) or RENAMED.get(e.argument)
    if name is None:
        return e
    said = str(e).replace(e.argument, name, 1) if e.argument in str(e) else f"{name}: {e}"
    said = _RENAMED.sub(lambda m: names.get(m[1]) or RENAMED[m[1]], said)
    return _worker.BadInput(said, argument=name, row=e.row)
