"""Values of parameters that are given as rho={...} and by name, to every function that takes both.

Each function is called once as in `CALLS`; one that is added to the package needs an entry there.
"""

from __future__ import annotations

import inspect
from types import ModuleType

import pytest

import explorer as ex
from explorer.errors import ExplorerError

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
