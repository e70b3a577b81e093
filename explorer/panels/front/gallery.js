// The gallery: a card for each model, whose picture moves when it is looked at; a click opens the
// panel of the model in its place.

import { inTextField, make, setText, unpack } from "./dom.js";
import * as keep from "./keep.js";
import { hideStill, showWhole } from "./opening.js";
import { Panel } from "./panel.js";
import { stateInLink } from "./share.js";
import { readTheme, watchTheme } from "./theme.js";
import { below, GalleryCard } from "./gallery-card.js";
import { chipsOfPresets, menuOfPresets } from "./gallery-presets.js";

const BATCH_MS = 20;

class Gallery {
  constructor(model, el) {
    this.model = model;
    this.view = `g${Math.random().toString(36).slice(2, 10)}`;
    this.abort = new AbortController();
    const { signal } = this.abort;
    this.cards = new Map();
    this.groups = [];
    this.waiting = new Set(); // cards in view whose film has not been asked for

    this.search = make("input", {
      type: "search",
      class: "nsx-g-search",
      placeholder: "Search: friction, chaos, walker …",
      "aria-label": "Search the models",
      autocomplete: "off",
      spellcheck: "false",
      on: { input: () => this.filter() },
    });
    this.chosen = make("div", { class: "nsx-g-groups", role: "group", "aria-label": "Groups" });
    this.said = make("div", { class: "nsx-g-said", role: "status" });
    this.list = make("div", { class: "nsx-g-list" });
    this.screen = make(
      "div",
      { class: "nsx-g-screen" },
      make(
        "div",
        { class: "nsx-g-head" },
        make("strong", {}, "Gallery"),
        this.search,
        this.said,
        menuOfPresets(this),
      ),
      this.chosen,
      this.list,
    );
    this.back = make(
      "button",
      {
        type: "button",
        class: "nsx-button nsx-wide nsx-g-back",
        on: { click: () => this.leave() },
      },
      "← All models",
    );
    this.save = make(
      "button",
      {
        type: "button",
        class: "nsx-button nsx-wide",
        on: { click: () => this.saveAs() },
        title: "Keep this state in the browser, under a name of your choice",
      },
      "Save as preset …",
    );
    this.own = make("div", { class: "nsx-g-own", role: "group", "aria-label": "Your presets" });
    this.told = make("div", { class: "nsx-g-said", role: "status" });
    this.bar = make(
      "div",
      { class: "nsx-g-bar", hidden: true },
      this.back,
      this.own,
      this.told,
      this.save,
    );
    this.root = make(
      "div",
      {
        class: "nsx-gallery",
        role: "region",
        "aria-label": "Gallery of models",
        tabindex: "-1",
        "data-lm-suppress-shortcuts": "true",
      },
      this.bar,
      this.screen,
    );
    this.host = make("div", { class: "nsx-g-host" });
    el.append(this.root, this.host);

    this.theme = readTheme(this.root);
    this.root.dataset.theme = this.theme.dark ? "dark" : "light";
    this.listen(signal);
    this.ask("gallery");
    const state = stateInLink(this.root);
    if (state) this.ask("open", { state });
  }

  listen(signal) {
    this.heard = (content, buffers) => this.receive(content, buffers ?? []);
    this.model.on("msg:custom", this.heard);
    this.root.addEventListener("keydown", (event) => this.key(event));
    watchTheme(() => this.retheme(), signal);
    this.inView = new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries) {
          if (isIntersecting) this.want(target.dataset.model);
        }
      },
      { root: this.list, rootMargin: "150px" },
    );
    let width = 0;
    const resized = new ResizeObserver(() => {
      this.retheme();
      if (this.root.clientWidth === width) return;
      width = this.root.clientWidth;
      for (const card of this.cards.values()) card.thumb.resize();
    });
    resized.observe(this.root);
    signal.addEventListener("abort", () => {
      resized.disconnect();
      this.inView.disconnect();
    });
    document.addEventListener(
      "pointerdown",
      (event) => {
        for (const menu of this.root.querySelectorAll("details.nsx-menu[open]")) {
          if (!menu.contains(event.target)) menu.open = false;
        }
      },
      { signal, capture: true },
    );
  }

  ask(action, value) {
    this.model.send({ type: "do", view: this.view, seq: null, action, value });
  }

  say(text) {
    setText(this.bar.hidden ? this.said : this.told, text);
  }

  receive(content, buffers) {
    if (content.sizes) unpack(content.sizes, buffers).then((whole) => this.receive(whole, []));
    else if (content.type === "gallery") this.fill(content);
    else if (content.type === "films") {
      for (const [name, film] of Object.entries(content.films))
        if (film) this.cards.get(name)?.thumb.take(film);
    } else if (content.type === "open") this.show(content.open);
    else if (content.type === "refused") this.say(content.text);
    else if (content.type === "busy" && !this.panel) this.say(`${content.text} …`);
    else if (content.type === "state" && this.naming) this.kept(content);
    else if (content.type === "frame" && content.status?.level === "error" && !this.panel) {
      this.say(content.status.text);
    }
  }

  fill({ groups, open, still }) {
    if (still) hideStill(still, this.abort.signal);
    this.cards.clear();
    this.groups = groups.map(({ name, title, models }, k) => {
      const id = `${this.view}-${k}`;
      const cards = models.map((one) => new GalleryCard(one, title, this));
      for (const card of cards) {
        this.cards.set(card.name, card);
        this.inView.observe(card.node);
      }
      const list = make(
        "ul",
        { class: "nsx-g-cards", role: "list", "aria-labelledby": id },
        ...cards.map((c) => c.node),
      );
      const section = make("section", {}, make("h3", { id }, title), list);
      const button = make(
        "button",
        {
          type: "button",
          class: "nsx-button nsx-wide",
          "aria-pressed": "false",
          on: { click: () => this.choose(name) },
        },
        title,
      );
      return { name, cards, section, button };
    });
    this.every = make(
      "button",
      {
        type: "button",
        class: "nsx-button nsx-wide",
        "aria-pressed": "true",
        on: { click: () => this.choose(null) },
      },
      "All",
    );
    this.group = null;
    this.chosen.replaceChildren(this.every, ...this.groups.map((one) => one.button));
    this.list.replaceChildren(...this.groups.map((one) => one.section));
    this.filter();
    showWhole(this.root, this.abort.signal);
    if (open) this.show(open);
  }

  choose(group) {
    this.group = this.group === group ? null : group;
    this.every.setAttribute("aria-pressed", String(this.group === null));
    for (const one of this.groups)
      one.button.setAttribute("aria-pressed", String(one.name === this.group));
    this.filter();
  }

  filter() {
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const { name, cards, section } of this.groups) {
      let any = false;
      for (const card of cards) {
        const fits =
          (this.group ?? name) === name && words.every((word) => card.haystack.includes(word));
        card.node.hidden = !fits;
        any ||= fits;
        shown += fits;
      }
      section.hidden = !any;
    }
    this.say(
      shown ? `${shown} model${shown === 1 ? "" : "s"}` : "No model fits. Try another word.",
    );
    this.list.scrollTop = 0;
    const visible = this.visible();
    this.reach(visible.find((card) => card.name === this.current) ?? visible[0]);
  }

  visible() {
    return [...this.cards.values()].filter((card) => !card.node.hidden);
  }

  // One card at a time stands in the order of Tab; the arrow keys choose it.
  reach(card) {
    this.cards.get(this.current)?.reach(false);
    this.current = card?.name;
    card?.reach(true);
  }

  want(name) {
    const card = this.cards.get(name);
    if (!card || card.asked) return;
    card.asked = true;
    if (!this.waiting.size) {
      setTimeout(() => {
        this.ask("films", [...this.waiting]);
        this.waiting.clear();
      }, BATCH_MS);
    }
    this.waiting.add(name);
  }

  // -- the model that is open ----------------------------------------------------------------

  open(name, preset = null) {
    const own = keep.ownOf(name).find((one) => one.name === preset);
    this.asked = { name, preset };
    this.say(`Opening ${this.cards.get(name).title} …`);
    this.ask(
      "open",
      own ? { model: name, state: own.state } : { model: name, preset: preset ?? "" },
    );
  }

  show(name) {
    this.close();
    const here = this.root.contains(document.activeElement);
    if (this.asked?.name === name) keep.remember(name, this.asked.preset);
    [this.asked, this.name] = [null, name];
    this.filter();
    [this.screen.hidden, this.bar.hidden] = [true, false];
    this.root.classList.add("nsx-g-opened");
    this.panel = new Panel(this.model, this.host);
    const act = this.panel.act.bind(this.panel);
    this.panel.act = (action, value) => {
      if (action === "preset" && this.cards.has(this.name)) keep.remember(this.name, value);
      return act(action, value);
    };
    this.listOwn();
    this.say("");
    if (here) this.back.focus({ preventScroll: true });
  }

  close() {
    this.panel?.stop();
    this.panel = null;
  }

  leave() {
    this.close();
    this.ask("leave");
    [this.screen.hidden, this.bar.hidden] = [false, true];
    this.root.classList.remove("nsx-g-opened");
    const card = this.cards.get(this.name);
    for (const one of this.cards.values()) {
      one.configure();
      one.thumb.resize();
    }
    this.filter();
    if (card && !card.node.hidden) {
      this.reach(card);
      card.button.focus();
    } else this.search.focus();
  }

  async saveAs() {
    const name = await keep.nameDialog(this.root, { title: "Name of the preset" });
    if (!name) return;
    this.naming = name;
    this.ask("state");
  }

  kept({ text }) {
    const { model } = JSON.parse(text); // the list of models in the panel may have led elsewhere
    const of = this.cards.has(model) ? model : this.name;
    keep.add(of, this.naming, text);
    keep.remember(of, this.naming);
    this.say(`Kept as ${this.naming} of ${this.cards.get(of)?.title ?? of}`);
    this.naming = null;
    this.listOwn();
  }

  listOwn() {
    const chips = chipsOfPresets(this);
    this.own.hidden = !chips.length;
    this.own.replaceChildren(...chips);
  }

  // -- keys ----------------------------------------------------------------------------------

  key(event) {
    // Else JupyterLab takes the keys: `b` would insert a cell, `d d` delete one.
    event.stopPropagation();
    const { target, key } = event;
    if (target === this.search && key === "Escape") {
      this.search.value = "";
      this.filter();
    } else if (target === this.search && key === "ArrowDown") {
      event.preventDefault();
      this.cards.get(this.current)?.button.focus();
    } else if (key === "/" && !inTextField(target) && !this.screen.hidden) {
      event.preventDefault();
      this.search.focus();
    } else if (target.classList.contains("nsx-g-open")) this.step(event);
  }

  // From card to card: in the order of reading, or to the nearest one of the row above or below.
  step(event) {
    const cards = this.visible();
    const here = cards.findIndex((card) => card.name === this.current);
    const next = {
      ArrowRight: () => here + 1,
      ArrowLeft: () => here - 1,
      Home: () => 0,
      End: () => cards.length - 1,
      ArrowDown: () => below(cards, here, 1),
      ArrowUp: () => below(cards, here, -1),
    }[event.key];
    if (!next) return;
    event.preventDefault();
    const card = cards[next()];
    if (!card) return;
    this.reach(card);
    card.button.focus();
  }

  retheme() {
    const theme = readTheme(this.root);
    if (JSON.stringify(theme) === JSON.stringify(this.theme)) return;
    this.theme = theme;
    this.root.dataset.theme = theme.dark ? "dark" : "light";
    for (const card of this.cards.values()) card.thumb.retheme(theme);
  }

  stop() {
    this.abort.abort();
    this.close();
    this.model.off("msg:custom", this.heard);
    for (const card of this.cards.values()) card.thumb.pause();
    this.root.remove();
    this.host.remove();
  }
}

function render({ model, el }) {
  const gallery = new Gallery(model, el);
  return () => gallery.stop();
}

export default { render };
