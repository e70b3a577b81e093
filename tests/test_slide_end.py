"""Where a slide ends, to the order of the state: at the zero of its own multiplier."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each
from plain import plain

from explorer.kernels.fesd.structures import MULTIPLIER, SURFACE

ending = plain("fesd.slide_end")


def slides(monkeypatch, law, rate, kinds, begins, ends, lengths, places):
    """Return what `polish` works on for phases, of which some end a slide.

    ``law(t, x)`` are two multipliers, of which the second one slides, ``rate(t)`` is x'. The last
    element of phase p ends at ``ends[p]``, and its multipliers have the values of the law there.
    """
    of, space, elements = len(kinds), ending.polish.__globals__, len(kinds) - 1

    def margins(ws, t, x, z, left, found):
        assert (z, left) == (0, -1)  # at the end of a slide nothing else is near
        ws.start.rate[:] = rate(t)
        ws.pattern.multipliers[:] = law(t, x)
        return 0

    monkeypatch.setitem(space, "restore", lambda *_: None)
    for name in ("follow", "behind"):
        monkeypatch.setitem(vars(ending)[name].__globals__, "margins", margins)
    n, nsel, stages = 2, 2, 2
    mode = SimpleNamespace(B=np.array([[0.0], [1.0]]), active=[SimpleNamespace(sliding=1)])
    tableau = SimpleNamespace(end=np.array([-0.5, 1.5]))
    ws = SimpleNamespace(
        element=SimpleNamespace(problem=SimpleNamespace(n_x=n, n_sel=nsel), tableau=tableau, mode=mode),
        x=np.zeros(n), total=np.zeros(n),
        start=SimpleNamespace(rate=np.zeros(n), w=np.zeros(1)),
        pattern=SimpleNamespace(multipliers=np.zeros(nsel), margins=np.zeros(4)),
    )  # fmt: skip
    record = SimpleNamespace(
        begin=np.subtract(ends, lengths), length=np.array(lengths), states=np.array([places[0], *places]),
        mult=np.array([np.tile(law(t, x), stages) for t, x in zip(ends, places, strict=True)]),
    )  # fmt: skip
    phases = SimpleNamespace(
        switches=[SimpleNamespace(kind=k, element=min(e, elements), which=1) for e, k in enumerate(kinds)],
        t=np.array(begins, float), slope=np.full(of, np.nan), x=np.full((of, n), np.nan),
        before=np.full((of, n), np.nan), behind=np.full((of, n), np.nan), multipliers=np.zeros((of, nsel)),
    )  # fmt: skip
    return ws, record, phases


@for_each(("late", "bound"), [(late, bound) for late in (-0.02, 0.0, 0.03) for bound in (0.0, 1.0)])
def test_a_slide_ends_where_its_multiplier_comes_to_its_bound(monkeypatch, late, bound):
    """x' is a parabola in t, so the step of the method is exact, and so is the time."""
    end, out = 2.0, 1.0 if bound else -1.0  # the multiplier leaves to this side

    def rate(t):
        return np.array([1.0 + t, 3.0 * t * t])

    def at(t):
        return np.array([t + t * t / 2, t**3])

    def law(t, x):
        along = (x[0] - at(end)[0]) / 10 + (x[1] - at(end)[1]) / 20 + (t - end) / 5
        return np.array([0.7, bound + out * along])

    lengths, t_ends = [0.5, 0.25, 0.5], [1.0, end + late, 3.0]
    ws, record, phases = slides(
        monkeypatch, law, rate, (0, SURFACE, MULTIPLIER, SURFACE), [0.0, 1.0, end + late, 3.0],
        t_ends, lengths, [at(t) for t in t_ends],
    )  # fmt: skip
    taus = np.zeros(4)
    ending.polish(ws, record, phases, taus)
    assert taus == pytest.approx([0.0, 0.0, -late, 0.0], abs=1e-12)
    np.testing.assert_allclose(phases.t, [0.0, 1.0, end, 3.0], rtol=1e-13)
    np.testing.assert_allclose(phases.x[2], at(end), rtol=1e-12)
    for side in (phases.before, phases.behind):
        np.testing.assert_allclose(side[2], rate(end), rtol=1e-11)
        assert np.isnan(side[[0, 1, 3]]).all()
    assert phases.slope[2] == pytest.approx(out * (rate(end) @ [0.1, 0.05] + 0.2), rel=1e-3)
    np.testing.assert_allclose(phases.multipliers[2], [0.7, bound], atol=1e-12)


@for_each(
    ("zero", "told"), [(0.0, False), (-1.0, False), (25.0, True), (249.0, True), (250.0, False)]
)
def test_the_end_of_a_slide_lies_behind_its_begin_and_before_what_follows(monkeypatch, zero, told):
    """Numbers of two's powers: nothing is rounded, so the very begin is no end."""
    end, following = 125.0, 250.0

    def law(t, x):
        return np.array([0.5, (t - zero) / 512])

    ws, record, phases = slides(
        monkeypatch, law, lambda t: np.zeros(2), (0, MULTIPLIER, SURFACE), [0.0, end, following],
        [end, following], [125.0, 125.0], np.zeros((2, 2)),
    )  # fmt: skip
    taus = np.zeros(3)
    ending.polish(ws, record, phases, taus)
    assert phases.t.tolist() == [0.0, zero if told else end, following]
    assert taus.tolist() == [0.0, zero - end if told else 0.0, 0.0]
