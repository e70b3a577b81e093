"""A bouncing ball in closed form behind the panel: what the browser's tests talk to."""

from __future__ import annotations

import numpy as np

BLUE, RED, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#999999"


def slider(key, label, text, unit, low, high, value, **more):
    spec = {"key": key, "kind": "slider", "label": label, "text": text, "unit": unit}
    spec |= {"low": low, "high": high, "log": False, "integer": False}
    return spec | {"value": value, "default": value} | more


CONTROLS = {
    "Ball": [
        slider("h", "<i>h</i>", "height of the drop", "m", 0.2, 2.0, 1.0),
        slider("v", "<i>v</i><sub>0</sub>", "velocity at the start", "m/s", -5, 5, 0.0),
        slider("e", "<i>e</i>", "restitution", "", 0.0, 1.0, 0.7),
        slider("g", "<i>g</i>", "gravity", "m/s²", 1.0, 20.0, 9.81),
    ],
    "Numbers": [
        slider("dt", "step size", "of the fake scheme", "s", 1e-5, 1e-1, 1e-3, log=True),
        slider("n", "impacts shown", "at most", "", 1, 60, 20, integer=True),
        {"key": "T", "kind": "number", "label": "horizon", "text": "end of the run", "unit": "s",
         "low": 0.1, "high": 10, "log": False, "integer": False, "value": 2.5, "default": 2.5},
        {"key": "scheme", "kind": "choice", "label": "scheme", "text": "", "unit": "",
         "value": "exact", "default": "exact",
         "choices": [["exact", "Closed form"], ["moreau", "Moreau–Jean"]]},
        {"key": "force", "kind": "toggle", "label": "show impulses", "text": "", "unit": "",
         "value": True, "default": True},
    ],
}  # fmt: skip


def bounce(p, n=600):
    """Times, positions, velocities and impacts; pre- and post-impact points share their time."""
    h, v, e, g, end = p["h"], p["v"], p["e"], p["g"], p["T"]
    t, q, u, hits = [], [], [], []
    start, height, up = 0.0, h, v
    while start < end and len(hits) <= p["n"]:
        flight = (up + np.sqrt(up * up + 2 * g * height)) / g
        stop = min(start + flight, end)
        s = np.linspace(0, stop - start, max(3, int(n * (stop - start) / end)))
        t.append(start + s)
        q.append(np.maximum(height + up * s - g * s * s / 2, 0))
        u.append(up - g * s)
        if start + flight > end or flight < 1e-3:
            break
        before = up - g * flight
        hits.append((stop, before, -e * before, (1 + e) * -before))
        start, height, up = stop, 0.0, -e * before
    return np.concatenate(t), np.concatenate(q), np.concatenate(u), hits


class Ball:
    """Answers as a session would: keeps values, an undo stack and a pinned run."""

    def __init__(self):
        self.specs = {c["key"]: c for group in CONTROLS.values() for c in group}
        self.values = {key: spec["default"] for key, spec in self.specs.items()}
        self.past, self.future, self.pinned = [], [], None
        self.moving = False
        self.pulls = []

    def schema(self):
        groups = [
            {"name": name, "title": name, "open": True,
             "controls": [{**c, "value": self.values[c["key"]]} for c in controls]}
            for name, controls in CONTROLS.items()
        ]  # fmt: skip
        names = [("export_png", "Picture (PNG)", "Files"), ("export_csv", "Data (CSV)", "Files"),
                 ("copy_code", "Copy Python code", "Share"), ("copy_link", "Copy link", "Share"),
                 ("load_state", "Load state…", "Share")]  # fmt: skip
        return {
            "title": "Bouncing ball", "subtitle": "q″ = −g, impact with restitution",
            "groups": groups,
            "actions": [{"name": n, "label": text, "title": text, "group": g}
                        for n, text, g in names],
            "presets": [{"name": "super", "label": "Super ball", "text": "e = 0.95"},
                        {"name": "clay", "label": "Clay", "text": "e = 0"}],
            "undo": bool(self.past), "redo": bool(self.future), "pinned": self.pinned,
        }  # fmt: skip

    def pull(self, set, drag):
        self.pulls.append((set, drag))
        errors = {}
        if "boom" in set.values():
            raise ValueError("The solver met a singular matrix.\nsecond line")
        before = dict(self.values)
        for key, value in set.items():
            if self.specs[key]["kind"] in ("slider", "number") and isinstance(value, str):
                errors[key] = f"“{value}” is not a number."
            elif key == "e" and not 0 <= value <= 1:
                errors[key] = "Restitution lies between 0 and 1."
            else:
                self.values[key] = value
        if not self.moving and before != self.values:
            self.past.append(before)
            self.future.clear()
        self.moving = drag
        if errors:
            typed = {key: set[key] for key in errors}  # stays, as a session's does
            return {**self.state(), "values": self.values | typed, "errors": errors,
                    "status": {"level": "error", "text": next(iter(errors.values()))}}  # fmt: skip
        return self.frame()

    def do(self, action, value):
        if action in ("undo", "redo"):
            source, target = (self.past, self.future)[:: 1 if action == "undo" else -1]
            if source:
                target.append(self.values)
                self.values = source.pop()
        elif action == "reset":
            self.past.append(self.values)
            self.values = {key: spec["default"] for key, spec in self.specs.items()}
        elif action == "preset":
            self.values = {**self.values, "e": {"super": 0.95, "clay": 0.0}[value]}
        elif action in ("pin", "unpin"):
            self.pinned = "e = 0.7" if action == "pin" else None
            self.ghost = bounce(self.values)
        elif action == "export_csv":
            return [{"type": "file", "name": "ball.csv", "mime": "text/csv", "data": b"t,q\n0,1\n"}]
        elif action == "copy_code":
            return [{"type": "clipboard", "text": "import explorer", "said": "Code copied"}]
        return [{"type": "schema", **self.schema()}, {"type": "frame", **self.frame()}]

    def state(self):
        return {"values": dict(self.values), "errors": {}, "undo": bool(self.past),
                "redo": bool(self.future), "pinned": self.pinned}  # fmt: skip

    def frame(self):
        p = self.values
        t, q, u, hits = bounce(p)
        energy = p["g"] * q + u * u / 2

        def line(x, y, name, axes, colour, **more):
            head = {"type": "scatter", "mode": "lines", "name": name, "showlegend": False}
            head |= {"xaxis": "x" + axes, "yaxis": "y" + axes, "hoverinfo": "x+y"}
            return head | {"x": x, "y": y, "line": {"color": colour, "width": 1.8}} | more

        dot = {"meta": {"t": t}}
        jump = np.array([[h[0], h[0], np.nan] for h in hits]).ravel()
        steps = np.array([[0, h[3], np.nan] for h in hits]).ravel()
        data = [
            line(t, q, "q", "", BLUE, **dot), line(t, u, "v", "2", RED, **dot),
            line(t, energy, "E", "3", GREEN, opacity=0.35, **dot), line(q, u, "phase", "4", BLUE, **dot),
            line(jump, steps, "impulse", "5", "#000000", visible=bool(p["force"])),
        ]  # fmt: skip
        if self.pinned:
            gt, gq, gu, _ = self.ghost
            pale = {"opacity": 0.5}
            data[:0] = [line(gt, gq, "pinned", "", GREY, **pale),
                        line(gq, gu, "pinned", "4", GREY, **pale)]  # fmt: skip
        frames = np.linspace(0, p["T"], 240)
        height = np.interp(frames, t, q)
        r = 0.12
        xy, still = (height + r)[:, None], [-0.8, 0, 0.8, 0, 0, height[0] + r]
        mechanism = {
            "t": frames, "xy": xy, "still": still, "moving": [5], "box": [-0.9, 0.9, -0.12, 2.3], "unit": "m",
            "items": [{"kind": "line", "role": "ground", "n": 2, "closed": False, "radius": 0},
                      {"kind": "circle", "role": "body", "n": 1, "closed": False, "radius": r}],
        }  # fmt: skip
        if self.pinned:
            other = np.interp(frames, self.ghost[0], self.ghost[1])[:, None] + r
            mechanism["ghosts"] = [{"t": frames, "xy": other, "still": still, "moving": [5],
                                    "colour": GREY, "dash": "dot"}]  # fmt: skip
        rows = [[i + 1, *map(float, hit)] for i, hit in enumerate(hits)]
        return {
            **self.state(),
            "status": {"level": "ok", "text": f"{len(hits)} impacts",
                       "detail": "closed form · 0.4 ms"},
            "figure": {"data": data, "layout": layout(p)},
            "mechanism": mechanism,
            "table": {"columns": ["#", "<i>t</i> (s)", "<i>v</i>⁻ (m/s)", "<i>v</i>⁺", "impulse"],
                      "rows": rows, "time_column": 1, "note": ""},
        }  # fmt: skip


def layout(p):
    top = np.ceil(np.sqrt(p["v"] ** 2 + 2 * p["g"] * p["h"]) / 2) * 2
    names = {"": "q (m)", "2": "v (m/s)", "3": "E (J/kg)", "4": "v (m/s)", "5": "p (N s/kg)"}
    spots = {"": ([0, 0.44], [0.72, 1]), "2": ([0, 0.44], [0.37, 0.64]),
             "3": ([0, 0.44], [0, 0.28]), "4": ([0.58, 1], [0.46, 1]),
             "5": ([0.58, 1], [0, 0.28])}  # fmt: skip
    tall = np.ceil((p["h"] + p["v"] ** 2 / 2 / p["g"]) * 2) / 2
    out = {"margin": {"l": 46, "r": 12, "t": 14, "b": 36}, "showlegend": False}
    out["meta"] = {"time_axes": [["x", "y"], ["x2", "y2"], ["x3", "y3"], ["x5", "y5"]]}
    ys = {"": [-0.05 * tall, tall * 1.05], "2": [-top * 1.1, top * 1.1], "3": [0, top**2 / 2],
          "4": [-top * 1.1, top * 1.1], "5": [0, top * 2]}  # fmt: skip
    for a, (x, y) in spots.items():
        span = [-0.05 * tall, tall * 1.05] if a == "4" else [0, p["T"]]
        title = {"4": "q (m)"}.get(a, "t (s)" if a in "35" else "")
        out["xaxis" + a] = {"domain": x, "anchor": "y" + a, "range": span, "zeroline": False,
                            "title": {"text": title, "standoff": 6}, "nticks": 6}  # fmt: skip
        out["yaxis" + a] = {"domain": y, "anchor": "x" + a, "range": ys[a], "zeroline": True,
                            "title": {"text": names[a], "standoff": 4}, "nticks": 5}  # fmt: skip
    return out
