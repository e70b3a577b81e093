// A thumbnail: the mechanism of a model, still; it moves as long as somebody looks at it.

import { make } from "./dom.js";
import { Stage } from "./mechanism.js";
import { clamp } from "./scale.js";

const POSE = 0.3; // of a film: where it stands still
const [SHORTEST, LONGEST] = [3, 8]; // s that a film lasts, however long its run
const MARGIN = 9;
const bare = { node: { hidden: true }, take() {}, below() {}, above() {} }; // neither scales nor arrows

export class Thumb {
  constructor(theme) {
    this.canvas = make("canvas", { "aria-hidden": "true" });
    this.node = make("span", { class: "nsx-g-picture" }, this.canvas);
    this.theme = theme;
  }

  // The first look: the canvas is made as large as it is seen, and the film is drawn.
  take(film) {
    if (!this.stage) {
      this.stage = new Stage(this.canvas, this.theme);
      Object.assign(this.stage, { layers: bare, margin: MARGIN });
    }
    this.film = film;
    const { t } = film;
    [this.start, this.span] = [t[0], t[t.length - 1] - t[0]];
    this.stage.time = this.start + POSE * this.span;
    this.stage.take(film);
    this.stage.resize();
    this.node.dataset.drawn = "";
    if (this.wanted) this.play();
  }

  retheme(theme) {
    this.theme = theme;
    if (!this.stage) return;
    this.stage.theme = theme;
    this.stage.draw();
  }

  resize() {
    this.stage?.resize();
  }

  play() {
    this.wanted = true;
    if (!this.film || this.request || matchMedia("(prefers-reduced-motion: reduce)").matches)
      return;
    const rate = this.span / clamp(this.span, SHORTEST, LONGEST) / 1000;
    let before = null;
    const tick = (now) => {
      const next = this.stage.time + (before === null ? 0 : Math.min(now - before, 100) * rate);
      before = now;
      this.stage.draw(next > this.start + this.span ? this.start : next);
      this.request = requestAnimationFrame(tick);
    };
    this.node.dataset.plays = "";
    this.request = requestAnimationFrame(tick);
  }

  pause() {
    this.wanted = false;
    if (!this.request) return;
    cancelAnimationFrame(this.request);
    this.request = null;
    delete this.node.dataset.plays;
    this.stage.draw(this.start + POSE * this.span);
  }
}
