"""One run of the FESD kernels: what they write to, and what is read from it."""

from __future__ import annotations

import time

import numpy as np
import sympy as sp

from explorer.codes import ACCUMULATION, MORE_SWITCHES, NEWTON_CAP, NO_ACTIVE_SET
from explorer.compiled import short
from explorer.compiled.observe import observe
from explorer.errors import BadModel
from explorer.quantities import number, quantity
from explorer.results.continuations import Continuations
from explorer.results.event import Jump, LocatedEvent
from explorer.results.solution import Solution
from explorer.runs.fesd.continuations import continuations
from explorer.runs.fesd.residuals import residual
from explorer.runs.fesd.run import Run
from explorer.runs.fesd.tangents import Tangents
from explorer.runs.row_times import row_times
from explorer.status import Status
from explorer.types import Reals

__all__ = ["Elements"]

_RULES = {"plus": 1, "minus": -1, "slide": 0}
_SURFACE, _FOLD = 1, 3  # kinds of a switch: `explorer.kernels.fesd.structures`


class Elements(Run):
    """The elements of one run, as the kernel finds them.

    Attributes
    ----------
    tangents : Tangents or None
        Set where derivatives or a cost are asked for.
    code : int
        Of the status.
    """

    tangents: Tangents | None = None

    def begin(self, start: Reals | None) -> np.ndarray:
        """Return the state (n_x,) to start from: `start`, by default the model's own.

        Raises
        ------
        BadModel
            A start that is not finite.
        """
        compiled = self.compiled
        x0 = compiled.start(self.rho)[0] if start is None else np.asarray(start, float)
        if not np.isfinite(x0).all():
            raise BadModel(f"The start of '{compiled.system.name}' is not finite: {short(x0)}.")
        return x0

    def go(self, start: Reals | None) -> None:
        """Run the kernel from `start`, by default the model's own.

        Raises
        ------
        BadModel
            A start that is not finite.
        """
        from explorer.kernels.fesd import structures as kernel
        from explorer.kernels.fesd.march import march

        compiled, options = self.compiled, self.options
        n, nsel, s = compiled.n_x, compiled.n_sel, options.stages
        x0 = self.begin(start)
        most = len(self.ends) * options.elements + options.max_switches * (options.elements + 1)
        most = min(most, max(options.max_elements, options.elements)) + options.elements + 2
        record = kernel.Record(
            np.empty((most + 1, n)),
            np.empty((most, s * n)),
            np.empty((most, s * nsel)),
            *np.empty((2, most)),
            *np.empty((2, most), np.int64),
        )
        phases = kernel.phases(options.max_switches + 1, n, compiled.n_c, nsel)
        numbers = kernel.Options(
            self.ends,
            options.h,
            options.elements,
            int(options.split),
            _RULES[options.rule],
            np.array(options.picked, np.int64),
            int(self.jumps),
        )
        tally = np.zeros(1, kernel.TALLY)
        record.states[0] = x0
        work = self.workspace()
        begin = time.perf_counter()
        self.code = march(work, record, phases, numbers, tally)
        self.seconds = time.perf_counter() - begin
        self.tally, newton = tally[0], work.element.solver.newton[0]
        count, made = int(self.tally["elements"]), int(self.tally["phases"])
        self.states = record.states[: count + 1].copy()
        self.times = np.column_stack([record.begin[:count], record.length[:count]])
        self.slopes = record.slopes[:count].reshape(count, s, n).copy()
        self.mult = record.mult[:count].reshape(count, s, nsel).copy()
        self.places = np.column_stack([record.interval[:count], record.phase[:count]])
        self.t_last = float(self.tally["reached"])
        self.counts = np.array([count, made - 1, int(newton["evaluations"])])
        self.nearest = np.inf  # no guard nearly fires: none is watched
        self.residual_of_newton = float(newton["residual"])
        if made > 1 and phases.switches["element"][made - 1] == count:  # it could not begin
            made -= 1
        self.phases = kernel.Phases(*(part[:made].copy() for part in phases))
        self.polished, self.taus = np.zeros(made, bool), np.zeros(made)

    def polish(self) -> None:
        """Find the ends of slides anew, where dc/dt = 0: to the order of the states."""
        from explorer.kernels.fesd.slide_end import polish

        if not len(self.times):
            return
        self.taus = np.full(len(self.phases.t), np.nan)
        polish(self.workspace(), self.record, self.phases, self.taus)
        self.polished = np.isfinite(self.taus)

    def residual(self) -> dict[str, float]:
        """Return the largest violation of each block of the FESD equations."""
        return residual(self)

    def choices(self) -> tuple[Continuations, ...]:
        """Return the moments with several continuations, and what these are."""
        return continuations(self)

    @property
    def status(self) -> Status:
        """How the run ended."""
        detail, t, unit = "", self.t_last, self.compiled.system.time_unit
        if self.code == MORE_SWITCHES:
            needed, has = self.tally["needed"], self.options.elements
            detail = f" This interval needs {needed} elements; it has {has}."
        if self.code in (NEWTON_CAP, NO_ACTIVE_SET):
            detail = self._growth
        if self.code == ACCUMULATION:
            detail = f" The last switch that was found is at t = {quantity(self._end, unit, 9)}."
        return Status.of(self.code, len(self.times), t, self.residual_of_newton, detail, unit)

    @property
    def _growth(self) -> str:
        """Say which state grows so fast that no element follows it, if one does."""
        x, names = self.states[-1], self.compiled.system.coordinates
        rate = self.slopes[-1, -1] if len(self.slopes) else np.zeros_like(x)
        with np.errstate(divide="ignore", invalid="ignore"):
            doubles = np.where(x * rate > 0, x / rate, np.inf)
        k = int(doubles.argmin())
        if not (doubles[k] < self.options.h and abs(x[k]) > 10 * np.abs(self.states[:, k]).mean()):
            return ""
        within = quantity(doubles[k], self.compiled.system.time_unit, 2)
        return f" {names[k]} = {number(x[k], 3)} doubles within {within} there: it may blow up."

    @property
    def jumps(self) -> bool:
        """Whether switching functions jump where inputs change."""
        system, drive = self.compiled.system, self.compiled.system.drive
        if drive is None:
            return False
        jumping = tuple(k for k, signal in drive.inputs.items() if signal.kind == "constant")
        kept: dict[tuple[str, ...], bool] = system.lasting.setdefault("jumping", {})
        if jumping not in kept:
            moved = {*map(sp.Symbol, jumping)}
            kept[jumping] = any(switch.c.free_symbols & moved for switch in system.switches)
        return kept[jumping]

    @property
    def graded(self) -> np.ndarray:
        """Those of phases that end at a fold, (n_e,) bool: there they get ever shorter."""
        return np.isin(self.places[:, 1], np.flatnonzero(self.phases.switches["kind"][1:] == _FOLD))

    @property
    def sequence(self) -> list[list[int]]:
        """What happened at each switch, in numbers that two runs can compare."""
        switches, signs = self.phases.switches[1:], self.phases.signs[1:]
        rows = np.column_stack([switches["kind"], switches["which"], signs])
        numbers: list[list[int]] = rows.tolist()
        return numbers

    def jump(self, k: int) -> Jump:
        """Return what differentiates switch `k`, from 0."""
        assert self.tangents is not None
        return self.tangents.jump(k)

    def end(self) -> tuple[float, np.ndarray, float, np.ndarray]:
        """Return t, x, z at the end, and the derivatives of (x, z)."""
        assert self.tangents is not None
        moved = self.tangents.moved[-1, :-1, : self.compiled.n_x + 1]
        return self.t_last, self.states[-1], float(self.tangents.cost[-1]), moved.T

    @property
    def _end(self) -> float:
        return float(self.times[-1].sum()) if len(self.times) else 0.0

    def sample(
        self, t: np.ndarray, *, exact: bool = True
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return x (k, n_x), multipliers (k, n_sel) and the number of the element of each time.

        Exact: each by an element of its own; else from the polynomials, as good to the eye.
        """
        n, count = self.compiled.n_x, len(self.times)
        if not count:
            x = np.broadcast_to(self.states[0], (len(t), n)).copy()
            behind = self.phases.multipliers[:1]
            rest = np.zeros((1, self.compiled.n_sel)) if not len(behind) else behind
            return x, np.broadcast_to(rest, (len(t), rest.shape[1])).copy(), np.zeros(len(t), int)
        which = np.searchsorted(self.times[:, 0], t, side="left") - 1
        which = np.clip(which, 0, count - 1)
        begin, h = self.times[which].T
        s = np.clip((t - begin) / h, 0.0, 1.0)
        powers = s[:, None] ** np.arange(1, self.method.stages + 1)
        shares = powers @ self.method.powers.T
        x = self.states[which] + h[:, None] * np.einsum("tj,tjn->tn", shares, self.slopes[which])
        weights, ends = self.method.lagrange(s), s >= 1.0
        x[ends], weights[ends] = self.states[which[ends] + 1], self.method.end
        multipliers = np.einsum("tj,tjc->tc", weights, self.mult[which])
        if exact:
            from explorer.kernels.fesd.dense_output import within

            times = np.ascontiguousarray(t, float)
            within(self.workspace(), self.record, self.phases, times, which, x, multipliers)
        return x, np.clip(multipliers, 0.0, 1.0), which

    def slopes_at(self, t: np.ndarray) -> np.ndarray:
        """Return the derivatives of (x, z) at fixed times, (k, n_x + 1, p)."""
        which = np.searchsorted(self.times[:, 0], t, side="left") - 1
        assert self.tangents is not None
        return self.tangents.at(t, np.maximum(which, 0))[0]

    def gaps(self, t: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return no gaps (k, 0): there are no contacts."""
        none = np.zeros((len(t), 0))
        return none, none, none

    def trajectory(self, t_eval: Reals | None = None) -> Solution:
        """Return rows at `t_eval` (or at the ends of elements) and on both sides of switches."""
        if t_eval is None:
            return self._lazy(np.append(self.times[:, 0], self._end), exact=False)
        unit = self.compiled.system.time_unit
        return self._lazy(row_times(t_eval, self.t_end, self._end, unit), exact=True)

    def rows(self, solution: Solution, points: int | np.ndarray) -> Solution:
        """Return `solution` with rows at these times, or so many even ones and the knots."""
        if isinstance(points, int):
            even, ends = np.linspace(0.0, self._end, points + 1), [*self.knots, self._end]
            points = even if len(ends) > points else np.union1d(even, ends)
        return self._lazy(points, exact=False)

    def _lazy(self, times: np.ndarray, exact: bool) -> Solution:
        compiled, system = self.compiled, self.compiled.system
        patterns = self.phases.signs
        distinct, number = np.unique(patterns, axis=0, return_inverse=True)
        self.numbers = number.ravel()
        known = {
            "march": self,
            "boundaries": np.append(self.times[:, 0], self._end),
            "interval": self.places[:, 0],
            "patterns": distinct,
            "names": tuple(system.mode_name(signs.tolist()) for signs in distinct),
        }
        return Solution(
            lambda: self._rows(times, exact),
            system=system,
            scheme=self.scheme,
            status=self.status,
            observe=observe,
            rho=dict(zip(system.parameters, self.rho.tolist(), strict=True)),
            route=("regions as step functions",)
            if hasattr(system, "subsystems") and not compiled.stewart
            else (),
            seconds=self.seconds,
            known=known,
        )

    def _rows(self, times: np.ndarray, exact: bool) -> dict[str, object]:
        n, nsel = self.compiled.n_x, self.compiled.n_sel
        hits = self.hits
        last = self.phases.switches["element"][1:] - 1
        found = self.times[last].sum(axis=1) if len(hits) else hits
        own = ~np.isin(times, hits if exact else np.append(hits, found))
        times = times[own]
        x, multipliers, which = self.sample(times, exact=exact)
        start = times == 0.0
        if len(self.phases.t):
            multipliers[start] = self.phases.multipliers[0]
        phase = self.places[which, 1] if len(self.places) else np.zeros(len(times), int)
        if self.polished.any():  # what lies between an element's end and that of its slide
            phase = np.searchsorted(hits, times, side="left")
        events = len(hits)
        before = np.einsum("j,ejc->ec", self.method.end, self.mult[last])
        at = self.phases.x[1:]
        sides = np.concatenate([times, hits, hits])
        turn = 2.0 * np.arange(events)
        order = np.lexsort((np.concatenate([np.zeros(len(times)), turn, turn + 1]), sides))
        place = np.empty(len(order), int)
        place[order] = np.arange(len(order))
        t, k = sides[order], np.arange(events)
        x = np.concatenate([x, at, at])[order]
        chosen = np.concatenate([multipliers, np.clip(before, 0, 1), self.phases.multipliers[1:]])
        chosen = chosen[order].reshape(len(t), nsel)
        none, zeros = np.zeros((len(t), 0)), np.zeros((len(t), 2))
        z, S = zeros[:, 0], np.zeros((len(t), n + 1, 0))
        if self.tangents is not None:
            between, cost = self.tangents.at(times, which)
            jumps = [self.tangents.jump(e) for e in range(events)]
            spent = [j.y[n] for j in jumps]
            z = np.concatenate([cost, spent, spent])[order]
            sides_of = [[getattr(j, side) for j in jumps] for side in ("s_minus", "s_plus")]
            S = np.concatenate(
                [between, *(np.reshape(s, (events, *between.shape[1:])) for s in sides_of)]
            )[order]
        return {
            "t": t,
            "q": x,
            "v": none,
            "p": none,
            "gap": none,
            "gap_dot": none,
            "active": none.astype(np.int8),
            "lam_t": none,
            "lam_max": none,
            "p_t": none,
            "slip": none,
            "sticks": none.astype(bool),
            "iterations": np.ones(len(t), np.int32),
            "residuals": zeros,
            "x": x,
            "rates": self.rates(t, x, chosen),
            "lam": none,
            "z": z,
            "S": S,
            "mode": self.numbers[np.concatenate([phase, k, k + 1])[order]],
            "located": self._events(place[len(times) + events :]),
            "theta" if self.compiled.stewart else "alpha": chosen,
            "c": self.functions(t, x)[0],
        }

    def _switch(self, k: int) -> tuple[str, int, int]:
        """Return the kind of switch `k`, from 1, its surface, and how many surfaces change."""
        switch, was, now = self.phases.switches[k], *self.phases.signs[[k - 1, k]]
        changed = np.flatnonzero(was != now)
        surface = switch["kind"] == _SURFACE or not self.compiled.stewart
        known = surface and switch["which"] >= 0  # else inputs have changed it
        which = int(switch["which"]) if known else int(changed[0]) if len(changed) else 0
        kind = "slides" if now[which] == 0 else "crosses" if was[which] else "leaves"
        return kind, which, max(len(changed), 1)

    @property
    def met(self) -> list[tuple[str, str]]:
        """Kind of each switch, and name of its switching function."""
        names = self.compiled.system.guard_names
        switches = (self._switch(k) for k in range(1, len(self.phases.t)))
        return [(kind, names[which]) for kind, which, _ in switches]

    def _events(self, right: np.ndarray) -> list[LocatedEvent]:
        system, n, found = self.compiled.system, self.compiled.n_x, []
        names = [system.mode_name(signs.tolist()) for signs in self.phases.signs]
        for k in range(1, len(self.phases.t)):
            kind, which, together = self._switch(k)
            t, slope = float(self.phases.t[k]), float(self.phases.slope[k])
            at = self.phases.x[k]
            found.append(
                LocatedEvent(
                    t,
                    kind,
                    system.guard_names[which],
                    which,
                    int(right[k - 1]),
                    at[n:],
                    at[n:],
                    0.0,
                    0.0,
                    0.0,
                    at,
                    at,
                    slope,
                    together,
                    names[k - 1],
                    names[k],
                    None if self.tangents is None else self.tangents.dt_drho(k - 1),
                )
            )
        return found
