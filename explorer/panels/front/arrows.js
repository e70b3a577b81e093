// What contacts do, on the mechanism: forces and impulses as arrows to scale, the cone of friction, a
// mark that tells by its shape whether a contact sticks or slides, a flash at an impact; and the
// velocities and trails of bodies. Each can be switched off.

import { lastIndex, make, setText } from "./dom.js";
import { clamp, niceBelow, quantity } from "./scale.js";
import { springColour } from "./schematic.js";

const LAYERS = [
  // name, what it says, whether it is on at first
  [
    "forces",
    "Forces",
    "Contact forces, and whether a contact sticks (square), slides (triangle) or is closed (dot)",
    true,
  ],
  [
    "springs",
    "Springs",
    "Forces of springs: orange is pulled, blue is pressed, grey is at rest",
    true,
  ],
  ["currents", "Currents", "What flows: arrows move as it does, wider is more", true],
  ["impacts", "Impacts", "Impulses of impacts, as they happen", true],
  ["velocity", "Velocity", "Velocities of bodies", false],
  ["trail", "Trail", "Where bodies have been", false],
];
// numbers of a force: frame, contact, what it does, x, y, normal force x, y, friction x, y, mu
const [DOES, X, Y, NX, NY, FX, FY, MU, WIDE] = [2, 3, 4, 5, 6, 7, 8, 9, 10];
const HIT = 6; // numbers of an impact: time, contact, x, y, impulse x, y
const STICKS = 2;
const CLOSED = 3;
const LONGEST = 0.26; // of the smaller side of the picture
const SHORTEST = 7; // px: a shorter arrow is none
const FADES = 0.35; // s of the screen
const MOST = 8; // bodies with a trail or a velocity
const COLOURS = { force: "#D55E00", impulse: "#CC79A7", speed: "#009E73" };

export class Arrows {
  constructor(stage, speed) {
    Object.assign(this, {
      stage,
      speed,
      on: new Set(LAYERS.filter((one) => one[3]).map(([name]) => name)),
    });
    this.buttons = new Map(
      LAYERS.map(([name, says, title]) => [
        name,
        make(
          "button",
          {
            type: "button",
            class: "nsx-layer",
            title,
            "aria-pressed": String(this.on.has(name)),
            on: { click: () => this.toggle(name) },
          },
          says,
        ),
      ]),
    );
    this.node = make(
      "div",
      { class: "nsx-layers", role: "group", "aria-label": "Shown in the mechanism" },
      ...this.buttons.values(),
    );
  }

  toggle(name) {
    if (!this.on.delete(name)) this.on.add(name);
    this.buttons.get(name).setAttribute("aria-pressed", String(this.on.has(name)));
    this.stage.draw();
  }

  // Which of them have something to show.
  take(mechanism) {
    const { arrows, unit } = mechanism ?? {};
    const moves = mechanism?.moving.length > 0 && unit === "m";
    const shows = (role) => !!mechanism?.items.some((item) => item.role === role && item.most > 0);
    const has = {
      springs: shows("spring"),
      currents: shows("wire"),
      forces: arrows?.forces.length > 0,
      impacts: arrows?.impulses.length > 0,
      velocity: moves,
      trail: moves,
    };
    for (const [name, button] of this.buttons) button.hidden = !has[name];
    const wires = mechanism?.items.filter(({ role }) => role === "wire") ?? [];
    setText(
      this.buttons.get("currents"),
      wires.every((one) => one.unit === "A") ? "Currents" : "Flow",
    );
    this.node.hidden = !Object.values(has).some(Boolean);
  }

  // Under the bodies: where they have been.
  below(mechanism, parts) {
    if (!this.on.has("trail")) return;
    const { stage } = this;
    const { t } = mechanism;
    const now = stage.frame(mechanism);
    const from = t.findIndex((time) => time >= stage.time - (t[t.length - 1] - t[0]) / 4);
    for (const part of bodies(parts)) {
      const path = [];
      for (let i = from; i <= now; i++) path.push(stage.place(...stage.middle(mechanism, part, i)));
      path.push(middle(part.points));
      stage.path(path, false);
      stage.stroke(stage.theme.muted, 1);
    }
  }

  above(mechanism, parts) {
    const { arrows } = mechanism;
    if (arrows?.force && this.on.has("forces")) {
      this.forces(arrows, this.stage.frame(mechanism));
      this.key("force", arrows.force, "N", 0);
    }
    if (arrows?.impulse && this.on.has("impacts")) {
      this.impacts(arrows, mechanism.t);
      this.key("impulse", arrows.impulse, "N s", 1);
    }
    if (this.on.has("velocity")) this.velocities(mechanism, parts);
    if (this.on.has("springs")) this.springs(mechanism);
  }

  // Pixels for a unit of a quantity whose largest value is given: 1, 2 or 5 times a power of ten.
  scaleFor(largest) {
    const { width, height } = this.stage;
    const round = 1 / niceBelow(1 / largest); // at least as much
    return (LONGEST * Math.min(width, height)) / round;
  }

  // Of the last frame up to this one at which they change.
  forces(arrows, frame) {
    const { stage } = this;
    const { forces, changes } = arrows;
    const at = changes[lastIndex(changes, frame)];
    const scale = this.scaleFor(arrows.force);
    for (let k = firstOf(forces, at); forces[k] === at; k += WIDE) {
      const row = forces.subarray(k, k + WIDE);
      const place = stage.place(row[X], row[Y]);
      const normal = [scale * row[NX], -scale * row[NY]];
      const friction = [scale * row[FX], -scale * row[FY]];
      if (row[MU] > 0) this.cone(place, normal, row[MU]);
      this.arrow(place, [normal[0] + friction[0], normal[1] + friction[1]], COLOURS.force);
      this.mark(place, friction, row[DOES]);
    }
  }

  cone([x, y], [nx, ny], mu) {
    const { pen, theme } = this.stage;
    const sides = [-mu, mu].map((side) => [x + nx + side * ny, y + ny - side * nx]);
    pen.beginPath();
    pen.moveTo(...sides[0]);
    pen.lineTo(x, y);
    pen.lineTo(...sides[1]);
    pen.globalAlpha = 0.12;
    pen.fillStyle = theme.text;
    pen.fill();
    pen.globalAlpha = 0.6;
    this.stage.stroke(theme.muted, 1);
    pen.globalAlpha = 1;
  }

  // A square sticks, a triangle points to where the body slides, a dot is closed.
  mark([x, y], [fx, fy], does) {
    const { pen, theme } = this.stage;
    const size = 5;
    pen.beginPath();
    if (does === STICKS) pen.rect(x - size + 0.5, y - size + 0.5, 2 * size - 1, 2 * size - 1);
    else if (does === CLOSED || (!fx && !fy)) pen.arc(x, y, size - 0.5, 0, 2 * Math.PI);
    else {
      const turn = Math.atan2(-fy, -fx);
      for (const [k, angle] of [0, 2.3, -2.3].entries()) {
        pen[k ? "lineTo" : "moveTo"](
          x + 1.5 * size * Math.cos(turn + angle),
          y + 1.5 * size * Math.sin(turn + angle),
        );
      }
      pen.closePath();
    }
    pen.fillStyle = COLOURS.force;
    pen.fill();
    this.stage.stroke(theme.paper, 1);
  }

  impacts(arrows, t) {
    const { stage } = this;
    const { pen } = stage;
    const fades = Math.max(FADES * this.speed(), (1.5 * (t[t.length - 1] - t[0])) / t.length);
    const scale = this.scaleFor(arrows.impulse);
    const { impulses } = arrows;
    for (let at = 0; at < impulses.length && impulses[at] <= stage.time + 1e-6 * fades; at += HIT) {
      const age = (stage.time - impulses[at]) / fades;
      if (age > 1) continue;
      const place = stage.place(impulses[at + 2], impulses[at + 3]);
      pen.globalAlpha = clamp(1 - age, 0, 1);
      pen.beginPath();
      pen.arc(...place, 6 + 16 * Math.max(age, 0), 0, 2 * Math.PI);
      stage.stroke(COLOURS.impulse, 2);
      this.arrow(place, [scale * impulses[at + 4], -scale * impulses[at + 5]], COLOURS.impulse);
      pen.globalAlpha = 1;
    }
  }

  // Of the frames on both sides; not across an impact.
  velocities(mechanism, parts) {
    const { stage } = this;
    const { t, arrows } = mechanism;
    const hits = arrows?.impulses ?? [];
    const among = (a, b) => {
      for (let at = 0; at < hits.length; at += HIT)
        if (hits[at] > a && hits[at] <= b) return hits[at];
      return null;
    };
    let i = Math.min(stage.frame(mechanism), t.length - 2);
    const hit = among(t[i], t[i + 1]);
    if (hit !== null) i += stage.time < hit ? -1 : 1;
    if (i < 0 || i + 1 >= t.length || !(t[i + 1] > t[i]) || among(t[i], t[i + 1]) !== null) return;
    const all = bodies(parts);
    const speeds = all.map((part) => {
      const [a, b] = [stage.middle(mechanism, part, i), stage.middle(mechanism, part, i + 1)];
      return [0, 1].map((k) => (b[k] - a[k]) / (t[i + 1] - t[i]));
    });
    const scale = this.scaleFor(this.fastest(mechanism, all));
    for (const [k, [vx, vy]] of speeds.entries()) {
      this.arrow(middle(all[k].points), [scale * vx, -scale * vy], COLOURS.speed);
    }
    this.key("speed", this.speediest, "m/s", 2);
  }

  // The largest speed of the run: the scale stays while it plays.
  fastest(mechanism, all) {
    if (this.measured === mechanism) return this.speediest;
    this.measured = mechanism;
    const { t } = mechanism;
    this.speediest = 1e-12;
    for (const part of all) {
      let before = this.stage.middle(mechanism, part, 0);
      for (let i = 1; i < t.length; i++) {
        const now = this.stage.middle(mechanism, part, i);
        const speed = Math.hypot(now[0] - before[0], now[1] - before[1]) / (t[i] - t[i - 1]);
        if (Number.isFinite(speed)) this.speediest = Math.max(this.speediest, speed);
        before = now;
      }
    }
    return this.speediest;
  }

  arrow([x, y], [dx, dy], colour, pen = this.stage.pen) {
    const { stage } = this;
    const length = Math.hypot(dx, dy);
    if (!(length >= SHORTEST)) return;
    const head = Math.min(10, 0.5 * length);
    const turn = Math.atan2(dy, dx);
    const [tx, ty] = [x + dx, y + dy];
    const barb = (side) => [tx - head * Math.cos(turn + side), ty - head * Math.sin(turn + side)];
    for (const [shade, wide] of [
      [stage.theme.paper, 5],
      [colour, 2.5],
    ]) {
      stage.path(
        [
          [x, y],
          [tx, ty],
        ],
        false,
        pen,
      );
      stage.stroke(shade, wide, pen);
      stage.path([barb(0.45), [tx, ty], barb(-0.45)], false, pen);
      stage.stroke(shade, wide, pen);
    }
  }

  // How large is the force of a spring? The two colours in the corner.
  springs(mechanism) {
    const { stage } = this;
    const one = mechanism.items.find((item) => item.role === "spring" && item.most > 0);
    if (!one) return;
    const { force, impulse } = mechanism.arrows ?? {};
    const line = this.on.has("velocity") ? 3 : impulse ? 2 : force ? 1 : 0; // below the other keys
    const { scale } = stage.theme;
    const said = `±${quantity(niceBelow(one.most), one.unit)}`;
    const [words, high] = [82 * scale, 18 * scale];
    const wide = words + 8 + 40;
    const image = stage.kept(
      "springs",
      [said, stage.theme.text, stage.font(11)],
      wide,
      high,
      (pen) => {
        Object.assign(pen, {
          font: stage.font(11),
          textAlign: "right",
          textBaseline: "middle",
          fillStyle: stage.theme.muted,
        });
        pen.fillText(said, words, high / 2);
        for (const [k, sign] of [-1, 1].entries()) {
          stage.path(
            [
              [words + 8 + 20 * k, high / 2],
              [words + 24 + 20 * k, high / 2],
            ],
            false,
            pen,
          );
          stage.stroke(springColour(stage.theme, sign), 3, pen);
        }
      },
    );
    stage.pen.drawImage(image, stage.width - wide - 10, 6 + high * line, wide, high);
  }

  // How long is a newton? Arrows in the corner.
  key(name, largest, unit, line) {
    const { stage } = this;
    const size = niceBelow(largest);
    const long = size * this.scaleFor(largest);
    const { scale } = stage.theme; // of words
    const [words, high] = [82 * scale, 18 * scale];
    const wide = words + 8 + long;
    const image = stage.kept(
      name,
      [size, long.toFixed(1), stage.theme.text, stage.font(11)],
      wide,
      high,
      (pen) => {
        Object.assign(pen, {
          font: stage.font(11),
          textAlign: "right",
          textBaseline: "middle",
          fillStyle: stage.theme.muted,
        });
        pen.fillText(quantity(size, unit), words, high / 2);
        this.arrow([words + 6, high / 2], [long, 0], COLOURS[name], pen);
      },
    );
    stage.pen.drawImage(image, stage.width - wide - 10, 6 + high * line, wide, high);
  }
}

function bodies(parts) {
  return parts.filter(({ item }) => item.role === "body").slice(0, MOST);
}

function middle(points) {
  const sum = points.reduce(([a, b], [x, y]) => [a + x, b + y], [0, 0]);
  return [sum[0] / points.length, sum[1] / points.length];
}

// Where the rows of a frame begin: they are sorted.
function firstOf(forces, frame) {
  let [low, high] = [0, forces.length / WIDE];
  while (low < high) {
    const between = (low + high) >> 1;
    if (forces[between * WIDE] < frame) low = between + 1;
    else high = between;
  }
  return low * WIDE;
}
