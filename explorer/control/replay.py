"""Exact replay of a plan: each control interval is simulated from the plan's own state.

The defect of an interval is how far the simulation ends from the next state of the plan. It judges
a plan by what nobody of its makers had a hand in: located events instead of collocation.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TypeAlias, cast

import numpy as np
import sympy as sp

from explorer.control.algebraic import Relation
from explorer.control.guards import lifted
from explorer.control.states import rows_of, start_of
from explorer.dispatch.simulate import simulate
from explorer.errors import BadModel, BadValue, ModelWarning, SchemeWarning, StepFailed
from explorer.parameters import Param
from explorer.quantities import quantity
from explorer.reformulations.filippov import obstacle
from explorer.results.solution import Solution
from explorer.schemes import Scheme
from explorer.schemes.event_driven import EventDriven
from explorer.schemes.fesd import FESD
from explorer.systems import HybridSystem, MechanicalSystem, StepSystem
from explorer.types import Plain

__all__ = ["NEARLY", "Exact", "Replay", "Replayed", "replay"]

# of an interval: what a run may lack at its end, where a plan comes to the border of a mode and
# events accumulate there; its defect tells what the missing time is worth
NEARLY = 1e-3
NEAR = 1e-5  # m: a gap that is closed; a plan keeps closed ones at the level of velocities
INSIDE = 1e-4  # m: what a difference quotient may move a closed contact into an obstacle


@dataclass(frozen=True, repr=False)
class Replay:
    """Result of `Plan.replay`.

    Attributes
    ----------
    t, x : (n_t,) and (n_t, n_x) float
        The simulated states, interval behind interval; at the end of each they jump to the plan.
    defects : (N, n_x) float
        Simulated state minus state of the plan at the end of each interval; NaN where a run failed.
    failed : dict of int to str
        Intervals whose run failed, with the message.
    scheme : Scheme
    """

    t: np.ndarray
    x: np.ndarray
    defects: np.ndarray
    failed: dict[int, str]
    scheme: Scheme

    @property
    def defect(self) -> float:
        """The largest defect; infinite if a run failed."""
        if self.failed:
            return float("inf")
        return float(np.abs(self.defects).max(initial=0.0))

    def __repr__(self) -> str:
        if self.failed:
            k, why = next(iter(self.failed.items()))
            return f"Replay({len(self.failed)} of {len(self.defects)} intervals failed; {k}: {why})"
        return f"Replay({len(self.defects)} intervals, defect {quantity(self.defect)})"


Replayed: TypeAlias = StepSystem | HybridSystem | MechanicalSystem


def held(system: Replayed, shift: str, relation: Relation) -> Replayed:
    """Return a copy whose controls are plain parameters, and whose time begins at a parameter.

    Algebraic variables are eliminated, or states behind the others.
    """
    names: dict[str, Param | float] = {shift: 0.0}
    names.update(dict.fromkeys(system.parameters, 0.0))
    if isinstance(system, HybridSystem):
        names |= system.declared_inputs  # a guard may depend on them alone
        return _held_modes(system, names, {system.t: system.t + sp.Symbol(shift)}, relation)
    if isinstance(system, MechanicalSystem):
        return _held_mechanics(system, names, {system.t: system.t + sp.Symbol(shift)}, relation)
    more = [z.name for z in relation.moving]
    for name in more:
        del names[name]
    copy = StepSystem(system.name, [*system.coordinates, *more], params=names)
    late = {system.t: system.t + sp.Symbol(shift)}
    alphas = {}
    for s in system.switches:
        alphas[s.alpha] = copy.switch(s.c.xreplace(late), name=s.name)
    flow = [relation.without(f) for f in system.f]
    copy.f = [f.xreplace(late | alphas) for f in (*flow, *relation.rates(flow))]
    copy.start(x=[0] * copy.n, t_end=system.t_end, h=system.h)
    return copy


def _held_modes(
    system: HybridSystem,
    names: dict[str, Param | float],
    late: dict[sp.Symbol, sp.Expr],
    relation: Relation,
) -> HybridSystem:
    copy = HybridSystem(system.name, list(system.coordinates), params=names)
    for mode in system.modes:
        copy.mode(mode.name, [relation.without(f).xreplace(late) for f in mode.flow])
    for guard in system.guards:
        copy.guard(
            system.modes[guard.mode].name,
            guard.r.xreplace(late),
            to=system.modes[guard.to].name,
            direction=guard.direction,
            reset=[x.xreplace(late) for x in guard.reset] if guard.jumps else None,
            when=None if guard.when is None else guard.when.xreplace(late),
            name=guard.name,
            leaves=guard.leaves,
            zeno=None if guard.zeno < 0 else system.modes[guard.zeno].name,
        )
    copy.start(x=[0] * system.n, t_end=system.t_end, h=system.h)
    return copy


def _held_mechanics(
    system: MechanicalSystem,
    names: dict[str, Param | float],
    late: dict[sp.Symbol, sp.Expr],
    relation: Relation,
) -> MechanicalSystem:
    def shifted(value: object) -> object:
        if isinstance(value, tuple):
            return tuple(shifted(one) for one in value)
        return value.xreplace(late) if isinstance(value, sp.Expr) else value

    contacts = []
    for c in system.contacts:
        late_one: Plain = {f.name: shifted(getattr(c, f.name)) for f in fields(c)}
        contacts.append(replace(c, **late_one | {"name": c.name}))
    return MechanicalSystem(
        system.name,
        list(system.coordinates),
        params=names,
        mass=system.mass,
        force=[relation.without(f).xreplace(late) for f in system.force],
        contacts=contacts,
        constraints=[replace(c, phi=c.phi.xreplace(late)) for c in system.constraints],
        start={"q": [0] * system.n, "v": [0] * system.n, "t_end": system.t_end, "h": system.h},
    )


def _settled(system: MechanicalSystem, q: np.ndarray, rho: Mapping[str, float]) -> np.ndarray:
    """Return coordinates at which constraints hold, and contacts closed up to drift are closed."""
    if not system.contacts and not system.constraints:
        return q
    if "gaps for replay" not in system.made:
        formulas = [contact.gap for contact in system.contacts]
        formulas += [one.phi for one in system.constraints]
        gaps = sp.Matrix([sp.sympify(one) for one in formulas])
        given = [system.t, list(system.q), list(map(sp.Symbol, system.parameters))]
        system.made["gaps for replay"] = sp.lambdify(given, [gaps, gaps.jacobian(system.q)])
    given = [rho.get(k, 0.0) for k in system.parameters]
    for _ in range(3):  # steps of Newton
        gap, along = system.made["gaps for replay"](0.0, q, given)
        near = (gap.ravel() < NEAR) & (gap.ravel() > -INSIDE)
        near[len(system.contacts) :] = True
        q = np.asarray(q - np.linalg.pinv(along[near]) @ gap.ravel()[near])
    return q


class Exact:
    """Simulation of a system from any time on, with located events.

    Parameters
    ----------
    system : StepSystem, HybridSystem or MechanicalSystem
    span : float
        A usual length of a run in s.
    relation : Relation
        The algebraic variables of the problem.

    Attributes
    ----------
    copy : the system whose time begins at the parameter `shift`, its controls plain parameters
    scheme : Scheme
    """

    def __init__(self, system: Replayed, span: float, relation: Relation) -> None:
        self.system, self.shift, self.relation = system, "t_0", relation
        while self.shift in system.symbols():
            self.shift += "_"
        key = f"held {self.shift} {relation.key}"
        if key not in system.made:
            system.made[key] = held(system, self.shift, relation)
        self.copy: Replayed = system.made[key]
        self.scheme: Scheme = EventDriven()
        if isinstance(self.copy, StepSystem) and obstacle(self.copy):
            self.scheme = FESD(h=max(span / 10, 1e-6), stages=4)

    def begun(
        self, t: float, x: np.ndarray, mode: int | None, values: Mapping[str, float]
    ) -> np.ndarray:
        """Return the state at the begin of a run: closed contacts touch, open ones do not press.

        Algebraic variables that are states are at a root of their equations.

        Raises
        ------
        BadValue
            If Newton's method finds none.
        """
        system = self.system
        if self.relation.moving:
            at = np.array([t])
            near = self.relation.near(at)
            z = self.relation.solve(at, x[None], dict(values), near)
            if np.isnan(z).any():
                names = zip(self.relation.names, near[0].tolist(), strict=True)
                values_ = ", ".join(f"{name} = {value:g}" for name, value in names)
                raise BadValue(
                    f"'{system.name}': at t = {t:g} the equations of its algebraic variables have "
                    f"no root that Newton's method finds from {values_}."
                )
            return np.concatenate([x, z[0]])
        if isinstance(system, MechanicalSystem):
            rho = dict(values) | {self.shift: t}
            copy = cast(MechanicalSystem, self.copy)
            return np.concatenate([_settled(copy, x[: copy.n], rho), x[copy.n :]])
        if not isinstance(system, HybridSystem) or system.contact is None or mode is None:
            return x
        return lifted(system, t, x, values) if system.modes[mode].name == "open" else x

    def rows(self, run: Solution) -> np.ndarray:
        """Return the states (n_t, n_x) of a run, without algebraic variables."""
        x = rows_of(run)
        return x[:, : x.shape[1] - len(self.relation.moving)]

    def __call__(
        self, t: float, length: float, x: np.ndarray, mode: int | None, values: Mapping[str, float]
    ) -> tuple[Solution, str]:
        """Return the run from `t` on, and why it stopped early; empty: it did not.

        Parameters
        ----------
        t, length : float
            In s.
        x : (n_x,) float
        mode : int, optional
            Of a hybrid system.
        values : mapping of str to float
            Parameters and controls.

        Raises
        ------
        BadValue
            If the run cannot begin, such as inside an obstacle.
        """
        copy = self.copy
        start = copy.modes[mode] if isinstance(copy, HybridSystem) and mode is not None else None
        rho = dict(values) | {self.shift: t}
        x = self.begun(t, x, mode, values)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            warnings.simplefilter("ignore", SchemeWarning)
            try:
                begin = start_of(copy, x)
                run = simulate(copy, self.scheme, t_end=length, mode0=start, rho=rho, **begin)
                return run, ""
            except StepFailed as error:
                return cast(Solution, error.solution), str(error)
            except BadModel as error:
                # the problem is accepted, so it is the state: that of a plan may violate a gap
                raise BadValue(str(error)) from error


def _ends(t: np.ndarray, x: np.ndarray, length: float) -> np.ndarray:
    """Return the last state of a run, and what it is without the jumps at the end of the run.

    A plan that ends with an impact ends before it or behind it: to round-off both are at its end.
    """
    jumps = np.flatnonzero((np.diff(t) <= 0) & (t[1:] > (1 - NEARLY) * length))
    return np.vstack([x[-1], *(x[-1] - (x[j + 1] - x[j]) for j in jumps)])


def _missed(states: np.ndarray, goals: np.ndarray) -> np.ndarray:
    """Return how far the nearest one of several states is from the nearest one of several goals."""
    away = (np.atleast_2d(states)[:, None] - goals).reshape(-1, goals.shape[1])
    return np.asarray(away[np.abs(away).max(axis=1).argmin()])


def replay(
    system: Replayed,
    times: np.ndarray,
    states: np.ndarray,
    goals: Sequence[np.ndarray],
    controls: np.ndarray,
    names: Sequence[str],
    rho: Mapping[str, float],
    modes: Sequence[int],
    relation: Relation,
) -> Replay:
    """Simulate each interval.

    Parameters
    ----------
    system : StepSystem, HybridSystem or MechanicalSystem
    times, states : (N + 1,) and (N, n_x) float
        Ends of the control intervals, and the states with which they begin.
    goals : N arrays (n_goals, n_x) of float
        The states of the plan at the end of each: before and after what jumps there.
    controls : (N, n_u) float
    names : sequence of str
        The names of the controls.
    rho : dict of str to float
        The other parameters.
    modes : sequence of int
        Of a hybrid system, the mode at the start of each interval.
    relation : Relation
        The algebraic variables of the problem.
    """
    span = float(times[-1] - times[0]) / max(len(controls), 1)
    exact = Exact(system, span, relation)
    rows_t, rows_x, failed = [times[:1]], [states[:1]], {}
    defects = np.full((len(controls), states.shape[1]), np.nan)
    for k, u in enumerate(controls):
        length = float(times[k + 1] - times[k])
        if length <= 1e-12 * max(1.0, float(times[-1])):
            defects[k] = _missed(states[k], goals[k])
            continue
        values = dict(rho) | dict(zip(names, map(float, u), strict=True))
        try:
            run, why = exact(times[k], length, states[k], modes[k] if len(modes) else None, values)
        except BadValue as error:
            failed[k] = str(error)
            continue
        if run.t[-1] < (1 - NEARLY) * length:
            failed[k] = why
            continue
        rows_t.append(times[k] + run.t)
        x = exact.rows(run)
        rows_x.append(x)
        defects[k] = _missed(_ends(run.t, x, length), goals[k])
    return Replay(np.concatenate(rows_t), np.vstack(rows_x), defects, failed, exact.scheme)
