"""D of contacts with friction in space as blocks of 3 x 3, and the residual of Coulomb's law.

Of each contact those blocks are kept that stand between the first and the last contact that it
moves. Contacts without friction, or with friction along one line, have rows of zeros.
"""

import numpy as np

from explorer.kernels.friction.single_contact import off_cone
from explorer.kernels.friction.structures import ConeRows, Cones, Contacts
from explorer.kernels.references import kernel
from explorer.kernels.structures import Vector

__all__ = ["gather", "moved", "residual"]


@kernel(inner=True, wide=True)
def gather(contacts: Contacts, cones: Cones) -> None:
    """Lay out the blocks of D of the active contacts."""
    D, act, m, place = contacts.D, contacts.act, contacts.m, contacts.place
    tangents, B, rows = contacts.tangents, cones.B, cones.rows
    total = 0
    for k in range(m):
        a = act[k]
        rows[k].listed, rows[k].before = a, total
        rows[k].width = 0 if place[k] < 0 else tangents[a + 1] - tangents[a]
        low, high = k, k + 1
        for j in range(m):
            touched = False
            for r in range(rows[k].width + 1):
                row = a if r == 0 else act[place[k]] + r - 1
                width = 0 if place[j] < 0 else tangents[act[j] + 1] - tangents[act[j]]
                for c in range(width + 1):
                    column = act[j] if c == 0 else act[place[j]] + c - 1
                    touched = touched or D[row, column] != 0.0
            if touched:
                low, high = min(low, j), max(high, j + 1)
        rows[k].first, rows[k].end = low, high
        total += high - low
    for k in range(m):
        for j in range(rows[k].first, rows[k].end):
            at = 9 * (rows[k].before + j - rows[k].first)
            for r in range(3):
                row = act[k] if r == 0 else act[place[k]] + r - 1
                for c in range(3):
                    here = r <= rows[k].width and c <= rows[j].width
                    column = act[j] if c == 0 else act[place[j]] + c - 1
                    B[at + 3 * r + c] = D[row, column] if here else 0.0


@kernel(inline=True)
def moved(B: Vector, rows: ConeRows, x: Vector, k: int) -> tuple[float, float, float]:
    """Return the rows of contact k in D x."""
    u_n, u_1, u_2 = 0.0, 0.0, 0.0
    at = 9 * rows[k].before
    for j in range(rows[k].first, rows[k].end):
        x_n, x_1, x_2 = x[3 * j], x[3 * j + 1], x[3 * j + 2]
        u_n += B[at] * x_n + B[at + 1] * x_1 + B[at + 2] * x_2
        u_1 += B[at + 3] * x_n + B[at + 4] * x_1 + B[at + 5] * x_2
        u_2 += B[at + 6] * x_n + B[at + 7] * x_1 + B[at + 8] * x_2
        at += 9
    return u_n, u_1, u_2


@kernel(inner=True, wide=True)
def residual(cones: Cones, soft: float) -> float:
    """Return the largest natural residual of a contact, in the unit of q; vec.DP = D P.

    `soft` : is added to D, times the size of each contact: a compliance
    """
    B, rows, m, mu, vec = cones.B, cones.rows, cones.m, cones.mu, cones.vec
    worst = 0.0
    x, b, d = vec.P, vec.q, vec.DP
    for k in range(m):
        i = 3 * k
        d[i], d[i + 1], d[i + 2] = moved(B, rows, x, k)
        for j in range(i, i + 3):
            d[j] += soft * vec.size[k] * x[j]
        w_1, w_2 = d[i + 1] + b[i + 1], d[i + 2] + b[i + 2]
        shift = mu[k] * np.sqrt(w_1 * w_1 + w_2 * w_2)
        off = off_cone(vec.size[k], mu[k], x[i], x[i + 1], x[i + 2], d[i] + b[i], w_1, w_2, shift)
        if not np.isfinite(off):
            return np.nan
        worst = max(worst, off)
    return worst
