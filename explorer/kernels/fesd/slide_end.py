"""Where a slide ends: the zero of multiplier - bound along the slide, with dc/dt = 0 solved anew.

The multipliers of the stages have the order of the stage alone, and so has the time at which they
come to a bound. The state has the order of the method. So from the end of an element on the slide
x' = f(t, x, w), w from dc/dt = 0, is followed by one step of the classical Runge-Kutta method to
where its own multiplier comes to the bound. The correction tau is as small as that time was wrong:
what the step adds is O(tau^5). The march keeps its elements: leaving a slide too early by tau moves
the state by O(tau^2) only, for both fields are the same where it ends.
"""

from explorer.kernels.fesd.active_set import margins
from explorer.kernels.fesd.arrangement import arrange
from explorer.kernels.fesd.element import MULTIPLIER, NC, NSEL, N, S
from explorer.kernels.fesd.march import SIGNS
from explorer.kernels.fesd.structures import Record, Workspace
from explorer.kernels.jit import kernel
from explorer.kernels.structures import Matrix, Table, Vector, takes

__all__ = ["polish"]

TURNS = 20
ROUND_OFF = 1e-11  # of a multiplier beside its bounds
PROBE = 1e-3  # of an element, or of the slide: over it the first slope is measured
STAGE, TOTAL = 0, 1  # rows of `vec`: state of a stage, sum of the slopes


@kernel(takes(Workspace, float, Vector, float, int, returns=float), inner=True)
def follow(ws, t, x, tau, which):
    """Return a multiplier tau after (t, x) in the slide, NaN if there is none.

    Leaves the state in row STAGE of `vec`, w, x' and the multipliers there in rows 5 to 7.
    """
    shape = ws.model.shape
    vec = ws.vec
    n = shape[N]
    for k in range(n):
        vec[STAGE, k] = x[k]
        vec[TOTAL, k] = 0.0
    for stage in range(5):
        at = 0.0 if stage == 0 else tau if stage >= 3 else 0.5 * tau
        if margins(ws, t + at, vec[STAGE], 0, -1, 8) < 0:
            return float("nan")
        if stage == 4 or tau == 0.0:
            break
        weight = 2.0 if 0 < stage < 3 else 1.0
        ahead = 0.5 * tau if stage < 2 else tau
        for k in range(n):
            vec[TOTAL, k] += weight * vec[6, k]
            vec[STAGE, k] = x[k] + ahead * vec[6, k]
            if stage == 3:
                vec[STAGE, k] = x[k] + tau / 6.0 * vec[TOTAL, k]
    return vec[7, which]


@kernel(takes(Workspace, Record, Table, Matrix, Vector))
def polish(ws, record, switches, moments, taus):
    """Set time, slope, state and both sides of what `moments` says of each end of a slide.

    ``taus`` (n_p,) is by how much it lies behind the end of the last element of the slide.
    """
    shape, tableau = ws.model.shape, ws.model.tableau
    sign, zeros, base, B = ws.mode.sign, ws.mode.zeros, ws.mode.base, ws.mode.B
    vec = ws.vec
    states, mult, times = record.states, record.mult, record.times
    n = shape[N]
    nc = shape[NC]
    nsel = shape[NSEL]
    s = shape[S]
    for p in range(1, len(switches)):
        if switches[p, 1] != MULTIPLIER:
            continue
        e = switches[p, 0] - 1
        which = switches[p, 2]
        for j in range(nc):
            sign[j] = switches[p - 1, SIGNS + j]
        arrange(shape, sign, zeros, base, B, switches[p - 1, SIGNS - 1])
        end = 0.0
        for k in range(nsel):
            total = 0.0
            for i in range(s):
                total += tableau[3 * s + 3, i] * mult[e, i * nsel + k]
            if k == which:
                end = total
            for a in range(zeros[nc]):
                if B[k, a] == 1.0:
                    vec[5, a] = total
        bound = 1.0 if end > 0.5 else 0.0
        t = times[e, 0] + times[e, 1]
        h = times[e, 1]
        x = states[e + 1]
        before = 0.0
        off_before = follow(ws, t, x, 0.0, which) - bound
        low = moments[p - 1, 0] - t
        # the last element may be a sliver, where the slide was over when an interval began
        scale = max(h, PROBE * (t - moments[p - 1, 0]))
        high = moments[p + 1, 0] - t if p + 1 < len(switches) else 2.0 * scale
        tau = -PROBE * scale
        slope = 0.0
        good = False
        for _ in range(TURNS):
            off = follow(ws, t, x, tau, which) - bound
            if not abs(off) < 1e6:
                break
            if tau != before and off != off_before:
                slope = (off - off_before) / (tau - before)
            if off == 0.0 or slope == 0.0:
                good = off == 0.0
                break
            step = -off / slope
            # a multiplier that hardly moves is zero at the end to round-off, not to that of time
            small = abs(off) <= ROUND_OFF and abs(off) >= 0.5 * abs(off_before)
            if small or abs(step) <= 1e-14 * scale + 2e-16 * abs(t):
                good = True
                break
            before = tau
            off_before = off
            if not low < tau + step < high:
                break
            tau += step
        if not good:
            continue
        taus[p] = tau
        moments[p, 0] = t + tau
        moments[p, 1] = slope
        for k in range(n):
            moments[p, 2 + k] = vec[STAGE, k]
            moments[p, 2 + n + k] = vec[6, k]
        for j in range(nc):
            sign[j] = switches[p, SIGNS + j]
        arrange(shape, sign, zeros, base, B, switches[p, SIGNS - 1])
        for k in range(nsel):
            for a in range(zeros[nc]):
                if B[k, a] == 1.0:
                    vec[5, a] = moments[p, 2 + 3 * n + k]
        if margins(ws, t + tau, vec[STAGE], 0, -1, 8) < 0:
            continue
        for k in range(n):
            moments[p, 2 + 2 * n + k] = vec[6, k]
        for k in range(nsel):
            moments[p, 2 + 3 * n + k] = vec[7, k]
