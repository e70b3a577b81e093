"""Two starts at once: how far two runs are apart over time, and what the derivative predicts.

The second run begins beside the first one, at x0 + d. To first order they are apart by S(t) d,
where S is the derivative of the state by its start, carried through every event by its saltation
matrix (Corner, Sandu and Sandu 2019, eq. (35)); of a map it is the product of the Jacobians of the
branches that the orbit takes. Between an impact of one run and that of the other their velocities
differ by the whole jump, however close the starts are: the distance has a peak there that no
derivative shows (Biemond, van de Wouw, Heemels and Nijmeijer, IEEE Trans. Autom. Control 58 (2013)
876, doi:10.1109/TAC.2012.2223351).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from explorer.compiled.maps import compile_map
from explorer.derivatives import sensitivity
from explorer.derivatives.question import locating
from explorer.dispatch.choose import choose
from explorer.dispatch.simulate import simulate
from explorer.errors import BadValue, ExplorerError, NotApplicable, suggest
from explorer.parameters import number
from explorer.results.solution import Solution
from explorer.schemes import Scheme
from explorer.study import study
from explorer.study.asked import Chosen
from explorer.systems import MapSystem, StateSpaceSystem, System, check_system, values_given
from explorer.systems.drive import Inputs
from explorer.systems.modes import Mode
from explorer.types import Numbers, Plain, Reals
from explorer.warned import unsaid

__all__ = ["Apart", "TwoStarts", "state_names", "two_starts"]

_EVEN = 600  # times at least at which located runs are compared
_MET = 1e-13  # of the range of each state: what is closer has met, up to round-off


@dataclass(frozen=True)
class Apart:
    """A distance over time.

    Attributes
    ----------
    t : (k,) times; at a jump twice, for both limits
    distance : (k,) root mean square over the states of what they differ by, each relative to the
        range of the first run
    jumps : (m,) rows before which it jumps
    """

    t: np.ndarray
    distance: np.ndarray
    jumps: np.ndarray


@study
@dataclass(frozen=True, repr=False)
class TwoStarts:
    """Two runs of one system that begin beside each other.

    Attributes
    ----------
    system : System
    offset : dict of str to float
        By what the second start differs, by the names of the states.
    first, second : Solution
    apart : Apart
        The distance of the two runs.
    predicted : Apart or None
        What it is to first order; None where no derivative exists.
    caution : str
        Why the prediction is missing or doubtful, or "".
    ranges : (n_x,) the range of each state in the first run
    """

    system: System
    offset: Mapping[str, float]
    first: Solution
    second: Solution
    apart: Apart
    predicted: Apart | None
    caution: str
    ranges: np.ndarray = field(repr=False)

    @property
    def met(self) -> float | None:
        """Time from which on the two runs are the same up to round-off, or None."""
        far = np.flatnonzero(self.apart.distance > _MET)
        if not len(far) or far[-1] == len(self.apart.t) - 1:
            return None
        return float(self.apart.t[far[-1] + 1])

    def __repr__(self) -> str:
        by = ", ".join(f"{k} + {v:g}" for k, v in self.offset.items())
        begin, end = self.apart.distance[[0, -1]]
        text = f"TwoStarts of {self.system.name!r} ({by}): {begin:.3g} apart, {end:.3g} at the end"
        if self.predicted is not None:
            text += f", {self.predicted.distance[-1]:.3g} predicted"
        return text


@study
def two_starts(
    system: System,
    scheme: Chosen | None = None,
    *,
    offset: Mapping[str, float],
    t_end: float | None = None,
    q0: Reals | float | None = None,
    v0: Reals | float | None = None,
    x0: Reals | float | None = None,
    mode0: str | Mode | None = None,
    rho: Numbers | None = None,
    u: Inputs | None = None,
    **parameters: float,
) -> TwoStarts:
    """Run a system from a start and from one beside it, and compare their distance with S(t) d.

    Parameters
    ----------
    system : System
        Of any kind, a map too.
    scheme : Scheme, optional
        The scheme of both runs. The prediction is that of `EventDriven` or `FESD`, which locate
        events.
    offset : dict
        By how much the second start differs, by the names of states, in their units: ``{"y": 1e-3,
        "v_y": 0.1}``.
    t_end, q0, v0, x0, mode0, rho, u, **parameters
        As for `explorer.simulate`: the first start.

    Raises
    ------
    BadValue
        There is no offset, a state is unknown, or a start is inadmissible.
    NotApplicable
        The scheme takes other steps in the two runs, so they have too few common times.

    Examples
    --------
    >>> import explorer as ex
    >>> found = ex.study.two_starts(ex.models.tent_map(), offset={"x": 1e-9}, mu=2.0, t_end=10)
    >>> round(float(found.apart.distance[-1] / found.apart.distance[0]), 3)  # 2^10
    1024.0
    """
    check_system(system)
    names = state_names(system)
    d = _direction(system, names, offset)
    given = values_given(system, rho, parameters)
    asked: Plain = {"t_end": t_end, "mode0": mode0, "rho": given, "u": u}
    chosen = choose(system, scheme)
    starts = {"q0": q0, "v0": v0, "x0": x0}
    first = simulate(system, chosen, **_there(asked | starts))
    begin = _states(first, np.zeros(1))[0] if first.has("march") else _rows_of(first)[0]
    begin = np.array(begin, float)
    n = first.q.shape[1]
    other = begin + d
    moved = {"q0": other[:n], "v0": other[n:]} if first.has_velocities else {"x0": other}
    with unsaid():  # the first run warns, and the caution tells what constraints take back
        second = simulate(system, chosen, **_there(asked | moved))
    ranges = np.ptp(_rows_of(first), axis=0)
    ranges = np.where(ranges > 0, ranges, np.maximum(np.abs(begin), 1.0))
    predicted, caution = _predicted(system, chosen, names, d, ranges, asked | starts, first)
    told = {k: float(x) for k, x in zip(names, d, strict=True) if x}
    apart = _apart(first, second, ranges)
    if not apart.distance[0]:
        caution = (
            f"The offset of {' and '.join(told)} is taken back: constraints or contacts hold this "
            "state at the start. Offset another one."
        )
    return TwoStarts(system, told, first, second, apart, predicted, caution, ranges)


def state_names(system: System) -> tuple[str, ...]:
    """Return the names of all states: coordinates, and ``v_<coordinate>`` of those that have it."""
    names = system.coordinates
    rates = () if isinstance(system, StateSpaceSystem) else (f"v_{name}" for name in names)
    return (*names, *rates)


def _there(arguments: Mapping[str, object]) -> Plain:
    return {k: x for k, x in arguments.items() if x is not None}


def _direction(system: System, names: tuple[str, ...], offset: Mapping[str, float]) -> np.ndarray:
    if not isinstance(offset, Mapping) or not offset:
        raise BadValue(
            f"offset = {offset!r} must say by what the second start differs: "
            f'{{"{names[0]}": 0.001}}.'
        )
    d = np.zeros(len(names))
    for name, value in offset.items():
        if name not in names:
            raise BadValue(f"'{system.name}' has no state {name!r}.{suggest(name, names)}")
        d[names.index(name)] = number(value, f"The offset of {name}")
    if not d.any():
        raise BadValue("The offset is zero, so the two starts are one. Give one that is not zero.")
    return d


def _rows_of(run: Solution) -> np.ndarray:
    """Return all states along the rows, (n_t, n_x)."""
    return np.hstack([run.q, run.v]) if run.has_velocities else run.q


def _states(run: Solution, t: np.ndarray) -> np.ndarray:
    """Return all states of a run with located events at any times; at an event the right limit."""
    count = len(state_names(run.system))  # behind them stand those that events remember
    states: np.ndarray = run.march.sample(t, exact=False)[0][:, :count]
    return states


def _norm(differences: np.ndarray, ranges: np.ndarray) -> np.ndarray:
    """Return the root mean square over the states, (k,)."""
    size: np.ndarray = np.sqrt(np.mean((differences / ranges) ** 2, axis=1))
    return size


def _apart(first: Solution, second: Solution, ranges: np.ndarray) -> Apart:
    if first.has("march"):
        end = min(float(first.t[-1]), float(second.t[-1]))
        hits = np.unique(np.concatenate([first.march.hits, second.march.hits]))
        hits = hits[(hits > 0) & (hits <= end)]
        knots = np.concatenate([first.march.knots, second.march.knots])
        t = np.concatenate([np.linspace(0.0, end, _EVEN + 1), knots, hits])
        t = np.unique(np.concatenate([t[t <= end], np.nextafter(hits, 0.0)]))
        distance = _norm(_states(second, t) - _states(first, t), ranges)
        return Apart(t, distance, np.searchsorted(t, hits))
    t, at, beside = np.intersect1d(first.t, second.t, return_indices=True)
    if len(t) < 2:
        raise NotApplicable(
            f"{type(first.scheme).__name__} takes other steps in the two runs, so they have no "
            "common times. Take a scheme with fixed steps, or EventDriven."
        )
    distance = _norm(_rows_of(second)[beside] - _rows_of(first)[at], ranges)
    if first.system.discrete:
        return Apart(t, distance, np.zeros(0, int))
    jumps = np.concatenate([first.t[first.jump_rows], second.t[second.jump_rows]])
    return Apart(t, distance, np.unique(np.searchsorted(t, jumps[jumps <= t[-1]])))


def _predicted(
    system: System,
    scheme: Scheme,
    names: tuple[str, ...],
    d: np.ndarray,
    ranges: np.ndarray,
    asked: Mapping[str, object],
    first: Solution,
) -> tuple[Apart | None, str]:
    """Return the distance to first order, and what is to be said of it."""
    if isinstance(system, MapSystem):
        return _of_map(first, d, ranges), ""
    kind = locating(system)
    if not (scheme.differentiates(system) or kind.differentiates(system)):
        return None, "No scheme locates the events of this system, so nothing is predicted."
    chosen: Scheme | type[Scheme] = scheme if scheme.differentiates(system) else kind
    wrt = [name for name, x in zip(names, d, strict=True) if x]
    try:
        sens = sensitivity(system, chosen, wrt, **_there(asked))
        run = sens.solution
        rows = run.march.trajectory(np.linspace(0.0, float(run.march.t_last), _EVEN + 1))
        S = rows.S[:, : len(names)]
        caution = " ".join(sens.cautions)
    except ExplorerError as error:
        return None, f"Nothing is predicted: {error}"
    if not np.isfinite(S).all() and not caution:
        caution = "The prediction ends where an event is met without speed."
    distance = _norm(S @ d[d != 0], ranges)
    jumps = np.unique([event.row for event in rows.located]).astype(int)
    return Apart(rows.t, distance, jumps[jumps > 0]), caution


def _of_map(run: Solution, d: np.ndarray, ranges: np.ndarray) -> Apart:
    """Return the distance by the Jacobian of the branch of each iterate."""
    compiled = compile_map(run.system)
    native, n = compiled.tangents, compiled.n_x
    inp = compiled.input([*run.rho.values()])
    along = np.empty((len(run.t), n))
    along[0] = d
    for k, row in enumerate(run.q[:-1]):
        inp[0], inp[1 : 1 + n] = run.t[k], row
        along[k + 1] = native(inp)[n : n + n * n].reshape(n, n) @ along[k]
    return Apart(run.t, _norm(along, ranges), np.zeros(0, int))
