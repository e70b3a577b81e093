"""Natural modes of matrices in closed form, about points that are found, and how they are told."""

from __future__ import annotations

import importlib
import inspect

import numpy as np
import pytest
from loops import for_each
from plain import put, space

import explorer as ex
from explorer.errors import BadValue, NotApplicable
from explorer.study.modes import Modes, _about

module = importlib.import_module("explorer.study.modes")  # the package holds the function
PHI = np.array([[3.0, 1.0], [-4.0, 2.0]])  # any two directions


def matrices(squares, ratios, phi=PHI):
    """Return M, K and C with these modes: M = phi^-T phi^-1, ..."""
    inverse = np.linalg.inv(phi)
    omega = np.sqrt(np.abs(squares))
    diagonals = np.eye(len(squares)), np.diag(squares), np.diag(2 * omega * ratios)
    return tuple(inverse.T @ d @ inverse for d in diagonals)


def modes_of(monkeypatch, M, K, C, linear=False, **given):
    """Return the modes of a system with these matrices, about (5, 6)."""
    told = {}
    compiled = space(input=lambda values: np.zeros(9), tangents=lambda inp: told.update(at=inp[1:3].tolist()) or (M, K, C))  # fmt: skip
    study = inspect.unwrap(ex.study.modes)
    put(monkeypatch, study, compile_system=lambda system: compiled,
        _about=lambda compiled, values, about: told.update(about=about) or np.array([5.0, 6.0]))  # fmt: skip
    if linear:
        system = ex.LinearMechanicalSystem("s", np.eye(2), np.eye(2))
    else:
        system = ex.MechanicalSystem("s", "x y", params={"k": 1.0})
    return study(system, **given), told


@for_each("linear", [False, True])
def test_modes_are_those_of_their_matrices(monkeypatch, linear):
    """phi' M phi = 1, each with a positive largest entry; damping ratios are phi' C phi / (2 omega)."""
    found, told = modes_of(monkeypatch, *matrices([9.0, 4.0], [0.3, 0.2]), linear)
    assert found.squares == pytest.approx([4.0, 9.0])
    assert found.ratios == pytest.approx([0.2, 0.3])
    assert found.shapes == pytest.approx(np.array([[1.0, -3.0], [2.0, 4.0]]))
    assert found.infinite == 0
    assert told["at"] == found.q.tolist() == ([0.0, 0.0] if linear else [5.0, 6.0])
    assert told.get("about") == (None if linear else "equilibrium")
    assert found.omega == pytest.approx([2.0, 3.0])
    assert found.frequencies == pytest.approx([1 / np.pi, 1.5 / np.pi])
    assert found.periods == pytest.approx([np.pi, 2 * np.pi / 3])
    assert repr(found).startswith("Modes('s', omega = (2, 3) rad/s)")


def test_rigid_motions_and_unstable_modes_have_no_frequency(monkeypatch):
    """What is zero but for round-off has an infinite period."""
    found, _ = modes_of(monkeypatch, *matrices([1e-14, 4.0], [0.0, 0.2]))
    assert found.squares[0] == 0.0
    assert found.omega[0] == 0.0
    assert found.periods[0] == np.inf
    assert np.isnan(found.ratios[0])
    assert found.ratios[1] == pytest.approx(0.2)
    found, _ = modes_of(monkeypatch, *matrices([1e-11, 4.0], [0.0, 0.2]))
    assert found.squares[0] == pytest.approx(1e-11, rel=1e-3)
    found, _ = modes_of(monkeypatch, *matrices([-1.0, 4.0], [0.0, 0.2]))
    assert found.squares == pytest.approx([-1.0, 4.0])
    assert np.isnan(found.omega).tolist() == np.isnan(found.ratios).tolist() == [True, False]


@for_each(
    ("given", "kind", "told"),
    [
        ({"count": 0}, BadValue, "count = 0"), ({"count": 1.5}, BadValue, "count = 1.5"),
        ({"count": -1}, BadValue, "count = -1"),
    ],
)  # fmt: skip
def test_modes_are_counted_from_one(monkeypatch, given, kind, told):
    with pytest.raises(kind, match=told):
        modes_of(monkeypatch, *matrices([9.0, 4.0], [0.3, 0.2]), **given)
    one, _ = modes_of(monkeypatch, *matrices([9.0, 4.0], [0.3, 0.2]), count=1.0)
    assert one.squares == pytest.approx([4.0])


@for_each(("most", "count", "refused"), [(2, None, False), (1, None, True), (1, 1, False), (1, 2, True), (2, 2, False)])  # fmt: skip
def test_of_a_large_system_only_some_are_sought(monkeypatch, most, count, refused):
    put(monkeypatch, inspect.unwrap(ex.study.modes), _MOST=most)
    if refused:
        with pytest.raises(BadValue, match="'s' has 2 modes; ask for some of the lowest"):
            modes_of(monkeypatch, *matrices([9.0, 4.0], [0.3, 0.2]), count=count)
    else:
        modes_of(monkeypatch, *matrices([9.0, 4.0], [0.3, 0.2]), count=count)


@for_each(("off", "refused"), [(0.9e-9, False), (1.1e-9, True), (1e-2, True)])
def test_a_stiffness_that_is_not_symmetric_has_no_modes(monkeypatch, off, refused):
    M, K, C = matrices([9.0, 4.0], [0.3, 0.2])
    K = K + np.array([[0.0, off * np.abs(K).max()], [0.0, 0.0]])
    if refused:
        with pytest.raises(BadValue, match="The stiffness of 's' is not symmetric"):
            modes_of(monkeypatch, M, K, C)
    else:
        modes_of(monkeypatch, M, K, C)


def test_what_is_no_mechanical_system_has_no_modes():
    with pytest.raises(NotApplicable, match="only a mechanical system has them"):
        ex.study.modes(ex.models.tent_map())


def test_modes_are_shown_as_a_table():
    found = Modes(space(name="s"), np.array([1.0, 2.0]), np.array([-1.0, 4.0]), np.eye(2), np.array([np.nan, 0.25]), 3)  # fmt: skip
    words = found._repr_markdown_()
    assert "**s** — natural modes about q = (1, 2); 3 without mass left out" in words
    *_, first, second = words.splitlines()
    assert first.startswith("| 1 | -1 | – |")
    cells = [cell.strip() for cell in second.split("|")[1:-1]]
    assert [float(x) for x in cells] == pytest.approx([2, 4, 2, 1 / np.pi, np.pi, 0.25], rel=1e-3)
    assert repr(found).endswith("; 3 without mass left out, at infinite frequency)")


# ---------------------------------------------------------------- about


class Springs:
    """Forces -K (q - rest) - b (q - rest)^3 of two coordinates, at any place of the input."""

    n, system = 2, space(name="s")

    def __init__(self, rest, K, b=0.0, start=(0.5, -0.25)):
        self.rest, self.K, self.b, self.begin = np.array(rest), np.array(K), b, np.array(start)

    def input(self, values):
        return np.zeros(9)

    def start(self, values):
        return self.begin, None

    def forces(self, inp):
        off = inp[1:3] - self.rest
        return -self.K @ off - self.b * off**3

    def tangents(self, inp):
        off = inp[1:3] - self.rest
        return None, self.K + np.diag(3 * self.b * off**2), None


@for_each(
    ("rest", "unit"),
    [((2.0, -3.0), 1.0), ((2e-6, -3e6), 1.0), ((2.0, -3.0), 1e9), ((0.0, 0.0), 1.0)],
)
@for_each("b", [0.0, 0.5])
def test_an_equilibrium_is_where_forces_vanish(rest, unit, b):
    """Whatever the units of its coordinates and forces."""
    K = unit * np.array([[4.0, 1.0], [1.0, 3.0]])
    if rest[1] != -3e6:
        found = _about(Springs(rest, K, b * unit), [], "equilibrium")
        assert found == pytest.approx(rest, rel=1e-9, abs=1e-9)
        assert _about(Springs(rest, K, b * unit, start=rest), [], "equilibrium") == pytest.approx(
            rest
        )
        return
    wide = np.diag([1e6, 1e-6])
    found = _about(Springs(rest, wide @ K @ wide), [], "equilibrium")
    assert found == pytest.approx(rest, rel=1e-9)


@for_each("size", [0.05, 3.0, 0.0])
def test_a_coordinate_that_rests_has_the_unit_of_those_that_move(monkeypatch, size):
    """However little these move."""
    asked = []

    def solved(residual, z, **_):
        asked.append(z)
        return space(x=z)

    monkeypatch.setattr(module.scipy.optimize, "root", solved)
    start = np.array([-size, 1e-20])
    _about(Springs(start, np.diag([4.0, 3.0]), start=start), [], "equilibrium")
    assert asked[0].tolist() == pytest.approx(
        [-size / (size or 1e-20), 1e-20 / (size or 1e-20)], rel=1e-12, abs=0
    )


def test_without_an_equilibrium_a_system_has_to_be_told_where():
    """A force that never vanishes: 1 + q^2."""
    one = Springs((0.0, 0.0), np.eye(2))
    one.forces = lambda inp: 1 + inp[1:3] ** 2
    one.tangents = lambda inp: (None, -2 * np.diag(inp[1:3]), None)
    with pytest.raises(BadValue, match="'s' has no equilibrium near its start"):
        _about(one, [], "equilibrium")
    assert _about(one, [], "start").tolist() == [0.5, -0.25]
    assert _about(one, [], [7, 8]).tolist() == [7.0, 8.0]
    for wrong in ([7], [7, np.nan], 7.0):
        with pytest.raises(BadValue, match="about needs 2 finite numbers"):
            _about(one, [], wrong)
    with pytest.raises(BadValue, match="about = 'end' must be"):
        _about(one, [], "end")
