"""Parts of the transcription: formulas in CasADi, sequences of active sets."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp

from explorer.errors import BadModel, NotApplicable
from explorer.transcription import casadi_functions
from explorer.transcription.casadi_functions import function
from explorer.transcription.sequence import Change, Phase, Sequence, counts, read
from tests.loops import for_each

x, y = sp.symbols("x y")
FORMULAS = {
    "cases": sp.Piecewise((x**2, x > 1), (y, (x < 0) | (y > 2)), (x * y, True)),
    "cases without an else": sp.Piecewise((x, sp.Not(x > 100))),
    "extrema": sp.Max(x, y, 1) + sp.Min(x, y, 2) + sp.Abs(x) * sp.pi,
    "steps": sp.sign(x) + sp.Heaviside(y) + sp.floor(x) + sp.ceiling(y) + sp.Mod(x, 2),
    "powers": sp.exp(-x) / sp.sqrt(y + sp.Rational(1, 3)) + sp.E,
    "angles": sp.atan2(y, x) + sp.cosh(x) + sp.atan(x) * sp.tan(y / 10) + sp.asinh(x),
}


@for_each("name", list(FORMULAS))
def test_formulas_are_those_of_sympy(name):
    """CasADi returns the value of each formula, at random points and to the last digits."""
    ours, theirs = (
        function("f", [[x], [y]], [[FORMULAS[name]]]),
        sp.lambdify((x, y), FORMULAS[name]),
    )
    for a, b in 3 * np.random.default_rng(1).random((30, 2)) - [0.5, 0.0]:
        assert float(ours(a, b)) == pytest.approx(float(theirs(a, b)), rel=4e-15)


def test_a_formula_without_a_value_is_refused():
    """An unknown symbol or function is named."""
    with pytest.raises(BadModel, match="'y'"):
        function("cost", [[x]], [[x + y]])
    with pytest.raises(BadModel, match="zeta"):
        function("cost", [[x]], [[sp.zeta(x)]])


def test_without_casadi_the_line_to_type_is_named(monkeypatch):
    """The library is optional."""

    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(casadi_functions.importlib, "import_module", missing)
    with pytest.raises(NotApplicable, match=r'pip install "nonsmooth-explorer\[control\]"'):
        casadi_functions.casadi()


# -- sequences ------------------------------------------------------------------------------------

TWO = Sequence((-1,), (Change((1,), 2, 3.0), Change((-1,), 8, 9.0)))


def test_elements_tell_the_sequence_and_back():
    """A sequence read from elements has phases of their lengths; short phases are left out."""
    signs = np.array([[[1]], [[1]], [[-1]]]).repeat(3, axis=1)
    signs[1, 1:] = -1
    h = np.full((3, 3), 0.1)
    sequence = read(signs, h, 1e-3)
    assert sequence.key == ((1,), (((-1,), 2),))
    phases = sequence.phases(np.array([0, 0.3, 0.6, 0.9]))
    assert [[p.signs for p in here] for here in phases] == [[(1,)], [(1,), (-1,)], [(-1,)]]
    np.testing.assert_allclose([p.length for p in phases[1]], [0.1, 0.2], atol=1e-15)
    signs[:], signs[1, 1], h[1] = 1, -1, (0.15, 1e-6, 0.15)
    assert read(signs, h, 1e-7).key == ((1,), (((-1,), 2), ((1,), 2)))
    assert read(signs, h, 1e-3).key == ((1,), ())


def test_a_switch_on_a_boundary_goes_to_one_side():
    """Only the end of a slide may stay on the boundary, where the control jumps."""
    on = Sequence((1,), (Change((-1,), 3, 1.0),))
    assert on.inside(3).changes[0].place == 2
    slide = Sequence((0,), (Change((-1,), 3, 1.0),))
    assert slide.inside(3) == slide


@for_each(
    ("begin", "end", "sign", "key"),
    [
        ((1.0, 0), (2.0, 2), 0, [((0,), 0), ((-1,), 2), ((1,), 2), ((-1,), 8)]),
        ((3.0, 2), (5.0, 4), -1, [((1,), 4), ((-1,), 8)]),
        ((5.0, 4), (9.0, 8), -1, [((1,), 2), ((-1,), 4)]),
        ((3.0, 2), (9.0, 8), -1, []),
    ],
)
def test_a_stretch_gets_another_sign(begin, end, sign, key):
    """Changes inside of the stretch and at its ends are merged with those that it makes."""
    found = TWO.replaced(begin, end, 0, sign, 1e-6)
    assert [(c.after, c.place) for c in found.changes] == key


def test_every_phase_has_an_element():
    """The longest phases have the others."""
    phases = [Phase((1,), 0.0), Phase((-1,), 0.6), Phase((0,), 0.4)]
    assert counts(phases, 5) == [1, 2, 2]
    assert counts(phases, 3) == [1, 1, 1]


def test_changes_of_two_functions_are_told_apart():
    """Each change concerns one function; `inserted` takes the other order."""
    both = Sequence((1, 0), (Change((0, -1), 4, 1.0),))
    assert [c.after for c in both.single().changes] == [(0, 0), (0, -1)]
    assert [c.after for c in both.inserted(0, (1, -1)).changes] == [(1, -1), (0, -1)]
    assert both.crowd() == 2
    assert both.single().crowd() == 3
