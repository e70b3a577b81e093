"""The FESD equations solved by a homotopy, as a check of the marching.

All of (21) of Nurkanovic, Frey, Pozharskiy, Diehl 2023 (corrected) at once, interval by interval,
for the slopes and multipliers of every stage *and* the lengths of the elements: collocation (14),
c = lambda_p - lambda_n, complementarity (16), cross complementarity (18) with the end of the
element before (17), step equilibration (19) and the sum of the lengths. Of the complementarities

    phi(lambda, alpha) = lambda + alpha - sqrt(lambda^2 + alpha^2 + 2 sigma^2) = 0

is asked, Fischer and Burmeister's function smoothed, as lambda alpha = sigma^2 is; sigma goes to
zero, and least squares follow (Levenberg-Marquardt, more equations than unknowns). Nothing is known
of active sets or of switches, as in a nonlinear programming solver; so it may end in a point that
is no solution, which its residual tells.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from explorer.errors import BadValue, NotApplicable
from explorer.quantities import quantity
from explorer.results.solution import Solution
from explorer.runs.fesd.elements import Elements
from explorer.schemes.fesd import FESD
from explorer.study import study

__all__ = ["FesdReference", "fesd_reference"]

_SIGMA, _LATER, _LAST = 1.0, 0.02, 1e-14  # at first, at first of a later attempt, the last
_FACTOR = 0.3  # of sigma from one level to the next
_STEPS = 100  # Levenberg-Marquardt steps at one sigma
_GIVEN_UP, _FAR = 1e-4, 1e-2  # a residual this large at so small a sigma stays
_ENOUGH = 1e-11
_HEAVY = 100.0  # weight of the equations that hold from the start,
_LIGHT = 0.03  # and of step equilibration, which would hold lengths until a switch is known
_LEFT = (None, 0.2, 0.8, 0.5, 0.05, 0.95)  # of the interval: where its first element ends


@study
@dataclass(frozen=True, repr=False)
class FesdReference:
    """A solution of the FESD equations that no marching has found.

    Attributes
    ----------
    boundaries : (n_e + 1,) times between the elements, s
    x : (n_e + 1, n_x) states there
    alpha : (n_e, s, n_c) step multipliers of the stages
    residual : dict of str to float
        Largest violation of each block of (21).
    difference : float
        Largest distance of states and boundaries from those of the marching.
    """

    boundaries: np.ndarray
    x: np.ndarray
    alpha: np.ndarray
    residual: dict[str, float]
    difference: float

    def __repr__(self) -> str:
        return (
            f"FesdReference({len(self.alpha)} elements, residual "
            f"{quantity(max(self.residual.values()), '', 2)}, difference "
            f"{quantity(self.difference, '', 2)})"
        )


@study
def fesd_reference(solution: Solution, *, intervals: int | None = None) -> FesdReference:
    """Solve the equations of a solution of `FESD` again, by a homotopy.

    Parameters
    ----------
    solution : Solution
        A run of `FESD` in step form. It gives the system, parameters, method and start, and the
        number of elements of each interval.
    intervals : int, optional
        How many intervals are solved, from the start; by default all. A homotopy takes tens of
        milliseconds for one.

    Returns
    -------
    FesdReference

    Raises
    ------
    BadValue, NotApplicable
        The solution is not one of `FESD`, or has Stewart's form.

    Examples
    --------
    >>> import explorer as ex
    >>> sol = ex.simulate(ex.models.switched_oscillator(), ex.FESD(h=0.1))
    >>> ex.study.fesd_reference(sol, intervals=3).difference < 1e-9
    True
    """
    is_fesd = isinstance(solution, Solution) and isinstance(solution.scheme, FESD)
    if not is_fesd or not solution.has("boundaries"):
        raise BadValue(
            "fesd_reference checks a solution of FESD, such as simulate(system, FESD())."
        )
    if solution.march.compiled.stewart:
        raise NotApplicable(
            "fesd_reference uses the step form of the equations; run FESD with "
            "representation='step'."
        )
    march = solution.march
    numbers = np.bincount(solution.interval)[:intervals]
    x, t = march.states[0], 0.0
    solved: list[tuple[np.ndarray, ...]] = []
    blocks: list[dict[str, float]] = []
    spans = np.diff(march.ends, prepend=0.0)[: len(numbers)]
    for count, span in zip(numbers.tolist(), spans.tolist(), strict=True):
        one = _solved(march, x, t, span, count)
        states, alpha, h = one.parts()
        solved.append((states[1:], alpha, t + np.cumsum(h)))
        blocks.append(one.blocks())
        x, t = states[-1], t + span
    states, alpha, times = (np.concatenate(a) for a in zip(*solved, strict=True))
    states, times = np.vstack([march.states[:1], states]), np.append(0.0, times)
    same = len(times)
    off = max(
        np.abs(states - march.states[:same]).max(),
        np.abs(times - solution.boundaries[:same]).max(),
    )
    residual = {name: max(b[name] for b in blocks) for name in blocks[0]}
    return FesdReference(times, states, alpha, residual, float(off))


def _solved(march: Elements, x: np.ndarray, t: float, span: float, count: int) -> _Interval:
    """Return the best of several attempts, which differ in the lengths that they start with."""
    best = None
    for left in _LEFT[: len(_LEFT) if count > 1 else 1]:
        one = _Interval(march, x, t, span, count, left)
        one.follow()
        if best is None or one.size < best.size:
            best = one
        if best.size <= _ENOUGH:
            break
    assert best is not None
    return best


class _Interval:
    """The equations of one interval, and an iterate z = (K, alpha, lambda_n, lambda_p, h)."""

    def __init__(
        self, march: Elements, x: np.ndarray, t: float, span: float, count: int, left: float | None
    ) -> None:
        self.march, self.x0, self.t0, self.span, self.count = march, x, t, span, count
        compiled, self.s = march.compiled, march.method.stages
        self.n, self.nc = compiled.n_x, compiled.n_c
        s, n, nc = self.s, self.n, self.nc
        self.shapes = [(count, s, n), (count, s, nc), (count, s, nc), (count, s, nc), (count,)]
        self.ends = np.cumsum([int(np.prod(shape)) for shape in self.shapes])
        c = march.functions(np.array([t]), x[None])[0][0]
        self.before = np.stack([np.maximum(-c, 0), np.maximum(c, 0)])  # lambda at the start
        f = [march.rates(np.array([t]), x[None], np.full((1, nc), a))[0] for a in (0.0, 1.0)]
        gradient = march.functions(np.array([t]), x[None])[1][0]
        speed = np.abs([gradient @ rate for rate in f]).max(axis=0)
        most = np.abs(gradient) @ np.abs(f).max(axis=0)
        self.scale = span * np.maximum(speed, 0.05 * most + 1e-9)  # of c within the interval
        h = np.full(count, span / count)
        self.sigma = _SIGMA if left is None else _LATER
        if left is not None:
            h = span * np.append(left, np.full(count - 1, (1 - left) / (count - 1)))
        K = np.broadcast_to(
            march.rates(np.array([t]), x[None], np.full((1, nc), 0.5)), (count, s, n)
        )
        lam = np.maximum(self.before, self.sigma * self.scale)[:, None, None]
        lam = np.broadcast_to(lam, (2, count, s, nc))
        alpha = lam[1] / (lam[0] + lam[1])
        self.z = np.concatenate([a.ravel() for a in (K, alpha, lam[0], lam[1], h)])
        self.size = np.inf

    def split(self, z: np.ndarray) -> list[np.ndarray]:
        """Return views of the parts of z."""
        parts = np.split(z, self.ends[:-1])
        return [a.reshape(shape) for a, shape in zip(parts, self.shapes, strict=True)]

    def parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the states between the elements, alpha and h."""
        K, alpha, _, _, h = self.split(self.z)
        return self._starts(K, h), alpha, h

    def _starts(self, K: np.ndarray, h: np.ndarray) -> np.ndarray:
        b = self.march.method.b
        moved = h[:, None] * np.einsum("j,ejn->en", b, K)
        starts: np.ndarray = self.x0 + np.vstack([np.zeros(self.n), np.cumsum(moved, axis=0)])
        return starts

    def _points(
        self, K: np.ndarray, h: np.ndarray, weights: np.ndarray, nodes: np.ndarray, slope: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return states and times at nodes of the elements, with their derivatives by z.

        Without `slope` the derivatives are zeros.
        """
        count, s, n, nz = self.count, self.s, self.n, len(self.z)
        b = self.march.method.b
        begin = self.t0 + np.append(0.0, np.cumsum(h)[:-1])
        moved = np.einsum("ij,ejn->ein", weights, K)
        X = self._starts(K, h)[:-1, None] + h[:, None, None] * moved
        t = begin[:, None] + h[:, None] * nodes
        dX, dt = np.zeros((count, s, n, nz)), np.zeros((count, s, nz))
        if not slope:
            return X, t, dX, dt
        slopes, at_h = np.einsum("j,ejn->en", b, K), nz - count
        eye = np.arange(n)
        for e in range(count):
            for j in range(s):
                for d in range(e + 1):
                    w = h[d] * (weights[:, j] if d == e else np.full(s, b[j]))
                    dX[e][:, eye, (d * s + j) * n + eye] = w[:, None]
            dX[e, :, :, at_h : at_h + e] = slopes[:e].T
            dX[e, :, :, at_h + e] = moved[e]
            dt[e, :, at_h : at_h + e] = 1.0
            dt[e, :, at_h + e] = nodes
        return X, t, dX, dt

    def equations(self, z: np.ndarray, sigma: float, slope: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return the residuals of (21) with sigma, and their derivatives by z."""
        march, compiled, s, n, nc = self.march, self.march.compiled, self.s, self.n, self.nc
        count, nz, method = self.count, len(z), self.march.method
        K, alpha, lam_n, lam_p, h = self.split(z)
        X, t, dX, dt = self._points(K, h, method.A, method.c, slope)
        begin = np.full(count * s, self.t0)  # of the inputs: a stage may lie where they change
        f = march.along(compiled.flow, t.ravel(), X.reshape(-1, n), alpha.reshape(-1, nc), begin)
        f = f.reshape(count, s, -1)
        Y, u, dY, du = self._points(K, h, method.at, method.where, slope)
        none = np.zeros((count * s, nc))
        c = march.along(compiled.switching, u.ravel(), Y.reshape(-1, n), none, begin)
        c = c.reshape(count, s, -1)
        ends = self.ends
        at = [
            np.arange(a, b).reshape(shape)
            for a, b, shape in zip([0, *ends[:-1]], ends, self.shapes, strict=True)
        ]
        heavy = _HEAVY / self.scale
        rows, slopes = (
            [_HEAVY * (f[..., :n] - K).ravel(), (heavy * (c[..., :nc] - lam_p + lam_n)).ravel()],
            [],
        )
        if slope:
            fx = f[..., n : n + n * n].reshape(count, s, n, n)
            fa = f[..., n + n * n : n + n * n + n * nc].reshape(count, s, n, nc)
            J = fx @ dX + f[..., n + n * n + n * nc :, None] * dt[:, :, None]
            np.put_along_axis(
                J, at[0][..., None], np.take_along_axis(J, at[0][..., None], 3) - 1, 3
            )
            for j in range(nc):
                where = np.broadcast_to(at[1][:, :, None, j : j + 1], (count, s, n, 1))
                np.put_along_axis(J, where, fa[..., j : j + 1], 3)
            slopes.append(_HEAVY * J.reshape(-1, nz))
            cx = c[..., nc : nc + nc * n].reshape(count, s, nc, n)
            J = cx @ dY + c[..., nc + nc * n :, None] * du[:, :, None]
            np.put_along_axis(J, at[3][..., None], np.full((count, s, nc, 1), -1.0), 3)
            np.put_along_axis(J, at[2][..., None], np.full((count, s, nc, 1), 1.0), 3)
            slopes.append((heavy[:, None] * J).reshape(-1, nz))
        for lam, where, side, past in ((lam_n, at[2], 1.0, 0), (lam_p, at[3], -1.0, 1)):
            weight = alpha if side > 0 else 1 - alpha
            for e in range(count):
                first = self.before[past] if e == 0 else lam[e - 1, -1]
                a = (
                    np.vstack([first, lam[e]])[:, None] / self.scale
                )  # the end of the element before, its own
                b = weight[e][None]
                root = np.sqrt(a**2 + b**2 + 2 * sigma**2) + 1e-300
                rows.append((a + b - root).ravel())  # (s + 1, s, nc)
                if not slope:
                    continue
                by_a, by_b = (1 - a / root) / self.scale, side * (1 - b / root)
                J = np.zeros((s + 1, s, nc, nz))
                for j in range(nc):
                    for m in range(s):
                        J[:, m, j, at[1][e, m, j]] = by_b[:, m, j]
                        J[1 + m, :, j, where[e, m, j]] = by_a[1 + m, :, j]
                    if e > 0:
                        J[0, :, j, where[e - 1, -1, j]] = by_a[0, :, j]
                slopes.append(J.reshape(-1, nz))
        indicator = self._indicator(alpha, lam_n, lam_p)
        rows += [
            _LIGHT * np.diff(h) * indicator / self.span,
            np.array([_HEAVY * (h.sum() / self.span - 1)]),
        ]
        if slope:
            J = np.zeros((count, nz))
            for e in range(count - 1):
                weight = _LIGHT * indicator[e] / self.span
                J[e, at[4][e : e + 2]] = -weight, weight
            J[-1, at[4]] = _HEAVY / self.span
            slopes.append(J)
        return np.concatenate(rows), np.concatenate(slopes) if slope else np.empty((0, nz))

    def _indicator(self, alpha: np.ndarray, lam_n: np.ndarray, lam_p: np.ndarray) -> np.ndarray:
        """Return eta of the ends between elements: 0 where a pair switches, 1 at most."""
        eta = np.ones(self.count - 1)
        for lam, weight in ((lam_n, alpha), (lam_p, 1 - alpha)):
            sums = [lam.sum(axis=1) / self.scale, weight.sum(axis=1)]
            shares = [a / (sums[0] + sums[1] + 1e-300) for a in sums]
            both = sum(a[1:] * a[:-1] for a in shares)
            eta *= both.prod(axis=1)
        return eta

    def follow(self) -> None:
        """Let sigma go to zero."""
        from scipy.optimize import least_squares

        sigma = self.sigma
        while sigma > _LAST:
            solved = least_squares(
                lambda z, w=sigma: self.equations(z, w, False)[0],
                self.z,
                lambda z, w=sigma: self.equations(z, w, True)[1],
                method="lm",
                max_nfev=_STEPS,
                xtol=1e-15,
                ftol=1e-4,
                gtol=1e-15,
            )
            self.z = solved.x
            if sigma < _GIVEN_UP and np.linalg.norm(solved.fun) > _FAR:
                break
            sigma *= _FACTOR if sigma > 1e-3 else 0.01
        self.size = max(self.blocks().values())

    def blocks(self) -> dict[str, float]:
        """Return the largest violation of each block at sigma = 0."""
        count, s, n, nc = self.count, self.s, self.n, self.nc
        F = np.abs(self.equations(self.z, 0.0, False)[0])
        _, alpha, lam_n, lam_p, _ = self.split(self.z)
        products = []
        for k, (lam, weight) in enumerate(((lam_n, alpha), (lam_p, 1 - alpha))):
            first = np.concatenate([self.before[None, k], lam[:-1, -1]])[:, None]
            products.append(np.concatenate([first, lam], axis=1)[:, :, None] * weight[:, None])
        products = np.abs(np.stack(products))  # (2, elements, s + 1, s, nc)
        below = -min(alpha.min(), 1 - alpha.max(), lam_n.min(), lam_p.min())
        own = np.eye(s + 1, s, -1, dtype=bool)
        colloc, balance = np.split(F[: count * s * (n + nc)], [count * s * n])
        return {
            "collocation": float(colloc.max() / _HEAVY),
            "complementarity": float(
                max(
                    (balance.reshape(-1, nc) * self.scale).max(initial=0.0) / _HEAVY,
                    products[:, :, own].max(initial=0.0),
                    below,
                )
            ),
            "cross": float(products[:, :, ~own].max(initial=0.0)),
            "equilibration": float(F[len(F) - count : -1].max(initial=0.0) * self.span / _LIGHT),
            "time": float(F[-1] * self.span / _HEAVY),
        }
