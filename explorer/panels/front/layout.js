// Where the parts of a panel stand: bar, column of controls, plots, and beside them what moves.

import { make } from "./dom.js";
import { Divider } from "./divider.js";

export function laidOut({ bar, column, cards, clock, table, status }) {
  const plot = make("div", { class: "nsx-plot", role: "group" });
  const ink = make("canvas", { class: "nsx-ink", "aria-hidden": "true" });
  const plots = make("div", { class: "nsx-plots" }, plot, ink);
  const canvas = make("canvas", { class: "nsx-mechanism", role: "img" });
  const stage = make("div", { class: "nsx-stage" }, canvas);
  const side = make("div", { class: "nsx-side" }, stage, cards.node, clock.node, table.node);
  const body = make("div", { class: "nsx-body" }, bar, column, plots, side, status.node);
  side.append(new Divider(body).node);
  const quiet = { tabindex: "-1", "data-lm-suppress-shortcuts": "true", "data-frames": 0 };
  const root = make("div", { class: "nsx-panel", ...quiet }, body);
  return { plot, ink, plots, canvas, stage, side, body, root };
}
