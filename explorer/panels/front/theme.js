// Colours of the page (JupyterLab's variables, see panel.css) carried over to plotly and canvas.

import { make } from "./dom.js";
import { recoloured } from "./palette.js";

const PALETTE = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"];

function resolvedColour(probe, name) {
  // Through a real `color`: the variables may hold names, hsl() or other variables.
  probe.style.color = `var(${name})`;
  return getComputedStyle(probe).color;
}

export function readTheme(root) {
  const probe = make("span", { hidden: true });
  root.append(probe);
  const theme = {};
  for (const name of ["text", "muted", "grid", "border", "paper", "accent"]) {
    theme[name] = resolvedColour(probe, `--nsx-${name}`);
  }
  probe.remove();
  const [r, g, b] = (theme.paper.match(/[\d.]+/g) ?? [255, 255, 255]).map(Number);
  theme.dark = 0.299 * r + 0.587 * g + 0.114 * b < 128;
  if (theme.dark) theme.grid = theme.grid.replace(/^rgb\((.*)\)$/, "rgba($1, 0.6)"); // less of a cage
  theme.font = getComputedStyle(root).fontFamily;
  theme.scale = textScale(root.querySelector(".nsx-body") ?? root);
  theme.thick = root.classList.contains("nsx-lecture") ? 1.6 : 1; // of lines, for the last row
  theme.thumb =
    matchMedia("(pointer: coarse)").matches && (root.clientWidth <= 700 || innerHeight <= 500);
  theme.body = theme.dark ? LIFTED["#0072b2"] : "#0072B2";
  return theme;
}

// The plots' text beside the panel's: as much larger in a wide one.
function textScale(body) {
  return Math.round((20 * parseFloat(getComputedStyle(body).fontSize)) / 13) / 20;
}

// All fonts of a layout, and the margins that hold its words.
function scaleText(layout, scale) {
  for (const [key, value] of Object.entries(layout)) {
    if (/font$/.test(key) && value?.size) value.size *= scale;
    else if (value && typeof value === "object") scaleText(value, scale);
  }
}

export const LIGHT = {
  text: "#222",
  muted: "#666",
  grid: "#e6e6e6",
  border: "#bbb",
  paper: "#fff",
  dark: false,
};

// Black and the dark Okabe-Ito blue vanish on a dark ground: lifted, but not so far that the blue
// were like the sky blue.
const LIFTED = { "#0072b2": "#4477ee" };

// On white the light colours of Okabe and Ito are pale: before a projector they are darker, 4 : 1.
const DEEP = {
  "#e69f00": "#a66b00",
  "#56b4e9": "#1b7db5",
  "#cc79a7": "#a8437c",
  "#009e73": "#007d5b",
  "#d55e00": "#b84f00",
  "#888888": "#666666",
  "#999999": "#666666",
};

export function onGround(colour, theme) {
  if (typeof colour !== "string") return colour;
  const name = colour.toLowerCase();
  if (!theme.dark) return (theme.thick > 1 && DEEP[name]) || colour;
  if (name === "#000000" || name === "#000" || name === "black") return theme.text;
  return LIFTED[name] ?? colour;
}

export function themedTraces(data, theme) {
  const thick = theme.thick ?? 1;
  if (!theme.dark && thick === 1) return data;
  return data.map((trace) => {
    const out = { ...trace };
    for (const part of ["line", "marker"]) {
      if (trace[part]?.color) {
        out[part] = { ...trace[part], color: onGround(trace[part].color, theme) };
        for (const size of ["width", "size"]) if (out[part][size] > 0) out[part][size] *= thick;
      }
    }
    return out;
  });
}

export function themedLayout(layout, theme) {
  const out = structuredClone(layout);
  delete out.width; // the page decides the size
  delete out.height;
  out.autosize = true;
  out.uirevision ??= "keep"; // a zoom by hand survives new data
  out.colorway ??= PALETTE;
  if (theme.thumb) out.dragmode = false; // a finger scrolls; two of them zoom the page
  out.paper_bgcolor = theme.export ? theme.paper : "rgba(0,0,0,0)";
  out.plot_bgcolor = "rgba(0,0,0,0)";
  out.font = { family: theme.font, size: 12, ...out.font, color: theme.text };
  out.hoverlabel = {
    ...out.hoverlabel,
    bgcolor: theme.paper,
    bordercolor: theme.border,
    font: { color: theme.text, family: theme.font, size: 12 },
  };
  out.modebar = {
    ...out.modebar,
    bgcolor: "rgba(0,0,0,0)",
    color: theme.muted,
    activecolor: theme.accent,
  };
  out.legend = { ...out.legend, bgcolor: "rgba(0,0,0,0)" };
  if (theme.dark || theme.thick > 1) {
    // dots and maps have the colours of their legend
    const name = `${theme.dark} ${theme.thick} ${theme.text}`;
    const carried = (colour) => onGround(colour, theme);
    for (const image of out.images ?? []) image.source = recoloured(image.source, carried, name);
  }
  scaleText(out, theme.scale);
  for (const side of "lrtb") if (out.margin?.[side]) out.margin[side] *= theme.scale;
  for (const key of Object.keys(out)) {
    if (!/^[xy]axis\d*$/.test(key)) continue;
    out[key] = {
      ...out[key],
      gridcolor: theme.grid,
      zerolinecolor: theme.border,
      linecolor: theme.border,
      tickcolor: theme.border,
      // inside the axes plotly takes black, whatever the page's ground
      tickfont: { ...out[key].tickfont, color: theme.text },
    };
  }
  return out;
}

export function watchTheme(changed, signal) {
  const attributes = ["data-jp-theme-light", "data-jp-theme-name", "data-theme", "class", "style"];
  const observer = new MutationObserver(changed);
  for (const node of [document.documentElement, document.body]) {
    observer.observe(node, { attributes: true, attributeFilter: attributes });
  }
  signal.addEventListener("abort", () => observer.disconnect());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed, { signal });
}
