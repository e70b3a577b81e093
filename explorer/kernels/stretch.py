"""A stretch of elements of one active set: equal lengths, the last one cut at the first switch."""

from explorer.kernels.element import (
    MODE,
    MODEL,
    NC,
    NSEL,
    SOLVER,
    STAGES,
    SURFACE,
    H,
    N,
    S,
    element,
    violated,
)
from explorer.kernels.jit import kernel
from explorer.status import SUCCESS

# x at the start of each element and behind the last, K, multipliers, (t, h)
RECORD = "float64[:, ::1], float64[:, ::1], float64[:, ::1], float64[:, ::1]"
WORK = f"{MODEL}, {MODE}, {STAGES}, {SOLVER}, float64[:, ::1], float64[:, ::1], float64[::1]"
OTHER = -1  # something else happened than what was aimed at
HALVINGS = 60
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


@kernel(f"int64({WORK}, float64, float64[::1], float64, float64[::1], int64)", inner=True)
def reach(
    table, shape, inp, out, switch, tableau, sign, zeros, base, B, K, W, C, sel, M, pivots, r, work,
    vec, saved, found, t, x, h, end, kind,
):  # fmt: skip
    """Solve an element from (t, x) of length h, cut where its active set ends.

    With `kind` it is to end at ``found[0], found[1]`` and its length is found from h. On return
    ``found[3]`` is what it ends at (0: at h), ``work[H]`` its length. The guess is in K and W.
    OTHER: it does not end where it was to.
    """
    work[H] = h
    if kind == SURFACE:
        found[1] = 1.0 if vec[2, int(found[0])] == 0.0 else 0.0
    if kind > 0:
        status = element(
            table, shape, inp, out, switch, tableau, sign, zeros, base, B, K, W, C, sel, M, pivots,
            r, work, t, x, end, kind, int(found[0]), found[1],
        )  # fmt: skip
        found[3] = kind
        if status != SUCCESS or work[H] > 4.0 * h:
            return OTHER
        which = found[0]
        if violated(
            table, shape, inp, out, switch, tableau, sign, zeros, base, B, K, W, C, sel, vec, found
        ):
            found[0] = which
            return OTHER
        return SUCCESS
    status = element(
        table, shape, inp, out, switch, tableau, sign, zeros, base, B, K, W, C, sel, M, pivots, r,
        work, t, x, end, 0, 0, 0.0,
    )  # fmt: skip
    found[3] = 0.0
    if status != SUCCESS:
        return status
    kind = violated(
        table, shape, inp, out, switch, tableau, sign, zeros, base, B, K, W, C, sel, vec, found
    )
    if kind == 0:
        return SUCCESS
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
        status = element(
            table, shape, inp, out, switch, tableau, sign, zeros, base, B, K, W, C, sel, M, pivots,
            r, work, t, x, end, kind, int(which), bound,
        )  # fmt: skip
        if status == SUCCESS and low < work[H] and work[H] <= high * (1.0 + 1e-9):
            earlier = violated(
                table, shape, inp, out, switch, tableau, sign, zeros, base, B, K, W, C, sel, vec,
                found,
            )  # fmt: skip
            if earlier == 0 and kind == SURFACE and turns < TURNS:
                # where it comes back to its own side it has crossed zero before
                j = int(which)
                slope = switch[shape[NC] * (1 + shape[N]) + j]
                for k in range(shape[N]):
                    for i in range(shape[S]):
                        weight = tableau[3 * shape[S] + 3, i] * K[i, k]
                        slope += switch[shape[NC] + j * shape[N] + k] * weight
                if sign[j] * slope > 0.0:
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
        status = element(
            table, shape, inp, out, switch, tableau, sign, zeros, base, B, K, W, C, sel, M, pivots,
            r, work, t, x, end, 0, 0, 0.0,
        )  # fmt: skip
        if status != SUCCESS:
            return status
        at = violated(
            table, shape, inp, out, switch, tableau, sign, zeros, base, B, K, W, C, sel, vec, found
        )
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
    return status if status != SUCCESS else OTHER


@kernel(f"int64({WORK}, {RECORD}, int64[::1], int64, float64, float64, int64, int64)", inner=True)
def stretch(
    table, shape, inp, out, switch, tableau, sign, zeros, base, B, K, W, C, sel, M, pivots, r, work,
    vec, saved, found, states, slopes, mult, times, counts, first, t, h, most, kind,
):  # fmt: skip
    """March from ``states[first]`` at t in elements of length h; ``counts[0]`` is their number.

    Without `kind` at most `most` of them, up to the first switch (``found[3]``). With it `most` - 1
    of them without one, and a last one that ends at ``found[0], found[1]``. ``work[H]`` is the
    length of the last. Rows 2, 3, 5, 6 of `vec`: c, multipliers, w, x' at the start.
    """
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
        status = reach(
            table, shape, inp, out, switch, tableau, sign, zeros, base, B, K, W, C, sel, M, pivots,
            r, work, vec, saved, found, t, states[first + e], h, states[first + e + 1], goal,
        )  # fmt: skip
        if status == SUCCESS and found[3] == 0.0:
            for j in range(nc):  # one that ends just on a surface
                if sign[j] != 0 and abs(C[s - 1, j]) <= vec[4, j] < abs(vec[2, j]):
                    found[0] = j
                    found[3] = SURFACE
        if status == SUCCESS and kind > 0 and goal == 0 and found[3] != 0.0:
            status = OTHER
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
