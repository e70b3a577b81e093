"""The checked numbers of a model: what was published, and what is measured when the book is built.

A model names its numbers in `System.published`, and how each is read off a run where it is
registered (`measures`). A closed form is a number too: the distance of a run to it.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, replace

import numpy as np

from explorer.dispatch.choose import schemes_for
from explorer.dispatch.simulate import simulate
from explorer.errors import ExplorerError
from explorer.models import models
from explorer.results.solution import Solution
from explorer.schemes import schemes
from explorer.study.asked import Chosen
from explorer.systems import System
from explorer.types import Settings

__all__ = ["Distance", "Number", "distance", "numbers"]

# how far a run with located events may be from a closed form, relative to the largest state: fifty
# times what the worst of the gallery is; and from that of what a model approaches
_LOCATED, _APPROACHED = 1e-6, 0.1
_OF_RUNS = ("t_end", "q0", "v0", "x0", "mode0")  # of a preset, beside parameters


@dataclass(frozen=True)
class Number:
    """A published number beside the measured one.

    Attributes
    ----------
    what, source : str
    published, tolerance : float
    measured : float
        NaN if nothing says how it is read off a run, or if the run failed.
    why : str
        Why it is NaN.
    failed : bool
        Whether it is NaN though something says how it is read off a run.
    """

    what: str
    published: float
    tolerance: float
    source: str
    measured: float = math.nan
    why: str = ""
    failed: bool = False

    @property
    def agrees(self) -> bool:
        """Whether the measured number lies within the tolerance of the published one."""
        return abs(self.measured - self.published) <= self.tolerance

    @property
    def problem(self) -> str:
        """What is wrong with it, in one sentence; "" if it agrees, or if nothing measures it."""
        if self.failed:
            return f"{self.what} was not measured: {self.why}"
        if self.agrees or math.isnan(self.measured):
            return ""
        return (
            f"{self.what} is {self.measured:.8g}, not {self.published:.8g} "
            f"within {self.tolerance:.1g}"
        )


@dataclass(frozen=True)
class Distance:
    """How far a run is from the closed form: the largest difference, in the model's own units.

    Attributes
    ----------
    largest, scale : float
        The largest difference, and the largest value of the closed form.
    scheme : str
    rows : int
        How many rows were compared.
    finer : float, optional
        The largest difference of a run with a tenth of the step, where the scheme has fixed steps.
    of : str
        What the closed form is of, if not of the model itself.
    """

    largest: float
    scale: float
    scheme: str
    rows: int
    finer: float | None = None
    of: str = ""

    @property
    def problem(self) -> str:
        """Why run and closed form do not belong together, in one sentence; or ""."""
        if self.finer is None:  # events were located, within the tolerance of the scheme
            bound = (_APPROACHED if self.of else _LOCATED) * self.scale
            if self.largest <= bound:
                return ""
            return (
                f"{self.scheme} differs from the closed form by {self.largest:.2g}, "
                f"more than {bound:.1g}"
            )
        if self.finer <= max(0.6 * self.largest, 1e-9 * self.scale):
            return ""
        return (
            f"with a tenth of the step, {self.scheme} differs from the closed form by "
            f"{self.finer:.2g}, before by {self.largest:.2g}"
        )


def numbers(name: str) -> list[Number]:
    """Return the numbers of a model of the gallery, measured now."""
    build = models[name]
    system = build()

    made: dict[str, Solution] = {}  # several numbers may be read off one run

    def run(scheme: Chosen | None = None, *, preset: str = "", **settings: object) -> Solution:
        asked = repr((scheme, preset, sorted(settings.items(), key=str)))
        if asked not in made:
            made[asked] = fresh(scheme, preset, settings)
        return made[asked]

    def fresh(scheme: Chosen | None, preset: str, settings: Settings) -> Solution:
        known = {*system.parameters, *_OF_RUNS}
        of_preset = {k: v for k, v in system.presets.get(preset, {}).items() if k in known}
        if isinstance(scheme, str):  # with its options among the settings
            own = {f.name for f in dataclasses.fields(schemes[scheme])} - known
            scheme = schemes[scheme](**{k: v for k, v in settings.items() if k in own})
            settings = {k: v for k, v in settings.items() if k not in own}
        return simulate(build(), scheme, **{**of_preset, **settings})

    found = []
    for what, (value, tolerance, source) in system.published.items():
        measure = getattr(build, "measures", {}).get(what)
        measured, why = math.nan, "" if measure else "measured by the tests only"
        if measure:
            try:
                measured = float(measure(run))
            except (ExplorerError, IndexError, AttributeError) as error:
                why = f"the run failed: {error}"
        failed = measure is not None and math.isnan(measured)
        why = why or ("the run has no such number" if failed else "")
        found.append(Number(what, value, tolerance, source, measured, why, failed))
    return found


def distance(system: System) -> Distance | None:
    """Return how far the run of a model is from its closed form; None if none is known for it.

    Events are located where a scheme of the system does that: the closed form has them too. A run
    of fixed steps is made again with a tenth of the step: what is left must be its discretization.
    """
    if system.exact is None:
        return None
    names = [type(s).__name__ for s in schemes_for(system)]
    located = next((s for s in ("EventDriven", "FESD") if s in names), None)
    run = simulate(system, located)
    largest, scale, rows = _apart(run, system)
    if not rows:
        return None
    finer = None
    if located is None and hasattr(run.scheme, "h"):
        finer = _apart(simulate(system, replace(run.scheme, h=run.scheme.h / 10)), system)[0]
    return Distance(largest, scale, type(run.scheme).__name__, rows, finer, system.exact_of)


def _apart(run: Solution, system: System) -> tuple[float, float, int]:
    """Return the largest difference, the largest value of the closed form, and the rows of both."""
    assert system.exact is not None
    gaps = np.diff(run.t) > 0
    keep = np.append(gaps, True)  # the right limits
    form = system.exact(run.t[keep], run.rho)
    key = next((key for key in ("q", "x") if key in form), None)
    if key is None:
        return 0.0, 0.0, 0
    found, exact = np.asarray(getattr(run, key))[keep], np.array(form[key])
    known = np.isfinite(exact)
    difference = np.abs(found - exact)
    jumps = np.append(False, ~gaps)[keep]  # a jump of the run, which round-off may put before
    if jumps.any():  # that of the closed form
        after = system.exact(run.t[keep] + 1e-9 * run.t[-1], run.rho)[key]
        difference[jumps] = np.fmin(difference, np.abs(found - after))[jumps]
    rows = int(known.any(axis=1).sum())
    size = float(np.abs(exact[known]).max(initial=0.0))
    return float(difference[known].max(initial=0.0)), size, rows
