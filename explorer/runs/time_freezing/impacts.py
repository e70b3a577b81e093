"""Contacts of a run through time freezing: which close, bounce, slip; impulses and forces."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from explorer.codes import ACCUMULATION, NEWTON_CAP, NO_ACTIVE_SET, SWITCH_CAP
from explorer.compiled.checks import improper
from explorer.compiled.frozen import OBSERVED
from explorer.results.event import LocatedEvent
from explorer.runs.fesd.elements import Elements
from explorer.runs.fesd.joined import shortened
from explorer.runs.time_freezing.legs import STILL
from explorer.runs.time_freezing.march import Freezing, Happened, Jump
from explorer.runs.time_freezing.simultaneous_impacts import Response, Struck, newton
from explorer.status import Status

__all__ = ["TOUCHES", "Impacts"]

_USUAL = 10.0  # the push, m/s2, where nothing else sets a scale
TOUCHES = 1e-9  # m; beside the positions
_REST = 1e-11  # of a, m/s and m/s2
_LEAVES = 1e-6  # of the fastest contact of an impact
_BREAKS = 1e-6  # of the fastest coordinate: an outcome that is not Newton's
_INSTANT = 1e-8  # of an interval: physical time that is none


class Impacts(Freezing):
    """A run of a mechanical system."""

    def begin(self, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the start in pseudo-time, and all parameters.

        A gap that is zero but for round-off is taken by the depth; the push is of the size of the
        accelerations at the start, so that what is frozen is of the size of what is not.
        """
        compiled = self.compiled.switched
        nc, n_x = len(self.compiled.frozen.held), self.compiled.n_x
        rho = np.append(self.rho, _USUAL)
        x = np.zeros(compiled.n_x)
        x[:n_x] = start
        inp = compiled.input(rho)
        inp[1 : 1 + compiled.n_x] = x
        inp[1 + compiled.n_x : 1 + compiled.n_x + compiled.n_sel] = 1.0  # free
        rates = compiled.flow(inp)[: compiled.n_x]
        values = compiled.switching(inp)
        c, slopes = values[: 2 * nc], values[compiled.n_c :]
        slopes = slopes[: compiled.n_c * compiled.n_x].reshape(compiled.n_c, -1)
        speeds, accelerations = np.abs(c[1::2]), np.abs(slopes[1 : 2 * nc : 2] @ rates)
        rho[-1] = a = max(accelerations.max(), 10 * speeds.max() / self.t_end) or _USUAL
        gaps, touches = c[::2], np.abs(c[::2]) <= TOUCHES
        x[n_x : n_x + nc] = np.where(touches, -gaps, 0.0)
        # of an open contact at rest that nothing moves no side of gap' = 0 follows: give it one
        still = ~touches & (speeds <= _REST * a) & (accelerations <= _REST * a)
        for k in np.flatnonzero(still):
            G = slopes[2 * k + 1, self.compiled.n : n_x]
            x[self.compiled.n : n_x] += 4 * (1 + k) * _REST * a * G / (G @ G)
        return x, rho

    def go(self, start: np.ndarray) -> None:
        """March, up to the first impact of several contacts that breaks Newton's law."""
        self.amended = -np.inf
        super().go(start)
        if sum(c.e == 0 for c in self.compiled.system.contacts) < 2:
            return
        for jump in self.jumps():
            opened = self._opened(jump)
            if opened.any():
                self.broken = self.compiled.system.contacts[int(opened.argmax())].name
                self.status_code, self.t_last = NO_ACTIVE_SET, float(self.clock[jump.first])
                return

    def amend(self, leg: Elements, clock: float) -> tuple[np.ndarray, list[Elements]] | None:
        """Put Newton's law in the place of the first impact that has another outcome.

        So too where contacts without rebound touch and the run does not get on.
        """
        if all(c.e != 0 for c in self.compiled.system.contacts):
            return None
        for first, after in self._impacts(leg):
            solved = self._newton(leg, leg.states[first])
            if solved is None:
                continue
            moved, impulse = solved
            v = leg.states[[first, after], self.compiled.n : self.n_x]
            off = np.abs(v[1] - v[0] - moved).max()
            if off > _BREAKS * np.abs(v).max() and leg.states[first, -1] > self.amended:
                return self._struck(leg, first, moved, impulse)
        stuck = leg.code in (NEWTON_CAP, NO_ACTIVE_SET, ACCUMULATION, SWITCH_CAP)
        at = len(leg.times)
        while at and leg.states[-1, -1] - leg.states[at - 1, -1] <= self._instant:
            at -= 1
        if not stuck or leg.states[at, -1] <= self.amended:
            return None
        solved = self._newton(leg, leg.states[at])
        return None if solved is None else self._struck(leg, at, *solved)

    @property
    def _instant(self) -> float:
        """Physical time that is none, in s."""
        return _INSTANT * float(self.options.h)

    def _impacts(self, leg: Elements) -> Iterator[tuple[int, int]]:
        """Yield first element and the one behind of all that happens at one physical time."""
        clock = leg.states[:, -1]
        still = (np.abs(leg.slopes[:, :, -1]) < STILL).all(axis=1)
        k = 0
        while k < len(still):
            first = k
            k += 1
            if still[first]:
                while k < len(still) and clock[k + 1] - clock[first] <= self._instant:
                    k += 1
                yield first, k

    def _newton(self, leg: Elements, x: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the change of v and the impulses (2, n_c) that Newton's law asks for at x.

        None: no contact touches, one of them rebounds, or the law does not say.
        """
        n, nc, system = self.compiled.n, len(self.compiled.frozen.held), self.compiled.system
        sel = leg.compiled.n_sel

        def seen(x: np.ndarray) -> dict[str, np.ndarray]:
            out = leg.along(self.compiled.observed, np.zeros(1), x[None], np.zeros((1, sel)))[0]
            return dict(zip(OBSERVED, out.reshape(len(OBSERVED), nc), strict=True))

        at = seen(x)
        reach = np.abs(leg.states[:, :n]).max() + np.abs(at["gap"]).max()
        touches = np.flatnonzero(np.abs(at["gap"]) <= TOUCHES * max(reach, 1e-300))
        k = len(touches)
        if any(system.contacts[i].e != 0 for i in touches):
            return None
        moved = np.zeros((2 * k, n))  # by each impulse
        for a, i in enumerate(touches.tolist()):
            chosen, tangent = np.ones((1, sel)), self.compiled.frozen.held[i].tangent
            chosen[0, [2 * i, 2 * i + 1]] = 0.0
            if tangent >= 0:
                chosen[0, tangent] = 0.5
            push = leg.along(self.compiled.observed, np.zeros(1), x[None], chosen)[0]
            push = push.reshape(len(OBSERVED), nc)[OBSERVED.index("push"), i]
            moved[a] = leg.rates(np.zeros(1), x[None], chosen)[0, n : 2 * n] / push
            if tangent >= 0 and at["mu"][i] > 0:
                chosen[0, tangent] = 0.0
                pulled = leg.rates(np.zeros(1), x[None], chosen)[0, n : 2 * n] / push
                moved[k + a] = (pulled - moved[a]) / at["mu"][i]
        rates = np.append(at["gap_dot"][touches], at["slip"][touches])
        W = np.empty((2 * k, 2 * k))
        for a in range(2 * k):
            y = x.copy()
            y[n : 2 * n] += moved[a]
            now = seen(y)
            W[:, a] = np.append(now["gap_dot"][touches], now["slip"][touches]) - rates
        p = newton(Response(rates, W, at["mu"][touches]))
        if p is None:
            return None
        impulse = np.zeros((2, nc))
        impulse[:, touches] = p.reshape(2, k)
        return p @ moved, impulse

    def _struck(
        self, leg: Elements, first: int, moved: np.ndarray, impulse: np.ndarray
    ) -> tuple[np.ndarray, list[Elements]]:
        """Return the state behind an impact that was solved, and the elements up to there."""
        n, nc = self.compiled.n, impulse.shape[1]
        x = leg.states[first].copy()
        after = x.copy()
        after[n : 2 * n] += moved
        after[self.n_x : self.n_x + nc] = 0.0
        self.amended = float(x[-1]) + self._instant
        legs = shortened(leg, first)
        if impulse.any():
            signs = np.ones(leg.phases.signs.shape[1], int)
            signs[: 2 * nc].reshape(nc, 2)[impulse[0] > 0] = -1
            legs.append(Struck.between(leg, x, after, impulse, signs))
        return after, legs

    def jumps(self) -> list[Jump]:
        """Return what happens before the end; without rebound all of one physical time is one."""
        found = super().jumps()
        if any(c.e != 0 for c in self.compiled.system.contacts):
            return found
        merged: list[Jump] = []
        for jump in found:
            if merged and self._at_once(merged[-1], jump):
                last = merged.pop()
                jump = Jump(last.first, jump.after, last.before, jump.phase)
            merged.append(jump)
        return merged

    def _at_once(self, one: Jump, other: Jump) -> bool:
        frozen = one.first < one.after and other.first < other.after
        return frozen and self.clock[other.first] - self.clock[one.first] <= self._instant

    def _opened(self, jump: Jump) -> np.ndarray:
        """Tell which contacts with e = 0 were pushed and leave all the same, (n_c,) bool."""
        plastic = np.array([c.e == 0 for c in self.compiled.system.contacts])
        struck = (self.signs[jump.before + 1 : jump.phase, :, 0] < 0).any(axis=0) & plastic
        alone = all(k in self.elements.struck for k in range(jump.first, jump.after))
        if jump.first == jump.after or struck.sum() < 2 or alone:
            return np.zeros(len(plastic), bool)
        x = self.elements.states[[jump.first, jump.after]]
        before, after = self.observed(x, np.zeros((2, self.elements.mult.shape[2])))["gap_dot"]
        fastest = np.abs([before, after]).max()
        return np.asarray(struck & (self._impulses(jump)[0] > 0) & (after > _LEAVES * fastest))

    def lawful(self, count: int) -> int:
        """Return how many elements, of `count`, a coefficient of friction is not negative in."""
        from explorer.kernels.friction.coefficients import IMPROPER

        e, nc = self.elements, len(self.compiled.frozen.held)
        touches = e.phases.signs[:, : 2 * nc : 2] <= 0
        mu = self.observed(e.states[1:], np.zeros((len(e.times), e.mult.shape[1])))["mu"]
        wrong = np.argwhere((mu < 0) & touches[e.places[:, 1]])[:1].tolist()
        if not wrong or wrong[0][0] >= count:
            return count
        self.status_code = IMPROPER
        last, contact = map(int, wrong[0])
        self.wrong = contact, float(mu[last, contact])
        return max(last, 1)

    @property
    def status(self) -> Status:
        """How the run ended, at its physical time."""
        if hasattr(self, "broken"):
            return Status.stopped(
                self.status_code,
                "impact_law",
                len(self.elements.times),
                self.t_last,
                "several contacts close at the same time here, and another contact opens "
                f"{self.broken!r} after its impact: Newton's law for all of them together gives "
                "another result. Use EventDriven or MoreauJean, which solve for it",
            )
        if not hasattr(self, "wrong"):
            return super().status
        contact, mu = self.wrong
        words = improper(self.compiled.system.contacts[contact].name, mu, mu)
        return Status.stopped(
            self.status_code,
            "improper_friction",
            len(self.elements.times),
            self.t_last,
            f"within an element, the {words}",
        )

    @cached_property
    def signs(self) -> np.ndarray:
        """Signs of gap + d and of gap' of each contact in each phase, (n_p, n_c, 2)."""
        nc = len(self.compiled.frozen.held)
        found = self.elements.phases.signs[:, : 2 * nc]
        return found.reshape(len(found), nc, 2)

    @cached_property
    def closed(self) -> np.ndarray:
        """Which contacts stay closed in each phase, and in the last row before the start."""
        closed = (self.signs == 0).all(axis=2)
        return np.concatenate([closed, np.zeros_like(closed[:1])])

    @cached_property
    def sides(self) -> np.ndarray:
        """Direction of the slip of each contact in each phase (1 without friction); as `closed`."""
        found = np.ones_like(self.closed, int)
        for i, contact in enumerate(self.compiled.frozen.held):
            if contact.tangent >= 0:
                found[:-1, i] = self.elements.phases.signs[:, contact.tangent]
        return found

    def happens(self, jump: Jump) -> list[tuple[str, int]]:
        """Return the kinds and contacts of the events at a jump."""
        was, now = self.closed[jump.before], self.closed[jump.phase]
        if jump.first < jump.after:
            struck = (self.signs[jump.before + 1 : jump.phase, :, 0] < 0).any(axis=0)
            return [("closed" if now[i] else "impact", i) for i in np.flatnonzero(struck).tolist()]
        found = [("released", i) for i in np.flatnonzero(was & ~now).tolist()]
        found += [("closed", i) for i in np.flatnonzero(now & ~was).tolist()]
        before, after = self.sides[jump.before], self.sides[jump.phase]
        for i in np.flatnonzero(was & now & (before != after)).tolist():
            kind = "sticks" if after[i] == 0 else "slips" if before[i] == 0 else "turns"
            found.append((kind, i))
        return found

    def _impulses(self, jump: Jump) -> tuple[np.ndarray, np.ndarray]:
        """Return the integrals of push and pull over an arc, (n_c,) each."""
        e, method = self.elements, self.elements.method
        part = slice(jump.first, jump.after)
        h = e.times[part, 1]
        moved = np.einsum("ij,ejn->ein", method.A, e.slopes[part])
        x = e.states[:-1][part][:, None] + h[:, None, None] * moved
        found = self.observed(x.reshape(-1, x.shape[2]), e.mult[part].reshape(-1, e.mult.shape[2]))
        weights = h[:, None] * method.b
        solved = [k for k in range(jump.first, jump.after) if k in e.struck]
        weights[[k - jump.first for k in solved]] = 0.0
        push, pull = weights.ravel() @ found["push"], weights.ravel() @ found["pull"]
        return (
            push + sum(e.struck[k][0] for k in solved),
            pull + sum(e.struck[k][1] for k in solved),
        )

    def kind_rows(
        self,
        x: np.ndarray,
        chosen: np.ndarray,
        phase: np.ndarray,
        happened: Happened,
        right: np.ndarray,
    ) -> dict[str, object]:
        """Return positions, velocities, contacts and events."""
        system, n, count = self.compiled.system, self.compiled.n, len(x)
        nc = len(system.contacts)
        found = self.observed(x, chosen)
        flow = self.elements.rates(np.zeros(count), x, chosen, self.begins(x))
        pace = flow[:, -1]
        running = pace > 0
        pace = np.where(running, pace, 1.0)[:, None]
        closed, sliding = self.closed[phase], self.sides[phase]
        lam = np.where(closed & running[:, None], found["push"] / pace, 0.0)
        pull = np.where(closed & running[:, None], found["pull"] / pace, 0.0)
        p, p_t = np.zeros((2, count, nc))
        for (jump, _), row in zip(happened, right, strict=True):
            if jump.first < jump.after:
                p[row], p_t[row] = self._impulses(jump)
        v = x[:, n : 2 * n]
        free = np.where(running[:, None], flow[:, n : 2 * n] / pace, 0.0)
        return {
            "q": x[:, :n],
            "v": v,
            "rates": np.column_stack([v, free]),
            "gap": found["gap"],
            "gap_dot": found["gap_dot"],
            "slip": found["slip"],
            "active": closed.astype(np.int8),
            "p": p,
            "p_t": p_t,
            "lam": lam,
            "lam_t": pull,
            "lam_max": found["mu"] * lam,
            "p_max": found["mu"] * p,
            "sticks": closed & (sliding == 0),
            "mode": np.zeros(count, int),
            "located": self._events(happened, right, found["gap_dot"], p),
        }

    def _events(
        self, happened: Happened, right: np.ndarray, gap_dot: np.ndarray, p: np.ndarray
    ) -> list[LocatedEvent]:
        n, e, found = self.compiled.n, self.elements, []
        names = [c.name for c in self.compiled.system.contacts]
        for (jump, what), row in zip(happened, right.tolist(), strict=True):
            minus, plus = (e.states[k, : 2 * n] for k in (jump.first, jump.after))
            for kind, i in what:
                found.append(
                    LocatedEvent(
                        float(self.clock[jump.first]),
                        kind,
                        names[i],
                        i,
                        row,
                        minus[n:],
                        plus[n:],
                        float(gap_dot[row - 1, i]),
                        float(gap_dot[row, i]),
                        float(p[row, i]),
                        minus,
                        plus,
                        float(gap_dot[row - 1, i]),
                        len(what),
                        "",
                        "",
                        None,
                    )
                )
        return found
