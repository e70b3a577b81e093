"""Whether constraints whose gradients depend on each other ask for the same accelerations.

phi'' = G a + gamma = 0 of a constraint follows from those of others if its gradient does, G_c =
sum w_k G_k, and gamma_c = sum w_k gamma_k. If only the first is so, no acceleration satisfies all,
and a motion that leaves this row out breaks it. (Positions and velocities that satisfy all of them
do not tell: x = 0 and x - t^2 = 0 agree in both at t = 0.)
"""

import numpy as np

from explorer.kernels.event_driven.flow import evaluate
from explorer.kernels.event_driven.manifold import DEPENDENT, holds
from explorer.kernels.event_driven.records import CONTACTS, PENALTY
from explorer.kernels.event_driven.saltation import largest
from explorer.kernels.event_driven.structures import Problem
from explorer.kernels.references import kernel
from explorer.kernels.structures import Vector

__all__ = ["contradiction"]

APART = 1e-6  # of the terms of gamma_c: two constraints that agree differ by round-off
SOFT = 1e-3  # the same, or of accelerations, where penalties let the constraints yield
# of the squared speeds over the size of the coordinates, which cancel in gamma; and of what moves a
# coordinate by its size in the run
NOISE = 1e-10


@kernel(inner=True)
def contradiction(problem: Problem, t: float, y: Vector, span: float) -> int:
    """Return a constraint that holds at (t, y) and contradicts those before it, or -1.

    What would not be seen in a run of the length `span` counts as round-off.
    Gram and Schmidt, twice, on rows (G, gamma, size of the terms of gamma). Overwrites W. In `inp`
    stand the last accelerations.
    """
    n, count, first = problem.sizes.n, problem.sizes.rows, problem.sizes.n_c + problem.sizes.n_t
    out, W, inp, at = problem.out, problem.saddle.W, problem.inp, 2 * problem.sizes.rows
    if count == first or problem.state[0].dependent == 0:
        return -1
    inp[0] = t
    for i in range(2 * n):
        inp[1 + i] = y[i]
    damping, stiffness = inp[problem.sizes.penalty], inp[problem.sizes.penalty + 1]
    inp[problem.sizes.penalty], inp[problem.sizes.penalty + 1] = 0.0, 0.0  # phi'' alone
    evaluate(problem.functions.table, CONTACTS, inp, out)
    inp[problem.sizes.penalty], inp[problem.sizes.penalty + 1] = damping, stiffness
    fast, reach = largest(y, n, 2 * n), largest(y, 0, n)
    noise = NOISE * (fast * fast / reach + reach / span**2) if reach > 0.0 else 0.0
    apart, held, rates = APART, 0, problem.sizes.rates
    if problem.state[0].form == PENALTY:
        apart, noise = SOFT, noise + SOFT * largest(inp, rates + n, rates + 2 * n)
    for c in range(first, count):
        if not holds(problem, c - first):
            continue
        whole, left = 0.0, 0.0
        for j in range(n):
            W[held, j] = out[at + c * n + j]
            whole += W[held, j] ** 2
        W[held, n] = out[at + count * n + c]
        W[held, n + 1] = abs(W[held, n])
        for _ in range(2):
            for k in range(held):
                total = 0.0
                for j in range(n):
                    total += W[k, j] * W[held, j]
                for j in range(n + 1):
                    W[held, j] -= total * W[k, j]
                W[held, n + 1] += abs(total) * W[k, n + 1]
        for j in range(n):
            left += W[held, j] ** 2
        if left > DEPENDENT**2 * whole:
            for j in range(n + 2):
                W[held, j] /= np.sqrt(left)
            held += 1
        elif abs(W[held, n]) > apart * W[held, n + 1] + noise * np.sqrt(whole):
            return c - first
    return -1
