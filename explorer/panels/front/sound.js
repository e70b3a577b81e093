// Impacts are heard while the run plays: a short click each, louder for a larger impulse. Off at first.

import { icon, make, setText } from "./dom.js";

const SHORT = 0.03; // s
const APART = 0.02; // s between two clicks: nearer ones are one sound
const SAID_MS = 1500; // a screen reader is told no more often

export class Sound {
  constructor(clock) {
    this.clock = clock;
    this.on = false;
    this.played = []; // loudness of each click, for who watches
    this.button = make(
      "button",
      {
        type: "button",
        class: "nsx-button nsx-sound",
        "aria-pressed": "false",
        "aria-label": "Sound of impacts",
        title: "Sound of impacts while playing",
        hidden: true,
        on: { click: () => this.toggle() },
      },
      icon("sound"),
    );
    this.line = make("div", { class: "nsx-said-aloud", "aria-live": "polite", role: "log" });
    clock.node.append(this.button, this.line);
    clock.onPass = (from, to) => this.passed(from, to);
  }

  // Times of events, and the impulse of each.
  take(instants, impulses) {
    this.instants = instants;
    this.impulses = impulses;
    this.largest = impulses.reduce((most, one) => Math.max(most, one), 0);
    this.button.hidden = !(this.largest > 0);
  }

  toggle() {
    this.on = !this.on;
    this.button.setAttribute("aria-pressed", String(this.on));
    if (this.on) this.context ??= new AudioContext(); // a browser allows it after a click
    this.context?.resume();
  }

  // The cursor went from one time to another one while playing.
  passed(from, to) {
    if (!this.on || !(this.largest > 0)) return;
    let [loud, at] = [0, 0];
    this.instants.forEach((t, k) => {
      if (t > from && t <= to && this.impulses[k] > loud) [loud, at] = [this.impulses[k], t];
    });
    if (loud > 0) this.click(Math.sqrt(loud / this.largest), at);
  }

  click(loudness, at) {
    const { context } = this;
    const now = context.currentTime;
    this.say(at);
    if (now - (this.last ?? -1) < APART) return;
    this.last = now;
    this.played.push(loudness);
    const tone = new OscillatorNode(context, { type: "triangle", frequency: 900 });
    const gain = new GainNode(context, { gain: 0.4 * loudness });
    gain.gain.exponentialRampToValueAtTime(1e-4, now + SHORT);
    tone.connect(gain).connect(context.destination);
    tone.start(now);
    tone.stop(now + SHORT);
  }

  say(at) {
    const now = performance.now();
    if (now - (this.told ?? -SAID_MS) < SAID_MS) return;
    this.told = now;
    setText(this.line, `impact at t = ${this.clock.said(at)}`);
  }

  stop() {
    this.context?.close();
  }
}
