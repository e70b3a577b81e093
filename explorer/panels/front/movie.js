// The mechanism as a film to take away: WebM, or GIF where a browser makes none.

import { make } from "./dom.js";
import { Gif } from "./gif.js";
import { copyOf } from "./sheet.js";
import { Webm } from "./webm.js";

const LONGEST = { webm: 30, gif: 10 }; // s; what lasts longer is played faster
const PICTURES = { webm: 30, gif: 20 }; // a second
const WIDEST = { webm: 1280, gif: 480 }; // px

// Return {blob, format, faster}; `tell` hears which part is done, and says whether to go on.
export async function movie(stage, clock, wanted, maker, tell) {
  const format = wanted === "webm" && !Webm.available() ? "gif" : wanted;
  const span = clock.end - clock.start;
  const rate = Math.max(clock.rate, span / LONGEST[format]);
  const count = Math.max(2, Math.round((span / rate) * PICTURES[format]));
  const scale = WIDEST[format] / stage.width;
  const [wide, high] = [stage.width, stage.height].map((one) => 2 * Math.round((scale * one) / 2));
  const canvas = make("canvas", { width: wide, height: high });
  const pen = canvas.getContext("2d", { willReadFrequently: format === "gif" });
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  const copy = copyOf(stage, pen, stage.width, stage.height);
  pen.clearRect = (x, y, w, h) => {
    pen.fillStyle = "#fff";
    pen.fillRect(x, y, w, h);
  };
  const draw = (k) => {
    const time = clock.start + (span * k) / (count - 1);
    copy.draw(time);
    Object.assign(pen, { font: copy.font(13), fillStyle: copy.theme.text });
    pen.fillText(`t = ${clock.said(time)}`, 10, stage.height - 10);
  };
  const film =
    format === "gif"
      ? new Gif(wide, high, 100 / PICTURES.gif)
      : new Webm(wide, high, PICTURES.webm);
  for (let k = 0; k < count; k++) {
    draw(k);
    await film.add(format === "gif" ? pen.getImageData(0, 0, wide, high) : canvas);
    if (!tell(k / count)) return {};
    await new Promise((go) => setTimeout(go)); // the page stays alive
  }
  return { blob: await film.blob(maker), format, faster: rate / clock.rate };
}
