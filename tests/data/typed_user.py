"""What a user writes, for a type checker alone: each line with `wrong` behind it is an error."""

from typing import assert_type, reveal_type

import explorer as ex
from explorer.optimise import Fit, Minimum
from explorer.results.solution import Solution
from explorer.study import LimitCycle
from explorer.systems.base import System

ball = ex.models.bouncing_ball()
assert_type(ball, ex.MechanicalSystem)
scheme = ex.MoreauJean(h=1e-3)
assert_type(scheme, ex.MoreauJean)
run = ex.simulate(ball, scheme, e=0.5)
assert_type(run, Solution)
reveal_type(run.q)  # numpy.ndarray
assert_type(ex.load("ball.npz"), Solution)
assert_type(ex.fit(ball, run.t, run.q, starts=3), Fit)
assert_type(ex.minimize(ball, {"w": "y"}, tol=1e-6), Minimum)
assert_type(ex.study.limit_cycle(ball), LimitCycle)
assert_type(ex.tasks.turbo_car(intervals=4), ex.OptimalControlProblem)
assert_type(ex.reformulations.filippov(ex.models.relay_feedback()), ex.HybridSystem)
assert_type(ex.MechanicalSystem("mass", q="x"), ex.MechanicalSystem)
assert_type(ex.models.my_own(), System)  # of a folder of the user's
reveal_type(ex.views.trajectory)  # View[[solution: explorer.results.solution.Solution]]
reveal_type(ex.explore)  # def (model: str |

ex.simulate(1, nonsense="x")  # wrong: arg-type
ex.simulat(ball)  # wrong: attr-defined
ex.schemes.MoreauJan  # wrong: attr-defined
ex.study.limit_cycles(ball)  # wrong: attr-defined
ex.MoreauJean(step=1e-3)  # wrong: call-arg
ex.fit(ball, run.t, run.q, starts="three")  # wrong: arg-type
ex.minimize(ball, {"w": "y"}, max_iter="many")  # wrong: arg-type
ex.views.trajectory(3)  # wrong: arg-type
