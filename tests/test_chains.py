"""Matrices that change at every step, as a band in the order of Cuthill and McKee."""

import numpy as np
import pytest
import scipy.sparse

import explorer as ex
from explorer import Contact, LinearMechanicalSystem, MechanicalSystem, MoreauJean
from explorer.compiled import compile_system, ordering
from explorer.compiled.first_order import compile_first_order
from explorer.errors import StepFailed


def chain(n, order=None, contacts=0, inertia="1", mu=0.0):
    """Return n rods that hang from the origin, in any order of their coordinates.

    The last ones fall on a floor.
    """
    names = [f"{x}{i}" for i in range(n) for x in "xy"]
    order = range(2 * n) if order is None else order
    system = MechanicalSystem("chain", q=[names[k] for k in order])
    q = {s.name: s for s in system.q}
    system.mass = [[inertia if i == j else 0 for j in range(2 * n)] for i in range(2 * n)]
    system.force = {f"y{i}": "-9.81" for i in range(n)}
    for i in range(n):
        dx, dy = (q[f"{x}{i}"] - (q[f"{x}{i - 1}"] if i else 0) for x in "xy")
        system.constraint((dx**2 + dy**2 - 1) / 2)
    for i in range(n - contacts, n):
        friction = {"mu": mu, "slip": f"v_x{i}"} if mu else {}
        system.contact(Contact(f"y{i} + 0.05", e=0.2, **friction))
    system.start(q={f"x{i}": i + 1 for i in range(n)}, t_end=0.2)
    return system


def both(monkeypatch, build, scheme, **given):
    """Return the run with a band and that with a full matrix."""
    band = ex.simulate(build(), scheme, **given)
    monkeypatch.setattr(ordering, "_LEAST", 10**9)
    return band, ex.simulate(build(), scheme, **given)


def columns(system):
    """Return the width of a step's matrix, and its number of rows."""
    compiled = compile_system(system)
    matrices = compiled.matrices(compiled.input(system.rho()))[:3]
    return ordering.ordering(compiled, matrices).columns, compiled.n + compiled.bound


@pytest.mark.parametrize(("knobs", "shuffled"), [
    ({}, False), ({}, True), ({"theta": 1.0, "mass_point": "iterate"}, False),
    ({"projection": "constraints"}, True), ({"projection": "all"}, False),
    ({"projection": "none"}, True), ({"theta": 0.7, "gamma": 0.6}, False),
])  # fmt: skip
def test_a_band_gives_the_run_of_the_full_matrix(monkeypatch, knobs, shuffled):
    """Of a chain that falls on a rough floor, with an inertia that depends on the state."""
    order = np.random.default_rng(3).permutation(40) if shuffled else None
    build = lambda: chain(20, order, 5, "1 + 0.1*sin(y3)**2", 0.4)  # noqa: E731
    assert columns(build())[0] <= 3 * 6 + 1
    band, full = both(monkeypatch, build, MoreauJean(h=2e-3, **knobs))
    for name in ("q", "v", "p", "p_t", "p_phi"):
        a, b = getattr(band, name), getattr(full, name)
        assert np.abs(a - b).max() < 1e-8 * np.abs(b).max(), name
    assert band.p.max() > 0
    assert {c.name for c in band.certificate.checks if not c.ok} == {
        c.name for c in full.certificate.checks if not c.ok
    }


@pytest.mark.parametrize(("scheme", "contacts"), [
    (ex.GeneralizedAlpha(h=2e-3), 0), (ex.NonsmoothGeneralizedAlpha(h=2e-3), 3),
])  # fmt: skip
def test_generalised_alpha_takes_a_band_too(monkeypatch, scheme, contacts):
    order = np.random.default_rng(3).permutation(40)
    build = lambda: chain(20, order, contacts, "1 + 0.1*sin(y3)**2")  # noqa: E731
    band, full = both(monkeypatch, build, scheme)
    for name in ("q", "v", "a", "p", "p_phi"):
        a, b = getattr(band, name), getattr(full, name)
        assert np.abs(a - b).max(initial=0) <= 1e-8 * np.abs(b).max(initial=0), name
    assert (band.p.max(initial=0) > 0) == (contacts > 0)
    assert band.certificate.ok


def test_a_curved_contact_of_a_sparse_beam_takes_a_band(monkeypatch):
    """M, K, C as they were given, sparse or full."""
    n = 60
    K = scipy.sparse.diags_array(
        [np.full(n - 1, -4e3), np.full(n, 8e3), np.full(n - 1, -4e3)], offsets=[-1, 0, 1]
    ).tocsr()

    def beam(matrix):
        return LinearMechanicalSystem(
            "beam", matrix(scipy.sparse.eye_array(n).tocsr()), matrix(K), f=[-9.81] * n,
            contacts=[Contact("q30 + q29**2 + 1e-3", e=0.3)], start={"t_end": 0.1},
        )  # fmt: skip

    assert columns(beam(lambda A: A)) == (4, n)
    sparse = ex.simulate(beam(lambda A: A), MoreauJean())
    band, full = both(monkeypatch, lambda: beam(lambda A: A.toarray()), MoreauJean())
    assert np.abs(band.q - full.q).max() < 1e-12
    assert np.abs(sparse.q - full.q).max() < 1e-12
    again = ex.simulate(beam(lambda A: A), MoreauJean())  # full, though it was given sparse
    assert np.abs(again.q - full.q).max() < 1e-12
    assert full.p.max() > 0


def test_what_is_no_band_stays_full():
    """A star: all rods meet at one point; and a few rods, for which a band does not pay."""
    star = MechanicalSystem("star", q=[f"{x}{i}" for i in range(12) for x in "xy"])
    star.start(q=[0, 0] + [c for k in range(11) for c in (np.cos(k), np.sin(k))])
    for k in range(1, 12):
        star.constraint(f"((x{k} - x0)**2 + (y{k} - y0)**2 - 1)/2")
    assert columns(star) == (35, 35)
    assert columns(chain(5)) == (15, 15)


def ladder(n, kind="complementarity", wave=""):
    """Return n capacitors in a row, each with a diode (or a relay) to ground."""
    f = []
    for k in range(n):
        before, after = f"v{k - 1}" if k else "10*sin(20*t)", f"v{k + 1}" if k < n - 1 else f"v{k}"
        f.append(f"10*({before} - v{k}) + 10*({after} - v{k})")
    law = {"kind": kind, "lb": -1, "ub": 2} if kind == "relay" else kind
    return ex.FirstOrderSystem(
        "ladder", x=[f"v{k}" for k in range(n)], f=f, laws={f"i{k}": law for k in range(n)},
        y=[f"(0.01{wave})*i{k} + v{k} + 0.5*{k % 3}" for k in range(n)],
        r={f"v{k}": f"i{k}" for k in range(n)}, start={"x": [0.1] * n, "t_end": 0.6},
    )  # fmt: skip


@pytest.mark.parametrize("knobs", [
    {"theta": 1.0}, {"theta": 0.5, "gamma": 0.5}, {"theta": 0.7, "gamma": 0.7, "gamma_on": "r"},
])  # fmt: skip
@pytest.mark.parametrize(("kind", "wave"), [
    ("complementarity", ""), ("complementarity", " + 0.005*sin(9*t)"), ("relay", ""),
])  # fmt: skip
def test_a_ladder_in_one_band_gives_the_run_of_full_matrices(monkeypatch, knobs, kind, wave):
    assert compile_first_order(ladder(20, kind, wave)).joint.columns <= 13
    band, full = both(monkeypatch, lambda: ladder(20, kind, wave), ex.EulerMoreau(h=2e-3, **knobs))
    assert compile_first_order(full.system).joint.columns == 0
    size = np.abs(full.lam).max()
    assert np.abs(band.x - full.x).max() < 1e-9
    assert np.abs(band.lam - full.lam).max() < 1e-9 * size
    assert np.abs(band.y - full.y).max() < 1e-9 * size
    assert (np.diff(band.side, axis=0) != 0).any()
    assert [c.ok for c in band.certificate.checks] == [c.ok for c in full.certificate.checks]


def test_a_ladder_goes_on_with_full_matrices_where_no_sides_are_found(monkeypatch):
    """A law with two solutions, and later none: the status and the state are those of others."""
    scheme, whole = ex.EulerMoreau(h=2e-3), ladder(20)
    monkeypatch.setattr(ordering, "_WORTH", 10**9)
    full = ex.simulate(whole, scheme)
    monkeypatch.setattr(ordering, "_WORTH", 3)
    contrary = ladder(20)
    contrary.y = [*contrary.y[:-1], "-1e-3*i19 + v19 + 2 - 0*t"]  # has two solutions, then none
    monkeypatch.setattr(ordering, "_LEAST", 17)
    one = ex.simulate(contrary, scheme, throw=False)
    monkeypatch.setattr(ordering, "_LEAST", 10**9)
    contrary.touch()
    other = ex.simulate(contrary, scheme, throw=False)
    assert one.status.name == other.status.name
    assert np.abs(one.x[-1] - other.x[-1]).max() < 1e-9
    assert np.abs(one.x[:3] - full.x[:3]).max() < 1e-9


def test_a_mass_matrix_that_turns_indefinite_is_found_in_a_band():
    system = chain(10, inertia="1 - 4*y9**2")
    with pytest.raises(StepFailed, match="positive definite"):
        ex.simulate(system, MoreauJean(h=1e-3), t_end=2.0)
