"""`Plan`: what `optimize` returns; planned again, followed with feedback, carried out."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from explorer.arguments import checked, mapping
from explorer.control.again import checked_begin, later, replanned, shifted
from explorer.control.aim import aimed, held
from explorer.control.course import Course
from explorer.control.disturbance import Disturbance
from explorer.control.feedback import Feedback, Weights, feedback
from explorer.control.follow import Controller, follow
from explorer.control.guess import point
from explorer.control.plant import Plant
from explorer.control.problem import OptimalControlProblem
from explorer.control.saved import code, read, restored, save, spec_of
from explorer.control.solved import Part, Solved
from explorer.errors import BadValue, suggest
from explorer.parameters import number, whole
from explorer.quantities import quantity
from explorer.systems import HybridSystem, check_start, values_given
from explorer.transcription.halt import watched
from explorer.transcription.layout import ends
from explorer.transcription.outcome import SOLVED, Outcome
from explorer.transcription.pipeline import Pipeline
from explorer.transcription.sequence import Sequence
from explorer.types import Plain, Reals

__all__ = ["Part", "Plan"]

INEXACT = 1e-3  # of the states: a defect that a plan must not have


@dataclass(frozen=True, repr=False)
class Plan(Solved):
    """Result of `optimize`.

    Attributes
    ----------
    task : OptimalControlProblem
    status : str
        "stationary": a first-order optimum, on its own sequence of active sets and on all sequences
        beside it. "at a kink": a first-order optimum on its own sequence, but some sequence beside
        it could not be judged. "infeasible": the constraints cannot hold together; `unmet` names
        them. "inexact": a first-order optimum of the discretised problem, but the exact replay
        misses by more than a thousandth: use more intervals, elements or stages. "not converged":
        the solver stopped early. "stopped": at a time limit or by an interrupt, with the best plan
        so far; the message tells whether it is solved on its own sequence.
    message : str
    objective : float
    t : (N + 1,) float
        Ends of the control intervals in s.
    x : (N + 1, n_x) float
    u : (N, n_u) float
    rho : dict of str to float
        The parameters that are neither controls nor algebraic variables, those that the plan chose
        among them.
    log : list of dict
        One entry for each solve: stage, objective, iterations, status, seconds.

    Examples
    --------
    >>> import explorer as ex
    >>> cart = ex.StepSystem("cart", x="q v", f=["v", "u"], params={"u": 0.0})
    >>> plan = ex.optimize(ex.OptimalControlProblem(
    ...     cart, t_end=1, intervals=5, controls="u", running="u**2", end={"q": 1, "v": 0}))
    >>> plan.status, plan.again(x0=[0.5, 0]).status
    ('stationary', 'stationary')
    """

    def again(
        self,
        x0: Reals | None = None,
        rho: Mapping[str, float] | None = None,
        *,
        mode0: str | None = None,
        begin: int | None = None,
        end: Mapping[str, object] | None = None,
        max_neighbours: int = 20,
        thorough: bool = True,
        judged: bool = True,
        seconds: float | None = None,
        **parameters: float,
    ) -> Plan:
        """Plan again with another start, goal or parameters, from this plan and its sequence.

        Nothing is compiled. Where the sequence has to change, those beside it are searched, then a
        path of plans from the old numbers to the new ones, then all from the beginning; the message
        of the new plan says which of them found it.

        Parameters
        ----------
        x0 : (n_x,) float, optional
            The new start; by default that of this plan.
        rho, **parameters
            Parameters by name; the others keep their values. Unknown ones are chosen again, unless
            they are given here: then they are held.
        mode0 : str, optional
            Of a hybrid system the mode of the start; by default that of this plan.
        begin : int, optional
            The control interval with which the new plan begins, at its time: what is before it is
            over. By default the first one that is left.
        end : mapping of str to float or (low, high), optional
            End constraints that move, by their formulas: ``{"x": 1.2}``.
        max_neighbours : int
            Sequences beside a plan that are solved at most; 0 tries the own sequence alone.
        thorough : bool
            Whether to go on by a path of plans, and from the beginning, where those sequences have
            no solution; that takes long.
        judged : bool
            Whether the exact replay judges the new plan, which takes a simulation.
        seconds : float, optional
            A time limit, as for `optimize`.

        Raises
        ------
        BadValue
            As for `optimize`; an interval or an end constraint that this plan does not have.
        """
        asked = values_given(self.task.system, rho, parameters)
        max_neighbours = whole(max_neighbours, "max_neighbours", 0)
        if end is not None or asked.keys() & self.task.ranges.keys():
            task, pipeline = self.task, self.pipeline
            if end is not None:
                task, pipeline = aimed(task, pipeline, mapping(end, "end", '{"x": 1}'))
            chosen = {k: asked.pop(k) for k in self.task.ranges if k in asked}
            task, pipeline = held(task, pipeline, chosen)
            return dataclasses.replace(self, task=task, pipeline=pipeline).again(
                x0,
                asked,
                mode0=mode0,
                begin=begin,
                max_neighbours=max_neighbours,
                thorough=thorough,
                judged=judged,
                seconds=seconds,
            )
        check_start(self.task.system, x0, asked)
        k = self.first
        if begin is not None:
            k = checked_begin(begin, self.task.intervals, k)
        start, values = self.task.start(self.x[k] if x0 is None else x0, {**self.rho, **asked})
        mode = self._mode(mode0)
        if x0 is not None and mode is None:
            start, mode = self._closed_or_open(start, values, k)
        wide = thorough and max_neighbours > 0
        limit = None if seconds is None else number(seconds, "seconds", "s", positive=True)
        with watched(limit, told=self.pipeline.heard):
            return self._again(start, values, mode, k, 0, max_neighbours, judged, wide)

    def resumed(
        self, x: np.ndarray, mode: int | None, begin: int, shift: int, max_neighbours: int
    ) -> Plan:
        """Return the plan from a measured state on, which may be outside of its bounds.

        It begins with interval `begin`; or `shift` intervals later, with a horizon of the same
        length. `x` (n_x,) is the state there, and `mode` the number of the mode of a hybrid system,
        None for that of this plan. At most `max_neighbours` sequences beside it are solved.
        """
        return self._again(x, self.rho, mode, begin, shift, max_neighbours, False, False)

    def holding(self) -> Plan:
        """Return the plan of the problem whose unknown parameters have the values found here."""
        task, pipeline = held(self.task, self.pipeline, self.unknowns)
        return dataclasses.replace(self, task=task, pipeline=pipeline)

    def _again(
        self,
        start: np.ndarray,
        rho: dict[str, float],
        mode: int | None,
        k: int,
        shift: int,
        most: int,
        judged: bool,
        wide: bool,
    ) -> Plan:
        own, task = self.outcome.plan, self.task
        p = self.outcome.program.parameters(start, np.array(list(rho.values())))
        if own is not None and self.solved:
            t_0 = float(self.t[k])
            left = shifted(own, shift, mode) if shift else later(own, k, start, t_0, mode)
            outcome, how = replanned(self.pipeline, own, left, p, most, wide)
            if outcome.status in (*SOLVED, "stopped") or not wide or k:
                return finished(task, outcome, self.pipeline, start, rho, judged, how)
        self.pipeline.modes = None if mode is None else Sequence((mode,), ())
        found = self.pipeline(point(task, self.pipeline.first.program, p, self.as_guess), p)
        return finished(task, found, self.pipeline, start, rho, judged, "searched anew")

    def _closed_or_open(
        self, x: np.ndarray, rho: dict[str, float], k: int
    ) -> tuple[np.ndarray, int | None]:
        """Return state and mode of a contact at a start, where the modes are those of a contact."""
        task = self.task
        if not isinstance(task.system, HybridSystem) or task.system.contact is None:
            return x, None
        plant = Plant(task.system, task.control_names, rho, self.t_end, self.relation)
        return plant.settled(float(self.t[k]), x, None, self.u[k])[:2]

    def _mode(self, name: str | None) -> int | None:
        """Return the number of a mode; None: the mode of this plan."""
        system = self.task.system
        if not isinstance(system, HybridSystem):
            if name is not None:
                raise BadValue(f"'{system.name}' is a {system.kind}: it has no modes to start in.")
            return None
        names = [mode.name for mode in system.modes]
        if name is None:
            return None
        if name not in names:
            raise BadValue(f"'{system.name}' has no mode {name!r}.{suggest(name, names)}")
        return names.index(name)

    def follow(
        self,
        controller: Controller | None = None,
        *,
        x0: Reals | None = None,
        mode0: str | None = None,
        disturbance: Disturbance | None = None,
        t_end: float | None = None,
    ) -> Course:
        """Carry the plan out on the true system, which is simulated exactly.

        Parameters
        ----------
        controller : Feedback or PredictiveControl, optional
            Decides the controls of an interval from the state measured at its begin. Without one
            the controls are those of the plan.
        x0 : (n_x,) float, optional
            The true start; by default that of the plan.
        mode0 : str, optional
            For a hybrid system, the mode of the true start by name; by default that of the plan.
        disturbance : Disturbance, optional
            Pushes, and other parameters of the true system.
        t_end : float, optional
            End of the run in s; by default that of the plan.

        Raises
        ------
        BadValue
            A start, push or end that does not fit.

        Examples
        --------
        >>> import explorer as ex
        >>> cart = ex.StepSystem("cart", x="q v", f=["v", "u"], params={"u": 0.0})
        >>> task = ex.OptimalControlProblem(cart, t_end=1, intervals=5, controls="u",
        ...                                 running="u**2", end={"q": 1, "v": 0})
        >>> plan = ex.optimize(task)
        >>> push = ex.Disturbance([ex.Push(0.3, {"v": 0.2})])
        >>> plan.follow(plan.feedback(), disturbance=push).failed
        ''
        """
        return follow(self, controller, x0, mode0, disturbance, t_end)

    @checked
    def feedback(
        self, Q: Weights | None = None, R: Weights | None = None, *, Qf: Weights | None = None
    ) -> Feedback:
        """Return a linear-quadratic feedback along the plan, through its impacts and switches.

        Parameters
        ----------
        Q, R, Qf : float, (n,) or (n, n) float, optional
            Weights of deviations: of the states at the control instants, of the controls, and of
            the final states. By default the inverse squares of the ranges that the plan uses
            (Bryson's rule); Qf is 10 Q.

        Raises
        ------
        BadValue
            A weight of a wrong shape, or that is not positive.
        """
        return feedback(self, Q, R, Qf)

    def to_spec(self) -> Plain:
        """Return everything that makes the plan, as plain data (JSON).

        Raises
        ------
        BadValue
            A plan without a sequence of active sets.
        """
        return spec_of(self)

    @property
    def code(self) -> str:
        """Python code that makes the plan; its own states and controls are the guess."""
        return code(self)

    def save(self, path: str | Path) -> Path:
        """Write the plan to one ``.json`` file, and return its path; `Plan.load` reads it.

        Raises
        ------
        BadValue
            A plan without a sequence, or a file that cannot be written.
        """
        return save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> Plan:
        """Read a plan that `save` wrote; its program is built and solved again from its point.

        Raises
        ------
        BadValue
            A file that is no plan, or whose plan is no solution.
        """
        return cls.from_spec(read(path))

    @classmethod
    def from_spec(cls, spec: Plain) -> Plan:
        """Return the plan that `to_spec` described."""
        task, outcome, search, start, rho = restored(spec)
        plan = finished(task, outcome, search, start, rho, judged=False)
        said = {"status": spec["status"], "message": spec["message"], "log": spec["log"]}
        return dataclasses.replace(plan, **said)

    def __repr__(self) -> str:
        cost = quantity(self.objective, "", 7)
        count = len(self.biactive)
        kinks = f", {count} biactive place{'s' * (count != 1)}" if count else ""
        unmet = f"; unmet: {', '.join(self.unmet)}" if self.unmet else ""
        chosen = "".join(f", {one}" for one in self.chosen())
        return f"Plan({self.status}: {self.message}; objective {cost}{chosen}{kinks}{unmet})"


def finished(
    task: OptimalControlProblem,
    outcome: Outcome,
    pipeline: Pipeline,
    x0: np.ndarray,
    rho: dict[str, float],
    judged: bool = True,
    how: str = "",
) -> Plan:
    """Return the plan of an outcome; its replay judges it if `judged`. `how` it was found.

    Raises
    ------
    BadValue
        If the costs are not finite there.
    """
    program, w = outcome.program, outcome.w
    objective = float(program.costs(w, outcome.p))
    if not np.isfinite(objective):
        raise BadValue("The costs are not finite along the plan. Check running and terminal.")
    begun = np.asarray(program.begun(w, outcome.p), float).T
    x = np.vstack([x0, begun[program.grid.elements :: program.grid.elements]])
    rho = dict(zip(rho, program.rho(w, outcome.p).tolist(), strict=True))
    plan = Plan(
        task,
        outcome.status,
        f"{outcome.message}; {how}" if how else outcome.message,
        objective,
        ends(program, w),
        x,
        w[program.of["u"]],
        rho,
        list(outcome.log),
        outcome,
        pipeline,
    )
    if not judged:
        return dataclasses.replace(plan, message=f"{plan.message}; not replayed")
    if plan.status not in SOLVED:
        return plan
    try:
        missed = plan.defect
    except KeyboardInterrupt:
        return dataclasses.replace(plan, message=f"{plan.message}; not replayed: interrupted")
    if missed <= INEXACT * max(1.0, float(np.abs(x).max())):
        return plan
    why = next(iter(plan.replay().failed.values()), f"the exact replay misses by {missed:.2g}")
    return dataclasses.replace(
        plan, status="inexact", message=f"{why}; use more intervals, elements or stages"
    )
