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

import numpy as np

from explorer.kernels.jit import kernel
from explorer.kernels.model.sampled_forcing import number

__all__ = ["FREE", "SLOTS", "contacts_of_discs", "data_of_discs"]

SLOTS = 5  # of each disc; a pair may take one of either
FREE = -1000
# `data` are 64-bit words: HEAD of them, then radii, walls (n_x, n_y, c), the partner in each slot
# (a disc, or -1 - wall), the columns of G, first disc of each cell, next disc in the same cell
DISCS, WALLS, MU, REACH, CELLS, HEAD = range(6)


@kernel("float64(int64, int64, CPointer(float64), CPointer(int64))", inline=True)
def distance(i, j, inp, data):
    """Return the gap between a disc and another, or a wall."""
    n = data[DISCS]
    x, y, radius = inp[1 + 3 * i], inp[2 + 3 * i], number(data[HEAD + i])
    if j < 0:
        wall = HEAD + n + 3 * (-1 - j)
        return number(data[wall]) * x + number(data[wall + 1]) * y - number(data[wall + 2]) - radius
    x -= inp[1 + 3 * j]
    y -= inp[2 + 3 * j]
    return np.sqrt(x * x + y * y) - radius - number(data[HEAD + j])


@kernel("int64(int64, int64, CPointer(int64), int64)", inline=True)
def enter(i, j, data, partners):
    """Give a pair a slot if it has none; 0 if all are taken."""
    free = -1
    for k in range(SLOTS):
        there = data[partners + SLOTS * i + k]
        if there == j:
            return 1
        if there == FREE and free < 0:
            free = SLOTS * i + k
    other = j
    for k in range(SLOTS if j >= 0 else 0):
        there = data[partners + SLOTS * j + k]
        if there == i:
            return 1
        if there == FREE and free < 0:
            free = SLOTS * j + k
            other = i
    if free >= 0:
        data[partners + free] = other
    return 1 if free >= 0 else 0


@kernel("int64(CPointer(float64), CPointer(int64))", inner=True)
def update(inp, data):
    """Free the slots of pairs that are out of reach, and give one to each pair within reach."""
    n, walls, reach = data[DISCS], data[WALLS], number(data[REACH])
    partners = HEAD + n + 3 * walls
    first = partners + SLOTS * n + 10 * SLOTS * n
    cells = data[CELLS]
    after = first + cells
    left, low, right, high, largest, finite = inp[1], inp[2], inp[1], inp[2], 0.0, 0.0
    for i in range(n):
        left, right = min(left, inp[1 + 3 * i]), max(right, inp[1 + 3 * i])
        low, high = min(low, inp[2 + 3 * i]), max(high, inp[2 + 3 * i])
        finite += 0.0 * (inp[1 + 3 * i] + inp[2 + 3 * i])  # min() and max() would swallow a NaN
        largest = max(largest, number(data[HEAD + i]))
        for k in range(SLOTS):
            j = data[partners + SLOTS * i + k]
            if j != FREE and distance(i, j, inp, data) > 1.2 * reach:
                data[partners + SLOTS * i + k] = FREE
    if not np.isfinite(right - left + high - low + finite):
        return 0
    edge = 2.0 * largest + reach
    while (int((right - left) / edge) + 1) * (int((high - low) / edge) + 1) > cells:
        edge *= 1.5
    across = int((right - left) / edge) + 1
    up = int((high - low) / edge) + 1
    for c in range(across * up):
        data[first + c] = -1
    found = 1
    for i in range(n):  # those before it are in the cells already
        for w in range(walls):
            if distance(i, -1 - w, inp, data) < reach:
                found = min(found, enter(i, -1 - w, data, partners))
        column = int((inp[1 + 3 * i] - left) / edge)
        row = int((inp[2 + 3 * i] - low) / edge)
        for c in range(max(0, column - 1), min(across, column + 2)):
            for r in range(max(0, row - 1), min(up, row + 2)):
                j = data[first + r * across + c]
                while j >= 0:
                    if distance(i, j, inp, data) < reach:
                        found = min(found, enter(i, j, data, partners))
                    j = data[after + j]
        data[after + i] = data[first + row * across + column]
        data[first + row * across + column] = i
    return found


@kernel("void(CPointer(float64), CPointer(float64), CPointer(int64))")
def contacts_of_discs(out, inp, data):
    """Write gaps, zeros, the entries of G (their columns to `data`), mu and mu."""
    n, walls = data[DISCS], data[WALLS]
    nc = SLOTS * n
    partners = HEAD + n + 3 * walls
    at_col, at_G = partners + nc, 3 * nc
    complete = update(inp, data)
    for a in range(nc):
        i, j = a // SLOTS, data[partners + a]
        normal, tangent = 4 * a, 4 * nc + 6 * a
        n_x, n_y, gap, share, lever, other = 0.0, 0.0, number(data[REACH]), 0.0, 0.0, i
        radius = number(data[HEAD + i])
        if j != FREE:
            gap, share = distance(i, j, inp, data), 1.0
            if j < 0:
                wall = HEAD + n + 3 * (-1 - j)
                n_x, n_y = number(data[wall]), number(data[wall + 1])
            else:
                other, lever = j, number(data[HEAD + j])
                far = gap + radius + lever
                n_x = (inp[1 + 3 * i] - inp[1 + 3 * j]) / far
                n_y = (inp[2 + 3 * i] - inp[2 + 3 * j]) / far
        against = -1.0 if other != i else 0.0
        out[a] = gap if complete == 1 else np.nan
        out[nc + a] = out[2 * nc + a] = 0.0
        for k in range(2):
            disc, sign = (i, 1.0) if k == 0 else (other, against)
            data[at_col + normal + 2 * k], data[at_col + normal + 2 * k + 1] = (
                3 * disc,
                3 * disc + 1,
            )
            out[at_G + normal + 2 * k], out[at_G + normal + 2 * k + 1] = sign * n_x, sign * n_y
            for d in range(3):
                data[at_col + tangent + 3 * k + d] = 3 * disc + d
            out[at_G + tangent + 3 * k] = -sign * n_y
            out[at_G + tangent + 3 * k + 1] = sign * n_x
        out[at_G + tangent + 2] = -share * radius
        out[at_G + tangent + 5] = -share * lever
        out[at_G + 10 * nc + a] = out[at_G + 11 * nc + a] = number(data[MU])


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
    begin = HEAD + n + walls.size
    words = np.zeros(begin + 11 * SLOTS * n + cells + n, np.int64)
    numbers = words.view(np.float64)
    words[[DISCS, WALLS, CELLS]] = n, len(walls), cells
    numbers[[MU, REACH]] = mu, reach
    numbers[HEAD:begin] = [*radii, *walls.ravel()]
    words[begin : begin + SLOTS * n] = FREE
    partners, columns, _ = np.split(words[begin:], [SLOTS * n, 11 * SLOTS * n])
    (compiled,) = contacts_of_discs.overloads.values()
    name = compiled.fndesc.llvm_cfunc_wrapper_name
    return compiled.library.get_pointer_to_function(name), words, partners, columns
