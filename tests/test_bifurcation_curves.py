"""Curves of bifurcations over two parameters as a picture: the closed form, both axes, refusals."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import explorer as ex
from explorer.views.drawing.still import still


@pytest.fixture(scope="module")
def flips():
    """Return the flips of x -> r x (1 - x) + a: r (1 - 2 x) = -1 at x = (1 + 1 / r) / 2."""
    logistic = ex.HybridSystem(
        "logistic", x="x tau", params={"r": ex.Param(2.5, 1, 4), "a": ex.Param(0.0, -0.5, 0.5)},
        modes={"on": ["0", "1"]}, start={"x": [0.6, 0], "t_end": 5},
        guards=[{"mode": "on", "r": "tau - 1", "direction": 1, "to": "on", "name": "tick",
                 "reset": ["r*x*(1 - x) + a", "0"]}],
    )  # fmt: skip
    branch = ex.study.continuation(logistic, parameter="r", section="tick", over=(2, 3.9))
    return ex.study.bifurcation_curve(branch, "a", (-0.1, 0.1), step=0.1)


def test_the_curve_is_the_closed_form_and_a_mark_tells_its_branch(flips):
    picture = ex.views.bifurcation_curves.picture(flips)
    (line,) = [t for t in picture.data if t.get("showlegend")]
    r, a = np.asarray(line["x"], float), np.asarray(line["y"], float)
    x = (1 + 1 / r) / 2
    assert line["name"] == "flip"
    assert line["line"]["dash"] == "dash"
    assert a == pytest.approx(x - r * x * (1 - x), abs=1e-6)
    (mark,) = [t for t in picture.data if t["name"] == "flip of the branch"]
    assert (float(mark["x"][0]), float(mark["y"][0])) == (
        pytest.approx(3, abs=1e-6),
        pytest.approx(0, abs=1e-9),
    )
    assert "<svg" in still(picture.figure())


def test_a_curve_with_its_parameters_exchanged_has_the_same_axes(flips):
    turned = dataclasses.replace(flips, parameters=("a", "r"), values=flips.values[:, ::-1])
    one, other = (
        t for t in ex.views.bifurcation_curves.picture(flips, turned).data if t["name"] == "flip"
    )
    assert np.array_equal(one["x"], other["x"])
    assert np.array_equal(one["y"], other["y"])


def test_what_does_not_go_together_is_refused(flips):
    with pytest.raises(ex.BadValue, match=r"study\.bifurcation_curve"):
        ex.views.bifurcation_curves()
    with pytest.raises(ex.BadValue, match="r and a; r and b"):
        ex.views.bifurcation_curves(flips, dataclasses.replace(flips, parameters=("r", "b")))
    elsewhere = dataclasses.replace(flips.branch, system=ex.models.duffing())
    with pytest.raises(ex.BadValue, match="several systems"):
        ex.views.bifurcation_curves(flips, dataclasses.replace(flips, branch=elsewhere))
