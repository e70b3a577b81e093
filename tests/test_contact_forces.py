"""Contact forces: means of steps in N beside impulses in N s, and no line through a jump."""

import numpy as np
import pytest

import explorer as ex
from explorer.views.contact_forces import contact_forces_plot

G = 9.81


def lines(run, name: str) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the connected parts of the force of a contact, as they are drawn."""
    (trace,) = (
        t for t in ex.views.contact_forces.picture(run).data
        if t["yaxis"] == "y" and t["name"] == name
    )  # fmt: skip
    x, y = (np.asarray(trace[k], float) for k in "xy")
    parts = np.split(np.arange(len(y)), np.flatnonzero(np.isnan(y)))
    parts = [part[~np.isnan(y[part])] for part in parts]
    return [(x[part], y[part]) for part in parts if len(part)]


def area(x: np.ndarray, y: np.ndarray) -> float:
    return float(np.trapezoid(y, x))


@pytest.mark.parametrize(
    "scheme", ["MoreauJean", "NonsmoothGeneralizedAlpha", "CentralDifference", "SchatzmanPaoli"]
)
def test_the_area_under_the_steps_and_the_arrows_are_all_impulses(scheme):
    run = ex.simulate(ex.models.elastic_bar(), scheme)
    (force,) = contact_forces_plot(run).traces
    parts = np.split(np.arange(len(force["x"])), force["breaks"])
    lasting = sum(area(force["x"][k], force["y"][k]) for k in parts)
    arrows = next(
        t for t in ex.views.contact_forces.picture(run).data if t["mode"] == "markers"
    )  # fmt: skip
    assert arrows["marker"]["symbol"] == "triangle-up"
    assert len(arrows["y"]) == 1
    assert lasting + arrows["y"].sum() == pytest.approx(run.p.sum(), rel=1e-6)
    drawn = sum(area(*part) for part in lines(run, "wall"))
    assert drawn == pytest.approx(lasting, rel=5e-3)


def test_a_step_has_the_mean_force_from_its_begin_to_its_end():
    ball = ex.MechanicalSystem("ball", q="y", mass=[[2]], force=["-2*9.81*(1 + t)"],
                               contacts=[ex.Contact("y", 0)], start={"q": [0.0], "t_end": 1.0})  # fmt: skip
    run = ex.simulate(ball, ex.MoreauJean(h=0.25))
    (force,) = contact_forces_plot(run).traces
    assert force["x"].tolist() == [0, 0.25, 0.25, 0.5, 0.5, 0.75, 0.75, 1]
    means = 2 * G * (1 + np.array([0.125, 0.375, 0.625, 0.875]))
    assert force["y"] == pytest.approx(np.repeat(means, 2), rel=1e-9)


@pytest.mark.parametrize("scheme", [ex.MoreauJean, ex.CentralDifference])
def test_an_impact_looks_like_no_force_at_any_step_size(scheme):
    """The force of the ball is 0 in flight and m g at rest; p / h of an impact grows with 1 / h."""
    tops, peaks = [], []
    for h in (4e-3, 1e-3):
        run = ex.simulate(ex.models.bouncing_ball(), scheme(h=h))
        flight, *_, rest = lines(run, "floor")
        assert (flight[1] == 0).all()
        assert rest[1][-1] == pytest.approx(G, rel=1e-6)
        tops.append(max(y.max() for _, y in lines(run, "floor")))
        peaks.append(run.p.max() / h)
    assert max(tops) < 3 * G  # the last impacts of the accumulation are within a step
    assert peaks[1] > 3.5 * peaks[0] > 100 * G


@pytest.mark.parametrize("model", ["bouncing_ball", "elastic_bar", "vibrating_table"])
@pytest.mark.parametrize("scheme", ["MoreauJean", "CentralDifference"])
def test_no_line_joins_an_open_contact_to_a_closed_one(model, scheme):
    run = ex.simulate(getattr(ex.models, model)(), scheme)
    parts = lines(run, run.system.contacts[0].name)
    assert len(parts) > 1 or not run.lam.any()
    for _, y in parts:
        assert (y > 0).all() or (y == 0).all()


def test_no_line_runs_through_the_jump_of_a_located_force():
    """Where impacts have accumulated the force of the ball jumps from 0 to m g."""
    run = ex.simulate(ex.models.bouncing_ball(), ex.EventDriven())
    parts = lines(run, "floor")
    assert all((y > 0).all() or (y == 0).all() for _, y in parts)
    t, rest = parts[-1]
    assert rest == pytest.approx(np.full(len(rest), G), rel=1e-6)
    assert t[0] == pytest.approx(run.events[-1].t, abs=1e-3)


def test_of_many_contacts_their_sum_is_drawn():
    cradle = ex.models.newtons_cradle(9)
    run = ex.simulate(cradle, ex.CentralDifference())
    (force,) = contact_forces_plot(run).traces
    assert force["name"] == "sum of all 8 contacts"
    few = contact_forces_plot(ex.simulate(ex.models.newtons_cradle(4))).traces
    assert [trace["name"] for trace in few] == ["1-2", "2-3", "3-4"]


def test_forces_and_impulses_have_their_own_axes():
    layout = ex.views.contact_forces(ex.simulate(ex.models.bouncing_ball())).layout
    assert layout.yaxis.title.text == "force λ (N)"
    assert layout.yaxis2.title.text == "impulse (N s)"
    assert layout.xaxis.matches == "x2" or layout.xaxis2.matches == "x"
