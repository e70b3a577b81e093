"""Values of parameters that are given as rho={...} and by name, to every function that takes both.

Each function is called once as in `CALLS`; one that is added to the package needs an entry there.
"""

from __future__ import annotations

import inspect
from types import ModuleType

import pytest

import explorer as ex
from explorer.errors import ExplorerError
from explorer.models import models

OVER = {"over": {"t": [1.0]}}
CALLS = {  # with what each needs besides the system and its parameters
    "simulate": {}, "sensitivity": {}, "minimize": {"cost": {"w": "t"}},
    "fit": {"t": [0.0, 1.0], "data": [0.0, 1.0]}, "views.regions": {},
    "study.FinerBasins": OVER, "study.Sharpening": OVER, "study.attractors": OVER,
    "study.basins": OVER, "study.compare_schemes": {}, "study.continuation": {"by": "t"},
    "study.end_state": {}, "study.limit_cycle": {}, "study.lyapunov": {}, "study.modes": {},
    "study.orbit_derivatives": {}, "study.orbit_diagram": OVER, "study.order_diagram": {},
    "study.sweep": OVER, "study.two_starts": {"offset": {"t": 1.0}}, "study.work_precision": {},
}  # fmt: skip
OTHERS = {"optimize", "study.formulations"}  # of a task; it has no rho


def named(name: str):
    """Return a function of `ex` by its name."""
    found: object = ex
    for part in name.split("."):
        found = getattr(found, part)
    return found


def taking_parameters() -> set[str]:
    """Return the names of what takes the parameters of a model by name."""
    found = set()
    for room in ("", "study.", "views.", "reformulations."):
        where = named(room[:-1]) if room else ex
        for name in dir(where):
            one = getattr(where, name)
            if name.startswith("_") or isinstance(one, ModuleType) or not callable(one):
                continue
            if isinstance(one, type) and issubclass(one, BaseException):
                continue
            kinds = {p.name: p.kind for p in inspect.signature(one).parameters.values()}
            if kinds.get("parameters") is inspect.Parameter.VAR_KEYWORD:
                found.add(room + name)
    return found


def test_every_function_is_called_here():
    assert taking_parameters() == CALLS.keys() | OTHERS


def said(call) -> str:
    with pytest.raises(ExplorerError) as refused:
        call()
    return str(refused.value)


BAR = ex.models.elastic_bar()


@pytest.mark.parametrize("rho", [1.1, [1.1]])
def test_rho_is_a_dict_and_a_model_may_have_a_parameter_rho(rho):
    advice = f"must be a dict, such as rho={{'rho': {1.1 if rho == 1.1 else 1.0}}}, not {rho}."
    for name in ("simulate", "sensitivity", "minimize", "fit", "study.compare_schemes",
                 "study.limit_cycle", "study.lyapunov", "study.modes",
                 "study.two_starts", "study.work_precision"):  # fmt: skip
        call = {**CALLS[name], "rho": rho}
        if name == "study.two_starts":
            call["offset"] = {BAR.coordinates[0]: 1e-3}
        assert advice in said(lambda name=name, call=call: named(name)(BAR, **call)), name
    for name in ("study.sweep", "study.basins", "study.attractors", "study.FinerBasins"):
        call = {"over": {f"q0.{BAR.coordinates[0]}": [0.0, 1.0], "E": [1.0, 2.0]}, "rho": rho}
        assert advice in said(lambda name=name, call=call: named(name)(BAR, **call)), name


def test_advice_names_a_parameter_that_the_system_has():
    ball = ex.models.bouncing_ball()
    first, p = next(iter(ball.parameters.items()))
    assert f"such as rho={{{first!r}: {float(p.value)}}}, not 3." in said(
        lambda: ex.study.sweep(ball, over={"e": [0.5]}, rho=3)
    )
    assert f"such as rho={{{first!r}: {float(p.value)}}}, not 3." in said(lambda: ball.rho(3))
    task = ex.tasks.rough_block()
    first = next(iter(task.system.parameters))
    assert f"such as rho={{{first!r}: " in said(lambda: ex.optimize(task, rho=3))


# -- a parameter with the name of an argument ------------------------------------------------------

SHORT = {"t_end": 0.01}
TOLD = {  # how much is run where an argument has the name of a parameter, and what it tells
    "simulate": (SHORT, lambda run: run.rho),
    "sensitivity": (SHORT, lambda found: found.solution.rho),
    "minimize": ({**SHORT, "max_iter": 1}, lambda found: found.trajectory.rho),
    "study.compare_schemes": (SHORT, lambda found: found.runs[0].solution.rho),
    "study.order_diagram": (SHORT, lambda found: [c.error.tolist() for c in found.curves]),
    "study.work_precision": (SHORT, lambda found: [c.error.tolist() for c in found.curves]),
    "study.lyapunov": ({}, lambda found: [*found.exponents, *found.x]),
    "study.two_starts": (SHORT, lambda found: found.first.rho),
    "views.regions": ({}, lambda picture: repr(picture)),
}


def outcome(name: str, system: ex.System, given: dict) -> object:
    """Return what a function tells of its run, or the sentence by which it refuses."""
    brief, told = TOLD[name]
    call = {**CALLS[name], **brief}
    if name == "minimize":
        call["wrt"] = next(iter(system.parameters))
    elif name == "study.two_starts":
        call["offset"] = {system.coordinates[0]: 1e-6}
    elif name == "study.lyapunov":
        maps = isinstance(system, ex.MapSystem)
        call |= {"iterates": 64} if maps else {"intervals": 64, "transient": 0, "period": 0.01}
    elif name == "study.compare_schemes":
        call["schemes"] = ex.schemes_for(system)[0]
    if system.discrete and "t_end" in call:
        call["t_end"] = 2
    try:
        return told(named(name)(system, **call, **given))
    except ExplorerError as error:
        return str(error)


def arguments(name: str) -> set[str]:
    return set(inspect.signature(named(name)).parameters) - {"parameters"}


@pytest.mark.broad
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("model", models)
def test_a_parameter_with_the_name_of_an_argument_is_set_or_refused(model):
    system = models[model]()
    for name in CALLS:
        for parameter in sorted(arguments(name) & {*system.parameters}):
            p = system.parameters[parameter]
            value = p.value + 0.25 * (p.high - p.value or p.low - p.value)
            given = {parameter: value}
            if parameter == "rho":
                said(lambda n=name, g=given: refused(n, system, g))
                continue
            by_name = outcome(name, system, given)
            if not (isinstance(by_name, str) and f"rho={{{parameter!r}: {value}}}" in by_name):
                assert by_name == outcome(name, system, {"rho": given}), (name, parameter)


def refused(name: str, system: ex.System, given: dict) -> None:
    call = {**CALLS[name], **given}
    if name == "study.two_starts":
        call["offset"] = {system.coordinates[0]: 1e-6}
    elif call.get("over") is OVER["over"]:
        call["over"] = {k: [0.5, 1.0] for k in [f"q0.{system.coordinates[0]}", "e"]}
    named(name)(system, **call)


def test_derivatives_are_those_of_the_run_with_the_parameter_h():
    paddle = ex.models.juggling()
    own, low = (
        ex.simulate(paddle, "EventDriven", t_end=2, **h).events[1].t for h in ({}, {"h": 0.6})
    )
    for method in ("direct", "adjoint", "complex_step", "finite_difference"):
        found = ex.sensitivity(paddle, wrt="g", method=method, t_end=2, h=0.6)
        assert found.solution.rho["h"] == 0.6
        assert found.events[1].t == pytest.approx(low, rel=1e-9) != pytest.approx(own, rel=1e-3)
    assert ex.sensitivity(paddle, wrt="h", t_end=1, h="3/5").solution.rho["h"] == 0.6


def test_a_method_without_steps_takes_no_h():
    ball = ex.models.bouncing_ball()
    for method in ("direct", "adjoint", "complex_step", "finite_difference"):
        words = said(lambda m=method: ex.sensitivity(ball, wrt="g", method=m, h=-5))
        assert (
            f"h = -5 is the step size of method 'discrete', and method {method!r} takes none"
            in words
        )
    assert "'bouncing_ball' is a name, not a system" in said(
        lambda: ex.sensitivity("bouncing_ball", h=1)
    )
    found = ex.sensitivity(ball, wrt="g", method="discrete", t_end=0.1, h=1e-2)
    assert found.method == "discrete"
    with pytest.raises(ex.BadValue, match="must be greater than zero"):
        ex.sensitivity(ball, wrt="g", method="discrete", t_end=0.1, h=-5)


def test_a_step_size_that_may_be_the_parameter_h_is_refused():
    stones = ex.models.dominoes()
    brief = {"t_end": 0.1, "schemes": "MoreauJean"}
    alone = (
        "h = 0.05 may be the step size or the parameter 'h' of '8 dominoes'. For the parameter "
        "write rho={'h': 0.05}; for the step size write rho={'h': 0.048} beside it"
    )
    assert alone in said(lambda: ex.study.compare_schemes(stones, h=0.05, **brief))
    assert alone in said(lambda: ex.sensitivity(stones, wrt="g", method="discrete", h=0.05))
    assert alone in said(lambda: ex.study.work_precision(stones, h=0.05, t_end=0.01))
    for h, rho in ((5e-3, None), (0.031, {"h": 0.06})):
        found = ex.study.compare_schemes(stones, h=h, rho=rho, **brief).runs[0].solution
        assert found.scheme.h == h
        assert found.rho["h"] == (0.048 if rho is None else 0.06)


def test_a_number_for_the_start_may_be_the_parameter_x0():
    block = ex.StepSystem(
        "block", x="q", f=["u"], params={"u": 0.0, "x0": 0.2}, start={"x": ["x0"]}
    )
    task = ex.OptimalControlProblem(
        block, t_end=1.0, intervals=2, running="q**2", controls="u", bounds={"u": (-1, 1)}
    )
    words = "For the parameter write rho={'x0': 0.5}; for the start write x0=[0.5]."
    assert words in said(lambda: ex.optimize(task, x0=0.5))
    plan = ex.optimize(task)
    assert words in said(lambda: plan.again(x0=0.5))
    assert plan.again(x0=[0.5]).x[0] == [0.5]
