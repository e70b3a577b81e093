// The border between plots and mechanism: dragged, or moved by the arrow keys; a double click puts it
// back. The browser remembers it.

import { make } from "./dom.js";
import { clamp } from "./scale.js";

const KEY = "nonsmooth-explorer side";
const [LEAST, USUAL, MOST, STEP] = [20, 34, 75, 4]; // percent of both, taken by the side
const KEYS = { ArrowLeft: STEP, ArrowRight: -STEP };

export class Divider {
  constructor(body) {
    this.body = body;
    this.node = make("div", {
      class: "nsx-divider",
      role: "separator",
      tabindex: 0,
      "aria-orientation": "vertical",
      "aria-label": "Width of the mechanism",
      "aria-valuemin": LEAST,
      "aria-valuemax": MOST,
      title: "Drag to resize; double click for the usual width",
      on: {
        pointerdown: (event) => this.hold(event),
        pointermove: (event) => this.held && this.drag(event),
        pointerup: () => this.release(),
        pointercancel: () => this.release(),
        dblclick: () => this.set(USUAL),
        keydown: (event) => this.key(event),
      },
    });
    this.set(remembered());
  }

  set(share) {
    this.share = clamp(share, LEAST, MOST);
    this.body.style.setProperty("--nsx-side", `${this.share}fr`);
    this.body.style.setProperty("--nsx-plots", `${100 - this.share}fr`);
    this.node.setAttribute("aria-valuenow", Math.round(this.share));
    remember(this.share);
  }

  hold(event) {
    if (event.button) return;
    event.preventDefault();
    this.node.setPointerCapture(event.pointerId);
    this.node.focus();
    const side = this.node.parentNode.clientWidth;
    this.held = { x: event.clientX, side, all: (100 * side) / this.share };
  }

  drag(event) {
    const { x, side, all } = this.held;
    this.set((100 * (side + x - event.clientX)) / all);
  }

  release() {
    this.held = null;
  }

  key(event) {
    if (!(event.key in KEYS)) return;
    event.preventDefault();
    event.stopPropagation();
    this.set(this.share + KEYS[event.key]);
  }
}

// A page may not be allowed to keep anything.
function remembered() {
  try {
    return Number(localStorage.getItem(KEY)) || USUAL;
  } catch {
    return USUAL;
  }
}

function remember(share) {
  try {
    if (share === USUAL) localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, share);
  } catch {
    // it is the usual width next time
  }
}
