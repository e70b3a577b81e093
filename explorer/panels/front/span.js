// Asks for the range and the step of a slider; the kernel keeps them.

import { make, setText } from "./dom.js";
import { typedValue } from "./scale.js";

const ASKED = [
  ["low", "from"],
  ["high", "to"],
  ["step", "step"],
];

// What is wrong with a span, or null.
function fault({ low, high, step }, { log, integer }) {
  if (![low, high, step ?? 1].every(Number.isFinite)) return "Type a number into each field.";
  if (!(low < high)) return "A range goes from a smaller number to a larger one.";
  if (log && !(low > 0)) return "This slider is logarithmic: its range begins above 0.";
  if (step !== undefined && !(step > 0 && step <= high - low))
    return "A step is above 0 and not larger than the range.";
  if (integer && ![low, high, step ?? 1].every(Number.isInteger))
    return "This slider takes whole numbers.";
  return null;
}

// Resolves to a span, to an empty one for the usual range, or to null when cancelled.
export function askSpan(node, name, spec, scale) {
  return new Promise((resolve) => {
    let found = null;
    const asked = ASKED.filter(([key]) => key !== "step" || !spec.log); // a logarithmic one has factors
    const fields = new Map(
      asked.map(([key, label]) => {
        const input = make("input", {
          type: "text",
          class: "nsx-field",
          inputmode: "decimal",
          autocomplete: "off",
        });
        input.value = scale[key];
        return [
          key,
          { input, row: make("label", {}, make("span", {}, label), input, spec.unit ?? "") },
        ];
      }),
    );
    const note = make("div", { class: "nsx-note", role: "alert", hidden: true });
    const button = (label, act, type = "button") =>
      make("button", { type, class: "nsx-button nsx-wide", on: { click: act } }, label);
    const set = (event) => {
      event.preventDefault();
      const span = Object.fromEntries(
        [...fields].map(([key, { input }]) => [key, typedValue(input.value, spec.unit)]),
      );
      const wrong = fault(span, spec);
      note.hidden = !wrong;
      setText(note, wrong ?? "");
      if (!wrong) close(span);
    };
    const dialog = make(
      "dialog",
      { class: "nsx-dialog nsx-span", "aria-label": `Range and step of ${name}` },
      make(
        "form",
        { on: { submit: set } },
        make("strong", {}, `Slider of ${name}`),
        ...[...fields.values()].map(({ row }) => row),
        note,
        make(
          "div",
          { class: "nsx-dialog-buttons" },
          button("Usual", () => close({})),
          button("Cancel", () => close(null)),
          make("button", { type: "submit", class: "nsx-button nsx-wide" }, "Set"),
        ),
      ),
    );
    const close = (span) => {
      found = span;
      dialog.close();
    };
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(found);
    });
    node.append(dialog);
    dialog.showModal();
    fields.get("low").input.select();
  });
}
