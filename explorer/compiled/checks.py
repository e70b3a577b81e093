"""Checks of the numbers in the equations of a mechanical system."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import sympy as sp

from explorer.errors import BadModel, BadValue, ModelWarning
from explorer.quantities import quantity
from explorer.systems import LagrangianSystem, MechanicalSystem, System
from explorer.systems.massless import has_mass, pivots, plainly_singular
from explorer.systems.modal import natural_modes
from explorer.systems.units import phi_unit
from explorer.types import Matrix, Reals, is_sparse
from explorer.warned import warn

__all__ = [
    "check_constraints", "check_friction", "check_inertia", "check_mass", "check_start", "improper",
    "refused_inertia", "short",
]  # fmt: skip


_FEW = 12  # coordinates of which the mass matrix is computed before a run
_MANY = 50  # constraints from which on singular values take long
_WITHOUT_MASS = (
    " Newmark and GeneralizedAlpha accept massless coordinates that have stiffness or damping; "
    "MoreauJean accepts them in linear systems."
)


def check_mass(name: str, M: Matrix, where: Callable[[], str], *, singular: bool = False) -> bool:
    """Refuse a mass matrix, dense or sparse, that is not symmetric and positive definite.

    Parameters
    ----------
    where : callable
        Returns at which state, for the message.
    singular : bool
        Whether directions without mass are taken.

    Returns
    -------
    bool
        Whether there are any.

    Raises
    ------
    BadModel
        With the smallest eigenvalue.
    """
    diagonal = M.diagonal()
    if has_mass(M):
        return False
    if not abs(M - M.T).max() <= 1e-10 * abs(M).max():
        raise BadModel(f"The mass matrix of '{name}' is not symmetric {where()}.")
    if singular and plainly_singular(M):
        return True
    size = np.sqrt(np.abs(diagonal))
    size[size == 0] = 1.0
    if is_sparse(M):
        scaled: Matrix = M.multiply(1 / size).multiply(1 / size[:, None]).tocsr()
        smallest = pivots(scaled).min()
    else:
        scaled = M / np.outer(size, size)
        try:
            smallest = np.diag(np.linalg.cholesky(scaled)).min() ** 2
        except np.linalg.LinAlgError:
            smallest = np.nan
    if smallest > 1e-14:
        return False
    lowest = natural_modes(None, scaled, 1)[0][0]
    kind = "singular" if lowest > -1e-13 else "indefinite"
    if singular and kind == "singular":
        return True
    raise BadModel(
        f"The mass matrix of '{name}' is {kind} {where()}: its smallest eigenvalue "
        f"(scaled by the diagonal) is {lowest:.2g}. Every coordinate needs inertia; remove a "
        "coordinate that has none, or check the signs." + _WITHOUT_MASS * (kind == "singular")
    )


def check_inertia(system: System, rho: Reals) -> None:
    """Refuse parameters whose mass matrix is none; what depends on q, or is large, is left alone.

    For schemes that march by formulas of the accelerations, in which M no longer stands.

    Raises
    ------
    BadModel
    """
    inertia = _of_parameters(system)
    if inertia is not None:
        rows = inertia(rho)  # few: arrays of them cost a tenth of a short run
        plain = all(
            (x > 0) if i == j else x == 0 for i, row in enumerate(rows) for j, x in enumerate(row)
        )
        if not plain:
            check_mass(system.name, np.array(rows, float), lambda: "for these parameters")


def refused_inertia(system: System, rho: np.ndarray) -> np.ndarray:
    """Return of which parameters, rows of rho (k, p), `check_inertia` refuses the matrix, (k,)."""
    refused = np.zeros(len(rho), bool)
    if not isinstance(system, MechanicalSystem) or not system.mass.free_symbols:
        return refused
    for k, values in enumerate(rho):
        try:
            check_inertia(system, values)
        except BadModel:
            refused[k] = True
    return refused


def _of_parameters(system: System) -> Callable[[Reals], list[list[float]]] | None:
    """Return a function that gives M of the parameters; None: it depends on more, or is large."""
    if not isinstance(system, MechanicalSystem) or system.constraints:
        return None
    # an input along time is no parameter, but one of the base that shares what lasts
    key = " ".join(["inertia", *system.parameters])
    if key not in system.lasting:
        M, known = system.mass, [sp.Symbol(k) for k in system.parameters]
        plain = len(system.coordinates) <= _FEW and M.free_symbols <= {*known}
        system.lasting[key] = sp.lambdify([known], M.tolist(), "math") if plain else None
    found: Callable[[Reals], list[list[float]]] | None = system.lasting[key]
    return found


def check_start(
    system: LagrangianSystem,
    hold: np.ndarray,
    phi: np.ndarray,
    G: np.ndarray,
    phi_t: np.ndarray,
    v: np.ndarray,
) -> None:
    """Refuse a start of a system that violates its constraints.

    `hold` (m,) says which hold, phi (m,) are their values, G (m, n) gradients, phi_t (m,) rates at
    rest, v (n,) velocities.

    Raises
    ------
    BadModel
    """
    name, rates = system.name, G @ v + phi_t
    for k in np.flatnonzero(hold).tolist():
        constraint, x, rate = system.constraints[k], phi[k], rates[k]
        if not abs(x) <= 1e-6:
            raise BadModel(
                f"'{name}' violates its constraint {constraint.name!r} at the start: phi = "
                f"{quantity(x, phi_unit(system, k))}. Start where every phi is zero, or "
                "let .start(q=..., assemble=True) move dependent coordinates there."
            )
        if not abs(rate) <= 1e-6 * (1 + np.abs(v).max()):
            raise BadModel(
                f"The start velocity of '{name}' violates its constraint {constraint.name!r}: phi "
                f"changes at {quantity(rate, phi_unit(system, k, rate=True))}. Start with a "
                "velocity that satisfies the constraints."
            )


def _independent(G: np.ndarray, least: float) -> bool:
    """Whether all singular values of G (m, n) exceed `least`.

    Of many rows without them, 20 times as fast: with G' = Q R the smallest one is at least
    1 / |R^-1| in the norm of Frobenius.
    """
    m, n = G.shape
    if _MANY < m <= n:
        from scipy.linalg import lapack

        inverse, singular = lapack.dtrtri(np.linalg.qr(G.T, mode="r"))
        if singular == 0 and 2 * least * np.linalg.norm(inverse) < 1:
            return True
    return bool(np.linalg.matrix_rank(G, least) == m)


def check_constraints(
    system: LagrangianSystem, phi: np.ndarray, G: np.ndarray, phi_t: np.ndarray, v: np.ndarray
) -> None:
    """Refuse a start that violates its constraints (see `check_start`), and redundant ones.

    Raises
    ------
    BadModel
    """
    check_start(system, np.ones(len(phi), bool), phi, G, phi_t, v)
    names = [c.name for c in system.constraints]
    least = 1e-12 * np.abs(G).max(initial=0.0)
    if _independent(G, least):  # so are the rows before each of them
        return
    for k in range(len(G)):
        if np.linalg.matrix_rank(G[: k + 1], least) <= k:
            raise BadModel(
                f"The constraint {names[k]!r} of '{system.name}' is redundant at the start (its "
                "gradient is zero or depends linearly on those before it), so the impulses are "
                "not determined. Remove it, or start elsewhere."
            )


def short(values: np.ndarray) -> str:
    """Return the first few numbers of a vector as text."""
    text = ", ".join(f"{x:.6g}" for x in values[:6])
    return f"({text}{', ...' if len(values) > 6 else ''})"


def improper(name: str, mu: float, mu_s: float) -> str:
    """Return an error message for friction coefficients of a contact; empty if they are valid."""
    if 0 <= mu <= mu_s < np.inf:
        return ""
    return (
        f"friction of {name!r} is mu = {mu:g}, mu_s = {mu_s:g}, but Coulomb's law needs "
        "0 <= mu <= mu_s"
    )


def check_friction(name: str, mu: float, mu_s: float, e_t: float = 0.0) -> None:
    """Refuse invalid friction coefficients of a contact.

    Raises
    ------
    BadValue
        Unless 0 <= mu <= mu_s and 0 <= e_t <= 1.
    """
    if wrong := improper(name, mu, mu_s):
        raise BadValue(f"The {wrong}.")
    if not 0 <= e_t <= 1:
        raise BadValue(
            f"The tangential restitution of {name!r} is e_t = {e_t:g}, but it must lie in [0, 1] "
            "(0: no tangential rebound, 1: full rebound)."
        )


def warn_of_growth(name: str, pushed: float, driven: float) -> None:
    """Warn of a linear system that grows: legitimate (a buckled beam), or a sign that is wrong.

    Parameters
    ----------
    pushed : -omega^2 of a mode that its stiffness pushes away, 1/s2, or 0
    driven : rate at which damping or a stiffness that is not symmetric drives it, 1/s, or 0
    """
    words = ""
    if pushed > 0:
        words = (
            f"K of '{name}' is indefinite: its lowest mode has omega^2 = "
            f"{quantity(-pushed, '1/s2', 4)} and grows without excitation, like "
            f"exp({pushed**0.5:.4g} t) if undamped. If this is not intended, check the signs in K."
        )
    elif driven > 0:
        words = (
            f"'{name}' is unstable and grows like exp({driven:.4g} t): C, or the asymmetric part "
            "of K, adds energy to a mode. If this is not intended, check their signs."
        )
    if words:
        warn(words, ModelWarning, stacklevel=6)
