"""The elements that one active set has in an interval: of equal lengths, up to its first switch.

They are marched up to that switch, which cuts the last of them; a secant on their common length
then makes them equal (step equilibration, Nurkanovic et al. 2023, eq. (19)).
"""

from explorer.codes import ELEMENT_CAP, SUCCESS
from explorer.kernels.fesd.element import H
from explorer.kernels.fesd.march_active_set import AT_ONCE, stretch
from explorer.kernels.fesd.structures import Record, Workspace
from explorer.kernels.jit import kernel
from explorer.kernels.structures import Integers, takes

FLAT = 8  # attempts after which lengths are equal to what their switch can be found to
FINER = 6  # lengths that are tried, each half the last
# places in `counts`: elements, phases of unequal lengths, how often lengths were halved
MADE, UNEVEN, HALVED = 0, 5, 7


@kernel(
    takes(Workspace, Record, Integers, int, float, float, float, int, int, int, int, returns=int),
    inner=True,
)
def phase(ws, record, counts, first, t, t_next, close, most, elements, split, halved):
    """Solve the elements from ``states[first]`` at t up to a switch, or to t_next.

    At most `most` of them, but where elements of a length have no solution shorter ones may: with
    `split` lengths are halved, and so they are `halved` times before. ``counts[MADE]`` is their
    number, ``found[3], found[0]`` what they end at. `close`: times this close to t_next are that.
    """
    work = ws.solver.work
    found = ws.found
    times = record.times
    rest = t_next - t
    budget = most << halved
    good = False
    made = 0
    usable = 0.0  # a length with which there is a solution, if of unequal lengths
    room = 0
    which = 0.0
    kind = 0
    status = SUCCESS
    level = halved
    while level < (FINER if split else halved + 1):
        found[4] = 1.0 if level == FINER - 1 or not split else 0.0
        if first + max(budget, elements) + 1 >= len(times):
            return ELEMENT_CAP
        length = rest / budget
        status = stretch(ws, record, counts, first, t, length, budget, 0)
        if status == SUCCESS:
            made = counts[MADE]
            kind = int(found[3])
            which = found[0]
            bound = found[1]
            if kind == 0:
                break
            span = (made - 1) * length + work[H]
            even = budget
            if rest - span > close:
                even = max(min(max(int(span / length + 0.5), 1), budget - 1), 1)
            good = made == 1 and even == 1
            for other in range(0 if good else 2):
                # a coarser phase may end beyond the interval: then with the lengths it had
                even = max(made, 1) if other else even
                one = span / even
                before = 0.0
                off = 0.0
                for attempt in range(30):
                    found[0] = which
                    found[1] = bound
                    if stretch(ws, record, counts, first, t, one, even, kind) != SUCCESS:
                        break
                    now = work[H] - one
                    # the root of a flat c is as good as c is
                    enough = 1e-14 if attempt < FLAT else 1e-11
                    if even == 1 or abs(now) <= enough * one + 2e-16 * t:
                        good = (even - 1) * one + work[H] <= rest + close
                        break
                    step = now / even
                    if attempt > 0 and now != off:
                        step = now * (before - one) / (now - off)
                    before = one
                    off = now
                    one += step
                    if not (one > 0.0 and one < 2.0 * span):
                        break
                if good:
                    break
            if good:
                break
            if room == 0:
                usable = length
                room = budget
        if status == AT_ONCE:
            break
        level += 1
        budget *= 2
    counts[HALVED] = level
    if status == SUCCESS and kind == 0:
        counts[MADE] = made
        found[3] = 0.0
        return SUCCESS
    if not good and room > 0:
        counts[UNEVEN] += 1
        found[4] = 1.0
        return stretch(ws, record, counts, first, t, usable, room, 0)
    if good:
        found[0] = which
        found[3] = kind
        return SUCCESS
    return status
