"""Take the factors of the saddle matrix from formulas, where they are good.

Where all constraints and no contact are held, a native function has the solution and the factors
(`explorer.compiled.elimination`). It does not choose its pivots. So they are taken only where
masses are of one size and no constraint nearly follows from others; elsewhere the matrix is
assembled and factored with interchanges (`explorer.kernels.event_driven.flow`).
"""

from explorer.kernels.event_driven.structures import Problem
from explorer.kernels.jit import call
from explorer.kernels.references import kernel

__all__ = ["eliminate"]

# What a pivot of M keeps of the largest one, and what one of G M^-1 G' keeps of its row: the loss
# of digits is of the order of their inverses
LEAST_MASS, LEAST_ROW = 1e-4, 1e-3


@kernel(inline=True)
def eliminate(problem: Problem) -> bool:
    """Write the factors to `W`, and (a, -lam) to `solution`; whether they are good.

    They have the form of `explorer.kernels.linear_algebra.dense_lu.lu_factor`, without
    interchanges. If they are not good, `W` and `solution` are left as they were.
    """
    row, n, count = problem.functions.eliminated, problem.sizes.n, problem.sizes.rows
    first, out, saddle = problem.sizes.n_c + problem.sizes.n_t, problem.out, problem.saddle
    n_phi = count - first
    order = n + n_phi
    if row < 0 or problem.state[0].held != n_phi:
        return False
    for c in range(first):
        if problem.rows[c].closed == 1:
            return False
    call(problem.functions.table[row].address, problem.functions.table[row].data, out, problem.inp)
    sizes, W, pivots = order, saddle.W, saddle.pivots
    factors = order + n_phi
    largest = 0.0
    for i in range(n):
        largest = max(largest, out[factors + i * order + i])
    for i in range(n):
        if not out[factors + i * order + i] > LEAST_MASS * largest:
            return False
    for i in range(n, order):
        if not -out[factors + i * order + i] > LEAST_ROW * out[sizes + i - n]:
            return False
    for i in range(order):
        pivots[i] = i
        saddle.solution[i] = out[i]
        for j in range(order):
            W[i, j] = out[factors + i * order + j]
    return True
