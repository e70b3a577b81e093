// The pull protocol: at most W questions under way, the newest value of each key wins.
// A credit comes back when its picture is drawn or overtaken, so the browser sets the pace.

const CREDIT_MS = 2000;
const SILENCE_MS = 10000;
const BUSY_MS = 120000; // to compile one kernel takes half a minute on a slow machine

export class Puller {
  constructor(view, post, onSilence) {
    this.view = view;
    this.post = post;
    this.onSilence = onSilence;
    this.seq = 0;
    this.answered = 0;
    this.flying = new Map(); // seq -> {sent, timer}
    this.pending = new Map(); // key -> newest value not yet sent
    this.ended = {}; // where gestures ended whose end could not be sent before the next began
    this.looking = null; // size and window to be told with the next question
    this.drag = false;
    this.asked = new Map(); // key -> seq of the last question that set it
    this.trips = [];
  }

  get window() {
    // The shortest recent trip is the line's own delay; longer ones are a busy solver.
    return this.trips.length >= 3 && Math.min(...this.trips) > 60 ? 3 : 2;
  }

  get idle() {
    return !this.drag && !this.flying.size && !this.pending.size;
  }

  change(key, value, drag) {
    this.changes({ [key]: value }, drag);
  }

  changes(values, drag) {
    // Each gesture is one step of undo, also those that no picture had time for.
    if (drag && !this.drag) Object.assign(this.ended, Object.fromEntries(this.pending));
    for (const [key, value] of Object.entries(values)) this.pending.set(key, value);
    this.drag = drag;
    this.flush();
  }

  // The same run, seen otherwise: larger, or a part of it.
  look(look) {
    this.looking = look;
    this.flush();
  }

  act(action, value) {
    if (this.pending.size) this.pull(); // what was typed comes before what is clicked
    const message = { type: "do", view: this.view, seq: ++this.seq, action };
    if (value !== undefined) message.value = value;
    this.send(message);
  }

  flush() {
    if ((this.pending.size || this.looking) && this.flying.size < this.window) this.pull();
  }

  pull() {
    const seq = ++this.seq;
    const set = Object.fromEntries(this.pending);
    for (const key of this.pending.keys()) this.asked.set(key, seq);
    this.pending.clear();
    this.flying.set(seq, { sent: performance.now(), timer: this.expire(seq) });
    const { ended, drag, looking: look } = this;
    this.ended = {};
    this.looking = null;
    const own = { view: this.view, seq, ...(look && { look }) };
    if (Object.keys(set).length) this.send({ type: "pull", ...own, ended, set, drag });
    else this.send({ type: "look", ...own });
  }

  send(message) {
    this.silence ??= setTimeout(() => this.onSilence(), SILENCE_MS);
    try {
      Promise.resolve(this.post(message)).catch(() => this.onSilence());
    } catch {
      this.onSilence(); // the comm is closed
    }
  }

  expire(seq) {
    return setTimeout(() => this.release(seq), CREDIT_MS);
  }

  // Any word from the kernel: it lives.
  heard() {
    clearTimeout(this.silence);
    this.silence = undefined;
  }

  busy() {
    for (const [seq, credit] of this.flying) {
      clearTimeout(credit.timer);
      credit.timer = this.expire(seq);
    }
    if (this.flying.size) this.silence ??= setTimeout(() => this.onSilence(), BUSY_MS);
  }

  arrived(seq) {
    const credit = this.flying.get(seq);
    if (credit) this.trips = [...this.trips.slice(-4), performance.now() - credit.sent];
    this.answered = Math.max(this.answered, seq);
  }

  release(seq) {
    for (const [one, credit] of this.flying) {
      if (one > seq) continue;
      clearTimeout(credit.timer);
      this.flying.delete(one);
    }
    this.flush();
  }

  // True while the browser knows a newer value of this key than the kernel's last answer.
  ahead(key) {
    return this.pending.has(key) || (this.asked.get(key) ?? 0) > this.answered;
  }

  stop() {
    this.heard();
    for (const credit of this.flying.values()) clearTimeout(credit.timer);
    this.flying.clear();
    this.pending.clear();
    this.post = () => {};
  }
}
