"""Constrained systems beside minimal coordinates, with sensitivities through every event.

The reference (tests/minimal.py) knows no multipliers, no saltation and no projection.
"""

from __future__ import annotations

import numpy as np
import pytest
import sympy as sp
from minimal import Minimal
from test_bodies import spin_of, stool

import explorer as ex
from explorer.models import models

X, Y, A = sp.symbols("X Y A_")
X_DOT, Y_DOT, E = sp.symbols("X_dot Y_dot e")


def knees() -> list[sp.Expr]:
    """Return the natural coordinates of the five-bar by those of its lowest joint."""
    LA, L2 = sp.symbols("LA L2")
    upper = []
    for side in (-1, 1):
        w = sp.Matrix([X - sp.Rational(side, 2), Y])
        d = sp.sqrt(w.dot(w))
        along = (LA**2 - L2**2 + d**2) / (2 * d)
        out = side * sp.sqrt(LA**2 - along**2)
        turned = sp.Rational(side, 2) + (along * w[0] - out * w[1]) / d
        upper.append((turned, (along * w[1] + out * w[0]) / d))
    return [*upper[0], X, Y, *upper[1]]


def slider_crank() -> list[sp.Expr]:
    """Return the natural coordinates of the slider-crank by the angle of its crank."""
    r, length = sp.symbols("r l")
    x, y = r * sp.cos(A), r * sp.sin(A)
    return [x, y, x + sp.sqrt(length**2 - y**2), sp.Integer(0)]


def five_bar(layout, contact=None, force=None, **params):
    """Return a five-bar with another contact, forces besides, and more parameters."""
    spec = models[f"five_bar_{layout}"]().to_spec() | {"name": "five-bar", "potential": None}
    spec["params"] = spec["params"] | {k: {"value": x} for k, x in params.items()}
    if contact:
        spec["contacts"] = [{"e": "e", "name": "ground"} | contact]
    if force:
        spec["force"] = [f"{a} + {b}" for a, b in zip(spec["force"], force, strict=True)]
    return ex.MechanicalSystem.from_spec(spec)


def begin(*given):
    """Return theta and its rates at the start; names stand for parameters."""

    def start(rho, names):
        rows = [rho[names.index(x)] if isinstance(x, str) else x + 0 * rho[0] for x in given]
        return np.array(rows)

    return start


CASES = {
    "five-bar A, Newton's law": (
        lambda: five_bar("a"), [X, Y], knees(), begin("x20", "y20", 0, 0), {"e": E}, 2.0,
        {"e": 0.7, "k": 93.0, "LA": 1.43, "ground": -2.31, "x20": 0.24, "y20": -2.0},
        ["L01", "e", "ground", "x20"],
    ),
    "five-bar B, law of velocities, damped": (
        lambda: five_bar(
            "b", {"gap": "y_2 - ground", "reset": {"x_2": "0.9*v_x_2 + e*x_2/20", "y_2": "-e*v_y_2"}},
            ["-c*v_x_1", 0, "-c*v_x_2**3", "-c*v_y_2", 0, 0], c=0.6,
        ),
        [X, Y], knees(), begin("x20", "y20", 0, 0),
        {"e": E, "law": [0.9 * X_DOT + E * X / 20, -E * Y_DOT]}, 2.0,
        {"e": 0.8, "k": 84.0, "L2": 1.82, "ground": -2.28, "x20": -0.17, "y20": -2.0},
        ["LA", "e", "c", "x20"],
    ),
    "five-bar B on a ground that moves, e = 0": (
        lambda: five_bar("b", {"gap": "y_2 - ground - H*sin(w*t)"}, H=0.05, w=7.0),
        [X, Y], knees(), begin("x20", "y20", 0, 0), {}, 2.5,
        {"e": 0.0, "k": 87.1452, "L01": 2.26, "ground": -2.263, "x20": -0.2727, "y20": -2.0},
        ["L01", "w", "ground"],
    ),
    "slider-crank": (
        models["slider_crank_rigid"], [A], slider_crank(), begin("a0", "w0"), {"e": E}, 1.0,
        {"w0": -7.7, "r": 0.147, "l": 0.349, "s": 0.466}, ["r", "l", "m1", "w0"],
    ),
    "tether": (
        models["tether"], [X, Y], [X, Y], begin("x0", "y0", "u0", 0), {"closed": True}, 3.0,
        {"m": 1.3, "u0": 5.1}, ["g", "m", "u0"],
    ),
    "moving pivot, e = 0": (
        models["pendulum_moving_pivot"], [A],
        [sp.Symbol("A") * sp.sin(sp.Symbol("w") * sp.Symbol("t")) + sp.Symbol("L") * sp.sin(A),
         -sp.Symbol("L") * sp.cos(A)],
        begin("a0", 0), {}, 3.0, {"e": 0.0, "w": 4.7, "A": 0.2, "d": 0.45}, ["L", "A", "w", "d"],
    ),
    "ball on a plate, e = 0": (
        models["ball_on_plate"], [A, X, Y], [sp.cos(A), sp.sin(A), X, Y],
        begin(0, "x0", "y0", 0, 0, 0), {}, 1.0, {"e": 0.0, "M": 0.6, "m": 0.7, "c": 1.2},
        ["M", "k", "x0"],
    ),
}  # fmt: skip


def apart(found, wanted):
    """Return the largest error relative to 1 + |wanted|."""
    found, wanted = np.asarray(found), np.asarray(wanted)
    return (np.abs(found - wanted) / (1 + np.abs(wanted))).max(initial=0.0)


@pytest.mark.parametrize("name", CASES)
def test_all_numbers_are_those_of_minimal_coordinates(name):
    make, theta, places, start, kinds, t_end, rho, wrt = CASES[name]
    system = make()
    q, v = system.q, system.v
    reference = Minimal(system, theta, places, e=kinds.get("e", 0), law=kinds.get("law"),
                        cost=q[0] * v[1] + q[1] ** 2)  # fmt: skip
    times, names = np.linspace(0, t_end, 6), reference.names
    rows, events = reference.run(lambda r: start(r, names), times, wrt, system.rho(rho), rtol=1e-11,
                                 closed=kinds.get("closed", False))  # fmt: skip
    assert len(events) > 1
    cost, tight = {"g": f"{q[0]}*{v[1]} + {q[1]}**2"}, 1e-11
    scheme = ex.EventDriven(rtol=tight, atol=tight / 10)
    sens = ex.sensitivity(system, scheme, wrt, cost, t_eval=times, t_end=t_end, **rho)
    run = sens.solution
    assert len(sens.events) == len(events)
    for event, (t, dt, *_) in zip(sens.events, events, strict=True):
        assert apart(event.t, t) <= 1e-8
        assert apart(event.dt_drho, dt) <= 1e-8
    for row in rows:
        k = np.searchsorted(run.t, row["t"], "right") - 1
        assert run.t[k] == row["t"]
        pairs = {"q": (run.q, sens.Q), "v": (run.v, sens.V), "lam": (run.lam, sens.Lam)}
        pairs |= {"z": (run.z, sens.Z)}
        if system.constraints:
            pairs |= {"lam_phi": (run.lam_phi, sens.Lam_phi)}
        for what, (value, slope) in pairs.items():
            assert apart(value[k], row[what][0]) <= 1e-8, what
            assert apart(slope[k], row[what][1]) <= 1e-8, what
    adjoint = ex.sensitivity(system, scheme, wrt, cost, "adjoint", t_end=t_end, check=True, **rho)
    assert adjoint.residuals["direct"] <= 1e-9
    assert adjoint.residuals["duality"] <= 1e-13
    assert run.certificate.ok


def test_impacts_of_a_body_in_space_change_its_momenta_by_their_impulses():
    """m dv = p z and J dw = sum of r x R' z p in the axes of the body, and Newton's law."""
    system, feet = stool(turn=((1, 2, 0.5), 0.2), spin=[0.8, -0.5, 0.6])
    run = ex.simulate(system, ex.EventDriven(rtol=1e-9, atol=1e-11), t_end=0.6)
    J = np.diag([0.03, 0.04, 0.05])
    hits = [e for e in run.events if e.kind == "impact"]
    assert len(hits) > 5
    for event in hits:
        k = event.row
        (before, R), (after, _) = (spin_of(run.q[j], run.v[j]) for j in (k - 1, k))
        up = R.T @ [0, 0, 1]
        turned = sum(p * np.cross(foot, up) for p, foot in zip(run.p[k], feet, strict=True))
        assert J @ (after - before) == pytest.approx(turned, abs=1e-12)
        moved = 2 * (run.v[k, :3] - run.v[k - 1, :3])
        assert moved == pytest.approx([0, 0, run.p[k].sum()], abs=1e-12)
        assert event.gap_dot_plus == pytest.approx(-0.4 * event.gap_dot_minus, rel=1e-9)
