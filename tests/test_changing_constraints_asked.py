"""`limit_cycle`, `fit` and `minimize` through changes of constraints: closed forms and truths."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each
from test_changing_constraints import TIGHT, point

import explorer as ex
from explorer.models import models
from explorer.models.pendulum_on_peg import exact, period
from explorer.systems import Constraint

PEG = models["pendulum_on_peg"]()
ENERGY = "m*(v_x**2 + v_y**2)/2 + m*g*y"


def rho(**changed: float) -> dict[str, float]:
    return {k: p.value for k, p in PEG.parameters.items()} | changed


@for_each(("section", "way"), [("rope", -1), ("rope on the peg", 1)])
def test_a_pendulum_on_a_peg_is_periodic(section, way):
    """From where the rope is caught, or comes free: the period of the elliptic integrals."""
    fast = np.sqrt(2 * 9.81 * (1 - np.cos(0.8)))
    cycle = ex.study.limit_cycle(
        PEG, TIGHT, section=section, guess=[0, -1, way * fast, 0], keep=ENERGY
    )
    assert cycle.period == pytest.approx(period(rho()), abs=1e-9)
    assert cycle.x == pytest.approx([0, -1, way * fast, 0], abs=1e-9)
    assert cycle.trajectory.events[-1].contact == section
    with pytest.raises(ex.BadValue, match=r"has no event 'ropes'\. Did you mean 'rope'"):
        ex.study.limit_cycle(PEG, TIGHT, section="ropes")


def test_a_driven_pendulum_on_a_peg_has_the_cycle_of_its_angle():
    """Negative damping near the middle drives it; the angle has a reset where the rope is caught."""

    def drive(length: str) -> str:
        return f"-9.81/({length})*sin(a) + b*w*(1 - 4*(({length})*sin(a))**2)"

    params = {"b": 0.6, "d": 0.4}
    angle = ex.HybridSystem(
        "angle", x="a w", params=params,
        modes={"left": ["w", drive("1")], "right": ["w", drive("1 - d")]},
        guards=[{"mode": "left", "r": "-a", "to": "right", "reset": ["a", "w/(1 - d)"],
                 "name": "in"},
                {"mode": "right", "r": "a", "to": "left", "reset": ["a", "w*(1 - d)"],
                 "name": "out"}],
        start={"x": [-0.5, 0], "t_end": 6.0},
    )  # fmt: skip
    places = ex.MechanicalSystem(
        "places", q="x y", params=params,
        force=["b*v_x*(1 - 4*x**2)", "-9.81 + b*v_y*(1 - 4*x**2)"],
        constraints=[Constraint("sqrt(x**2 + y**2) - 1", "rope", when="-x"),
                     Constraint("sqrt(x**2 + (y + d)**2) - (1 - d)", "peg", when="x")],
        start={"q": ["-sin(0.5)", "-cos(0.5)"], "t_end": 6.0},
    )  # fmt: skip
    wanted = ex.study.limit_cycle(angle, TIGHT, section="in", guess=[0, 3.0])
    cycle = ex.study.limit_cycle(places, TIGHT, section="peg", guess=[0, -1, 1.9, 0])
    assert cycle.period == pytest.approx(wanted.period, abs=1e-9)
    assert cycle.x == pytest.approx([0, -1, 0.6 * wanted.x[1], 0], abs=1e-9)
    assert cycle.multipliers[0] == pytest.approx(wanted.multipliers[0], abs=1e-8)
    assert np.abs(cycle.multipliers[1:]).max() < 1e-12
    assert cycle.trust.ok


def test_the_place_of_a_peg_is_fitted():
    """From places and from places alone in y, without noise, by the closed form."""
    t, truth = np.linspace(0.2, 6, 25), {"d": 0.3, "L": 1.1}
    data = exact(t, rho(**truth))["q"]
    found = ex.fit(PEG, t, data, ["x", "y"], ["d", "L"], scheme=TIGHT)
    assert found.parameters == pytest.approx(truth, abs=1e-9)
    high = ex.fit(PEG, t, data[:, 1], "y", ["d"], scheme=TIGHT, L=1.1)
    assert high.parameters == pytest.approx({"d": 0.3}, abs=1e-9)


def test_a_peg_is_placed_for_a_meeting():
    """The mass comes to where the closed form has it at 2.3 s with a peg at the depth of 0.3 m."""
    x, y = exact([2.3], rho(d=0.3))["q"][0]
    cost = {"w": f"(x - {float(x)!r})**2 + (y - {float(y)!r})**2"}
    found = ex.minimize(PEG, cost, ["d"], scheme=TIGHT, t_end=2.3)
    assert found.parameters["d"] == pytest.approx(0.3, abs=1e-6)


def test_what_a_capture_and_a_strength_were_is_fitted():
    """A rod that captures a mass plastically, and one that breaks."""
    t = np.linspace(0.05, 1.45, 12)
    capture = point(
        Constraint("sqrt(x**2 + y**2) - L", "rod", when="x**2 + y**2 - L**2"),
        params={"L": 1.0, "b": 0.6, "u": 2.0}, force=(0, 0), q=[0.0, "b"], v=["u", 0.0],
        t_end=1.5,
    )  # fmt: skip
    L, b, u = 1.15, 0.6, 2.2
    hit = np.sqrt(L**2 - b**2) / u
    angle = np.arcsin(b / L) - u * b / L**2 * (t - hit)
    data = np.where(t < hit, [u * t, b + 0 * t], [L * np.cos(angle), L * np.sin(angle)]).T
    found = ex.fit(capture, t, data, ["x", "y"], ["L", "u"], scheme=TIGHT)
    assert found.parameters == pytest.approx({"L": L, "u": u}, abs=1e-8)
    fuse = point(
        Constraint("sqrt(x**2 + y**2) - L", "rod", when="F - lam_rod"),
        params={"L": 1.0, "F": 45.0}, q=["L", 0], t_end=0.8,
    )  # fmt: skip
    times = np.linspace(0.1, 0.8, 9)
    run = ex.simulate(fuse, TIGHT, t_eval=times, F=48.0)
    seen = run.q[np.searchsorted(run.t, times)]
    found = ex.fit(fuse, times, seen, ["x", "y"], ["F"], {"F": (35, 55)}, scheme=TIGHT)
    assert found.parameters["F"] == pytest.approx(48, abs=1e-6)


@for_each("until", ["rope", "rope on the peg"])
def test_a_derivative_may_end_where_a_constraint_begins_to_hold(until):
    """The first catch is after half of half a swing; T moves as that does, by a difference."""
    start = {"d": 0.35, "L": 1.2}
    sens = ex.sensitivity(PEG, TIGHT, ["L", "d"], {"w": "t"}, until=until, **start)

    def when(**changed: float) -> float:
        return ex.sensitivity(
            PEG, TIGHT, ["L"], {"w": "t"}, until=until, **start | changed
        ).cost  # fmt: skip

    by_L = (when(L=1.2 + 1e-5) - when(L=1.2 - 1e-5)) / 2e-5
    by_d = (when(d=0.35 + 1e-5) - when(d=0.35 - 1e-5)) / 2e-5
    assert sens.cost_gradient == pytest.approx([by_L, by_d], abs=1e-7)


def test_a_contact_that_closes_at_the_same_instant_is_first():
    """`when` has the zero of the gap: whatever its formula, and however it rounds."""
    found = set()
    for when in ("-y", "1 - exp(y)", "-sin(y)", "-y*(1 + y**2)", "1 - (1 + y)**2"):
        for height in (1.0, 0.7, 0.517):
            system = ex.MechanicalSystem(
                "both", q="x y", mass=[[1, 0], [0, 1]], force=[0, -9.81],
                constraints=[Constraint("x", "track", when=when)],
                contacts=[ex.Contact("y", e=0.5, name="floor")],
            )  # fmt: skip
            system.start(q=[0, height], t_end=1.05 * np.sqrt(2 * height / 9.81))
            run = ex.simulate(system, ex.EventDriven())
            found.add(tuple((e.kind, e.contact) for e in run.events))
    assert found == {(("impact", "floor"),)}
