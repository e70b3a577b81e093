"""Factors of matrices, and matrices that are factored in place."""

from __future__ import annotations

from typing import NamedTuple

from explorer.kernels.structures import Counts, Integers, Matrix, Vector

__all__ = ["Factors", "SaddlePoint", "Triangle"]


class Triangle(NamedTuple):
    """Sparse columns of L or U without the diagonal; empty where the factors are a band."""

    ptr: Counts  # (n + 1,)
    row: Counts  # (entries,)
    val: Vector  # (entries,)


class Factors(NamedTuple):
    """A = L D U."""

    inverse: Vector  # (n,) 1 / D
    order: Integers  # (n,) band: the row exchanged with row k at column k (LINPACK); or empty: none
    #                  sparse: the row of L in which b_i belongs
    below: Matrix  # (n, kl) band: L[k + 1 + d, k];  kl = ku = n - 1 is a full matrix
    above: Matrix  # (n, ku) band: U[k - ku + d, k]
    L: Triangle
    U: Triangle
    place: Integers  # (n,) sparse: the column of U that is x_i
    work: Vector  # (n,) sparse


class SaddlePoint(NamedTuple):
    """A matrix that changes from step to step, of n coordinates and N - n constraints."""

    W: Matrix  # (N, N) or, a band, (N, 3 w + 1)
    pivots: Integers  # (N,)
    ptr: Counts  # (n + 1,) the pattern of M, C and K together, by rows; empty if W is full
    col: Counts
    place: Integers  # (N,) the place of each unknown in the band; empty: W is full
    work: Vector  # (N,) of a band
