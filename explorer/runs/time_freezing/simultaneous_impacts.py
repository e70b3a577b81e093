"""Impacts of several contacts without rebound, by Newton's law and Coulomb's for all at once::

    gap'(+) >= 0  perp  p >= 0,    |p_t| <= mu p,  p_t = -mu p sign(slip(+)) where it slips

for contacts that touch. Auxiliary dynamics that push every contact by the same size come to another
outcome where one push opens a contact that was pushed before. Here they push each contact by its
own impulse: in the frozen arc the velocities move along a straight line. Of few contacts every
combination of what they may do (open, stick, slip to either side) is tried; where several of them
differ in their outcome there is no law to choose by, and none is taken.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np

from explorer.codes import SUCCESS
from explorer.runs.fesd.elements import Elements

__all__ = ["Response", "Struck", "newton"]

_MOST = 4096  # combinations
_SIGN = 1e-10  # beside the largest of its kind a number is zero
_SAME = 1e-7  # beside the fastest: outcomes that are one


@dataclass(frozen=True)
class Response:
    """What impulses of k touching contacts do.

    Attributes
    ----------
    rates : (2 k,)
        gap' of each in m/s, then the slip of each, before the impact.
    moved : (2 k, 2 k)
        Their change by normal impulses, then by tangential ones, 1/kg.
    mu : (k,)
    """

    rates: np.ndarray
    moved: np.ndarray
    mu: np.ndarray


def newton(given: Response) -> np.ndarray | None:
    """Return normal and tangential impulses (2 k,) in N s; None if there are none, or several."""
    choices = [
        ("open", "stick", "plus", "minus") if mu > 0 else ("open", "shut") for mu in given.mu
    ]
    if not choices or math.prod(map(len, choices)) > _MOST:
        return None
    outcomes: list[np.ndarray] = []
    fastest = np.abs(given.rates).max()
    for modes in itertools.product(*choices):
        p = _solved(given, modes)
        if p is None or not _lawful(given, modes, p):
            continue
        after = given.rates + given.moved @ p
        if not outcomes:
            best = p
        elif np.abs(after - outcomes[0]).max() > _SAME * fastest:
            return None
        outcomes.append(after)
    return best if outcomes else None


def _solved(given: Response, modes: tuple[str, ...]) -> np.ndarray | None:
    """Return the impulses for which every contact does what it is to do."""
    k = len(modes)
    shut = [i for i, mode in enumerate(modes) if mode != "open"]
    stuck = [i for i, mode in enumerate(modes) if mode == "stick"]
    spread = np.zeros((2 * k, len(shut) + len(stuck)))  # impulses of what is unknown
    for a, i in enumerate(shut):
        spread[i, a] = 1.0
        spread[k + i, a] = {"plus": -1.0, "minus": 1.0}.get(modes[i], 0.0) * given.mu[i]
    for a, i in enumerate(stuck):
        spread[k + i, len(shut) + a] = 1.0
    zero = [*shut, *(k + i for i in stuck)]
    if not zero:
        return np.zeros(2 * k)
    A, b = (given.moved @ spread)[zero], -given.rates[zero]
    found, _, rank, _ = np.linalg.lstsq(A, b, rcond=1e-12)
    if rank < len(zero) and np.abs(A @ found - b).max() > _SIGN * np.abs(given.rates).max():
        return None
    p: np.ndarray = spread @ found
    return p


def _lawful(given: Response, modes: tuple[str, ...], p: np.ndarray) -> bool:
    """Whether impulses push, stay within the cones, and what opens and slips does so."""
    k = len(modes)
    after = given.rates + given.moved @ p
    small, least = _SIGN * np.abs(given.rates).max(), -_SIGN * np.abs(p).max()
    for i, mode in enumerate(modes):
        if p[i] < least or after[i] < -small:
            return False
        side = {"plus": 1.0, "minus": -1.0}.get(mode, 0.0)
        if side * after[k + i] < -small:
            return False
        if mode == "stick" and abs(p[k + i]) > given.mu[i] * p[i] - least:
            return False
    return True


class Struck(Elements):
    """One frozen element in which velocities go straight to where an impact brings them.

    Attributes
    ----------
    impulse : (2, n_c) normal and tangential, in N s
    """

    impulse: np.ndarray

    @classmethod
    def between(
        cls,
        like: Elements,
        x: np.ndarray,
        after: np.ndarray,
        impulse: np.ndarray,
        signs: np.ndarray,
    ) -> Struck:
        """Return the element from x to `after`, of the lengths and parameters of `like`."""
        made = cls.__new__(cls)
        made.__dict__.update(like.__dict__)
        n, s, span = len(x), like.method.stages, float(like.times[:, 1].mean())
        rate, sel = (after - x) / span, like.compiled.n_sel
        made.impulse, made.code, made.t_end, made.t_last = impulse, SUCCESS, span, span
        made.states, made.times = np.array([x, after]), np.array([[0.0, span]])
        made.slopes = np.broadcast_to(rate, (1, s, n)).copy()
        made.mult, made.places = np.ones((1, s, sel)), np.zeros((1, 2), np.int64)
        made.phases = type(like.phases)(*(np.zeros_like(part[:1]) for part in like.phases))
        made.phases.signs[0], made.phases.x[0], made.phases.multipliers[0] = signs, x, 1.0
        made.phases.before[0] = made.phases.behind[0] = rate
        made.counts, made.tally = np.array([1, 0, 0]), np.zeros_like(like.tally)
        made.seconds = made.residual_of_newton = 0.0
        made.intervals = 1
        return made

    def residual(self) -> dict[str, float]:
        """Return no violation: impulses are checked where they are solved for."""
        return dict.fromkeys(
            ("collocation", "complementarity", "cross", "equilibration", "time"), 0.0
        )
