"""Modes of a hybrid system, the guards at which they end, and the modes that may follow."""

from __future__ import annotations

from dataclasses import dataclass

import sympy as sp

__all__ = ["Branch", "Guard", "Mode"]


@dataclass(frozen=True)
class Mode:
    """A mode: its name, its place in `HybridSystem.modes`, its right-hand side f(t, x, rho)."""

    name: str
    index: int
    flow: tuple[sp.Expr, ...]


@dataclass(frozen=True)
class Branch:
    """A possible next mode, and its conditions > 0: formulas of t, x and rho."""

    to: int
    when: tuple[sp.Expr, ...]


@dataclass(frozen=True)
class Guard:
    """A guard of one mode.

    Attributes
    ----------
    mode, to : int
        The mode of the guard, and the mode after the event (the first of several).
    r : sympy.Expr
        Event function of t, x and rho.
    direction : int
        -1: r falls through zero, +1: it rises, 0: both.
    reset : tuple of sympy.Expr
        The state after the event, formulas of t, the state before it and rho, length n.
    jumps : bool
        Whether `reset` is not the identity.
    when : sympy.Expr or None
        Condition > 0 under which the event counts.
    name : str
    terminal : bool
        Whether the run ends at this event.
    zeno : int
        Mode that follows where events of this guard accumulate; -1: the run stops there.
    branches : tuple of Branch
        The possible next modes, if the state decides: the first one whose conditions hold.
    leaves : str
        Guard of the next mode that is zero at the event. It does not trigger there again, however
        slowly the state leaves it.
    """

    mode: int
    r: sp.Expr
    to: int
    direction: int
    reset: tuple[sp.Expr, ...]
    jumps: bool
    when: sp.Expr | None
    name: str
    terminal: bool
    zeno: int
    branches: tuple[Branch, ...] = ()
    leaves: str = ""

    @property
    def bounds(self) -> bool:
        """Whether the mode stays on one side: r >= 0 for direction -1, r <= 0 for +1."""
        ends = self.jumps or any(to != self.mode for to in self.targets)
        return self.direction != 0 and ends

    @property
    def targets(self) -> tuple[int, ...]:
        """The possible next modes."""
        return tuple(b.to for b in self.branches) or (self.to,)

    @property
    def conditions(self) -> tuple[sp.Expr, ...]:
        """The formulas that decide whether the event counts, and what follows."""
        more = tuple(w for b in self.branches for w in b.when)
        return more if self.when is None else (self.when, *more)
