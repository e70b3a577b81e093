"""Grazing: where a cycle just touches a guard, and the singular term of its return map there.

Let g be the guard, d = -min g the depth to which the cycle would pass it, and a = g'' at the
minimum. Beside the grazing cycle the map over one period is P(x, p) = smooth part + C d^n. The
saltation data of the event give C = S Z and n, with S the derivative of the flow from the touch to
the end of the period and Z the zero-time discontinuity map::

    jump h(x), h = x where the speed is zero    n = 1/2   Z = (h_x - I) f- sqrt(2 / a)
    f+ is not f-, f+ pushes back (slides)       n = 1     Z = (f+ - f-) / |g_x (f+ - f-)|
    f+ is not f-, but g' is the same with both  n = 1/2   Z = (f+ - f-) 2 sqrt(2 a) / a+
    f+ = f-, but not their derivatives          n = 3/2   Z = -(4/3) sqrt(2 / a) d(f+ - f-)/dg

with a+ = g'' > 0 by f+, which turns the motion back after the time 2 sqrt(2 a d) / a+
(di Bernardo, Budd, Champneys, Kowalczyk, *Piecewise-smooth Dynamical Systems*, 2008, ch. 6-8,
doi:10.1007/978-1-84628-708-4; Nordmark, J. Sound Vib. 145 (1991) 279,
doi:10.1016/0022-460X(91)90592-8). Runs at growing offsets of the parameter check n and C without
any derivative. Where several guards are touched at one parameter, as the two stops of a symmetric
oscillator, the first one in the period counts: with n = 1/2 it moves the motion off the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import sympy as sp

from explorer.errors import BadValue, ExplorerError, NotApplicable
from explorer.quantities import quantity
from explorer.results.solution import Solution
from explorer.study import study
from explorer.study.arclength import Node, approach, correct, lagrange
from explorer.study.branch import Branch, BranchPoint
from explorer.study.cycles import Cycles, cycle_of
from explorer.study.grazing_kicks import kick_of
from explorer.study.near_misses import Miss, guards_of
from explorer.systems.kinks import slope

__all__ = ["Grazing", "from_outside", "grazing", "touches"]

_OFFSETS = np.geomspace(1e-6, 1e-4, 13)  # of the parameter's range
_SMOOTH = 6  # points on the side without events, through which the smooth part is extrapolated
_SIDE = (4e-4, 2e-4)  # of the range: where the side without the event is entered
_TOGETHER, _ZERO = 10.0, 1e-9  # touches at one parameter: as near as that many times the first
_AGREES, _ALIKE = 0.03, 0.1  # of the exponent, of the coefficient


@study
@dataclass(frozen=True, repr=False)
class Grazing:
    """A grazing cycle and the singular term of its map, P = smooth part + coefficient d^exponent.

    Attributes
    ----------
    kind : str
        "impact" (a jump), "sliding", "continuous" (both fields agree on the surface), or
        "discontinuous" (they do not, and both turn the motion back, such as a preloaded spring).
    name : str
        The guard, contact or switching function.
    parameter, error : float
        Where the cycle grazes, and the estimated error.
    exponent : float
        1/2, 1 or 3/2, from the saltation data.
    x : (n_x,) the cycle at its start
    touch : (n_x,), t : float
        State and time in s at which the guard is touched.
    curvature : float
        a = d2g/dt2 there.
    depth_by_x : (n_x,), depth_by_parameter : float
        Derivatives of the depth d by the start x and by the parameter.
    monodromy : (n_x, n_x) of the cycle that does not touch
    kick : (n_x,)
        Z, the singular term just behind the touch.
    coefficient : (n_x,)
        C = S Z, the same at the end of the period.
    fitted, fitted_error : float
        Exponent of |P - smooth part| over the offset of the parameter, and its error bar.
    amplitude_ratio : float
        The fitted amplitude over the one that follows from the coefficient.
    offsets, displacements : (k,) the data of the fit
    """

    kind: str
    name: str
    parameter: float
    error: float
    exponent: float
    x: np.ndarray
    touch: np.ndarray
    t: float
    curvature: float
    depth_by_x: np.ndarray
    depth_by_parameter: float
    monodromy: np.ndarray
    kick: np.ndarray
    coefficient: np.ndarray
    fitted: float
    fitted_error: float
    amplitude_ratio: float
    offsets: np.ndarray = field(repr=False)
    displacements: np.ndarray = field(repr=False)

    @property
    def ok(self) -> bool:
        """Whether the runs confirm it: the exponent within 3 %, the amplitude within 10 %."""
        agrees = abs(self.fitted - self.exponent) <= _AGREES * self.exponent
        return bool(agrees and abs(self.amplitude_ratio - 1) <= _ALIKE)

    def __repr__(self) -> str:
        return (
            f"Grazing({self.kind} of {self.name!r} at {quantity(self.parameter, '', 9)}: exponent "
            f"{self.exponent:g}, fitted {self.fitted:.4f} ± {self.fitted_error:.4f}, amplitude "
            f"{self.amplitude_ratio:.4f} times the predicted one; "
            f"{'confirmed' if self.ok else 'not confirmed'})"
        )


@study
def grazing(branch: Branch, point: BranchPoint | None = None) -> Grazing:
    """Return the normal form of a grazing cycle, checked by runs.

    Parameters
    ----------
    branch : Branch
        Of cycles, from `continuation`.
    point : BranchPoint, optional
        Where it grazes; by default the first such point.

    Returns
    -------
    Grazing

    Raises
    ------
    BadValue
        The branch has no grazing cycle, or its side without the event is not found.
    NotApplicable
        There is no such normal form, such as for a guard that moves the state away even at speed
        zero.

    Examples
    --------
    >>> import explorer as ex
    >>> branch = ex.study.continuation(
    ...     ex.models.impact_oscillator(), parameter="s", period="2*pi/omega", direction="down",
    ...     over=(2.6, 3), omega=0.8, s=2.9, c=0.1, guess=[0, 0])
    >>> found = ex.study.grazing(branch)
    >>> found.kind, found.exponent, round(found.parameter, 6)  # 1 / |0.36 + 0.08 i|
    ('impact', 0.5, 2.711631)
    """
    if not isinstance(branch, Branch):
        raise BadValue(f"Give a branch from study.continuation, not {branch!r}.")
    problem = branch.problem
    if not isinstance(problem, Cycles):
        raise NotApplicable("Equilibria and maps do not graze: give a branch of cycles of a flow.")
    touching = [q for q in branch.points if q.name and touches(q)]
    if point is None and not touching:
        raise BadValue("The branch has no point at which a cycle grazes a guard.")
    point = touching[0] if point is None else point
    if not touches(point):
        raise BadValue(f"The cycle does not graze at this point, a {point.kind}.")
    w, node, error = from_outside(problem, branch, point)
    return _form(problem, point.name, w, node, max(error, branch.options.tol))


def touches(point: BranchPoint) -> bool:
    """Whether the cycle touches a guard at a point."""
    if point.kind == "grazing":
        return True
    return point.kind == "sliding" and f"miss {point.name}" in point.node.at.margins


def from_outside(
    problem: Cycles, branch: Branch, point: BranchPoint
) -> tuple[np.ndarray, Node, float]:
    """Return w of the grazing cycle, the nearest one that does not touch, and the error.

    Cycles of the problem begin as that one from here on.
    """
    key = f"miss {point.name}"
    scale = float(problem.scale[-1])
    at = point.node.w.copy()
    at[-1] = point.parameter / scale
    cycle = cycle_of(point.node)
    problem.begin_as(cycle)
    if problem.autonomous:
        problem.anchor = point.node.w[: problem.n] * problem.scale[: problem.n]
        problem.along = cycle.run.march.sample(np.zeros(1), slopes=False)[1][0, : problem.n]
    if not problem.autonomous and len(point.x) == problem.n:
        at[: problem.n] = point.x / problem.scale[: problem.n]
    plane = np.zeros(len(at))
    plane[-1] = 1.0
    for sign in (1.0, -1.0):
        nodes = []
        guess = at
        for size in _SIDE:
            done = correct(problem, guess + sign * size * plane, plane, branch.options.tol)
            if done is None or float(np.linalg.norm(done[0].w - at)) > 200 * size:
                break
            nodes.append(done[0])
        margins = [n.at.margins.get(key, -1.0) for n in nodes]
        if len(nodes) < len(_SIDE) or not 0 < margins[1] < margins[0]:
            continue
        reached = approach(problem, nodes, key, branch.options.tol)
        if reached is not None:
            w, path, error = reached
            return w, path[-1], error
    raise BadValue(
        f"Beside {branch.parameter} = {point.parameter:.6g} no cycle is found that just misses "
        f"{point.name!r}, so the smooth part of the map is not known."
    )


def _form(problem: Cycles, name: str, w: np.ndarray, node: Node, error: float) -> Grazing:
    """Return the normal form at w; `node` is a cycle beside it, which does not touch."""
    n, cycle = problem.n, cycle_of(node)
    miss, later = _touched(cycle.misses, name)
    name, u = miss.name, w * problem.scale
    guard = _guard(problem, name)
    run: Solution = cycle.run
    S = run.march.slopes_at(np.array([miss.t]))[0, :n]
    g_x, g_p, side = guard(miss.t, miss.x, run.march.rho)
    by_x, by_p = -side * (g_x @ S[:, :n]), -side * (float(g_x @ S[:, n]) + g_p)
    if by_p == 0:
        raise NotApplicable(
            f"{problem.parameter} does not change the depth of the touch, to first order."
        )
    curvature = _curvature(problem, run, miss, name)
    offsets, moved, hit = _runs(problem, u, name, np.sign(by_p))
    kind, exponent, kick = kick_of(problem, hit, name, curvature, float(side))
    coefficient = cycle.monodromy @ np.linalg.pinv(S[:, :n]) @ kick
    if later and exponent < 1:
        _check_later(problem, run, name, later, np.linalg.pinv(S[:, :n]) @ kick)
    sizes = np.linalg.norm(moved / problem.scale[:n], axis=1)
    fitted, bar, amplitude = _fit(offsets, sizes)
    predicted = float(np.linalg.norm(coefficient / problem.scale[:n])) * abs(by_p) ** exponent
    # both amplitudes at the middle of the offsets, so that the error of the exponent does not enter
    middle = float(np.exp(np.log(offsets).mean()))
    ratio = amplitude * middle**fitted / (predicted * middle**exponent)
    return Grazing(
        kind,
        name,
        float(u[-1]),
        error * float(problem.scale[-1]),
        exponent,
        u[:n],
        miss.x,
        miss.t,
        curvature,
        by_x,
        by_p,
        cycle.monodromy,
        kick,
        coefficient,
        fitted,
        bar,
        ratio,
        offsets,
        sizes,
    )


def _touched(misses: tuple[Miss, ...], name: str) -> tuple[Miss, list[Miss]]:
    """Return the first touch of the period among those at one parameter, and the others."""
    named = next(m for m in misses if m.name == name)
    near = max(_TOGETHER * abs(named.value), _ZERO * (1 + float(np.abs(named.x).max())))
    first, *later = sorted((m for m in misses if abs(m.value) <= near), key=lambda m: m.t)
    return first, later


def _check_later(
    problem: Cycles, run: Solution, name: str, later: list[Miss], kick: np.ndarray
) -> None:
    """Refuse guards that are touched at the same parameter if the kick drives the motion into them.

    The kick (n_x,) is that at the start of the period. Away from them, it is more than what the
    parameter does, so that they are not met.
    """
    for miss in later:
        S = run.march.slopes_at(np.array([miss.t]))[0, : problem.n]
        g_x, _, side = _guard(problem, miss.name)(miss.t, miss.x, run.march.rho)
        if side * float(g_x @ S[:, : problem.n] @ kick) <= 0:
            raise NotApplicable(
                f"The cycle touches {name!r} and {miss.name!r} at one value of "
                f"{problem.parameter}, and what {name!r} does drives it into {miss.name!r}: the "
                "map has no single power. Let a parameter part the two touches, such as another "
                "place of one of them."
            )


def _guard(problem: Cycles, name: str) -> Callable[..., tuple[np.ndarray, float, int]]:
    """Return a function of t, x, rho: derivatives by x and the parameter, and the free side."""
    system = problem.system
    x = [sp.Symbol(s) for s in system._state_names()]
    rho = [sp.Symbol(s) for s in system.parameters]
    g, given_side = next((q[3], q[2]) for q in guards_of(system) if q[0] == name)
    value = sp.lambdify([system.t, x, rho], g)
    by_x = sp.lambdify([system.t, x, rho], [slope(g, s) for s in x])
    by_p = sp.lambdify([system.t, x, rho], slope(g, rho[problem.place]))

    def at(t: float, state: np.ndarray, r: np.ndarray) -> tuple[np.ndarray, float, int]:
        side = given_side or (1 if value(t, state, r) > 0 else -1)
        return np.array(by_x(t, state, r), float), float(by_p(t, state, r)), side

    return at


def _curvature(problem: Cycles, run: Solution, miss: Miss, name: str) -> float:
    """Return the second derivative of the guard in time at its extremum, away from zero."""
    guard = next(g for g in problem.misses.guards if g.name == name)
    step = 1e-4 * float(run.march.t_last)
    rates = []
    for t in (miss.t - step, miss.t + step):
        y, dy, _ = run.march.sample(np.array([t]), slopes=False)
        x, dx = y[0, : problem.n], dy[0, : problem.n]
        rates.append(float(guard.rate(t, x, run.march.rho, dx)))
    return abs(rates[1] - rates[0]) / (2 * step)


def _runs(
    problem: Cycles, u: np.ndarray, name: str, sign: float
) -> tuple[np.ndarray, np.ndarray, Solution]:
    """Return offsets of the parameter, P less its smooth part (k, n), and a run that hits."""
    n, span, p = problem.n, float(problem.scale[-1]), float(u[-1])

    def end(offset: float) -> tuple[np.ndarray, bool, Solution]:
        x, T = problem._split(np.array([*u[:-1], p + offset]))
        run = problem._shoot(x, T)
        hits = sum(e.contact == name for e in run.located)
        return run.march.end()[1], hits > usual, run

    usual = -1
    step = float(_OFFSETS[-1]) * span
    outside = -sign * step * np.arange(1, _SMOOTH + 1)
    usual = sum(e.contact == name for e in end(float(outside[-1]))[2].located)
    rest = np.array([end(float(q))[0] for q in outside])
    offsets, moved, hit = [], [], None
    for size in _OFFSETS * span:
        try:
            state, hits, run = end(sign * size)
        except ExplorerError:
            continue
        if not hits:
            continue
        smooth = lagrange(outside / step, rest, sign * size / step)
        offsets.append(size)
        moved.append(state - smooth)
        hit = hit or run
    if hit is None or len(offsets) < 6:
        raise BadValue(f"On neither side of the grazing cycle do its neighbours meet {name!r}.")
    return np.array(offsets), np.array(moved).reshape(-1, n), hit


def _fit(offsets: np.ndarray, sizes: np.ndarray) -> tuple[float, float, float]:
    """Return exponent, error bar and amplitude of sizes = A offset^n (1 + c sqrt(offset)).

    The bar is twice the standard error, or the change of the exponent by the last term if larger.
    """
    x, y = np.log(offsets), np.log(sizes)
    terms = np.column_stack([np.ones_like(x), x, np.sqrt(offsets / offsets[-1])])
    full, *_ = np.linalg.lstsq(terms, y, rcond=None)
    spare = y - terms @ full
    covariance = np.linalg.inv(terms.T @ terms) * float(spare @ spare) / (len(x) - 3)
    low, _ = np.linalg.lstsq(terms[:, :2], y, rcond=None)[:2]
    bar = max(2 * float(np.sqrt(covariance[1, 1])), 0.5 * abs(float(low[1] - full[1])))
    return float(full[1]), bar, float(np.exp(full[0]))
