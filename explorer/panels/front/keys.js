// The keys that a panel takes.

import { inTextField } from "./dom.js";

export function pressed(panel, event) {
  // Else JupyterLab takes the keys: `b` would insert a cell, `d d` delete one.
  event.stopPropagation();
  if (event.target.closest?.("dialog")) return;
  const typing = inTextField(event.target);
  const key = event.key.toLowerCase();
  const command = (event.ctrlKey || event.metaKey) && !event.altKey;
  if (command && !typing && (key === "z" || key === "y")) {
    event.preventDefault();
    panel.act(key === "y" || event.shiftKey ? "redo" : "undo");
  } else if (
    (key === "n" || key === "p") &&
    !typing &&
    !event.ctrlKey &&
    !event.metaKey &&
    !event.altKey
  ) {
    if (event.target.closest?.("select")) return; // it chooses by letters
    event.preventDefault();
    panel.clock.jump(key === "n" ? 1 : -1);
  } else if (key === "escape" && panel.lecture.on && !typing && !event.defaultPrevented)
    panel.lecture.toggle(false);
  else if (key === "l" && !typing && !command && !event.altKey && !event.repeat) {
    if (event.target.closest?.("select")) return;
    event.preventDefault();
    panel.lecture.toggle();
  } else if (event.key === " " && !typing && !event.repeat) {
    const element = event.target.closest?.("button, select, summary, [type=checkbox]");
    if (element) return; // space is theirs
    event.preventDefault();
    panel.clock.toggle();
  }
}
