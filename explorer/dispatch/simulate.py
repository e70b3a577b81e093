"""`simulate()`: route a system to a scheme, compile, run, judge the status."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol, TypeVar

import numpy as np

from explorer.arguments import a
from explorer.codes import CHATTERING, NEWTON_CAP, STEP_CAP, STIFF
from explorer.compiled import Compiled, paradox
from explorer.dispatch import mistakes
from explorer.dispatch.choose import applicability, choose, numbers_of, schemes_for
from explorer.errors import (
    BadValue,
    LessonWarning,
    ModelWarning,
    SchemeWarning,
    StepFailed,
    suggest,
)
from explorer.parameters import flag, number
from explorer.recorder import Recorder
from explorer.results.solution import Solution
from explorer.schemes import Scheme
from explorer.status import UNSTABLE, Status
from explorer.systems import (
    FirstOrderSystem,
    HybridSystem,
    MechanicalSystem,
    StateSpaceSystem,
    System,
    values_given,
)
from explorer.systems.drive import Inputs
from explorer.systems.driving import driven
from explorer.systems.modes import Mode
from explorer.systems.record import check_span
from explorer.systems.rewriting import jump
from explorer.types import Numbers, Plain, Reals, Settings
from explorer.verification.growth import grown
from explorer.warned import warn


class Compilation(Protocol):
    """A system as the kernels of a scheme take it."""

    @property
    def system(self) -> System:
        """What was compiled."""


C = TypeVar("C", bound=Compilation)

_STUCK = {NEWTON_CAP, STEP_CAP, STIFF, CHATTERING}  # what a force by sign(v) does to a run

__all__ = ["applicability", "schemes_for", "simulate"]


def simulate(
    system: System,
    scheme: Scheme | type[Scheme] | str | None = None,
    *,
    t_end: float | None = None,
    q0: Reals | float | None = None,
    v0: Reals | float | None = None,
    x0: Reals | float | None = None,
    mode0: str | Mode | None = None,
    t_eval: Reals | None = None,
    record: Recorder | None = None,
    u: Inputs | None = None,
    throw: bool = True,
    rho: Numbers | None = None,
    **parameters: float,
) -> Solution:
    """Simulate a system from t = 0.

    Parameters
    ----------
    system : System
    scheme : Scheme, its class, or its name
        By default the first scheme that accepts the system, with the step size of the system.
    t_end : float, optional
        Final time in s; by default that of the system.
    q0, v0 : (n,) float, optional
        Start of a mechanical system; by default the start that the system declares.
    x0 : (n_x,) float, optional
        Start of a first-order system x' = ..., or (q, v) for a scheme that integrates the whole
        state. A single number for q0, v0 or x0 sets the parameter of this name, if there is one.
    mode0 : str or Mode, optional
        The mode in which a hybrid system starts.
    t_eval : (k,) float, optional
        Times of the rows, for schemes that locate events. Both limits at each event are added.
    record : Recorder, optional
        Rows and coordinates to keep, for `Newmark` and `GeneralizedAlpha`; by default all.
    u : dict, array or Input, optional
        Inputs by name, numbers or `Input`; or an array (n_u, k), constant in k equal intervals.
        An input that is not given keeps its default.
    throw : bool
        Whether a failed run raises an error. If not, the run is returned with its status.
    rho, **parameters
        Parameters by name. The others keep their defaults.

    Returns
    -------
    Solution

    Raises
    ------
    BadModel, BadValue, NotApplicable
        If the arguments are inconsistent. The message explains why and suggests a fix.
    StepFailed
        If the run stops early. ``error.solution`` holds the part that was computed.

    Warns
    -----
    LessonWarning
        The scheme is a lesson: it shows what goes wrong.
    SchemeWarning, ModelWarning
        The run is computed, but its result may not be what was meant. The options of the scheme
        lose its order or stability; a linear system is unstable; a sliding contact has no finite
        force (Painleve's paradox); friction wedges a body, so that no impulses satisfy Newton's
        impact law; or the input looks like a mistake: a parameter far outside its range, no start,
        no restitution, a gap of the wrong sign.

    Examples
    --------
    >>> import explorer as ex
    >>> sol = ex.simulate(ex.models.bouncing_ball(), ex.MoreauJean(h=5e-3), e=0.5)
    >>> sol.status.name
    'success'
    """
    chosen, throw = choose(system, scheme), flag(throw, "throw")
    said: list[str] = []
    if chosen.lesson:
        _warn(said, LessonWarning, f"{chosen.lesson}.")
    if chosen.caution:
        _warn(said, SchemeWarning, f"{chosen!r}: {chosen.caution}.")
    start = {"q0": q0, "v0": v0, "x0": x0, "mode0": mode0}
    parameters |= named_like_a_start(system, start)
    given_rho = values_given(system, rho, {})
    span = system.t_end if t_end is None else number(t_end, "t_end", system.time_unit)
    system, parameters = with_inputs(system, u, span, given_rho, parameters)
    values = numbers_of(system, chosen, by_name := {**given_rho, **parameters})
    if suspect := mistakes.before(system, by_name, values):
        _warn(said, ModelWarning, *(f"'{system.name}': {found}" for found in suspect))
    check_span(system.records, span)
    compiled, begun = begin(chosen, system, chosen.compile(system), start)
    given = begun | _rows_asked(chosen, compiled.system.coordinates, t_eval, record)
    solution = chosen.run(compiled, values, span, **given)
    for kind, sentence in _seen(system, compiled, values, solution, begun):
        _warn(said, kind, f"'{system.name}': {sentence}")
    status = _status(system, solution)
    if status.ok and (suspect := mistakes.after(system, solution, bool(given))):
        _warn(said, ModelWarning, *(f"'{system.name}': {found}" for found in suspect))
    solution = solution.concluded(status, tuple(said), _asked(span, given, record))
    if throw and not solution.status.ok:
        raise StepFailed(f"'{system.name}': {solution.status.message}", solution)
    return solution


def _moved(system: System, solution: Solution, begun: dict[str, np.ndarray]) -> Iterator[str]:
    """Yield that the start of the user was put on the constraints, if it was moved."""
    if not {"q0", "v0"} & begun.keys():
        return
    none = np.full(len(system.coordinates), np.nan)
    asked = np.concatenate([begun.get("q0", none), begun.get("v0", none)])
    found = np.concatenate([getattr(solution, name, none[None, :0])[0] for name in ("q", "v")])
    if found.size < asked.size:  # a recorder has dropped where the run began
        return
    if (moved := mistakes.moved(system, asked, found))[0] > mistakes.MOVED:
        yield moved[1]


def _asked(t_end: float, given: Settings, record: Recorder | None) -> Plain:
    """Return what was asked for besides parameters and start, as plain data."""
    asked: Plain = {"t_end": t_end}
    asked |= {k: given[k].tolist() for k in ("t_eval",) if k in given}
    if record is not None:
        asked["record"] = record.to_plain()
    return asked


def with_inputs(
    system: System,
    u: Inputs | None,
    t_end: float,
    rho: Numbers,
    parameters: dict[str, float],
) -> tuple[System, dict[str, float]]:
    """Return the system with its inputs along time, and parameters with those that are numbers.

    Raises
    ------
    BadModel, BadValue
        See `explorer.systems.driving.driven`. An input is given twice.
    """
    if u is None and system.drive is None:
        return system, parameters
    if isinstance(u, (int, float)) and "u" in system.parameters:  # one is called so
        if "u" not in system.input_names:
            return system, {**parameters, "u": u}
        u = {"u": u}
    if system.discrete:
        raise BadValue(
            f"'{system.name}' is a map and takes no inputs u(t): it has no time between its "
            "iterates. Use a parameter, or a state that counts them."
        )
    system, fixed = driven(system, system.drive.inputs if u is None and system.drive else u, t_end)
    names = {*fixed, *(() if system.drive is None else system.drive.names)}
    if twice := sorted(names & {*rho, *parameters}):
        raise BadValue(f"The input {twice[0]!r} is given twice: in u, and as a parameter.")
    return system, {**parameters, **fixed}


def _rows_asked(
    chosen: Scheme, coordinates: Sequence[str], t_eval: Reals | None, record: Recorder | None
) -> Plain:
    """Return which rows are asked for, as `Scheme.run` takes it.

    Raises
    ------
    BadValue
        The scheme does not choose its rows.
    """
    given: Plain = {}
    if t_eval is not None:
        _takes(chosen, "t_eval", "its rows are its steps")
        given["t_eval"] = as_row(t_eval, "t_eval")
    if record is not None:
        _takes(chosen, "record", "it keeps all rows, because events are detected in them")
        a(record, Recorder, "a recorder", "Recorder(every=10)")
        given["record"] = record.selection(coordinates)
    return given


def _seen(
    system: System,
    compiled: Compiled,
    values: list[float],
    solution: Solution,
    begun: dict[str, np.ndarray],
) -> Iterator[tuple[type[Warning], str]]:
    """Yield that a start was moved, and what friction did to a run that its scheme is not for."""
    for sentence in _moved(system, solution, begun) if begun and solution.status.ok else ():
        yield ModelWarning, sentence
    if solution.has("march") or not system.rough:
        return
    if found := paradox(compiled, values, solution):
        yield ModelWarning, f"{found}."
    if wedged := solution.contacts.wedged:
        yield SchemeWarning, f"{wedged}."


def _status(system: System, solution: Solution) -> Status:
    """Return how a run ended, by its certificate and its formulas too."""
    last = solution.status
    if last.ok and grown(solution) and (words := solution.certificate.fatal):
        return Status.stopped(UNSTABLE, "unstable", last.step, last.t, words)
    if last.code in _STUCK and (why := _by_sign(system)):
        return Status.stopped(last.code, last.name, last.step, last.t, why)
    return last


def _warn(said: list[str], kind: type[Warning], *sentences: str) -> None:
    """Warn, and keep what was said."""
    said += sentences
    for sentence in sentences:
        warn(sentence, kind, stacklevel=3)


def begin(
    chosen: Scheme, system: System, compiled: C, start: Settings
) -> tuple[C, dict[str, np.ndarray]]:
    """Return the compiled system in its first mode, and the start in the form of `Scheme.run`.

    Raises
    ------
    BadValue
        If the system or the scheme has no such start.
    """
    mode0 = start.get("mode0")
    if isinstance(system, HybridSystem):
        compiled = begun_in(compiled, system, mode0)
    elif mode0 is not None:
        raise BadValue(f"'{system.name}' is a {system.kind}: it has no modes to start in.")
    found = {}
    for what in ("q0", "v0", "x0"):
        value = start.get(what)
        if value is None:
            continue
        if what == "x0":
            _takes(chosen, what, "give q0 and v0")
        found[what] = as_row(value, what)
        n: int = getattr(compiled, "n_x" if what == "x0" else "n")
        if len(found[what]) != n:
            raise BadValue(
                f"{what} needs {n} number{'s' * (n != 1)}, but {len(found[what])} given."
            )
    if "x0" in found and len(found) > 1:
        raise BadValue("x0 = (q, v) is the whole start: give it alone, or q0 and v0.")
    return compiled, found


def _takes(chosen: Scheme, what: str, instead: str) -> None:
    if what not in inspect.signature(chosen.run).parameters:
        raise BadValue(f"{type(chosen).__name__} does not accept {what}: {instead}.")


def named_like_a_start(system: System, start: Plain) -> dict[str, float]:
    """Move entries of `start` that name a parameter to the parameters.

    A single number means the parameter, if there is one of this name; a list is the start.

    Raises
    ------
    BadValue
        If q0 or v0 is given to a system x' = ... without such a parameter.
    """
    found: dict[str, float] = {}
    for name in ("q0", "v0", "x0"):
        if (value := start.get(name)) is None:
            continue
        states = system.coordinates if isinstance(system, StateSpaceSystem) else ()
        if name in system.parameters and np.ndim(value) == 0:
            found[name] = value
        elif states and name != "x0":
            raise BadValue(
                f"'{system.name}' has no {name}: it starts at x0 = ({', '.join(states)})."
            )
    start.update(dict.fromkeys(found))
    return found


def begun_in(compiled: C, system: HybridSystem, mode0: str | Mode | None) -> C:
    """Return the compiled system with another start mode; nothing is compiled anew."""
    index = system.start_mode
    if mode0 is not None:
        names = [mode.name for mode in system.modes]
        name = mode0.name if isinstance(mode0, Mode) else mode0
        if name not in names:
            raise BadValue(f"'{system.name}' has no mode {name!r}.{suggest(name, names)}")
        index = names.index(name)
    given = mode0 is not None and bool(system.start_branches)
    begun = compiled.system
    if isinstance(begun, HybridSystem) and begun.start_mode == index and not given:
        return compiled
    other, compiled = copy.copy(system), copy.copy(compiled)
    other.start_mode, other.exact = index, None  # a closed form is that of the model's own start
    other.start_branches = ()
    vars(compiled).update(system=other, automaton=other)
    return compiled


def as_row(value: Reals | float, what: str) -> np.ndarray:
    """Return a row of numbers; a single one is a row of one.

    Raises
    ------
    BadValue
        It is no row, or has something else than finite numbers.
    """
    if isinstance(value, Mapping):
        raise BadValue(f"{what} must be a sequence of numbers, such as [0.5, 1], not a dict.")
    items = list(value) if np.ndim(value) > 0 else [value]  # type: ignore[arg-type]
    return np.array([number(x, f"{what}[{i}]") for i, x in enumerate(items)])


def _by_sign(system: System) -> str:
    """Return why no scheme holds a state by a formula that jumps; empty: none does."""
    if isinstance(system, FirstOrderSystem):
        for name, f in zip(system.coordinates, system.f, strict=True):
            if (c := jump(f, system.x)) is not None:
                return (
                    f"f of {name!r} jumps where {c} = 0, and with a formula the state cannot stay "
                    f"there, at any h. Use a relay (a law of kind 'relay' with y = {c}, its "
                    "multiplier in r), or the same formula in a StepSystem or FilippovSystem"
                )
    if not isinstance(system, MechanicalSystem):
        return ""
    for name, force in zip(system.coordinates, system.force, strict=True):
        if (slip := jump(force, system.v)) is not None:
            return (
                f"the force of {name!r} jumps where {slip} = 0, like Coulomb friction, and with a "
                "formula the body cannot stick there, at any h. Use friction of a contact "
                f"(Contact(..., mu=..., slip='{slip}')), or the same formula in a StepSystem or "
                "FilippovSystem"
            )
    return ""
