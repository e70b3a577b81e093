// Elements of schematics: what each shows is a number of the run, at the time of the picture.

import { lastIndex } from "./dom.js";

const SPACING = 26; // px between the arrows that move along a wire
const TURNS = 60; // spacings that the largest current moves them in the whole run
const LEAST = 1e-6; // of the largest: a current that is none
const FAINT = 0.03; // of the largest: no arrow is drawn
const OPEN = 0.5; // rad by which the blade of an open switch is lifted
const LIT = "#E69F00";
const PRESSED = { light: [0, 114, 178], dark: [86, 160, 255] };
const PULLED = { light: [213, 94, 0], dark: [255, 140, 60] };

// What an item shows: the value of the last frame, NaN if nobody knows it.
export function shown(stage, item) {
  const { values, t } = stage.mechanism;
  if (item.value === undefined || !values?.length) return Number.NaN;
  return values[lastIndex(t, stage.time) * (values.length / t.length) + item.value];
}

// The same, as a part of the largest one of the run.
export function part(stage, item) {
  return shown(stage, item) / (item.most || 1);
}

// How far the arrows of a wire have come, in spacings: the charge that has passed.
function passed(stage, item) {
  const { values, t } = stage.mechanism;
  stage.charges ??= new Map();
  if (stage.charged !== values) {
    stage.charges.clear();
    stage.charged = values;
  }
  const wide = values.length / t.length;
  let sums = stage.charges.get(item.value);
  if (!sums) {
    const scale = TURNS / ((item.most || 1) * (t[t.length - 1] - t[0] || 1));
    sums = new Float64Array(t.length);
    for (let i = 1; i < t.length; i++) {
      const mean = (values[(i - 1) * wide + item.value] + values[i * wide + item.value]) / 2;
      sums[i] = sums[i - 1] + scale * mean * (t[i] - t[i - 1]);
    }
    stage.charges.set(item.value, sums);
  }
  const i = lastIndex(t, stage.time);
  const j = Math.min(i + 1, t.length - 1);
  return t[j] > t[i]
    ? sums[i] + ((stage.time - t[i]) / (t[j] - t[i])) * (sums[j] - sums[i])
    : sums[i];
}

function wire(stage, { item, points }) {
  const { theme } = stage;
  const now = part(stage, item);
  const flows = stage.shows("currents") && Math.abs(now) > FAINT;
  stage.path(points, false);
  stage.stroke(
    flows ? tint(stage, Math.abs(now)) : theme.muted,
    flows ? 1.5 + 2.5 * Math.abs(now) : 1.5,
  );
  if (flows)
    chevrons(stage, points, (((passed(stage, item) % 1) + 1) % 1) * SPACING, Math.sign(now));
}

function tint(stage, size) {
  return mixed(rgb(stage.theme.muted), [230, 159, 0], 0.35 + 0.65 * Math.min(size, 1));
}

// Small arrows along a line, the first one so many px from its start.
function chevrons(stage, points, offset, way) {
  const { pen, theme } = stage;
  let next = offset;
  pen.beginPath();
  for (let k = 0; k + 1 < points.length; k++) {
    const [[ax, ay], [bx, by]] = [points[k], points[k + 1]];
    const length = Math.hypot(bx - ax, by - ay);
    const [ux, uy] = length > 0 ? [(way * (bx - ax)) / length, (way * (by - ay)) / length] : [0, 0];
    for (; next <= length; next += SPACING) {
      const [x, y] = [ax + way * ux * next, ay + way * uy * next];
      pen.moveTo(x - 4 * ux - 4.5 * uy, y - 4 * uy + 4.5 * ux);
      pen.lineTo(x + 3 * ux, y + 3 * uy);
      pen.lineTo(x - 4 * ux + 4.5 * uy, y - 4 * uy - 4.5 * ux);
    }
    next -= length;
  }
  stage.stroke(theme.text, 1.5);
}

// A part is filled while its value is positive: a diode that conducts.
function solid(stage, one) {
  const { pen, theme } = stage;
  stage.outline(one);
  if (one.item.closed) {
    pen.fillStyle = part(stage, one.item) > LEAST ? LIT : theme.paper;
    pen.fill();
  }
  stage.stroke(theme.text, 2);
}

// A lamp is as bright as its value; a line is lit in the same way.
function lamp(stage, one) {
  const { pen, theme } = stage;
  const bright = Math.min(Math.max(shown(stage, one.item), 0), 1) || 0;
  stage.outline(one);
  if (one.item.closed) {
    pen.fillStyle = theme.paper;
    pen.fill();
    pen.globalAlpha = bright;
    pen.fillStyle = LIT;
    pen.fill();
    pen.globalAlpha = 1;
    stage.stroke(theme.text, 1.5 + bright);
  } else stage.stroke(mixed(rgb(theme.muted), [230, 159, 0], bright), 1.5 + 2 * bright);
}

export function isLit(stage, item) {
  return item.role === "lamp" && shown(stage, item) > 0.5;
}

function blade(stage, { item, points: [[ax, ay], [bx, by]] }) {
  const turn = shown(stage, item) > 0.5 ? 0 : -OPEN;
  const [dx, dy] = [bx - ax, by - ay];
  const [cos, sin] = [Math.cos(turn), Math.sin(turn)];
  stage.path(
    [
      [ax, ay],
      [ax + cos * dx - sin * dy, ay + sin * dx + cos * dy],
    ],
    false,
  );
  stage.stroke(turn ? stage.theme.text : LIT, 3);
}

// A state in its space, with the way to it.
function point(stage, one) {
  const { mechanism, pen, theme } = stage;
  const now = stage.frame(mechanism);
  const way = [];
  for (let i = 0; i <= now; i++) way.push(stage.place(...stage.middle(mechanism, one, i)));
  way.push(one.points[0]);
  stage.path(way, false);
  pen.globalAlpha = 0.7;
  stage.stroke(theme.body, 1.5);
  pen.globalAlpha = 1;
  pen.beginPath();
  pen.arc(...one.points[0], 6, 0, 2 * Math.PI);
  pen.fillStyle = theme.body;
  pen.fill();
  stage.stroke(theme.paper, 1);
}

export const ELEMENTS = { wire, part: solid, lamp, blade, point };

// A spring that is pulled is orange, one that is pressed blue, at rest it has the colour of links.
export function springInk(stage, item) {
  const now = part(stage, item);
  if (!(Math.abs(now) > 0) || !stage.shows("springs")) return [stage.theme.muted, 1.5];
  return [springColour(stage.theme, now), 1.5 + 1.5 * Math.min(Math.abs(now), 1)];
}

// The colour of a force between -1 and 1.
export function springColour(theme, force) {
  const end = (force > 0 ? PULLED : PRESSED)[theme.dark ? "dark" : "light"];
  return mixed(rgb(theme.muted), end, Math.sqrt(Math.min(Math.abs(force), 1)));
}

function rgb(colour) {
  if (colour.startsWith("#")) {
    const hex =
      colour.length === 4 ? [...colour.slice(1)].map((x) => x + x).join("") : colour.slice(1);
    return [0, 2, 4].map((k) => Number.parseInt(hex.slice(k, k + 2), 16));
  }
  return (colour.match(/[\d.]+/g) ?? [128, 128, 128]).slice(0, 3).map(Number);
}

function mixed(from, to, share) {
  return `rgb(${from.map((x, k) => Math.round(x + share * (to[k] - x))).join(", ")})`;
}

export function zigzag([ax, ay], [bx, by]) {
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
