"""`rerun()`: simulate a solution again."""

from __future__ import annotations

from explorer.arguments import a
from explorer.dispatch.simulate import simulate
from explorer.recorder import Recorder
from explorer.results.solution import Solution
from explorer.systems.driving import undriven

__all__ = ["rerun"]


def rerun(solution: Solution, **changes: object) -> Solution:
    """Simulate a solution again with the same arguments; `changes` replaces some of them.

    Parameters
    ----------
    solution : Solution
        A run of `simulate`, or one that `load` has read. Its scheme is used again.
    **changes
        Arguments of `simulate`, and parameters by name, that replace those of the run.

    Returns
    -------
    Solution

    Raises
    ------
    BadModel, BadValue, NotApplicable, StepFailed
        As `simulate`.

    Examples
    --------
    >>> import explorer as ex
    >>> run = ex.simulate(ex.models.bouncing_ball(), e=0.5)
    >>> ex.rerun(run, e=0.7, t_end=1.0).rho["e"]
    0.7
    """
    a(solution, Solution, "a run", "rerun(ex.simulate(system))")
    spec, system = solution.spec, undriven(solution.system)
    rho = {k: x for k, x in solution.rho.items() if k in system.parameters}
    if solution.system.drive is not None:
        rho = {k: x for k, x in rho.items() if k not in solution.system.drive.names}
    arguments = {k: spec[k] for k in ("t_end", "t_eval")} | {"rho": rho, "u": spec.get("u")}
    if spec["record"] is not None:
        arguments["record"] = Recorder(**spec["record"])
    arguments |= changes
    start = {k: x for k, x in spec["start"].items() if "x0" not in changes or k == "mode0"}
    return simulate(system, solution.scheme, **{**start, **arguments})
