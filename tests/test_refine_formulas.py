"""Grids that are halved: their points against rules written point by point."""

from __future__ import annotations

import itertools

import numpy as np
from loops import for_each

from explorer.study.refine import UNKNOWN, Grid, refined


def knots(n, stride):
    return sorted({*range(0, n, stride), n - 1})


@for_each(("shape", "level"), itertools.product([(7,), (1,), (17, 6), (9, 1, 5)], [0, 1, 2, 3, 4]))
def test_coarse_points_are_every_so_many_of_each_axis_and_the_last(shape, level):
    """Those that are computed already are left out."""
    grid, every = Grid(shape), [knots(n, 2**level) for n in shape]
    wanted = sorted(np.ravel_multi_index(at, shape) for at in itertools.product(*every))
    assert grid.coarse(level).tolist() == wanted
    grid.put(np.array(wanted[:1]), np.array([7]))
    assert grid.coarse(level).tolist() == wanted[1:]
    assert grid.labels.ravel()[wanted[0]] == 7
    assert grid.computed.sum() == 1
    assert (grid.labels == UNKNOWN).sum() == grid.labels.size - 1


@for_each(("n", "level"), [(9, 3), (9, 2), (12, 3), (5, 1), (1, 2)])
def test_what_is_unknown_is_as_the_nearest_coarse_point(n, level):
    """Of two as near the first; what is known stays."""
    grid, coarse = Grid((n,)), knots(n, 2**level)
    grid.labels[coarse] = 10 * np.arange(len(coarse))
    grid.labels[n // 2] = 99
    found = grid.spread(level)
    for i in range(n):
        if i == n // 2 and grid.labels[i] == 99:
            assert found[i] == 99
            continue
        near = min(range(len(coarse)), key=lambda k: (abs(coarse[k] - i), k))
        own = 99 if coarse[near] == n // 2 else 10 * near
        assert found[i] == own


@for_each(("shape", "levels"), [((33, 17), 4), ((20, 31), 3), ((9,), 3), ((6, 5), 0)])
def test_a_picture_of_two_halves_is_found_from_few_points(shape, levels):
    """A straight border: all labels are right, and most of a large picture is filled."""
    where = np.meshgrid(*(np.linspace(0, 1, n) for n in shape), indexing="ij")
    labels = (sum(where) / len(shape) > 0.43).astype(int).ravel()
    asked = []

    def label_of(places):
        asked.extend(places.tolist())
        return labels[places]

    found, computed = refined(label_of, shape, levels)
    assert found.tolist() == labels.tolist()
    assert len(asked) == len({*asked}) == computed.sum()
    assert sorted(asked) == np.flatnonzero(computed).tolist()
    if levels == 4:
        assert computed.mean() < 0.6


def test_labels_that_are_unknown_are_as_the_nearest_that_are_known():
    grid = Grid((2, 3))
    labels = np.array([[1, UNKNOWN, UNKNOWN], [UNKNOWN, UNKNOWN, 2]])
    assert grid.filled(labels)[0, 1] == 1
    assert grid.filled(labels)[1].tolist()[2] == 2
    assert UNKNOWN not in grid.filled(labels)
    none = np.full((2, 3), UNKNOWN)
    assert grid.filled(none) is none
    assert grid.filled(np.ones((2, 3), int)).tolist() == [[1] * 3] * 2
