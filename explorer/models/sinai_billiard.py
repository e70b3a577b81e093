"""Sinai's billiard: a square table of side 1 m with a disc of radius r in the middle.

The map from collision to collision in the coordinates of Birkhoff: s, the length along the wall
(0 to 4 m counterclockwise along the square, then clockwise around the disc), and p = u . t, the
part of the unit velocity along it, which a reflection keeps. It keeps the area ds dp. The disc
scatters, so it is ergodic with an exponent above zero (Sinai, Russ. Math. Surv. 25 (1970) 137,
doi:10.1070/RM1970v025n02ABEH003794). The mean way between collisions is pi A / (length of all
walls); between those with the disc, pi A / (2 pi r), as on a torus of side 1 m with one disc:
1.195428 m for r = 0.3 m (Chernov, J. Stat. Phys. 88 (1997) 1, doi:10.1007/BF02508462).
"""

from collections.abc import Callable

import numpy as np
import sympy as sp

from explorer.compiled.observe import observe
from explorer.models import register
from explorer.parameters import Param
from explorer.results.solution import Solution
from explorer.systems import MapSystem
from explorer.systems.sketch import circle, line


def _mean(run: Callable[..., Solution]) -> float:
    """Return the mean way between collisions with the disc, among 400 000 collisions, in m."""
    done = run(t_end=400_000)
    end = 2 * sum(len(shape.points) for shape in done.system.shapes)
    place = observe(done, "sketch")[:, end - 2 : end]  # the ball is the last shape
    gone = np.append(0, np.cumsum(np.linalg.norm(np.diff(place, axis=0), axis=1)))
    return float(np.diff(gone[done.x[:, 0] >= 4]).mean())


@register(
    group="maps",
    references=("sinai-1970", "chernov-1997"),
    measures={
        "Sinai: mean way between collisions with the disc, in m": _mean,
    },
)
def sinai_billiard() -> MapSystem:
    """Return a ball on a square table with a disc."""
    table = MapSystem(
        "Sinai's billiard",
        x="s p",
        units=("m", ""),
        text="A disc scatters: directions that differ by little soon have nothing in common.",
    )
    s, p = table.x
    r, s0, p0 = table.params(
        r=Param(0.3, 0.05, 0.45, "m", "radius of the disc"),
        s0=Param(0.2, 0, 5, "m", "place at the start"),
        p0=Param(0.4, -0.99, 0.99, "", "direction at the start"),
    )
    half = sp.Rational(1, 2)
    (at,) = table.let(at=sp.Mod(s, 4 + 2 * sp.pi * r))
    turn = (at - 4) / r

    def by_wall(*values: sp.Expr) -> sp.Expr:
        ends = [at < 1, at < 2, at < 3, at < 4, True]
        return sp.Piecewise(*zip(values, ends, strict=True))

    x, y, tx, ty, q = table.let(
        x=by_wall(at - half, half, 5 * half - at, -half, r * sp.cos(turn)),
        y=by_wall(-half, at - 3 * half, half, 7 * half - at, -r * sp.sin(turn)),
        tx=by_wall(1, 0, -1, 0, -sp.sin(turn)),
        ty=by_wall(0, 1, 0, -1, -sp.cos(turn)),
        q=sp.sqrt(sp.Max(1 - p**2, 0)),
    )
    ux, uy = table.let(ux=p * tx - q * ty, uy=p * ty + q * tx)
    (near,) = table.let(near=x * ux + y * uy)
    (meets,) = table.let(meets=near**2 - x**2 - y**2 + r**2)
    (way,) = table.let(way=-near - sp.sqrt(sp.Max(meets, 0)))
    nx, ny = table.let(nx=x + way * ux, ny=y + way * uy)
    (angle,) = table.let(angle=sp.atan2(ny, nx))
    around = sp.Piecewise((-angle, angle <= 0), (2 * sp.pi - angle, True))
    table.branch("disc", [4 + r * around, (ny * ux - nx * uy) / r], when=[-near, meets])
    to_x, to_y = table.let(to_x=half - x * sp.sign(ux), to_y=half - y * sp.sign(uy))
    side = to_y * sp.Abs(ux) - to_x * sp.Abs(uy)  # > 0: an upright wall comes first
    up, across = y + to_x / sp.Abs(ux) * uy, x + to_y / sp.Abs(uy) * ux
    table.branch("right wall", [3 * half + up, uy], when=[side, ux])
    table.branch("left wall", [7 * half - up, -uy], when=side)
    table.branch("upper wall", [5 * half - across, -ux], when=uy)
    table.branch("lower wall", [half + across, ux])
    table.straight = True
    table.start(x=[s0, p0], t_end=200)
    corners = [(-half, -half), (half, -half), (half, half), (-half, half)]
    table.sketch(
        line(*corners, corners[0], role="node"),
        circle(0, 0, r, role="fixed"),
        circle(table.whole(x), table.whole(y), "0.02"),
    )
    table.published = {
        "Sinai: mean way between collisions with the disc, in m": (
            1.195428,
            2e-2,
            "Chernov 1997, pi A / (2 pi r)",
        ),
    }
    table.preset("a small disc", "Long ways between collisions with it.", r=0.1)
    table.preset("nearly closed", "The four corners hardly know of each other.", r=0.45)
    return table
