"""Coordinates without mass: the condensed system has the same motion; what it cannot be is said."""

import dataclasses
import warnings

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import explorer as ex
from explorer.errors import BadModel, BadValue, ModelWarning, NotApplicable, StepFailed

STABLE = [
    ex.Newmark(h=2e-3),
    ex.Newmark(h=2e-3, form="d"),
    ex.Newmark(h=2e-3, beta=0.36, gamma=0.7, form="v"),
    ex.GeneralizedAlpha(h=2e-3, rho_inf=0.5),
    ex.GeneralizedAlpha(h=2e-3, rho_inf=1.0, force="interpolated"),
    ex.MoreauJean(h=2e-3),
    ex.MoreauJean(h=2e-3, theta=0.8),
]


def frame(seed, n=3, bare=3, wrap=np.asarray, **more):
    """Return a system with `bare` coordinates without mass, last, and the condensed one."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n + bare, n + bare))
    K = 200 * (A @ A.T + np.eye(n + bare))
    B = rng.normal(size=(n, n))
    M, C = np.zeros((2, n + bare, n + bare))
    M[:n, :n], C[:n, :n] = B @ B.T + np.eye(n), 0.5 * np.eye(n)
    f = rng.normal(size=n + bare)
    T = np.vstack([np.eye(n), -np.linalg.solve(K[n:, n:], K[n:, :n])])
    pushed = [f"{x}*cos(3*t)" for x in f]
    start = {"q": rng.normal(size=n), "v": rng.normal(size=n), "t_end": 0.6}
    small = ex.LinearMechanicalSystem(
        "condensed", M[:n, :n], T.T @ K @ T, C[:n, :n], [f"{x}*cos(3*t)" for x in T.T @ f],
        start=start, **more,
    )  # fmt: skip
    nothing = np.zeros(bare)
    start = start | {k: np.append(start[k], nothing) for k in "qv"}
    whole = ex.LinearMechanicalSystem(
        "frame", wrap(M), wrap(K), wrap(C), pushed, start=start, **more
    )
    return whole, small, (T, np.linalg.inv(K[n:, n:]) @ f[n:])


@pytest.mark.parametrize("scheme", STABLE, ids=repr)
@pytest.mark.parametrize("wrap", [np.asarray, sparse.csr_array])
def test_the_condensed_system_has_the_same_motion(scheme, wrap):
    whole, small, (T, along) = frame(1, wrap=wrap)
    run, truth = ex.simulate(whole, scheme), ex.simulate(small, scheme)
    still = not (getattr(scheme, "coefficients", None) and scheme.coefficients.alpha_f)
    n, near = small.n, 1e-11 if still else 1e-4  # cos(3 t) between the ends of a step
    scale = np.abs(truth.q).max(), np.abs(truth.v).max()
    assert np.abs(run.q[:, :n] - truth.q).max() < near * scale[0]
    assert np.abs(run.v[:, :n] - truth.v).max() < near * scale[1]
    follow = truth.q @ T.T[:, n:] + np.outer(np.cos(3 * run.t), along)
    assert np.abs(run.q[:, n:] - follow).max() < near * scale[0]
    follow = run.v[:, :n] @ T.T[:, n:] - 3 * np.outer(np.sin(3 * run.t), along)
    assert np.abs(run.v[:, n:] - follow).max() < 1e-10 * scale[1]
    if isinstance(scheme, ex.Newmark):
        follow = run.a[:, :n] @ T.T[:, n:] - 9 * np.outer(np.cos(3 * run.t), along)
        assert np.abs(run.a[:, n:] - follow).max() < 1e-9 * np.abs(truth.a).max()
    assert not run.cautions


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 5), st.sampled_from(STABLE))
def test_frames_of_any_kind_move_as_condensed(seed, n, bare, scheme):
    whole, small, _ = frame(seed, n, bare)
    run, truth = ex.simulate(whole, scheme, t_end=0.1), ex.simulate(small, scheme, t_end=0.1)
    assert np.abs(run.q[:, :n] - truth.q).max() < 1e-3 * np.abs(truth.q).max()
    assert run.status.ok
    assert not run.cautions
    found, exact = ex.study.modes(whole), ex.study.modes(small)
    assert found.omega == pytest.approx(exact.omega, rel=1e-6)
    assert found.infinite == bare
    assert f"{bare} without mass left out" in repr(found)


def zener(**start):
    """Return a mass on a spring, whose other end hangs on a spring beside a dashpot."""
    K, C = [[100, -100], [-100, 150]], [[0, 0], [0, 4]]
    return ex.LinearMechanicalSystem(
        "zener", [[1, 0], [0, 0]], K, C, start={"q": [0.1, 0.02], "t_end": 1.6} | start
    )


@pytest.mark.parametrize(
    "scheme", [ex.Newmark(), ex.GeneralizedAlpha(rho_inf=0.3), ex.MoreauJean()]
)
def test_damping_alone_makes_an_equation_of_first_order(scheme):
    """x'' = -100 (x - z), 4 z' = 100 x - 150 z: its closed form, with order 2."""
    A = np.array([[0, 1, 0], [-100, 0, 100], [25, 0, -37.5]])
    end = scipy.linalg.expm(1.6 * A) @ [0.1, 0, 0.02]
    rates = A @ end
    error = []
    for h in (8e-3, 4e-3, 2e-3, 1e-3):
        run = ex.simulate(zener(), dataclasses.replace(scheme, h=h))
        assert run.v[0, 1] == pytest.approx((A @ [0.1, 0, 0.02])[2], rel=1e-12)
        error.append(np.abs([*(run.q[-1] - end[[0, 2]]), *(run.v[-1] - rates[[0, 2]])]))
        assert not run.cautions
    assert np.log2(np.array(error[:-1]) / error[1:]) == pytest.approx(2, abs=0.15)


def test_a_direction_without_mass_may_be_a_combination_of_coordinates():
    rng = np.random.default_rng(3)
    T, B = np.linalg.qr(rng.normal(size=(5, 5)))[0], rng.normal(size=(5, 5))
    M = T @ np.diag([1.0, 2.0, 3.0, 0.0, 0.0]) @ T.T
    system = ex.LinearMechanicalSystem("turned", M + M.T, 90 * (B @ B.T + np.eye(5)))
    found = ex.study.modes(system)
    assert found.infinite == 2
    assert len(found.omega) == 3
    start = found.shapes @ [0.1, -0.2, 0.05]
    run = ex.simulate(system, ex.Newmark(h=1e-4), q0=start, t_end=0.5)
    swing = np.cos(np.outer(run.t, found.omega)) * [0.1, -0.2, 0.05]
    assert np.abs(run.q - swing @ found.shapes.T).max() < 1e-5


def test_what_has_no_mass_begins_where_the_others_hold_it():
    system = ex.LinearMechanicalSystem("two", np.diag([1.0, 0.0]), [[150, -100], [-100, 150]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ex.simulate(system, q0=[0.3, 0], t_end=0.1).q[0, 1] == pytest.approx(0.2)
    with pytest.warns(ModelWarning, match="massless coordinates, which the other"):
        assert ex.simulate(system, q0=[0.3, 0.3], t_end=0.1).q[0, 1] == pytest.approx(0.2)


def test_impacts_and_friction_of_what_has_mass():
    law = {"H": [[1, 0]], "b": 0.05, "e": 0.6, "T": [[1, 0]], "mu": 0}
    K = [[150, -100], [-100, 150]]
    whole = ex.LinearMechanicalSystem("w", np.diag([1.0, 0.0]), K, **law)
    law |= {"H": [[1]], "T": [[1]]}
    small = ex.LinearMechanicalSystem("s", [[1.0]], [[150 - 100 * 100 / 150]], **law)
    for theta in (0.5, 0.75):
        scheme = ex.MoreauJean(h=1e-3, theta=theta)
        run = ex.simulate(whole, scheme, q0=[0.1, 0.2 / 3], v0=[-3, 0], t_end=2)
        truth = ex.simulate(small, scheme, q0=[0.1], v0=[-3], t_end=2)
        assert [e.kind for e in run.events] == [e.kind for e in truth.events] != []
        assert np.abs(run.q[:, 0] - truth.q[:, 0]).max() < 1e-12
        assert np.abs(run.v - truth.v @ [[1, 2 / 3]]).max() < 1e-12
        assert run.cautions == truth.cautions


@pytest.mark.parametrize("scheme", [ex.Newmark(), ex.GeneralizedAlpha()])
def test_a_joint_without_mass_may_be_nonlinear(scheme):
    """A mass on a spring on a cubic spring: against the algebraic equation solved by bisection."""
    system = ex.MechanicalSystem(
        "joint", q="x z", mass=[[1, 0], [0, 0]],
        force=["-100*(x-z)", "100*(x-z)-400*z**3-20*z"],
        potential="50*(x-z)**2+100*z**4+10*z**2", start={"q": [0.5, 0], "t_end": 1.5},
    )  # fmt: skip

    def joint(x):
        return brentq(lambda z: 100 * (x - z) - 400 * z**3 - 20 * z, -3, 3, xtol=1e-15)

    exact = solve_ivp(
        lambda t, y: [y[1], -100 * (y[0] - joint(y[0]))], (0, 1.5), [0.5, 0], rtol=1e-11, atol=1e-12
    ).y[:, -1]
    error = []
    for h in (4e-3, 2e-3, 1e-3):
        run = ex.simulate(system, dataclasses.replace(scheme, h=h))
        assert run.q[0, 1] == pytest.approx(joint(0.5), rel=1e-9)
        slope = 100 / (120 + 1200 * run.q[-1, 1] ** 2)
        assert run.v[-1, 1] == pytest.approx(slope * run.v[-1, 0], abs=300 * h**2)
        error.append(np.abs(run.q[-1] - [exact[0], joint(exact[0])]))
        assert not run.cautions
    assert np.log2(np.array(error[:-1]) / error[1:]) == pytest.approx(2, abs=0.25)


def test_a_hinge_without_mass_yields():
    """A spring that yields between ground and a joint: two in series, the force no more than f_y."""
    spring = ex.BilinearSpring("z", 300, 20, 0.1)
    system = ex.MechanicalSystem(
        "hinge", q="x z", mass=[[1, 0], [0, 0]], force=["-100*(x-z)", "100*(x-z)"],
        springs=[spring], start={"v": [8, 0], "t_end": 1},
    )  # fmt: skip
    run = ex.simulate(system, ex.Newmark(h=5e-4))
    x, z = run.q.T
    slip = run.slip[:, 0]
    force = 30 * z + 270 * (z - slip)
    assert np.abs(force - 100 * (x - z)).max() < 1e-9
    assert np.abs(slip).max() > 0.05
    assert np.abs(270 * (z - slip)).max() < 18 * (1 + 1e-12)
    assert not run.cautions


@pytest.mark.parametrize(
    ("scheme", "error", "words"),
    [
        (ex.Newmark(beta=0), BadValue, "infinite frequency.*Newmark.beta=1/4"),
        (ex.Newmark.named("linear acceleration"), BadValue, "above the stability limit"),
        (ex.Newmark(error_tol=1e-6), BadValue, "constant steps"),
        (ex.MoreauJean(theta=0.3), BadValue, "use theta >= 1/2"),
        (ex.EventDriven(), StepFailed, "Newmark and GeneralizedAlpha accept"),
        (ex.NonsmoothGeneralizedAlpha(), BadModel, "MoreauJean accepts them in linear systems"),
    ],
    ids=repr,
)
def test_a_scheme_that_needs_mass_names_one_that_does_not(scheme, error, words):
    with pytest.raises(error, match=words):
        ex.simulate(zener(), scheme)


@pytest.mark.parametrize(
    ("M", "K", "C", "words"),
    [
        ([1, 0], [[1, 0], [0, 0]], None, "motion of 'q2' is not determined"),
        ([1, 0, 0], [[1, 0, 0], [0, 1, -1], [0, -1, 1]], None, "'q2' with 'q3'|'q3' with 'q2'"),
        ([1, 0], np.eye(2), [[0, 1], [-1, 0]], "would constrain velocities"),
        ([1, -1], np.eye(2), None, "indefinite"),
    ],
)
@pytest.mark.parametrize("scheme", [ex.Newmark(), ex.MoreauJean()], ids=repr)
def test_a_motion_that_is_not_determined_is_refused(M, K, C, words, scheme):
    system = ex.LinearMechanicalSystem("loose", np.diag(M), K, C)
    with pytest.raises(BadModel, match=words):
        ex.simulate(system, scheme, q0=[1] + [0] * (len(M) - 1))


def test_contacts_and_constraints_on_what_has_no_mass_are_refused():
    M, K = np.diag([1.0, 0.0]), [[2, -1], [-1, 2]]
    for more in ({"H": [[0, 1]], "e": 0.5}, {"J": [[0, 1]]}):
        system = ex.LinearMechanicalSystem("touch", M, K, **more)
        with pytest.raises(BadModel, match="acts on massless coordinates"):
            ex.simulate(system, ex.MoreauJean())
    turning = ex.MechanicalSystem("turning", q="x z", mass=[["cos(x)**2", 0], [0, 0]],
                                  force=["-x", "-z"])  # fmt: skip
    with pytest.raises(BadValue, match="massless directions turn"):
        ex.simulate(turning, ex.Newmark(h=1e-2))
    with pytest.raises(BadModel, match="neither mass nor stiffness"):
        ex.study.modes(ex.LinearMechanicalSystem("loose", M, [[1, 0], [0, 0]]))
    with pytest.raises(NotApplicable):
        ex.study.modes(ex.LinearMechanicalSystem("touch", M, K, J=[[0, 1]]))


@pytest.mark.parametrize("scheme", [ex.Newmark(h=1e-3), ex.GeneralizedAlpha(h=1e-3)])
def test_the_only_coordinate_may_lose_its_mass_by_a_parameter(scheme):
    """x + x' = sin t from 1: x = 3/2 exp(-t) + (sin t - cos t) / 2."""
    system = ex.MechanicalSystem("one", q="x", params={"m": 1.0}, mass=[["m"]])
    system.force = ["sin(t) - x - v_x"]
    system.start(q=[1], t_end=1)
    run = ex.simulate(system, scheme, m=0.0)
    truth = 1.5 * np.exp(-run.t) + 0.5 * (np.sin(run.t) - np.cos(run.t))
    np.testing.assert_allclose(run.q[:, 0], truth, atol=1e-6)
