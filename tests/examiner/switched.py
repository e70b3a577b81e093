"""Runs of systems with step functions: flow in each active set, its signs, what a slide needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import sympy as sp

from examiner.flows import TooStiff, defect, stretches, tolerance_of
from examiner.written import kept, plain, rho_of, symbols_of

ROWS, SAMPLES, MANY = 5, 40, 240


class StepForm:
    """f(t, x, alpha), c and dc/dt by NumPy."""

    def __init__(self, system: Any) -> None:
        alpha = [s.alpha for s in system.switches]
        c, f = sp.Matrix([s.c for s in system.switches]), sp.Matrix(list(system.f))
        args = [system.t, list(system.x), alpha, symbols_of(system)]
        self.f = plain(args, list(f))
        c_x = c.jacobian(list(system.x)) if len(c) else sp.zeros(0, system.n)
        self.c = plain(args, [list(c), c_x.tolist(), list(c.diff(system.t))])
        rates = c_x * f + c.diff(system.t) if len(c) else sp.Matrix(0, 1, [])
        by = rates.jacobian(alpha) if len(c) else sp.zeros(0, 0)
        self.rates = plain(args, [list(rates), by.tolist()])
        self.count = len(c)

    def slide(
        self, t: float, x: np.ndarray, signs: np.ndarray, guess: np.ndarray, rho: Any
    ) -> np.ndarray:
        """Return alpha of an active set: on its surfaces dc/dt = 0, by Newton's method."""
        alpha = np.where(signs == 0, guess, signs > 0).astype(float)
        on = np.flatnonzero(signs == 0)
        if not len(on):
            return alpha
        for _ in range(30):
            rate, by = (np.array(a, float) for a in self.rates(t, x, alpha, rho))
            try:
                step = np.linalg.solve(by[np.ix_(on, on)], rate[on])
            except np.linalg.LinAlgError:
                raise TooStiff from None
            alpha[on] -= step
            if np.abs(step).max() < 1e-14:
                break
        return alpha

    def field(self, signs: np.ndarray, guess: np.ndarray, rho: Any) -> Any:
        last = np.array(guess, float)

        def rate(t: float, x: np.ndarray) -> np.ndarray:
            last[:] = self.slide(t, x, signs, last, rho)
            return np.array(self.f(t, x, last, rho), float)

        return rate


written = kept(StepForm)


def judge_switched(run: Any, rng: np.random.Generator, unit: Any = None) -> Iterator[str]:
    """Yield what a run of located switches breaks; `unit(t0, t1)` is what errors may be."""
    system, rho = run.system, rho_of(run)
    known = written(system)
    signs_of = np.zeros((len(run.t), 0), int) if not known.count else run.signs
    unit = unit or (lambda t0, t1: tolerance_of(run, t0, t1))
    stewart = run.march.compiled.stewart
    whole = unit(0.0, run.t[-1])
    yield from _rows(known, run, signs_of, rho, rng, whole, stewart)
    yield from _events(known, run, rho, whole)
    for a, b in stretches(run, rng, ROWS):
        signs, sol = signs_of[a], []
        if stewart and (signs == 0).sum() > 1:
            continue
        guess = np.full(known.count, 0.5) if stewart else np.clip(run.multipliers[a], 0, 1)
        error = unit(run.t[a], run.t[b])
        yield from defect(
            known.field(signs, guess, rho), run.t[a], run.t[b], run.x[a], run.x[b], error,
            system.mode_name(signs.tolist()), sol,
        )  # fmt: skip
        if sol and known.count:
            yield from _left(known, run, sol[0], signs, guess, (a, b), rho, error)


def _size(known: StepForm, run: Any, rho: Any, k: int, unit: float) -> np.ndarray:
    """Return what errors of the state leave of each switching function."""
    _, c_x, c_t = (np.array(a, float) for a in
                   known.c(run.t[k], run.x[k], np.full(known.count, 0.5), rho))  # fmt: skip
    return np.abs(c_x).sum(axis=1) * unit + np.abs(c_t) * 1e-14 * abs(run.t[k]) + 1e-14


def _rows(
    known: StepForm, run: Any, signs: np.ndarray, rho: Any, rng: Any, unit: float, stewart: bool
) -> Iterator[str]:
    for k in rng.integers(0, len(run.t), ROWS) if known.count else ():
        c = np.array(known.c(run.t[k], run.x[k], np.full(known.count, 0.5), rho)[0], float)
        beyond = np.where(signs[k] == 0, np.abs(c), np.maximum(-signs[k] * c, 0))
        allowed = 10 * _size(known, run, rho, k, unit) + 1e-9 * np.abs(run.c).max(axis=0)
        if not (beyond <= allowed).all():
            j = int((beyond - allowed).argmax())
            yield f"c{j} = {c[j]:.2g} at t = {run.t[k]:.6g}, where its sign is {signs[k][j]}"
        if stewart:
            continue
        alpha = run.multipliers[k]
        if not ((alpha > -1e-9) & (alpha < 1 + 1e-9)).all():
            yield f"alpha = {alpha} at t = {run.t[k]:.6g}"
        rate = np.array(known.f(run.t[k], run.x[k], alpha, rho), float)
        scale = np.abs(run.rates).max() + 1e-300
        if not np.abs(rate - run.rates[k]).max() <= 1e-6 * scale + 1e-14:
            yield f"x' at t = {run.t[k]:.6g} is not f: off by {np.abs(rate - run.rates[k]).max():.2g}"


def _events(known: StepForm, run: Any, rho: Any, unit: float) -> Iterator[str]:
    for event in run.located:
        if event.kind == "zeno" or event.kind == "leaves":
            continue
        j = event.index
        c = float(known.c(event.t, event.x_minus, np.full(known.count, 0.5), rho)[0][j])
        allowed = 10 * _size(known, run, rho, event.row, unit)[j]
        if not abs(c) <= allowed + 1e-9 * np.abs(run.c[:, j]).max():
            yield f"c{j} = {c:.2g} at its event, t = {event.t:.6g}, allowed {allowed:.2g}"


def _left(
    known: StepForm, run: Any, sol: Any, signs: np.ndarray, guess: np.ndarray,
    rows: tuple[int, int], rho: Any, unit: float,
) -> Iterator[str]:  # fmt: skip
    """Yield switches, or ends of slides, that were passed over."""
    t0, t1 = run.t[rows[0]], run.t[rows[1]]
    times, last = np.linspace(t0, t1, SAMPLES + 2)[1:-1], np.array(guess, float)
    values, alphas = [], []
    for t in times:
        x = sol(t)
        values.append(known.c(t, x, last, rho)[0])
        try:
            last = known.slide(t, x, signs, last, rho)
        except TooStiff:
            return
        alphas.append(last)
    c, alpha = np.array(values, float), np.array(alphas)
    allowed = 100 * _size(known, run, rho, rows[0], unit) + 1e-8 * np.abs(run.c).max(axis=0)
    beyond = np.where(signs == 0, 0.0, np.maximum(-signs * c, 0.0))
    if not (beyond <= allowed).all():
        i, j = np.unravel_index((beyond - allowed).argmax(), beyond.shape)
        yield f"c{j} = {c[i, j]:.2g} beyond its side {signs[j]} at t = {times[i]:.6g}, allowed {allowed[j]:.2g}"
    out = np.maximum(alpha - 1, -alpha)[:, signs == 0]
    if out.size and not out.max() <= 1e-4 + 1e3 * unit:
        i = int(out.max(axis=1).argmax())
        yield f"slides on with alpha = {alpha[i]} at t = {times[i]:.6g}"


# -- the equations of elements ----------------------------------------------------------------


def tableau(name: str, s: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return A, b, c: Hairer, Wanner, *Solving ODEs II*, section IV.5, from their conditions."""
    P = np.polynomial.legendre.Legendre
    basis = [P.basis(k, domain=[0, 1]) for k in range(s + 1)]
    if name == "gauss":
        c = basis[s].roots()
    elif name == "radau_iia":
        c = (basis[s] - basis[s - 1]).roots()
    else:
        c = np.array([0.0, *(basis[s - 1].deriv().roots() if s > 2 else ()), 1.0])
    c = np.sort(np.real(c))
    k = np.arange(s)
    V = c[:, None] ** k
    b = np.linalg.solve(V.T, 1 / (k + 1))
    A = np.linalg.solve(V.T, (c[:, None] ** (k + 1) / (k + 1)).T).T
    if name == "lobatto_iiic":
        A = np.zeros((s, s))
        A[:, 0] = b[0]
        for i in range(s):
            m = np.arange(1, s)
            right = c[i] ** m / m - np.where(m == 1, b[0], 0.0)
            A[i, 1:] = np.linalg.solve((c[1:, None] ** (m - 1)).T, right)
    return A, b, c


class Regions:
    """Fields and places of the regions of a `FilippovSystem`: f = sum theta_i f_i."""

    def __init__(self, system: Any) -> None:
        args = [system.t, list(system.x), symbols_of(system)]
        self.fields = plain(args, [list(r.field) for s in system.subsystems for r in s.regions])
        self.cells = [
            (s.first, s.count, [[b for b, r in enumerate(s.cells) if r == i]
                                for i in range(len(s.regions))]) for s in system.subsystems
        ]  # fmt: skip

    def away(self, c: np.ndarray) -> np.ndarray:
        """Return how far c lies from each region, at most of its functions' values."""
        found = []
        for first, count, regions in self.cells:
            part = c[first : first + count]
            for cells in regions:
                found.append(min(
                    max((max(0.0, -part[j] if (b >> j) & 1 else part[j]) for j in range(count)),
                        default=0.0) for b in cells
                ))  # fmt: skip
        return np.array(found)


regions_of = kept(Regions)


def judge_elements(run: Any, cross: bool = True, *, tol: float = 1e-7) -> Iterator[str]:
    """Yield what the elements of `FESD` or the steps of `ThetaRK` break of their equations.

    `run` is in the time of the elements; `cross`: also across the stages, and the sum of lengths.
    """
    system, march, scheme, rho = run.system, run.march, run.scheme, rho_of(run)
    known, stewart = written(system), march.compiled.stewart
    A, b, nodes = tableau(scheme.tableau, scheme.stages)
    states, slopes, mult, times = march.states, march.slopes, march.mult, march.times
    size = np.abs(states).max() + np.abs(slopes).max() * times[:, 1].max() + 1e-300
    rate_size = np.abs(slopes).max() + 1e-300
    values = np.abs(run.c).max(axis=0) if run.c.size else np.zeros(0)
    if np.abs(states[1:] - states[:-1] - times[:, 1:] * np.einsum("s,esn->en", b, slopes)).max() > (
        tol * size
    ):
        yield "ends of elements are not x + h sum b K"
    starts = np.append(times[:, 0], times[-1].sum())
    if np.abs(np.diff(starts) - times[:, 1]).max() > 1e-12 * max(starts[-1], 1e-300):
        yield "elements do not follow each other"
    at_ends, at_stages = [], []
    worst = {}
    turns = march.phases.switches["element"][1:] if cross else np.zeros(0, int)
    near = np.unique(np.r_[turns - 1, turns, np.linspace(0, len(times) - 1, 80).astype(int)])
    near = near[(near >= 0) & (near < len(times))]
    near = near[~np.isin(near, list(getattr(march, "struck", ())))]  # an impact, judged as one
    near = near[:: max(1, len(near) // MANY)]
    for e in near:
        t, h = times[e]
        inner = []
        for i in range(scheme.stages):
            x = states[e] + h * A[i] @ slopes[e]
            at = t + nodes[i] * h
            if stewart:
                fields = np.array(regions_of(system).fields(at, x, rho), float)
                f = mult[e, i] @ fields
            else:
                f = np.array(known.f(at, x, mult[e, i], rho), float)
            off = float(np.abs(f - slopes[e, i]).max() / (rate_size + np.abs(x).max()))
            if not off <= worst.get("stage", (0, 0))[0]:
                worst["stage"] = off, t
            inner.append(np.array(known.c(at, x, np.full(known.count, 0.5), rho)[0], float))
        at_stages.append(inner)
        half = np.full(known.count, 0.5)
        at_ends.append([known.c(t + k * h, states[e + k], half, rho)[0] for k in (0, 1)])
    if "stage" in worst and not worst["stage"][0] <= tol:
        yield f"stage of the element at t = {worst['stage'][1]:.6g} leaves {worst['stage'][0]:.2g}"
    if not known.count:
        return
    ends, stages = np.array(at_ends, float), np.array(at_stages)  # (n_e, 2, n_c), (n_e, s, n_c)
    # both ends of an element lie on its side whatever the method; its stages need not
    ask = ends if scheme.tableau != "radau_iia" else np.concatenate([ends, stages[:, 1:]], axis=1)
    scale = np.maximum(values, 1e-4 * np.abs(states).max()) + 1e-12
    for k, e in enumerate(near):
        pairs = ((ask[k], range(scheme.stages)),) if cross else tuple(
            (stages[k, i : i + 1], (i,)) for i in range(scheme.stages)
        )  # fmt: skip
        for c, which in pairs:
            for i in which:
                if stewart:
                    away = np.array([regions_of(system).away(one / scale) for one in c])
                    off = float((mult[e, i] * away).max())
                    sums = _sums(system, mult[e, i])
                    off = max(off, -float(mult[e, i].min()), float(np.abs(sums - 1).max()))
                else:
                    a = mult[e, i]
                    off = max(
                        float((np.maximum(-c, 0) / scale * a).max()),
                        float((np.maximum(c, 0) / scale * (1 - a)).max()),
                        float(max(-a.min(), (a - 1).max())),
                    )
                if not off <= tol:
                    yield (
                        f"complementarity in the element at t = {times[e, 0]:.6g}: {off:.2g}, "
                        f"alpha = {mult[e, i]}, c = {c.tolist()}"
                    )
                    return


def _sums(system: Any, theta: np.ndarray) -> np.ndarray:
    at, found = 0, []
    for s in system.subsystems:
        found.append(theta[at : at + len(s.regions)].sum())
        at += len(s.regions)
    return np.array(found)


def own_step(rate: Any, t: float, h: float, x: np.ndarray, name: str, s: int) -> np.ndarray | None:
    """Return one step of a collocation method on a smooth field, by fixed-point and Newton."""
    from scipy.optimize import root

    A, b, c = tableau(name, s)

    def left(K: np.ndarray) -> np.ndarray:
        slopes = K.reshape(s, -1)
        return np.ravel([slopes[i] - rate(t + c[i] * h, x + h * A[i] @ slopes) for i in range(s)])

    first = np.tile(rate(t, x), s)
    found = root(left, first, tol=1e-13)
    if np.abs(left(found.x)).max() > 1e-6 * (1 + np.abs(found.x).max()):
        return None
    return np.asarray(x + h * b @ found.x.reshape(s, -1))


def element_errors(known: StepForm, run: Any, rho: Any) -> Any:
    """Return what the method of a run of `FESD` leaves of the flow: unit(t0, t1), by own steps.

    The errors of single elements, compared with two of half their length (Richardson), add up.
    """
    march, scheme = run.march, run.scheme
    phase = march.places[:, 1]
    signs = march.phases.signs[phase]
    begin, errors = march.times[:, 0], np.zeros(len(march.times))

    def error(e: int) -> float:
        t, h = march.times[e]
        guess = np.full(known.count, 0.5) if march.compiled.stewart else march.mult[e, 0]
        rate = known.field(signs[e], np.clip(guess, 0, 1), rho)
        try:
            half = own_step(rate, t, h / 2, march.states[e], scheme.tableau, scheme.stages)
            if half is None:
                return np.inf
            both = own_step(rate, t + h / 2, h / 2, half, scheme.tableau, scheme.stages)
        except TooStiff:
            return np.inf
        return np.inf if both is None else float(np.abs(both - march.states[e + 1]).max())

    hits = np.asarray(march.phases.t[1:])
    slopes, long = march.slopes, march.times[:, 1].max(initial=0.0)
    steep = float(np.abs(np.diff(slopes, axis=0)).max(initial=0.0) / (long or 1.0))
    looked_at = np.unique(np.linspace(0, len(begin) - 1, 16).astype(int))

    def unit(t0: float, t1: float) -> float:
        last = march.times.sum(axis=1)
        inside = np.flatnonzero((last > t0) & (begin < t1))
        some = looked_at[np.isin(looked_at, inside)]
        if len(some) < 2:
            some = np.r_[some, inside[:1], inside[-1:]]
        by_length = inside[np.argsort(-march.times[inside, 1])]
        longest = by_length[np.unique(phase[by_length], return_index=True)[1]]  # of each pattern
        some = np.unique(np.r_[some, longest[:: 1 + len(longest) // 12]]).astype(int)
        for e in some:
            if not errors[e]:
                errors[e] = error(e) + 1e-14
        made = 30 * errors[some].max(initial=0.0) * len(inside)
        # an end of a slide is found to some order; that of the states is twice as high
        first, after = np.searchsorted(hits, [t0, t1], side="left")
        late = np.abs(hits[first:after, None] - begin).min(axis=1, initial=np.inf)
        return float(made + 10 * steep * (late[np.isfinite(late)] ** 2).sum())

    return unit
