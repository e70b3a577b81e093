"""The program of a hybrid system: modes instead of multipliers, guards instead of switches.

In mode m, x' = f_m(t, x, u) while each guard of the mode has not been reached, d r(t, x, u) <= 0
with its direction d. A phase ends where the guard to the next mode is zero, and the next one begins
at the reset of its end. Which mode an element is in are bounds: its weight is 1 and all others are
0. The mode remembers, so no homotopy finds a sequence from the state alone; the search begins in
the mode of the start, and goes to other modes where a plan presses against a guard.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence as Several

import numpy as np
import sympy as sp

from explorer.errors import NotApplicable
from explorer.systems import HybridSystem
from explorer.transcription.casadi_functions import function
from explorer.transcription.formulas import Costs, Formulas, arguments
from explorer.transcription.grid import INF
from explorer.transcription.program import Program
from explorer.transcription.sequence import Sequence
from explorer.transcription.solver import Bounds

__all__ = ["bounds_of_modes", "hybrid_formulas", "obstacle", "possible"]


def obstacle(system: HybridSystem) -> str:
    """Return why a hybrid system cannot be optimised, in a sentence; empty if it can."""
    for guard in system.guards:
        what = f"its guard {guard.name!r}"
        if guard.branches or guard.terminal:
            return f"{what} has several next modes, or ends the run."
        if guard.mode == guard.to:
            return f"{what} leads from a mode to itself."
        if not guard.direction:
            return f"{what} has no direction: write two guards, one for each."
    if system.start_branches:
        return "the state decides in which mode it starts."
    return ""


def hybrid_formulas(system: HybridSystem, controls: Several[str], costs: Costs) -> Formulas:
    """Return the functions of a problem; its switching functions are d r of the guards.

    Raises
    ------
    NotApplicable
        If a guard is more than a crossing.
    """
    why = obstacle(system)
    if why:
        raise NotApplicable(f"'{system.name}' cannot be optimised: {why}")
    t, x = [system.t], list(system.x)
    u, p = arguments(system, controls, costs)
    weights = [sp.Symbol(f"_mode_{k}") for k in range(len(system.modes))]
    flow = [
        sum((w * mode.flow[i] for w, mode in zip(weights, system.modes, strict=True)), sp.S.Zero)
        for i in range(system.n)
    ]
    reached = [guard.direction * guard.r for guard in system.guards]
    jumps = [after - x[i] for guard in system.guards for i, after in enumerate(guard.reset)]
    at, end = [t, x, u, p], [t, x, costs.algebraic, p]
    rates = [sp.S.Zero] * len(reached)  # of slides, which there are not
    by_rates = function("rates", [t, x, weights, u, p], [rates])
    conditions = [guard.when for guard in system.guards]
    edges = tuple((guard.mode, guard.to) for guard in system.guards)
    return Formulas(
        len(x),
        len(controls),
        len(p),
        len(reached),
        function("flow", [t, x, weights, u, p], [flow]),
        function("switching", at, [reached]),
        by_rates,
        by_rates,
        function("running", at, [[costs.running]]),
        function("path", at, [costs.path]),
        function("terminal", end, [[costs.terminal]]),
        function("end", end, [costs.end]),
        None,
        edges,
        function("jumps", at, [jumps]) if any(g.jumps for g in system.guards) else None,
        len(weights),
        function("conditions", at, [[sp.S.One if w is None else w for w in conditions]])
        if any(w is not None for w in conditions)
        else None,
        tuple(bool(set(u) & r.free_symbols) for r in reached),
        tuple(guard.jumps for guard in system.guards),
        function("knot", end, [costs.knots]),
        len(costs.algebraic),
        function("equations", at, [costs.equations]),
    )


def possible(formulas: Formulas, sequence: Sequence) -> bool:
    """Whether a guard leads from each mode of a sequence to the next one."""
    modes = [sequence.first, *(c.after for c in sequence.changes)]
    return all((a[0], b[0]) in formulas.edges for a, b in itertools.pairwise(modes))


def bounds_of_modes(program: Program, signs: np.ndarray, phase: np.ndarray) -> Bounds:
    """Return the bounds of the program on known modes.

    Parameters
    ----------
    program : Program
    signs : (N, E, 1) int, the modes
    phase : (N, E) int, the number of the phase in its interval
    """
    f, of, rows = program.formulas, program.of, program.rows
    N, E = phase.shape
    bounds = Bounds.of(program)
    on = signs[:, :, 0][:, :, None, None] == np.arange(f.n_m)
    on = np.broadcast_to(on, of["m"].shape)
    bounds.low[of["m"][on]] = 1.0
    bounds.high[of["m"][~on]] = 0.0
    watched = signs == np.array([a for a, _ in f.edges])  # (N, E, n_guards)
    watched = np.broadcast_to(watched[:, :, None, :], of["lam"].shape)
    bounds.low[of["lam"][~watched]] = -INF
    flat = signs.reshape(N * E)
    for e in np.flatnonzero(flat[1:] != flat[:-1]):
        k, n = divmod(int(e), E)
        g = f.edges.index((int(flat[e]), int(flat[e + 1])))
        if n + 1 == E and f.driven[g]:  # the jump of a control passes the guard
            bounds.row_low[rows["passed"][k, g]] = 0.0
            continue
        bounds.low[of["lam"][k, n, -1, g]] = bounds.high[of["lam"][k, n, -1, g]] = 0.0
        if rows["condition"].size:
            bounds.row_low[rows["condition"][k, n, g]] = 0.0
        if of["jump"].size:
            bounds.low[of["jump"][k, n, g]] = bounds.high[of["jump"][k, n, g]] = 1.0
    if E > 1:
        same = phase[:, 1:] == phase[:, :-1]
        bounds.row_low[rows["equal"][same]] = bounds.row_high[rows["equal"][same]] = 0.0
    return bounds
