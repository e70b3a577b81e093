"""The multipliers that a pattern of signs leaves free: alpha, or theta of the regions that meet."""

from explorer.kernels.fesd.element import MODE, NC, NSEL, SUBSYSTEMS
from explorer.kernels.jit import kernel

AT = 8  # where the subsystems begin in `shape`: first function, functions, first region, regions


@kernel(f"int64(int64[::1], {MODE}, int64)", inner=True)
def arrange(shape, sign, zeros, base, B, choice):
    """Set up the multipliers base + B w of a pattern of signs; return how many choices there are.

    0: these functions have no multiplier to slide with. Without regions there is one choice.
    """
    nc = shape[NC]
    nsel = shape[NSEL]
    m = 0
    for k in range(nsel):
        base[k] = 0.0
        for a in range(nc):
            B[k, a] = 0.0
    for j in range(nc):
        if sign[j] == 0:
            zeros[m] = j
            m += 1
    zeros[nc] = m
    if shape[SUBSYSTEMS] == 0:
        a = 0
        for j in range(nc):
            if sign[j] > 0:
                base[j] = 1.0
            elif sign[j] == 0:
                B[j, a] = 1.0
                a += 1
        return 1
    total = 1
    a = 0
    for u in range(shape[SUBSYSTEMS]):
        at = AT + 4 * u
        first = shape[at]
        count = shape[at + 1]
        cells = shape[at + 2]
        regions = shape[at + 3]
        k = 0
        for j in range(first, first + count):
            k += 1 if sign[j] == 0 else 0
        # regions whose closure holds the point: bit r of `near`
        near = 0
        touching = 0
        for cell in range(1 << count):
            fits = True
            for j in range(count):
                side = 1 if (cell >> j) & 1 else -1
                fits = fits and (sign[first + j] == 0 or sign[first + j] == side)
            region = shape[cells + cell]
            if fits and region >= 0 and not (near >> region) & 1:
                near |= 1 << region
                touching += 1
        if touching < k + 1:
            return 0
        # the number-th set of k + 1 of them, in lexicographic order
        combinations = 1
        for q in range(k + 1):
            combinations = combinations * (touching - q) // (q + 1)
        number = choice % combinations
        choice //= combinations
        total *= combinations
        left = k + 1
        of = touching
        leader = -1
        for region in range(64):
            if left == 0 or not (near >> region) & 1:
                continue
            of -= 1
            with_it = 1  # sets that hold this region: choose left - 1 of those after it
            for q in range(left - 1):
                with_it = with_it * (of - q) // (q + 1)
            if number >= with_it:
                number -= with_it
                continue
            left -= 1
            if leader < 0:
                leader = regions + region
                base[leader] = 1.0
            else:
                B[regions + region, a] = 1.0
                B[leader, a] = -1.0
                a += 1
    return total
