"""Accelerations and multipliers with which a system with constraints begins.

M a + phi_q' lam = F and phi_q a + gamma = 0, the second derivative of phi(t, q) = 0, with
gamma = (phi_q v)_q v + 2 phi_qt v + phi_tt.
"""

from __future__ import annotations

import numpy as np
import symengine as se

from explorer.compiled.bundle import Bundle, Expr, smooth
from explorer.compiled.mechanical import Compiled
from explorer.types import is_sparse

__all__ = ["accelerations", "consistent_start"]


def _curvature(compiled: Compiled) -> Bundle:
    """Return the native function of gamma."""
    made = compiled.system.lasting
    if "curvature" not in made:
        n, t = compiled.n, se.Symbol("t")
        pairs = list(zip(compiled.args[1 : 1 + n], compiled.args[1 + n : 1 + 2 * n], strict=True))

        def rate(f: Expr) -> Expr:
            terms = [f.diff(x) * v for x, v in pairs if x in f.free_symbols]
            return se.Add(f.diff(t), *terms)

        phi = [smooth(c.phi) for c in compiled.system.constraints]
        made["curvature"] = compiled.bundle([rate(rate(f)) for f in phi])
    bundle: Bundle = made["curvature"]
    return bundle


def accelerations(compiled: Compiled, inp: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a (n,) and lam (n_phi,), which acts by -phi_q', at an input vector."""
    M, _, _, entries = compiled.matrices(inp)
    n, full = compiled.n, M.toarray() if is_sparse(M) else M
    G = compiled.constrained(entries)
    saddle = np.block([[full, G.T], [G, np.zeros((len(G), len(G)))]])
    right = np.concatenate([compiled.forces(inp), -_curvature(compiled)(inp)[: len(G)]])
    try:
        found = np.linalg.solve(saddle, right)
    except np.linalg.LinAlgError:  # constraints that depend on each other: the least multipliers
        found = np.linalg.lstsq(saddle, right, rcond=None)[0]
    return found[:n], found[n:]


def consistent_start(
    compiled: Compiled, inp: np.ndarray, ahead: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the accelerations a time `ahead` of the start, and lam at the start.

    A generalised-alpha scheme carries accelerations of the time t + (alpha_m - alpha_f) h; begun
    with those of t, its multipliers would be of order 1 at first.
    """
    a, lam = accelerations(compiled, inp)
    if not ahead:
        return a, lam
    n, there = compiled.n, inp.copy()
    there[0] += ahead
    there[1 : 1 + n] += ahead * (inp[1 + n : 1 + 2 * n] + 0.5 * ahead * a)
    there[1 + n : 1 + 2 * n] += ahead * a
    return accelerations(compiled, there)[0], lam
