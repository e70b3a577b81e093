// The left column: groups of controls, built from the schema, updated in place where possible.

import { make, plainLabel } from "./dom.js";
import { Control } from "./control.js";

const FOLLOWS = "nsx-follows";

export class Controls {
  constructor(node, onEdit, onSpan) {
    this.node = node;
    this.onSpan = onSpan;
    // A slow link or a slow model: whoever wants it sees one picture, when the slider is let go.
    this.onEdit = (key, value, drag) => (!drag || this.follow.checked) && onEdit(key, value, drag);
    this.follow = make("input", {
      type: "checkbox",
      on: { change: () => keep(this.follow.checked) },
    });
    this.follow.checked = kept();
    this.foot = make(
      "label",
      { class: "nsx-follow", title: "Else the picture waits until the slider is let go" },
      this.follow,
      "Draw while a slider moves",
    );
    this.byKey = new Map();
    this.shape = "";
  }

  // Rebuilding loses the focus and the thumb in the user's hand: only when keys or kinds change.
  configure(groups, ahead) {
    const shape = JSON.stringify(
      groups.map((group) => [group.name, group.controls.map((one) => [one.key, one.kind])]),
    );
    if (shape !== this.shape) this.rebuild(groups);
    else {
      for (const spec of groups.flatMap((group) => group.controls)) {
        const control = this.byKey.get(spec.key);
        const mine = control.held || ahead(spec.key);
        control.configure(mine ? { ...spec, value: control.value, taken: spec.value } : spec);
      }
    }
    this.shape = shape;
  }

  rebuild(groups) {
    const focused = this.node.contains(document.activeElement) ? document.activeElement : null;
    const selector =
      focused?.dataset.key &&
      `${focused.tagName}[data-key="${CSS.escape(focused.dataset.key)}"]` +
        (focused.type === "range" ? "[type=range]" : "");
    const open = new Map(
      [...this.node.querySelectorAll("details")].map((one) => [one.dataset.name, one.open]),
    );
    const top = this.node.scrollTop;
    this.byKey.clear();
    this.node.replaceChildren(
      ...groups.map((group) => {
        const controls = group.controls.map((spec) => {
          const control = new Control(spec, this.onEdit, this.onSpan);
          this.byKey.set(spec.key, control);
          return control.node;
        });
        const isOpen = open.get(group.name) ?? group.open ?? true;
        return make(
          "details",
          { class: "nsx-group", "data-name": group.name, open: isOpen },
          make("summary", {}, plainLabel(group.title)),
          ...controls,
        );
      }),
      this.foot,
    );
    this.node.scrollTop = top;
    if (selector) this.node.querySelector(selector)?.focus();
  }

  answer(values, errors, ahead) {
    for (const [key, control] of this.byKey) {
      if (!ahead(key)) control.answer(values?.[key], errors?.[key]);
    }
    // A refused key may sit in a closed group: open it, or the sentence is not seen.
    for (const key of Object.keys(errors ?? {})) {
      const group = this.byKey.get(key)?.node.closest("details");
      if (group) group.open = true;
    }
  }
}

// A page may have no storage: then the choice lasts as long as the panel.
function keep(follows) {
  try {
    localStorage.setItem(FOLLOWS, String(follows));
  } catch {
    // for this panel
  }
}

function kept() {
  try {
    return localStorage.getItem(FOLLOWS) !== "false";
  } catch {
    return true;
  }
}
