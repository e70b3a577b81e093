"""Phase portrait: each velocity against its coordinate, open at the jumps."""

from __future__ import annotations

from explorer.solution import Solution
from explorer.views.decimate import Rows, rows
from explorer.views.picture import COLOURS, GREY, Picture, Plot, compose, extent, label, view
from explorer.views.trajectory import curve, unit_of

__all__ = ["phase", "phase_plot"]


def phase_plot(
    solution: Solution, points: Rows, pinned: tuple[Solution, Rows] | None = None
) -> Plot:
    """Velocity against coordinate; at most six coordinates."""
    names = solution.system.coordinates[: len(COLOURS)]
    traces, xs, ys = [], [], []
    for run, which, ghost in ((pinned, None, True), ((solution, points), points, False)):
        if run is None:
            continue
        q, v = run[1].q, run[1].v
        for j, name in enumerate(names):
            x_text, y_text = label(name), label(name, dot=True)
            hover = f"{x_text} = %{{x:.4g}}<br>{y_text} = %{{y:.4g}}<extra></extra>"
            traces.append(
                curve(
                    q[j], v[j], GREY if ghost else COLOURS[j], name=label(name),
                    line={"width": 1.0, "dash": "dot"} if ghost else {"width": 1.4},
                    **({} if len(solution.system.coordinates) > 6 else {"hovertemplate": hover}),
                    **({} if which is None else {"meta": {"t": which.t}}),
                )
            )  # fmt: skip
            xs.append(q[j])
            ys.append(v[j])
    single = len(names) == 1
    x_title = label(names[0]) if single else "q"
    y_title = label(names[0], dot=True) if single else label("q", dot=True)
    return Plot(
        traces, x_title + unit_of(solution), y_title + unit_of(solution, True),
        extent(*xs), extent(*ys), time=False,
    )  # fmt: skip


@view
def phase(solution: Solution) -> Picture:
    """Draw the phase portrait."""
    return compose([[phase_plot(solution, rows(solution))]], [1])
