"""`Program`: a nonlinear program with all numbers of its problem as bounds or parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from explorer.transcription.formulas import Formulas
from explorer.transcription.grid import Grid

if TYPE_CHECKING:
    from casadi import SX, Function

__all__ = ["Program"]


@dataclass
class Program:
    """A nonlinear program: min f(w, p) with low <= w <= high and rows in their ranges.

    Attributes
    ----------
    formulas, grid :
        What it was built from.
    nlp : dict of str to casadi.SX
        "x", "p", "f" and "g" as `casadi.nlpsol` takes them.
    low, high, row_low, row_high : float arrays
        Bounds while nothing is known of the active sets and sigma is infinite.
    unknown : (n,) int
        Which parameters are unknown; p holds the others, and what has no meaning for these.
    of : dict of str to int array
        Where variables are: "T" (), "t_0" (), "part" (N,), "unknown" (n,), "u" (N, n_u),
        "lengths" (N,) or empty, "h" (N, E),
        "x" (N, E, s, n_x), "m" (N, E, s, n_m), "lam" (N, E, s, n_lam), "mu" (N, E, s, n_sub),
        "jump" (N, E, n_guards), "z" (N, E, s, n_z) and, with contacts, "z0" (N, E, n_z),
        "loose" (N, E, s, n_c, 2), "path" (N, E, s, n_path, 2), "end" (n_end, 2); in an elastic
        program "bounds" (N, E, s, n_x, 2), "knot" (N, n_knots, 2), "z bounds" (N, E, s, n_z, 2).
    rows : dict of str to int array
        Where rows are: "product" (N, E), "equal" (N, E - 1), "tied" (N - 1,), "path", "end",
        "switching" (N, E, s, n_c).
    spans : (2, N, 2) int
        The first variable and the one behind the last of each control interval; the same of rows.
    costs : casadi.Function
        The objective without penalties, of (w, p).
    begun : casadi.Function
        The states (n_x, N E + 1) with which elements begin, after jumps, and the last one; of
        (w, p).
    """

    formulas: Formulas
    grid: Grid
    unknown: np.ndarray
    nlp: dict[str, SX]
    low: np.ndarray
    high: np.ndarray
    row_low: np.ndarray
    row_high: np.ndarray
    of: dict[str, np.ndarray]
    rows: dict[str, np.ndarray]
    spans: np.ndarray
    costs: Function
    begun: Function

    def parameters(
        self, x0: np.ndarray, rho: np.ndarray, even: float = 0.0, penalty: float = 0.0
    ) -> np.ndarray:
        """Return the vector p: start, parameters, weights of unequal elements and of slacks."""
        return np.concatenate([x0, rho, [even, penalty]])

    def rho(self, w: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Return the parameters (n_p,) of the system at a point, the unknown ones among them."""
        f = self.formulas
        rho = p[f.n_x : f.n_x + f.n_p].copy()
        rho[self.unknown] = w[self.of["unknown"]]
        return rho
