// The time cursor over the plots: own SVG above plotly's, so playing costs no plotly call.

class Cursor {
  constructor(holder) {
    this.svg = makeSvg("svg", { class: "nsx-cursor", "aria-hidden": "true" });
    holder.append(this.svg);
    this.marks = [];
  }

  // After each draw, zoom or resize: which axes, which traces, where.
  place(graph, layout, data, theme) {
    const full = graph._fullLayout;
    if (!full) return;
    const axis = (id) => full[`${id[0]}axis${id.slice(1)}`];
    const marks = [];
    for (const [x, y] of layout.meta?.time_axes ?? []) {
      if (axis(x) && axis(y)) marks.push({ kind: "line", x: axis(x), y: axis(y) });
    }
    for (const trace of data) {
      const t = trace.meta?.t;
      if (!t?.length || trace.visible === false || trace.visible === "legendonly") continue;
      const x = axis(trace.xaxis ?? "x");
      const y = axis(trace.yaxis ?? "y");
      const colour = onGround(trace.line?.color ?? trace.marker?.color, theme) ?? theme.text;
      if (x && y) marks.push({ kind: "dot", x, y, t, trace, colour });
    }
    // Reuse the nodes: twenty-five pictures a second should not churn the page.
    const kinds = marks.map((mark) => mark.kind).join();
    if (kinds !== this.kinds) this.svg.replaceChildren(...marks.map((mark) => this.node(mark)));
    this.kinds = kinds;
    marks.forEach((mark, i) => {
      mark.node = this.svg.childNodes[i];
      if (mark.kind === "dot") mark.node.setAttribute("fill", mark.colour);
      else {
        mark.node.setAttribute("y1", mark.y._offset);
        mark.node.setAttribute("y2", mark.y._offset + mark.y._length);
      }
    });
    this.marks = marks;
    this.move(this.time);
  }

  node(mark) {
    if (mark.kind === "line") return makeSvg("line", { class: "nsx-cursor-line" });
    return makeSvg("circle", { r: 4.5, class: "nsx-cursor-dot" });
  }

  move(time) {
    this.time = time;
    if (time === undefined) return;
    for (const { kind, node, x, y, t, trace } of this.marks) {
      const i = kind === "dot" ? lastIndex(t, time) : 0;
      const across = pixel(x, kind === "dot" ? trace.x[i] : time);
      const along = kind === "dot" ? pixel(y, trace.y[i]) : y._offset;
      const seen = across !== null && along !== null;
      node.style.display = seen ? "" : "none";
      if (!seen) continue;
      if (kind === "line") node.setAttribute("transform", `translate(${across.toFixed(1)},0)`);
      else node.setAttribute("transform", `translate(${across.toFixed(1)},${along.toFixed(1)})`);
    }
  }
}

// Where a value lies on the page, null outside the axis.
function pixel(axis, value) {
  const along = axis.l2p(axis.d2l(value));
  const tolerance = 0.5;
  if (!(along >= -tolerance && along <= axis._length + tolerance)) return null; // also NaN
  return axis._offset + along;
}
