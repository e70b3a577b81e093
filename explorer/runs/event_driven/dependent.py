"""Constraints that follow from others at the start, and so have no force of their own."""

from __future__ import annotations

from explorer.certificate import Check
from explorer.runs.event_driven.changes import holding, sides_of
from explorer.runs.event_driven.run import Run
from explorer.systems import LagrangianSystem
from explorer.systems.assembly import dependence

__all__ = ["undetermined"]


def undetermined(run: Run) -> list[Check]:
    """Return the check that the forces of all constraints are determined, if there are any.

    A system that declares it, ``start(redundant=True)``, has forces that it does not ask for.
    """
    flow, system, rows = run.flow, run.flow.system, run.flow.rows
    if not flow.n_phi or not len(run.steps.t) or not isinstance(system, LagrangianSystem):
        return []
    hold = holding(run, sides_of(run)[:1])[0]
    own = run.steps.state[0, 1 + rows - flow.n_phi : 1 + rows] == 1
    free, words = int((hold & ~own).sum()), ""
    if free and not system.redundant:
        inp = flow.input(run.rho)
        inp[0], inp[1 : 1 + flow.n_x] = 0.0, run.steps.y[0, : flow.n_x]
        G = flow.bundles[1](inp)[2 * rows : (2 + flow.n) * rows].reshape(rows, flow.n)
        some = [c for c, on in zip(system.constraints, hold, strict=True) if on]
        which = dependence(some, G[rows - flow.n_phi :][hold])
        words = (
            f"At the start {which}, so its force is not determined and is set to zero. Remove it, "
            "or declare it: start(redundant=True)."
        )
    return [Check("independent constraints", 0.0 if system.redundant else free, 0.0, "", words)]
