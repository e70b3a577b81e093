// Lecture mode: the panel fills the screen, its text is 1.6 times as large, and of the controls
// only chosen ones stand below the pictures.

import { icon, make, plainLabel } from "./dom.js";

const STORE = "nsx-lecture";
const USUAL = 4; // so many sliders of parameters stand there until others are chosen

export class Lecture {
  constructor(root, controls, signal) {
    Object.assign(this, { root, controls, on: false });
    this.button = make(
      "button",
      {
        type: "button",
        class: "nsx-button",
        "data-action": "lecture",
        "aria-label": "Lecture mode",
        "aria-pressed": "false",
        title: "Lecture mode: full screen, large text, chosen sliders (l)",
        on: { click: () => this.toggle() },
      },
      icon("screen"),
    );
    this.list = make("div", { class: "nsx-menu-list nsx-choices" });
    this.menu = make(
      "details",
      { class: "nsx-menu", hidden: true },
      make(
        "summary",
        { class: "nsx-button nsx-wide", title: "Which controls are shown" },
        "Controls",
      ),
      this.list,
    );
    document.addEventListener(
      "fullscreenchange",
      () => {
        if (this.on && this.full && !document.fullscreenElement) this.toggle(false); // Escape
      },
      { signal },
    );
    document.addEventListener(
      "pointerdown",
      (event) => {
        if (!this.menu.contains(event.target)) this.menu.open = false;
      },
      { signal, capture: true },
    );
  }

  // What the schema says: the title names what has been chosen before.
  configure(title) {
    this.title = title;
    if (this.coming) store(title, this.coming);
    this.coming = null;
    this.chosen = new Set(stored()[title] ?? this.usual());
    this.apply();
  }

  // A state that is copied, or that a link holds, says what was chosen; the kernel does not read it.
  withChoice(text) {
    const [own, state] = [stored()[this.title], parsed(text)];
    return own && state?.format === 1 ? JSON.stringify({ ...state, lecture: own }) : text;
  }

  expect(text) {
    const own = parsed(text)?.lecture;
    if (Array.isArray(own)) this.coming = own.map(String);
  }

  usual() {
    const sliders = [...this.controls.byKey.values()].filter((one) => one.kind === "slider");
    const parameters = sliders.filter((one) => one.key.startsWith("rho."));
    return (parameters.length ? parameters : sliders).slice(0, USUAL).map((one) => one.key);
  }

  async toggle(on = !this.on) {
    if (on === this.on) return;
    this.on = on;
    this.root.classList.toggle("nsx-lecture", on);
    this.button.setAttribute("aria-pressed", String(on));
    this.menu.hidden = !on;
    this.menu.open = false;
    this.apply();
    if (on) await this.fill();
    else this.leave();
    this.button.focus();
  }

  // Full screen, or where a page may not have it, above all else in the window.
  async fill() {
    try {
      await this.root.requestFullscreen();
      this.full = true;
    } catch {
      this.full = false;
      if (!this.on || !this.root.showPopover) return;
      this.root.setAttribute("popover", "manual");
      this.root.showPopover();
    }
  }

  leave() {
    if (document.fullscreenElement === this.root) document.exitFullscreen();
    if (this.root.hasAttribute("popover")) {
      this.root.hidePopover?.();
      this.root.removeAttribute("popover");
    }
    this.full = false;
  }

  apply() {
    const { byKey, node } = this.controls;
    for (const [key, control] of byKey) {
      control.node.classList.toggle("nsx-unchosen", this.on && !this.chosen.has(key));
    }
    for (const group of node.querySelectorAll("details.nsx-group")) {
      if (this.on) {
        group.dataset.open ??= String(group.open);
        group.open = true;
      } else if (group.dataset.open) {
        group.open = group.dataset.open === "true";
        delete group.dataset.open;
      }
    }
    const rows = [...byKey.values()].map(({ key, spec }) => {
      const box = make("input", {
        type: "checkbox",
        on: { change: () => this.choose(key, box.checked) },
      });
      box.checked = this.chosen.has(key);
      const said = [spec.label, spec.beside].filter(Boolean).map(plainLabel).join(" ");
      return make("label", {}, box, said);
    });
    this.list.replaceChildren(...rows);
  }

  choose(key, on) {
    this.chosen[on ? "add" : "delete"](key);
    store(this.title, [...this.chosen]);
    this.controls.byKey.get(key).node.classList.toggle("nsx-unchosen", !on);
  }
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

// A page may have no storage, or a full one: then a choice lasts as long as the page.
let kept = {};

function stored() {
  try {
    kept = { ...kept, ...JSON.parse(localStorage.getItem(STORE) ?? "{}") };
  } catch {
    // what this page knows
  }
  return kept;
}

function store(title, keys) {
  kept = { ...stored(), [title]: keys };
  try {
    localStorage.setItem(STORE, JSON.stringify(kept));
  } catch {
    // for this page
  }
}
