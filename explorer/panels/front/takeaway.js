// Saves what a panel shows, as pictures and films; what it was made with stands in them.

import { lowered, plainLabel } from "./dom.js";
import { movie } from "./movie.js";
import { quantity } from "./scale.js";
import { saveAs } from "./share.js";
import { pdf, png, sheet } from "./sheet.js";

const ONLY_CHANGED = /^(q0|v0|x0|mode0|knob(?!\.h$)|see)\b/; // of these the usual values are not said

export class TakeAway {
  // The parts of the panel: {picture, mechanism, clock, controls, status, pins}.
  constructor(parts) {
    Object.assign(this, parts);
    this.title = "picture";
    this.maker = "";
  }

  static takes(action) {
    return /^export_(png|svg|pdf|webm|gif)$/.test(action);
  }

  async save(action) {
    if (this.busy) {
      this.stopped = true; // a second click ends the film
      return;
    }
    const format = action.slice("export_".length);
    this.busy = true;
    this.stopped = false;
    try {
      await (format === "webm" || format === "gif" ? this.film(format) : this.page(format));
    } catch (error) {
      this.status.briefly(
        `The ${format.toUpperCase()} could not be made: ${error.message ?? error}`,
      );
    } finally {
      this.busy = false;
    }
  }

  get name() {
    return this.title.replace(/\W+/g, "_").toLowerCase();
  }

  async page(format) {
    const page = await sheet({
      plots: this.picture,
      stage: this.shown ? this.mechanism : null,
      moment: `t = ${this.clock.said(this.clock.time)}`,
      title: this.title,
      lines: this.lines(),
      maker: this.maker,
    });
    const made =
      format === "svg"
        ? new Blob([page.svg], { type: "image/svg+xml" })
        : await (format === "pdf" ? pdf : png)(page);
    this.write(made, format);
  }

  async film(wanted) {
    if (!this.shown || !(this.clock.end > this.clock.start)) {
      this.status.briefly("This panel has no mechanism that moves, so there is no film of it.");
      return;
    }
    const tell = (part) => {
      const done = `${Math.round(100 * part)} %`;
      this.status.briefly(`Filming the mechanism: ${done}. Save it once more to stop.`);
      return !this.stopped;
    };
    const { blob, format, faster } = await movie(
      this.mechanism,
      this.clock,
      wanted,
      this.maker,
      tell,
    );
    if (!blob) {
      this.status.briefly("The film was stopped.");
      return;
    }
    let said = "";
    if (format !== wanted) said += " This browser makes no WebM, so it is a GIF.";
    if (faster > 1.01)
      said += ` It plays ${faster.toPrecision(2)} times as fast as the panel, for it would be too long.`;
    this.write(blob, format, said);
  }

  get shown() {
    return this.mechanism.mechanism && this.mechanism.width > 0;
  }

  write(blob, format, said = "") {
    const name = `${this.name}.${format}`;
    saveAs(name, blob);
    this.status.briefly(`${name} saved.${said}`);
  }

  // What the picture is made with: parameters, then the scheme and what is not as usual.
  lines() {
    const all = [...this.controls.byKey.values()].filter(({ key, kind, spec, value }) => {
      if (key === "model" || kind === "toggle") return false;
      return !ONLY_CHANGED.test(key) || value !== spec.default;
    });
    const words = (control) => {
      const { kind, spec, value } = control;
      if (kind === "choice")
        return plainLabel(spec.choices.find(([one]) => one === value)?.[1] ?? String(value));
      const written = typeof value === "number" ? quantity(value, spec.unit ?? "") : String(value);
      return `${lowered(spec.label)} = ${written}`;
    };
    const scheme = ({ key }) => /^(scheme|knob)/.test(key);
    const said = (controls) => controls.map(words).join(", ");
    return [
      said(all.filter((one) => !scheme(one))),
      said(all.filter(scheme)),
      ...this.pins.lines(),
    ].filter(Boolean);
  }
}
