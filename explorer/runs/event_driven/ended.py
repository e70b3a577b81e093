"""How a march from event to event ended, with the reason where the contacts were it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from explorer.codes import LCP_ITERATIONS, LCP_RAY, NOT_FINITE, SINGULAR, STEP_CAP, STIFF
from explorer.compiled import compile_system
from explorer.compiled.checks import check_mass
from explorer.compiled.paradox import Paradox, paradox_at
from explorer.errors import BadModel
from explorer.quantities import quantity
from explorer.status import Status

if TYPE_CHECKING:
    from explorer.runs.event_driven.march import March

__all__ = ["ended"]

_UNSOLVED = {LCP_RAY, LCP_ITERATIONS}
_LOST = {NOT_FINITE, SINGULAR, STEP_CAP, STIFF}  # what a force without bound does to a march
_JAM = 1e-6  # of D_nn
_GOES_ON = "MoreauJean continues with an impulse"


def ended(march: March) -> Status:
    """Return how a run ended."""
    from explorer.kernels.friction.coefficients import IMPROPER

    code, t = march.code, march.t_last
    if code == IMPROPER:
        return _stopped(march, "improper_friction", _improper(march))
    name = Status.of(code, 0, t).name
    if code in _UNSOLVED:
        found = _paradox(march)
        why = found.words if found else (
            "no contact forces are consistent with its accelerations: redundant or contradictory "
            "contacts cause that"
        )  # fmt: skip
        return _stopped(march, name, f"{why}. {_GOES_ON}")
    if code in _LOST and (why := _massless(march)):
        return _stopped(march, name, why)
    if code in _LOST and (found := _paradox(march, _JAM)):
        return _stopped(march, name, f"{found.words}. {_GOES_ON}")
    return Status.of(code, len(march.steps), t)


def _stopped(march: March, name: str, words: str) -> Status:
    return Status.stopped(march.code, name, len(march.steps), march.end()[0], words)


def _massless(march: March) -> str:
    """Say that the mass matrix is none where the march ended; empty: it is one."""
    flow, (t, x, *_) = march.flow, march.end()
    if not flow.mechanical or not np.isfinite(x[: flow.n]).all():
        return ""
    compiled = compile_system(flow.system)  # type: ignore[arg-type]
    inp = compiled.input(march.rho.tolist())
    inp[0], inp[1 : 1 + flow.n_x] = t, x[: flow.n_x]
    M = compiled.matrices(inp)[0]
    if not np.isfinite(M.sum()):
        return ""
    try:
        check_mass(flow.system.name, M, f"at t = {quantity(t, 's')}")
    except BadModel as error:
        said = str(error).rstrip(".")
        return said[:1].lower() + said[1:]
    return ""


def _paradox(march: March, near: float = 0.0) -> Paradox | None:
    """Return what forbids a force on a contact where the march ended."""
    if not march.flow.n_c:
        return None
    t, x, *_ = march.end()
    compiled = compile_system(march.flow.system)  # type: ignore[arg-type]
    return paradox_at(compiled, march.rho.tolist(), t, *np.split(x, 2), near=near)


def _improper(march: March) -> str:
    """Say which coefficients of friction Coulomb's law cannot take."""
    flow, (t, x, *_) = march.flow, march.end()
    inp = flow.input(march.rho)
    inp[0], inp[1 : 1 + flow.n_x] = t, x
    mu = flow.bundles[1](inp)[flow.rows * (flow.n + 3) :].reshape(2, -1).T
    k = int(np.minimum(mu[:, 0], mu[:, 1] - mu[:, 0]).argmin())
    return (
        f"the friction of {flow.guard_name(flow.rough[k])!r} leaves what Coulomb's law needs, "
        f"0 <= mu <= mu_s, at mu = {mu[k, 0]:.3g}, mu_s = {mu[k, 1]:.3g}"
    )
