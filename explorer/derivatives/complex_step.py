"""Complex step through events: the whole run once more in complex arithmetic, one parameter each.

Corner et al. 2019, eq. (21)-(23) with the sign corrected: dx/drho = Im x(rho + i eps) / eps. It is
right through an event only if the event time itself is solved in complex arithmetic, by Newton on
the length of the step that ends there; of what is chained to another event it is that one's.

What it checks is the propagation: tangent steps, event times and saltation. It repeats the steps
and the event sequence of the run, and it takes from formulas the derivatives of the start (the
seeds) and of the terminal cost w, and the normals of the contacts. `Sensitivity.verify` repeats
nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
import sympy as sp

from explorer.derivatives.direct import Sensitivity, solve
from explorer.derivatives.question import Question
from explorer.errors import NotApplicable
from explorer.kernels.event_driven.records import CHAINED, DRIVEN
from explorer.results.event import KINDS
from explorer.results.solution import Solution
from explorer.runs.event_driven.changes import held_beside
from explorer.runs.event_driven.columns import active_of
from explorer.systems.kinks import slopes

__all__ = ["solve_complex"]

EPS = 1e-30


def _angle(y: complex, x: complex) -> complex:
    """Return atan2 to first order in the imaginary parts, all that a step of EPS sees."""
    a, b = np.real(x), np.real(y)
    return complex(np.arctan2(b, a), (a * np.imag(y) - b * np.imag(x)) / (a * a + b * b))


_SHARP: dict[str, Callable[..., complex]] = {
    "Abs": lambda z: z if np.real(z) >= 0 else -z,
    "sign": lambda z: np.sign(np.real(z)),
    "Heaviside": lambda z, mid=0.5: np.heaviside(np.real(z), mid),
    "Min": lambda *z: min(z, key=np.real),
    "Max": lambda *z: max(z, key=np.real),
    "floor": lambda z: np.floor(np.real(z)),
    "ceiling": lambda z: np.ceil(np.real(z)),
    "atan2": _angle,
    "Mod": lambda z, m: z - m * np.floor(np.real(z / m)),
}


class _Replay:
    """The recorded run of a system, in complex arithmetic."""

    def __init__(self, question: Question, solution: Solution) -> None:
        self.march, self.question = solution.march, question
        self.head = solution.march.events.head
        flow, system = question.cost.flow, question.system
        self.flow, self.mechanical = flow, flow.mechanical
        if self.mechanical:  # the constraints before and behind each event
            self.held_rows, self.kept_rows = (x.astype(int) for x in held_beside(self.march))
        if getattr(flow, "solved", None) is not None:
            raise NotApplicable(
                f"'{system.name}' slides on several surfaces, and its multipliers have no closed "
                "form for complex numbers. Compare 'direct' with 'adjoint' and "
                "'finite_difference' instead."
            )
        self.args = [system.t, *flow.states, *(sp.Symbol(k) for k in system.parameters)]
        if self.mechanical:
            q, v, contacts = flow.states[: flow.n], flow.states[flow.n :], system.contacts
            gap = sp.Matrix([c.gap for c in contacts] or [0])
            speed = slopes(gap, q) * sp.Matrix(v) + slopes(gap, [system.t])
            if flow.rough:  # behind the normals, the tangents
                speed = speed.col_join(sp.Matrix([contacts[k].slip for k in flow.rough]))
            phi = sp.Matrix([c.phi for c in system.constraints])
            if flow.n_phi:
                rate = slopes(phi, q) * sp.Matrix(v) + slopes(phi, [system.t])
                speed = speed[: flow.rows - flow.n_phi, :].col_join(rate)
            self.phi = self.native(list(phi))
            known = {sp.Symbol(name): force for name, force in flow.forces.items()}
            lam = [sp.Symbol(f"_lam_{k}") for k in range(flow.rows)]
            self.whens = {
                c: self.native([change.r.xreplace(known)], lam)
                for change in flow.changes
                for c, _ in change.constraints
            }
            laws = [dict(c.reset or ()) for c in contacts]
            self.laws = {k: self.native([*law.values()]) for k, law in enumerate(laws) if law}
            G = slopes(speed, v)
            gamma = slopes(speed, q) * sp.Matrix(v) + slopes(speed, [system.t])
            self.mass = self.native(list(system.mass))  # type: ignore[attr-defined]
            self.force = self.native(list(system.force))  # type: ignore[attr-defined]
            self.gap, self.G = self.native(list(gap)), self.native(list(G))
            self.speed, self.gamma = self.native(list(speed)), self.native(list(gamma))
            self.e = self.native([sp.sympify(c.e) for c in contacts])
            rough = [contacts[k] for k in flow.rough]
            self.mu = self.native([c.mu for c in rough])
            self.mu_s = self.native([c.mu if c.mu_s is None else c.mu_s for c in rough])
        else:
            self.flows = [self.native(list(m.flow)) for m in flow.automaton.modes]
            self.guards = [self.native([g.r]) for g in flow.guards]
            self.resets = [self.native(list(g.reset)) for g in flow.guards]
        lam = [sp.Symbol(f"_lam_{k}") for k in range(flow.rows)]
        self.g = None if flow.cost is None else self.native([flow.cost], [*flow.rates, *lam])

    def native(
        self, formulas: Sequence[sp.Expr], more: Sequence[sp.Symbol] = ()
    ) -> Callable[..., np.ndarray]:
        if any(f.has(sp.Piecewise) for f in map(sp.sympify, formulas)):
            raise NotApplicable(
                "A piecewise formula has no complex extension here. Compare 'direct' with "
                "'adjoint' and 'finite_difference' instead."
            )
        f = sp.lambdify([*self.args, *more], formulas, [_SHARP, "numpy"], cse=True)
        return lambda *values: np.array(f(*values), complex)

    def rate(self, t: complex, y: np.ndarray, mode: np.ndarray) -> np.ndarray:
        n, n_x = self.flow.n, self.flow.n_x
        at = (t, *y[:n_x], *self.rho)
        lam = np.empty(0, complex)
        if self.mechanical:
            a, lam = self.forces(at, mode)
            rate = np.concatenate([y[n:n_x], a])
        else:
            rate = self.flows[int(mode[0])](*at)
        cost = 0.0 if self.g is None else self.g(*at, *rate, *lam)[0]
        return np.append(rate, cost)

    def forces(self, at: tuple[complex, ...], mode: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return accelerations and the forces of all rows, zero where none is held."""
        flow = self.flow
        if not flow.rows:
            M = self.mass(*at).reshape(flow.n, flow.n)
            return np.linalg.solve(M, self.force(*at)), np.empty(0, complex)
        return self.saddle(at, mode[1:], self.force(*at), -self.gamma(*at))

    def saddle(
        self, at: tuple[complex, ...], held: np.ndarray, F: np.ndarray, rates: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Solve M a = F + G' lam with G a = rates over the rows held; friction opposes sliding."""
        n, n_c, rows = self.flow.n, self.flow.n_c, self.flow.rows
        M, G = self.mass(*at).reshape(n, n), self.G(*at).reshape(-1, n)[:rows]
        on, pull, mu = np.flatnonzero(held[:rows]), G.copy(), self.mu(*at)
        for k, c in enumerate(self.flow.rough):
            pull[c] -= held[rows + k] * mu[k] * G[n_c + k]
        K = np.block([[M, pull[on].T], [G[on], np.zeros((len(on), len(on)))]])
        solved = np.linalg.solve(K, np.concatenate([F, rates[on]]))
        lam = np.zeros(rows, complex)
        lam[on] = -solved[n:]
        return solved[:n], lam

    def step(self, t: complex, y: np.ndarray, h: complex, mode: np.ndarray) -> np.ndarray:
        tableau = self.march.tableau
        A, c, s = tableau.A, tableau.c, tableau.stages
        K = np.zeros((s, len(y)), complex)
        for i in range(s):
            K[i] = self.rate(t + c[i] * h, y + h * (A[i, :i] @ K[:i]), mode)
        return self.kept(t + h, np.asarray(y + h * (A[s, :s] @ K)), mode)

    def kept(self, t: complex, y: np.ndarray, mode: np.ndarray) -> np.ndarray:
        """Return a state put on its constraints, as the march does it, in complex numbers."""
        flow = self.flow
        if not flow.n_phi:
            return y
        n, first = flow.n, flow.rows - flow.n_phi
        y, held = y.copy(), mode[1:].copy()
        held[:first] = 0
        right, none = np.zeros(flow.rows, complex), np.zeros(n)
        for _ in range(3):
            at = (t, *y[: flow.n_x], *self.rho)
            right[first:] = -self.phi(*at)
            y[:n] += self.saddle(at, held, none, right)[0]
        at = (t, *y[: flow.n_x], *self.rho)
        y[n : flow.n_x] += self.saddle(at, held, none, -self.speed(*at))[0]
        return y

    def guard(self, k: int, t: complex, y: np.ndarray, mode: np.ndarray) -> complex:
        at = (t, *y[: self.flow.n_x], *self.rho)
        who, kind = int(self.head["guard"][k]), KINDS[self.head["kind"][k]]
        if not self.mechanical:
            return complex(self.guards[who](*at)[0])
        n_c, rows = self.flow.n_c, self.flow.rows
        if who >= n_c:
            lam = self.forces(at, mode)[1]
            return complex(self.whens[who - n_c](*at, *lam)[0])
        if kind in ("slips", "sticks", "turns"):
            f = self.flow.rough.index(who)
            if not mode[1 + n_c + f]:
                sliding = self.speed(*at)[n_c + f]
                return complex(mode[1 + rows + f] * sliding)
            lam = self.forces(at, mode)[1]
            side = np.sign(np.real(lam[n_c + f]))
            return complex(self.mu_s(*at)[f] * lam[who] - side * lam[n_c + f])
        return complex(self.forces(at, mode)[1][who] if mode[1 + who] else self.gap(*at)[who])

    def land(
        self, k: int, t: complex, y: np.ndarray, h: complex, mode: np.ndarray
    ) -> tuple[complex, np.ndarray]:
        """Return the complex length of the step that ends on the guard of event k, and its end."""
        # the real event time is known to round-off: Newton moves the imaginary part only
        D = self.head["D"][k]
        new = self.step(t, y, h, mode)
        if self.head["how"][k] == DRIVEN:  # at a break
            return h, new
        for _ in range(3):
            change = np.imag(self.guard(k, t + h, new, mode)) / D
            h = h - 1j * change
            new = self.step(t, y, h, mode)
        return h, new

    def at_once(self, k: int, t: complex, y: np.ndarray) -> tuple[complex, np.ndarray]:
        """Return the time of an event without a step before it, and the state there.

        On its own zero it has its own time: the imaginary part moves by the flow between them.
        """
        if self.head["how"][k] in (CHAINED, DRIVEN):
            return t, y
        mode, rows = np.zeros(1 + 2 * self.flow.rows, np.int64), self.flow.rows
        if self.mechanical:
            mode[1 + rows - self.flow.n_phi : 1 + rows] = self.held_rows[k]
        h = -1j * np.imag(self.guard(k, t, y, mode)) / self.head["D"][k]
        return t + h, y + h * self.march.part("f_minus")[k]

    def jump(self, k: int, t: complex, y: np.ndarray) -> np.ndarray:
        n, n_x = self.flow.n, self.flow.n_x
        who, kind = int(self.head["guard"][k]), KINDS[self.head["kind"][k]]
        at = (t, *y[:n_x], *self.rho)
        if not self.mechanical:
            return np.append(self.resets[who](*at), y[n_x])
        if kind not in ("impact", "closed", "zeno"):
            return y
        p = self.march.part("p")[k]
        if who in self.laws and kind != "zeno":
            return self.by_law(k, at, y)
        e, n_c, rows = self.e(*at), self.flow.n_c, self.flow.rows
        if kind == "zeno" and who < n_c:
            e[who] = 0.0
        held = np.zeros(rows + len(self.flow.rough))
        held[:n_c] = p[:n_c] > 0
        held[rows - self.flow.n_phi : rows] = self.kept_rows[k]
        for f, c in enumerate(self.flow.rough):  # at its bound it slides, inside it sticks
            room = np.real(self.mu(*at)[f]) * p[c] - abs(p[n_c + f])
            held[n_c + f] = p[c] > 0 and room > 1e-12 * p[c]
            held[rows + f] = 0 if held[n_c + f] else -np.sign(p[n_c + f])
        speed = self.speed(*at)
        speed[:n_c] *= 1 + e
        out = y.copy()
        out[n:n_x] += self.saddle(at, held, np.zeros(n), -speed)[0]
        return out

    def by_law(self, k: int, at: tuple[complex, ...], y: np.ndarray) -> np.ndarray:
        """Return the state behind an impact that a law of velocities decides."""
        from explorer.kernels.event_driven.velocity_reset import KEPT, NAMED, keep_others

        n, n_x, first = self.flow.n, self.flow.n_x, self.flow.rows - self.flow.n_phi
        who, held = int(self.head["guard"][k]), self.kept_rows[k] == 1
        G = self.G(*at).reshape(-1, n)[first : self.flow.rows][held]
        marks = self.flow.resets[who, 1:].copy()
        keep_others(G.real.copy(), len(G), marks)
        E = np.concatenate([np.eye(n)[marks == mark] for mark in (NAMED, KEPT)])
        bias = (
            self.speed(*at)[first:] - self.G(*at).reshape(-1, n)[first : self.flow.rows] @ y[n:n_x]
        )
        kept = y[n:n_x][marks == KEPT]
        right = np.concatenate([self.laws[who](*at), kept, -bias[held]])
        out = y.copy()
        out[n:n_x] = np.linalg.solve(np.concatenate([E, G]), right)
        return out

    def interval(self, i: int) -> int:
        """Return the interval of the inputs in which step `i` lies."""
        drive, state = self.question.system.drive, self.march.steps.state
        if drive is None or not len(drive.breaks):
            return 0
        return int(state[i, -1 - len(self.flow.changes)])

    def go(
        self, rhos: np.ndarray, y: np.ndarray, last: int | None
    ) -> tuple[list[list[np.ndarray]], list[complex], np.ndarray, complex]:
        """Return (states on both sides of every event, times of the events, end).

        `rhos` are the parameters in each interval of the inputs, (k, n_rho).
        """
        self.rho = rhos[0]
        march, t = self.march, 0j
        steps, events = march.steps, len(self.head)
        begins = [*self.head["step"].tolist(), len(steps.t) + 1]
        sides, times, k = [], [], 0
        t_end = self.question.t_end
        i = 0
        if self.mechanical and len(steps.t):
            y = self.kept(t, y, steps.state[0])
        while True:
            while begins[k] <= i and k < events:
                if begins[k] == 0 or (k > 0 and begins[k - 1] == begins[k]):
                    t, y = self.at_once(k, t, y)
                if self.head["how"][k] == DRIVEN and i < len(steps.t):
                    self.rho = rhos[self.interval(i)]
                sides.append([y, self.jump(k, t, y)])
                times.append(t)
                if last == k:
                    return sides, times, sides[-1][0], t
                y = sides[-1][1]
                k += 1
            if i >= len(steps.t):
                return sides, times, y, t
            mode, h, self.rho = steps.state[i], complex(steps.h[i]), rhos[self.interval(i)]
            stop, drive = self.interval(i), self.question.system.drive
            if drive is not None and i + 1 < len(steps.t) and self.interval(i + 1) > stop:
                h = drive.breaks[stop] - t  # a break has a real time
            if k < events and begins[k] == i + 1:
                h, y = self.land(k, t, y, h, mode)
            else:
                if i + 1 == len(steps.t):
                    h = t_end - t
                y = self.step(t, y, h, mode)
            t += h
            i += 1


def solve_complex(question: Question) -> Sensitivity:
    """Complex step, one run for each parameter.

    Returns
    -------
    Sensitivity
        Cost gradient and the limits at every event in complex step; `S`, `Z` at the rows between
        are the direct method's, whose largest distance at the events and at the end is in
        ``residuals["direct"]``.
    """
    scheme = question.marches("The complex step repeats")
    if scheme.tableau.code > 1:
        raise NotApplicable(
            "The complex step needs explicit Runge-Kutta steps. Use method='direct', or an "
            "explicit pair such as EventDriven(method='dop853')."
        )
    direct = solve(question)
    solution = direct.solution
    replay = _Replay(question, solution)
    which = question.last_place(solution)
    if which is not None and solution.march.accumulation(which)[0][1] != 1.0:
        raise NotApplicable(
            "The complex step repeats every impact, but infinitely many precede this final time. "
            "Use method='direct' or 'adjoint'."
        )
    n_x, p = question.cost.flow.n_x, len(question.wrt)
    gradient, apart = np.zeros(p), 0.0
    seeds = question.seeds()
    start, _ = question.start()
    minus, plus = (solution.march.part(name) for name in ("f_minus", "f_plus"))
    for j in range(p):
        y0 = np.append(start + 1j * EPS * seeds[:, j], 0.0)
        sides, times, y, t = replay.go(_perturbed(question, j), y0, which)
        for k, (both, hit) in enumerate(zip(sides, times, strict=True)):
            salt = direct.saltation(k)
            row = np.column_stack([salt.S_minus[:, j], salt.S_plus[:, j]])
            # left and right limits of S: the state at a fixed time, so the event's motion goes off
            moved = np.imag(hit) / EPS
            mine = np.column_stack(
                [
                    np.imag(both[0]) / EPS - minus[k] * moved,
                    np.imag(both[1]) / EPS - plus[k] * moved,
                ]
            )
            apart = max(apart, float((np.abs(mine - row) / (1 + np.abs(row))).max()))
        value = y[n_x] + _terminal(question, t, y[:n_x], replay.rho)
        gradient[j] = np.imag(value) / EPS
    size = 1 + np.abs(direct.cost_gradient).max(initial=0.0)
    apart = max(apart, float(np.abs(gradient - direct.cost_gradient).max(initial=0.0) / size))
    return dataclasses.replace(
        direct,
        method="complex_step",
        cost_gradient=gradient,
        residuals={**direct.residuals, "direct": apart},
    )


def _perturbed(question: Question, j: int) -> np.ndarray:
    """Return the parameters in each interval of the inputs, with column `j` moved, (k, n_rho)."""
    drive, places = question.system.drive, [question.places]
    rhos = question.rho.astype(complex)[None]
    if drive is not None:
        rhos = np.tile(rhos, (len(drive.values), 1))
        rhos[:, drive.places_in(question.system)] = drive.values
        places = active_of(question.system, question.columns).tolist()
    for rho, active in zip(rhos, places, strict=True):
        if active[j] >= 0:
            rho[active[j]] += 1j * EPS
    return rhos


def _terminal(question: Question, t: complex, x: np.ndarray, rho: np.ndarray) -> complex:
    """w along the complex perturbation: its gradient times the imaginary parts, plus its value."""
    w, w_t, w_x, w_rho = question.cost.terminal(
        float(np.real(t)), np.ascontiguousarray(np.real(x)), np.real(rho)
    )
    return complex(w + 1j * (w_t * np.imag(t) + w_x @ np.imag(x) + w_rho @ np.imag(rho)))
