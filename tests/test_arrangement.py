"""Which multipliers a pattern of signs leaves free, uncompiled, against sets of regions that meet."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace

import numpy as np
from loops import for_each
from plain import plain

arrangement = plain("fesd.arrangement")


def mode_of(sign, n_sel) -> SimpleNamespace:
    return SimpleNamespace(
        sign=np.array(sign), zeros=np.full(len(sign), -1), base=np.full(n_sel, np.nan),
        B=np.full((n_sel, len(sign)), np.nan), active=[SimpleNamespace(sliding=-1)],
    )  # fmt: skip


@for_each("sign", itertools.product((-1, 0, 1), repeat=3))
def test_in_the_step_form_each_function_has_its_own_multiplier(sign):
    mode = mode_of(sign, 3)
    problem = SimpleNamespace(n_c=3, n_sel=3, subsystems=[])
    assert arrangement.arrange(problem, mode, 0) == 1
    free = [j for j in range(3) if sign[j] == 0]
    assert mode.active[0].sliding == len(free)
    assert mode.zeros[: len(free)].tolist() == free
    assert mode.base.tolist() == [float(one > 0) for one in sign]
    wanted = np.zeros((3, 3))
    for a, j in enumerate(free):
        wanted[j, a] = 1.0
    np.testing.assert_array_equal(mode.B, wanted)


# two subsystems: of two functions and four regions, and of one function, whose sides are regions 1
# and 0; and one in which two cells are one region
FOUR = (
    SimpleNamespace(first=0, count=2, cells=0, regions=0),
    SimpleNamespace(first=2, count=1, cells=4, regions=4),
)
CELLS = np.array([0, 1, 2, 3, 1, 0])
THREE = np.array([0, 1, 2, 2, 1, 0])


def meeting(sign, cells, subsystem) -> list[int]:
    """Return the regions whose cells have the signs of all functions that are not zero."""
    own = sign[subsystem.first : subsystem.first + subsystem.count]
    found = set()
    for cell in range(2**subsystem.count):
        sides = [1 if cell >> j & 1 else -1 for j in range(subsystem.count)]
        region = cells[subsystem.cells + cell]
        if region >= 0 and all(s in (0, side) for s, side in zip(own, sides, strict=True)):
            found.add(int(region))
    return sorted(found)


@for_each(
    ("sign", "cells"), itertools.product(itertools.product((-1, 0, 1), repeat=3), (CELLS, THREE))
)
def test_regions_that_meet_share_the_weight_one(sign, cells):
    problem = SimpleNamespace(n_c=3, n_sel=6, subsystems=FOUR, cells=cells)
    sets = []
    for one in FOUR:
        k = sum(s == 0 for s in sign[one.first : one.first + one.count])
        sets.append([*itertools.combinations(meeting(sign, cells, one), k + 1)])
    count = math.prod(map(len, sets))
    mode = mode_of(sign, 6)
    assert arrangement.arrange(problem, mode, 0) == count
    assert mode.active[0].sliding == sum(s == 0 for s in sign)
    for choice in range(count):
        assert arrangement.arrange(problem, mode, choice) == count
        a = 0
        base, B = np.zeros(6), np.zeros((6, 3))
        rest = choice
        for one, own in zip(FOUR, sets, strict=True):
            leader, *others = own[rest % len(own)]
            rest //= len(own)
            base[one.regions + leader] = 1.0
            for region in others:
                B[one.regions + region, a], B[one.regions + leader, a] = 1.0, -1.0
                a += 1
        np.testing.assert_array_equal(mode.base, base)
        np.testing.assert_array_equal(mode.B, B)
        w = np.random.default_rng(choice).uniform(0, 0.3, 3)
        theta = mode.base + mode.B @ w
        np.testing.assert_allclose([theta[:4].sum(), theta[4:].sum()], 1.0)


def test_cells_without_a_region_leave_nothing_to_slide_with():
    problem = SimpleNamespace(
        n_c=3, n_sel=6, subsystems=FOUR, cells=np.array([0, -1, -1, -1, 1, 0])
    )
    assert arrangement.arrange(problem, mode_of((0, 0, 1), 6), 0) == 0
    assert arrangement.arrange(problem, mode_of((-1, -1, 1), 6), 0) == 1


def test_of_many_regions_each_set_is_one_choice():
    """Sets of 3 of 6, in lexicographic order."""
    touching, found = 0b1011_0110_0, []
    regions = [k for k in range(10) if touching >> k & 1]
    for number, chosen in enumerate(itertools.combinations(regions, 3)):
        mode = mode_of((0,) * 4, 12)
        mode.base[:], mode.B[:] = 0.0, 0.0
        assert arrangement.mix(mode, 2, touching, len(regions), 3, number, 1) == 3
        assert mode.base.tolist() == [float(k == 2 + chosen[0]) for k in range(12)]
        for a, region in enumerate(chosen[1:]):
            column = np.zeros(12)
            column[2 + region], column[2 + chosen[0]] = 1.0, -1.0
            np.testing.assert_array_equal(mode.B[:, 1 + a], column)
        assert not mode.B[:, [0, 3]].any()
        found.append(chosen)
    assert len(found) == math.comb(len(regions), 3)
