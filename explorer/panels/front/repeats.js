// Arrays that the picture before had too are not sent again: the frame names their places in it.

export class Repeats {
  // All buffers of a frame, or null if the one before it was missed.
  whole({ number, again = [] }, buffers) {
    if (again.length && this.number !== number - 1) return null;
    const [places, sent] = [new Map(again), buffers.values()];
    const all = Array.from({ length: buffers.length + again.length }, (_, i) =>
      places.has(i) ? this.last[places.get(i)] : own(sent.next().value),
    );
    [this.number, this.last] = [number, all];
    return all;
  }
}

// A part of a message would keep all of it alive.
function own(part) {
  const { buffer = part, byteOffset = 0, byteLength } = part;
  return new DataView(buffer.slice(byteOffset, byteOffset + byteLength));
}
