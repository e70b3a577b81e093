"""`fit()`: parameters of a hybrid system from data, by nonlinear least squares.

min sum ((y(t_i, rho) - data_i) / sigma_i)^2 within bounds, by a trust-region Gauss-Newton method
(`scipy.optimize.least_squares`) with the Jacobian y_x S(t_i) + y_rho from the direct method.
Standard errors: s^2 (J' J)^-1 at the solution (Seber and Wild, *Nonlinear Regression*, 1989,
ch. 2). Robust losses bound the influence of an outlier (`explorer.optimise.loss`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy
import sympy as sp

from explorer.derivatives.question import Question, ask
from explorer.derivatives.trust import Trust, trust
from explorer.errors import BadValue, ExplorerError
from explorer.optimise.loss import LOSSES, checked_scale
from explorer.optimise.observed import Observed
from explorer.optimise.options import SearchOptions, with_options
from explorer.optimise.search import Change, Met, Ranges, Search, met
from explorer.optimise.starts import Start, known, starting_points
from explorer.progress import Progress
from explorer.quantities import quantity
from explorer.results.solution import Solution
from explorer.schemes import Scheme
from explorer.systems import System, values_given
from explorer.types import Names, Numbers, Reals, Value

__all__ = ["Fit", "fit"]

_STATIONARY = "converged to a stationary point"


@dataclass(repr=False)
class Fit:
    """Result of `fit`.

    Attributes
    ----------
    parameters, errors : dict of values and standard errors by name
        An error is infinite where the data do not determine the parameter, NaN at a bound.
    covariance : (p, p) float, NaN where errors are
    residuals : (m, k) data minus model, NaN where data are
    rms : float, root mean square of the residuals
    success : bool
        Whether a stationary point was found whose Jacobian can be trusted.
    message : str
    changes : list of Change, changes of the event sequence between iterates
    history : list of dict, one for each iterate: parameters, cost (half the sum of squares), events
    trajectory : Solution at the values found, rows at the data's times and at events
    evaluations : int, runs
    starts : list of Start, what each search found
    trust : Trust in the Jacobian at the values found
    """

    parameters: dict[str, float]
    errors: dict[str, float]
    covariance: np.ndarray
    residuals: np.ndarray
    rms: float
    success: bool
    message: str
    changes: list[Change]
    history: list[dict[str, float]]
    trajectory: Solution
    evaluations: int
    starts: list[Start]
    trust: Trust

    def __repr__(self) -> str:
        found = ", ".join(
            f"{k} = {quantity(v)} ± {quantity(self.errors[k], '', 2)}"
            for k, v in self.parameters.items()
        )
        return f"Fit({found}; rms {quantity(self.rms, '', 3)}; {self.message})"


class _At(NamedTuple):
    """The run at some values of the parameters, and the model at the times of the data."""

    values: np.ndarray  # (p,)
    run: Solution
    y: np.ndarray  # (m, k)
    slopes: np.ndarray  # (m, k, p)
    question: Question


@dataclass
class _Model:
    """What least squares asks for: residuals and Jacobian, at one value after the other."""

    search: Search
    observed: Observed
    times: np.ndarray
    data: np.ndarray
    weight: np.ndarray
    progress: Progress
    loss: str = "linear"
    scale: float = 1.0
    kept: _At | None = None
    runs: int = 0
    history: list[dict[str, float]] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)
    events: Met | None = None

    def at(self, values: np.ndarray) -> _At:
        if self.kept is None or not np.array_equal(self.kept[0], values):
            question, run = self.search.run(values)
            self.runs += 1
            self.kept = _At(
                values.copy(), run, *self.observed(question.rho, run, self.times), question
            )
        return self.kept

    def residuals(self, values: np.ndarray) -> np.ndarray:
        try:
            y = self.at(values)[2]
        except ExplorerError:
            if not self.history:
                raise
            # least_squares shortens a step whose residuals are not finite
            return np.full(int(np.isfinite(self.data).sum()), np.inf)
        r: np.ndarray = (y - self.data) * self.weight
        return np.asarray(r[np.isfinite(self.data)])

    def jacobian(self, values: np.ndarray) -> np.ndarray:
        """Called at accepted iterates only."""
        _, run, _, slopes, _ = self.at(values)
        self.note(values, met(run))
        return np.asarray((slopes * self.weight[:, :, None])[np.isfinite(self.data)])

    def note(self, values: np.ndarray, events: Met) -> None:
        if self.events is not None and events != self.events:
            self.changes.append(Change(len(self.history), self.events, events))
        self.events = events
        z = (self.residuals(values) / self.scale) ** 2
        cost = 0.5 * self.scale**2 * float(LOSSES[self.loss](z)[0].sum())
        self.history.append({**self.search.named(values), "cost": cost, "events": len(events)})
        self.progress(len(self.history), f"cost {cost:.4g}")


@with_options(tol=1e-10)
def fit(
    system: System,
    t: Reals,
    data: npt.ArrayLike,
    observe: str | sp.Expr | Sequence[Value] | None = None,
    wrt: Names | None = None,
    bounds: Ranges | None = None,
    scheme: Scheme | type[Scheme] | str | None = None,
    *,
    sigma: npt.ArrayLike | None = None,
    loss: str = "linear",
    scale: float | None = None,
    options: SearchOptions,
    rho: Numbers | None = None,
    **parameters: float,
) -> Fit:
    """Fit parameters to data.

    Parameters
    ----------
    system : MechanicalSystem, HybridSystem or StepSystem
    t : (m,) float, increasing times in s
    data : (m,) or (m, k) float
        NaN where nothing was measured.
    observe : str, formula or sequence of k of them, optional
        The measured quantities: states or formulas; by default the first k states.
    wrt : str or sequence of str, optional
        The unknowns: parameters, or states, whose start is meant. By default all parameters.
    bounds : dict by name or sequence of (low, high), optional
        By default the range of each parameter; a start value is free.
    scheme : EventDriven, optional
    sigma : float or array like data, optional
        Standard deviation of the data; without it, it is estimated from the residuals.
    loss : str
        "linear", or a robust one: "soft_l1", "huber", "cauchy", "arctan", as
        `scipy.optimize.least_squares` names them.
    scale : float, optional
        Residual above which a datum counts as an outlier, in units of sigma; by default 1. Without
        sigma, in units of the data. A robust loss needs sigma or scale.
    start : dict by name or sequence, optional
        Where the search begins; by default the values of the system. It must be near: a model that
        bounces once more or less than the data leads to another local minimum.
    starts, seed : int
        Searches: the first from `start`, the others from a Latin hypercube over the bounds. The
        best is returned, and the message says how many ended there.
    tol : float
        Tolerance of the relative change of cost and parameters.
    max_iter : int
    progress : bool
        Whether to show a bar when it takes more than a second.
    rho, **parameters
        Parameters by name. The others keep their defaults.

    Returns
    -------
    Fit

    Raises
    ------
    BadValue, BadModel, NotApplicable, StepFailed
        If the arguments are inconsistent, or the run at the start fails.

    Examples
    --------
    >>> import numpy as np
    >>> import explorer as ex
    >>> ball, t = ex.models.bouncing_ball(), np.linspace(0, 1.2, 30)
    >>> seen = ex.simulate(ball, ex.EventDriven, t_eval=t, e=0.7)
    >>> y = seen.q[np.searchsorted(seen.t, t), 0]
    >>> round(ex.fit(ball, t, y, "y", wrt=("e", "g")).parameters["e"], 6)
    0.7
    """
    times, data, weight = _data(t, data, sigma)
    values = values_given(system, rho, parameters)
    # the run ends with the data; a single time 0 has nothing to run to
    question = ask(system, scheme, wrt, None, float(times[-1]), None, times, values)
    if observe is None:
        observe = [s.name for s in question.cost.flow.states][: data.shape[1]]
    search, max_iter = Search.of(question, bounds, options.start), options.max_iter
    observed = Observed(search, observe)
    _check_data(data, observed, len(question.wrt))
    wide = checked_scale(loss, scale, sigma)
    points = starting_points(search, options.starts, options.seed)
    waiting = Progress(max_iter * len(points), "Fitting", options.progress)
    tried = []
    for k, x in enumerate(points):
        model = _Model(search, observed, times, data, weight, waiting, loss, wide)
        tried.append(_search(model, x, options.tol, max_iter, k == 0))
    waiting.close()
    ends = [s for s, _, _ in tried]
    best = min((s.cost, k) for k, (s, _, found) in enumerate(tried) if found is not None)[1]
    _, model, result = tried[best]
    assert result is not None
    model.at(result.x)  # the last trial may have been elsewhere
    return _told(ends, model, result, best, sigma is not None, sum(m.runs for _, m, _ in tried))


def _check_data(data: np.ndarray, observed: Observed, p: int) -> None:
    """Refuse data of another width than what is observed, or fewer numbers than unknowns."""
    if len(observed.formulas) != data.shape[1]:
        raise BadValue(
            f"The data have {data.shape[1]} columns, but {len(observed.formulas)} observed "
            f"quantities are named: {', '.join(map(str, observed.formulas))}."
        )
    if (m := int(np.isfinite(data).sum())) < p or not p:
        raise BadValue(f"{m} numbers cannot determine {p} parameters.")


def _search(
    model: _Model, start: np.ndarray, tol: float, max_iter: int, first: bool
) -> tuple[Start, _Model, scipy.optimize.OptimizeResult | None]:
    """Search from one start; from a later one without a run nothing is found."""
    search, unit = model.search, model.search.scale
    size = float(np.nanmax(np.abs(model.data * model.weight), initial=0.0)) or 1.0
    begun = search.named(start)
    try:
        # in units of the parameters and of the data, because its tolerances are absolute
        found = scipy.optimize.least_squares(
            lambda z: model.residuals(z * unit) / size,
            start / unit,
            lambda z: model.jacobian(z * unit) * unit / size,
            bounds=(search.low / unit, search.high / unit),
            loss=model.loss,
            f_scale=model.scale / size,
            xtol=max(tol, 1e-15),
            ftol=max(tol, 1e-15),
            gtol=1e-15,
            max_nfev=max(max_iter, 1),
        )
        found.x = np.clip(found.x * unit, search.low, search.high)
        found.cost *= size**2
    except ExplorerError as error:
        if first:
            raise
        return Start(begun, begun, np.inf, False, str(error)), model, None
    ok = found.status > 0
    message = _STATIONARY if ok else f"stopped after max_iter = {max_iter} runs"
    return Start(begun, search.named(found.x), float(found.cost), ok, message), model, found


def _told(
    starts: list[Start],
    model: _Model,
    found: scipy.optimize.OptimizeResult,
    best: int,
    known_sigma: bool,
    runs: int,
) -> Fit:
    """Return the fit that the best of the searches found, and what is known of it."""
    search, data, weight = model.search, model.data, model.weight
    _, run, y, slopes, question = model.at(found.x)
    J = (slopes * weight[:, :, None])[np.isfinite(data)]
    covariance, doubts = _covariance(model, found, J, known_sigma)
    residuals = data - y
    doubt = trust(question, run, J)
    message = starts[best].message
    if not doubt.ok:
        message = message.replace(_STATIONARY, "stopped", 1)
        doubts.append("its Jacobian is not reliable: " + " ".join(doubt.sentences))
    if cautions := run.certificate.cautions:
        doubts.append(f"checks of its run do not hold: {cautions[0]}")
    several = known(search, starts, starts[best])
    message = "; ".join(filter(None, [message, *doubts, several, *map(str, model.changes)]))
    return Fit(
        search.named(found.x),
        search.named(np.sqrt(np.diag(covariance))),
        covariance,
        residuals,
        float(np.sqrt(np.nanmean(residuals**2))),
        starts[best].success and doubt.ok and not cautions,
        message,
        model.changes,
        model.history,
        run,
        runs,
        starts,
        doubt,
    )


def _data(
    t: Reals, data: npt.ArrayLike, sigma: npt.ArrayLike | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return times (m,), data (m, k) and weights (m, k)."""
    try:
        times, values = np.asarray(t, float), np.asarray(data, float)
        spread = np.asarray(1.0 if sigma is None else sigma, float)
    except (TypeError, ValueError):
        raise BadValue("t, data and sigma must be numbers.") from None
    values, spread = (x[:, None] if x.ndim == 1 else x for x in (values, spread))
    if times.ndim != 1 or values.ndim != 2 or len(times) != len(values):
        raise BadValue(
            f"t (m,) and data (m,) or (m, k) need the same m, not {np.shape(t)} and "
            f"{np.shape(data)}."
        )
    if len(times) == 0 or not np.isfinite(times).all() or (np.diff(times) <= 0).any():
        raise BadValue("The times of the data must increase.")
    if times[0] < 0 or times[-1] <= 0:
        raise BadValue("A run begins at t = 0 s, so the times of the data must not be negative.")
    try:
        spread = np.broadcast_to(spread, values.shape)
    except ValueError:
        raise BadValue("sigma must be one number or have the shape of the data.") from None
    if not (spread > 0).all():
        raise BadValue("sigma must be greater than zero.")
    return times, values, 1 / spread


def _covariance(
    model: _Model, found: scipy.optimize.OptimizeResult, J: np.ndarray, known: bool
) -> tuple[np.ndarray, list[str]]:
    """Return the covariance of the values found, and what must be said about it."""
    search = model.search
    names, (m, p) = np.array(search.question.wrt), J.shape
    held = found.active_mask != 0
    doubts = [f"{name} is at its bound, so it has no standard error" for name in names[held]]
    covariance, free = np.full((p, p), np.nan), np.flatnonzero(~held)
    if not len(free):
        return covariance, doubts
    scale, r = search.scale[free], model.residuals(found.x)
    z = (r / model.scale) ** 2
    _, first, second = LOSSES[model.loss](z)
    # psi' of the data that still pull; of the linear loss 1
    bent = np.sqrt(np.maximum(first + 2 * z * second, 0.0))
    _, s, Vt = np.linalg.svd(bent[:, None] * J[:, free] * scale, full_matrices=False)
    weak = s <= 1e-9 * max(s[0], 1e-300)
    inverse = np.where(weak, 0.0, 1 / np.where(weak, 1.0, s)) ** 2
    bread = (Vt.T * inverse) @ Vt
    if model.loss == "linear":
        part = (1.0 if known else (2 * found.cost / (m - p) if m > p else np.nan)) * bread
    else:
        pull = (first * r)[:, None] * J[:, free] * scale
        part = bread @ (pull.T @ pull) @ bread * (m / (m - p) if m > p else np.nan)
    part = part * np.outer(scale, scale)
    if weak.any():
        lost = (np.abs(Vt[weak]) > 1e-3).any(axis=0)
        part[np.ix_(lost, lost)] = np.inf
        doubts.append(
            "the data do not determine "
            + ", ".join(names[free[lost]])
            + (" (only together)" if lost.sum() > 1 else "")
        )
    covariance[np.ix_(free, free)] = part
    return covariance, doubts
