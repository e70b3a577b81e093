// A panel without a kernel: it is answered from pictures that were computed before, at given values.

import { parted, unzipped } from "./dom.js";
import { nearest } from "./scale.js";

const PARTS = { pictures: "[data-nsx-pictures]", plotly: "[data-nsx-plotly]" };

function unpacked(node) {
  return unzipped(Uint8Array.from(atob(node.textContent.trim()), (one) => one.charCodeAt(0)));
}

// What a page holds: the length of a head, the head, and the buffers that it names by their sizes.
function read(bytes) {
  const begin = 4 + new DataView(bytes.buffer).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, begin)));
  return { ...head, buffers: parted(bytes, head.sizes, begin) };
}

// Stands for the widget's model before the panel.
export class StaticTwin {
  static async of(node) {
    return new StaticTwin(read(await unpacked(node.querySelector(PARTS.pictures))));
  }

  constructor(page) {
    Object.assign(this, page); // {schema, axes: [[key, values]], at, frames, layouts, buffers}
    this.usual = this.at;
    this.hearers = new Set();
    this.past = [];
    this.future = [];
  }

  on(_, hear) {
    this.hearers.add(hear);
  }

  off(_, hear) {
    this.hearers.delete(hear);
  }

  async send(message) {
    const { type, view, seq } = message;
    if (type === "hello") await this.greet(message);
    else if (type === "do") this.act(message);
    const said = type === "pull" ? this.take(message) : "";
    this.tell({ ...this.frame(type === "hello", said), view, seq });
  }

  tell(content, indices = content.buffers ?? []) {
    const buffers = indices.map((k) => this.buffers[k]);
    queueMicrotask(() => {
      for (const hear of this.hearers) hear(content, buffers);
    });
  }

  async greet({ plotly }) {
    const library = document.querySelector(PARTS.plotly);
    if (!plotly && library) {
      const content = { type: "plotly", version: library.dataset.nsxPlotly };
      const packed = Uint8Array.from(atob(library.textContent.trim()), (one) => one.charCodeAt(0));
      for (const hear of this.hearers) hear(content, [packed]);
    }
    this.tell({ type: "schema", ...this.schema });
  }

  // The place on the grid nearest to what is asked; a sentence if it is another value.
  take({ set, drag }) {
    this.before ??= this.at;
    let said = "";
    this.at = this.axes.map(([key, values], k) => {
      if (!(key in set)) return this.at[k];
      const place = typeof set[key] === "number" ? nearest(values, set[key]) : this.at[k];
      if (values[place] !== set[key]) {
        said = `${set[key]} was not computed. This page holds ${values.length} values from ${values[0]} to ${values.at(-1)}.`;
      }
      return place;
    });
    if (!drag) {
      if (String(this.before) !== String(this.at)) {
        this.past.push(this.before);
        this.future = [];
      }
      this.before = undefined;
    }
    return said;
  }

  act({ action }) {
    const go = (from, to) => {
      if (!from.length) return;
      to.push(this.at);
      this.at = from.pop();
    };
    if (action === "undo") go(this.past, this.future);
    else if (action === "redo") go(this.future, this.past);
    else if (action === "reset" && String(this.at) !== String(this.usual)) {
      this.past.push(this.at);
      this.future = [];
      this.at = this.usual;
    }
  }

  // The picture where it is now; its layout only if another one was sent before.
  frame(whole, said) {
    const place = this.axes.reduce((sum, [, values], k) => sum * values.length + this.at[k], 0);
    const { layout, ...frame } = this.frames[place];
    const state = { undo: this.past.length > 0, redo: this.future.length > 0 };
    const full = { type: "frame", ...frame, ...state };
    if (frame.figure) {
      const other = whole || layout !== this.layout;
      full.figure = { ...frame.figure, ...(other && { layout: this.layouts[layout] }) };
      this.layout = layout;
    }
    if (said) full.status = { level: "warn", text: said, detail: frame.status.text };
    return full;
  }
}
