// Out of and into the page: files, clipboard, and the two dialogs that show or take text.

import { make } from "./dom.js";

export function saveAs(name, source) {
  const url = source instanceof Blob ? URL.createObjectURL(source) : source;
  const link = make("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  if (source instanceof Blob) setTimeout(() => URL.revokeObjectURL(url), 10000);
}

export async function copyText(root, text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // No permission, or a page without https: the old way, inside the panel to keep the focus near.
    const before = document.activeElement;
    const area = make("textarea", { class: "nsx-offscreen", "aria-hidden": "true" });
    area.value = text;
    root.append(area);
    area.select();
    let copied = false;
    try {
      copied = document.execCommand("copy");
    } catch {
      copied = false;
    }
    area.remove();
    before?.focus?.();
    return copied;
  }
}

// Resolves to the text, or null when cancelled. Lives in the root, whose keydown guard it needs.
export function textDialog(root, { title, text = "", accept = null }) {
  return new Promise((resolve) => {
    const area = make("textarea", {
      rows: 12,
      spellcheck: "false",
      "aria-label": title,
      readonly: accept === null,
    });
    area.value = text;
    const close = (label, value) =>
      make("button", { type: "submit", class: "nsx-button nsx-wide", value }, label);
    const buttons =
      accept === null
        ? [close("Close", "cancel")]
        : [close("Cancel", "cancel"), close(accept, "accept")];
    const form = make(
      "form",
      { method: "dialog" },
      make("strong", {}, title),
      area,
      make("div", { class: "nsx-dialog-buttons" }, ...buttons),
    );
    const dialog = make("dialog", { class: "nsx-dialog" }, form);
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "accept" ? area.value : null);
    });
    root.append(dialog);
    dialog.showModal();
    area.focus();
    area.select();
  });
}

// A link holds a state as base64url JSON. JupyterLab takes the query out of the address while it
// loads; the navigation entry still knows it. Only the first panel of the page takes it, once: where
// its code comes later than that of another panel, which has taken it, it takes it too.
const LINK_KEY = "nsx";

export function stateInLink(root) {
  const taker = globalThis.__nonsmoothExplorerLinked;
  const both = taker?.isConnected && root.isConnected;
  const before = both && taker.compareDocumentPosition(root) & Node.DOCUMENT_POSITION_PRECEDING;
  if (taker && !before) return null;
  globalThis.__nonsmoothExplorerLinked = root;
  const name = performance.getEntriesByType("navigation")[0]?.name; // of a file Firefox says "document"
  const found = new URL(name?.includes(":") ? name : location.href).searchParams.get(LINK_KEY);
  if (!found) return null;
  try {
    const bytes = Uint8Array.from(atob(found.replaceAll("-", "+").replaceAll("_", "/")), (one) =>
      one.charCodeAt(0),
    );
    return new TextDecoder().decode(bytes);
  } catch {
    return null; // a torn link: the panel opens as it is
  }
}

export function linkWith(state) {
  const bytes = new TextEncoder().encode(state);
  const text = btoa(Array.from(bytes, (one) => String.fromCharCode(one)).join(""));
  const address = new URL(location.href);
  address.searchParams.delete("token"); // a link is for others
  const value = text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  address.searchParams.set(LINK_KEY, value);
  return address.href;
}
