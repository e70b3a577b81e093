// What the gallery keeps in the browser: own presets, and the preset used last with each model. A
// page that may not store anything keeps it as long as it is open.

import { make } from "./dom.js";
import { saveAs } from "./share.js";

const KEY = "nonsmooth-explorer-gallery";
const FORMAT = "nonsmooth-explorer presets";
const empty = () => ({ last: {}, own: {} });

// Whatever stands in the store was written by a page that may have been another version.
function checked(data) {
  const kept = empty();
  for (const [model, name] of Object.entries(data?.last ?? {})) {
    if (typeof name === "string") kept.last[model] = name;
  }
  for (const [model, presets] of Object.entries(data?.own ?? {})) {
    const good = (Array.isArray(presets) ? presets : []).filter(
      (one) => typeof one?.name === "string" && typeof one.state === "string",
    );
    if (good.length) kept.own[model] = good.map(({ name, state }) => ({ name, state }));
  }
  return kept;
}

function read() {
  try {
    return checked(JSON.parse(localStorage.getItem(KEY) ?? "{}"));
  } catch {
    globalThis.__nonsmoothExplorerKept ??= empty();
    return globalThis.__nonsmoothExplorerKept;
  }
}

function write(data) {
  try {
    localStorage.setItem(KEY, JSON.stringify(data));
  } catch {
    globalThis.__nonsmoothExplorerKept = data;
  }
}

export const lastOf = (model) => read().last[model];
export const ownOf = (model) => read().own[model] ?? [];

export function remember(model, preset) {
  const data = read();
  if (preset) data.last[model] = preset;
  else delete data.last[model];
  write(data);
}

// A preset of the same name is replaced.
export function add(model, name, state) {
  const data = read();
  data.own[model] = [
    ...(data.own[model] ?? []).filter((one) => one.name !== name),
    { name, state },
  ];
  write(data);
}

export function remove(model, name) {
  const data = read();
  data.own[model] = (data.own[model] ?? []).filter((one) => one.name !== name);
  if (!data.own[model].length) delete data.own[model];
  if (data.last[model] === name) delete data.last[model];
  write(data);
}

// All own presets as a file; returns how many they are.
export function toFile() {
  const { own } = read();
  const text = JSON.stringify({ format: FORMAT, own }, null, 1);
  saveAs("presets.json", new Blob([text], { type: "application/json" }));
  return count(own);
}

const count = (own) => Object.values(own).reduce((sum, presets) => sum + presets.length, 0);

// Asks for such a file; resolves to how many presets came from it.
export function fromFile(root) {
  return new Promise((resolve, reject) => {
    const input = make("input", { type: "file", accept: ".json,application/json", hidden: true });
    input.addEventListener("change", async () => {
      try {
        resolve(merge(await input.files[0].text()));
      } catch (error) {
        reject(error);
      } finally {
        input.remove();
      }
    });
    input.addEventListener("cancel", () => input.remove());
    root.append(input);
    input.click();
  });
}

function merge(text) {
  let data = null;
  try {
    data = JSON.parse(text);
  } catch {
    // said below
  }
  if (data?.format !== FORMAT) throw new Error("This is no file of presets of the gallery.");
  const { own } = checked(data);
  for (const [model, presets] of Object.entries(own)) {
    for (const { name, state } of presets) add(model, name, state);
  }
  return count(own);
}

// Asks for a name; resolves to it, or to null.
export function nameDialog(root, { title, text = "" }) {
  return new Promise((resolve) => {
    const input = make("input", {
      type: "text",
      class: "nsx-field nsx-field-text",
      "aria-label": title,
    });
    input.value = text;
    const button = (label, value) =>
      make("button", { type: "submit", class: "nsx-button nsx-wide", value }, label);
    const dialog = make(
      "dialog",
      { class: "nsx-dialog" },
      make(
        "form",
        { method: "dialog" },
        make("strong", {}, title),
        input,
        // the first button is the one that Enter presses
        make(
          "div",
          { class: "nsx-dialog-buttons" },
          button("Save", "accept"),
          button("Cancel", "cancel"),
        ),
      ),
    );
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "accept" && input.value.trim() ? input.value.trim() : null);
    });
    root.append(dialog);
    dialog.showModal();
    input.select();
  });
}
