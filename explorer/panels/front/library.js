// plotly.js comes from the kernel once per page, gzipped, and is shared by all panels.

import { make, unzipped } from "./dom.js";

globalThis.__nonsmoothExplorerPlotly ??= {};
export const LIBRARIES = globalThis.__nonsmoothExplorerPlotly;

async function loadLibrary(buffer) {
  const source = await unzipped(buffer);
  // The wrapper hides the page's `define`: requirejs on classic pages would swallow the module.
  const slot = `__nonsmoothExplorerSlot${Math.random().toString(36).slice(2)}`;
  const holder = { exports: {} };
  globalThis[slot] = holder;
  const head = "(function(module){var exports=module.exports,define;\n";
  const tail = `\n})(globalThis["${slot}"]);`;
  const others = globalThis.Plotly; // plotly.js writes this name: another version may own it
  const url = URL.createObjectURL(new Blob([head, source, tail], { type: "text/javascript" }));
  try {
    await new Promise((resolve, reject) => {
      const script = make("script", { src: url });
      script.onload = resolve;
      script.onerror = () => reject(new Error("the browser refused the plotting library"));
      document.head.append(script);
      script.addEventListener("load", () => script.remove());
    });
  } finally {
    URL.revokeObjectURL(url);
    delete globalThis[slot];
    if (others) globalThis.Plotly = others;
  }
  return holder.exports;
}

export function takeLibrary(version, buffer) {
  LIBRARIES[version] ??= loadLibrary(buffer).catch((error) => {
    delete LIBRARIES[version]; // the next panel may try again
    throw error;
  });
  Object.defineProperty(LIBRARIES, "latest", {
    value: version,
    writable: true,
    configurable: true,
  });
  return LIBRARIES[version];
}

// Several panels rendered at once must not all ask for 1.5 MB: the first asks, the rest wait.
export async function versionOnPage() {
  if (LIBRARIES.latest) return LIBRARIES.latest;
  if (LIBRARIES.asked) {
    const deadline = performance.now() + 4000;
    while (!LIBRARIES.latest && performance.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return LIBRARIES.latest ?? null;
  }
  Object.defineProperty(LIBRARIES, "asked", { value: true, configurable: true });
  return null;
}
