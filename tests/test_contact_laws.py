"""Contact problems with redundant contacts, in any units: the laws are checked from outside."""

import numpy as np
import pytest
import sympy as sp
from loops import for_each

import explorer as ex
from explorer import Contact, MechanicalSystem, MoreauJean


def natural(unit, p, w, unit_t, p_t, slip, mu) -> np.ndarray:
    """Return how far each contact is from Signorini's and from Coulomb's law, in m/s."""
    bound = mu * unit_t * p
    free = np.clip(unit_t * p_t - slip, -bound, bound)
    return np.maximum(abs(np.minimum(unit * p, w)), abs(unit_t * p_t - free))


def bar(n: int, e: float, mu: float, angle: float) -> MechanicalSystem:
    """Return a bar of n contact points, of which a floor holds two at most."""
    system = MechanicalSystem("bar", q="x y a", force=[0, -9.81, 0])
    system.mass = [[1, 0, 0], [0, 1, 0], [0, 0, sp.Rational(1, 12)]]
    system.params(e=e, mu=mu)
    for u in np.linspace(-0.5, 0.5, n):
        slip = f"v_x - {u}*sin(a)*v_a"
        system.contact(Contact(f"y + {u}*sin(a)", e="e", mu="mu", slip=slip))
    system.start(q=[0, max(0.2, 0.6 * abs(np.sin(angle))), angle], v=[1, 0, 0])
    return system


def off_bar(run) -> float:
    """Return how far a run of `bar` is from the laws of its contacts, and from momentum balance."""
    h, e, mu = run.scheme.h, run.rho["e"], run.rho["mu"]
    u, v = np.linspace(-0.5, 0.5, run.p.shape[1]), run.v[1:]
    a = (run.q[:-1] + 0.5 * h * run.v[:-1])[:, 2:]
    x, y = -u * np.sin(a), u * np.cos(a)
    w = v[:, 1:2] + y * v[:, 2:] + e * run.gap_dot[:-1]
    off = natural(1 + 12 * y**2, run.p[1:], w, 1 + 12 * x**2, run.p_t[1:], v[:, :1] + x * v[:, 2:],
                  mu)  # fmt: skip
    closed = (run.active[1:, : len(u)] > 0) | (run.p[1:] > 0)
    given = [run.p_t[1:], run.p[1:], run.p[1:] * y + run.p_t[1:] * x]
    missing = [1, 1, 1 / 12] * np.diff(run.v, axis=0) - h * np.array([0, -9.81, 0])
    missing -= np.stack([x.sum(axis=1) for x in given], axis=1)
    return max(off[closed].max(), abs(missing).max())


@pytest.mark.parametrize(
    ("n", "e", "mu", "angle", "t_end"),
    [(12, 0.5, 0.3, 0.3, 0.8), (40, 0.3, 0.6, 0.1, 0.4), (33, 0.37, 1.2, -0.7, 0.9)],
)  # fmt: skip
def test_a_bar_with_more_contacts_than_can_hold_it_bounces_to_rest(n, e, mu, angle, t_end):
    run = ex.simulate(bar(n, e, mu, angle), MoreauJean(h=1e-3), t_end=t_end)
    assert off_bar(run) < 1e-8
    assert run.residuals[:, 0].max() < 1e-8


def cube(e: float, mu: float, start: list, v: list) -> MechanicalSystem:
    """Return a cube with 3 x 3 contact points below it."""
    system = MechanicalSystem("cube", q="x y z a b c", force=[0, 0, -9.81, 0, 0, 0])
    system.mass = np.diag([1, 1, 1, *[sp.Rational(1, 6)] * 3]).tolist()
    system.params(e=e, mu=mu)
    q, speeds = system.q, sp.Matrix(system.v)
    turn = sp.rot_axis3(-q[5]) * sp.rot_axis2(-q[4]) * sp.rot_axis1(-q[3])
    for i in (-0.5, 0, 0.5):
        for j in (-0.5, 0, 0.5):
            at = sp.Matrix(q[:3]) + turn * sp.Matrix([i, j, -0.5])
            slip = at.jacobian(list(q)) * speeds
            system.contact(Contact(at[2], e="e", mu="mu", slip=(slip[0], slip[1])))
    system.start(q=start, v=v)
    return system


@pytest.mark.parametrize("cone", ["nsgs", "apgd"])
def test_a_cube_on_nine_points_bounces_to_rest(cone):
    system = cube(0.6, 0.4, [0, 0, 1.0, 0.2, 0.1, 0.3], [1, 0.5, 0, 0, 0, 0])
    run = ex.simulate(system, MoreauJean(h=1e-3, cone=cone), t_end=1.5)
    assert run.residuals[:, 0].max() < 1e-8
    p, size = run.p[1:], np.linalg.norm(run.p_t[1:], axis=2)
    assert (size <= 0.4 * p * (1 + 1e-9) + 1e-15).all()
    assert run.energy[-1] < 0.6 * run.energy[0]


def test_a_resting_cube_is_solved_to_the_tolerance_by_which_it_is_judged():
    """Projected gradients measure all directions of a contact in one unit, the laws each in its own."""
    system = cube(0.3, 1.2, [0, 0, 0.5, 0, 0, 0.3], [1, 0.5, 0, 0, 0, 0])
    run = ex.simulate(system, MoreauJean(h=1e-3, cone="apgd"), t_end=0.3)
    assert run.certificate["contact laws"].value <= 1e-9


@pytest.mark.parametrize(("h", "tolerance"), [(5e-3, 1e-8), (4e-3, 1e-8), (5e-3, 1e-9)])
def test_a_bar_with_long_levers_does_not_stop(h, tolerance):
    """D of its ends is 40 times that of its middle: the solver measures in other units than D_kk."""
    system = MechanicalSystem("bar", q="x y a", force=[0, -9.81, 0])
    system.mass = [[1, 0, 0], [0, 1, 0], [0, 0, sp.Rational(1, 12)]]
    places = np.linspace(-0.5, 0.5, 26) * 3.7692127170465124
    for u in places:
        slip = f"v_x - {u}*sin(a)*v_a"
        system.contact(Contact(f"y + {u}*sin(a)", e=0.5, mu=1.0, slip=slip))
    above = 0.2 - places[0] * np.sin(1e-3)
    system.start(q=[0, above, 1e-3], v=[-1.4675316627646742, 0.07969794620159534,
                                        -3.043785910912109])  # fmt: skip
    run = ex.simulate(system, MoreauJean(h=h, lcp_tol=tolerance), t_end=0.4)
    assert run.certificate["contact laws"].value <= tolerance


def off_pile(run) -> np.ndarray:
    """Return how far each step of a pile is from the laws of its contacts, all made anew here."""
    rho = {sp.Symbol(k): x for k, x in run.rho.items()}
    system, e, mu = run.system, run.rho["e"], run.rho["mu"]
    radius = np.array([float(sp.sympify(r).subs(rho)) for r in system.radii])
    inverse = 1 / (np.pi * run.rho["rho"] * radius**2)
    normals = np.array([(0, 1), (1, 0), (-1, 0)], float)
    slots, found = run.p.shape[1] // len(radius), []
    for i, h in enumerate(np.diff(run.t)):
        closed = np.flatnonzero(run.active[i + 1] > 0)
        centre = (run.q[i] + 0.5 * h * run.v[i]).reshape(-1, 3)[:, :2]
        d, other, v = closed // slots, run.partner[i, closed], run.v[i + 1].reshape(-1, 3)
        wall = other < 0
        normal = np.where(wall[:, None], normals[-1 - other * wall], centre[d] - centre[other])
        normal = normal / np.linalg.norm(normal, axis=1)[:, None]
        across = np.stack([-normal[:, 1], normal[:, 0]], axis=1)
        relative = v[d, :2] - np.where(wall[:, None], 0, v[other, :2])
        spin = radius[d] * v[d, 2] + np.where(wall, 0, radius[other] * v[other, 2])
        w = (normal * relative).sum(axis=1) + e * run.gap_dot[i, closed]
        slip = (across * relative).sum(axis=1) - spin
        unit = inverse[d] + np.where(wall, 0, inverse[other])
        p, p_t = run.p[i + 1, closed], run.p_t[i + 1, closed]
        found.append(natural(unit, p, w, 3 * unit, p_t, slip, mu).max(initial=0.0))
    return np.array(found)


@pytest.mark.parametrize(("n", "changed"), [(30, {}), (40, {"mu": 0.15, "e": 0.0})])
def test_every_closed_contact_of_a_pile_keeps_its_laws(n, changed):
    """The solver's own residual is no witness: normals, speeds and impulses are made anew."""
    for tolerance in (1e-9, 1e-12):
        scheme = MoreauJean(h=4e-3, lcp_tol=tolerance)
        run = ex.simulate(ex.models.disc_pile(n), scheme, **changed)
        assert (run.p > 0).sum(axis=1).max() > n
        off = off_pile(run)
        assert off.max() < 1e-8
        assert np.abs(off - run.residuals[1:, 0]).max() < 1e-11
        assert run.certificate.ok == (run.certificate["contact laws"].value <= tolerance + 1e-12)


@pytest.mark.parametrize(
    ("n", "changed"),
    [(30, {"mu": 0.8, "g": 15.0}), (60, {"s": 0.05}), (100, {}), (100, {"mu": 0.9})],
)  # fmt: skip
def test_a_pile_is_solved_where_sweeps_get_nowhere(n, changed):
    """Discs that wedge each other, and redundant contacts: 160 sweeps leave 1e-2 m/s."""
    run = ex.simulate(ex.models.disc_pile(n), MoreauJean(h=4e-3), **changed)
    off = off_pile(run)
    assert off.max() < 1e-8
    assert np.abs(off - run.residuals[1:, 0]).max() < 1e-9


def test_a_pile_of_fast_discs_keeps_its_laws():
    """The tolerance is relative to speeds of 10 m/s and more, so solvers aim well below it."""
    n, rng = 40, np.random.default_rng(1)
    pile = ex.models.disc_pile(n)
    q = ex.simulate(pile, t_end=4e-3).q[0].reshape(n, 3).copy()
    q[:, 0] += rng.uniform(-0.01, 0.01, n)
    q[:, 1] += rng.uniform(0, 0.01, n)
    q[:, 1] *= 1 + rng.uniform(0, 0.5)
    pile.start(q=q.ravel().tolist())
    run = ex.simulate(pile, MoreauJean(h=4e-3), rho={"mu": 0.7, "e": 0.8, "g": 20.0}, t_end=0.4)
    assert off_pile(run).max() < 3e-9


def scaled(kind: str, L: float, T: float, M: float) -> MechanicalSystem:
    """Return a model whose lengths, times and masses are multiplied."""
    g = 9.81 * L / T**2
    system = MechanicalSystem(kind, q="x y", mass=[[M, 0], [0, M]], force=[0, -M * g])
    if kind == "pendulum":
        system.constraint(f"x**2 + y**2 - {L**2}")
        system.contact(Contact("x", e=0.5))
        system.start(q=[0.6 * L, -0.8 * L], v=[0, 0])
    elif kind == "block":
        system.force = [f"{0.5 * M * g}*sin({3 / T}*t)", -M * g]
        system.contact(Contact("y", mu=0.3, mu_s=0.4, slip="v_x"))
        system.start(q=[0, 0], v=[0.5 * L / T, 0])
    else:
        system.contact(Contact("x", e=0.3))
        system.contact(Contact("y", e=0.8))
        system.start(q=[0.1 * L, L], v=[-L / T, 0])
    return system


@for_each("kind", ["ball", "block", "pendulum"])
@for_each("projection", ["none", "all"])
@for_each(("L", "T", "M"), [(1e-9, 1, 1), (1e9, 1, 1), (1e6, 1e-6, 1e3), (1e-9, 1e9, 1e-9)])
def test_a_run_does_not_depend_on_the_units(kind, projection, L, T, M):
    run, plain = (
        ex.simulate(
            scaled(kind, *units), MoreauJean(h=2e-3 * units[1], projection=projection),
            t_end=2 * units[1],
        )
        for units in ((L, T, M), (1, 1, 1))
    )  # fmt: skip
    assert np.abs(run.q / L - plain.q).max() < 1e-9
    assert np.abs(run.v * T / L - plain.v).max() < 1e-9 * np.abs(plain.v).max()


@pytest.mark.parametrize("lcp", ["lemke", "pgs", "enumeration"])
def test_the_residual_of_friction_is_what_the_laws_lack(lcp):
    """Two feet of a sliding table: solved roughly by sweeps, and the record tells how roughly."""
    table = MechanicalSystem("table", q="x y a", mass=np.diag([1, 1, 0.2]).tolist())
    table.params(e=0.0, mu=0.6)
    table.force = ["4*sin(9*t)", -9.81, 0]
    for u in (-0.5, 0.5):
        table.contact(Contact(f"y + {u}*a", mu="mu", slip="v_x + 0.7*v_a"))
    table.start(q=[0, 0, 0], v=[0.5, 0, 0])
    run = ex.simulate(table, MoreauJean(h=1e-3, lcp=lcp, lcp_tol=1e-3), t_end=1.0)
    u, v = np.array([-0.5, 0.5]), run.v[1:]
    w, slip = v[:, 1:2] + u * v[:, 2:], v[:, :1] + 0.7 * v[:, 2:]
    off = natural(1 + u**2 / 0.2, run.p[1:], w, 1 + 0.7**2 / 0.2, run.p_t[1:], slip, 0.6)
    closed = run.active[1:, :2] > 0
    told = np.where(closed, off, 0).max(axis=1)
    assert np.abs(told - run.residuals[1:, 0]).max() < 1e-12
    assert told.max() > 1e-9 if lcp != "lemke" else told.max() < 1e-14  # exact, or roughly so


@pytest.mark.parametrize("lcp", ["lemke", "pgs"])
def test_impulses_that_are_no_numbers_solve_nothing(lcp):
    """A tangent with so long a lever that D overflows: min() and max() would swallow the NaN."""
    table = MechanicalSystem("table", q="x y a", mass=np.diag([1, 1, 0.2]).tolist())
    table.params(mu=0.6)
    table.force = [0, -9.81, 0]
    for u in (-0.5, 0.5):
        table.contact(Contact(f"y + {u}*a", mu="mu", slip="v_x + 1e160*v_a"))
    table.start(q=[0, 0, 0], v=[0.5, 0, 0])
    with pytest.raises(ex.errors.StepFailed, match="residual nan"):
        ex.simulate(table, MoreauJean(h=1e-3, lcp=lcp), t_end=0.01)


def test_an_impact_on_a_moving_floor_is_differentiated_by_its_speed():
    """v+ = U + e (U - v-): the contact's own row depends on the parameter."""
    ball = MechanicalSystem("ball", q="y", force=[-9.81])
    ball.params(U=0.7, e=0.6)
    ball.contact(Contact("y - U*t", e="e"))
    ball.start(q=[1.0], v=[0.0])

    def v_end(U, e=0.6, T=0.6, g=9.81):
        hit = (-U + (U * U + 2 * g) ** 0.5) / g
        return U + e * (U + g * hit) - g * (T - hit)

    found = ex.sensitivity(ball, ex.EventDriven(rtol=1e-11), ("U",), "v_y", t_end=0.6)
    exact = v_end(0.7 + 1e-30j).imag / 1e-30
    assert found.V[-1, 0, 0] == pytest.approx(exact, rel=1e-8)
