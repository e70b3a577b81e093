"""`sensitivity()`: one question, five ways to answer it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from explorer.derivatives.adjoint import solve_adjoint
from explorer.derivatives.complex_step import solve_complex
from explorer.derivatives.differences import solve_difference, solve_discrete
from explorer.derivatives.direct import Sensitivity, solve
from explorer.derivatives.judge import judged
from explorer.derivatives.question import ask
from explorer.errors import BadValue, suggest
from explorer.schemes.moreau_jean import MoreauJean
from explorer.systems import System

__all__ = ["METHODS", "sensitivity"]

METHODS: dict[str, Callable[..., Sensitivity]] = {
    "direct": solve,
    "adjoint": solve_adjoint,
    "complex_step": solve_complex,
    "finite_difference": solve_difference,
    "discrete": solve_discrete,
}


def sensitivity(
    system: System,
    scheme: Any = None,
    wrt: Any = None,
    cost: Any = None,
    method: str = "direct",
    *,
    t_end: float | None = None,
    until: str | tuple[str, int] | None = None,
    t_eval: Any = None,
    q0: Any = None,
    v0: Any = None,
    x0: Any = None,
    mode0: Any = None,
    rho: Mapping[str, Any] | None = None,
    delta: float = 1e-6,
    h: float | None = None,
    directional: str = "refuse",
    check: bool = False,
    **parameters: Any,
) -> Sensitivity:
    """Differentiate a trajectory and a cost by parameters.

    Parameters
    ----------
    system : System
        One whose events a scheme locates: mechanical, hybrid, Filippov, with step functions.
    scheme : EventDriven or FESD, optional
        The tolerances of EventDriven hold for the sensitivities too; those of FESD are the
        derivative of its discrete solution, exact at any step size. For "discrete" the `MoreauJean`
        that is differentiated, too.
    wrt : str or sequence of str, optional
        Parameters; the name of a state means its start. By default all parameters.
    cost : Cost, formula or dict, optional
        psi = int g dt + w; a formula alone is g. In g ``a_<coordinate>`` is an acceleration.
    method : str
        "direct", "adjoint", "complex_step", "finite_difference" or "discrete".
    t_end : float, optional
        Final time in s; by default the system's.
    until : str or (str, int), optional
        The final time is this event (of a contact or guard, by name; its number, from 1); the cost
        takes the left limit there.
    t_eval : (k,) times of the rows, optional
    q0, v0, x0, mode0 : optional
        The start, as `simulate` takes it. What is given depends on no parameter.
    rho, **parameters
        Parameters by name; those not given keep their default.
    delta, h : float
        Step of the finite difference (relative to a parameter > 1); step size of "discrete" in s.
    directional : str
        What to do where events meet in an order that a parameter decides, so that the derivative is
        another one to either side: "refuse", or "both", which returns them as `left` and `right`,
        with NaN in `cost_gradient`, and any direction by `along`.
    check : bool
        Whether "adjoint" runs the direct method too and compares: `residuals` has "direct" and
        "duality" then. The other methods but "direct" always compare.

    Returns
    -------
    Sensitivity
        Behind an event that grazes so closely that the tolerances do not tell its derivative there
        is no number but NaN; `cautions` says so.

    Raises
    ------
    BadValue, BadModel, NotApplicable
        The question makes no sense: a sentence says why and what would work.
    StepFailed
        The run stopped early.

    Examples
    --------
    >>> import explorer as ex
    >>> sens = ex.sensitivity(ex.models.bouncing_ball(), wrt=("g", "e"), t_end=1.0)
    >>> sens.V.shape[1:], round(float(sens.events[0].dt_drho[0]), 6)
    ((1, 2), -0.023013)
    """
    if method not in METHODS:
        raise BadValue(f"There is no method {method!r}.{suggest(method, METHODS)}")
    if directional not in ("refuse", "both"):
        raise BadValue(f"directional must be 'refuse' or 'both', not {directional!r}.")
    values = {**(rho or {}), **parameters}
    start = {"q0": q0, "v0": v0, "x0": x0, "mode0": mode0}
    stepping = scheme if method == "discrete" and isinstance(scheme, MoreauJean) else None
    scheme = scheme if stepping is None else None
    question = ask(system, scheme, wrt, cost, t_end, until, t_eval, values, start)
    if method == "finite_difference":
        found = solve_difference(question, delta)
    elif method == "discrete":
        return solve_discrete(question, h, stepping)
    elif method == "adjoint":
        found = solve_adjoint(question, check)
    else:
        found = METHODS[method](question)
    return judged(found, directional == "both")
