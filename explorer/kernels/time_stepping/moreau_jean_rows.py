"""Rows of G in a Moreau-Jean step: which take part, and G as the state moves."""

import numpy as np

from explorer.codes import NOT_FINITE, SUCCESS
from explorer.kernels.model.inputs import NEAR, ROUND, evaluate
from explorer.kernels.model.structures import GAP
from explorer.kernels.references import kernel
from explorer.kernels.time_stepping.moreau_jean_structures import Problem, Record, Step, Workspace

__all__ = ["choose", "look", "retake", "take", "without_rebound"]


@kernel(inline=True)
def choose(problem: Problem, record: Record, work: Workspace, i: int, h: float) -> tuple[int, int]:
    """List the active set, A = {a : gap_a + forecast h gap'_a <= 0 (to round-off)}.

    Compliant contacts are always in it. Return the numbers of contacts and of rows: behind the
    normals of all contacts stand their tangents.
    """
    active, state, theta, nc = work.active, work.state, problem.method.theta, problem.sizes.contacts
    act, place, law, P = active.act, active.place, active.law, active.P
    gap, gap_dot, doing, p = record.gap, record.gap_dot, record.active, record.p
    e, compliance = problem.contacts.e, problem.contacts.compliance.diagonal
    tangents, ahead = problem.contacts.tangents, problem.method.forecast * h
    m, touch = 0, ROUND * state[0].far + NEAR * state[0].reach
    for a in range(nc):
        soft = compliance[a] > 0.0
        if soft or gap[i, a] + ahead * gap_dot[i, a] <= touch:
            doing[i + 1, a] = 0 if soft else 1
            act[m], place[m], law[m] = a, -1, e[a] * gap_dot[i, a]
            if soft:
                law[m] = (gap[i, a] / h + (1.0 - theta) * gap_dot[i, a]) / theta
            m += 1
    held = m
    if problem.sizes.rows > nc:
        for j in range(m):
            if tangents[act[j]] < tangents[act[j] + 1]:
                place[j] = held
            for a in range(tangents[act[j]], tangents[act[j] + 1]):
                act[held] = a
                law[held] = e[a] * gap_dot[i, a]
                held += 1
    for j in range(held):
        P[j] = p[i, act[j]]
    return m, held


@kernel(inline=True)
def take(problem: Problem, work: Workspace, step: Step) -> None:
    """Take G and its velocities at v = 0 from where the input vector stands, if they change."""
    bundles, outputs, options = problem.bundles, problem.outputs, problem.options
    val, out, act, rate = problem.contacts.G.val, bundles.out, work.active.act, work.active.rate
    bias, rates, held = work.iterate.bias, outputs.rates, step.held
    some = step.m > 0 or bias.size > 0
    if some and (options.rheonomic or options.turns):
        evaluate(bundles, GAP)
        for k in range(val.size if options.turns else 0):
            val[k] = out[outputs.G + k]
        for j in range(held):
            rate[j] = out[rates + act[j]]
        for c in range(bias.size):
            bias[c] = out[rates + problem.sizes.rows + c]
    else:
        for j in range(held):
            rate[j] = 0.0


@kernel(inner=True)
def retake(problem: Problem, work: Workspace, held: int) -> float:
    """Take G and gap_t from the outputs of the gaps; return what that changes, relative.

    The laws of the contacts and the constraints hold with what was there before: by how much the
    velocities G v + gap_t of their rows change is what they are broken by now, beside the largest
    term of these velocities.
    """
    ptr, col, val = problem.contacts.G.ptr, problem.contacts.G.col, problem.contacts.G.val
    out, at_G, rows = problem.bundles.out, problem.outputs.G, problem.sizes.rows
    act, rate, v, bias = work.active.act, work.active.rate, work.iterate.v, work.iterate.bias
    nc = problem.sizes.contacts
    off, size = 0.0, 0.0
    for i in range(held + bias.size):
        row = act[i] if i < held else rows + i - held
        turned = out[nc + row] - (rate[i] if i < held else bias[i - held])
        for k in range(ptr[row], ptr[row + 1]):
            turned += (out[at_G + k] - val[k]) * v[col[k]]
            size = max(size, abs(out[at_G + k] * v[col[k]]))
        off, size = max(off, abs(turned)), max(size, abs(out[nc + row]))
        if i < held:
            rate[i] = out[nc + row]
        else:
            bias[i - held] = out[nc + row]
    for k in range(val.size):
        val[k] = out[at_G + k]
    return off / size if size > 0.0 else 0.0


@kernel(inner=True)
def without_rebound(problem: Problem, work: Workspace, held: int) -> float:
    """Take back what rigid contacts are to give back of their approach; return the most of it."""
    act, law, P = work.active.act, work.active.law, work.active.P
    compliance, most = problem.contacts.compliance.diagonal, 0.0
    for j in range(held):
        P[j] = 0.0
        if act[j] >= compliance.size or compliance[act[j]] == 0.0:
            most = max(most, abs(law[j]))
            law[j] = 0.0
    return most


@kernel(inline=True)
def look(problem: Problem, record: Record, work: Workspace, row: int, h: float) -> int:
    """Record gaps, velocities of the rows, phi and partners at the input vector; take mu.

    h : the step that ends there, in s
    """
    sizes, outputs, options, state = problem.sizes, problem.outputs, problem.options, work.state
    nc, rows, tangents = sizes.contacts, sizes.rows, sizes.rows - sizes.contacts
    ptr, col, val = problem.contacts.G.ptr, problem.contacts.G.col, problem.contacts.G.val
    gap, gap_dot, phi, partner = record.gap, record.gap_dot, record.phi, record.partner
    q, v, out, partners = record.q, record.v, problem.bundles.out, problem.contacts.partners
    kinetic, static = work.active.kinetic, work.active.static
    far, reach, finite = state[0].far, state[0].reach, True
    if nc + sizes.constraints == 0:
        return SUCCESS
    evaluate(problem.bundles, GAP)
    for a in range(rows):
        total = out[nc + a]
        for k in range(ptr[a], ptr[a + 1]):
            if options.turns:
                val[k] = out[outputs.G + k]
            total += val[k] * v[row, col[k]]
            if a < nc:
                far = max(far, abs(val[k] * q[row, col[k]]))
        gap_dot[row, a] = total
        if a < nc:
            gap[row, a] = out[a]
            reach = max(reach, h * abs(total))
            total += out[a]
        finite = finite and np.isfinite(total)
    state[0].far, state[0].reach = far, reach
    for k in range(tangents):
        kinetic[k], static[k] = out[outputs.mu + k], out[outputs.mu_s + k]
    for c in range(sizes.constraints):
        phi[row, c] = out[outputs.phi + c]
    for a in range(partners.size):
        partner[row, a] = partners[a]
    return SUCCESS if finite else NOT_FINITE  # a comparison with NaN would let all through
