"""The numbers that a run of the event-driven kernel is asked for with."""

from __future__ import annotations

from typing import NamedTuple

from explorer.kernels.event_driven.butcher import Tableau

__all__ = ["Formulation", "Settings"]


class Formulation(NamedTuple):
    """How constraints are held.

    Attributes
    ----------
    form : int
        INDEX1, PROJECTED or PENALTY of `explorer.kernels.event_driven.records`.
    alpha, xi, omega : float
        Penalty in kg, damping ratio and natural frequency in rad/s of the penalty formulation.
    """

    form: int = 0
    alpha: float = 1.0
    xi: float = 0.0
    omega: float = 0.0


class Settings(NamedTuple):
    """The numbers of a run.

    Attributes
    ----------
    tableau : Tableau
    rtol, atol : float
    h : float
        First step in s, 0: one is estimated.
    grid : float
        The steps end at multiples of it, s; 0: where they like.
    max_steps, max_events : int
    points : int
        Even rows of the result, at least.
    picks : tuple of int
        What is taken at moments with several continuations, -1: the first one.
    formulation : Formulation
    """

    tableau: Tableau
    rtol: float
    atol: float
    h: float
    grid: float
    max_steps: int
    max_events: int
    points: int
    picks: tuple[int, ...] = ()
    formulation: Formulation = Formulation()

    @property
    def carries(self) -> bool:
        """Whether the method carries an acceleration that is not that of the state."""
        return any(self.tableau.newmark[:2])
