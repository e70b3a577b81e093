"""A search that is stopped within a solve returns the best plan so far, and says so."""

from __future__ import annotations

import functools
import os
import signal
import threading
import time

import numpy as np
import pytest

import explorer as ex
from explorer.errors import BadValue
from explorer.panels import panels
from explorer.panels.control.state import ControlSession
from explorer.transcription.halt import due, watched
from tests.loops import for_each


@functools.cache
def rough():
    """Return a problem whose search takes some hundred iterations: two surfaces to slide on."""
    system = ex.StepSystem("two relays", x="x1 x2 v1 v2")
    system.inputs("u1 u2", low=-10, high=10)
    system.switch("x1 + 0.15*x2**2", name="c1")
    system.switch("0.05*x1**3 + x2", name="c2")
    system.f = ["v1 + 1 - 2*alpha_1", "v2 + 1 - 2*alpha_2", "u1", "u2"]
    system.start(x=["2*pi/3", "pi/3", 0, 0], t_end=4)
    return ex.OptimalControlProblem(
        system, intervals=8, running="u1**2 + u2**2 + v1**2 + v2**2",
        end={"x1": -np.pi / 6, "x2": -np.pi / 4},
    )  # fmt: skip


class Count:
    """Asks for a stop after some iterations."""

    def __init__(self, most):
        self.most, self.seen = most, 0

    def __call__(self):
        self.seen += 1
        return self.seen > self.most


def test_a_stop_within_a_solve_leaves_its_iterate():
    """Each stop ends within one iteration; what was solved before it is the plan."""
    whole = Count(10**9)
    with watched(asked=whole):
        best = ex.optimize(rough(), progress=False)
    assert best.ok
    costs = []
    for most in (0, 3, whole.seen // 2, whole.seen - 3):
        asked = Count(most)
        with watched(asked=asked):
            plan = ex.optimize(rough(), progress=False)
        assert asked.seen <= most + 2
        assert plan.status == "stopped"
        assert plan.message.startswith("interrupted")
        assert np.isfinite(plan.objective)
        assert not plan.ok
        assert plan.solved == ("best plan so far" in plan.message)
        if plan.solved:
            costs.append(plan.objective)
            assert max(plan.residuals.values()) < 1e-8
            assert plan.again().ok  # it goes on from there
    assert costs
    assert min(costs) >= best.objective - 1e-9


def test_a_time_limit():
    """The limit holds for all searches together; a plan that a search has finished keeps its status."""
    begin = time.perf_counter()
    plan = ex.optimize(rough(), progress=False, seconds=1e-3)
    assert time.perf_counter() - begin < 5
    assert plan.status == "stopped"
    assert "the time limit of 0.001 s is over" in plan.message
    whole = Count(10**9)
    with watched(asked=whole):
        ex.optimize(rough(), progress=False)
    with watched(asked=Count(whole.seen + 2)):
        plan = ex.optimize(rough(), progress=False, starts=3)
    assert plan.ok
    assert "stopped in search 2 of 3" in plan.message
    again = plan.again(x0=[2, 1, 0, 0], seconds=1e-3)
    assert again.status == "stopped"
    with pytest.raises(BadValue, match="seconds"):
        ex.optimize(rough(), seconds=-1)
    assert not due()


def test_the_keyboard_stops_a_solve():
    """CasADi would swallow the interrupt; it returns the plan, and the handler is put back."""
    before = signal.getsignal(signal.SIGINT)
    ready = threading.Event()

    def asked():
        ready.set()
        return False

    def press():
        ready.wait(20)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    with watched(asked=asked) as watch:
        plan = ex.optimize(rough(), progress=False, starts=50)
    thread.join()
    assert plan.status == "stopped"
    assert plan.message.startswith("interrupted")
    assert watch.why == "interrupted"
    assert signal.getsignal(signal.SIGINT) is before


@for_each("kind", ["pull", "stop"])
def test_a_panel_gives_way_to_what_is_new(kind, monkeypatch):
    """While it searches, the stop button or new values stop that; other messages wait."""
    monkeypatch.setattr("explorer.panels.live._in_kernel", lambda: True)
    plan = ex.optimize(ex.tasks.turbo_car(), ex.tasks.turbo_car.guess, progress=False)
    panel = panels["control"](ControlSession(plan))
    searching, answered, told = threading.Event(), [], []
    panel.send = lambda content, buffers=None: told.append(content)

    def respond(content, origin):
        answered.append(content["type"])
        if not searching.is_set():
            searching.set()
            panel.busy("plan", 1, 30)
            assert panel.session._asked.wait(20)

    panel._respond = respond
    panel._receive(None, {"type": "pull"}, [])
    assert searching.wait(20)
    assert told == [{"type": "busy", "text": "plan", "done": 1, "total": 30, "stops": True}]
    panel._receive(None, {"type": "look"}, [])
    assert not panel.session._asked.is_set()
    panel._receive(None, {"type": kind}, [])
    panel._aside.shutdown()
    assert answered == ["pull", "look", *["pull"] * (kind == "pull")]


def test_a_search_tells_what_it_is_at(monkeypatch):
    """Stage, sigma and iteration: each homotopy from the first iteration on."""
    told = []
    keep = lambda bar, done, name="": told.append(name)  # noqa: E731
    monkeypatch.setattr("explorer.progress.Progress.__call__", keep)
    plan = ex.optimize(rough(), progress=False)
    assert plan.ok
    for entry, sigma in zip(plan.log[:4], ("1", "0.01", "0.0001", "1e-06"), strict=True):
        lines = [line for line in told if line.startswith(f"homotopy, sigma = {sigma}, ")]
        assert lines[0].endswith("iteration 0")
        assert lines[entry["iterations"]].endswith(f"iteration {entry['iterations']}")


def test_a_search_of_a_panel_that_is_stopped_leaves_its_plan(monkeypatch):
    """The sentence says why; the plan before stays, and a search that is not stopped succeeds."""
    plan = ex.optimize(ex.tasks.turbo_car(), ex.tasks.turbo_car.guess, progress=False)
    session = ControlSession(plan)
    x0 = f"x0.{plan.task.state_names[0]}"
    monkeypatch.setattr(session._asked, "is_set", Count(2))
    errors = session.change({x0: 1.0})
    assert "interrupted" in str(errors)
    assert session.plan is plan
    monkeypatch.undo()
    assert not session.change({x0: 1.0})
    assert session.plan.ok
