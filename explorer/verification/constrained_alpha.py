"""The equations of generalised-alpha with constraints, evaluated anew at what was accepted.

Of the steps that no contact meets, with W of the velocity problem::

    M(d_f) a_m = F(t_f, d_f, v_f) - phi_q(d_f)' lam,    v_f of v_1 before W
    phi_q v_1 + phi_t = 0
    q_1 = q_0 + h v_0 + h^2 [(1/2 - beta) a_0 + beta a_1]
    M(d_f) (v_1 - v_0 - h [(1 - gamma) a_0 + gamma a_1]) = -phi_q(q_1)' p_jump

Positions are those of `explorer.verification.positions`. See
`explorer.kernels.time_stepping.constrained_alpha`.
"""

from __future__ import annotations

import numpy as np

from explorer.certificate import Check
from explorer.quantities import number, quantity
from explorer.results.solution import Solution
from explorer.verification.forces import at_breaks, force, force_before, momentum
from explorer.verification.gradients import Rows

__all__ = ["constrained_equilibrium"]

_SETTLED = 1e-10  # Newton's method ends with a last correction that is smaller than that


def constrained_equilibrium(run: Solution) -> list[Check]:
    """Return the checks of the equations of a step, and of velocities on the constraints."""
    if len(run.t) < 2:
        return []
    with np.errstate(all="ignore"):
        return [_velocities(run), *_equations(run)]


def _velocities(run: Solution) -> Check:
    rows = Rows(run, run.q, run.v, run.t)
    first = rows.compiled.rows
    off, size = np.abs(rows.w[1:, first:]).max(axis=1), rows.size[1:, first:].max(axis=1)
    allowed, least = 10 * run.scheme.newton_tol, 1e-13 * size.max()  # what the fastest rounds to
    parts = np.where(off <= least, 0.0, off / np.maximum(size, 1e-300))
    row = int(parts.argmax())
    return Check(
        "constraints",
        float(parts[row]),
        allowed,
        "",
        f"The velocities at t = {quantity(run.t[row + 1], 's', 4)} leave the constraints at "
        f"{number(parts[row], 2)} of the speeds in them, more than newton_tol = "
        f"{run.scheme.newton_tol:g}.",
    )


def _equations(run: Solution) -> list[Check]:
    co, h = run.scheme.coefficients, np.diff(run.t)[:, None]
    old = {name: getattr(run, name)[:-1] for name in ("t", "q", "v", "a")}
    new = {name: getattr(run, name)[1:] for name in ("t", "q", "v", "a")}
    free = ~at_breaks(run)[1:]  # accelerations that are carried jump there
    if run.p.shape[1]:
        closed = np.any(run.active > 0, axis=1)
        free &= ~closed[1:] & ~closed[:-1]  # a step takes the forces of closed contacts on
    if not free.any():
        return []
    rule = h * ((1 - co.gamma) * old["a"] + co.gamma * new["a"])
    speed = new["v"] - old["v"] - rule
    ends, w = new | {"v": old["v"] + rule}, 1.0 if run.scheme.interpolated else 1 - co.alpha_f
    mixed = {k: w * ends[k] + (1 - w) * old[k] for k in ("t", "q", "v")}
    place, first = {k: mixed[k] for k in ("t", "q")}, run.p.shape[1]
    a_m = (1 - co.alpha_m) * new["a"] + co.alpha_m * old["a"]
    lam, none = run.recorded_row("lam_alpha"), np.zeros((len(h), first))
    held, jump = np.hstack([none, -lam[1:]]), np.hstack([none, -run.recorded_row("p_jump")[1:]])
    F, pulls = (
        force_before(run, **mixed),
        Rows(run, mixed["q"], mixed["v"], mixed["t"]).push(held),
    )
    flip = 1 + 1e-7 * (-1.0) ** np.arange(run.q.shape[1])
    steep = (
        np.abs(force_before(run, **mixed | {"q": mixed["q"] * flip, "v": mixed["v"] / flip}) - F)
        / 1e-7
    )
    acts = F + pulls
    if run.scheme.interpolated:
        before = np.hstack([none, -lam[:-1]])
        began = {k: old[k] for k in ("t", "q", "v")}
        pulled = Rows(run, old["q"], old["v"], old["t"]).push(before)
        acts = (1 - co.alpha_f) * acts + co.alpha_f * (force(run, **began) + pulled)
    found = momentum(run, v=a_m, **place) - acts
    terms = momentum(run, v=a_m, size=True, **place) + np.abs(F) + np.abs(pulls) + steep
    moved = new["q"] - old["q"] - h * old["v"]
    moved -= h**2 * ((0.5 - co.beta) * old["a"] + co.beta * new["a"])
    way = np.abs(new["q"]) + h * np.abs(old["v"]) + h**2 * np.abs(new["a"])
    kick = momentum(run, v=speed, **place) - Rows(run, new["q"], new["v"], new["t"]).push(jump)
    carried = np.abs(new["v"]) + np.abs(old["v"]) + h * np.abs(new["a"])
    kicked = momentum(run, v=carried, size=True, **place)
    parts = np.zeros(len(h))
    for off, whole in ((found, terms), (moved, way), (kick, kicked)):
        part = np.abs(off).max(axis=1) / np.maximum(np.abs(whole).max(axis=1), 1e-300)
        parts = np.maximum(parts, part)
    parts = np.where(free, parts, 0.0)
    row = int(parts.argmax())
    return [
        Check(
            "equilibrium",
            float(parts[row]),
            max(10 * run.scheme.newton_tol, _SETTLED),
            "",
            f"The step to t = {quantity(run.t[row + 1], 's', 4)} leaves "
            f"{number(parts[row], 2)} of its forces unbalanced, more than newton_tol = "
            f"{run.scheme.newton_tol:g}: use a smaller h.",
        )
    ]
