import { signal } from "@preact/signals";
import { Splitter } from "../text/segments.ts";

/**
 * LiveText is the text of a streaming reply. The cost of a delta does not depend on the length of the reply: the delta is
 * appended to the open segment, and components are notified once per frame.
 */
export class LiveText {
  readonly text = new Splitter();
  readonly thought = new Splitter();
  /** Number of frames in which the open segment grew. */
  readonly grown = signal(0);
  /** Number of finished segments. */
  readonly finished = signal(0);
  thoughtChars = 0;
  textChars = 0;
  private scheduled = false;

  add(kind: "text" | "thought", delta: string): void {
    const splitter = kind === "text" ? this.text : this.thought;
    splitter.add(delta);
    if (kind === "text") this.textChars += delta.length;
    else this.thoughtChars += delta.length;
    this.schedule();
  }

  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    frame(() => {
      this.scheduled = false;
      this.finished.value = this.text.done.length + this.thought.done.length;
      this.grown.value++;
    });
  }
}

/** Runs a function in the next frame, or after 100 ms in a hidden page, which has no frames. */
function frame(run: () => void): void {
  if (document.hidden) setTimeout(run, 100);
  else requestAnimationFrame(run);
}
