// Small captioned tables beside the plots: a matrix as a heat map, numbers of several methods.
// Real tables, so that they are read aloud and copied; cells are reused from picture to picture.

import { labelNodes, make, setText } from "./dom.js";

const WARM = "#D55E00";
const COOL = "#0072B2";

export class Cards {
  constructor() {
    this.node = make("div", {
      class: "nsx-cards",
      hidden: true,
      tabindex: 0,
      role: "region",
      "aria-label": "Tables", // it scrolls
    });
    this.cards = [];
  }

  take(cards) {
    this.node.hidden = !cards?.length;
    const wanted = cards ?? [];
    while (this.cards.length > wanted.length) this.cards.pop().node.remove();
    wanted.forEach((card, i) => {
      if (!this.cards[i]) {
        this.cards.push(new Card());
        this.node.append(this.cards[i].node);
      }
      this.cards[i].take(card);
    });
  }
}

class Card {
  constructor() {
    this.caption = make("caption");
    this.head = make("tr");
    this.body = make("tbody");
    this.table = make("table", {}, this.caption, make("thead", {}, this.head), this.body);
    this.note = make("div", { class: "nsx-card-note" });
    this.node = make("div", { class: "nsx-card" }, this.table, this.note);
    this.written = new Map(); // cell -> its label: labels with marks cost a rebuild
  }

  take({ title, corner = "", columns = [], rows = [], shades, split, note = "" }) {
    this.write(this.caption, title);
    setText(this.note, note);
    this.node.classList.toggle("nsx-heat", Boolean(shades));
    this.node.classList.toggle("nsx-many", columns.length > 4);
    const head = columns.length ? [corner, ...columns] : [];
    this.fill(this.head, head, "th", (cell, k) => {
      cell.scope = "col";
      cell.classList.toggle("nsx-split", split !== undefined && k === split + 1);
    });
    while (this.body.rows.length > rows.length) this.body.lastChild.remove();
    rows.forEach((row, i) => {
      const line = this.body.rows[i] ?? this.body.appendChild(make("tr"));
      this.fill(line, row, i, (cell, k) => {
        cell.classList.toggle("nsx-split", split !== undefined && k === split + 1);
        if (k) this.shade(cell, shades?.[i]?.[k - 1]);
      });
    });
  }

  // The first cell of a row names it.
  fill(line, texts, kind, dress) {
    while (line.cells.length > texts.length) line.lastChild.remove();
    texts.forEach((text, k) => {
      const head = kind === "th" || k === 0;
      const cell =
        line.cells[k] ??
        line.appendChild(head ? make("th", { scope: kind === "th" ? "col" : "row" }) : make("td"));
      if (head) this.write(cell, text);
      else {
        setText(cell, text);
        if (cell.title !== text) cell.title = text;
      }
      dress(cell, k);
    });
  }

  write(node, label) {
    if (this.written.get(node) === label) return;
    this.written.set(node, label);
    node.replaceChildren(labelNodes(label));
  }

  shade(cell, value) {
    const part = Math.round(85 * Math.abs(value ?? 0));
    const colour = part
      ? `color-mix(in srgb, ${value > 0 ? WARM : COOL} ${part}%, transparent)`
      : "";
    if (cell.dataset.shade === colour) return;
    cell.dataset.shade = colour;
    cell.style.background = colour;
  }
}
