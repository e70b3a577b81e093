// Points of the plots that are dragged up and down: by the mouse, a finger, or the arrow keys. They
// are elements over the plots, so they can be focused and read aloud. A stroke across the intervals
// of a curve sets each interval that it passes.

import { make } from "./dom.js";
import { clamp, niceBelow, quantity, tidy } from "./scale.js";

const SIZE = 24; // px, of what can be hit
const KEYS = { ArrowUp: 1, ArrowDown: -1, PageUp: 10, PageDown: -10 };

export class Handles {
  constructor(holder, onEdit) {
    this.onEdit = onEdit; // (key, value, drag)
    this.layer = make("div", { class: "nsx-handles" });
    holder.append(this.layer);
    this.byKey = new Map();
    this.order = "";
  }

  // After each draw, zoom or resize: which points there are, and where. A value that is on its way to
  // the kernel is newer than the picture.
  place(graph, data, ahead) {
    const full = graph._fullLayout;
    if (!full) return;
    const axis = (id) => full[`${id[0]}axis${id.slice(1)}`];
    const sets = data.filter((trace) => trace.meta?.handles);
    const order = sets.flatMap((trace) => trace.meta.handles.keys).join();
    if (order !== this.order) this.rebuild(sets);
    this.order = order;
    for (const trace of sets) {
      const [x, y] = [axis(trace.xaxis ?? "x"), axis(trace.yaxis ?? "y")];
      const set = { ...trace.meta.handles, x, y, at: trace.x };
      for (const [i, key] of set.keys.entries()) {
        const handle = this.byKey.get(key);
        Object.assign(handle, { set, i });
        this.show(handle, handle === this.held || ahead(key) ? handle.value : trace.y[i]);
      }
    }
  }

  rebuild(sets) {
    const focused = this.layer.contains(document.activeElement) && document.activeElement.dataset.key;
    const before = this.byKey;
    this.byKey = new Map();
    for (const { meta } of sets) {
      for (const [i, key] of meta.handles.keys.entries()) {
        this.byKey.set(key, before.get(key) ?? this.build(key));
        this.byKey.get(key).node.tabIndex = i ? -1 : 0; // the arrows lead to the others
      }
    }
    if (this.held && !this.byKey.has(this.held.key)) this.held = null;
    this.layer.replaceChildren(...[...this.byKey.values()].map(({ node }) => node));
    if (focused) this.byKey.get(focused)?.node.focus();
  }

  build(key) {
    const handle = { key, value: 0 };
    const end = () => this.release(handle);
    handle.node = make("div", {
      class: "nsx-handle", role: "slider", "aria-orientation": "vertical", "data-key": key,
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

  show(handle, value) {
    const { node, set, i } = handle;
    handle.value = value;
    const { x, y, at, edges } = set;
    const [across, down] = [x.l2p(at[i]), y.l2p(value)];
    const out = !(across >= -1 && across <= x._length + 1 && down >= -1 && down <= y._length + 1);
    node.hidden = out;
    if (out) return;
    // as wide as the interval, if there is room for fingers; never over its neighbours
    const wide = edges ? clamp(x.l2p(edges[i + 1]) - x.l2p(edges[i]), 3, 2 * SIZE) : SIZE;
    node.style.width = `${wide}px`;
    node.style.transform =
      `translate(${x._offset + across - wide / 2}px, ${y._offset + down - SIZE / 2}px)`;
    const written = quantity(Number(value.toPrecision(4)));
    const place = set.keys.length > 1 ? ` ${i + 1} of ${set.keys.length}` : "";
    for (const [name, text] of [
      ["aria-label", set.name + place], ["aria-valuenow", written], ["data-value", written],
      ["aria-valuemin", set.low], ["aria-valuemax", set.high],
    ]) {
      if (text === null || text === undefined) node.removeAttribute(name);
      else if (node.getAttribute(name) !== String(text)) node.setAttribute(name, text);
    }
  }

  // On numbers as short as the screen can tell apart, within the bounds.
  rounded({ set }, value) {
    const grain = niceBelow(Math.abs(set.y.range[1] - set.y.range[0]) / set.y._length);
    return clamp(tidy(Math.round(value / grain) * grain), set.low ?? -Infinity, set.high ?? Infinity);
  }

  grab(handle, event) {
    if (event.button) return;
    event.preventDefault();
    handle.node.setPointerCapture(event.pointerId);
    handle.node.focus({ preventScroll: true });
    this.held = handle;
    this.last = { i: handle.i, value: handle.value };
    this.box = this.layer.getBoundingClientRect();
    handle.node.classList.add("nsx-held");
    // where in the handle it was taken: it must not jump to the pointer
    const { y } = handle.set;
    this.off = event.clientY - this.box.top - y._offset - y.l2p(handle.value);
  }

  drag(handle, event) {
    const { set } = handle;
    const value = this.rounded(
      handle, set.y.p2l(event.clientY - this.box.top - set.y._offset - this.off),
    );
    const i = set.edges ? this.interval(set, event) : handle.i;
    if (i === this.last.i && value === this.last.value) return;
    const step = Math.sign(i - this.last.i);
    const count = Math.abs(i - this.last.i);
    for (let k = 1; k < count; k++) { // a quick stroke passes over several
      const between = this.last.value + ((value - this.last.value) * k) / count;
      this.edit(this.byKey.get(set.keys[this.last.i + k * step]), this.rounded(handle, between));
    }
    this.edit(this.byKey.get(set.keys[i]), value);
    this.last = { i, value };
  }

  interval({ x, edges }, event) {
    const at = x.p2l(event.clientX - this.box.left - x._offset);
    let i = 0;
    while (i < edges.length - 2 && at >= edges[i + 1]) i++;
    return i;
  }

  edit(handle, value) {
    const { key } = handle;
    this.moved = { key, value };
    this.show(handle, value);
    this.onEdit(key, value, true);
  }

  // One gesture, one step of undo.
  release(handle) {
    if (this.held === handle) {
      this.held = null;
      handle.node.classList.remove("nsx-held");
    }
    if (!this.moved) return;
    const { key, value } = this.moved;
    this.moved = null;
    this.onEdit(key, value, false);
  }

  key(handle, event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { set, i } = handle;
    const side = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const step = niceBelow(Math.abs(set.y.range[1] - set.y.range[0]) / 40);
    let value;
    if (side) {
      const next = this.byKey.get(set.keys[i + side]);
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
    this.edit(handle, clamp(value, set.low ?? -Infinity, set.high ?? Infinity));
  }
}
