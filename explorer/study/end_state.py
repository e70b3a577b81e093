"""The final state over one parameter, and its derivative by each scheme.

If the switch is located, the final state depends smoothly on the parameter. Steps of constant
length cross it at a stage that jumps from one step to the next: the final state converges with h,
but its derivative does not (Stewart and Anitescu, *Numerische Mathematik* 114 (2010) 653;
Nurkanovic et al. 2023, section I).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from explorer.derivatives import sensitivity
from explorer.dispatch.choose import choose
from explorer.dispatch.simulate import schemes_for, simulate
from explorer.errors import BadValue, LessonWarning, suggest
from explorer.parameters import number
from explorer.schemes import Scheme
from explorer.study import study
from explorer.study.asked import Run, Schemes
from explorer.systems import StateSpaceSystem, System, check_system, values_given
from explorer.types import Numbers

__all__ = ["EndCurve", "EndState", "end_state"]

_DELTA = 1e-7  # of a difference: far below what a step changes
_MOST = 2_000


@study
@dataclass(frozen=True)
class EndCurve:
    """One scheme (or the closed form): the final value of a state and its derivative, (k,) both."""

    name: str
    x: np.ndarray
    slope: np.ndarray


@study
@dataclass(frozen=True, repr=False)
class EndState:
    """The final value of one state over one parameter.

    Attributes
    ----------
    system : System
    t_end : float, in s
    of, by : str
        The state; the parameter, or the state whose start is meant.
    values : (k,) of the parameter
    curves : tuple of EndCurve
        "exact" first, if the model has a closed form.
    """

    system: StateSpaceSystem
    t_end: float
    of: str
    by: str
    values: np.ndarray
    curves: tuple[EndCurve, ...]

    def __getitem__(self, name: str) -> EndCurve:
        """Return a curve by its name."""
        names = [c.name for c in self.curves]
        if name not in names:
            raise BadValue(f"There is no curve {name!r}.{suggest(name, names)}")
        return self.curves[names.index(name)]

    def __repr__(self) -> str:
        names = ", ".join(c.name for c in self.curves)
        return f"EndState({self.of}({self.t_end:g}) by {self.by} of {self.system.name!r}: {names})"


@study
def end_state(
    system: System,
    schemes: Schemes = None,
    by: str | None = None,
    of: str | None = None,
    *,
    values: Sequence[float] | None = None,
    t_end: float | None = None,
    rho: Numbers | None = None,
    **parameters: float,
) -> EndState:
    """Run schemes for many values of a parameter; return the final state and its derivative.

    Parameters
    ----------
    system : StepSystem, FilippovSystem or HybridSystem
    schemes : scheme, sequence of them, or mapping of names to schemes, optional
        By default all schemes that accept the system.
    by : str, optional
        A parameter, or a state, whose start is meant; by default the first parameter.
    of : str, optional
        The state, by default the first one.
    values : (k,) float, optional
        Values of the parameter; by default 121 over its range.
    t_end : float, optional
        In s; by default the system's.
    rho, **parameters
        Other parameters by name.

    Returns
    -------
    EndState
        The derivative of a scheme that locates events is that of `sensitivity`; of other schemes it
        is a central difference of their runs, 1e-7 apart.

    Raises
    ------
    BadValue, NotApplicable
        If a name does not exist, or a scheme does not accept the system.
    StepFailed
        If a run stops early.

    Examples
    --------
    >>> import explorer as ex
    >>> ends = ex.study.end_state(ex.models.switched_oscillator(), "FESD", values=[0.9, 1.0])
    >>> ends
    EndState(x1(1.5708) by w of 'switched oscillator': exact, FESD(h=0.1))
    >>> ends["exact"].x.shape
    (2,)
    """
    check_system(system)
    if not isinstance(system, StateSpaceSystem):
        raise BadValue(f"end_state accepts systems x' = ..., not {type(system).__name__}.")
    starts, known = list(system.coordinates), list(system.parameters)
    by = next(iter([*known, *starts])) if by is None else by
    if by not in (*known, *starts):
        raise BadValue(
            f"'{system.name}' has no parameter or state {by!r}.{suggest(by, [*known, *starts])}"
        )
    of = starts[0] if of is None else of
    if of not in starts:
        raise BadValue(f"'{system.name}' has no state {of!r}.{suggest(of, starts)}")
    span = (
        system.t_end if t_end is None else number(t_end, "t_end", system.time_unit, positive=True)
    )
    given = values_given(system, rho, parameters)
    at = _values(system, by, values)
    i = starts.index(of)

    def asked(value: float) -> Run:
        if by in known:
            return {"t_end": span, "rho": {**given, by: value}}
        x0 = choose(system, None).compile(system).start(system.rho(given))[0]
        x0[starts.index(by)] = value
        return {"t_end": span, "rho": given, "x0": x0}

    curves = []
    if system.exact is not None and by in known:
        ends = [
            [_exact(system, span, {**given, by: v + k * _DELTA})[i] for k in (0, 1, -1)] for v in at
        ]
        curves.append(_curve("exact", np.array(ends)))
    for name, scheme in _named(system, schemes):
        if scheme.located:
            derivatives = [sensitivity(system, scheme, wrt=by, **asked(v)) for v in at]
            x = np.array([s.solution.x[-1, i] for s in derivatives])
            slope = np.array([s.S[-1, i, 0] for s in derivatives])
            curves.append(EndCurve(name, x, slope))
            continue
        with warnings.catch_warnings():  # of lessons this is one
            warnings.simplefilter("ignore", LessonWarning)
            ends = [
                [simulate(system, scheme, **asked(v + k * _DELTA)).q[-1, i] for k in (0, 1, -1)]
                for v in at
            ]
        curves.append(_curve(name, np.array(ends)))
    return EndState(system, span, of, by, at, tuple(curves))


def _curve(name: str, ends: np.ndarray) -> EndCurve:
    return EndCurve(name, ends[:, 0], (ends[:, 1] - ends[:, 2]) / (2 * _DELTA))


def _exact(system: StateSpaceSystem, t_end: float, rho: Numbers) -> np.ndarray:
    values = dict(zip(system.parameters, system.rho(rho), strict=True))
    assert system.exact is not None
    end: np.ndarray = system.exact(np.array([t_end]), values)["x"][0]
    return end


def _values(system: System, by: str, values: Sequence[float] | None) -> np.ndarray:
    if values is None:
        param = system.parameters.get(by)
        if param is None:
            raise BadValue(
                f"The start values of {by} are missing: give them, such as values=np.linspace(...)."
            )
        return np.linspace(param.low, param.high, 121)
    given = np.array([number(v, by) for v in values])
    if not 1 <= len(given) <= _MOST:
        raise BadValue(f"{len(given)} values of {by}: 1 to {_MOST} can be run.")
    return given


def _named(system: System, schemes: Schemes) -> list[tuple[str, Scheme]]:
    if schemes is None:
        schemes = schemes_for(system, lessons=True)
    if isinstance(schemes, Mapping):
        return [(str(name), choose(system, one)) for name, one in schemes.items()]
    if isinstance(schemes, str) or not isinstance(schemes, Sequence):
        schemes = [schemes]
    chosen = [choose(system, one) for one in schemes]
    return [(repr(one), one) for one in chosen]
