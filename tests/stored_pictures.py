"""Pictures with stored numbers: what each view draws of short runs, and the still of it."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
from kinds import SYSTEMS
from stored_numbers import Nudge, Told, told
from stored_runs import answered, scheme_of, values_of
from stored_studies import STUDIES

import explorer as ex
from explorer.views.drawing.picture import steady
from explorer.views.drawing.polyline import PANEL, Look
from explorer.views.drawing.still import still
from explorer.views.drawing.view import views

RUNS = [
    ("bouncing_ball", "MoreauJean", 2.0), ("bouncing_ball", "EventDriven", 4.5),
    ("woodpecker", "EventDriven", 0.1), ("rough_block", "MoreauJean", 1.6),
    ("block_across_slope", "MoreauJean", 1.0), ("spherical_pendulum", "EventDriven", 1.0),
    ("four_bar_stop", "MoreauJean", 0.5), ("buck_converter", "EulerMoreau", 2e-3),
    ("two_fold", "FESD", 0.7), ("stribeck_belt", "EventDriven", 12.0),
    ("two_blocks_on_belt", "FESD", 4.0), ("thrown_ball", "FESD", 0.9), ("cart_plastic", "EventDriven", 2.0),
    ("bilinear_oscillator", "Newmark", 6.0), ("thermostat", "FESD", 4.0),
]  # fmt: skip


def simulated(name: str, scheme: str, t_end: float, nudge: Nudge) -> ex.Solution:
    rho = nudge(values_of(name, 0.1))
    return ex.simulate(SYSTEMS[name], scheme_of(name, scheme), t_end=t_end, rho=rho, throw=False)


def drawn(figure: object) -> Told:
    """Return the numbers of a figure, and those of its still."""
    plain = figure.to_plotly_json()
    found: dict = {"traces": len(plain["data"]), "numbers": []}
    for key in ("x", "y", "z"):
        values = [np.ravel(trace[key]) for trace in plain["data"] if key in trace]
        values = [x.astype(float) for x in values if x.dtype.kind in "biuf"]
        found[key] = np.concatenate([*values, np.zeros(1)])
    flatten({k: x for k, x in plain["layout"].items() if k != "template"}, found)
    flatten(
        [{k: x for k, x in t.items() if k not in ("x", "y", "z")} for t in plain["data"]], found
    )
    found["numbers"] = np.array(found["numbers"])
    if len(plain["data"]):
        written = re.findall(r"-?\d+\.?\d*", still(plain))
        found["still"] = np.array(written, float)
    return told(found)


def flatten(part: object, found: dict) -> None:
    """Add the numbers that a figure holds; its words may change."""
    if isinstance(part, dict):
        flatten([x for _, x in sorted(part.items())], found)
    elif isinstance(part, list | tuple):
        for one in part:
            flatten(one, found)
    elif isinstance(part, np.ndarray):
        flatten(part.tolist(), found)
    elif isinstance(part, bool | int | float):
        found["numbers"].append(float(part))


def all_of(result: object, *more: object, **options: object) -> Told:
    """Return the numbers of every view of a result."""
    found: Told = {}
    for name, view in views.items():
        if name not in ("period_elongation", "explore") and view.draws(result):
            figure = answered(lambda view=view: drawn(view(result, *more, **options)))
            found |= {f"{name}.{label}": value for label, value in figure.items()}
    return found


def of_derivatives(name: str, t_end: float, nudge: Nudge) -> Told:
    """All views of derivatives of a run by two parameters."""
    return all_of(
        ex.sensitivity(
            SYSTEMS[name], "EventDriven", [*SYSTEMS[name].parameters][1:3],
            t_end=t_end, rho=nudge(values_of(name, 0.1)),
        )
    )  # fmt: skip


SLOPES = [
    ("bouncing_ball", 1.3), ("cart_plastic", 2.0), ("woodpecker", 0.08), ("pendulum_wall", 2.0),
    ("stick_slip", 3.0), ("spherical_pendulum", 0.8),
]  # fmt: skip
STUDIED = [
    "stability average", "stability hht", "modes building", "precision pendulum", "order switched",
    "ends switched", "formulations", "balance stick_slip MoreauJean",
]  # fmt: skip
REGIONS = ("two_fold", "stribeck_belt", "two_genes", "sliding_entry")

LOOKED_AT = [
    ("bouncing_ball", "EventDriven", 1.3), ("stick_slip", "MoreauJean", 0.5), ("chua", "FESD", 3.0),
    ("three_blocks", "EulerMoreau", 2.0),
]  # fmt: skip
LOOKS = [
    PANEL, Look(320, 700), Look(900, 500, {"xaxis": (0.2, 0.7), "yaxis": (0.1, 0.5)}, 1.7),
    Look(700, 400, {"xaxis2": (0.1, 0.4), "yaxis4": (-1, 2)}, 1.0, 4.0),
]  # fmt: skip

PICTURES: dict[str, Callable[[Nudge], Told]] = {
    **{
        f"{name} {scheme}": lambda nudge, run=(name, scheme, t_end): all_of(simulated(*run, nudge))
        for name, scheme, t_end in RUNS
    },
    **{
        f"{name} slopes": lambda nudge, run=(name, t_end): of_derivatives(*run, nudge)
        for name, t_end in SLOPES
    },
    **{f"of {name}": lambda nudge, name=name: all_of(STUDIES[name](nudge)) for name in STUDIED},
    **{
        f"{name} regions": lambda _, name=name: drawn(ex.views.regions(SYSTEMS[name]))
        for name in REGIONS
    },
    **{
        f"explore {name} {k}": lambda nudge, run=(name, scheme, t_end), look=look: drawn(
            ex.views.explore(simulated(*run, nudge), look=look)
        )
        for name, scheme, t_end in LOOKED_AT for k, look in enumerate(LOOKS)
    },
    "explore pinned": lambda nudge: drawn(
        ex.views.explore(*(simulated("pendulum", "Newmark", t, nudge) for t in (0.5, 0.7)), look=PANEL)
    ),
    "explore spun": lambda nudge: drawn(
        ex.views.explore(simulated("duffing", "GeneralizedAlpha", 300.0, nudge), look=PANEL)
    ),
    "slopes looked at": lambda nudge: drawn(
        ex.views.sensitivity(
            ex.sensitivity(SYSTEMS["bouncing_ball"], wrt="e", t_end=0.9, rho=nudge({"e": 0.6})),
            look=LOOKS[2],
        )
    ),
    **{
        f"recorded {name}": lambda nudge, name=name, kept=kept: all_of(
            ex.simulate(
                SYSTEMS[name], "Newmark", t_end=1.0, record=kept, rho=nudge(values_of(name, 0.1))
            )
        )
        for name, kept in (
            ("shear_building", ex.Recorder(every=20)), ("portal_frame", ex.Recorder(q=[0, 2], v=(), a=())),
        )
    },
    "steady": lambda nudge: told(
        steady(
            {"xaxis": {"range": [0.2, 0.9]}, "yaxis": {"range": [0.1, 3]}, "xaxis2": {"range": [4, 5]}},
            {"xaxis": {"range": [*nudge({"a": 0.1, "b": 0.8}).values()]}, "yaxis": {"range": [0, 1]},
             "xaxis2": {"range": [0, 90]}},
            moving=True,
        )
    ),
    "periods": lambda nudge: drawn(
        ex.views.period_elongation(
            "average acceleration", ex.GeneralizedAlpha(rho_inf=0.5), xi=nudge({"xi": 0.04})["xi"]
        )
    ),
}  # fmt: skip
