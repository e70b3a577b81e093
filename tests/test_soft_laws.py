"""Contacts that give way and springs that yield, where numbers are small or lie on a bound."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each
from plain import plain, put, space

law, springs = plain("time_stepping.compliant_contact"), plain("time_stepping.bilinear_springs")
GAPS, FORCES = law.GAP, law.COMPLIANCE


def soft(diagonal, *, gap=0.0, entries=(), ptr=(0, 0, 0), col=(), point=(0.0, 0.0)):
    """Return how two contacts give way; `entries` of a full D by its rows."""
    return law.Compliance(
        np.array(diagonal, float), np.array(ptr), np.array(col, int), np.array(entries, float),
        np.full(2, float(gap)), np.zeros(2), np.array(point, float), np.zeros(2),
    )  # fmt: skip


def test_a_contact_that_gives_way_little_adds_what_it_gives():
    """A rigid one adds nothing, whatever its row holds; nor does a row behind those of contacts."""
    D = np.ones((3, 3))
    for a in range(3):
        law.give(soft([1e-3, 0.0]), a, 0.01, D)
    np.testing.assert_allclose(D, np.ones((3, 3)) + np.diag([0.1, 0, 0]), rtol=1e-14)
    full = soft([1e-3, 0.0], entries=[1e-3, 4e-4, 7.0], ptr=[0, 2, 3], col=[0, 1, 1])
    D = np.ones((2, 2))
    for a in range(2):
        law.give(full, a, 0.01, D)
    np.testing.assert_allclose(D, [[1.1, 1.0], [1.04, 1.0]], rtol=1e-14)


def broken(monkeypatch, given, gaps, P, D, noise=0.0, bends=False):
    table = np.zeros((FORCES + 1 if bends else FORCES, 2))
    bundles = space(out=np.array(gaps, float), table=table, inp=np.zeros(5))
    asked = []
    put(monkeypatch, law.broken, evaluate=lambda bundles, which: asked.append(which),
        bend=lambda bundles, compliance, force: asked.append(force.copy()))  # fmt: skip
    off = law.broken(bundles, given, noise, np.array([1, 0]), 2, 0.1, 0.05, np.array(P), D)
    return off, asked


def test_a_small_condition_is_measured_beside_its_own_small_terms(monkeypatch):
    """gap + D P / h beside D_aa P, each in m/s, where both are far below 1."""
    D = np.diag([2e-3, 3e-3])
    given = soft([1e-3, 2e-3])
    off, asked = broken(monkeypatch, given, [-1e-5, 4e-5], [1e-3, 2e-3], D)
    assert asked == [GAPS]
    assert given.force.tolist() == pytest.approx([0.02, 0.01])
    rest = np.array([(-1e-5 + 1e-3 * 0.02) / 0.05, (4e-5 + 2e-3 * 0.01) / 0.05])
    push = np.array([2e-3 * 2e-3, 3e-3 * 1e-3])
    size = max((1e-5 + 2e-5) / 0.05, (4e-5 + 2e-5) / 0.05, *push)
    assert off == pytest.approx(max(abs(np.minimum(rest, push))) / size)
    assert off < 1e-2


def test_a_rigid_contact_has_no_condition_and_nothing_is_off_where_nothing_is(monkeypatch):
    D = np.ones((2, 2))
    assert broken(monkeypatch, soft([0.0, 0.0]), [-1.0, 5.0], [1.0, 2.0], D)[0] == 0.0
    assert broken(monkeypatch, soft([1e-3, 1e-3]), [0.0, 0.0], [0.0, 0.0], D)[0] == 0.0


@for_each(("force", "point", "held"), [
    ((0.5, 0.25), (0.5, 0.25), False), ((0.5, 0.3), (0.5, 0.25), False), ((0.7, 0.25), (0.5, 2.0), False),
    ((0.0, 0.25), (8.0, 0.25), True), ((0.25, 0.0), (0.25, 8.0), True), ((0.0, 0.0), (0.0, 0.0), False),
])  # fmt: skip
def test_a_law_is_taken_anew_where_a_force_falls_too_far(monkeypatch, force, point, held):
    """In one step to no less than an eighth of what it was; at the forces it is taken already."""
    given, asked = soft([1.0, 1.0], point=point), []
    given.force[:] = force
    put(monkeypatch, law.move_point, bend=lambda bundles, compliance, lam: asked.append(lam.tolist()))  # fmt: skip
    law.move_point(None, given)
    wanted = [max(f, p / 8) for f, p in zip(force, point, strict=True)]
    assert given.point.tolist() == wanted
    assert asked == [wanted] * held


def pulled(monkeypatch, u, slip, k, yields, b):
    """Return the force, the stiffness and the trial slip of one spring along a coordinate."""
    put(monkeypatch, springs.bilinear, evaluate=lambda *_: None)
    held = springs.Springs(np.array([2, 3, 0]), np.array([slip]), np.array([9.0]))
    F, K = np.zeros(1), np.zeros(1)
    springs.bilinear(space(out=np.array([u, k, yields, b, 1.0])), held, F, K, True)
    return -F[0], K[0], held.trial[0]


@for_each(("u", "force", "stiffness", "slip"), [
    (0.5, 1.0, 2.0, 0.0), (-0.5, -1.0, 2.0, 0.0), (0.75, 1.25, 1.0, 0.25), (-0.75, -1.25, 1.0, -0.25), (0.25, 0.5, 2.0, 0.0), (0.0, 0.0, 2.0, 0.0),
])  # fmt: skip
def test_a_spring_yields_beyond_its_strength_and_not_at_it(monkeypatch, u, force, stiffness, slip):
    """k = 2, f_y = 1, b = 1/2: the line of hardening is u + 1/2."""
    assert pulled(monkeypatch, u, 0.0, 2.0, 1.0, 0.5) == (force, stiffness, slip)


@for_each("sign", (1, -1))
def test_a_weak_spring_yields_the_way_it_is_pulled(monkeypatch, sign):
    force, stiffness, slip = pulled(monkeypatch, sign * 0.3, 0.0, 2.0, 0.2, 0.25)
    assert (force, stiffness) == pytest.approx((sign * (0.15 + 0.15), 0.5))
    assert slip == pytest.approx(sign * 0.2)
    back = pulled(monkeypatch, 0.0, slip, 2.0, 0.2, 0.25)
    assert back == pytest.approx((-sign * 0.15, 0.5, sign * 0.1))
