// New numbers into the curves plotly has drawn, without a plotly call: a picture costs 2-4 ms so,
// 25 ms through Plotly.animate and 57 ms through Plotly.react (5 subplots, 8 curves, 600 points).
// Only for what is surely the same drawing: plain lines and plain markers on linear axes whose
// ranges did not move. Anything else is refused, and hovering catches up when the slider rests
// (Picture.catchUp). Knows three things of plotly's inside: the groups `.scatterlayer > .trace`
// with their `__data__`, the axes' `_length`, and `_fullData`; where they are missing it refuses.

class Strokes {
  // After a draw by plotly: find the groups. True if all traces can be redrawn here.
  learn(graph, data) {
    this.marks = null;
    this.filled = data.map(({ x }) => Boolean(x?.length));
    const groups = new Map();
    for (const group of graph.querySelectorAll(".scatterlayer > .trace")) {
      const index = group.__data__?.[0]?.trace?.index;
      if (index !== undefined) groups.set(index, group);
    }
    const marks = [];
    for (const [i, trace] of data.entries()) {
      const full = graph._fullData?.[i];
      if (!full || !isPlainStroke(trace)) return false;
      const mark = { full, own: graph.data[i], hidden: full.visible !== true };
      if (!mark.hidden) {
        const group = groups.get(i);
        if (!group) return false;
        mark.lines = full.mode.includes("lines") ? group.querySelector(".lines") : null;
        mark.points = full.mode.includes("markers") ? group.querySelector(".points") : null;
        mark.x = linear(graph._fullLayout, full.xaxis);
        mark.y = linear(graph._fullLayout, full.yaxis);
        if (!mark.x || !mark.y || !(mark.lines || mark.points)) return false;
        if (mark.lines && !mark.lines.querySelector(".js-line")) return false;
        if (mark.points && !mark.points.firstElementChild) return false;
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

  // False, and nothing touched, if this needs plotly.
  draw(data) {
    if (this.marks?.length !== data.length || this.refused(data)) return false;
    data.forEach(({ x, y }, i) => {
      const mark = this.marks[i];
      for (const holder of [mark.own, mark.full]) Object.assign(holder, { x, y });
      if (mark.hidden) return;
      if (mark.lines) {
        const [first, ...rest] = mark.lines.querySelectorAll(".js-line");
        first.setAttribute("d", linePath(x, y, mark.x, mark.y));
        for (const one of rest) one.setAttribute("d", ""); // plotly: one element per piece
      }
      if (mark.points) movePoints(mark.points, x, y, mark.x, mark.y);
    });
    return true;
  }
}

function isPlainStroke(trace) {
  const flat = (value) => typeof value !== "object" || value === null;
  return isPlainLine(trace)
    && ["lines", "markers", "lines+markers"].includes(trace.mode)
    && (trace.fill ?? "none") === "none" && !trace.stackgroup && !trace.selectedpoints
    && (trace.line?.shape ?? "linear") === "linear" && !trace.connectgaps
    && Object.values(trace.marker ?? {}).every(flat) && !trace.customdata && !trace.ids;
}

// Pixels = at + per * value, read from the range at each draw: it follows a zoom by hand.
function linear(layout, id) {
  const axis = layout[`${id[0]}axis${id.slice(1)}`];
  return axis?.type === "linear" && axis._length > 0 && !axis.rangebreaks?.length ? axis : null;
}

function mapping(axis) {
  const [from, to] = axis.range.map(Number);
  const per = axis._length / (to - from);
  return axis._id[0] === "x" ? [-from * per, per] : [to * per, -per];
}

const tenth = (pixels) => Math.round(clamp(pixels, -20000, 20000) * 10) / 10;

function linePath(xs, ys, xaxis, yaxis) {
  const [x0, px] = mapping(xaxis);
  const [y0, py] = mapping(yaxis);
  let path = "";
  let pen = "M";
  let lastX;
  let lastY;
  for (let i = 0; i < xs.length; i++) {
    const x = tenth(x0 + px * xs[i]);
    const y = tenth(y0 + py * ys[i]);
    if (!(x === x && y === y)) pen = "M"; // a NaN lifts the pen
    else if (pen === "M" || x !== lastX || y !== lastY) {
      path += `${pen}${x},${y}`;
      pen = "L";
      lastX = x;
      lastY = y;
    }
  }
  return path || "M0,0";
}

function movePoints(group, xs, ys, xaxis, yaxis) {
  const [x0, px] = mapping(xaxis);
  const [y0, py] = mapping(yaxis);
  const spots = [];
  for (let i = 0; i < xs.length; i++) {
    const [x, y] = [tenth(x0 + px * xs[i]), tenth(y0 + py * ys[i])];
    if (x === x && y === y) spots.push(`translate(${x},${y})`);
  }
  const nodes = group.children;
  while (nodes.length < spots.length) group.append(group.firstElementChild.cloneNode(true));
  for (let i = 0; i < nodes.length; i++) {
    nodes[i].style.display = i < spots.length ? "" : "none";
    if (i < spots.length) nodes[i].setAttribute("transform", spots[i]);
  }
}
