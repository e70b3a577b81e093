"""Where a slide ends: the zero of multiplier - bound along the slide, with dc/dt = 0 solved anew.

The multipliers of the stages have the order of the stage alone, and so has the time at which they
come to a bound. The state has the order of the method. So from the end of an element on the slide
x' = f(t, x, w), w from dc/dt = 0, is followed by one step of the classical Runge-Kutta method to
where its own multiplier comes to the bound. The correction tau is as small as that time was wrong:
what the step adds is O(tau^5). The march keeps its elements: leaving a slide too early by tau moves
the state by O(tau^2) only, for both fields are the same where it ends.
"""

from explorer.kernels.fesd.active_set import margins
from explorer.kernels.fesd.recorded import restore
from explorer.kernels.fesd.structures import MULTIPLIER, Phases, Record, Workspace
from explorer.kernels.jit import kernel
from explorer.kernels.structures import Vector

__all__ = ["polish"]

TURNS = 20
ROUND_OFF = 1e-11  # of a multiplier beside its bounds
PROBE = 1e-3  # of an element, or of the slide: over it the first slope is measured


@kernel(inner=True)
def follow(ws: Workspace, t: float, x: Vector, tau: float, which: int) -> float:
    """Return a multiplier tau after (t, x) in the slide, NaN if there is none.

    Leaves the state in ``ws.x``; w, x' and the multipliers there as `margins` does.
    """
    n = ws.element.problem.n_x
    state, total, rate = ws.x, ws.total, ws.start.rate
    for k in range(n):
        state[k] = x[k]
        total[k] = 0.0
    for stage in range(5):
        at = 0.0 if stage == 0 else tau if stage >= 3 else 0.5 * tau
        if margins(ws, t + at, state, 0, -1, ws.pattern.margins) < 0:
            return float("nan")
        if stage == 4 or tau == 0.0:
            break
        weight = 2.0 if 0 < stage < 3 else 1.0
        ahead = 0.5 * tau if stage < 2 else tau
        for k in range(n):
            total[k] += weight * rate[k]
            state[k] = x[k] + ahead * rate[k]
            if stage == 3:
                state[k] = x[k] + tau / 6.0 * total[k]
    return ws.pattern.multipliers[which]


@kernel(inline=True)
def last_multiplier(ws: Workspace, record: Record, e: int, which: int) -> float:
    """Return a multiplier at the end of element `e`, and set the guess of w there."""
    tableau, mode, nsel = ws.element.tableau, ws.element.mode, ws.element.problem.n_sel
    end = 0.0
    for k in range(nsel):
        total = 0.0
        for i in range(len(tableau.end)):
            total += tableau.end[i] * record.mult[e, i * nsel + k]
        if k == which:
            end = total
        for a in range(mode.active[0].sliding):
            if mode.B[k, a] == 1.0:
                ws.start.w[a] = total
    return end


@kernel(inline=True)
def crossing(
    ws: Workspace,
    t: float,
    x: Vector,
    which: int,
    bound: float,
    low: float,
    high: float,
    scale: float,
) -> tuple[bool, float, float]:
    """Return whether a multiplier comes to its bound between low and high, tau and its slope.

    The secant method for phi(tau) = multiplier(t + tau) - bound, from the slope over `scale` on.
    """
    before = 0.0
    off_before = follow(ws, t, x, 0.0, which) - bound
    tau = -PROBE * scale
    slope = 0.0
    for _ in range(TURNS):
        off = follow(ws, t, x, tau, which) - bound
        if not abs(off) < 1e6:
            break
        if tau != before and off != off_before:
            slope = (off - off_before) / (tau - before)
        if off == 0.0 or slope == 0.0:
            return off == 0.0, tau, slope
        step = -off / slope
        # a multiplier that hardly moves is zero at the end to round-off, not to that of time
        small = abs(off) <= ROUND_OFF and abs(off) >= 0.5 * abs(off_before)
        if small or abs(step) <= 1e-14 * scale + 2e-16 * abs(t):
            return True, tau, slope
        before = tau
        off_before = off
        if not low < tau + step < high:
            break
        tau += step
    return False, tau, slope


@kernel(inline=True)
def behind(ws: Workspace, phases: Phases, p: int, t: float) -> None:
    """Set x' and the multipliers of phase `p` at the state in ``ws.x``, where it begins."""
    problem, mode = ws.element.problem, ws.element.mode
    restore(ws.element, phases, p)
    for k in range(problem.n_sel):
        for a in range(mode.active[0].sliding):
            if mode.B[k, a] == 1.0:
                ws.start.w[a] = phases.multipliers[p, k]
    if margins(ws, t, ws.x, 0, -1, ws.pattern.margins) < 0:
        return
    for k in range(problem.n_x):
        phases.behind[p, k] = ws.start.rate[k]
    for k in range(problem.n_sel):
        phases.multipliers[p, k] = ws.pattern.multipliers[k]


@kernel()
def polish(ws: Workspace, record: Record, phases: Phases, taus: Vector) -> None:
    """Set time, slope, state and both sides of each end of a slide.

    ``taus`` (n_p,) is by how much it lies behind the end of the last element of the slide.
    """
    switches = phases.switches
    for p in range(1, len(switches)):
        if switches[p].kind != MULTIPLIER:
            continue
        e = switches[p].element - 1
        which = switches[p].which
        restore(ws.element, phases, p - 1)
        bound = 1.0 if last_multiplier(ws, record, e, which) > 0.5 else 0.0
        h = record.length[e]
        t = record.begin[e] + h
        low = phases.t[p - 1] - t
        # the last element may be a sliver, where the slide was over when an interval began
        scale = max(h, PROBE * (t - phases.t[p - 1]))
        high = phases.t[p + 1] - t if p + 1 < len(switches) else 2.0 * scale
        good, tau, slope = crossing(ws, t, record.states[e + 1], which, bound, low, high, scale)
        if not good:
            continue
        taus[p] = tau
        phases.t[p] = t + tau
        phases.slope[p] = slope
        for k in range(ws.element.problem.n_x):
            phases.x[p, k] = ws.x[k]
            phases.before[p, k] = ws.start.rate[k]
        behind(ws, phases, p, t + tau)
