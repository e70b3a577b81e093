"""`load()`: a saved run, with its system and its scheme."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from explorer.compiled.observe import observe
from explorer.dispatch.simulate import simulate
from explorer.errors import BadValue
from explorer.recorder import Recorded
from explorer.results.export import read_arrays
from explorer.results.solution import Solution
from explorer.schemes import Scheme, schemes
from explorer.status import Status
from explorer.systems import System, from_spec
from explorer.systems.driving import driven
from explorer.types import Settings

__all__ = ["load"]


def load(path: str | Path) -> Solution:
    """Read a solution written by ``Solution.save``, its system and scheme included.

    A run with located events is computed again, so that it can be evaluated between its rows. Its
    arrays are those of the file.

    Raises
    ------
    BadValue
        If the file is not a saved solution.
    """
    arrays, spec = read_arrays(path)
    try:
        scheme, system = _scheme(spec["scheme"]), from_spec(spec["system"])
        system.references = tuple(spec.get("references", ()))
        status, route = Status(**spec["status"]), tuple(spec["route"])
        if "u" in spec and "x" not in arrays:
            system = driven(system, spec["u"], spec["t_end"])[0]
        if "x" in arrays:
            again = _again(path, arrays, spec, system, scheme)
            return again.concluded(status, again.warned, again.asked or {})
        recorded = None
        if "recorded" in spec:
            kept = {k: arrays.pop(k) for k in list(arrays) if k.startswith("recorded_")}
            recorded = Recorded.read(spec["recorded"], kept)
        empty = np.zeros((len(arrays["t"]), 0))
        rows = dict.fromkeys(("q", "v", "p", "gap", "gap_dot", "active"), empty) | arrays
        known = {"laws": scheme.compile(system).system.laws} if "side" in arrays else {}
        solution = Solution(
            rows,
            status=status,
            system=system,
            scheme=scheme,
            rho=dict(zip(system.parameters, system.rho(spec["rho"]), strict=True)),
            route=route,
            observe=observe,
            recorded=recorded,
            known=known,
        )
        asked = {k: spec[k] for k in ("t_end", "t_eval", "record", "u") if spec.get(k) is not None}
        return solution.concluded(status, (), asked)
    except (KeyError, TypeError) as error:
        raise BadValue(
            f"The description of the run in {str(path)!r} is incomplete ({error})."
        ) from None


def _again(
    path: str | Path,
    arrays: Mapping[str, np.ndarray],
    spec: Settings,
    system: System,
    scheme: Scheme,
) -> Solution:
    """Return the run of a scheme that locates events, repeated, with the arrays of the file.

    Raises
    ------
    BadValue
        This version finds other events.
    """
    solution = simulate(
        system,
        scheme,
        rho=spec["rho"],
        throw=False,
        t_end=spec["t_end"],
        t_eval=spec["t_eval"],
        u=spec.get("u"),
        **spec["start"],
    )
    rows = {k: x for k, x in arrays.items() if solution.has(k)}
    if any(len(getattr(solution, name)) != len(values) for name, values in rows.items()):
        raise BadValue(
            f"{str(path)!r} was written by nonsmooth-explorer "
            f"{spec['versions']['nonsmooth-explorer']}, and this version finds other "
            "events. Read its arrays with numpy.load."
        )
    solution.take(rows)
    return solution


def _scheme(spec: Settings) -> Scheme:
    """Return the scheme that `Scheme.to_spec` described."""
    settings = {k: _scheme(x) if isinstance(x, Mapping) else x for k, x in spec.items()}
    return schemes[str(settings.pop("name"))](**settings)
