// The event table. One Tab stop; arrows move between rows, Enter or a click moves the cursor.

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
  }

  take(table) {
    this.node.hidden = !table;
    if (!table) return;
    // measured again for other columns, or when the words of the first row need more room
    const words = table.rows[0]?.map((one) => (typeof one === "string" ? one.length : 0)) ?? [];
    const sizes = words.map((length, k) => Math.max(length, this.sizes?.[k] ?? 0));
    const shape = [...table.columns, ...sizes].join("\n");
    if (this.columns !== shape) {
      const other = !this.columns?.startsWith(table.columns.join("\n"));
      this.columns = shape;
      this.sizes = other ? words : sizes;
      const cells = table.columns.map((name, k) => (
        make("th", { scope: "col", class: this.sizes[k] ? "nsx-words" : null }, labelNodes(name))
      ));
      this.head.replaceChildren(...cells);
      this.share(table);
      this.body.replaceChildren();
    }
    const { rows } = table;
    this.times = rows.map((row) => Number(row[table.time_column ?? 0]));
    // Rows and cells are reused: while a slider moves this happens at every picture.
    while (this.body.rows.length > rows.length) this.body.lastChild.remove();
    rows.forEach((row, i) => {
      const line = this.body.rows[i] ?? this.body.appendChild(make("tr", { tabindex: "-1" }));
      row.forEach((value, k) => {
        const cell = line.cells[k] ?? line.appendChild(make("td"));
        const number = typeof value === "number";
        setText(cell, number ? String(Number(value.toPrecision(5))) : String(value ?? ""));
        if (cell.className !== (number ? "" : "nsx-words")) {
          cell.className = number ? "" : "nsx-words";
        }
      });
    });
    setText(this.note, table.note ?? "");
    this.rove();
  }

  // Fixed widths: columns that breathe while a slider moves are hard to read, and slow to lay out.
  share({ columns, rows }) {
    const wanted = columns.map((name, k) => {
      const value = rows[0]?.[k];
      const content = typeof value !== "number" ? Math.max(this.sizes[k] ?? 0, 7)
        : Number.isInteger(value) ? 2 : 7; // five digits, a sign, a point
      return Math.max(plainLabel(name).length, content) + 1;
    });
    const total = wanted.reduce((sum, one) => sum + one, 0);
    this.table.style.minWidth = `${(0.8 * total).toFixed(1)}ch`; // below that it scrolls sideways, in its own box
    [...this.head.cells].forEach((cell, k) => {
      cell.style.width = `${(100 * wanted[k]) / total}%`;
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
