"""Which unknown parameters a solution determines: the curvature of its cost along them.

Let the solution follow the unknowns theta on its active set. Its cost has the second derivative

    J_theta,theta = H_tt - B' K^-1 B,   K = [[H, A'], [A, 0]],   B = [[H_wt], [A_t]],

with the Hessian H of the Lagrangian and the Jacobian A of what is active, by all other variables w
(Nocedal and Wright 2006, doi:10.1007/978-0-387-40065-5, section 16.2). Along a direction in which
it is zero the cost and all constraints stay as they are, to second order.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import splu

from explorer.transcription.polish import Polished
from explorer.transcription.solver import Solver

__all__ = ["undetermined"]

_FLAT = 1e-7  # of 1 + the cost: what a change of an unknown by its range is worth at least
_PRESSED = 1e-7  # a multiplier that holds a variable at its bound, or a row
_WEAK = 1e-9  # regularises what is not unique
_PART = 1e-3  # of a direction: the share of an unknown that takes part in it


def undetermined(solver: Solver, plan: Polished) -> list[int]:
    """Return the numbers of the unknown parameters that a solution leaves open."""
    program, point, bounds = plan.program, plan.point, plan.bounds
    w, unknown = point.w, program.of["unknown"]
    scale = 1.0 + abs(plan.cost)
    low, high = bounds.low, bounds.high
    held = (low == high) | (np.abs(point.w_multipliers) > _PRESSED * scale)
    theta = unknown[~held[unknown]]
    if not theta.size:
        return []
    hessian, jacobian = solver.second_order(w, plan.parameters, point.row_multipliers)
    rows = bounds.row_low == bounds.row_high
    rows |= np.abs(point.row_multipliers) > _PRESSED * scale
    others = np.setdiff1d(np.flatnonzero(~held), theta)
    span = program.high[theta] - program.low[theta]
    H, A = hessian[others][:, others], jacobian[rows][:, others]
    weak = [_WEAK * sparse.eye_array(others.size), -_WEAK * sparse.eye_array(A.shape[0])]
    K = sparse.block_array([[H + weak[0], A.T], [A, weak[1]]], format="csc")
    B = sparse.vstack([hessian[others][:, theta], jacobian[rows][:, theta]]).toarray() * span
    try:
        inner = splu(K).solve(B)
    except RuntimeError:  # exactly singular in spite of the regularisation: nothing is known
        return []
    own = hessian[theta][:, theta].toarray() * np.outer(span, span)
    curvature, directions = np.linalg.eigh(own - B.T @ inner)
    if not np.isfinite(curvature).all():
        return []
    flat = directions[:, np.abs(curvature) <= _FLAT * scale]
    share = np.abs(flat).max(axis=1, initial=0.0)
    places = theta[share > _PART]
    return np.flatnonzero(np.isin(unknown, places)).tolist()
