// A canvas's pen that writes SVG: as much of one as the mechanism uses.

const short = (x) => Number(x.toFixed(2));

export class SvgPen {
  constructor() {
    Object.assign(this, {
      parts: [],
      d: "",
      globalAlpha: 1,
      fillStyle: "#000",
      strokeStyle: "#000",
      lineWidth: 1,
    });
  }

  clearRect() {
    this.parts = [];
  }

  beginPath() {
    this.d = "";
  }

  moveTo(x, y) {
    this.d += `M${short(x)} ${short(y)}`;
  }

  lineTo(x, y) {
    this.d += `L${short(x)} ${short(y)}`;
  }

  closePath() {
    this.d += "Z";
  }

  rect(x, y, wide, high) {
    this.d += `M${short(x)} ${short(y)}h${short(wide)}v${short(high)}h${short(-wide)}Z`;
  }

  // Whole circles only.
  arc(x, y, radius) {
    const [r, w] = [short(radius), short(2 * radius)];
    this.d += `M${short(x - radius)} ${short(y)}a${r} ${r} 0 1 0 ${w} 0a${r} ${r} 0 1 0 ${-w} 0Z`;
  }

  fill() {
    this.write(`fill="${this.fillStyle}" fill-opacity="${this.globalAlpha}"`);
  }

  stroke() {
    const line = `stroke="${this.strokeStyle}" stroke-opacity="${this.globalAlpha}"`;
    const ends = `stroke-linecap="${this.lineCap ?? "butt"}" stroke-linejoin="${this.lineJoin ?? "miter"}"`;
    this.write(`fill="none" ${line} stroke-width="${this.lineWidth}" ${ends}`);
  }

  write(how) {
    if (this.d && !this.d.includes("NaN")) this.parts.push(`<path d="${this.d}" ${how}/>`);
  }

  drawImage(image, x, y, wide, high) {
    const place = `x="${short(x)}" y="${short(y)}" width="${short(wide)}" height="${short(high)}"`;
    this.parts.push(`<image ${place} opacity="${this.globalAlpha}" href="${image.toDataURL()}"/>`);
  }

  get text() {
    return this.parts.join("");
  }
}
