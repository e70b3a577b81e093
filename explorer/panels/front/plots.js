// The figure: one plotly graph. Draws are serialised (overlapping ones fail), the newest waiting
// picture replaces an older waiting one, and the cheapest correct way to draw is chosen:
// new numbers only: Strokes, after a relayout if axes moved too (a fifth of the time of a react);
// else other numbers only: animate; a new layout or style: react.

import { LIGHT, themedLayout, themedTraces } from "./theme.js";
import { isPlainLine, Strokes } from "./strokes.js";
import { readOut, seven } from "./scale.js";

const CONFIG = {
  showSendToCloud: false, // nothing that is drawn leaves the page
  plotlyServerURL: "",
  displaylogo: false,
  responsive: false, // Picture.resize does it, in the same queue as the draws
  displayModeBar: "hover",
  modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "toImage"],
  doubleClick: "reset",
};
const STUCK_MS = 1500;
const REST_MS = 700; // without a new picture for so long, hovering catches up

export class Picture {
  constructor(node, overlay, theme, { onDrawn, onError, resting }) {
    this.node = node;
    this.theme = theme;
    this.onDrawn = onDrawn;
    this.onError = onError;
    this.resting = resting; // whether no other picture is on its way
    this.layout = null; // newest layout of the kernel, unthemed
    this.data = null; // last data drawn, unthemed
    this.waiting = null;
    this.off = new Set(); // names of curves that were hidden in a legend, each with its axis
    this.applied = null; // the layout that plotly was given last
    this.redraw = this.ranged = this.moved = this.resized = this.behind = this.gone = false;
    this.strokes = new Strokes(overlay);
    this.revision = 0;
  }

  // `drawn()` once it is on the screen; `release()` once drawn, overtaken or parked.
  show(figure, { drawn, release }) {
    if (figure.layout) {
      // kept on arrival: the frame that carried it may be overtaken
      if (this.layout && withoutMoves(this.layout) === withoutMoves(figure.layout)) {
        this.ranged = true;
      } else this.redraw = true;
      if (this.layout?.uirevision !== figure.layout.uirevision) this.off.clear();
      this.layout = figure.layout;
    }
    this.waiting?.release();
    for (const trace of figure.data)
      if (trace.hovertemplate) trace.hovertemplate = readOut(trace.hovertemplate);
    this.waiting = { data: figure.data, config: figure.config, drawn, release };
    if (document.hidden) release(); // no drawing in a hidden tab, and the kernel must not wait
    this.pump();
  }

  retheme(theme) {
    this.theme = theme;
    this.redraw = true;
    this.pump();
  }

  resize() {
    this.resized = true;
    this.pump();
  }

  async pump() {
    if (this.drawing || !this.plotly || !this.layout) return;
    this.drawing = true;
    while (!this.gone && !document.hidden && (this.waiting || (this.data && this.stale))) {
      const job = this.waiting ?? { data: this.data, drawn() {}, release() {} };
      this.waiting = null;
      const began = performance.now();
      try {
        await Promise.race([this.draw(job), new Promise((go) => setTimeout(go, STUCK_MS))]);
        if (this.gone) break;
        this.node.dataset.ms = (performance.now() - began).toFixed(1);
        this.onDrawn(this);
        job.drawn();
        job.release(); // the kernel works on the next picture while the screen paints this one
        await painted(); // no faster than the screen
      } catch (error) {
        this.signature = null; // whatever plotly was doing, start from a full draw
        this.onError(error);
      }
      job.release();
    }
    this.drawing = false;
  }

  get stale() {
    return this.redraw || this.resized || this.behind;
  }

  async draw({ data, config }) {
    const { plotly, node } = this;
    const signature = traceSignature(data);
    const same = this.signature === signature && !this.redraw;
    const { resized, behind, ranged } = this;
    this.redraw = this.ranged = this.resized = this.behind = false;
    clearTimeout(this.rest);
    this.data = data;
    const strokes = same && !resized && !behind && this.strokes.can(data);
    const names = data.map(({ name }) => name).join("\n");
    if (names !== this.names) this.moved = true; // the legend is laid out anew when plotly catches up
    this.names = names;
    if (strokes && ranged) await this.moveAxes();
    if (strokes && this.strokes.draw(data)) {
      this.settle();
      return;
    }
    // A notebook takes cells out of the page when they scroll away: no size then, nothing to do.
    if (same && resized && node.clientWidth > 0) await plotly.Plots.resize(node);
    const traces = themedTraces(this.shown(data), this.theme);
    const moved = ranged || this.moved;
    if (same && !moved && this.light && !this.strokes.refused(data)) {
      await plotly.animate(node, { data: traces, traces: traces.map((_, i) => i) }, INSTANTLY);
    } else {
      if (!same || moved || !this.styled) this.styled = themedLayout(this.layout, this.theme);
      this.styled.datarevision = ++this.revision; // Strokes wrote into the arrays plotly holds
      const options = { ...CONFIG, ...config };
      if (this.started) await plotly.react(node, traces, this.styled, options);
      else await plotly.newPlot(node, traces, this.styled, options);
      this.started = true;
      this.moved = false;
      this.applied = this.layout;
      this.rememberWhole();
      this.signature = signature;
      this.light = data.every(isPlainLine) && !autoranged(node._fullLayout);
    }
    this.strokes.learn(node, data);
  }

  // How large the plots are, and the windows of the axes that were zoomed by hand.
  get look() {
    const { node, layout, applied } = this;
    const ranges = {};
    for (const [key, axis] of Object.entries(node._fullLayout ?? {})) {
      if (this.zoomed(key)) ranges[key] = [...axis.range];
    }
    const size = [node.clientWidth, node.clientHeight];
    return { of: (applied ?? layout)?.uirevision, size, words: this.theme.scale, ranges };
  }

  zoomed(key) {
    const [own, now] = [this.applied?.[key]?.range, this.node._fullLayout?.[key]?.range];
    if (!isAxis(key) || !own || !now) return false;
    const far = 1e-4 * Math.abs(own[1] - own[0]);
    return Math.abs(now[0] - own[0]) > far || Math.abs(now[1] - own[1]) > far;
  }

  // New ticks and titles, and new ranges, but of the axes that were zoomed by hand.
  async moveAxes() {
    const { node, layout, applied } = this;
    const changes = {};
    for (const [key, axis] of Object.entries(layout)) {
      if (!isAxis(key)) continue;
      for (const [name, of] of Object.entries(MOVES)) {
        const [now, then] = [of(axis), of(applied[key])];
        if (JSON.stringify(now) === JSON.stringify(then)) continue;
        if (name !== "range") changes[`${key}.${name}`] = now;
        else if (!this.zoomed(key)) changes[`${key}.range`] = [...now];
      }
    }
    this.moved = true; // what a double click goes back to is plotly's when it catches up
    this.moving = true;
    await this.plotly.relayout(node, changes);
    this.moving = false;
    this.applied = layout;
    this.rememberWhole();
    this.strokes.learn(node, this.data);
  }

  // A double click shows this picture whole: plotly itself goes back to the first one it has drawn.
  rememberWhole() {
    for (const [key, axis] of Object.entries(this.node._fullLayout)) {
      const range = isAxis(key) && this.applied[key]?.range;
      if (range) [axis._rangeInitial0, axis._rangeInitial1] = range;
    }
  }

  // A click in a legend hides all that has this name in its plot, points and bars among them, or shows
  // it again; a double click shows it alone.
  toggle({ curveNumber }, alone = false) {
    const { data, off } = this;
    const chosen = data[curveNumber];
    const one = named(chosen);
    const others = data
      .filter((t) => t.showlegend && t.yaxis === chosen.yaxis)
      .map(named)
      .filter((t) => t !== one);
    if (!alone && !off.delete(one)) off.add(one);
    else if (alone) {
      off.delete(one);
      const all = others.every((t) => off.has(t));
      for (const t of others) off[all ? "delete" : "add"](t);
    }
    this.redraw = true;
    this.pump();
    return false; // plotly itself would hide one trace
  }

  shown(data) {
    return this.off.size
      ? data.map((t) => (this.off.has(named(t)) ? { ...t, visible: "legendonly" } : t))
      : data;
  }

  settle() {
    const rest = () => (this.resting() ? this.catchUp() : this.settle());
    this.rest = setTimeout(rest, REST_MS);
  }

  // Plotly's own picture of the newest data: what hovering, zooming and exporting look at.
  catchUp() {
    if (!this.strokes.live || this.moving) return;
    this.behind = true;
    this.pump();
  }

  // Light on paper whatever the page's theme: the picture ends up in a report.
  async image(format, scale = 1) {
    const theme = { ...LIGHT, export: true, font: this.theme.font, scale: this.theme.scale };
    const layout = themedLayout(this.layout, theme);
    for (const [key, axis] of Object.entries(this.node._fullLayout ?? {})) {
      if (isAxis(key) && layout[key]) layout[key].range = [...axis.range];
    }
    const { clientWidth: width, clientHeight: height } = this.node;
    const options = { format, scale, width, height };
    return this.plotly.toImage({ data: this.shown(this.data), layout, config: {} }, options);
  }

  stop() {
    this.gone = true;
    clearTimeout(this.rest);
    this.waiting?.release();
    this.waiting = null;
    if (this.started) this.plotly.purge(this.node);
  }
}

const named = ({ yaxis = "y", name }) => `${yaxis} ${name}`;

// Whether a look asks for other points than the one that was told, and whether it may change yet:
// the size alone is another.
export function compared(told, look) {
  const grown = look.size.some((one, i) => one > 1.25 * told.size[i] || one < 0.75 * told.size[i]);
  const same = told.of === look.of && JSON.stringify(told.ranges) === JSON.stringify(look.ranges);
  const zoomed = Object.keys(look.ranges).length || Object.keys(told.ranges).length;
  const wanted = grown || told.words !== look.words || (!same && zoomed);
  return { wanted, settles: grown && same };
}

export function timesOf(figure, mechanism) {
  return mechanism?.t ?? figure.data.find((trace) => trace.meta?.t)?.meta.t;
}

// Calls `again` where the window of a plot changes, `toggle` where a name in its legend is clicked.
export function listenTo(plot, signal, again, toggle) {
  pointers(plot, signal);
  plot.on("plotly_relayout", again);
  plot.on("plotly_relayouting", again);
  plot.on("plotly_legendclick", toggle);
  plot.on("plotly_legenddoubleclick", () => false); // the browser knows it, see `pointers`
}

// What the browser takes for a double click is one, however late a busy page sees its clicks. Plotly
// itself compares the times at which it sees the button go down, that of a drag among them.
function pointers(plot, signal) {
  doubleClicks(plot, signal);
  const finger = (event) => {
    if (event.touches.length === 1 && plot._fullLayout?.dragmode === false) event.stopPropagation();
  };
  plot.addEventListener("touchstart", finger, { capture: true, passive: true, signal }); // it scrolls
}

function doubleClicks(plot, signal) {
  let second = false;
  const down = ({ detail }) => {
    second = detail === 2;
    plot._mouseDownTime = second ? Date.now() : 0;
  };
  const up = () => {
    if (second) plot._mouseDownTime = Date.now();
  };
  const first = { capture: true, signal }; // before plotly hears of it
  plot.addEventListener("mousedown", down, first);
  window.addEventListener("mouseup", up, first);
}

// What a click sets. Over a map it is the place of the pointer itself: what plotly hovered over last is
// a cell, and may be one of the picture before.
export function clicked({ points: [point], event }, node, data) {
  const { t, key, at, each } = point?.data.meta ?? {};
  const axis = (id) => node._fullLayout[`${id[0]}axis${id.slice(1)}`];
  const box = node.getBoundingClientRect();
  const map = data.find(
    (one) => one.type === "heatmap" && one.meta?.key && one.xaxis === point?.data.xaxis,
  );
  if (map) {
    const [x, y] = [axis(map.xaxis), axis(map.yaxis)];
    const { key: across, up } = map.meta;
    const changes = { [across]: seven(x.p2l(event.clientX - box.left - x._offset)) };
    if (up) changes[up] = seven(y.p2l(event.clientY - box.top - y._offset));
    return { changes };
  }
  const value = at ? at[Math.floor(point.pointIndex / each)] : point?.x;
  return { t: t?.[point.pointIndex], changes: key && { [key]: seven(value) } };
}

const INSTANTLY = {
  mode: "immediate",
  transition: { duration: 0 },
  frame: { duration: 0, redraw: false },
};

// The next picture of the screen; never stuck, as a hidden tab has none.
function painted() {
  return new Promise((go) => {
    requestAnimationFrame(go);
    setTimeout(go, 60);
  });
}

// Everything about the traces but their numbers and names: with equal signatures Strokes can draw.
function traceSignature(data) {
  return JSON.stringify(data, (key, value) => {
    if (ArrayBuffer.isView(value)) return "data";
    return UNSIGNED.has(key) ? undefined : value;
  });
}

const UNSIGNED = new Set(["meta", "name", "hovertemplate"]);

// Axes that plotly would range by itself: `animate` never does.
function autoranged(layout) {
  return Object.entries(layout).some(([key, axis]) => isAxis(key) && axis.autorange);
}

const isAxis = (key) => /^[xy]axis\d*$/.test(key);

// What of an axis may change without another arrangement of the plots.
const MOVES = {
  range: ({ range }) => range,
  tickvals: ({ tickvals }) => tickvals,
  ticktext: ({ ticktext }) => ticktext,
  "title.text": ({ title }) => title?.text,
};
const MOVED = new Set(["range", "tickvals", "ticktext", "text"]);

function withoutMoves(layout) {
  return JSON.stringify(layout, (key, value) => (MOVED.has(key) ? undefined : value));
}
