"""Natural modes against closed forms; damping matrices by the ratios that they were asked for."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sparse
from loops import for_each
from plain import space

import explorer as ex
from explorer import LinearMechanicalSystem, MechanicalSystem, Newmark, modal_damping, rayleigh
from explorer.errors import BadValue, NotApplicable
from explorer.models import models
from explorer.models.shear_building import frequencies
from explorer.study import modes
from explorer.study.modes import _about


def chain(n):
    return sparse.diags_array([2.0, -1.0, -1.0], offsets=[0, 1, -1], shape=(n, n)).tocsr()


def test_the_modes_of_a_building():
    found = modes(models["shear_building"](6), m=2, k=1000)
    assert found.omega == pytest.approx(frequencies(6, 2, 1000), rel=1e-12)
    assert found.periods == pytest.approx(1 / found.frequencies)
    j, i = np.arange(1, 7), np.arange(1, 7)[:, None]
    shapes = np.sin((2 * j - 1) * np.pi * i / 13)
    shapes = shapes / np.sqrt(2 * (shapes**2).sum(axis=0))  # phi' M phi = 1
    assert np.abs(found.shapes) == pytest.approx(np.abs(shapes), abs=1e-12)
    assert found.ratios == pytest.approx((0.1 / found.omega + 1e-3 * found.omega) / 2, rel=1e-10)
    lowest = modes(models["shear_building"](6), 2, m=2, k=1000)
    assert lowest.squares == pytest.approx(found.squares[:2])
    assert "| 1 |" in found._repr_markdown_()


@pytest.mark.parametrize("lumped", [True, False])
def test_the_lowest_modes_of_a_large_sparse_system(lumped):
    """A chain of 2000 masses, held or free; with a mass matrix of finite elements too."""
    n = 2000
    M = sparse.eye_array(n) if lumped else (6 * sparse.eye_array(n) - chain(n)) / 6
    found = modes(LinearMechanicalSystem("chain", M, 400 * chain(n)), 4)
    top = 4 * np.sin(np.arange(1, 5) * np.pi / (2 * n + 2)) ** 2
    assert found.squares == pytest.approx(400 * top / (1 if lumped else 1 - top / 6), rel=1e-8)
    assert found.shapes.T @ M @ found.shapes == pytest.approx(np.eye(4), abs=1e-9)
    K = chain(n).tolil()
    K[0, 0] = K[-1, -1] = 1
    free = modes(LinearMechanicalSystem("free", M, K.tocsr()), 2)
    assert free.squares[0] == 0
    assert free.squares[1] > 0
    assert np.isinf(free.periods[0])


def test_a_nonlinear_system_about_its_equilibrium():
    pendulum = MechanicalSystem("p", q="th", params={"g": 9.81}, mass=[[2]],
                                force=["-2*g*sin(th) - 0.4*v_th"], start={"q": [0.5]})  # fmt: skip
    hanging = modes(pendulum)
    assert hanging.q == pytest.approx([0], abs=1e-12)
    assert hanging.omega == pytest.approx([np.sqrt(9.81)])
    assert hanging.ratios == pytest.approx([0.1 / np.sqrt(9.81)])
    assert modes(pendulum, about="start").squares == pytest.approx([9.81 * np.cos(0.5)])
    upright = modes(pendulum, about=[np.pi])
    assert upright.squares == pytest.approx([-9.81])
    assert np.isnan(upright.omega).all()
    well = modes(models["duffing"](), k=-1, k3=2, c=0, f=0, x0=0.8, m=1)  # x = sqrt(1/2)
    assert (well.q**2, well.squares) == (pytest.approx([0.5]), pytest.approx([2.0]))
    assert modes(models["bilinear_oscillator"](), k=18, m=2).omega == pytest.approx([3])


@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array])
def test_rayleigh_damping_has_its_two_ratios(wrap):
    M, K = wrap(2 * np.eye(5)), wrap(300 * chain(5).toarray())
    omega = modes(LinearMechanicalSystem("c", M, K)).omega
    a0, a1, C = rayleigh(M, K, (0.02, 0.05), omega[[0, 3]])
    ratios = modes(LinearMechanicalSystem("c", M, K, C)).ratios
    assert ratios[[0, 3]] == pytest.approx([0.02, 0.05])
    assert ratios == pytest.approx((a0 / omega + a1 * omega) / 2)
    assert min(rayleigh(M, K, 0.03, omega[[0, 3]])[:2]) > 0


def test_modal_damping_decays_each_mode_on_its_own():
    M, K = np.diag([1.0, 2.0, 1.5, 1.0]), 200 * chain(4).toarray()
    xi = np.array([0.01, 0.2, 0.0])
    C = modal_damping(M, sparse.csr_array(K), xi)
    found = modes(LinearMechanicalSystem("c", M, K, C))
    assert found.ratios == pytest.approx([*xi, 0], abs=1e-12)
    coupled = found.shapes.T @ C @ found.shapes
    assert coupled == pytest.approx(np.diag(np.diag(coupled)), abs=1e-10)
    start = {"q": found.shapes[:, 0], "v": -0.01 * found.omega[0] * found.shapes[:, 0]}
    run = ex.simulate(LinearMechanicalSystem("c", M, K, C, start=start), Newmark(h=1e-3), t_end=2)
    swing = found.omega[0] * np.sqrt(1 - xi[0] ** 2)
    truth = np.exp(-xi[0] * found.omega[0] * run.t) * np.cos(swing * run.t)
    assert np.abs(run.q - truth[:, None] * found.shapes[:, 0]).max() < 1e-4
    assert modal_damping(M, K, 0.1) == pytest.approx(modal_damping(M, K, [0.1] * 4))


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: rayleigh([[1]], [[4]], 0.1, (2, 2)), "two different positive frequencies"),
        (lambda: rayleigh([[1]], [[4]], 0.1, 2), "two different positive"),
        (lambda: rayleigh([[1]], [[4]], (0.01, 0.5), (1, 2)), "modes of low frequency would grow"),
        (lambda: rayleigh([[1]], [[4]], (0.5, 0.01), (1, 2)), "modes of high frequency would grow"),
        (lambda: modal_damping([[1]], [[4]], [0.1, 0.1]), "2 damping ratios are given for 1 mode"),
        (lambda: modal_damping([[1]], [[4]], -0.1), "would add energy to its mode"),
        (lambda: modal_damping([[1]], [[-4]], 0.1), "does not oscillate"),
        (lambda: modes(models["duffing"](), 0), "count = 0 must be a whole number"),
        (lambda: modes(models["duffing"](), about=[1, 2]), "about needs 1 finite number"),
        (lambda: modes(models["duffing"](), about="rest"), "must be 'equilibrium'"),
        (lambda: modes(MechanicalSystem("fall", q="x", force=["1"])), "no equilibrium near its"),
        (lambda: modes(LinearMechanicalSystem("follower", np.eye(2), [[2, 1], [-1, 2]])),
         "not symmetric"),
        (lambda: modes(models["thermostat"]()), "no natural modes"),
        (lambda: modes(LinearMechanicalSystem("large", sparse.eye_array(3001), chain(3001))),
         "has 3001 modes; ask for some of the lowest"),
        (lambda: modal_damping(sparse.eye_array(9000), chain(9000), 0.1), "0.648 GB; rayleigh"),
    ],
)  # fmt: skip
def test_what_has_no_modes_is_said(ask, words):
    with pytest.raises((BadValue, NotApplicable), match=words):
        ask()


def test_the_shapes_are_drawn():
    """One line a mode with its frequency, through the entries beside the largest; no run needed."""
    found = modes(models["shear_building"](5), m=2, k=1000)
    figure = ex.views.modes(found)
    assert len(figure.data) == 5
    for k, line in enumerate(figure.data):
        shape = found.shapes[:, k] / np.abs(found.shapes[:, k]).max()
        assert np.asarray(line.y) == pytest.approx(shape, abs=1e-6)
        assert line.name == f"{k + 1}: {found.frequencies[k]:.4g} Hz"
    upright = MechanicalSystem("p", q="th", force=["9.81*sin(th)"], start={"q": [0.0]})
    assert "-9.81 1/s" in ex.views.modes(modes(upright, about="start")).data[0].name
    many = ex.views.modes(modes(LinearMechanicalSystem("c", np.eye(40), chain(40).toarray())))
    assert [line.mode for line in many.data] == ["lines"] * 6


class Sprung:
    """f = b - K (q - q^3 / 6 c): a spring that softens, in coordinates of other units."""

    n = 2

    def __init__(self, start, b=(0.3, -0.2), c=1.0, units=(1.0, 1.0)):
        self.q0, self.b, self.c, self.system = np.array(start, float) * units, np.array(b), c, space(name="m")  # fmt: skip
        self.K, self.units = np.array([[3.0, -1.0], [-1.0, 2.0]]), np.array(units)

    def input(self, values):
        return np.array([0.0, 9.0, 9.0, 9.0, 9.0, *values])

    def start(self, values):
        return self.q0.copy(), np.zeros(2)

    def forces(self, inp):
        q = inp[1:3] / self.units
        return (self.b - self.K @ (q - self.c * q**3 / 6)) / self.units

    def tangents(self, inp):
        q = inp[1:3] / self.units
        return None, self.K * (1 - self.c * q**2 / 2) / self.units / self.units[:, None]


@for_each(("start", "units"), [((0.0, 0.0), (1.0, 1.0)), ((0.1, 0.0), (1e-6, 1.0)), ((0.0, 0.0), (1e5, 1e-5)), ((0.2, -0.3), (1.0, 1e4))])  # fmt: skip
def test_modes_are_about_an_equilibrium_near_the_start(start, units):
    """Whatever the units are."""
    one = Sprung(start, units=units)
    found = _about(one, [7.0], "equilibrium") / units
    np.testing.assert_allclose(one.K @ (found - found**3 / 6), one.b, atol=1e-10)
    assert np.abs(found).max() < 0.5
    assert _about(one, [7.0], "start").tolist() == one.q0.tolist()
    assert _about(one, [7.0], [3, 4]).tolist() == [3.0, 4.0]
    for wrong in ([1.0], [1.0, np.nan], [[1.0, 2.0]]):
        with pytest.raises(BadValue, match="about needs 2 finite numbers"):
            _about(one, [7.0], wrong)
    with pytest.raises(BadValue, match="must be 'equilibrium', 'start' or 2 coordinates"):
        _about(one, [7.0], "rest")
    with pytest.raises(BadValue, match="'m' has no equilibrium near its start: the residual force"):
        _about(Sprung((0.0, 0.0), b=(9.0, 9.0)), [7.0], "equilibrium")


def test_a_system_that_nothing_holds_rests_at_its_start():
    """Its matrix is singular: there is no first step to it, but there is an equilibrium."""
    one = Sprung((2.0, 3.0), b=(0.0, 0.0))
    one.K = np.zeros((2, 2))
    assert _about(one, [], "equilibrium").tolist() == [2.0, 3.0]
