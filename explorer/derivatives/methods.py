"""`sensitivity()`: derivatives of a run by five methods."""

from __future__ import annotations

from collections.abc import Callable

from explorer.derivatives.adjoint import solve_adjoint
from explorer.derivatives.complex_step import solve_complex
from explorer.derivatives.cost import CostLike
from explorer.derivatives.differences import solve_difference, solve_discrete
from explorer.derivatives.direct import Sensitivity, solve
from explorer.derivatives.judge import judged
from explorer.derivatives.question import ask
from explorer.errors import BadValue, suggest
from explorer.schemes import Scheme
from explorer.schemes.moreau_jean import MoreauJean
from explorer.systems import System, check_step, check_system, values_given
from explorer.systems.drive import Inputs
from explorer.systems.modes import Mode
from explorer.types import Names, Numbers, Plain, Reals

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
    scheme: Scheme | type[Scheme] | str | None = None,
    wrt: Names | None = None,
    cost: CostLike | None = None,
    method: str = "direct",
    *,
    t_end: float | None = None,
    until: str | tuple[str, int] | None = None,
    t_eval: Reals | None = None,
    q0: Reals | float | None = None,
    v0: Reals | float | None = None,
    x0: Reals | float | None = None,
    mode0: str | Mode | None = None,
    rho: Numbers | None = None,
    u: Inputs | None = None,
    delta: float = 1e-6,
    h: float | None = None,
    directional: str = "refuse",
    check: bool = False,
    **parameters: float,
) -> Sensitivity:
    """Compute the derivatives of a trajectory and of a cost by parameters.

    Parameters
    ----------
    system : System
        A system whose events a scheme locates: mechanical, hybrid, Filippov, with step functions.
    scheme : EventDriven or FESD, optional
        `EventDriven` applies its tolerances to the sensitivities, too. `FESD` differentiates its
        discrete solution, which is exact at any step size. For "discrete", the `MoreauJean` that is
        differentiated.
    wrt : str or sequence of str, optional
        Parameters, or states, whose start is meant. By default all parameters.
    cost : Cost, formula or dict, optional
        psi = int g dt + w; a single formula is g. In g, ``a_<coordinate>`` is an acceleration.
    method : str
        "direct", "adjoint", "complex_step", "finite_difference" or "discrete".
    t_end : float, optional
        Final time in s; by default that of the system.
    until : str or (str, int), optional
        The cost ends at this event: the name of a contact or guard, and the number of the event,
        from 1. It uses the left limit there. The run goes on to `t_end`.
    t_eval : (k,) times of the rows, optional
    q0, v0, x0, mode0 : optional
        The start, as for `simulate`. A start that is given depends on no parameter.
    u : dict, array or Input, optional
        Inputs along time, as for `simulate`. Value k of the input u is then the parameter "u[k]",
        and "u[:]" names all of its values; the adjoint finds them all for the price of one.
    rho, **parameters
        Parameters by name. The others keep their defaults.
    delta, h : float
        Step of the finite difference, relative for a parameter > 1; step size of "discrete" in s.
        With another method h is the parameter of this name, if the system has one.
    directional : str
        What to do if events coincide and a parameter decides their order, so that the one-sided
        derivatives differ. "refuse" raises an error. "both" returns them as `left` and `right`,
        with NaN in `cost_gradient`; `along` gives any direction.
    check : bool
        Whether "adjoint" also runs the direct method and compares: `residuals` then has "direct"
        and "duality". The methods other than "direct" and "adjoint" always compare.

    Returns
    -------
    Sensitivity
        After an event that grazes so closely that the tolerances do not determine its derivative,
        the entries are NaN, and `cautions` says so. A difference is NaN where one run is over.

    Raises
    ------
    BadValue, BadModel, NotApplicable
        If the arguments are inconsistent. The message explains why and suggests a fix.
    StepFailed
        If the run stops early.

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
    h, values = _step(system, method, h, values_given(system, rho, parameters))
    start = {"q0": q0, "v0": v0, "x0": x0, "mode0": mode0}
    stepping = scheme if method == "discrete" and isinstance(scheme, MoreauJean) else None
    scheme = scheme if stepping is None else None
    question = ask(system, scheme, wrt, cost, t_end, until, t_eval, values, start, u)
    if method == "finite_difference":
        found = solve_difference(question, delta)
    elif method == "discrete":
        return solve_discrete(question, h, stepping)
    elif method == "adjoint":
        found = solve_adjoint(question, check)
    else:
        found = METHODS[method](question)
    return judged(found, directional == "both")


def _step(
    system: System, method: str, h: float | None, values: Plain
) -> tuple[float | None, Plain]:
    """Return the step size of "discrete", and the parameters with h where h is one of them.

    Raises
    ------
    BadValue
        If h is neither; if it may be both.
    """
    if h is None:
        return None, values
    check_system(system)
    if method == "discrete":
        check_step(system, h, values)
        return h, values
    if "h" in system.parameters:
        return None, {**values, "h": h}
    raise BadValue(
        f"h = {h!r} is the step size of method 'discrete', and method {method!r} takes none: leave "
        f"h out. '{system.name}' has no parameter h."
    )
