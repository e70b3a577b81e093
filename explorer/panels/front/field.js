// A typed value. What the user types is theirs: it stays, also when the kernel refuses it,
// until they change it, press Escape, or the kernel answers with a value it accepted.
// A refused value is still pending in the kernel: only a question takes it back.

import { make } from "./dom.js";
import { prefixed, shown, typedValue } from "./scale.js";

export class Field {
  constructor({ key, numeric, onCommit, onStep, onRevert }) {
    this.numeric = numeric;
    this.onCommit = onCommit;
    this.onRevert = onRevert;
    this.text = ""; // the kernel's value as written
    this.unit = "";
    this.refused = false;
    this.dirty = false; // typed, not yet accepted
    this.sent = null; // the text last sent
    this.input = make("input", {
      type: "text",
      class: numeric ? "nsx-field" : "nsx-field nsx-field-text",
      "data-key": key,
      inputmode: numeric ? "decimal" : null,
      autocomplete: "off",
      spellcheck: "false",
      on: {
        input: () => {
          this.dirty = this.refused || this.input.value !== this.text;
          this.sent = null;
        },
        focus: () => {
          this.rest();
          this.input.select();
        },
        blur: () => {
          this.commit();
          this.rest();
        },
        keydown: (event) => {
          if (event.key === "Enter") this.commit();
          else if (event.key === "Escape") this.revert();
          else if (numeric && (event.key === "ArrowUp" || event.key === "ArrowDown")) {
            event.preventDefault();
            onStep(event.key === "ArrowUp" ? 1 : -1);
          }
        },
      },
    });
  }

  // A number with the prefix of its unit, 3.2 mm; while it is edited plain and in the unit beside it,
  // so that nobody types millimetres into metres.
  written(value) {
    if (!this.numeric) return String(value ?? "");
    const whole = document.activeElement === this.input ? null : prefixed(value, this.unit);
    this.input.toggleAttribute("data-whole", whole !== null);
    return whole ?? shown(value);
  }

  rest() {
    if (!this.dirty && !this.refused && typeof this.value === "number") this.show(this.value);
  }

  commit() {
    const text = this.input.value;
    if (!this.dirty || text === this.sent) return;
    this.sent = text;
    this.onCommit(this.numeric ? typedValue(text, this.unit) : text);
  }

  revert() {
    const asked = this.refused || this.sent !== null;
    this.dirty = false;
    this.text = this.written(this.value);
    this.sent = null;
    this.input.value = this.text;
    if (asked) this.onRevert();
  }

  // A value of the kernel (or of the slider beside it).
  show(value, force = false) {
    this.value = value;
    this.text = this.written(value);
    this.input.title = this.numeric && typeof value === "number" ? String(value) : "";
    const typing = this.dirty && this.sent === null && document.activeElement === this.input;
    if (typing && !force) return;
    this.dirty = false;
    this.sent = null;
    if (this.input.value === this.text) return;
    this.input.value = this.text;
    if (this.numeric)
      this.input.style.minWidth = this.text.length > 7 ? `${this.text.length + 1.5}ch` : "";
  }

  // What was refused stays as it was typed, also in a view that did not type it; Escape brings
  // back the value that was taken.
  keep(typed, taken) {
    this.value = taken;
    this.text = this.written(taken);
    this.input.removeAttribute("data-whole"); // what was typed stands in it
    if (this.dirty || typed === null) return;
    this.input.value = typeof typed === "number" ? shown(typed) : String(typed);
    this.dirty = true;
    this.sent = this.input.value;
  }

  refuse(sentence, describedBy) {
    this.refused = Boolean(sentence);
    if (sentence) {
      this.input.setAttribute("aria-invalid", "true");
      this.input.setAttribute("aria-describedby", `${describedBy} ${this.help ?? ""}`.trim());
    } else {
      this.input.removeAttribute("aria-invalid");
      if (this.help) this.input.setAttribute("aria-describedby", this.help);
      else this.input.removeAttribute("aria-describedby");
    }
  }
}
