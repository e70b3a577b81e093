"""Equilibria: sliding flows against their own difference quotients, sides, and what has none."""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from loops import for_each
from plain import space
from test_study_branches import bare

import explorer as ex
from explorer.errors import BadModel, BadValue, NotApplicable
from explorer.study import equilibria
from explorer.study.equilibria import Equilibria, formulas_of

P = 0.4


def relay(surface="x + y**2 - p + 0.4"):
    """Return three states with a relay, which rest at 0 where p = 0.4, with alpha = 1/4."""
    return ex.StepSystem(
        "m", x="x y z", params={"p": ex.Param(P, -2, 2)}, c=[surface],
        f=["y - 2*x + (alpha_1 - 1/4)*(3 + y)", "z - y + (1/4 - alpha_1)*(1 - x*z)", "-x - y - 3*z + (alpha_1 - 1/4)*(2 - z)"],
        start={"x": [0, 0, 0], "t_end": 5},
    )  # fmt: skip


def rates(x, a):
    q, y, z = x
    part = a - 0.25
    return np.array([y - 2 * q + part * (3 + y), z - y - part * (1 - q * z), -q - y - 3 * z + part * (2 - z)])  # fmt: skip


def slide(x):
    """Return the sliding flow: alpha lets c = x + y^2 stay."""
    normal = np.array([1.0, 2 * x[1], 0.0])
    below, above = (normal @ rates(x, a) for a in (0.0, 1.0))
    return rates(x, below / (below - above))


def test_eigenvalues_of_a_slide_are_those_of_the_sliding_flow():
    """Which has one more, 0: c stays. Across it c' falls with alpha."""
    one = Equilibria(relay(), "p", np.array([P]), np.zeros(3), 4.0)
    assert one.side.tolist() == [0]
    at = one.evaluate(np.array([0.0, 0.0, 0.0, 0.25, P]))
    assert abs(at.G).max() < 1e-12
    J = np.array([(slide(d) - slide(-d)) / 2e-6 for d in 1e-6 * np.eye(3)]).T
    wanted = np.linalg.eigvals(J)
    wanted = np.delete(wanted, np.argmin(np.abs(wanted)))
    found = at.data.multipliers
    assert len(found) == 2
    assert np.sort_complex(found) == pytest.approx(np.sort_complex(wanted.astype(complex)), abs=1e-8)  # fmt: skip
    assert at.data.across == pytest.approx([3.0])
    assert at.tests["Hopf"] == pytest.approx(wanted.sum().real, abs=1e-8)
    assert np.isnan(at.data.T)
    assert at.margins == {"low 0": pytest.approx(0.25), "high 0": pytest.approx(0.75)}


def test_a_slide_that_both_sides_touch_is_not_determined():
    one = Equilibria(relay("z - y"), "p", np.array([P]), np.zeros(3), 4.0)
    one._numbers = lambda function, x, a: np.zeros({one._c: 1, one._c_z: 5}.get(function, 18))
    with pytest.raises(BadValue, match="both sides are tangent"):
        one.evaluate(np.array([0.0, 0.0, 0.0, 0.25, P]), full=False)


def test_eigenvalues_off_all_surfaces_are_those_of_the_side():
    start = np.array([0.5, 0.1, 0.2])
    one = Equilibria(relay(), "p", np.array([P]), start, 4.0)
    assert one.side.tolist() == [1]
    x = np.array([0.3, -0.2, 0.1])
    at = one.evaluate(np.array([*x, 1.0, P]), full=False)
    J = np.array([(rates(x + d, 1.0) - rates(x - d, 1.0)) / 2e-6 for d in 1e-6 * np.eye(3)]).T
    found, wanted = at.data.multipliers, np.linalg.eigvals(J).astype(complex)
    assert np.sort_complex(found) == pytest.approx(np.sort_complex(wanted), abs=1e-7)
    assert (np.diff(found.real) <= 0).all()
    assert at.data.across.shape == (0,)


@for_each(("c", "side"), [(0.9e-6 * 3, 0), (1.1e-6 * 3, 1), (-1.1e-6 * 3, -1), (-0.9e-6 * 3, 0)])
def test_a_surface_near_the_start_is_slid_on(c, side):
    """Within a millionth of 1 and the largest state, here 2."""
    one = Equilibria(relay(), "p", np.array([P]), np.array([c, 0.0, -2.0]), 4.0)
    assert one.side.tolist() == [side]
    assert one.scale.tolist() == [1.0, 1.0, 2.0, 1.0, 4.0]


def test_equilibria_take_the_sides_of_another_one_and_go_back():
    one = Equilibria(relay(), "p", np.array([P]), np.array([0.5, 0.0, 0.0]), 4.0)
    one.begin_as(space(at=space(sequence=(("c1", -1),))))
    assert one.side.tolist() == [-1]
    assert one.first(np.array([7.0, 8.0, 9.0])).tolist() == [7.0, 8.0, 9.0, 0.0, P]
    one.restart()
    assert one.side.tolist() == [1]
    one.side[0] = 0
    one.restart()
    assert one.side.tolist() == [1]  # what it began with is no view
    assert one.state(np.arange(5.0)).tolist() == [0.0, 1.0, 2.0]
    assert one.settled("node") is None


def test_rates_that_are_no_numbers_are_no_equilibrium():
    system = ex.HybridSystem("m", x="x", params={"p": ex.Param(1.0, -2, 2)})
    system.mode("only", flow=["p/x - 1"])
    one = Equilibria(system, "p", np.array([1.0]), np.array([1.0]), 4.0)
    assert one.evaluate(np.array([2.0, 3.0]), full=False).G.tolist() == [0.5]
    assert one.rho.tolist() == [3.0]
    assert one.m == 0
    with pytest.raises(BadValue, match=r"'m' has no finite rates at p = 1\.5"):
        one.evaluate(np.array([0.0, 1.5]))


def test_of_a_mechanical_system_the_velocities_are_zero():
    """Its mass and damping are taken at rest, and a gap is never passed from below."""
    system = ex.MechanicalSystem("m", q="x", params={"p": ex.Param(1.0, -2, 2)})
    (x,), (v,) = system.q, system.v
    system.mass = [[2 + x**2]]
    system.force = [-3 * x + sp.Symbol("p") - (1 + x) * v + v**3]
    system.contact(ex.Contact(x - 5, name="a"))
    one = Equilibria(system, "p", np.array([1.0]), np.array([1.0, 9.0]), 4.0)
    assert (one.n_x, one.n, one.side.tolist()) == (2, 1, [1])  # below its gap it is open, too
    assert one.state(np.array([7.0, 0.5, 1.0])).tolist() == [7.0, 0.0]
    at = one.evaluate(np.array([1.0, 0.0, 3.0]), full=False)
    assert at.G.tolist() == [0.0, 0.0]
    assert at.data.across.shape == (0,)
    for s in at.data.multipliers:
        assert 3 * s**2 + 2 * s + 3 == pytest.approx(0.0, abs=1e-12)
    assert (at.data.multipliers * at.data.multipliers[::-1]).real == pytest.approx([1.0, 1.0])
    assert at.size == 0.0


# ---------------------------------------------------------------- systems


def test_a_hybrid_system_rests_in_the_mode_in_which_it_starts():
    system = ex.HybridSystem("m", x="x", params={"p": 1.0})
    system.mode("a", flow=["1"])
    system.mode("b", flow=["p - x"])
    system.start(x=[0], mode="b", t_end=1)
    assert formulas_of(system) == ([sp.Symbol("p") - sp.Symbol("x")], [], [])


@for_each("surfaces", [1, 2])
def test_a_step_system_has_a_multiplier_for_each_surface(surfaces):
    system = ex.StepSystem("m", x="x y", c=["x", "y"][:surfaces], f=["-alpha_1", "-y" if surfaces == 1 else "-alpha_2"], start={"x": [1, 1], "t_end": 1})  # fmt: skip
    f, c, a = formulas_of(system)
    assert f == list(system.f)
    assert [(name, str(formula)) for name, formula in c] == [("c1", "x"), ("c2", "y")][:surfaces]
    assert a == [s.alpha for s in system.switches]


def test_what_has_no_equilibria_says_why():
    with pytest.raises(NotApplicable, match="Continuation takes systems with step functions"):
        formulas_of(ex.models.tent_map())
    system = ex.MechanicalSystem("m", q="x y")
    system.mass, system.force = [[1, 0], [0, 1]], [0, 0]
    system.constraint(ex.Constraint("x - y", name="a"))
    with pytest.raises(NotApplicable, match="'m' has constraints"):
        formulas_of(system)
    driven = ex.HybridSystem("m", x="x", params={"p": 1.0})
    driven.mode("only", flow=["p - x + sin(t)"])
    with pytest.raises(BadModel, match="'m' depends on t"):
        Equilibria(driven, "p", np.ones(1), np.ones(1), 1.0)


@for_each(("values", "order"), [([1, -2, 3], [3, 1, -2]), ([-1 + 2j, -1 - 2j, 0], [0, -1 + 2j, -1 - 2j]), ([], [])])  # fmt: skip
def test_eigenvalues_fall_by_their_real_parts(values, order):
    found = equilibria._sorted(np.array(values))
    assert found.tolist() == order
    assert found.dtype == complex


@for_each(("mu", "told"), [([1e-9 + 2e-6j, 1e-9 - 2e-6j], True), ([1e-7, -1e-7], False), ([5.0, 0.5 + 1j, 0.5 - 1j, -4.9], False), ([5.0, 0.01 + 1j, 0.01 - 1j, -4.9], True)])  # fmt: skip
def test_the_pair_whose_sum_is_least_turns(mu, told):
    node = space(at=space(data=equilibria.Rest(np.array(mu), np.zeros(0))))
    assert bare(Equilibria).genuine("Hopf", node) is told
    assert bare(Equilibria).genuine("fold", node) is True
