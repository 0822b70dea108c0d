import { signal } from "@preact/signals";
import type { Compaction, Restored, Strategy } from "@strata/client";
import { noun, plural, short } from "../text/format.ts";
import type { SessionView } from "./session.ts";
import { tellFiles, type Action } from "./take-back.ts";
import { failed, toast, undoable } from "./toasts.ts";

/** A running compaction that this page started. */
export interface OwnCompaction {
  sessionId: string;
  since: number;
  stop: AbortController;
}

export const ownCompaction = signal<OwnCompaction | null>(null);

/** compact compacts a session's history and shows the outcome. */
export async function compact(view: SessionView, strategy: Strategy | ""): Promise<void> {
  const own: OwnCompaction = { sessionId: view.id, since: Date.now(), stop: new AbortController() };
  ownCompaction.value = own;
  try {
    showOutcome(view, await view.call("_strata/history/compact", strategy ? { strategy } : {}, { signal: own.stop.signal }));
  } catch (error) {
    if (own.stop.signal.aborted) toast("Compaction cancelled; nothing changed.");
    else failed("Cannot compact the history")(error);
  } finally {
    if (ownCompaction.peek() === own) ownCompaction.value = null;
  }
}

/**
 * stopCompaction cancels the running compaction of a session, whichever client started it: a further request joins the
 * running compaction, and cancelling that request cancels the compaction.
 */
export function stopCompaction(view: SessionView): void {
  const own = ownCompaction.peek();
  if (own?.sessionId === view.id) return own.stop.abort();
  const stop = new AbortController();
  view.call("_strata/history/compact", {}, { signal: stop.signal }).catch((error: unknown) => {
    if (!stop.signal.aborted) failed("Cannot cancel the compaction")(error);
  });
  setTimeout(() => stop.abort());
}

/** Outcomes of compactions that changed nothing, in words. */
const unchanged: Partial<Record<Compaction["outcome"], string>> = {
  nothing_to_do: "Nothing to compact.", no_gain: "Compaction would not shorten the history; nothing changed.",
  cancelled: "Compaction cancelled; nothing changed.", superseded: "Compaction discarded: the history changed meanwhile.",
};

function showOutcome(view: SessionView, done: Compaction): void {
  if (done.outcome === "compacted") {
    undoable(`History compacted: ${short(done.before)} to ${short(done.after)} ${noun(done.after, "token")}.`, () => undo(view, done.editSeq));
  } else if (done.outcome === "failed") {
    toast(`Compaction failed: ${done.reason ?? "no reason given"}`, { bad: true });
  } else {
    toast(unchanged[done.outcome] ?? done.outcome);
  }
}

const upper = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

export type Target = { checkpointId: string } | { seq: number };

/** restore restores an earlier state of the view. It offers an undo. */
export async function restore(view: SessionView, to: Target, name: string): Promise<void> {
  try {
    tellRestored(view, await view.call("_strata/checkpoint/restore", to), name);
  } catch (error) {
    failed("Cannot restore the view")(error);
  }
}

/** restoreWithFiles restores an earlier state of the view and puts files back, with a preview if some would stay. */
export function restoreWithFiles(view: SessionView, key: string, to: Target, name: string): Action {
  const run = (preview: boolean): Promise<Restored> => view.call("_strata/checkpoint/restore", { ...to, files: true, ...(preview ? { preview } : {}) });
  return {
    key, forward: false,
    preview: async () => ({ files: [], ...(await run(true)) }),
    run: async () => tellRestored(view, await run(false), name),
  };
}

function tellRestored(view: SessionView, done: Restored, name: string): void {
  tellFiles(done, false, view.cwd.peek());
  if ("afterTurn" in done) return toast(`${upper(name)} will be restored after the running turn.`);
  undoable(`${upper(name)} restored; ${plural(done.removed, "message")} removed from the view.`, () => undo(view, done.seq));
}

/** undo undoes an edit of the view, if it is the newest that can be undone: a later one must not be undone in its place. */
export async function undo(view: SessionView, seq: number | undefined): Promise<void> {
  try {
    const done = await view.call("_strata/checkpoint/undo", seq ? { seq } : {});
    tellFiles(done, true, view.cwd.peek());
    if ("afterTurn" in done) return toast("The undo takes effect after the running turn.");
    toast("Undone.", { action: { label: "Redo", run: () => void restore(view, { seq: done.seq - 1 }, "the state before the undo") } });
  } catch (error) {
    failed("Cannot undo")(error);
  }
}
