"""The recipe of a run as plain data, and what a file keeps of it."""

from __future__ import annotations

import platform
from importlib import metadata

import numpy as np

from explorer.results.export import BASE
from explorer.results.run import Run
from explorer.systems.driving import undriven
from explorer.types import Plain

__all__ = ["arrays", "spec"]

MARCHED = ("x", "rates", "lam", "z", "S", "mode", "slip")


def spec(run: Run) -> Plain:
    """Return the recipe as plain data: system, scheme, parameters, start, warnings, versions."""
    asked = run.asked or {}
    return {
        "format": 1,
        "system": undriven(run.system).to_spec(),
        "scheme": run.scheme.to_spec(),
        "rho": _parameters(run),
        "start": _start(run),
        "t_end": asked.get("t_end", float(run.t[-1])),
        "t_eval": asked.get("t_eval"),
        "record": asked.get("record"),
        **({} if run.system.drive is None else {"u": run.system.drive.to_plain()}),
        **({} if run.recorded is None else {"recorded": run.recorded.to_plain()}),
        "status": vars(run.status),
        "warned": list(run.warned),
        "route": list(run.route),
        "references": list(run.system.sources),
        "versions": {
            "python": platform.python_version(),
            **{k: metadata.version(k) for k in ("nonsmooth-explorer", "numba", "numpy")},
        },
    }


def _parameters(run: Run) -> dict[str, float]:
    """Return the parameters, without inputs that change."""
    drive, declared = run.system.drive, undriven(run.system).parameters
    if drive is None:
        return run.rho
    return {k: x for k, x in run.rho.items() if k in declared and k not in drive.names}


def _start(run: Run) -> Plain:
    """Return where the run began, as arguments of `simulate`."""
    if run.recorded is not None:
        return dict(run.recorded.start)
    if not run.has_velocities:
        modes = getattr(run.system, "modes", ())
        first = {"mode0": modes[run.recorded_row("mode")[0]].name} if modes else {}
        return {"x0": run.q[0].tolist(), **first}
    return {"q0": run.q[0].tolist(), "v0": run.v[0].tolist()}


def _is_recorded(run: Run, name: str, value: object) -> bool:
    """Whether an attribute is an array of the run, and not one that follows from others."""
    return isinstance(value, np.ndarray) and name[0] != "_" and not hasattr(type(run), name)


def arrays(run: Run) -> dict[str, np.ndarray]:
    """Return the arrays that a file keeps."""
    run.t  # noqa: B018 (makes the rows)
    kept = vars(run)
    if run.has("march"):
        names = [name for name in (*BASE, *MARCHED) if name in kept]
    else:  # whatever the scheme recorded
        names = [name for name, x in kept.items() if _is_recorded(run, name, x)]
    found = {name: kept[name] for name in names}
    return found if run.recorded is None else found | run.recorded.arrays
