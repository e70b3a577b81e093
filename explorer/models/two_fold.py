"""Two-fold: both fields of a line are tangent to it at one point, x' = 1, y' = x above it and
x' = v, y' = -k x below.

For x < 0 both lead to the line, which is slid on with alpha = k / (1 + k) at the speed
(k + v) / (1 + k); at x = 0 both turn away. Behind it, for x > 0, both lead away: a solution may
stay on the line, or leave it at any time, up or down. Determinacy ends there (Filippov 1988,
section 19; Jeffrey and Colombo, *SIAM J. Appl. Dyn. Syst.* 8 (2009) 624).
"""

import numpy as np

from explorer.models import register
from explorer.parameters import Param
from explorer.systems import FilippovSystem
from explorer.systems.picture.space import space


def exact(t: np.ndarray, rho: dict[str, float]) -> dict[str, np.ndarray]:
    """Return (x, y), (n_t, 2), up to the fold; NaN behind it, or unless x0 < 0 <= y0, v, k > 0."""
    t, (x0, y0, v, k) = np.asarray(t, float), (rho[name] for name in ("x0", "y0", "v", "k"))
    states = np.full((len(t), 2), np.nan)
    if not (x0 < 0 <= y0 and v > 0 and k > 0 and 2 * y0 < x0**2):
        return {"x": states}
    met = -np.sqrt(x0**2 - 2 * y0)
    hit = met - x0
    x = np.where(t < hit, x0 + t, met + (t - hit) * (k + v) / (1 + k))
    y = np.where(t < hit, y0 + (x**2 - x0**2) / 2, 0.0)
    states[x <= 0] = np.column_stack([x, y])[x <= 0]
    return {"x": states}


@register(group="switches", references=("filippov-1988", "jeffrey-colombo-2009"))
def two_fold() -> FilippovSystem:
    """Return a point that slides to where its future is no longer determined."""
    system = FilippovSystem(
        "two-fold",
        x="x y",
        units="m",
        text="The line holds the state up to the fold. After it, the state may leave to any side.",
    )
    x, y = system.x
    x0, y0, v, k = system.params(
        x0=Param(-1, -2, 1, "m", "place at the start"),
        y0=Param(0.3, -1, 1, "m", "height at the start"),
        v=Param(2, 0.5, 3, "m/s", "speed below the line"),
        k=Param(1, 0.2, 3, "1/s", "curvature below the line"),
    )
    system.subsystem({"above": [1, x], "below": [v, -k * x]}, c={"line": y})
    system.start(x=[x0, y0], t_end=0.7, h=0.05)
    system.sketch(lambda: space(system, [(-1.5, 1.5), (-0.8, 0.8)], [("two-fold", [0, 0])]))
    system.exact = exact
    system.preset("through the fold", "It goes on along the line, where nothing holds it.", t_end=2)
    system.preset(
        "behind the fold", "On the line to begin with: a rule has to choose.", x0=0.2, y0=0, t_end=2
    )
    system.preset("misses", "It turns away before it comes down.", y0=0.6, t_end=2)
    return system
