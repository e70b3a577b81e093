// A film of canvas pictures as WebM (VP8), picture by picture: how busy the page is does not show.
// Matroska's elements: RFC 9559.

const ID = {
  ebml: [0x1a, 0x45, 0xdf, 0xa3],
  version: [0x42, 0x86],
  reads: [0x42, 0xf7],
  idLength: [0x42, 0xf2],
  sizeLength: [0x42, 0xf3],
  docType: [0x42, 0x82],
  docVersion: [0x42, 0x87],
  docReads: [0x42, 0x85],
  segment: [0x18, 0x53, 0x80, 0x67],
  info: [0x15, 0x49, 0xa9, 0x66],
  scale: [0x2a, 0xd7, 0xb1],
  duration: [0x44, 0x89],
  muxer: [0x4d, 0x80],
  writer: [0x57, 0x41],
  tracks: [0x16, 0x54, 0xae, 0x6b],
  track: [0xae],
  number: [0xd7],
  uid: [0x73, 0xc5],
  kind: [0x83],
  codec: [0x86],
  video: [0xe0],
  width: [0xb0],
  height: [0xba],
  cluster: [0x1f, 0x43, 0xb6, 0x75],
  time: [0xe7],
  block: [0xa3],
};
const KEY_EACH = 60; // pictures: so many are decoded to reach any one

export class Webm {
  static available() {
    return Boolean(globalThis.VideoEncoder && globalThis.VideoFrame);
  }

  constructor(width, height, rate) {
    Object.assign(this, { width, height, rate, chunks: [], count: 0 });
    this.encoder = new VideoEncoder({
      output: (chunk) => {
        const data = new Uint8Array(chunk.byteLength);
        chunk.copyTo(data);
        this.chunks.push({
          data,
          key: chunk.type === "key",
          time: Math.round(chunk.timestamp / 1000),
        });
      },
      error: (error) => {
        this.failed = error;
      },
    });
    this.encoder.configure({ codec: "vp8", width, height, bitrate: 4e6, framerate: rate });
  }

  // Take the picture that a canvas shows.
  async add(canvas) {
    if (this.failed) throw this.failed;
    const each = 1e6 / this.rate;
    const frame = new VideoFrame(canvas, {
      timestamp: Math.round(this.count * each),
      duration: Math.round(each),
    });
    this.encoder.encode(frame, { keyFrame: this.count % KEY_EACH === 0 });
    frame.close();
    this.count++;
    while (this.encoder.encodeQueueSize > 4) await new Promise((go) => setTimeout(go, 5));
  }

  async blob(maker) {
    await this.encoder.flush();
    this.encoder.close();
    if (this.failed) throw this.failed;
    const head = element("ebml", [
      element("version", [1]),
      element("reads", [1]),
      element("idLength", [4]),
      element("sizeLength", [8]),
      element("docType", text("webm")),
      element("docVersion", [2]),
      element("docReads", [2]),
    ]);
    const info = element("info", [
      element("scale", whole(1e6)),
      element("duration", float((1000 * this.count) / this.rate)),
      element("muxer", text(maker)),
      element("writer", text(maker)),
    ]);
    const video = element("video", [
      element("width", whole(this.width)),
      element("height", whole(this.height)),
    ]);
    const track = [
      element("number", [1]),
      element("uid", [1]),
      element("kind", [1]),
      element("codec", text("V_VP8")),
      video,
    ];
    const segment = element("segment", [
      info,
      element("tracks", [element("track", track)]),
      ...this.clusters(),
    ]);
    return new Blob([head, segment], { type: "video/webm" });
  }

  // One from each picture that needs no other one on.
  clusters() {
    const groups = [];
    for (const chunk of this.chunks) {
      if (chunk.key || !groups.length) groups.push([]);
      groups.at(-1).push(chunk);
    }
    return groups.map((group) => {
      const [{ time }] = group;
      const blocks = group.map((one) => {
        const off = one.time - time;
        return element("block", [0x81, off >> 8, off & 255, one.key ? 0x80 : 0, one.data]);
      });
      return element("cluster", [element("time", whole(time)), ...blocks]);
    });
  }
}

// An element: its name, the size of what it holds in eight bytes, and that.
function element(name, content) {
  const parts = [...content].map((one) => (typeof one === "number" ? Uint8Array.of(one) : one));
  const size = parts.reduce((sum, part) => sum + part.length, 0);
  const whole = new Uint8Array(ID[name].length + 8 + size);
  whole.set(ID[name]);
  const view = new DataView(whole.buffer);
  view.setUint32(ID[name].length, 0x01000000 + Math.floor(size / 2 ** 32));
  view.setUint32(ID[name].length + 4, size >>> 0);
  let at = ID[name].length + 8;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

const text = (said) => new TextEncoder().encode(said);

function whole(number) {
  const view = new DataView(new ArrayBuffer(4));
  view.setUint32(0, number);
  return new Uint8Array(view.buffer);
}

function float(number) {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, number);
  return new Uint8Array(view.buffer);
}
