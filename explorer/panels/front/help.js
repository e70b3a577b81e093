// Help on every word and symbol that the panel shows: on hover, on focus by the keyboard, by touch,
// and read aloud. What is said stands in words.json.

import { labelNodes, make, plainLabel, setText } from "./dom.js";
import WORDS from "./words.json";

const WAIT = 450; // ms
const STAYS = 6000; // ms, after a touch
const TAPPED = 400; // ms, within which a tap moves the focus
const OWN = /^(rho|q0|v0|x0|u|size)\./;
const UNIT = / \([^()]*\)$/;
const START = /^[qx]0\./;
const CLICK = "A click hides its curves or shows them again; a double click shows them alone.";
const TAP = "Tap again to hide its curves or to show them.";

const byName = new Map(
  WORDS.flatMap((entry) => entry.names.map((name) => [name.toLowerCase(), entry])),
);

// The entry of a word: of a column, an axis or a control.
export const entryOf = (name) => byName.get(String(name).toLowerCase().trim());

// What a control's own text says, then its entry, and that of a word within its text.
export function helpOf({ key, label, text, low, high, unit, stops, fixed, kind }) {
  const own = OWN.exec(key);
  const entry = entryOf(own ? own[1] : key);
  if (!entry) return null;
  if (!own) return entry;
  const within = WORDS.find((one) => one.within?.some((word) => (text ?? "").includes(word)));
  const moves = kind === "slider" && !stops && !fixed && matchMedia("(any-pointer: fine)").matches;
  const chosen = moves ? " Right click, or the key r: another range or step." : "";
  const range =
    Number.isFinite(low) && Number.isFinite(high)
      ? ` Its slider goes from ${low} to ${high}${unit ? ` ${unit}` : ""}.${chosen}`
      : "";
  const named = plainLabel(label);
  const word = text && text !== named ? `${named}: ${text}` : named;
  const { means, equation } = within ?? entry;
  const brief = own[1] === "rho" && !within && text ? range.trim() : ""; // what all parameters are is heard once too often
  return { word, means: `${means}${range}`, equation, brief };
}

// Of a title of an axis or the head of a column, without its unit.
export function titled(title) {
  const text = plainLabel(title).replace(UNIT, "");
  return (
    entryOf(String(title).replace(UNIT, "")) ??
    entryOf(text) ??
    entryOf(`column.${text}`) ??
    (/^dr\/dt/.test(text) ? entryOf("column.dr/dt") : undefined) ??
    (/^(α|alpha)/.test(text) ? entryOf("α") : undefined) ??
    (/surfaces/.test(text) ? entryOf("surfaces at the end") : undefined)
  );
}

// All words of a sentence that have an entry: those of the status line.
export const wordsIn = (text) =>
  WORDS.filter(({ word, names }) =>
    [word, ...names].some((one) => one.length > 3 && !one.includes(".") && text.includes(one)),
  );

export class Help {
  constructor(panel, signal) {
    this.panel = panel;
    this.tip = make("div", {
      class: "nsx-tip",
      role: "tooltip",
      id: `nsx-tip-${panel.view}`,
      hidden: true,
    });
    panel.body.append(this.tip);
    this.columns = []; // what a screen reader says of each column
    this.button = make(
      "button",
      {
        type: "button",
        class: "nsx-button",
        "data-action": "words",
        "aria-label": "Words and symbols",
        title: "Words and symbols of this panel",
        on: { click: () => this.dialog() },
      },
      "?",
    );
    const { root } = panel;
    const listen = (name, hear) => root.addEventListener(name, hear, { signal });
    listen("pointerover", (event) => {
      if (event.pointerType !== "touch" && !event.buttons) this.later(event.target);
    });
    listen("pointerout", (event) => {
      // a finger that was lifted is out at once
      if (event.pointerType !== "touch") this.later(null);
    });
    listen("pointerdown", (event) => {
      this.told = this.tip.hidden ? undefined : this.said; // what a second tap is on
      this.finger = event.pointerType === "touch";
      this.tapped = performance.now();
      this.hide();
    });
    listen("pointerup", (event) => {
      if (event.pointerType === "touch") this.touch(event.target);
    });
    listen("focusin", ({ target }) => target.matches(":focus-visible") && this.later(target));
    listen("focusout", () => {
      // a tap takes the focus from what had it, and shows its own tip
      if (!this.finger || performance.now() - this.tapped > TAPPED) this.later(null);
    });
    document.addEventListener(
      "keydown",
      (event) => {
        if (event.key === "Escape" && !this.tip.hidden) event.preventDefault(); // closes the tip alone
        if (event.key !== "Tab") this.hide();
      },
      { signal, capture: true },
    );
    signal.addEventListener("abort", () => clearTimeout(this.timer));
  }

  // The element that a word stands in, and its entry.
  find(target) {
    const control = target.closest?.(".nsx-control");
    if (control) return [control, this.entryOfControl(control)];
    const head = target.closest?.("th");
    if (head?.closest(".nsx-table")) return [head, titled(head.dataset.name ?? head.textContent)];
    const title = target.closest?.(".infolayer text[class$=title]");
    if (title) return [title, titled(title.dataset.unformatted ?? title.textContent)];
    const named = target.closest?.(".nsx-plot g.traces");
    if (named) return [named, this.entryOfCurve(named.__data__?.[0]?.trace ?? {}, true)];
    const said = target.closest?.(".nsx-said, .nsx-checks");
    if (said) {
      const [first, ...more] = wordsIn(said.textContent);
      return [said, first && { ...first, more }];
    }
    return [];
  }

  entryOfControl(node) {
    const control = [...this.panel.controls.byKey.values()].find((one) => one.node === node);
    return control && helpOf(control.spec);
  }

  // Of a curve with a name. Coordinates may be called as other things are, T or V.
  entryOfCurve({ name, yaxis = "y" }, clicks = false) {
    if (!name) return undefined;
    const { picture, pins, controls } = this.panel;
    const pinned = /^pinned (\w)/.exec(name);
    const own = entryOf(name) ?? entryOf(plainLabel(name));
    const axis = titled(picture.layout?.[`yaxis${yaxis.slice(1)}`]?.title?.text ?? "");
    const start = [...controls.byKey.values()].find(
      ({ key, spec }) => START.test(key) && spec.label === `${name}(0)`,
    );
    const unit = start?.spec.unit ? `, in ${start.spec.unit}` : "";
    let found = own;
    if (pinned) {
      const all = pins.pins?.find(({ letter }) => letter === pinned[1])?.all;
      found = { ...entryOf("pinned"), word: name, ...(all && { equation: all }) };
    } else if (start && !(own && own === axis))
      found = { word: name, means: `A coordinate of the model${unit}.` };
    if (!clicks) return found;
    found ??= { word: name, means: "" };
    return { ...found, means: `${found.means} ${this.finger ? TAP : CLICK}`.trim() };
  }

  // A tap on a name in a legend says what it is; only the next one hides the curve.
  mayToggle() {
    return !this.finger || this.tip.hidden;
  }

  later(target) {
    clearTimeout(this.timer);
    const [node, entry] = target ? this.find(target) : [];
    if (!entry) this.timer = setTimeout(() => this.hide(), 100);
    else this.timer = setTimeout(() => this.show(node, entry), WAIT);
  }

  touch(target) {
    const [node, entry] = this.find(target);
    if (!entry || target.closest("input, select, button")) return;
    if (entry.word === this.told && node.matches(".traces")) return;
    this.show(node, entry);
    this.timer = setTimeout(() => this.hide(), STAYS);
  }

  show(node, entry) {
    clearTimeout(this.timer);
    this.tip.replaceChildren(...[entry, ...(entry.more ?? [])].map(written));
    this.tip.hidden = false;
    this.said = entry.word;
    const [whole, own] = [this.panel.root, node].map((one) => one.getBoundingClientRect());
    const { offsetWidth: wide, offsetHeight: high } = this.tip;
    const below = own.bottom - whole.top + 4;
    const end = Math.min(whole.height, innerHeight - whole.top); // of what is seen of the panel
    const top = below + high < end ? below : Math.max(own.top - whole.top - high - 4, 0);
    this.tip.style.top = `${top}px`;
    this.tip.style.left = `${Math.max(Math.min(own.left - whole.left, whole.width - wide - 4), 4)}px`;
  }

  hide() {
    clearTimeout(this.timer);
    this.tip.hidden = true;
  }

  // For screen readers: each control and column is described by its entry.
  describe() {
    for (const control of this.panel.controls.byKey.values())
      control.describe(spoken(helpOf(control.spec)));
    this.describeColumns();
  }

  // The table makes its cells anew for other columns: a text belongs to a place, not to a cell.
  describeColumns() {
    [...this.panel.table.head.cells].forEach((head, k) => {
      this.columns[k] ??= this.aloud(k);
      head.setAttribute("aria-describedby", this.columns[k].id);
      setText(this.columns[k], spoken(titled(head.dataset.name ?? head.textContent)));
    });
  }

  // What stands in the plots, in one sentence: else a screen reader reads each number of their axes.
  describePlots() {
    const {
      plot,
      picture: { layout },
    } = this.panel;
    if (!layout || layout === this.layout) return;
    this.layout = layout;
    this.plots ??= this.aloud("plots");
    for (const ink of plot.querySelectorAll("svg.main-svg"))
      ink.setAttribute("aria-hidden", "true");
    plot.setAttribute("aria-describedby", this.plots.id);
    setText(this.plots, plotted(layout));
  }

  aloud(k) {
    const node = make("span", { hidden: true, id: `${this.tip.id}-${k}` });
    this.panel.root.append(node);
    return node;
  }

  // All words that the panel shows now.
  entries() {
    const { controls, table, picture } = this.panel;
    const layout = picture.layout ?? {};
    const axes = Object.entries(layout)
      .filter(([key]) => /^[xy]axis/.test(key))
      .map(([, { title }]) => title?.text);
    const found = [
      ...[...controls.byKey.values()].map(({ spec }) => helpOf(spec)),
      ...[...table.head.cells].map((head) => titled(head.dataset.name ?? head.textContent)),
      ...axes.filter(Boolean).map(titled),
      ...(picture.data ?? []).map((one) => this.entryOfCurve(one)),
      ...wordsIn(this.panel.status.node.textContent),
    ];
    const seen = new Set();
    return found.filter((one) => one && !seen.has(one.word) && seen.add(one.word));
  }

  dialog() {
    this.hide();
    const close = make("button", { type: "submit", class: "nsx-button nsx-wide" }, "Close");
    const list = make("dl", {
      class: "nsx-words-list",
      tabindex: 0,
      "aria-label": "Words and symbols",
    });
    for (const { word, means, equation } of this.entries()) {
      list.append(make("dt", {}, labelNodes(word)), make("dd", {}, means));
      if (equation) list.append(make("dd", { class: "nsx-equation" }, equation));
    }
    const dialog = make(
      "dialog",
      { class: "nsx-dialog", "aria-label": "Words and symbols" },
      make(
        "form",
        { method: "dialog" },
        make("strong", {}, "Words and symbols"),
        list,
        make("div", { class: "nsx-dialog-buttons" }, close),
      ),
    );
    dialog.addEventListener("close", () => dialog.remove());
    this.panel.body.append(dialog);
    dialog.showModal();
  }
}

// "2 plots: y (m) over time t (s); y (m/s) over y (m)." Of plots that share an axis one has its title.
export function plotted(layout) {
  const axis = (name) => layout[`${name[0]}axis${name.slice(1)}`] ?? {};
  const own = Object.keys(layout)
    .filter((key) => /^xaxis/.test(key))
    .map((key) => `x${key.slice(5)}`);
  const shared = (name) => axis(name).matches ?? name;
  const said = own
    .map((name) => {
      const across = own.find((other) => shared(other) === shared(name) && axis(other).title?.text);
      const [up, along] = [axis(axis(name).anchor ?? "y"), axis(across ?? name)].map(({ title }) =>
        plainLabel(title?.text ?? ""),
      );
      return along ? `${up} over ${along}` : up;
    })
    .filter(Boolean);
  return said.length ? `${said.length} plot${said.length > 1 ? "s" : ""}: ${said.join("; ")}.` : "";
}

const spoken = (entry) =>
  entry?.brief ? entry.brief : entry ? [entry.means, entry.equation].filter(Boolean).join(" ") : "";

function written({ word, means, equation }) {
  return make(
    "div",
    {},
    make("strong", {}, labelNodes(word)),
    make("div", {}, means),
    equation ? make("div", { class: "nsx-equation" }, equation) : null,
  );
}
