// The time cursor's clock and its bar: play, pause, speed, scrub. All in the browser.

import { icon, make, setText } from "./dom.js";
import { clamp, prefixOf } from "./scale.js";

const SPEEDS = [0.1, 0.25, 0.5, 1, 2, 4]; // times the usual one of a run
const [SHORT, LONG] = [0.5, 100]; // seconds of the screen in which a run can be followed at the speed of its own time
const SLOW = "slow"; // a choice of its own: slow motion around events
const [AROUND, SLOWLY] = [0.02, 0.1]; // of the span on both sides of an event, and how slow it is there
const APART = 1e-6; // of the span: the event at which the cursor stands is not the next one

export class Clock {
  constructor(onTime) {
    this.onTime = onTime;
    this.time = this.start = 0;
    this.end = 0;
    this.unit = "s";
    this.playing = false;
    this.usual = 1;
    this.instants = [];
    [this.before, this.after] = [
      [-1, "back", "Previous event (p)"],
      [1, "forth", "Next event (n)"],
    ].map(([way, name, title]) =>
      make(
        "button",
        {
          type: "button",
          class: "nsx-jump",
          title,
          "aria-label": title,
          on: { click: () => this.jump(way) },
        },
        icon(name),
      ),
    );
    this.button = make("button", {
      type: "button",
      class: "nsx-play",
      "aria-label": "Play",
      on: { click: () => this.toggle() },
    });
    this.range = make("input", {
      type: "range",
      class: "nsx-range nsx-scrub",
      "aria-label": "Time of the cursor",
      on: { input: () => this.seek(Number(this.range.value)) },
    });
    this.text = make("output", { class: "nsx-time", "aria-live": "off" });
    this.speed = make(
      "select",
      { class: "nsx-select nsx-speed", "aria-label": "Speed of playing", title: "Speed" },
      ...SPEEDS.map((one) => make("option", { value: one, selected: one === 1 }, `${one}\u00d7`)),
    );
    this.slow = make("option", { value: SLOW }, "1\u00d7, slow at events");
    this.speed.append(this.slow);
    this.node = make(
      "div",
      { class: "nsx-clock" },
      this.button,
      this.before,
      this.after,
      this.range,
      this.text,
      this.speed,
    );
    this.events([]);
    this.face();
  }

  // The span of a new picture. The cursor stays where it is, or at the end if the run is shorter.
  span(start, end) {
    if (!(end > start)) {
      this.node.hidden = true;
      return;
    }
    this.node.hidden = false;
    if (start !== this.start || end !== this.end) {
      [this.start, this.end] = [start, end];
      this.range.min = start;
      this.range.max = end;
      this.range.step = (end - start) / 1000;
    }
    [this.factor, this.prefix] = prefixOf(end, this.unit);
    this.pace(end - start);
    this.digits = clamp(3 - Math.floor(Math.log10((end - start) * this.factor)), 0, 6);
    this.seek(this.time);
  }

  // Milliseconds of a circuit would be over before they are seen, and days never: then all speeds are other
  // ones, by a power of ten.
  pace(length) {
    const usual =
      length < SHORT || length > LONG
        ? 10 ** Math.floor(Math.log10(length / (length < SHORT ? 2 : 10)))
        : 1;
    if (usual === this.usual) return;
    this.usual = usual;
    const said = (one) => `${Number((one * usual).toPrecision(3))}\u00d7`;
    for (const [k, one] of SPEEDS.entries()) setText(this.speed.options[k], said(one));
    setText(this.slow, `${said(1)}, slow at events`);
  }

  // The times at which something happens.
  events(instants) {
    this.instants = instants;
    for (const node of [this.before, this.after]) node.hidden = !instants.length;
    this.slow.hidden = this.slow.disabled = !instants.length;
    if (!instants.length && this.speed.value === SLOW) this.speed.value = 1;
  }

  // To the next event, or the one before.
  jump(way) {
    const least = APART * (this.end - this.start);
    const to =
      way > 0
        ? this.instants.find((t) => t > this.time + least)
        : this.instants.findLast((t) => t < this.time - least);
    if (to === undefined) return;
    this.toggle(false);
    this.seek(to);
  }

  // How many seconds of the run pass in one of the screen.
  get rate() {
    if (this.speed.value !== SLOW) return this.usual * Number(this.speed.value);
    const wide = AROUND * (this.end - this.start);
    return this.instants.some((t) => Math.abs(t - this.time) < wide)
      ? this.usual * SLOWLY
      : this.usual;
  }

  seek(time) {
    this.time = clamp(time, this.start, this.end);
    const shown = this.said(this.time);
    setText(this.text, shown);
    this.range.value = this.time;
    this.range.setAttribute("aria-valuetext", shown);
    this.range.style.setProperty(
      "--nsx-fill",
      (this.time - this.start) / (this.end - this.start || 1),
    );
    this.onTime(this.time);
  }

  // A time as it is written beside the bar.
  said(time) {
    if (!this.unit) return `n = ${Math.floor(time)}`; // of a map: its iterates
    return `${(time * (this.factor ?? 1)).toFixed(this.digits ?? 2)} ${this.prefix ?? ""}${this.unit}`;
  }

  toggle(playing = !this.playing) {
    if (playing === this.playing || (playing && !(this.end > this.start))) return;
    this.playing = playing;
    this.face();
    if (playing) this.request = requestAnimationFrame((now) => this.tick(now, now));
    else cancelAnimationFrame(this.request);
  }

  face() {
    this.button.replaceChildren(icon(this.playing ? "pause" : "play"));
    this.button.setAttribute("aria-label", this.playing ? "Pause" : "Play");
    this.button.title = `${this.playing ? "Pause" : "Play"} (space)`;
  }

  tick(now, before) {
    if (!this.playing) return;
    // A tab that was hidden wakes up after minutes: one step is at most a tenth of a second.
    const step = (Math.min(now - before, 100) / 1000) * this.rate;
    const next = this.time + step;
    this.onPass?.(this.time, next);
    this.seek(next > this.end ? this.start : next);
    this.request = requestAnimationFrame((later) => this.tick(later, now));
  }

  stop() {
    this.toggle(false);
  }
}
