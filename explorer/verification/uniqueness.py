"""Whether a run could have gone on otherwise: at a moment, or along a slide that nothing holds.

On such a slide a field leads away from the surface, and there is a motion that follows it. So the
state may leave at any time, and a run that stays is one of infinitely many solutions (Filippov
1988, doi:10.1007/978-94-015-7793-9). A run comes there through a two-fold, or starts there. A slide
on several surfaces at once may be left along some of them, on which the state then slides (Dieci,
Lopez, *Sliding motion on discontinuity surfaces of high co-dimension*, Numer. Math. 117 (2011) 779,
doi:10.1007/s00211-011-0365-4).
"""

from __future__ import annotations

import itertools

import numpy as np

from explorer.certificate import Check
from explorer.compiled import compile_switched
from explorer.compiled.formulas import Formulas
from explorer.quantities import quantity
from explorer.results.solution import Solution
from explorer.systems.step import StepSystem

__all__ = ["held_by_nothing", "of_steps", "unique"]

_TANGENT = 1e-6  # of the fields' rates: at a fold one of them is tangent, and its rate zero
_ROUND_OFF = 1e-12  # of the largest value of a switching function
_MOST = 4  # surfaces: beyond there are too many ways to leave them


def unique(solution: Solution) -> list[Check]:
    """Return the checks that a run with located switches is the only one."""
    return [solution.uniqueness, *held_by_nothing(solution)]


def of_steps(solution: Solution) -> list[Check]:
    """Return the checks that the steps of a run that locates no switches have one solution.

    An implicit step near a surface from which both fields lead away has several: it may also end
    beyond that surface, which no motion passes.
    """
    system = solution.system
    if not isinstance(system, StepSystem) or not system.switches or len(solution.t) < 2:
        return []
    formulas = _formulas(solution)
    c = formulas.functions(solution.t, solution.x)[0]
    signs = solution.signs.copy()  # in the first row those of the first step
    signs[0] = np.where(np.abs(c[0]) > _ROUND_OFF * np.abs(c).max(axis=0), np.sign(c[0]), 0)
    return [*held_by_nothing(solution, signs), _passed(solution, formulas, signs)]


def held_by_nothing(solution: Solution, signs: np.ndarray | None = None) -> list[Check]:
    """Return the check that no motion leaves the surfaces on which the run is.

    `signs` are those of the switching functions, (n_t, n_c), by default of the run. What is on more
    than four surfaces at once is not judged, which the check then says.
    """
    system = solution.system
    if not isinstance(system, StepSystem) or not system.switches:
        return []
    signs = solution.signs if signs is None else signs
    on = signs == 0
    count = on.sum(axis=1)
    away = np.zeros(len(on), bool)
    for group in np.unique(on[(count > 0) & (count <= _MOST)], axis=0):
        rows = np.flatnonzero((on == group).all(axis=1))
        away[rows] = _away(solution, signs, rows, np.flatnonzero(group))
    begins = np.flatnonzero(away & ~np.r_[False, away[:-1]])
    words = ""
    if len(begins):
        first = begins[0]
        more = f", and later on {len(begins) - 1} more times" if len(begins) > 1 else ""
        words = (
            f"From t = {quantity(solution.t[first], system.time_unit)} on at the latest nothing "
            f"holds the state on {_names(system, on[first])}{more}: {_why(count[first])}. The "
            "state may stay, and it may leave at any time: the run is one of many solutions."
        )
    many = count > _MOST
    if not words and many.any():
        first = np.argmax(many)
        words = (
            f"From t = {quantity(solution.t[first], system.time_unit)} on the run slides on "
            f"{count[first]} surfaces at once. Whether it could leave them is judged of at most "
            f"{_MOST}."
        )
    value = np.nan if many.any() and not len(begins) else len(begins)
    return [Check("slides that nothing holds", value, 0, "", words)]


def _names(system: StepSystem, on: np.ndarray) -> str:
    return " and ".join(f"'{system.switches[k].name}'" for k in np.flatnonzero(on))


def _why(surfaces: int) -> str:
    if surfaces == 1:
        return "on both sides the field leads away from it"
    return "there is a motion that leads away from them"


def _formulas(solution: Solution) -> Formulas:
    return Formulas(compile_switched(solution.system), [*solution.rho.values()])


def _passed(solution: Solution, formulas: Formulas, signs: np.ndarray) -> Check:
    """Return the check that no surface is passed at which the field of this side leads away."""
    t, x, name = solution.t, solution.x, "surfaces passed against their field"
    rows, on = np.nonzero((signs[:-1] != 0) & (signs[1:] != signs[:-1]))
    away = np.ones(len(rows), bool)
    for end, between in itertools.product((0, 1), (1, -1)):
        here = np.where(signs[rows + end] == 0, between, signs[rows + end])
        here[np.arange(len(rows)), on] = signs[rows, on]
        at, places = t[rows + end], x[rows + end]
        gradient = formulas.functions(at, places)[1][np.arange(len(rows)), on]
        speed = (gradient * formulas.rates(at, places, formulas.chosen(here))).sum(axis=1)
        away &= signs[rows, on] * speed > _TANGENT * np.abs(speed).max(initial=0.0)
    words = ""
    if away.any():
        first = int(np.argmax(away))
        time = quantity(t[rows[first] + 1], solution.system.time_unit, 4)
        words = (
            f"The step to t = {time} passes '{solution.system.switches[on[first]].name}', although "
            "the field leads away from it: the equations of an implicit step have several "
            "solutions there, and this one is no motion. Use a smaller h, or EventDriven."
        )
    return Check(name, int(away.sum()), 0, "", words)


def _away(solution: Solution, signs: np.ndarray, rows: np.ndarray, on: np.ndarray) -> np.ndarray:
    """Return at which of the rows, which slide on the surfaces `on`, there is a motion away.

    A slide on one surface has to be left to both sides: at its end it is left to one. One on
    several has to be possible besides, as time stepping may find its end a step too late.
    """
    corners = _corner_rates(solution, signs[rows], rows, on)
    least = _TANGENT * np.abs(corners).max(axis=(0, 1, 2))
    if len(on) == 1:
        down, up = corners[:, :, 0]
        return np.asarray((up > least) & (down < -least))
    leaves = np.zeros(len(rows), bool)
    for pattern in itertools.product((1, -1, 0), repeat=len(on)):
        if any(pattern):
            leaves |= _leaves(corners, np.array(pattern), least)
    for k in np.flatnonzero(leaves):
        leaves[k] = len(_inside(corners[:, k])) > 0
    return leaves


def _corner_rates(
    solution: Solution, sides: np.ndarray, rows: np.ndarray, on: np.ndarray
) -> np.ndarray:
    """Return dc/dt of the surfaces `on` with the fields around them, (2^m, k, m).

    Bit a of the first index tells the side of surface a.
    """
    formulas, t, x = _formulas(solution), solution.t[rows], solution.x[rows]
    gradient = formulas.functions(t, x)[1][:, on]
    rates = []
    for corner in range(1 << len(on)):
        beside = sides.copy()
        beside[:, on] = [1 if corner >> a & 1 else -1 for a in range(len(on))]
        field = formulas.rates(t, x, formulas.chosen(beside))
        rates.append(np.einsum("kai,ki->ka", gradient, field))
    return np.array(rates)


def _leaves(corners: np.ndarray, pattern: np.ndarray, least: float) -> np.ndarray:
    """Return at which rows a motion leaves to the sides `pattern`, and slides where it is 0."""
    held, left = np.flatnonzero(pattern == 0), np.flatnonzero(pattern)
    k, places = np.arange(1 << len(held)), np.arange(len(held))
    faces = np.sum(1 << left[pattern[left] > 0]) + ((k[:, None] >> places & 1) << held).sum(axis=1)
    near = corners[faces]
    outward = pattern[left] * near[:, :, left]
    if not len(held):
        return np.asarray((outward[0] > least).all(axis=1))
    leaves = np.zeros(corners.shape[1], bool)
    able = (outward > least).any(axis=0).all(axis=1)  # a mean of rates is below the largest
    if len(held) == 1:
        low, high = near[:, able, held[0]]
        w = np.divide(low, low - high, out=np.zeros_like(low), where=low * high < 0)[:, None]
        speed = (1 - w) * outward[0, able] + w * outward[1, able]
        leaves[able] = ((speed > least) & (w > 0)).all(axis=1)
        return leaves
    for row in np.flatnonzero(able):
        weights = _inside(near[:, row][:, held])
        leaves[row] = any((w @ outward[:, row] > least).all() for w in weights)
    return leaves


def _inside(corners: np.ndarray) -> list[np.ndarray]:
    """Return the weights of the corners (2^m, m) at each root inside the box: slides there are."""
    from explorer.kernels.sliding.multiaffine import bench, found

    m = corners.shape[1]
    memory = bench(m)
    memory.corners[:m, : 1 << m] = corners.T
    roots = memory.roots[: found(memory, m), :m]
    high = (np.arange(1 << m)[:, None] >> np.arange(m)) & 1
    return [
        np.where(high, root, 1.0 - root).prod(axis=1)
        for root in roots
        if ((root > 0) & (root < 1)).all()
    ]
