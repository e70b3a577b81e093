"""How a march is stored and gone on with: the same few lines of every scheme of fixed steps."""

from __future__ import annotations

from loops import for_each
from plain import plain, put, space

SCHEMES = {
    "Euler-Moreau": (plain("time_stepping.euler_moreau"), "begin", "cross", "step"),
    "Moreau-Jean": (plain("time_stepping.moreau_jean"), "start", "cross", "advance"),
    "Newmark": (plain("time_stepping.newmark"), "begin", "cross", "step"),
    "linear Newmark": (
        plain("time_stepping.newmark_linear"), "begin_linear", "cross_linear", "step_linear"
    ),
    "nonsmooth alpha": (plain("time_stepping.nonsmooth_alpha"), "begin", "cross", "step_alpha"),
}  # fmt: skip


@for_each("name", SCHEMES)
def test_a_task_is_stored_where_there_is_room_for_it(monkeypatch, name):
    """Also where there is no byte more; its places are told then. How much it needs always is."""
    kernel, *_ = SCHEMES[name]
    for room, fits in ((0, False), (23, False), (24, True), (25, True)):
        told, memory = [], space(size=room)
        put(monkeypatch, kernel.bind, store=lambda memory, task: 24, stored=lambda *given: given,
            tell=lambda *given, told=told: told.append(given))  # fmt: skip
        assert kernel.bind("task", memory, "places") == 24
        assert [places for _, places in told] == ["places"] * fits
        assert all(task[0] is memory for task, _ in told)


@for_each("name", SCHEMES)
def test_a_run_is_the_march_of_its_scheme(monkeypatch, name):
    kernel, *parts = SCHEMES[name]
    asked, work = [], space(state="state")
    put(monkeypatch, kernel.go, march=lambda *given: asked.append(given) or 77)
    assert kernel.run("problem", "record", work) == 77
    ((*called, problem, record, _),) = asked
    assert called == [getattr(kernel, part) for part in parts]
    assert (problem, record) == ("problem", "record")
