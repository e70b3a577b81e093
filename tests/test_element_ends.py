"""Ends of elements, uncompiled: what leaves its side first, and what goes on from there."""

from __future__ import annotations

import numpy as np
import pytest
from loops import for_each
from plain import plain, put, space

ends, sliding, folding = plain("fesd.active_set_ends"), plain("fesd.slide_end"), plain("fesd.fold")
TOL = 0.125  # of a function: less is round-off


def left(start, C, sign, where=(0.25, 1.0), before=9.0):
    """Return the kind, which function leaves its side and where, of values at two places."""
    element = space(mode=space(sign=np.array(sign)), stages=space(C=np.array(C, float)), tableau=space(where=np.array(where)),
                    problem=space(n_c=len(sign)))  # fmt: skip
    begin = space(c=np.array(start, float), tolerance=np.full(len(sign), TOL))
    ending = [space(which=-1, fraction=before)]
    kind = ends.leaves_side(element, begin, ending)
    return (kind == ends.SURFACE, ending[0].which, ending[0].fraction)


@for_each(("start", "C", "sign", "told"), [
    ([1.0], [[1.0], [1.0]], [1], None), ([1.0], [[1.0], [-1.0]], [1], (0, 0.625)), ([1.0], [[1.0], [-TOL]], [1], None), ([1.0], [[-1.0], [9.0]], [1], (0, 0.125)), ([0.0], [[0.0], [-1.0]], [1], (0, 0.5)), ([TOL], [[TOL], [-1.0]], [1], (0, 0.5)),
    ([-1.0], [[-1.0], [3.0]], [-1], (0, 0.4375)), ([-1.0], [[-1.0], [-1.0]], [-1], None), ([1.0], [[-1.0], [-1.0]], [0], None), ([1.0, 1.0], [[1.0, -1.0], [-1.0, 5.0]], [1, 1], (1, 0.125)), ([1.0, 1.0], [[-1.0, 1.0], [-1.0, -1.0]], [1, 1], (0, 0.125)),
    ([1.0, 1.0], [[1.0, 1.0], [-1.0, -1.0]], [1, 1], (0, 0.625)), ([0.5], [[0.25], [-0.75]], [1], (0, 0.4375)),
])  # fmt: skip
def test_a_function_leaves_its_side_where_a_line_does(start, C, sign, told):
    """Between the places where it is known; where it is as good as zero before, at half the way."""
    found = left(start, C, sign)
    assert found == ((True, told[0], pytest.approx(told[1])) if told else (False, -1, 9.0))
    assert left(start, C, sign, before=0.1) == (False, -1, 0.1)


def test_a_value_at_the_start_is_none_of_the_end():
    assert left([1.0], [[-1.0], [1.0]], [1], (0.0, 1.0)) == (False, -1, 9.0)
    assert left([1.0], [[-1.0], [-1.0]], [1], (0.0, 1.0)) == (True, 0, 0.5)


@for_each("tau", [0.5, -0.25, 1.0])
def test_a_slide_is_followed_by_a_step_of_fourth_order(monkeypatch, tau):
    """Of x' = -3 t^2 + x; its multiplier there is what is told."""
    asked = []
    ws = space(element=space(problem=space(n_x=2)), x=np.zeros(2), total=np.zeros(2), start=space(rate=np.zeros(2)), pattern=space(margins=None, multipliers=np.array([9.0, 0.75])))  # fmt: skip

    def margins(ws, t, state, z, left, found):
        asked.append((t, state.tolist()))
        ws.start.rate[:] = [state[0] - 3 * t**2, 2.0]
        return 0

    put(monkeypatch, sliding.follow, margins=margins)
    x, t = np.array([1.0, -1.0]), 2.0
    f = lambda t, y: np.array([y[0] - 3 * t**2, 2.0])  # noqa: E731
    assert sliding.follow(ws, t, x, tau, 1) == 0.75
    k1 = f(t, x)
    k2 = f(t + tau / 2, x + tau / 2 * k1)
    k3 = f(t + tau / 2, x + tau / 2 * k2)
    k4 = f(t + tau, x + tau * k3)
    end = x + tau / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    wanted = [(t, x), (t + tau / 2, x + tau / 2 * k1), (t + tau / 2, x + tau / 2 * k2), (t + tau, x + tau * k3), (t + tau, end)]  # fmt: skip
    for (when, state), (at, place) in zip(asked, wanted, strict=True):
        assert (when, state) == (at, pytest.approx(place))
    np.testing.assert_allclose(ws.x, end)
    asked.clear()
    assert sliding.follow(ws, t, x, 0.0, 1) == 0.75
    assert asked == [(t, x.tolist())]
    put(monkeypatch, sliding.follow, margins=lambda *_: -1)
    assert np.isnan(sliding.follow(ws, t, x, tau, 1))


def test_what_a_slide_goes_on_with_is_at_the_end_of_its_element(monkeypatch):
    """By the weights of the tableau: x', w, and the multipliers that are w themselves."""
    rng, end = np.random.default_rng(1), np.array([0.5, -2.0, 2.5])
    K, W, mult = rng.normal(size=(3, 2)), rng.normal(size=(3, 2)), rng.normal(size=(4, 9))
    B = np.array([[1.0, 0.0], [-1.0, 0.5], [0.0, 1.0]])
    mode = space(active=[space(sliding=2)], B=B)
    element = space(problem=space(n_x=2, n_sel=3), stages=space(K=K, W=W), tableau=space(end=end), mode=mode)  # fmt: skip
    ws = space(element=element, start=space(rate=np.full(2, 9.0), w=np.full(3, 9.0)), end=np.zeros(3))  # fmt: skip
    put(monkeypatch, folding.follow, at_end=lambda ws, k: 10.0 + k)
    folding.follow(ws)
    np.testing.assert_allclose(ws.start.rate, end @ K)
    np.testing.assert_allclose(ws.start.w, [*(end @ W), 9.0])
    assert ws.end.tolist() == [10.0, 11.0, 12.0]
    ws.start.w[:] = 9.0
    last = end @ mult[2].reshape(3, 3)
    for which in range(3):
        assert sliding.last_multiplier(ws, space(mult=mult), 2, which) == pytest.approx(last[which])
    np.testing.assert_allclose(ws.start.w, [last[0], last[2], 9.0])
    assert sliding.last_multiplier(ws, space(mult=mult), 2, 7) == 0.0


@for_each("found", [0, -1])
def test_a_phase_begins_with_its_own_multipliers(monkeypatch, found):
    told = []
    put(monkeypatch, sliding.behind, restore=lambda element, phases, p: told.append(p), margins=lambda *_: found)  # fmt: skip
    mode = space(active=[space(sliding=2)], B=np.array([[1.0, 0.0], [-1.0, 0.5], [0.0, 1.0]]))
    ws = space(element=space(problem=space(n_x=2, n_sel=3), mode=mode), start=space(rate=np.array([1.0, 2.0]), w=np.full(2, 9.0)), x=None, pattern=space(margins=None, multipliers=np.array([0.1, 0.2, 0.3])))  # fmt: skip
    phases = space(multipliers=np.arange(12.0).reshape(4, 3), behind=np.full((4, 2), 7.0))
    sliding.behind(ws, phases, 2, 1.0)
    assert (told, ws.start.w.tolist()) == ([2], [6.0, 8.0])
    assert phases.multipliers[2].tolist() == ([0.1, 0.2, 0.3] if found == 0 else [6.0, 7.0, 8.0])
    assert phases.behind[2].tolist() == ([1.0, 2.0] if found == 0 else [7.0, 7.0])


@for_each(("has", "told"), [(1.0, 1.0), (0.7, 0.7), (1e-3, 1e-3), (0.0, 0.0)])
def test_the_longest_length_with_a_solution_is_found_by_halves(monkeypatch, has, told):
    """Roughly; none where the shortest has none."""
    asked = []
    put(monkeypatch, folding.longest, solved=lambda ws, t, x, end, length: asked.append(length) or length <= 4.0 * has)  # fmt: skip
    length = folding.longest(None, 0.0, None, None, 4.0)
    assert length <= 4.0 * told
    if has:
        assert length >= 4.0 * told / (1 + folding.ROUGHLY) - 1e-12
        assert length < 4.0
        last = min((one for one in asked if one > 4.0 * has), default=4.0)
        assert last - length <= folding.ROUGHLY * length
    else:
        assert min(asked) <= 1e-14 * 4.0
        assert len(asked) <= 48
    assert asked[0] == 2.0
