"""Equilibrium of the Newmark family, evaluated anew at the states that were accepted.

M(d_f) a_m = F(t_f, d_f, v_f), or with the forces interpolated, and d1, v1 as the scheme makes them
of a0 and a1: `explorer.kernels.time_stepping.newmark`.
"""

from __future__ import annotations

import numpy as np

from explorer.certificate import Check
from explorer.quantities import number, quantity
from explorer.results.solution import Solution
from explorer.verification.forces import at_breaks, force, force_before, momentum, null_of_mass

__all__ = ["equilibrium"]

_EPS = float(np.finfo(float).eps)
_SETTLED = 1e-10  # Newton's method ends with a last correction that is smaller than that


def equilibrium(run: Solution) -> list[Check]:
    """Return the check of the forces that the accepted states leave, beside their terms.

    Steps in which a contact acts have impulses of their own and are left to its laws.
    """
    if len(run.t) < 2 or run.system.springs or not run.status.ok:
        return []
    with np.errstate(all="ignore"):
        return _checked(run, _free(run))


def _free(run: Solution) -> np.ndarray:
    """Return the steps between rows as the scheme has them, (n_steps,) bool.

    Without a contact, before, in and behind them; not taken in parts; not up to where inputs
    change, and with alphas not before a change of h: there the acceleration that is carried moves.
    """
    if not run.p.shape[1]:
        co, h = run.scheme.coefficients, np.diff(run.t)
        whole = run.parts[1:] <= 1 if run.has("parts") and run.parts.size else np.ones(len(h), bool)
        if co.alpha_m != co.alpha_f:
            whole[:-1] &= np.abs(np.diff(h)) <= 1e-6 * h[1:]
        return np.asarray(whole & ~at_breaks(run)[1:])
    away = np.all(run.gap > 0, axis=1) & ~np.any(run.p > 0, axis=1)
    free = away[1:] & away[:-1]
    free[1:] &= away[:-2]
    return np.asarray(free & ~at_breaks(run)[1:])


def _checked(run: Solution, free: np.ndarray) -> list[Check]:
    if not free.any():
        return []
    scheme, co = run.scheme, run.scheme.coefficients
    h, af, am = np.diff(run.t)[:, None], co.alpha_f, co.alpha_m
    old = {name: getattr(run, name)[:-1] for name in ("t", "q", "v", "a")}
    new = {name: getattr(run, name)[1:] for name in ("t", "q", "v", "a")}
    w = 1.0 if scheme.interpolated else 1 - af
    mixed = {k: w * new[k] + (1 - w) * old[k] for k in ("t", "q", "v")}
    a_m = (1 - am) * new["a"] + am * old["a"]
    F = force_before(run, **mixed)
    if scheme.interpolated:
        F = (1 - af) * F + af * force(run, **{k: old[k] for k in mixed})
    place = {k: mixed[k] for k in ("t", "q")}
    M_a, size = momentum(run, v=a_m, **place), momentum(run, v=a_m, size=True, **place)
    flip = 1 + 1e-7 * (-1.0) ** np.arange(run.q.shape[1])
    moved = force_before(run, **mixed | {"q": mixed["q"] * flip, "v": mixed["v"] / flip})
    steep = np.abs(moved - force_before(run, **mixed)) / 1e-7
    terms = (np.abs(size) + np.abs(F) + steep).max(axis=1)
    left = np.abs(M_a - F).max(axis=1)
    off_rule = (  # what q and v leave of Newmark's formulas
        (new["q"] - old["q"])
        - h * old["v"]
        - h**2 * ((0.5 - co.beta) * old["a"] + co.beta * new["a"]),
        (new["v"] - old["v"]) - h * ((1 - co.gamma) * old["a"] + co.gamma * new["a"]),
    )
    parts = left / np.maximum(terms, 1e-300)
    N = null_of_mass(run)  # its v and a are derivatives of equations, not those of the scheme
    for off, name in zip(off_rule, ("q", "v"), strict=True):
        off = off - (N @ (N.T @ off.T)).T
        whole = (
            np.abs(new[name]) + np.abs(old[name]) + h * np.abs(old["v"]) + h**2 * np.abs(new["a"])
        )
        parts = np.maximum(parts, np.abs(off).max(axis=1) / np.maximum(whole.max(axis=1), 1e-300))
    if am or af:  # a belongs to another time than q, and is made anew where the step changes
        free = free & np.append(True, np.abs(np.diff(h[:, 0])) <= 1e-6 * h[1:, 0])
    parts = np.where(free, parts, 0.0)
    row = int(parts.argmax())
    allowed = max(10 * scheme.newton_tol, _SETTLED)
    return [
        Check(
            "equilibrium",
            float(parts[row]),
            allowed,
            "",
            f"The step to t = {quantity(run.t[row + 1], 's', 4)} leaves "
            f"{number(parts[row], 2)} of its "
            f"forces unbalanced, more than newton_tol = {scheme.newton_tol:g}: use a smaller h.",
        )
    ]
