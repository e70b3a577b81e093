// The event table. One Tab stop; arrows move between rows, Enter or a click moves the cursor.
// A click on the head of a column orders all events by it, a second one the other way round.

import { labelNodes, make, plainLabel, setText, textWidth } from "./dom.js";
import { clamp, shown } from "./scale.js";

const FIGURES = /^[-+−→.,\d\se×⁻⁰¹²³⁴⁵⁶⁷⁸⁹]*$/;
const CELL_PADDING = 7;
const MOST_LEAST = 96; // of a column of names: a longer word is broken

export class EventTable {
  constructor(onSeek, onPage, onSort) {
    this.onSeek = onSeek;
    this.onSort = onSort;
    this.page = 0;
    const turn = (text, name, by) =>
      make(
        "button",
        {
          type: "button",
          class: "nsx-page",
          "aria-label": name,
          title: name,
          on: { click: () => onPage(this.page + by) },
        },
        text,
      );
    [this.earlier, this.later] = [turn("‹", "Page before", -1), turn("›", "Next page", 1)];
    this.leaf = make("select", {
      class: "nsx-page",
      "aria-label": "Page of events",
      on: { change: () => onPage(this.leaf.selectedIndex) },
    });
    this.head = make("tr", {
      on: {
        click: (event) => this.sort(event.target.closest("th")),
        keydown: (event) => {
          if (event.key !== "Enter" && event.key !== " ") return;
          event.preventDefault();
          this.sort(event.target.closest("th"));
        },
      },
    });
    this.body = make("tbody", {
      on: {
        click: (event) => this.pick(event.target.closest("tr")),
        keydown: (event) => this.key(event),
      },
    });
    this.table = make("table", {}, make("thead", {}, this.head), this.body);
    this.note = make("div", { class: "nsx-table-note" });
    this.scroll = make("div", { class: "nsx-table" }, this.table);
    const foot = make(
      "div",
      { class: "nsx-table-foot" },
      this.note,
      this.earlier,
      this.leaf,
      this.later,
    );
    this.node = make("div", { class: "nsx-events" }, this.scroll, foot);
    this.times = [];
    this.columns = [];
    this.written = new WeakMap(); // cell -> its text
    this.room = 0;
    new ResizeObserver(([{ contentRect }]) => {
      if (contentRect.width === this.room) return;
      this.room = contentRect.width;
      if (this.shown) this.take(this.shown); // the text may have another size
      this.share();
    }).observe(this.scroll);
  }

  take(table) {
    this.shown = table;
    this.node.hidden = !table;
    if (!table) return;
    const { time, time_column: clock = 0 } = table;
    const text = (value, k) =>
      time && k === clock
        ? (value * time.factor).toFixed(time.digits).replace("-", "−")
        : cellText(value);
    const written = table.rows.map((row) => row.map(text));
    this.measure(table.columns, written);
    const { rows } = table;
    this.times = rows.map((row) => Number(row[clock]));
    // Rows and cells are reused: while a slider moves this happens at every picture.
    while (this.body.rows.length > rows.length) this.body.lastChild.remove();
    rows.forEach((row, i) => {
      const line = this.body.rows[i] ?? this.body.appendChild(make("tr", { tabindex: "-1" }));
      row.forEach((_, k) => {
        const { words } = this.columns[k];
        const cell = line.cells[k] ?? line.appendChild(make("td"));
        const text = written[i][k];
        this.write(cell, text);
        if (cell.className !== (words ? "nsx-words" : ""))
          cell.className = words ? "nsx-words" : "";
      });
    });
    setText(this.note, table.note ?? "");
    const { page = 0, pages = 1 } = table;
    if (page !== this.page) this.scroll.scrollTop = 0;
    this.page = page;
    this.earlier.hidden = this.later.hidden = this.leaf.hidden = pages < 2;
    if (this.leaf.length !== pages) {
      this.leaf.replaceChildren(
        ...Array.from({ length: pages }, (_, k) => make("option", {}, `${k + 1} of ${pages}`)),
      );
    }
    this.leaf.selectedIndex = page;
    this.earlier.disabled = page < 1;
    this.later.disabled = page >= pages - 1;
    this.ordered(table.by);
    this.rove();
  }

  // Which column the events are ordered by, and which way.
  ordered(by) {
    this.sortable = Boolean(by);
    this.falling = Boolean(by?.[1]);
    [...this.head.cells].forEach((cell, k) => {
      const way = by && by[0] === k ? (by[1] ? "descending" : "ascending") : null;
      if (cell.getAttribute("aria-sort") === way) return;
      if (way) cell.setAttribute("aria-sort", way);
      else cell.removeAttribute("aria-sort");
    });
    if (this.head.dataset.sortable === String(this.sortable)) return;
    this.head.dataset.sortable = this.sortable;
    for (const cell of this.head.cells) cell.tabIndex = this.sortable ? 0 : -1;
  }

  sort(cell) {
    if (cell && this.sortable) this.onSort(cell.cellIndex);
  }

  // Figures are text; words are labels, which cost more and change seldom.
  write(cell, text) {
    const was = this.written.get(cell);
    if (was === text) return;
    this.written.set(cell, text);
    if (FIGURES.test(text)) setText(cell, text);
    else cell.replaceChildren(labelNodes(text));
    if (!FIGURES.test(text) || cell.title) cell.title = cell.textContent;
  }

  // Figures are whole; names share the rest of the width. Columns that breathe while a slider moves
  // are hard to read, and slow to lay out: they grow at once and shrink late.
  measure(names, written) {
    const { fontSize, fontFamily } = getComputedStyle(this.table);
    const font = `${fontSize} ${fontFamily}`;
    const key = [font, ...names].join("\n");
    let news = key !== this.named;
    if (news) {
      this.named = key;
      this.columns = names.map(() => ({ words: false, width: 0, least: 0 }));
      this.head.replaceChildren(
        ...names.map((name) => {
          const [what, unit] = nameAndUnit(name);
          const parts = unit ? [labelNodes(what), " ", make("span", {}, unit)] : [labelNodes(what)];
          return make("th", { scope: "col", title: plainLabel(name) }, ...parts);
        }),
      );
      this.body.replaceChildren();
      delete this.head.dataset.sortable;
    }
    this.columns.forEach((column, k) => {
      const texts = written.map((row) => row[k]);
      const words = column.words || !texts.every((text) => FIGURES.test(text));
      const head = textWidth(nameAndUnit(names[k]).map(plainLabel), `600 ${font}`);
      const read = words ? texts.map(plainLabel) : texts;
      const [width, part] = [read, read.flatMap((text) => text.split(" "))].map(
        (parts) => Math.ceil(Math.max(head, textWidth(parts, font))) + CELL_PADDING,
      );
      const least = words ? Math.min(part, MOST_LEAST) : part;
      const kept = words === column.words && width <= column.width && width >= 0.7 * column.width;
      if (kept && least <= column.least) return;
      this.columns[k] = { words, width, least };
      news = true;
    });
    if (news) this.share();
  }

  // Of two columns of names the shorter one has what it needs first. Names take another line where
  // they have to, then pairs of figures; else the table scrolls sideways, in its own box.
  share(folded = false) {
    const { columns } = this;
    const given = columns.map(({ words, width, least }) => (words ? 0 : folded ? least : width));
    const sum = () => given.reduce((total, one) => total + one, 0);
    const names = [...columns.keys()].filter((k) => columns[k].words);
    names.sort((i, k) => columns[i].width - columns[k].width);
    names.forEach((k, i) => {
      const fair = (this.room - sum()) / (names.length - i);
      given[k] = Math.min(columns[k].width, Math.max(fair, columns[k].least));
    });
    if (!folded && sum() > this.room && this.room) {
      this.share(true);
      return;
    }
    this.table.classList.toggle("nsx-folded", folded);
    this.table.style.width = `${Math.max(sum(), this.room)}px`;
    columns.forEach(({ words }, k) => {
      const cell = this.head.cells[k];
      cell.style.width = `${given[k]}px`;
      cell.className = words ? "nsx-words" : "";
    });
  }

  rove(to = this.body.querySelector('[tabindex="0"]') ?? this.body.rows[0]) {
    for (const one of this.body.querySelectorAll('[tabindex="0"]')) {
      if (one !== to) one.tabIndex = -1;
    }
    if (to) to.tabIndex = 0;
  }

  pick(row) {
    if (!row) return;
    this.rove(row);
    const time = this.times[row.sectionRowIndex];
    if (!Number.isFinite(time)) return;
    this.onSeek(time);
    this.current(row); // of events at one instant, the one that was picked
  }

  key(event) {
    const row = event.target.closest("tr");
    const { rows } = this.body;
    const i = row?.sectionRowIndex ?? 0;
    const targets = { ArrowDown: i + 1, ArrowUp: i - 1, Home: 0, End: rows.length - 1 };
    if (event.key === "Enter") this.pick(row);
    else if (event.key in targets) {
      const to = rows[clamp(targets[event.key], 0, rows.length - 1)];
      this.rove(to);
      to?.focus();
    } else return;
    event.preventDefault();
  }

  // Mark the last event at or before the cursor.
  mark(time) {
    let last = -1;
    this.times.forEach((one, k) => {
      const later =
        last < 0 || one > this.times[last] || (one === this.times[last] && !this.falling);
      if (one <= time + 1e-9 && later) last = k;
    });
    this.current(this.body.rows[last]);
  }

  current(row) {
    if (row === this.marked) return;
    this.marked?.removeAttribute("aria-current");
    row?.setAttribute("aria-current", "true");
    this.marked = row;
    if (row && !this.body.contains(document.activeElement)) this.reveal(row);
  }

  // Not scrollIntoView: that would scroll the notebook too.
  reveal(row) {
    const { scroll } = this;
    const above = row.offsetTop - this.head.offsetHeight;
    const below = row.offsetTop + row.offsetHeight - scroll.clientHeight;
    if (scroll.scrollTop > above) scroll.scrollTop = above;
    else if (scroll.scrollTop < below) scroll.scrollTop = below;
  }
}

// A name and the unit behind it, which may stand below it.
function nameAndUnit(name) {
  const [, what, unit] = /^(.+?) (\(.*\))$/.exec(name) ?? [null, name];
  return unit ? [what, unit] : [what];
}

// A line ends between words, not within a formula or a pair of numbers.
function cellText(value) {
  if (typeof value === "number") return shown(Number(value.toPrecision(5)));
  return String(value ?? "")
    .replaceAll(" - ", " − ")
    .replace(/ ([−+]) /g, "\u00a0$1\u00a0")
    .replace(/([<=>]|&[lg]t;) /g, "$1\u00a0")
    .replaceAll(" →", "\u00a0→")
    .replace(/(\d), (?=\d)/g, "$1,\u00a0");
}
