"""Structures by reference: fields are read and written where the structure lies."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import float64, int64, njit, none

from explorer.kernels import references
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


def test_fields_of_a_reference_are_those_of_the_structure():
    """Structures in it are references again; what is no field has no type."""
    reference, attributes = Reference(OUTER), references._Attributes.__new__(references._Attributes)
    assert attributes.generic_resolve(reference, "inner") == Reference(INNER)
    assert attributes.generic_resolve(reference, "k") == float64
    assert attributes.generic_resolve(reference, "y") == numba_type(Vector)
    assert attributes.generic_resolve(reference, "z") is None
    assert reference.can_convert_from(None, OUTER) is not None
    assert reference.can_convert_from(None, INNER) is None
    assert references._value_of(None, reference)[0] == OUTER(reference)
    assert references._refer(None, OUTER)[0] == reference(OUTER)


def test_kernels_take_structures_by_reference_and_all_else_as_it_is():
    def given(outer: Outer, k: float, y: Vector) -> int: ...
    def nothing(k: float) -> None: ...

    for function in (given, nothing):
        function.__annotations__ = {k: {"Outer": Outer, "float": float, "Vector": Vector, "int": int, "None": type(None)}[v] for k, v in function.__annotations__.items()}  # fmt: skip
    assert references._by_reference(given) == int64(Reference(OUTER), float64, numba_type(Vector))
    assert references._by_reference(nothing) == none(float64)
