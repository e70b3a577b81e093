// The line at the bottom: what the kernel says, and how far it is.

import { make, setText } from "./dom.js";

export class Status {
  constructor() {
    this.dot = make("span", { class: "nsx-dot", "aria-hidden": "true" });
    this.text = make("span", { class: "nsx-said" });
    this.detail = make("span", { class: "nsx-detail" });
    // what was checked of the run, each figure beside its bound: on hover, on focus, read aloud
    this.checks = make("span", { class: "nsx-checks", role: "note", tabindex: 0, hidden: true });
    this.bar = make("progress", { max: 1, hidden: true, "aria-label": "Progress" });
    this.node = make(
      "div",
      { class: "nsx-status", role: "status", "aria-live": "polite" },
      this.dot, this.text, this.bar, this.detail, this.checks,
    );
    this.say({ level: "busy", text: "Starting" });
  }

  say({ level, text, detail, checks }) {
    clearTimeout(this.timer);
    this.last = { level, text, detail, checks };
    this.write(this.last);
    this.bar.hidden = true;
  }

  // Twenty-five sentences a second are no help to a screen reader.
  quiet(dragging) {
    this.node.setAttribute("aria-busy", String(dragging));
  }

  write({ level, text, detail, checks }) {
    this.node.dataset.level = level;
    setText(this.text, text ?? "");
    this.text.title = text ?? "";
    setText(this.detail, detail ?? "");
    this.detail.title = detail ?? "";
    const lines = checks?.lines ?? [];
    this.checks.hidden = !lines.length;
    setText(this.checks, checks?.text ?? "");
    this.checks.title = lines.join("\n");
    this.checks.setAttribute("aria-label", [checks?.text ?? "", ...lines].join("\n"));
  }

  busy({ text, done, total }) {
    this.say({ level: "busy", text });
    this.bar.hidden = false;
    if (total > 0) this.bar.value = done / total;
    else this.bar.removeAttribute("value"); // unknown length: the bar moves by itself
  }

  // A short word ("Link copied"), then back to what the kernel said.
  briefly(text) {
    const { last } = this;
    this.say({ level: "ok", text });
    this.last = last;
    this.timer = setTimeout(() => this.write(this.last), 2500);
  }
}
