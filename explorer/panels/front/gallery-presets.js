// The presets of whoever looks at the gallery: their files, and those of the model that is open.

import { make } from "./dom.js";
import * as keep from "./keep.js";

const presets = (count) => `${count} preset${count === 1 ? "" : "s"}`;

// What saves all presets to a file, and loads them from one.
export function menuOfPresets(gallery) {
  const menu = make("details", { class: "nsx-menu" });
  const summary = make("summary", { class: "nsx-button nsx-wide" }, "My presets");
  const item = (label, title, act) =>
    make(
      "button",
      {
        type: "button",
        title,
        on: {
          click: () => {
            menu.open = false;
            summary.focus();
            act();
          },
        },
      },
      label,
    );
  menu.append(
    summary,
    make(
      "div",
      { class: "nsx-menu-list" },
      item("Save to a file", "All of your presets, to keep or to send", () => {
        gallery.say(`${presets(keep.toFile())} saved`);
      }),
      item("Load from a file …", "Adds the presets of a file", async () => {
        try {
          gallery.say(`${presets(await keep.fromFile(gallery.root))} loaded`);
        } catch (error) {
          gallery.say(error.message);
        }
        for (const card of gallery.cards.values()) card.configure();
      }),
    ),
  );
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    menu.open = false;
    summary.focus();
  });
  return menu;
}

// A chip for each preset of the model that is open, with what deletes it.
export function chipsOfPresets(gallery) {
  return keep.ownOf(gallery.name).map(({ name, state }) =>
    make(
      "span",
      { class: "nsx-g-pair" },
      make(
        "button",
        {
          type: "button",
          class: "nsx-g-chip",
          on: {
            click: () => {
              keep.remember(gallery.name, name);
              gallery.panel.act("load_state", state);
            },
          },
        },
        name,
      ),
      make(
        "button",
        {
          type: "button",
          class: "nsx-g-chip nsx-g-away",
          "aria-label": `Delete the preset ${name}`,
          title: "Delete this preset",
          on: {
            click: () => {
              keep.remove(gallery.name, name);
              gallery.listOwn();
              gallery.say(`${name} deleted`);
              gallery.save.focus();
            },
          },
        },
        "×",
      ),
    ),
  );
}
