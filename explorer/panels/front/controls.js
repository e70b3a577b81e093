// The left column: groups of controls, built from the schema, updated in place where possible.

import { make, plainLabel } from "./dom.js";
import { Control } from "./control.js";

export class Controls {
  constructor(node, onEdit) {
    this.node = node;
    this.onEdit = onEdit;
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
    const selector = focused?.dataset.key
      && `${focused.tagName}[data-key="${CSS.escape(focused.dataset.key)}"]`
        + (focused.type === "range" ? "[type=range]" : "");
    const open = new Map(
      [...this.node.querySelectorAll("details")].map((one) => [one.dataset.name, one.open]),
    );
    const top = this.node.scrollTop;
    this.byKey.clear();
    this.node.replaceChildren(...groups.map((group) => {
      const controls = group.controls.map((spec) => {
        const control = new Control(spec, this.onEdit);
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
    }));
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
