"""Formulations of constraints side by side: drift, error and price of each, penalty over alpha.

The penalty's error falls as 1 / alpha (Corner et al. 2019, section 4.1; Garcia de Jalon and Bayo
1994). The others differ by where they hold phi = 0: at accelerations, velocities or positions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from explorer.arguments import items
from explorer.dispatch.choose import choose
from explorer.dispatch.simulate import simulate
from explorer.errors import BadValue, NotApplicable
from explorer.parameters import knobs_of, number, whole
from explorer.quantities import number as written
from explorer.results.display import html, plain
from explorer.results.solution import Solution
from explorer.schemes import Scheme
from explorer.schemes.event_driven import EventDriven
from explorer.study import study
from explorer.study.asked import Chosen, Run, with_knobs
from explorer.systems import MechanicalSystem, System, check_system
from explorer.verification.constraint_rates import constraint_drifts

__all__ = ["Formulated", "Formulations", "formulations"]

_KNOB, _PENALTY = "formulation", "penalty"
_ALPHAS = (1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10)
_RTOL = 1e-12  # of the reference
_HEADS = [
    "formulation",
    "largest phi",
    "largest phi'",
    "error at the end",
    "right-hand sides",
    "ms",
]


@dataclass(frozen=True, eq=False)
class Formulated:
    """One run.

    Attributes
    ----------
    name : str
    run : Solution
    phi, phi_dot : float
        Largest |phi| and |phi'| along the run.
    error : float
        Of the state at the end, max |x - x_ref| / (1 + |x_ref|).
    calls : int
        Right-hand sides that the run took; 0 of a scheme that does not count them.
    seconds : float
        Time of the run, the best of several.
    """

    name: str
    run: Solution
    phi: float
    phi_dot: float
    error: float
    calls: int
    seconds: float


@study
@dataclass(frozen=True, eq=False, repr=False)
class Formulations:
    """What `formulations` returns.

    Attributes
    ----------
    system : System
    reference : str
        Where the end that is compared with comes from.
    runs : tuple of Formulated
        One of each formulation.
    penalties : tuple of Formulated
        Those of the penalty, by rising alpha.
    alphas : (k,) float, kg
    """

    system: System
    reference: str
    runs: tuple[Formulated, ...]
    penalties: tuple[Formulated, ...]
    alphas: np.ndarray

    def __getitem__(self, name: str) -> Formulated:
        names = [one.name for one in self.runs]
        if name not in names:
            raise BadValue(f"There is no formulation {name!r}: {', '.join(names)}.")
        return self.runs[names.index(name)]

    @property
    def order(self) -> float:
        """The power of 1 / alpha by which the error of the penalty falls, before round-off."""
        error = np.array([one.error for one in self.penalties])
        kept = error > 1e3 * error.min(initial=np.inf)
        kept = kept if kept.sum() > 2 else error > 0
        if kept.sum() < 2:
            return float("nan")
        return float(-np.polyfit(np.log10(self.alphas[kept]), np.log10(error[kept]), 1)[0])

    def __repr__(self) -> str:
        return plain(_HEADS, self._rows(), f"Constraints of {self.system.name}")

    def _repr_html_(self) -> str:
        return html(_HEADS, self._rows(), f"Constraints of {self.system.name}")

    def _rows(self) -> list[list[str]]:
        return [
            [
                one.name,
                *(written(x, 2) for x in (one.phi, one.phi_dot, one.error)),
                f"{one.calls:,}".replace(",", " ") if one.calls else "",
                written(1e3 * one.seconds, 2),
            ]
            for one in self.runs
        ]


@study
def formulations(
    system: MechanicalSystem,
    scheme: Chosen | None = None,
    *,
    others: Mapping[str, Chosen] | None = None,
    alphas: Sequence[float] = _ALPHAS,
    t_end: float | None = None,
    repeats: int = 3,
    **parameters: float,
) -> Formulations:
    """Run every formulation of the constraints that a scheme has, and the penalty over alpha.

    The runs are compared with one at a tolerance of 1e-12 whose constraints hold.

    Parameters
    ----------
    system : MechanicalSystem with constraints
    scheme : a scheme with the knob `formulation`, by default EventDriven()
    others : dict of name to scheme, optional
        To be compared as well, such as ``{"Moreau-Jean": ex.MoreauJean(h=1e-3)}``.
    alphas : penalties in kg
    t_end : float, optional
        In s.
    repeats : int
        How often each run is timed; the best counts.
    **parameters : values of parameters

    Raises
    ------
    BadValue, NotApplicable
        If the system has no constraints, the scheme no formulations, or a run fails.

    Examples
    --------
    >>> import explorer as ex
    >>> cranks = ex.models.parallelogram()
    >>> found = ex.study.formulations(cranks, alphas=[1e4, 1e6], t_end=0.1, repeats=1)
    >>> round(found.order, 2)  # the error of the penalty falls as 1 / alpha
    1.0
    """
    check_system(system)
    if not getattr(system, "constraints", ()):
        raise NotApplicable(
            f"'{system.name}' declares no constraints, so there is nothing to formulate."
        )
    chosen = choose(system, EventDriven() if scheme is None else scheme)
    if _KNOB not in knobs_of(chosen):
        raise BadValue(
            f"{type(chosen).__name__} has no choice of a formulation; use EventDriven(...)."
        )
    asked: Run = {"rho": dict(parameters), "throw": False}
    if t_end is not None:
        asked["t_end"] = number(t_end, "t_end", "s", positive=True)
    again = whole(repeats, "repeats")
    tight = EventDriven(rtol=_RTOL, atol=_RTOL / 10)
    right = _ran("the reference", system, tight, asked)
    end = np.concatenate([right.q[-1], right.v[-1]])
    named = {
        form: with_knobs(chosen, formulation=form) for form in knobs_of(chosen)[_KNOB][1].choices
    }
    named |= {k: choose(system, one) for k, one in (others or {}).items()}
    runs = tuple(_timed(k, system, one, asked, end, again) for k, one in named.items())
    strong = np.sort([number(a, "alpha", "kg", positive=True) for a in items(alphas, "alphas")])
    penalties = tuple(
        _timed(
            _PENALTY, system, with_knobs(chosen, formulation=_PENALTY, alpha=a), asked, end, again
        )
        for a in (strong.tolist() if _PENALTY in named else [])
    )
    return Formulations(system, repr(tight), runs, penalties, strong[: len(penalties)])


def _ran(name: str, system: System, scheme: Scheme, asked: Run) -> Solution:
    run = simulate(system, scheme, **asked)
    if not run.status.ok:
        raise BadValue(f"The run of {name} failed: {run.status.message}")
    return run


def _timed(
    name: str, system: System, scheme: Scheme, asked: Run, end: np.ndarray, repeats: int
) -> Formulated:
    runs = [_ran(f"'{name}'", system, scheme, asked) for _ in range(repeats)]
    run = runs[0]
    x = np.concatenate([run.q[-1], run.v[-1]])
    phi, rates = constraint_drifts(run)
    return Formulated(
        name,
        run,
        float(np.nanmax(np.abs(phi), initial=0.0)),
        float(np.nanmax(np.abs(rates), initial=0.0)),
        float((np.abs(x - end) / (1 + np.abs(end))).max()),
        int(run.march.counts[2]) if run.has("march") else 0,
        min(one.seconds for one in runs),
    )
