// The panel: puts the parts together and speaks the protocol with the kernel.

import { decode, make, plainLabel } from "./dom.js";
import { readTheme, watchTheme } from "./theme.js";
import { LIBRARIES, takeLibrary, versionOnPage } from "./library.js";
import { Puller } from "./pull.js";
import { Controls } from "./controls.js";
import { clicked, compared, listenTo, Picture, timesOf } from "./plots.js";
import { Cursor } from "./cursor.js";
import { Grips } from "./grips.js";
import { Handles } from "./handles.js";
import { Arrows } from "./arrows.js";
import { Stage } from "./mechanism.js";
import { Clock } from "./clock.js";
import { laidOut } from "./layout.js";
import { EventTable } from "./table.js";
import { Cards } from "./cards.js";
import { Toolbar } from "./toolbar.js";
import { Status } from "./status.js";
import { copyText, linkWith, saveAs, stateInLink, textDialog } from "./share.js";
import { TakeAway } from "./takeaway.js";
import { Lecture } from "./lecture.js";
import { hideStill, showWhole } from "./opening.js";
import { Help } from "./help.js";
import { Hints } from "./hints.js";
import { pressed } from "./keys.js";
import { Pins } from "./pins.js";
import { Sound } from "./sound.js";
import { Editor } from "./write.js";
import { Repeats } from "./repeats.js";

const TABLE_MS = 250;
const SETTLE_MS = 200; // a page that opens changes its layout several times

export class Panel {
  constructor(model, el) {
    this.model = model;
    this.view = `v${Math.random().toString(36).slice(2, 10)}`;
    this.abort = new AbortController();
    const { signal } = this.abort;
    this.frames = 0;
    this.repeats = new Repeats();
    this.latest = 0; // newest own seq taken: an older one arriving late is not drawn

    this.puller = new Puller(
      this.view,
      (message) => {
        this.root.dataset.asked = message.seq ?? 0;
        return model.send(message);
      },
      () =>
        this.status.say({
          level: "error",
          text: "The kernel does not answer. Run the cell again.",
        }),
    );
    this.toolbar = new Toolbar((action, value) => this.act(action, value), signal);
    this.pins = new Pins((action, value) => this.act(action, value));
    this.bar = make("div", { class: "nsx-bar" }, this.toolbar.node, this.pins.node);
    this.status = new Status(() => this.puller.send({ type: "stop", view: this.view }));
    this.column = make("div", { class: "nsx-controls" });
    const edits = (values, drag) => {
      this.status.quiet(drag);
      this.puller.changes(values, drag);
    };
    const edit = (key, value, drag) => edits({ [key]: value }, drag);
    this.controls = new Controls(this.column, edit, (key, span) =>
      this.act("span", { key, ...span }),
    );
    this.clock = new Clock((time) => this.move(time));
    this.table = new EventTable(
      (time) => this.clock.seek(time),
      (page) => this.act("events_page", page),
      (column) => this.act("events_sort", column),
    );
    this.cards = new Cards();
    Object.assign(this, laidOut(this));
    el.append(this.root);

    this.lecture = new Lecture(this.root, this.controls, signal);
    this.help = new Help(this, signal);
    this.sound = new Sound(this.clock);
    this.toolbar.node.append(this.lecture.menu, this.lecture.button, this.help.button);
    this.theme = readTheme(this.root);
    this.root.dataset.theme = this.theme.dark ? "dark" : "light";
    this.mechanism = new Stage(this.canvas, this.theme);
    this.mechanism.layers = new Arrows(this.mechanism, () => this.clock.rate);
    this.stage.append(this.mechanism.layers.node);
    this.cursor = new Cursor(this.plots);
    this.handles = new Handles(this.plots, edits, this.controls);
    this.grips = new Grips(this.stage, this.mechanism, {
      edit: (grip, drag) => {
        this.begins = true;
        edit("grab", grip, drag);
      },
      begin: () => {
        this.played = this.clock.playing;
        this.clock.toggle(false);
      },
      end: (thrown) => {
        this.plays = thrown || this.played;
      },
      speed: () => this.clock.rate,
    });
    this.picture = new Picture(this.plot, this.ink, this.theme, {
      onDrawn: () => this.placeCursor(),
      resting: () => this.puller.idle,
      onError: (error) =>
        this.status.say({
          level: "error",
          text: "The picture could not be drawn.",
          detail: String(error),
        }),
    });
    const { picture, mechanism, clock, controls, status, pins } = this;
    this.takeaway = new TakeAway({ picture, mechanism, clock, controls, status, pins });
    this.listen(signal);
    this.hello();
  }

  listen(signal) {
    this.heard = (content, buffers) => this.receive(content, buffers ?? []);
    this.model.on("msg:custom", this.heard);
    this.root.addEventListener("keydown", (event) => pressed(this, event));
    watchTheme(() => this.retheme(), signal);
    document.addEventListener("visibilitychange", () => this.picture.pump(), { signal });
    const resized = new ResizeObserver((entries) => {
      this.retheme(); // a restored panel is made before it is in the page, where it has no colours
      for (const { target } of entries) {
        if (target === this.plot) this.picture.resize();
        else this.mechanism.resize();
      }
    });
    resized.observe(this.plot);
    resized.observe(this.stage);
    signal.addEventListener("abort", () => resized.disconnect());
  }

  async hello() {
    const plotly = await versionOnPage();
    if (this.abort.signal.aborted) return;
    if (plotly) this.usePlotly(LIBRARIES[plotly]);
    this.told = this.picture.look;
    const state = stateInLink(this.root);
    this.lecture.expect(state);
    this.puller.send({ type: "hello", view: this.view, plotly, state, look: this.told });
  }

  // For the whole picture, where one before it was missed.
  async askAgain() {
    const plotly = await versionOnPage();
    this.puller.send({
      type: "hello",
      view: this.view,
      seq: ++this.puller.seq,
      plotly,
      look: this.told,
    });
  }

  async usePlotly(promise) {
    try {
      this.picture.plotly = await promise;
    } catch (error) {
      this.status.say({
        level: "error",
        text: "The plots could not be loaded.",
        detail: String(error),
      });
      return;
    }
    this.picture.pump();
  }

  receive(content, buffers) {
    this.puller.heard();
    const { type } = content;
    if (type === "plotly") this.usePlotly(takeLibrary(content.version, buffers[0]));
    else if (type === "schema") this.schema(content);
    else if (type === "frame") this.frame(content, buffers);
    else if (type === "written") this.editor?.take(content);
    else if (type === "busy") {
      this.puller.busy();
      this.status.busy(content);
    } else if (type === "file") {
      saveAs(content.name, new Blob([buffers[0] ?? content.text ?? ""], { type: content.mime }));
      this.status.briefly(`${content.name} saved`);
    } else if (type === "clipboard") this.clipboard(content);
  }

  schema(content) {
    if (content.still) hideStill(content.still, this.abort.signal);
    this.looks = Boolean(content.looks); // whether the kernel draws what is looked at anew
    this.toolbar.configure(content);
    this.controls.configure(content.groups ?? [], (key) => this.puller.ahead(key));
    this.root.setAttribute("aria-label", plainLabel(content.title));
    this.title = this.takeaway.title = plainLabel(content.title);
    if (content.maker) this.takeaway.maker = content.maker; // it stands in the first schema
    this.lecture.configure(this.title);
    this.help.describe();
    this.clock.unit = content.time_unit ?? "s";
    if (content.write) this.editor = Editor.on(this, content.write);
    this.plot.setAttribute("aria-label", `Plots: ${this.title}`);
    this.canvas.setAttribute("aria-label", `Mechanism: ${this.title}`);
  }

  frame(content, sent) {
    const own = content.view === this.view && typeof content.seq === "number";
    const { seq } = content;
    const buffers = this.repeats.whole(content, sent);
    if (!buffers && this.repeats.last) this.askAgain(); // else the answer to hello is on its way
    if (own) this.puller.arrived(seq);
    const release = () => own && this.puller.release(seq);
    if (!buffers || (own && seq < this.latest)) {
      release();
      return;
    }
    if (own) this.latest = seq;
    this.root.dataset.trip = this.puller.trips.at(-1)?.toFixed(0) ?? ""; // ms, for measurements
    if (content.values || content.errors) {
      this.controls.answer(content.values, content.errors, (key) => this.puller.ahead(key));
    }
    if (content.status) {
      this.status.say(content.status);
      this.root.classList.toggle("nsx-stale", Boolean(content.status.stale));
    }
    this.toolbar.state(content);
    this.pins.take(content.pins, this.theme, this.toolbar.pin.hidden);
    const { figure, mechanism, table, instants, blows } = decode(
      Object.fromEntries(
        ["figure", "mechanism", "table", "instants", "blows"].map((name) => [name, content[name]]),
      ),
      buffers,
    );
    if (!figure) {
      release();
      if (own) this.plot.dataset.seq = seq;
      return;
    }
    const parts = {
      mechanism,
      table,
      instants,
      blows,
      cards: content.cards,
      t: timesOf(figure, mechanism),
    };
    const { layout } = figure;
    if (layout) this.plots.style.setProperty("--nsx-tall", `${layout.meta?.height ?? 400}px`);
    if (!this.frames) this.arrange(parts); // the first picture is drawn once, in the room it has
    this.picture.show(figure, {
      release,
      drawn: () => {
        this.arrange(parts);
        this.run(parts, own && seq === this.puller.seq && !this.puller.drag);
        if (own) this.plot.dataset.seq = seq;
        this.root.dataset.frames = ++this.frames;
        if (this.frames > 1) return;
        showWhole(this.root, this.abort.signal);
        new Hints(this.body, mechanism);
      },
    });
  }

  arrange({ mechanism, table, cards, t }) {
    this.stage.hidden = !mechanism;
    this.root.classList.toggle("nsx-no-side", !mechanism && !cards?.length && !table && !t?.length);
  }

  // Mechanism, cards, table and clock change together with the drawn picture, not before it.
  run({ mechanism, table, instants, blows, cards, t }, last) {
    this.cards.take(cards);
    if (mechanism) this.mechanism.take(mechanism);
    this.tabulate(table);
    this.clock.events([...(instants ?? [])]);
    this.sound.take([...(instants ?? [])], [...(blows ?? [])]);
    if (t?.length) this.clock.span(t[0], t[t.length - 1]);
    else this.clock.span(0, 0);
    if (this.begins) this.clock.seek(this.clock.start); // what was grabbed is a start now
    if (this.begins && last) {
      this.begins = false;
      if (this.plays) this.clock.toggle(true);
      this.plays = false;
    }
  }

  // Nobody reads a table twenty-five times a second: four times, and the last one surely.
  tabulate(table) {
    clearTimeout(this.tableTimer);
    const wait = TABLE_MS - (performance.now() - (this.tabled ?? 0));
    const write = () => {
      this.tabled = performance.now();
      this.table.take(table);
      this.help.describeColumns();
      this.table.mark(this.clock.time);
    };
    if (wait <= 0 || !table) write();
    else this.tableTimer = setTimeout(write, wait);
  }

  move(time) {
    this.cursor.move(time);
    if (!this.stage.hidden) this.mechanism.draw(time);
    this.table.mark(time);
  }

  placeCursor() {
    const { picture, plot } = this;
    this.tell();
    this.help.describePlots();
    const place = () => {
      this.cursor.place(plot, picture.layout, picture.shown(picture.data), this.theme);
      this.handles.place(plot, picture.data, (key) => this.puller.ahead(key), this.theme);
    };
    place();
    if (this.wired || !plot.on) return;
    this.wired = true;
    const again = () => {
      place();
      picture.catchUp();
      this.tell();
    };
    listenTo(plot, this.abort.signal, again, (click) => {
      const { help } = this;
      return help.mayToggle() && picture.toggle(click, !help.finger && click.event?.detail === 2);
    });
    plot.on("plotly_click", (click) => {
      const { t, changes } = clicked(click, plot, picture.data);
      if (t !== undefined) this.clock.seek(t);
      if (changes) this.puller.changes(changes, false);
    });
  }

  // Another window, or a size for which the points that there are do not do: ask for others.
  tell() {
    if (!this.looks || this.picture.moving) return;
    const { wanted, settles } = compared(this.told, this.picture.look);
    if (!wanted) return;
    const send = () => {
      if (this.picture.moving) return;
      this.told = this.picture.look;
      this.puller.look(this.told);
    };
    clearTimeout(this.lookTimer);
    if (settles) this.lookTimer = setTimeout(send, SETTLE_MS);
    else send();
  }

  async act(action, value) {
    if (TakeAway.takes(action)) await this.takeaway.save(action);
    else if (action === "load_state" && value === undefined) {
      const text = await textDialog(this.root, {
        title: "Paste a saved state (JSON)",
        accept: "Load",
      });
      if (!text?.trim()) return;
      this.lecture.expect(text);
      this.puller.act(action, text);
    } else this.puller.act(action, value);
  }

  async clipboard({ text: given, said, link }) {
    const state = this.lecture.withChoice(given);
    const text = link ? linkWith(state) : state;
    if (await copyText(this.root, text)) this.status.briefly(said ?? "Copied");
    else await textDialog(this.root, { title: "Copy this text (Ctrl+C)", text });
  }

  retheme() {
    const theme = readTheme(this.root);
    if (JSON.stringify(theme) === JSON.stringify(this.theme)) return;
    this.theme = theme;
    this.root.dataset.theme = theme.dark ? "dark" : "light";
    this.mechanism.theme = theme;
    this.pins.take(this.pins.pins, theme, this.pins.fixed);
    this.mechanism.draw();
    this.picture.retheme(theme);
  }

  stop() {
    this.abort.abort();
    this.model.off("msg:custom", this.heard);
    this.clock.stop();
    this.sound.stop();
    clearTimeout(this.status.timer);
    clearTimeout(this.tableTimer);
    clearTimeout(this.lookTimer);
    this.puller.stop();
    this.picture.stop();
    this.root.remove();
  }
}

function render({ model, el }) {
  const panel = new Panel(model, el);
  return () => panel.stop();
}

export default { render };
export { StaticTwin } from "./static_twin.js";
