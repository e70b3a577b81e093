"""Drill string: a motor turns a disc, a thin string twists, and a bit below rubs on rock.

    alpha' = omega_u - omega_l
    J_u omega_u' = M - b_u omega_u - k alpha
    J_l omega_l' = k alpha - T(omega_l)
    T(omega) = [T_c + (T_s - T_c) exp(-|omega| / omega_s)] sgn(omega) + b_l omega

The two discs and the friction that falls with speed are those of the set-up in Eindhoven, with
parameters of its size (Mihajlovic, van Veggel, van de Wouw and Nijmeijer, *J. Dyn. Syst. Meas.
Control* 126 (2004) 709, doi:10.1115/1.1850535). Where the bit turns steadily, d = T'(omega) < 0
pushes the oscillation: by Routh and Hurwitz the steady drilling is stable while a_2 a_1 > a_0, with

    a_2 = b_u / J_u + d / J_l,    a_1 = k / J_u + k / J_l + b_u d / (J_u J_l)
    a_0 = k (b_u + d) / (J_u J_l)

Below that torque the bit sticks and slips.
"""

from collections.abc import Callable

import numpy as np
import sympy as sp

from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import FilippovSystem
from explorer.systems.schematic import name
from explorer.systems.sketch import circle, ground, line

_GUESS = [0.17, 6.0, 6.0]  # next to steady drilling at M = 14.7


def critical(rho: dict[str, float]) -> float:
    """Return the torque in N m below which steady drilling is unstable, in closed form."""
    J_u, J_l, k, b_u = (rho[name] for name in ("J_u", "J_l", "k", "b_u"))
    u, both = b_u / J_u, k / J_u + k / J_l
    # (u + d / J_l) (both + u d / J_l) - k (b_u + d) / (J_u J_l) = 0
    square, linear = u / J_l**2, u * u / J_l + both / J_l - k / (J_u * J_l)
    constant = u * both - k * b_u / (J_u * J_l)
    d = (-linear + np.sqrt(linear**2 - 4 * square * constant)) / (2 * square)
    drop = rho["T_s"] - rho["T_c"]
    omega = rho["omega_s"] * np.log(drop / (rho["omega_s"] * (rho["b_l"] - d)))
    friction = rho["T_c"] + drop * np.exp(-omega / rho["omega_s"]) + rho["b_l"] * omega
    return float(b_u * omega + friction)


def _critical(_: Callable[..., Solution]) -> float:
    """Return the torque at which a branch of steady drilling loses its stability, in N m."""
    from explorer.study.continuation import continuation

    steady = continuation(drill_string(), parameter="M", M=14.7, over=(10, 16), guess=_GUESS)
    (point,) = steady.found("Hopf")
    return point.parameter


def _period(_: Callable[..., Solution]) -> float:
    """Return the period in s of sticking and slipping."""
    from explorer.study.limit_cycle import limit_cycle

    return limit_cycle(drill_string(), section="bit").period


@register(
    group="friction",
    references=("mihajlovic-2004",),
    measures={
        "drill string: torque at which steady drilling begins, in N m": _critical,
        "drill string: period of sticking and slipping, in s": _period,
    },
)
def drill_string() -> FilippovSystem:
    """Return two discs on a string, of which the lower one rubs."""
    system = FilippovSystem(
        "drill string",
        x="alpha omega_u omega_l",
        units=("rad", "rad/s", "rad/s"),
        text="The bit sticks, the string winds up, and the bit breaks loose.",
    )
    alpha, upper, lower = system.x
    M, J_u, b_u, k, J_l, b_l, T_s, T_c, w = system.params(
        M=Param(8, 2, 20, "N m", "torque of the motor"),
        J_u=Param(0.48, 0.1, 1, "kg m2", "inertia above"),
        b_u=Param(2.4, 1, 4, "N m s/rad", "damping above"),
        k=Param(0.075, 0.02, 0.3, "N m/rad", "stiffness of the string"),
        J_l=Param(0.035, 0.01, 0.1, "kg m2", "inertia of the bit"),
        b_l=Param(0.009, 0, 0.03, "N m s/rad", "damping of the bit"),
        T_s=Param(0.26, 0.1, 0.5, "N m", "friction at rest"),
        T_c=Param(0.05, 0.02, 0.1, "N m", "friction at high speed"),
        omega_s=Param(2.2, 0.5, 5, "rad/s", "speed over which it falls"),
    )

    def accelerations(sign: int) -> list[sp.Expr]:
        friction = sign * (T_c + (T_s - T_c) * sp.exp(-sign * lower / w)) + b_l * lower
        return [
            upper - lower,
            (M - b_u * upper - k * alpha) / J_u,
            (k * alpha - friction) / J_l,
        ]

    system.subsystem(
        {"back": accelerations(-1), "on": accelerations(1)}, c={"bit": lower}, S=[[-1], [1]]
    )
    system.start(x=[1, 3, 0], t_end=30, h=0.02)
    turn, top = alpha / 2, 3
    system.sketch(
        ground((-1.4, -0.5), (1.4, -0.5)),
        line((0, 0.3), (0, top - 0.8)),
        circle(0, top, 0.8),
        line((0, top), (0.8 * sp.cos(turn), top + 0.8 * sp.sin(turn))),
        circle(0, 0, 0.3),
        line((0, 0), (0.3 * sp.cos(turn), -0.3 * sp.sin(turn))),
        name(1.8, top, "motor"),
        name(1.2, 0, "bit"),
    )
    value = critical(dict(zip(system.parameters, system.rho(), strict=True)))
    system.published = {
        "drill string: torque at which steady drilling begins, in N m": (
            value,
            1e-6,
            "closed form, Routh and Hurwitz",
        ),
        "drill string: period of sticking and slipping, in s": (
            4.7321283,
            1e-7,
            "FESD of order 7 and event location",
        ),
    }
    system.preset("steady drilling", "Above the critical torque the bit turns evenly.", M=15)
    system.preset("hard rock", "It sticks longer, and breaks loose faster.", T_s=0.45)
    system.preset("stiff string", "The string does not wind up so far.", k=0.3)
    return system
