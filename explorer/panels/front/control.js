// One control of the left column: slider, number, choice, toggle or text.
// It shows what the kernel says, except while the user holds it.

import { icon, labelNodes, make, plainLabel, setText } from "./dom.js";
import { quantity, Scale, tidy } from "./scale.js";
import { askSpan } from "./span.js";
import { Field } from "./field.js";

let controlCount = 0;

export class Control {
  constructor(spec, onEdit, onSpan) {
    this.key = spec.key;
    this.kind = spec.kind;
    this.onEdit = onEdit; // (key, value, drag)
    this.onSpan = onSpan; // (key, range and step)
    this.held = false; // a pointer or a key is down on the slider
    this.note = make("div", { class: "nsx-note", id: `nsx-note-${++controlCount}`, hidden: true });
    this.label = make("label", { class: "nsx-label" });
    this.unit = make("span", { class: "nsx-unit" });
    this.back = make("button", {
      type: "button",
      class: "nsx-back",
      "data-key": `${spec.key}:default`,
      on: { click: () => this.toDefault() },
    });
    this.back.append(icon("reset"));
    this.node = make("div", { class: `nsx-control nsx-${spec.kind}` });
    this.build();
    this.configure(spec);
  }

  build() {
    const { kind, key } = this;
    if (kind === "slider" || kind === "number" || kind === "text") {
      this.field = new Field({
        key,
        numeric: kind !== "text",
        onCommit: (value) => this.onEdit(key, value, false),
        onStep: (count) => this.step(count),
        onRevert: () => this.choose(this.taken),
      });
    }
    const head = make("div", { class: "nsx-head" }, this.label, this.back);
    if (kind === "toggle") {
      this.entry = make("input", {
        type: "checkbox",
        class: "nsx-switch",
        role: "switch",
        "data-key": key,
        on: { change: () => this.choose(this.entry.checked) },
      });
      head.append(this.entry);
    } else if (kind === "choice") {
      this.entry = make("select", {
        class: "nsx-select",
        "data-key": key,
        on: { change: () => this.choose(this.choices[this.entry.selectedIndex][0]) },
      });
    } else {
      this.entry = this.field.input;
      if (kind !== "text") head.append(this.entry, this.unit);
    }
    this.node.append(head);
    if (kind === "choice" || kind === "text") this.node.append(this.entry);
    if (kind === "slider")
      this.node.append(make("div", { class: "nsx-track" }, this.buildRange(), this.reach));
    this.help = make("span", { id: `nsx-help-${controlCount}`, hidden: true });
    this.node.append(this.note, this.help);
    this.entry.id = `nsx-entry-${controlCount}`;
    this.label.htmlFor = this.entry.id;
  }

  buildRange() {
    const release = () => this.settle();
    this.range = make("input", {
      type: "range",
      class: "nsx-range",
      step: "any",
      "data-key": this.key,
      on: {
        pointerdown: () => (this.held = true),
        input: () => this.slide(this.scale.value(Number(this.range.value))),
        // One question with drag:false per gesture: on release of the pointer or of the key,
        // not at each of the `change` events that a held key fires.
        change: () => this.keyDown || release(),
        keydown: (event) => this.rangeKey(event),
        contextmenu: (event) => this.span(event),
        keyup: release,
        pointercancel: release,
        blur: release,
      },
    });
    this.reach = make(
      "button",
      { type: "button", class: "nsx-reach", on: { click: (event) => this.span(event) } },
      icon("reach"),
    );
    return this.range;
  }

  // Another range or another step.
  async span(event) {
    const rests = event.type === "contextmenu" && event.pointerType === "touch"; // a thumb that has not moved yet
    if (this.spec.fixed || this.spec.stops || rests) return;
    event.preventDefault();
    event.stopPropagation(); // JupyterLab has a menu of its own
    this.held = false;
    const name = plainLabel(this.spec.label);
    const found = await askSpan(
      this.node.closest(".nsx-body"),
      name,
      this.spec,
      this.spec.meant ?? this.scale,
    );
    this.range.focus();
    if (found !== null) this.onSpan(this.key, found);
  }

  configure(spec) {
    this.spec = spec;
    this.label.replaceChildren(labelNodes(spec.label));
    if (spec.beside)
      this.label.append(make("span", { class: "nsx-what" }, labelNodes(spec.beside)));
    setText(this.unit, spec.unit ?? "");
    if (this.field) this.field.unit = spec.unit ?? "";
    this.node.title = spec.text ?? "";
    const name = plainLabel(spec.label);
    const spoken = [spec.text && spec.text !== name ? `${name} (${spec.text})` : name, spec.unit];
    this.spoken = spoken.filter(Boolean).join(", ");
    this.entry.setAttribute("aria-label", this.spoken);
    this.back.setAttribute("aria-label", `${name} back to default`);
    this.back.title = `Back to ${this.written(spec.default)}`;
    if (this.range) {
      this.scale = new Scale(spec);
      [this.range.min, this.range.max] = this.scale.ends;
      this.range.setAttribute("aria-label", this.spoken);
      this.reach.hidden = Boolean(spec.fixed || spec.stops);
      this.reach.title = `Range and step of ${name}`;
      this.reach.setAttribute("aria-label", this.reach.title);
    }
    if (this.kind === "choice") {
      this.choices = spec.choices ?? [];
      const options = this.choices.map(([, label]) => make("option", {}, plainLabel(label)));
      this.entry.replaceChildren(...options);
    }
    this.entry.disabled = Boolean(spec.fixed);
    this.taken = spec.taken ?? spec.value;
    if (this.field?.dirty)
      this.place(spec.value); // the answer says whether what is typed stays
    else this.show(spec.value);
  }

  // What a screen reader says of it after its name.
  describe(text) {
    setText(this.help, text);
    const { id } = this.help;
    if (this.range) this.range.setAttribute("aria-describedby", id);
    if (this.field) this.field.help = id;
    if (!this.refused) this.entry.setAttribute("aria-describedby", id);
    if (text) this.node.removeAttribute("title"); // said once
  }

  written(value) {
    if (this.kind === "choice") {
      const found = this.spec.choices?.find(([one]) => one === value);
      return found ? plainLabel(found[1]) : String(value);
    }
    if (typeof value === "boolean") return value ? "on" : "off";
    return quantity(value, this.spec.unit);
  }

  // Draw a value; `mine`: it comes from this very control, so it wins over typed text.
  show(value, mine = false) {
    this.place(value);
    if (this.field) this.field.show(value, mine);
  }

  place(value) {
    this.value = value;
    this.offerDefault();
    if (this.kind === "toggle") this.entry.checked = Boolean(value);
    else if (this.kind === "choice") {
      this.entry.selectedIndex = this.choices.findIndex(([one]) => one === value);
    }
    if (this.range && typeof value === "number") {
      this.range.value = this.scale.position(value);
      this.range.style.setProperty("--nsx-fill", this.scale.fraction(value));
      this.range.setAttribute("aria-valuetext", this.written(value));
    }
  }

  offerDefault() {
    const away = !this.spec.fixed && (this.refused || this.value !== this.spec.default);
    this.back.classList.toggle("nsx-away", Boolean(away));
    this.back.tabIndex = away ? 0 : -1;
  }

  slide(value) {
    if (value === this.value) return;
    this.refuse(null);
    this.show(value, true);
    this.moved = true;
    this.onEdit(this.key, value, true);
  }

  settle() {
    this.held = this.keyDown = false;
    if (!this.moved) return;
    this.moved = false;
    this.onEdit(this.key, this.value, false);
  }

  rangeKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "r") {
      this.span(event);
      return;
    }
    const steps = {
      ArrowRight: 1,
      ArrowUp: 1,
      ArrowLeft: -1,
      ArrowDown: -1,
      PageUp: 10,
      PageDown: -10,
    };
    const { low, high } = this.scale;
    let value;
    if (event.key in steps) value = this.scale.move(this.value, steps[event.key]);
    else if (event.key === "Home") value = low;
    else if (event.key === "End") value = high;
    else return;
    event.preventDefault();
    this.held = this.keyDown = true;
    this.slide(value);
  }

  step(count) {
    if (typeof this.value !== "number") return;
    if (this.scale) this.choose(this.scale.move(this.value, count));
    else {
      const { low = 0, high = 1 } = this.spec;
      this.choose(tidy(this.value + count * new Scale({ ...this.spec, low, high }).step));
    }
  }

  choose(value) {
    this.refuse(null);
    this.show(value, true);
    this.onEdit(this.key, value, false);
  }

  toDefault() {
    this.choose(this.spec.default);
    this.entry.focus(); // the button is about to hide: do not lose the keyboard's place
  }

  refuse(sentence) {
    if (!sentence && this.refused === false) return;
    this.refused = Boolean(sentence);
    this.note.hidden = !sentence;
    setText(this.note, sentence ?? "");
    this.node.classList.toggle("nsx-refused", Boolean(sentence));
    if (this.field) this.field.refuse(sentence, this.note.id);
    this.offerDefault();
  }

  // The kernel's answer: a value replaces what was typed; with an error that stays, and the knob
  // is where the last value was taken.
  answer(value, sentence) {
    // Most controls hear nothing new at most pictures, and writing to a field costs a layout.
    const news = sentence || this.refused || value !== this.value || this.field?.dirty;
    if (!news) return;
    this.refuse(sentence ?? null);
    if (!sentence && value !== undefined) this.taken = value;
    if (value === undefined || this.held) return;
    if (!sentence) this.show(value);
    else if (this.field) {
      this.place(this.taken);
      this.field.keep(value, this.taken);
    }
  }
}
