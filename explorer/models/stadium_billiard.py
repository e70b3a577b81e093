"""Billiard in a stadium: half circles of radius R, joined by straight walls of length L.

The map from collision to collision in the coordinates of Birkhoff: s, the length along the wall,
counterclockwise from the left end of the lower straight wall, and p = u . t, the part of the unit
velocity along it, which a reflection keeps. It keeps the area ds dp, so its exponents sum up to
zero. For L > 0 it is ergodic (Bunimovich, Commun. Math. Phys. 65 (1979) 295,
doi:10.1007/BF01197884), and the mean way between collisions is pi A / (length of the wall)
(Chernov, J. Stat. Phys. 88 (1997) 1, doi:10.1007/BF02508462): 2.181812 m for R = 1 m, L = 2 m.
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
    """Return the mean way between 200 000 collisions, in m."""
    done = run(t_end=200_000)
    end = 2 * sum(len(shape.points) for shape in done.system.shapes)
    place = observe(done, "sketch")[:, end - 2 : end]  # the ball is the last shape
    return float(np.linalg.norm(np.diff(place, axis=0), axis=1).mean())


@register(
    group="maps",
    references=("bunimovich-1979", "chernov-1997"),
    measures={
        "stadium: mean way between collisions, in m": _mean,
    },
)
def stadium_billiard() -> MapSystem:
    """Return a ball on a table with two straight and two round walls."""
    table = MapSystem(
        "billiard in a stadium",
        x="s p",
        units=("m", ""),
        text="Round walls focus, and still all is chaos: the way between them undoes it.",
    )
    s, p = table.x
    L, R, s0, p0 = table.params(
        L=Param(2, 0, 4, "m", "straight walls"),
        R=Param(1, 0.5, 2, "m", "radius"),
        s0=Param(0.5, 0, 10, "m", "place at the start"),
        p0=Param(0.3, -0.99, 0.99, "", "direction at the start"),
    )
    half, arc = L / 2, sp.pi * R
    (at,) = table.let(at=sp.Mod(s, 2 * L + 2 * arc))
    right, left = (at - L) / R - sp.pi / 2, (at - 2 * L - arc) / R + sp.pi / 2

    def by_wall(*values: sp.Expr) -> sp.Expr:
        ends = [at < L, at < L + arc, at < 2 * L + arc, True]
        return sp.Piecewise(*zip(values, ends, strict=True))

    x, y, tx, ty, q = table.let(
        x=by_wall(
            at - half, half + R * sp.cos(right), half + L + arc - at, -half + R * sp.cos(left)
        ),
        y=by_wall(-R, R * sp.sin(right), R, R * sp.sin(left)),
        tx=by_wall(1, -sp.sin(right), -1, -sp.sin(left)),
        ty=by_wall(0, sp.cos(right), 0, sp.cos(left)),
        q=sp.sqrt(sp.Max(1 - p**2, 0)),
    )
    ux, uy = table.let(ux=p * tx - q * ty, uy=p * ty + q * tx)
    # x where the level of the upper or lower wall is reached, times |uy|, which may be zero
    (hit,) = table.let(hit=x * sp.Abs(uy) + (R - y * sp.sign(uy)) * ux)
    inside = [half * sp.Abs(uy) - hit, half * sp.Abs(uy) + hit]

    def round_wall(side: int) -> tuple[sp.Expr, sp.Expr]:
        """Return the place as an angle from the axis of the half circle, and the direction."""
        name = "_R" if side > 0 else "_L"
        dx = x - side * half
        (b,) = table.let(**{f"b{name}": dx * ux + y * uy})
        (way,) = table.let(**{f"way{name}": -b + sp.sqrt(sp.Max(b**2 - dx**2 - y**2 + R**2, 0))})
        nx, ny = table.let(**{f"nx{name}": dx + way * ux, f"ny{name}": y + way * uy})
        return sp.atan2(side * ny, side * nx), (nx * uy - ny * ux) / R

    (angle, along), (angle_left, along_left) = round_wall(1), round_wall(-1)
    table.branch("lower wall", [hit / sp.Abs(uy) + half, ux], when=[-uy, *inside])
    table.branch("upper wall", [L + arc + half - hit / sp.Abs(uy), -ux], when=[uy, *inside])
    table.branch("right wall", [L + R * (angle + sp.pi / 2), along], when=hit)
    table.branch("left wall", [2 * L + arc + R * (angle_left + sp.pi / 2), along_left])
    table.straight = True
    table.start(x=[s0, p0], t_end=200)
    turns = [sp.pi * k / 16 - sp.pi / 2 for k in range(17)]
    wall = [(half + R * sp.cos(w), R * sp.sin(w)) for w in turns]
    wall += [(-half - R * sp.cos(w), -R * sp.sin(w)) for w in turns]
    table.sketch(line(*wall, wall[0], role="node"), circle(table.whole(x), table.whole(y), "0.05"))
    table.published = {
        "stadium: mean way between collisions, in m": (
            2.181812,
            2e-2,
            "Chernov 1997, pi A / length",
        ),
    }
    table.preset("a circle", "L = 0: p never changes.", L=0)
    table.preset("bouncing", "Nearly straight up and down: it stays for long.", s0=1, p0=0.02)
    return table
