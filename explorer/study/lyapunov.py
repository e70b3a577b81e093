"""Lyapunov exponents: how fast nearby motions part, in each direction."""

from __future__ import annotations

from explorer.dispatch.simulate import named_like_a_start
from explorer.errors import BadValue
from explorer.study import study
from explorer.study.asked import Chosen
from explorer.study.flow_spectrum import FlowExponents, flow_spectrum
from explorer.study.map_spectrum import MapExponents, map_spectrum
from explorer.systems import MapSystem, System, check_system, values_given
from explorer.types import Numbers, Reals, Value

__all__ = ["lyapunov"]


@study
def lyapunov(
    system: System,
    scheme: Chosen | None = None,
    *,
    period: Value | None = None,
    intervals: int | None = None,
    iterates: int | None = None,
    transient: int | None = None,
    x0: Reals | None = None,
    rho: Numbers | None = None,
    **parameters: float,
) -> FlowExponents | MapExponents:
    """Return the Lyapunov exponents of a flow or of a map with their standard errors.

    Parameters
    ----------
    system : MechanicalSystem, HybridSystem, StepSystem or MapSystem
    scheme : EventDriven, or Iteration of a map, optional
    period : float or formula of the parameters, optional
        Length of an interval in s, after which the directions are made orthonormal; the period of a
        system that depends on t. By default a fortieth of t_end.
    intervals : int, optional
        For a flow: how many intervals are averaged, by default 400, at least 64.
    iterates : int, optional
        For a map: how many iterates are averaged, by default 100 000, at least 64.
    transient : int, optional
        Intervals or iterates that are left out before, by default 100 or 1000.
    x0 : (n_x,) float, optional
        By default the start of the system. As for `simulate`, a single number sets the parameter
        of this name, if there is one.
    rho, **parameters
        Parameters by name.

    Returns
    -------
    FlowExponents or MapExponents
        In 1/s, or per iterate. If a flow does not depend on t, the exponent along the flow is zero,
        unless the motion comes to rest.

    Raises
    ------
    BadValue
        An argument is out of range, or belongs to the other kind of system; a period is missing; an
        interval is too long; the orbit of a map escapes.
    NotApplicable
        The scheme does not locate events.
    StepFailed
        The run has failed, or has met an event without speed, where no derivative exists.

    Examples
    --------
    >>> import numpy as np
    >>> import explorer as ex
    >>> found = ex.study.lyapunov(ex.models.impact_oscillator(), period="2*pi/omega", s=0,
    ...                           x0=[-4.576, 4.243], intervals=64)
    >>> bool(np.isclose(found.exponents.sum(), 2 * np.log(0.8) / np.pi))  # ln |det Xi| = 2 ln e
    True
    >>> found = ex.study.lyapunov(ex.models.tent_map(), mu=1.5)
    >>> bool(np.isclose(found.exponents[0], np.log(1.5)))
    True
    """
    check_system(system)
    begun = {"x0": x0}
    given = values_given(system, rho, parameters) | named_like_a_start(system, begun)
    x0 = begun["x0"]
    if isinstance(system, MapSystem):
        if period is not None or intervals is not None:
            raise BadValue(
                f"'{system.name}' is a map: it has no period and no intervals. Give iterates=..."
            )
        many = 100_000 if iterates is None else iterates
        return map_spectrum(system, scheme, many, _usual(transient, 1000), x0, given)
    if iterates is not None:
        raise BadValue(f"'{system.name}' is no map: give intervals=..., not iterates.")
    return flow_spectrum(
        system,
        scheme,
        period=period,
        intervals=400 if intervals is None else intervals,
        transient=_usual(transient, 100),
        x0=x0,
        rho=given,
    )


def _usual(value: int | None, usual: int) -> int:
    return usual if value is None else value
