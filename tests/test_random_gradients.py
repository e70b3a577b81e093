"""Random systems: a gradient is that of the runs on both sides, or its trust says that it is not.

The runs beside it are at a tolerance of 1e-12, by another method; no derivative formula enters.
"""

from __future__ import annotations

import numpy as np
import pytest

import explorer as ex
from explorer import Contact, EventDriven, HybridSystem, MechanicalSystem
from explorer.derivatives.question import ask, cost_of
from explorer.derivatives.verify import _side
from explorer.schemes.newmark import Newmark


def masses(rng) -> MechanicalSystem:
    """Two masses, pushed, against walls and each other."""
    more = [Contact("1 + y - x", e="e2", name="pair"), Contact("d + y + 0.3", e="e2", name="left")]
    return MechanicalSystem(
        "masses", q="x y", mass=[[1, 0], [0, "m2"]],
        params={"k": rng.uniform(1, 30), "F": rng.uniform(0.5, 4), "w": rng.uniform(1, 5), "m2": rng.uniform(0.3, 3),
                "e1": rng.uniform(0.2, 0.95), "e2": rng.uniform(0.2, 0.95), "d": rng.uniform(0.02, 0.5)},
        force=["-k*(x - y) - 0.1*v_x + F*cos(w*t)", "-k*(y - x) - 2*y"],
        contacts=[Contact("d - x", e="e1", name="wall"), *more[: rng.integers(3)]],
        start={"q": [rng.uniform(-0.5, 0), 0], "v": [rng.uniform(-1, 1), 0], "t_end": rng.uniform(1, 3)},
    )  # fmt: skip


def block(rng) -> MechanicalSystem:
    """A block with friction, pushed to and fro: it slides, turns, sticks."""
    return MechanicalSystem(
        "block", q="x y",
        params={"mu": rng.uniform(0.1, 0.6), "F": rng.uniform(1, 12), "w": rng.uniform(1, 7), "v0": rng.uniform(-2, 2)},
        force=["F*sin(w*t) - 5*x", "-9.81"], contacts=[Contact("y", mu="mu", slip="v_x")],
        start={"v": ["v0", 0], "t_end": rng.uniform(0.5, 3)},
    )  # fmt: skip


def chain(rng) -> HybridSystem:
    """Resets that land in other guards, beyond them or before."""
    return HybridSystem(
        "chain", x="x y", modes={"A": ["1 + 0.3*y", "-x*c"], "B": ["-1 + 0.2*y", "c"], "C": ["c/2", "1 + x/10"]},
        params={"a": rng.uniform(0.5, 1.5), "b": rng.uniform(-0.5, 0.45), "c": rng.uniform(0.2, 0.9), "q": rng.uniform(0.5, 2)},
        guards=[
            {"mode": "A", "r": "x - a", "direction": 1, "to": "B", "reset": {"x": "x - q", "y": "y + x*c"}},
            {"mode": "B", "r": "x - b", "direction": -1, "to": "C", "reset": {"y": "y*c + x"}},
            {"mode": "C", "r": "y - q*c", "direction": 1, "to": "A", "reset": {"x": "x*c", "y": "y - q"}},
            {"mode": "A", "r": "y + q", "direction": -1, "to": "A", "reset": {"y": "q/2 + c"}},
        ],
        start={"x": [0, rng.uniform(-0.3, 0.5)], "mode": "A", "t_end": rng.uniform(2, 6)},
    )  # fmt: skip


def meeting(rng) -> HybridSystem:
    """Two guards at one time, with resets and modes that commute or do not."""
    first = [{"x": "x*c"}, {"x": "x + d"}, {"y": "y - d"}, {"x": "-x", "y": "y + d*x"}][
        rng.integers(4)
    ]
    second = [{"y": "y*c"}, {"x": "x - c"}, {"y": "2*y + x"}][rng.integers(3)]
    return HybridSystem(
        "meeting", x="x y", modes={"on": ["1 + 0.2*y", "x*c"], "B": ["-x", "c"], "D": ["x - y", "1"]},
        params={"a": 1.0, "b": 1.0, "c": rng.uniform(0.2, 2), "d": rng.uniform(-1, 1)},
        guards=[
            {"mode": "on", "r": "t - a", "direction": 1, "to": str(rng.choice(["on", "B"])), "reset": first},
            {"mode": "on", "r": "t - b", "direction": 1, "to": "on", "reset": second},
            {"mode": "B", "r": "t - b", "direction": 1, "to": "D", "reset": second},
        ],
        start={"x": [0.3, 0.2], "mode": "on", "t_end": rng.uniform(1.2, 2.5)},
    )  # fmt: skip


def together(rng) -> MechanicalSystem:
    """Two bodies that land at once, coupled by inertia, by a spring or not, one rough or not."""
    rough = {"mu": 0.3, "slip": "v_x - 0.2*v_y1"} if rng.integers(2) else {}
    return MechanicalSystem(
        "together", q="y1 y2 x", mass=[[1, "m", 0], ["m", 1, 0], [0, 0, 1]],
        params={"h1": 1.0, "h2": 1.0, "e": 0.6, "m": float(rng.choice([0, 0.3, -0.4])), "k": float(rng.choice([0, 5]))},
        force=["-9.81*(1 + m) - k*(y1 - y2)", "-9.81*(1 + m) - k*(y2 - y1)", "-x"],
        contacts=[Contact("y1", e="e", name="A"), Contact("y2", e=0.5, name="B", **rough)],
        start={"q": ["h1", "h2", 0.1], "v": [0, 0, rng.uniform(-1, 1)], "t_end": rng.uniform(0.5, 0.9)},
    )  # fmt: skip


def apart(system, scheme, method, beside) -> tuple[float, bool]:
    """Return how far a gradient is from the quotients on both sides, and whether it is trusted."""
    first, *_, last = system._state_names()
    cost = {"w": f"{first}**2 + 2*{last}", "g": f"{first}*{last}"}
    sens = ex.sensitivity(system, scheme, cost=cost, method=method, directional="both")
    question = ask(system, beside, None, cost, None, None, None, {})
    middle = cost_of(question, question.run(wrt=False))
    size = max(np.abs(np.nan_to_num(sens.cost_gradient)).max(), 1e-6)
    worst = 0.0
    for j, mine in enumerate(sens.cost_gradient):
        for sign in (-1.0, 1.0):
            slope, error = _side(question, j, sign, middle)
            if np.isfinite(slope) and np.isfinite(mine):
                worst = max(worst, (abs(mine - slope) - 5 * error) / size)
    return worst, sens.trust.ok


@pytest.mark.broad
@pytest.mark.parametrize("kind", [masses, block, chain, meeting, together])
@pytest.mark.parametrize("seed", range(6))
def test_a_gradient_is_right_or_not_trusted(kind, seed):
    rng = np.random.default_rng(seed)
    system, pair = kind(rng), ("dop853", "dopri5", "radau")[seed % 3]
    scheme = EventDriven(method=pair, rtol=1e-8, atol=1e-9)
    beside = EventDriven(method="dopri5" if pair == "dop853" else "dop853", rtol=1e-12, atol=1e-13)
    method = "adjoint" if seed % 2 and pair != "radau" else "direct"
    off, trusted = apart(system, scheme, method, beside)
    assert off < 1e-4 or not trusted


@pytest.mark.parametrize("seed", range(3))
def test_a_gradient_by_newmark_is_that_of_its_steps(seed):
    """The quotients are of the same steps; an event cuts one of them in two."""
    scheme = EventDriven(method=Newmark(h=1e-3))
    off, trusted = apart(masses(np.random.default_rng(seed)), scheme, "direct", scheme)
    assert off < 1e-3 or not trusted
