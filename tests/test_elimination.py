"""The saddle system solved by formulas: its factors, its solution, and when they are not taken."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from kinds import SYSTEMS
from loops import for_each
from plain import opened, plain

import explorer as ex
from explorer.compiled import elimination as formulas
from explorer.compiled.flow import compile_flow
from explorer.kernels.event_driven.records import CONTACTS, DYNAMICS
from explorer.models import models
from explorer.runs.event_driven.problem import problem as problem_of

eliminate = plain("event_driven.elimination").eliminate
NAMES = ["five_bar_a", "slider_crank_rigid", "spinning_top", "pendulum_moving_pivot"]


def prepared(system, seed=0, moved=0.1, less=0.0):
    """Return the problem of a kernel near the start, and the saddle system there."""
    flow = compile_flow(system)
    table = [SimpleNamespace(address=a, data=d) for a, d in flow.table.tolist()]
    problem = opened(problem_of(flow, ()))
    problem = problem._replace(functions=problem.functions._replace(table=table))
    rho = np.array([p.value for p in system.parameters.values()])
    inp, n, rows, n_phi = problem.inp, flow.n, flow.rows, flow.n_phi
    inp[:] = flow.input(rho)
    x = flow.start(rho)[0]
    inp[0] = 0.3
    inp[1 : 1 + 2 * n] = x + moved * np.random.default_rng(seed).normal(size=2 * n)
    inp[problem.sizes.penalty + 2] = less
    for c in range(rows - n_phi, rows):
        problem.rows[c].closed = 1
    problem.state[0].held = n_phi
    dynamics, contacts = flow.bundles[DYNAMICS](inp), flow.bundles[CONTACTS](inp)
    G = contacts[2 * rows :][: rows * n].reshape(rows, n)[rows - n_phi :]
    gamma = contacts[2 * rows + rows * n :][rows - n_phi : rows]
    M = dynamics[: n * n].reshape(n, n)
    W = np.block([[M, G.T], [G, -less * np.eye(n_phi)]])
    return problem, W, np.append(dynamics[n * n :], -gamma)


@for_each(["name", "less"], [(name, less) for name in NAMES for less in (0.0, 1e-5)])
def test_factors_and_solution_are_those_of_the_saddle_matrix(name, less):
    for seed in range(5):
        problem, W, right = prepared(SYSTEMS[name], seed, less=less)
        saddle, order = problem.saddle, len(W)
        assert eliminate(problem)
        factors = saddle.W[:order, :order]
        lower, upper = np.tril(factors, -1) + np.eye(order), np.triu(factors)
        rounded = 1e-15 * (np.abs(lower) @ np.abs(upper)).max()
        assert lower @ upper == pytest.approx(W, abs=rounded)
        assert (saddle.pivots[:order] == np.arange(order)).all()
        wanted = np.linalg.solve(W, right)
        assert saddle.solution[:order] == pytest.approx(wanted, abs=1e-11 * np.abs(wanted).max())


def rods(masses, second="y2 - y1"):
    """Return masses in a plane; the first two keep their distance, the second row is given."""
    m1, m2 = masses
    return ex.MechanicalSystem(
        "rods", q="x1 y1 x2 y2", mass=[[m1, 0, 0, 0], [0, m1, 0, 0], [0, 0, m2, 0], [0, 0, 0, m2]],
        force=[1, 2, 3, 4], constraints=["(x2 - x1)**2 - 1", second],
        contacts=[ex.Contact("y1 + 1", name="floor")],
        start={"q": [0, 0, 1, 0]},
    )  # fmt: skip


def refuses(problem):
    """Whether the factors are not taken; then nothing has been written."""
    problem.saddle.W[:], problem.saddle.solution[:] = 7.0, 7.0
    taken = eliminate(problem)
    if not taken:
        assert (problem.saddle.W == 7.0).all()
        assert (problem.saddle.solution == 7.0).all()
    return not taken


@for_each(
    ["masses", "second", "taken"],
    [
        ((1, 2), "y2 - y1", True),
        ((1, 2e3), "y2 - y1", True),
        ((1, 2e5), "y2 - y1", False),
        ((0, 1), "y2 - y1", False),
        ((1, 2), "x2 - x1 + 0.1*(y2 - y1) - 1", True),
        ((1, 2), "x2 - x1 + 0.001*(y2 - y1) - 1", False),
        ((1, 2), "2*(x2 - x1 - 1)", False),
    ],
)
def test_factors_are_taken_where_masses_are_alike_and_constraints_apart(masses, second, taken):
    problem, _, _ = prepared(rods(masses, second), moved=0.0)
    assert refuses(problem) is not taken


def test_factors_are_of_all_constraints_and_no_contact():
    problem, _, _ = prepared(rods((1, 2)), moved=0.0)
    problem.rows[0].closed, problem.state[0].held = 1, 3
    assert refuses(problem)
    problem.rows[1].closed, problem.state[0].held = 0, 2
    assert refuses(problem)
    problem.rows[0].closed, problem.state[0].held = 0, 1
    assert refuses(problem)


def test_formulas_are_written_down_where_they_are_short(monkeypatch):
    assert compile_flow(models["pendulum"]()).offsets["eliminated"] == -1  # has no constraints
    short = compile_flow(rods((1, 2)))
    assert short.offsets["eliminated"] > 0
    monkeypatch.setattr(formulas, "_MOST", 3)
    assert compile_flow(rods((1, 3))).offsets["eliminated"] == -1


@for_each("formulation", ["index1", "projected", "penalty"])
def test_runs_by_formulas_and_by_interchanges_agree(formulation, monkeypatch):
    """Five-bar with the joint on the ground from its first impact on, and its derivatives."""
    asked = {"wrt": ["k", "L01"], "cost": {"w": "x_2 + y_2"}, "e": 0, "t_end": 0.6}
    scheme = ex.EventDriven(rtol=1e-10, formulation=formulation)

    def answer():
        sens = ex.sensitivity(models["five_bar_b"](), scheme, **asked)
        return np.concatenate([sens.solution.q[-1], sens.solution.lam[-1], sens.cost_gradient])

    by_formulas = answer()
    monkeypatch.setattr(formulas, "_MOST", 3)
    assert answer() == pytest.approx(by_formulas, rel=1e-9, abs=1e-9)
