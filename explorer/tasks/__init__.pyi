# made by: python .ci/stubs.py

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, ParamSpec

from explorer.control import OptimalControlProblem
from explorer.registry import Registry
from explorer.tasks.belt_pair import belt_pair as belt_pair
from explorer.tasks.box_pushing import box_pushing as box_pushing
from explorer.tasks.cart_push import cart_push as cart_push
from explorer.tasks.curved_slide import curved_slide as curved_slide
from explorer.tasks.frozen_hopper import frozen_hopper as frozen_hopper
from explorer.tasks.fuller import fuller as fuller
from explorer.tasks.planar_hopper import planar_hopper as planar_hopper
from explorer.tasks.relay_regulator import relay_regulator as relay_regulator
from explorer.tasks.relay_slide import relay_slide as relay_slide
from explorer.tasks.rough_block import rough_block as rough_block
from explorer.tasks.swing_up import swing_up as swing_up
from explorer.tasks.threshold_car import threshold_car as threshold_car
from explorer.tasks.turbo_car import turbo_car as turbo_car

P = ParamSpec("P")

@dataclass(frozen=True)
class Truth:
    value: float
    tolerance: float
    source: str

@dataclass(repr=False, eq=False)
class Task(Generic[P]):
    build: Callable[P, OptimalControlProblem]
    references: tuple[str, ...]
    objective: Truth | None
    defect: float
    guess: object
    relaxed: float = ...

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> OptimalControlProblem: ...
    def __repr__(self) -> str: ...

tasks: Registry[Task[...]] = ...

def register(
    *,
    references: tuple[str, ...] | str = (),
    objective: tuple[float, float, str] | None = None,
    defect: float = 1e-06,
    guess: object = None,
    relaxed: float = 0.0,
) -> Callable[[Callable[P, OptimalControlProblem]], Task[P]]: ...
