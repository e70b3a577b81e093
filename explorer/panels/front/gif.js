// An animated GIF of canvas pictures (GIF89a): one palette, and of each picture what has changed.

const COLOURS = 256;

export class Gif {
  constructor(width, height, delay) {
    Object.assign(this, { width, height, delay, parts: [], count: 0 });
  }

  // Take the pixels of a picture, as canvases give them.
  add({ data }) {
    this.palette ??= new Palette(data);
    const now = this.palette.places(data);
    const { x, y, wide, high } = this.before ? changed(this.before, now, this.width) : this.whole;
    if (!this.count) this.head();
    this.byte(0x21, 0xf9, 4, 4); // it stays until the next one
    this.two(this.delay);
    this.byte(0, 0, 0x2c);
    for (const one of [x, y, wide, high]) this.two(one);
    this.byte(0, 8);
    const part = new Uint8Array(wide * high);
    for (let row = 0; row < high; row++) {
      const from = (y + row) * this.width + x;
      part.set(now.subarray(from, from + wide), row * wide);
    }
    this.parts.push(compressed(part));
    this.before = now;
    this.count++;
  }

  get whole() {
    return { x: 0, y: 0, wide: this.width, high: this.height };
  }

  head() {
    this.parts.push(new TextEncoder().encode("GIF89a"));
    this.two(this.width);
    this.two(this.height);
    this.byte(0xf7, 0, 0);
    this.parts.push(this.palette.bytes);
    this.byte(0x21, 0xff, 11);
    this.parts.push(new TextEncoder().encode("NETSCAPE2.0"));
    this.byte(3, 1, 0, 0, 0); // again and again
  }

  byte(...bytes) {
    this.parts.push(new Uint8Array(bytes));
  }

  two(number) {
    this.byte(number & 255, number >> 8);
  }

  blob() {
    this.byte(0x3b);
    return new Blob(this.parts, { type: "image/gif" });
  }
}

// The colours that occur most in the first picture; any other one is shown as the nearest of them.
class Palette {
  constructor(data) {
    const counts = new Map();
    for (let i = 0; i < data.length; i += 4) {
      const key = keyOf(data, i);
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    const most = [...counts]
      .sort((a, b) => b[1] - a[1])
      .slice(0, COLOURS)
      .map(([key]) => key);
    // A first picture of few colours leaves room for those that come.
    for (let key = 0; most.length < COLOURS && key < 32768; key += 151) most.push(key);
    this.colours = most.map((key) => [key >> 10, (key >> 5) & 31, key & 31]);
    this.nearest = new Int16Array(32768).fill(-1);
    for (const [place, key] of most.entries()) if (this.nearest[key] < 0) this.nearest[key] = place;
    const wide = (one) => (one << 3) | (one >> 2);
    this.bytes = Uint8Array.from(this.colours.flat(), wide);
  }

  places(data) {
    const places = new Uint8Array(data.length / 4);
    for (let i = 0, k = 0; i < data.length; i += 4, k++) {
      const key = keyOf(data, i);
      places[k] = this.nearest[key] < 0 ? this.find(key) : this.nearest[key];
    }
    return places;
  }

  find(key) {
    const [r, g, b] = [key >> 10, (key >> 5) & 31, key & 31];
    let [best, place] = [Infinity, 0];
    for (const [k, [red, green, blue]] of this.colours.entries()) {
      const off = (r - red) ** 2 + (g - green) ** 2 + (b - blue) ** 2;
      if (off < best) [best, place] = [off, k];
    }
    this.nearest[key] = place;
    return place;
  }
}

const keyOf = (data, i) => ((data[i] >> 3) << 10) | ((data[i + 1] >> 3) << 5) | (data[i + 2] >> 3);

// The smallest rectangle around what differs; one pixel if nothing does.
function changed(before, now, width) {
  let [left, right, top, bottom] = [width, -1, Infinity, -1];
  for (let i = 0; i < now.length; i++) {
    if (now[i] === before[i]) continue;
    const [x, y] = [i % width, Math.floor(i / width)];
    [left, right, top, bottom] = [Math.min(left, x), Math.max(right, x), Math.min(top, y), y];
  }
  if (right < 0) return { x: 0, y: 0, wide: 1, high: 1 };
  return { x: left, y: top, wide: right - left + 1, high: bottom - top + 1 };
}

// LZW with codes of 9 to 12 bits, in blocks of at most 255 bytes.
function compressed(places) {
  const bytes = [];
  let [bits, held, size, next] = [0, 0, 9, 258];
  let table = new Map();
  const write = (code) => {
    bits |= code << held;
    held += size;
    while (held >= 8) {
      bytes.push(bits & 255);
      bits >>>= 8;
      held -= 8;
    }
  };
  write(256);
  let code = places[0];
  for (let i = 1; i < places.length; i++) {
    const pair = (code << 8) | places[i];
    const known = table.get(pair);
    if (known !== undefined) {
      code = known;
      continue;
    }
    write(code);
    if (next < 4096) {
      table.set(pair, next);
      if (next === 1 << size && size < 12) size++;
      next++;
    } else {
      write(256);
      table = new Map();
      [size, next] = [9, 258];
    }
    code = places[i];
  }
  write(code);
  write(257);
  if (held) bytes.push(bits & 255);
  const blocks = [];
  for (let at = 0; at < bytes.length; at += 255) {
    const block = bytes.slice(at, at + 255);
    blocks.push(block.length, ...block);
  }
  blocks.push(0);
  return Uint8Array.from(blocks);
}
