"""How a march from event to event ended, with the reason where the contacts were it."""

from __future__ import annotations

import numpy as np

from explorer.codes import (
    CONTRADICTORY,
    LCP_ITERATIONS,
    LCP_RAY,
    NOT_FINITE,
    NOT_MET,
    RANK_LOST,
    SINGULAR,
    STEP_CAP,
    STIFF,
    SUCCESS,
)
from explorer.compiled import compile_system
from explorer.compiled.checks import check_mass
from explorer.compiled.paradox import Paradox, paradox_at
from explorer.errors import BadModel
from explorer.quantities import quantity
from explorer.runs.event_driven.constraints_failed import (
    contradictory,
    dependent,
    not_met,
    rank_lost,
    tied,
    without_inertia,
)
from explorer.runs.event_driven.run import Run
from explorer.status import Status

__all__ = ["ended"]

_UNSOLVED = {LCP_RAY, LCP_ITERATIONS}
_LOST = {NOT_FINITE, SINGULAR, STEP_CAP, STIFF}  # what a force without bound does to a run
_JAM = 1e-6  # of D_nn
_GOES_ON = "MoreauJean continues with an impulse"


def ended(run: Run) -> Status:
    """Return how a run ended."""
    code, t = run.code, run.t_last
    if code == SUCCESS:
        return Status.of(code, len(run.steps.t), t)
    from explorer.kernels.friction.coefficients import IMPROPER

    if code == IMPROPER:
        return _stopped(run, "improper_friction", _improper(run))
    name = Status.of(code, 0, t).name
    if code in _UNSOLVED:
        found = _paradox(run)
        why = (
            found.words
            if found
            else (
                "no contact forces are consistent with its accelerations: redundant or "
                "contradictory contacts cause that"
            )
        )
        return _stopped(run, name, f"{why}. {_GOES_ON}")
    if code == NOT_MET:
        return _stopped(run, name, not_met(run))
    if code == CONTRADICTORY:
        return _stopped(run, name, contradictory(run))
    if code == RANK_LOST:
        return _stopped(run, name, rank_lost(run))
    if code == SINGULAR and (why := tied(run)):
        return _stopped(run, name, why)
    if code in _LOST and (why := dependent(run)):
        return _stopped(run, Status.of(RANK_LOST, 0, t).name, why)
    if code in _LOST and (why := _massless(run)):
        return _stopped(run, name, why)
    if code in _LOST and (found := _paradox(run, _JAM)):
        return _stopped(run, name, f"{found.words}. {_GOES_ON}")
    return Status.of(code, len(run.steps.t), t, unit=run.flow.system.time_unit)


def _stopped(run: Run, name: str, words: str) -> Status:
    return Status.stopped(run.code, name, len(run.steps.t), run.end()[0], words)


def _massless(run: Run) -> str:
    """Say that the mass matrix is none where the run ended; empty: it is one."""
    flow, (t, x, *_) = run.flow, run.end()
    if not flow.mechanical or not np.isfinite(x[: flow.n]).all():
        return ""
    compiled = compile_system(flow.system)  # type: ignore[arg-type]
    inp = compiled.input(run.rho.tolist())
    inp[0], inp[1 : 1 + flow.n_x] = t, x[: flow.n_x]
    M = compiled.matrices(inp)[0]
    if not np.isfinite(M.sum()):
        return ""
    if flow.n_phi:
        return without_inertia(run, M)
    try:
        check_mass(flow.system.name, M, lambda: f"at t = {quantity(t, 's')}")
    except BadModel as error:
        said = str(error).rstrip(".")
        return said[:1].lower() + said[1:]
    return ""


def _paradox(run: Run, near: float = 0.0) -> Paradox | None:
    """Return what forbids a force on a contact where the run ended."""
    if not run.flow.n_c:
        return None
    t, x, *_ = run.end()
    compiled = compile_system(run.flow.system)  # type: ignore[arg-type]
    return paradox_at(compiled, run.rho.tolist(), t, *np.split(x, 2), near=near)


def _improper(run: Run) -> str:
    """Say which coefficients of friction Coulomb's law cannot take."""
    flow, (t, x, *_) = run.flow, run.end()
    inp = flow.input(run.rho)
    inp[0], inp[1 : 1 + flow.n_x] = t, x
    mu = flow.bundles[1](inp)[flow.rows * (flow.n + 3) :].reshape(2, -1).T
    k = int(np.minimum(mu[:, 0], mu[:, 1] - mu[:, 0]).argmin())
    return (
        f"the friction of {flow.guard_name(flow.rough[k])!r} leaves what Coulomb's law needs, "
        f"0 <= mu <= mu_s, at mu = {mu[k, 0]:.3g}, mu_s = {mu[k, 1]:.3g}"
    )
