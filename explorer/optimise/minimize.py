"""`minimize()`: parameters that minimise a cost of a hybrid trajectory.

min psi(rho) over low <= rho <= high by L-BFGS-B (Byrd, Lu, Nocedal and Zhu, SIAM J. Sci. Comput. 16
(1995) 1190) with the gradient through every event (Corner et al. 2019, eq. (20)). psi is smooth
only while the event sequence stays the same. At a change the search restarts, without the curvature
that it learned before, and the result reports the change. A descent finds a local stationary point;
`starts` searches from several starts.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field

import numpy as np
import scipy

from explorer.derivatives.cost import CostLike
from explorer.derivatives.question import Question, ask, gradient_of
from explorer.derivatives.trust import Trust, trust
from explorer.errors import BadValue, ExplorerError
from explorer.optimise.options import SearchOptions, with_options
from explorer.optimise.search import Change, Met, Ranges, Search, met
from explorer.optimise.starts import Start, known, starting_points
from explorer.progress import Progress
from explorer.quantities import quantity
from explorer.results.solution import Solution
from explorer.schemes import Scheme
from explorer.systems import System, values_given
from explorer.systems.drive import Inputs
from explorer.types import Names, Numbers

__all__ = ["Minimum", "minimize"]

ROUNDS = 50  # restarts after changes of sequence and failed trials
_SMALL = 1e-3  # a cost below has a unit in which the tolerance would be no bound


@dataclass(repr=False)
class Minimum:
    """Result of `minimize`.

    Attributes
    ----------
    parameters : dict, the values found by name
    cost : float
    gradient : dict, derivative of the cost by name, on the event sequence of `trajectory`
    success : bool
        Whether the projected gradient is below the tolerance and reliable. At a kink, where an
        event grazes or several coincide, a small gradient proves nothing.
    message : str
    changes : list of Change, changes of the event sequence between iterates
    history : list of dict, one for each iterate: parameters, cost, gradient (projected), events
    trajectory : Solution at the values found
    evaluations : int, runs
    starts : list of Start, what each descent found
    trust : Trust in the gradient at the values found
    """

    parameters: dict[str, float]
    cost: float
    gradient: dict[str, float]
    success: bool
    message: str
    changes: list[Change]
    history: list[dict[str, float]]
    trajectory: Solution
    evaluations: int
    starts: list[Start]
    trust: Trust

    def __repr__(self) -> str:
        values = ", ".join(f"{k} = {quantity(v, '', 7)}" for k, v in self.parameters.items())
        return f"Minimum(cost {quantity(self.cost)} at {values}; {self.message})"


@dataclass
class _Point:
    z: np.ndarray
    cost: float
    slope: np.ndarray
    events: Met
    run: Solution
    question: Question


class _NoRun(Exception):
    """The line search went to a point without a run."""

    def __init__(self, z: np.ndarray, why: ExplorerError) -> None:
        super().__init__(str(why))
        self.z = z


@dataclass
class _Descent:
    """State of the search: what was evaluated, what was accepted."""

    search: Search
    tol: float
    progress: Progress
    max_iter: int
    best: _Point = field(init=False)
    recent: dict[bytes, _Point] = field(default_factory=dict)
    history: list[dict[str, float]] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    runs: int = 0
    crossed: bool = False
    turned: bool = False

    def __post_init__(self) -> None:
        self.low = self.search.low / self.search.scale
        self.high = self.search.high / self.search.scale
        self.best = self.at(self.search.start / self.search.scale)
        size = max(abs(self.best.cost), float(np.abs(self.best.slope).max(initial=0.0)))
        if 0 < size < _SMALL:  # as of squares of millimetres in m2
            self.tol *= size
        self.note()

    def at(self, z: np.ndarray) -> _Point:
        key = z.tobytes()
        if key not in self.recent:
            search = self.search
            question, run = search.run(z * search.scale)
            self.runs += 1
            cost, gradient = gradient_of(question, run)
            if not (np.isfinite(cost) and np.isfinite(gradient).all()):
                raise BadValue(
                    f"The cost or its gradient is not finite at {search.named(z * search.scale)}; "
                    "a grazing event has no finite gradient."
                )
            while len(self.recent) > 3:
                self.recent.pop(next(iter(self.recent)))
            events = met(run, question.until)
            self.recent[key] = _Point(
                z.copy(), cost, gradient * search.scale, events, run, question
            )
        return self.recent[key]

    def trial(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        try:
            point = self.at(z)
        except ExplorerError as error:
            raise _NoRun(z.copy(), error) from None
        self.crossed |= point.events != self.best.events
        return point.cost, point.slope

    def accept(self, intermediate_result: scipy.optimize.OptimizeResult) -> None:
        """L-BFGS-B calls this with each new iterate."""
        point = self.at(np.asarray(intermediate_result.x))
        before, self.best = self.best, point
        self.note()
        self.crossed = False
        if point.events != before.events:
            self.changes.append(Change(len(self.history) - 1, before.events, point.events))
            self.turned = True
            raise StopIteration

    def note(self) -> None:
        point, search = self.best, self.search
        self.history.append(
            {
                **search.named(point.z * search.scale),
                "cost": point.cost,
                "gradient": self.projected,
                "events": len(point.events),
            }
        )
        self.progress(len(self.history) - 1, f"cost {point.cost:.4g}")

    @property
    def projected(self) -> float:
        """Largest entry of the projected gradient, in values / scale."""
        z = self.best.z
        step = np.clip(z - self.best.slope, self.low, self.high) - z
        return float(np.abs(step).max())

    @property
    def left(self) -> int:
        return self.max_iter + 1 - len(self.history)

    def go(self) -> str:
        """Descend; return why it ended."""
        radius = np.inf
        for _ in range(ROUNDS):
            if self.projected <= self.tol:
                flat = [n for n, d in self.search.named(self.best.slope).items() if d == 0]
                return "converged to a stationary point" + (
                    f", but the cost does not depend on {', '.join(flat)} here" if flat else ""
                )
            if self.left <= 0:
                return f"stopped after max_iter = {self.max_iter} iterations"
            z, self.turned, self.crossed = self.best.z, False, False
            box = scipy.optimize.Bounds(
                np.maximum(self.low, z - radius), np.minimum(self.high, z + radius)
            )
            try:
                found = scipy.optimize.minimize(
                    self.trial,
                    z,
                    jac=True,
                    method="L-BFGS-B",
                    bounds=box,
                    callback=self.accept,
                    options={"maxiter": self.left, "gtol": self.tol, "ftol": 0.0},
                )
            except _NoRun as no_run:
                # half way to where there is no run; the search widens again once it moves
                radius = 0.5 * float(np.abs(no_run.z - self.best.z).max())
                if radius <= max(self.tol, 1e-12):  # of which no step is made
                    return f"stopped where runs start to fail: {no_run}"
                continue
            moved = float(np.abs(self.best.z - z).max())
            if self.turned:
                radius = np.inf
            elif moved == 0 and self.projected > self.tol:
                if self.crossed:
                    return (
                        "stopped at a change of the event sequence: no derivative exists across "
                        "it, and no step on this side lowers the cost"
                    )
                return f"stopped: {found.message.lower()}"
            elif np.isfinite(radius):
                radius *= 4
        return f"stopped after {ROUNDS} restarts"


@with_options(tol=1e-7)
def minimize(
    system: System,
    cost: CostLike,
    wrt: Names | None = None,
    bounds: Ranges | None = None,
    scheme: Scheme | type[Scheme] | str | None = None,
    *,
    t_end: float | None = None,
    until: str | tuple[str, int] | None = None,
    options: SearchOptions,
    u: Inputs | None = None,
    rho: Numbers | None = None,
    **parameters: float,
) -> Minimum:
    """Minimize a cost of a trajectory.

    Parameters
    ----------
    system : MechanicalSystem, HybridSystem or StepSystem
    cost : Cost, formula or dict
        As for `sensitivity`: psi = int g dt + w.
    wrt : str or sequence of str, optional
        The unknowns: parameters, or states, whose start is meant. By default all parameters.
    bounds : dict by name or sequence of (low, high), optional
        By default the range of each parameter; a start value is free.
    scheme : EventDriven, optional
    t_end, until :
        Final time in s, and the event at which the cost ends before it, by name and number.
    start : dict by name or sequence, optional
        Where the search begins; by default the values of the system.
    starts, seed : int
        Descents: the first from `start`, the others from a Latin hypercube over the bounds.
    tol : float
        Tolerance of the projected gradient, each parameter in units of its range; of a cost that
        begins below 1e-3 relative to that cost, or to its gradient.
    max_iter : int
    progress : bool
        Whether to show a bar when it takes more than a second.
    u : dict, array or Input, optional
        Inputs as for `simulate`; the unknowns may be their values, as 'u[0]', or 'u[:]' for all,
        by default within the bounds of the input.
    rho, **parameters
        Parameters by name. The others keep their defaults.

    Returns
    -------
    Minimum
        The best stationary point found. ``message`` tells how many starts end there, and whether
        its gradient is reliable.

    Raises
    ------
    BadValue, BadModel, NotApplicable, StepFailed
        If the arguments are inconsistent, or the run at the start fails.

    Examples
    --------
    >>> import explorer as ex
    >>> best = ex.minimize(ex.models.bouncing_ball(), {"w": "(t - 1)**2"}, "e",
    ...                    until=("floor", 2), e=0.7)
    >>> round(best.parameters["e"], 5), best.success  # t_1 (1 + 2 e) = 1
    (0.60736, True)
    """
    given = values_given(system, rho, parameters)
    question = ask(system, scheme, wrt, cost, t_end, until, None, given, u=u)
    search, max_iter = Search.of(question, bounds, options.start), options.max_iter
    tol = float(options.tol)
    points = starting_points(search, options.starts, options.seed)
    waiting = Progress(max_iter * len(points), "Minimizing", options.progress)
    tried = [_descend(search, x, tol, waiting, max_iter, k == 0) for k, x in enumerate(points)]
    waiting.close()
    found = [s for s, _ in tried]
    ended = [(s.cost, k) for k, (s, d) in enumerate(tried) if d is not None]
    best = tried[min(ended)[1]]
    descent, message = best[1], best[0].message
    assert descent is not None
    point = descent.best
    gradient = search.named(point.slope / search.scale)
    doubt = trust(point.question, point.run, np.array(list(gradient.values())))
    success = best[0].success and doubt.ok
    if best[0].success and not doubt.ok:
        message = message.replace("converged to a stationary point", "stopped", 1)
        message += "; the gradient there is not reliable: " + " ".join(doubt.sentences)
    if descent.changes:
        message += "; " + ", ".join(map(str, descent.changes)) + ", and the search restarted there"
    message = "; ".join(filter(None, [message, known(search, found, best[0])]))
    runs = sum(d.runs for _, d in tried if d is not None)
    return Minimum(
        search.named(point.z * search.scale),
        point.cost,
        gradient,
        success,
        message,
        descent.changes,
        descent.history,
        point.run,
        runs,
        found,
        doubt,
    )


def _descend(
    search: Search, start: np.ndarray, tol: float, progress: Progress, max_iter: int, first: bool
) -> tuple[Start, _Descent | None]:
    """Descend from one start; of a later one without a run there is no descent."""
    begun = search.named(start)
    try:
        descent = _Descent(dataclasses.replace(search, start=start), tol, progress, max_iter)
    except ExplorerError as error:
        if first:
            raise
        return Start(begun, begun, np.inf, False, str(error)), None
    message = descent.go()
    best = descent.best
    end = search.named(best.z * search.scale)
    return Start(begun, end, best.cost, descent.projected <= descent.tol, message), descent
