"""Studies, searches and pictures with stored numbers: each on a run that is as short as it may be."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from kinds import SYSTEMS
from stored_numbers import Nudge
from stored_runs import scheme_of, values_of

import explorer as ex
from explorer.derivatives.question import ask
from explorer.optimise.cost_curve import cost_curve
from explorer.optimise.search import Search
from explorer.optimise.starts import starting_points
from explorer.study import leading_terms, limit_cycle, oscillation, stability

TIGHT = ex.EventDriven(rtol=1e-10, atol=1e-11)
STEPS = (0.04, 0.02, 0.01)
Ask = Callable[..., object]


def cycle(name: str, section: str | None, **given: object) -> Ask:
    """Return what seeks a limit cycle."""
    own = {k: x for k, x in given.items() if k in SYSTEMS[name].parameters}
    rest = {k: x for k, x in given.items() if k not in own}
    return lambda nudge: limit_cycle(SYSTEMS[name], section=section, rho=nudge(own), **rest)


def order(name: str, *schemes: object, **given: object) -> Ask:
    own = {k: x for k, x in given.items() if k in SYSTEMS[name].parameters}
    rest = {"h": STEPS, "t_end": 0.4, "repeats": 1} | {
        k: x for k, x in given.items() if k not in own
    }
    return lambda nudge: ex.study.order_diagram(
        SYSTEMS[name], [*schemes] or None, rho=nudge(own), **rest
    )


def precision(name: str, *schemes: object, **given: object) -> Ask:
    own = {k: x for k, x in given.items() if k in SYSTEMS[name].parameters}
    rest = {"h": STEPS, "t_end": 0.4, "repeats": 1} | {
        k: x for k, x in given.items() if k not in own
    }
    return lambda nudge: ex.study.work_precision(
        SYSTEMS[name], [*schemes] or None, rho=nudge(own), **rest
    )


def ends(name: str, by: str, values: list[float], *schemes: object, **given: object) -> Ask:
    return lambda nudge: ex.study.end_state(
        SYSTEMS[name],
        [*schemes] or None,
        by,
        values=values,
        rho=nudge(values_of(name, 0.1)),
        **given,
    )


STABLE = {
    "average": ("average acceleration", 0.03), "central": ("central difference", 0.1),
    "Fox-Goodwin": ("Fox-Goodwin", 0.0), "linear": ("linear acceleration", 0.02),
    "damped": (ex.Newmark(beta=0.33, gamma=0.61), 0.07),
    "unstable": (ex.Newmark(beta=0.1, gamma=0.42), 0.2),
    "chung-hulbert": (ex.GeneralizedAlpha(rho_inf=0.43), 0.05),
    "hht": (ex.GeneralizedAlpha(family="hht", rho_inf=0.71), 0.0),
    "wbz": (ex.GeneralizedAlpha(family="wbz", rho_inf=0.37), 0.4),
    "free": (ex.GeneralizedAlpha(alpha_m=0.1, alpha_f=0.3, beta=0.2, gamma=0.6), 1.3),
}  # fmt: skip
WALKER = {"theta0": 0.202, "rate0": -0.201}

STUDIES: dict[str, Ask] = {
    **{
        f"stability {name}": lambda nudge, scheme=scheme, xi=xi: stability(
            scheme, nudge({"xi": xi})["xi"], np.array([0.01, 0.3, 0.9, 1.7, 2.4, 7.0, 30.0])
        )
        for name, (scheme, xi) in STABLE.items()
    },
    **{
        f"oscillation {name}": lambda nudge, scheme=scheme, xi=xi: oscillation(
            scheme, nudge({"xi": xi})["xi"], 0.43, t_end=9.0
        )
        for name, (scheme, xi) in STABLE.items() if name not in ("unstable",)
    },
    "stability table": lambda _: [
        dict(vars(row)) if hasattr(row, "__dict__") else row for row in ex.study.stability_table()
    ][:4],
    "leading terms": lambda _: {
        str(k): leading_terms.leading_terms(numbers, xi)
        for k, (numbers, xi) in enumerate([
            ((0, 0, 0.25, 0.5), 0), ((0, 0, 1 / 12, 0.5), 0), ((0.2, 0.3, 0.31, 0.6), 0.1),
            ((0, 0, 0, 0.5), 0.2), ((0, 0, 0.3, 0.6), 0.0),
        ])
    },
    "power law": lambda nudge: ex.study.power_law(
        [1, 2, 4, 8, 15], [*nudge({"a": 3.0, "b": 1.4, "c": 0.8, "d": 0.41, "e": 0.2}).values()]
    ),
    "modes building": lambda nudge: ex.study.modes(SYSTEMS["shear_building"], rho=nudge(values_of("shear_building", 0.3))),
    "modes three": lambda nudge: ex.study.modes(SYSTEMS["portal_frame"], 2, rho=nudge(values_of("portal_frame", 0.3))),
    "modes pendulum": lambda nudge: ex.study.modes(SYSTEMS["pendulum"], rho=nudge(values_of("pendulum", 0.2))),
    "modes start": lambda nudge: ex.study.modes(SYSTEMS["duffing"], about="start", rho=nudge(values_of("duffing", 0.2))),
    "modes place": lambda nudge: ex.study.modes(SYSTEMS["pendulum"], about=[3.1], rho=nudge(values_of("pendulum", 0.2))),
    "cycle simplest walker": cycle("simplest_walker", "heel strike", **WALKER),
    "cycle two steps": cycle("simplest_walker", "heel strike", count=2, gamma=0.0165, theta0=0.236657, rate0=-0.23234),
    "cycle rimless wheel": cycle("rimless_wheel", "next spoke", w0=1.47),
    "cycle compass gait": cycle("compass_gait", "heel strike", vs0=1.1),
    "cycle hopper": cycle("slip", "apex", y0=0.97, keep="m*(v_x**2 + v_y**2)/2 + m*g*y"),
    "cycle forced": cycle("impact_oscillator", None, period="2*pi/omega", omega=2.8, e=0.6, guess=[0.3, 0.4]),
    "cycle thermostat": cycle("thermostat", "too cold"),
    "cycle other side": cycle("thermostat", "too hot", a=0.33),
    "cycle ball": cycle("bouncing_ball", "floor", e=1.0, m=1.3, guess=[0, 3], keep="m*v_y**2/2 + m*g*y"),
    "cycle pendulum": cycle("duffing", None, period="2*pi/omega", f=0.2, c=0.3, guess=[0.1, 0.1]),
    "cycle none": cycle("rimless_wheel", "next spoke", w0=1.47, max_iter=1),
    "order switched": order("switched_oscillator", ex.FESD, ex.ThetaRK, r0=1.2),
    "order switched all": order("switched_oscillator"),
    "order ball": order("bouncing_ball", ex.MoreauJean, ex.EventDriven, y0=0.31),
    "order circuit": order("rlcd_circuit", ex.EulerMoreau, h=(2e-5, 1e-5), t_end=3e-4, reference=ex.EulerMoreau(h=2e-6)),
    "order smooth": order("sign_crossing", width=0.1),
    "precision pendulum": precision("pendulum", ex.Newmark.named("Fox-Goodwin"), ex.Newmark(beta=0.3, gamma=0.6), ex.EventDriven(), theta0=1.1),
    "precision wall": precision("pendulum_wall", ex.EventDriven(method=ex.Newmark()), ex.MoreauJean),
    "precision building": precision("shear_building", ex.Newmark.named("central difference"), h=(0.1, 0.02, 0.01)),
    "precision all": precision("duffing"),
    "precision yields": precision("bilinear_oscillator", ex.Newmark, ex.GeneralizedAlpha, reference=ex.Newmark(h=2e-3)),
    "ends switched": ends("switched_oscillator", "r0", [1.05, 1.21, 1.4], ex.FESD(h=0.2), ex.ThetaRK(h=0.2), t_end=1.2),
    "ends sign": ends("sign_crossing", "x0", [-0.9, -0.4, 0.1], ex.FESD(h=0.3), ex.EventDriven()),
    "ends": ends("two_genes", next(iter(SYSTEMS["two_genes"].parameters)), [0.5, 0.7]),
    "formulations": lambda nudge: ex.study.formulations(
        SYSTEMS["spherical_pendulum"], alphas=(1e5, 1e7), repeats=1, t_end=0.7,
        **nudge(values_of("spherical_pendulum", 0.2)),
    ),
    **{
        f"reference {name}": lambda nudge, name=name, t_end=t_end: ex.study.fesd_reference(
            ex.simulate(SYSTEMS[name], ex.FESD(h=0.25), t_end=t_end, rho=nudge(values_of(name, 0.1)))
        )
        for name, t_end in [("sign_crossing", 0.5), ("two_fold", 0.5)]
    },
    **{
        f"verify {name}": lambda nudge, name=name, t_end=t_end: ex.sensitivity(
            SYSTEMS[name], None, [*SYSTEMS[name].parameters][:2], {"w": f"{SYSTEMS[name].coordinates[0]}**2"},
            t_end=t_end, rho=nudge(values_of(name, 0.1)),
        ).verify()
        for name, t_end in [("bouncing_ball", 0.9), ("thermostat", 2.0), ("pendulum_wall", 1.0), ("sign_crossing", 0.6)]
    },
    **{
        f"balance {name} {scheme}": lambda nudge, name=name, scheme=scheme: ex.study.energy_balance(
            ex.simulate(SYSTEMS[name], scheme_of(name, scheme), t_end=0.3 * SYSTEMS[name].t_end,
                        rho=nudge(values_of(name, 0.1)))
        )
        for name, scheme in [
            ("duffing", "Newmark"), ("bouncing_ball", "MoreauJean"), ("stick_slip", "MoreauJean"),
            ("pendulum_wall", "EventDriven"), ("bilinear_oscillator", "GeneralizedAlpha"),
            ("spherical_pendulum", "EventDriven"), ("elastic_pendulum", "NonsmoothGeneralizedAlpha"),
        ]
    },
}  # fmt: skip


def searched(name: str, cost: dict, wrt: list[str], **given: object) -> Ask:
    """Return what minimises a cost."""
    start = {k: given.pop(k) for k in [*given] if k in SYSTEMS[name].parameters}
    return lambda nudge: ex.minimize(SYSTEMS[name], cost, wrt, rho=nudge(start), **given)


def fitted(name: str, observe: object, wrt: list[str], t_end: float, **given: object) -> Ask:
    """Return what fits parameters to a run that is known, and off by a wave."""

    def run(nudge: Nudge) -> object:
        system, rho = SYSTEMS[name], values_of(name, 0.15)
        t = np.linspace(0.02, t_end, 15)
        truth = ex.simulate(system, "EventDriven", t_end=t_end, t_eval=t, rho=nudge(rho))
        rows = np.interp(t, truth.t, truth[observe if isinstance(observe, str) else observe[0]])
        data = rows + 0.01 * np.sin(7.3 * np.arange(15))
        if not isinstance(observe, str):
            others = [np.interp(t, truth.t, truth[k]) for k in observe[1:]]
            data = np.column_stack([data, *others])
        return ex.fit(system, t, data, observe, wrt, **given)

    return run


def curve(name: str, cost: dict, wrt: str, values: list[float], t_end: float) -> Ask:
    def run(nudge: Nudge) -> object:
        question = ask(
            SYSTEMS[name], None, (wrt,), cost, t_end, None, None, nudge(values_of(name, 0.1))
        )
        return cost_curve(question, 0, np.array(values), 12)

    return run


def points(nudge: Nudge) -> object:
    rho = nudge(values_of("thrown_ball", 0.1))
    question = ask(SYSTEMS["thrown_ball"], None, ("e", "speed"), {"w": "x"}, 0.3, None, None, rho)
    return starting_points(Search.of(question, {"speed": (3, 9)}, None), 6, 3)


SEARCHES: dict[str, Ask] = {
    "minimize thrown": searched("thrown_ball", {"w": "(x - 2.3)**2"}, ["e", "speed"], t_end=0.9, max_iter=4),
    "minimize until": searched("thrown_ball", {"w": "-x"}, ["e", "speed"], until=("floor", 2), max_iter=3),
    "minimize room": searched("thermostat", {"w": "(t - 5)**2"}, ["a"], until="too cold"),
    "minimize ball": searched("bouncing_ball", {"w": "(y - 0.3)**2", "g": "0.1*v_y**2"}, ["m", "g"], t_end=0.6, e=0.63),
    "minimize starts": searched("bouncing_ball", {"w": "(y - 0.4)**2"}, ["e", "y0"], t_end=1.3, starts=3, max_iter=4),
    "minimize bounds": searched("pendulum", {"w": "theta**2"}, ["theta0"], bounds={"theta0": (0.4, 1.2)}, t_end=0.7),
    "fit ball": fitted("bouncing_ball", "y", ["e", "g"], 1.4),
    "fit two": fitted("elastic_pendulum", [*map(str, SYSTEMS["elastic_pendulum"].coordinates)], [*SYSTEMS["elastic_pendulum"].parameters][:2], 1.2, sigma=0.02),
    "fit robust": fitted("bouncing_ball", "y", ["e"], 1.4, sigma=0.005, loss="huber"),
    "fit soft": fitted("pendulum", "theta", ["theta0"], 1.4, sigma=0.005, loss="soft_l1"),
    "fit cauchy": fitted("pendulum", "theta", ["theta0"], 1.4, sigma=0.005, loss="cauchy"),
    "fit arctan": fitted("pendulum", "theta", ["theta0"], 1.4, sigma=0.005, loss="arctan"),
    "fit starts": fitted("bouncing_ball", "y", ["e"], 1.4, starts=3, bounds={"e": (0.3, 0.95)}),
    "curve": curve("bouncing_ball", {"w": "y"}, "e", [0.5, 0.6, 0.7, 0.8, 0.9], 1.1),
    "curve thrown": curve("thrown_ball", {"w": "x"}, "speed", [3, 4, 5, 6, 7], 0.8),
    "points": points,
}  # fmt: skip
