"""The equations of a step of Euler and Moreau, evaluated anew at what was accepted.

M (x1 - x0) = h [theta f1 + (1 - theta) f0] + h [a g(u, lam1) + (1 - a) r0], y = h(u, lam1) and the
laws between y and lam1, with u = s x1 + (1 - s) x0: see
`explorer.kernels.time_stepping.euler_moreau`.
"""

from __future__ import annotations

import numpy as np

from explorer.certificate import Check
from explorer.compiled import FirstOrder
from explorer.compiled.held import left_of_breaks
from explorer.kernels.model.along_rows import evaluate
from explorer.quantities import number, quantity
from explorer.results.solution import Solution
from explorer.verification.growth import theta_growth

__all__ = ["euler_moreau"]

_EPS = float(np.finfo(float).eps)
_BLOWN = 1e6  # times the state after its first steps
_SAMPLES = 9  # rows at which the derivative of f is taken


def euler_moreau(solution: Solution, compiled: FirstOrder) -> list[Check]:
    """Return the checks of a run of `EulerMoreau`; `compiled` is what it ran."""
    if len(solution.t) < 3:
        return []
    with np.errstate(all="ignore"):
        return [*_equations(solution, compiled), *_growth(solution, compiled)]


def along(
    run: Solution,
    compiled: FirstOrder,
    name: str,
    t: np.ndarray,
    x: np.ndarray,
    lam: np.ndarray,
    left: bool = False,
) -> np.ndarray:
    """Return a bundle along rows; where inputs change as behind it, or before it if `left`."""
    if left:
        with left_of_breaks(run.system):
            return along(run, compiled, name, t, x, lam)
    native = compiled.bundles[name]
    out = np.empty((len(t), native.size))
    parts = [np.ascontiguousarray(a, float) for a in (t, x, lam)]
    inp = compiled.input(list(run.rho.values()))
    evaluate(native.address, native.data, *parts, inp, np.empty(max(native.size, 1)), out)
    return out


def _equations(run: Solution, compiled: FirstOrder) -> list[Check]:
    scheme, m = run.scheme, compiled.m
    _, M, bounds = compiled.start(list(run.rho.values()))
    on_r = scheme.gamma_on == "r"
    a, s = (scheme.gamma, 1.0) if on_r else (1.0, scheme.gamma)
    h = np.diff(run.t)[:, None]
    x0, x1, lam0, lam1 = run.q[:-1], run.q[1:], run.lam[:-1], run.lam[1:]
    f0 = along(run, compiled, "flow", run.t[:-1], x0, lam0)
    f1 = along(run, compiled, "flow", run.t[1:], x1, lam1, True)
    at = run.t[:-1] + s * np.diff(run.t)
    u = s * x1 + (1 - s) * x0
    relation = along(run, compiled, "relation", at, u, lam1, True)
    y, r1 = relation[:, :m], relation[:, m:]
    before = along(run, compiled, "relation", run.t[:-1], x0, lam0)[:, m:] if a < 1 else r1
    terms = [(x1 - x0) @ M.T, -h * scheme.theta * f1, -h * (1 - scheme.theta) * f0,
             -h * a * r1, -h * (1 - a) * before]  # fmt: skip
    off = np.abs(sum(terms)).max(axis=1)
    moved = np.abs(x1) + np.abs(x0)
    parts = [moved @ np.abs(M).T, *map(np.abs, terms)]
    size = sum(parts).max(axis=1)
    flip = 1 + 1e-7 * (-1.0) ** np.arange(x1.shape[1])
    steep = np.abs(along(run, compiled, "flow", run.t[1:], x1 * flip, lam1, True) - f1) / 1e-7
    turned = np.abs(along(run, compiled, "relation", at, u * flip, lam1, True) - relation) / 1e-7
    rounds = (h * steep + h * turned[:, m:]).max(axis=1) + size.max()
    found = [
        _worst(
            run,
            "step",
            off,
            size,
            10 * scheme.newton_tol,
            rounds,
            "newton_tol",
            "leaves {part} of its terms unbalanced",
        )
    ]
    if m:
        finite = np.where(np.isfinite(bounds), np.abs(bounds), 0.0).max(axis=0)
        force = np.maximum(np.maximum(np.abs(lam1).max(axis=0), finite), 1e-300)
        # what the multipliers of a step do to y, or could do: at rest y is the rest of such terms
        unit = np.maximum(np.abs(y).max(axis=0), 1e-300)
        for limit in (lam1, *bounds):
            full = np.where(np.isfinite(limit), limit, lam1)
            r = along(run, compiled, "relation", at, u, full, True)[:, m:]
            pushed = u + h * a * s * np.linalg.solve(M, r.T).T
            done = np.abs(along(run, compiled, "relation", at, pushed, lam1, True)[:, :m] - y)
            unit = np.maximum(unit, done.max(axis=0))
        weight = unit / force
        away = np.clip(lam1 - y / weight, bounds[0], bounds[1])
        off = np.abs(lam1 - away) * weight
        k = (off / unit).argmax(axis=1)[:, None]
        first = np.take_along_axis(off, k, 1)[:, 0]
        found.append(
            _worst(
                run,
                "laws",
                first,
                unit[k[:, 0]],
                scheme.lcp_tol,
                np.take_along_axis(turned[:, :m], k, 1)[:, 0] + unit[k[:, 0]],
                "lcp_tol",
                "breaks a law between y and lambda by {part} of the largest y",
            )
        )
    return found


def _worst(
    run: Solution,
    name: str,
    off: np.ndarray,
    size: np.ndarray,
    tol: float,
    rounds: np.ndarray,
    knob: str,
    words: str,
) -> Check:
    size, rounds = np.maximum(size, 1e-300), 1e2 * _EPS * rounds
    row = int((off / (tol * size + rounds + 1e-300)).argmax())
    part = float(off[row] / size[row])
    time = run.system.time_unit
    said = words.format(part=number(part, 2))
    return Check(
        name,
        part,
        float(tol + rounds[row] / size[row]),
        "",
        f"The step at t = {quantity(run.t[row + 1], time, 4)} {said}, more than {knob} allows.",
    )


def _growth(run: Solution, compiled: FirstOrder) -> list[Check]:
    """Return the check of growth below theta = 1/2; fatal where the state has grown beyond use."""
    n, theta, steps = compiled.n_x, run.scheme.theta, len(run.t) - 1
    if theta >= 0.5:
        return []
    M = compiled.start(list(run.rho.values()))[1]
    rows = np.unique(np.linspace(1, steps, min(_SAMPLES, steps)).astype(int))
    parts = along(run, compiled, "flow_x", run.t[rows], run.q[rows], run.lam[rows], True)
    matrices = []
    for values in parts:
        A = np.zeros(n * n)
        A[compiled.places[0]] = values
        if np.isfinite(A).all():
            matrices.append(np.linalg.solve(M, A.reshape(n, n)))
    found = theta_growth(matrices, run.scheme.h, steps, theta, run.system.time_unit)
    size = np.abs(run.q)
    if found and not found[0].ok and size[-1].max() > _BLOWN * size[:3].max():
        one = found[0]
        words = f"the state blew up. {one.words[:-1]}"
        return [Check(one.name, one.value, one.allowed, one.unit, words, True)]
    return found
