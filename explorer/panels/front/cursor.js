// The time cursor over the plots, on its own canvas: playing costs no plotly call and no layout.

import { fit, lastIndex, make } from "./dom.js";
import { onGround } from "./theme.js";

export class Cursor {
  constructor(holder) {
    this.canvas = make("canvas", { class: "nsx-cursor", "aria-hidden": "true" });
    this.pen = this.canvas.getContext("2d");
    holder.append(this.canvas);
    this.marks = [];
  }

  // After each draw, zoom or resize: which axes, which traces, where.
  place(graph, layout, data, theme) {
    const full = graph._fullLayout;
    if (!full) return;
    this.ratio = fit(this.canvas, full.width, full.height);
    this.theme = theme;
    const axis = (id) => full[`${id[0]}axis${id.slice(1)}`];
    this.marks = [];
    for (const [x, y] of layout.meta?.time_axes ?? []) {
      if (axis(x) && axis(y)) this.marks.push({ x: axis(x), y: axis(y) });
    }
    for (const trace of data) {
      const t = trace.meta?.t;
      if (!t?.length || trace.visible === false || trace.visible === "legendonly") continue;
      const x = axis(trace.xaxis ?? "x");
      const y = axis(trace.yaxis ?? "y");
      const colour = onGround(trace.line?.color ?? trace.marker?.color, theme) ?? theme.text;
      if (x && y) this.marks.push({ x, y, t, trace, colour });
    }
    this.move(this.time);
  }

  move(time) {
    this.time = time;
    if (time === undefined || !this.theme) return;
    const { pen, canvas, theme, ratio } = this;
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, canvas.width, canvas.height);
    for (const { x, y, t, trace, colour } of this.marks) {
      pen.beginPath();
      if (trace) {
        if (time < t[0]) continue; // of a portrait of the last turns
        const i = lastIndex(t, time);
        const between = t[i + 1] > t[i] && trace.mode !== "markers"; // nothing is between dots
        const part = between ? (time - t[i]) / (t[i + 1] - t[i]) : 0;
        const at = (values) =>
          part && Number.isFinite(values[i + 1])
            ? values[i] + part * (values[i + 1] - values[i])
            : values[i];
        const [across, along] = [pixel(x, at(trace.x)), pixel(y, at(trace.y))];
        if (across === null || along === null) continue;
        pen.arc(across, along, 4.5, 0, 2 * Math.PI);
        pen.fillStyle = colour;
        pen.fill();
        stroke(pen, theme.paper, 1.5, []);
      } else {
        const across = pixel(x, time);
        if (across === null) continue;
        pen.moveTo(across, y._offset);
        pen.lineTo(across, y._offset + y._length);
        stroke(pen, theme.muted, 1, [3, 3]);
      }
    }
  }
}

function stroke(pen, colour, width, dash) {
  pen.strokeStyle = colour;
  pen.lineWidth = width;
  pen.setLineDash(dash);
  pen.stroke();
}

// Where a value lies on the page, null outside the axis.
function pixel(axis, value) {
  const along = axis.l2p(axis.d2l(value));
  const tolerance = 0.5;
  if (!(along >= -tolerance && along <= axis._length + tolerance)) return null; // also NaN
  return axis._offset + along;
}
