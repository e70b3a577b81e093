"""Continuation: limit cycles, equilibria and cycles of maps over one parameter, stable or not.

Pseudo-arclength: tangent predictor, Newton corrector with exact derivatives by state and parameter
(through the saltation of all events), steps that adapt. Of each point the multipliers; folds,
flips, Neimark-Sacker, grazing and changes of the event sequence are located on the way (Kuznetsov,
*Elements of Applied Bifurcation Theory*, 2004, doi:10.1007/978-1-4757-3978-7; di Bernardo, Budd,
Champneys, Kowalczyk, *Piecewise-smooth Dynamical Systems*, 2008, doi:10.1007/978-1-84628-708-4).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from explorer.dispatch.choose import choose
from explorer.errors import BadValue, NotApplicable, StepFailed, suggest
from explorer.parameters import number, vector, whole
from explorer.schemes.event_driven import EventDriven
from explorer.study import study
from explorer.study.arclength import Node, correct
from explorer.study.asked import Chosen
from explorer.study.branch import Branch, assembled
from explorer.study.cycles import Cycles, Shot
from explorer.study.equilibria import Equilibria, formulas_of
from explorer.study.forcing import clock_of
from explorer.study.limit_cycle import limit_cycle
from explorer.study.map_cycles import MapCycles, first_orbit
from explorer.study.parts import Stop, check_stop
from explorer.study.return_map import Guess, ReturnMap
from explorer.study.switched_cycle import settled
from explorer.study.trace import CLOSED, Options, trace
from explorer.systems import MapSystem, StepSystem, System, check_system, values_given
from explorer.types import Numbers, Value

__all__ = ["continuation"]

TOL = 1e-9  # residual of a point, relative
_SMALLEST = 1e-4  # the least step over the usual one
_LARGEST = 2.0
_MOST = 1000  # points in each direction
_WAYS = ("both", "up", "down")


@study
def continuation(
    system: System,
    scheme: Chosen | None = None,
    parameter: str = "",
    section: str | None = None,
    *,
    period: Value | None = None,
    count: int = 1,
    guess: Guess | None = None,
    over: Sequence[float] | None = None,
    step: float = 0.02,
    direction: str = "both",
    stop: Stop | None = None,
    rho: Numbers | None = None,
    **parameters: float,
) -> Branch:
    """Follow limit cycles or equilibria over one parameter, through folds, stable or not.

    Parameters
    ----------
    system : MechanicalSystem, HybridSystem, StepSystem or MapSystem
    scheme : EventDriven, optional
        By default with rtol = 1e-11, atol = 1e-12, because Newton's method needs many digits.
    parameter : str
        The parameter that varies.
    section : str, optional
        Of an autonomous system: the contact, guard or switching function at which its cycles are
        sampled.
    period : float or formula of the parameters, optional
        Of a forced system, in s, such as ``"2*pi/omega"``. With neither a section nor a period,
        equilibria are followed.
    count : int
        Events (or periods) in one cycle; iterates of a map, 1 for its fixed points.
    guess : (n_x,) float or dict by state, optional
        A state near that just after the section, or near the equilibrium: one on a switching
        surface slides there. By default the start of the model. A cycle that begins on closed or
        sticking contacts stays on them: its multipliers are those of the directions along them.
    over : (low, high), optional
        Range of the parameter, by default that of its slider.
    step : float
        First step, in parts of the range; later ones are up to twice as long.
    direction : str
        "both", or first "up" or "down" only.
    stop : function without arguments, optional
        Is asked before each point; once it returns True, the branch ends there.
    rho, **parameters
        Parameters by name; that of `parameter` is where the branch begins.

    Returns
    -------
    Branch
        Each point is verified: Newton's residual is below 1e-9 of the largest states. Where the
        branch ends, `Branch.ends` says why.

    Raises
    ------
    BadModel, BadValue, NotApplicable
        The arguments are inconsistent.
    StepFailed
        There is no cycle or equilibrium at the start.

    Examples
    --------
    >>> import explorer as ex
    >>> walker = ex.models.simplest_walker()
    >>> gaits = ex.study.continuation(walker, parameter="gamma", section="heel strike",
    ...                               over=(0.012, 0.016), gamma=0.0125, step=0.1)
    >>> [(point.kind, round(point.parameter, 5)) for point in gaits.points]
    [('flip', 0.01509)]
    """
    check_system(system)
    values = np.array(system.rho(values_given(system, rho, parameters)))
    low, high = _range(system, parameter, over, values)
    if direction not in _WAYS:
        raise BadValue(f"direction = {direction!r} must be one of {', '.join(_WAYS)}.")
    check_stop(stop)
    step = number(step, "step", "", positive=True)
    span = high - low
    ends = low / span, high / span
    options = Options(step, _SMALLEST * step, _LARGEST * step, TOL, *ends, _MOST, stop)
    problem: Cycles | Equilibria | MapCycles
    if isinstance(system, MapSystem):
        problem, first = _map_cycle(system, parameter, section, period, count, guess, values, span)
    elif section is None and period is None:
        problem, first = _equilibrium(system, parameter, values, guess, span)
    else:
        problem, first = _cycle(
            system, scheme, parameter, section, period, count, guess, values, span
        )
    return _traced(problem, first, options, direction, None if period is not None else section)


def _traced(
    problem: Cycles | Equilibria | MapCycles,
    first: np.ndarray,
    options: Options,
    direction: str,
    section: str | None,
) -> Branch:
    """Return the branch through the first point, in one direction or in both."""
    start = _start(problem, first, options)
    forward = backward = None
    if direction in ("both", "down"):
        backward = trace(problem, Node(start.w, -start.tangent, start.at), options)
        problem.restart()
    if direction != "down" and not (backward and backward.reason == CLOSED):
        forward = trace(problem, start, options)
    if backward is None or forward is None:
        only = forward or backward
        assert only is not None
        return assembled(problem, None, only, options, section)
    return assembled(problem, backward, forward, options, section)


def _range(
    system: System, parameter: str, over: Sequence[float] | None, values: np.ndarray
) -> tuple[float, float]:
    """Return the checked range of the parameter."""
    names = list(system.parameters)
    if parameter == "":
        raise BadValue('Name the parameter: continuation(system, parameter="omega").')
    if parameter not in names:
        raise BadValue(
            f"'{system.name}' has no parameter {parameter!r} to follow a branch by."
            f"{suggest(parameter, names)}"
        )
    param = system.parameters[parameter]
    if over is None:
        over = (param.low, param.high)
    if len(over) != 2:
        raise BadValue(f"over = {over!r} must be the two ends (low, high) of the range.")
    low, high = (number(x, "an end of over", param.unit) for x in over)
    own = float(values[names.index(parameter)])
    if not low < high:
        raise BadValue(f"over = ({low:g}, {high:g}): the first end must be below the second.")
    if not low <= own <= high:
        raise BadValue(
            f"The branch begins at {parameter} = {own:g}, outside over = ({low:g}, {high:g}): "
            f"give {parameter} a value inside, or widen the range."
        )
    return low, high


def _start(problem: Cycles | Equilibria | MapCycles, u: np.ndarray, options: Options) -> Node:
    """Return the first point, its tangent towards larger values of the parameter."""
    plane = np.zeros(len(u))
    plane[-1] = 1.0
    done = correct(problem, u / problem.scale, plane, options.tol, most=20)
    if done is None:
        size, system = problem.evaluate(u, full=False).size, problem.system
        clock = clock_of(system) if isinstance(problem, Equilibria) else None
        if clock is not None:
            raise NotApplicable(
                f"'{system.name}' has a clock, which never rests, so it has no equilibria. Name "
                f"an event of its cycles: section={clock!r}."
            )
        raise StepFailed(
            f"Newton's method finds no {problem.kind} of '{system.name}' from this guess: "
            f"its residual is {size:.3g}. A guess nearer to one may lead there.",
            None,
        )
    return done[0]


def _equilibrium(
    system: System, parameter: str, values: np.ndarray, guess: Guess | None, span: float
) -> tuple[Equilibria, np.ndarray]:
    formulas_of(system)  # which refuses what has no equilibria
    names = system._state_names()
    if guess is None:
        x = np.array(_model_start(system, values), float)
    elif isinstance(guess, dict):
        x = np.array(_model_start(system, values), float)
        for name, value in guess.items():
            if name not in names:
                raise BadValue(f"guess: there is no state {name!r}.{suggest(name, names)}")
            x[names.index(name)] = number(value, f"guess of {name}")
    else:
        x = np.array(vector(guess, "guess"))
    if len(x) != len(names):
        raise BadValue(
            f"The guess needs {len(names)} numbers ({', '.join(names)}), but {len(x)} are given."
        )
    problem = Equilibria(system, parameter, values, x, span)
    return problem, problem.first(x)


def _map_cycle(
    system: MapSystem,
    parameter: str,
    section: str | None,
    period: Value | None,
    count: int,
    guess: Guess | None,
    values: np.ndarray,
    span: float,
) -> tuple[MapCycles, np.ndarray]:
    """Return the problem of cycles of a map, and its unknowns near the first one."""
    if section is not None or period is not None:
        raise BadValue(
            f"'{system.name}' is a map and has no section and no period in s: count = {count} says "
            "how many iterates a cycle has."
        )
    points = first_orbit(system, values, guess, whole(count, "count"))
    problem = MapCycles(system, parameter, values, points, span)
    return problem, problem.first()


def _model_start(system: System, values: np.ndarray) -> np.ndarray:
    x: np.ndarray = EventDriven.compile(system).start(values.tolist())[0]
    return x


def _cycle(
    system: System,
    scheme: Chosen | None,
    parameter: str,
    section: str | None,
    period: Value | None,
    count: int,
    guess: Guess | None,
    values: np.ndarray,
    span: float,
) -> tuple[Cycles, np.ndarray]:
    """Return the problem of cycles, and its unknowns at the first one."""
    chosen = choose(system, EventDriven(rtol=1e-11, atol=1e-12) if scheme is None else scheme)
    if not isinstance(chosen, EventDriven):
        raise NotApplicable(
            f"{type(chosen).__name__} does not locate events: continuation needs EventDriven."
        )
    rho = dict(zip(system.parameters, values.tolist(), strict=True))
    if period is None and isinstance(system, StepSystem):
        P = ReturnMap(system, chosen, str(section), count=count, rho=rho)
        shot = Shot(*settled(P, guess))
    else:
        cycle = limit_cycle(
            system, chosen, section, period=period, count=count, guess=guess, rho=rho
        )
        mode = -1
        if cycle.map.mode is not None:
            mode = [m.name for m in cycle.map._hybrid.modes].index(cycle.map.mode)
        shot = Shot(cycle.x, cycle.period, mode)
    problem = Cycles(system, chosen, parameter, values, shot, span, period=period, count=count)
    if period is None:
        whole = problem._shoot(shot.x, shot.T, slopes=False)
        shot, _ = problem.middle(whole, shot.mode)
        problem.begin(shot)
    if not problem.off_surfaces(shot):
        raise NotApplicable(
            f"The cycle of '{system.name}' begins on a slide, or on a closed contact beside "
            "constraints, off which its unknowns would move. Write the system without the "
            "coordinate that is held, or with another phase of its forcing."
        )
    return problem, problem.first(shot)
