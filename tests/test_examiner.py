"""Random runs over models, schemes and numbers, each judged by equations that are written anew.

Formulas go through `sympy.lambdify` and SciPy here, not through the compiled bundles, so that what
a certificate says is not judged by itself. A run that is a success without caution must keep its
laws to `lcp_tol`, its flow to its tolerance, and must not gain energy.

``EXAMINER=10000 pytest tests/test_examiner.py`` makes as many runs; `EXAMINER_SEED` moves them.
"""

from __future__ import annotations

import os
import warnings
from functools import cache

import numpy as np
import pytest
import sympy as sp
from scipy.integrate import solve_ivp

import explorer as ex
from explorer.models import models
from explorer.parameters import knobs_of

RUNS = int(os.environ.get("EXAMINER", "40"))
SEED = int(os.environ.get("EXAMINER_SEED", "0"))
PARTS = 8
STEPS = 1500  # at most
ROWS = 12  # of a run are judged


class Formulas:
    """A mechanical system by plain NumPy functions of (t, q, v, rho)."""

    def __init__(self, system):
        args = [system.t, list(system.q), list(system.v), [sp.Symbol(k) for k in system.parameters]]
        self.args = args
        if isinstance(system, ex.LinearMechanicalSystem):
            dense = [np.asarray(getattr(A, "todense", lambda A=A: A)()) for A in
                     (system.M, system.K, system.C)]  # fmt: skip
            f = sp.lambdify(args, list(system.f), "numpy")
            self.mass = lambda t, q, v, rho: dense[0]
            self.force = lambda t, q, v, rho: (
                np.array(f(t, q, v, rho), float) - (dense[1] @ q + dense[2] @ v)
            )
        else:
            mass, force = (sp.lambdify(args, x, "numpy") for x in
                           (sp.Matrix(system.mass), list(system.force)))  # fmt: skip
            self.mass = lambda *at: np.array(mass(*at), float)
            self.force = lambda *at: np.array(force(*at), float)
        gaps = sp.Matrix([c.gap for c in system.contacts])
        G = gaps.jacobian(list(system.q)) if system.contacts else sp.zeros(0, len(system.q))
        self.gap = sp.lambdify(args, [list(gaps), G, list(gaps.diff(system.t))], "numpy")
        slips = sp.Matrix([s for _, _, s in system.tangents])
        T = slips.jacobian(list(system.v)) if len(slips) else sp.zeros(0, len(system.q))
        self.tangents = sp.lambdify(
            args, [T, list(slips.subs(dict.fromkeys(system.v, 0)))], "numpy"
        )
        self.rough = [a for a, _, _ in system.tangents]
        mu = [system.contacts[a] for a in self.rough]
        self.mu = sp.lambdify(args, [c.mu if c.mu_s is None else c.mu_s for c in mu], "numpy")
        self.e = sp.lambdify(args, [c.e for c in system.contacts], "numpy")
        self.rests = self._conserves(system)

    @staticmethod
    def _conserves(system):
        """Whether nothing but contacts at rest does work: energy can only fall."""
        if system.records or getattr(system, "springs", ()) or system.potential is None:
            return False
        formulas = [c.gap for c in system.contacts] + [s for _, _, s in system.tangents]
        if any(system.t in f.free_symbols for f in (*formulas, system.potential)):
            return False
        if any(s.subs(dict.fromkeys(system.v, 0)) != 0 for _, _, s in system.tangents):
            return False
        return all(
            sp.simplify(f + sp.diff(system.potential, q)) == 0
            for f, q in zip(system.force, system.q, strict=True)
        )


@cache
def written(name):
    system = models[name]()
    plain = isinstance(system, ex.MechanicalSystem | ex.LinearMechanicalSystem)
    discs = isinstance(system, ex.DiscSystem)
    return system, Formulas(system) if plain and not discs and not system.constraints else None


def drawn(rng, low, high, log):
    if log:
        return float(np.exp(rng.uniform(np.log(low), np.log(high))))
    return float(rng.uniform(low, high))


def random_run(rng):
    """Return a run that was not refused, or None."""
    name = str(rng.choice(list(models)))
    system, formulas = written(name)
    usual = ex.schemes_for(system)[int(rng.integers(len(ex.schemes_for(system))))]
    knobs = {}
    if "h" in knobs_of(usual):
        knobs["h"] = usual.h * drawn(rng, 0.3, 10, True)
    for knob, (default, meta) in knobs_of(usual).items():
        plain = isinstance(default, float) and meta.low is not None and knob not in ("h", "step")
        if plain and rng.random() < 0.4:
            knobs[knob] = drawn(rng, meta.low, meta.high, meta.log)
    given = {
        k: drawn(rng, p.low, p.high, p.log)
        for k, p in system.parameters.items() if rng.random() < 0.5
    }  # fmt: skip
    t_end = system.t_end * drawn(rng, 0.2, 1, False)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            scheme = type(usual)(**knobs)
            if "h" in knobs:
                t_end = min(t_end, STEPS * scheme.h)
            run = ex.simulate(system, scheme, t_end=t_end, rho=given, throw=False)
        except ex.ExplorerError:
            return None, None
        return run, formulas


def judge(run, formulas, rng):
    """Yield a sentence for each equation that a run without caution does not keep."""
    if formulas is None:
        return
    rho = list(run.rho.values())
    if isinstance(run.scheme, ex.MoreauJean):
        yield from judge_steps(run, formulas, rho, rng)
    if isinstance(run.scheme, ex.EventDriven) and run.scheme.newmark is None:
        yield from judge_flow(run, formulas, rho, rng)
    if formulas.rests:
        energy = run.energy
        size = run.kinetic.max() + np.ptp(run.potential)
        free = ~(run.p > 0).any(axis=1) if run.scheme.impact_steps > 1 else slice(None)
        kept = energy[free] if np.size(energy[free]) else energy
        rise = float((kept - np.minimum.accumulate(kept)).max())
        if size > 1e-12 and not rise <= 0.03 * size:  # else it stands still
            yield f"energy rises by {rise / size:.3g}"


def judge_steps(run, formulas, rho, rng):
    scheme = run.scheme
    if scheme.mass_point != "q_star" or any(c.compliance != 0 for c in run.system.contacts):
        return
    if run.p.ndim > 1 and getattr(run, "p_t", np.empty((0, 0))).ndim == 3:
        return
    busy = np.flatnonzero((run.p[1:] > 0).any(axis=1)) + 1
    rows = [*rng.choice(busy, min(len(busy), ROWS), replace=False),
            *rng.integers(1, len(run.t), ROWS)]  # fmt: skip
    records = run.system.records
    for i in () if records else rows:
        h, th = run.t[i] - run.t[i - 1], scheme.theta
        q0, v0, v1 = run.q[i - 1], run.v[i - 1], run.v[i]
        q1 = q0 + h * (th * v1 + (1 - th) * v0)
        place = (run.t[i], q0 + h * scheme.gamma * v0, v0, rho)
        M, (_, G, gap_t) = formulas.mass(*place), formulas.gap(*place)
        T, _ = formulas.tangents(*place)
        G, T = np.reshape(G, (-1, len(q0))), np.reshape(T, (-1, len(q0)))
        push = G.T @ run.p[i]
        if formulas.rough:
            push = push + T.T @ run.p_t[i][formulas.rough]
        F = th * formulas.force(run.t[i], q1, v1, rho) + (1 - th) * formulas.force(
            run.t[i - 1], q0, v0, rho
        )
        terms = np.abs(M @ v1) + np.abs(M @ v0) + h * np.abs(F) + np.abs(push)
        left = np.abs(M @ (v1 - v0) - h * F - push).max()
        stiff = 1e-13 * (np.abs(q1).max() / h) * np.abs(M).max()
        if not left <= (10 * scheme.newton_tol + 1e-7) * terms.max() + stiff:
            yield f"momentum at row {i}: {left / terms.max():.2g}"
        e = np.array(formulas.e(*place), float)
        w, before = G @ v1 + np.array(gap_t, float), run.gap_dot[i - 1]
        on = run.active[i] > 0
        D = np.einsum("ai,ij,aj->a", G, np.linalg.inv(M), G)
        size = np.abs(np.r_[w[on], before[on], (D * run.p[i])[on], 0.0]).max()
        size += np.abs(D @ np.abs(run.p[i])) if len(D) else 0.0
        tol = 10 * (scheme.lcp_tol + 1e-12) * size + 1e-12 * np.abs(run.v).max() * np.abs(G).sum()
        off = np.where(on, np.minimum(D * run.p[i], w + e * before), run.p[i])
        if off.size and not np.abs(off).max() <= tol:
            yield f"laws at row {i}: {np.abs(off).max():.2g} of {size:.2g}"
        for j, a in enumerate(formulas.rough):
            most = float(formulas.mu(run.t[i - 1], q0, v0, rho)[j]) * run.p[i, a]
            if not abs(run.p_t[i, a]) <= most * (1 + 1e-9) + 1e-14 * abs(run.p).max():
                yield f"friction at row {i}: {run.p_t[i, a]:.3g} of {most:.3g}"


def judge_flow(run, formulas, rho, rng):
    n, scheme = len(run.system.q), run.scheme
    events = np.array([event.t for event in run.located])
    if run.system.records:
        return

    def rate(t, x):
        q, v = x[:n], x[n:]
        a = np.linalg.solve(formulas.mass(t, q, v, rho), formulas.force(t, q, v, rho))
        return np.r_[v, a]

    for i in rng.integers(0, len(run.t) - 1, ROWS):
        t0, t1 = run.t[i], run.t[i + 1]
        inside = ((events >= t0) & (events <= t1)).any()
        if inside or t1 <= t0 or (run.gap.shape[1] and (run.active[i] != 0).any()):
            continue
        found = solve_ivp(rate, (t0, t1), run.x[i], "DOP853", rtol=1e-12, atol=1e-13, max_step=t1)
        size = np.abs(run.x).max(axis=0)
        steps = 1 + ((run.march.steps[:, 0] > t0) & (run.march.steps[:, 0] < t1)).sum()
        fast = max(1.0, np.abs(run.rates).max() / max(size.max(), 1e-300))
        allowed = 300 * steps * (scheme.atol + scheme.rtol * size.max()) * fast
        allowed += 1e-9 * size.max()
        left = np.abs(found.y[:, -1] - run.x[i + 1]).max()
        if not left <= allowed:
            yield f"flow from t = {t0:.4g}: {left:.2g}, allowed {allowed:.2g}"


@pytest.mark.parametrize("part", range(PARTS))
def test_no_plain_success_breaks_its_equations(part):
    wrong, judged = [], 0
    for k in range(part, RUNS, PARTS):
        rng = np.random.default_rng([SEED, k])
        run, formulas = random_run(rng)
        if run is None or not run.status.ok:
            continue
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            if run.cautions:
                continue
            judged += 1
            for said in judge(run, formulas, rng):
                wrong.append((k, run.system.name, repr(run.scheme), said))
    assert judged or RUNS < 5 * PARTS
    assert wrong == []
