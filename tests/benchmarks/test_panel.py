"""How long the kernel takes over a picture. Only ratios are asserted: machines differ."""

from __future__ import annotations

import itertools
import time

import pytest
from kinds import alike, one_of_each

from explorer import views
from explorer.models import models
from explorer.panels import Session
from explorer.panels.explore import ExplorePanel
from explorer.panels.packing import pack

NAMES = one_of_each(sorted(models), alike)
pytestmark = pytest.mark.benchmark(max_time=0.1, min_rounds=5)


def best(function, rounds: int = 15) -> float:
    """Shortest of a few runs, in s: what else the machine does only adds."""
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        function()
        times.append(time.perf_counter() - begin)
    return min(times)


def stepper(session: Session):
    """A slider that moves a little at each call."""
    parameters = session.system.parameters
    name = next((k for k, p in parameters.items() if p.unit), next(iter(parameters)))
    value = session.state["rho"][name]
    near = itertools.cycle([value * 1.001, value])
    return lambda: {f"rho.{name}": next(near)}


@pytest.mark.parametrize("name", NAMES)
def test_a_change(benchmark, name):
    """Slider to solution; the solver should be most of it, or it should not be felt."""
    session = Session(name)
    values = stepper(session)
    benchmark(lambda: session.change(values(), drag=True))
    whole = best(lambda: session.change(values(), drag=True))
    solver = min(session.solution.seconds, whole)
    assert session.errors == {}
    assert whole <= 3 * solver + 5e-3


@pytest.mark.parametrize("name", NAMES)
def test_a_picture(benchmark, name):
    """Solution to traces."""
    session = Session(name)
    picture = benchmark(lambda: views.explore.picture(session.solution))
    assert picture.data


@pytest.mark.parametrize("name", NAMES)
def test_a_frame(benchmark, name):
    """Question to bytes: all that the kernel does for a picture."""
    panel = ExplorePanel(Session(name))
    sent = []
    panel.send = lambda content, buffers=None: sent.append(buffers)
    values = stepper(panel.session)

    def pull():
        sent.clear()
        question = {"type": "pull", "view": "v", "seq": 1, "set": values(), "drag": True}
        panel._handle_custom_msg(question, [])

    benchmark(pull)
    assert sum(map(len, sent[-1])) > 500  # a picture, not a status
    change = best(lambda: panel.session.change(values(), drag=True))
    assert best(pull) <= 12 * change + 20e-3


def test_packing_costs_little(benchmark):
    """Compared with what it packs."""
    session = Session("column")
    data = {"traces": views.explore.picture(session.solution).data}
    content, buffers = benchmark(lambda: pack(data))
    assert buffers
    assert len(content["traces"]) == len(data["traces"])
    assert best(lambda: pack(data)) <= best(lambda: views.explore.picture(session.solution))


def test_a_picture_of_a_long_run_costs_hardly_more():
    """The number of points drawn does not grow with the number of steps."""
    times = []
    for h in (1e-3, 1e-5):
        solution = Session("bouncing_ball", h=h, e=0.5).solution
        solution.event_rows
        times.append(best(lambda run=solution: views.explore.picture(run)))
    assert times[1] <= 30 * times[0]
