import { signal } from "@preact/signals";

/** Maximum size of the shown end of an output. */
const MAX_LINES = 200;
const MAX_BYTES = 32 << 10;

/** ShownOutput is the end of the output of a running call. */
export interface ShownOutput {
  text: string;
  /** Bytes of the output before the text. */
  omitted: number;
}

/** LiveOutput is the output of a running call. Each update contains its newest part. */
export class LiveOutput {
  readonly shown = signal<ShownOutput>({ text: "", omitted: 0 });
  private known = new Uint8Array();
  private end = 0;

  /** grow adds the newest part, which ends at end, in bytes. It replaces the shown bytes at the same position: a line may have changed. */
  grow(newest: string, end: number): void {
    if (!Number.isSafeInteger(end) || end < this.end) return;
    const part = encoder.encode(newest);
    const kept = end - part.length - (this.end - this.known.length);
    const all = kept < 0 || kept > this.known.length ? part : joined(this.known.subarray(0, kept), part);
    this.known = lastLines(all);
    this.end = end;
    this.shown.value = { text: decoder.decode(this.known), omitted: Math.max(0, end - this.known.length) };
  }
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

function joined(a: Uint8Array, b: Uint8Array): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(a.length + b.length);
  all.set(a);
  all.set(b, a.length);
  return all;
}

const LINE_FEED = 10;

/** lastLines returns the end of a text: MAX_LINES lines, and at most MAX_BYTES from the start of a character. */
function lastLines(text: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  let start = Math.max(0, text.length - MAX_BYTES);
  while (start > 0 && ((text[start] ?? 0) & 0xc0) === 0x80) start++;
  let lines = 0;
  for (let i = text.length - 2; i >= start; i--) {
    if (text[i] === LINE_FEED && ++lines === MAX_LINES) return text.slice(i + 1);
  }
  return text.slice(start);
}
