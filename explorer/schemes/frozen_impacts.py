"""Contacts of a run through time freezing: which close, bounce, slip; impulses and forces."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from explorer.codes import NO_ACTIVE_SET
from explorer.compiled.checks import improper
from explorer.schemes.base import stopped
from explorer.schemes.freezing import SIGNS, Freezing, Jump
from explorer.status import Status
from explorer.trajectory import LocatedEvent

__all__ = ["Impacts"]

_USUAL = 10.0  # the push, m/s2, where nothing else sets a scale
_TOUCHES = 1e-9  # m
_STILL = 1e-11  # of a, m/s and m/s2
_LEAVES = 1e-6  # of the fastest contact of an impact


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
        gaps, touches = c[::2], np.abs(c[::2]) <= _TOUCHES
        x[n_x : n_x + nc] = np.where(touches, -gaps, 0.0)
        # of an open contact at rest that nothing moves no side of gap' = 0 follows: give it one
        still = ~touches & (speeds <= _STILL * a) & (accelerations <= _STILL * a)
        for k in np.flatnonzero(still):
            G = slopes[2 * k + 1, self.compiled.n : n_x]
            x[self.compiled.n : n_x] += 4 * (1 + k) * _STILL * a * G / (G @ G)
        return x, rho

    def go(self, start: np.ndarray) -> None:
        """March, up to the first impact of several contacts that breaks Newton's law."""
        super().go(start)
        for jump in self.jumps():
            opened = self._opened(jump)
            if opened.any():
                self.broken = self.compiled.system.contacts[int(opened.argmax())].name
                self.status_code, self.t_last = NO_ACTIVE_SET, float(self.clock[jump.first])
                return

    def _opened(self, jump: Jump) -> np.ndarray:
        """Tell which contacts with e = 0 were pushed and leave all the same, (n_c,) bool."""
        plastic = np.array([c.e == 0 for c in self.compiled.system.contacts])
        struck = (self.signs[jump.before + 1 : jump.phase, :, 0] < 0).any(axis=0) & plastic
        if jump.first == jump.after or struck.sum() < 2:
            return np.zeros(len(plastic), bool)
        x = self.elements.states[[jump.first, jump.after]]
        before, after = self.observed(x, np.zeros((2, self.elements.mult.shape[2])))["gap_dot"]
        fastest = np.abs([before, after]).max()
        return struck & (self._impulses(jump)[0] > 0) & (after > _LEAVES * fastest)

    def lawful(self, count: int) -> int:
        """Return how many elements, of `count`, a coefficient of friction is not negative in."""
        from explorer.kernels.coefficients import IMPROPER

        e, nc = self.elements, len(self.compiled.frozen.held)
        touches = e.switches[:, SIGNS : SIGNS + 2 * nc : 2] <= 0
        mu = self.observed(e.states[1:], np.zeros((len(e.times), e.mult.shape[1])))["mu"]
        wrong = np.argwhere((mu < 0) & touches[e.places[:, 1]])[:1].tolist()
        if not wrong or wrong[0][0] >= count:
            return count
        (last, contact), self.status_code = wrong[0], IMPROPER
        self.wrong = contact, float(mu[last, contact])
        return max(last, 1)

    @property
    def status(self) -> Status:
        """How the run ended, at its physical time."""
        if hasattr(self, "broken"):
            return stopped(
                self.status_code, "impact_law", len(self.elements.times), self.t_last,
                f"several contacts strike at once here, and {self.broken!r}, which was pushed, is "
                "opened by another one: Newton's law for all of them gives another outcome. "
                "EventDriven and MoreauJean solve for it",
            )  # fmt: skip
        if not hasattr(self, "wrong"):
            return super().status
        contact, mu = self.wrong
        words = improper(self.compiled.system.contacts[contact].name, mu, mu)
        return stopped(
            self.status_code, "improper_friction", len(self.elements.times), self.t_last,
            f"within an element, the {words}",
        )  # fmt: skip

    @cached_property
    def signs(self) -> np.ndarray:
        """Signs of gap + d and of gap' of each contact in each phase, (n_p, n_c, 2)."""
        nc = len(self.compiled.frozen.held)
        found = self.elements.switches[:, SIGNS : SIGNS + 2 * nc]
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
                found[:-1, i] = self.elements.switches[:, SIGNS + contact.tangent]
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
        e, s = self.elements, self.elements.method.stages
        part = slice(jump.first, jump.after)
        h, table = e.times[part, 1], e.method.table
        moved = np.einsum("ij,ejn->ein", table[:s], e.slopes[part])
        x = e.states[:-1][part][:, None] + h[:, None, None] * moved
        found = self.observed(x.reshape(-1, x.shape[2]), e.mult[part].reshape(-1, e.mult.shape[2]))
        weights = (h[:, None] * table[3 * s + 2]).ravel()
        return weights @ found["push"], weights @ found["pull"]

    def kind_rows(
        self, x: np.ndarray, chosen: np.ndarray, phase: np.ndarray, happened: Any, right: np.ndarray
    ) -> dict[str, Any]:
        """Return positions, velocities, contacts and events."""
        system, n, count = self.compiled.system, self.compiled.n, len(x)
        nc = len(system.contacts)
        found = self.observed(x, chosen)
        flow = self.elements.rates(np.zeros(count), x, chosen)
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
            "q": x[:, :n], "v": v, "rates": np.column_stack([v, free]),
            "gap": found["gap"], "gap_dot": found["gap_dot"], "slip": found["slip"],
            "active": closed.astype(np.int8), "p": p, "p_t": p_t, "lam": lam, "lam_t": pull,
            "lam_max": found["mu"] * lam, "sticks": closed & (sliding == 0),
            "mode": np.zeros(count, int),
            "located": self._events(happened, right, found["gap_dot"], p),
        }  # fmt: skip

    def _events(
        self, happened: Any, right: np.ndarray, gap_dot: np.ndarray, p: np.ndarray
    ) -> list[LocatedEvent]:
        n, e, found = self.compiled.n, self.elements, []
        names = [c.name for c in self.compiled.system.contacts]
        for (jump, what), row in zip(happened, right.tolist(), strict=True):
            minus, plus = (e.states[k, : 2 * n] for k in (jump.first, jump.after))
            for kind, i in what:
                found.append(LocatedEvent(
                    float(self.clock[jump.first]), kind, names[i], i, row, minus[n:], plus[n:],
                    float(gap_dot[row - 1, i]), float(gap_dot[row, i]), float(p[row, i]), minus,
                    plus, float(gap_dot[row - 1, i]), len(what), "", "", None,
                ))  # fmt: skip
        return found
