// A card of the gallery: picture, name, what the model teaches, and its presets.

import { labelNodes, make, plainLabel } from "./dom.js";
import * as keep from "./keep.js";
import { Thumb } from "./thumb.js";

const SHOWN = 5; // presets; the others are in the panel

export class GalleryCard {
  constructor({ name, title, text, presets, words }, group, gallery) {
    Object.assign(this, { name, presets, gallery, title: plainLabel(title) });
    this.haystack = [name, title, text, group, ...presets.flat(), ...words].join(" ").toLowerCase();
    this.thumb = new Thumb(gallery.theme);
    this.button = make(
      "button",
      {
        type: "button",
        class: "nsx-g-open",
        tabindex: "-1",
        on: { click: () => gallery.open(name, this.last) },
      },
      this.thumb.node,
      make("strong", {}, labelNodes(title)),
      " ", // its name is all that is seen
      make("span", { class: "nsx-g-text" }, labelNodes(text)),
    );
    this.chips = make("div", {
      class: "nsx-g-chips",
      role: "group",
      "aria-label": `Presets: ${this.title}`,
    });
    this.node = make(
      "li",
      {
        class: "nsx-g-card",
        "data-model": name,
        on: {
          pointerenter: () => this.thumb.play(),
          pointerleave: () => this.look(),
          focusin: () => {
            gallery.reach(this);
            this.thumb.play();
          },
          focusout: () => this.look(),
        },
      },
      this.button,
      this.chips,
    );
    this.configure();
  }

  // It goes on as long as it is under the pointer or has the focus.
  look() {
    requestAnimationFrame(() => {
      if (!this.node.matches(":hover") && !this.node.contains(document.activeElement))
        this.thumb.pause();
    });
  }

  configure() {
    const own = keep.ownOf(this.name).map(({ name }) => [name, "A preset of yours"]);
    const mine = new Set(own.map(([name]) => name));
    const names = [...mine, ...this.presets.map(([name]) => name)];
    const last = names.includes(keep.lastOf(this.name)) ? keep.lastOf(this.name) : null;
    this.last = last; // what a click on the picture opens
    const offered = this.presets.filter(([name]) => !mine.has(name));
    const shown = offered.filter(([name], k) => k < SHOWN || name === last);
    const chip = (label, title, preset) =>
      make(
        "button",
        {
          type: "button",
          class: `nsx-g-chip${mine.has(label) ? " nsx-g-mine" : ""}`,
          title,
          tabindex: this.reached ? "0" : "-1",
          "aria-current": preset !== null && label === last ? "true" : null,
          on: { click: () => this.gallery.open(this.name, preset) },
        },
        label,
      );
    const chips = [...own, ...shown].map(([name, text]) =>
      chip(
        name,
        name === last ? `${text} Used last: a click on the picture opens it.` : text,
        name,
      ),
    );
    if (last) chips.unshift(chip("default", "As the model is, without a preset", null));
    this.chips.hidden = !chips.length;
    this.chips.replaceChildren(...chips);
  }

  reach(on) {
    this.reached = on;
    for (const one of [this.button, ...this.chips.children]) one.tabIndex = on ? 0 : -1;
  }
}

// The card of the next row, up or down, that is nearest across; rows are told by their tops.
export function below(cards, here, way) {
  const place = ({ node }) => node.getBoundingClientRect();
  const { top, left } = place(cards[here]);
  let [best, row] = [here, null];
  for (let k = here + way; cards[k]; k += way) {
    const box = place(cards[k]);
    if (Math.abs(box.top - top) < 2) continue;
    row ??= box.top;
    if (Math.abs(box.top - row) >= 2) break;
    if (best === here || Math.abs(box.left - left) < Math.abs(place(cards[best]).left - left))
      best = k;
  }
  return best;
}
