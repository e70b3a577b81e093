// The event table. One Tab stop; arrows move between rows, Enter or a click moves the cursor.

const FIGURES = /^[-+−→.,\d\se]*$/;
const CELL_PADDING = 7;
const LEAST_NAME = 32;

class EventTable {
  constructor(onSeek) {
    this.onSeek = onSeek;
    this.head = make("tr");
    this.body = make("tbody", {
      on: {
        click: (event) => this.pick(event.target.closest("tr")),
        keydown: (event) => this.key(event),
      },
    });
    this.table = make("table", {}, make("thead", {}, this.head), this.body);
    this.note = make("div", { class: "nsx-table-note" });
    this.scroll = make("div", { class: "nsx-table" }, this.table);
    this.node = make("div", { class: "nsx-events" }, this.scroll, this.note);
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
    const written = table.rows.map((row) => row.map(cellText));
    this.measure(table.columns, written);
    const { rows } = table;
    this.times = rows.map((row) => Number(row[table.time_column ?? 0]));
    // Rows and cells are reused: while a slider moves this happens at every picture.
    while (this.body.rows.length > rows.length) this.body.lastChild.remove();
    rows.forEach((row, i) => {
      const line = this.body.rows[i] ?? this.body.appendChild(make("tr", { tabindex: "-1" }));
      row.forEach((_, k) => {
        const { words } = this.columns[k];
        const cell = line.cells[k] ?? line.appendChild(make("td"));
        const text = written[i][k];
        this.write(cell, text);
        if (cell.className !== (words ? "nsx-words" : "")) cell.className = words ? "nsx-words" : "";
      });
    });
    setText(this.note, table.note ?? "");
    this.rove();
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
    const named = [font, ...names].join("\n");
    let news = named !== this.named;
    if (news) {
      this.named = named;
      this.columns = names.map(() => ({ words: false, width: 0 }));
      this.head.replaceChildren(...names.map((name) => (
        make("th", { scope: "col", title: plainLabel(name) }, labelNodes(name))
      )));
      this.body.replaceChildren();
    }
    this.columns.forEach((column, k) => {
      const texts = written.map((row) => row[k]);
      const words = column.words || !texts.every((text) => FIGURES.test(text));
      const head = textWidth([plainLabel(names[k])], `600 ${font}`);
      const read = words ? texts.map(plainLabel) : texts;
      const width = Math.ceil(Math.max(head, textWidth(read, font))) + CELL_PADDING;
      if (words === column.words && width <= column.width && width >= 0.7 * column.width) return;
      this.columns[k] = { words, width };
      news = true;
    });
    if (news) this.share();
  }

  // Of two columns of names the shorter one has what it needs first; when but a few letters would be
  // left of them the table scrolls sideways, in its own box.
  share() {
    const { columns } = this;
    const given = columns.map(({ words, width }) => (words ? 0 : width));
    const sum = () => given.reduce((total, one) => total + one, 0);
    const names = [...columns.keys()].filter((k) => columns[k].words);
    names.sort((i, k) => columns[i].width - columns[k].width);
    names.forEach((k, i) => {
      const fair = (this.room - sum()) / (names.length - i);
      given[k] = Math.min(columns[k].width, Math.max(fair, LEAST_NAME));
    });
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
    const targets = {
      ArrowDown: i + 1, ArrowUp: i - 1, Home: 0, End: rows.length - 1,
    };
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
    while (last + 1 < this.times.length && this.times[last + 1] <= time + 1e-9) last++;
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

function cellText(value) {
  return typeof value === "number" ? String(Number(value.toPrecision(5))) : String(value ?? "");
}
