"""Exponents and derivatives of maps as they are asked for, and which of them are refused."""

from __future__ import annotations

import importlib
import inspect
import warnings

import numpy as np
import pytest
from loops import for_each
from plain import put, space

import explorer as ex
from explorer.errors import BadValue, ModelWarning
from explorer.schemes.iteration import Iteration
from explorer.study import map_spectrum as spectra

COVERS = ("study/lyapunov.py", "study/orbit_derivatives.py")  # see mutant_rooms.py
derived = importlib.import_module("explorer.study.orbit_derivatives")


def asked_of(monkeypatch, landed=None, **given):
    """Return exponents of a map of two states whose batches are given, and what is asked."""
    told = {}
    rng = np.random.default_rng(0)
    means = rng.normal(size=(64, 2)) + np.array([1.0, 4.0])
    sizes = np.r_[np.full(32, 2), np.full(32, 3)]

    def averaged(*given):
        told["averaged"] = given[1:]
        return means, np.array([7.0, 8.0]), sizes

    put(monkeypatch, spectra.map_spectrum, _averaged=averaged, compile_map=lambda system: "compiled",
        numbers_of=lambda system, scheme, given: [*given.values()], sentence=lambda names, x: "lands.",
        landed=lambda compiled, x, values: landed)  # fmt: skip
    monkeypatch.setattr(Iteration, "begin", lambda self, compiled, values, start: np.array([5.0, 6.0]) if start is None else start)  # fmt: skip
    system = ex.MapSystem("m", x="x y", params={"a": 0.5})
    system.branch("on", ["a*x", "y"])
    asked = {"iterates": 160, "transient": 3, "x0": None, "given": {"a": 2.0}} | given
    return spectra.map_spectrum(system, None, **asked), told, means, sizes


def test_exponents_are_means_of_batches_in_falling_order(monkeypatch):
    """Weighted with their sizes; errors and batches go with them."""
    found, told, means, sizes = asked_of(monkeypatch)
    bound, values, begin, count, transient = told["averaged"]
    assert (values, begin.tolist(), count, transient) == ([2.0], [5.0, 6.0], 160, 3)
    assert bound == Iteration().bound
    wanted = (means * sizes[:, None]).sum(axis=0) / sizes.sum()
    assert found.exponents == pytest.approx(wanted[::-1])
    assert found.errors == pytest.approx(spectra.batch_errors(means)[::-1])
    np.testing.assert_array_equal(found.batches, means[:, ::-1])
    assert (found.x.tolist(), found.iterates, found.transient) == ([7.0, 8.0], 160, 3)
    assert asked_of(monkeypatch, x0=[1.0, 2.0])[1]["averaged"][2].tolist() == [1.0, 2.0]
    assert "(160 iterates)" in repr(found)


@for_each(("given", "told"), [({"iterates": 63}, "iterates = 63"), ({"transient": -1}, "transient = -1"), ({"x0": [1.0]}, "x0 needs 2 numbers, but 1 given"), ({"x0": [1.0, 2.0, 3.0]}, "but 3 given")])  # fmt: skip
def test_exponents_need_batches_and_a_start(monkeypatch, given, told):
    with pytest.raises(BadValue, match=told):
        asked_of(monkeypatch, **given)


@for_each(("landed", "warned"), [(None, False), ([[5.0, 0.0], [0.0, 6.0]], True), ([[9.0, 9.0], [5.0, 6.0]], False)])  # fmt: skip
def test_an_orbit_that_lands_on_a_cycle_is_warned_of(monkeypatch, landed, warned):
    """Unless it has begun on it."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        asked_of(monkeypatch, landed=None if landed is None else np.array(landed))
    assert [str(one.message) for one in seen if one.category is ModelWarning] == (
        ["The orbit of 'm' lands."] * warned
    )


def test_a_point_is_told_by_its_coordinates():
    compiled = space(system=space(coordinates=("x", "y")))
    assert spectra._point(compiled, np.array([1.0, 2.5])) == "x = 1, y = 2.5"


# ---------------------------------------------------------------- lyapunov


@for_each(
    ("discrete", "given", "told"),
    [
        (True, {}, (100_000, 1000, None)),
        (True, {"iterates": 70, "transient": 0, "x0": [0.5]}, (70, 0, [0.5])),
        (False, {}, {"period": None, "intervals": 400, "transient": 100, "x0": None}),
        (False, {"period": 2.0, "intervals": 80, "transient": 0, "x0": [0.5]}, {"period": 2.0, "intervals": 80, "transient": 0, "x0": [0.5]}),
        (True, {"period": 1.0}, "is a map: it has no period"), (True, {"intervals": 64}, "is a map: it has no period"),
        (False, {"iterates": 64}, "is no map"),
    ],
)  # fmt: skip
def test_exponents_are_those_of_a_map_or_of_a_flow(monkeypatch, discrete, given, told):
    asked = {}
    study = inspect.unwrap(ex.study.lyapunov)
    put(monkeypatch, study, map_spectrum=lambda *given: asked.update(map=given),
        flow_spectrum=lambda *given, **more: asked.update(flow=given, **more))  # fmt: skip
    system = ex.models.tent_map() if discrete else ex.models.bouncing_ball()
    if isinstance(told, str):
        with pytest.raises(BadValue, match=told):
            study(system, **given)
        return
    study(system, "scheme", rho={"a": 1}, b=2, **given)
    if discrete:
        assert asked["map"] == (system, "scheme", *told, {"a": 1, "b": 2})
    else:
        assert asked == {"flow": (system, "scheme"), "rho": {"a": 1, "b": 2}, **told}


# ---------------------------------------------------------------- derivatives


@for_each(
    ("wrt", "places"), [(None, [0, 1, 2]), ("b", [1]), (("c", "a"), [2, 0]), (["b", "b"], [1, 1])]
)
def test_derivatives_of_an_orbit_are_by_the_parameters_that_are_asked_for(monkeypatch, wrt, places):
    asked = {}
    x, S = np.arange(8.0).reshape(4, 2), np.arange(24.0).reshape(4, 2, 3)
    study = inspect.unwrap(ex.study.orbit_derivatives)

    def carried(compiled, chosen, values, count):
        asked["carried"] = values, count
        return x, S

    put(monkeypatch, study, compile_map=lambda system: "compiled", _carried=carried,
        numbers_of=lambda system, scheme, given: [given],
        _margin=lambda compiled, values, x: asked.update(margin=x.tolist()) or 0.5)  # fmt: skip
    system = ex.MapSystem("m", x="x y", params={"a": 0.5, "b": 1.0, "c": 2.0})
    system.branch("on", ["a*x + b", "c*y"])
    found = study(system, wrt=wrt, t_end=3, rho={"a": 1}, b=2)
    assert asked["carried"] == ([{"a": 1, "b": 2}], 3)
    assert asked["margin"] == x[:3].tolist()
    np.testing.assert_array_equal(found.S, S[:, :, places])
    assert found.wrt == tuple("abc"[k] for k in places)
    assert repr(found).endswith(f"by {', '.join(found.wrt)}: 3 iterates, margin 0.5")
    with pytest.raises(BadValue, match="no parameter 'd'"):
        study(system, wrt=("a", "d"))
    with pytest.raises(BadValue, match="takes maps"):
        study(ex.models.bouncing_ball())


@for_each(("done", "told"), [(3, None), (2, "escapes at iterate 3: give t_end = 2 or less"), (0, "at iterate 1")])  # fmt: skip
def test_an_orbit_is_carried_with_its_derivatives(monkeypatch, done, told):
    asked = {}

    def derivatives(address, data, inp, out, x, S, bound):
        asked.update(address=address, data=data, inp=inp.tolist(), out=out.shape, bound=bound)
        x[1:], S[1:] = 5.0, 7.0
        return done

    monkeypatch.setattr("explorer.kernels.maps.tangents.derivatives", derivatives)
    slopes = np.arange(6.0).reshape(2, 3)
    compiled = space(n_x=2, n_rho=3, tangents=space(address=1, data=2, size=11), system=space(name="m"),
                     start=lambda rho: (None, slopes), input=lambda rho: np.array([0.0, *rho]))  # fmt: skip
    chosen = space(begin=lambda compiled, rho, start: np.array([1.0, 2.0]), bound=9.0)
    if told:
        with pytest.raises(BadValue, match=told):
            derived._carried(compiled, chosen, [3.0], 3)
        return
    x, S = derived._carried(compiled, chosen, [3.0], 3)
    assert x.tolist() == [[1, 2], [5, 5], [5, 5], [5, 5]]
    assert S.shape == (4, 2, 3)
    assert S[0].tolist() == slopes.tolist()
    assert (S[1:] == 7).all()
    assert asked == {"address": 1, "data": 2, "inp": [0.0, 3.0], "out": (11,), "bound": 9.0}


def test_a_margin_is_the_least_condition_of_any_branch():
    """Behind the formulas of all branches; a map without conditions has none."""
    branches = [space(f=[1, 2]), space(f=[1, 2])]

    def native(inp):
        return np.array([0.0, 0.0, 0.0, 0.0, inp[1] - 3, inp[2] + 5])

    native.size = 6
    compiled = space(system=space(branches=branches), branches=native, n_x=2,
                     input=lambda rho: np.array([0.0, 0.0, 0.0, *rho]))  # fmt: skip
    x = np.array([[1.0, 1.0], [2.5, 0.0], [4.0, -5.25]])
    assert derived._margin(compiled, [7.0], x) == 0.25
    assert derived._margin(compiled, [7.0], x[:2]) == 0.5
    native.size = 4
    assert derived._margin(compiled, [7.0], x) == np.inf
