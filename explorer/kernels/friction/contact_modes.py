"""Contacts that hold, stick or slide: their unknowns, their impulses, and what contradicts them."""

from explorer.kernels.friction.single_contact import OPEN, STICK
from explorer.kernels.jit import kernel
from explorer.kernels.structures import Integers, Vector

__all__ = ["impulses", "unknowns", "verdict"]


@kernel(inline=True)
def unknowns(mode: Integers, act: Integers, place: Integers, m: int, chosen: Integers) -> int:
    """Write the rows of a set, normals and the tangents of what sticks; return their number."""
    n = 0
    for k in range(m):
        if mode[act[k]] != OPEN:
            chosen[n] = k
            n += 1
            if mode[act[k]] == STICK and place[k] >= 0:
                chosen[n] = place[k]
                n += 1
    return n


@kernel(inline=True)
def impulses(
    mode: Integers,
    act: Integers,
    place: Integers,
    mu: Vector,
    m: int,
    rows: int,
    chosen: Integers,
    n: int,
    x: Vector,
    P: Vector,
) -> None:
    """Write the impulses of all rows: the unknowns x of the set, and mu P against what slides."""
    for j in range(rows):
        P[j] = 0.0
    for c in range(n):
        P[chosen[c]] = x[c]
    for k in range(m):
        if place[k] >= 0 and abs(mode[act[k]]) == 1:
            P[place[k]] = -mode[act[k]] * mu[k] * P[k]


@kernel(inline=True)
def verdict(what: int, P_n: float, P_t: float, mu: float, w: float, slack: float) -> int:
    """Return what a contact should do, given its impulses and its velocity.

    w : of the normal where it is open, of the tangent where it slides
    """
    if what == OPEN:
        return STICK if w < -slack else OPEN
    if P_n < 0.0:
        return OPEN
    if what == STICK:
        if abs(P_t) <= mu * P_n:
            return STICK
        return -1 if P_t > 0.0 else 1
    return STICK if what * w < -slack else what
