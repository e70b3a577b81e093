// Points of the plots that are dragged up and down: by the mouse, a finger, or the arrow keys. They
// are elements over the plots, so they can be focused and read aloud. A stroke across the intervals
// of a curve sets each interval that it passes. The first point of a curve is its start: over time it is
// dragged up and down, in a phase portrait anywhere.

import { make, plainLabel } from "./dom.js";
import { clamp, niceBelow, quantity, tidy } from "./scale.js";
import { onGround } from "./theme.js";

const SIZE = 24; // px, of what can be hit
const KEYS = { ArrowUp: 1, ArrowDown: -1, PageUp: 10, PageDown: -10 };

// As ARIA takes numbers: without a power of ten.
const decimal = (value) =>
  Number(value.toPrecision(4)).toLocaleString("en", {
    useGrouping: false,
    maximumFractionDigits: 20,
  });

export class Handles {
  constructor(holder, onEdit, controls) {
    this.onEdit = onEdit; // ({key: value}, drag)
    this.controls = controls;
    this.layer = make("div", { class: "nsx-handles" });
    holder.append(this.layer);
    this.byId = new Map();
    this.order = "";
  }

  // After each draw, zoom or resize: which points there are, and where. A value that is on its way to
  // the kernel is newer than the picture.
  place(graph, data, ahead, theme) {
    const full = graph._fullLayout;
    if (!full) return;
    const axis = (id) => full[`${id[0]}axis${id.slice(1)}`];
    const sets = data.flatMap((trace) => this.set(trace) ?? []);
    const order = sets.flatMap(({ ids }) => ids).join();
    if (order !== this.order) this.rebuild(sets);
    this.order = order;
    for (const { trace, ...own } of sets) {
      const set = { ...own, x: axis(trace.xaxis ?? "x"), y: axis(trace.yaxis ?? "y") };
      for (const [i, id] of set.ids.entries()) {
        const handle = this.byId.get(id);
        Object.assign(handle, { set, i });
        if (own.colour) handle.node.style.setProperty("--nsx-own", onGround(own.colour, theme));
        const newer =
          handle === this.held || ahead(set.keys[i]) || (set.across && ahead(set.across));
        this.show(
          handle,
          newer ? handle.value : this.exact(set, set.keys[i], set.values[i], set.y),
          newer && set.across ? handle.along : this.exact(set, set.across, set.at[i], set.x),
        );
      }
    }
  }

  // The number of a start, which its curve holds in 16 bits of a long picture: 0 came as 2e-5 there.
  exact({ begins }, key, drawn, axis) {
    const known = begins && key ? this.controls.byKey.get(key)?.value : null;
    const near = 1e-4 * Math.abs(axis.range[1] - axis.range[0]);
    return typeof known === "number" && Math.abs(known - drawn) < near ? known : drawn;
  }

  // The points of a curve that can be dragged, if any.
  set(trace) {
    const { handles, start, t } = trace.meta ?? {};
    if (handles) return { ...handles, ids: handles.keys, at: trace.x, values: trace.y, trace };
    if (!start?.y || t?.[0] > 0) return null; // zoomed to a later time
    const names = [start.x, start.y].filter(Boolean).map((key) => this.controls.byKey.get(key));
    if (names.some((one) => one?.kind !== "slider") || !Number.isFinite(trace.y[0])) return null;
    return {
      keys: [start.y],
      across: start.x,
      ids: [`${trace.yaxis}:${start.x}:${start.y}`],
      name: names.map(({ spec }) => plainLabel(spec.label)).join(", "),
      begins: true,
      at: [trace.x[0]],
      values: [trace.y[0]],
      colour: trace.line?.color,
      trace,
    };
  }

  rebuild(sets) {
    const focused = [...this.byId.values()].find(({ node }) => node === document.activeElement)?.id;
    const before = this.byId;
    this.byId = new Map();
    for (const { ids, keys, begins, across } of sets) {
      for (const [i, id] of ids.entries()) {
        const handle = before.get(id) ?? this.build(id, keys[i]);
        this.byId.set(id, handle);
        handle.node.tabIndex = i ? -1 : 0; // the arrows lead to the others
        handle.node.classList.toggle("nsx-start", Boolean(begins));
        handle.node.classList.toggle("nsx-upright", !across);
      }
    }
    if (this.held && !this.byId.has(this.held.id)) this.held = null;
    this.layer.replaceChildren(...[...this.byId.values()].map(({ node }) => node));
    if (focused) this.byId.get(focused)?.node.focus();
  }

  build(id, key) {
    const handle = { id, key, value: 0 };
    const end = () => this.release(handle);
    handle.node = make("div", {
      class: "nsx-handle",
      role: "slider",
      "aria-orientation": "vertical",
      "data-key": key,
      on: {
        pointerdown: (event) => this.grab(handle, event),
        pointermove: (event) => this.held === handle && this.drag(handle, event),
        pointerup: end,
        pointercancel: end,
        lostpointercapture: end,
        keydown: (event) => this.key(handle, event),
        keyup: end,
        blur: end,
      },
    });
    return handle;
  }

  show(handle, value, along = handle.set.at[handle.i]) {
    const { node, set, i } = handle;
    Object.assign(handle, { value, along });
    const { x, y, edges } = set;
    const [across, down] = [x.l2p(along), y.l2p(value)];
    const out = !(across >= -1 && across <= x._length + 1 && down >= -1 && down <= y._length + 1);
    node.hidden = out;
    if (out) return;
    // as wide as the interval, if there is room for fingers; never over its neighbours
    const wide = edges ? clamp(x.l2p(edges[i + 1]) - x.l2p(edges[i]), 3, 2 * SIZE) : SIZE;
    node.style.width = `${wide}px`;
    node.style.transform = `translate(${x._offset + across - wide / 2}px, ${y._offset + down - SIZE / 2}px)`;
    const short = (one) => quantity(Number(one.toPrecision(4)));
    const written = set.across ? `${short(along)}, ${short(value)}` : short(value);
    const place = set.keys.length > 1 ? ` ${i + 1} of ${set.keys.length}` : "";
    for (const [name, text] of [
      ["aria-label", set.name + place],
      ["data-value", written],
      ["aria-valuenow", decimal(value)],
      ["aria-valuetext", set.across ? written : null],
      ["aria-valuemin", set.low],
      ["aria-valuemax", set.high],
    ]) {
      if (text === null || text === undefined) node.removeAttribute(name);
      else if (node.getAttribute(name) !== String(text)) node.setAttribute(name, text);
    }
  }

  // On numbers as short as the screen can tell apart, within the bounds.
  rounded({ set }, value, axis = set.y) {
    const grain = niceBelow(Math.abs(axis.range[1] - axis.range[0]) / axis._length);
    return clamp(
      tidy(Math.round(value / grain) * grain),
      set.low ?? -Infinity,
      set.high ?? Infinity,
    );
  }

  grab(handle, event) {
    if (event.button) return;
    event.preventDefault();
    handle.node.setPointerCapture(event.pointerId);
    handle.node.focus({ preventScroll: true });
    this.held = handle;
    this.last = { i: handle.i, value: handle.value, along: handle.along };
    this.box = this.layer.getBoundingClientRect();
    handle.node.classList.add("nsx-held");
    // where in the handle it was taken: it must not jump to the pointer
    const { x, y } = handle.set;
    this.off = {
      x: event.clientX - this.box.left - x._offset - x.l2p(handle.along),
      y: event.clientY - this.box.top - y._offset - y.l2p(handle.value),
    };
  }

  drag(handle, event) {
    const { set } = handle;
    const { x, y } = set;
    const value = this.rounded(
      handle,
      y.p2l(event.clientY - this.box.top - y._offset - this.off.y),
    );
    const i = set.edges ? this.interval(set, event) : handle.i;
    const along = set.across
      ? this.rounded(handle, x.p2l(event.clientX - this.box.left - x._offset - this.off.x), x)
      : undefined;
    if (
      i === this.last.i &&
      value === this.last.value &&
      (!set.across || along === this.last.along)
    )
      return;
    const step = Math.sign(i - this.last.i);
    const count = Math.abs(i - this.last.i);
    for (let k = 1; k < count; k++) {
      // a quick stroke passes over several
      const between = this.last.value + ((value - this.last.value) * k) / count;
      this.edit(this.byId.get(set.ids[this.last.i + k * step]), this.rounded(handle, between));
    }
    this.edit(this.byId.get(set.ids[i]), value, along);
    this.last = { i, value, along };
  }

  interval({ x, edges }, event) {
    const at = x.p2l(event.clientX - this.box.left - x._offset);
    let i = 0;
    while (i < edges.length - 2 && at >= edges[i + 1]) i++;
    return i;
  }

  edit(handle, value, along) {
    const { key, set } = handle;
    this.moved = set.across ? { [set.across]: along, [key]: value } : { [key]: value };
    this.show(handle, value, along);
    this.onEdit(this.moved, true);
  }

  // One gesture, one step of undo.
  release(handle) {
    if (this.held === handle) {
      this.held = null;
      handle.node.classList.remove("nsx-held");
    }
    if (!this.moved) return;
    const { moved } = this;
    this.moved = null;
    this.onEdit(moved, false);
  }

  key(handle, event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { set, i, along } = handle;
    const side = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const step = niceBelow(Math.abs(set.y.range[1] - set.y.range[0]) / 40);
    let value;
    if (side && set.across) {
      const grain = niceBelow(Math.abs(set.x.range[1] - set.x.range[0]) / 40);
      event.preventDefault();
      this.edit(handle, handle.value, tidy(Math.round(along / grain + side) * grain));
      return;
    }
    if (side) {
      const next = this.byId.get(set.ids[i + side]);
      event.preventDefault();
      if (!next) return;
      [handle.node.tabIndex, next.node.tabIndex] = [-1, 0];
      next.node.focus({ preventScroll: true });
      return;
    }
    if (event.key in KEYS) value = tidy(Math.round(handle.value / step + KEYS[event.key]) * step);
    else if (event.key === "Home") value = set.low;
    else if (event.key === "End") value = set.high;
    if (typeof value !== "number") return;
    event.preventDefault();
    this.edit(handle, clamp(value, set.low ?? -Infinity, set.high ?? Infinity), along);
  }
}
