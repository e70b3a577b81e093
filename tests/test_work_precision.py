"""Error against work, and the picture of period elongation."""

from __future__ import annotations

import numpy as np
import pytest

import explorer as ex
from explorer import EventDriven, GeneralizedAlpha, MoreauJean, Newmark
from explorer.models import models
from explorer.study import work_precision
from explorer.views.drawing.picture import INK

STEPS = (0.02, 0.01, 0.005, 0.0025)


def test_the_measured_orders_are_those_of_the_schemes():
    """On the pendulum: 2, and 4 of Fox and Goodwin's, 1 with gamma > 1/2, 8 of Dormand and Prince's."""
    found = work_precision(
        models["pendulum"](),
        {
            "central difference": Newmark.named("central difference"),
            "Fox-Goodwin": Newmark.named("Fox-Goodwin"),
            "damped": Newmark(beta=0.3025, gamma=0.6), "average": Newmark,
            "dop853": EventDriven(),
        },
        h=STEPS, t_end=3, theta0=1.0, repeats=1,
    )  # fmt: skip
    orders = {c.name: c.order for c in found.curves}
    assert orders.pop("dop853") > 7
    assert orders == {
        "central difference": pytest.approx(2, abs=0.05), "Fox-Goodwin": pytest.approx(4, abs=0.1),
        "damped": pytest.approx(1, abs=0.15), "average": pytest.approx(2, abs=0.05),
    }  # fmt: skip
    first = found.curves[0]
    assert first.steps.tolist() == [150, 300, 600, 1200]
    assert [s.h for s in first.schemes] == list(STEPS)
    assert (first.seconds > 0).all()
    assert found.refused == ()


def test_the_error_is_that_against_the_closed_form():
    """Whatever it is measured against; relative to the range of each coordinate."""
    pendulum, rho = models["pendulum"](), {"theta0": 0.5}
    runs = [
        work_precision(pendulum, [Newmark()], h=STEPS, t_end=3, rho=rho, repeats=1, reference=how)
        for how in (None, "exact", Newmark(h=5e-4, beta=1 / 12))
    ]
    exact = pendulum.exact
    for run in runs:
        assert run.curves[0].error == pytest.approx(runs[1].curves[0].error, rel=1e-3)
    sol = ex.simulate(pendulum, Newmark(h=STEPS[0]), t_end=3, rho=rho)
    q = exact(sol.t, sol.rho)["q"]
    assert runs[1].curves[0].error[0] == pytest.approx(
        np.abs(sol.q - q).max() / np.ptp(q), rel=1e-6
    )
    assert [run.reference for run in runs] == [
        "EventDriven(rtol=1e-12, atol=1e-13, max_steps=1000000)", "its closed form",
        f"Newmark(h=0.0005, beta={1 / 12!r})",
    ]  # fmt: skip


def test_impacts_cost_an_order_unless_they_are_located():
    system = models["impact_oscillator"]()
    schemes = [EventDriven(method=Newmark(h=0.1)), MoreauJean()]
    found = work_precision(system, schemes, h=[2e-2 / 2**k for k in range(5)], t_end=6, repeats=1)
    located, stepped = found.curves
    assert (located.name, stepped.name) == ("EventDriven(Newmark)", "MoreauJean")
    assert located.order == pytest.approx(2, abs=0.1)
    assert 0.5 < stepped.order < 1.5
    assert (located.error < stepped.error / 10).all()
    text = found._repr_markdown_()
    assert "impact oscillator" in text
    assert "| EventDriven(Newmark) | 2.0" in text
    rows = [line.split("|")[3].strip() for line in text.splitlines()[4:]]
    assert rows == [str(c.steps[k]) for c in found.curves for k in (0, 4)]


def test_runs_that_are_refused_are_left_out_and_said():
    """Central difference on the building: its limit is named, and the other runs stay."""
    building = models["shear_building"]()
    found = work_precision(building, [Newmark.named("central difference")],
                           h=(0.1, 0.02, 0.01, 0.005), t_end=2, repeats=1)  # fmt: skip
    assert found.curves[0].steps.tolist() == [100, 200, 400]
    assert len(found.refused) == 1
    assert "stability limit" in found.refused[0]
    with pytest.raises(ex.BadValue, match=r"Every run of .* failed(.|\n)*stability limit"):
        work_precision(building, [Newmark.named("central difference")], h=[0.2, 0.1], t_end=2)


def test_all_schemes_of_a_model_by_themselves():
    found = work_precision(models["duffing"](), h=(0.02, 0.01), t_end=1, repeats=1)
    assert {c.name for c in found.curves} == {
        type(s).__name__ for s in ex.schemes_for(models["duffing"]())
    }


def test_steps_are_halved_from_eight_of_the_model_on():
    duffing = models["duffing"]()
    (curve,) = work_precision(duffing, Newmark, t_end=8 * duffing.h, repeats=1).curves
    assert [s.h / duffing.h for s in curve.schemes] == [8, 4, 2, 1, 0.5, 0.25, 0.125]
    assert curve.steps.tolist() == [1, 2, 4, 8, 16, 32, 64]


@pytest.mark.parametrize(
    ("system", "arguments", "said"),
    [
        ("thermostat", {}, "accepts mechanical systems"),
        ("bilinear_oscillator", {}, "no closed form"),
        ("pendulum", {"reference": "exact", "c": 0.1}, "no closed form"),
        ("pendulum", {"h": [-1]}, "greater than zero"),
        ("pendulum", {"schemes": "Wilson"}, "Wilson"),
        ("pendulum", {"reference": "Wilson"}, "Wilson"),
        ("pendulum", {"reference": lambda t: t}, "must return q"),
        ("pendulum", {"repeats": "many"}, "repeats"),
        ("pendulum", {"lenght": 1}, "lenght"),
    ],
)
def test_a_question_without_an_answer(system, arguments, said):
    with pytest.raises(ex.ExplorerError, match=said):
        work_precision(models[system](), **arguments)
    with pytest.raises(ex.BadValue, match="There is no model 'ball'"):
        work_precision("ball")


def test_a_spring_that_yields_is_compared_with_a_finer_run():
    found = work_precision(models["bilinear_oscillator"](), [Newmark, GeneralizedAlpha],
                           reference=Newmark(h=2e-4), h=STEPS, t_end=4, repeats=1)  # fmt: skip
    assert all((np.diff(c.error) < 0).all() for c in found.curves)


def test_the_diagram_is_logarithmic_with_the_orders_in_its_legend():
    found = work_precision(models["pendulum"](), [Newmark, GeneralizedAlpha(rho_inf=0.5)], h=STEPS,
                           t_end=3, repeats=1)  # fmt: skip
    figure = ex.views.work_precision(found)
    for axis in ("xaxis", "yaxis", "xaxis2", "yaxis2"):
        assert figure.layout[axis].type == "log"
    assert figure.layout.xaxis.title.text == "steps"
    assert figure.layout.xaxis2.title.text == "time of the run (ms)"
    drawn = [t for t in figure.data if t.mode == "lines+markers"]
    assert [t.showlegend for t in drawn] == [True, True, False, False]
    for t, c in zip(drawn[:2], found.curves, strict=True):
        assert t.name == f"{c.name}: order {c.order:.2g}"
        np.testing.assert_allclose(t.y, c.error, rtol=1e-6)
        np.testing.assert_allclose(t.x, c.steps)
    low, high = figure.layout.yaxis.range
    assert (
        low < np.log10(found.curves[0].error.min()) < np.log10(found.curves[1].error.max()) < high
    )
    (guide,) = (t for t in figure.data if t.name == "order 2")
    assert np.diff(np.log10(guide.y))[0] / np.diff(np.log10(guide.x))[0] == pytest.approx(
        -2, rel=1e-5
    )
    with pytest.raises(ex.BadValue, match="draws what study"):
        ex.views.work_precision(models["pendulum"]())


def test_period_elongation_in_percent_and_its_leading_terms():
    figure = ex.views.period_elongation("average acceleration", GeneralizedAlpha(rho_inf=0.5))
    assert figure.layout.yaxis.title.text == "period elongation ΔT / T (%)"
    assert figure.layout.yaxis2.title.text == "numerical damping ratio (%)"
    assert figure.layout.xaxis.title.text == "step ωh (rad)"
    study = ex.study.stability("average acceleration", omega_h=figure.data[0].x)
    np.testing.assert_allclose(figure.data[0].y, 100 * study.period_error, rtol=1e-5)
    leading = next(t for t in figure.data if t.name == "average acceleration, small steps")
    np.testing.assert_allclose(leading.y, 100 / 12 * np.square(leading.x), rtol=1e-5)
    for small in (t for t in figure.data if t.name.endswith(", small steps")):
        (own,) = (t for t in figure.data if (t.name, t.yaxis) == (small.name[:-13], small.yaxis))
        np.testing.assert_allclose(small.y[:9], own.y[:9], rtol=0.02, atol=1e-9)
    one = ex.views.period_elongation(ex.study.stability("central difference"), to=3, leading=False)
    assert len(one.data) == 2
    assert np.isnan(one.data[0].y[one.data[0].x > 2.01]).all(), "above the limit it only grows"
    many = ex.views.period_elongation(*(GeneralizedAlpha(rho_inf=r / 10) for r in range(11)))
    assert many.layout.margin.t > one.layout.margin.t, "a legend of several rows is not cut off"
    with pytest.raises(ex.BadValue, match="needs schemes"):
        ex.views.period_elongation()
    with pytest.raises(ex.ExplorerError, match="Newmark family"):
        ex.views.period_elongation(MoreauJean())


@pytest.mark.parametrize("count", [1, 3])
def test_smoothing_looks_the_same_in_all_diagrams(count):
    schemes = [ex.FESD(stages=s) for s in range(1, count + 1)]
    found = ex.study.order_diagram(models["switched_oscillator"](), schemes, width=0.1, t_end=2)
    traces = ex.views.work_precision.picture(found, over="h").data
    shown = [t["line"]["color"] for t in traces if t["name"].startswith("smoothing")]
    assert shown
    assert set(shown) == {INK}
