"""Where a step ends on its guard: bounds exactly hit, and steps whose length is not one."""

from __future__ import annotations

import itertools

import numpy as np
from loops import for_each
from plain import plain, put, space

from explorer.codes import SUCCESS
from explorer.kernels.event_driven.records import ARMED, DOP853, NEWMARK, UNARMED

landing = plain("event_driven.land")
NOISE = landing.NOISE


@for_each(("sign", "shift"), itertools.product((1.0, -1.0), (0.0, 0.5)))
@for_each(
    ("value", "told"),
    [(-NOISE, False), (-2 * NOISE, True), (0.0, False), (0.5 * NOISE, False), (1.0, False)],
)
def test_a_guard_is_passed_by_more_than_noise(monkeypatch, sign, shift, value, told):
    put(monkeypatch, landing.passes_another, guard_count=lambda *_: 2)
    search = space(values=[1.0, sign * (value + shift)], watch=[space(sign=1.0, shift=0.0, arm=ARMED), space(sign=sign, shift=shift, arm=ARMED)])  # fmt: skip
    passes = search.watch[1].sign * search.values[1] - shift < -NOISE
    assert landing.passes_another(None, None, search, 0) == passes
    assert shift or passes == told
    search.watch[1].arm = UNARMED
    assert not landing.passes_another(None, None, search, 0)


class Landing:
    """A landing with scripted values of the guard and of what else is passed."""

    def __init__(
        self, values, passed=(), *, h=0.5, fraction=0.5, slope=-0.25, most=0.5, t=3.0, code=DOP853
    ):
        self.values, self.passed, self.said = iter(values), passed, []
        self.h, self.fraction, self.slope, self.most, self.t, self.code = (
            h,
            fraction,
            slope,
            most,
            t,
            code,
        )

    def run(self, monkeypatch):
        def guards(problem, automaton, t, new, values):
            self.said.append(("guards", t))
            values[:] = 0.125 - next(self.values)

        def advance(problem, method, step, first, last, t, y, tau, width):
            self.said.append(("step", t, tau, width))
            return SUCCESS

        def shift_end(problem, step, t, move, width):
            self.said.append(("shift", t, move, width))
            return SUCCESS

        def passes_another(problem, automaton, search, j):
            self.said.append("passes")
            return sum(one == "passes" for one in self.said) - 1 in self.passed

        put(
            monkeypatch,
            landing.land,
            guards=guards,
            advance=advance,
            shift_end=shift_end,
            passes_another=passes_another,
        )
        found = space(fraction=self.fraction, slope=self.slope, length=np.nan)
        search = space(
            values=np.full(2, np.nan), found=[found], watch=[None, space(sign=-1.0, shift=-0.125)]
        )
        status = landing.land(
            None,
            None,
            space(stages=6, code=self.code),
            space(new=None),
            search,
            1,
            self.t,
            "y",
            self.h,
            self.most,
            2,
        )
        assert status == SUCCESS
        return found.length

    def expected(self, values):
        """Return the length of the step, and what is asked on the way."""
        said, values, h = [], iter(values), self.h
        first = now = self.fraction * h
        slope, last, misses, asked = self.slope / h, None, 0, 0
        said.append(("step", self.t, now, 2))
        for trial in range(12):
            said.append(("guards", self.t + now))
            g = next(values)
            misses += last is not None and abs(g) > 0.5 * abs(last[1])
            far = abs(now - first) > landing.FAR * h
            if far:
                said.append("passes")
                asked += 1
            if far and asked - 1 in self.passed:
                to, ends = first, True
            elif misses > 2 or (misses and abs(g) <= NOISE):
                if last is None or abs(g) <= abs(last[1]):
                    return now, said
                to, ends = last[0], True
            else:
                if last is not None:
                    slope = (g - last[1]) / (now - last[0])
                if g == 0.0 or slope == 0.0:
                    return now, said
                to, ends = min(now - g / slope, self.most), False
                if to <= 0.0 or abs(to - now) <= 2e-16 * (abs(self.t) + now):
                    return now, said
            if trial == 11:
                return now, said
            if abs(to - now) > landing.SMALL * now or self.code == NEWMARK:
                said.append(("step", self.t, to, 2))
            else:
                said.append(("shift", self.t + to, to - now, 2))
            last, now = (now, g), to
            if ends:
                return now, said
        return now, said


VALUES = [0.5, -0.5, 0.25, -0.25, 0.125, 1e-7, -1e-7, 0.0, NOISE, -NOISE, 0.5 * NOISE, 1.0, 3e-10]


@for_each("seed", range(300))
def test_a_step_is_ended_by_newton_then_secants_and_goes_back_where_it_must(monkeypatch, seed):
    """The values of the guard are few, so that they halve, repeat, or are just noise."""
    rng = np.random.default_rng(seed)
    values = rng.choice(VALUES, 13) * (1.0 if seed % 2 else 0.3 ** np.arange(13))
    given = {
        "h": float(rng.choice([0.5, 2.0, 1e-3])), "fraction": float(rng.choice([0.5, 0.25, 1.0])), "slope": float(rng.choice([-0.25, -1.0, -4.0, 0.0, 1.0])),
        "most": float(rng.choice([0.5, 2.0, 4.0])), "t": float(rng.choice([0.0, 3.0, 1e3])), "code": int(rng.choice([DOP853, NEWMARK])),
    }  # fmt: skip
    passed = [int(k) for k in np.flatnonzero(rng.random(12) < 0.1)]
    # values are told as -(value - 1/8) - 1/8 with the sign and the shift of the guard, in the same order of operations
    seen = [-(0.125 - g) + 0.125 for g in values]
    length, said = Landing(values, passed, **given).expected(seen)
    case = Landing(values, passed, **given)
    assert case.run(monkeypatch) == length
    assert case.said == said


@for_each(("values", "slope", "steps"), [
    ([1.0, 0.25, 0.0], -4.0, 3), ([-0.5, 0.25], -1.0, 1), ([-0.25, 0.25, 0.0], -1.0, 3), ([1.0, 1.0], -4.0, 2), ([1.0], 0.0, 1), ([0.0], -1.0, 1),
])  # fmt: skip
def test_a_correction_follows_the_slope_of_the_step_first(monkeypatch, values, slope, steps):
    """Per second: that of the polynomial is per step."""
    case = Landing(values + [0.0] * 12, slope=slope, h=2.0, most=9.0)
    length, said = case.expected(values + [0.0] * 12)
    case = Landing(values + [0.0] * 12, slope=slope, h=2.0, most=9.0)
    assert case.run(monkeypatch) == length
    assert case.said == said
    seen, ahead = (
        [one for one in said if one[0] == "guards"],
        1.0 - (values[0] / (slope / 2.0) if slope else 1.0),
    )
    assert seen[1:2] == ([("guards", 3.0 + ahead)] if values[0] and ahead > 0.0 else [])
    assert len(seen) == steps
