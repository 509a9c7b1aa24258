"""Canonical sums in float64, in the order of docs/guarantee.md: the worker's, bit for bit."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["cosines", "sums"]

Doubles = npt.NDArray[np.float64]

_LANES = 32


def sums(terms: Doubles) -> Doubles:
    """Return the canonical sum of each row: lane j % 32 adds term j, in order; lanes are then folded in halves.

    The terms (n, d) are overwritten. Those in Fortran's order take the least.
    """
    count, dim = terms.shape
    turned = np.ascontiguousarray(terms.T)  # each term in order of rows
    if dim < _LANES:
        lanes = np.zeros((_LANES, count))
        lanes[:dim] = turned
    else:
        lanes = turned[:_LANES]
    for at in range(_LANES, dim, _LANES):
        part = turned[at : at + _LANES]
        lanes[: len(part)] += part
    half = _LANES
    while half > 1:
        half //= 2
        lanes = lanes[:half] + lanes[half:]
    total: Doubles = lanes[0] + 0.0  # lanes begin with 0, to which -0 is added without effect
    return total


def _product(a: Doubles, b: Doubles) -> tuple[Doubles, Doubles]:
    """Return a*b rounded and its error, which is exact (Dekker 1971)."""
    product = a * b
    a1, a2 = _halves(a)
    b1, b2 = _halves(b)
    return product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2


def _halves(a: Doubles) -> tuple[Doubles, Doubles]:
    """Return two numbers of 26 bits whose sum is a."""
    scaled = a * (2.0**27 + 1)
    high = scaled - (scaled - a)
    return high, a - high


def cosines(dots: Doubles, vv: Doubles, qq: Doubles) -> Doubles:
    """Return cosines as the worker computes them: the square of the product over vv in twice the precision."""
    square, beyond = _product(dots, dots)
    ratio = square / vv
    product, error = _product(ratio, vv)
    ratio += (((square - product) - error) + beyond) / vv
    return np.where(dots == 0, 0.0, np.copysign(np.sqrt(ratio / qq), dots))
