// The fields in which equations are written: each with what it reads as, or with what is wrong.
// The kernel reads the text a moment after the last key, and runs it when it is good and nobody
// types any more. What is typed stays, whatever the kernel says of it.

import { make, setText } from "./dom.js";

const READ_MS = 250; // of rest before the text is read
const RUN_MS = 400; // more before it is run
const BUSY_MS = 150; // until a slider that is held is looked at again
const TAGS = new Set([
  "math",
  "mrow",
  "mi",
  "mo",
  "mn",
  "mtext",
  "mspace",
  "msup",
  "msub",
  "msubsup",
  "mfrac",
  "msqrt",
  "mroot",
  "mover",
  "munder",
  "mtable",
  "mtr",
  "mtd",
  "mstyle",
]);
const ATTRIBUTES = new Set([
  "display",
  "accent",
  "width",
  "displaystyle",
  "stretchy",
  "columnalign",
]);
const GROWS = CSS.supports("field-sizing", "content"); // else the height follows here
const MATHML = "http://www.w3.org/1998/Math/MathML";

export class Editor {
  constructor(panel) {
    this.panel = panel;
    this.count = 0; // of keys: an answer to an older text says nothing of this one
    this.fields = new Map();
    this.kind = make("select", {
      class: "nsx-select",
      "aria-label": "Kind of system",
      on: {
        change: () => {
          this.send();
          this.ask("kind", this.kind.value);
        },
      },
    });
    this.begin = make("select", {
      class: "nsx-select",
      "aria-label": "Begin from a model of the gallery",
      on: {
        change: () => {
          this.send();
          if (this.begin.value) this.ask("begin", this.begin.value);
          this.begin.value = "";
        },
      },
    });
    this.form = make("div", { class: "nsx-w-form" });
    this.said = make("div", { class: "nsx-w-said", role: "status", "aria-live": "polite" });
    this.node = make(
      "details",
      { class: "nsx-write", open: true },
      make("summary", {}, make("span", {}, "Equations"), this.said),
      make("div", { class: "nsx-w-head" }, this.kind, this.begin),
      this.form,
    );
    panel.root.classList.add("nsx-writes");
    panel.column.before(this.node);
  }

  // The editor of a panel whose schema holds fields.
  static on(panel, write) {
    const editor = panel.editor ?? new Editor(panel);
    editor.configure(write);
    return editor;
  }

  // The kinds stand in each schema; the text only counts where the kernel has replaced it.
  configure({ kinds, models, ...told }) {
    this.kinds = new Map(kinds.map((one) => [one.name, one]));
    if (!this.kind.options.length) {
      this.kind.append(...kinds.map(({ name, label }) => make("option", { value: name }, label)));
      this.begin.append(
        make("option", { value: "" }, "Begin from …"),
        ...models.map(([name, label]) => make("option", { value: name }, label)),
      );
    }
    this.take(told);
  }

  take(told) {
    const mine = told.count === undefined || told.count === null || told.count === this.stamp;
    if (told.mark !== this.mark) this.fill(told);
    else if (!mine || this.waiting) return;
    this.say(told);
  }

  fill({ mark, kind, texts }) {
    this.stop();
    this.mark = mark;
    this.kind.value = kind;
    const { fields } = this.kinds.get(kind);
    if (this.shape !== kind) this.build(fields);
    this.shape = kind;
    for (const [key, { area }] of this.fields) {
      if (area.value !== (texts[key] ?? "")) area.value = texts[key] ?? "";
    }
    this.grow();
    const more = this.form.querySelector(".nsx-w-more");
    if (more && fields.some((one) => !one.usual && texts[one.key])) more.open = true;
  }

  build(fields) {
    this.fields.clear();
    const made = fields.map((field) => [field, this.field(field)]);
    const short = new Set(["t_end", "step"]);
    const usual = made.filter(([field]) => field.usual);
    const rest = made.filter(([field]) => !field.usual);
    this.form.replaceChildren(
      ...usual.filter(([field]) => !short.has(field.key)).map(([, node]) => node),
      make(
        "div",
        { class: "nsx-w-pair" },
        ...usual.filter(([field]) => short.has(field.key)).map(([, node]) => node),
      ),
      make(
        "details",
        { class: "nsx-w-more" },
        make("summary", {}, "More"),
        ...rest.map(([, node]) => node),
      ),
      make(
        "button",
        {
          type: "button",
          class: "nsx-button nsx-wide nsx-w-save",
          on: {
            click: () => {
              this.send();
              this.panel.act("export_model");
            },
          },
        },
        "Save as Python file",
      ),
    );
  }

  field({ key, label, how, rows }) {
    const id = `${this.panel.view}-w-${key}`;
    const area = make("textarea", {
      id,
      rows,
      "data-field": key,
      spellcheck: "false",
      autocomplete: "off",
      autocapitalize: "off",
      placeholder: how,
      "aria-describedby": `${id}-how ${id}-error`,
      on: { input: () => this.typed() },
    });
    const math = make("div", {
      class: "nsx-w-math",
      "aria-label": `${label} as mathematics`,
      role: "group",
    });
    const error = make("div", { class: "nsx-note", id: `${id}-error` });
    this.fields.set(key, { area, math, error, label });
    return make(
      "div",
      { class: "nsx-w-field", "data-key": key },
      make("label", { for: id }, label),
      area,
      make("div", { class: "nsx-w-how", id: `${id}-how` }, how),
      math,
      error,
    );
  }

  get stamp() {
    return `${this.panel.view}:${this.count}`;
  }

  get texts() {
    return Object.fromEntries([...this.fields].map(([key, { area }]) => [key, area.value]));
  }

  grow() {
    if (GROWS) return;
    for (const { area } of this.fields.values()) {
      area.style.height = "auto";
      area.style.height = `${area.scrollHeight + 2}px`;
    }
  }

  typed() {
    this.grow();
    this.stop();
    this.count++;
    this.waiting = true;
    this.timer = setTimeout(() => this.send(), READ_MS);
  }

  // What was typed last, before anything else is asked.
  send() {
    this.stop();
    if (!this.waiting) return;
    this.waiting = false;
    this.tell("type");
  }

  // The run waits for a slider that is held: its pictures come first.
  run() {
    if (!this.panel.puller.idle) this.timer = setTimeout(() => this.run(), BUSY_MS);
    else {
      setText(this.said, "compiling …");
      this.node.dataset.state = "busy";
      this.tell("write");
    }
  }

  tell(action) {
    this.ask(action, { kind: this.shape, texts: this.texts, count: this.stamp });
  }

  ask(action, value) {
    const { puller, view } = this.panel;
    puller.send({ type: "do", view, seq: null, action, value });
  }

  say({ errors, shown, refused, ran }) {
    this.stop();
    const wrong = Object.entries(errors ?? {});
    for (const [key, { area, math, error }] of this.fields) {
      const said = errors[key] ?? "";
      setText(error, said);
      area.toggleAttribute("aria-invalid", Boolean(said));
      if (said) area.setAttribute("aria-invalid", "true");
      const formulas = shown[key] ?? [];
      const written = formulas.join("");
      if (math.dataset.written !== written && !(said && !written)) {
        math.dataset.written = written;
        math.replaceChildren(...formulas.map((text) => mathml(text)));
        if (math.scrollWidth > math.clientWidth)
          math.tabIndex = 0; // it scrolls, by the arrow keys too
        else math.removeAttribute("tabindex");
      }
      math.classList.toggle("nsx-w-old", Boolean(said));
      if (said) error.closest(".nsx-w-more")?.setAttribute("open", "");
      if (said && area === document.activeElement) error.scrollIntoView({ block: "nearest" });
    }
    this.node.dataset.state = refused || wrong.length ? "error" : ran ? "good" : "busy";
    if (refused) setText(this.said, `This is read, but does not run: ${refused}`);
    else if (wrong.length) {
      const labels = wrong.map(([key]) => this.fields.get(key)?.label ?? key).join(", ");
      setText(this.said, `${labels}: to be corrected; the picture is the last good one`);
    } else setText(this.said, ran ? "" : "read");
    if (!refused && !wrong.length && !ran) this.timer = setTimeout(() => this.run(), RUN_MS);
  }

  stop() {
    clearTimeout(this.timer);
  }
}

// Only what MathML needs is copied, so no formula can run code.
function mathml(text) {
  const template = document.createElement("template");
  template.innerHTML = text;
  const copy = (from, to) => {
    for (const child of from.childNodes) {
      if (child.nodeType === Node.TEXT_NODE) to.append(child.textContent);
      else if (TAGS.has(child.localName)) {
        const kept = document.createElementNS(MATHML, child.localName);
        for (const { name, value } of child.attributes) {
          if (ATTRIBUTES.has(name)) kept.setAttribute(name, value);
        }
        copy(child, kept);
        to.append(kept);
      }
    }
    return to;
  };
  return copy(template.content, document.createDocumentFragment());
}
