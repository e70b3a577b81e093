"""One run of the FESD kernels: what they write to, and what is read from it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from explorer.compiled import Switched, short
from explorer.errors import BadModel, BadValue
from explorer.kernels.collocation import collocation
from explorer.schemes.equations import Equations
from explorer.status import ACCUMULATION, MORE_SWITCHES, NO_ACTIVE_SET, Status
from explorer.switched import SwitchedTrajectory
from explorer.trajectory import LocatedEvent

if TYPE_CHECKING:
    from explorer.schemes.fesd import FESD

__all__ = ["Elements"]

_RULES = {"plus": 1, "minus": -1, "slide": 0}
_SIGNS = 6  # first column of the signs in a row of `switches`


class Elements(Equations):
    """The elements of one run.

    Attributes
    ----------
    states : (n_e + 1, n_x)
        x at the ends of the elements.
    slopes, mult : (n_e, s, n_x), (n_e, s, n_sel)
        x' and multipliers at the stages.
    times : (n_e, 2)
        Start and length of each element in s.
    places : (n_e, 2)
        Interval and phase of each element.
    switches, moments : (n_p, 6 + n_c), (n_p, ...)
        What begins each phase, the first at t = 0: see `explorer.kernels.fesd`.
    """

    def __init__(
        self, compiled: Switched, scheme: FESD, rho: Any, t_end: float, intervals: int
    ) -> None:
        self.compiled, self.scheme, self.t_end = compiled, scheme, t_end
        self.rho = np.asarray(rho, float)
        self.method = collocation(scheme.tableau, scheme.stages)
        self.intervals = intervals

    def workspace(self) -> tuple[Any, ...]:
        """Return the leading arguments of the kernels."""
        compiled, s = self.compiled, self.scheme.stages
        n, nc, nsel = compiled.n_x, compiled.n_c, compiled.n_sel
        d = n + nc
        size = s * d + 1
        work = np.zeros(5)
        work[3] = self.scheme.newton_max
        wide = max(n, nc, 2 * nsel + nc, 1)
        return (
            compiled.table, compiled.shape(s), compiled.input(self.rho),
            np.empty(n * (n + nsel + 2)), np.empty(nc * (n + 2) + 1), self.method.table,
            np.zeros(nc, np.int64), np.zeros(nc + 1, np.int64), np.empty(nsel),
            np.empty((nsel, nc)), np.empty((s, n)), np.empty((s, nc)), np.empty((s, nc)),
            np.empty((s, nsel)), np.empty((size, size)), np.empty(size, np.int64),
            np.empty((3, size)),
            work, np.zeros((15, wide)), np.empty((2 * s, max(n, nc))), np.zeros(4),
        )  # fmt: skip

    def go(self, start: Any) -> None:
        """Run the kernel from `start`, by default the model's own.

        Raises
        ------
        BadModel
            A start that is not finite.
        """
        from explorer.kernels.fesd import march

        compiled, scheme = self.compiled, self.scheme
        n, nc, nsel, s = compiled.n_x, compiled.n_c, compiled.n_sel, scheme.stages
        x0 = compiled.start(self.rho)[0] if start is None else np.asarray(start, float)
        if not np.isfinite(x0).all():
            raise BadModel(f"The start of '{compiled.system.name}' is not finite: {short(x0)}.")
        most = self.intervals * scheme.elements + scheme.max_switches * (scheme.elements + 1)
        most = min(most, max(scheme.max_elements, scheme.elements)) + scheme.elements + 2
        states, times = np.empty((most + 1, n)), np.empty((most, 2))
        slopes, mult = np.empty((most, s * n)), np.empty((most, s * nsel))
        switches = np.empty((scheme.max_switches + 1, _SIGNS + nc), np.int64)
        moments = np.empty((scheme.max_switches + 1, 2 + 3 * n + nsel))
        places, counts = np.empty((most, 2), np.int64), np.zeros(7, np.int64)
        caps = np.array([scheme.elements, scheme.split == "yes", _RULES[scheme.rule]], np.int64)
        knobs = np.array([self.t_end, scheme.h, 0.0])
        states[0] = x0
        work = self.workspace()
        begin = time.perf_counter()
        self.code = march(
            *work, states, slopes, mult, times, counts, np.zeros(nc + 1, np.int64),
            np.zeros(nc + 2, np.int64), caps, knobs, switches, moments, places,
        )  # fmt: skip
        self.seconds = time.perf_counter() - begin
        count, phases = int(counts[1]), int(counts[2])
        self.states, self.times = states[: count + 1].copy(), times[:count].copy()
        self.slopes = slopes[:count].reshape(count, s, n).copy()
        self.mult = mult[:count].reshape(count, s, nsel).copy()
        self.places = places[:count].copy()
        self.switches, self.moments = switches[:phases].copy(), moments[:phases].copy()
        self.t_last, self.tally = float(knobs[2]), counts
        self.counts = np.array([count, phases - 1, int(work[17][2])])
        self.watch = np.full((1, 4), np.inf)
        self.residual_of_newton = float(work[17][1])
        if self.code == NO_ACTIVE_SET:  # a phase that could not begin
            self.switches, self.moments = self.switches[:-1], self.moments[:-1]

    @property
    def status(self) -> Status:
        """How the run ended."""
        detail, t = "", self.t_last
        if self.code == MORE_SWITCHES:
            detail = (
                f" This interval needs {self.tally[4]} elements; it has {self.scheme.elements}."
            )
        if self.code == ACCUMULATION:
            detail = f" The last switch that was found is at t = {self._end:.9g} s."
        return Status.of(self.code, len(self.times), t, self.residual_of_newton, detail)

    @property
    def _end(self) -> float:
        return float(self.times[-1].sum()) if len(self.times) else 0.0

    # -- rows ---------------------------------------------------------------------------------

    def sample(
        self, t: np.ndarray, *, exact: bool = True
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return x (k, n_x), multipliers (k, n_sel) and the number of the element of each time.

        Exact: each by an element of its own; else from the polynomials, as good to the eye.
        """
        n, count = self.compiled.n_x, len(self.times)
        if not count:
            x = np.broadcast_to(self.states[0], (len(t), n)).copy()
            behind = self.moments[:1, 2 + 3 * n :]
            rest = np.zeros((1, self.compiled.n_sel)) if not len(behind) else behind
            return x, np.broadcast_to(rest, (len(t), rest.shape[1])).copy(), np.zeros(len(t), int)
        which = np.searchsorted(self.times[:, 0], t, side="left") - 1
        which = np.clip(which, 0, count - 1)
        begin, h = self.times[which].T
        s = np.clip((t - begin) / h, 0.0, 1.0)
        powers = s[:, None] ** np.arange(1, self.method.stages + 1)
        x = self.states[which] + h[:, None] * np.einsum(
            "tp,jp,tjn->tn", powers, self.method.powers, self.slopes[which]
        )
        x[s >= 1.0] = self.states[which[s >= 1.0] + 1]
        multipliers = np.einsum("tj,tjc->tc", self.method.lagrange(s), self.mult[which])
        if exact:
            from explorer.kernels.within import within

            within(
                *self.workspace(), self.states, self.slopes.reshape(count, -1),
                self.mult.reshape(count, -1), self.times, self.places, self.switches,
                np.ascontiguousarray(t, float), which, x, multipliers,
            )  # fmt: skip
        return x, np.clip(multipliers, 0.0, 1.0), which

    def gaps(self, t: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return no gaps (k, 0): there are no contacts."""
        none = np.zeros((len(t), 0))
        return none, none, none

    def trajectory(self, t_eval: Any = None) -> SwitchedTrajectory:
        """Return rows at `t_eval` (or at the ends of elements) and on both sides of switches."""
        if t_eval is None:
            return self._lazy(np.append(self.times[:, 0], self._end), exact=False)
        times = np.array(t_eval, float)
        if times.ndim != 1 or (np.diff(times) < 0).any() or not np.isfinite(times).all():
            raise BadValue("t_eval needs increasing times.")
        if len(times) and not (times[0] >= 0 and times[-1] <= self.t_end):
            raise BadValue(f"t_eval lies outside [0, {self.t_end:g}] s.")
        return self._lazy(times[times <= self._end], exact=True)

    def rows(self, solution: SwitchedTrajectory, points: int) -> SwitchedTrajectory:
        """Return `solution` with `points` even rows besides those at the ends of elements."""
        even = np.linspace(0.0, self._end, points + 1)
        ends = np.append(self.times[:, 0], self._end)
        finer = self._lazy(even if len(ends) > points else np.union1d(even, ends), exact=False)
        finer.observe = solution.observe
        return finer

    def _lazy(self, times: np.ndarray, exact: bool) -> SwitchedTrajectory:
        compiled, system = self.compiled, self.compiled.system
        patterns = self.switches[:, _SIGNS:]
        distinct, number = np.unique(patterns, axis=0, return_inverse=True)
        self.numbers = number.ravel()
        return SwitchedTrajectory.of(
            self, lambda: self._rows(times, exact), system=system, scheme=self.scheme,
            status=self.status, rho=dict(zip(system.parameters, self.rho.tolist(), strict=True)),
            route=("regions as step functions",) if hasattr(system, "subsystems")
            and not compiled.stewart else (), seconds=self.seconds,
            boundaries=np.append(self.times[:, 0], self._end), interval=self.places[:, 0],
            names=tuple(system.mode_name(signs.tolist()) for signs in distinct),
        )  # fmt: skip

    def _rows(self, times: np.ndarray, exact: bool) -> dict[str, Any]:
        n, nsel = self.compiled.n_x, self.compiled.n_sel
        hits = self.moments[1:, 0]
        times = times[~np.isin(times, hits)]
        x, multipliers, which = self.sample(times, exact=exact)
        start = times == 0.0
        if len(self.moments):
            multipliers[start] = self.moments[0, 2 + 3 * n :]
        phase = self.places[which, 1] if len(self.places) else np.zeros(len(times), int)
        events = len(hits)
        last = np.searchsorted(self.times[:, 0], hits, side="left") - 1
        before = np.einsum("j,ejc->ec", self.method.table[-1], self.mult[last])
        at = self.moments[1:, 2 : 2 + n]
        sides = np.concatenate([times, hits, hits])
        turn = 2.0 * np.arange(events)
        order = np.lexsort((np.concatenate([np.zeros(len(times)), turn, turn + 1]), sides))
        place = np.empty(len(order), int)
        place[order] = np.arange(len(order))
        t, k = sides[order], np.arange(events)
        x = np.concatenate([x, at, at])[order]
        chosen = np.concatenate([multipliers, np.clip(before, 0, 1), self.moments[1:, 2 + 3 * n :]])
        chosen = chosen[order].reshape(len(t), nsel)
        none, zeros = np.zeros((len(t), 0)), np.zeros((len(t), 2))
        return {
            "t": t, "q": x, "v": none, "p": none, "gap": none, "gap_dot": none,
            "active": none.astype(np.int8), "lam_t": none, "lam_max": none, "p_t": none,
            "slip": none, "sticks": none.astype(bool), "iterations": np.ones(len(t), np.int32),
            "residuals": zeros, "x": x, "rates": self.rates(t, x, chosen), "lam": none,
            "z": zeros[:, 0], "S": np.zeros((len(t), n + 1, 0)),
            "mode": self.numbers[np.concatenate([phase, k, k + 1])[order]],
            "located": self._events(place[len(times) + events :]),
            "multipliers": chosen, "c": self.functions(t, x)[0],
        }  # fmt: skip

    def _events(self, right: np.ndarray) -> list[LocatedEvent]:
        system, n, found = self.compiled.system, self.compiled.n_x, []
        names = [system.mode_name(signs.tolist()) for signs in self.switches[:, _SIGNS:]]
        for k in range(1, len(self.moments)):
            was, now = self.switches[k - 1, _SIGNS:], self.switches[k, _SIGNS:]
            changed = np.flatnonzero(was != now)
            surface = self.switches[k, 1] == 1 or not self.compiled.stewart
            which = int(self.switches[k, 2]) if surface else int(changed[0]) if len(changed) else 0
            kind = "slides" if now[which] == 0 else "crosses" if was[which] else "leaves"
            t, slope = self.moments[k, :2].tolist()
            at = self.moments[k, 2 : 2 + n]
            found.append(LocatedEvent(
                t, kind, system.guard_names[which], which, int(right[k - 1]), at[n:], at[n:], 0.0,
                0.0, 0.0, at, at, slope, max(len(changed), 1), names[k - 1], names[k], None,
            ))  # fmt: skip
        return found
