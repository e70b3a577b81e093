"""Contacts in a chain, as the solvers on a graph see them, and the same in dense form."""

from __future__ import annotations

import numpy as np
from plain import opened

from explorer.kernels.friction.graph_structures import Graph, graph_workspace

OPEN, STICK = 0, 2
FRICTION = [seed for seed in range(28) if seed % 4]  # of the cases below


class Case:
    """A chain of contacts, some with friction, some of them active; and the same in dense form."""

    def __init__(self, seed: int, soft: bool = True, m: int = 5, extra: int = 2, mu: float = 0.4):
        rng = self.rng = np.random.default_rng(seed)
        nc, n = m + extra, m + extra + 3
        rough = np.flatnonzero(rng.random(nc) < 0.7) if seed % 4 else np.arange(0)
        G = np.zeros((nc + len(rough), n))
        for r in range(len(G)):
            a = r if r < nc else rough[r - nc]
            G[r, a : a + 3] = rng.normal(size=3) + (np.eye(3)[1] if r < nc else 0)
        self.inverse = rng.uniform(0.5, 2, n)
        ptr = np.append(0, np.cumsum((G != 0).sum(axis=1)))
        normals = rng.permutation(nc)[:m]
        tangents = [nc + int(np.flatnonzero(rough == a)[0]) for a in normals if a in rough]
        act = np.append(normals, tangents).astype(int)
        place = np.array([m + tangents.index(nc + int(np.flatnonzero(rough == a)[0]))
                          if a in rough else -1 for a in normals])  # fmt: skip
        rows = len(act)
        work = self.work = opened(graph_workspace(n, nc, len(G), ptr[-1]))
        for one_of in work[4:8]:
            one_of[:] = 0.0
        self.soft = np.where(np.arange(rows) < m, rng.uniform(0.1, 1, rows), 0.0) * soft
        work.soft[:rows] = self.soft
        bare = (G * self.inverse) @ G.T
        self.D = bare[np.ix_(act, act)] + np.diag(self.soft)
        work.unit[:rows] = np.diag(self.D)
        for k in range(m):
            work.cross[k] = bare[act[k], act[place[k]]] if place[k] >= 0 else 0.0
        self.G, self.m, self.rows, self.place, self.act = G, m, rows, place, act
        q = rng.normal(size=rows)
        q[:m] -= 0.5
        mode = rng.choice([OPEN, STICK, 1, -1], nc)
        mode[normals[place < 0]] = rng.choice([OPEN, STICK], (place < 0).sum())
        self.graph = Graph(
            *(ptr, np.nonzero(G)[1], G[G != 0], self.inverse, act, m, rows, place),
            *(rng.uniform(0.5, 1.5, m) * mu, q, np.zeros(rows), mode, work.unit[:rows]),
            *(work.cross[:m], work.soft[:rows], work.u),
        )

    def impulses(self):
        """Draw impulses that keep to the law, and set what each contact does."""
        g, rng = self.graph, self.rng
        for k in range(self.m):
            g.P[k] = rng.uniform(0.5, 1) * (g.mode[g.act[k]] != OPEN)
            if (t := self.place[k]) >= 0:
                what, bound = g.mode[g.act[k]], g.mu[k] * g.P[k]
                g.P[t] = rng.uniform(-0.9, 0.9) * bound if what == STICK else -what * bound

    def w(self, P=None):
        return self.D @ (self.graph.P if P is None else P) + self.graph.q

    def off(self, P=None):
        """Return the natural residuals of all rows."""
        g, unit = self.graph, np.diag(self.D)
        P = g.P if P is None else P
        w, off = self.w(P), np.zeros(self.rows)
        off[: self.m] = np.minimum(unit[: self.m] * P[: self.m], w[: self.m])
        for k, t in enumerate(self.place):
            if t >= 0:
                bound = g.mu[k] * unit[t] * P[k]
                off[t] = unit[t] * P[t] - np.clip(unit[t] * P[t] - w[t], -bound, bound)
        return np.abs(off)

    def columns(self, chosen):
        """Return D over chosen rows; what slides drags the column of its tangent along."""
        g = self.graph
        A = self.D[np.ix_(chosen, chosen)].copy()
        for c, j in enumerate(chosen):
            if j < self.m and self.place[j] >= 0 and (s := g.mode[g.act[j]]) != STICK:
                A[:, c] -= s * g.mu[j] * self.D[chosen, self.place[j]]
        return A

    def chosen(self):
        """Return the rows that are unknowns of the set."""
        found = []
        for k in range(self.m):
            what = self.graph.mode[self.act[k]]
            found += [k] if what != OPEN else []
            found += [self.place[k]] if what == STICK and self.place[k] >= 0 else []
        return found


def dense(A, n, w):
    """Return a matrix whose band stands by rows."""
    return np.array([[A[i, j - i + w] if abs(i - j) <= w else 0.0 for j in range(n)]
                     for i in range(n)]).reshape(n, n)  # fmt: skip
