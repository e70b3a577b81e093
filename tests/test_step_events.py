"""Events of recorded steps, uncompiled, against those that a run shows: random records of contacts."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each
from plain import plain

import explorer as ex
from explorer.results import law_steps, stepped

COVERS = ("kernels/time_stepping/step_events.py",)  # see mutant_rooms.py
events = plain("time_stepping.step_events")
KINDS = ("impact", "closed", "released")
BEFORE = 1  # what the lists of rows hold of the contact before


def record(seed, impact_steps):
    """Return a run with a contact that closes, chatters, lasts, slides and sticks at random."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(4, 40))
    lasts = np.repeat(rng.random(n) < 0.5, rng.integers(1, 6, n))[:n]
    p = np.where(lasts, rng.uniform(0.1, 1, n), 0.0)
    gap_dot = rng.normal(size=n) * np.where(rng.random(n) < 0.3, 1e-3, 1.0) * 10.0 ** -(seed % 4)
    gap = np.where(rng.random() < 0.5, 0.0, 1.0) * np.ones(n)
    if rng.random() < 0.5:
        gap_dot[0] = 0.0
    doing = np.repeat(rng.integers(-1, 3, n), rng.integers(1, 5, n))[:n].astype(np.int8)
    return SimpleNamespace(
        t=np.arange(n) * 0.1,
        p=p[:, None],
        gap=gap[:, None],
        gap_dot=gap_dot[:, None],
        recorded_row=lambda name: doing[:, None],
        doing=doing,
        system=SimpleNamespace(contacts=[SimpleNamespace(compliance=0)], rough=[0]),
        scheme=SimpleNamespace(impact_steps=impact_steps),
    )


@for_each(("seed", "steps"), [(seed, 1 + seed % 2) for seed in range(300)])
def test_impacts_closings_and_releases_are_those_of_a_run(seed, steps):
    run = record(seed, steps)
    expected = stepped.event_rows(run)
    since, n = 0.1 * (seed % 7), len(run.t)
    trace = events.Trace(run.t, None, None, run.p, run.gap, run.gap_dot, run.doing[:, None])
    contacts = events.Contacts(np.ones(1, np.int8), np.zeros(1, np.int64), steps)
    found = events.Found(np.full(n + 2, BEFORE), np.zeros(n, np.int8))
    count = events.impulse_events(trace, contacts, found, 0, since)
    late = [(row, kind) for row, kind, _ in expected if run.t[row] >= since]
    assert count == sum(kind in KINDS for _, kind in late)
    slides = events.friction_events(trace, 0, since)
    assert slides == sum(kind not in KINDS for _, kind in late)
    met = [row for row, kind, _ in expected if kind in ("impact", "closed")]
    assert found.row[1 : 1 + found.row[0]].tolist() == met
    jumps = sorted({row for row, kind, _ in expected if kind == "impact"})
    assert np.flatnonzero(found.jump).tolist() == jumps


def test_a_soft_contact_does_not_jump():
    run = record(3, 1)
    run.system.contacts[0].compliance = 1
    trace = events.Trace(run.t, None, None, run.p, run.gap, run.gap_dot, run.doing[:, None])
    contacts = events.Contacts(np.zeros(1, np.int8), np.zeros(1, np.int64), 1)
    found = events.Found(np.zeros(len(run.t) + 2, np.int64), np.zeros(len(run.t), np.int8))
    count = events.impulse_events(trace, contacts, found, 0, 0.0)
    assert count == sum(kind in KINDS for _, kind, _ in stepped.event_rows(run))
    assert not found.jump.any()


@for_each("seed", range(40))
def test_switches_of_laws_are_those_of_a_run(seed):
    """A run begins at the places that its first step has found."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 30))
    side = rng.integers(-1, 2, (n, 2)).astype(np.int8)
    side[0] = side[1]
    law = SimpleNamespace(kind="relay")
    run = SimpleNamespace(recorded_row=lambda name: side, laws=[law, law])
    t, since = np.arange(n) * 0.1, 0.1 * (seed % 5)
    side_before = side.copy()
    side_before[0] = 7  # what the record holds there before
    trace = events.Trace(t, None, None, None, None, None, side_before)
    found = events.Found(np.full(n + 2, BEFORE), np.zeros(n, np.int8))
    for a in range(2):
        rows = [row for row, _, law in law_steps.event_rows(run) if law == a]
        assert events.law_events(trace, found, a, since) == sum(t[row] >= since for row in rows)
        assert found.row[1 : 1 + found.row[0]].tolist() == rows


@pytest.mark.parametrize("base", [ex.MoreauJean, ex.NonsmoothGeneralizedAlpha])
def test_a_scheme_with_a_march_of_its_own_has_no_ensemble_of_another(base):
    class Own(base):
        def kernel(self, *args):
            return super().kernel(*args)

    system = ex.models.impact_oscillator()
    assert base(h=0.01).ensemble(system) is not None
    assert Own(h=0.01).ensemble(system) is None


def test_a_scheme_with_a_run_of_its_own_has_no_ensemble_of_another():
    class Own(ex.Newmark):
        def run(self, *args, **given):
            return super().run(*args, **given)

    system = ex.models.duffing()
    assert ex.Newmark(h=0.01).ensemble(system) is not None
    assert ex.GeneralizedAlpha(h=0.01).ensemble(system) is not None
    assert Own(h=0.01).ensemble(system) is None

    class Relay(ex.EulerMoreau):
        def run(self, *args, **given):
            return super().run(*args, **given)

    assert ex.EulerMoreau(h=0.01).ensemble(ex.models.two_relays()) is not None
    assert Relay(h=0.01).ensemble(ex.models.two_relays()) is None
