"""Mechanisms in the plane: their formulas, closed forms, consistent starts, sketches, refusals."""

import numpy as np
import pytest
import sympy as sp
from loops import for_each
from natural import Motion
from scipy.integrate import solve_ivp
from scipy.special import ellipk

import explorer as ex
from explorer import BadModel, Linkage, MoreauJean, Param
from explorer.views.mechanism import frames

G = 9.81


def pendulum(angle=0.5, **bar):
    """Return a uniform bar of 2 kg and 1.5 m that hangs on a pin."""
    link = Linkage("pendulum")
    link.pin("O", 0, 0)
    link.point("1", 1.5 * np.sin(angle), -1.5 * np.cos(angle))
    link.bar("O", "1", **({"mass": 2} | bar))
    return link


def five_bar(**more):
    """Return the five-bar whose springs hang on one pin."""
    five = Linkage("five-bar", params={"k": 100.0, "L01": 5**0.5, "L02": 4.25**0.5})
    for name, x, y in (("A", -0.5, 0), ("B", 0.5, 0)):
        five.pin(name, x, y)
    for name, x, y in (("1", -1.5, -1), ("2", 0, -2), ("3", 1.5, -1)):
        five.point(name, x, y)
    for a, b, m in (("A", "1", 1), ("1", "2", 1.5), ("2", "3", 1.5), ("3", "B", 1)):
        five.bar(a, b, mass=m)
    five.spring("B", "1", k="k", length="L01")
    five.spring("B", "2", k="k", length="L02")
    five.contact("2", ((-2, -2.35), (2, -2.35)), e=1, name="ground")
    return five.system(**more)


# -- formulas -------------------------------------------------------------------------------------


def test_the_five_bar_has_the_equations_that_one_writes_by_hand():
    system = five_bar(t_end=5)
    x1, y1, x2, y2, x3, y3 = system.q
    k, L01, L02 = sp.symbols("k L01 L02")
    V = k * (sp.sqrt((x1 - 0.5) ** 2 + y1**2) - L01) ** 2 / 2
    V += k * (sp.sqrt((x2 - 0.5) ** 2 + y2**2) - L02) ** 2 / 2 + G * (1.25 * (y1 + y3) + 1.5 * y2)
    third, sixth = (2.5 / 3, 1.0, 2.5 / 3), 1.5 / 6
    M = np.kron(np.diag(third) + sixth * (np.eye(3, k=1) + np.eye(3, k=-1)), np.eye(2))
    assert np.array(system.mass, float) == pytest.approx(M, abs=1e-15)
    place = dict(
        zip((*system.q, k, L01, L02), np.random.default_rng(1).uniform(1, 2, 9), strict=True)
    )
    assert float((system.potential - V).subs(place)) == pytest.approx(0, abs=1e-12)
    for q, f in zip(system.q, system.force, strict=True):
        assert float((f + V.diff(q)).subs(place)) == pytest.approx(0, abs=1e-11)
    squares = (x1 + 0.5) ** 2 + y1**2, (x2 - x1) ** 2 + (y2 - y1) ** 2
    squares += (x3 - x2) ** 2 + (y3 - y2) ** 2, (0.5 - x3) ** 2 + y3**2
    for c, d, L2 in zip(system.constraints, squares, (2, 3.25, 3.25, 2), strict=True):
        assert float((c.phi - (d - L2) / (2 * sp.sqrt(L2))).subs(place)) == pytest.approx(
            0, abs=1e-12
        )
    assert [c.name for c in system.constraints] == ["bar A 1", "bar 1 2", "bar 2 3", "bar 3 B"]
    assert sp.simplify(system.contacts[0].gap - (y2 + 2.35)) == 0
    assert system.units == ("m",) * 6
    again = type(system).from_spec(system.to_spec())
    assert sp.simplify(again.mass - system.mass) == sp.zeros(6)
    run = ex.simulate(system, MoreauJean(h=1e-3, projection="constraints"))
    assert run.certificate.ok
    assert run.events[0].contact == "ground"


@pytest.mark.parametrize(("along", "across"), [(0.5, 0.0), (0.3, 0.4), (1.5, -0.2)])
def test_a_consistent_mass_matrix_is_the_integral_over_the_bar(along, across):
    """T of random velocities of the ends, beside quadrature over the material points."""
    rng = np.random.default_rng(3)
    link = Linkage("bar", gravity=0)
    for name, x in (("1", 0), ("2", 2)):
        link.point(name, x, 0)
    link.on("c", "1", "2", along, across)
    link.point("3", 3, 1)
    link.bar("1", "2", mass=3)
    link.bar("c", "3", mass=0.7)
    M = np.array(link.system().mass, float)
    assert np.linalg.eigvalsh(M).min() > 0
    v = rng.normal(size=6)
    one, two, three = v[0:2], v[2:4], v[4:6]
    w = two - one
    c = one + along * w + across * np.array([-w[1], w[0]])
    s, weight = np.polynomial.legendre.leggauss(4)
    T = sum(
        m / 4 * k * (a + (1 + x) / 2 * (b - a)) @ (a + (1 + x) / 2 * (b - a))
        for m, a, b in ((3, one, two), (0.7, c, three))
        for x, k in zip(s, weight, strict=True)
    )
    assert v @ M @ v / 2 == pytest.approx(T, rel=1e-13)


def test_a_bar_with_its_centre_and_inertia_has_their_energy():
    """Rigid velocities of a bar: m |v_c|^2 / 2 + I omega^2 / 2."""
    link = Linkage("bar", gravity=0, params={"I": 0.2})
    link.point("a", 0, 0)
    link.point("b", 0, 2)
    link.bar("a", "b", mass=Param(3, 1, 5, "kg"), centre=0.25, inertia="I")
    system = link.system()
    assert system.parameters["m_bar_a_b"].unit == "kg"
    M = np.array(system.mass.subs({"m_bar_a_b": 3, "I": 0.2}), float)
    v_c, omega = np.array([0.3, -0.8]), 1.7
    v = [*(v_c + omega * np.array([0.5, 0])), *(v_c - omega * np.array([1.5, 0]))]
    assert v @ M @ np.array(v) / 2 == pytest.approx(3 / 2 * v_c @ v_c + 0.1 * omega**2, rel=1e-13)


# -- closed forms ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("bar", "centre", "inertia"), [
    ({}, 0.75, 2 * 1.5**2 / 12),
    ({"centre": 0.2, "inertia": 0.7}, 0.3, 0.7),
])  # fmt: skip
def test_a_bar_swings_as_a_physical_pendulum(bar, centre, inertia):
    """The period 4 sqrt(J / (m g s)) K(sin(angle / 2)), J about the pin; the energy is constant."""
    angle = 2.0
    period = (
        4 * np.sqrt((inertia + 2 * centre**2) / (2 * G * centre)) * ellipk(np.sin(angle / 2) ** 2)
    )
    motion = Motion(pendulum(angle, **bar).system())
    t, q, v = motion.run(period, [0, period / 2, period])
    assert q[1] == pytest.approx([-q[0, 0], q[0, 1]], abs=1e-7)
    assert q[2] == pytest.approx(q[0], abs=1e-7)
    energy = motion.energy(t, q, v)
    assert energy == pytest.approx(energy[0], abs=1e-8)


def test_the_multiplier_of_a_bar_is_its_tension():
    """A mass on a rod at rest: m g; of a bar with a mass: half the weight of the bar as well."""
    link = Linkage("plumb")
    link.pin("O", 0, 0)
    link.point("1", 0, -2, mass=3)
    link.rod("O", "1")
    motion = Motion(link.system())
    assert motion.accelerations(0, motion.start[:2], motion.start[2:])[1] == pytest.approx(3 * G)
    link.bar("O", "1", mass=1, name="beside")
    with pytest.raises(BadModel, match="'beside' depends on 'rod O 1'"):
        link.system()
    assert len(link.system(redundant=True).constraints) == 2


def test_a_double_pendulum_moves_as_in_minimal_coordinates():
    """Two uniform bars; the angles' equations come from T and V by Lagrange."""
    m1, m2, L1, L2 = 1.3, 0.8, 1.0, 0.7
    a, b, wa, wb = sp.symbols("a b wa wb")
    T = (m1 / 3 + m2) * L1**2 * wa**2 / 2 + m2 * L2**2 * wb**2 / 6
    T += m2 * L1 * L2 * wa * wb * sp.cos(a - b) / 2
    V = -G * ((m1 / 2 + m2) * L1 * sp.cos(a) + m2 * L2 / 2 * sp.cos(b))
    p = sp.Matrix([T.diff(wa), T.diff(wb)])
    M = p.jacobian([wa, wb])
    F = sp.Matrix([(T - V).diff(x) for x in (a, b)]) - p.jacobian([a, b]) * sp.Matrix([wa, wb])
    values = sp.lambdify([a, b, wa, wb], [M, F])

    def flow(t, x):
        mass, force = values(*x)
        return [*x[2:], *np.linalg.solve(mass, np.ravel(force))]

    angles = solve_ivp(flow, (0, 3), [2.0, 1.0, 0.5, -1.0], "DOP853", rtol=1e-11, atol=1e-12).y[
        :, -1
    ]
    link = Linkage("double pendulum", params={"a": 2.0, "b": 1.0, "L1": L1, "L2": L2})
    link.pin("O", 0, 0)
    link.point("1", "L1*sin(a)", "-L1*cos(a)", v=("L1*cos(a)/2", "L1*sin(a)/2"))
    x, y = "L1*sin(a) + L2*sin(b)", "-L1*cos(a) - L2*cos(b)"
    link.point("2", x, y, v=("L1*cos(a)/2 - L2*cos(b)", "L1*sin(a)/2 - L2*sin(b)"))
    link.bar("O", "1", mass=m1)
    link.bar("1", "2", mass=m2, length="L2")
    system = link.system(t_end=3)
    assert sp.Symbol("a") in system.start_q[0].free_symbols  # it satisfies the constraints
    _, q, _ = Motion(system).run(3, [3])
    end = L1 * np.sin(angles[0]), -L1 * np.cos(angles[0])
    assert q[0, :2] == pytest.approx(end, abs=1e-7)
    end = end[0] + L2 * np.sin(angles[1]), end[1] - L2 * np.cos(angles[1])
    assert q[0, 2:] == pytest.approx(end, abs=1e-7)


def four_bar(speed=2.0, length=2.0):
    """Return a four-bar whose crank turns at a given speed."""
    link = Linkage("four-bar", params={"w": speed})
    link.pin("A", 0, 0)
    link.pin("D", 2, 0)
    link.point("B", 0, 0.5)
    link.point("C", 1.8, 1.4)
    link.bar("A", "B", mass=0.5)
    link.bar("B", "C", mass=1, length=length)
    link.bar("C", "D", mass=1, length=1.5)
    link.motor("A", "B", angle="pi/2 + w*t")
    return link


def test_a_driven_four_bar_follows_its_loop_closure():
    """Freudenstein: the coupler ends where two circles meet; torque times speed is the power."""
    link = four_bar()
    system = link.system(hold="B", t_end=2)
    assert system.start_q[:2] == (0, 0.5)
    assert np.array(system.start_v[:2], float) == pytest.approx([-1, 0])
    motion = Motion(system)
    t, q, v = motion.run(2, np.linspace(0, 2, 21))
    B = 0.5 * np.column_stack([np.cos(np.pi / 2 + 2 * t), np.sin(np.pi / 2 + 2 * t)])
    assert q[:, :2] == pytest.approx(B, abs=1e-7)
    w = np.array([2, 0]) - B
    d = np.linalg.norm(w, axis=1)
    s = (d**2 + 2**2 - 1.5**2) / (2 * d)
    up = np.column_stack([-w[:, 1], w[:, 0]])
    C = B + (s[:, None] * w + np.sqrt(4 - s**2)[:, None] * up) / d[:, None]
    assert q[:, 2:] == pytest.approx(C, abs=1e-7)
    lam = np.array([motion.accelerations(*x)[1][-1] for x in zip(t, q, v, strict=True)])
    fine = np.linspace(0, 2, 401)
    energy = motion.energy(*motion.run(2, fine))
    power = -2.0 * 0.5 * lam
    assert np.gradient(energy, fine)[20:-20:20] == pytest.approx(power[1:-1], abs=2e-3)


def test_what_hangs_on_a_moving_pin_feels_its_acceleration():
    """A bar on a pin that swings as a sin(w t): the equation of its angle, inertia included."""
    link = Linkage("driven pendulum")
    link.pin("P", "0.1*sin(7*t)", "0.2*cos(5*t) - 0.2")
    link.point("1", 0.8, -0.6, v=(0.7, 0))
    link.bar("P", "1", mass=2)
    _, q, _ = Motion(link.system()).run(2, [2])

    def flow(t, x):
        ax, ay = -4.9 * np.sin(7 * t), -5 * np.cos(5 * t)
        return [x[1], -1.5 * (ax * np.cos(x[0]) + (G + ay) * np.sin(x[0]))]

    angle = solve_ivp(flow, (0, 2), [np.arctan2(0.8, 0.6), 0], "DOP853", rtol=1e-11, atol=1e-12).y[
        0, -1
    ]
    pin = 0.1 * np.sin(14), 0.2 * np.cos(10) - 0.2
    end = pin[0] + np.sin(angle), pin[1] - np.cos(angle)
    assert q[-1] == pytest.approx(end, abs=1e-7)


def test_torsion_motors_forces_and_dampers_do_their_work():
    """A bar on a pin without gravity: I a'' = tau - k a - c a' - F r; the power of a damper."""
    link = Linkage("wheel", gravity=0)
    link.pin("O", 0, 0)
    link.point("1", 0, 2, v=(-0.6, 0))
    link.bar("O", "1", mass=3)
    link.torsion("O", "1", k=5, c=0.3)
    link.motor("O", "1", torque="2 + v_x_1")
    link.force("1", x="0.5*y_1")
    link.damper("1", (2, 2), c=0.7)
    motion = Motion(link.system())
    q, v = np.array([0, 2]), np.array([-0.6, 0])
    a, _ = motion.accelerations(0, q, v)
    torque = -0.3 * 0.3 + 2 - 0.6 - 2 * (0.5 * 2 + 0.7 * 0.6)
    assert a == pytest.approx([-2 * torque / 4, -(0.3**2) * 2], abs=1e-12)
    turned = 2 * np.array([-np.sin(0.2), np.cos(0.2)])
    a, _ = motion.accelerations(0, turned, np.zeros(2))
    torque = -5 * 0.2 + 2 - 2 * np.cos(0.2) * 0.5 * 2 * np.cos(0.2)
    assert a @ [-np.cos(0.2), -np.sin(0.2)] == pytest.approx(2 * torque / 4, abs=1e-12)
    assert motion.potential(0, turned) == pytest.approx(5 * 0.2**2 / 2)


def test_a_relative_torque_leaves_the_angular_momentum():
    link = Linkage("scissors", gravity=0)
    for name, x, y in (("0", 0, 0), ("1", 1, 0), ("2", 0, 1)):
        link.point(name, x, y)
    link.bar("0", "1", mass=1)
    link.bar("0", "2", mass=2)
    link.motor("0", "1", torque="3*cos(t)", against=("0", "2"))
    link.torsion("0", "1", k=2, angle=0.3, against=("0", "2"))
    link.motor("1", "2", force="sin(3*t)")
    system = link.system()
    motion = Motion(system)
    M = np.array(system.mass, float)
    _, q, v = motion.run(2, [0, 1, 2])
    turn = np.kron(np.eye(3), [[0, -1], [1, 0]])
    assert [(turn @ x) @ M @ y for x, y in zip(q, v, strict=True)] == pytest.approx(
        [0] * 3, abs=1e-8
    )
    assert np.abs(v[-1]).max() > 0.1


# -- contacts -------------------------------------------------------------------------------------


def test_a_point_slides_down_a_rough_line():
    """a = g (sin - mu cos); with friction the guide is two contacts, and both of them may press."""
    mu, slope = 0.3, np.arctan(0.5)
    for make in ("contact", "slider"):
        link = Linkage("slope")
        link.point("1", 0, 0, mass=2)
        extra = {"e": 0} if make == "contact" else {}
        getattr(link, make)("1", ((-2, -1), (2, 1)), mu=mu, **extra)
        run = ex.simulate(link.system(t_end=1.0), MoreauJean(h=1e-3))
        a = G * (np.sin(slope) - mu * np.cos(slope))
        assert run.v[-1] == pytest.approx([-a * np.cos(slope), -a * np.sin(slope)], rel=1e-9)
    link.force("1", y="60")  # it presses from below now
    run = ex.simulate(link.system(t_end=1.0), MoreauJean(h=1e-3))
    a = (30 - G) * (np.sin(slope) - mu * np.cos(slope))
    assert run.v[-1] == pytest.approx([a * np.cos(slope), a * np.sin(slope)], rel=1e-9)


def test_a_slider_without_friction_is_a_constraint_also_along_a_bar():
    """Whitworth's motion: the block slides on a bar, whose angle follows from the crank."""
    link = Linkage("quick return", gravity=0)
    link.pin("O", 0, -1)
    link.pin("C", 0, 0)
    link.point("1", 0.5, 0, mass=1)
    link.point("2", 1, 1)
    link.bar("O", "2", mass=1, length=5**0.5)
    link.rod("C", "1")
    link.slider("1", ("O", "2"))
    link.motor("C", "1", angle="3*t")
    system = link.system()
    t, q, _ = Motion(system).run(1, np.linspace(0, 1, 6))
    angle = np.arctan2(np.sin(3 * t) / 2 + 1, np.cos(3 * t) / 2)
    bar = 5**0.5 * np.column_stack([np.cos(angle), np.sin(angle)]) - [0, 1]
    assert q[:, 2:] == pytest.approx(bar, abs=1e-7)


def test_a_moving_line_carries_what_sticks_to_it():
    """Friction is by the speed beside the line; a plate that turns carries a block along."""
    link = Linkage("plate", gravity=9.81)
    link.pin("O", 0, 0)
    link.point("1", 2, 0)
    link.point("b", 1, 0, mass=0.1)
    link.bar("O", "1", mass=50)
    link.motor("O", "1", angle="0.2*sin(t)")
    link.contact("b", ("O", "1"), e=0, mu=0.9)
    system = link.system(t_end=1.0)
    run = ex.simulate(system, MoreauJean(h=1e-3, projection="constraints"))
    angle = 0.2 * np.sin(1)
    assert run.q[-1, 2:] == pytest.approx([np.cos(angle), np.sin(angle)], abs=2e-3)


def test_ropes_and_stops_hold_from_one_side():
    """A ball falls into a rope and rebounds; between a rope and a stop it stays in a ring."""
    link = Linkage("rope")
    link.pin("O", 0, 0)
    link.point("1", 0, -0.5, mass=1)
    link.rope("O", "1", length=1, e=0.5)
    run = ex.simulate(link.system(t_end=1), ex.EventDriven())
    hit = run.events[0]
    assert hit.t == pytest.approx(np.sqrt(2 * 0.5 / G), rel=1e-9)
    assert hit.v_plus[1] == pytest.approx(0.5 * np.sqrt(G), rel=1e-9)
    link = Linkage("ring", gravity=0)
    link.point("1", 1.5, 0, v=(1, 0.4), mass=1)
    link.rope((0, 0), "1", length=2, e=1)
    link.stop((0, 0), "1", length=1, e=1)
    run = ex.simulate(link.system(t_end=20), ex.EventDriven())
    radius = np.linalg.norm(run.q, axis=1)
    assert 1 - 1e-6 < radius.min() < 1.01
    assert 1.99 < radius.max() < 2 + 1e-6
    assert run.v[-1] @ run.v[-1] == pytest.approx(1.16, rel=1e-7)


def test_dry_friction_of_a_journal_stops_a_bar():
    """I a'' = -mu N R until it stands still, and then it stays."""
    link = Linkage("journal", gravity=0)
    link.pin("O", 0, 0)
    link.point("1", 1, 0, v=(0, 2))
    link.bar("O", "1", mass=3)
    link.friction("O", "1", mu=0.5, load=20, radius=0.1)
    system = link.system(t_end=3)
    run = ex.simulate(system, MoreauJean(h=1e-3, projection="constraints"))
    speed = np.linalg.norm(run.v[:, :2], axis=1)
    assert speed == pytest.approx(np.maximum(2 - run.t, 0), abs=3e-3)
    assert np.abs(run.v[-1]).max() < 1e-9
    assert np.abs(run.q[:, 2]).max() < 1e-12


# -- starts ---------------------------------------------------------------------------------------


def test_a_start_is_assembled_with_the_least_change():
    """q - guess lies in the range of phi_q', and the branch is that of the guess."""
    link = four_bar(length=2.2)
    system = link.system(hold="B")
    motion = Motion(system)
    q, v = np.split(motion.start, 2)
    _, _, phi, _, rate, _ = motion.of(0, q, v)
    assert np.abs(phi).max() < 1e-14
    assert np.abs(rate).max() < 1e-14
    below = ex.assemble(system, q=[0, 0.5, 1.8, -1.4], hold=["x_B", "y_B"])[0]
    assert below[3] < 0 < q[3]
    ring = ex.MechanicalSystem("ring", q="x y z", mass=np.eye(3).tolist(),
                               constraints=["x**2/4 + y**2 - 1 + z/9"])  # fmt: skip
    guess = np.array([2.0, 1.0, 0.5])
    q, v = ex.assemble(ring, q=guess, v=[1, 1, 0])
    gradient = np.array([q[0] / 2, 2 * q[1], 1 / 9])
    assert np.cross(q - guess, gradient) == pytest.approx(np.zeros(3), abs=1e-9)
    assert gradient @ v == pytest.approx(0, abs=1e-14)
    q, _ = ex.assemble(ring, q=guess, hold="x")
    assert q[0] == 2


def test_lengths_by_the_start_follow_its_parameters():
    """A start by formulas stays one, and so does what it determines."""
    link = Linkage("arm", params={"l": 1.0})
    link.pin("O", 0, 0)
    link.point("1", "3*l/5", "-4*l/5")
    link.bar("O", "1", mass=1)
    system = link.system()
    run = ex.simulate(system, MoreauJean(h=1e-2, projection="constraints"), l=3.0, t_end=0.1)
    assert np.linalg.norm(run.q, axis=1) == pytest.approx(3, abs=1e-12)


def bad():
    """Return a linkage with a few points, to which what cannot be is added."""
    link = Linkage("bad", params={"L": 1.0})
    link.pin("O", 0, 0)
    link.pin("P", 3, 0)
    link.point("1", 1, 0)
    link.point("2", 1, 0)
    return link


REFUSED = (
    ("Two points .* are called '1'", lambda k: k.point("1", 2, 2)),
    ("'x_a' cannot name a coordinate: the name is taken", lambda k: (k.params(x_a=1), k.point("a", 0, 0))),
    ("'x_1' cannot name a parameter: the name is taken", lambda k: k.params(x_1=1.0)),
    ("Two parts .* are called 'it'", lambda k: (k.bar("O", "1", mass=1, name="it"), k.bar("1", "P", mass=1, name="it"))),
    ("joins the point '1' to itself", lambda k: k.bar("1", "1", mass=1)),
    ("length of 'bar O 1' .* must be greater than zero, but it is -1 m", lambda k: k.bar("O", "1", mass=1, length="-L")),
    ("length .* must be greater than zero, but it is 0", lambda k: k.bar("O", "1", mass=1, length=0)),
    ("mass of 'bar O 1' .* greater than zero", lambda k: k.bar("O", "1", mass=0)),
    ("'bar 1 2' .* start in the same place", lambda k: k.bar("1", "2", mass=1)),
    ("'bar O P' .* joins what is fixed", lambda k: k.bar("O", "P", mass=1)),
    ("no point or pin 'Q'. Available|Did you mean", lambda k: k.bar("O", "Q", mass=1)),
    ("cannot name a point", lambda k: k.point("a b", 0, 0)),
    ("does not move", lambda k: k.mass("O", 1)),
    ("one of angle, distance, torque, force, but none", lambda k: k.motor("O", "1")),
    ("more than a quarter turn", lambda k: k.motor("O", "1", angle="2 + t")),
    ("neither a state nor a parameter", lambda k: k.spring("O", "1", k="stiff")),
    ("needs two ends", lambda k: k.contact("1", "O")),
    ("is no point", lambda k: k.contact("1", (3, 4))),
    ("'contact O' .* joins what is fixed", lambda k: k.contact("O", ("O", "P"))),
    ("'x_1' .* has no mass", lambda k: k.system()),
)  # fmt: skip


@for_each(["words", "make"], REFUSED)
def test_what_cannot_be_is_refused_with_a_sentence(words, make):
    with pytest.raises(BadModel, match=words):
        make(bad())


def test_what_cannot_be_assembled_is_named_with_its_residual():
    link = four_bar(length=5.0)
    with pytest.raises(
        BadModel, match=r"cannot be assembled.*'bar .*phi = .* contradict each other"
    ):
        link.system(hold="B")
    link = pendulum()
    link.rod("O", "1", length=1.2, name="shorter")
    with pytest.raises(BadModel, match="'bar O 1' and 'shorter' contradict each other"):
        link.system()
    link = pendulum()
    link.point("2", 1, 1, mass=1)
    link.motor("O", "2", distance="sqrt(2) + t")
    link.rod("O", "2")
    with pytest.raises(BadModel, match=r"not independent.*'rod O 2' depends on 'motor O 2'"):
        link.system()
    with pytest.raises(BadModel, match=r"No velocity .* '(rod|motor) O 2' still changes"):
        link.system(redundant=True)
    with pytest.raises(BadModel, match=r"no point, body or coordinate '7'"):
        link.system(hold="7")
    with pytest.raises(BadModel, match="no coordinate 'z' to hold"):
        ex.assemble(pendulum().system(), hold="z")
    with pytest.raises(BadModel, match="nothing that moves"):
        Linkage("empty").system()


def test_a_parallelogram_runs_with_two_cranks_and_names_its_third():
    link = Linkage("parallelogram")
    for k in range(3):
        link.pin(f"P{k}", k, 0)
        link.point(f"{k}", k - 0.6, -0.8)
        link.bar(f"P{k}", f"{k}", mass=1)
    link.bar("0", "2", mass=1)
    link.slider("1", ("0", "2"))
    assert len(link.system().constraints) == 5
    link.rod("0", "1")
    with pytest.raises(BadModel, match=r"'rod 0 1' depends on 'bar P0 0', 'bar P1 1'"):
        link.system()


# -- sketch ---------------------------------------------------------------------------------------


def test_the_sketch_follows_the_points():
    link = Linkage("picture")
    link.pin("O", 0, 0)
    link.point("1", 1, 0, mass=0.1)
    link.bar("O", "1", mass=1)
    link.spring((2, 0), "1", k=10)
    link.rope("O", "1", length=2)
    link.damper("O", "1", c=1)
    link.motor("O", "1", torque=1)
    link.contact("1", ((-2, -3), (2, -3)), e=1)
    run = ex.simulate(link.system(t_end=0.3), MoreauJean(h=1e-3, projection="constraints"))
    film = frames(run)
    roles = [item["role"] for item in film["items"]]
    at = np.cumsum([0, *(item["n"] for item in film["items"])])
    kinds = [(item["role"], item["n"]) for item in film["items"]]
    bar, wire = at[kinds.index(("body", 2))], at[roles.index("spring")]
    rows = np.searchsorted(run.t, film["t"] - 1e-6)
    tip = run.q[rows]
    shown = {tuple(np.abs(film["xy"][:, k] - tip).max(axis=0) < 1e-5) for k in range(at[-1])}
    assert (True, True) in shown
    assert np.abs(film["xy"][:, wire + 1] - tip).max() < 1e-5
    assert np.abs(film["xy"][:, bar + 1] - tip).max() < 1e-5
    assert {"ground", "body", "spring", "link"} <= {*roles}


def test_a_start_follows_its_parameters_also_where_formulas_are_only_a_guess():
    """The tip is given as it moves with the crank, and the rest follows; w0 is not lost."""
    engine = ex.models.slider_crank_rigid()
    slow, fast = (ex.simulate(engine, ex.EventDriven(), t_end=1e-3, w0=w).v[0] for w in (-3, -9))
    assert fast == pytest.approx(3 * slow, abs=1e-12)
    pair = Linkage("pair", params={"a": 0.3, "w": 2.0})
    pair.pin("O", 0, 0)
    pair.point("1", "1.1*cos(a)", "sin(a)", v=("-w", "w"), mass=1)
    pair.rod("O", "1", length=1)
    system = pair.system(t_end=1e-3)
    for w in (2.0, 4.0):
        run = ex.simulate(system, ex.EventDriven(), a=0.5, w=w)
        x, y = run.q[0]
        guess = np.array([1.1 * np.cos(0.5), np.sin(0.5)])
        assert [x, y] == pytest.approx(guess / np.hypot(*guess), abs=1e-12)  # the nearest place
        assert run.v[0] == pytest.approx(w * (y + x) * np.array([-y, x]), abs=1e-12)


def test_a_mechanism_says_its_name_and_how_much_it_has():
    arm = ex.Linkage("arm")
    arm.pin("O", 0, 0)
    arm.point("P", 1, 0)
    arm.bar("O", "P", mass=1)
    assert repr(arm) == "Linkage('arm': 2 points, 1 part)"
    assert repr(ex.Multibody("body")) == "Multibody('body': 0 points, 0 parts)"
