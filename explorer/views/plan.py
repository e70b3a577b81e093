"""Plans: states, controls, active sets, multipliers, and the exact replay beside them.

A multiplier mu of a bound, divided by the length of its control interval, tells what the objective
would gain for each second and each unit by which the bound were wider: mu = -dJ/d(upper bound) and
dJ/d(lower bound). A control is at a bound where its multiplier is not zero.
"""

from __future__ import annotations

import numpy as np

from explorer.control.course import Course
from explorer.control.plan import Plan
from explorer.control.replay import Replay
from explorer.quantities import quantity, unit
from explorer.systems import HybridSystem, MechanicalSystem
from explorer.views.drawing.compose import compose
from explorer.views.drawing.lanes import bars
from explorer.views.drawing.picture import (
    COLOURS,
    GREY,
    INK,
    OFF,
    Picture,
    Plot,
    curve,
    extent,
    label,
    prose,
    time_title,
    titled,
)
from explorer.views.drawing.plan_curves import (
    ALIKE,
    DOTS,
    Curve,
    course_curve,
    goal_mark,
    goals,
    grips,
    pieces,
    pinned_line,
    points,
    range_of,
    replayed_curve,
    steps,
    stroke,
)
from explorer.views.drawing.polyline import STATIC, Look
from explorer.views.drawing.regions import SIDES
from explorer.views.drawing.traces import Line, Style, Trace
from explorer.views.drawing.view import view

__all__ = ["plan", "said"]

_DOES = ("open", "stick", "closed", "forward", "backward")  # what a contact does
_SIDES = {1: "plus", 0: "sliding", -1: "minus"}
_MOST_NAMES = 6
_MOST_PLOTS = 4  # of states
_MOST_SAID = 2  # in the title of an axis; all are in the legend
_NOISE = 1e-7  # relative: a multiplier below it is none
_THIN: Line = {"width": 1.4}
_WIDE: Line = {"width": 6}
_NONE = np.zeros(0, int)


def said(plan: Plan, replay: Replay | None = None) -> str:
    """Return what a plan is, in words: its status, cost, final time and the defect of a replay."""
    parts = [f"{plan.status}: {plan.message}" if plan.message else plan.status]
    parts += [f"{k} missed by {quantity(v, '', 3)}" for k, v in plan.unmet.items()]
    low, high = plan.task.times
    if low != high:
        parts.append(f"T = {quantity(plan.t_end, plan.task.system.time_unit, 6)}")
    parts += [f"objective {quantity(plan.objective, '', 6)}", *plan.chosen(6)]
    if replay is not None and replay.failed:
        k, why = next(iter(replay.failed.items()))
        parts.append(f"the replay of interval {k + 1} failed: {why}")
    elif replay is not None:
        parts.append(f"replay misses by {quantity(replay.defect, '', 2)}")
    return " · ".join(parts)


def _groups(plan: Plan) -> list[list[int]]:
    """Return which states share a plot: none if they are few, else those of one unit."""
    units = list(plan.task.state_units)
    if len(units) <= _MOST_PLOTS:
        return [[i] for i in range(len(units))]
    kinds = list(dict.fromkeys(units))
    if 1 < len(kinds) <= _MOST_PLOTS:
        return [[i for i, u in enumerate(units) if u == kind] for kind in kinds]
    return [list(part) for part in np.array_split(np.arange(len(units)), _MOST_PLOTS)]


def _states(
    plan: Plan, replay: Replay | None, course: Course | None, pinned: Plan | None, handles: bool
) -> list[Plot]:
    """Return the plots of the states."""
    lines = {
        "plan": pieces(plan),
        "replay": None if replay is None or replay.failed else replayed_curve(replay),
        "simulation": None if course is None else course_curve(course),
        "pinned": None if pinned is None else pieces(pinned),
    }
    span, plots = _span(plan, course, pinned), []
    for group in _groups(plan):
        drawn = [_state(plan, lines, i, handles) for i in group]
        task = plan.task
        names = ", ".join(label(task.state_names[i]) for i in group)
        names = names if len(group) <= _MOST_SAID else "states"
        shared = {unit(task.state_units[i]) for i in group}
        title = titled(names, shared.pop() if len(shared) == 1 else "")
        traces = [trace for part, _ in drawn for trace in part]
        for trace in traces if len(group) > 1 else ():
            trace["showlegend"] = trace["name"] in {label(task.state_names[i]) for i in group}
        limits = extent(*(np.array(limits) for _, limits in drawn))
        limits = drawn[0][1] if len(drawn) == 1 else limits
        plots.append(Plot(traces, time_title(task.system), title, span, limits))
    for kind in ("replay", "simulation", "bound"):  # each kind of line is named once
        for trace in plots[0].traces:
            if trace["name"] == kind and trace["y"] is not OFF[1]:
                trace["showlegend"] = True
                break
    return plots


def _state(
    plan: Plan, lines: dict[str, Curve | None], i: int, handles: bool
) -> tuple[list[Trace], tuple[float, float]]:
    """Return what is drawn of a state, and the range that holds it."""
    task = plan.task
    name, u, colour = task.state_names[i], unit(task.state_units[i]), COLOURS[i % len(COLOURS)]
    text, shown, traces = label(name), [plan.x[:, i]], []
    styles: dict[str, tuple[str, Line]] = {
        "pinned": (GREY, DOTS),
        "plan": (colour, {}),
        "replay": (INK, DOTS),
        "simulation": (INK, _THIN),
    }
    for kind, (hue, line) in styles.items():
        if (drawn := lines[kind]) is None:
            if handles and kind == "simulation":  # in a panel no trace comes or goes
                traces.append(stroke(*OFF, hue, kind, u, line=line, breaks=_NONE, held=False))
            continue
        t, x, rows = drawn
        shown.append(x[:, i])
        named = text if kind == "plan" else kind
        more: Style = {"line": line, "breaks": rows, "held": False}
        if handles and kind == "plan":
            more["meta"] = {"t": t}
        traces.append(stroke(t, x[:, i], hue, named, u, **more))
    traces.append(points(plan.t, plan.x[:, i], colour, f"{text} at the grid"))
    goal = goals(plan).get(name, (np.nan, np.nan))
    low, high = plan.task.limits[0][i].tolist()
    bounds, limits = range_of(
        low, high, (float(plan.t[0]), plan.t_end), colour, *shown, np.array(goal)
    )
    traces += [bounds, goal_mark(plan.t_end, goal, text)]
    if handles:
        traces += grips(name, text, plan, i, goal, colour)
    return traces, limits


def _span(plan: Plan, course: Course | None, pinned: Plan | None) -> tuple[float, float]:
    ends = [plan.t_end, *(r.t[-1] for r in (course, pinned) if r is not None)]
    begin = float(plan.t[0])
    return begin, begin + 1.02 * (float(max(ends)) - begin)


def _controls(plan: Plan, course: Course | None, pinned: Plan | None, handles: bool) -> list[Plot]:
    """Return a plot for each control: steps, and its bounds."""
    task, span, plots = plan.task, _span(plan, course, pinned), []
    for i, name in enumerate(task.control_names):
        in_units, text = unit(task.system.parameters[name].unit), label(name)
        colour = COLOURS[(i + len(task.states)) % len(COLOURS)]
        t, u = steps(plan.t, plan.u[:, i])
        traces = [] if pinned is None else [pinned_line(*steps(pinned.t, pinned.u[:, i]))]
        traces.append(stroke(t, u, colour, text, in_units, line={"width": 2.4}))
        if course is not None and len(course.u):
            t, u = steps(course.instants, course.u[:, i])
            traces.append(stroke(t, u, INK, "simulation", in_units, line=_THIN))
        elif handles:
            traces.append(stroke(*OFF, INK, "simulation", in_units, line=_THIN))
        low, high = plan.task.limits[1][i]
        wide = np.array([b for b in (low, high) if np.isfinite(b)])
        bound, limits = range_of(low, high, span, colour, plan.u[:, i], wide)
        title = titled(text, in_units)
        plots.append(
            Plot([*traces, bound], time_title(task.system), title, span, limits, share=0.7)
        )
    return plots


def _algebraic(plan: Plan, course: Course | None, pinned: Plan | None) -> list[Plot]:
    """Return a plot for each algebraic variable, with its bounds."""
    task, span, plots = plan.task, _span(plan, course, pinned), []
    first = len(task.states) + len(task.control_names)
    for i, (name, z) in enumerate(plan.algebraic.items()):
        in_units, text = unit(task.system.parameters[name].unit), label(name)
        colour = COLOURS[(i + first) % len(COLOURS)]
        traces = []
        if pinned is not None and name in pinned.algebraic:
            traces.append(pinned_line(*_broken(pinned, name)))
        traces.append(stroke(*_broken(plan, name), colour, text, in_units))
        low, high = task.relation.ranges[name]
        bound, limits = range_of(low, high, span, colour, z)
        title = titled(text, in_units)
        plots.append(
            Plot([*traces, bound], time_title(task.system), title, span, limits, share=0.7)
        )
    return plots


def _broken(plan: Plan, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return times and values of an algebraic variable, which jumps where a control does."""
    t, z, N = plan.trajectory[0], plan.algebraic[name], len(plan.u)
    ends = np.arange(1, N) * ((len(t) - 1) // N) + 1  # behind the last stage of an interval
    return np.insert(t, ends, t[ends - 1]), np.insert(z, ends, np.nan)


def _lanes(plan: Plan, course: Course | None, pinned: Plan | None, handles: bool) -> list[Plot]:
    """Return the plot of active sets: a lane for each switching function, or for each mode."""
    parts, system = plan.sequence, plan.task.system
    if not parts:
        return []
    t = np.array([*(p.begin for p in parts), plan.t_end])
    signs = np.array([p.signs for p in (*parts, parts[-1])], int)
    traces = [_switch_lines(plan.switches)]
    if isinstance(system, HybridSystem):
        names = [mode.name for mode in system.modes]
        lanes = np.where(signs[:, :1] == np.arange(len(names)), 2, 3)
        for k, name in enumerate(names):
            own = np.where(np.arange(len(names)) == k, lanes, 3)
            level = bars(t, own, (2,), len(names))
            traces.append(stroke(*level, COLOURS[k % len(COLOURS)], prose(name), "", line=_WIDE))
        places = {g.name: len(names) - 1 - g.mode for g in system.guards}
    elif isinstance(system, MechanicalSystem):
        names = [contact.name for contact in system.contacts]
        labels = [[p.name.split(", ")[c] for p in (*parts, parts[-1])] for c in range(len(names))]
        done = np.array([[_DOES.index(one) for one in row] for row in labels]).T
        for k in np.unique(done):
            level = bars(t, done, (int(k),), len(names))
            what = _DOES[k]
            bar = stroke(*level, COLOURS[k % len(COLOURS)], what, "", line=_WIDE, showlegend=True)
            traces.append(bar)
        places = {name: len(names) - 1 - k for k, name in enumerate(names)}
    else:
        names = [s.name for s in system.switches]
        for side, colour in SIDES.items():
            level = bars(t, signs, (side,), len(names))
            bar = stroke(*level, colour, _SIDES[side], "", line=_WIDE, showlegend=True)
            traces.append(bar)
        places = {name: len(names) - 1 - k for k, name in enumerate(system.guard_names)}
    traces.append(_biactive(plan, places, handles))
    ticks: dict[float, str] = {float(len(names) - 1 - k): prose(n) for k, n in enumerate(names)}
    share = min(0.35 + 0.2 * len(names), 1.3)
    span, high = _span(plan, course, pinned), len(names) - 0.4
    return [Plot(traces, time_title(system), "", span, (-0.6, high), ticks=ticks, share=share)]


def _switch_lines(times: np.ndarray) -> Trace:
    if not len(times):
        return curve(*OFF, GREY, name="switch", line={"width": 1})
    x = np.column_stack([times, times, np.full(len(times), np.nan)]).ravel()
    y = np.tile([-0.6, 99.0, np.nan], len(times))
    text = "switch at t = %{x:.8g}<extra></extra>"
    return stroke(x, y, GREY, "switch", "", line={"width": 1}, hovertemplate=text)


def _biactive(plan: Plan, places: dict[str, int], handles: bool) -> Trace:
    """Return the marks of places where the cost has a kink."""
    found = plan.biactive
    at = (
        (np.array([t for t, *_ in found]), np.array([places[name] for _, name, _ in found], float))
        if found
        else OFF
    )
    mark = points(at[0], at[1], INK, "biactive", "diamond-open", 10)
    mark["showlegend"] = bool(found) or handles
    if handles:  # a text that changes makes plotly build the whole figure anew
        return {**mark, "hovertemplate": "biactive at t = %{x:.6g}<extra></extra>"}
    mark["text"] = [f"{prose(name)}: {what}, t = {t:.6g}" for t, name, what in found]
    return {**mark, "hovertemplate": "%{text}<extra></extra>"}


def _multipliers(plan: Plan, course: Course | None, pinned: Plan | None) -> Plot:
    """Return the multipliers of the bounds of controls and states, for each second."""
    program, task = plan.outcome.program, plan.task
    held = plan.outcome.point.w_multipliers
    of_u, of_x = held[program.of["u"]], held[program.of["x"]].sum(axis=(1, 2))
    columns = [(k, of_u[:, i], i + len(task.states)) for i, k in enumerate(task.control_names)]
    bounded = np.isfinite(task.limits[0]).any(axis=1)
    columns += [(k, of_x[:, i], i) for i, k in enumerate(task.state_names) if bounded[i]]
    h = np.diff(plan.t)
    real = np.where(h > ALIKE * plan.t_end, h, np.nan)
    least = _NOISE * (1.0 + abs(plan.objective)) / plan.t_end
    traces, values = [], [np.zeros(1)]
    for k, (name, multiplier, hue) in enumerate(columns):
        mu = multiplier / real
        mu = np.where(np.abs(mu) < least, 0.0 * mu, mu)
        colour, text = COLOURS[hue % len(COLOURS)], f"μ of {label(name)}"
        named = k < _MOST_NAMES
        traces.append(stroke(*steps(plan.t, mu), colour, text, "", showlegend=named))
        values.append(mu)
    limits, span = extent(np.concatenate(values)), _span(plan, course, pinned)
    return Plot(traces, time_title(task.system), "multiplier μ", span, limits, share=0.7)


@view
def plan(
    plan: Plan,
    course: Course | None = None,
    pinned: Plan | None = None,
    *,
    replayed: bool = True,
    handles: bool = False,
    look: Look = STATIC,
) -> Picture:
    """Draw a plan: states, controls, algebraic variables, active sets, multipliers, the replay.

    The exact replay is drawn over the states of the plan; it begins anew at each grid point. The
    first entry of the legend says what the plan is, and its defect.

    Parameters
    ----------
    plan : Plan
    course : Course, optional
        What `Plan.follow` returned; it is drawn in place of the replay.
    pinned : Plan, optional
        A plan to compare with: dotted grey.
    replayed : bool
        Whether the exact replay is drawn, which takes a simulation.
    handles : bool
        Whether the start and the goal are drawn as what the mouse drags, as in a panel.
    look : Look
        The size for which the points of the curves are chosen.
    """
    replay = plan.replay() if replayed else None
    if pinned is not None and pinned.x.shape[1:] + pinned.u.shape[1:] != (
        plan.x.shape[1:] + plan.u.shape[1:]
    ):
        pinned = None
    left = _states(plan, replay if course is None else None, course, pinned, handles)
    right = _controls(plan, course, pinned, handles) + _algebraic(plan, course, pinned)
    right += _lanes(plan, course, pinned, handles)
    right.append(_multipliers(plan, course, pinned))
    if not handles:  # a panel says it in its status line
        words = curve(*OFF, INK, name=said(plan, replay), line={"width": 0}, hoverinfo="skip")
        left[0].traces.insert(0, {**words, "showlegend": True, "legendrank": 1})
    return compose([left, right], [1.1, 1], look=look)
