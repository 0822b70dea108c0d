import { signal } from "@preact/signals";
import type { Compaction, Strategy } from "@strata/client";
import { plural, short } from "../text/format.ts";
import type { SessionView } from "./session.ts";
import { failed, toast } from "./toasts.ts";

/** A compaction that this page asked for and that is under way. */
export interface Asked {
  sessionId: string;
  since: number;
  stop: AbortController;
}

export const asked = signal<Asked | null>(null);

/** Compacts a session's history now and tells how that ended. */
export async function compact(view: SessionView, strategy: Strategy | ""): Promise<void> {
  const mine: Asked = { sessionId: view.id, since: Date.now(), stop: new AbortController() };
  asked.value = mine;
  try {
    tell(view, await view.call("_strata/history/compact", strategy ? { strategy } : {}, { signal: mine.stop.signal }));
  } catch (error) {
    if (mine.stop.signal.aborted) toast("The compaction was cancelled; nothing has changed.");
    else failed("The history could not be compacted")(error);
  } finally {
    if (asked.peek() === mine) asked.value = null;
  }
}

/** Stops the compaction of a session, whoever began it: asking joins the one that runs, and taking that back stops it. */
export function stopCompaction(view: SessionView): void {
  const mine = asked.peek();
  if (mine?.sessionId === view.id) return mine.stop.abort();
  const stop = new AbortController();
  view.call("_strata/history/compact", {}, { signal: stop.signal }).catch((error: unknown) => {
    if (!stop.signal.aborted) failed("The compaction could not be stopped")(error);
  });
  setTimeout(() => stop.abort());
}

/** How compactions end that change nothing, in words. */
const fruitless: Partial<Record<Compaction["outcome"], string>> = {
  nothing_to_do: "There was nothing to compact.", no_gain: "It would not have become shorter; nothing has changed.",
  cancelled: "The compaction was cancelled; nothing has changed.", superseded: "The history was changed meanwhile; the compaction was given up.",
};

function tell(view: SessionView, done: Compaction): void {
  if (done.outcome === "compacted") {
    toast(`The history was compacted: ${short(done.before)} to ${short(done.after)} tokens.`, { action: { label: "Undo", run: () => void undo(view) } });
  } else if (done.outcome === "failed") {
    toast(`The compaction failed: ${done.reason ?? "no reason was given"}`, { bad: true });
  } else {
    toast(fruitless[done.outcome] ?? done.outcome);
  }
}

type Target = { checkpointId: string } | { seq: number };

/** Takes the view back to an earlier state and offers to undo that. */
export async function goBack(view: SessionView, to: Target, name: string): Promise<void> {
  try {
    const done = await view.call("_strata/checkpoint/restore", to);
    if ("afterTurn" in done) return toast(`The view goes back to ${name} when the running turn has ended.`);
    toast(`The view went back to ${name}; ${plural(done.removed, "message")} left it.`, { action: { label: "Undo", run: () => void undo(view) } });
  } catch (error) {
    failed("The view could not be taken back")(error);
  }
}

/** Takes back the newest restore, clear or compaction. */
export async function undo(view: SessionView): Promise<void> {
  try {
    const done = await view.call("_strata/checkpoint/undo", {});
    if ("afterTurn" in done) return toast("It is taken back when the running turn has ended.");
    toast("Taken back.", { action: { label: "Redo", run: () => void goBack(view, { seq: done.seq - 1 }, "what it was") } });
  } catch (error) {
    failed("It could not be taken back")(error);
  }
}
