// Numbers on a slider: positions, steps and how a value is written.

// Prefixes of units, in ascending order. An m is one only in front of a unit: alone it is metres.
const PREFIXES = { p: 1e-12, n: 1e-9, µ: 1e-6, m: 1e-3, k: 1e3, M: 1e6, G: 1e9 };
const SPELT = { u: "µ", "\u03bc": "µ" };
const TAKES = /^(m|s|N|V|A|F|H|Ω|Pa|J|W|Hz|C)(?![a-z²³⁴])/; // ... in front of such a unit
const SMALL = /^(s|V|A|F|H|C)$/; // below a millionth too

// A number that came as float32 has seven digits.
export function seven(value) {
  return Number(value.toPrecision(7));
}

// Seven digits, with a power of ten where zeros would only fill the field: 1e12, not 1000000000000.
export function shown(value) {
  if (typeof value !== "number" || !Number.isFinite(value)) return String(value ?? "");
  const near = seven(value);
  const [plain, power] = [String(near), near.toExponential().replace("e+", "e")];
  return plain.length > 8 && power.length < plain.length ? power : plain;
}

// A number far from one with the prefix of its unit, 3.2 mm, 47 µF; null for all others.
export function prefixed(value, unit = "") {
  if (typeof value !== "number" || !TAKES.test(unit)) return null;
  const near = seven(value);
  const size = Math.abs(near);
  const least = SMALL.test(unit) ? 1e-12 : 1e-6;
  if (!((size >= least && size < 1e-2) || (size >= 1e4 && size < 1e12))) return null;
  const [name, factor] = Object.entries(PREFIXES).findLast(([, one]) => size >= 0.9999999 * one);
  return `${Number((near / factor).toPrecision(7))} ${name}${unit}`;
}

// A number with its unit: 9.81 m/s², 47 µF.
export function quantity(value, unit = "") {
  return prefixed(value, unit) ?? [shown(value), unit].filter(Boolean).join(" ");
}

// What a plot says of a point in the same way: plotly's s writes 0.0032 m as 3.2mm.
export function readOut(template) {
  return template?.replace(/\.(\d)g\} (\S+?)(?=<|$)/g, (whole, digits, unit) =>
    TAKES.test(unit) ? `.${digits}~s}${unit}` : whole,
  );
}

// By what numbers up to `largest` are multiplied, and the prefix that their unit then has: behind
// a unit m is never read as metres.
export function prefixOf(largest, unit) {
  if (!TAKES.test(unit) || !(largest > 0) || (largest >= 0.1 && largest < 1e5)) return [1, ""];
  const power = clamp(3 * Math.floor(Math.log10(largest) / 3 + 1e-9), -12, 9);
  const name = { ...PREFIXES, m: 1e-3, "": 1 };
  return [
    10 ** -power,
    Object.keys(name).find((one) => Math.abs(name[one] / 10 ** power - 1) < 1e-6),
  ];
}

// What a person typed: a plain number becomes a number, also with its unit, or a prefix, or both
// behind it; anything else goes to the kernel verbatim. An m counts as a prefix before the unit only.
export function typedValue(text, unit = "") {
  const whole = text.trim().replace(/\u2212/g, "-");
  const named = Boolean(unit) && whole.endsWith(unit);
  const [, plain, prefix] = (named ? /^(.*?)\s*([pnµuμmkMG]?)$/ : /^(.*?)\s*([pnµuμkMG]?)$/).exec(
    named ? whole.slice(0, -unit.length).trimEnd() : whole,
  );
  const factor = prefix ? PREFIXES[SPELT[prefix] ?? prefix] : 1;
  const known =
    /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(plain) && (!prefix || TAKES.test(unit));
  const number = known ? (prefix ? tidy(Number(plain) * factor) : Number(plain)) : NaN;
  return Number.isFinite(number) ? number : text.trim(); // JSON has no infinity: 1e400 stays text
}

// 1, 2 or 5 times a power of ten, at most x.
export function niceBelow(x) {
  const power = 10 ** Math.floor(Math.log10(x));
  const digit = x / power;
  return power * (digit >= 5 ? 5 : digit >= 2 ? 2 : 1);
}

export const clamp = (value, low, high) => Math.min(high, Math.max(low, value));
export const nearest = (values, x) =>
  values.reduce((best, one, k) => (Math.abs(one - x) < Math.abs(values[best] - x) ? k : best), 0);
export const tidy = (value) => Number(value.toPrecision(12)); // 0.30000000000000004 -> 0.3

export class Scale {
  constructor({ low, high, log, integer, step, stops }) {
    this.log = Boolean(log) && low > 0;
    this.low = low;
    this.high = high;
    this.integer = Boolean(integer);
    this.stops = stops; // if no other values are known, in ascending order
    const span = high - low || 1;
    this.step = step ?? (this.integer ? Math.max(1, Math.round(span / 100)) : niceBelow(span / 80));
    // A drag moves in finer steps than a key, yet still lands on short numbers; a step that was
    // chosen is that of both, counted from where the range begins.
    this.from = step === undefined ? 0 : low;
    this.grain =
      this.integer && step === undefined ? 1 : (step ?? Math.min(this.step, niceBelow(span / 400)));
  }

  position(value) {
    return this.log ? Math.log10(clamp(value, this.low, this.high)) : value;
  }

  get ends() {
    return [this.position(this.low), this.position(this.high)];
  }

  round(value) {
    if (this.stops)
      return this.stops[
        nearest(
          this.stops.map((one) => this.position(one)),
          this.position(value),
        )
      ];
    const near =
      this.log && !this.integer
        ? Number(value.toPrecision(3))
        : tidy(this.from + Math.round((value - this.from) / this.grain) * this.grain);
    return clamp(near, this.low, this.high);
  }

  value(position) {
    return this.round(this.log ? 10 ** position : position);
  }

  fraction(value) {
    const [from, to] = this.ends;
    return clamp((this.position(value) - from) / (to - from || 1), 0, 1);
  }

  // `count` key steps from a value, which need not lie on the grid.
  move(value, count) {
    const [from, to] = this.ends;
    if (this.stops)
      return this.stops[clamp(nearest(this.stops, value) + count, 0, this.stops.length - 1)];
    if (!this.log) return clamp(tidy(value + count * this.step), this.low, this.high);
    const moved = this.round(10 ** (this.position(value) + (count * (to - from)) / 100));
    if (!this.integer || moved !== value) return moved;
    return clamp(value + Math.sign(count), this.low, this.high);
  }
}
