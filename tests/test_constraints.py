"""Bilateral constraints by time stepping: closed forms, drift and its cure, contacts, refusals."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import explorer as ex
from explorer import Constraint, Contact, MechanicalSystem, MoreauJean
from explorer.compiled import checks
from explorer.errors import BadModel, NotApplicable, StepFailed

G = 9.81


def pendulum(**start):
    """Return a mass on a rod in Cartesian coordinates, released at the side."""
    return MechanicalSystem(
        "pendulum", q="x y", params={"l": 1.0}, mass=[[2, 0], [0, 2]], force=[0, "-2*9.81"],
        potential="2*9.81*y", constraints=[Constraint("(x**2 + y**2 - l**2)/2", "rod")],
        start={"q": ["3*l/5", "-4*l/5"], "v": [0, 0], "t_end": 4} | start,
    )  # fmt: skip


def errors(h, **knobs):
    """Return drift and the error of the place at the end."""
    run = ex.simulate(pendulum(), MoreauJean(h=h, **({"projection": "none"} | knobs)))
    form = solve_ivp(
        lambda t, y: [y[1], -G * np.sin(y[0])], (0, 4), [np.arctan2(3, 4), 0],
        rtol=1e-12, atol=1e-12,
    )  # fmt: skip
    angle = form.y[0, -1]
    place = np.array([np.sin(angle), -np.cos(angle)])
    return np.abs(run.phi).max(), np.abs(run.q[-1] - place).max()


@pytest.mark.parametrize(("mass_point", "order"), [("q_star", 1), ("iterate", 2)])
def test_positions_drift_and_projection_cures_it(mass_point, order):
    """Velocities keep to the rod, positions leave it by O(h) or O(h^2); projected, by round-off."""
    steps = (8e-3, 4e-3, 2e-3, 1e-3)
    drift, _ = np.array([errors(h, mass_point=mass_point) for h in steps]).T
    assert np.log2(drift[:-1] / drift[1:]) == pytest.approx(order, abs=0.15)
    cured, error = np.array(
        [errors(h, mass_point=mass_point, projection="constraints") for h in steps]
    ).T
    assert cured.max() <= 1e-13
    assert np.log2(error[:-1] / error[1:]).min() > 0.8


@pytest.mark.parametrize("tol", [1e-12, 1e-4])
def test_rods_turn_with_the_iterate_and_hold_there_to_the_tolerance(tol):
    # a first iteration leaves no momentum at a start from rest, but G has turned by then
    chain = ex.MechanicalSystem("chain", q="x y u w", mass=np.diag([1, 1, 2, 1]).tolist())
    chain.force = [0, -9.81, 0, -19.62]
    chain.constraint("x**2 + y**2 - 1")
    chain.constraint("(u - x)**2 + (w - y)**2 - 1")
    chain.start(q=[1, 0, 2, 0], t_end=1.0)
    knobs = {"mass_point": "iterate", "projection": "none"}
    run = ex.simulate(chain, MoreauJean(h=0.02, newton_tol=tol, **knobs))
    end = run.q[:-1] + 0.01 * (run.v[1:] + run.v[:-1])
    (x, y, u, w), (a, b, c, d) = end.T, run.v[1:].T
    left = 2 * np.abs([x * a + y * b, (u - x) * (c - a) + (w - y) * (d - b)])
    assert (left.max(axis=0) <= (2 * tol + 1e-14) * np.abs(run.v[1:]).max(axis=1) * 8).all()
    assert run.certificate["constraints"].ok
    run.v[20, 0] *= 1 + 10 * tol + 1e-9
    again = run.changed()
    assert not again.certificate["constraints"].ok


def test_the_impulse_of_a_rod_is_its_tension():
    """At rest m g h in each step; swinging, the tension to first order."""
    still = ex.simulate(pendulum(q=[0, -1], v=[0, 0]), MoreauJean(h=1e-3), t_end=0.1)
    assert still.p_phi[1:, 0] == pytest.approx(2 * G * 1e-3, rel=1e-12)
    assert still.lam_phi[1:, 0] == pytest.approx(2 * G, rel=1e-12)
    run = ex.simulate(pendulum(), MoreauJean(h=1e-4, projection="constraints"), t_end=2)
    tension = 2 * (np.sum(run.v**2, axis=1) - G * run.q[:, 1])  # m (v^2 / l + g cos)
    assert run.lam_phi[1:, 0] == pytest.approx(tension[1:], abs=0.02 * tension.max())


def test_tied_masses_are_one_mass_also_where_friction_and_impacts_are():
    """x = y, a constant constraint: the same motion as of the sum of the masses, to round-off."""
    contact = Contact("z", e=0.5, mu=0.3, slip="v_x", name="floor")
    tied = MechanicalSystem(
        "tied", q="x y z", mass=[[1, 0, 0], [0, 2, 0], [0, 0, 1]], force=["-50*x", 0, "-9.81"],
        constraints=["x - y"], contacts=[contact], start={"q": [1, 1, 0.1], "v": [0, 0, 0]},
    )  # fmt: skip
    single = MechanicalSystem(
        "single", q="x z", mass=[[3, 0], [0, 1]], force=["-50*x", "-9.81"], contacts=[contact],
        start={"q": [1, 0.1], "v": [0, 0]},
    )  # fmt: skip
    for scheme in (MoreauJean(h=1e-3), MoreauJean(h=1e-3, theta=1.0)):
        one, two = ex.simulate(tied, scheme), ex.simulate(single, scheme)
        assert np.abs(one.q[:, [0, 2]] - two.q).max() < 1e-12
        assert np.abs(one.p_t - two.p_t).max() < 1e-12
        assert (one.doing == two.doing).all()
        assert np.abs(one.phi).max() == 0


def test_a_driven_constraint_moves_what_hangs_on_it():
    """x = sin(3 t) exactly at velocity level: v = 3 cos(3 t) at the end of each step."""
    system = MechanicalSystem(
        "driven", q="x y", mass=[[1, 0], [0, 1]], force=["-20*(x - y)", "20*(x - y)"],
        constraints=["x - sin(3*t)"], start={"q": [0, 0], "v": [3, 0], "t_end": 2},
    )  # fmt: skip
    run = ex.simulate(system, MoreauJean(h=1e-3, projection="constraints"))
    assert run.v[1:, 0] == pytest.approx(3 * np.cos(3 * run.t[1:]), abs=1e-12)
    w = np.sqrt(20)  # y'' + w^2 y = w^2 sin(3 t), at rest
    y = w**2 / (w**2 - 9) * (np.sin(3 * run.t) - 3 / w * np.sin(w * run.t))
    assert np.abs(run.q[:, 1] - y).max() < 5e-3


def test_nothing_penetrates_where_contacts_are_projected():
    """A ball; a pendulum against a wall, constraint and contact together; a column."""
    ball = ex.models.bouncing_ball()
    wall = pendulum()
    wall.contact(Contact("x + 3/10", e=0.4, name="wall"))
    for system, knobs in ((ball, {}), (wall, {}), (wall, {"mass_point": "iterate"}),
                          (ex.models.column(4), {})):  # fmt: skip
        free = ex.simulate(system, MoreauJean(h=4e-3, **knobs))
        run = ex.simulate(system, MoreauJean(h=4e-3, projection="all", **knobs))
        assert free.gap.min() < -1e-4
        assert run.gap.min() >= -1e-12
        assert (run.p > 0).any()
        if system is wall:
            assert np.abs(run.phi).max() <= 1e-12


def test_what_makes_no_sense_is_refused(tmp_path):
    def make(*constraints, **more):
        return MechanicalSystem(
            "bad", q="x y", mass=[[1, 0], [0, 1]], constraints=constraints, **more
        )

    for constraint, words in (("v_x", "velocity"), ("2", "any coordinate"), ("x + w", "w")):
        with pytest.raises(BadModel, match=words):
            make(constraint)
    for system, words in (
        (make("x - y", "2*x - 2*y"), "'constraint 2'.*redundant"),
        (make("x**2"), "redundant at the start"),
        (make("x - y - 1"), "violates its constraint 'constraint 1' at the start: phi = "),
        (make("x - y", start={"v": [1, 0]}), "start velocity of .* violates its constraint"),
    ):
        with pytest.raises(BadModel, match=words):
            ex.simulate(system, MoreauJean())
    with pytest.raises(NotApplicable, match=r"constraints(.|\n)*MoreauJean"):
        ex.simulate(pendulum(), ex.Newmark())
    with pytest.raises(NotApplicable, match="free coordinates"):
        ex.study.modes(pendulum())
    lost = make("x*(y - 1)", start={"q": [0, 0], "v": [0, 1]})  # no gradient at y = 1
    with pytest.raises(StepFailed, match="constraints depend linearly on each other") as failed:
        ex.simulate(lost, MoreauJean(h=0.125, mass_point="iterate"), t_end=2)
    assert len(failed.value.solution.t) > 3
    run = ex.simulate(pendulum())
    again = ex.load(run.save(tmp_path / "run"))
    assert again.has("constraints")
    assert np.array_equal(again.phi, run.phi)
    assert r"(rod)" in pendulum()._repr_markdown_()


def test_the_order_is_that_of_the_system():
    """With gradients at one place of the step, energy is kept to order 1 along a curved constraint.

    Along a straight one the place is of order 2.
    """
    straight = MechanicalSystem(
        "tied", q="x y", mass=[[1, 0], [0, 2]], force=["-30*x", 0], constraints=["x - y"],
        start={"q": [1, 1], "v": [0, 0], "t_end": 2},
    )  # fmt: skip
    bent = pendulum()
    lost, off = [], []
    for h in (8e-3, 4e-3, 2e-3, 1e-3):
        run = ex.simulate(bent, MoreauJean(h=h, projection="none"), t_end=2)
        lost.append(np.abs(run.energy - run.energy[0]).max())
        end = ex.simulate(straight, MoreauJean(h=h)).q[-1, 0]
        off.append(abs(end - np.cos(2 * np.sqrt(10))))
    for errors_, system in ((lost, bent), (off, straight)):
        found = np.log2(np.array(errors_[:-1]) / errors_[1:])
        assert found == pytest.approx(MoreauJean(projection="none").orders_on(system)[0], abs=0.15)
    assert MoreauJean(theta=1.0).orders_on(straight) == (1, 1)


def test_rows_are_independent_where_all_singular_values_are_large():
    """Of many rows by their factor R, of few by singular values; both refuse what is below."""
    rng = np.random.default_rng(3)
    for m in (10, 60):
        U, _ = np.linalg.qr(rng.normal(size=(m, m)))
        V, _ = np.linalg.qr(rng.normal(size=(2 * m, m)))
        for smallest in (1e-3, 1e-9, 1e-14, 0.0):
            G = (U * np.append(np.linspace(1, 2, m - 1), smallest)) @ V.T
            assert checks._independent(G, 1e-12) is (smallest > 1e-12)
        assert not checks._independent(np.vstack([V, V[:1]]), 1e-12)


def test_the_redundant_one_of_many_constraints_is_named():
    names = [f"x{k}" for k in range(80)]
    system = ex.MechanicalSystem("row", q=names)
    for k in range(70):
        system.constraint(ex.Constraint(f"x{k} - x{k + 1}", f"rod {k}"))
    system.constraint(ex.Constraint("x20 - x3", "twice"))
    with pytest.raises(ex.BadModel, match="constraint 'twice' of 'row' is redundant"):
        ex.simulate(system, ex.MoreauJean(h=1e-3), t_end=0.01)
