// What is taken away as a picture: title, plots, mechanism, parameters, scheme and version on one
// white sheet, as SVG, PNG or PDF.

import { make } from "./dom.js";
import { SvgPen } from "./svg_pen.js";
import { LIGHT } from "./theme.js";

const [EDGE, TITLE, LINE] = [16, 20, 16]; // px: margin, sizes of the title and of a line below
const SHARP = 3; // pixels of an image for one of the screen
const PT = 0.75; // of a pixel

// A copy of the mechanism that draws elsewhere, in the colours of paper; the one on the page stays.
export function copyOf(stage, pen, width, height) {
  const theme = { ...stage.theme, ...LIGHT, body: "#0072B2", thick: 1 };
  const copy = Object.assign(Object.create(stage), {
    pen,
    width,
    height,
    theme,
    images: new Map(),
    ratio: SHARP,
    onDraw: null,
  });
  if (stage.layers) copy.layers = Object.assign(Object.create(stage.layers), { stage: copy });
  return copy;
}

// The sheet as SVG. `plots` is a picture or null, `stage` a mechanism or null.
export async function sheet({ plots, stage, moment, title, lines, maker }) {
  const drawn = plots ? await plots.image("svg") : null;
  const left = drawn ? plots.node.clientWidth : 0;
  const right = stage?.mechanism ? stage.width : 0;
  const high = Math.max(drawn ? plots.node.clientHeight : 0, right ? stage.height : 0);
  const width = Math.max(left + right, 320) + 2 * EDGE;
  const text = lines.flatMap((line) => wrapped(line, width - 2 * EDGE));
  const head = EDGE + TITLE + LINE * text.length + 12;
  const height = head + high + LINE + EDGE;
  const written = (said, x, y, size, more = "") =>
    `<text x="${x}" y="${y}" font-size="${size}" fill="${LIGHT.text}" ${more}>${escaped(said)}</text>`;
  const parts = [
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    written(title, EDGE, EDGE + TITLE - 4, TITLE, 'font-weight="bold"'),
    ...text.map((line, i) => written(line, EDGE, EDGE + TITLE + LINE * (i + 1), 12)),
    written(maker, EDGE, height - EDGE + 4, 10),
  ];
  if (drawn) {
    const inner = decodeURIComponent(drawn.slice(drawn.indexOf(",") + 1));
    parts.push(`<g transform="translate(${EDGE},${head})">${inner}</g>`);
  }
  if (right) {
    const pen = new SvgPen();
    const clip = `<clipPath id="stage"><rect width="${right}" height="${stage.height}"/></clipPath>`;
    copyOf(stage, pen, right, stage.height).draw();
    parts.push(
      `<g transform="translate(${EDGE + left},${head})">${clip}<g clip-path="url(#stage)">${pen.text}</g></g>`,
    );
    parts.push(written(moment, EDGE + left + 10, head + stage.height - 8, 12));
  }
  const spaces = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"';
  const size = `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`;
  const svg = `<svg ${spaces} ${size} font-family="Helvetica, Arial, sans-serif">${parts.join("")}</svg>`;
  return { svg, width, height };
}

// The sheet in pixels.
async function painted({ svg, width, height }) {
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    await image.decode();
  } finally {
    URL.revokeObjectURL(image.src);
  }
  const canvas = make("canvas", {
    width: Math.round(SHARP * width),
    height: Math.round(SHARP * height),
  });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas;
}

export async function png(page) {
  const canvas = await painted(page);
  return new Promise((go) => canvas.toBlob(go, "image/png"));
}

// A page of the sheet's size that holds it as an image, packed without loss.
export async function pdf(page) {
  const canvas = await painted(page);
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const colours = new Uint8Array((data.length / 4) * 3);
  for (let i = 0, k = 0; i < data.length; i += 4) {
    for (let j = 0; j < 3; j++) colours[k++] = data[i + j];
  }
  const stream = new Blob([colours]).stream().pipeThrough(new CompressionStream("deflate"));
  const packed = new Uint8Array(await new Response(stream).arrayBuffer());
  const [wide, high] = [page.width, page.height].map((one) => (PT * one).toFixed(2));
  const show = `q ${wide} 0 0 ${high} 0 0 cm /I Do Q`;
  const image = `/Type /XObject /Subtype /Image /Width ${canvas.width} /Height ${canvas.height}`;
  return pdfFile([
    "<< /Type /Catalog /Pages 2 0 R >>",
    "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
    `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${wide} ${high}] /Contents 4 0 R /Resources << /XObject << /I 5 0 R >> >> >>`,
    `<< /Length ${show.length} >>\nstream\n${show}\nendstream`,
    [
      `<< ${image} /ColorSpace /DeviceRGB /BitsPerComponent 8 /Filter /FlateDecode /Length ${packed.length} >>\nstream\n`,
      packed,
      "\nendstream",
    ],
  ]);
}

// Numbered objects and the table of where each begins (ISO 32000-1, 7.5).
function pdfFile(objects) {
  const encoder = new TextEncoder();
  const parts = [];
  let size = 0;
  const add = (part) => {
    const bytes = typeof part === "string" ? encoder.encode(part) : part;
    parts.push(bytes);
    size += bytes.length;
  };
  add("%PDF-1.4\n");
  const places = objects.map((object, i) => {
    const at = size;
    add(`${i + 1} 0 obj\n`);
    for (const part of [object].flat()) add(part);
    add("\nendobj\n");
    return at;
  });
  const table = size;
  const rows = places.map((at) => `${String(at).padStart(10, "0")} 00000 n \n`).join("");
  const count = objects.length + 1;
  add(
    `xref\n0 ${count}\n0000000000 65535 f \n${rows}trailer\n<< /Size ${count} /Root 1 0 R >>\nstartxref\n${table}\n%%EOF\n`,
  );
  return new Blob(parts, { type: "application/pdf" });
}

const escaped = (text) =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

// Lines that are no wider than the sheet, broken between the parts of a list.
function wrapped(text, width) {
  const pen = make("canvas").getContext("2d");
  pen.font = "12px Helvetica, Arial, sans-serif";
  const lines = [""];
  for (const part of text.split(/(?<=[,·]) /)) {
    const longer = [lines.at(-1), part].filter(Boolean).join(" ");
    if (lines.at(-1) && pen.measureText(longer).width > width) lines.push(part);
    else lines[lines.length - 1] = longer;
  }
  return lines;
}
