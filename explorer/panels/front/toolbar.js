// The bar on top: title, undo, redo, reset, presets, pin, and a menu with all other actions.

import { icon, labelNodes, make, setText } from "./dom.js";

const OWN_ACTIONS = new Set(["undo", "redo", "reset", "preset", "pin", "unpin"]);

export class Toolbar {
  constructor(onAction, signal) {
    this.onAction = onAction;
    const button = (name, label, hint) =>
      make(
        "button",
        {
          type: "button",
          class: "nsx-button",
          "data-action": name,
          "aria-label": label,
          title: hint ?? label,
          on: { click: () => onAction(name) },
        },
        icon(name),
      );
    this.title = make("div", { class: "nsx-title" });
    this.undo = button("undo", "Undo", "Undo (Ctrl+Z)");
    this.redo = button("redo", "Redo", "Redo (Ctrl+Shift+Z)");
    this.reset = button("reset", "Reset", "Reset everything to the defaults");
    this.pin = make(
      "button",
      {
        type: "button",
        class: "nsx-button nsx-wide",
        "data-action": "pin",
        on: { click: () => onAction(this.pinned ? "unpin" : "pin") },
      },
      icon("pin"),
      make("span", { class: "nsx-name" }, "Pin"),
    );
    this.presets = make("select", {
      class: "nsx-select nsx-presets",
      "aria-label": "Presets",
      on: { change: () => this.preset() },
    });
    this.summary = make(
      "summary",
      { class: "nsx-button nsx-wide" },
      icon("more"),
      make("span", { class: "nsx-name" }, "Export"),
    );
    this.list = make("div", { class: "nsx-menu-list" });
    this.menu = make(
      "details",
      {
        class: "nsx-menu",
        on: {
          keydown: (event) => {
            if (event.key === "Escape" && this.menu.open) {
              this.menu.open = false;
              this.summary.focus();
            }
          },
        },
      },
      this.summary,
      this.list,
    );
    document.addEventListener(
      "pointerdown",
      (event) => {
        if (!this.menu.contains(event.target)) this.menu.open = false;
      },
      { signal, capture: true },
    );
    this.node = make(
      "div",
      { class: "nsx-toolbar", role: "toolbar", "aria-label": "Panel" },
      this.title,
      this.undo,
      this.redo,
      this.reset,
      this.presets,
      this.pin,
      this.menu,
    );
  }

  configure({ title, subtitle, actions, presets, ...state }) {
    this.title.replaceChildren(make("strong", {}, labelNodes(title)));
    if (subtitle) this.title.append(make("span", {}, labelNodes(subtitle)));
    this.names = presets ?? [];
    this.presets.hidden = !this.names.length;
    this.pin.hidden = state.pinned === undefined;
    this.presets.replaceChildren(
      make("option", { value: "" }, "Presets"),
      ...this.names.map((one) => make("option", { value: one.name, title: one.text }, one.label)),
    );
    const others = (actions ?? []).filter((one) => !OWN_ACTIONS.has(one.name));
    this.menu.hidden = !others.length;
    this.fillMenu(others);
    this.state(state);
  }

  fillMenu(actions) {
    const groups = new Map();
    for (const one of actions) {
      const group = one.group ?? "";
      groups.set(group, [...(groups.get(group) ?? []), one]);
    }
    this.list.replaceChildren();
    for (const [group, members] of groups) {
      if (group) this.list.append(make("div", { class: "nsx-menu-group" }, group));
      for (const one of members) {
        this.list.append(
          make(
            "button",
            {
              type: "button",
              "data-action": one.name,
              title: one.title,
              on: {
                click: () => {
                  this.menu.open = false;
                  this.summary.focus();
                  this.onAction(one.name);
                },
              },
            },
            one.label,
          ),
        );
      }
    }
  }

  preset() {
    const name = this.presets.value;
    this.presets.value = ""; // the same preset may be chosen again
    if (name) this.onAction("preset", name);
  }

  // Each message may bring only some of these.
  state({ undo, redo, pinned }) {
    if (undo !== undefined) this.undo.disabled = !undo;
    if (redo !== undefined) this.redo.disabled = !redo;
    if (pinned === undefined) return;
    this.pinned = pinned;
    this.pin.setAttribute("aria-pressed", String(pinned !== null));
    setText(this.pin.lastChild, pinned === null ? "Pin" : "Unpin");
    this.pin.title =
      pinned === null
        ? "Keep this run as a pale picture to compare with"
        : `Pinned: ${pinned}. Click to remove.`;
  }
}
