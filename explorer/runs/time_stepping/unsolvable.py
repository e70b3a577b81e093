"""Why a one-step problem has no solution: a combination of y that can never have its sign.

If no lam in [lower, upper] meets y = M lam + q >= 0 (= 0 in equality rows), Farkas gives a ray u,
u >= 0 except in equality rows, such that u'y < 0 for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from explorer.quantities import number

__all__ = ["unsolvable"]


def unsolvable(
    M: np.ndarray,
    q: np.ndarray,
    bounds: np.ndarray,
    names: Sequence[tuple[str, str]],
    *,
    linearised: bool = False,
    gamma: float = 1.0,
) -> str:
    """Return the sentence for y = M lam + q with lam in `bounds` (2, m) and (lam, y) in `names`.

    `linearised`: it is an iterate of Newton's method; `gamma`: the scheme's weight of the new lam.
    """
    turned = np.where(np.isneginf(bounds[0]) & np.isfinite(bounds[1]), -1.0, 1.0)
    M, q = turned[:, None] * M * turned, turned * q  # so that only upper bounds are infinite
    bounds = np.where(turned < 0, -bounds[::-1], bounds)
    names = [(lam, y if s > 0 else f"(-{y})") for (lam, y), s in zip(names, turned, strict=True)]
    lower, upper = bounds
    equal = np.isneginf(lower)
    rows = np.flatnonzero(equal | np.isposinf(upper))  # a relay leaves y free
    ray, most = np.zeros(0), 0.0
    if len(rows) and np.isfinite(M).all() and np.isfinite(q).all():
        ray, most = _ray(M, q, bounds, rows, np.flatnonzero(equal))
    advice = "Try another h, or check D, C and B of these laws"
    if gamma == 0.0:
        advice = "With gamma = 0 the multipliers of a step do not act in it; try gamma > 0"
    dead = [lam for (lam, _), column in zip(names, M.T, strict=True) if not column.any()]
    if linearised and dead:
        verb = "does" if len(dead) == 1 else "do"
        return (
            "the Jacobian of the relation is singular at the last iterate of Newton's method: to "
            f"first order {', '.join(dead)} {verb} not act on any y, neither directly nor through "
            "r. Try another start, or a relation that depends on it there"
        )
    step = (
        "this step, linearised at the last iterate of Newton's method"
        if linearised
        else "this step"
    )
    if most < 0:
        found = [(names[int(i)], u) for i, u in zip(rows, ray, strict=True) if abs(u) > 1e-9]
        return (
            f"the laws of {', '.join(lam for (lam, _), _ in found)} have no solution in {step}: "
            f"along the ray {' + '.join(f'{number(u, 3)} {y}' for (_, y), u in found)} the "
            f"relation gives at most {number(most, 3)}, whatever the multipliers, but the laws "
            f"want >= 0. {advice}"
        )
    return (
        f"no solver found multipliers {', '.join(lam for lam, _ in names)} that obey their laws in "
        f"this step, although a solution may exist. {advice}, or try lcp='enumeration'"
    )


def _ray(
    M: np.ndarray, q: np.ndarray, bounds: np.ndarray, rows: np.ndarray, equal: np.ndarray
) -> tuple[np.ndarray, float]:
    """Return u over `rows`, |u| <= 1, and the largest u'y over all lam; 0 if there is no ray.

    It is the dual of the least sum of s >= 0 with y + s >= 0, and |y| <= s in equality rows.
    """
    from scipy.optimize import linprog

    m, size = len(q), float(np.abs(q).max()) or 1.0
    slack = np.eye(m)
    A = np.vstack(
        [np.hstack([-M[rows] / size, -slack[rows]]), np.hstack([M[equal] / size, -slack[equal]])]
    )
    b = np.concatenate([q[rows], -q[equal]]) / size
    box = [tuple(None if np.isinf(x) else x for x in pair) for pair in bounds.T.tolist()]
    found = linprog(np.repeat([0.0, 1.0], m), A, b, bounds=[*box, *[(0, None)] * m])
    if found.status != 0 or found.fun <= 1e-9:
        return np.zeros(len(rows)), 0.0
    u = -found.ineqlin.marginals
    u[np.searchsorted(rows, equal)] -= u[len(rows) :]
    return u[: len(rows)], -float(found.fun) * size
