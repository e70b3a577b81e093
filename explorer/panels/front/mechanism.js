// The mechanism at the cursor's time, on a canvas: equal aspect, sharp on hi-dpi screens.

import { fit, lastIndex, make } from "./dom.js";
import { clamp, niceBelow, quantity } from "./scale.js";

const MARGIN = 16;

export class Stage {
  constructor(canvas, theme) {
    this.canvas = canvas;
    this.theme = theme;
    this.pen = canvas.getContext("2d");
    this.time = 0;
  }

  take(mechanism) {
    this.mechanism = mechanism;
    this.draw();
  }

  resize() {
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
    const [left, right, bottom, top] = mechanism.box;
    const scale = Math.min(
      (width - 2 * MARGIN) / (right - left || 1), (height - 2 * MARGIN) / (top - bottom || 1),
    );
    const x0 = width / 2 - (scale * (left + right)) / 2;
    const y0 = height / 2 + (scale * (bottom + top)) / 2;
    this.scale = scale;
    this.place = (x, y) => [x0 + scale * x, y0 - scale * y];
    const parts = this.parts(mechanism, mechanism);
    for (const part of parts) if (part.item.role === "ground") this.ground(part.points);
    if (mechanism.ghost) this.ghost(mechanism);
    for (const role of ["trace", "link", "spring", "body", "arrow"]) {
      for (const part of parts) if (part.item.role === role) this[role](part);
    }
    for (const { item, points } of parts) if (item.label) this.label(item.label, points[0]);
    this.ruler(mechanism);
  }

  // The points of each item at this time, in pixels.
  parts(mechanism, run) {
    const { t, xy } = run;
    const size = mechanism.items.reduce((sum, item) => sum + item.n, 0) * 2;
    const i = lastIndex(t, this.time);
    const j = Math.min(i + 1, t.length - 1);
    const part = t[j] > t[i] ? clamp((this.time - t[i]) / (t[j] - t[i]), 0, 1) : 0;
    let at = 0;
    return mechanism.items.map((item) => {
      const points = [];
      for (let k = 0; k < item.n; k++, at += 2) {
        const [a, b] = [i * size + at, j * size + at];
        points.push(
          this.place(xy[a] + part * (xy[b] - xy[a]), xy[a + 1] + part * (xy[b + 1] - xy[a + 1])),
        );
      }
      return { item, points };
    });
  }

  path(points, closed) {
    this.pen.beginPath();
    for (const [i, [x, y]] of points.entries()) {
      if (i) this.pen.lineTo(x, y);
      else this.pen.moveTo(x, y);
    }
    if (closed) this.pen.closePath();
  }

  stroke(colour, width) {
    Object.assign(this.pen, {
      strokeStyle: colour, lineWidth: width, lineCap: "round", lineJoin: "round",
    });
    this.pen.stroke();
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

  trace(part) {
    this.outline(part);
    this.stroke(this.theme.border, 1);
  }

  // A direction: its head is as large on every screen.
  arrow({ points: [[ax, ay], [bx, by]] }) {
    const turn = Math.atan2(by - ay, bx - ax);
    const barb = (side) => [bx - 9 * Math.cos(turn + side), by - 9 * Math.sin(turn + side)];
    this.path([[ax, ay], [bx, by]], false);
    this.stroke(this.theme.text, 1.5);
    this.path([barb(0.45), [bx, by], barb(-0.45)], false);
    this.stroke(this.theme.text, 1.5);
  }

  spring({ points }) {
    for (let k = 0; k + 1 < points.length; k++) {
      this.path(zigzag(points[k], points[k + 1]), false);
      this.stroke(this.theme.muted, 1.5);
    }
  }

  ghost(mechanism) {
    this.pen.globalAlpha = 0.35;
    for (const part of this.parts(mechanism, mechanism.ghost)) {
      if (["ground", "trace", "arrow"].includes(part.item.role)) continue;
      if (part.item.role === "spring") this.spring(part);
      else {
        this.outline(part);
        this.stroke(this.theme.muted, 2);
      }
    }
    this.pen.globalAlpha = 1;
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

  label(text, [x, y]) {
    Object.assign(this.pen, { font: this.font(12), fillStyle: this.theme.text });
    this.pen.textAlign = "center";
    this.pen.fillText(text, x, y - 10);
  }

  // How long is a metre? A bar in the corner. Kept as an image: setting a canvas's font makes the
  // browser resolve every style of the page, at each frame.
  ruler(mechanism) {
    const length = niceBelow((0.3 * this.width) / this.scale);
    const pixels = length * this.scale;
    const ratio = window.devicePixelRatio || 1;
    const key = [length, pixels.toFixed(1), this.theme.muted, this.font(11), mechanism.unit, ratio].join();
    if (key !== this.rulerKey) {
      this.rulerKey = key;
      this.rulerImage = make("canvas", { width: ratio * (pixels + 120), height: ratio * 30 });
      const pen = this.rulerImage.getContext("2d");
      pen.scale(ratio, ratio);
      const [x, y] = [10, 20];
      const colour = this.theme.muted;
      Object.assign(pen, { strokeStyle: colour, fillStyle: colour, font: this.font(11) });
      for (const [to, at] of [["moveTo", [x, y - 3]], ["lineTo", [x, y]],
        ["lineTo", [x + pixels, y]], ["lineTo", [x + pixels, y - 3]]]) pen[to](...at);
      pen.stroke();
      pen.fillText(quantity(length, mechanism.unit ?? ""), x + pixels + 6, y + 1);
    }
    const { width, height } = this.rulerImage;
    this.pen.drawImage(this.rulerImage, 0, 0, width / ratio, height / ratio);
  }
}

function zigzag([ax, ay], [bx, by]) {
  const [dx, dy] = [bx - ax, by - ay];
  const length = Math.hypot(dx, dy) || 1;
  const [nx, ny] = [(-dy / length) * 6, (dx / length) * 6];
  const coils = 12; // a fixed number: the zigzag stretches as a spring does
  const points = [[ax, ay]];
  for (let k = 1; k < coils; k++) {
    const s = 0.1 + (0.8 * (k - 0.5)) / (coils - 1);
    const side = k % 2 ? 1 : -1;
    points.push([ax + s * dx + side * nx, ay + s * dy + side * ny]);
  }
  points.splice(1, 0, [ax + 0.08 * dx, ay + 0.08 * dy]);
  points.push([ax + 0.92 * dx, ay + 0.92 * dy], [bx, by]);
  return points;
}
