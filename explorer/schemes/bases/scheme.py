"""What a scheme is: a frozen dataclass of knobs above a kernel, and what it says it takes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

from explorer.arguments import Named
from explorer.certificate import Check
from explorer.parameters import check_knobs, knobs_of
from explorer.runs.steps import steps
from explorer.systems import System
from explorer.types import Plain, Reals

if TYPE_CHECKING:
    from explorer.results.solution import Solution
    from explorer.runs.members import Asked, Members, Observed

__all__ = ["Scheme"]


@dataclass(frozen=True)
class Scheme(metaclass=Named):
    """Base of the schemes.

    Attributes
    ----------
    accepts : tuple of system types
        The system types that it integrates. The table of applicability, the menus, the conformance
        tests and the refusals are generated from it.
    takes : str
        The same in words, for a refusal: "takes mechanical systems with contacts".
    handles : frozenset of str
        Which of `System.features` it handles, such as "contacts" or "recorded forcing".
    apart : tuple of frozensets of str
        Features that it handles, but not together.
    rewrites : tuple of system types
        Those of `accepts` that it takes through an exact rewriting. Schemes that take them directly
        come first.
    order : int
        Order of convergence on a smooth stretch: for a class with the default knobs, for an
        instance with its own.
    order_across_events : int
        The same across impacts; 0: none is declared, or it takes no system that has any.
    impact_steps : int
        Steps over which an impact is spread.
    located : bool
        Whether it locates events, so that its runs have derivatives across them.
    references : tuple of str
        Its sources, for `explorer.cite`: keys of ``references.bib``, or BibTeX entries.
    choice_references : dict
        Sources of single choices: ``{knob: {value: keys}}``.
    feature_references : dict
        Sources of what it does for single features of a system: ``{feature: keys}``.
    residual_unit : str
        Unit of the residuals of Newton's method in `Solution.residuals`; empty: they are relative.
    lesson : str
        For a scheme that shows what goes wrong: the sentence that warns of it. Such a scheme is
        chosen only by name.
    """

    leading: ClassVar[str] = "h"  # the one argument that needs no name
    accepts: ClassVar[tuple[type[System], ...]] = ()
    rewrites: ClassVar[tuple[type[System], ...]] = ()
    takes: ClassVar[str] = ""
    handles: ClassVar[frozenset[str]] = frozenset()
    apart: ClassVar[tuple[frozenset[str], ...]] = ()
    order: ClassVar[int] = 1
    order_across_events: ClassVar[int] = 1
    impact_steps: ClassVar[int] = 1
    residual_unit: ClassVar[str] = "N s"
    located: ClassVar[bool] = False
    references: ClassVar[tuple[str, ...]] = ()
    choice_references: ClassVar[Mapping[str, Mapping[str, tuple[str, ...]]]] = {}
    feature_references: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    lesson: ClassVar[str] = ""

    def __repr__(self) -> str:
        """Return what one would type: the knobs that differ from their defaults."""
        changed = [
            f"{name}={getattr(self, name)!r}"
            for name, (default, _) in knobs_of(self).items()
            if getattr(self, name) != default or name == "h"
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __post_init__(self) -> None:
        check_knobs(self)
        smooth, across = self.orders
        object.__setattr__(self, "order", smooth)
        object.__setattr__(self, "order_across_events", across)

    @property
    def orders(self) -> tuple[int, int]:
        """Orders on a smooth stretch and across events, with these knobs."""
        return type(self).order, type(self).order_across_events

    def orders_on(self, system: System) -> tuple[int, int]:
        """Return the orders on smooth stretches of a system and across its events."""
        return self.orders

    def sources(self, system: System | None = None) -> tuple[str, ...]:
        """Return the keys of its references: of the class, its knobs, and features of a system."""
        keys = [*self.references]
        for f in fields(self):
            value = getattr(self, f.name)
            if isinstance(value, Scheme):
                keys += value.sources()
            elif isinstance(value, str):
                keys += self.choice_references.get(f.name, {}).get(value, ())
        for feature in sorted(system.features if system is not None else ()):
            keys += self.feature_references.get(feature, ())
        return tuple(dict.fromkeys(keys))

    @property
    def caution(self) -> str:
        """What these numbers lose, if `simulate` is to warn of it."""
        return ""

    def to_spec(self) -> Plain:
        """Return what defines the scheme as plain data (JSON)."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {"name": type(self).__name__} | {
            k: x.to_spec() if isinstance(x, Scheme) else x for k, x in values.items()
        }

    @classmethod
    def handles_all(cls, features: Collection[str]) -> bool:
        """Whether it handles features together."""
        if not cls.handles.issuperset(features):
            return False
        return not cls.apart or not any(clash.issubset(features) for clash in cls.apart)

    @classmethod
    def fits(cls, system: System) -> bool:
        """Whether this scheme integrates the system."""
        if not (isinstance(system, cls.accepts) and cls.handles_all(system.features)):
            return False
        kept: dict[type, str] = system.made.setdefault("obstacles", {})
        if cls not in kept:  # to look may take formulas apart
            kept[cls] = cls.obstacle(system)
        return not kept[cls]

    @staticmethod
    def obstacle(system: System) -> str:
        """Return what keeps a system of an accepted type away, in a sentence; empty: nothing."""
        return ""

    @classmethod
    def differentiates(cls, system: System) -> bool:
        """Whether it finds the sensitivities of the system's solution too."""
        return cls.located and cls.fits(system)

    @classmethod
    def usual_step(cls, system: System) -> float:
        """Return a step size h that suits the system, in s."""
        return system.h

    @staticmethod
    def compile(system: Any) -> Any:  # each scheme takes systems of its kinds and makes its own
        """Return the system as this scheme's kernels take it."""
        from explorer.compiled import compile_system

        return compile_system(system)

    def run(
        self,
        compiled: Any,
        rho: Reals,
        t_end: float,
        q0: Reals | None = None,
        v0: Reals | None = None,
    ) -> Solution:
        """Integrate from 0 to `t_end`; return a Solution whose status may be a failure.

        The start is (q0, v0) if given, else the model's own.
        """
        raise TypeError(f"{type(self).__name__} does not say how it runs.")

    def ensemble(self, system: System) -> Callable[[Members, Asked], Observed] | None:
        """Return what runs many members in one call, each as `run` does; None: nothing does.

        A member with the code `explorer.runs.members.APART` is left to be run by itself.
        """
        return None

    @classmethod
    def agrees(cls, name: str, *others: str) -> bool:
        """Whether a method is defined with the present `others`, not above a class with its own.

        So a scheme that changes how it runs has no ensemble of the runs that it does not make.
        """
        places = {one: k for k, base in reversed([*enumerate(cls.__mro__)]) for one in vars(base)}
        return all(places[name] <= places.get(other, len(cls.__mro__)) for other in others)

    def certify(self, solution: Solution) -> list[Check]:
        """Return what is checked of a run of this scheme: each figure beside its bound."""
        return []

    def steps(self, t_end: float, row: float, n: int, coordinates: int = 0, unit: str = "s") -> int:
        """Return how many steps of size h reach `t_end`; `row` numbers are kept of each.

        `coordinates` of them are those of which a `Recorder` may keep fewer, if the scheme takes
        one. Times are in `unit`.

        Raises
        ------
        BadValue
            A time span that is not positive, or shorter than h; a record beyond memory.
        """
        return steps(self.h, t_end, row, n, coordinates, unit)  # type: ignore[attr-defined]
