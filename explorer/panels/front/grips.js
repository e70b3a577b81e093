// The hand on the mechanism: a body, a wall or a spring is drawn to where the pointer is, thrown by
// letting go in a move, or moved by the arrow keys. The kernel finds the start for which the
// grabbed point is there.

import { make } from "./dom.js";
import { niceBelow } from "./scale.js";

const NEAR = 10; // px, from a line
const MOST = 12; // bodies that the keyboard reaches
const SIZE = 32; // px, of what a finger hits
const FLING_MS = 80; // the last part of a gesture that decides the speed
const FLUNG = 150; // px/s: slower it is put down
const KEYS = { ArrowUp: [0, 1], ArrowDown: [0, -1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
const ORDER = ["ground", "fixed", "node", "link", "spring", "body"]; // of drawing: the last is on top

export class Grips {
  // edit(grip, drag); begin() and end(thrown) frame a gesture; speed() is that of playing
  constructor(holder, stage, { edit, begin, end, speed }) {
    Object.assign(this, { stage, edit, begin, end, speed });
    this.layer = make("div", { class: "nsx-grips" });
    holder.append(this.layer);
    this.buttons = [];
    const { canvas } = stage;
    canvas.addEventListener("pointerdown", (event) => this.grab(event));
    canvas.addEventListener("pointermove", (event) => {
      if (!this.held) canvas.style.cursor = this.hit(event) ? "grab" : "";
    });
    canvas.addEventListener("wheel", (event) => this.zoom(event), { passive: false });
    canvas.addEventListener("dblclick", () => stage.zoomed(null));
    for (const node of [canvas, this.layer]) {
      node.addEventListener("pointermove", (event) => this.held && this.drag(event));
      for (const name of ["pointerup", "pointercancel"]) {
        node.addEventListener(name, (event) => this.release(event));
      }
    }
    stage.onDraw = (parts) => this.place(parts);
  }

  // What of the picture can be moved, after each drawing: a button at the middle of each body.
  place(parts) {
    this.parts = parts;
    const bodies = parts
      .filter(({ item }) => item.grip === "start" && item.role === "body")
      .slice(0, MOST);
    while (this.buttons.length < bodies.length) this.buttons.push(this.button(this.buttons.length));
    if (this.layer.childElementCount !== bodies.length) {
      this.layer.replaceChildren(...this.buttons.slice(0, bodies.length).map(({ node }) => node));
    }
    for (const [i, part] of bodies.entries()) {
      const button = this.buttons[i];
      button.part = part;
      const [x, y] = middle(part.points);
      button.node.style.transform = `translate(${x - SIZE / 2}px, ${y - SIZE / 2}px)`;
      const name = `${part.item.label || `body ${i + 1}`}: drag it, or move it with the arrow keys`;
      if (button.node.getAttribute("aria-label") !== name)
        button.node.setAttribute("aria-label", name);
    }
  }

  button() {
    const button = {};
    button.node = make("button", {
      type: "button",
      class: "nsx-grip",
      on: {
        pointerdown: (event) => this.grab(event, button.part),
        keydown: (event) => this.key(button, event),
        keyup: () => this.put(button),
        blur: () => this.put(button),
      },
    });
    return button;
  }

  at(event) {
    const box = this.stage.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  // The topmost shape under the pointer that something moves.
  hit(event) {
    const at = this.at(event);
    const near = (this.parts ?? []).filter(({ item }) => item.grip && ORDER.includes(item.role));
    near.sort((one, other) => ORDER.indexOf(other.item.role) - ORDER.indexOf(one.item.role));
    return near.find((part) => distance(part, at, this.stage.scale) <= NEAR);
  }

  grab(event, part = this.hit(event)) {
    if (event.button || !part || this.held) return;
    event.preventDefault();
    event.target.setPointerCapture(event.pointerId);
    const at = this.at(event);
    const weights = part.item.kind === "circle" ? [1] : parts(part, at);
    const held = weights.reduce(
      ([x, y], weight, i) => [x + weight * part.points[i][0], y + weight * part.points[i][1]],
      [0, 0],
    );
    this.held = {
      id: event.pointerId,
      index: part.index,
      weights,
      t: this.stage.time,
      off: [at[0] - held[0], at[1] - held[1]], // where in the shape it was taken
      trail: [[event.timeStamp, ...at]],
    };
    this.stage.hold(true);
    this.stage.canvas.style.cursor = "grabbing";
    this.begin();
  }

  drag(event) {
    const { held } = this;
    if (event.pointerId !== held.id) return;
    const at = this.at(event);
    held.trail.push([event.timeStamp, ...at]);
    held.to = this.stage.world(at[0] - held.off[0], at[1] - held.off[1]);
    held.moved = true;
    this.edit(this.grip(held), true);
  }

  grip({ index, weights, to, t }, fling = null) {
    return { item: index, weights, to, t, fling };
  }

  // One gesture, one step of undo; let go in a move, it is thrown with the speed of the pointer.
  release(event) {
    const { held } = this;
    if (!held || event.pointerId !== held.id) return;
    this.held = null;
    this.stage.hold(false);
    this.stage.canvas.style.cursor = "";
    const fling = held.moved && event.type === "pointerup" ? this.speedOf(held.trail, event) : null;
    if (held.moved) this.edit(this.grip(held, fling), false);
    this.end(Boolean(fling));
  }

  speedOf(trail, event) {
    const [t1, x1, y1] = [event.timeStamp, ...this.at(event)];
    const [t0, x0, y0] = whereAt(t1 - FLING_MS, trail);
    const seconds = (t1 - t0) / 1000;
    if (!(seconds > 0.005) || Math.hypot(x1 - x0, y1 - y0) / seconds < FLUNG) return null;
    const factor = 1 / (this.stage.scale * seconds * this.speed());
    return [(x1 - x0) * factor, (y0 - y1) * factor];
  }

  key(button, event) {
    const way = KEYS[event.key];
    if (!way || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const { part } = button;
    const step = niceBelow(this.stage.size / 40) * (event.shiftKey ? 5 : 1);
    if (!button.moving) {
      this.begin();
      const weights = part.points.map(() => 1 / part.points.length);
      button.moving = {
        index: part.index,
        weights,
        t: this.stage.time,
        to: this.stage.world(...middle(part.points)),
      };
    }
    const { moving } = button;
    moving.to = [moving.to[0] + way[0] * step, moving.to[1] + way[1] * step];
    this.edit(this.grip(moving), true);
  }

  put(button) {
    if (!button.moving) return;
    this.edit(this.grip(button.moving), false);
    button.moving = null;
    this.end(false);
  }

  // A pinch of a touchpad comes as a wheel with Ctrl; the wheel alone scrolls the page.
  zoom(event) {
    if (!event.ctrlKey) return;
    event.preventDefault();
    this.stage.zoomed(Math.exp(-event.deltaY / 300), ...this.at(event));
  }
}

// A pointer that rests sends nothing: between two of its places it moved evenly.
function whereAt(time, trail) {
  const next = trail.findIndex(([t]) => t >= time);
  if (next <= 0) return trail.at(next);
  const [[ta, ...a], [tb, ...b]] = [trail[next - 1], trail[next]];
  const part = (time - ta) / (tb - ta);
  return [time, ...a.map((value, k) => value + part * (b[k] - value))];
}

function middle(points) {
  const sum = points.reduce(([a, b], [x, y]) => [a + x, b + y], [0, 0]);
  return [sum[0] / points.length, sum[1] / points.length];
}

// From a point to a shape, in pixels; 0 inside.
function distance({ item, points }, [x, y], scale) {
  if (item.kind === "circle") {
    return Math.max(0, Math.hypot(x - points[0][0], y - points[0][1]) - item.radius * scale);
  }
  if (item.closed && inside(points, x, y)) return 0;
  let least = Infinity;
  for (let k = 0; k + 1 < points.length; k++) {
    const part = along(points[k], points[k + 1], x, y);
    const [px, py] = [0, 1].map((i) => points[k][i] + part * (points[k + 1][i] - points[k][i]));
    least = Math.min(least, Math.hypot(x - px, y - py));
  }
  return least;
}

function inside(points, x, y) {
  let odd = false;
  for (let i = 0, j = points.length - 1; i < points.length; j = i++) {
    const [[ax, ay], [bx, by]] = [points[i], points[j]];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) odd = !odd;
  }
  return odd;
}

function along([ax, ay], [bx, by], x, y) {
  const square = (bx - ax) ** 2 + (by - ay) ** 2;
  return square
    ? Math.min(1, Math.max(0, ((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / square))
    : 0;
}

// A point of a shape as a mean of the shape's points: of a polygon by a triangle of them, so it
// stays in its place on a body that turns; of a line by the ends of the nearest piece.
function parts({ item, points }, [x, y]) {
  const weights = points.map(() => 0);
  if (item.closed && points.length >= 3) {
    const [a, b] = [points[0], points[1]];
    const area = (c) => (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
    let third = 2;
    for (let k = 3; k < points.length; k++) {
      if (Math.abs(area(points[k])) > Math.abs(area(points[third]))) third = k;
    }
    const c = points[third];
    const whole = area(c);
    if (Math.abs(whole) > 1) {
      const u = ((x - a[0]) * (c[1] - a[1]) - (y - a[1]) * (c[0] - a[0])) / whole;
      const v = ((b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0])) / whole;
      [weights[0], weights[1], weights[third]] = [1 - u - v, u, v];
      return weights;
    }
  }
  let [least, at, share] = [Infinity, 0, 0];
  for (let k = 0; k + 1 < points.length; k++) {
    const part = along(points[k], points[k + 1], x, y);
    const [px, py] = [0, 1].map((i) => points[k][i] + part * (points[k + 1][i] - points[k][i]));
    const away = Math.hypot(x - px, y - py);
    if (away < least) [least, at, share] = [away, k, part];
  }
  weights[at] = 1 - share;
  weights[at + 1] = share;
  return weights;
}
