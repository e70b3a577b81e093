"""FESD by marching through active sets (Nurkanovic et al. 2023, eq. (20), (21), corrected).

Source: doi:10.48550/arXiv.2303.18066; FESD itself: doi:10.1007/s00211-024-01412-z.

An interval of length h has a number of elements. They are marched in one active set up to its first
switch (`explorer.kernels.fesd.equilibrate`), and the next active set is chosen. In a fixed active
set complementarity and cross complementarity (16), (18) hold identically, and c_j = 0 at the end of
a phase is (17) at the switch: what is found solves the whole of (21).

The end of a slide is as good as its multipliers are, and where it is too early the surface is met
again at once. So where a phase has no solution another active set is tried at its start, then the
phase before is solved again by shorter elements, then a fold is looked for, then an accumulation.
"""

from explorer.codes import (
    ACCUMULATION,
    MORE_SWITCHES,
    NEWTON_CAP,
    NO_ACTIVE_SET,
    SUCCESS,
    SWITCH_CAP,
)
from explorer.kernels.fesd.active_set import PICK
from explorer.kernels.fesd.enter import enter
from explorer.kernels.fesd.equilibrate import FINER, phase
from explorer.kernels.fesd.fold import furthest
from explorer.kernels.fesd.march_active_set import AT_ONCE, OTHER
from explorer.kernels.fesd.recorded import restore
from explorer.kernels.fesd.structures import (
    MULTIPLIER,
    Options,
    Phases,
    Record,
    Start,
    Tally,
    Workspace,
)
from explorer.kernels.jit import kernel
from explorer.kernels.model.held_inputs import hold_at
from explorer.kernels.structures import Vector

__all__ = ["march"]

ACCUMULATED = 1e-10  # of an interval: phases shorter than that may accumulate
LOST = 1e-6  # the same, where no active set is found any more
SHORT = 40  # phases of no length in a row


@kernel(inner=True)
def accumulates(times: Vector, phases: int, t: float, short: float) -> float:
    """Return how long after t the switches go on, if their times form a geometric series; or 0.

    So they do if the last cycle of 1, 2 or 4 phases is shorter than `short`, and each of the last
    four is shorter than the one before, about by one factor q: the rest is d q / (1 - q).
    """
    for shift in range(3):
        cycle = 1 << shift
        if phases < 4 * cycle:
            break
        one = t - times[phases - cycle]
        two = times[phases - cycle] - times[phases - 2 * cycle]
        three = times[phases - 2 * cycle] - times[phases - 3 * cycle]
        four = times[phases - 3 * cycle] - times[phases - 4 * cycle]
        if one > max(short, 1e-12 * t) or not (
            one < 0.999 * two and two < 0.999 * three and three < 0.999 * four
        ):
            continue
        if 0.1 < one * three / (two * two) < 10.0 and 0.1 < two * four / (three * three) < 10.0:
            return one * one / (two - one) + 1e-300
    return 0.0


@kernel(inline=True)
def copy(one: Start, other: Start) -> None:
    """Copy what a phase begins with, but for the tolerances."""
    for j in range(len(one.c)):
        other.c[j] = one.c[j]
        other.w[j] = one.w[j]
    for k in range(len(one.multipliers)):
        other.multipliers[k] = one.multipliers[k]
    for k in range(len(one.rate)):
        other.rate[k] = one.rate[k]


@kernel(inline=True)
def prepare(ws: Workspace, phases: Phases, options: Options) -> int:
    """Begin the next phase; return the rule by which its active set is chosen."""
    now = ws.march[0]
    p = now.phases
    phases.switches[p].element = now.count
    phases.slope[p] = 0.0
    ws.element.mode.active[0].choice = phases.switches[p - 1].choice if p > 0 else 0
    if now.several < len(options.picks) and options.picks[now.several] >= 0:
        return PICK + options.picks[now.several]
    return options.rule


@kernel(inline=True)
def count(ws: Workspace, phases: Phases, tally: Tally) -> None:
    """Count the phase whose active set was chosen."""
    now = ws.march[0]
    many = phases.switches[now.phases].consistent
    if now.kind == MULTIPLIER:
        phases.slope[now.phases] = now.slope
    now.several += many > 1
    now.phases += 1
    tally[0].phases = now.phases
    tally[0].consistent = max(tally[0].consistent, many)


@kernel(inline=True)
def resume(ws: Workspace, phases: Phases) -> None:
    """Begin the last phase again, as it began."""
    restore(ws.element, phases, ws.march[0].phases - 1)
    copy(ws.kept.before, ws.start)
    ws.element.solver.newton[0].factored = 0.0


@kernel(inline=True)
def carry_on(ws: Workspace, record: Record) -> None:
    """Begin a new interval in the old active set."""
    problem, stages, start = ws.element.problem, ws.element.stages, ws.start
    n, s = problem.n_x, stages.K.shape[0]
    for k in range(n):
        start.rate[k] = record.slopes[ws.march[0].count - 1, (s - 1) * n + k]
    for a in range(ws.element.mode.active[0].sliding):
        start.w[a] = stages.W[s - 1, a]
    for k in range(problem.n_sel):
        start.multipliers[k] = ws.end[k]
    for j in range(problem.n_c):
        start.c[j] = stages.C[s - 1, j]


@kernel(inline=True)
def anew(ws: Workspace) -> None:
    """Let the active set be chosen as at the start: inputs have changed it."""
    now = ws.march[0]
    now.due = 1
    now.kind = 0
    now.which = -1
    now.slope = 0.0
    now.other = 0
    now.again = 0


@kernel(inline=True)
def goes_on(phases: Phases, p: int) -> bool:
    """Whether the active set that was chosen for phase `p` is that of the phase before."""
    if p == 0 or phases.switches[p].choice != phases.switches[p - 1].choice:
        return False
    same = True
    for j in range(phases.signs.shape[1]):
        same = same and phases.signs[p, j] == phases.signs[p - 1, j]
    return same


@kernel(inline=True)
def over_at_once(ws: Workspace) -> None:
    """End a slide where the interval before has ended."""
    now, ending = ws.march[0], ws.ending[0]
    now.due = 1
    now.kind = MULTIPLIER
    now.which = ending.which
    now.slope = 0.0
    ws.end[ending.which] = ending.bound


@kernel(inline=True)
def choose_again(ws: Workspace, record: Record, phases: Phases) -> None:
    """Go back to the end of the last phase, to choose another active set there."""
    now, problem, tableau = ws.march[0], ws.element.problem, ws.element.tableau
    nsel = problem.n_sel
    now.other = 1
    now.phases -= 1
    now.several -= phases.switches[now.phases].consistent > 1
    restore(ws.element, phases, now.phases - 1)
    for k in range(nsel):
        total = 0.0
        for i in range(len(tableau.end)):
            total += tableau.end[i] * record.mult[now.count - 1, i * nsel + k]
        ws.end[k] = total
    now.slope = phases.slope[now.phases]


@kernel(inline=True)
def go_back(ws: Workspace, record: Record, phases: Phases) -> None:
    """Go back to the start of the phase before, to solve it by shorter elements."""
    now = ws.march[0]
    now.count = now.back
    now.t = record.begin[now.back]
    now.phases -= 1
    now.several -= phases.switches[now.phases].consistent > 1
    now.wanted -= 1
    now.again = 1
    now.other = 0


@kernel(inline=True)
def retreats(ws: Workspace, record: Record, phases: Phases, options: Options, lost: bool) -> bool:
    """Whether a march that is `lost` tries again, from another active set or the phase before."""
    now = ws.march[0]
    if not lost or now.again:
        return False
    if now.due and now.kind == MULTIPLIER and now.other == 0:
        choose_again(ws, record, phases)
        return True
    if now.back >= 0 and options.split and now.halvings + 1 < FINER:
        go_back(ws, record, phases)
        return True
    return False


@kernel(inline=True)
def meet(
    ws: Workspace, phases: Phases, options: Options, tally: Tally, reached: float, made: int
) -> int:
    """Take note of the switch at the end of a phase; return how the march ends, or SUCCESS."""
    now, sel, tableau = ws.march[0], ws.element.stages.sel, ws.element.tableau
    s = sel.shape[0]
    span = reached - now.t
    now.short = now.short + 1 if span <= 1e-13 * max(now.t, options.h) else 0
    if now.short > SHORT:
        return NO_ACTIVE_SET
    rest = accumulates(phases.t, now.phases, reached, ACCUMULATED * options.h)
    if rest > 0.0:
        tally[0].reached = reached + rest
        tally[0].elements = now.count + made
        return ACCUMULATION
    now.slope = 0.0
    if now.kind == MULTIPLIER and s > 1:
        a = 1.0 / ((tableau.c[s - 1] - tableau.c[s - 2]) * ws.element.solver.newton[0].h)
        now.slope = a * (sel[s - 1, now.which] - sel[s - 2, now.which])
    return SUCCESS


@kernel(inline=True)
def conclude(
    ws: Workspace,
    record: Record,
    phases: Phases,
    options: Options,
    tally: Tally,
    interval: int,
    t_next: float,
    close: float,
) -> int:
    """Go on to the end of a phase that was solved; return how the march ends, or SUCCESS."""
    now, ending, made = ws.march[0], ws.ending[0], tally[0].made
    end = now.count + made - 1
    now.kind = ending.kind
    now.which = ending.which
    reached = record.begin[end] + record.length[end]
    last = now.kind == 0 or t_next - reached <= close
    now.due = 1 if now.kind != 0 else 0
    now.again = 0
    now.other = 0
    for e in range(now.count, now.count + made):
        record.interval[e] = interval
        record.phase[e] = now.phases - 1
    if now.due:
        now.wanted += 0 if last else 1
        status = meet(ws, phases, options, tally, reached, made)
        if status != SUCCESS:
            return status
    if not last:
        now.back = now.count
        now.halvings = tally[0].halvings
        copy(ws.start, ws.kept.before)
    now.count += made
    tally[0].elements = now.count
    now.t = reached
    if last:
        now.t = t_next
        record.length[end] = t_next - record.begin[end]
    tally[0].reached = now.t
    return SUCCESS


@kernel(inline=True)
def rewind(ws: Workspace, phases: Phases) -> None:
    """Set the state of the march at t = 0, before an active set was chosen."""
    now = ws.march[0]
    now.t = 0.0
    now.count = 0
    now.phases = 0
    now.kind = 0
    now.which = -1
    now.slope = 0.0
    now.due = 1
    now.other = 0
    now.again = 0
    now.several = 0
    now.short = 0
    ws.end[:] = 0.5
    ws.element.mode.sign[:] = 0
    phases.slope[0] = 0.0


@kernel()
def march(ws: Workspace, record: Record, phases: Phases, options: Options, tally: Tally) -> int:
    """March from ``states[0]`` over the intervals; return how it ended.

    SUCCESS; ACCUMULATION at ``tally[0].reached``; MORE_SWITCHES: an interval has too few elements,
    and is not split; SWITCH_CAP and ELEMENT_CAP: no room is left in the phases or in the record;
    NO_ACTIVE_SET, NEWTON_CAP, NOT_FINITE: it finds no way on.
    """
    h, intervals = options.h, options.ends.size
    now, el = ws.march[0], ws.element
    rewind(ws, phases)
    tally[0].reached = 0.0
    for interval in range(intervals):
        t_next = options.ends[interval]
        close = 1e-12 * max(t_next, h)
        driven = hold_at(el.problem.drive, el.problem.inp, now.t, 1e-9 * h)
        if driven and options.jumps:
            anew(ws)
        now.begin = now.count
        now.wanted = 1
        now.back = -1
        now.halvings = 0
        now.again = 0
        tally[0].intervals = interval
        while now.t < t_next:
            status = SUCCESS
            if now.again:
                resume(ws, phases)
            elif now.due:
                if now.phases == len(phases.switches):
                    return SWITCH_CAP
                rule, x = prepare(ws, phases, options), record.states[now.count]
                p, other = now.phases, now.other
                status = enter(ws, now.t, x, h, now.kind, now.which, rule, other, phases, p)
                if not (status == SUCCESS and now.kind == 0 and goes_on(phases, p)):
                    count(ws, phases, tally)
            elif now.phases > 0:
                carry_on(ws, record)
            if status == SUCCESS:
                most = max(options.elements - (now.count - now.begin), 1)
                halved = now.halvings + 1 if now.again else 0
                e, t = now.count, now.t
                status = phase(ws, record, options, tally, e, t, t_next, close, most, halved)
            first = now.count == now.begin and not now.due and not now.again
            if driven and first and status in (AT_ONCE, NEWTON_CAP, NO_ACTIVE_SET, OTHER):
                anew(ws)
                continue
            if status == AT_ONCE and not now.due and not now.again:
                over_at_once(ws)
                continue
            if status == AT_ONCE:
                status = OTHER
            if status != SUCCESS:
                lost = status in (NEWTON_CAP, NO_ACTIVE_SET, OTHER)
                if retreats(ws, record, phases, options, lost):
                    continue
                folds = status == NEWTON_CAP and el.mode.active[0].sliding > 1
                folds = folds and el.problem.affine == 1
                if not folds or not furthest(ws, record, tally, now.count, now.t, t_next - now.t):
                    p = now.phases - 1
                    rest = accumulates(phases.t, p, now.t, LOST * h) if lost else 0.0
                    tally[0].reached = now.t + rest
                    if rest > 0.0:
                        return ACCUMULATION
                    return NO_ACTIVE_SET if status == OTHER else status
            status = conclude(ws, record, phases, options, tally, interval, t_next, close)
            if status != SUCCESS:
                return status
        if now.wanted > options.elements:
            tally[0].needed = max(tally[0].needed, now.wanted)
            if not options.split:
                return MORE_SWITCHES
    tally[0].intervals = intervals
    return SUCCESS
