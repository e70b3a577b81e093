"""The nonlinear program of FESD: all elements of all control intervals, with their active sets.

In element n of control interval k, with a Radau IIA method of s stages (Nurkanovic, Frey,
Pozharskiy and Diehl 2023, doi:10.48550/arXiv.2303.18066, eq. (14)-(22), corrected)::

    x_j = x_0 + h_n sum_i a_ji f(x_i, alpha_i, u_k)                              (14)
    c(x_j) = lam_p,j - lam_n,j                                                   (16)
    sum of (sum_m lam_n,m) (sum_j alpha_j) + (sum_m lam_p,m) (sum_j 1 - alpha_j) <= sigma   (17)
    sum_n h_n = T_k                                                              (21)

where m runs over the stages and the end of the element before, across control intervals too. One
row holds all products of an element: each of them is nonnegative. sigma and the active sets are
bounds of rows and variables, never formulas, so one program serves the homotopy of Scholtes (SIAM
J. Optim. 11 (2001) 918, doi:10.1137/S1052623499361233), the smooth problem on a given sequence of
active sets, and every other start, target and parameter.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from explorer.kernels.fesd.collocation import Collocation, collocation
from explorer.transcription.casadi_functions import casadi
from explorer.transcription.formulas import Formulas
from explorer.types import Array

if TYPE_CHECKING:
    from casadi import SX, Function

__all__ = ["INF", "Builder", "Grid", "Limits", "Program", "build"]

INF = float("inf")


@dataclass(frozen=True)
class Grid:
    """The grid of a problem.

    Attributes
    ----------
    intervals, elements, stages : int
        Control intervals, elements of each, stages of the Radau IIA method.
    t_end : (float, float)
        Range of the final time in s; a single value if both are equal.
    free : bool
        Whether the lengths of the control intervals are unknown.
    switching : bool
        Whether there are switches that the elements detect; otherwise all have equal lengths.
    """

    intervals: int
    elements: int
    stages: int
    t_end: tuple[float, float]
    free: bool = False
    switching: bool = True

    @property
    def method(self) -> Collocation:
        """The Runge-Kutta method."""
        return collocation("radau_iia", self.stages)

    @property
    def usual(self) -> float:
        """A final time inside of the range."""
        low, high = self.t_end
        return 0.5 * (low + high) if np.isfinite(high) else max(2 * low, 1.0)


@dataclass
class _Rows:
    """Symbols that grow, with the bounds of each."""

    parts: list[SX] = field(default_factory=list)
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)

    def add(self, what: SX, low: Array | float, high: Array | float) -> np.ndarray:
        """Append entries; return their indices."""
        first, count = len(self.low), what.numel()
        self.parts.append(what)
        self.low += np.broadcast_to(np.asarray(low, float), count).tolist()
        self.high += np.broadcast_to(np.asarray(high, float), count).tolist()
        return np.arange(first, first + count)


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
    of : dict of str to int array
        Where variables are: "T" (), "t_0" (), "part" (N,), "u" (N, n_u), "lengths" (N,) or empty,
        "h" (N, E),
        "x" (N, E, s, n_x), "m" (N, E, s, n_m), "lam" (N, E, s, n_lam), "mu" (N, E, s, n_sub),
        "jump" (N, E, n_guards),
        "loose" (N, E, s, n_c, 2), "path" (N, E, s, n_path, 2), "end" (n_end, 2).
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


@dataclass(frozen=True)
class Limits:
    """Ranges of what a user bounds: states, controls, path, end and knot formulas; (n, 2) each."""

    x: np.ndarray
    u: np.ndarray
    path: np.ndarray
    end: np.ndarray
    knots: np.ndarray = field(default_factory=lambda: np.zeros((0, 2)))


def build(formulas: Formulas, grid: Grid, limits: Limits) -> Program:
    """Return the program of a problem."""
    return Builder(formulas, grid, limits).build()


class Builder:
    """Lays out variables and rows, interval by interval."""

    def __init__(self, formulas: Formulas, grid: Grid, limits: Limits) -> None:
        ca = casadi()
        self.ca, self.f, self.grid, self.limits = ca, formulas, grid, limits
        self.w, self.g = _Rows(), _Rows()
        self.of: dict[str, list[np.ndarray]] = {}
        self.at: dict[str, list[np.ndarray]] = {}
        self.x0 = ca.SX.sym("x0", formulas.n_x)
        self.rho = ca.SX.sym("rho", formulas.n_p)
        self.even, self.penalty = ca.SX.sym("even"), ca.SX.sym("penalty")
        self.begun: list[SX] = []
        self.spans: list[tuple[int, int]] = []
        self.integral, self.unequal, self.slack = ca.SX(0), ca.SX(0), ca.SX(0)

    def variable(
        self,
        name: str,
        count: int,
        low: Array | float = -INF,
        high: Array | float = INF,
    ) -> SX:
        """Return new variables; their indices are kept under their name."""
        symbol = self.ca.SX.sym(name, count)
        self.of.setdefault(name, []).append(self.w.add(symbol, low, high))
        return symbol

    def row(self, name: str, what: SX, low: Array | float = 0.0, high: Array | float = 0.0) -> None:
        """Append rows in a range; their indices are kept under their name."""
        self.at.setdefault(name, []).append(self.g.add(what, low, high))

    def slacks(self, name: str, count: int) -> SX:
        """Return the sum of two new slacks for each row, closed until they are needed."""
        if not count:
            self.of.setdefault(name, []).append(np.zeros((0, 2), int))
            return self.ca.SX(0, 1)
        pair = self.ca.SX.sym(name, 2 * count)
        self.of.setdefault(name, []).append(self.w.add(pair, 0.0, 0.0).reshape(2, count).T)
        self.slack += self.ca.sum1(pair)
        return pair[:count] - pair[count:]

    def build(self) -> Program:
        f, grid = self.f, self.grid
        T = self.variable("T", 1, *grid.t_end)
        t = self.variable("t_0", 1, 0.0, 0.0)
        span, x = T - t, self.x0
        parts = self.variable("part", grid.intervals, *[1 / grid.intervals] * 2)
        before = self.start_multipliers(t)
        lengths: list[SX] = []
        for k in range(grid.intervals):
            self.spans.append((len(self.w.low), len(self.g.low)))
            length = span * parts[k]
            if grid.free:
                length = self.variable("lengths", 1, 0.0, grid.t_end[1])
                if lengths:
                    self.row("tied", length - lengths[-1], -INF, INF)
                lengths.append(length)
            u = self.variable("u", f.n_u, *self.limits.u.T)
            if any(f.driven) and len(self.of["u"]) > 1:
                self.row("passed", f.switching(t, x, u, self.rho), -INF, INF)
            steps: list[SX] = []
            begin = t
            for n in range(grid.elements):
                if grid.switching:
                    h = self.variable("h", 1, 0.0, grid.t_end[1])
                    if steps:
                        self.row("equal", h - steps[-1], -INF, INF)
                        self.unequal += ((h - steps[-1]) / (grid.usual / grid.intervals)) ** 2
                else:
                    h = length / grid.elements
                steps.append(h)
                x = self.enter(t, x, u, before)
                self.begun.append(x)
                x, before = self.element(t, x, u, h, before)
                t = t + h if n + 1 < grid.elements else begin + length
            if grid.switching:
                self.row("sum", sum(steps) - length)
            if f.knot is not None and len(self.limits.knots):
                self.row("knot", f.knot(t, x, self.rho), *self.limits.knots.T)
        self.spans.append((len(self.w.low), len(self.g.low)))
        if grid.free:
            self.row("total", sum(lengths) - span)
        self.begun.append(x)
        slack = self.slacks("end", len(self.limits.end))
        self.row("end", f.end(T, x, self.rho) + slack, *self.limits.end.T)
        cost = self.integral + f.terminal(T, x, self.rho)
        return self.finished(cost)

    def start_multipliers(self, t: SX) -> SX:
        """Return the multipliers lam at the start: parts of c(x0), a constant of a run."""
        ca, f = self.ca, self.f
        c = f.switching(t, self.x0, ca.SX(f.n_u, 1), self.rho)
        if f.cells is None:
            return ca.vertcat(ca.fmax(-c, 0), ca.fmax(c, 0))  # no part of it for a hybrid system
        parts = []
        for functions, signs in f.cells:
            g = -ca.DM(signs.astype(float)) @ c[functions.tolist()]
            parts.append(g - ca.mmin(g))
        return ca.vertcat(*parts)

    def enter(self, t: SX, x: SX, u: SX, before: SX) -> SX:
        """Return the state with which an element begins."""
        return x

    def element(self, t: SX, x0: SX, u: SX, h: SX, before: SX) -> tuple[SX, SX]:
        """Append an element; return its last state and multipliers lam."""
        ca, f, method = self.ca, self.f, self.grid.method
        s, limits = self.grid.stages, self.limits
        xs, ms, lams, slopes = [], [], [], []
        for j in range(s):
            x = self.variable("x", f.n_x, *limits.x.T)
            m = self.variable("m", f.n_m, 0.0, 1.0)
            lam = self.variable("lam", f.n_lam, 0.0, INF)
            when = t + method.c[j] * h
            xs.append(x)
            ms.append(m)
            lams.append(lam)
            slopes.append(f.flow(when, x, m, u, self.rho))
            self.integral += method.b[j] * h * f.running(when, x, u, self.rho)
            self.switches(when, x, u, m, lam)
            slack = self.slacks("path", len(limits.path))
            if len(limits.path):
                self.row("path", f.path(when, x, u, self.rho) + slack, *limits.path.T)
        for j in range(s):
            moved = ca.mtimes(ca.horzcat(*slopes), method.A[j])
            self.row("collocation", xs[j] - x0 - h * moved)
        if f.modes:
            return self.jumped(t + h, xs[-1], u), lams[-1]
        if f.n_c and self.grid.switching:
            total, m = sum(lams, before), sum(ms[1:], ms[0])
            if f.cells is None:
                n = f.n_c
                product = ca.dot(total[:n], m) + ca.dot(total[n:], s - m)
            else:
                product = ca.dot(total, m)
            self.row("product", product, -INF, INF)
        elif f.n_c:  # a standard Runge-Kutta method: complementarity in each stage alone, (15)
            parts = []
            for m, lam in zip(ms, lams, strict=True):
                n = f.n_c
                step = f.cells is None
                parts.append(
                    ca.dot(lam[:n], m) + ca.dot(lam[n:], 1 - m) if step else ca.dot(lam, m)
                )
            self.row("product", sum(parts), -INF, INF)
        return xs[-1], lams[-1]

    def jumped(self, t: SX, x: SX, u: SX) -> SX:
        """Return the state after an element: at the guard that ends its mode, its reset."""
        f = self.f
        if f.conditions is not None:
            self.row("condition", f.conditions(t, x, u, self.rho), -INF, INF)
        if f.jumps is None:
            return x
        taken = self.variable("jump", f.n_c, 0.0, 0.0)
        jumps = self.ca.reshape(f.jumps(t, x, u, self.rho), f.n_x, f.n_c)
        return x + self.ca.mtimes(jumps, taken)

    def switches(self, t: SX, x: SX, u: SX, m: SX, lam: SX) -> None:
        """Append c = lam_p - lam_n of a stage; in Stewart's form g = lam + mu and sum theta = 1."""
        ca, f = self.ca, self.f
        slack = self.slacks("loose", f.n_c)
        if not f.n_c:
            return
        c = f.switching(t, x, u, self.rho) + slack
        if f.modes:
            self.row("switching", c + lam)
            return
        if f.cells is None:
            self.row("switching", c - lam[f.n_c :] + lam[: f.n_c])
            return
        mu = self.variable("mu", len(f.cells))
        first = 0
        for k, (functions, signs) in enumerate(f.cells):
            part = slice(first, first + len(signs))
            first = part.stop
            g = -ca.DM(signs.astype(float)) @ c[functions.tolist()]
            self.row("stewart", g - lam[part] - mu[k])
            self.row("convex", ca.sum1(m[part]) - 1)

    def shapes(self) -> tuple[dict[str, tuple[int, ...]], dict[str, tuple[int, ...]]]:
        """Return the shapes of the indices of variables and of rows, by name."""
        f, grid = self.f, self.grid
        N, E, s = grid.intervals, grid.elements, grid.stages
        shapes = {
            "T": (),
            "t_0": (),
            "part": (N,),
            "u": (N, f.n_u),
            "lengths": (-1,),
            "h": (-1, E),
            "x": (N, E, s, f.n_x),
            "m": (N, E, s, f.n_m),
            "lam": (N, E, s, f.n_lam),
            "jump": (N, E, f.n_c if f.jumps is not None else 0),
            "mu": (N, E, s, -1),
            "loose": (N, E, s, f.n_c, 2),
            "path": (N, E, s, len(self.limits.path), 2),
            "end": (len(self.limits.end), 2),
        }
        row_shapes = {
            "product": (-1, E),
            "equal": (-1, max(E - 1, 1)),
            "tied": (-1,),
            "end": (-1,),
            "passed": (N - 1, f.n_c if any(f.driven) else 0),
            "condition": (N, E, f.n_c if f.conditions is not None else 0),
            "path": (N, E, s, len(self.limits.path)),
            "switching": (N, E, s, f.n_c),
        }
        return shapes, row_shapes

    def finished(self, cost: SX) -> Program:
        ca, f, grid = self.ca, self.f, self.grid
        w, g = ca.vertcat(*self.w.parts), ca.vertcat(*self.g.parts)
        p = ca.vertcat(self.x0, self.rho, self.even, self.penalty)
        objective = cost + self.even * self.unequal + self.penalty * self.slack
        shapes, row_shapes = self.shapes()
        of = {k: _stacked(self.of.get(k), shape) for k, shape in shapes.items()}
        rows = {k: _stacked(self.at.get(k), shape) for k, shape in row_shapes.items()}
        first = np.array(self.spans)
        return Program(
            f,
            grid,
            {"x": w, "p": p, "f": objective, "g": g},
            np.array(self.w.low),
            np.array(self.w.high),
            np.array(self.g.low),
            np.array(self.g.high),
            of,
            rows,
            np.stack([first[:-1], first[1:]], axis=2).swapaxes(0, 1),
            ca.Function("costs", [w, p], [cost]),
            ca.Function("begun", [w, p], [ca.horzcat(*self.begun)]),
        )


def _stacked(parts: list[np.ndarray] | None, shape: tuple[int, ...]) -> np.ndarray:
    """Return the indices of one name in their shape; empty if there is none."""
    if not parts or not sum(map(np.size, parts)):
        return np.zeros([max(k, 0) for k in shape], int)
    return np.concatenate([np.asarray(one, int).ravel() for one in parts]).reshape(shape)
