"""`simulate()`: route a system to a scheme, compile, run, judge the status."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from explorer.compiled import compile_system
from explorer.errors import BadValue, NotApplicable, StepFailed, suggest
from explorer.parameters import knobs_of, number
from explorer.progress import bar
from explorer.schemes import Scheme, schemes
from explorer.solution import Solution, read_arrays
from explorer.status import Status
from explorer.systems import LagrangianSystem, System, from_spec

__all__ = ["applicability", "load", "rerun", "schemes_for", "simulate"]


def simulate(
    system: LagrangianSystem,
    scheme: Scheme | type[Scheme] | str | None = None,
    *,
    t_end: float | None = None,
    q0: Any = None,
    v0: Any = None,
    throw: bool = True,
    rho: Mapping[str, Any] | None = None,
    **parameters: Any,
) -> Solution:
    """Simulate a system from t = 0.

    Parameters
    ----------
    system : System
    scheme : Scheme, its class, or its name
        By default the first one that takes the system, with the system's own step size.
    t_end : float, optional
        In s; by default the system's.
    q0, v0 : (n,) float, optional
        Start; by default the system's own formulas.
    throw : bool
        Whether a failed run raises; else it is returned with its status.
    rho, **parameters
        Parameters by name; those not given keep their default.

    Returns
    -------
    Solution

    Raises
    ------
    BadModel, BadValue, NotApplicable
        The question makes no sense: a sentence says why and what would work.
    StepFailed
        The run stopped early; ``error.solution`` is the part that was computed.

    Examples
    --------
    >>> import explorer as ex
    >>> sol = ex.simulate(ex.models.bouncing_ball(), ex.MoreauJean(h=5e-3), e=0.5)
    >>> sol.status.name
    'success'
    """
    chosen = choose(system, scheme)
    warm()
    values = system.rho({**(rho or {}), **parameters})
    span = system.t_end if t_end is None else number(t_end, "t_end", "s")
    n = system.n
    q, v = _state(q0, n, "q0"), _state(v0, n, "v0")
    solution = chosen.run(chosen.compile(system), values, span, q0=q, v0=v)
    solution.observe = observe
    if throw and not solution.status.ok:
        raise StepFailed(f"'{system.name}': {solution.status.message}", solution)
    return solution


def warm(progress: Callable[[int, int, str], None] = bar) -> None:
    """Compile the kernels if this machine has not done so yet, and say so (a minute, once)."""
    from explorer.kernels import jit

    if not jit.is_warm():
        jit.warm(progress)


def _state(value: Any, n: int, what: str) -> np.ndarray | None:
    if value is None:
        return None
    items = [value] if np.ndim(value) == 0 else list(value)
    if len(items) != n:
        raise BadValue(f"{what} needs {n} numbers, but {len(items)} given.")
    return np.array([number(x, f"{what}[{i}]") for i, x in enumerate(items)])


def choose(system: System, scheme: Scheme | type[Scheme] | str | None) -> Scheme:
    """Return a scheme instance that takes the system, or refuse with what would."""
    if not isinstance(system, System):
        raise BadValue(
            f"{system!r} is not a system: build one, e.g. explorer.MechanicalSystem(...), or call "
            "a model, e.g. explorer.models.bouncing_ball()."
        )
    if scheme is None:
        return schemes_for(system)[0]
    if isinstance(scheme, str):
        scheme = schemes[scheme]
    if isinstance(scheme, type) and issubclass(scheme, Scheme):
        scheme = scheme()
    if not isinstance(scheme, Scheme):
        raise BadValue(f"{scheme!r} is not a scheme.{suggest(scheme, schemes)}")
    if not isinstance(system, scheme.accepts):
        others = ", ".join(type(s).__name__ for s in schemes_for(system)) or "none yet"
        kind = type(scheme).__name__
        raise NotApplicable(
            f"{kind} cannot integrate '{system.name}'.\n"
            f"  {system.name}   {type(system).__name__}\n"
            f"  {kind}   takes {scheme.takes}\n"
            f"  Take it as it is: {others}."
        )
    return scheme


def schemes_for(system: System) -> list[Scheme]:
    """Return a default instance of every scheme that takes the system, with its step size."""
    found = [s for s in schemes.values() if isinstance(system, s.accepts)]
    return [s(**({"h": system.h} if "h" in knobs_of(s) else {})) for s in found]


def applicability(systems: Mapping[str, System]) -> dict[str, dict[str, bool]]:
    """Return ``{system: {scheme: taken?}}``, generated from what the schemes say they accept."""
    return {
        name: {s: isinstance(system, kind.accepts) for s, kind in schemes.items()}
        for name, system in systems.items()
    }


def observe(solution: Solution, bundle: str) -> np.ndarray:
    """Evaluate a bundle of the system's equations along a solution: (n_t, outputs)."""
    from explorer.kernels.rows import evaluate

    compiled = compile_system(solution.system)
    if bundle == "energy" and compiled.linear:
        system = solution.system
        kinetic = 0.5 * np.einsum("ti,ij,tj->t", solution.v, system.M, solution.v)
        elastic = 0.5 * np.einsum("ti,ij,tj->t", solution.q, system.K, solution.q)
        f = compiled.bundles["force"](compiled.input(list(solution.rho.values())))
        if all(not x.free_symbols - set(system.symbols(state=False).values()) for x in system.f):
            return np.column_stack([kinetic, elastic - solution.q @ f])
        return kinetic[:, None]
    native = compiled.bundles[bundle]
    inp = compiled.input(list(solution.rho.values()))
    result = np.empty((len(solution.t), native.size))
    contiguous = [np.ascontiguousarray(a) for a in (solution.t, solution.q, solution.v)]
    evaluate(native.address, native.data, *contiguous, inp, np.empty(max(native.size, 1)), result)
    return result


def load(path: str | Path) -> Solution:
    """Read a solution written by ``Solution.save``, its system and scheme included.

    Raises
    ------
    BadValue
        If the file is not a saved solution.
    """
    arrays, spec = read_arrays(path)
    try:
        settings = dict(spec["scheme"])
        scheme = schemes[settings.pop("name")](**settings)
        solution = Solution(
            **arrays,  # type: ignore[arg-type]
            status=Status(**spec["status"]), system=from_spec(spec["system"]),
            scheme=scheme, rho=spec["rho"], route=tuple(spec["route"]),
        )  # fmt: skip
    except (KeyError, TypeError) as error:
        raise BadValue(f"The recipe in {str(path)!r} is incomplete ({error}).") from None
    solution.observe = observe
    return solution


def rerun(solution: Solution, **changes: Any) -> Solution:
    """Simulate the recipe of a solution again; `changes` are arguments of `simulate`."""
    spec = solution.spec
    arguments = {
        "t_end": spec["t_end"], "q0": spec["start"]["q"], "v0": spec["start"]["v"],
        "rho": solution.rho, **changes,
    }  # fmt: skip
    return simulate(solution.system, solution.scheme, **arguments)
