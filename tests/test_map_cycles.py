"""The equations of a cycle of a map against the map, and its margins against the way to the border."""

from __future__ import annotations

import numpy as np
import pytest

from explorer.models import models
from explorer.study.map_cycles import MapCycles

RHO = {"tau_L": 1.5, "delta_L": 0.4, "tau_R": -1.2, "delta_R": 0.7, "mu": 0.3, "x0": 0.1}
POINTS = np.array([[-0.4, 0.2], [0.9, -0.5], [0.25, 0.6]])


def following(x: np.ndarray, mu: float) -> np.ndarray:
    """Return the next state, side by side."""
    side = "L" if x[0] < 0 else "R"
    return np.array([RHO[f"tau_{side}"] * x[0] + x[1] + mu, -RHO[f"delta_{side}"] * x[0]])


def equations(u: np.ndarray) -> np.ndarray:
    points = u[:-1].reshape(-1, 2)
    ends = [following(x, u[-1]) for x in points]
    return np.concatenate([f - points[(k + 1) % len(points)] for k, f in enumerate(ends)])


def test_equations_slopes_multipliers_and_margins_of_a_cycle_are_those_of_the_map():
    system = models["border_collision_plane"]()
    rho = np.array([RHO[name] for name in system.parameters])
    problem = MapCycles(system, "mu", rho, POINTS, 2.0)
    u = np.array([*POINTS.ravel(), 0.35])
    found = problem.evaluate(u)
    np.testing.assert_allclose(found.G, equations(u), atol=1e-14)
    slopes = [(equations(u + h) - equations(u - h)) / 2e-3 for h in 1e-3 * np.eye(len(u))]
    assert found.jacobian == pytest.approx(np.transpose(slopes), abs=1e-10)  # it is linear
    product = np.eye(2)
    for x in POINTS:
        side = "L" if x[0] < 0 else "R"
        product = np.array([[RHO[f"tau_{side}"], 1], [-RHO[f"delta_{side}"], 0]]) @ product
    assert sorted(found.data.multipliers, key=abs) == pytest.approx(
        sorted(np.linalg.eigvals(product), key=abs)
    )
    assert found.margins == pytest.approx(
        {f"border {k}": abs(x[0]) ** 0.5 for k, x in enumerate(POINTS)}
    )
    assert [problem.distance(k, u) for k in range(3)] == pytest.approx(abs(POINTS[:, 0]))


def test_the_next_state_of_one_unknown_is_asked_at_the_state():
    system = models["border_collision"]()
    rho = np.array([p.value for p in system.parameters.values()])
    problem = MapCycles(system, next(iter(system.parameters)), rho, np.array([[0.2]]), 1.0)
    here, there = problem._piece(0, np.array([0.2])), problem._piece(0, np.array([0.7]))
    assert there[0] - here[0] == pytest.approx(here[1][0] * 0.5)
    assert np.abs(here[1]).max() > 0.1
