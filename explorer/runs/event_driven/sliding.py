"""A run of the event-driven kernel through active sets, read as one of a system with switches."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from explorer.compiled import Bundle, Switched, compile_switched
from explorer.compiled.held import before_breaks
from explorer.compiled.start_mode import start_mode
from explorer.errors import NotApplicable
from explorer.results.continuations import Continuations
from explorer.results.event import KINDS, LocatedEvent
from explorer.runs.event_driven.march import March
from explorer.runs.fesd.tangents import check_start
from explorer.systems.modes import Branch
from explorer.types import Reals

__all__ = ["SwitchedMarch"]

BAND = 1e-8  # a condition that is not larger is taken for zero


class SwitchedMarch(March):
    """One run; its modes are active sets (`explorer.reformulations.filippov`)."""

    @cached_property
    def compiled(self) -> Switched:
        """The system with its multipliers as inputs."""
        return compile_switched(self.flow.system)  # type: ignore[arg-type]

    def go(self, start: Reals | None, seeds: np.ndarray | None) -> None:
        """Run the kernel.

        Raises
        ------
        BadModel, BadValue
            As for any run; or if a parameter moves the start off a switching surface.
        """
        self.mode, self.begun = self._begin(start)
        super().go(start, seeds)
        if self.wrt and len(self.steps.t):
            n = self.flow.n_x
            first = self.steps.y[0].reshape(-1, n + 1)[:, :n]
            check_start(self.compiled, self.rho, first[0], first[1:].T, self.at_start)

    def start_mode(self, start: Reals | None) -> int:
        """Return the number of the mode in which it begins, picked where there are several."""
        return self.mode

    @property
    def picks(self) -> tuple[int, ...]:
        """What is taken at the moments with several continuations behind the start."""
        return self.settings.picks[self.begun :]

    def _begin(self, start: Reals | None) -> tuple[int, int]:
        """Return the first mode, and whether it is one of several."""
        flow = self.flow
        mode, x = start_mode(flow, self.rho, start), flow.start(self.rho)[0]
        branches = flow.automaton.start_branches  # type: ignore[union-attr]
        held, _ = self._held(
            0.0, x if start is None else np.asarray(start, float), branches, flow.starts
        )
        if len(held) < 2 or mode not in held:
            return mode, 0
        pick = (*self.settings.picks, -1)[0]
        return held[pick] if 0 <= pick < len(held) else mode, 1

    @property
    def _signs(self) -> np.ndarray:
        return np.array(self.flow.active_sets.signs)  # type: ignore[union-attr]

    @property
    def route(self) -> tuple[str, ...]:
        """Exact rewritings on the way."""
        regions = hasattr(self.flow.system, "subsystems")
        return (*(["regions as step functions"] if regions else []), "active sets as modes")

    def residual(self) -> dict[str, float]:
        """Refuse: these are no elements.

        Raises
        ------
        NotApplicable
        """
        raise NotApplicable(
            "EventDriven has no elements whose equations could be checked; FESD() has."
        )

    def choices(self) -> tuple[Continuations, ...]:
        """Return the moments with several continuations, the start too, and what these are."""
        flow, n = self.flow, self.flow.n_x
        places = np.cumsum([0, *(bool(g.branches) for g in flow.guards)]) + flow.offsets["branch"]
        found = []
        if len(self.steps.t):
            x = self.steps.y[0].reshape(-1, n + 1)[0, :n]
            branches = flow.automaton.start_branches  # type: ignore[union-attr]
            found.append(self._moment(0.0, x, branches, flow.starts, int(self.steps.state[0, 0])))
        for event, x in zip(self.events.head, self.part("x_plus")[:, :-1], strict=True):
            guard = event["guard"]
            branches, native = flow.guards[guard].branches, flow.bundles[places[guard]]
            found.append(self._moment(event["t"], x, branches, native, event["after"]))
        return tuple(moment for moment in found if moment is not None)

    def _moment(
        self, t: float, x: np.ndarray, branches: Sequence[Branch], native: Bundle | None, now: int
    ) -> Continuations | None:
        """Return what may follow at a state, if several modes may; `native`: their conditions."""
        flow = self.flow
        held, inp = self._held(t, x, branches, native)
        if len(held) < 2 or now not in held:
            return None
        rates = []
        for to in held:
            flow.make(to)
            rates.append(flow.bundles[to](inp)[: flow.n_x])
        names = tuple(flow.automaton.modes[to].name for to in held)  # type: ignore[union-attr]
        alpha = [flow.active(to)(inp)[: self._signs.shape[1]] for to in held]
        return Continuations(
            float(t),
            x.copy(),
            names,
            np.array(alpha),
            np.array(rates),
            held.index(now),
            flow.system.time_unit,
        )

    def _held(
        self, t: float, x: np.ndarray, branches: Sequence[Branch], native: Bundle | None
    ) -> tuple[list[int], np.ndarray]:
        """Return the modes whose conditions surely hold, and the input that says so."""
        inp = self.flow.input(self.rho)
        if not branches or native is None:
            return [], inp
        inp[0], inp[1 : 1 + self.flow.n_x] = t, x
        ends = np.cumsum([len(b.when) for b in branches])
        parts = np.split(native(inp), ends[:-1])
        held = [b.to for b, part in zip(branches, parts, strict=True) if (part > BAND).all()]
        return held, inp

    def _known(self) -> dict[str, object]:
        system, signs = self.flow.system, self._signs
        met = np.unique(
            np.concatenate(
                [
                    self.steps.state[:, 0],
                    self.events.head["before"],
                    self.events.head["after"],
                ]
            )
        )
        met = met if len(met) else np.array([start_mode(self.flow, self.rho)])
        distinct, number = np.unique(signs[met], axis=0, return_inverse=True)
        self._number = np.zeros(len(signs), int)
        self._number[met] = number.ravel()
        return {
            "boundaries": np.append(self.steps.t, self.t_last),
            "interval": np.zeros(len(self.steps.t), int),
            "patterns": distinct,
            "names": tuple(system.mode_name(s.tolist()) for s in distinct),  # type: ignore[attr-defined]
        }

    def _arrays(self, times: np.ndarray, exact: bool) -> tuple[dict[str, np.ndarray], np.ndarray]:
        rows, right = super()._arrays(times, exact)
        modes = rows["mode"]
        both = np.empty((len(modes), 2 * self._signs.shape[1]))
        left = before_breaks(rows["t"])
        for mode in np.unique(modes):
            here = modes == mode
            of_mode = self.flow.active(int(mode))
            both[here] = self.along(of_mode, rows["t"][here], rows["x"][here], left[here])
        alpha, c = np.hsplit(both, 2)
        return rows | {
            "mode": self._number[modes],
            "alpha": np.clip(alpha, 0.0, 1.0),
            "c": c,
        }, right

    @property
    def _surfaces(self) -> list[int]:
        """Number of the switching function of each event."""
        functions = self.flow.active_sets.functions  # type: ignore[union-attr]
        return [functions[self.flow.guard_name(who)] for who in self.events.head["guard"].tolist()]

    @property
    def sequence(self) -> list[tuple[str, str]]:
        """Kind of each event, and name of its switching function."""
        names, signs, found = self.flow.system.guard_names, self._signs, []  # type: ignore[attr-defined]
        for event, which in zip(self.events.head, self._surfaces, strict=True):
            was, now = signs[event["before"]], signs[event["after"]]
            what = "slides" if now[which] == 0 else "crosses" if was[which] else "leaves"
            what = what if (was != now).any() else "touches"
            found.append(("zeno" if KINDS[event["kind"]] == "zeno" else what, names[which]))
        return found

    def _events(self, right: np.ndarray, gap_dot: np.ndarray) -> list[LocatedEvent]:
        system, signs = self.flow.system, self._signs
        found, surfaces = super()._events(right, gap_dot), self._surfaces
        for k, event in enumerate(self.events.head):
            was, now = signs[event["before"]], signs[event["after"]]
            found[k] = dataclasses.replace(
                found[k],
                index=surfaces[k],
                together=max(int(np.count_nonzero(was != now)), 1),
                mode=system.mode_name(was.tolist()),  # type: ignore[attr-defined]
                to=system.mode_name(now.tolist()),  # type: ignore[attr-defined]
            )
        return found
