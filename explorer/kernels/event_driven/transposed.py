"""Transposes for the adjoint: of a factored matrix, and of the projection onto the constraints."""

from explorer.codes import SUCCESS
from explorer.kernels.event_driven.flow import evaluate
from explorer.kernels.event_driven.manifold import held_constraints, project
from explorer.kernels.event_driven.records import CONTACTS, DRIFT
from explorer.kernels.event_driven.structures import Problem
from explorer.kernels.references import kernel
from explorer.kernels.structures import Integers, Matrix, Vector

__all__ = ["pull_back_projection", "transposed_solve"]


@kernel(inner=True)
def transposed_solve(A: Matrix, n: int, pivots: Integers, b: Vector) -> None:
    """Overwrite `b` by the solution of A' x = b, `A` factored by `linalg.lu_factor`, full."""
    for k in range(n):
        total = b[k]
        for j in range(k):
            total -= A[j, k] * b[j]
        b[k] = total / A[k, k]
    for k in range(n - 1, -1, -1):
        total = b[k]
        for i in range(k + 1, n):
            total -= A[i, k] * b[i]
        b[k] = total
        best = pivots[k]
        if best != k:
            b[k], b[best] = b[best], b[k]


@kernel(inner=True)
def pull_back_projection(
    problem: Problem, t: float, y: Vector, mu: Vector, gradient: Vector
) -> int:
    """Put `y` on its constraints, and take mu and the gradient back to where it was.

    The transpose of `explorer.kernels.event_driven.manifold.project`, velocities first.
    """
    n, nr, count = problem.sizes.n, problem.sizes.n_rho, problem.sizes.rows
    first, inp, out = problem.sizes.n_c + problem.sizes.n_t, problem.inp, problem.out
    table, wrt, rows, saddle = problem.functions.table, problem.wrt, problem.rows, problem.saddle
    n_phi, s = count - first, saddle.tangent
    status = project(problem, t, y, 0)
    if status != SUCCESS:
        return status
    size = n + held_constraints(problem)
    if size == n:
        return SUCCESS
    for level in range(1, -1, -1):
        for i in range(size):
            s[i] = mu[level * n + i] if i < n else 0.0
        transposed_solve(saddle.W, size, saddle.pivots, s)
        evaluate(table, CONTACTS, inp, out)
        held = n
        for c in range(first, count):
            if rows[c].closed == 1:
                for j in range(n):
                    mu[level * n + j] -= out[2 * count + c * n + j] * s[held]
                held += 1
        evaluate(table, DRIFT, inp, out)
        held = n
        for c in range(n_phi):
            if rows[first + c].closed == 1:
                if level == 1:
                    for j in range(n):
                        mu[j] -= out[n_phi * nr + c * n + j] * s[held]
                for k in range(wrt.size):
                    by_rho = level * n_phi * (nr + n) + c * nr + wrt[k]
                    gradient[k] -= out[by_rho] * s[held] if wrt[k] >= 0 else 0.0
                held += 1
    return SUCCESS
