"""`load()`: a saved run, with its system and its scheme."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from explorer.dispatch.simulate import observe, simulate
from explorer.errors import BadValue
from explorer.recorder import Recorded
from explorer.results.complementarity import ComplementaritySolution
from explorer.results.export import read_arrays
from explorer.results.frictional import ConstrainedSolution, DiscSolution, FrictionalSolution
from explorer.results.motion import Motion
from explorer.results.solution import Solution
from explorer.results.stepped import SteppedSolution
from explorer.schemes import Scheme, schemes
from explorer.status import Status
from explorer.systems import from_spec

__all__ = ["load"]


def load(path: str | Path) -> Solution:
    """Read a solution written by ``Solution.save``, its system and scheme included.

    A `Trajectory` runs again, for what lies between its rows; its arrays are those of the file.

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
        if "x" in arrays:
            solution = simulate(
                system, scheme, rho=spec["rho"], throw=False, t_end=spec["t_end"],
                t_eval=spec["t_eval"], **spec["start"],
            )  # fmt: skip
            arrays = {k: x for k, x in arrays.items() if hasattr(solution, k)}
            for name, values in arrays.items():
                if len(getattr(solution, name)) != len(values):
                    raise BadValue(
                        f"{str(path)!r} was written by nonsmooth-explorer "
                        f"{spec['versions']['nonsmooth-explorer']}, and this version finds other "
                        "events. Read its arrays with numpy.load."
                    )
                setattr(solution, name, values)
            solution.status = status
            return solution
        fields: dict[str, Any] = dict(arrays)
        if "recorded" in spec:
            kept = {k: fields.pop(k) for k in list(fields) if k.startswith("recorded_")}
            fields["recorded"] = Recorded.read(spec["recorded"], kept)
        empty = np.zeros((len(fields["t"]), 0))
        fields |= {k: empty for k in ("q", *Solution.ABSENT) if k not in fields}
        kinds = {
            "imbalance": Motion, "a": Motion, "partner": DiscSolution, "doing": FrictionalSolution,
            "phi": ConstrainedSolution, "side": ComplementaritySolution,
        }  # fmt: skip
        kind = next((k for name, k in kinds.items() if name in arrays), SteppedSolution)
        if kind is ComplementaritySolution:
            fields["laws"] = scheme.compile(system).system.laws
        solution = kind(
            **fields, status=status, system=system, scheme=scheme, rho=spec["rho"], route=route,
            asked={"t_end": spec["t_end"]},
        )  # fmt: skip
    except (KeyError, TypeError) as error:
        raise BadValue(
            f"The description of the run in {str(path)!r} is incomplete ({error})."
        ) from None
    solution.observe = observe
    return solution


def _scheme(spec: Mapping[str, Any]) -> Scheme:
    """Return the scheme that `Scheme.to_spec` described."""
    settings = {k: _scheme(x) if isinstance(x, Mapping) else x for k, x in spec.items()}
    return schemes[str(settings.pop("name"))](**settings)
