"""Structures by reference: fields are read and written where the structure lies."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import float64, int64, njit

from explorer.kernels.references import Reference, refer, value_of
from explorer.kernels.structures import Vector, numba_type

OPTIONS = {"error_model": "numpy", "_nrt": False}


class Inner(NamedTuple):
    x: Vector
    n: int
    on: bool


class Outer(NamedTuple):
    inner: Inner
    y: Vector
    k: float


INNER, OUTER = numba_type(Inner), numba_type(Outer)


@njit(float64(Reference(INNER), int64), **OPTIONS)
def entry(inner, i):
    x = inner.x
    return x[i] if inner.on else -x[i]


@njit(float64(Reference(OUTER)), **OPTIONS)
def weigh(outer):
    """k sum x y; y grows by one."""
    total, y = 0.0, outer.y
    for i in range(outer.inner.n):
        total += entry(outer.inner, i) * y[i]
        y[i] += 1.0
    return outer.k * total


@njit(float64(OUTER), **OPTIONS)
def twice(outer):
    """As it is, by an address; then with another k and another structure inside, by values."""
    outer = refer(outer)
    first = weigh(outer)
    inner = value_of(outer.inner)
    other = Outer(Inner(inner.x, inner.n, not inner.on), outer.y, outer.k + 1.0)
    return first + 100.0 * weigh(other)


def test_a_structure_by_reference_is_the_structure():
    y = np.ones(3)
    assert twice(Outer(Inner(np.arange(3.0), 3, True), y, 2.0)) == 2 * 3 - 100 * 3 * 6
    assert y.tolist() == [3, 3, 3]
