"""The elements that one active set has in an interval: of equal lengths, up to its first switch.

They are marched up to that switch, which cuts the last of them; a secant on their common length
then makes them equal (step equilibration, Nurkanovic et al. 2023, eq. (19)).
"""

from explorer.codes import ELEMENT_CAP, SUCCESS
from explorer.kernels.fesd.march_active_set import AT_ONCE, stretch
from explorer.kernels.fesd.structures import Options, Record, Tally, Workspace
from explorer.kernels.jit import kernel

__all__ = ["FINER", "phase"]

FLAT = 8  # attempts after which lengths are equal to what their switch can be found to
FINER = 6  # lengths that are tried, each half the last
TURNS = 30


@kernel(inner=True)
def equal(
    ws: Workspace,
    record: Record,
    first: int,
    t: float,
    span: float,
    even: int,
    most: float,
    coarse: int,
) -> int:
    """Return how many elements of equal length end at the switch of ``ending``; 0: none do.

    The secant method on h: `even` - 1 elements of length h, and a last one that ends at the switch
    and is to have that length too. `span`: their sum, about; they may reach up to t + `most`.
    """
    ending, newton = ws.ending, ws.element.solver.newton
    which = ending[0].which
    bound = ending[0].bound
    kind = ending[0].kind
    one = span / even
    before = 0.0
    off = 0.0
    for attempt in range(TURNS):
        ending[0].which = which
        ending[0].bound = bound
        status, made = stretch(ws, record, first, t, one, even, kind, coarse)
        if status != SUCCESS:
            break
        now = newton[0].h - one
        # the root of a flat c is as good as c is
        enough = 1e-14 if attempt < FLAT else 1e-11
        if even == 1 or abs(now) <= enough * one + 2e-16 * t:
            return made if (even - 1) * one + newton[0].h <= most else 0
        step = now / even
        if attempt > 0 and now != off:
            step = now * (before - one) / (now - off)
        before = one
        off = now
        one += step
        if not (one > 0.0 and one < 2.0 * span):
            break
    return 0


@kernel(inner=True)
def phase(
    ws: Workspace,
    record: Record,
    options: Options,
    tally: Tally,
    first: int,
    t: float,
    t_next: float,
    close: float,
    most: int,
    halved: int,
) -> int:
    """Solve the elements from ``states[first]`` at t up to a switch, or to t_next.

    At most `most` of them, but where elements of a length have no solution shorter ones may: with
    ``options.split`` lengths are halved, and so they are `halved` times before. ``tally[0].made``
    is their number, ``ending`` what they end at. `close`: times this close to t_next are that.
    """
    ending, newton = ws.ending, ws.element.solver.newton
    split = options.split
    rest = t_next - t
    budget = most << halved
    usable = 0.0  # a length with which there is a solution, if of unequal lengths
    room = 0
    status = SUCCESS
    level = halved
    while level < (FINER if split else halved + 1):
        coarse = 1 if level == FINER - 1 or not split else 0
        if first + max(budget, options.elements) + 1 >= len(record.begin):
            return ELEMENT_CAP
        length = rest / budget
        status, made = stretch(ws, record, first, t, length, budget, 0, coarse)
        tally[0].made = made
        tally[0].halvings = level
        if status == SUCCESS:
            kind = ending[0].kind
            which = ending[0].which
            bound = ending[0].bound
            if kind == 0:
                return SUCCESS
            span = (made - 1) * length + newton[0].h
            even = budget
            if rest - span > close:
                even = max(min(max(int(span / length + 0.5), 1), budget - 1), 1)
            if made == 1 and even == 1:
                return SUCCESS
            for other in range(2):
                # a coarser phase may end beyond the interval: then with the lengths it had
                even = max(made, 1) if other else even
                ending[0].kind = kind
                ending[0].which = which
                ending[0].bound = bound
                good = equal(ws, record, first, t, span, even, rest + close, coarse)
                if good > 0:
                    tally[0].made = good
                    ending[0].which = which
                    ending[0].kind = kind
                    return SUCCESS
            if room == 0:
                usable = length
                room = budget
        if status == AT_ONCE:
            break
        level += 1
        budget *= 2
    tally[0].halvings = level
    if room > 0:
        tally[0].uneven += 1
        status, made = stretch(ws, record, first, t, usable, room, 0, 1)
        tally[0].made = made
    return status
