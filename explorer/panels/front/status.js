// The line at the bottom: what the kernel says, and how far it is.

import { icon, make, setText } from "./dom.js";

// No line begins with a dot, or ends within a number.
const whole = (text) =>
  text.replaceAll(" \u00d7 ", "\u00a0\u00d7\u00a0").replaceAll(" \u00b7 ", "\u00a0\u00b7 ");

export class Status {
  constructor(onStop) {
    this.dot = make("span", { class: "nsx-dot", "aria-hidden": "true" });
    this.text = make("span", { class: "nsx-said" });
    this.detail = make("span", { class: "nsx-detail" });
    // what was checked of the run, each figure beside its bound: on hover, on focus, read aloud
    this.checks = make("span", { class: "nsx-checks", role: "note", tabindex: 0, hidden: true });
    this.bar = make("progress", { max: 1, hidden: true, "aria-label": "Progress" });
    this.halt = make(
      "button",
      {
        type: "button",
        class: "nsx-button nsx-stop",
        "data-action": "stop",
        title: "Stop the search; the best plan so far is shown",
        hidden: true,
        on: {
          click: () => {
            this.halt.disabled = true; // until the next search
            setText(this.halt.lastChild, "Stopping");
            onStop();
          },
        },
      },
      icon("stop"),
      make("span", {}, "Stop"),
    );
    this.node = make(
      "div",
      { class: "nsx-status", role: "status", "aria-live": "polite" },
      this.dot,
      this.bar,
      this.halt,
      this.text,
      this.detail,
      this.checks,
    );
    this.say({ level: "busy", text: "Starting" });
  }

  say({ level, text, detail, checks }) {
    clearTimeout(this.timer);
    this.last = { level, text, detail, checks };
    this.write(this.last);
    this.bar.hidden = true;
    this.stops(false);
  }

  // The button stands as long as what runs can be stopped.
  stops(can) {
    if (this.halt.hidden === !can) return;
    this.halt.hidden = !can;
    this.halt.disabled = false;
    setText(this.halt.lastChild, "Stop");
  }

  // Twenty-five sentences a second are no help to a screen reader.
  quiet(dragging) {
    this.node.setAttribute("aria-busy", String(dragging));
  }

  write({ level, text, detail, checks }) {
    this.node.dataset.level = level;
    setText(this.text, whole(text ?? ""));
    this.text.title = text ?? "";
    setText(this.detail, detail ?? "");
    this.detail.title = detail ?? "";
    const lines = checks?.lines ?? [];
    this.checks.hidden = !lines.length;
    setText(this.checks, checks?.text ?? "");
    this.checks.title = lines.join("\n");
    this.checks.setAttribute("aria-label", [checks?.text ?? "", ...lines].join("\n"));
  }

  busy({ text, done, total, stops }) {
    clearTimeout(this.timer);
    this.last = { level: "busy", text };
    this.write(this.last);
    this.stops(Boolean(stops));
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
