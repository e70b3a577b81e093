"""Small hybrid systems for tests: a relay, a reset with and without an end, one that fails."""

from __future__ import annotations

import numpy as np

import explorer as ex
from explorer import HybridSystem, Param


def heater() -> HybridSystem:
    """Two modes, one state, no reset."""
    return HybridSystem(
        "room", x="T", units="degC", params={"a": Param(0.3, 0.1, 1, "1/s"), "U": Param(21, 20, 25)},
        modes={"on": ["a*(30 - T)"], "off": ["a*(15 - T)"]},
        guards=[{"mode": "on", "r": "T - U", "direction": +1, "to": "off", "name": "too hot"},
                {"mode": "off", "r": "T - 19", "to": "on", "name": "too cold"}],
        start={"x": [20], "t_end": 12},
    )  # fmt: skip


def ball_with_reset() -> HybridSystem:
    """States of two units that jump, infinitely often in 4.06 s; then another mode."""
    ball = HybridSystem(
        "ball with resets", x="y v", units=("m", "m/s"),
        params={"g": Param(9.81, 1, 20, "m/s2"), "e": Param(0.8, 0.1, 0.9)},
        modes={"flight": ["v", "-g"], "rest": ["0", "0"]},
        guards=[{"mode": "flight", "r": "y", "reset": {"y": "0", "v": "-e*v"}, "zeno": "rest", "name": "floor"}],
        start={"x": [1, 0], "t_end": 5},
    )  # fmt: skip
    ball.sketch(ex.ground((1, 0), (-1, 0)), ex.circle(0, ball.x[0] + 0.1, 0.1))
    ball.preset("dull", "It comes to rest soon.", e=0.3)

    def exact(t: np.ndarray, rho: dict[str, float]) -> dict[str, np.ndarray]:
        form = ex.models.bouncing_ball().exact(t, {"y0": 1.0, "m": 1.0, **rho})
        return {"x": np.column_stack([form["q"], form["v"]])}

    ball.exact = exact
    return ball


def clock() -> HybridSystem:
    """Three units and more, a guard of time, and an end."""
    return HybridSystem(
        "clock", x="theta omega a b c", units=("rad", "rad/s", "V", "A", "K"),
        params={"w": Param(1, 0.5, 2, "rad/s")},
        modes={"tick": ["omega", "0", "1", "-b", "a - c"]},
        guards=[{"mode": "tick", "r": "t - 2.5", "direction": +1, "terminal": True, "name": "midnight"},
                {"mode": "tick", "r": "theta - 1", "direction": +1, "reset": {"theta": "0"}, "name": "turn"}],
        start={"x": [0, "w", 0, 1, 0], "t_end": 4},
    )  # fmt: skip


HYBRIDS = {build.__name__: build for build in (heater, ball_with_reset, clock)}
