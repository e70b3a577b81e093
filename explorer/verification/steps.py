"""The equations of a time step of Moreau and Jean, evaluated anew at what was accepted.

With G at the place of the step and everything else at its rows::

    momentum   M (v1 - v0) - h [theta F1 + (1 - theta) F0] - G' p = 0
    contact    0 <= G v1 + gap_t + e gap'_0  perp  p >= 0       of what was predicted to close
    compliance 0 <= gap(q1) + d(p / h)       perp  p >= 0       of contacts that give way
    friction   |p_t| <= p_max,  p_t = -p_max slip / |slip| where it slides, slip1 + e_t slip_0 in it
    constraint G v1 + phi_t = 0

Where constraints hold at both levels, laws stand at the end of the step, and forces act along the
mean of the gradients at both ends (`explorer.kernels.time_stepping.constrained_step`).

Natural residuals, each in m/s beside the speeds of its own step: impulses are weighed by the
inverse of the mass that they meet.
"""

from __future__ import annotations

import numpy as np

from explorer.certificate import Check
from explorer.compiled import Compiled, compile_system
from explorer.compiled.held import left_of_breaks
from explorer.quantities import number, quantity
from explorer.results.solution import Solution
from explorer.verification.energy_balance import evaluated
from explorer.verification.forces import force, force_before, inverse_masses, momentum, null_of_mass
from explorer.verification.gradients import Rows

__all__ = ["contact_problem", "moreau"]

_EPS = float(np.finfo(float).eps)


def contact_problem(
    solution: Solution, tolerance: float, residual: np.ndarray | None = None
) -> list[Check]:
    """Return the check of what the solver of the contact problems left, beside each step's speeds.

    Parameters
    ----------
    solution : of a time-stepping scheme with contacts
    tolerance : lcp_tol
    residual : (n_t,) m/s, by default what the solver recorded
    """
    if not solution.p.shape[1] or len(solution.t) < 2:
        return []
    left = solution.residuals[:, 0] if residual is None else residual
    with np.errstate(all="ignore"):
        speeds = _speeds(solution)
        least = 1e2 * _EPS * speeds.max()  # what velocities round to
        parts = np.where(left <= least, 0.0, left / np.maximum(speeds, 1e-300))
    row = int(parts.argmax())
    return [
        Check(
            "contact laws",
            float(parts[row]),
            tolerance + 1e3 * _EPS,
            "",
            f"The contact problem at t = {quantity(solution.t[row], 's', 4)} was left with "
            f"{quantity(left[row], 'm/s', 2)}, "
            f"{number(parts[row], 2)} of the speeds in that step, more than lcp_tol = "
            f"{tolerance:g}.",
        )
    ]


def _speeds(solution: Solution) -> np.ndarray:
    """Return the largest speed of the contacts in each step, impulses over masses counted too."""
    on = (solution.active > 0) | [c.compliance != 0 for c in solution.system.contacts]
    found = (np.abs(solution.gap_dot) * on).max(axis=1)
    found[1:] += (np.abs(solution.gap_dot[:-1]) * on[1:]).max(axis=1)
    weight = inverse_masses(solution)
    nc = solution.p.shape[1]
    found = found + (solution.p * weight[:nc]).max(axis=1)
    if solution.system.rough:
        pushed = np.abs(solution.p_t).reshape(len(found), -1).max(axis=1)
        found = found + pushed * weight[nc:].max(initial=0.0)
        slip = np.abs(solution.slip).reshape(*on.shape, -1).max(axis=2)
        found = found + (slip * on).max(axis=1)  # in the air it slips as fast as it likes
        found[1:] += (slip[:-1] * on[1:]).max(axis=1)
    return np.asarray(found)


def moreau(solution: Solution) -> list[Check]:
    """Return the checks of a run of `MoreauJean`: laws, constraints, and balance of momentum."""
    scheme, left = solution.scheme, solution.residuals[:, 0].copy()
    if solution.has("discs") or len(solution.t) < 2:  # contacts of no formulas
        return contact_problem(solution, scheme.lcp_tol)
    with np.errstate(all="ignore"):
        step = _Step(solution)
        if solution.p.shape[1]:
            left[1:] = np.maximum(left[1:], step.laws())
        return [
            *contact_problem(solution, scheme.lcp_tol, left),
            *step.constraints(),
            *step.balance(),
        ]


class _Step:
    """The steps of a run: rows i of its arrays hold the step that ends at row i + 1."""

    def __init__(self, solution: Solution) -> None:
        self.solution, scheme = solution, solution.scheme
        self.h = np.diff(solution.t)[:, None]
        q, v, theta = solution.q, solution.v, scheme.theta
        self.end = q[:-1] + self.h * (theta * v[1:] + (1 - theta) * v[:-1])
        if (N := null_of_mass(solution)).shape[1]:  # there v is a derivative of q
            self.end += (N @ (N.T @ (q[1:] - self.end).T)).T
        star = scheme.mass_point == "q_star"
        self.place = q[:-1] + self.h * scheme.gamma * v[:-1] if star else self.end
        self.t = solution.t[1:]
        self.levels = solution.has("gamma_phi")
        if self.levels:
            c = scheme.gamma if star else 1.0
            self.end, self.place = q[1:], q[:-1] + c * (q[1:] - q[:-1])
            self.before = Rows(solution, q[:-1], v[:-1], solution.t[:-1])
            self.c = c
        with left_of_breaks(solution.system):  # steps end before inputs change
            self.rows = Rows(solution, self.end if self.levels else self.place, v[1:], self.t)

    def laws(self) -> np.ndarray:
        """Return the natural residual of contacts and friction in m/s, (n_steps,)."""
        run, nc = self.solution, self.solution.p.shape[1]
        compiled = compile_system(run.system)
        rho = list(run.rho.values())
        e = compiled.start(rho)[2]
        inp, weight = compiled.input(rho), inverse_masses(run)
        e_t, rigid = compiled.e_t(inp), compiled.compliance.diagonal(inp) == 0
        p, on = run.p[1:], run.active[1:] > 0
        u = self.rows.w[:, :nc] + e * run.gap_dot[:-1]
        off = np.where(on, np.abs(np.minimum(weight[:nc] * p, u)), np.abs(weight[:nc] * p))
        if not rigid.all():
            off = np.where(rigid, off, self._given_way(compiled, inp, weight[:nc] * p))
        found = off.max(axis=1)
        if not run.system.rough:
            return np.asarray(found)
        for j, (a, direction, _) in enumerate(run.system.tangents):
            if direction:
                continue
            plane = run.p_t.ndim == 3 and len(run.system.contacts[a].slips) == 2
            many = slice(j, j + 1 + plane)
            unit = weight[nc + j]
            push = unit * run.p_t[1:, a].reshape(len(p), -1)[:, : 1 + plane]
            before = run.slip[:-1, a].reshape(len(p), -1)[:, : 1 + plane]
            slip = self.rows.w[:, nc:][:, many] + e_t[many] * before
            most, free = unit * run.p_max[1:, a], push - slip
            size = np.maximum(np.linalg.norm(free, axis=1), 1e-300)
            kept = free * np.minimum(1.0, most / size)[:, None]
            rubbed = np.where(on[:, a], np.linalg.norm(push - kept, axis=1), 0.0)
            found = np.maximum(found, rubbed)
        return np.asarray(found)

    def _given_way(self, compiled: Compiled, inp: np.ndarray, speed: np.ndarray) -> np.ndarray:
        """Return the natural residual of 0 <= gap(q, lam) perp lam >= 0 in m/s, (n_steps, n_c).

        speed : (n_steps, n_c) what the impulses are in m/s
        """
        with left_of_breaks(self.solution.system):
            gap = evaluated(self.solution, "gap", q=self.end, v=self.solution.v[1:], t=self.t)
        yielded = compiled.compliance.given(inp, self.solution.p[1:] / self.h)
        gap = gap[:, : compiled.nc] + yielded
        rounds = Rows(self.solution, self.end, self.end, self.t).size[:, : compiled.nc]
        late = self.t[:, None] / self.h * np.abs(yielded)  # h is a difference of two times
        off = np.abs(np.minimum(gap / self.h, speed)) - 1e2 * _EPS * (rounds + late) / self.h
        return np.asarray(np.maximum(off, 0.0))

    def constraints(self) -> list[Check]:
        """Return the check of G v1 + phi_t = 0 of the constraints, beside its terms."""
        first = self.rows.compiled.rows
        off, size = np.abs(self.rows.w[:, first:]), self.rows.size[:, first:]
        if not off.size:
            return []
        off, size = off.max(axis=1), size.max(axis=1)
        tol, rounds = self.solution.scheme.newton_tol, 1e3 * _EPS * size.max()
        size = np.maximum(size, 1e-300)
        row = int((off / (tol * size + rounds + 1e-300)).argmax())
        part = float(off[row] / size[row])
        return [
            Check(
                "constraints",
                part,
                float(tol + rounds / size[row]),
                "",
                f"The step at t = {quantity(self.t[row], 's', 4)} leaves the constraints at "
                f"{number(part, 2)} of the speeds in them, more than newton_tol = {tol:g}.",
            )
        ]

    def balance(self) -> list[Check]:
        """Return the check of M (v1 - v0) = h F + G' p beside the size of its terms."""
        run, theta, h = self.solution, self.solution.scheme.theta, self.h
        before = {"t": run.t[:-1], "q": run.q[:-1], "v": run.v[:-1]}
        after = {"t": self.t, "q": self.end, "v": run.v[1:]}
        F0, F1 = force(run, **before), force_before(run, **after)
        acts = h * (theta * F1 + (1 - theta) * F0) + self._pushed()
        place = {"t": self.t, "q": self.place}
        off = momentum(run, v=run.v[1:] - run.v[:-1], **place) - acts
        size = momentum(run, v=np.abs(run.v[1:]) + np.abs(run.v[:-1]), size=True, **place)
        size = np.abs(size).max(axis=1) + (h * np.abs(F0) + h * np.abs(F1)).max(axis=1)
        flip = 1 + 1e-7 * (-1.0) ** np.arange(run.q.shape[1])
        moved = force_before(run, **after | {"q": self.end * flip}) - F1
        rounds = (
            momentum(run, v=np.abs(self.end) / h, size=True, **place) + h * np.abs(moved) / 1e-7
        )
        late = self.t * (np.abs(F0) + np.abs(F1)).max(axis=1)  # h is a difference of two times
        rounds = 1e2 * _EPS * (size + late + np.abs(rounds).max(axis=1))
        left, tol = np.abs(off).max(axis=1), run.scheme.newton_tol
        size = np.maximum(size, 1e-300)
        row = int((left / (tol * size + rounds + 1e-300)).argmax())
        part, allowed = float(left[row] / size[row]), float(tol + rounds[row] / size[row])
        return [
            Check(
                "momentum",
                part,
                allowed,
                "",
                f"The step at t = {quantity(self.t[row], 's', 4)} leaves {number(part, 2)} of its "
                f"forces unbalanced, more than newton_tol = {tol:g}.",
            )
        ]

    def _pushed(self) -> np.ndarray:
        """Return what contacts and constraints do to the momentum of each step, (n_steps, n)."""
        p = self._impulses()
        pushed = self.rows.push(p)
        if not self.levels:
            return pushed
        pushed = self.c * pushed + (1 - self.c) * self.before.push(p)
        turn = np.zeros_like(p)
        turn[:, self.rows.compiled.rows :] = self.solution.recorded_row("gamma_phi")[1:] / self.h
        return np.asarray(pushed + self.before.push(turn) - self.rows.push(turn))

    def _impulses(self) -> np.ndarray:
        """Return the impulses of all rows of G, (n_steps, n_rows + n_constraints)."""
        run = self.solution
        parts = [run.p[1:]]
        if run.system.tangents:
            contact, direction, _ = zip(*run.system.tangents, strict=True)
            parts.append(run.p_t[1:][(slice(None), contact, direction)[: run.p_t.ndim]])
        if run.has("constraints") and run.p_phi.size:
            parts.append(-run.p_phi[1:])
        return np.hstack(parts)
