"""What becomes of a doubtful derivative: NaN where it does not exist, both where sides differ."""

from __future__ import annotations

import dataclasses

import numpy as np

from explorer.derivatives.direct import Sensitivity
from explorer.derivatives.doubts import Doubt
from explorer.derivatives.one_sided import OneSided, side
from explorer.errors import BadValue
from explorer.results.solution import Solution

__all__ = ["forget", "judged"]


def forget(run: Solution, doubts: tuple[Doubt, ...]) -> None:
    """Make NaN of the columns of `run` that are not known, behind each doubt."""
    march, n_x = run.march, run.march.flow.n_x
    block = n_x + 1
    for doubt in doubts:
        k, columns = doubt.event, doubt.columns
        if doubt.alone:
            march.part("dtau")[k, columns] = np.nan
            continue
        wide = np.repeat(np.concatenate([[False], columns]), block)
        behind = march.steps.t >= doubt.t
        march.steps.y[np.ix_(behind, wide)] = np.nan
        march.y[wide] = np.nan
        for name, first, many in (("s_minus", k + 1, block), ("s_plus", k, block), ("dtau", k, 1)):
            march.part(name)[first:, np.repeat(columns, many)] = np.nan
    run.forget_rows()


def judged(found: Sensitivity, both: bool) -> Sensitivity:
    """Return a sensitivity whose doubtful columns are NaN, with the derivatives to both sides.

    Raises
    ------
    BadValue
        If some are other ones to either side, and `both` are not wanted.
    """
    question, doubts = found.question, found.doubts
    if not doubts:
        return found
    run = found.solution
    last = question.last_place(run)
    columns = np.zeros(len(question.wrt), bool)
    for doubt in doubts:
        if doubt.kind == "directional" and not both and (last is None or doubt.event <= last):
            raise BadValue(
                f"{doubt.sentence} Use directional='both' to get both, remove the parameter from "
                "wrt, or start beside this point."
            )
        if doubt.event == last or (not doubt.alone and (last is None or doubt.event < last)):
            columns |= doubt.columns
    gradient = np.where(columns, np.nan, found.cost_gradient)
    split = np.any([d.columns for d in doubts if d.kind == "directional"], axis=0)
    sides: list[OneSided | None] = [None, None]
    if split.any():
        for k, sign in enumerate((-1, 1)):
            one = side(question, found.cost, split, sign)
            own = np.where(split, one.cost_gradient, gradient)
            sides[k] = dataclasses.replace(one, cost_gradient=own)
    forget(run, doubts)
    return found.judged(doubts, gradient, sides)
