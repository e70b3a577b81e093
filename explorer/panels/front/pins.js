// The pinned runs below the bar: how each is drawn, what differs in it from now, and its removal.

import { icon, make, setText } from "./dom.js";
import { onGround } from "./theme.js";

// Dashes as plotly draws them, in px, for lines of usual width.
export const DASHES = { dot: [2, 4], dash: [8, 5], dashdot: [8, 4, 2, 4], longdash: [14, 6] };

const SVG = "http://www.w3.org/2000/svg";

function sample(colour, dash) {
  const svg = document.createElementNS(SVG, "svg");
  for (const [name, value] of Object.entries({ width: 34, height: 8, "aria-hidden": "true" }))
    svg.setAttribute(name, value);
  const line = document.createElementNS(SVG, "path");
  const pen = {
    d: "M0 4H34",
    stroke: colour,
    "stroke-width": 2.4,
    "stroke-dasharray": (DASHES[dash] ?? []).join(" "),
  };
  for (const [name, value] of Object.entries(pen)) line.setAttribute(name, value);
  svg.append(line);
  return svg;
}

export class Pins {
  constructor(onAction) {
    this.onAction = onAction;
    this.node = make("ul", { class: "nsx-pins", "aria-label": "Pinned runs", hidden: true });
    this.written = "";
  }

  // A slider changes the words alone; what stays is not moved, for it may have the keyboard.
  take(pins, theme, fixed) {
    if (!pins) return;
    this.pins = pins;
    this.fixed = fixed;
    this.node.hidden = !pins.length;
    const key = JSON.stringify([theme.dark, fixed]);
    if (key !== this.written) this.node.replaceChildren();
    this.written = key;
    const letters = new Set(pins.map((one) => one.letter));
    for (const one of [...this.node.children]) if (!letters.has(one.dataset.pin)) one.remove();
    pins.forEach((one, k) => {
      if (this.node.children[k]?.dataset.pin === one.letter) return;
      this.node.insertBefore(this.chip(one, theme), this.node.children[k] ?? null);
    });
    pins.forEach(({ text, all }, k) => {
      const said = this.node.children[k].querySelector("span");
      setText(said, text);
      said.title = all || text;
    });
  }

  chip({ letter, colour, dash }, theme) {
    const label = `Remove the pinned run ${letter}`;
    const remove = make(
      "button",
      {
        type: "button",
        class: "nsx-button",
        "data-unpin": letter,
        "aria-label": label,
        title: label,
        on: { click: () => this.remove(letter) },
      },
      icon("close"),
    );
    const parts = [sample(onGround(colour, theme), dash), make("b", {}, letter), make("span", {})];
    return make("li", { "data-pin": letter }, ...parts, ...(this.fixed ? [] : [remove]));
  }

  // The keyboard stays where it was: at the next one, else at the button that pins.
  remove(letter) {
    const at = this.pins.findIndex((one) => one.letter === letter);
    const next = this.pins[at + 1] ?? this.pins[at - 1];
    const target = next
      ? this.node.querySelector(`[data-unpin="${next.letter}"]`)
      : this.node.closest(".nsx-panel")?.querySelector('[data-action="pin"]');
    target?.focus();
    this.onAction("unpin", letter);
  }

  // The same in words, for pictures that are taken away.
  lines() {
    return (this.pins ?? []).map(({ letter, all }) => `pinned ${letter}: ${all || "the same"}`);
  }
}
