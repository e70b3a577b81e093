"""Rigid bodies in space: Euler's equations, tops, joints, contacts, sketches, refusals."""

import numpy as np
import pytest
import sympy as sp
from loops import for_each
from natural import Motion
from scipy.integrate import solve_ivp
from scipy.special import ellipk

import explorer as ex
from explorer import BadModel, Linkage, MoreauJean, Multibody
from explorer.systems.linkages.body import angular, inertial_force, rotation, rotational_mass
from explorer.views.mechanism import frames

G = 9.81
J = np.array([[2.0, 0.3, -0.2], [0.3, 1.5, 0.1], [-0.2, 0.1, 1.2]])


def numbers(matrix):
    return np.array(matrix.evalf(), float)


def test_the_quaternion_equations_are_those_of_lagrange():
    """M and the force beside d/dt T_p' - T_p, for any p, and M positive definite."""
    p, rate = sp.symbols("p:4"), sp.symbols("r:4")
    inertia = sp.Matrix(J)
    M, F = rotational_mass(p, inertia), inertial_force(p, rate, inertia)
    T = (sp.Matrix(rate).T * M * sp.Matrix(rate))[0] / 2
    moved = sp.Matrix([T.diff(r) for r in rate]).jacobian(p) * sp.Matrix(rate)
    wanted = sp.Matrix([T.diff(x) for x in p]) - moved
    rng = np.random.default_rng(5)
    for _ in range(4):
        at = dict(zip((*p, *rate), rng.normal(size=8), strict=True))
        assert numbers(F.subs(at)) == pytest.approx(numbers(wanted.subs(at)), abs=1e-11)
        assert np.linalg.eigvalsh(numbers(M.subs(at))).min() > 0


def test_rotation_and_angular_velocity_belong_together():
    """R' = R w~ on |p| = 1; half an angle stands in the quaternion."""
    rng = np.random.default_rng(6)
    p = rng.normal(size=4)
    p /= np.linalg.norm(p)
    rate = np.array(angular(p), float).T @ [0.3, -0.7, 1.1] / 2
    R, h = np.array(rotation(p), float), 1e-6
    assert pytest.approx(np.eye(3), abs=1e-14) == R @ R.T
    assert np.linalg.det(R) == pytest.approx(1)
    dR = (np.array(rotation(p + h * rate), float) - np.array(rotation(p - h * rate), float)) / 2 / h
    assert R.T @ dR == pytest.approx(
        np.array([[0, -1.1, -0.7], [1.1, 0, -0.3], [0.7, 0.3, 0]]), abs=1e-9
    )
    spin = np.array(2 * angular(p, inside=False) * sp.Matrix(rate), float).ravel()
    assert spin == pytest.approx(R @ [0.3, -0.7, 1.1])
    turned = np.array(rotation([np.cos(0.3), 0, 0, np.sin(0.3)]), float)
    assert turned[:, 0] == pytest.approx([np.cos(0.6), np.sin(0.6), 0])


def free(inertia=J, **start):
    """Return a body without gravity, and its motion."""
    space = Multibody("free body", gravity=0)
    body = space.body("a", mass=1.5, inertia=inertia, **start)
    return space, body


def spin_of(q, v):
    """Return the angular velocity in the body, and R."""
    return 2 * np.array(angular(q[3:7]), float) @ v[3:7], np.array(rotation(q[3:7]), float)


def test_a_body_obeys_euler_with_torques_in_both_axes():
    space, body = free(turn=(0.8, 0.1, -0.3, 0.5), spin=(0.4, -1, 2))
    space.torque(body, 1, "2*t", -0.3, inside=True)
    space.torque("a", x=0.2, z=0.5)
    space.force(body.point(0.1, 0.2, -0.3), y=3)
    motion = Motion(space.system())
    q, v = np.split(motion.start, 2)
    a, _ = motion.accelerations(1.0, q, v)
    w, R = spin_of(q, v)
    assert w == pytest.approx([0.4, -1, 2])
    tau = np.array([1, 2, -0.3]) + R.T @ [0.2, 0, 0.5] + np.cross([0.1, 0.2, -0.3], R.T @ [0, 3, 0])
    change = 2 * np.array(angular(q[3:]), float) @ a[3:]
    assert J @ change + np.cross(w, J @ w) == pytest.approx(tau, abs=1e-12)
    assert a[:3] == pytest.approx([0, 2, 0], abs=1e-12)


def test_a_free_body_keeps_its_angular_momentum_and_tumbles_as_euler_says():
    space, _ = free(spin=(0.1, 2, 0.1), v=(1, 0, 0))
    motion = Motion(space.system())
    t, q, v = motion.run(6, np.linspace(0, 6, 7))
    spins = [spin_of(*x) for x in zip(q, v, strict=True)]
    L = np.array([R @ J @ w for w, R in spins])
    assert pytest.approx(np.tile(L[0], (7, 1)), abs=1e-8) == L
    assert motion.energy(t, q, v) == pytest.approx(0.75 + L[0] @ spins[0][0] / 2, abs=1e-8)
    euler = solve_ivp(
        lambda _, w: np.linalg.solve(J, np.cross(J @ w, w)), (0, 6), [0.1, 2, 0.1], "DOP853",
        rtol=1e-11, atol=1e-12,
    )  # fmt: skip
    assert spins[-1][0] == pytest.approx(euler.y[:, -1], abs=1e-7)


def test_the_axis_of_a_free_symmetric_top_goes_round_its_angular_momentum():
    """It precesses at |L| / A (Euler)."""
    A, C, w = 2.0, 0.7, np.array([0.5, 0, 3])
    space, _ = free((A, A, C), spin=tuple(w))
    t, q, _ = Motion(space.system()).run(5, np.linspace(0, 5, 6))
    L = np.array([A, A, C]) * w
    axis, size = L / np.linalg.norm(L), np.linalg.norm(L)
    z = np.array([0, 0, 1.0])
    for time, row in zip(t, q, strict=True):
        angle = size / A * time
        round_ = z * np.cos(angle) + np.cross(axis, z) * np.sin(angle)
        round_ += axis * (axis @ z) * (1 - np.cos(angle))
        assert np.array(rotation(row[3:]), float)[:, 2] == pytest.approx(round_, abs=1e-7)


def top(theta=0.6, omega=2.0, **more):
    """Return a heavy top in regular precession at the rate omega, m g l = C w3 W - A W^2 cos."""
    m, d, A, C = 0.2, 0.05, 8e-4, 2e-4
    about = A - m * d**2
    w3 = (m * G * d + A * omega**2 * np.cos(theta)) / (C * omega)
    space = Multibody("top")
    place = np.array([0, -np.sin(theta), np.cos(theta)]) * d
    spin = np.array([0, omega * np.sin(theta), w3])
    body = space.body(
        "top", mass=m, inertia=(about, about, C), at=place.tolist(), turn=((1, 0, 0), theta),
        spin=spin.tolist(), v=np.cross([0, 0, omega], place).tolist(),
    )  # fmt: skip
    space.spherical(body.point(0, 0, -d), (0, 0, 0), name="tip")
    return space.system(**more), place


def test_a_heavy_top_precesses_steadily():
    """The tip of the axis goes round the vertical at the rate that it was started for."""
    system, place = top(t_end=1)
    motion = Motion(system)
    t, q, v = motion.run(1.0, np.linspace(0, 1, 5))
    wanted = [[-place[1] * np.sin(2 * x), place[1] * np.cos(2 * x), place[2]] for x in t]
    assert q[:, :3] == pytest.approx(np.array(wanted), abs=1e-8)
    assert motion.energy(t, q, v) == pytest.approx(motion.energy(t, q, v)[0], rel=1e-8)
    run = ex.simulate(system, ex.EventDriven(rtol=1e-9, atol=1e-11))
    axis = [-place[1] * np.sin(2 * run.t), place[1] * np.cos(2 * run.t), 0 * run.t + place[2]]
    assert np.abs(run.q[:, :3] - np.transpose(axis)).max() < 1e-9
    assert run.certificate.ok
    errors = []
    for h in (1e-3, 5e-4, 2.5e-4):
        run = ex.simulate(system, MoreauJean(h=h, projection="constraints"), t_end=0.2)
        assert np.abs(run.phi).max() < 1e-12
        at = [-place[1] * np.sin(0.4), place[1] * np.cos(0.4), place[2]]
        errors.append(np.abs(run.q[-1, :3] - at).max())
    assert errors[2] < 0.55 * errors[1] < 0.55**2 * 1.1 * errors[0]


# -- joints ---------------------------------------------------------------------------------------


def hinge(axis=(1, 0, 0), **more):
    """Return a body of 2 kg on a horizontal hinge, and the joint."""
    space = Multibody("pendulum")
    body = space.body("a", mass=2, inertia=(0.3, 0.2, 0.1), at=(0, 0, -0.5), **more)
    return space, body, space.revolute(body.point(0, 0, 0.5), axis=axis)


def test_a_body_on_a_hinge_is_a_physical_pendulum():
    space, _, joint = hinge(spin=(3, 0, 0), v=(0, 1.5, 0))
    system = space.system()
    assert [c.name for c in system.constraints] == [
        "norm a", *(f"revolute a ground {k}" for k in ("x", "y", "z", "axis 1", "axis 2"))
    ]  # fmt: skip
    motion = Motion(system)
    inertia, k = 0.3 + 2 * 0.25, 2 * G * 0.5
    height = 0.5 * inertia * 9 / k  # of energy: 1 - cos of the largest angle
    period = 4 * np.sqrt(inertia / k) * ellipk(height / 2)
    t, q, v = motion.run(period, [0, period / 4, period])
    assert q[-1] == pytest.approx(q[0], abs=1e-7)
    largest = np.arccos(1 - height)
    assert np.arctan2(q[1, 1], -q[1, 2]) == pytest.approx(largest, abs=1e-7)
    angle = sp.lambdify([system.q], joint.amount)
    assert [angle(x) for x in q] == pytest.approx([0, -largest, 0], abs=1e-7)
    rate = sp.lambdify([system.q, system.v], joint.rate)
    assert rate(q[0], v[0]) == pytest.approx(-3)
    assert t[-1] == period


def test_two_hinged_bodies_move_as_the_linkage_in_the_plane():
    """A double pendulum of thin bars in the plane x = 0, with starts that turn in space."""
    link = Linkage("plane")
    link.pin("O", 0, 0)
    link.point("1", 0.8, -0.6)
    link.point("2", 1.4, 0.2, v=(-0.8, 0.6))
    link.bar("O", "1", mass=1)
    link.bar("1", "2", mass=2)
    _, plane, _ = Motion(link.system()).run(1.0, [1.0])
    space = Multibody("space")
    one = space.body("1", mass=1, inertia=(1 / 12, 1 / 12, 1e-3), at=(0, 0.4, -0.3),
                     turn=((1, 0, 0), np.arctan2(0.8, 0.6)))  # fmt: skip
    two = space.body("2", mass=2, inertia=(2 / 12, 2 / 12, 1e-3), at=(0, 1.1, -0.2),
                     turn=((1, 0, 0), np.arctan2(0.6, -0.8)), v=(0, -0.4, 0.3), spin=(1, 0, 0))  # fmt: skip
    space.revolute(one.point(0, 0, 0.5), axis=(1, 0, 0))
    space.revolute(one.point(0, 0, -0.5), two, axis=(1, 0, 0))
    system = space.system()
    _, q, _ = Motion(system).run(1.0, [1.0])
    tip = [
        float(c.subs(dict(zip(system.q, q[0], strict=True)))) for c in two.point(0, 0, -0.5).place
    ]
    assert tip == pytest.approx([0, *plane[0, 2:]], abs=1e-7)


def test_welded_bodies_have_the_inertia_of_both():
    """Two balls on a line: the sum by Steiner's theorem, and the same hinge."""
    space = Multibody("barbell")
    one = space.body("a", mass=1, inertia=(0.1, 0.1, 0.1), at=(0, 1, 0))
    two = space.body("b", mass=3, inertia=(0.2, 0.2, 0.2), at=(0, 2, 0), turn=((1, 1, 0), 0.4))
    space.revolute(one.point(0, -1, 0), axis=(1, 0, 0))
    space.fixed(one, two)
    motion = Motion(space.system())
    a, _ = motion.accelerations(0, *np.split(motion.start, 2))
    turning = -G * (1 + 6) / (0.1 + 1 + 0.2 + 12)
    assert a[2] == pytest.approx(turning, abs=1e-12)
    assert a[9] == pytest.approx(2 * turning, abs=1e-12)


def test_a_guide_a_rod_and_a_spring():
    """A block on a slope with a spring along it; a conical pendulum."""
    space = Multibody("slope")
    block = space.body("a", mass=2, inertia=(1, 1, 1), turn=((0, 1, 0), 0.3), at=(1, 2, 3))
    joint = space.prismatic(block, axis=(1, 0, 0))
    space.torsion(joint, k=8, c=0.5, rest=0.1)
    system = space.system()
    motion = Motion(system)
    _, q, _ = motion.run(1.0, [1.0])
    down = np.array([np.cos(0.3), 0, -np.sin(0.3)])
    s = (q[0, :3] - [1, 2, 3]) @ down
    form = solve_ivp(
        lambda _, x: [x[1], G * np.sin(0.3) - 4 * (x[0] + 0.1) - 0.25 * x[1]], (0, 1), [0, 0],
        "DOP853", rtol=1e-11, atol=1e-12,
    ).y[0, -1]  # fmt: skip
    assert s == pytest.approx(form, abs=1e-8)  # the ground moves by -s along the axis of the block
    assert q[0, :3] == pytest.approx(np.array([1, 2, 3]) + s * down, abs=1e-8)
    space = Multibody("cone")
    omega = np.sqrt(G / 0.8)
    space.body("a", mass=2, inertia=(1, 1, 1), at=(0.6, 0, -0.8), v=(0, 0.6 * omega, 0))
    space.rod("a", (0, 0, 0))
    _, q, _ = Motion(space.system()).run(1.0, [1.0])
    assert q[0, :3] == pytest.approx([0.6 * np.cos(omega), 0.6 * np.sin(omega), -0.8], abs=1e-8)


def test_motors_drive_joints():
    space, _, joint = hinge()
    space.motor(joint, position="-2*t")  # of the ground against the body
    system = space.system()
    motion = Motion(system)
    assert numbers(sp.Matrix(system.start_v))[1, 0] == pytest.approx(1.0)
    _, q, _ = motion.run(1.2, [1.2])
    assert q[0, :3] == pytest.approx([0, 0.5 * np.sin(2.4), -0.5 * np.cos(2.4)], abs=1e-8)
    space, body, joint = hinge()
    space.motor(joint, effort="-3 + t")
    motion = Motion(space.system())
    a, _ = motion.accelerations(1, *np.split(motion.start, 2))
    assert a[1] == pytest.approx(0.5 * 2 / 0.8)
    assert body.name == "a"


def test_a_hinge_turns_by_more_than_a_turn_and_meets_its_stop_from_behind():
    """Angles are told apart in (-2 pi, 2 pi]; a torsional spring feels the whole angle."""
    space = Multibody("wheel", gravity=0)
    wheel = space.body("a", mass=1, inertia=(2, 2, 3), spin=(0, 0, -1), turn=(-1, 0, 0, 0))
    joint = space.revolute(wheel)  # of the ground against the wheel: it grows
    run = ex.simulate(space.system(t_end=6), ex.EventDriven(rtol=1e-9, atol=1e-11))
    angle = sp.lambdify([run.system.q], joint.amount)
    assert [angle(q) for q in run.q] == pytest.approx(run.t, abs=1e-7)
    space.torsion(joint, k=3, rest=1)
    run = ex.simulate(space.system(t_end=4), ex.EventDriven(rtol=1e-9, atol=1e-11))
    swing = 1 + np.sin(run.t) - np.cos(run.t)
    assert [angle(q) for q in run.q] == pytest.approx(swing, abs=1e-6)
    space = Multibody("stopped wheel", gravity=0)
    wheel = space.body("a", mass=1, inertia=(2, 2, 3), spin=(0, 0, -1))
    space.limit(space.revolute(wheel), low=-1, e=0.5)
    run = ex.simulate(space.system(t_end=6), ex.EventDriven(rtol=1e-9, atol=1e-11))
    assert run.events[0].t == pytest.approx(2 * np.pi - 1, abs=1e-8)
    assert spin_of(run.q[-1], run.v[-1])[0] == pytest.approx([0, 0, 0.5], abs=1e-8)


@for_each("turn", [0.4, 2.5, -3.0])
def test_the_multipliers_of_joints_are_torques(turn):
    """A beam that is welded to the ground at its end carries m g L, also when it is turned."""
    beam = Multibody("cantilever")
    body = beam.body("a", mass=2, inertia=(1, 1, 1), at=(0.5, 0, 0), turn=((1, 0, 0), turn))
    beam.fixed(body.point(-0.5, 0, 0), (0, 0, 0))
    run = ex.simulate(beam.system(t_end=0.01), ex.EventDriven())
    force, torque = run.lam_phi[-1, 1:4], run.lam_phi[-1, 4:]
    assert np.linalg.norm(force) == pytest.approx(2 * G)
    assert np.linalg.norm(torque) == pytest.approx(2 * G * 0.5)


def test_a_joint_has_stops_and_dry_friction():
    """It rebounds at its stop; under friction its energy goes by mu N R times the angle."""
    space, _, joint = hinge(spin=(3, 0, 0), v=(0, 1.5, 0))
    space.limit(joint, low=-0.3, high=0.3, e=0.5)
    run = ex.simulate(space.system(t_end=0.3), MoreauJean(h=1e-3, projection="constraints"))
    hit = run.events[0]
    assert hit.contact == "low revolute a ground"
    assert hit.v_plus[4] == pytest.approx(-0.5 * hit.v_minus[4], rel=1e-3)
    speed = np.sqrt(9 - 2 * (2 * G * 0.5) * (1 - np.cos(0.3)) / 0.8)
    spin = spin_of(run.q[run.t < hit.t][-1], run.v[run.t < hit.t][-1])[0]
    assert spin[0] == pytest.approx(speed, rel=2e-2)
    space = Multibody("wheel", gravity=0)
    wheel = space.body("a", mass=1, inertia=(2, 2, 3), spin=(0, 0, 1))
    joint = space.revolute(wheel)
    space.friction(joint, mu=0.3, load=10, radius=0.5)
    run = ex.simulate(space.system(t_end=3), MoreauJean(h=1e-3, projection="constraints"))
    spins = [spin_of(q, v)[0][2] for q, v in zip(run.q[::300], run.v[::300], strict=True)]
    assert spins == pytest.approx(np.maximum(1 - 0.5 * run.t[::300], 0), abs=3e-3)


# -- contacts -------------------------------------------------------------------------------------


def test_a_ball_slides_until_it_rolls():
    """A solid ball rolls at 5/7 of its speed, whatever mu is, in any direction."""
    space = Multibody("bowling")
    ball = space.body("ball", mass=2, inertia=[0.4 * 2 * 0.01] * 3, at=(0, 0, 0.1), v=(3, 4, 0))
    space.contact(ball, ((0, 0, 0), (0, 0, 1)), radius=0.1, e=0, mu=0.4)
    system, ends = space.system(t_end=0.5), []
    for h in (1e-3, 5e-4):
        run = ex.simulate(system, MoreauJean(h=h, projection="constraints"))
        ends.append(run.v[-1, :3])
    assert 2 * ends[1] - ends[0] == pytest.approx(np.array([3, 4, 0]) * 5 / 7, rel=2e-3)  # order 1
    half = np.searchsorted(run.t, 0.2)
    assert np.hypot(*run.v[half, :2]) == pytest.approx(5 - 0.4 * G * run.t[half], rel=1e-3)
    w, R = spin_of(run.q[-1], run.v[-1])
    assert R @ w == pytest.approx([-4 * 50 / 7, 3 * 50 / 7, 0], rel=5e-2)
    assert np.cross(R @ w, [0, 0, 0.1]) == pytest.approx(run.v[-1, :3], abs=1e-3)


def test_a_point_on_a_turning_table_is_carried():
    """Friction is by the speed beside the table: what rests on it goes round with it."""
    space = Multibody("table")
    table = space.body("table", mass=5, inertia=(1, 1, 2), spin=(0, 0, 1))
    hinge = space.revolute(table)
    space.motor(hinge, position="-t")
    block = space.body("b", mass=0.1, inertia=(1e-4, 1e-4, 1e-4), at=(0.5, 0, 0), v=(0, 0.5, 0))
    space.contact(block, (table, (0, 0, 1)), e=0, mu=0.3)
    run = ex.simulate(space.system(t_end=0.5), MoreauJean(h=1e-3, projection="constraints"))
    start = run.system.coordinates.index("x_b")
    assert run.q[-1, start : start + 2] == pytest.approx(
        0.5 * np.array([np.cos(0.5), np.sin(0.5)]), abs=2e-3
    )


def stool(e=0.4, **start):
    """Return a stool that falls on three feet, and their places in it."""
    feet = [(0.2 * np.cos(a), 0.2 * np.sin(a), -0.08) for a in 2 * np.pi * np.arange(3) / 3]
    space = Multibody("stool")
    body = space.body("a", mass=2, inertia=(0.03, 0.04, 0.05), at=(0, 0, 0.5), **start)
    for k, foot in enumerate(feet, 1):
        space.contact(body.point(*foot), ((0, 0, 0), (0, 0, 1)), e=e, name=f"foot {k}")
    return space.system(t_end=1.5), np.array(feet)


def test_a_body_falls_on_three_points_and_comes_to_rest_on_them():
    """The first impact by Euler's equations alone; at the end each foot carries m g / 3."""
    spin = np.array([0.8, -0.5, 0.6])
    system, feet = stool(turn=((1, 2, 0.5), 0.2), spin=spin.tolist())
    run = ex.simulate(system, ex.EventDriven(rtol=1e-9, atol=1e-11))
    assert run.certificate.ok
    inertia = np.array([0.03, 0.04, 0.05])
    p = np.append(np.cos(0.1), np.sin(0.1) * np.array([1, 2, 0.5]) / np.sqrt(5.25))

    def euler(_, x):
        w = x[4:]
        rate = np.array(angular(x[:4]), float).T @ w / 2
        return [*rate, *(np.cross(inertia * w, w) / inertia)]

    def lowest(t, x):
        return 0.5 - G * t**2 / 2 + (feet @ np.array(rotation(x[:4]), float)[2]).min()

    lowest.terminal = True
    fall = solve_ivp(euler, (0, 1), [*p, *spin], "DOP853", events=lowest, rtol=1e-11, atol=1e-12)
    assert run.events[0].t == pytest.approx(fall.t_events[0][0], abs=1e-9)
    assert {e.kind for e in run.events} >= {"impact", "zeno"}
    assert np.ptp(run.energy[run.t < run.events[0].t]) < 1e-7
    assert (np.diff(run.energy) < 1e-7).all()
    assert run.gap.min() > -1e-8
    assert run.lam[-1] == pytest.approx([2 * G / 3] * 3, rel=1e-6)
    w, R = spin_of(run.q[-1], run.v[-1])
    assert pytest.approx([0, 0, 1], abs=1e-7) == R @ [0, 0, 1]
    assert w[:2] == pytest.approx([0, 0], abs=1e-7)  # it turns on: the ground is smooth


def chain(bodies):
    """Return a chain in space with hinges, ball joints, stops and dry hinges."""
    space, before = Multibody("chain"), None
    for k in range(bodies):
        link = space.body(f"b{k}", mass=0.1, inertia=(1e-4, 1e-4, 1e-5), turn=((1, 0, 0), 1.2),
                          at=((k + 0.5) * 0.1 * np.array([0, np.sin(1.2), -np.cos(1.2)])).tolist())  # fmt: skip
        top = (0, 0, 0) if before is None else before.point(0, 0, -0.05)
        if k % 4 == 3:
            space.spherical(link.point(0, 0, 0.05), top)
        else:
            hinge = space.revolute(link.point(0, 0, 0.05), top, axis=(1, 0, 0))
            if k in (1, 2):
                space.limit(hinge, low=-0.1, high=0.1, e=0.3)
            if k in (2, 5):
                space.friction(hinge, mu=0.3, load=2, radius=0.01)
        before = link
    return space.system(t_end=0.3)


def test_a_chain_of_twenty_keeps_its_joints_and_its_stops():
    """Constraints to round-off, no energy is born, and two schemes agree.

    It takes ten seconds: 143 coordinates are written and compiled.
    """
    system, t_end = chain(20), 0.1
    run = ex.simulate(system, ex.EventDriven(rtol=1e-7, atol=1e-9), t_end=t_end)
    assert run.certificate.ok
    assert np.abs(run.phi).max() < 1e-12
    assert run.gap.min() > -1e-8
    assert (np.diff(run.energy) < 1e-6).all()
    assert {"impact", "slips"} <= {e.kind for e in run.events}
    scheme = MoreauJean(h=2.5e-4, projection="constraints")
    stepped = ex.simulate(system, scheme, t_end=t_end)
    assert np.abs(stepped.phi).max() < 1e-12
    places = [k for k, c in enumerate(system.coordinates) if c[0] in "xyz"]
    assert stepped.q[-1, places] == pytest.approx(run.q[-1, places], abs=2e-2)


# -- starts, refusals, sketch ---------------------------------------------------------------------


def test_a_start_that_is_only_near_is_assembled():
    space = Multibody("crooked")
    body = space.body("a", mass=1, inertia=(1, 1, 1), at=(0.1, 0.9, 0), turn=((0, 0, 1), 0.1))
    space.revolute(body.point(0, -1, 0), (0, 0, 0), axis=(0, 0, 1), axis_2=(0, 0, 1))
    motion = Motion(space.system())
    q = motion.start[:7]
    assert np.abs(motion.of(0, q, np.zeros(7))[2]).max() < 1e-14
    assert np.abs(q[:2] - [0.1, 0.9]).max() < 0.15
    space = Multibody("named", params={"a": 0.3})
    space.body("a", mass=1, inertia=(1, 1, 1), turn=((0, 0, 2), "a"))
    system = space.system()
    assert sp.simplify(system.start_q[6] - sp.sin(sp.Symbol("a") / 2)) == 0


def bad():
    space = Multibody("bad")
    space.body("a", mass=1, inertia=(1, 1, 1))
    space.body("b", mass=1, inertia=(1, 1, 1), at=(0, 0, 1))
    return space


def joint(space):
    return space.revolute("a", "b")


REFUSED = (
    ("quaternion of 'c' .* is zero, which is no orientation", lambda s: s.body("c", mass=1, inertia=(1, 1, 1), turn=(0, 0, 0, 0))),
    ("axis of 'c' .* is zero", lambda s: s.body("c", mass=1, inertia=(1, 1, 1), turn=((0, 0, 0), 1))),
    ("quaternion of four", lambda s: s.body("c", mass=1, inertia=(1, 1, 1), turn=(0, 0, 1))),
    ("Two bodies .* 'a'", lambda s: s.body("a", mass=1, inertia=(1, 1, 1))),
    ("not positive definite", lambda s: s.body("c", mass=1, inertia=(1, 1, 0))),
    ("not symmetric", lambda s: s.body("c", mass=1, inertia=[[1, 0.1, 0], [0, 1, 0], [0, 0, 1]])),
    ("three principal moments", lambda s: s.body("c", mass=1, inertia=(1, 1))),
    ("mass of 'c' .* greater than zero", lambda s: s.body("c", mass=0, inertia=(1, 1, 1))),
    ("joins 'a' to itself", lambda s: s.spherical("a", "a")),
    ("must be a body", lambda s: s.spherical((0, 0, 0), "a")),
    ("no body 'c'", lambda s: s.spherical("c", "a")),
    ("is no point", lambda s: s.rod("a", (0, 1))),
    ("joins the point 'a' to itself", lambda s: s.rod("a", "a")),
    ("start in the same place", lambda s: s.rod("a", (0, 0, 0))),
    ("direction of .* three numbers", lambda s: s.revolute("a", "b", axis=(0, 0, 0))),
    ("either a position or an effort", lambda s: s.motor(joint(s))),
    ("more than half a turn", lambda s: s.motor(joint(s), position=4)),
    ("low revolute a b' .* -0.5 rad away", lambda s: s.limit(joint(s), low=0.5)),
    ("high revolute a b' .* 7 rad away", lambda s: s.limit(joint(s), high=7)),
    ("low, high, or both", lambda s: s.limit(joint(s))),
    ("needs a point and a normal", lambda s: s.contact("a", (0, 0, 1))),
    ("joins a to itself", lambda s: s.contact("a", ("a", (0, 0, 1)))),
    ("not independent.*depends on", lambda s: (s.fixed("a", "b"), s.rod("a", "b"), s.system())),
    ("cannot be assembled", lambda s: (s.rod("a", (0, 0, 3), length=1), s.rod("a", (0, 0, -3), length=1), s.system())),
)  # fmt: skip


@for_each(["words", "make"], REFUSED)
def test_what_cannot_be_is_refused_with_a_sentence(words, make):
    with pytest.raises(BadModel, match=words):
        make(bad())


def test_the_sketch_is_a_view_from_a_side_and_what_is_near_comes_last():
    space = Multibody("two boxes", gravity=0, view=(0, 0))  # from +x: y to the right, z up
    near = space.body("near", mass=12, inertia=(2, 2, 2), at=(2, 0, 0), spin=(0, 0, 1))
    space.body("far", mass=12, inertia=(2, 2, 2), at=(-2, 0.5, 0))
    space.spring(near.point(0, 0.5, 0), (0, 0, 3), k=0.1)
    system = space.system(t_end=0.5)
    far = [shape for shape in system.shapes if len(shape.points) == 16]
    assert [sp.Symbol("x_far") in s.points[0][0].free_symbols or sp.Symbol("y_far") in s.points[0][0].free_symbols
            for s in far] == [True, False]  # fmt: skip
    run = ex.simulate(system, MoreauJean(h=1e-3, projection="constraints"))
    film = frames(run)
    at = np.cumsum([0, *(item["n"] for item in film["items"])])
    wire = at[[item["role"] for item in film["items"]].index("spring")]
    row = np.searchsorted(run.t, film["t"][-1] - 1e-6)
    corner = run.q[row, :3] + np.array(rotation(run.q[row, 3:7]), float) @ [0, 0.5, 0]
    assert film["xy"][-1, wire] == pytest.approx(corner[1:], abs=1e-5)
    assert film["xy"][-1, wire + 1] == pytest.approx([0, 3])


def test_rims_are_round_to_a_pixel():
    """A polygon of k corners is flat by 1 - cos(pi / k) of its radius: here of 150 pixels."""
    rims = [s for s in ex.models.spinning_top().shapes if len(s.points) > 8]
    assert len(rims) == 2
    for rim in rims:
        assert 150 * (1 - np.cos(np.pi / (len(rim.points) - 1))) <= 0.75
