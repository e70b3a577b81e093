"""Orbit diagrams from several starts: which attractor each comes to, the colours, the panel."""

from __future__ import annotations

import base64

import numpy as np
import pytest
from test_orbits import decoded, of, opened

import explorer as ex
from explorer.panels.orbits.aside import further
from explorer.panels.orbits.state import OrbitsSession


def sinks() -> ex.MechanicalSystem:
    """Return x'' = x - x^3 - x' with a faint force: sinks near -1 and 1."""
    system = ex.MechanicalSystem("two sinks", q="x", mass=[[1]], params={"f": ex.Param(0.01, 0, 1)})
    system.force = ["x - x**3 - v_x + f*cos(2*pi*t)"]
    system.start(q=[0.5], t_end=20)
    return system


@pytest.fixture(scope="module")
def found():
    asked = ex.study.Sharpening(
        sinks(),
        over={"f": (0.01, 0.02)},
        columns=9,
        points=24,
        transient=40,
        others=[[-0.5, 0.0], [0.7, 0.0]],
    )
    return asked.whole()


def test_starts_of_one_side_come_to_one_attractor(found):
    assert found.attractors().tolist() == [[0] * 9, [1] * 9, [0] * 9]
    assert (found.points[..., 0] > 0.9).all()
    assert (found.others[0].points[..., 0] < -0.9).all()
    assert found.done == 1


def test_a_further_start_makes_the_diagram_that_it_makes_alone(found):
    alone = ex.study.Sharpening(
        sinks(), over={"f": (0.01, 0.02)}, columns=9, points=24, transient=40, start=[-0.5, 0.0]
    ).whole()
    assert np.array_equal(alone.points, found.others[0].points)


def test_chaos_from_two_starts_is_one_attractor():
    tent = ex.models.tent_map()
    asked = ex.study.Sharpening(
        tent, over={"mu": (1.6, 2.2)}, columns=5, points=200, others=[[0.311]]
    )
    numbers = asked.whole().attractors()
    assert (numbers[:, :3] == 0).all()
    assert (numbers[:, -1] == -1).all()  # it escapes


def test_each_attractor_has_its_colour(found):
    picture = ex.views.orbits.picture(found, "x", attractors=True)
    names = [t["name"] for t in picture.data if t.get("showlegend")]
    assert names == ["of the first start", "1. other attractor"]
    (shown,) = picture.layout["images"]
    image, palette = decoded(base64.b64decode(shown["source"].partition(",")[2]))
    seen = {palette[3 * k : 3 * k + 3].hex() for k in np.unique(image[image > 0]).tolist()}
    assert seen == {"0072b2", "d55e00"}
    by_period = ex.views.orbits.picture(found, "x")
    assert [t["name"] for t in by_period.data if t.get("showlegend")] == ["period 1"]


def test_the_panel_draws_further_starts(monkeypatch):
    monkeypatch.setattr(OrbitsSession, "columns", 9)
    monkeypatch.setattr(OrbitsSession, "points", 24)
    wire = opened(low=2.64, high=2.69, s=0)
    session = wire.panel.session
    content, _ = wire.pull(**{"see.starts": 2, "see.colour": "attractor"})
    assert content["errors"] == {}
    whole = session.diagram()
    assert len(whole.others) == 2
    assert (
        further(session.states, session.state, 2) == further(session.states, session.state, 5)[:2]
    )
    scope: dict = {}
    code = session.code()
    assert "attractors=True" in code
    exec(code.replace("rho=", "columns=9, points=24, rho="), scope)
    assert np.array_equal(scope["found"].attractors(), whole.attractors())
    content, _ = wire.pull(**{"see.starts": 9})
    assert "whole number from 0 to 5" in content["errors"]["see.starts"]
    assert of(wire)["starts"] == 2
