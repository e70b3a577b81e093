// New numbers for curves plotly has drawn, without a plotly call: on a canvas over the axes, while
// plotly's own curves are hidden. A picture costs 2 ms so; 25 ms through Plotly.animate, 57 ms
// through Plotly.react (5 subplots, 8 curves, 600 points), and new numbers in plotly's own SVG
// 15 ms of layout and painting. Only for what is surely the same drawing: plain lines and plain
// markers on linear or logarithmic axes whose ranges did not move. Anything else is refused, and
// plotly catches up when the slider rests (Picture.catchUp), for hovering and zooming.
// Knows four things of plotly's inside: the groups `.scatterlayer > .trace` with their
// `__data__`, the axes' `_length` and `_offset`, and `_fullData`; where they are missing it refuses.
// And the texts of the legend, `.traces .legendtext`.

import { fit, plainLabel, setText } from "./dom.js";
import { clamp } from "./scale.js";

export class Strokes {
  constructor(canvas) {
    this.canvas = canvas;
    this.pen = canvas.getContext("2d");
    this.clear();
  }

  // After a draw by plotly: read how each trace looks. True if all can be redrawn here.
  learn(graph, data) {
    this.clear();
    this.marks = null;
    this.graph = graph;
    this.filled = data.map(({ x }) => Boolean(x?.length));
    const groups = new Map();
    for (const group of graph.querySelectorAll(".scatterlayer > .trace")) {
      const index = group.__data__?.[0]?.trace?.index;
      if (index !== undefined) groups.set(index, group);
    }
    this.legend = new Map();
    for (const entry of graph.querySelectorAll("g.traces")) {
      this.legend.set(entry.__data__?.[0]?.trace?.index, entry.querySelector(".legendtext"));
    }
    const marks = [];
    for (const [i, trace] of data.entries()) {
      const full = graph._fullData?.[i];
      if (!full || !isPlainStroke(trace)) return false;
      const mark = { full, own: graph.data[i], hidden: full.visible !== true };
      if (!mark.hidden) {
        const group = groups.get(i);
        if (!group) return false;
        const line = full.mode.includes("lines") && group.querySelector(".lines .js-line");
        const point = full.mode.includes("markers") && group.querySelector(".points > path");
        if (full.mode.includes("lines") && !line) return false;
        if (full.mode.includes("markers") && !point) return false;
        const area = trace.fill === "toself" && group.querySelector(".fills path.js-fill");
        if (trace.fill === "toself" && !area) return false;
        const share = Number(getComputedStyle(group).opacity); // of the whole trace
        mark.area = area && look(area, share);
        mark.line = line && look(line, share);
        mark.point = point && { ...look(point, share), shape: new Path2D(point.getAttribute("d")) };
        mark.x = axisOf(graph._fullLayout, full.xaxis);
        mark.y = axisOf(graph._fullLayout, full.yaxis);
        if (!mark.x || !mark.y) return false;
      }
      marks.push(mark);
    }
    this.marks = marks;
    return true;
  }

  // A trace was empty and is not, or the reverse: its group comes or goes, react is needed.
  refused(data) {
    return data.some(({ x }, i) => Boolean(x?.length) !== this.filled?.[i]);
  }

  can(data) {
    return this.marks?.length === data.length && !this.refused(data);
  }

  // False, and nothing touched, if this needs plotly.
  draw(data) {
    if (!this.can(data)) return false;
    const { canvas, pen, graph } = this;
    const { width, height } = graph._fullLayout;
    const ratio = fit(canvas, width, height);
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    data.forEach((trace, i) => {
      const mark = this.marks[i];
      const { name } = trace;
      if (mark.full.name !== name && this.legend.get(i)) rename(this.legend.get(i), name);
      for (const holder of [mark.own, mark.full])
        Object.assign(holder, { x: trace.x, y: trace.y, name });
      if (mark.hidden) return;
      const [x, y] = [counted(mark.x, trace.x), counted(mark.y, trace.y)];
      pen.save();
      pen.beginPath();
      pen.rect(mark.x._offset, mark.y._offset, mark.x._length, mark.y._length);
      if (mark.full.cliponaxis !== false) pen.clip();
      pen.translate(mark.x._offset, mark.y._offset);
      if (mark.line || mark.area) linePath(pen, x, y, mark.x, mark.y);
      if (mark.area) {
        pen.fillStyle = mark.area.fill;
        pen.globalAlpha = mark.area.fillAlpha;
        pen.fill("evenodd");
      }
      if (mark.line && mark.line.width > 0) {
        wear(pen, mark.line);
        pen.stroke();
      }
      if (mark.point) drawPoints(pen, mark.point, x, y, mark.x, mark.y);
      pen.restore();
    });
    if (!this.live) {
      this.live = true;
      graph.classList.add("nsx-live");
      canvas.hidden = false;
    }
    return true;
  }

  // Plotly's own curves are the newest again.
  clear() {
    this.canvas.hidden = true;
    this.graph?.classList.remove("nsx-live");
    this.live = false;
  }
}

// `animate` without redraw moves lines and markers only.
export function isPlainLine(trace) {
  return ["scatter", undefined].includes(trace.type) && !trace.error_x && !trace.error_y;
}

function isPlainStroke(trace) {
  const flat = (value) => typeof value !== "object" || value === null;
  return (
    isPlainLine(trace) &&
    ["lines", "markers", "lines+markers"].includes(trace.mode) &&
    ["none", "toself"].includes(trace.fill ?? "none") &&
    !trace.stackgroup &&
    !trace.selectedpoints &&
    (trace.line?.shape ?? "linear") === "linear" &&
    !trace.connectgaps &&
    Object.values(trace.marker ?? {}).every(flat) &&
    !trace.customdata &&
    !trace.ids
  );
}

function axisOf(layout, id) {
  const axis = layout[`${id[0]}axis${id.slice(1)}`];
  const known = ["linear", "log"].includes(axis?.type);
  return known && axis._length > 0 && !axis.rangebreaks?.length ? axis : null;
}

// Values as an axis counts them: the range of a logarithmic one holds exponents.
// Of a name in several lines plotly has made parts.
function rename(entry, name) {
  const [parts, lines] = [name.split("<br>"), entry.querySelectorAll(".line")];
  if (lines.length !== parts.length) setText(entry, plainLabel(name));
  else for (const [k, line] of [...lines].entries()) setText(line, plainLabel(parts[k]));
}

const counted = (axis, values) => (axis.type === "log" ? values.map(Math.log10) : values);

// Colours, widths and dashes as the page shows them: theme and style sheets included.
function look(node, share) {
  const style = getComputedStyle(node);
  const number = (text, otherwise) => (text === "" ? otherwise : parseFloat(text));
  return {
    stroke: style.stroke,
    fill: style.fill,
    strokeAlpha: share * number(style.strokeOpacity, 1) * number(style.opacity, 1),
    fillAlpha: share * number(style.fillOpacity, 1) * number(style.opacity, 1),
    width: number(style.strokeWidth, 1),
    dash:
      style.strokeDasharray === "none" ? [] : style.strokeDasharray.split(/[\s,]+/).map(parseFloat),
    join: style.strokeLinejoin || "miter",
    miter: number(style.strokeMiterlimit, 4),
  };
}

function wear(pen, look) {
  pen.globalAlpha = look.strokeAlpha;
  pen.strokeStyle = look.stroke;
  pen.lineWidth = look.width;
  pen.lineJoin = look.join;
  pen.miterLimit = look.miter;
  pen.setLineDash(look.dash);
}

// Pixels = at + per * value, read from the range at each draw: it follows a zoom by hand.
function mapping(axis) {
  const [from, to] = axis.range.map(Number);
  const per = axis._length / (to - from);
  return axis._id[0] === "x" ? [-from * per, per] : [to * per, -per];
}

const within = (pixels) => clamp(pixels, -20000, 20000);

function linePath(pen, xs, ys, xaxis, yaxis) {
  const [x0, px] = mapping(xaxis);
  const [y0, py] = mapping(yaxis);
  let lifted = true;
  pen.beginPath();
  for (let i = 0; i < xs.length; i++) {
    const x = within(x0 + px * xs[i]);
    const y = within(y0 + py * ys[i]);
    if (Number.isNaN(x) || Number.isNaN(y))
      lifted = true; // a NaN lifts the pen
    else if (lifted) {
      pen.moveTo(x, y);
      lifted = false;
    } else pen.lineTo(x, y);
  }
}

function drawPoints(pen, point, xs, ys, xaxis, yaxis) {
  const [x0, px] = mapping(xaxis);
  const [y0, py] = mapping(yaxis);
  wear(pen, point);
  const all = new Path2D();
  for (let i = 0; i < xs.length; i++) {
    const [x, y] = [within(x0 + px * xs[i]), within(y0 + py * ys[i])];
    if (!Number.isNaN(x) && !Number.isNaN(y)) all.addPath(point.shape, { e: x, f: y });
  }
  if (point.fill !== "none") {
    pen.fillStyle = point.fill;
    pen.globalAlpha = point.fillAlpha;
    pen.fill(all);
  }
  pen.globalAlpha = point.strokeAlpha;
  if (point.stroke !== "none" && point.width > 0) pen.stroke(all);
}
