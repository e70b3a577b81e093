"""Energy balance of a run: work of forces, dissipation, and the numerical remainder.

Over each step::

    T + V = work of external forces + of damping + of contacts + of yielding + numerical

The work of a force f is (f0 + f1) (q1 - q0) / 2: with it the numerical part of the average
acceleration method is zero to round-off for linear systems (Krenk, *Energy conservation in Newmark
based time integration algorithms*, Comput. Methods Appl. Mech. Eng. 195 (2006) 6110). For other
schemes the remainder is their algorithmic dissipation or growth, and their error in a nonlinear
potential. If a run can be evaluated between its rows, splines integrate the power.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import sympy as sp

from explorer.compiled.held import left_of_breaks
from explorer.errors import BadValue, NotApplicable
from explorer.quantities import quantity
from explorer.recorder import Recorded
from explorer.results.solution import Solution
from explorer.systems import LinearMechanicalSystem, StateSpaceSystem
from explorer.systems.kinks import slope

__all__ = ["EnergyBalance", "balance", "energy_balance", "evaluated"]

_POINTS = 4000  # rows of a run that knows what lies between them
_ROUND_OFF = 1e-12  # of the largest energy: a smaller work is none


@dataclass(frozen=True)
class EnergyBalance:
    """Energies and works along a run, in J, each (n_t,); works are sums since the start.

    Attributes
    ----------
    solution : Solution
        The run, at the rows that are used.
    kinetic, potential : the energies; elastic energy of yielding springs is potential
    external : work of forces that depend on t and q and have no potential, of a potential that
        changes in time, and of constraints that move
    damping : work of forces that depend on v
    contact : work of normal forces, mostly at impacts
    friction : work of Coulomb friction, at impacts too
    yielding : work of springs that yield
    uncertain : bound of the error in the works of forces without potential, due to the distance of
    the rows; 0 where a potential is known
    """

    solution: Solution
    kinetic: np.ndarray
    potential: np.ndarray
    external: np.ndarray
    damping: np.ndarray
    contact: np.ndarray
    friction: np.ndarray
    yielding: np.ndarray
    uncertain: float = 0.0

    @property
    def t(self) -> np.ndarray:
        """Times in s."""
        return self.solution.t

    @property
    def energy(self) -> np.ndarray:
        """T + V."""
        return np.asarray(self.kinetic + self.potential)

    @property
    def works(self) -> dict[str, np.ndarray]:
        """The physical works by name, without those that are zero throughout."""
        names = ("external", "damping", "contact", "friction", "yielding")
        least = _ROUND_OFF * max(self.kinetic.max(), np.abs(self.energy).max())
        found = {name: getattr(self, name) for name in names}
        return {name: work for name, work in found.items() if np.abs(work).max() > least}

    @cached_property
    def numerical(self) -> np.ndarray:
        """The numerical remainder: the change of energy that no work explains; < 0 dissipates."""
        return np.asarray(self.energy - self.energy[0] - sum(self.works.values()))

    def __repr__(self) -> str:
        parts = {**self.works, "numerical": self.numerical}
        return (
            f"EnergyBalance(T + V from {quantity(self.energy[0], 'J')} to "
            f"{quantity(self.energy[-1], 'J')}: "
            + ", ".join(f"{name} {quantity(work[-1], 'J', 4)}" for name, work in parts.items())
            + ")"
        )


def energy_balance(solution: Solution) -> EnergyBalance:
    """Return the energies of a run, the works, and the numerical remainder of the scheme.

    Raises
    ------
    NotApplicable
        If the system is x' = ..., or the potential of its forces is not known.
    BadValue
        If the argument is not a solution.

    Examples
    --------
    >>> import explorer as ex
    >>> run = ex.simulate(ex.study.oscillator(), ex.GeneralizedAlpha(h=0.5, rho_inf=0.5))
    >>> ex.study.energy_balance(run)
    EnergyBalance(T + V from 0.5 J to 0.494683 J: numerical -0.005317 J)
    """
    if not isinstance(solution, Solution):
        raise BadValue(f"energy_balance accepts what simulate returns, not {solution!r}.")
    system = solution.system
    if solution.recorded is not None:
        return _recorded(solution, solution.recorded)
    if isinstance(system, StateSpaceSystem):
        raise NotApplicable(
            f"'{system.name}' is a {system.kind}: it declares states, but no forces, so no work "
            "can be computed."
        )
    if solution.potential is None and not isinstance(system, LinearMechanicalSystem):
        raise NotApplicable(
            f"The potential of '{system.name}' is not known, so the work of its forces cannot be "
            "separated from their energy: give it one, such as system.potential = 'k*x**2/2'."
        )
    if solution.has("march"):
        run = solution
        solution = run.march.trajectory(None) if _by_steps(run) else run.refined(_POINTS)
    return balance(solution)


def _recorded(solution: Solution, recorded: Recorded) -> EnergyBalance:
    """Return the works that were summed over all steps, at the recorded rows."""
    works, energies = recorded.works, recorded.energies
    if not works or energies.shape[1] < 2:
        raise NotApplicable(
            f"The work of the forces on '{solution.system.name}' was not recorded: its potential "
            "is not known."
        )
    return EnergyBalance(solution, energies[:, 0], energies[:, 1], **works, uncertain=0.0)


def balance(solution: Solution) -> EnergyBalance:
    """Return the same of the rows that there are.

    Forces without potential and constraints that move with time do external work.
    """
    system = solution.system
    n = solution.q.shape[1]
    if isinstance(system, LinearMechanicalSystem):
        potential, forces, at_rest = _linear(solution)
    else:
        potential, forces = solution.energy - solution.kinetic, evaluated(solution, "power")
        at_rest = evaluated(solution, "power", v=np.zeros_like(solution.v))
    if system.records:
        shaken = evaluated(solution, "recorded")
        forces[:, :n] += shaken
        at_rest[:, :n] += shaken
    if solution.has("discs"):  # its slips are of no formula
        after, rough = n + 1, solution.slip
    else:
        after = n + 1 + len(system.tangents)
        rough = (forces - at_rest)[:, n + 1 : after]
    stored, lost = _springs(solution, forces[:, after:])
    known = solution.potential is not None or isinstance(system, LinearMechanicalSystem)
    return EnergyBalance(
        solution,
        solution.kinetic,
        potential + stored,
        external=_work(solution, at_rest[:, :n])
        + _integral(solution, at_rest[:, n])
        + _at_breaks(solution, at_rest)
        + sum(_driven(solution)),
        damping=_work(solution, (forces - at_rest)[:, :n]),
        contact=_contacts(solution, rough),
        friction=_friction(solution, rough),
        yielding=lost,
        uncertain=0.0 if known else _coarser(solution, forces[:, :n]),
    )


def _at_breaks(solution: Solution, at_rest: np.ndarray) -> np.ndarray | float:
    """Return what trapezoids miss of the work of forces that jump with inputs, (n_t,).

    A step that ends where inputs change has had the force before it.
    """
    if solution.system.drive is None or not _by_steps(solution):
        return 0.0
    with left_of_breaks(solution.system):
        left = evaluated(solution, "power", v=np.zeros_like(solution.v))
    n = solution.q.shape[1]
    missing = (left - at_rest)[1:, :n] * np.diff(solution.q, axis=0) / 2
    return np.concatenate([[0.0], np.cumsum(missing.sum(axis=1))])


def _coarser(solution: Solution, force: np.ndarray) -> float:
    """Return by how much the work of a force differs if every second row is left out."""
    every, second = _trapezoids(force, solution.q)[::2], _trapezoids(force[::2], solution.q[::2])
    return float(np.abs(every - second).max())


def _by_steps(solution: Solution) -> bool:
    """Whether the steps of the scheme are all that is known."""
    by_newmark = getattr(solution.scheme, "newmark", None) is not None
    return not solution.has("march") or by_newmark


def _work(solution: Solution, force: np.ndarray) -> np.ndarray:
    """Return the work of a force (n_t, n) since the start."""
    if _by_steps(solution):
        return _trapezoids(force, solution.q)
    return _integral(solution, (force * solution.v).sum(axis=1))


def _integral(solution: Solution, power: np.ndarray) -> np.ndarray:
    if _by_steps(solution):
        return _trapezoids(power[:, None], solution.t[:, None])
    from scipy.interpolate import CubicSpline

    total, t = np.zeros_like(power), solution.t
    for part in np.split(np.arange(len(t)), np.flatnonzero(np.diff(t) == 0) + 1):  # at events
        done = total[part[0] - 1] if part[0] else 0.0
        if len(part) > 3:
            total[part] = done + CubicSpline(t[part], power[part]).antiderivative()(t[part])
        else:
            total[part] = done + _trapezoids(power[part, None], t[part, None])
    return total


def _trapezoids(y: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the sum of y dx since the start, both (n_t, n)."""
    steps = np.einsum("ti,ti->t", y[1:] + y[:-1], np.diff(x, axis=0)) / 2
    return np.concatenate([[0.0], np.cumsum(steps)])


def evaluated(solution: Solution, bundle: str, **changes: np.ndarray) -> np.ndarray:
    """Return the outputs of a bundle along a run of which other arrays are taken, (n_t, k)."""
    assert solution.observe is not None
    other = copy.copy(solution)
    vars(other).update(changes)
    return solution.observe(other, bundle)


def _linear(solution: Solution) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return V, f and f at rest as `explorer.compiled.power` has them, from the matrices."""
    system, q, v = solution.system, solution.q, solution.v
    elastic = (system.K @ q.T).T
    mirrored = (system.K.T @ q.T).T
    at_rest = (mirrored - elastic) / 2  # what of K is not symmetric has no potential
    potential = solution.potential  # with the constant forces, if they are constant
    if potential is None:
        potential = np.einsum("ti,ti->t", q, elastic) / 2
        at_rest = at_rest + evaluated(solution, "force")
    forces = at_rest - (system.C @ v.T).T
    nothing = np.zeros((len(q), 1))
    return potential, np.hstack([forces, nothing]), np.hstack([at_rest, nothing])


def _driven(solution: Solution) -> tuple[np.ndarray, np.ndarray]:
    """Return the work of constraints phi(t, q) = 0 since the start, by forces and by impulses.

    With M v' + phi_q' lam = F the power is -v . phi_q' lam = phi_t lam.
    """
    system, nothing = solution.system, np.zeros_like(solution.t)
    rates = [slope(sp.sympify(c.phi), system.t) for c in system.constraints]
    if not any(rate != 0 for rate in rates):
        return nothing, nothing
    names = [sp.Symbol(k) for k in system.parameters]
    values = sp.lambdify([system.t, *system.q, *names], rates, "numpy", cse=True)
    found = values(solution.t, *solution.q.T, *solution.rho.values())
    phi_t = np.column_stack([np.broadcast_to(x, solution.t.shape) for x in found])
    if solution.has("march"):
        by_impulses = np.cumsum((phi_t * solution.p_phi).sum(axis=1))
        return _integral(solution, (phi_t * solution.lam_phi).sum(axis=1)), by_impulses
    steps = (solution.p_phi[1:] * (phi_t[1:] + phi_t[:-1]) / 2).sum(axis=1)
    return nothing, np.concatenate([[0.0], np.cumsum(steps)])


def _contacts(solution: Solution, along: np.ndarray) -> np.ndarray:
    """Return the work of the normal forces; those of moving obstacles may drive."""
    nc = solution.gap.shape[1]
    changes = getattr(solution.system, "changes", ())
    if not nc and not (changes and solution.has("march")):
        return np.zeros_like(solution.t)
    if not nc or solution.has("discs"):  # its walls stand still
        moving = np.zeros_like(solution.gap)
    else:
        moving = evaluated(solution, "gap")[:, nc : 2 * nc]  # gap_t
    if solution.has("march"):
        jumps = np.zeros_like(solution.t)
        for event in solution.located:
            jumps[event.row] += solution.kinetic[event.row] - solution.kinetic[event.row - 1]
        jumps -= _rubbed(solution, along) + np.diff(_driven(solution)[1], prepend=0.0)
        work = _integral(solution, np.sum(solution.lam * moving, axis=1))
        return np.asarray(np.cumsum(jumps) - work)
    along = solution.gap_dot - moving
    steps = 0.5 * (solution.p[1:] * (along[1:] + along[:-1])).sum(axis=1)
    return np.concatenate([[0.0], np.cumsum(steps)])


def _friction(solution: Solution, along: np.ndarray) -> np.ndarray:
    """Return the work of friction forces on the sliding velocities that the system has itself."""
    if not along.shape[1] or not solution.system.rough:
        return np.zeros_like(solution.t)
    if not solution.has("march"):
        contact, direction, _ = zip(*solution.system.tangents, strict=True)
        impulse = solution.p_t[(slice(None), contact, direction)[: solution.p_t.ndim]]
        steps = 0.5 * (impulse[1:] * (along[1:] + along[:-1])).sum(axis=1)
        return np.concatenate([[0.0], np.cumsum(steps)])
    force = solution.lam_t[:, list(solution.system.rough)]
    work = _integral(solution, np.sum(force * along, axis=1))
    return np.asarray(work + np.cumsum(_rubbed(solution, along)))


def _rubbed(solution: Solution, along: np.ndarray) -> np.ndarray:
    """Return the work of the friction impulses of each event, in its row."""
    work = np.zeros_like(solution.t)
    rows = np.unique([event.row for event in solution.located]).astype(int)
    if along.shape[1] and len(rows):
        impulse = solution.p_t[rows][:, list(solution.system.rough)]
        work[rows] = 0.5 * (impulse * (along[rows] + along[rows - 1])).sum(axis=1)
    return work


def _springs(solution: Solution, declared: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what springs that yield store, and the work of their yielding."""
    if not solution.system.springs:
        return np.zeros_like(solution.t), np.zeros_like(solution.t)
    u, k, b = (declared[:, i::3] for i in range(3))
    slip = solution.slip
    elastic = (1 - b) * k * (u - slip)
    stored = 0.5 * (b * k * u**2 + elastic * (u - slip)).sum(axis=1)
    return stored, -_trapezoids(elastic, slip)
