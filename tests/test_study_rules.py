"""Rules of the studies, each asked alone: what they compute from given runs, fits and margins."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from loops import for_each
from plain import put, space

import explorer as ex
from explorer.compiled.maps import compile_map
from explorer.derivatives import verify
from explorer.errors import ExplorerError
from explorer.study import cycle_tests, map_cycles, parts, switched_cycle
from explorer.study.grazing import _fit
from explorer.study.near_misses import NearMisses

COVERS = (
    "study/cycle_tests.py", "study/grazing.py", "study/map_cycles.py", "study/near_misses.py",
    "study/parts.py", "study/power_law.py", "study/question.py", "study/switched_cycle.py", "derivatives/verify.py",
)  # fmt: skip


@for_each(
    ("seconds", "said"),
    [(0, "0 s"), (89.4, "89 s"), (90, "2 min"), (5399, "90 min"), (5400, "1.5 h"), (9e4, "25.0 h")],
)
def test_a_span_is_said_as_on_a_watch(seconds, said):
    assert parts._span(seconds) == said


@for_each("seed", range(3))
def test_an_exponent_has_the_bar_of_its_least_squares(seed):
    """Twice the standard error with m - 3 degrees of freedom, if the short fit agrees."""
    rng = np.random.default_rng(seed)
    offsets = np.geomspace(1e-8, 1e-4, 9)
    noise = 0.1 * rng.normal(size=9)
    sizes = 3 * offsets**0.5 * np.exp(noise)
    exponent, bar, amplitude = _fit(offsets, sizes)
    terms = np.column_stack([np.ones(9), np.log(offsets), np.sqrt(offsets / offsets[-1])])
    best, rest, *_ = np.linalg.lstsq(terms, np.log(sizes), rcond=None)
    own = np.sqrt(rest[0] / (9 - 3) * np.linalg.inv(terms.T @ terms)[1, 1])
    short = np.polyfit(np.log(offsets), np.log(sizes), 1)[0]
    assert exponent == pytest.approx(best[1], rel=1e-9)
    assert amplitude == pytest.approx(np.exp(best[0]), rel=1e-9)
    assert bar == pytest.approx(max(2 * own, 0.5 * abs(short - best[1])), rel=1e-9)


def test_a_power_without_noise_is_found_with_its_next_term():
    offsets = np.geomspace(1e-8, 1e-4, 8)
    sizes = 2 * offsets**1.5 * np.exp(0.3 * np.sqrt(offsets / offsets[-1]))
    exponent, bar, amplitude = _fit(offsets, sizes)
    assert (exponent, amplitude) == pytest.approx((1.5, 2.0), rel=1e-9)
    assert 0 < bar < 0.05


def test_conditions_of_branches_stand_apart_with_their_slopes():
    """The square-root map has one border, x = 0; a plane map one condition of two states."""
    plane = ex.MapSystem("plane", x="x y", params={"mu": 0.5})
    plane.branch("left", ["x + mu", "y"], when=["y - 2*x", "3 - y"])
    plane.branch("right", ["x - mu", "y"])
    compiled = compile_map(plane)
    values, slopes = map_cycles._conditions(compiled, np.array([0.25, 2.0]), np.array([0.5]))
    np.testing.assert_allclose(values[0], [1.5, 1.0])
    np.testing.assert_allclose(slopes[0], [[-2, 1], [0, -1]])
    assert len(values[1]) == len(slopes[1]) == 0


@for_each(("count", "asked"), [(2, [0.5]), (6, [1 / 6, 2 / 6, 3 / 6]), (5, [1 / 5])])
def test_a_cycle_that_repeats_after_fewer_returns_is_told_apart(count, asked):
    seen, off, x, T = [], [0.0], np.array([1.0, -2.0]), 3.0

    def sample(t, slopes):
        seen.append((t, slopes))
        states = np.full((len(t), 4), 9.0)
        states[:, :2] = x + off[0] * np.array([1.0, 0.0])
        return states, None, None

    run = space(march=space(sample=sample))
    for off[0], found in ((1e-9, (("repeats", ""),)), (0.5, ())):
        assert cycle_tests.shorter(run, x, T, count, np.array([1.0, 2.0])) == found
    np.testing.assert_allclose(seen[0][0], np.array(asked) * T)
    assert seen[0][1] is False
    assert cycle_tests.shorter(run, x, T, 1, np.ones(2)) == ()


def test_one_turn_is_cut_from_an_orbit_that_goes_round_several_times(monkeypatch):
    """The last hit is compared with those before it, the nearest one first."""

    def hit(t, x, contact="wall", kind="impact"):
        return space(t=t, x_plus=np.array(x), contact=contact, kind=kind)

    located = [
        hit(1.0, [1.0, 2.0]), hit(2.0, [5.0, 2.0]), hit(2.5, [1.0, 2.0], "floor"),
        hit(3.0, [1.0, 2.0]), hit(4.0, [5.0, 2.0]), hit(4.5, [1.0, 2.0], kind="rest"),
        hit(5.0, [1.0, 2.0]),
    ]  # fmt: skip
    y = np.array([[1.0, 2.0, 77.0], [-5.0, 1.0, 77.0]])
    loop = space(x=np.array([1.0, 2.0]), run=space(located=located, march=space(steps=space(y=y))))
    tried = []

    def closed(P, x, T):
        tried.append(T)
        if fails == T:
            raise ExplorerError("no")
        return space(residual=residual, T=T)

    monkeypatch.setattr(switched_cycle, "_closed", closed)
    P = space(section="wall")
    fails, residual = None, 0.0
    assert switched_cycle._once(P, loop, 1e-9).T == 2.0
    assert tried == [2.0]
    fails, tried[:] = 2.0, []
    assert switched_cycle._once(P, loop, 1e-9).T == 4.0
    fails, residual, tried[:] = None, 1.0, []
    assert switched_cycle._once(P, loop, 1e-9) is loop
    assert tried == [2.0, 4.0]


@for_each(("known", "most", "kept"), [(None, 7, 7), (None, 1, 1), ("some", 7, 1)])
def test_of_known_attractors_one_point_is_kept(known, most, kept):
    """And without a section nothing but bounds is asked for."""
    system = ex.models.impact_oscillator()
    swept = ex.study.sweep(
        system, over={"omega": [2.0]}, t_end=1, progress=False,
        observe=ex.study.Section(event="stop", side="before", most=most),
    )  # fmt: skip
    question = dataclasses.replace(swept.question, known=known)
    asked = question.asked
    assert (asked.section, asked.event, asked.before) == ("event", "stop", True)
    assert (asked.most, asked.known) == (kept, known)
    assert dataclasses.replace(question, section=None).asked.section == "none"


@for_each(
    ("sides", "own", "found"),
    [
        ([(2.0, 0.0), (2.0, 0.0)], 2.0, [0.0, 0.0]),
        ([(1.0, 0.0), (3.0, 0.0)], 3.0, [0.0, 2 / 3]),
        ([(np.nan, 0.0), (3.0, 0.0)], 1.5, [0.5, 0.0]),
        ([(4.0, 0.0), (np.inf, 0.0)], 4.0, [0.0, 0.0]),
        ([(np.nan, 0.0), (np.nan, 0.0)], 4.0, [np.inf]),
        ([(1e-3, 8.0), (-1e-3, 2.0)], 0.0, [1e-3 / 8, 2e-3 / 8]),
    ],
)
def test_quotients_of_both_sides_are_compared(monkeypatch, sides, own, found):
    """Relative to the largest of them, or to their error."""
    asked = space(run=lambda wrt: "run", wrt=("p",))
    put(
        monkeypatch, verify._quotients, cost_of=lambda asked, run: 5.0,
        _side=lambda asked, j, sign, middle: sides[int(sign > 0)],
    )  # fmt: skip
    checks = verify._quotients(np.array([own]), asked)
    assert [c.value for c in checks] == pytest.approx(found, rel=1e-12, abs=1e-15)


@for_each("seed", range(3))
def test_a_power_law_is_the_line_of_least_squares_with_its_standard_error(seed):
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.1, 10, 7)
    y = 3 * x**-1.5 * np.exp(0.2 * rng.normal(size=7))
    terms = np.column_stack([np.log(x), np.ones(7)])
    best, rest, *_ = np.linalg.lstsq(terms, np.log(y), rcond=None)
    error = np.sqrt(rest[0] / (7 - 2) * np.linalg.inv(terms.T @ terms)[0, 0])
    law = ex.study.power_law(x, y)
    assert law.exponent == pytest.approx(best[0], rel=1e-10)
    assert law.factor == pytest.approx(np.exp(best[1]), rel=1e-10)
    assert law.error == pytest.approx(error, rel=1e-9)


def test_of_several_misses_of_one_guard_the_nearest_is_told():
    """And of equal ones the first."""
    pieces = {(0.0, 1.0, 3): [("a", 2.0), ("b", 5.0)], (1.0, 2.0, 4): [("a", 1.0), ("b", 5.0)]}
    own = space(
        segments=lambda run, mode: [*pieces],
        _between=lambda run, *piece: [space(name=n, value=v, of=piece) for n, v in pieces[piece]],
    )
    found = NearMisses.__call__(own, "run", 3)
    assert [(m.name, m.value, m.of[2]) for m in found] == [("a", 1.0, 4), ("b", 5.0, 3)]
