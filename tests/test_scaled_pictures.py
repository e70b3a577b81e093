"""A picture does not depend on the units: lengths and masses a thousand times as large look alike."""

from __future__ import annotations

import functools

import numpy as np
import pytest
from seen import apart

import explorer as ex
from explorer.views.contact_laws import doing
from explorer.views.drawing.view import views

VIEWS = [name for name, view in views.items() if ex.Solution in view.takes]
NOT_SCALED = ("one_step_problem",)  # residuals that round to zero are drawn at 1e-15


@functools.cache
def run(scheme: str, length: float = 1.0, mass: float = 1.0) -> ex.Solution:
    """A block that falls on a belt beside a wall."""
    L, M = length, mass
    system = ex.MechanicalSystem(
        "block", q="x y", mass=[["m", 0], [0, "m"]], force=["-k*x - d*v_x", "-m*g"], units="m",
        params={"m": 1.5 * M, "k": 40.0 * M, "d": 0.3 * M, "g": 9.81 * L, "b": 0.4 * L, "s": 0.1 * L},
        contacts=[ex.Contact("y", e=0.4, mu=0.4, slip="v_x - b", name="belt"),
                  ex.Contact("x + s", e=0.5, name="wall")],
        start={"q": [0.3 * L, 0.2 * L], "v": [0, 0.3 * L], "t_end": 1.8},
    )  # fmt: skip
    chosen = {
        "MoreauJean": ex.MoreauJean(h=2e-3),
        "EventDriven": ex.EventDriven(rtol=1e-9, atol=1e-12 * L),
    }[scheme]
    return ex.simulate(system, chosen)


def shown(picture) -> list:
    """Return name, x and y of every trace, numbers on an axis as parts of its range or extent."""
    found = []
    extent = {k: np.concatenate([np.ravel(t[k]) for t in picture.data]) for k in "xy"}
    for trace in picture.data:
        both = []
        for name in "xy":
            values = np.asarray(trace.get(name, []))
            axis = picture.layout.get(f"{name}axis{trace.get(f'{name}axis', name)[1:]}", {})
            if np.issubdtype(values.dtype, np.number) and ("range" in axis or not axis.get("type")):
                low, high = axis.get("range", (np.nanmin(extent[name]), np.nanmax(extent[name])))
                values = values.astype(float)
                values = np.log10(values) if axis.get("type") == "log" else values
                values = (values - low) / (high - low)
            both.append(values)
        found.append((trace.get("name"), trace.get("mode"), *both))
    return found


@pytest.mark.parametrize(
    ("scheme", "length", "mass"), [("MoreauJean", 1e-3, 1e-2), ("EventDriven", 1e-3, 1e2)]
)
def test_a_picture_does_not_depend_on_units(scheme, length, mass):
    """The same curves in the same places, but for the points that thinning leaves out."""
    for name in VIEWS:
        view = views[name]
        if name in NOT_SCALED or not view.draws(run(scheme)):
            continue
        ours, theirs = (shown(view.picture(run(scheme, *s))) for s in ((), (length, mass)))
        assert [trace[:2] for trace in ours] == [trace[:2] for trace in theirs]
        for (*which, x, y), (*_, u, w) in zip(ours, theirs, strict=True):
            if (which[0] or "").startswith("numerical") and scheme == "EventDriven":
                continue  # round-off
            if x.dtype.kind != "f":
                np.testing.assert_array_equal(x, u)
                continue
            if "lines" in which[1]:
                assert np.isnan(y).sum() == np.isnan(w).sum(), (name, which)
            far = apart((200 * x, 120 * y), (200 * u, 120 * w), (200, 120))
            assert far <= 1.0, (name, which, far)


def test_what_a_contact_does_is_told_by_its_impulses():
    """Of a wall without friction and a belt with it, whichever scheme."""
    for scheme in ("MoreauJean", "EventDriven"):
        solution = run(scheme)
        belt, wall = doing(solution).T
        closed = solution.active > 0 if scheme == "EventDriven" else solution.p > 0
        np.testing.assert_array_equal(wall, np.where(closed[:, 1], 3, 0))
        np.testing.assert_array_equal(belt != 0, closed[:, 0])
        assert {-1, 1, 2} >= set(belt[belt != 0]) >= {-1, 2}
        slides = (np.abs(belt) == 1) & (np.abs(solution.slip[:, 0]) > 1e-6)
        assert (np.sign(solution.slip[slides, 0]) == belt[slides]).all()


def test_the_range_of_a_slip_holds_zero():
    """Of a block that slides one way only, slow or fast."""
    for speed in (0.5, -0.5, 20.0, -20.0):
        sled = ex.MechanicalSystem(
            "sled", q="x y", force=[0, -9.81], start={"v": [speed, 0], "t_end": 0.02},
            contacts=[ex.Contact("y", mu=0.3, slip="v_x", name="ice")],
        )  # fmt: skip
        layout = views["friction"].picture(ex.simulate(sled, ex.MoreauJean(h=1e-3))).layout
        found = [a for k, a in layout.items() if k[1:5] == "axis" and "slip" in str(a.get("title"))]
        assert found
        for axis in found:
            low, high = axis["range"]
            assert low <= 0 <= high
            assert high - low <= 2 * abs(speed)


def test_every_kind_of_curve_of_friction_is_named_once():
    for scheme in ("MoreauJean", "EventDriven"):
        picture = views["friction"].picture(run(scheme))
        named = [trace["name"] for trace in picture.data if trace.get("showlegend")]
        assert named == ["± μ λ", "sticks"]
