// The mechanism at the cursor's time, on a canvas: equal aspect, sharp on hi-dpi screens.

import { fit, lastIndex, lowered, make } from "./dom.js";
import { clamp, niceBelow, quantity } from "./scale.js";
import { DASHES } from "./pins.js";
import { ELEMENTS, isLit, springInk, zigzag } from "./schematic.js";
import { onGround } from "./theme.js";

const MARGIN = 16;
const ROLES = [
  "trace",
  "fixed",
  "wire",
  "part",
  "blade",
  "link",
  "node",
  "lamp",
  "spring",
  "body",
  "mark",
  "point",
  "arrow",
];
const ROOM = 26; // px above and below, at least, for the scales and what is switched on and off

export class Stage {
  constructor(canvas, theme) {
    this.canvas = canvas;
    this.theme = theme;
    this.pen = canvas.getContext("2d");
    this.time = 0;
    this.margin = MARGIN;
    this.images = new Map();
  }

  take(mechanism) {
    this.mechanism = mechanism;
    for (const item of mechanism?.items ?? []) if (item.label) item.label = lowered(item.label);
    const before = this.layers?.node.hidden;
    this.layers?.take(mechanism);
    if (this.foot === undefined || this.layers?.node.hidden !== before) this.measure();
    this.draw();
  }

  // Buttons for a thumb are higher than those for a mouse: what stands below the mechanism.
  measure() {
    const { node } = this.layers ?? {};
    this.foot = !node || node.hidden ? 0 : Math.max(ROOM, (node.offsetHeight ?? 0) + 4);
  }

  resize() {
    this.measure();
    const { clientWidth, clientHeight } = this.canvas.parentNode;
    [this.width, this.height] = [clientWidth, clientHeight];
    const ratio = fit(this.canvas, clientWidth, clientHeight);
    this.pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.draw();
  }

  draw(time = this.time) {
    this.time = time;
    const { pen, mechanism, width, height } = this;
    if (!mechanism || !width || !height) return;
    pen.clearRect(0, 0, width, height);
    const [left, right, bottom, top] = this.held ?? mechanism.box;
    const head = this.foot ? ROOM : 0;
    const foot = this.foot ?? 0;
    const fitting = Math.min(
      (width - 2 * this.margin) / (right - left || 1),
      (height - 2 * this.margin - head - foot) / (top - bottom || 1),
    );
    const {
      size: zoom,
      x: mx,
      y: my,
    } = this.window ?? { size: 1, x: (left + right) / 2, y: (bottom + top) / 2 };
    const scale = fitting * zoom;
    this.centre = (height + head - foot) / 2;
    const [x0, y0] = [width / 2 - scale * mx, this.centre + scale * my];
    this.scale = scale;
    this.size = Math.max(right - left, top - bottom);
    this.place = (x, y) => [x0 + scale * x, y0 - scale * y];
    this.world = (px, py) => [(px - x0) / scale, (y0 - py) / scale];
    const parts = this.parts(mechanism, mechanism);
    for (const part of parts) if (part.item.role === "ground") this.ground(part.points);
    for (const ghost of mechanism.ghosts ?? []) this.ghost(mechanism, ghost);
    this.layers?.below(mechanism, parts);
    for (const role of ROLES) {
      for (const part of parts) {
        if (part.item.role !== role) continue;
        if (ELEMENTS[role]) ELEMENTS[role](this, part);
        else this[role](part);
      }
    }
    for (const part of parts) if (part.item.label) this.label(part);
    this.layers?.above(mechanism, parts);
    if (mechanism.unit) this.ruler(mechanism);
    this.onDraw?.(parts);
  }

  // Whether a layer that can be switched off is shown.
  shows(layer) {
    return this.layers?.on?.has(layer) ?? true;
  }

  // While something is dragged the picture keeps its scale, though the run goes elsewhere.
  hold(on) {
    this.held = on ? [...this.mechanism.box] : null;
  }

  // Larger by a factor around a pixel; null: all of it again.
  zoomed(factor, px, py) {
    if (!this.world) return;
    const { width } = this;
    if (factor === null) this.window = null;
    else {
      const size = clamp((this.window?.size ?? 1) * factor, 1, 200);
      const [x, y] = this.world(px, py);
      const scale = (this.scale * size) / (this.window?.size ?? 1);
      this.window =
        size === 1
          ? null
          : { size, x: x - (px - width / 2) / scale, y: y + (py - this.centre) / scale };
    }
    this.draw();
  }

  // The last frame up to the time.
  frame({ t }) {
    return lastIndex(t, this.time);
  }

  // All numbers of a frame, or part of the way to the next one, in m.
  numbers(run, i, part = 0) {
    const { t, xy, moving } = run;
    const now = Float64Array.from(run.still);
    const [a, b] = [i * moving.length, Math.min(i + 1, t.length - 1) * moving.length];
    for (let k = 0; k < moving.length; k++)
      now[moving[k]] = xy[a + k] + part * (xy[b + k] - xy[a + k]);
    return now;
  }

  // The middle of an item in a frame, in m.
  middle(run, { item, first }, i) {
    const now = this.numbers(run, i);
    let [x, y] = [0, 0];
    for (let k = first; k < first + 2 * item.n; k += 2)
      [x, y] = [x + now[k] / item.n, y + now[k + 1] / item.n];
    return [x, y];
  }

  // The points of each item at this time, in pixels.
  parts(mechanism, run) {
    const { t } = run;
    const i = this.frame(run);
    const j = Math.min(i + 1, t.length - 1);
    const part = t[j] > t[i] ? clamp((this.time - t[i]) / (t[j] - t[i]), 0, 1) : 0;
    const now = this.numbers(run, i, part);
    let at = 0;
    return mechanism.items.map((item, index) => {
      const [points, first] = [[], at];
      for (let k = 0; k < item.n; k++, at += 2) points.push(this.place(now[at], now[at + 1]));
      return { item, index, first, points };
    });
  }

  path(points, closed, pen = this.pen) {
    pen.beginPath();
    for (const [i, [x, y]] of points.entries()) {
      if (i) pen.lineTo(x, y);
      else pen.moveTo(x, y);
    }
    if (closed) pen.closePath();
  }

  stroke(colour, width, pen = this.pen) {
    Object.assign(pen, {
      strokeStyle: colour,
      lineWidth: width * (this.theme.thick ?? 1),
      lineCap: "round",
      lineJoin: "round",
    });
    pen.stroke();
  }

  outline({ item, points }) {
    if (item.kind === "circle") {
      this.pen.beginPath();
      this.pen.arc(...points[0], Math.max(item.radius * this.scale, 2), 0, 2 * Math.PI);
    } else this.path(points, item.closed);
  }

  body(part) {
    const solid = part.item.kind === "circle" || part.item.closed;
    this.outline(part);
    if (solid) {
      this.pen.globalAlpha = 0.85;
      this.pen.fillStyle = this.theme.body;
      this.pen.fill();
      this.pen.globalAlpha = 1;
    }
    this.stroke(this.theme.body, solid ? 1.5 : 4);
  }

  link(part) {
    this.outline(part);
    this.stroke(this.theme.muted, 2);
  }

  // A solid that does not move.
  fixed(part) {
    this.outline(part);
    this.pen.globalAlpha = 0.35;
    this.pen.fillStyle = this.theme.muted;
    this.pen.fill();
    this.pen.globalAlpha = 1;
    this.stroke(this.theme.text, 1.5);
  }

  // A line on a body, by which its turn is seen.
  mark(part) {
    this.outline(part);
    this.stroke(this.theme.paper, 2);
  }

  node(part) {
    this.link(part);
  }

  trace(part) {
    this.outline(part);
    this.stroke(this.theme.border, 1);
  }

  // A direction: its head is as large on every screen.
  arrow({ points: [[ax, ay], [bx, by]] }) {
    const turn = Math.atan2(by - ay, bx - ax);
    const barb = (side) => [bx - 9 * Math.cos(turn + side), by - 9 * Math.sin(turn + side)];
    this.path(
      [
        [ax, ay],
        [bx, by],
      ],
      false,
    );
    this.stroke(this.theme.text, 1.5);
    this.path([barb(0.45), [bx, by], barb(-0.45)], false);
    this.stroke(this.theme.text, 1.5);
  }

  spring({ item, points }, ink = springInk(this, item)) {
    for (let k = 0; k + 1 < points.length; k++) {
      this.path(zigzag(points[k], points[k + 1]), false);
      this.stroke(...ink);
    }
  }

  // Another run, in the tone and with the dash that its curves have.
  ghost(mechanism, run) {
    const { pen } = this;
    const colour = onGround(run.colour, this.theme);
    pen.globalAlpha = 0.65;
    for (const part of this.parts(mechanism, run)) {
      if (!["body", "link", "spring", "node", "point"].includes(part.item.role)) continue;
      if (part.item.role === "spring") this.spring(part, [colour, 1.2]);
      else {
        pen.setLineDash(DASHES[run.dash] ?? []);
        this.outline(part);
        this.stroke(colour, 1.8);
        pen.setLineDash([]);
      }
    }
    pen.globalAlpha = 1;
  }

  // A line, hatched on the right of its direction: the side that is solid.
  ground(points) {
    this.path(points, false);
    this.stroke(this.theme.text, 1.5);
    this.pen.beginPath();
    for (let k = 0; k + 1 < points.length; k++) {
      const [[ax, ay], [bx, by]] = [points[k], points[k + 1]];
      const length = Math.hypot(bx - ax, by - ay);
      if (!(length > 0)) continue;
      const [ux, uy] = [(bx - ax) / length, (by - ay) / length];
      for (let s = 4; s < length; s += 8) {
        const [x, y] = [ax + ux * s, ay + uy * s];
        this.pen.moveTo(x, y);
        this.pen.lineTo(x - 6 * ux - 6 * uy, y - 6 * uy + 6 * ux);
      }
    }
    this.stroke(this.theme.muted, 1);
  }

  font(size) {
    return `${size * this.theme.scale}px ${this.theme.font}`;
  }

  // A name in the middle of a body that has room for it, otherwise above it; a text where it is, smaller
  // where little is kept free for it, but never squashed.
  label({ item, index, points }) {
    const { theme } = this;
    const [xs, ys] = [0, 1].map((k) => points.map((point) => point[k]));
    const [left, right, top, bottom] = [
      Math.min(...xs),
      Math.max(...xs),
      Math.min(...ys),
      Math.max(...ys),
    ];
    const round = item.kind === "circle" ? item.radius * this.scale : 0;
    const free = item.kind === "text";
    const usual = measured(item.label, this.font(12));
    const part = free && right > left ? (right - left) / usual : 1; // of it has room
    const font = this.font(clamp(Math.floor(12 * part), 9, 12));
    const own = measured(item.label, font);
    const inside = (2 * round || (item.closed ? right - left : 0)) > own + 6;
    const ink =
      inside && item.role === "body" ? theme.paper : isLit(this, item) ? "#000" : theme.text;
    const [wide, high] = [own + 8, 24];
    const what = [item.label, font, ink, theme.paper, inside];
    const image = this.kept(`label ${index}`, what, wide, high, (pen) => {
      Object.assign(pen, {
        font,
        textBaseline: "middle",
        fillStyle: ink,
        strokeStyle: theme.paper,
        lineWidth: 3,
        lineJoin: "round",
      });
      if (!inside) pen.strokeText(item.label, 4, high / 2);
      pen.fillText(item.label, 4, high / 2);
    });
    const x = free ? Math.min(left - 4, Math.max(this.width - wide, 0)) : (left + right - wide) / 2;
    const y = inside ? (top + bottom) / 2 : top - round - (free ? 0 : 11);
    this.pen.drawImage(image, x, y - high / 2, wide, high);
  }

  // What is written seldom is kept as an image: setting a canvas's font makes the browser resolve
  // every style of the page, at each frame.
  kept(name, what, wide, high, draw) {
    const ratio = this.ratio ?? (window.devicePixelRatio || 1);
    const key = [...what, ratio].join();
    const before = this.images.get(name);
    if (before?.key === key) return before.image;
    const image = make("canvas", {
      width: Math.ceil(ratio * wide),
      height: Math.ceil(ratio * high),
    });
    const pen = image.getContext("2d");
    pen.scale(ratio, ratio);
    draw(pen);
    this.images.set(name, { key, image });
    return image;
  }

  // How long is a metre? A bar in the corner.
  ruler(mechanism) {
    const length = niceBelow((0.3 * this.width) / this.scale);
    const pixels = length * this.scale;
    const what = [length, pixels.toFixed(1), this.theme.muted, this.font(11), mechanism.unit];
    const [wide, high] = [pixels + 120 * this.theme.scale, 30];
    const image = this.kept("ruler", what, wide, high, (pen) => {
      const [x, y] = [10, 20];
      const colour = this.theme.muted;
      Object.assign(pen, { strokeStyle: colour, fillStyle: colour, font: this.font(11) });
      for (const [to, at] of [
        ["moveTo", [x, y - 3]],
        ["lineTo", [x, y]],
        ["lineTo", [x + pixels, y]],
        ["lineTo", [x + pixels, y - 3]],
      ])
        pen[to](...at);
      pen.stroke();
      pen.fillText(quantity(length, mechanism.unit ?? ""), x + pixels + 6, y + 1);
    });
    this.pen.drawImage(image, 0, 0, wide, high);
  }
}

const widths = new Map();

// The width of a text in px: measured once, on a canvas of its own.
function measured(text, font) {
  const key = `${font} ${text}`;
  if (!widths.has(key)) {
    const pen = make("canvas").getContext("2d");
    pen.font = font;
    widths.set(key, pen.measureText(text).width);
  }
  return widths.get(key);
}
