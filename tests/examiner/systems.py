"""Systems that the gallery does not have: constraints, friction in space, discs, random fields."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import explorer as ex
from explorer import Contact, Param

P = Param


def _rods(count: int) -> Any:
    """A chain of point masses on rods above a floor, absolute coordinates."""
    names = " ".join(f"x{k} y{k}" for k in range(1, count + 1))
    s = ex.MechanicalSystem(f"{count} rods", q=names)
    m, g, e, mu = s.params(m=P(1, 0.2, 5), g=P(9.81, 1, 20), e=P(0.5, 0, 1), mu=P(0.3, 0, 0.8))
    q = s.q
    s.mass = [[m if i == j else 0 for j in range(2 * count)] for i in range(2 * count)]
    s.force = [f for _ in range(count) for f in (0, -m * g)]
    for k in range(count):
        x0, y0 = (q[2 * k - 2], q[2 * k - 1]) if k else (0, 0)
        s.constraint((q[2 * k] - x0) ** 2 / 2 + (q[2 * k + 1] - y0) ** 2 / 2 - sp_half())
    s.contact(Contact(gap=q[-1] + 0.8 * count, e=e, mu=mu, slip=s.v[-2], name="floor"))
    s.contact(Contact(gap=q[-2] + 0.3, e=e, name="wall"))
    start = [x for k in range(1, count + 1) for x in (float(k), 0.0)]
    s.start(q=start, v=[0.0] * (2 * count), t_end=2.0, h=2e-3)
    return s


def sp_half() -> float:
    return 0.5


def _ball_in_space() -> Any:
    s = ex.MechanicalSystem("ball in space", q="x y z a b c")
    m, g, e, mu, e_t, w = s.params(
        m=P(1, 0.2, 5), g=P(9.81, 1, 20), e=P(0.6, 0, 1), mu=P(0.3, 0, 1), e_t=P(0.0, 0, 1),
        w=P(3.0, -20, 20),
    )  # fmt: skip
    R, J = 0.1, 0.004 * m
    s.mass = [[(m if i < 3 else J) if i == j else 0 for j in range(6)] for i in range(6)]
    s.force = [0, 0, -m * g, 0, 0, 0]
    vx, vy, _, wx, wy, _ = s.v
    s.contact(Contact(gap=s.q[2] - R, e=e, mu=mu, e_t=e_t, slip=(vx - R * wy, vy + R * wx),
                      name="floor"))  # fmt: skip
    s.contact(Contact(gap=1 - s.q[0] - R, e=e, mu=mu, slip=(vy - R * s.v[5], s.v[2] + R * wy),
                      name="wall"))  # fmt: skip
    s.start(q=[0, 0, 0.5, 0, 0, 0], v=[1.5, 0.4, 0, 1, w, 2], t_end=1.5, h=1e-3)
    return s


def _cart() -> Any:
    """A cart with a pendulum on a rail (constraint) between stops that give way."""
    s = ex.MechanicalSystem("cart and rod", q="x u w")
    M, m, g, k, e = s.params(M=P(2, 0.5, 5), m=P(1, 0.2, 3), g=P(9.81, 2, 15),
                             k=P(1e-4, 1e-6, 1e-2, log=True), e=P(0.4, 0, 1))  # fmt: skip
    x, u, w = s.q
    s.mass = [[M, 0, 0], [0, m, 0], [0, 0, m]]
    s.force = [-0.3 * s.v[0], 0, -m * g]
    s.constraint((u - x) ** 2 + w**2 - 1)
    s.contact(Contact(gap=0.6 - x, e=e, name="right"))
    s.contact(Contact(gap=x + 0.2, compliance=k, name="left"))
    s.start(q=[0, 1, 0], v=[0, 0, 0], t_end=3.0, h=2e-3)
    return s


def _discs() -> Any:
    s = ex.DiscSystem("discs", 6, params={"e": P(0.3, 0, 0.9), "mu": P(0.3, 0, 0.7),
                                          "R": P(0.1, 0.07, 0.12)})  # fmt: skip
    s.discs("R", mass=1, walls=[(0, 1, 0), (1, 0, 0), (-1, 0, -0.7)], e="e", mu="mu")
    q = []
    for k in range(6):
        q += [0.13 + 0.22 * (k % 3) + 0.01 * (k // 3), 0.3 + 0.3 * (k // 3), 0]
    s.start(q=q, v=[0.3, -1, 0] * 3 + [-0.5, 0, 2] * 3, t_end=1.0, h=2e-3)
    return s


def _planes() -> Any:
    """Two surfaces, affine fields whose coefficients are parameters."""
    values = [(-3, 1), (3, 1), (1, 4), (-1, -1)]
    params = {"s": P(0.2, -1, 1), "x0": P(-0.5, -1, 1), "y0": P(-0.4, -1, 1)}
    fields = {f"f{k}": [f"{a} + s*y", f"{b} - s*x"] for k, (a, b) in enumerate(values)}
    return ex.FilippovSystem(
        "four fields", x="x y", params=params, c=["x", "y"],
        S=[[-1, -1], [-1, 1], [1, -1], [1, 1]], modes=fields,
        start={"x": ["x0", "y0"], "t_end": 2, "h": 0.05},
    )  # fmt: skip


def _kinks() -> Any:
    """A driven oscillator with dry friction and a stop spring: kinks of |x| and max."""
    return ex.StepSystem(
        "kinks", x="x v", params={"mu": P(0.4, 0, 1), "k": P(5, 0, 50), "w": P(1.3, 0.5, 3),
                                  "A": P(1.0, 0.2, 3)},
        f=["v", "-x - mu*sign(v) - k*max(x - 0.5, 0) - 0.1*v*abs(v) + A*cos(w*t)"],
        start={"x": [0.3, 0.0], "t_end": 10, "h": 0.05},
    )  # fmt: skip


def _curved() -> Any:
    """A curved surface, fields that turn."""
    return ex.FilippovSystem(
        "curved", x="x y", params={"a": P(0.5, -1, 1), "b": P(1.0, 0.2, 3), "d": P(0.3, -1, 1)},
        c=["x**2 + b*y**2 - 1"],
        modes={"out": ["-y - a*x", "x - a*y"], "in": ["y + d*x", "-x + a"]},
        start={"x": [1.6, 0.2], "t_end": 6, "h": 0.05},
    )  # fmt: skip


def _kinked_force() -> Any:
    """A mechanical system whose force has kinks and whose floor has friction."""
    s = ex.MechanicalSystem("kinked", q="x y")
    m, _k, _d, e, mu, _A = s.params(m=P(1, 0.3, 3), k=P(20, 1, 200), d=P(0.3, 0, 2), e=P(0.6, 0, 1),
                                 mu=P(0.2, 0, 0.8), A=P(2, 0, 10))  # fmt: skip
    s.mass = [[m, 0], [0, m]]
    s.force = [
        "-k*Max(x - 0.3, 0) - d*v_x*Abs(v_x) - 5*x + A*cos(2*t)",
        "-9.81*m - d*v_y*Abs(v_y)",
    ]
    s.contact(Contact(gap="y", e=e, mu=mu, slip="v_x", name="floor"))
    s.start(q=[0.0, 1.0], v=[2.0, 0.0], t_end=3.0, h=2e-3)
    return s


def _bounce_modes() -> Any:
    """A hybrid system with resets, a kink, several guards and a condition."""
    return ex.HybridSystem(
        "bounces", x="x v c", params={"g": P(9.81, 2, 20), "e": P(0.7, 0.1, 0.95),
                                      "k": P(40, 5, 200), "w": P(4, 1, 8), "A": P(0.1, 0, 0.4)},
        modes={"air": ["v", "-g - 0.1*v*Abs(v)", "0"], "bed": ["v", "-g - k*x - 0.5*v", "1"]},
        guards=[
            {"mode": "air", "r": "x", "direction": -1, "to": "bed", "name": "lands", "reset": {"v": "e*v"}},
            {"mode": "bed", "r": "x", "direction": 1, "to": "air", "name": "leaves"},
            {"mode": "air", "r": "x - 1.2 - A*sin(w*t)", "direction": 1, "name": "lid",
                 "reset": {"v": "-e*v", "c": "c + 1"}, "when": "v"},
            {"mode": "*", "r": "sin(w*t)", "direction": 0, "name": "ticks", "reset": {"c": "c/2"}},
        ],
        start={"x": [1.0, 3.0, 0.0], "mode": "air", "t_end": 4, "h": 0.01},
    )  # fmt: skip


def _ladder() -> Any:
    """Diodes and a relay, nonlinear resistors."""
    return ex.FirstOrderSystem(
        "ladder", x="u i w", params={"R": P(2, 0.2, 20), "L": P(0.5, 0.05, 2), "w0": P(6, 1, 20),
                                     "B": P(1, 0.1, 4)},
        laws={"d1": "complementarity", "d2": "complementarity",
              "s": {"kind": "relay", "lb": "-B", "ub": "B"}},
        f=["-u/R - i - u**3/9", "u/L - 0.2*i", "-w + 3*sin(w0*t)"],
        r={"u": "d1 - d2", "i": "s", "w": "-2*s + d2"}, y={"d1": "u + d1/5", "d2": "w - u + R*d2",
                                                            "s": "-(i - w) + 0.1*s"},
        start={"x": [1, 0, 0.5], "t_end": 4, "h": 5e-3},
    )  # fmt: skip


def _corner() -> Any:
    """A body in a corner: two plastic contacts, with or without gravity and friction."""
    s = ex.MechanicalSystem("corner", q="x y")
    m, g, mu, u = s.params(m=P(1, 0.3, 3), g=P(2.0, 0, 10), mu=P(0.2, 0, 0.8), u=P(1.0, 0.2, 3))
    s.mass, s.force = [[m, 0], [0, m]], [-m, -m * g]
    s.contact(Contact(gap="x", e=0, mu=mu, slip="v_y", name="wall"))
    s.contact(Contact(gap="y", e=0, mu=mu, slip="v_x", name="floor"))
    s.start(q=[1.0, 0.6], v=[-u, -0.3], t_end=2.0, h=5e-3)
    return s


def _storeys() -> Any:
    """Three storeys that yield, on a base that shakes as a record does."""
    s = ex.MechanicalSystem("yielding storeys", q="u1 u2 u3")
    m, k, f_y, b, d, A = s.params(m=P(1, 0.3, 3), k=P(200, 20, 1000), f_y=P(3, 0.3, 30),
                                  b=P(0.05, 0, 0.9), d=P(0.5, 0, 3), A=P(5, 0, 30))  # fmt: skip
    s.mass = [[m if i == j else 0 for j in range(3)] for i in range(3)]
    s.force = [-d * v for v in s.v]
    below = 0
    for k_, q in enumerate(s.q):
        s.spring(ex.systems.BilinearSpring(q - below, k=k * (3 - k_), f_y=f_y * (3 - k_), b=b))
        below = q
    s.forcing(ex.systems.Record(0.04, _shaken(), [-A * m] * 3))
    s.start(q=[0, 0, 0], v=[0, 0, 0], t_end=4.0, h=5e-3)
    return s


def _shaken_stop() -> Any:
    """A mass between a spring and a rough floor with a stop, shaken by a record."""
    s = ex.MechanicalSystem("shaken", q="x y")
    m, k, e, mu, A = s.params(m=P(1, 0.3, 3), k=P(40, 5, 200), e=P(0.6, 0, 1), mu=P(0.2, 0, 0.8),
                              A=P(4, 0, 20))  # fmt: skip
    s.mass = [[m, 0], [0, m]]
    s.force = [-k * s.q[0] - 0.2 * s.v[0], -9.81 * m]
    s.contact(Contact(gap="y", e=e, mu=mu, slip="v_x", name="floor"))
    s.contact(Contact(gap="0.1 - x", e=e, name="stop"))
    s.forcing(ex.systems.Record(0.05, _shaken(), [A * m, 0]))
    s.start(q=[0, 0.05], v=[0, 0], t_end=3.0, h=2e-3)
    return s


def _shaken() -> Any:
    rng = np.random.default_rng(7)
    return np.convolve(rng.normal(size=120), np.ones(5) / 2, "same")


EXTRA = {
    "one rod": lambda: _rods(1), "three rods": lambda: _rods(3), "space": _ball_in_space,
    "cart": _cart, "discs": _discs, "planes": _planes, "kinks": _kinks, "curved": _curved,
    "kinked force": _kinked_force, "bounces": _bounce_modes, "ladder": _ladder, "corner": _corner,
    "yielding storeys": _storeys, "shaken": _shaken_stop,
}  # fmt: skip


@cache
def made(name: str) -> Any:
    """Return a system of the gallery, or one of these."""
    from explorer.models import models

    return EXTRA[name]() if name in EXTRA else models[name]()


def names() -> list[str]:
    from explorer.models import models

    return [*models, *EXTRA, *EXTRA]
