// What cannot be seen, said once: at the first visit, at the foot of the controls, never over the plots.

import { make } from "./dom.js";

const SEEN = "nsx-hinted";

export class Hints {
  constructor(body, mechanism) {
    if (seen()) return;
    const pins = !body.querySelector("[data-action=pin]").hidden;
    const all = [
      "Click a curve or a row of the table: the time cursor goes there.",
      pins && "Pin keeps this run as a pale picture to compare with.",
      mechanism?.items.some(({ grip }) => grip) &&
        "Drag a body of the mechanism to start the run elsewhere.",
    ].filter(Boolean);
    const node = make(
      "aside",
      { class: "nsx-hints", "aria-label": "Hints" },
      make("ul", {}, ...all.map((one) => make("li", {}, one))),
      make(
        "button",
        {
          type: "button",
          class: "nsx-button nsx-wide",
          on: {
            click: () => {
              node.remove();
              room("");
              body.querySelector("input, select")?.focus();
            },
          },
        },
        "Got it",
      ),
    );
    const column = body.querySelector(".nsx-controls");
    const room = (px) => {
      column.style.marginBottom = px;
    };
    body.append(node);
    room(`${node.offsetHeight + 16}px`); // nothing lies below it
    keep();
  }
}

function seen() {
  try {
    return globalThis.__nonsmoothExplorerHinted || localStorage.getItem(SEEN);
  } catch {
    return false; // no storage: once for each page
  }
}

function keep() {
  globalThis.__nonsmoothExplorerHinted = true;
  try {
    localStorage.setItem(SEEN, "1");
  } catch {
    // the page remembers it
  }
}
