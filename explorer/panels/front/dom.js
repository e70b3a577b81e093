// Small helpers to build the page: elements, icons, safe label markup, decoded buffers.

const SVG = "http://www.w3.org/2000/svg";

export function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, handler] of Object.entries(value)) node.addEventListener(event, handler);
    } else {
      node.setAttribute(name, value === true ? "" : value);
    }
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

function makeSvg(tag, attributes = {}) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

// Drawn here, not taken from a font: Unicode arrows look different on every machine.
const ICONS = {
  undo: "M6 3 2.5 6.5 6 10M3 6.5h6.5a4 4 0 0 1 0 8H6",
  redo: "M10 3l3.5 3.5L10 10M13 6.5H6.5a4 4 0 0 0 0 8H10",
  reset: "M13.5 8a5.5 5.5 0 1 1-1.7-4M13.5 1.5V5H10",
  close: "M4 4l8 8M12 4l-8 8",
  pin: "M6 2h4l-.5 4.5 2.5 2.5H4l2.5-2.5zM8 9v5",
  more: "M8 2v7.5M4.8 6.5 8 9.7l3.2-3.2M2.5 11.5v2h11v-2",
  back: "M11.5 3.5 5.5 8l6 4.5zM4 3.5v9",
  forth: "M4.5 3.5l6 4.5-6 4.5zM12 3.5v9",
  play: "M4.5 2.5v11l9-5.5z",
  pause: "M4.5 3v10M11.5 3v10",
  stop: "M4 4h8v8H4z",
  sound: "M2.5 6v4H5l3.5 3V3L5 6zM11 5.5a3.5 3.5 0 0 1 0 5M12.8 3.5a6.3 6.3 0 0 1 0 9",
  reach: "M2.5 4v8M13.5 4v8M4.5 8h7M6.5 6l-2 2 2 2M9.5 6l2 2-2 2",
  screen: "M1.5 2.5h13v8.5h-13zM8 11v2.5M4.5 13.5h7",
};

export function icon(name) {
  const svg = makeSvg("svg", { viewBox: "0 0 16 16", class: "nsx-icon", "aria-hidden": "true" });
  svg.append(makeSvg("path", { d: ICONS[name], class: `nsx-icon-${name}` }));
  return svg;
}

// Labels may hold <i>, <sub> ...; anything else becomes plain text, so no label can run code.
const LABEL_TAGS = new Set(["I", "B", "EM", "SUB", "SUP"]);

export function labelNodes(html) {
  const template = document.createElement("template");
  template.innerHTML = String(html ?? "");
  const copy = (from, to) => {
    for (const child of from.childNodes) {
      if (child.nodeType === Node.TEXT_NODE) to.append(child.textContent);
      else if (LABEL_TAGS.has(child.nodeName)) {
        const kept = document.createElement(child.nodeName);
        copy(child, kept);
        to.append(kept);
      } else copy(child, to);
    }
    return to;
  };
  return copy(template.content, document.createDocumentFragment());
}

// A label as plain text, with its indices below the line where Unicode has such letters.
const LOW = Object.fromEntries(
  [..."0123456789+-=()aehijklmnoprstuvx"].map((one, i) => [
    one,
    [..."₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ"][i],
  ]),
);

export function lowered(html) {
  const text = String(html).replace(/<sub>([^<]*)<\/sub>/gi, (_, index) => {
    const low = [...index].map((one) => LOW[one]);
    return low.includes(undefined) ? `_${index}` : low.join("");
  });
  return plainLabel(text);
}

export const plainLabel = (html) => labelNodes(html).textContent.trim();

export function setText(node, text) {
  // Writing an equal text still costs a layout and wakes screen readers; a new text node costs more
  // than new text in the old one.
  if (node.textContent === text) return;
  const only = node.childNodes.length === 1 && node.firstChild;
  if (only && only.nodeType === Node.TEXT_NODE && text) only.data = text;
  else node.textContent = text;
}

// Of the widest of some texts, in pixels, without laying anything out.
export function textWidth(texts, font) {
  textWidth.pen ??= document.createElement("canvas").getContext("2d");
  textWidth.pen.font = font;
  return Math.max(...texts.map((text) => textWidth.pen.measureText(text).width));
}

// A canvas of this size on the page, sharp on any screen; returns its pixels per CSS pixel.
// Writing the size clears the canvas: only when it changed.
export function fit(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const [across, down] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== across || canvas.height !== down) {
    [canvas.width, canvas.height] = [across, down];
    [canvas.style.width, canvas.style.height] = [`${width}px`, `${height}px`];
  }
  return ratio;
}

export function inTextField(target) {
  if (!target?.tagName) return false;
  if (target.tagName === "TEXTAREA" || target.isContentEditable) return true;
  return target.tagName === "INPUT" && !["range", "checkbox", "button"].includes(target.type);
}

// Whole numbers as parts of a range, whose ends stand before them; the largest stands for none.
function steps(bytes) {
  const [from, to] = new Float32Array(bytes, 0, 2);
  const step = (to - from) / 65534;
  return Float32Array.from(new Uint16Array(bytes, 8), (one) =>
    one === 65535 ? NaN : from + one * step,
  );
}

// Replace every {buf: i} by an array of numbers; a buffer named twice is decoded once.
export function decode(content, buffers) {
  const seen = new Map();
  const array = ({ buf: i, kind }) => {
    if (!seen.has(i)) {
      const raw = buffers[i];
      const start = raw.byteOffset ?? 0;
      const bytes = raw.buffer ?? raw;
      const own = bytes.slice(start, start + raw.byteLength); // slice: aligned
      seen.set(
        i,
        kind === "f8" ? new Float64Array(own) : kind === "u2" ? steps(own) : new Float32Array(own),
      );
    }
    return seen.get(i);
  };
  const walk = (value) => {
    if (Array.isArray(value)) return value.map(walk);
    if (value === null || typeof value !== "object") return value;
    if (typeof value.buf === "number") return array(value);
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, walk(item)]));
  };
  return walk(content);
}

export async function unzipped(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Parts of these sizes, one behind the other from `end` on.
export function parted(bytes, sizes, end = 0) {
  return sizes.map((size) => {
    end += size;
    return bytes.subarray(end - size, end);
  });
}

// The content of a message that came packed: its text, and behind it its buffers, decoded.
export async function unpack(sizes, [packed]) {
  const [text, ...buffers] = parted(await unzipped(packed), sizes);
  return decode(JSON.parse(new TextDecoder().decode(text)), buffers);
}

// Index of the last t[i] <= time (t does not decrease; an impact has the same time twice).
export function lastIndex(t, time) {
  let low = 0;
  let high = t.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (t[middle] <= time) low = middle;
    else high = middle - 1;
  }
  return low;
}
