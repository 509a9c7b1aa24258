"""Values that can be read in two ways: the table of them, and the errors that refuse them.

An argument that takes several forms, such as a mask or ids, is never guessed: where a value fits
two of them, the error names both and the word that decides. A test gives every entry of the table
an ambiguous value through every function that takes the argument.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["FORMS", "Form", "ambiguous", "refuse_lists", "refuse_mask", "refuse_truth"]


@dataclass(frozen=True)
class Form:
    """A value of two readings.

    Attributes
    ----------
    arguments : str
        Where it may be given.
    readings : (str, str)
        What it can mean.
    decides : str
        How to write either.
    kind : type of Exception
        What refuses it.
    """

    arguments: str
    readings: tuple[str, str]
    decides: str
    kind: type[Exception] = ValueError


FORMS: dict[str, Form] = {
    "mask of integers": Form(
        "filter, exclude, candidates, ids of remove, filter_items",
        ("a mask of the vectors", "the ids 0 and 1, repeated"),
        "a mask is of bool (mask.astype(bool)), and ids are listed once each (numpy.flatnonzero(mask))",
    ),
    "lists of a filter": Form(
        "filter of one column, as numpy.argwhere makes it, and filter_items",
        ("a list for each query", "one list for all queries, in parts"),
        "one list for all queries has one dimension (numpy.flatnonzero(mask)); a list of lists "
        "as filter has one for each query",
    ),
    "pair of arrays": Form(
        "exclude, candidates",
        ("indptr and indices", "the lists of two queries"),
        "a scipy.sparse.csr_matrix is the first, a list [a, b] the second",
    ),
    "stored zeros": Form(
        "exclude, candidates",
        ("entries like the others", "no entries"),
        "matrix.eliminate_zeros() drops them, matrix.data[:] = 1 keeps them",
    ),
    "floats as ids": Form(
        "ids, filter, exclude, candidates, answers",
        ("numbers", "ids, which a float64 rounds from 2**53 on"),
        "ids are integers or strings (.astype(numpy.int64))",
        TypeError,
    ),
    "negative ids": Form(
        "ids, filter, exclude, candidates, answers",
        ("ids", "none: -1 fills rows of answers"),
        "ids are integers from 0 on, or strings; only -1 stands for none, and only in tables of one row a query",
    ),
    "truth as number": Form(
        "k, delta, epsilon, min_score, max_score, max_distance, min_distance, threshold, limit, max_pairs, threads, "
        "seed, deadline, scores, metric",
        ("a mask or an answer yes or no", "the numbers 0 and 1"),
        "a mask goes to filter; numbers are int or float",
        TypeError,
    ),
    "number as truth": Form(
        "exclude_self, distances, overwrite",
        ("yes or no", "row numbers"),
        "it is True or False",
        TypeError,
    ),
    "single row": Form(
        "vectors, others, items",
        ("one vector of many values", "many vectors of one value"),
        "[row] is the first, column[:, numpy.newaxis] the second",
    ),
    "columns of other names": Form(
        "vectors and queries as data frames",
        ("values in the order of the columns", "values by the names of the columns"),
        "rename the columns, or give .to_numpy()",
    ),
    "columns beside the vector": Form(
        "vectors and queries as data frames",
        ("a coordinate", "an id or a label"),
        "choose the columns of the vector, frame[[..]]",
    ),
}


def ambiguous(form: str, name: str, what: str) -> Exception:
    """Return the error of an argument, of which what says what was given."""
    f = FORMS[form]
    return f.kind(f"{name}: {what}, which can be {f.readings[0]}, or {f.readings[1]}; {f.decides}")


def refuse_mask(array: npt.NDArray[Any], name: str, n: int) -> None:
    """Refuse integers that may be a mask of n vectors: as many, and all of them 0 or 1."""
    if n < 2 or array.size != n or array.dtype.kind not in "iu":
        return
    if array.min() >= 0 and array.max() <= 1:
        raise ambiguous("mask of integers", name, f"{n} integers that are all 0 or 1")


def refuse_lists(value: Any, name: str) -> None:
    """Refuse several lists, or an array of several dimensions, where one list holds for all queries."""
    if isinstance(value, (list, tuple)):
        nested = any(isinstance(part, (list, tuple)) or getattr(part, "ndim", 0) > 0 for part in value)
    else:
        nested = np.ndim(value) > 1
    if nested:
        what = f"an array of {np.ndim(value)} dimensions" if hasattr(value, "ndim") else f"{len(value)} parts, not ids"
        raise ambiguous("lists of a filter", name, what)


def refuse_truth(value: Any, name: str) -> None:
    """Refuse True and False where a number is expected."""
    if isinstance(value, np.ndarray) and value.dtype == np.bool_:
        raise ambiguous("truth as number", name, "values are bool")
    if isinstance(value, (bool, np.bool_)):
        raise ambiguous("truth as number", name, f"{value}")
