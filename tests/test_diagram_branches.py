"""Branches over an orbit diagram: the closed form beyond the flip, the drawing, the switch."""

from __future__ import annotations

import numpy as np
import pytest
from test_orbits import of, one_impact, opened

import explorer as ex
from explorer.panels.orbits.state import OrbitsSession
from explorer.study.diagram_branches import diagram_branches

WINDOW = (2.64, 2.69)


@pytest.fixture(scope="module")
def asked():
    return ex.study.Sharpening(
        ex.models.impact_oscillator(),
        over={"omega": WINDOW},
        s=0,
        columns=25,
        points=24,
        transient=60,
    )


@pytest.fixture(scope="module")
def diagram(asked):
    return asked.whole()


@pytest.fixture(scope="module")
def found(asked, diagram):
    return asked.branches(diagram)


def test_the_one_impact_orbit_goes_on_unstable_beyond_its_flip(found):
    """Its closed form holds on both sides; the multiplier is -1 at the flip."""
    assert found.done
    assert found.left == 0
    one = next(b for b in found.branches if b.returns.shape[1] == 1)
    assert one.values.min() == pytest.approx(WINDOW[0], abs=1e-9)
    assert one.values.max() == pytest.approx(WINDOW[1], abs=1e-9)
    for k in range(0, len(one), 3):
        assert one.returns[k, 0, 0] == pytest.approx(one_impact(one.values[k], 0.8), abs=1e-7)
    (flip,) = one.found("flip")
    beyond = one.values > flip.parameter + 1e-6
    assert not one.stable[beyond].any()
    assert one.stable[one.values < flip.parameter - 1e-6].all()
    assert min(abs(flip.multipliers + 1)) < 1e-6


def test_both_points_of_a_cycle_of_two_lie_on_its_column(found, diagram):
    two = next(b for b in found.branches if b.returns.shape[1] == 2)
    k = int(np.flatnonzero(diagram.period == 2)[-1])
    i = int(np.abs(two.values - diagram.values[k]).argmin())
    cycle = ex.study.limit_cycle(
        ex.models.impact_oscillator(),
        period="2*pi/omega",
        count=2,
        guess=two.returns[i, 0],
        s=0,
        omega=diagram.values[k],
    )
    x = diagram.points[k, : diagram.found[k]]
    assert np.abs(x - cycle.x).max(axis=1).min() < 1e-6
    assert np.abs(two.returns[i, 1] - two.returns[i, 0]).max() > 0.01


def test_the_points_of_each_cycle_are_those_of_its_own_run(found):
    """A period later the run from the first point is at the second one, all along a branch."""
    system, seen = ex.models.impact_oscillator(), 0
    for branch in found.branches:
        many = branch.returns.shape[1]
        for k in range(0, len(branch), 4):
            omega, x = branch.values[k], branch.returns[k]
            run = ex.simulate(
                system,
                ex.EventDriven(rtol=1e-11, atol=1e-12),
                x0=x[0],
                t_end=2 * np.pi / omega,
                s=0,
                omega=omega,
            )
            assert run.x[-1] == pytest.approx(x[1 % many], abs=1e-6)
            seen += many > 1
    assert seen > 2


def test_the_gait_of_a_walker_goes_on_beyond_its_flip():
    """Of the simplest walker the long gait loses its stability at gamma = 0.01509 (Garcia 1998)."""
    walker, over = ex.models.simplest_walker(), (0.0145, 0.0155)
    gait = ex.study.limit_cycle(walker, section="heel strike", gamma=over[0])
    asked = ex.study.Sharpening(walker, over={"gamma": over}, columns=9, points=24, start=gait.x)
    whole = asked.whole()
    found = asked.branches(whole).branches
    one = next(b for b in found if b.returns.shape[1] == 1)
    (flip,) = one.found("flip")
    assert flip.parameter == pytest.approx(0.01509, rel=1e-3)
    assert one.values.max() == pytest.approx(over[1])
    assert np.array_equal(one.returns[:, 0], one.x)  # just after the heel strike, as the dots are
    k = int(np.flatnonzero(whole.period == 1)[0])
    i = int(np.abs(one.values - whole.values[k]).argmin())
    assert whole.points[k, -1] == pytest.approx(one.x[i], abs=2e-3)
    # the gait of two steps ends at the flip, and does not go on as twice the simple one
    two = next(b for b in found if b.returns.shape[1] == 2)
    assert two.values.min() == pytest.approx(flip.parameter, abs=1e-6)
    assert "a part of its period" in two.ends[0]


def test_it_can_be_stopped(asked, diagram):
    seen = list(diagram_branches(asked, diagram, lambda: True))
    assert not seen[-1].branches
    assert not seen[-1].done


def test_what_cannot_be_followed_is_a_sentence(asked, diagram):
    tent = ex.study.Sharpening(ex.models.tent_map(), over={"mu": (0.3, 0.9)}, columns=3)
    with pytest.raises(ex.NotApplicable, match="is a map"):
        tent.branches()
    other = ex.study.Sharpening(
        ex.models.impact_oscillator(),
        over={"omega": WINDOW},
        s=0,
        columns=3,
        points=24,
        section=ex.study.Section(period="2*pi/omega", phase=0.25),
    )
    with pytest.raises(ex.NotApplicable, match="phase = 0"):
        other.branches()
    with pytest.raises(ex.BadValue, match="over omega"):
        ex.views.orbits(
            diagram,
            branches=ex.study.Sharpening(
                ex.models.impact_oscillator(), over={"e": (0.7, 0.8)}, s=0, columns=3, points=24
            )
            .branches()
            .branches,
        )


def test_stable_parts_are_solid_and_bifurcations_are_marked(found, diagram):
    data = ex.views.orbits.picture(diagram, branches=found.branches).data
    named = {t["name"]: t for t in data if t.get("showlegend")}
    assert named["stable branch"]["line"]["dash"] == "solid"
    assert named["unstable"]["line"]["dash"] == "dash"
    assert {"flip"} <= set(named)
    flip = next(b for b in found.branches if b.returns.shape[1] == 1).found("flip")[0]
    dashed = np.asarray(named["unstable"]["x"], float)
    assert np.nanmin(dashed) == pytest.approx(flip.parameter, abs=1e-6)
    assert flip.parameter in named["flip"]["x"]
    bare = ex.views.orbits.picture(diagram).data
    assert len(bare) == len(data)  # a switch makes no other figure


# -- the panel ------------------------------------------------------------------------------------


@pytest.fixture
def wire(monkeypatch):
    monkeypatch.setattr(OrbitsSession, "columns", 9)
    monkeypatch.setattr(OrbitsSession, "points", 24)
    return opened(low=WINDOW[0], high=WINDOW[1], s=0)


def test_a_switch_shows_branches_and_a_new_question_drops_them(wire):
    session = wire.panel.session
    content, _ = wire.pull(**{"see.branches": True})
    assert content["errors"] == {}
    known = session.branches()
    assert len(known.branches) >= 2
    content, _ = wire.pull(**{"see.at": 2.645})
    assert "flip at 2.65" in content["status"]["text"]
    assert session.branches(0.0) is known
    old = session._follower
    wire.pull(**{"rho.e": 0.78})
    assert old._stopped.is_set()
    assert session._follower is not old
    wire.pull(**{"see.branches": False})
    assert session._follower is None
    wire.do("undo")
    assert of(wire)["branches"] is True
    wire.panel.close()
    assert session._follower is None


def test_the_code_draws_the_same_branches(wire):
    wire.pull(**{"see.branches": True})
    code = wire.panel.session.code()
    assert "branches=sharper.branches(found).branches" in code
    scope: dict = {}
    exec(code.replace("rho=", "columns=9, points=24, rho="), scope)
    mine, theirs = wire.panel.session.branches(), scope["sharper"].branches(scope["found"])
    assert [len(b) for b in mine.branches] == [len(b) for b in theirs.branches]


def test_a_switch_takes_true_or_false_only(wire):
    content, _ = wire.pull(**{"see.branches": "yes"})
    assert "must be True or False" in content["errors"]["see.branches"]
