import { signal } from "@preact/signals";
import { Splitter } from "../text/blocks.ts";

/**
 * The text of an answer while it streams. A delta costs the same however long the answer is: it is appended to the open
 * piece, and whoever shows that is told once a frame.
 */
export class LiveText {
  readonly text = new Splitter();
  readonly thought = new Splitter();
  /** Counts frames in which the open piece grew. */
  readonly grown = signal(0);
  /** Counts pieces that were finished. */
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

/** A hidden page has no frames, and is to be up to date when it is looked at. */
function frame(run: () => void): void {
  if (document.hidden) setTimeout(run, 100);
  else requestAnimationFrame(run);
}
