"""A stretch of elements of one active set: equal lengths, the last one cut at the first switch."""

from explorer.codes import SUCCESS
from explorer.kernels.fesd.element import (
    BOUND,
    CAP,
    COARSE,
    MODE,
    MULTIPLIER,
    NC,
    NSEL,
    STAGES,
    SURFACE,
    H,
    N,
    S,
    element,
    violated,
)
from explorer.kernels.fesd.structures import Element, Record, Workspace
from explorer.kernels.jit import kernel
from explorer.kernels.structures import Integers, Matrix, Vector, takes

OTHER = -1  # something else happened than what was aimed at
AT_ONCE = -2  # a multiplier leaves [0, 1] in an element of any length
HALVINGS = 60
TINY = 1e-12  # beside an element: as long as none
SAMPLES = 4  # parts of an interval between constraints
PROBE = 8.0  # iterations towards a second crossing, which may not exist
TURNS = 8  # attempts to find the first of two zeros


@kernel(f"void(int64[::1], {MODE}, {STAGES}, float64[:, ::1], int64)", inline=True)
def keep(shape, sign, zeros, base, B, K, W, C, sel, saved, back):
    """Copy K and W to `saved`, or, with `back`, from there."""
    s = shape[S]
    for i in range(s):
        for k in range(shape[N]):
            if back:
                K[i, k] = saved[i, k]
            else:
                saved[i, k] = K[i, k]
        for a in range(zeros[shape[NC]]):
            if back:
                W[i, a] = saved[s + i, a]
            else:
                saved[s + i, a] = W[i, a]


@kernel("float64(int64[::1], float64[::1], float64[:, ::1], float64[:, ::1], int64)", inline=True)
def drift(shape, switch, tableau, K, j):
    """Return dc_j/dt at the end of an element that was just solved."""
    n = shape[N]
    slope = switch[shape[NC] * (1 + n) + j]
    for k in range(n):
        for i in range(shape[S]):
            slope += switch[shape[NC] + j * n + k] * tableau[3 * shape[S] + 3, i] * K[i, k]
    return slope


@kernel(
    takes(Integers, Vector, Matrix, Integers, Matrix, Matrix, Matrix, Vector, float, returns=int),
    inner=True,
)
def dips(shape, switch, tableau, sign, K, C, vec, found, h):
    """Whether the polynomial of a c with all its values on one side crosses zero between them.

    Through the start, the constraints and the slope at the end; only where it comes back from the
    surface there can be two zeros. ``found[0], found[2]``: which, the fraction at the first zero.
    """
    s = shape[S]
    for j in range(shape[NC]):
        if sign[j] == 0:
            continue
        slope = sign[j] * h * drift(shape, switch, tableau, K, j)
        low = sign[j] * vec[2, j]
        high = low
        vec[0, 0] = low
        for i in range(s):
            now = sign[j] * C[i, j]
            low = min(low, now)
            high = max(high, now)
        if low > 2.0 * (high - low) + abs(slope):  # too far from zero for its changes
            continue
        # divided differences in vec[0, :s + 2], nodes in vec[1, :]: 0, ..., 1, and 1 again
        for i in range(s + 2):
            vec[1, i] = 0.0 if i == 0 else 1.0 if i > s else tableau[3 * s + 1, i - 1]
            vec[0, i] = sign[j] * (vec[2, j] if i == 0 else C[min(i, s) - 1, j])
        for order in range(1, s + 2):
            for i in range(s + 1, order - 1, -1):
                gap = vec[1, i] - vec[1, i - order]
                vec[0, i] = (vec[0, i] - vec[0, i - 1]) / gap if gap > 0.0 else slope
        before = sign[j] * vec[2, j]
        was = 0.0
        for i in range(s):
            for part in range(1, SAMPLES):
                width = vec[1, i + 1] - vec[1, i]
                at = vec[1, i] + width * part / SAMPLES
                value = vec[0, s + 1]
                for o in range(s, -1, -1):
                    value = vec[0, o] + (at - vec[1, o]) * value
                if value < -max(1e-9 * high, vec[4, j]):
                    found[0] = j
                    found[2] = was + (at - was) * max(before, 0.0) / (before - value)
                    if found[2] <= 0.0:
                        found[2] = 0.5 * at
                    return 1
                before = value
                was = at
            before = sign[j] * C[i, j]
            was = vec[1, i + 1]
    return 0


@kernel(takes(Workspace, float, Vector, float, Vector, int, returns=int), inner=True)
def reach(ws, t, x, h, end, kind):
    """Solve an element from (t, x) of length h, cut where its active set ends.

    With `kind` it is to end at ``found[0], found[1]`` and its length is found from h. On return
    ``found[3]`` is what it ends at (0: at h), ``work[H]`` its length. The guess is in K and W.
    OTHER: it does not end where it was to. AT_ONCE: ``found[0], found[1]`` ends it where it begins.
    """
    shape, switch, tableau = ws.model.shape, ws.model.switch, ws.model.tableau
    sign, zeros, base, B = ws.mode.sign, ws.mode.zeros, ws.mode.base, ws.mode.B
    K, W, C, sel = ws.stages.K, ws.stages.W, ws.stages.C, ws.stages.sel
    work = ws.solver.work
    vec, saved, found = ws.vec, ws.saved, ws.found
    el = Element(ws.model, ws.mode, ws.stages, ws.solver)
    work[H] = h
    if kind == SURFACE:
        found[1] = 1.0 if vec[2, int(found[0])] == 0.0 else 0.0
    if kind > 0:
        status = element(el, t, x, end, kind, int(found[0]), found[1])
        found[3] = kind
        if status != SUCCESS or work[H] > 4.0 * h:
            return OTHER
        which = found[0]
        if violated(shape, tableau, sign, zeros, B, C, sel, vec, found):
            found[0] = which
            return OTHER
        return SUCCESS
    status = element(el, t, x, end, 0, 0, 0.0)
    found[3] = 0.0
    if status != SUCCESS:
        return status
    kind = violated(shape, tableau, sign, zeros, B, C, sel, vec, found)
    if kind == 0 and dips(
        shape, switch, tableau, sign, K, C, vec, found, h
    ):  # twice across a surface within the element: there and back
        keep(shape, sign, zeros, base, B, K, W, C, sel, saved, 0)
        which = found[0]
        work[H] = found[2] * h
        found[1] = 1.0 if vec[2, int(which)] == 0.0 else 0.0
        bound = found[1]
        cap = work[CAP]
        work[CAP] = min(cap, PROBE)
        status = element(el, t, x, end, SURFACE, int(which), bound)
        work[CAP] = cap
        if status == SUCCESS and work[H] <= h:
            slope = drift(shape, switch, tableau, K, int(which))
            if sign[int(which)] * slope < 0.0 and not violated(
                shape, tableau, sign, zeros, B, C, sel, vec, found
            ):
                found[0] = which
                found[1] = bound
                found[3] = SURFACE
                return SUCCESS
        keep(shape, sign, zeros, base, B, K, W, C, sel, saved, 1)
        work[H] = h
        found[3] = 0.0
        return element(el, t, x, end, 0, 0, 0.0)
    if kind == 0:
        return SUCCESS
    if kind == COARSE:
        return OTHER
    keep(shape, sign, zeros, base, B, K, W, C, sel, saved, 0)
    low = 0.0
    high = h
    guess = found[2] * h
    turns = 0
    for _ in range(HALVINGS):
        keep(shape, sign, zeros, base, B, K, W, C, sel, saved, 1)
        work[H] = guess
        which = found[0]
        if kind == SURFACE:
            found[1] = 1.0 if vec[2, int(which)] == 0.0 else 0.0
        bound = found[1]
        status = element(el, t, x, end, kind, int(which), bound)
        if status == SUCCESS and low < work[H] and work[H] <= high * (1.0 + 1e-9):
            earlier = violated(shape, tableau, sign, zeros, B, C, sel, vec, found)
            if earlier == 0 and kind == SURFACE and turns < TURNS:
                # where it comes back to its own side it has crossed zero before
                slope = drift(shape, switch, tableau, K, int(which))
                if sign[int(which)] * slope > 0.0:
                    turns += 1
                    high = work[H] * (1.0 - 1e-3)
                    guess = low + 0.5 * (high - low)
                    found[0] = which
                    continue
            if earlier == 0:
                found[0] = which
                found[1] = bound
                found[3] = kind
                return SUCCESS
            if earlier == COARSE:
                return OTHER
            if found[0] != which or earlier != kind:
                kind = earlier
                high = work[H]
                guess = found[2] * high
                continue
            found[0] = which
            found[1] = bound
        keep(shape, sign, zeros, base, B, K, W, C, sel, saved, 1)
        middle = 0.5 * (low + high)
        work[H] = middle
        status = element(el, t, x, end, 0, 0, 0.0)
        if status != SUCCESS:
            return status
        at = violated(shape, tableau, sign, zeros, B, C, sel, vec, found)
        if at == COARSE:
            return OTHER
        if at == 0:
            found[0] = which
            found[1] = bound
            low = middle
            guess = 0.5 * (low + high)
        else:
            kind = at
            high = middle
            guess = max(found[2] * high, low + 0.01 * (high - low))
            keep(shape, sign, zeros, base, B, K, W, C, sel, saved, 0)
            if kind == MULTIPLIER and high < TINY * h:
                return AT_ONCE
    return status if status != SUCCESS else OTHER


@kernel(takes(Workspace, Record, Integers, int, float, float, int, int, returns=int), inner=True)
def stretch(ws, record, counts, first, t, h, most, kind):
    """March from ``states[first]`` at t in elements of length h; ``counts[0]`` is their number.

    Without `kind` at most `most` of them, up to the first switch (``found[3]``). With it `most` - 1
    of them without one, and a last one that ends at ``found[0], found[1]``. ``work[H]`` is the
    length of the last. Rows 2, 3, 5, 6 of `vec`: c, multipliers, w, x' at the start.
    """
    shape, tableau = ws.model.shape, ws.model.tableau
    sign, zeros, B = ws.mode.sign, ws.mode.zeros, ws.mode.B
    K, W, C, sel = ws.stages.K, ws.stages.W, ws.stages.C, ws.stages.sel
    r, work = ws.solver.r, ws.solver.work
    vec, found = ws.vec, ws.found
    states, slopes, mult, times = record.states, record.slopes, record.mult, record.times
    n = shape[N]
    nc = shape[NC]
    nsel = shape[NSEL]
    s = shape[S]
    m = zeros[nc]
    which = found[0]
    bound = found[1]
    for k in range(nc):
        vec[12, k] = vec[2, k]
    for k in range(nsel):
        vec[13, k] = vec[3, k]
    status = SUCCESS
    e = 0
    while e < most:
        for k in range(n):
            if e == 0:
                for i in range(s):
                    K[i, k] = vec[6, k]
            else:  # the polynomial of the slopes, one element on
                for i in range(s):
                    total = 0.0
                    for j in range(s):
                        total += tableau[2 * s + i, j] * slopes[first + e - 1, j * n + k]
                    K[i, k] = total
        for a in range(m):
            if e == 0:
                for i in range(s):
                    W[i, a] = vec[5, a]
            else:
                for i in range(s):
                    r[0, i] = 0.0
                    for j in range(s):
                        r[0, i] += tableau[2 * s + i, j] * W[j, a]
                for i in range(s):
                    W[i, a] = r[0, i]
        goal = kind if e == most - 1 else 0
        found[0] = which
        found[1] = bound
        status = reach(ws, t, states[first + e], h, states[first + e + 1], goal)
        if status == SUCCESS and found[3] == 0.0:
            for j in range(nc):  # one that ends just on a surface
                if sign[j] != 0 and abs(C[s - 1, j]) <= vec[4, j] < abs(vec[2, j]):
                    found[0] = j
                    found[3] = SURFACE
            for k in range(nsel if m > 0 and found[3] == 0.0 else 0):  # or of a multiplier
                end = 0.0
                for i in range(s):
                    end += tableau[3 * s + 3, i] * sel[i, k]
                goal = 0.0 if end < 0.5 else 1.0
                free = False
                for a in range(m):
                    free = free or B[k, a] != 0.0
                if free and abs(end - goal) <= BOUND < abs(vec[3, k] - goal):
                    found[0] = k
                    found[1] = goal
                    found[3] = MULTIPLIER
        if status == SUCCESS and kind > 0 and goal == 0 and found[3] != 0.0:
            status = OTHER
        if status == AT_ONCE and e > 0 and kind == 0:  # so the element before is the last
            status = SUCCESS
            found[3] = MULTIPLIER
            work[H] = times[first + e - 1, 1]
            break
        if status != SUCCESS:
            break
        times[first + e, 0] = t
        times[first + e, 1] = work[H]
        for i in range(s):
            for k in range(n):
                slopes[first + e, i * n + k] = K[i, k]
            for k in range(nsel):
                mult[first + e, i * nsel + k] = sel[i, k]
        for j in range(nc):
            vec[2, j] = C[s - 1, j]
        for k in range(nsel):
            total = 0.0
            for i in range(s):
                total += tableau[3 * s + 3, i] * sel[i, k]
            vec[3, k] = total
        t += work[H]
        e += 1
        if found[3] != 0.0:
            break
    counts[0] = e
    for k in range(nc):
        vec[2, k] = vec[12, k]
    for k in range(nsel):
        vec[14, k] = vec[3, k]
        vec[3, k] = vec[13, k]
    return status
