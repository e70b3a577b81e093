"""Implicit Runge-Kutta methods for elements with switches, as the kernels take them.

Radau IIA (order 2 s - 1), Lobatto IIIC (2 s - 2) and Gauss (2 s); Hairer, Wanner, *Solving ODEs
II*, IV.5. A constraint c(x) = 0 is asked for at s points, the last of them the end of the element:
the stages themselves for Radau; the Lobatto points for Gauss, whose own stages do not hold the end
(Jay, *Structure preservation for constrained dynamics*, SIAM J. Sci. Comput. 20 (1998) 416); the
Radau points for Lobatto IIIC, whose first stage is not x_n: so every method keeps its order while
it slides, and signs hold from the very start of an element.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace

import numpy as np
from numpy.polynomial import legendre

__all__ = ["TABLEAUX", "Collocation", "at_stages", "collocation"]

TABLEAUX = ("radau_iia", "lobatto_iiic", "gauss")
_FEWEST = {"lobatto_iiic": 2}


@dataclass(frozen=True)
class Collocation:
    """One method on [0, 1].

    Attributes
    ----------
    stages, order : int
    A : (s, s)
        Weights of the stages.
    at : (s, s)
        Weights of the points where constraints hold.
    ahead : (s, s)
        The slopes' polynomial at the next element's stages.
    c, where : (s,)
        Times of the stages, and of the constraints.
    b, end : (s,)
        Weights of the end; the stages' polynomial there.
    powers : (s, s)
        x(s h) = x_n + h sum_jk powers[j, k] s^(k+1) K_j.
    """

    stages: int
    order: int
    A: np.ndarray
    at: np.ndarray
    ahead: np.ndarray
    c: np.ndarray
    where: np.ndarray
    b: np.ndarray
    end: np.ndarray
    powers: np.ndarray

    def lagrange(self, s: np.ndarray) -> np.ndarray:
        """Return the weights (k, s) of the polynomial through the stages at the times `s`."""
        return _powers(s, self.stages) @ np.linalg.inv(_powers(self.c, self.stages))


def _powers(s: np.ndarray, n: int) -> np.ndarray:
    return np.asarray(s, float)[:, None] ** np.arange(n)


def _roots(series: np.ndarray) -> np.ndarray:
    """Return the roots of a Legendre series to the last digit, on [0, 1]; all have to be real."""
    x = np.sort(legendre.legroots(series).real)  # from NumPy 2.5 on, their type is complex
    slope = legendre.legder(series)
    for _ in range(3):
        x = x - legendre.legval(x, series) / legendre.legval(x, slope)
    return (1 + x) / 2


def _radau(n: int) -> np.ndarray:
    return np.append(_roots(np.eye(n + 1)[n] - np.eye(n + 1)[n - 1])[:-1], 1.0)


def _lobatto(n: int) -> np.ndarray:
    inner = _roots(legendre.legder(np.eye(n)[n - 1])) if n > 2 else np.empty(0)
    return np.concatenate([[0.0], inner, [1.0]])


@functools.cache
def collocation(tableau: str, stages: int) -> Collocation:
    """Return a method; `stages` are 1 to 4.

    Raises
    ------
    ValueError
        Fewer stages than the method has at least.
    """
    s = stages
    if s < _FEWEST.get(tableau, 1):
        raise ValueError(f"{tableau} has at least {_FEWEST[tableau]} stages")
    if tableau == "radau_iia":
        c, order = _radau(s), 2 * s - 1
    elif tableau == "gauss":
        c, order = _roots(np.eye(s + 1)[s]), 2 * s
    else:
        c, order = _lobatto(s), 2 * s - 2
    k = np.arange(1, s + 1)
    inverse = np.linalg.inv(_powers(c, s))  # columns: Lagrange polynomials by their powers

    def integrals(to: np.ndarray) -> np.ndarray:
        return (_powers(to, s) * np.asarray(to)[:, None] / k) @ inverse

    A, b, where = integrals(c), integrals(np.ones(1))[0], c
    if tableau == "lobatto_iiic":  # a_i1 = b_1, the rest by C(s - 1)
        A = np.column_stack([np.full(s, b[0]), np.zeros((s, s - 1))])
        for i in range(s):
            wanted = c[i] ** k[:-1] / k[:-1]
            wanted[0] -= b[0]
            A[i, 1:] = np.linalg.solve(_powers(c[1:], s - 1).T, wanted)
        A[-1] = b
    if c[-1] == 1:
        b = A[-1]
    at = A
    if tableau == "lobatto_iiic":
        where, at = _radau(s), integrals(_radau(s))
    if tableau == "gauss":
        where = _lobatto(s + 1)[1:]
        at = integrals(where)
    ahead, end = _powers(1 + c, s) @ inverse, _powers(np.ones(1), s) @ inverse
    if c[-1] == 1:
        end = np.eye(s)[-1:]
    parts = (A, at, ahead, c, where, b, end[0], inverse.T / k)
    return Collocation(s, order, *(np.array(part, order="C") for part in parts))


def at_stages(method: Collocation) -> Collocation:
    """Return the method with constraints at its stages, wherever these are."""
    return replace(method, at=method.A, where=method.c)
