// The palette of a small PNG carried over to the ground of the page, as the colours of curves are.
// A PNG (ISO/IEC 15948) begins with 8 bytes, then chunks: length, name, data and checksum of the last two.

const HEAD = 33; // bytes before the palette: signature and IHDR
const START = "data:image/png;base64,";
const known = new Map(); // what was drawn last, by its source
const MOST = 8;

let table = null;

function checksum(bytes) {
  table ??= Uint32Array.from({ length: 256 }, (_, n) => {
    let c = n;
    for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
    return c >>> 0;
  });
  let crc = 0xffffffff;
  for (const byte of bytes) crc = table[(crc ^ byte) & 255] ^ (crc >>> 8);
  return (crc ^ 0xffffffff) >>> 0;
}

const hex = (bytes) => `#${[...bytes].map((b) => b.toString(16).padStart(2, "0")).join("")}`;

// The three numbers of "#rrggbb" or "rgb(r, g, b)".
function numbers(colour) {
  if (colour[0] !== "#")
    return colour
      .match(/[\d.]+/g)
      ?.slice(0, 3)
      .map(Number);
  const long = colour.length === 4 ? colour.replace(/[^#]/g, "$&$&") : colour;
  return [1, 3, 5].map((k) => parseInt(long.slice(k, k + 2), 16));
}

// The source of an image with each colour of its palette replaced by `carried` of it.
export function recoloured(source, carried, name) {
  if (!source?.startsWith(START)) return source;
  const key = `${name} ${source}`;
  if (known.has(key)) return known.get(key);
  const bytes = Uint8Array.from(atob(source.slice(START.length)), (c) => c.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const size = view.getUint32(HEAD);
  if (String.fromCharCode(...bytes.subarray(HEAD + 4, HEAD + 8)) !== "PLTE") return source;
  const palette = bytes.subarray(HEAD + 8, HEAD + 8 + size);
  for (let at = 3; at < size; at += 3) {
    // the first one is transparent
    const own = hex(palette.subarray(at, at + 3));
    const other = carried(own);
    if (other !== own) palette.set(numbers(other) ?? numbers(own), at);
  }
  view.setUint32(HEAD + 8 + size, checksum(bytes.subarray(HEAD + 4, HEAD + 8 + size)));
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192)
    text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  const made = START + btoa(text);
  if (known.size >= MOST) known.delete(known.keys().next().value);
  known.set(key, made);
  return made;
}
