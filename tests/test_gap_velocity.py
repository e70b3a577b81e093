"""The contact portrait: impacts on the ray of Newton's law, no curve through a jump, few curves."""

import numpy as np
import pytest

import explorer as ex
from explorer.models import models
from explorer.views.drawing.picture import COLOURS, GREY, INK

SCHEMES = [ex.EventDriven(), ex.MoreauJean(h=2e-3), ex.CentralDifference(h=2e-3)]


def portrait(solution) -> dict:
    """Return the traces by name."""
    return {trace["name"]: trace for trace in ex.views.gap_velocity.picture(solution).data}


@pytest.mark.parametrize("e", [0.4, 0.9])
def test_impacts_lie_on_the_ray_of_newtons_law(e):
    run = ex.simulate(models["bouncing_ball"](), ex.EventDriven(), e=e)
    drawn = portrait(run)
    before, behind = drawn["before floor"], drawn["behind floor"]
    first = np.sqrt(2 * 9.81)
    hits = [event for event in run.events if event.gap_dot_minus < -1e-4 * first]
    assert len(before["y"]) >= len(hits) > 3
    after, law = np.asarray(behind["y"]), -e * np.asarray(before["y"])
    np.testing.assert_allclose(after, law, atol=1e-9)
    np.testing.assert_allclose([*before["x"], *behind["x"]], 0, atol=1e-9)
    speeds = [first * e**k for k in range(4)]
    assert -np.asarray(before["y"][:4]) == pytest.approx(speeds, rel=1e-9)


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("name", ["impact_oscillator", "newtons_cradle", "pendulum_wall"])
def test_no_curve_is_drawn_through_a_jump(name, scheme):
    """Only the dotted lines go from one side of an impact to the other."""
    run = ex.simulate(models[name](), scheme)
    drawn, seen = portrait(run), 0.02 * np.ptp(run.gap_dot)
    for contact in run.system.contacts:
        before, behind = (
            np.asarray(drawn[f"{k} {contact.name}"]["y"]) for k in ("before", "behind")
        )
        curve = np.asarray(drawn[contact.name]["y"], float)
        far = np.abs(np.diff(curve)) > seen
        for low, high in zip(before, behind, strict=True):
            if high - low > seen:
                through = (curve[:-1] < low + seen / 4) & (curve[1:] > high - seen / 4)
                assert not (far & through).any(), (contact.name, low, high)
        line = drawn[f"impacts of {contact.name}"]
        assert line["line"]["dash"] == "dot"
        y = np.asarray(line["y"], float).reshape(-1, 3)
        np.testing.assert_array_equal(y[:, 0], before)
        np.testing.assert_array_equal(y[:, 1], behind)
        assert np.isnan(y[:, 2]).all()


def test_the_curve_is_the_motion_and_its_axes_have_units():
    """Of a parabola: gap' ^2 = 2 g (1 - gap) until the first impact."""
    run = ex.simulate(models["bouncing_ball"](), ex.EventDriven(), t_end=0.45)
    figure = ex.views.gap_velocity(run)
    titles = figure.layout.xaxis.title.text, figure.layout.yaxis.title.text
    assert titles == ("gap (m)", "gap velocity (m/s)")
    curve = portrait(run)["floor"]
    gap, speed = (np.asarray(curve[axis], float) for axis in "xy")
    assert len(gap) > 20
    np.testing.assert_allclose(speed**2, 2 * 9.81 * (1 - gap), atol=1e-5)


def test_of_many_contacts_six_are_drawn_in_colours_that_all_eyes_tell_apart():
    run = ex.simulate(models["column"](), ex.MoreauJean(h=2e-3))
    picture = ex.views.gap_velocity.picture(run)
    curves = [t for t in picture.data if "meta" in t and "t" in t["meta"]]
    assert [t["line"]["color"] for t in curves] == [*COLOURS]
    assert "6 of 10 shown" in [t["name"] for t in picture.data]
    for trace in picture.data:
        for part in ("line", "marker"):
            assert trace.get(part, {}).get("color", INK) in {*COLOURS, GREY, INK}


def test_a_run_without_impacts_has_a_curve_only_and_a_smooth_one_is_refused():
    run = ex.simulate(models["bouncing_ball"](), t_end=0.2)
    drawn = portrait(run)
    assert len(drawn["before floor"]["x"]) == 0
    assert len(drawn["floor"]["x"]) > 5
    with pytest.raises(ex.NotApplicable, match=r"views\.gap_velocity draws contacts"):
        ex.views.gap_velocity(ex.simulate(models["duffing"]()))
