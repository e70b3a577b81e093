"""Order diagrams part by part: their reference, their schemes, steps and curves."""

from __future__ import annotations

import importlib
import inspect
import itertools
import warnings

import numpy as np
import pytest
from loops import for_each
from plain import put, space

import explorer as ex
from explorer.errors import BadValue, LessonWarning
from explorer.schemes.event_driven import EventDriven
from explorer.schemes.fesd import FESD
from explorer.schemes.theta_rk import ThetaRK
from explorer.study import WorkCurve

module = importlib.import_module("explorer.study.order_diagram")  # the package holds the function


def test_schemes_have_all_stages_that_their_tableaus_have():
    assert [*module.staged("FESD")] == [
        "FESD, 1 stage", "FESD, 2 stages", "FESD, 3 stages", "FESD, 4 stages",
    ]  # fmt: skip
    found = module.staged("ThetaRK")
    assert [one.stages for one in found.values()] == [int(name.split()[1]) for name in found]
    assert all(isinstance(one, ThetaRK) for one in found.values())
    assert {one.h for one in module.staged("FESD", h=0.25).values()} == {0.25}


@for_each(("scheme", "told"), [
    (ex.MoreauJean(theta=0.75), [(0.5, {"h": 0.5, "theta": 0.75}), (0.25, {"h": 0.25, "theta": 0.75})]), (FESD(elements=3), [(0.5, {"h": 1.5}), (0.25, {"h": 0.75})]),
    (EventDriven(), [(10.0**-k, {"rtol": 10.0**-k, "atol": 10.0**-k / 10}) for k in range(3, 11)]),
])  # fmt: skip
def test_steps_are_those_of_elements(scheme, told):
    found = module._varied(scheme, [0.5, 0.25])
    for (x, one), (own, knobs) in zip(found, told, strict=True):
        assert x == own
        assert {k: getattr(one, k) for k in knobs} == knobs


def test_an_end_is_the_state_at_the_last_time():
    """By the steps of a run without what its events remember, or by its last row."""
    rows = space(q=np.array([[1.0, 2.0], [3.0, 4.0]]), has=lambda what: False)
    assert module._end(rows).tolist() == [3.0, 4.0]

    def sample(t, exact):
        assert exact is False
        return np.array([[t[0], 2 * t[0], 77.0]]), None

    run = space(
        march=space(sample=sample),
        status=space(t=2.5),
        system=space(n=2),
        has=lambda what: what == "march",
    )
    assert module._end(run).tolist() == [2.5, 5.0]


def system_of(exact=None):
    return space(name="m", n=2, parameters={"a": 0, "b": 0}, exact=exact,
                 rho=lambda given: [given.get("a", 1.0), 2.0])  # fmt: skip


@for_each(("reference", "closed", "fits", "told"), [
    (None, True, True, "its closed form"), ("exact", True, True, "its closed form"), (None, False, True, "run"), (None, None, True, "run"), ("exact", False, True, "There is no closed form"),
    ("exact", None, True, "There is no closed form"), (None, None, False, r"so a reference is missing: .* SomeScheme\(h=0\.01\)"), ("Scheme", True, True, "run"), (EventDriven, True, True, "run"),
    ([5.0, 6.0], True, True, "a given state"), ([5.0, 6.0, 7.0], True, True, "needs 2 finite numbers"), ([5.0, np.nan], True, True, "needs 2 finite numbers"),
])  # fmt: skip
def test_a_reference_is_a_closed_form_a_run_or_a_state(monkeypatch, reference, closed, fits, told):
    asked = []

    def exact(t, rho):
        asked.append((t.tolist(), rho))
        return {"x": np.array([[3.0, 4.0 if closed else np.nan]])}

    def simulate(system, scheme, **given):
        asked.append(scheme)
        assert given == {"t_end": 3.0, "rho": {"a": 7.0}}
        return space(status=space(ok=True), scheme="as it was run")

    class SomeScheme:
        """Accept the system."""

    put(monkeypatch, module.truth, simulate=simulate, _end=lambda run: "end",
        schemes_for=lambda system: [SomeScheme()])  # fmt: skip
    monkeypatch.setattr(FESD, "fits", lambda system: fits)
    system = system_of(None if closed is None else exact)
    given = (system, reference, {"t_end": 3.0, "rho": {"a": 7.0}}, 1.0)
    if told not in ("run", "its closed form", "a given state"):
        with pytest.raises(BadValue, match=told):
            module.truth(*given)
        return
    found, words = module.truth(*given)
    if told == "run":
        assert (found, words) == ("end", "'as it was run'")
        scheme = asked[-1]
        if reference is None:
            assert (scheme.stages, scheme.h) == (4, 0.5)
        else:
            assert scheme == reference
        return
    assert words == told
    assert found.tolist() == ([3.0, 4.0] if told == "its closed form" else [5.0, 6.0])
    if told == "its closed form":
        assert asked == [([3.0], {"a": 7.0, "b": 2.0})]


def test_a_reference_that_fails_is_told(monkeypatch):
    put(monkeypatch, module.truth,
        simulate=lambda *_, **__: space(status=space(ok=False, message="it stops")))  # fmt: skip
    with pytest.raises(BadValue, match="The reference run failed: it stops"):
        module.truth(system_of(), "Scheme", {"t_end": 3.0, "rho": {}}, 1.0)


def diagram(monkeypatch, kept=(True,), **given):
    """Return a diagram of stand-ins, and what is asked for each curve."""
    asked, left = [], itertools.cycle(kept)

    def curve(name, scheme, system, steps, right, run, again, refused):
        warnings.warn("a lesson", LessonWarning, stacklevel=1)
        asked.append((name, scheme, system, steps, right, run, again))
        size = 2 * next(left)
        refused += [f"{name} fails"] * (not size)
        return WorkCurve(name, (scheme,) * size, np.array([10, 20])[:size],
                         np.array([1e-3, 2e-3])[:size], np.array([0.1, 0.05])[:size], None)  # fmt: skip

    study = inspect.unwrap(ex.study.order_diagram)
    put(monkeypatch, study, _curve=curve, choose=lambda system, one: one,
        truth=lambda system, reference, run, step: (step, "from there"),
        _smoothed=lambda system: "smoothed", schemes_for=lambda system: ["x"])  # fmt: skip
    system = ex.FirstOrderSystem("one", "x", f=["-x"], start={"x": [1], "t_end": 4})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return study(system, **given), asked, system


def test_a_diagram_has_a_curve_for_each_scheme(monkeypatch):
    found, asked, system = diagram(monkeypatch, schemes={"one": "p", "two": "q"})
    steps = [system.t_end / (10 * 2**k) for k in range(8)]
    run = {"t_end": system.t_end, "rho": {}, "throw": False}
    assert [one[:2] for one in asked] == [("one", "p"), ("two", "q")]
    assert asked[0][2] is system
    assert asked[0][3] == pytest.approx(steps)
    assert asked[0][4:] == (asked[0][3][-1], run, 1)
    assert (found.t_end, found.reference, found.refused) == (system.t_end, "from there", ())
    found, asked, _ = diagram(
        monkeypatch, kept=(False, True), schemes=["p", "q"], h=[0.25, 0.5], t_end=3, repeats=2,
        width=0.0625, rho={"a": 1.0}, b=2.0,
    )  # fmt: skip
    run = {"t_end": 3, "rho": {"a": 1.0, "b": 2.0}, "throw": False}
    layered = run | {"rho": {"a": 1.0, "b": 2.0, "width": 0.0625}}
    assert [(one[0], one[3], one[4], one[5], one[6]) for one in asked] == [
        ("'p'", [0.5, 0.25], 0.25, run, 2),
        ("'q'", [0.5, 0.25], 0.25, run, 2),
        ("smoothing, width 0.0625", [0.5, 0.25], 0.25, layered, 2),
    ]
    assert asked[2][1:3] == (module._SMOOTHED, "smoothed")
    assert ([c.name for c in found.curves], len(found.refused)) == (["'q'"], 2)


def test_without_schemes_all_stages_of_those_that_fit_are_compared(monkeypatch):
    fesd, theta = [*module.staged("FESD")], [*module.staged("ThetaRK")]
    for fits, told in (
        ((True, True), [*fesd, *theta]),
        ((False, True), theta),
        ((False, False), ["'x'"]),
    ):
        monkeypatch.setattr(FESD, "fits", lambda system, fits=fits: fits[0])
        monkeypatch.setattr(ThetaRK, "fits", lambda system, fits=fits: fits[1])
        _, asked, _ = diagram(monkeypatch, repeats=1)
        assert [one[0] for one in asked] == told
        assert asked[0][6] == 1
    with pytest.raises(BadValue, match=r"Every run of .* failed\. 'p' fails"):
        diagram(monkeypatch, kept=(False,), schemes="p")


@for_each(("given", "told"), [({"h": [0.0]}, "h"), ({"t_end": 0.0}, "t_end"), ({"width": -1.0}, "width")])  # fmt: skip
def test_numbers_of_a_diagram_are_positive(monkeypatch, given, told):
    with pytest.raises(BadValue, match=told):
        diagram(monkeypatch, schemes="p", **given)
    with pytest.raises(BadValue, match="accepts systems x' = "):
        ex.study.order_diagram(ex.models.bouncing_ball())


def test_a_smoothed_system_is_made_once(monkeypatch):
    made = []
    put(monkeypatch, module._smoothed, smoothing=lambda system: made.append(system) or "smooth")
    system = space(made={})
    assert [module._smoothed(system), module._smoothed(system)] == ["smooth", "smooth"]
    assert made == [system]
