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

from explorer.transcription.casadi_functions import casadi
from explorer.transcription.formulas import Formulas
from explorer.transcription.grid import INF, Grid, Limits
from explorer.transcription.program import Program
from explorer.types import Array

if TYPE_CHECKING:
    from casadi import SX

__all__ = ["DEAR", "Builder", "build"]

DEAR = 100.0  # weight of slacks of switching functions in an elastic program


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


def build(formulas: Formulas, grid: Grid, limits: Limits, elastic: bool = False) -> Program:
    """Return the program of a problem.

    An elastic one has slacks of bounds and knots too, and no costs: it finds what cannot hold.
    """
    return Builder(formulas, grid, limits, elastic).build()


class Builder:
    """Lays out variables and rows, interval by interval."""

    def __init__(
        self, formulas: Formulas, grid: Grid, limits: Limits, elastic: bool = False
    ) -> None:
        ca = casadi()
        self.elastic = elastic
        self.ca, self.f, self.grid, self.limits = ca, formulas, grid, limits
        self.w, self.g = _Rows(), _Rows()
        self.of: dict[str, list[np.ndarray]] = {}
        self.at: dict[str, list[np.ndarray]] = {}
        self.x0 = ca.SX.sym("x0", formulas.n_x)
        self.given = ca.SX.sym("rho", formulas.n_p)
        self.rho = ca.SX(self.given)
        self.even, self.penalty = ca.SX.sym("even"), ca.SX.sym("penalty")
        self.z = ca.SX(formulas.n_z, 1)  # of the last stage
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
        # the switches of a system are no wish of a user, so what is asked gives way first
        self.slack += (DEAR if self.elastic and name == "loose" else 1) * self.ca.sum1(pair)
        return pair[:count] - pair[count:]

    def build(self) -> Program:
        f, grid = self.f, self.grid
        T = self.variable("T", 1, *grid.t_end)
        t = self.variable("t_0", 1, 0.0, 0.0)
        span, x = T - t, self.x0
        parts = self.variable("part", grid.intervals, *[1 / grid.intervals] * 2)
        if self.limits.unknown.size:
            chosen = self.variable("unknown", self.limits.unknown.size, *self.limits.rho.T)
            self.rho[self.limits.unknown.tolist()] = chosen
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
            u = self.variable("u", f.n_u, *self.limits.u[k].T)
            if any(f.driven) and len(self.of["u"]) > 1:
                self.row("passed", f.switching(t, x, self.padded(u), self.rho), -INF, INF)
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
                slack = self.slacks("knot", len(self.limits.knots)) if self.elastic else 0
                self.row("knot", f.knot(t, x, self.z, self.rho) + slack, *self.limits.knots.T)
        self.spans.append((len(self.w.low), len(self.g.low)))
        if grid.free:
            self.row("total", sum(lengths) - span)
        self.begun.append(x)
        slack = self.slacks("end", len(self.limits.end))
        self.row("end", f.end(T, x, self.z, self.rho) + slack, *self.limits.end.T)
        cost = self.integral + f.terminal(T, x, self.z, self.rho)
        return self.finished(cost)

    def state(self) -> SX:
        """Return the states of a stage within their bounds."""
        if not self.elastic:
            return self.variable("x", self.f.n_x, *self.limits.x.T)
        x = self.variable("x", self.f.n_x)
        self.row("bounds", x + self.slacks("bounds", self.f.n_x), *self.limits.x.T)
        return x

    def padded(self, u: SX) -> SX:
        """Return controls as an argument of functions that no algebraic variable enters."""
        return self.ca.vertcat(u, self.ca.SX(self.f.n_z, 1))

    def determined(self, t: SX, x: SX, u: SX, name: str = "z") -> SX:
        """Return controls and new algebraic variables, with the equations that determine these."""
        f, ca, limits = self.f, self.ca, self.limits.z
        if f.equations is None or not f.n_z:
            return u
        asked = name == "z" and self.elastic
        ranges = (-INF, INF) if asked or name != "z" else limits.T
        self.z = self.variable(name, f.n_z, *ranges)
        if asked:
            self.row("z bounds", self.z + self.slacks("z bounds", f.n_z), *limits.T)
        u = ca.vertcat(u, self.z)
        self.row("equations", f.equations(t, x, u, self.rho))
        return u

    def lifted(self, t: SX, x: SX, m: SX, v: SX) -> SX:
        """Return the multipliers of a stage, and behind them new variables for their products."""
        f = self.f
        if f.products is None or not f.n_beta:
            return m
        beta = self.variable("beta", f.n_beta)
        m = self.ca.vertcat(m, beta)
        self.row("products", f.products(t, x, m, v, self.rho) - beta)
        return m

    def start_multipliers(self, t: SX) -> SX:
        """Return the multipliers lam at the start: parts of c(x0), a constant of a run."""
        ca, f = self.ca, self.f
        c = f.switching(t, self.x0, self.padded(ca.SX(f.n_u, 1)), self.rho)
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
            x = self.state()
            m = self.variable("m", f.n_m, 0.0, 1.0)
            lam = self.variable("lam", f.n_lam, 0.0, INF)
            when = t + method.c[j] * h
            v = self.determined(when, x, u)
            xs.append(x)
            ms.append(m)
            lams.append(lam)
            slopes.append(f.flow(when, x, self.lifted(when, x, m, v), v, self.rho))
            self.integral += method.b[j] * h * f.running(when, x, v, self.rho)
            self.switches(when, x, v, m, lam)
            slack = self.slacks("path", len(limits.path))
            if len(limits.path):
                self.row("path", f.path(when, x, v, self.rho) + slack, *limits.path.T)
        for j in range(s):
            moved = ca.mtimes(ca.horzcat(*slopes), method.A[j])
            self.row("collocation", xs[j] - x0 - h * moved)
        if f.modes:
            return self.jumped(t + h, xs[-1], v), lams[-1]
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
            "unknown": (-1,),
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
            "bounds": (N, E, s, f.n_x * self.elastic, 2),
            "z": (N, E, s, f.n_z),
            "beta": (N, E, s, f.n_beta),
            "z0": (N, E, f.n_z if "z0" in self.of else 0),
            "z bounds": (N, E, s, f.n_z * self.elastic, 2),
            "knot": (N, len(self.limits.knots) * self.elastic, 2),
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
        p = ca.vertcat(self.x0, self.given, self.even, self.penalty)
        objective = self.even * self.unequal + self.penalty * self.slack
        if not self.elastic:
            objective += cost
        shapes, row_shapes = self.shapes()
        of = {k: _stacked(self.of.get(k), shape) for k, shape in shapes.items()}
        rows = {k: _stacked(self.at.get(k), shape) for k, shape in row_shapes.items()}
        first = np.array(self.spans)
        return Program(
            f,
            grid,
            self.limits.unknown,
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
