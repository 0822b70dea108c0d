import { signal } from "@preact/signals";
import { Splitter } from "../text/segments.ts";

/** LiveRun is a run of text or of thinking in a streaming reply. */
export interface LiveRun {
  readonly kind: "text" | "thought";
  readonly text: Splitter;
  chars: number;
  /** When the first and the last delta arrived, in milliseconds; NaN for what came before this page. */
  readonly begun: number;
  until: number;
}

/** Characters that count as a token. */
const CHARS_PER_TOKEN = 4;
/** The least time for which a rate is told, and the longest wait within it, in milliseconds. */
const LEAST_MS = 1000;
const IDLE_MS = 5000;

/** LivePart is a part of a streaming reply: a run of text or thinking, or the announcement of a tool call. */
export type LivePart = LiveRun | { readonly kind: "call"; readonly callId: string; readonly name: string };

/**
 * LiveText is a streaming reply. The cost of a delta does not depend on the length of the reply: the delta is appended to
 * the open segment, and components are notified once per frame.
 */
export class LiveText {
  /** In the order of their arrival. Only the last one grows. */
  readonly parts: LivePart[] = [];
  /** Number of frames in which the reply grew. */
  readonly grown = signal(0);
  /** Number of parts and finished segments. */
  readonly finished = signal(0);
  private segments = 0; // of the parts before the last one
  private scheduled = false;
  /** Characters after the first delta, which arrived in the times between first and last. */
  private chars = 0;
  private first = NaN;
  private last = NaN;

  /** add appends to the reply. earlier is text that arrived before this page, at times that are not known. */
  add(kind: LiveRun["kind"], delta: string, earlier = false): void {
    if (delta === "") return;
    const now = earlier ? NaN : Date.now();
    const run = this.run(kind, now);
    run.text.add(delta);
    run.chars += delta.length;
    run.until = now;
    if (Number.isNaN(this.first)) this.first = now;
    else this.chars += delta.length;
    this.last = now;
    this.schedule();
  }

  /** rate returns the estimated tokens per second with which the reply arrives; 0 if nothing arrives, or too little to know. */
  rate(now: number): number {
    const ms = this.last - this.first;
    return ms >= LEAST_MS && now - this.last < IDLE_MS ? (1000 * this.chars) / CHARS_PER_TOKEN / ms : 0;
  }

  /** call adds the announcement of a call. */
  call(callId: string, name: string): void {
    this.endRun();
    this.parts.push({ kind: "call", callId, name });
    this.schedule();
  }

  /** run returns the last part if it is of the kind, otherwise a new one. */
  private run(kind: LiveRun["kind"], now: number): LiveRun {
    const last = this.parts.at(-1);
    if (last?.kind === kind) return last as LiveRun;
    this.endRun();
    const run: LiveRun = { kind, text: new Splitter(), chars: 0, begun: now, until: now };
    this.parts.push(run);
    return run;
  }

  private endRun(): void {
    const last = this.parts.at(-1);
    if (!last || last.kind === "call") return;
    last.text.end();
    this.segments += last.text.done.length;
  }

  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    frame(() => {
      this.scheduled = false;
      const last = this.parts.at(-1);
      const open = last && last.kind !== "call" ? last.text.done.length : 0;
      this.finished.value = this.parts.length + this.segments + open;
      this.grown.value++;
    });
  }
}

/** Runs a function in the next frame, or after 100 ms in a hidden page, which has no frames. */
function frame(run: () => void): void {
  if (document.hidden) setTimeout(run, 100);
  else requestAnimationFrame(run);
}
