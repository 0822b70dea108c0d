import { signal } from "@preact/signals";
import type { Restored, RestoredFiles } from "@strata/client";
import { doneWords, isPlain } from "../review/words.ts";
import type { SessionView } from "./session.ts";
import { answered, ask } from "./confirming.ts";
import { failed, toast, undoable } from "./toasts.ts";

/** Action changes files, back or forward. */
export interface Action {
  /** The place on the page where its preview is shown. */
  key: string;
  forward: boolean;
  /** Returns what would become of the files. */
  preview: () => Promise<RestoredFiles>;
  /** Changes the files, and tells the outcome. */
  run: () => Promise<void>;
}

/** tellFiles tells what became of files in a restore of the view, if it concerned any. */
export function tellFiles(restored: Restored, forward: boolean, folder: string): void {
  if (!("files" in restored) || !restored.files?.length) return;
  const files = { ...restored, files: restored.files };
  toast(doneWords(files, forward, folder), { bad: !isPlain(files) });
}

/** Maximum number of changes in one request. */
const MAX_CHANGES = 1000;

/** TakeBack does actions that can be undone at once. If files would stay as they are, it asks first, with a preview. */
export class TakeBack {
  /** The action that waits for the user's confirmation, and what would become of the files. */
  readonly waiting = signal<{ action: Action; preview: RestoredFiles } | null>(null);
  private busy = false;

  /** start does an action, or shows its preview. Only one action runs at a time. */
  async start(action: Action): Promise<void> {
    this.cancel();
    await this.alone(async () => {
      const preview = await action.preview();
      if (isPlain(preview)) return action.run();
      this.waiting.value = { action, preview };
      ask(this);
    });
  }

  /** confirm does the action whose preview is shown. */
  async confirm(): Promise<void> {
    const waiting = this.waiting.peek();
    this.cancel();
    if (waiting) await this.alone(waiting.action.run);
  }

  cancel(): void {
    this.waiting.value = null;
    answered(this);
  }

  private async alone(work: () => Promise<void>): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    await work().catch(failed("Cannot change the files"));
    this.busy = false;
  }
}

/** reverts returns the action that takes changes of files back, or puts them forward again. */
export function reverts(view: SessionView, takeBack: TakeBack, key: string, changeIds: readonly string[], forward: boolean): Action {
  const ids = forward ? changeIds.slice(0, MAX_CHANGES) : changeIds.slice(-MAX_CHANGES);
  const revert = (preview: boolean): Promise<RestoredFiles> => view.call("_strata/changes/revert", { changeIds: ids, forward, preview });
  const run = async (): Promise<void> => {
    const done = await revert(false);
    view.reviews.changed();
    const text = doneWords(done, forward, view.cwd.peek());
    if (done.files.some((f) => f.outcome === "restored")) undoable(text, () => takeBack.start(reverts(view, takeBack, key, changeIds, !forward)), !isPlain(done));
    else toast(text, { bad: !isPlain(done) });
  };
  return { key, forward, preview: () => revert(true), run };
}
