import type { Checkpoint, ListedEdit } from "@strata/client";
import type { Row } from "../ui/window.tsx";

/** What happened to the view, or a name for one of its states. */
export type Moment = Row & { seq: number; at: string } & (
  | { kind: "edit"; edit: ListedEdit; title: string; undoable: boolean }
  | { kind: "checkpoint"; checkpoint: Checkpoint }
  | { kind: "older" }
);

/** The kinds that an undo can take back; an undo itself cannot be. */
const undoables = new Set(["clear", "compact", "restore"]);

/**
 * The timeline, newest first. Of two with one number the checkpoint, which was made of that state, comes later. Where
 * older edits are not there, checkpoints that are older than what is there are left to them.
 */
export function timeline(edits: readonly ListedEdit[], checkpoints: readonly Checkpoint[], older: boolean): Moment[] {
  const undo = edits.findLast((e) => e.inForce && undoables.has(e.kind) && !e.undoes);
  const first = older ? edits[0]?.seq ?? 0 : 0;
  const names = new Map(checkpoints.map((c) => [c.seq, c.name]));
  const moments: Moment[] = [
    ...edits.map((edit): Moment => ({ key: edit.id, kind: "edit", seq: edit.seq, at: edit.at, edit, title: titleOf(edit, names), undoable: edit === undo })),
    ...checkpoints.filter((c) => c.seq >= first)
      .map((checkpoint): Moment => ({ key: checkpoint.checkpointId, kind: "checkpoint", seq: checkpoint.seq, at: checkpoint.at, checkpoint })),
  ];
  const late = (m: Moment): number => (m.kind === "checkpoint" ? 1 : 0);
  moments.sort((a, b) => b.seq - a.seq || late(b) - late(a) || b.at.localeCompare(a.at));
  if (older) moments.push({ key: "older", kind: "older", seq: 0, at: "" });
  return moments;
}

const titles: Record<ListedEdit["kind"], string> = {
  compact: "Compacted", dedupe: "Copies taken out", truncate: "Left out to fit", replace: "Replaced", clear: "Cleared", restore: "Went back",
};

/** What an undo took back, by the last word of its reason. */
const takenBack: Record<string, string> = { compact: "compaction", clear: "clear", restore: "return" };

/** What an edit did, in few words. names are those of checkpoints, by the number that they stand for. */
export function titleOf(edit: ListedEdit, names: ReadonlyMap<number, string>): string {
  if (edit.undoes) return `Took back a ${takenBack[edit.reason?.split(" ").at(-1) ?? ""] ?? "change"}`;
  const name = names.get(edit.to ?? 0);
  if (edit.kind === "restore") return `Went back to ${name === undefined ? edit.to ?? 0 : `“${name}”`}`;
  return titles[edit.kind] ?? edit.kind;
}

/** The history's tokens before and after an edit, as far as it tells them. */
export function sizesOf(edit: ListedEdit): { before: number; after: number } | null {
  if (edit.before === undefined && edit.after === undefined) return null;
  return { before: edit.before ?? 0, after: edit.after ?? Math.max((edit.before ?? 0) - (edit.kind === "restore" ? 0 : edit.savedTokens ?? edit.before ?? 0), 0) };
}

/** What else there is to say of an edit. */
export function detailsOf(edit: ListedEdit): string[] {
  const details: string[] = [];
  if (edit.strategy) details.push(edit.strategy);
  const left = edit.messages?.length ?? 0;
  if (left > 0) details.push(`${left} ${left === 1 ? "message" : "messages"} left the view`);
  const patched = edit.patches?.length ?? 0;
  if (patched > 0) details.push(`${patched} ${patched === 1 ? "block" : "blocks"} shown shorter`);
  const cut = edit.documents?.length ?? 0;
  if (cut > 0) details.push(`${cut} ${cut === 1 ? "document" : "documents"} cut`);
  if (edit.reason && !edit.undoes && edit.reason !== "asked for") details.push(edit.reason);
  return details;
}
