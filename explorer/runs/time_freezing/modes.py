"""The modes of a run through time freezing, and the events between them."""

from __future__ import annotations

import numpy as np

from explorer.results.event import LocatedEvent
from explorer.runs.time_freezing.march import Freezing, Happened, Jump
from explorer.systems import HybridSystem

__all__ = ["Modes"]

_MODE = 4  # switching function that tells the mode: `explorer.reformulations.hysteresis`


class Modes(Freezing):
    """A run of a hybrid system of two modes."""

    @property
    def hybrid(self) -> HybridSystem:
        """The system whose time is frozen."""
        system = self.compiled.system
        assert isinstance(system, HybridSystem)
        return system

    def begin(self, start: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the start in pseudo-time, and all parameters.

        What tilts the guards is small beside their distance at the start.
        """
        compiled = self.compiled.switched
        x = np.array([*start, self.hybrid.start_mode, 0.0], float)
        rho = np.array([*self.rho, 10 / self.t_end, 0.0])
        inp = compiled.input(rho)
        inp[1 : 1 + len(x)] = x
        rho[-1] = 1e-3 * (np.abs(compiled.switching(inp)[:4:2]).max() or 1.0)
        return x, rho

    def mode(self, phase: np.ndarray) -> np.ndarray:
        """Return the number of the mode in phases; that of the first one before the start."""
        second = self.elements.phases.signs[np.maximum(phase, 0), _MODE] > 0
        return np.where(phase < 0, self.hybrid.start_mode, second)

    def happens(self, jump: Jump) -> list[tuple[str, int]]:
        """Return the change of the mode, if it changes, and the number of the new one."""
        if jump.first >= jump.after:
            return []
        return [("event", int(self.mode(np.array([jump.phase]))[0]))]

    def gaps(self, t: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return no gaps (k, 0): there are no contacts."""
        none = np.zeros((len(t), 0))
        return none, none, none

    def kind_rows(
        self,
        x: np.ndarray,
        chosen: np.ndarray,
        phase: np.ndarray,
        happened: Happened,
        right: np.ndarray,
    ) -> dict[str, object]:
        """Return states, modes and events."""
        n, none = self.compiled.n_x, np.zeros((len(x), 0))
        flow = self.elements.rates(np.zeros(len(x)), x, chosen, self.begins(x))
        pace = np.where(flow[:, -1] > 0, flow[:, -1], 1.0)[:, None]
        mode = self.mode(phase)
        return {
            "q": x[:, :n],
            "v": none,
            "rates": flow[:, :n] / pace,
            "gap": none,
            "gap_dot": none,
            "slip": none,
            "active": none.astype(np.int8),
            "p": none,
            "p_t": none,
            "lam": none,
            "lam_t": none,
            "lam_max": none,
            "sticks": none.astype(bool),
            "mode": mode,
            "located": self._events(happened, right, mode),
        }

    def _events(
        self, happened: Happened, right: np.ndarray, mode: np.ndarray
    ) -> list[LocatedEvent]:
        system, e, n, found = self.hybrid, self.elements, self.compiled.n_x, []
        guards = {guard.mode: guard for guard in system.guards}
        for (jump, _), row in zip(happened, right.tolist(), strict=True):
            was, now = int(mode[row - 1]), int(mode[row])
            guard, x = guards[was], e.states[jump.first, :n]
            _, gradient = e.functions(np.zeros(1), e.states[[jump.first]])
            k = e.compiled.system.guard_names.index(guard.name)
            rate = e.phases.before[jump.before + 1]
            found.append(
                LocatedEvent(
                    float(self.clock[jump.first]),
                    "event",
                    guard.name,
                    system.guard_names.index(guard.name),
                    row,
                    x[n:],
                    x[n:],
                    0.0,
                    0.0,
                    0.0,
                    x,
                    x,
                    guard.direction * float(gradient[0, k] @ rate),
                    1,
                    system.modes[was].name,
                    system.modes[now].name,
                    None,
                )
            )
        return found
