"""Many contacts: their graph gives what the dense matrices give, and no neighbour is missed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import sympy as sp

import explorer as ex
from explorer.schemes import moreau_jean


def both_ways(monkeypatch, system, **arguments):
    """Return the run on the graph of the contacts and that with dense matrices."""
    runs = []
    for many in (8, 10**6):
        monkeypatch.setattr(moreau_jean, "MANY", (many, many))
        runs.append(ex.simulate(system, ex.MoreauJean(h=1e-3), **arguments))
    return tuple(runs)


def the_same(run, other, tol=1e-10) -> None:
    assert (run.p > 0).sum(axis=1).max() > 8
    for name in ("q", "v", "gap_dot", "p"):
        assert np.abs(getattr(run, name) - getattr(other, name)).max() <= tol, name
    assert np.array_equal(run.pattern, other.pattern)


@pytest.mark.parametrize("e", [0.0, 0.5])
def test_a_falling_column_on_its_graph_is_that_of_dense_matrices(monkeypatch, e):
    rho = {"e": e, "R": 0.1, "d": 0.205, "y0": 0.2}
    the_same(*both_ways(monkeypatch, ex.models.column(24), rho=rho, t_end=0.5))


def tower(n: int) -> ex.MechanicalSystem:
    """Return blocks on each other, on a floor that is shaken."""
    names = [f"{c}{i}" for i in range(n) for c in "xy"]
    system = ex.MechanicalSystem("tower", names)
    g, A = system.params(g=9.81, A=1.2)
    system.force = [f for _ in range(n) for f in (0, -g)]
    y, v_x = system.q[1::2], system.v[::2]
    for i in range(n):
        below = (y[i - 1], v_x[i - 1]) if i else (-1, A * sp.cos(9 * system.t))
        system.contact(
            ex.Contact(y[i] - below[0] - 1, mu=0.3 + 0.003 * i, mu_s=0.5, slip=v_x[i] - below[1])
        )
    system.start(q=[c for i in range(n) for c in (0, i)], t_end=1.0)
    return system


def test_a_shaken_tower_on_its_graph_is_that_of_dense_matrices(monkeypatch):
    run, dense = both_ways(monkeypatch, tower(52), t_end=0.5)
    the_same(run, dense)
    assert {-1, 1, 2} <= set(run.doing.ravel().tolist())


def test_contacts_that_say_the_same_share_the_load():
    """Twenty floors below one ball: D has rank one, and only the sum is determined."""
    ball = ex.MechanicalSystem("ball", "y", force=[-9.81], start={"q": [0], "t_end": 0.1})
    for k in range(20):
        ball.contact(ex.Contact("y", name=f"floor {k}"))
    run = ex.simulate(ball, ex.MoreauJean(h=1e-3))
    assert np.abs(run.p[1:].sum(axis=1) - 9.81e-3).max() < 1e-12


def three_discs() -> tuple[ex.DiscSystem, ex.MechanicalSystem]:
    """Return three discs that roll down between walls: by neighbours, and by formulas."""
    radii, params = [0.1, 0.12, 0.08], {"mu": 0.3, "e": 0.4}
    start = {"q": [0.1, 0.1, 0, 0.31, 0.3, 0, 0.15, 0.5, 0], "v": [0, 0, 0, 0.2, 0, 3, 0, 0, 0]}
    walls = [(0, 1, 0), (1, 0, 0), (-0.8, 0.6, -0.4)]
    discs = ex.DiscSystem(
        "discs", 3, radius=radii, walls=walls, e="e", mu="mu", params=params, start=start
    )
    plain = ex.MechanicalSystem("formulas", list(discs.coordinates), params=params, start=start)
    plain.mass, plain.force = discs.mass, discs.force
    c = np.array(plain.q).reshape(3, 3)
    u = np.array(plain.v).reshape(3, 3)
    for i, (n_x, n_y, offset) in itertools.product(range(3), walls):
        gap = n_x * c[i, 0] + n_y * c[i, 1] - offset - radii[i]
        slip = -n_y * u[i, 0] + n_x * u[i, 1] - radii[i] * u[i, 2]
        plain.contact(ex.Contact(gap, "e", mu="mu", slip=slip))
    for i, j in itertools.combinations(range(3), 2):
        away, far = c[i] - c[j], sp.sqrt(sum((c[i] - c[j])[:2] ** 2))
        n_x, n_y = away[0] / far, away[1] / far
        slip = -n_y * (u[i, 0] - u[j, 0]) + n_x * (u[i, 1] - u[j, 1])
        slip -= radii[i] * u[i, 2] + radii[j] * u[j, 2]
        plain.contact(ex.Contact(far - radii[i] - radii[j], "e", mu="mu", slip=slip))
    return discs, plain


def test_discs_by_neighbours_are_discs_by_formulas():
    runs = [ex.simulate(s, ex.MoreauJean(h=1e-3), t_end=0.5) for s in three_discs()]
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-8
    assert np.abs(runs[0].p.sum(axis=1) - runs[1].p.sum(axis=1)).max() < 1e-8
    assert np.abs(runs[0].q[-1] - runs[0].q[0]).max() > 0.1


def test_no_disc_of_a_pile_goes_through_another():
    """All pairs are looked at here, not only neighbours."""
    system = ex.models.disc_pile(40)
    run = ex.simulate(system)
    rho = {sp.Symbol(k): x for k, x in run.rho.items()}
    radii = np.array([float(r.subs(rho)) for r in system.radii])
    centres = run.q.reshape(len(run.t), -1, 3)[::5, :, :2]
    i, j = np.triu_indices(len(radii), 1)
    gaps = np.linalg.norm(centres[:, i] - centres[:, j], axis=2) - radii[i] - radii[j]
    deep = 1.1 * run.scheme.h * np.abs(run.gap_dot).max()
    assert gaps.min() > -deep
    assert (gaps[-1] < deep).sum() > len(radii)  # it is a pile
    assert run.residuals[:, 0].max() < 4e-3 * np.abs(run.gap_dot).max()
    assert (np.diff(run.energy) <= 1e-3 * run.energy[0]).all()


@pytest.mark.broad
@pytest.mark.parametrize("n", [60, 100])
@pytest.mark.parametrize("mu", [0.6, 0.7, 0.85])
def test_discs_that_wedge_each_other_are_solved_for(n, mu):
    """Friction above 1/2, where sweeps over the contacts run in circles: Coulomb's law holds."""
    run = ex.simulate(ex.models.disc_pile(n), mu=mu, t_end=2)
    size = np.abs(run.gap_dot).max()
    assert run.residuals[:, 0].max() < 4e-3 * size
    assert (np.abs(run.p_t) <= mu * run.p + 1e-12).all()
    assert (np.diff(run.energy) <= 1e-3 * run.energy[0]).all()


def test_discs_are_refused_where_they_cannot_be():
    with pytest.raises(ex.BadModel, match="at least one disc"):
        ex.DiscSystem("none", 0)
    with pytest.raises(ex.BadModel, match="needs 2 components, but 1 given"):
        ex.DiscSystem("two", 2, radius=[1])
    with pytest.raises(ex.BadModel, match="starts inside an obstacle"):
        ex.simulate(ex.DiscSystem("two", 2, radius=1, start={"q": [0, 0, 0, 1, 0, 0]}))
    with pytest.raises(ex.BadValue, match="q_star"):
        ex.simulate(ex.models.disc_pile(12), ex.MoreauJean(h=4e-3, mass_point="iterate"))
    with pytest.raises(ex.NotApplicable):
        ex.simulate(ex.models.disc_pile(2), ex.EventDriven())
