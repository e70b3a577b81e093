"""Time freezing where several contacts without rebound are struck at once, with friction or not."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import explorer as ex
from explorer.runs.time_freezing.simultaneous_impacts import Response, newton


def pressed(W, b):
    """Return p with 0 <= p perp W p + b >= 0 by trying every set."""
    for chosen in itertools.product((False, True), repeat=len(b)):
        on, p = np.flatnonzero(chosen), np.zeros(len(b))
        p[on] = np.linalg.solve(W[np.ix_(on, on)], -b[on])
        if (p >= -1e-12).all() and (W @ p + b >= -1e-12).all():
            return p
    raise AssertionError


def corner(seed):
    """Return a point between two walls at an angle, its mass matrix and the walls' normals."""
    rng = np.random.default_rng(seed)
    angle = rng.uniform(0.3, 2.8)
    G = np.array([[1.0, 0.0], [round(np.cos(angle), 4), round(np.sin(angle), 4)]])
    A = rng.normal(size=(2, 2))
    M = (A @ A.T + 0.5 * np.eye(2)).round(3)
    pull = np.zeros(2) if seed % 3 else rng.normal(size=2).round(2)
    system = ex.MechanicalSystem("corner", q="x y", mass=M.tolist(), force=pull.tolist())
    system.contact(ex.Contact("x", e=0, name="wall"))
    system.contact(ex.Contact(f"{G[1, 0]}*x + {G[1, 1]}*y", e=0, name="slope"))
    gaps = np.array([0.5, 0.5]) if seed % 2 else rng.uniform(0.1, 1, 2)
    speeds = -gaps if seed % 4 < 2 else -rng.uniform(0.2, 2, 2)
    start = {"q": np.linalg.solve(G, gaps).tolist(), "v": np.linalg.solve(G, speeds).tolist()}
    system.start(**start, t_end=2.0)
    return system, M, G


@pytest.mark.parametrize("seed", [1, 3, 5, 9, 13, 17, 21])
def test_impulses_in_a_corner_are_those_of_newtons_law(seed):
    """All that happens at one time together: acute corners, where one wall opens the other, too."""
    system, M, G = corner(seed)
    run = ex.simulate(system, ex.FESD(h=0.02, stages=3))
    W = G @ np.linalg.solve(M, G.T)
    hits = [e for e in run.events if e.impulse > 0]
    assert hits
    rest = list(hits)
    while rest:
        together = [e for e in rest if e.t - rest[0].t <= 1e-7]
        rest = rest[len(together) :]
        before, after = together[0].row - 1, together[-1].row
        rows = sorted({e.row for e in together})
        same = [e.contact for e in together if e.t - together[0].t <= 1e-11]
        assert len(same) == len({*same})  # each impact is listed once
        p = run.p[rows].sum(axis=0)
        near = np.flatnonzero(np.abs(run.gap[after]) < 1e-7)
        known = np.zeros(2)
        known[near] = pressed(W[np.ix_(near, near)], (G @ run.v[before])[near])
        pulled = np.linalg.solve(M, G.T @ known) + run.v[before]
        assert run.v[after] == pytest.approx(pulled, abs=1e-5)
        assert p == pytest.approx(known, rel=1e-4, abs=1e-5)


def rod(seed):
    """Return a rod that falls on two points, level or not, with friction or without."""
    rng = np.random.default_rng(seed)
    mu = 0 if rng.random() < 0.25 else round(rng.uniform(0.05, 0.9), 3)
    inertia = round(rng.uniform(0.05, 0.6), 3)
    places = [round(-rng.uniform(0.2, 0.6), 3), round(rng.uniform(0.2, 0.6), 3)]
    q = [0, round(rng.uniform(0.3, 0.6), 3), round(rng.uniform(-0.45, 0.45), 3)]
    if rng.random() < 0.2:
        q[2] = 0
    v = [round(rng.normal(), 3), round(-abs(rng.normal()), 3), round(rng.normal(), 3)]
    v[2] = v[2] if q[2] else 0
    system = ex.MechanicalSystem(
        "rod", q="x y a", mass=[[1, 0, 0], [0, 1, 0], [0, 0, inertia]], force=[0, -9.81, 0]
    )
    for k, u in enumerate(places):
        slip = {"mu": mu, "slip": f"v_x - ({u})*sin(a)*v_a"} if mu else {}
        system.contact(ex.Contact(f"y + ({u})*sin(a)", e=0, name=f"point {k}", **slip))
    system.start(q=q, v=v, t_end=1.2)
    return system


@pytest.mark.parametrize("seed", [0, 2, 8, 11, 20, 46])
def test_rods_fall_as_event_location_has_it(seed):
    """Struck level, one point after the other, slips that turn within an impact: none stops."""
    system = rod(seed)
    frozen = ex.simulate(system, ex.FESD(h=0.02, stages=3))
    located = ex.simulate(system, ex.EventDriven(rtol=1e-10))
    assert frozen.q[-1] == pytest.approx(located.q[-1], abs=1e-7)
    assert frozen.v[-1] == pytest.approx(located.v[-1], abs=1e-7)
    assert frozen.certificate.ok, frozen.cautions
    assert frozen.gap.min() >= -1e-8


def test_a_level_rod_comes_to_lie_by_the_impulses_of_its_closed_form():
    """Unequal arms: pushes of one size open the longer arm's end; their right shares do not."""
    inertia, near, far, drop = 0.8, 0.3, 0.5, 0.3
    system = ex.MechanicalSystem(
        "rod", q="y a", mass=[[1, 0], [0, inertia]], force=[-9.81, 0],
        contacts=[ex.Contact(f"y + ({u})*sin(a)", e=0, name=n)
                  for u, n in ((-near, "near"), (far, "far"))],
        start={"q": [drop, 0], "v": [0, 0], "t_end": 0.6},
    )  # fmt: skip
    run = ex.simulate(system, ex.FESD(h=0.02))
    u = np.sqrt(2 * 9.81 * drop)
    hits = [e for e in run.events if e.impulse > 0]
    assert [e.t for e in hits] == pytest.approx([u / 9.81] * 2, abs=1e-12)
    shares = u * np.array([far, near]) / (near + far)  # the rod stops: sum and moment
    assert run.p[hits[0].row] == pytest.approx(shares, abs=1e-10)
    assert np.abs(run.v[-1]).max() <= 1e-10


FLOAT = st.floats(-2, 2).map(lambda x: round(x, 3))


@given(st.integers(1, 3), st.lists(FLOAT, min_size=60, max_size=60), st.booleans())
@settings(max_examples=60, deadline=None, derandomize=True)
def test_impulses_obey_the_laws_of_all_contacts(k, numbers, rough):
    """Whatever W and the speeds are: signs, cones, complementarity, slips against their friction."""
    A = np.reshape(numbers[: 4 * k * k], (2 * k, 2 * k))
    W, rates = A @ A.T + 0.3 * np.eye(2 * k), np.array(numbers[40 : 40 + 2 * k])
    mu = np.abs(numbers[50 : 50 + k]) / 2 if rough else np.zeros(k)
    p = newton(Response(rates, W, mu))
    if p is None:
        assert (mu > 0).any()  # without friction there is one outcome
        return
    after, near = rates + W @ p, 1e-8 * (1 + np.abs(rates).max())
    normal, tangent = p[:k], p[k:]
    assert normal.min() >= -near
    assert after[:k].min() >= -near
    assert np.abs(normal * after[:k]).max() <= near
    assert (np.abs(tangent) <= mu * normal + near).all()
    slips = np.abs(after[k:]) > 1e-6
    against = -mu * normal * np.sign(after[k:])
    assert tangent[slips] == pytest.approx(against[slips], abs=near)
    if not rough:
        assert normal == pytest.approx(pressed(W[:k, :k], rates[:k]), abs=1e-8)
