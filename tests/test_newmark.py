"""Newmark and generalised-alpha: recursions, closed forms, orders, forms, yielding, refusals."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from loops import for_each

import explorer as ex
from explorer import BilinearSpring, EventDriven, LinearMechanicalSystem, MechanicalSystem
from explorer.errors import BadModel, BadValue, ModelWarning, NotApplicable, SchemeWarning
from explorer.models import models
from explorer.schemes.newmark import NAMED, GeneralizedAlpha, Newmark, unknowns

TIGHT = EventDriven(rtol=1e-12, atol=1e-13)
FORMS = ("a", "v", "d")


def recursion(scheme, M, C, K, f, d, v, h, steps):
    """One step after the other in the form of the paper, with NumPy: d, v, a (steps + 1, n)."""
    co = scheme.coefficients
    am, af, beta, gamma = co.alpha_m, co.alpha_f, co.beta, co.gamma
    a = np.linalg.solve(M, f(0) - C @ v - K @ d) if scheme.a0 == "consistent" else 0 * d
    rows = [(d, v, a)]
    for i in range(steps):
        t0, t1 = i * h, (i + 1) * h
        pd, pv = d + h * v + h * h * (0.5 - beta) * a, v + h * (1 - gamma) * a
        F = f((1 - af) * t1 + af * t0)
        if scheme.coefficients.alpha_f and getattr(scheme, "force", "") == "interpolated":
            F = (1 - af) * f(t1) + af * f(t0)
        A = (1 - am) * M + (1 - af) * (gamma * h * C + beta * h * h * K)
        right = F - am * M @ a - C @ ((1 - af) * pv + af * v) - K @ ((1 - af) * pd + af * d)
        a = np.linalg.solve(A, right)
        d, v = pd + beta * h * h * a, pv + gamma * h * a
        rows.append((d, v, a))
    return (np.array(x) for x in zip(*rows, strict=True))


def linear(n=3, damped=True):
    rng = np.random.default_rng(n)
    A, B = rng.normal(size=(2, n, n))
    M, K = A @ A.T + n * np.eye(n), B @ B.T + np.eye(n)
    C = 0.3 * K + 0.1 * np.abs(rng.normal(size=(n, n))) if damped else np.zeros((n, n))
    d, v = rng.normal(size=(2, n))
    f = [f"{i + 1}*cos({i + 2}*t)" for i in range(n)]
    system = LinearMechanicalSystem(
        "linear", M=M, C=C, K=K, f=f, start={"q": d.tolist(), "v": v.tolist(), "t_end": 3.0}
    )

    def load(t):
        return np.array([(i + 1) * np.cos((i + 2) * t) for i in range(n)])

    return system, (M, C, K, load, d, v)


def pendulum():
    return MechanicalSystem(
        "pendulum", q="th", params={"g": 9.81, "c": 0.0}, mass=[[1]],
        force=["-g*sin(th) - c*v_th"], start={"q": [2.0], "v": [0.0], "t_end": 4.0},
    )  # fmt: skip


SCHEMES = [
    *(Newmark(h=0.01, beta=b, gamma=g) for b, g in NAMED.values() if g),
    Newmark.named("average with damping", alpha=0.2, h=0.01),
    *(GeneralizedAlpha(h=0.01, rho_inf=r) for r in (0, 0.5, 1)),
    GeneralizedAlpha(h=0.01, family="hht", rho_inf=0.7, force="interpolated"),
    GeneralizedAlpha(h=0.01, family="wbz", rho_inf=0.6),
    GeneralizedAlpha(h=0.01, alpha_m=0.1, alpha_f=0.3, beta=0.5, gamma=0.8),
    Newmark(h=0.01, a0="zero"),
]


# -- the algorithm ------------------------------------------------------------------------------


@for_each("scheme", SCHEMES)
@for_each("n", [1, 3, 12])
def test_every_step_is_that_of_the_recursion(scheme, n):
    system, given_ = linear(n)
    sol = ex.simulate(system, scheme)
    for mine, truth in zip((sol.q, sol.v, sol.a), recursion(scheme, *given_, 0.01, 300),
                           strict=True):  # fmt: skip
        assert np.abs(mine - truth).max() <= 1e-10 * (1 + np.abs(truth).max())


@pytest.mark.parametrize("make", [pendulum, lambda: linear()[0], models["bilinear_oscillator"]])
def test_three_unknowns_are_one_motion(make):
    for scheme in (Newmark, GeneralizedAlpha):
        runs = [ex.simulate(make(), scheme(h=0.01, form=form), t_end=3) for form in FORMS]
        for run in runs[1:]:
            for name in ("q", "v", "a"):
                one, other = getattr(runs[0], name), getattr(run, name)
                assert np.abs(one - other).max() <= 1e-12 * (1 + np.abs(one).max())


@settings(deadline=None)
@given(beta=st.floats(0.01, 1), gamma=st.floats(0.05, 1), y=st.tuples(*[st.floats(-2, 2)] * 4))
def test_b_and_c_say_the_newmark_equations_for_each_unknown(beta, gamma, y):
    d0, v0, a0, a1 = y
    v1 = v0 + (1 - gamma) * a0 + gamma * a1
    d1 = d0 + v0 + (0.5 - beta) * a0 + beta * a1
    for form, x in zip(FORMS, (a1, v1, d1), strict=True):
        B, c = unknowns(beta, gamma, form)
        got = B @ [d0, v0, a0] + c * x
        assert got == pytest.approx([d1, v1, a1], abs=1e-9 / beta / gamma)


def test_the_exact_oscillator_of_each_scheme_to_its_order():
    system = LinearMechanicalSystem("o", M=[[1.0]], K=[[4.0]], start={"q": [1.0], "t_end": 3.0})
    for scheme, order in ((Newmark(), 2), (Newmark(gamma=0.7, beta=0.4), 1),
                          (Newmark.named("Fox-Goodwin"), 4), (GeneralizedAlpha(), 2)):  # fmt: skip
        assert scheme.coefficients.order == min(order, 2)
        error = []
        for h in (0.02, 0.01):
            sol = ex.simulate(system, replace(scheme, h=h))
            error.append(np.abs(sol.q[:, 0] - np.cos(2 * sol.t)).max())
        assert np.log2(error[0] / error[1]) == pytest.approx(order, abs=0.1)


@pytest.mark.parametrize("rho", [1, 0.8, 0.5, 0])
@pytest.mark.parametrize("force", ["state", "interpolated"])
def test_generalised_alpha_keeps_its_order_on_the_pendulum(rho, force):
    truth = ex.simulate(pendulum(), TIGHT).x[-1]
    error = []
    for h in (2e-3, 1e-3):
        sol = ex.simulate(pendulum(), GeneralizedAlpha(h=h, rho_inf=rho, force=force))
        error.append(np.abs([*sol.q[-1], *sol.v[-1]] - truth).max())
    assert np.log2(error[0] / error[1]) > 1.95


@pytest.mark.parametrize("force", ["", " - 3*v_q1", " - 50*Max(q1 - 1/4, 0)"])
def test_central_difference_needs_one_evaluation_a_step(force):
    """d1 is known before a1: leapfrog, without iterations unless the force asks for v1."""
    system = MechanicalSystem(
        "three", q=3, mass=np.diag([1.0, 2.0, 0.5]).tolist(),
        force=["-sin(q1) + q2 - q1" + force, "q1 - 2*q2 + q3**3", "-q3**3 + cos(2*t)"],
        start={"q": [0.4, 0.1, -0.2], "v": [0.3, 0.0, 1.0], "t_end": 1.0},
    )  # fmt: skip
    sol = ex.simulate(system, Newmark(h=0.01, beta=0))
    q, v, c = sol.q[0], sol.v[0], 3 * (force == " - 3*v_q1")
    M, damping = np.array([1.0, 2.0, 0.5]), np.array([c, 0, 0])

    def spring(t, q):
        stop = 50 * max(q[0] - 0.25, 0) * ("Max" in force)
        return np.array([-np.sin(q[0]) + q[1] - q[0] - stop, q[0] - 2 * q[1] + q[2] ** 3,
                         -q[2] ** 3 + np.cos(2 * t)])  # fmt: skip

    a = (spring(0, q) - damping * v) / M
    for i in range(100):
        q = q + 0.01 * v + 0.5e-4 * a
        new = (spring(0.01 * (i + 1), q) - damping * (v + 0.005 * a)) / (M + 0.005 * damping)
        v, a = v + 0.005 * (a + new), new
    for mine, true in ((sol.q[-1], q), (sol.v[-1], v), (sol.a[-1], a)):
        assert mine == pytest.approx(true, rel=1e-12, abs=1e-13)
    assert (sol.iterations[1:] == 1).all()
    assert (sol.residuals == 0).all() or c


def test_a_mass_matrix_that_moves_converges_quadratically():
    """The tangent holds d(M a)/dq: three iterations are enough where a frozen M needs many."""
    sol = ex.simulate(
        MechanicalSystem(
            "double pendulum", q="a b", mass=[[2, "cos(a - b)"], ["cos(a - b)", 1]],
            force=["-v_b**2*sin(a - b) - 2*9.81*sin(a)", "v_a**2*sin(a - b) - 9.81*sin(b)"],
            start={"q": [2.0, 1.0], "v": [0.0, 0.0], "t_end": 2.0},
        ),
        Newmark(h=2e-3),
    )  # fmt: skip
    truth = ex.simulate(sol.system, TIGHT)
    assert np.abs(sol.q[-1] - truth.q[-1]).max() < 2e-4
    assert sol.iterations.max() <= 3


def test_duffing_is_the_elliptic_function():
    from explorer.models.duffing import free

    sol = ex.simulate(models["duffing"](), Newmark(h=1e-3), c=0, f=0, x0=2, t_end=10)
    x, v = free(sol.t, 1, 1, 1, 2)
    assert np.abs(sol.q[:, 0] - x).max() < 1e-4
    assert np.abs(sol.v[:, 0] - v).max() < 2e-4
    half = ex.simulate(models["duffing"](), Newmark(h=5e-4), c=0, f=0, x0=2, t_end=10)
    ratio = np.abs(sol.q[-1] - x[-1]) / np.abs(half.q[-1] - x[-1])
    assert ratio == pytest.approx(4, rel=0.02)


def test_the_frequencies_of_the_building():
    from explorer.models.shear_building import frequencies

    for n in (1, 4, 11):
        K = 2 * np.eye(n) - np.eye(n, k=1) - np.eye(n, k=-1)
        K[-1, -1] = 1
        truth = np.sqrt(scipy.linalg.eigvalsh(1000 * K, 2 * np.eye(n)))
        assert frequencies(n, 2, 1000) == pytest.approx(truth, rel=1e-10)
    sol = ex.simulate(models["shear_building"](), Newmark(h=1e-3), a_g=0, a0=0, a1=0,
                      q0=np.ones(5).tolist())  # fmt: skip
    assert np.ptp(sol.energy) < 1e-9 * sol.energy[0]


# -- springs that yield -------------------------------------------------------------------------


def test_a_spring_goes_round_its_loop():
    """Slowly driven: k to the yield force, b k beyond; the loop's area is what is dissipated."""
    k, f_y, b, top = 10.0, 1.0, 0.1, 0.3
    system = MechanicalSystem(
        "loop", q="x", mass=[[1e-6]], force=[f"1e3*({top}*sin(t) - x) - 0.1*v_x"],
        springs=[BilinearSpring("x", k, f_y, b)], start={"q": [0], "v": [0], "t_end": 4 * np.pi},
    )  # fmt: skip
    sol = ex.simulate(system, Newmark.named("average with damping", alpha=0.5, h=1e-3))
    x, z = sol.q[:, 0], sol.slip[:, 0]
    force = b * k * x + (1 - b) * k * (x - z)
    assert np.abs(x - z).max() == pytest.approx(f_y / k, rel=1e-9)
    first = sol.t < 0.3
    assert force[first] == pytest.approx(k * x[first], rel=1e-9)
    late = sol.t >= 2 * np.pi
    area = abs(np.sum(0.5 * (force[late][1:] + force[late][:-1]) * np.diff(x[late])))
    reach = np.abs(x[late]).max()
    assert area == pytest.approx(4 * (1 - b) * f_y * (reach - f_y / k), rel=5e-3)


def test_a_spring_that_never_yields_is_a_spring():
    system = models["bilinear_oscillator"]()
    with pytest.warns(ModelWarning, match="lies far outside its range"):
        sol = ex.simulate(system, Newmark(h=1e-3), f_y=1e6)
    elastic = MechanicalSystem(
        "e", q="x", mass=[[1]], force=["3*sin(3*t) - 0.1*v_x - 20*x"],
        start={"q": [0], "v": [0], "t_end": 20.0},
    )  # fmt: skip
    other = ex.simulate(elastic, Newmark(h=1e-3))
    assert np.abs(sol.q - other.q).max() < 1e-10
    assert not sol.slip.any()


def test_a_yielding_run_converges():
    fine, *errors = (
        ex.simulate(models["bilinear_oscillator"](), Newmark(h=h)).q[-1, 0]
        for h in (2e-4, 8e-3, 4e-3)
    )
    assert abs(errors[1] - fine) < 0.5 * abs(errors[0] - fine)


# -- steps, errors, refusals --------------------------------------------------------------------


def test_the_local_error_sets_the_step():
    system = models["duffing"]()
    sol = ex.simulate(system, Newmark(error_tol=1e-7), c=0, f=0, x0=2, t_end=10)
    from explorer.models.duffing import free

    assert sol.error.max() <= 1e-7
    assert np.diff(sol.t).max() > 1.5 * np.diff(sol.t)[:-1].min()
    assert sol.t[-1] == 10
    assert np.abs(sol.q[:, 0] - free(sol.t, 1, 1, 1, 2)[0]).max() < 1e-3


def test_the_last_step_ends_exactly():
    system, _ = linear()
    sol = ex.simulate(system, Newmark(h=0.07), t_end=1.0)
    assert sol.t[-1] == 1.0
    assert len(sol.t) == 16


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Newmark(beta=-0.1), "must not be negative"),
        (lambda: Newmark(beta=0, form="d"), "needs beta != 0"),
        (lambda: Newmark(gamma=0, beta=0.25, form="v"), "needs gamma != 0"),
        (lambda: Newmark.named("midpoint"), "average acceleration"),
        (lambda: GeneralizedAlpha(rho_inf=1.2), r"must lie in \[0, 1\]"),
        (lambda: GeneralizedAlpha(family="hht", rho_inf=0.2), "HHT reaches"),
        (lambda: GeneralizedAlpha(alpha_m="x"), "finite number"),
    ],
)
def test_a_choice_that_makes_no_sense(make, words):
    with pytest.raises(BadValue, match=words):
        make()


def test_a_step_above_the_limit_names_limit_and_mode():
    K = 2 * np.eye(4) - np.eye(4, k=1) - np.eye(4, k=-1)
    system = LinearMechanicalSystem("chain", M=np.eye(4), K=100 * K, start={"t_end": 20.0})
    top = 20 * np.sin(4 * np.pi / 10)
    with pytest.raises(BadValue, match=r"stability limit 0\.1051.*mode 4 of 4"):
        ex.simulate(system, Newmark(h=0.11, beta=0))
    sol = ex.simulate(system, Newmark(h=0.999 * 2 / top, beta=0), q0=[1, 0, 0, 0])
    assert np.abs(sol.q).max() < 50
    with pytest.raises(BadValue, match="unstable for every step"):
        ex.simulate(system, Newmark(h=0.01, beta=0, gamma=0.2))


def test_what_it_cannot_take_is_said():
    with pytest.raises(NotApplicable, match=r"accepts smooth mechanical systems(.|\n)*MoreauJean"):
        ex.simulate(models["bouncing_ball"](), Newmark())
    with pytest.raises(NotApplicable, match="with hysteresis"):
        ex.simulate(models["bilinear_oscillator"](), TIGHT)
    with pytest.raises(BadModel, match="linear in the coordinates"):
        pendulum().spring(BilinearSpring("sin(th)", 1, 1))


def test_unusual_numbers_say_what_is_lost():
    assert "first order only" in Newmark(gamma=0.6, beta=0.4).coefficients.lost
    assert "alpha_f = 0.6 > 1/2" in GeneralizedAlpha(alpha_m=0, alpha_f=0.6).coefficients.lost
    assert Newmark().coefficients.lost == ""
    for alphas, words in (
        ({"alpha_m": 0.2, "alpha_f": 0.1}, r"alpha_m = 0.2 > alpha_f = 0.1; not stable for every"),
        ({"alpha_m": 0.0, "alpha_f": 0.6}, r"alpha_f = 0.6 > 1/2"),
    ):
        with pytest.warns(SchemeWarning, match=words):
            assert ex.simulate(pendulum(), GeneralizedAlpha(**alphas), t_end=0.1).status.ok


def test_a_run_is_saved_and_run_again(tmp_path):
    sol = ex.simulate(models["bilinear_oscillator"](), GeneralizedAlpha(h=0.01))
    sol.save(tmp_path / "run.npz")
    again = ex.rerun(ex.load(tmp_path / "run.npz"))
    assert np.array_equal(again.q, sol.q)


def test_the_exact_tangent_is_what_sympy_says():
    """One Newton step of a linear system in disguise is exact: (M a)_q counts."""
    x = sp.Symbol("q1")
    system = MechanicalSystem("s", q=1, mass=[[1 + x**2]], force=["-q1 - q1*v_q1**2"],
                              start={"q": [1.0], "v": [0.0], "t_end": 1.0})  # fmt: skip
    sol = ex.simulate(system, GeneralizedAlpha(h=1e-3, rho_inf=0.9))
    assert sol.iterations.max() <= 2
    energy = 0.5 * (1 + sol.q**2) * sol.v**2 + 0.5 * sol.q**2
    assert np.ptp(energy) < 1e-6


# -- a step that is accepted is solved, and is as exact as asked ---------------------------------


def anharmonic():
    return MechanicalSystem("d", q="x", force=["-x - x**3"], start={"q": [2.0], "t_end": 5.0})


SIMPLE = {
    "oscillator": lambda: LinearMechanicalSystem(
        "o", [[1.0]], [[4.0]], start={"q": [1.0], "t_end": 5.0}
    ),
    "Duffing": anharmonic,
    "pendulum": pendulum,
}


@pytest.mark.parametrize("kind", SIMPLE)
@settings(deadline=None, max_examples=6, derandomize=True)
@given(
    beta=st.sampled_from([0, 1 / 12, 1 / 6, 1 / 4]) | st.floats(0.25, 0.5),
    gamma=st.just(0.5) | st.floats(0.5, 0.8), alpha_f=st.floats(0, 0.5), below=st.floats(0, 1),
    alphas=st.booleans(), third=st.booleans(), digits=st.floats(4, 6),
)  # fmt: skip
def test_errors_add_up_to_no_more_than_tolerances(
    kind, beta, gamma, alpha_f, below, alphas, third, digits
):
    """Whatever the coefficients: the error at the end is at most twice the sum of the tolerances.

    `third`: beta for which the displacement of a step has order 3.
    """
    alpha_m = min(alpha_f, 0.4) - below
    tol, scheme = 10**-digits, Newmark(beta=beta, gamma=gamma, error_tol=10**-digits)
    if alphas:
        beta = max(1 / 6 - (alpha_m - alpha_f) / 2, 0.25) if third else None
        scheme = GeneralizedAlpha(alpha_m=alpha_m, alpha_f=alpha_f, beta=beta, error_tol=tol)
    if kind == "oscillator" and not scheme.coefficients.unconditional and alphas:
        return  # refused
    system = SIMPLE[kind]()
    truth = ex.simulate(system, TIGHT).q[-1]
    run = ex.simulate(system, scheme)
    assert np.abs(run.q[-1] - truth).max() <= 2 * tol * (len(run.t) - 1)
    assert run.error.max() <= tol
    assert run.certificate.ok


@pytest.mark.parametrize("method", [Newmark, GeneralizedAlpha])
def test_errors_add_up_through_the_march_to_events_too(method):
    """The error estimate of `EventDriven` is that of the scheme itself."""
    tol = 1e-6
    more = {"beta": 1 / 6} if method is Newmark else {"rho_inf": 0.6}
    for make in SIMPLE.values():
        system, scheme = make(), method(error_tol=tol, **more)
        alone, run = ex.simulate(system, scheme), ex.simulate(system, EventDriven(method=scheme))
        truth = ex.simulate(system, TIGHT).q[-1]
        assert run.march.counts[0] > 0.4 * len(alone.t)
        assert np.abs(run.q[-1] - truth).max() <= 2 * tol * len(alone.t)


def balance(run, force, share=1.0):
    """Return the residual of each step beside its force, of M = 1 and force(q)."""
    a, F = run.a[1:], force(run.q[1:])
    return (np.abs(a - F) / np.maximum(np.abs(a), np.abs(F))).max()


@pytest.mark.parametrize("h", [0.03, 0.3, 1.0, 5.0])
@pytest.mark.parametrize("power", [3, 5])
def test_a_step_far_too_long_is_solved_all_the_same(power, h):
    """Where a first guess is off by 1e4 lengths its forces say nothing of the residual."""
    system = MechanicalSystem("stiffening", q="u", force=[f"-1000*u**{power}"], start={"q": [3.0]})
    run = ex.simulate(system, Newmark(h=h), t_end=100 * h)
    assert balance(run, lambda u: -1000 * u**power) <= 1e-11
    assert run.imbalance.max() <= 1e-12
    assert run.certificate["Newton residual"].ok


def test_the_residual_is_that_of_the_state_that_is_accepted():
    """Also where Newton's last correction is not looked at again, for it converges quadratically.

    So a looser tolerance leaves a larger residual, and says how large.
    """
    for tol in (1e-3, 1e-6):
        run = ex.simulate(anharmonic(), Newmark(h=0.2, newton_tol=tol))
        off = np.abs(run.a + run.q + run.q**3)[:, 0]
        clear = off > 1e-11
        assert clear.sum() > 3
        assert (run.residuals[clear, 1] < 100 * off[clear]).all()
        assert (off[clear] < 100 * run.residuals[clear, 1]).all()
        assert run.imbalance.max() <= tol


def test_soft_rows_are_solved_beside_stiff_ones():
    """Each coordinate in the scale of its own forces: 1e9 N in one excuse nothing in the other."""
    system = MechanicalSystem(
        "two", q="x y", force=["-1e9*x - 1e9*x**3", "-1e-3*(y + y**3)"],
        start={"q": [1.0, 1.0], "t_end": 50.0},
    )  # fmt: skip
    run = ex.simulate(system, Newmark(h=0.5))
    y = run.q[1:, 1]
    assert np.abs(run.a[1:, 1] + 1e-3 * (y + y**3)).max() <= 1e-11 * 1e-3


def storeys(n, f_y=2.0):
    return MechanicalSystem(
        "storeys", q=n, mass=np.eye(n).tolist(),
        force=[f"-0.2*v_q{i + 1} + 3*sin(2*t)" for i in range(n)],
        springs=[
            BilinearSpring(f"q{i + 1}" + f" - q{i}" * (i > 0), 400.0, f_y, 0.05) for i in range(n)
        ],
        start={"t_end": 10.0},
    )  # fmt: skip


def test_yielding_storeys_are_solved_where_newton_cycles():
    """A step in which Newton's method finds nothing is taken in parts; rows stay where they were.

    The path of a spring that yields is that of the parts, so it is nearer to that of short steps.
    """
    system = storeys(10)
    fine = ex.simulate(system, Newmark(h=1e-3))
    for h in (0.1, 0.25):
        run = ex.simulate(system, Newmark(h=h))
        assert run.parts.max() > 1
        assert run.t == pytest.approx(np.arange(len(run.t)) * h)
        assert run.imbalance.max() <= 1e-12
    rough = ex.simulate(system, Newmark(h=0.1))
    assert np.abs(rough.q - fine.q[::100]).max() < 0.2 * np.abs(fine.q).max()


def test_a_spring_knows_only_its_own_coordinates():
    """The tangent of a storey has three entries, and so have the functions that are compiled."""
    kind = ex.compiled.compile_system(storeys(30)).structural
    assert kind.pattern.size == 31 + 59
    assert kind.bundles[1].size == 4 * 30 + 59
    assert (kind.bands[-2:] == 1).all()


# -- the paper as it is printed, and corrected ---------------------------------------------------


def test_b_of_the_displacement_form_as_printed_is_no_newmark_method():
    """Correction 1 of newmark-methods. Last row: printed (+1/(beta h^2), -1/(beta h), 1 + 1/(2 beta)); two signs are wrong."""
    beta, gamma, (d0, v0, a0, a1) = 0.3, 0.6, (0.7, -1.1, 0.4, 2.0)
    d1 = d0 + v0 + (0.5 - beta) * a0 + beta * a1
    B, c = unknowns(beta, gamma, "d")
    printed = np.array([1 / beta, -1 / beta, 1 + 1 / (2 * beta)])
    assert B[2] @ [d0, v0, a0] + c[2] * d1 == pytest.approx(a1, abs=1e-13)
    assert abs(printed @ [d0, v0, a0] + c[2] * d1 - a1) > 1


def order_of(step, h=(0.02, 0.01)):
    """Return the order of a step (h, n) -> error at the end, by two step sizes."""
    one, other = (step(x) for x in h)
    return np.log2(one / other)


def test_the_residual_as_printed_holds_for_alpha_zero_alone():
    """Correction 2 of newmark-methods. At t_1, whatever the alphas, gamma and beta of Chung, Hulbert are of order 1, not 2."""
    scheme = GeneralizedAlpha(rho_inf=0.5)
    co = scheme.coefficients

    def printed(h):
        d, v = 1.0, 0.0
        a = -4 * d - 0.4 * v
        for _ in range(round(2 / h)):
            pd, pv = d + h * v + h * h * (0.5 - co.beta) * a, v + h * (1 - co.gamma) * a
            a = (-4 * pd - 0.4 * pv) / (1 + 0.4 * co.gamma * h + 4 * co.beta * h * h)
            d, v = pd + co.beta * h * h * a, pv + co.gamma * h * a
        return abs(d - truth)

    def corrected(h):
        run = ex.simulate(system, GeneralizedAlpha(h=h, rho_inf=0.5))
        return abs(run.q[-1, 0] - truth)

    system = LinearMechanicalSystem("o", [[1.0]], [[4.0]], [[0.4]], start={"q": [1], "t_end": 2})
    decay, swing = 0.2, np.sqrt(4 - 0.04)
    truth = np.exp(-2 * decay) * (np.cos(2 * swing) + decay / swing * np.sin(2 * swing))
    assert order_of(printed) == pytest.approx(1, abs=0.1)
    assert order_of(corrected) == pytest.approx(2, abs=0.1)


def test_damping_counts_once():
    """Correction 3 of newmark-methods. Printed: C v beside p(d, v), which has it already; a run decays as by C, not by 2 C."""
    system = MechanicalSystem("o", q="x", force=["-4*x - 0.4*v_x"], start={"q": [1], "t_end": 5})
    run = ex.simulate(system, Newmark(h=1e-3))

    def decayed(c):
        swing = np.sqrt(4 - c * c / 4)
        wave = np.cos(swing * run.t) + c / 2 / swing * np.sin(swing * run.t)
        return np.exp(-c / 2 * run.t) * wave

    assert np.abs(run.q[:, 0] - decayed(0.4)).max() < 1e-5
    assert np.abs(run.q[:, 0] - decayed(0.8)).max() > 0.1


def test_interpolated_forces_know_the_spring_from_the_start():
    """With F between both ends, F_0 has the springs too: the first step of a stretched one."""
    system = MechanicalSystem(
        "s", q="x", springs=[BilinearSpring("x", 4.0, 100.0, 0.1)], start={"q": [1.0]}
    )
    elastic = MechanicalSystem("e", q="x", force=["-4*x"], start={"q": [1.0]})
    scheme = GeneralizedAlpha(h=0.05, rho_inf=0.5, force="interpolated")
    one, other = (ex.simulate(s, scheme, t_end=2) for s in (system, elastic))
    assert np.abs(one.q - other.q).max() < 1e-12
