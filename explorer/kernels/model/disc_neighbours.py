"""Contacts of discs in a plane, found among neighbours: gaps, normals and tangents of pairs.

A function like the native ones of a model, ``void f(double* out, const double* in, void* data)``,
that stands in the place of the formulas of the gaps. Each disc has a few slots, one for each pair
with a disc or a wall nearby::

    gap = |c_i - c_j| - R_i - R_j,   n = (c_i - c_j) / |c_i - c_j|,   t = n turned by a right angle
    slip = t (v_i - v_j) - R_i omega_i - R_j omega_j

(of a wall n x >= c: gap = n c_i - c - R_i). A pair keeps its slot until it is out of reach, so what
it did in the last step is found again. Pairs come from linked cells (Allen, Tildesley, *Computer
Simulation of Liquids*, 5.3.2), so that the work grows like the number of discs.
"""

from typing import Annotated, NamedTuple, get_args

import numpy as np

from explorer.kernels.memory import integers, records, vector, words_of
from explorer.kernels.references import kernel, refer
from explorer.kernels.structures import Integers, Memory, Numbers, Vector, rows_of

__all__ = ["FREE", "SLOTS", "contacts_of_discs", "data_of_discs"]

SLOTS = 5  # of each disc; a pair may take one of either
FREE = -1000
HEAD = np.dtype(  # behind it all that `Discs` has, in this order
    [
        ("discs", np.int64),
        ("walls", np.int64),
        ("cells", np.int64),
        ("mu", np.float64),  # friction coefficient
        ("reach", np.float64),  # m, of a gap that counts as one
    ]
)
WALL = np.dtype([("n_x", np.float64), ("n_y", np.float64), ("c", np.float64)])  # n x >= c
HEAD_WORDS, WALL_WORDS = HEAD.itemsize // 8, WALL.itemsize // 8
COLUMNS = 10  # of G in each slot: four of the normal, six of the tangent
heads, walls_behind = records(HEAD), records(WALL)


class Discs(NamedTuple):
    """Discs, walls, and what is kept of their neighbours."""

    head: Annotated[np.ndarray, get_args(rows_of(HEAD))[1]]  # (1,)
    radii: Vector  # (n,) m
    walls: Annotated[np.ndarray, get_args(rows_of(WALL))[1]]
    partners: Integers  # (SLOTS n,) in each slot a disc, or -1 - wall, or FREE
    columns: Integers  # (COLUMNS SLOTS n,) of G, all normals first
    first: Integers  # (cells,) first disc of each cell
    after: Integers  # (n,) next disc in the same cell


@kernel(inline=True)
def discs_at(data: Numbers) -> Discs:
    """Return the discs whose words begin at a pointer."""
    head = heads(data, 0, 1)
    n, walls, cells = head[0].discs, head[0].walls, head[0].cells
    partners = HEAD_WORDS + n + WALL_WORDS * walls
    columns = partners + SLOTS * n
    first = columns + COLUMNS * SLOTS * n
    return Discs(
        head,
        vector(data, HEAD_WORDS, n),
        walls_behind(data, HEAD_WORDS + n, walls),
        integers(data, partners, SLOTS * n),
        integers(data, columns, COLUMNS * SLOTS * n),
        integers(data, first, cells),
        integers(data, first + cells, n),
    )


@kernel(inline=True)
def distance(i: int, j: int, inp: Memory, discs: Discs) -> float:
    """Return the gap between a disc and another, or a wall."""
    radii, walls = discs.radii, discs.walls
    x, y, radius = inp[1 + 3 * i], inp[2 + 3 * i], radii[i]
    if j < 0:
        wall = -1 - j
        return walls[wall].n_x * x + walls[wall].n_y * y - walls[wall].c - radius
    x -= inp[1 + 3 * j]
    y -= inp[2 + 3 * j]
    return np.sqrt(x * x + y * y) - radius - radii[j]


@kernel(inline=True)
def enter(i: int, j: int, partners: Integers) -> int:
    """Give a pair a slot if it has none; 0 if all are taken."""
    free = -1
    for k in range(SLOTS):
        there = partners[SLOTS * i + k]
        if there == j:
            return 1
        if there == FREE and free < 0:
            free = SLOTS * i + k
    other = j
    for k in range(SLOTS if j >= 0 else 0):
        there = partners[SLOTS * j + k]
        if there == i:
            return 1
        if there == FREE and free < 0:
            free = SLOTS * j + k
            other = i
    if free >= 0:
        partners[free] = other
    return 1 if free >= 0 else 0


@kernel(inner=True)
def update(inp: Memory, discs: Discs) -> int:
    """Free the slots of pairs that are out of reach, and give one to each pair within reach."""
    head, radii, partners = discs.head, discs.radii, discs.partners
    first, after = discs.first, discs.after
    n, walls, cells, reach = head[0].discs, head[0].walls, head[0].cells, head[0].reach
    left, low, right, high, largest, finite = inp[1], inp[2], inp[1], inp[2], 0.0, 0.0
    for i in range(n):
        left, right = min(left, inp[1 + 3 * i]), max(right, inp[1 + 3 * i])
        low, high = min(low, inp[2 + 3 * i]), max(high, inp[2 + 3 * i])
        finite += 0.0 * (inp[1 + 3 * i] + inp[2 + 3 * i])  # min() and max() would swallow a NaN
        largest = max(largest, radii[i])
        for k in range(SLOTS):
            j = partners[SLOTS * i + k]
            if j != FREE and distance(i, j, inp, discs) > 1.2 * reach:
                partners[SLOTS * i + k] = FREE
    if not np.isfinite(right - left + high - low + finite):
        return 0
    edge = 2.0 * largest + reach
    while (int((right - left) / edge) + 1) * (int((high - low) / edge) + 1) > cells:
        edge *= 1.5
    across = int((right - left) / edge) + 1
    up = int((high - low) / edge) + 1
    for c in range(across * up):
        first[c] = -1
    found = 1
    for i in range(n):  # those before it are in the cells already
        for w in range(walls):
            if distance(i, -1 - w, inp, discs) < reach:
                found = min(found, enter(i, -1 - w, partners))
        column = int((inp[1 + 3 * i] - left) / edge)
        row = int((inp[2 + 3 * i] - low) / edge)
        for c in range(max(0, column - 1), min(across, column + 2)):
            for r in range(max(0, row - 1), min(up, row + 2)):
                j = first[r * across + c]
                while j >= 0:
                    if distance(i, j, inp, discs) < reach:
                        found = min(found, enter(i, j, partners))
                    j = after[j]
        after[i] = first[row * across + column]
        first[row * across + column] = i
    return found


@kernel()
def contacts_of_discs(out: Memory, inp: Memory, data: Numbers) -> None:
    """Write gaps, zeros, the entries of G (their columns to `data`), mu and mu."""
    discs = refer(discs_at(data))
    head, radii, walls = discs.head, discs.radii, discs.walls
    partners, columns = discs.partners, discs.columns
    nc = SLOTS * head[0].discs
    at_G = 3 * nc
    complete = update(inp, discs)
    for a in range(nc):
        i, j = a // SLOTS, partners[a]
        normal, tangent = 4 * a, 4 * nc + 6 * a
        n_x, n_y, gap, share, lever, other = 0.0, 0.0, head[0].reach, 0.0, 0.0, i
        radius = radii[i]
        if j != FREE:
            gap, share = distance(i, j, inp, discs), 1.0
            if j < 0:
                n_x, n_y = walls[-1 - j].n_x, walls[-1 - j].n_y
            else:
                other, lever = j, radii[j]
                far = gap + radius + lever
                n_x = (inp[1 + 3 * i] - inp[1 + 3 * j]) / far
                n_y = (inp[2 + 3 * i] - inp[2 + 3 * j]) / far
        against = -1.0 if other != i else 0.0
        out[a] = gap if complete == 1 else np.nan
        out[nc + a] = out[2 * nc + a] = 0.0
        for k in range(2):
            disc, sign = (i, 1.0) if k == 0 else (other, against)
            columns[normal + 2 * k], columns[normal + 2 * k + 1] = 3 * disc, 3 * disc + 1
            out[at_G + normal + 2 * k], out[at_G + normal + 2 * k + 1] = sign * n_x, sign * n_y
            for d in range(3):
                columns[tangent + 3 * k + d] = 3 * disc + d
            out[at_G + tangent + 3 * k] = -sign * n_y
            out[at_G + tangent + 3 * k + 1] = sign * n_x
        out[at_G + tangent + 2] = -share * radius
        out[at_G + tangent + 5] = -share * lever
        out[at_G + 10 * nc + a] = out[at_G + 11 * nc + a] = head[0].mu


def data_of_discs(
    radii: np.ndarray, walls: np.ndarray, mu: float, reach: float
) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    """Return the address of `contacts_of_discs`, its data, in them partners and columns of G.

    Parameters
    ----------
    radii : (n,) in m
    walls : (k, 3) n_x, n_y, c of n x >= c
    mu : friction coefficient
    reach : in m, of a gap that counts as one
    """
    n, cells = len(radii), 4 * len(radii) + 16
    head = np.array([(n, len(walls), cells, mu, reach)], HEAD)
    numbers = words_of(head, radii.astype(float), walls.astype(float))
    slots, rest = np.full(SLOTS * n, FREE), np.zeros(COLUMNS * SLOTS * n + cells + n, np.int64)
    words = words_of(numbers, slots, rest)
    behind = words[len(numbers) :]
    partners, columns, _ = np.split(behind, [SLOTS * n, (1 + COLUMNS) * SLOTS * n])
    (compiled,) = contacts_of_discs.overloads.values()
    name = compiled.fndesc.llvm_cfunc_wrapper_name
    return compiled.library.get_pointer_to_function(name), words, partners, columns
