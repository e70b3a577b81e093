"""Equilibria over one parameter: their equations, margins and eigenvalues."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import sympy as sp
from loops import for_each
from plain import space
from test_study_branches import bare

import explorer as ex
from explorer.errors import BadValue
from explorer.study import (
    equilibria,
)


def test_forces_of_contacts_act_along_the_gradients_of_their_gaps():
    system = ex.MechanicalSystem("m", q="x y")
    x, y = system.q
    system.mass, system.force = [[1, 0], [0, 1]], [-x, 2]
    system.contact(ex.Contact(x * y, name="a"))
    system.contact(ex.Contact(3 - y, name="b"))
    f, gaps, (a, b) = equilibria.formulas_of(system)
    assert [name for name, _ in gaps] == ["a", "b"]
    assert [sum(one.coeff(k) * k for k in (a, b)) for one in (e.expand() for e in f)] == [a * y, a * x - b]  # fmt: skip
    assert [one.subs({a: 0, b: 0}) for one in f] == [-x, 2]
    system.contact(ex.Contact(y, name="c", mu=0.5, slip="v_x"))
    with pytest.raises(ex.NotApplicable, match="has friction"):
        equilibria.formulas_of(system)


def switched(x="x y"):
    """Two surfaces, x = 0 and y = p - 2."""
    return ex.StepSystem(
        "m", x=x, params={"d": ex.Param(0.5, 0, 1), "p": ex.Param(0.3, -2, 2)}, c=["x", "y - p + 2"],
        f=["(1 - alpha_1)*(1 + y) + alpha_1*(p + y**2) - 0.3*x", "-d*y + (p - 0.5)*alpha_1 - 0.2*x + (0.7 + x**2)*alpha_2"],
        start={"x": [0, 0], "t_end": 5},
    )  # fmt: skip


def stops():
    """Two masses that are joined, with springs and dampers, each before a stop."""
    system = ex.MechanicalSystem("m", q="x y", params={"p": 0.3})
    (x, y), (v, w) = system.q, system.v
    system.mass = [[2, 0.3], [0.3, 1]]
    system.force = [-3 * x - 0.4 * v + (y - x) ** 2 + sp.Symbol("p"), -y - 0.2 * w + 0.1 * v - x]
    system.contact(ex.Contact(x + y, name="a"))
    system.contact(ex.Contact(3 - y + 0.5 * x, name="b"))
    return system


@for_each(("name", "x", "side"), [
    ("switched", (0.0, 0.4), [0, 1]), ("switched", (0.7, -1.7), [1, 0]), ("switched", (-0.6, -4.0), [-1, -1]), ("switched", (0.0, -1.7), [0, 0]),
    ("stops", (0.5, -0.5), [0, 1]), ("stops", (0.5, 3.25), [1, 0]), ("stops", (0.5, 0.1), [1, 1]), ("stops", (-2.0, 2.0), [0, 0]),
])  # fmt: skip
def test_the_equations_of_an_equilibrium_are_those_of_its_sides(name, x, side):
    """f = 0; on a surface c = 0, beside it alpha is 0 or 1, and no force acts. J is their derivative."""
    system = {"switched": switched, "stops": stops}[name]()
    mechanical, place = name == "stops", list(system.parameters).index("p")
    rho = np.array([0.5, 0.3][-len(system.parameters) :])
    full = np.array([*x, 0.0, 0.0]) if mechanical else np.array(x)
    one = equilibria.Equilibria(system, "p", rho, full, 4.0)
    assert (one.side.tolist(), one.n_x, one.n, one.place) == (side, len(full), 2, place)
    assert one.scale.tolist() == [*np.maximum(np.abs(x), 1.0), 1.0, 1.0, 4.0]
    fixed = [0.0, 0.0] if mechanical else [(s + 1) / 2 for s in side]
    assert one.first(full).tolist() == [*x, *fixed, 0.3]
    u = np.array([*x, 0.35, 0.6, 0.4])
    (q, r), (a, b), p = u[:2], u[2:4], u[4]
    if mechanical:
        f = [-3 * q + (r - q) ** 2 + p + a + 0.5 * b, -r - q + a - b]
        c = [q + r, 3 - r + 0.5 * q]
    else:
        f = [(1 - a) * (1 + r) + a * (p + r * r) - 0.3 * q, -0.5 * r + (p - 0.5) * a - 0.2 * q + (0.7 + q * q) * b]  # fmt: skip
        c = [q, r - p + 2]
    at = one.evaluate(u, full=False)
    values = [cc if s == 0 else alpha - to for cc, s, alpha, to in zip(c, side, (a, b), fixed, strict=True)]  # fmt: skip
    np.testing.assert_allclose(at.G, [*f, *values], rtol=1e-12, atol=1e-15)
    for k in range(5):
        moved = [one.evaluate(u + sign * 1e-6 * np.eye(5)[k], full=False).G for sign in (-1, 1)]
        np.testing.assert_allclose(at.jacobian[:, k], (moved[1] - moved[0]) / 2e-6, atol=1e-8)
    assert at.sequence == tuple(zip(("a", "b") if mechanical else ("c1", "c2"), side, strict=True))
    J, on = at.jacobian, np.flatnonzero(np.array(side) == 0)
    unit = np.abs(J[:2] * u).max(axis=1)
    unit = np.maximum(unit, 1e-3 * unit.max()) + 1e-9
    assert at.size == pytest.approx(max(np.abs(f) / unit) if not on.size else np.abs(at.G / [*unit, 1, 1]).max())  # fmt: skip
    whole = one.evaluate(u)
    for k, s in enumerate(side):
        keys = {f"side {k}": c[k] * s} if s else {f"low {k}": (a, b)[k]} | ({} if mechanical else {f"high {k}": 1 - (a, b)[k]})  # fmt: skip
        for key, value in keys.items():
            assert one.distance(key, u) == pytest.approx(value)
            assert whole.margins.pop(key) == pytest.approx(value)
            assert one.at_margin(key) == ("boundary", at.sequence[k][0])
    assert whole.margins == {}
    for k, s in enumerate(side):  # a surface, or a force, has passed its bound
        beyond = u.copy()
        beyond[2 + k] = -1e-3 if s == 0 else fixed[k]
        beyond[k] -= 0.0 if s == 0 else 9.0 * s * (-1 if mechanical and k == 1 else 1)
        with pytest.raises(BadValue, match=f"{'low' if s == 0 else 'side'} .* has passed its bound"):  # fmt: skip
            one.evaluate(beyond)
    A, B, C = J[:2, :2], J[:2, 2 + on], np.array([[1, 0], [0, 1]] if not mechanical else [[1, 1], [0.5, -1]])[on]  # fmt: skip
    found, across = at.data.multipliers, at.data.across
    assert (np.diff(found.real) <= 1e-12).all()
    null = np.linalg.svd(C)[2][len(on) :].T if len(on) else np.eye(2)
    if mechanical:
        M, D = np.array([[2, 0.3], [0.3, 1]]), np.array([[-0.4, 0], [0.1, -0.2]])
        assert len(found) == 4 - 2 * len(on)
        for s in found:
            reduced = null.T @ (M * s * s - D * s - A) @ null
            assert abs(np.linalg.det(reduced)) < 1e-9
        return
    flow = A - B @ np.linalg.solve(C @ B, C @ A) if len(on) else A
    wanted = np.linalg.eigvals(null.T @ flow @ null)
    np.testing.assert_allclose(found, wanted[np.argsort(-wanted.real)], rtol=1e-9)
    np.testing.assert_allclose(across, np.linalg.eigvals(C @ B) if len(on) else [], rtol=1e-9)
    pairs = [s + t for s, t in itertools.combinations(found, 2)]
    assert whole.tests == ({"Hopf": pytest.approx(np.prod(pairs).real)} if pairs else {})


@for_each(("eigenvalues", "across", "stable", "genuine"), [
    ([-1 + 2j, -1 - 2j, 3], [], False, True), ([1e-9 + 2j, 1e-9 - 2j, -3], [-1], False, True), ([2.0, 1, -2], [-1], False, False),
    ([-1.0, -2], [-3], True, False), ([-1.0, -2], [3], False, False), ([-1.0, 0], [], False, False),
])  # fmt: skip
def test_an_equilibrium_is_stable_along_its_surfaces_and_across(eigenvalues, across, stable, genuine):  # fmt: skip
    """A pair with the sum that is nearest to zero turns, or it is a saddle's."""
    rest = equilibria.Rest(np.array(eigenvalues), np.array(across))
    node, one = space(at=space(data=rest)), bare(equilibria.Equilibria)
    assert one.stable(node) == stable
    assert one.genuine("Hopf", node) == genuine
    assert one.genuine("fold", node)
