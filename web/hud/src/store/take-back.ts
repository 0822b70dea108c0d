import { signal } from "@preact/signals";
import type { Restored, RestoredFiles } from "@strata/client";
import { doneWords, isPlain } from "../review/words.ts";
import type { SessionView } from "./session.ts";
import { failed, toast } from "./toasts.ts";

/** Action takes changes of files back, or puts them forward again. */
export interface Action {
  /** The place on the page where its preview is shown. */
  key: string;
  changeIds: readonly string[];
  forward: boolean;
}

/** tellFiles tells what became of files in a restore of the view, if it concerned any. */
export function tellFiles(restored: Restored, forward: boolean, folder: string): void {
  if (!("files" in restored) || !restored.files?.length) return;
  const files = { ...restored, files: restored.files };
  toast(doneWords(files, forward, folder), { bad: !isPlain(files) });
}

/** Maximum number of changes in one request. */
const MAX_CHANGES = 1000;

/** TakeBack does actions. If files would stay as they are, it shows a preview first. */
export class TakeBack {
  /** The action that waits for the user's confirmation, and what would become of the files. */
  readonly waiting = signal<{ action: Action; preview: RestoredFiles } | null>(null);
  private busy = false;

  constructor(private readonly view: SessionView) {}

  /** start does an action, or shows its preview. Only one action runs at a time. */
  async start(action: Action): Promise<void> {
    this.waiting.value = null;
    await this.alone(async () => {
      const preview = await this.revert(action, true);
      if (isPlain(preview)) await this.finish(action);
      else this.waiting.value = { action, preview };
    });
  }

  /** confirm does the action whose preview is shown. */
  async confirm(): Promise<void> {
    const waiting = this.waiting.peek();
    this.waiting.value = null;
    if (waiting) await this.alone(() => this.finish(waiting.action));
  }

  cancel(): void {
    this.waiting.value = null;
  }

  private async finish(action: Action): Promise<void> {
    const done = await this.revert(action, false);
    this.view.reviews.changed();
    const back = { ...action, forward: !action.forward };
    const label = action.forward ? "Take back" : "Put forward";
    const some = done.files.some((f) => f.outcome === "restored");
    toast(doneWords(done, action.forward, this.view.cwd.peek()), {
      bad: !isPlain(done), ...(some ? { action: { label, run: () => void this.start(back) } } : {}),
    });
  }

  private revert({ changeIds, forward }: Action, preview: boolean): Promise<RestoredFiles> {
    const ids = forward ? changeIds.slice(0, MAX_CHANGES) : changeIds.slice(-MAX_CHANGES);
    return this.view.call("_strata/changes/revert", { changeIds: ids, forward, preview });
  }

  private async alone(work: () => Promise<void>): Promise<void> {
    if (this.busy) return;
    this.busy = true;
    await work().catch(failed("Cannot change the files"));
    this.busy = false;
  }
}
