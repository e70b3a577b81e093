"""The saddle system of a constrained motion, solved by formulas.

[[M, G'], [G, -D]] [a; -lam] = [F; -gamma], with all constraints held and no contact closed, is
symmetric and quasidefinite where M is definite. So its factors L D L' need no interchanges of rows
(Vanderbei, SIAM J. Optim. 5 (1995) 100), and they can be written down once: what is zero in M and G
for every state then costs nothing. How many digits they keep depends on the pivots, and the kernel
that reads them looks at these (`explorer.kernels.event_driven.elimination`).
"""

from __future__ import annotations

from collections.abc import Sequence

import symengine as se

from explorer.compiled.bundle import Expr

__all__ = ["eliminated"]

_MOST = 1000  # products of the elimination: those of more take longer to compile than they save


def eliminated(
    dynamics: Sequence[Expr],
    contacts: Sequence[Expr],
    n: int,
    rows: int,
    n_phi: int,
    penalty: Sequence[Expr],
) -> list[Expr]:
    """Return the solution, the sizes of the constraints and the factors.

    Nothing without constraints, where a pivot is zero for every state (M is singular), or if the
    formulas would be too long.

    Parameters
    ----------
    dynamics, contacts : sequence of expressions
        Outputs of these bundles (`explorer.compiled.saddle`).
    n, rows, n_phi : int
        Coordinates; rows of G, of which the last `n_phi` are constraints.
    penalty : sequence of symbols
        The third one is 1 / alpha of the penalty formulation, 0 in others.

    Returns
    -------
    list of expressions
        With order = n + n_phi: (a, -lam) (order,); g M^-1 g' of each constraint, with what stands
        on the diagonal (n_phi,); the unit factor L below the diagonal, D L' on and above it, row by
        row (order, order).
    """
    if n_phi == 0:
        return []
    zero, less, order = se.Integer(0), penalty[2], n + n_phi
    first = 2 * rows + (rows - n_phi) * n
    G = [list(contacts[first + c * n : first + (c + 1) * n]) for c in range(n_phi)]
    upper = [
        [*dynamics[i * n : (i + 1) * n], *(row[i] for row in G)] if i < n else [zero] * order
        for i in range(order)
    ]
    for c in range(n, order):
        upper[c][c] = -less
    last = 2 * rows + rows * n + rows
    x = [*dynamics[n * n : n * n + n], *(-g for g in contacts[last - n_phi : last])]
    lower = [[zero] * order for _ in range(order)]
    sizes, products = [less] * n_phi, 0
    for k in range(order):
        reach = [j for j in range(k + 1, order) if upper[k][j] != zero]
        products += (len(reach) * (len(reach) + 1)) // 2
        if products > _MOST or upper[k][k] == zero:
            return []
        one = 1 / upper[k][k]
        for i in reach:
            factor = lower[i][k] = upper[k][i] * one
            x[i] -= factor * x[k]
            for j in reach:
                if j >= i:
                    upper[i][j] -= factor * upper[k][j]
            if k < n <= i:
                sizes[i - n] += factor * upper[k][i]
    for k in range(order - 1, -1, -1):
        x[k] /= upper[k][k]
        for j in range(k + 1, order):
            if lower[j][k] != zero:
                x[k] -= lower[j][k] * x[j]
    both = [lower[i][j] if j < i else upper[i][j] for i in range(order) for j in range(order)]
    return [*x, *sizes, *both]
