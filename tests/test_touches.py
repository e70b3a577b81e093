"""Time stepping says where it does not know whether a contact is touched."""

from __future__ import annotations

import pytest
from loops import for_each

import explorer as ex
from explorer.models import models


def test_an_impact_that_finer_steps_do_not_have_is_told():
    """The five-bar has three impacts; captured ones move it so far that it meets the ground again."""
    system = models["five_bar_b"]()
    for h in (1e-3, 5e-4):
        run = ex.simulate(system, ex.MoreauJean(h=h), t_end=4)
        assert len(run.events) == 4
        check = run.certificate["touches"]
        assert not check.ok
        assert run.status.ok
        assert check.words in run.outcome
        for words in ("'ground' is touched at t = 3.3", "beyond contact", "Use EventDriven"):
            assert words in check.words
    fine = ex.simulate(system, ex.MoreauJean(h=1e-4), t_end=4)
    assert len(fine.events) == 3
    assert fine.certificate["touches"].ok


def test_a_touch_or_a_miss_that_a_late_impact_decides_is_told():
    """A mass meets a wall up to h late: up to 2 h v behind, it meets a moving plate or does not."""
    h, v, found = 1e-2, 1.03, []
    near = ex.MechanicalSystem("near", q="x", units="m", mass=[[1]], force=[0], params={"d": 0.0})
    near.contact(ex.Contact("1 - x", e=1, name="wall"))
    near.contact(ex.Contact(f"x - 2 + {v}*t + (t - 3)**2 + d", e=1, name="plate"))
    near.start(q=[0], v=[v], t_end=3.3)
    for k in range(-8, 9):
        schemes = ex.MoreauJean(h=h), ex.EventDriven()
        run, true = (ex.simulate(near, s, d=k * h / 4) for s in schemes)
        met = [any(e.contact == "plate" for e in one.events) for one in (run, true)]
        check = run.certificate["touches"]
        found.append((*met, check.ok))
        if not check.ok:
            assert ("turns back" if not met[0] else "would turn back") in check.words
    assert all(ok == (one == other) for one, other, ok in found), found
    assert {ok for *_, ok in found} == {True, False}


@for_each("name", ["bouncing_ball", "elastic_pendulum", "five_bar_a", "four_bar_stop"])
def test_bounces_that_die_and_contacts_that_are_sure_are_not_doubted(name):
    system = models[name]()
    for scheme in (ex.MoreauJean(h=system.h), ex.NonsmoothGeneralizedAlpha(h=system.h)):
        assert ex.simulate(system, scheme).certificate["touches"].value == pytest.approx(0)
