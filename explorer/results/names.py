"""Which names a run has: those of its model, whatever scheme ran."""

from __future__ import annotations

import numpy as np

from explorer.arguments import a
from explorer.results.parts import PARTS
from explorer.results.run import Run
from explorer.results.steps import OF_SCHEMES

__all__ = ["ROWS", "absent", "beside", "checked", "listed"]

ROWS = (
    "t", "q", "v", "p", "gap", "gap_dot", "active", "iterations", "residuals", "x", "rates", "lam",
    "z", "S", "mode", "located", "lam_t", "lam_max", "p_t", "p_max", "slip", "sticks", "alpha",
    "theta", "c", "branch",
)  # fmt: skip  # what a run that marched makes of its record when one of them is first asked for

_OF_MOTION = (
    "v", "p", "gap", "gap_dot", "active", "lam_t", "lam_max", "p_t", "p_max", "slip", "sticks",
)  # fmt: skip
_OF_CONSTRAINTS = ("phi", "p_phi", "lam_phi", "holds")
_GIVEN = ("system", "scheme", "status", "rho", "seconds", "route", "warned", "asked", "recorded")
_INNER = {
    *("ABSENT", "beside", "by_laws", "cautioned", "concluded"),
    *("forget_rows", "kept", "recorded_row", "take"),
}


def checked(name: str) -> str:
    """Return the name of a part or of a quantity.

    Raises
    ------
    BadArgument
        It is no text.
    """
    if type(name) is not str:  # asked for often
        a(name, str, "the name of a part or of a quantity", "run.has('contacts')")
    return name


def absent(run: Run) -> tuple[str, ...]:
    """Return which rows of a scheme its system does not have.

    Of a system x' = ... lam is a multiplier where laws were solved. A mechanical one has no modes.
    """
    if not run.has_velocities:
        return _OF_MOTION if run.by_laws else (*_OF_MOTION, "lam")
    return ("mode",) if run.system.constraints else ("mode", *_OF_CONSTRAINTS)


def listed(run: Run, own: set[str]) -> list[str]:
    """Return the names that the model of a run has, among them those of its class, `own`.

    What one scheme alone has is not among them: `sol.steps` has it.
    """
    found = {*own, *_GIVEN, "t"} - _INNER - {*OF_SCHEMES}
    found -= set() if run.has_velocities else {"kinetic", "potential", "energy"}
    for name, part in PARTS.items():
        found |= {*part.told(run)} | (set() if part.absence(run) else {name})
    kept = run.recorded
    return sorted(k for k in found if kept is None or kept.kept(k) != ())


def beside(run: Run) -> list[str]:
    """Return the names of arrays that a scheme recorded besides what all schemes record."""
    run.t  # noqa: B018 (makes the rows)
    common = {*OF_SCHEMES, *ROWS, *(k for part in PARTS.values() for k in part.flat)}
    return [
        name
        for name, x in vars(run).items()
        if isinstance(x, np.ndarray) and name[0] != "_" and name not in common
        if not hasattr(type(run), name)
    ]
