"""The flow between events, checked by quadrature, and what happens at events of hybrid systems.

x' = f means x1 - x0 = integral of f(t, x(t)) over a step, whatever method made the step. The
integral is taken by Gauss's points, at states that are marched to from the start of the step. On
the mean a smooth flow leaves a fraction of the tolerances; single steps of explicit methods may
leave a hundred of them, where the step is near its limit of stability.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from explorer.certificate import Check
from explorer.quantities import number, quantity
from explorer.results.solution import Solution
from explorer.verification.determinism import determinism
from explorer.verification.marches import March

__all__ = ["automaton", "flow", "missing", "passed_over"]

_NODES, _WEIGHTS = (x / 2 for x in np.polynomial.legendre.leggauss(6))
_NODES = _NODES + 0.5
_MOST = 10.0  # times the tolerances, on the mean of the steps
_WORST = 100.0  # of one step: two digits; of 1200 random runs of the gallery nearly all keep to 10
_LOOKED_AT = 300, 60  # steps at most, of explicit methods and of an implicit one
_EPS = float(np.finfo(float).eps)
_CLEAR = 1e-6  # of a guard's largest value: on which side of its zero it is


@dataclass(frozen=True)
class _Steps:
    """The steps of a run with their ends, and the flow at the nodes inside."""

    t: np.ndarray  # (k,)
    h: np.ndarray  # (k,)
    first: np.ndarray  # (k, n_x)
    last: np.ndarray  # (k, n_x)
    mode: np.ndarray  # (k,)
    nodes: np.ndarray  # (k, 6)
    x: np.ndarray  # (k, 6, n_x)
    rates: np.ndarray  # (k, 6, n_x)


def _steps(march: March) -> _Steps:
    n, steps, head = march.flow.n_x, march.steps, march.events.head
    if not len(steps.t):
        none, state = np.zeros(0), np.zeros((0, n))
        inside = np.zeros((0, len(_NODES), n))
        return _Steps(none, none, state, state, none, inside[:, :, 0], inside, inside)
    first = steps.y[:, :n]
    last = np.vstack([first[1:], march.y[None, :n]])
    minus = march.part("x_minus")[:, :n]
    for e in range(len(head) - 1, -1, -1):  # of several at once the first
        if head["step"][e] > 0:
            last[head["step"][e] - 1] = minus[e]
    t, h = steps.t, steps.h
    long = np.flatnonzero(h > 1e3 * _EPS * np.abs(t))
    most = _LOOKED_AT[march.tableau.stiff == 0]
    if len(long) > most:  # evenly, and those that the next one falls short of: too bold they were
        even = np.linspace(0, len(long) - 1, most - most // 3).astype(int)
        bold = np.argsort(h[long] / np.append(h[long][1:], np.inf), kind="stable")[-(most // 3) :]
        long = long[np.union1d(even, bold)]
    t, h, first, last, mode = (a[long] for a in (t, h, first, last, steps.state[:, 0]))
    nodes = t[:, None] + _NODES * h[:, None]
    order = np.argsort(nodes.ravel(), kind="stable")
    x, rates = np.empty((2, nodes.size, n))
    y, dy, _ = march.sample(nodes.ravel()[order], slopes=False)
    x[order], rates[order] = y[:, :n], dy[:, :n]
    shape = (*nodes.shape, n)
    return _Steps(t, h, first, last, mode, nodes, x.reshape(shape), rates.reshape(shape))


def _misses(march: March, s: _Steps) -> np.ndarray:
    """Return what the steps leave of x' = f, (k,) in units of their tolerances."""
    settings = march.settings
    with np.errstate(all="ignore"):
        integral = s.h[:, None] * np.einsum("j,kjn->kn", _WEIGHTS, s.rates)
        left = np.abs(s.last - s.first - integral)
        size = np.maximum(np.abs(s.first), np.abs(s.last))
        moved = s.h[:, None] * np.abs(s.rates).max(axis=1)
        rounds = 1e2 * _EPS * (size + moved + np.abs(s.t)[:, None] * np.abs(s.rates).max(axis=1))
        unit = settings.atol + settings.rtol * size.max(axis=1, keepdims=True)
        return np.asarray((np.maximum(left - rounds, 0.0) / unit).max(axis=1))


def flow(run: Solution) -> list[Check]:
    """Return the check of what the steps of a run leave of x' = f, in units of their tolerances.

    Parameters
    ----------
    run : of `EventDriven` by a Runge-Kutta method
    """
    if not len(run.march.steps.t):
        return []
    s = _steps(run.march)
    parts = _misses(run.march, s)
    if not len(parts):
        return []
    mean = float(parts.mean())
    k = int(parts.argmax()) if np.isfinite(mean) else int(np.isnan(parts).argmax())
    cure = (
        "which kinks of the right-hand side inside steps cause: use a guard at the kink, or a "
        "smaller rtol and atol."
    )
    return [
        Check(
            "flow",
            mean,
            _MOST,
            "tolerances",
            f"The steps miss the flow by {number(mean, 2)} times their tolerances, the one at t = "
            f"{quantity(s.t[k], run.system.time_unit, 4)} by {number(parts[k], 2)}, {cure}",
        ),
        Check(
            "flow of a step",
            float(parts[k]),
            _WORST,
            "tolerances",
            f"The step at t = {quantity(s.t[k], run.system.time_unit, 4)} misses the flow by "
            f"{number(parts[k], 2)} times its tolerances, {cure}",
        ),
    ]


def missing(run: Solution) -> list[Check]:
    """Return the check that every row has a state, if one has none."""
    none = ~np.isfinite(run.x).all(axis=1)
    if not none.any():
        return []
    return [
        Check(
            "states",
            float(none.sum()),
            0.0,
            "",
            f"{none.sum()} rows have no state, the first at t = "
            f"{quantity(run.t[none.argmax()], run.system.time_unit, 4)}: the method cannot reach "
            "them from the start of their steps. Use a smaller tolerance, or another method.",
        )
    ]


def automaton(run: Solution, accuracy: float) -> list[Check]:
    """Return the checks of a run of a hybrid system: guards at events and between, resets."""
    if not len(run.march.steps.t):
        return []
    with np.errstate(all="ignore"):
        return [*_events(run, accuracy), *determinism(run), *passed_over(run)]


def passed_over(run: Solution) -> list[Check]:
    """Return the check that no guard of a mode goes through its zero without an event."""
    if not len(run.march.steps.t):
        return []
    with np.errstate(all="ignore"):
        return [_crossed(run, _steps(run.march))]


def _guards(march: March, mode: int, t: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return r and `when` of all guards of a mode, (n_t, n_guards) each."""
    native = march.flow.bundles[march.flow.offsets["guard"] + mode]
    values = march.along(native, t, x)
    return values[:, : values.shape[1] // 2], values[:, values.shape[1] // 2 :]


def _events(run: Solution, accuracy: float) -> list[Check]:
    """Return the checks that guards are zero at their events, and that resets hold."""
    march, flow = run.march, run.march.flow
    worst = {"guards": (0.0, ""), "resets": (0.0, "")}
    size = np.abs(run.x).max(initial=0.0) or 1.0
    for k, (event, head) in enumerate(zip(run.located, march.events.head, strict=True)):
        g, mode = int(head["guard"]), int(head["before"])
        here = g - next(i for i, guard in enumerate(flow.guards) if guard.mode == mode)
        t, x = head["t"][None], march.part("x_minus")[k : k + 1, : flow.n_x]
        slope = march.part("r_x")[k]
        r = float(_guards(march, mode, t, x)[0][0, here])
        unit = float(np.abs(slope) @ np.maximum(np.abs(x[0]), accuracy * size)) or 1.0
        unit += abs(float(head["D"])) * abs(t[0]) + 1e-300
        if not event.chained and not abs(r) / unit <= worst["guards"][0]:
            worst["guards"] = (
                abs(r) / unit,
                (
                    f"The guard {event.contact!r} is {number(r, 2)} at its event, t = "
                    f"{quantity(event.t, run.system.time_unit, 4)}: use a smaller tolerance to "
                    "locate its zero."
                ),
            )
        if event.kind == "zeno":
            continue
        native = flow.bundles[flow.offsets["reset"] + g]
        plus = march.along(native, t, x)[0, : flow.n_x]
        off = float(np.abs(plus - march.part("x_plus")[k, : flow.n_x]).max() / size)
        if not off <= worst["resets"][0]:
            worst["resets"] = off, f"The reset of {event.contact!r} is off by {number(off, 2)}."
    return [
        Check(name, value, max(accuracy, 1e-12) if name == "guards" else 1e-12, "", words)
        for name, (value, words) in worst.items()
    ]


def _crossed(run: Solution, s: _Steps) -> Check:
    """Return the check that no guard goes through its zero without an event."""
    march, count, said, unit = run.march, 0, "", run.system.time_unit
    begins = np.append(True, s.t[1:] > (s.t + s.h)[:-1] * (1 + 1e-12))
    hits = np.searchsorted(s.t, march.events.head["t"] * (1 - 1e-14) - 1e-300)
    begins[hits[hits < len(begins)]] = True
    part = np.repeat(np.cumsum(begins), s.nodes.shape[1])
    for mode in np.unique(s.mode).tolist():
        mine = np.repeat(s.mode == mode, s.nodes.shape[1])
        guards = [g for g in march.flow.guards if g.mode == mode]
        if not guards:
            continue
        t, x = s.nodes.ravel()[mine], s.x.reshape(-1, s.x.shape[2])[mine]
        r, when = _guards(march, mode, t, x)
        clear = _CLEAR * np.abs(r).max(axis=0)
        for j, guard in enumerate(guards):
            sure = np.abs(r[:, j]) > clear[j]
            side, of, at = np.sign(r[sure, j]), part[mine][sure], t[sure]
            turned = (side[1:] != side[:-1]) & (of[1:] == of[:-1])
            turned &= (side[1:] == guard.direction) | (guard.direction == 0)
            if guard.when is not None:
                counts = when[sure, j] > 0
                turned &= counts[1:] & counts[:-1]
            if turned.any():
                count += int(turned.sum())
                said = said or (
                    f"The guard {guard.name!r} goes through its zero near t = "
                    f"{quantity(at[1:][turned][0], unit, 4)} without an event."
                )
    return Check("guards passed over", count, 0, "", said)
