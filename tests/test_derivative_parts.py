"""Small parts of derivatives and of their pictures, each asked by itself."""

from __future__ import annotations

import contextlib
from types import SimpleNamespace

import numpy as np
import pytest
from loops import for_each
from plain import space

from explorer.derivatives import captures, complex_step
from explorer.derivatives.direct import Sensitivity
from explorer.errors import NotApplicable
from explorer.views.drawing.slopes import constraint_place


@for_each(("velocities", "slopes"), [(v, s) for v in (True, False) for s in (True, False)])
def test_forces_have_derivatives_in_mechanical_runs_that_find_them(velocities, slopes):
    march = SimpleNamespace(**({"force_slopes": None} if slopes else {}))
    run = SimpleNamespace(
        has_velocities=velocities, march=march, recorded_row=lambda name: f"row of {name}",
        system=SimpleNamespace(name="one", kind="hybrid system"),
    )  # fmt: skip
    sens = Sensitivity("direct", run, ("m",), 0.0, np.zeros(1), SimpleNamespace())
    if velocities and slopes:
        assert sens.A == "row of A"
    else:
        with pytest.raises(NotApplicable, match="'one' is a hybrid system: forces and accel"):
            _ = sens.A


@for_each(("name", "place"), [("rod", 0), ("belt", 1), ("x", None), ("hook", None), (None, None), (1, None)])  # fmt: skip
def test_a_constraint_is_told_by_its_name_unless_a_coordinate_has_it(name, place):
    constraints = [SimpleNamespace(name=one) for one in ("rod", "belt", "x")]
    system = SimpleNamespace(constraints=constraints, coordinates=("x", "y"))
    sens = SimpleNamespace(question=SimpleNamespace(system=system))
    assert constraint_place(sens, name) == place
    del system.constraints
    assert constraint_place(sens, name) is None


@for_each(("own", "off"), [(own, off) for own in (True, False) for off in (0.0, 1e-7, 1e-2, -1e-2)])
def test_what_begins_to_hold_stays_zero_for_all_parameters(monkeypatch, own, off):
    """Phi_q Q + phi_rho = 0 behind the event, but for a hundred-thousandth of its terms."""
    n, rng = 3, np.random.default_rng(0)
    row, (before, behind) = rng.normal(size=n + 1 + 2), rng.normal(size=(2, 2, 2 * n))
    places = (1, 0) if own else (-1, -1)  # of parameters, or of values at the start
    for j, place in enumerate(places):
        phi_rho = row[n + 1 + place] if own else 0.0
        behind[j, 0] = -(row[1:n] @ behind[j, 1:n] + phi_rho) / row[0]
    behind[1, 0] += off / row[0]
    parts = {
        "x_minus": np.zeros((1, 2 * n)), "s_minus": before.ravel()[None], "s_plus": behind.ravel()[None],
        "dtau": np.zeros((1, 2)),
    }  # fmt: skip
    march = SimpleNamespace(
        flow=SimpleNamespace(n=n), part=parts.get, events=SimpleNamespace(head={"t": [1.5]})
    )
    monkeypatch.setattr(captures, "_gradients", lambda march, k: np.array([row]))
    question = SimpleNamespace(
        wrt=("a", "b"),
        places=places,
        system=SimpleNamespace(constraints=[SimpleNamespace(name="rod")]),
    )
    refused = pytest.raises(NotApplicable, match=r"'rod' begins to hold at t = 1\.5 s, and 'b' moves")  # fmt: skip
    with refused if abs(off) > 1e-3 else contextlib.nullcontext():
        captures.check_captures(question, SimpleNamespace(march=march), [(0, 0)])


# ---------------------------------------------------------------- complex steps


class Replayed(complex_step._Replay):
    """y' = rho; what an event does is told by its number k."""

    def __init__(self, h, events, how, t_end, drive=None, intervals=None, mechanical=False):
        state = np.zeros((len(h), 3))
        state[:, -1] = intervals or 0
        self.mechanical, self.flow, self.asked = mechanical, space(changes=()), []
        t = np.cumsum([0.0, *h[:-1]])[: len(h)]
        self.march = space(steps=space(t=t, h=np.array(h), state=state))
        self.head = np.array([*zip(events, how, strict=True)], [("step", int), ("how", int)])
        self.question = space(t_end=t_end, system=space(drive=drive))

    def step(self, t, y, h, mode):
        self.asked.append(("step", t, h))
        return y + h * self.rho[0]

    def land(self, k, t, y, h, mode):
        self.asked.append(("land", t, h))
        return h - 0.1j * (k + 1), y + (h - 0.1j * (k + 1)) * self.rho[0]

    def at_once(self, k, t, y):
        return t + 0.01j * (k + 1), y + 100 * (k + 1)

    def jump(self, k, t, y):
        return 2 * y + k

    def kept(self, t, y, mode):
        return y + 7


@for_each(("last", "mechanical"), [(None, False), (None, True), (0, False), (1, False), (2, True)])
def test_a_run_is_repeated_in_complex_numbers_from_event_to_event(last, mechanical):
    """Events at the start, at the end of the first step, and one more at once behind that."""
    one = Replayed([1.0, 1.0, 1.0], [0, 1, 1], [-1] * 3, 3.5, mechanical=mechanical)
    sides, times, y, t = one.go(np.array([[3.0]]), np.array([2.0 + 1j]), last)
    y0 = 2 + 1j + 7 * mechanical + 100
    y1 = 2 * y0 + (1 - 0.2j) * 3
    y2 = 2 * y1 + 1 + 300
    wanted = [(0.01j, y0), (1 - 0.19j, y1), (1 - 0.16j, y2)]
    for k, (at, before) in enumerate(wanted[: 3 if last is None else last + 1]):
        assert times[k] == pytest.approx(at)
        assert sides[k][0] == pytest.approx(np.array([before]))
        assert sides[k][1] == pytest.approx(np.array([2 * before + k]))
    assert len(sides) == len(times) == (3 if last is None else last + 1)
    if last is None:
        assert y == pytest.approx(np.array([2 * y2 + 2 + 3 + 3 * (3.5 - (2 - 0.16j))]))
        assert t == pytest.approx(3.5)
        assert [name for name, *_ in one.asked] == ["land", "step", "step"]
    else:
        assert y is sides[-1][0]
        assert t == times[-1]
    none = Replayed([], [], [], 3.5, mechanical=mechanical)
    assert none.go(np.array([[3.0]]), np.array([2.0]), None)[1:] == ([], pytest.approx(np.array([2.0])), 0)  # fmt: skip


@for_each("driven", [True, False])
def test_a_break_of_an_input_has_a_real_time(driven):
    """Steps end at 1 s and at the break, 2.2 s; from there on rho is 5. An event at it lands there."""
    how = [complex_step.DRIVEN] if driven else []
    one = Replayed([1.0, 1.2, 1.0], [2] if driven else [], how, 4.0, space(breaks=[2.2], values=[1, 2]), [0, 0, 1])  # fmt: skip
    sides, times, y, t = one.go(np.array([[3.0], [5.0]]), np.array([0.0]), None)
    if not driven:
        assert one.asked == [("step", 0, 1), ("step", 1, pytest.approx(1.2)), ("step", pytest.approx(2.2), pytest.approx(1.8))]  # fmt: skip
        assert (y, t) == (pytest.approx(np.array([6.6 + 9.0])), pytest.approx(4.0))
        return
    assert one.asked[1] == ("land", 1, pytest.approx(1.2))
    assert times == [pytest.approx(2.2 - 0.1j)]
    assert sides[0][0] == pytest.approx(np.array([3 + 3 * (1.2 - 0.1j)]))
    assert y == pytest.approx(2 * sides[0][0] + 5 * (1.8 + 0.1j))
    assert one.rho.tolist() == [5.0]
    assert [one.interval(i) for i in range(3)] == [0, 0, 1]
    one.question.system.drive = None
    assert one.interval(2) == 0
